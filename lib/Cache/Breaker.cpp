//===- Breaker.cpp - Not to ask who does not answer -----------------------===//
//
// While one caller probes, others are refused until the time that its failure
// would set: the time is moved on before the answer is known.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Breaker.h"

#include <algorithm>

using namespace tl::cache;

bool Breaker::allows(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  if (failures < maxFailures)
    return true;
  if (now < askAgainAt)
    return false;
  askAgainAt = now + backOff;
  return true;
}

void Breaker::succeeded() {
  std::lock_guard<std::mutex> guard(mutex);
  failures = 0;
  backOff = {};
}

bool Breaker::failed(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  ++failures;
  if (failures >= maxFailures) {
    backOff = backOff == Clock::duration() ? firstBackOff
                                           : std::min(2 * backOff, maxBackOff);
    askAgainAt = now + backOff;
  }
  return failures == 1;
}
