//===- Warp.h - The state of a block and its warps --------------*- C++ -*-===//
//
// What instructions work on. A warp is a position in the program, a stack of
// masks and its registers; nothing of it is on the stack of the host, so that
// it can stop at any instruction.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_WARP_H
#define TL_LIB_SIMULATOR_WARP_H

#include "AsyncOperations.h"
#include "Choices.h"
#include "WarpGroups.h"
#include "tl/Simulator/Checkers/Elements.h"
#include "tl/Simulator/Events.h"
#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Machine.h"
#include "llvm/ADT/DenseMap.h"

namespace tl::sim {

class Block;

/// What a warp that is paused waits for.
struct Waiting {
  enum class Kind : uint8_t { Nothing, Barrier, Cluster, Mbarrier, Registers };

  Kind kind = Kind::Nothing;
  InstructionId instruction = 0;
  LaneMask lanes = 0;
  /// Number of the barrier, or of no meaning.
  uint32_t barrier = 0;
  /// Of mbarriers: one for each lane that waits.
  std::array<uint32_t, kLanes> addresses = {};
  std::array<uint32_t, kLanes> parities = {};
  /// How many a thread is to have.
  uint32_t registers = 0;
};

/// A time around a loop that ends by a condition, from its head on.
struct Round {
  /// It has come to the head since it entered the loop.
  bool hasBegun = false;
  /// What decides how the warp goes on, together with memory.
  LaneMask lanes = 0;
  std::vector<uint32_t> carried;
  /// Of the group, when it began.
  uint64_t changes = 0, turn = 0;
};

/// What an atomic operation looked at last.
struct Look {
  const Instruction *instruction = nullptr;
  Span bytes;
  unsigned lane = 0;
  /// Of the group.
  uint64_t turn = 0;
};

class Warp {
public:
  Warp(Block &block, uint32_t number, LaneMask exists, uint32_t *registers,
       uint32_t owned)
      : block(block), registers(registers), exists(exists), lanes(exists),
        number(number), owned(owned) {}

  /// Puts constants and parameters into the registers.
  void begin();

  WarpId getId() const;
  Event getEvent(const Instruction &instruction) const;

  uint32_t *words(Register at) { return registers + at; }
  uint64_t *wide(Register at) {
    return reinterpret_cast<uint64_t *>(registers + at);
  }

  /// Whether no lane is left out.
  bool isWhole() const { return lanes == exists; }

  /// Adds a report of this warp at this instruction. Returns `Step::Failed`.
  Step fail(Report::Kind kind, const Instruction &instruction,
            std::string message, std::string what,
            std::optional<unsigned> lane = std::nullopt);
  Step fail(const Fault &fault, const Instruction &instruction);
  /// Says that only some lanes come to an instruction for the whole warp.
  Step failDivergent(const Instruction &instruction);
  /// Says that another warp of the group came to `instead`, or by itself.
  Step failApart(const Instruction &instruction,
                 const WarpGroups::Instance &instead);
  /// Says that registers are used while `writer` may still write them.
  Step failInFlight(const Instruction &instruction, InstructionId writer,
                    llvm::StringRef what = "hands on the registers of a "
                                           "`wgmma`");
  /// Says that a `wgmma` may have read registers that were something else's.
  Step failUnheld(const AsyncOperations::ReadFactor &read);

  Block &block;
  uint32_t *registers;
  /// Lanes that are threads of the block.
  const LaneMask exists;
  /// Lanes that are active.
  LaneMask lanes;
  const uint32_t number;
  /// Registers that each thread would have on a GPU.
  uint32_t owned;

  InstructionId position = 0;
  /// Masks of the regions around: those to come back to.
  llvm::SmallVector<LaneMask, 16> masks;
  Waiting waiting;
  bool hasEnded = false;
  /// How often it has come to the barrier of the cluster, and waited there.
  uint64_t clusterArrivals = 0, clusterWaits = 0;

  /// By the number of the loop.
  std::vector<Round> rounds;
  /// Its last round without effect: the turn in which that began, and the
  /// group's changes meanwhile (Standstill.cpp).
  uint64_t idleSince = 0;
  std::optional<uint64_t> idleChanges;
  Look look;

  /// What was last looked for in device memory.
  const GlobalMemory::Range *lastRange = nullptr;
  std::vector<uint8_t> local;
};

/// A barrier of threads of the block.
struct NamedBarrier {
  uint32_t expected = 0;
  uint32_t arrived = 0;
  llvm::SmallVector<Event, 8> arrivals;
  llvm::SmallVector<uint32_t, 8> waiting; ///< numbers of warps
};

/// What the blocks of a cluster have in common.
struct Cluster {
  /// By their numbers in the cluster, x fastest.
  llvm::SmallVector<Block *, 2> blocks;
  /// How often all warps have met.
  uint64_t meetings = 0;
  AsyncId lastId = 0;
};

/// What the blocks that run at the same time have in common.
struct Group {
  llvm::SmallVector<Block *> blocks;
  /// How often memory has changed, or what else a warp may wait for.
  uint64_t changes = 0;
  /// Of all blocks; and the last one of a warp that was not idle.
  uint64_t turns = 0, lastActive = 0;

  /// What this warp does again and again changes nothing.
  bool isIdle(const Warp &warp) const { return warp.idleChanges == changes; }
};

/// An address of shared memory of some block of the cluster, as `mapa` makes
/// it: one of the block itself has no bits above these.
inline constexpr uint32_t kClusterShift = 24;

class Block {
public:
  static constexpr unsigned kBarriers = 16;

  /// `registers` are those of all warps, one after the other.
  Block(const Launch &launch, uint64_t number, Group &group, Cluster &cluster,
        llvm::MutableArrayRef<uint32_t> registers, SharedMemory &shared,
        Reports &reports, BlockObserver *observer);

  /// Goes on by a turn of a warp, or by a part of an operation where none can
  /// go on. Returns false once all have ended or something has failed.
  bool step();
  bool hasFailed() const { return failed; }
  /// All warps have ended, and nothing is under way.
  bool hasEnded() const { return ended; }

  /// Who watches, or null.
  BlockObserver *getObserver() const { return observer; }
  uint32_t getThreadCount() const { return threadCount; }

  void report(Report report) {
    failed = true;
    reports.add(std::move(report));
  }

  /// A warp comes to a barrier, which may be complete by it, and waits there
  /// if `waits`.
  Step arriveAtBarrier(Warp &warp, const Instruction &instruction,
                       uint32_t number, uint32_t threads, bool waits);

  /// A warp comes to the barrier of the cluster, or waits there until all warps
  /// of all its blocks have come.
  Step arriveAtCluster(Warp &warp, const Instruction &instruction);
  Step waitForCluster(Warp &warp, const Instruction &instruction);

  /// The block that has the byte at `address`, of which the block's bits are
  /// taken off; null if there is none, or it has ended, and then that is
  /// reported.
  Block *findBlock(Warp &warp, const Instruction &instruction, unsigned lane,
                   uint32_t &address);

  /// A warp gives registers of each thread back, or waits until it has more.
  Step setRegisters(Warp &warp, const Instruction &instruction, uint32_t count);

  /// The object at `address`, or null if there is none.
  Mbarrier *findMbarrier(uint32_t address);
  const Mbarrier *findMbarrier(uint32_t address) const;

  /// Ends the wait that the warp has begun, if it is over.
  bool waitForPhase(Warp &warp);

  /// Bytes of an operation have landed.
  void land(const Event &issue, uint32_t mbarrier, uint32_t bytes,
            AsyncId operation);

  /// Tells of a phase of the object that was complete `before` phases ago, and
  /// goes on with those who wait for it.
  void tellPhases(const Event &by, uint32_t address, uint64_t before);

  const Launch &launch;
  /// What its memory is called.
  Elements getElements() const { return {&program, &global}; }

  const Program &program;
  const uint64_t number;
  const std::array<uint32_t, 3> position;
  Group &group;
  Cluster &cluster;
  SharedMemory &shared;
  const GlobalMemory &global;
  Choices choices;
  llvm::DenseMap<uint32_t, Mbarrier> mbarriers;
  /// Which lane arrived last at each of them.
  llvm::DenseMap<uint32_t, Event> lastArrivals;
  AsyncOperations async;
  WarpGroups warpGroups;
  uint64_t threadInstructions = 0;

private:
  /// When asynchronous operations happen: as late as they may, at once, or at
  /// any time.
  enum class Pace : uint8_t { Lazy, Eager, Mixed };
  /// Which of the warps that can go on does.
  enum class Order : uint8_t { Lowest, Highest, Any };

  /// Whether a warp or an operation can go on.
  bool canGoOn() const;
  bool mayBeWaitedFor() const;
  bool hasCome(uint64_t meeting) const;
  void completeMeeting(const Event &by);
  void tellMeeting(const Event &event, ClusterEvent::Kind kind);
  bool turn(Warp &warp);
  /// Whether all that runs at the same time does the same again and again for
  /// ever, and `warp` has just done so.
  bool standsStill(const Warp &warp) const;
  /// Lets what is under way happen, or says that nothing is left to happen.
  void leaveStandstill();
  void reportStandstill();
  void advanceOperations();
  Warp &chooseWarp(llvm::ArrayRef<Warp *> ready);
  bool isOver(const Waiting &waiting);
  void tellWaited(const Warp &warp);
  void takeRegisters(Warp &warp);
  std::string describe(const Waiting &waiting) const;
  void reportDeadlock();
  void addWaiting(Report &report) const;
  void reportApart(const WarpGroups::Instance &open);

  Reports &reports;
  BlockObserver *observer;
  const uint32_t threadCount;
  const Pace pace;
  const Order order;
  std::vector<Warp> warps;
  std::array<NamedBarrier, kBarriers> barriers;
  llvm::SmallVector<Warp *, 32> ready; ///< those of this turn
  uint32_t freeRegisters = 0;          ///< of a thread, for each warp
  bool failed = false, ended = false;
};

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_WARP_H
