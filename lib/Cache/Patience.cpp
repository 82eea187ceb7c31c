//===- Patience.cpp - How long a process waits for others -----------------===//
//
// The account is settled up to now before anything else is done with it.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Patience.h"

#include <algorithm>

using namespace tl::cache;

/// Of the time in which nobody waits, this part comes back.
static constexpr int partThatComesBack = 10;

void Patience::settle(Clock::time_point now) {
  Clock::duration passed = now - settled;
  settled = now;
  if (waiting > 0)
    rest -= passed;
  else
    rest = std::min(most, rest + passed / partThatComesBack);
}

void Patience::leaveAloneIfSpent(Clock::time_point now) {
  // Threads that wait for one server find out together.
  if (rest > Clock::duration() || now < aloneUntil)
    return;
  backOff = backOff == Clock::duration() ? firstBackOff
                                         : std::min(2 * backOff, maxBackOff);
  aloneUntil = now + backOff;
  rest = most;
}

bool Patience::allows(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  return now >= aloneUntil;
}

void Patience::begin(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  settle(now);
  ++waiting;
}

void Patience::end(Clock::duration earned, Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  settle(now);
  --waiting;
  rest = std::min(most, rest + earned);
  leaveAloneIfSpent(now);
}

Patience::Clock::duration Patience::left(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  settle(now);
  return now < aloneUntil ? Clock::duration()
                          : std::max(rest, Clock::duration());
}

void Patience::takeBack(Clock::duration earned, Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  settle(now);
  rest -= earned;
  leaveAloneIfSpent(now);
}

void Patience::exhaust(Clock::time_point now) {
  std::lock_guard<std::mutex> guard(mutex);
  settle(now);
  rest = {};
  leaveAloneIfSpent(now);
}
