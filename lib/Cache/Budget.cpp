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

Error Budget::begin(uint64_t more, Clock::duration atMost) {
  if (isSpent() || atMost <= Clock::duration())
    return createStringError("takes too long: all servers together have " +
                             std::to_string(maxTime.count()) + " s");
  if (requests == maxRequests || more > maxBytes - bytes)
    return createStringError("holds more than one compilation loads");
  ++requests;
  bytes += more;
  requestAtMost = atMost;
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
  Clock::duration left = maxTime - spent;
  if (isBusy)
    left = std::min(left, requestAtMost) - (Clock::now() - started);
  return std::max(std::chrono::duration_cast<milliseconds>(left),
                  milliseconds(0));
}

BudgetScope::BudgetScope() : isOutermost(!currentBudget) {
  if (isOutermost)
    currentBudget = &own;
}

BudgetScope::~BudgetScope() {
  if (isOutermost)
    currentBudget = nullptr;
}
