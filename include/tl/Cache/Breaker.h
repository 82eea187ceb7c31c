//===- Breaker.h - Not to ask who does not answer --------------*- C++ -*-===//
//
// A circuit breaker: after some failures in a row a server is left alone for a
// while, then asked once, and left alone for longer if that fails too.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_BREAKER_H
#define TL_CACHE_BREAKER_H

#include <chrono>
#include <mutex>

namespace tl::cache {

class Breaker {
public:
  using Clock = std::chrono::steady_clock;

  /// Leaves the server alone after `maxFailures` in a row, at first for
  /// `backOff`, then for twice as long each time, up to `maxBackOff`.
  Breaker(unsigned maxFailures, Clock::duration backOff)
      : maxFailures(maxFailures), firstBackOff(backOff) {}

  static constexpr Clock::duration maxBackOff = std::chrono::minutes(10);

  /// True if the server may be asked now. When it has been left alone for long
  /// enough, this is true for one caller.
  bool allows(Clock::time_point now = Clock::now());

  void succeeded();

  /// Returns true for the first failure since the last success: the one that a
  /// person has not heard of.
  bool failed(Clock::time_point now = Clock::now());

private:
  const unsigned maxFailures;
  const Clock::duration firstBackOff;

  std::mutex mutex;
  unsigned failures = 0;
  Clock::duration backOff = {};
  Clock::time_point askAgainAt;
};

} // namespace tl::cache

#endif // TL_CACHE_BREAKER_H
