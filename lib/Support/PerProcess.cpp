//===- PerProcess.cpp - Objects that a forked child has anew --------------===//
//
// See PerProcess.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/PerProcess.h"

#include <pthread.h>

static std::atomic<unsigned> forkDepth = 0;

/// Before the library's first thread, so that no fork is missed.
[[maybe_unused]] static const int registered =
    ::pthread_atfork(nullptr, nullptr,
                     [] { forkDepth.fetch_add(1, std::memory_order_relaxed); });

unsigned tl::getForkDepth() {
  return forkDepth.load(std::memory_order_relaxed);
}
