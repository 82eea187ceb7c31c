//===- Budget.cpp - How much all tiers together may take ------------------===//
//
// See Budget.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Budget.h"

using namespace llvm;
using namespace tl::cache;

static thread_local Budget *currentBudget = nullptr;

Budget *Budget::current() { return currentBudget; }

Error Budget::begin(uint64_t more) {
  if (isSpent())
    return createStringError("takes too long: all servers together have " +
                             std::to_string(maxTime.count()) + " s");
  if (requests == maxRequests || more > maxBytes - bytes)
    return createStringError("holds more than one compilation loads");
  ++requests;
  bytes += more;
  started = Clock::now();
  isBusy = true;
  return Error::success();
}

void Budget::end() {
  spent += Clock::now() - started;
  isBusy = false;
}

std::chrono::milliseconds Budget::timeLeft() const {
  using std::chrono::milliseconds;
  Clock::duration used = spent;
  if (isBusy)
    used += Clock::now() - started;
  auto left = std::chrono::duration_cast<milliseconds>(maxTime - used);
  return std::max(left, milliseconds(0));
}

BudgetScope::BudgetScope() : isOutermost(!currentBudget) {
  if (isOutermost)
    currentBudget = &own;
}

BudgetScope::~BudgetScope() {
  if (isOutermost)
    currentBudget = nullptr;
}
