//===- GIL.cpp - The interpreter's lock, and its end ----------------------===//
//
// `atexit` runs while the interpreter still works: there the end is announced,
// and those are waited for that were about to take the lock. Who comes later
// sees the announcement first.
//
//===----------------------------------------------------------------------===//

#include "GIL.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace nb = nanobind;
using namespace tl::python;

static std::atomic<bool> isEnding = false;
/// The thread that ends the interpreter, which keeps the lock to the last.
static std::atomic<std::thread::id> endingThread;
/// Threads between the question whether it ends and having the lock, and those
/// that have it because C++ called Python.
static std::atomic<int> numEntering = 0;
/// This thread's part of them.
static thread_local int numOwn = 0;

/// Counts this thread, unless the interpreter ends: then it stays here.
static void enter() {
  ++numOwn;
  ++numEntering;
  if (!isEnding || endingThread.load() == std::this_thread::get_id())
    return;
  --numEntering;
  while (true)
    ::pause();
}

static void leave() {
  --numOwn;
  --numEntering;
}

ReleasedGIL::~ReleasedGIL() {
  enter();
  PyEval_RestoreThread(state);
  leave();
}

AcquiredGIL::AcquiredGIL() {
  enter();
  state = PyGILState_Ensure();
}

AcquiredGIL::~AcquiredGIL() {
  PyGILState_Release(state);
  leave();
}

/// Announces the end; waits, not for long, for those who are on their way in.
static void announceEnd() {
  using namespace std::chrono_literals;
  constexpr auto atMost = 2s;
  endingThread = std::this_thread::get_id();
  isEnding = true;
  PyThreadState *state = PyEval_SaveThread();
  auto deadline = std::chrono::steady_clock::now() + atMost;
  while (numEntering != 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  PyEval_RestoreThread(state);
}

void tl::python::bindGIL(nb::module_ &m) {
  // Of the parent's threads the child has one.
  ::pthread_atfork(nullptr, nullptr, [] { numEntering = numOwn; });
  m.def("_announce_end", announceEnd);
  // The first to be registered is the last to run.
  nb::module_::import_("atexit").attr("register")(m.attr("_announce_end"));
}
