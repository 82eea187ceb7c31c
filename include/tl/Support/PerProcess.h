//===- PerProcess.h - Objects that a forked child has anew -----*- C++ -*-===//
//
// Of the threads of a process the one that forks alone goes on in the child. A
// lock that another held stays locked there, and what it was changing stays
// half changed. So what a process shares between its threads is not the
// child's: its first use in the child makes it anew, and the parent's is left
// as it is.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_PERPROCESS_H
#define TL_SUPPORT_PERPROCESS_H

#include <atomic>

namespace tl {

/// How often this process and those that it came from were forked since the
/// library was loaded.
unsigned getForkDepth();

/// Holds one `T` of each process, made when it is first asked for and never
/// destroyed. For variables with static storage alone.
template <typename T>
class PerProcess {
public:
  constexpr PerProcess() = default;

  T &get() {
    unsigned depth = getForkDepth();
    Held *known = current.load(std::memory_order_acquire);
    if (known && known->depth == depth)
      return known->value;
    // Without a lock, which could be one that nobody opens: of several threads
    // that make it one is the first.
    auto *made = new Held{depth, {}};
    if (current.compare_exchange_strong(known, made))
      return made->value;
    delete made;
    return known->value;
  }

private:
  struct Held {
    unsigned depth;
    T value;
  };

  std::atomic<Held *> current = nullptr;
};

} // namespace tl

#endif // TL_SUPPORT_PERPROCESS_H
