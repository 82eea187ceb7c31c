//===- GridOrder.h - What blocks let each other know ------------*- C++ -*-===//
//
// Atomic operations on device memory that release and acquire, of more scope
// than a block, order what blocks do: who acquires knows all that those knew
// and did who released at the address before. What a block knows of others is
// a part of its clocks (Clock.h), so that its own barriers pass it on; this is
// where it lies between the two. The blocks of a cluster have one relation
// (BlockOrder.h), so that it is clusters that tell each other; a block without
// others is a cluster of its own.
//
// The writes of a bulk store are done once the thread that issued it has
// waited for its group.
//
// Blocks of such a launch run on one thread of the host, and what they tell
// comes in the order of one execution.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_GRIDORDER_H
#define TL_SIMULATOR_CHECKERS_GRIDORDER_H

#include "tl/Simulator/Checkers/Clock.h"
#include "tl/Simulator/Events.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <memory>

namespace tl::sim {

class GridOrder {
public:
  /// What lanes of a warp did up to a time of the warp.
  struct Moment {
    uint64_t cluster = 0;
    uint32_t warp = 0; ///< its number in the cluster's relation
    LaneMask lanes = 0;
    uint32_t time = 0;
  };

  /// A lane of a warp.
  struct Thread {
    uint64_t cluster = 0;
    uint32_t warp = 0; ///< its number in the cluster's relation
    LaneMask lane = 0;
    bool operator==(const Thread &) const = default;
  };

  /// What has been released at an address, or null.
  std::shared_ptr<const OtherBlocks> getReleased(uint64_t address) const {
    return released.lookup(address).known;
  }
  /// A thread lets others know at an address what `clock` does.
  void release(uint64_t address, const Thread &thread, const Clock &clock) {
    auto &[known, last] = released[address];
    last = thread;
    // Who has acquired keeps what was there then.
    if (!known)
      known = std::make_shared<OtherBlocks>();
    else if (known.use_count() > 1)
      known = std::make_shared<OtherBlocks>(*known);
    known->join(thread.cluster, clock);
  }
  /// A thread stores at an address, and passes on what it has released itself.
  void store(uint64_t address, const Thread &thread) {
    auto it = released.find(address);
    if (it != released.end() && !(it->second.last == thread))
      released.erase(it);
  }

  /// A thread has seen that its bulk store has written.
  void completeStore(AsyncId id, const Moment &moment) {
    stores[{moment.cluster, id}] = moment;
  }
  /// When that was, or null.
  const Moment *findStore(uint64_t cluster, AsyncId id) const {
    auto it = stores.find({cluster, id});
    return it == stores.end() ? nullptr : &it->second;
  }

private:
  struct Released {
    std::shared_ptr<OtherBlocks> known;
    Thread last; ///< who released here last
  };

  llvm::DenseMap<uint64_t, Released> released;
  std::map<std::pair<uint64_t, AsyncId>, Moment> stores;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_GRIDORDER_H
