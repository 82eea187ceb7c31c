//===- BlockOrder.h - What happens before what in a block -------*- C++ -*-===//
//
// The happens-before relation of one execution of a block, which is learned
// from the block's events and asked about accesses. It knows nothing of memory:
// which accesses meet is for others to find out.
//
// The blocks of a cluster have one together, since they use mbarriers of each
// other: warps are numbered throughout them. What one of the blocks has for
// itself (mbarriers, barriers, shared memory) is named with its number in the
// relation, `place`.
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
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <map>
#include <optional>

namespace tl::sim {

/// An access that has happened, or an asynchronous one that has been issued.
struct Record {
  enum Flag : uint16_t {
    Write = 1, ///< or an update
    Atomic = 2,
    Async = 4,      ///< `time` is the number of the operation
    AsyncProxy = 8, ///< reached memory through it
    AnyOrder = 16,  ///< may be complete before earlier ones of the same thread
    InBlock = 32,   ///< atomic for the threads of the block only
    Relaxed = 64,   ///< atomic, and orders nothing else
  };
  /// Above the flags: of what is atomic, the logarithm of the bytes of a word
  /// and 1, or 0 if they are not known.
  static constexpr unsigned kWidthShift = 8;
  /// Why two that are atomic are not so to each other.
  static constexpr llvm::StringLiteral kWidthsDiffer =
      "atomic operations on words of different widths are not atomic to each "
      "other; the same width for both would make them so";

  InstructionId instruction = 0;
  /// Of the warp, when it happened.
  uint32_t time = 0;
  /// None: there is no such access.
  LaneMask lanes = 0;
  uint16_t warp = 0; ///< its number in the relation
  uint16_t flags = 0;

  bool exists() const { return lanes != 0; }
  bool writes() const { return flags & Write; }
  bool isAtomic() const { return flags & Atomic; }
  /// Whether what other blocks do atomically is no race with it.
  bool isAtomicForBlocks() const { return isAtomic() && !(flags & InBlock); }
  /// Whether the two are atomic to each other, which words that overlap and are
  /// not the same are not (PTX ISA, "Morally strong operations").
  bool isAtomicWith(const Record &other) const {
    unsigned width = flags >> kWidthShift, others = other.flags >> kWidthShift;
    return isAtomic() && other.isAtomic() &&
           (!width || !others || width == others);
  }
  /// Whether one updates a byte and the other reads it. Only bytes of two
  /// numbers of 4 bits are updated, so that the one that is read may be the
  /// other one, which the update leaves as it is.
  bool mayBeNeighbourOf(const Record &other) const {
    auto isOfByte = [](const Record &record) {
      return record.isAtomic() && record.writes() &&
             record.flags >> kWidthShift == 1;
    };
    return (isOfByte(*this) && !other.writes()) ||
           (isOfByte(other) && !writes());
  }
  bool isRelaxed() const { return flags & Relaxed; }
  bool isAsync() const { return flags & Async; }
  bool isAsyncProxy() const { return flags & AsyncProxy; }
  bool isInAnyOrder() const { return flags & AnyOrder; }
  bool isGenericWrite() const { return writes() && !isAsyncProxy(); }
  /// "updates", "writes" or "reads".
  std::string describe() const {
    return !writes() ? "reads" : isAtomic() ? "updates" : "writes";
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
  unsigned place = 0; ///< the block whose shared memory it touches
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
  /// Of `blocks` blocks, each of so many threads. `grid` is what clusters let
  /// each other know, or null if they do not.
  explicit BlockOrder(unsigned threads, unsigned blocks = 1,
                      GridOrder *grid = nullptr);

  /// Gives one of the blocks a place. All have one before the first event.
  unsigned addBlock(uint64_t number);

  /// The cluster's number, by which others know it: that of its first block.
  uint64_t getCluster() const { return blocks.front(); }
  uint64_t getBlock(unsigned place) const { return blocks[place]; }

  unsigned getIndex(WarpId warp) const {
    return getPlace(warp.block) * warpsOfBlock + warp.warp;
  }
  /// Whether the block has no other ones in its cluster.
  bool isAlone() const { return blocks.size() == 1; }
  bool isIn(unsigned index, unsigned place) const {
    return index / warpsOfBlock == place;
  }
  WarpId getWarp(unsigned index) const {
    return {blocks[index / warpsOfBlock], index % warpsOfBlock};
  }

  // What happens, as the observer of the block at `place` is told.
  void arriveAtBarrier(const BarrierEvent &event);
  void completeBarrier(const BarrierEvent &event);
  void syncLanes(const WarpEvent &event);
  void fence(const FenceEvent &event);
  void access(const AccessEvent &event);
  void issue(const AsyncEvent &event, unsigned place);
  void waitForGroups(const GroupEvent &event);
  void useMbarrier(const MbarrierEvent &event, unsigned place);
  void meetInCluster(const ClusterEvent &event);

  /// The record of what `event` does now, without flags.
  Record getRecord(const Event &event) const;
  /// The record of a part of an asynchronous operation that `lanes` issued.
  Record getRecord(const AsyncEvent &event, LaneMask lanes) const;

  /// That of the issue of an operation that is issued now, of which `part` is.
  Record getIssue(const Record &part) const {
    return {part.instruction, warps[part.warp].time, part.lanes, part.warp,
            static_cast<uint16_t>(part.flags & ~Record::Async)};
  }

  /// Whether `relate` would find the two ordered, if that is seen at once: by
  /// what one thread did before, or by what its warp knows of all of another.
  /// False may be either.
  bool isSeenOrdered(const Record &earlier, const Record &later) const {
    if (earlier.isAsync() || later.isAsyncProxy())
      return false;
    bool isOne = llvm::has_single_bit(later.lanes);
    if (isOne && earlier.lanes == later.lanes && earlier.warp == later.warp)
      return true;
    const Warp &state = warps[later.warp];
    return !(later.lanes & state.apart) &&
           state.common[earlier.warp].getLeast() >= earlier.time;
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
  /// Whether some thread of the block at `place` does.
  bool isKnownIn(const Record &earlier, unsigned place) const;
  /// Whether all of `lanes` know what lanes of another cluster did up to a
  /// time.
  bool isKnown(const GridOrder::Moment &moment, unsigned warp,
               LaneMask lanes) const;
  /// A warp of the block at `place` that found what lanes of another cluster
  /// released behind a time, and has not acquired it, with its last such atomic
  /// operation; nothing if there is none.
  std::optional<std::pair<unsigned, InstructionId>>
  findUnacquired(const GridOrder::Moment &moment, unsigned place) const;
  /// Whether all of `lanes` know that the kernels launched before are done.
  bool knowKernels(unsigned warp, LaneMask lanes) const;

  GridOrder *getGrid() const { return grid; }

  const Operation *find(AsyncId id) const;
  const llvm::DenseMap<AsyncId, Operation> &getOperations() const {
    return operations;
  }
  /// Whether somebody knows that it reads and writes shared memory no more.
  bool isSeenComplete(const Operation &operation) const;

  /// The mbarrier at `address` of the block at `place`, or null.
  const BarrierState *findBarrier(unsigned place, uint64_t address) const;
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
    /// The operation that was the last to add to `toAcquire`.
    InstructionId found = 0;
  };
  struct Meeting {
    Clock clock;
    llvm::SmallVector<Event, 8> waiting;
  };

  unsigned getPlace(uint64_t block) const {
    return llvm::find(blocks, block) - blocks.begin();
  }
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

  /// What has been released at an address.
  struct Released {
    Clock clock;
    GridOrder::Thread last; ///< who released here last
  };
  /// An atomic operation of `thread` at an address lets others know what
  /// `clock` does.
  void publish(const AccessEvent &event, const GridOrder::Thread &thread,
               uint64_t address, const Clock &clock);
  /// Adds to `clock` what has been released at an address for other blocks.
  void addReleased(Clock &clock, uint64_t address) const;
  bool isForBlocks(const AccessEvent &event) const {
    return grid && event.space == Space::Global && event.scope != Scope::Block;
  }

  unsigned warpsOfBlock;
  GridOrder *grid;
  llvm::SmallVector<uint64_t, 2> blocks; ///< by their places
  llvm::SmallVector<Warp, 4> warps;
  /// Who has waited for the kernels before, and when.
  llvm::SmallVector<GridOrder::Moment, 4> kernelWaits;
  std::map<std::pair<unsigned, uint32_t>, Meeting> meetings;
  /// What arrivals at the cluster's barrier made known: for the next meeting,
  /// and by the last one.
  Clock comingToCluster, metInCluster;
  llvm::DenseMap<AsyncId, Operation> operations;
  llvm::SmallVector<BarrierState, 4> barriers;
  std::map<std::pair<unsigned, uint64_t>, unsigned> barrierAt;
  /// What atomic operations of the block at a place have made known at an
  /// address to its own threads.
  std::map<std::pair<unsigned, uint64_t>, Released> released;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_BLOCKORDER_H
