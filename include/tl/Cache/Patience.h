//===- Patience.h - How long a process waits for others --------*- C++ -*-===//
//
// What one compilation may take of others is bounded (Budget.h); but a program
// has any number of kernels, and who answers each time a little too late would
// delay all of them. So there is an account of the time that a process waits,
// for a server or for a directory of a group, without saving any thereby:
//
//   - it begins full, and waiting takes from it, by the wall clock: threads
//   that
//     wait together wait once;
//   - an entry that is of use gives some of it back, less than making it takes;
//   - while nobody waits, a tenth of the time that passes comes back.
//
// When it is used up, those that were waited for are left alone for a while,
// for twice as long each time, and then it is full again. So a program loses no
// more than the account, now and then, and a tenth of its time.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_PATIENCE_H
#define TL_CACHE_PATIENCE_H

#include <chrono>
#include <mutex>

namespace tl::cache {

class Patience {
public:
  using Clock = std::chrono::steady_clock;

  /// An account of so much time, after which others are left alone for
  /// `backOff` at first.
  Patience(Clock::duration most, Clock::duration backOff)
      : most(most), firstBackOff(backOff), rest(most) {}

  /// What an entry of use gives back, once for a compilation. Hardly a kernel
  /// is compiled in less.
  static constexpr std::chrono::milliseconds ofUse{100};
  static constexpr std::chrono::milliseconds nothing{0};

  static constexpr Clock::duration maxBackOff = std::chrono::minutes(10);

  /// False while others are left alone.
  bool allows(Clock::time_point now = Clock::now());

  /// A thread waits, and no longer. What it got gives `earned` back.
  void begin(Clock::time_point now = Clock::now());
  void end(Clock::duration earned, Clock::time_point now = Clock::now());

  /// What is left to be waited.
  Clock::duration left(Clock::time_point now = Clock::now());

  /// What gave time back was of no use.
  void takeBack(Clock::duration earned, Clock::time_point now = Clock::now());

  /// All is used up.
  void exhaust(Clock::time_point now = Clock::now());

private:
  void settle(Clock::time_point now);
  void leaveAloneIfSpent(Clock::time_point now);

  const Clock::duration most;
  const Clock::duration firstBackOff;

  std::mutex mutex;
  Clock::duration rest;
  Clock::time_point settled = Clock::now();
  unsigned waiting = 0;
  Clock::duration backOff = {};
  Clock::time_point aloneUntil;
};

} // namespace tl::cache

#endif // TL_CACHE_PATIENCE_H
