//===- IdlePool.h - Connections that wait for use --------------*- C++ -*-===//
//
// Keeps some objects that are slow to make, for whichever thread needs one
// next.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_IDLEPOOL_H
#define TL_LIB_CACHE_IDLEPOOL_H

#include <memory>
#include <mutex>
#include <vector>

namespace tl::cache {

template <typename T>
class IdlePool {
public:
  /// The one that was used last, or null if there is none.
  std::unique_ptr<T> take() {
    std::lock_guard<std::mutex> guard(mutex);
    if (idle.empty())
      return nullptr;
    std::unique_ptr<T> taken = std::move(idle.back());
    idle.pop_back();
    return taken;
  }

  void give(std::unique_ptr<T> object) {
    std::lock_guard<std::mutex> guard(mutex);
    if (idle.size() < maxIdle)
      idle.push_back(std::move(object));
  }

private:
  static constexpr size_t maxIdle = 8;

  std::mutex mutex;
  std::vector<std::unique_ptr<T>> idle;
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_IDLEPOOL_H
