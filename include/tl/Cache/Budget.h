//===- Budget.h - How much all tiers together may take ---------*- C++ -*-===//
//
// What one request of a server may take is bounded; so is what all requests of
// a lookup take together, and all lookups of a compilation: a server that
// answers slowly but in time, or with one file more each time, must not cost
// more than compiling would.
//
// The budget is that of the thread: the outermost scope makes one, and those
// within share it. What all compilations of a process take is bounded by
// Patience.h.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_BUDGET_H
#define TL_CACHE_BUDGET_H

#include "llvm/Support/Error.h"

#include <chrono>
#include <cstdint>
#include <utility>

namespace tl::cache {

class Budget {
public:
  using Clock = std::chrono::steady_clock;

  /// For all servers together; what is done between requests does not count.
  /// docs/cache.md states these.
  static constexpr std::chrono::seconds maxTime{5};
  static constexpr uint64_t maxBytes = uint64_t(512) << 20;
  static constexpr unsigned maxRequests = 256;

  /// Begins a request that may bring so many bytes and take so long; the error
  /// says what is used up. Every request that began ends.
  llvm::Error begin(uint64_t bytes, Clock::duration atMost);
  void end();

  /// What is left of the time, of all requests and of this one; zero if it is
  /// used up.
  std::chrono::milliseconds timeLeft() const;

  bool isSpent() const { return timeLeft().count() == 0; }

  /// True once: what is found helps a compilation once, however many parts it
  /// has.
  bool takeUse() { return !std::exchange(wasOfUse, true); }

  /// The budget of the innermost scope of this thread, or null.
  static Budget *current();

private:
  Clock::duration spent = {};
  Clock::time_point started = {};
  Clock::duration requestAtMost = {};
  bool isBusy = false;
  bool wasOfUse = false;
  uint64_t bytes = 0;
  unsigned requests = 0;
};

/// While it lives this thread's requests are taken from one budget: a new one,
/// unless there is one already.
class BudgetScope {
public:
  BudgetScope();
  ~BudgetScope();
  BudgetScope(const BudgetScope &) = delete;
  BudgetScope &operator=(const BudgetScope &) = delete;

private:
  Budget own;
  bool isOutermost;
};

} // namespace tl::cache

#endif // TL_CACHE_BUDGET_H
