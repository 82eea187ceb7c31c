//===- AssignStages.cpp - Decide which copies run ahead, and by what ------===//
//
// If it pays, the bulk copies of a kernel get a thread of their own: the kernel
// is marked `tl.specialize`. Any choice is sound where that thread can find its
// way by itself (ProducerSlice.cpp).
//
// A plain loop over tiles is taken as a pipelined one of one stage, which means
// the same, and of those the ones that have room run ahead in two slots.
// Whether their copies may is found out as for all others.
//
// Sound because a copy is marked `tl.ahead` only if no statement can see that
// it was started early, which RunAhead.cpp defines, and because the engine can
// carry out every copy that is marked, which BulkCopy.cpp and the verifiers of
// `tl.pipelined` and `tl.copy` check; and a gemm is marked `tl.delayed` only if
// no statement can see that it is done late, which DelayedGemm.cpp defines.
// What blocks of a cluster fetch together, MulticastCopies.cpp finds out. In
// how many slots a loop runs ahead is a question of speed and memory alone. The
// pass moves nothing.
//
//===----------------------------------------------------------------------===//

#include "MulticastCopies.h"
#include "PlainLoop.h"

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/DelayedGemm.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/ProducerSlice.h"
#include "tl/Dialect/TL/Analysis/Registers.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/Rings.h"
#include "tl/Dialect/TL/Analysis/RunAhead.h"
#include "tl/Dialect/TL/Analysis/SharedLives.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "tl-assign-stages"

namespace tl {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static remark::RemarkOpts remarkOptions() {
  return remark::RemarkOpts::name("pipeline").category(DEBUG_TYPE);
}

/// Registers that a thread needs for addresses and the like; fewer if most of
/// the fragments are not alive at once. A multiprocessor has four parts, each
/// with the registers of its own warps, so that a warp more costs as many as
/// four.
static constexpr int64_t kOtherRegisters = 40, kOtherRegistersIfLate = 20;

/// The engine for all copies of a loop; says in a remark why it is not the bulk
/// copy engine, if the target has one.
static CopyEngine chooseEngine(PipelinedOp loop, ArrayRef<CopyOp> copies,
                               const Target &target) {
  if (!target.hasBulkCopy())
    return CopyEngine::Groups;
  auto refuse = [](Operation *op, const std::string &reason) {
    remark::missed(op->getLoc(), remarkOptions())
        << "the loop's copies do not use the bulk copy engine: " + reason;
    return CopyEngine::Groups;
  };
  if (!canCarryPhase(loop))
    return refuse(loop, "the loop stands in control flow through which its "
                        "state cannot be carried");
  for (CopyOp copy : copies) {
    std::string reason;
    if (!getBulkCopyShape(copy, reason))
      return refuse(copy, reason);
  }
  return CopyEngine::Bulk;
}

//===----------------------------------------------------------------------===//
// Loops of one stage
//===----------------------------------------------------------------------===//

/// Blocks that hide each other's waits as well as copies that run ahead do.
static constexpr int64_t kEnoughBlocks = 2;
/// What a multiprocessor keeps of shared memory for each of its blocks.
static constexpr int64_t kBytesOfBlock = 1024;
static constexpr int64_t kRegistersOfMultiprocessor = 65536,
                         kThreadsOfMultiprocessor = 2048;

/// About how many blocks with so many bytes of shared memory a multiprocessor
/// has room for.
static int64_t countBlocks(gpu::GPUFuncOp kernel, int64_t bytes,
                           const Target &target) {
  int64_t threads = getNumThreads(kernel);
  int64_t registers = countFragmentRegisters(kernel) + kOtherRegisters;
  return std::min({(target.getSharedMemoryLimit() + kBytesOfBlock) /
                       (bytes + kBytesOfBlock),
                   kRegistersOfMultiprocessor / (threads * registers),
                   kThreadsOfMultiprocessor / threads});
}

namespace {
/// A tile that a loop runs ahead of, in so many slots.
struct Slots {
  PipelinedOp loop;
  AllocOp tile;
  int64_t count;

  int64_t getBytes() { return getSharedBytes(tile) * count; }
};
} // namespace

/// The slots of the loops that run ahead, other than `except`.
static SmallVector<Slots> findSlots(gpu::GPUFuncOp kernel, PipelinedOp except) {
  SmallVector<Slots> slots;
  kernel.walk([&](PipelinedOp loop) {
    if (loop == except || loop.getStages() < 2)
      return;
    for (auto copy : loop.getBody().getOps<CopyOp>())
      if (auto tile = copy.getTarget().getDefiningOp<AllocOp>();
          tile && isInSpace(tile, Space::Shared) &&
          isInSpace(copy.getSource(), Space::Global))
        slots.push_back({loop, tile, static_cast<int64_t>(loop.getStages())});
  });
  return slots;
}

static int64_t getBytes(MutableArrayRef<Slots> slots) {
  int64_t bytes = 0;
  for (Slots &one : slots)
    bytes += one.getBytes();
  return bytes;
}

static int64_t getBytesOfTiles(gpu::GPUFuncOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](AllocOp alloc) {
    if (isInSpace(alloc, Space::Shared))
      bytes += getSharedBytes(alloc);
  });
  return bytes;
}

/// The most bytes of shared memory that hold something at once, if `slots` do
/// from the kernel's start to its end.
static int64_t getPeakBytes(gpu::GPUFuncOp kernel,
                            MutableArrayRef<Slots> slots) {
  SharedLives lives = findSharedLives(kernel);
  SmallVector<int64_t> held(lives.steps.size(), getBytes(slots));
  for (const SharedLife &life : lives.buffers) {
    auto alloc = dyn_cast<AllocOp>(life.alloc);
    if (!alloc)
      continue;
    for (unsigned step : life.exact.set_bits()) {
      bool isInSlot = llvm::any_of(slots, [&](Slots &one) {
        return one.tile == alloc && one.loop->isAncestor(lives.steps[step]);
      });
      held[step] += isInSlot ? 0 : getSharedBytes(alloc);
    }
  }
  return held.empty() ? 0 : *llvm::max_element(held);
}

/// Has a loop of one stage run one iteration ahead, in two slots, unless the
/// second ones keep blocks away from a multiprocessor that has few and would
/// have more, or so many that less than `kept` of four are left. It has no more
/// than its part of the grid, whatever room there is.
static bool runOneAhead(PipelinedOp loop, ArrayRef<CopyOp> copies,
                        const Target &target, int64_t kept) {
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  if (!kernel.getKnownBlockSize())
    return false;
  SmallVector<Slots> slots = findSlots(kernel, loop);
  bool hasOthers = !slots.empty();
  int64_t before = getPeakBytes(kernel, {}), after = before;
  for (CopyOp copy : copies) {
    auto tile = copy.getTarget().getDefiningOp<AllocOp>();
    // Beside a tile of f32 there may be a rounded one (tl-round-factors).
    bool mayRound = tile.getType().getElementType().isF32();
    // A tile that is used outside of the loop too may stay beside its ring.
    bool isElsewhere = llvm::any_of(tile->getUsers(), [&](Operation *user) {
      return !loop->isProperAncestor(user);
    });
    after += getSharedBytes(tile) * ((mayRound ? 2 : 1) + isElsewhere);
    slots.push_back({loop, tile, mayRound ? 3 : 2});
  }
  // Rings of several loops may be filled at the same time, and how tiles lie
  // beside them is not known yet: at worst each has a place of its own.
  int64_t most = after;
  if (hasOthers) {
    after = std::max(after, getPeakBytes(kernel, slots));
    most = std::max(after, getBytesOfTiles(kernel) + getBytes(slots));
  }
  int64_t blocks = std::min(countBlocks(kernel, before, target),
                            countBlocksOfGrid(kernel)),
          left = countBlocks(kernel, after, target);
  if (most + kReservedSharedBytes > target.getSharedMemoryLimit() ||
      left < std::min(blocks, kEnoughBlocks) || 4 * left < kept * blocks)
    return false;
  loop.setStages(2);
  remark::passed(loop.getLoc(), remarkOptions())
      << "loop of one stage runs ahead in two slots";
  return true;
}

//===----------------------------------------------------------------------===//
// Loops without stages
//===----------------------------------------------------------------------===//

/// Of four blocks on a multiprocessor, how many must stay where the program
/// does not ask for a loop to be pipelined.
static constexpr int64_t kKeptBlocks = 3;

/// True if `op` runs ahead by the program's own means, or is a part of that.
static bool isByHand(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return isa<AllocBarriersOp, CommitCopiesOp, WaitCopiesOp, RoleOp,
             OpenTurnsOp>(op) ||
         (copy && copy.getAsync() &&
          isInSpace(copy.getTarget(), Space::Shared));
}

/// True if `loop` is one over tiles that could be pipelined: it carries
/// nothing, copies tiles, stands in no pipelined loop, and nothing inside of it
/// is one or copies tiles on its own.
static bool isOverTiles(scf::ForOp loop) {
  std::optional<APInt> step = loop.getConstantStep();
  if (loop.getNumResults() != 0 || !loop->getDiscardableAttrs().empty() ||
      loop->getParentOfType<PipelinedOp>() ||
      !loop.getInductionVar().getType().isIndex() || loop.getUnsignedCmp() ||
      !step || !step->isOne())
    return false;
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (trips && trips->ult(2))
    return false;
  bool copies = false;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    auto copy = dyn_cast<CopyOp>(op);
    if (isa<PipelinedOp, scf::WhileOp>(op) ||
        (copy && isInSpace(copy.getTarget(), Space::Shared) &&
         copy->getBlock() != loop.getBody()))
      return WalkResult::interrupt();
    copies |= copy && isInSpace(copy.getSource(), Space::Global) &&
              isInSpace(copy.getTarget(), Space::Shared);
    return WalkResult::advance();
  });
  return copies && !result.wasInterrupted();
}

/// Makes a pipelined loop of one stage, which means the same.
static PipelinedOp makePipelined(scf::ForOp loop) {
  OpBuilder builder(loop);
  auto pipelined =
      PipelinedOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                          loop.getUpperBound(), /*stages=*/1);
  pipelined.getBody().takeBody(loop.getRegion());
  Operation *end = pipelined.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  YieldOp::create(builder, end->getLoc());
  end->erase();
  loop.erase();
  return pipelined;
}

/// Has plain loops over tiles run ahead in two slots, where few blocks give way
/// for it: their threads would wait for each tile. A kernel that orders copies
/// or blocks by its own means is left alone.
static void runPlainLoopsAhead(gpu::GPUFuncOp kernel, const Target &target) {
  if (getClusterSize(kernel) > 1 || !target.hasAsyncCopy())
    return;
  SmallVector<scf::ForOp> loops;
  WalkResult result = kernel.walk([&](Operation *op) {
    if (isByHand(op))
      return WalkResult::interrupt();
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && isOverTiles(loop))
      loops.push_back(loop);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return;
  for (scf::ForOp plain : loops) {
    PipelinedOp loop = makePipelined(plain);
    RunAhead found = RunAhead::of(loop);
    if (found.copies.empty() ||
        !runOneAhead(loop, found.copies, target, kKeptBlocks))
      makePlain(loop);
  }
}

static void assign(PipelinedOp loop, const Target &target) {
  if (getEngine(loop))
    return;
  if (!target.hasAsyncCopy()) {
    if (loop.getStages() > 1)
      remark::missed(loop.getLoc(), remarkOptions())
          << "loop is not pipelined: the chip has no asynchronous copies";
    return;
  }
  RunAhead found = RunAhead::of(loop);
  if (loop.getStages() < 2 && !found.copies.empty())
    runOneAhead(loop, found.copies, target, /*kept=*/0);
  if (loop.getStages() < 2)
    return;
  if (found.copies.empty()) {
    remark::missed(loop.getLoc(), remarkOptions())
        << "loop is not pipelined: " + found.whyNone();
    return;
  }
  for (auto &[copy, reason] : found.refusals)
    remark::missed(copy.getLoc(), remarkOptions())
        << "copy does not run ahead: " + reason;
  for (ParallelOp cut : found.cuts)
    remark::missed(cut.getLoc(), remarkOptions())
        << "copy does not run ahead: " + RunAhead::whyNotCut();
  Builder builder(loop.getContext());
  CopyEngine engine = chooseEngine(loop, found.copies, target);
  loop->setAttr(kEngineAttr,
                builder.getStringAttr(stringifyCopyEngine(engine)));
  for (CopyOp copy : found.copies)
    copy->setAttr(kAheadAttr, builder.getUnitAttr());

  if (loop->hasAttr(kGuardedAttr))
    return;
  std::string reason;
  if (std::optional<DelayedGemm> delayed = DelayedGemm::of(loop, reason)) {
    delayed->gemm->setAttr(kDelayedAttr, builder.getUnitAttr());
    remark::passed(delayed->gemm.getLoc(), remarkOptions())
        << "gemm runs beside the next iteration";
  } else if (!reason.empty()) {
    remark::missed(loop.getLoc(), remarkOptions())
        << "the last gemm does not run beside the next iteration: " + reason;
  }
}

//===----------------------------------------------------------------------===//
// Loops over the same tiles
//===----------------------------------------------------------------------===//

static bool hasLateGemm(PipelinedOp loop) {
  return llvm::any_of(loop.getBody().getOps<GemmOp>(),
                      [](GemmOp gemm) { return gemm->hasAttr(kDelayedAttr); });
}

/// Has loops over the same tiles run ahead as far as the farthest of them: in
/// slots of their own they would take more shared memory, by as much as the
/// others have. Not where something else keeps their slots apart.
static void shareSlots(gpu::GPUFuncOp kernel) {
  SmallVector<Rings> all = findRings(kernel);
  for (Rings &rings : all) {
    int64_t most = rings.tiles.stages;
    for (const Rings &other : all)
      if (rings.tiles.isEqualButForStages(other.tiles))
        most = std::max(most, other.tiles.stages);
    if (most == rings.tiles.stages)
      continue;
    for (PipelinedOp loop : rings.loops) {
      remark::passed(loop.getLoc(), remarkOptions())
          << "loop runs ahead in " + std::to_string(most) +
                 " slots, as another one over its tiles does";
      loop.setStages(most);
    }
  }
}

//===----------------------------------------------------------------------===//
// A thread of their own for bulk copies
//===----------------------------------------------------------------------===//

/// A thread that only starts copies goes on to the next tile while the others
/// store this one, so that the loop stands in another one; 1 % of a GEMM of
/// 8192^3 on an H200. Or the warp groups compute beside products that run late:
/// without barriers of the block they can take turns. Else the kernel is no
/// faster. Products of two warp groups keep the tensor cores busy between them;
/// with fewer slots it cannot run ahead far enough (late products have slots of
/// their own), and where two blocks share a multiprocessor they hide each
/// other's waits. Where guards stand around the loops, nothing else runs ahead.
static constexpr int64_t kMinWarpGroups = 2, kMinStages = 3,
                         kMinStagesIfLate = 2, kMinStagesIfGuarded = 2;
static constexpr int64_t kWarp = 32, kMaxThreads = 1024; // of a block

/// Bytes of shared memory that bulk copies fill, in all slots.
static int64_t getBulkBytes(ArrayRef<Rings> all) {
  int64_t bytes = 0;
  for (const Rings &rings : all)
    if (rings.tiles.engine == CopyEngine::Bulk)
      bytes += rings.getBytes();
  return bytes;
}

static bool multipliesByWarpGroups(PipelinedOp loop) {
  return loop.getBody()
      .walk([](GemmOp gemm) {
        bool isWgmma = gemm.getPlan() &&
                       gemm.getPlan()->getInstruction() == Instruction::WGMMA;
        return isWgmma ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The op of the kernel's body that is or contains `op`.
static Operation *getTop(Operation *op) {
  return op->getParentOfType<gpu::GPUFuncOp>()
      .getBody()
      .front()
      .findAncestorOpInBlock(*op);
}

/// The rings in which `loop` fills `tile` ahead, or null.
static const Rings *getRings(ArrayRef<Rings> all, Value tile,
                             PipelinedOp loop) {
  const Rings *found = llvm::find_if(all, [&](const Rings &rings) {
    return rings.tiles.contains(tile) && llvm::is_contained(rings.loops, loop);
  });
  return found == all.end() ? nullptr : found;
}

/// True if shared memory holds the rings of bulk copies, which a thread of its
/// own fills from the kernel's start on, beside all that is there until the
/// last of `loops` has ended.
static bool fitsBeside(gpu::GPUFuncOp kernel, ArrayRef<PipelinedOp> loops,
                       ArrayRef<Rings> all, const Target &target) {
  Operation *first = getTop(loops.front()), *last = getTop(loops.back());
  SharedLives lives = findSharedLives(kernel);
  int64_t ringBytes = getBulkBytes(all), before = ringBytes;
  SmallVector<int64_t> held(lives.steps.size(), ringBytes);
  for (const SharedLife &life : lives.buffers) {
    auto alloc = dyn_cast<AllocOp>(life.alloc);
    if (!alloc)
      continue;
    int64_t bytes = getSharedBytes(alloc);
    bool isBefore = false;
    for (unsigned step : life.exact.set_bits()) {
      Operation *op = lives.steps[step];
      // What loops fill ahead is in their rings.
      auto loop = op->getParentOfType<PipelinedOp>();
      const Rings *rings = getRings(all, alloc, loop);
      if (rings && rings->tiles.engine == CopyEngine::Bulk)
        continue;
      held[step] += rings ? bytes * rings->tiles.stages : bytes;
      isBefore |= getTop(op)->isBeforeInBlock(first);
    }
    // Tiles that are copied once are started with the rings.
    before += isBefore ? bytes : 0;
  }
  for (auto [op, bytes] : llvm::zip_equal(lives.steps, held))
    if (auto gemm = dyn_cast<GemmOp>(op))
      bytes += getRoundedBytes(gemm, all, target);
  int64_t most = before;
  for (auto [op, bytes] : llvm::zip_equal(lives.steps, held))
    if (!last->isBeforeInBlock(getTop(op)))
      most = std::max(most, bytes);
  return most + kReservedSharedBytes <= target.getSharedMemoryLimit();
}

static bool isGuarded(PipelinedOp loop) { return loop->hasAttr(kGuardedAttr); }

/// True if `gemm` must be complete at the end of an iteration of `loop`: that
/// uses what it adds up, or changes its factor in registers.
static bool endsInIteration(GemmOp gemm, PipelinedOp loop) {
  auto hasUser = [&](Value fragment, bool onlyWrites) {
    return llvm::any_of(fragment.getUsers(), [&](Operation *user) {
      if (!loop->isProperAncestor(user) || isa<GemmOp>(user))
        return false;
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      return !onlyWrites || !effects ||
             effects.getEffectOnValue<MemoryEffects::Write>(fragment);
    });
  };
  return hasUser(gemm.getAcc(), /*onlyWrites=*/false) ||
         (isInSpace(gemm.getA(), Space::Fragment) &&
          hasUser(gemm.getA(), /*onlyWrites=*/true));
}

/// True if no product of the warp groups goes on over the end of an iteration.
/// The copies of the next one then need all of an iteration's time.
static bool endsProducts(PipelinedOp loop) {
  bool ends = multipliesByWarpGroups(loop);
  loop.getBody().walk(
      [&](GemmOp gemm) { ends &= endsInIteration(gemm, loop); });
  return ends;
}

static int64_t getMinStages(PipelinedOp loop) {
  if (isGuarded(loop))
    return kMinStagesIfGuarded;
  return hasLateGemm(loop) || endsProducts(loop) ? kMinStagesIfLate
                                                 : kMinStages;
}

/// `tl.specialize`, if a thread of its own for the copies of `loops`, into
/// slots of so many `bytes`, promises anything; else null.
static Attribute chooseSpecialize(gpu::GPUFuncOp kernel,
                                  ArrayRef<PipelinedOp> loops, int64_t bytes,
                                  const Target &target,
                                  bool canChangeRegisters) {
  int64_t threads = getNumThreads(kernel);
  bool hasGuards = llvm::any_of(loops, isGuarded);
  bool needsRegisters = llvm::any_of(loops, hasLateGemm) ||
                        (!hasGuards && llvm::any_of(loops, endsProducts));
  for (PipelinedOp loop : loops)
    if (loop.getStages() < getMinStages(loop))
      return {};
  int64_t fragments = countFragmentRegisters(kernel);
  bool isAlone =
      2 * bytes > target.getSharedMemoryLimit() ||
      fragments + kOtherRegistersIfLate > getFirstRegisters(2 * threads);
  if (llvm::none_of(loops, multipliesByWarpGroups) ||
      threads % kWarpGroup != 0 ||
      threads + (needsRegisters ? kWarpGroup : kWarp) > kMaxThreads)
    return {};
  if (!hasGuards && (threads < kMinWarpGroups * kWarpGroup || !isAlone))
    return {};
  Builder builder(kernel.getContext());
  if (needsRegisters) {
    std::optional<RegisterBudget> budget = getRegisterBudget(threads);
    // A late product holds its factor beside what the next iteration computes.
    int64_t live = llvm::any_of(loops, hasLateGemm)
                       ? fragments
                       : countLiveFragmentRegisters(kernel);
    if (canChangeRegisters && budget &&
        live + kOtherRegistersIfLate <= budget->consumer)
      return builder.getDenseI64ArrayAttr({budget->producer, budget->consumer});
    bool isFarAhead = llvm::all_of(loops, [](PipelinedOp loop) {
      return !hasLateGemm(loop) &&
             static_cast<int64_t>(loop.getStages()) >= kMinStages;
    });
    if (!isFarAhead)
      return {};
  }
  bool isInLoop = llvm::any_of(loops, [](PipelinedOp loop) {
    return loop->getParentOfType<LoopLikeOpInterface>();
  });
  int64_t registers =
      getFirstRegisters(llvm::alignTo(threads + kWarp, kWarpGroup));
  bool paysInLoop =
      hasGuards || (isInLoop && 2 * bytes > target.getSharedMemoryLimit());
  if (paysInLoop && fragments + kOtherRegisters <= registers)
    return builder.getUnitAttr();
  return {};
}

/// Marks the kernel if its bulk copies are to have a thread of their own; says
/// in a remark why not, where that would pay.
static void chooseRoles(gpu::GPUFuncOp kernel, const Target &target,
                        bool canChangeRegisters) {
  SmallVector<PipelinedOp> loops;
  SmallVector<Operation *> copies;
  kernel.walk([&](PipelinedOp loop) {
    if (getEngine(loop) != CopyEngine::Bulk)
      return;
    loops.push_back(loop);
    for (auto copy : loop.getBody().getOps<CopyOp>())
      if (runsAhead(copy))
        copies.push_back(copy);
  });
  if (loops.empty() || kernel->hasAttr(kSpecializeAttr) ||
      !kernel.getKnownBlockSize())
    return;
  SmallVector<Rings> all = findRings(kernel);
  Attribute specialize = chooseSpecialize(kernel, loops, getBulkBytes(all),
                                          target, canChangeRegisters);
  if (!specialize)
    return;
  if (!fitsBeside(kernel, loops, all, target)) {
    remark::missed(loops.front().getLoc(), remarkOptions())
        << "no thread of its own starts the kernel's copies: what is in shared "
           "memory before the loop is under way would not fit beside it";
    return;
  }
  ProducerSlice slice = ProducerSlice::of(kernel, copies);
  if (slice.getReason().empty()) {
    kernel->setAttr(kSpecializeAttr, specialize);
    return;
  }
  remark::missed(slice.getPlace()->getLoc(), remarkOptions())
      << "no thread of its own starts the kernel's copies: " +
             slice.getReason().str();
}

/// Takes back that loops behind guards run ahead, where no role does.
static void keepBehindGuards(gpu::GPUFuncOp kernel) {
  if (kernel->hasAttr(kSpecializeAttr))
    return;
  kernel.walk([&](PipelinedOp loop) {
    if (!isGuarded(loop) || !getEngine(loop))
      return;
    loop->removeAttr(kEngineAttr);
    for (auto copy : loop.getBody().getOps<CopyOp>())
      copy->removeAttr(kAheadAttr);
    remark::missed(loop.getLoc(), remarkOptions())
        << "loop is not pipelined: its copies stand in a branch, and no thread "
           "of its own runs ahead through that";
  });
}

/// True if the program has the blocks of a cluster meet, or reach each other.
/// All warps of a block meet with those of others, so that it can have no
/// roles.
static bool meetsInCluster(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<MapSharedRankOp>(op) || arrivesAtCluster(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct AssignStagesPass : tl::impl::AssignStagesPassBase<AssignStagesPass> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(requireSharedLayouts(kernel)))
        return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      runPlainLoopsAhead(kernel, *target);
    getOperation().walk([&](PipelinedOp loop) { assign(loop, *target); });
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (sharesSlots(kernel))
        shareSlots(kernel);
      bool isApart = !meetsInCluster(kernel);
      if (isApart)
        chooseRoles(kernel, *target, registers);
      keepBehindGuards(kernel);
      if (isApart)
        multicastCopies(kernel);
    }
  }
};
} // namespace
