//===- Events.h - What a simulated block tells its observers ----*- C++ -*-===//
//
// The machine executes and tells; who wants to know more than the result is an
// observer: checkers of races, counters, tracers. Observers know nothing of the
// interpreter, and change nothing that it does.
//
// The order of calls is the order of one possible execution of the block:
//
// - An ordinary access is told when it happens. Lanes of one warp access at the
//   same time.
// - An asynchronous operation (`cp.async`, a bulk copy, `wgmma`) is told when
//   it is *issued*, with all that it will read and write. Each *part* of it is
//   told when the machine lets it happen, which is as late or as early as the
//   memory model allows, by the seed. It is *complete* when all parts are, and
//   its issuer knows of that by the completion it has: a phase of an mbarrier,
//   or a wait for its group. Operations have numbers, from 1 on in each
//   cluster.
// - A barrier is told twice: when a warp arrives, and when all are there.
//
// A `LaunchObserver` lives as long as a launch, and its methods are called from
// several threads, unless the launch orders its blocks. A `BlockObserver` is
// called from one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_EVENTS_H
#define TL_SIMULATOR_EVENTS_H

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Lanes.h"
#include "tl/Simulator/Memory.h"
#include "tl/Simulator/Report.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <memory>

namespace tl::sim {

class Program;

/// How bytes are reached (PTX ISA, "Proxies").
enum class ProxyKind : uint8_t { Generic, Async };

/// Who must see an atomic access or a fence.
enum class Scope : uint8_t { Block, Cluster, Device, System };

/// What an atomic access or a fence orders besides itself.
enum class Ordering : uint8_t { Relaxed, Acquire, Release, AcquireRelease };

/// Number of an asynchronous operation of a block; 0 stands for none.
using AsyncId = uint32_t;

/// What all events have: which warp does it where, and for which lanes.
struct Event {
  WarpId warp;
  LaneMask lanes = 0;
  InstructionId instruction = 0;
};

/// An event of some kind, by the same lanes at the same instruction.
template <typename EventTy>
EventTy makeEvent(const Event &event) {
  EventTy made;
  static_cast<Event &>(made) = event;
  return made;
}

/// A load, a store or an atomic operation, of which each lane of `lanes` does
/// one, or none where the program's condition for the lane says so.
struct AccessEvent : Event {
  enum class Kind : uint8_t {
    Read,
    Write,
    Atomic,    ///< an update, or an atomic store
    AtomicRead ///< an atomic load
  };

  Kind kind = Kind::Read;
  Space space = Space::Global;
  ProxyKind proxy = ProxyKind::Generic;
  /// Of an atomic access.
  Scope scope = Scope::Device;
  Ordering ordering = Ordering::Relaxed;
  /// Whether what an atomic access leaves or returns depends on what was there.
  bool usesOld = true;
  /// One for each of the 32 lanes; meaningless for lanes that are not there.
  llvm::ArrayRef<uint64_t> addresses;
  /// What each lane touches.
  uint32_t bytes = 0;
  bool writes() const { return kind == Kind::Write || kind == Kind::Atomic; }
  bool isAtomic() const {
    return kind == Kind::Atomic || kind == Kind::AtomicRead;
  }
  /// Of a write: what is going to be written, `bytes` for each of the 32 lanes,
  /// lane after lane. Memory still holds what was there before. Two writes of
  /// the same value are no race. May be empty if that is not known.
  llvm::ArrayRef<uint8_t> values = {};
};

enum class AsyncKind : uint8_t {
  CopyAsync,   ///< `cp.async`, which is of the generic proxy
  TensorLoad,  ///< a bulk copy to shared memory
  TensorStore, ///< a bulk copy from shared memory
  Wgmma        ///< `wgmma`, one warp's rows of it
};

/// An asynchronous operation at its issue. What is copied from one place to
/// another has reads and writes of the same number, in the same order, with
/// zero bytes read where the copy fills. What one block of a cluster copies to
/// others is told to each of these, which read nothing for it.
struct AsyncEvent : Event {
  AsyncId id = 0;
  AsyncKind kind = AsyncKind::CopyAsync;
  llvm::ArrayRef<Span> reads, writes;
  /// The mbarrier that a load completes at, as an address of shared memory.
  uint64_t barrier = 0;
  /// A store adds to each element in one step, among all threads of the device.
  bool accumulates = false;
};

/// A part of an asynchronous operation, when it happens.
struct AsyncPart {
  AsyncId id = 0;
  llvm::ArrayRef<Span> reads, writes;
};

/// A commit of a group of asynchronous operations, or a wait for groups. Groups
/// belong to threads: of `cp.async` and bulk stores to each lane, of `wgmma` to
/// the warp.
struct GroupEvent : Event {
  AsyncKind kind = AsyncKind::CopyAsync;
  /// Of a wait: how many of the youngest groups may stay under way.
  uint32_t pending = 0;
  /// Of a wait for stores: that what they read is read suffices.
  bool readsOnly = false;
  /// Of a commit: what is in the group. Of a wait: what is complete by it, and
  /// was not known to be before.
  llvm::ArrayRef<AsyncId> operations;
};

/// A barrier of threads of a block.
struct BarrierEvent : Event {
  /// 0 to 15; `gpu.barrier` is number 0 with all threads of the block.
  uint32_t barrier = 0;
  /// How many threads meet.
  uint32_t threads = 0;
  /// Waits for the others, rather than only arriving.
  bool waits = true;
};

/// The barrier of a cluster, at which all warps of its blocks meet.
struct ClusterEvent : Event {
  enum class Kind : uint8_t {
    Arrive,
    Complete, ///< all have come; told to one block
    Wait      ///< the warp goes on
  };
  Kind kind = Kind::Arrive;
};

/// What is done to an mbarrier of the block, by itself or by another one of its
/// cluster.
struct MbarrierEvent : Event {
  enum class Kind : uint8_t {
    Init,      ///< `count` arrivals make a phase
    Arrive,    ///< `count` arrivals, after `bytes` more are expected
    Expect,    ///< `bytes` more are expected
    Landed,    ///< `bytes` of operation `async` have landed
    Completed, ///< phase number `phase` is complete
    Waited,    ///< the warp has seen phase number `phase` complete
    Invalidate ///< the object is gone
  };
  Kind kind = Kind::Init;
  uint64_t address = 0;
  uint32_t count = 0;
  uint32_t bytes = 0;
  AsyncId async = 0;
  /// From 0 on since the object's initialisation.
  uint64_t phase = 0;
};

struct FenceEvent : Event {
  enum class Kind : uint8_t {
    Memory,       ///< `fence` of a scope and an ordering
    AsyncProxy,   ///< `fence.proxy.async`, of the spaces that are named
    MbarrierInit, ///< `fence.mbarrier_init`
    Wgmma,        ///< `wgmma.fence`
    Kernels       ///< `griddepcontrol.wait`: those launched before are done
  };
  Kind kind = Kind::Memory;
  bool shared = false, global = false;
  Scope scope = Scope::Block;
  Ordering ordering = Ordering::AcquireRelease;
};

/// Lanes begin the iterations of a parallel loop, or go to some of them. What
/// an access says of its iterations (`Program::iterations`) is counted from
/// there.
struct IterationsEvent : Event {
  /// Of the loop that begins; none where lanes go on in one that has begun.
  llvm::ArrayRef<uint32_t> extents;
  /// Where lanes are: of each index a row.
  llvm::ArrayRef<const uint32_t *> indices;
};

/// Lanes touch what they have in registers of a fragment, each for one of its
/// iterations.
struct FragmentEvent : Event {
  /// The fragment's number in the kernel.
  uint32_t fragment = 0;
  bool isWrite = false;
  /// One for each of the 32 lanes.
  const uint32_t *registers = nullptr;
};

/// Lanes that exchange values or meet without touching memory.
struct WarpEvent : Event {
  enum class Kind : uint8_t { Shuffle, Vote, Sync };
  Kind kind = Kind::Shuffle;
};

/// Tensor cores multiply: `count` products of `m` rows, which are the warp's,
/// by `n` columns over a depth of `k`. Told when they are issued.
struct ProductEvent : Event {
  MmaType type = MmaType::F16;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t count = 1;
  /// What all of them together read of factors in shared memory. What the four
  /// warps of a group read in common is told in four equal parts.
  uint32_t sharedBytes = 0;
};

/// The number of the first block of the cluster that `block` is in.
inline uint64_t getFirst(uint64_t block, const std::array<uint32_t, 3> &grid,
                         const std::array<uint32_t, 3> &cluster) {
  uint64_t x = block % grid[0], y = block / grid[0] % grid[1],
           z = block / grid[0] / grid[1];
  return x - x % cluster[0] +
         grid[0] *
             (y - y % cluster[1] + uint64_t(grid[1]) * (z - z % cluster[2]));
}

/// What is known of a launch before its first block.
struct LaunchInfo {
  const Program *program = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< in blocks
  uint32_t sharedBytes = 0;
  /// Begins while the kernel in front of it may still run.
  bool isDependent = false;
  /// Blocks may order each other by atomic operations. They run on one thread
  /// of the host then.
  bool ordersBlocks = false;
  const GlobalMemory *global = nullptr;
  uint64_t seed = 0;
  /// Where observers tell what they find.
  Reports *reports = nullptr;

  uint32_t threadCount() const { return block[0] * block[1] * block[2]; }
  uint32_t clusterSize() const { return cluster[0] * cluster[1] * cluster[2]; }
  uint32_t warpCount() const { return (threadCount() + kLanes - 1) / kLanes; }
};

class BlockObserver {
public:
  virtual ~BlockObserver() = default;

  virtual void onAccess(const AccessEvent &) {}
  virtual void onAsyncIssue(const AsyncEvent &) {}
  virtual void onAsyncPart(const AsyncPart &) {}
  virtual void onAsyncComplete(AsyncId) {}
  virtual void onCommit(const GroupEvent &) {}
  virtual void onWaitGroups(const GroupEvent &) {}
  virtual void onBarrierArrive(const BarrierEvent &) {}
  /// All that were to meet have. `warps` says which lanes of each warp.
  virtual void onBarrierComplete(const BarrierEvent &,
                                 llvm::ArrayRef<Event> warps) {}
  virtual void onCluster(const ClusterEvent &) {}
  virtual void onMbarrier(const MbarrierEvent &) {}
  virtual void onFence(const FenceEvent &) {}
  virtual void onWarp(const WarpEvent &) {}
  virtual void onIterations(const IterationsEvent &) {}
  virtual void onFragment(const FragmentEvent &) {}
  virtual void onProduct(const ProductEvent &) {}
  /// An instruction is about to be executed; called for each one.
  virtual void onInstruction(const Event &) {}
  virtual void onBlockEnd() {}
};

class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;

  /// `shared` is the block's memory, with what it holds at each event.
  virtual std::unique_ptr<BlockObserver>
  beginBlock(uint64_t block, const SharedMemory &shared) = 0;

  /// All blocks have ended.
  virtual void onLaunchEnd() {}
};

/// Makes an observer for each launch.
class ObserverFactory {
public:
  virtual ~ObserverFactory() = default;
  virtual std::unique_ptr<LaunchObserver>
  beginLaunch(const LaunchInfo &launch) = 0;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_EVENTS_H
