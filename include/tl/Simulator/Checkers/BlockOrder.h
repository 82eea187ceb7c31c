//===- BlockOrder.h - What happens before what in a block -------*- C++ -*-===//
//
// The happens-before relation of one execution of a block, which is learned
// from the block's events and asked about accesses. It knows nothing of memory:
// which accesses meet is for others to find out.
//
// docs/rationale/simulator-checkers.md says which orders there are.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_BLOCKORDER_H
#define TL_SIMULATOR_CHECKERS_BLOCKORDER_H

#include "tl/Simulator/Checkers/Clock.h"
#include "tl/Simulator/Checkers/GridOrder.h"
#include "tl/Simulator/Events.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <optional>

namespace tl::sim {

/// An access that has happened, or an asynchronous one that has been issued.
struct Record {
  enum Flag : uint16_t {
    Write = 1, ///< or an atomic operation
    Atomic = 2,
    Async = 4,      ///< `time` is the number of the operation
    AsyncProxy = 8, ///< reached memory through it
    AnyOrder = 16,  ///< may be complete before earlier ones of the same thread
    InBlock = 32,   ///< atomic for the threads of the block only
  };

  InstructionId instruction = 0;
  /// Of the warp, when it happened.
  uint32_t time = 0;
  /// None: there is no such access.
  LaneMask lanes = 0;
  uint16_t warp = 0;
  uint16_t flags = 0;

  bool exists() const { return lanes != 0; }
  bool writes() const { return flags & Write; }
  bool isAtomic() const { return flags & Atomic; }
  /// Whether what other blocks do atomically is no race with it.
  bool isAtomicForBlocks() const { return isAtomic() && !(flags & InBlock); }
  bool isAsync() const { return flags & Async; }
  bool isAsyncProxy() const { return flags & AsyncProxy; }
  bool isInAnyOrder() const { return flags & AnyOrder; }
  bool isGenericWrite() const { return writes() && !isAsyncProxy(); }
  /// "updates", "writes" or "reads".
  std::string describe() const {
    return isAtomic() ? "updates" : writes() ? "writes" : "reads";
  }
  bool operator==(const Record &) const = default;
};

/// What a later access may rely on of an earlier one.
enum class Relation : uint8_t {
  Ordered,
  Unordered, ///< nothing tells the later of the earlier's end
  UnderWay,  ///< the earlier one is asynchronous, and nobody has waited for it
  Unfenced   ///< ordered, but the async proxy may not see the earlier write
};

/// An asynchronous operation.
struct Operation {
  AsyncKind kind = AsyncKind::CopyAsync;
  InstructionId instruction = 0;
  uint32_t warp = 0;
  LaneMask lanes = 0;
  /// Of a load: the number of the mbarrier and of its phase.
  unsigned barrier = 0;
  uint64_t phase = 0;

  /// When some lanes have seen it complete.
  struct Seen {
    LaneMask lanes;
    uint32_t time;
  };
  llvm::SmallVector<Seen, 1> read;     ///< what it reads is read
  llvm::SmallVector<Seen, 1> complete; ///< and what it writes written
};

/// An mbarrier from its initialisation on.
struct BarrierState {
  uint64_t address = 0;
  Record init;
  /// Phases that are complete.
  uint64_t phases = 0;
  /// All that arrivals made known, and what of it is in complete phases.
  Clock arrived, published;
  bool isLive = true;
};

class BlockOrder {
public:
  /// `grid` is what blocks let each other know, or null if they do not.
  explicit BlockOrder(unsigned threads, uint64_t block = 0,
                      GridOrder *grid = nullptr);

  // What happens, as the observer is told.
  void arriveAtBarrier(const BarrierEvent &event);
  void completeBarrier(const BarrierEvent &event);
  void syncLanes(const WarpEvent &event);
  void fence(const FenceEvent &event);
  void access(const AccessEvent &event);
  void issue(const AsyncEvent &event);
  void waitForGroups(const GroupEvent &event);
  void useMbarrier(const MbarrierEvent &event);

  /// The record of what `event` does now, without flags.
  Record getRecord(const Event &event) const;
  /// The record of a part of an asynchronous operation that `lanes` issued.
  Record getRecord(const AsyncEvent &event, LaneMask lanes) const;

  /// That of the issue of an operation that is issued now, of which `part` is.
  Record getIssue(const Record &part) const {
    return {part.instruction, warps[part.warp].time, part.lanes, part.warp,
            static_cast<uint16_t>(part.flags & ~Record::Async)};
  }

  /// What `later`, which happens or is issued now, may rely on of `earlier`.
  Relation relate(const Record &earlier, const Record &later,
                  Space space) const;
  /// Whether each lane of `later` comes behind one of the lanes of `earlier`,
  /// which all did the same.
  bool isBehindOneOf(const Record &earlier, const Record &later,
                     Space space) const;
  /// Whether all of `lanes` know what `earlier` did.
  bool isKnown(const Record &earlier, unsigned warp, LaneMask lanes) const;
  /// Whether all of `lanes` know what lanes of another block did up to a time.
  bool isKnown(const GridOrder::Moment &moment, unsigned warp,
               LaneMask lanes) const;
  /// Whether all of `lanes` know that the kernels launched before are done.
  bool knowKernels(unsigned warp, LaneMask lanes) const;

  uint64_t getBlock() const { return block; }
  GridOrder *getGrid() const { return grid; }

  /// Lanes that the warp has: fewer than 32 in the last one of a block.
  LaneMask getLanes(unsigned warp) const { return warps[warp].present; }

  const Operation *find(AsyncId id) const;
  const llvm::DenseMap<AsyncId, Operation> &getOperations() const {
    return operations;
  }
  /// Whether somebody knows that it reads and writes shared memory no more.
  bool isSeenComplete(const Operation &operation) const;

  /// The mbarrier at `address`, or null.
  const BarrierState *findBarrier(uint64_t address) const;
  /// The least number of phases of it that `lanes` know to be complete.
  uint64_t getKnownPhases(const BarrierState &barrier, unsigned warp,
                          LaneMask lanes) const;
  /// Whether `lanes` know that it is set up, and the async proxy knows too.
  Relation relateToInit(const BarrierState &barrier, const Event &event,
                        bool isAsync) const;

private:
  struct Fence {
    uint32_t time;
    LaneMask lanes;
    bool shared, global, barriers;
  };
  struct Warp {
    LaneMask present = 0;
    uint32_t time = 1;
    /// What all lanes know but those that are `apart`. What a lane itself did
    /// is not in it: that it knows anyway.
    Clock common;
    LaneMask apart = 0;
    std::map<unsigned, Clock> own;
    llvm::SmallVector<Fence, 4> fences;
    /// What lanes have let go by a fence, and what they will know by the next:
    /// relaxed atomic accesses pass it on.
    std::optional<Clock> released, toAcquire;
  };
  struct Meeting {
    Clock clock;
    llvm::SmallVector<Event, 8> waiting;
  };

  LaneMask widen(unsigned warp, LaneMask lanes) const {
    return lanes == warps[warp].present ? kAllLanes : lanes;
  }
  const Clock &getClock(const Warp &warp, unsigned lane) const {
    return warp.apart >> lane & 1 ? warp.own.at(lane) : warp.common;
  }

  /// All that `lanes` know and did up to now; what they do next is later.
  Clock release(unsigned warp, LaneMask lanes);
  void acquire(unsigned warp, LaneMask lanes, const Clock &clock);

  /// Whether `lanes` of `warp` know `others` of `of` up to `time`.
  bool know(unsigned warp, LaneMask lanes, unsigned of, LaneMask others,
            uint32_t time) const;
  /// Whether each of `lanes` knows one of `others` up to `time`.
  bool knowOne(unsigned warp, LaneMask lanes, unsigned of, LaneMask others,
               uint32_t time) const;
  /// Whether each of `others` has executed a fence between `time` and what
  /// `lanes` of `warp` know of it.
  bool knowFence(unsigned warp, LaneMask lanes, unsigned of, LaneMask others,
                 uint32_t time, bool Fence::*kind) const;
  Relation relateToOperation(const Record &earlier, const Record &later,
                             bool Fence::*kind) const;

  /// An atomic operation at an address that blocks share lets others know what
  /// `clock` does.
  void publish(const AccessEvent &event, uint64_t address, const Clock &clock);
  bool isForBlocks(const AccessEvent &event) const {
    return grid && event.space == Space::Global && event.scope != Scope::Block;
  }

  uint64_t block;
  GridOrder *grid;
  llvm::SmallVector<Warp, 4> warps;
  /// Who has waited for the kernels before, and when.
  llvm::SmallVector<GridOrder::Moment, 4> kernelWaits;
  std::map<uint32_t, Meeting> meetings;
  llvm::DenseMap<AsyncId, Operation> operations;
  llvm::SmallVector<BarrierState, 4> barriers;
  llvm::DenseMap<uint64_t, unsigned> barrierAt;
  /// What atomic operations on an address have made known.
  llvm::DenseMap<uint64_t, Clock> released;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_BLOCKORDER_H
