//===- Breaker.cpp - Not to ask who does not answer -----------------------===//
//
// While one caller probes, others are refused until the time that its failure
// would set: the time is moved on before the answer is known.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Breaker.h"

#include <algorithm>

using namespace tl::cache;

using Duration = Breaker::Clock::duration;

/// How long to leave a server alone that was left alone for `before`.
static Duration getNext(Duration before, Duration first) {
  return before == Duration()
             ? first
             : std::min<Duration>(2 * before, Breaker::maxBackOff);
}

bool Breaker::allows(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  if (now < aloneUntil)
    return false;
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
    backOff = getNext(backOff, firstBackOff);
    askAgainAt = now + backOff;
  }
  return failures == 1;
}

void Breaker::trip(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  // Threads that are waiting for one server find out together.
  if (now < aloneUntil)
    return;
  tripBackOff = getNext(tripBackOff, firstBackOff);
  aloneUntil = now + tripBackOff;
}
