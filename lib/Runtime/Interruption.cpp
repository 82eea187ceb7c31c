//===- Interruption.cpp - Calls that end before they are done -------------===//

#include "tl/Runtime/Interruption.h"

#include "tl/Runtime/RuntimeError.h"

using namespace tl::runtime;

/// Of the process.
static std::atomic<bool (*)()> check = nullptr;

void tl::runtime::setInterruptionCheck(bool (*isWanted)()) { check = isWanted; }

bool Interruption::isWanted() {
  if (wanted || std::this_thread::get_id() != caller)
    return wanted;
  auto now = std::chrono::steady_clock::now();
  if (!next)
    next = now + kInterval;
  if (now < *next)
    return false;
  bool (*ask)() = check;
  if (ask && ask())
    wanted = true;
  // Not from `now` on: asking may take long itself.
  next = std::chrono::steady_clock::now() + kInterval;
  return wanted;
}

llvm::Error Interruption::makeError() const {
  return tl::runtime::makeError(ErrorCategory::Interrupted,
                                "the call was interrupted");
}
