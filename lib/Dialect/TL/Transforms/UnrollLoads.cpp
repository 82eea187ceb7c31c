//===- UnrollLoads.cpp - Have several steps of a loop under way -----------===//
//
// A loop that loads from device memory, computes in registers, moves things in
// shared memory and does nothing else waits for its loads once in each step.
// Where it has a known number of steps, code generators are asked to write
// several of them one after the other: their loads do not depend on what is
// computed and stored, and all are started before the first of them is waited
// for. Which loop this pays for follows from its length: the registers that all
// loads of the steps need are to be there.
//
// A loop that computes what it stores, each step alone, waits for one operation
// after the other, where the block has too few warps to do anything meanwhile.
// Chains of several steps are executed in turns in the same way.
//
// A short loop with atomic operations on shared memory, as a histogram has, is
// written out here, since no load passes those: first what the loads of all
// steps need, and the loads, then the rest of each step.
//
// Sound because the annotation of other loops, `llvm.loop_annotation`, is a
// hint that changes no meaning; and because what comes earlier in a loop that
// is written out loads device memory, which nothing in the loop writes, and
// nothing that it comes before waits, or orders what others write: accesses and
// relaxed atomic operations of shared memory, in the order that they had. A
// load stays in its branch, and its condition is of the values that it was of.
//
//===----------------------------------------------------------------------===//

#include "ScalarAccesses.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tl {
#define GEN_PASS_DEF_UNROLLLOADSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// As many bits as a thread has under way by other means (`cp.async`, eight
/// vectors of a tile).
static constexpr int64_t kBitsUnderWay = 8 * 128;
static constexpr int64_t kMaxSteps = 8, kMaxOps = 512;
/// A loop that is all written out leaves no counter and no branch.
static constexpr int64_t kMaxOpsOfAll = 1024;

/// True if `access` is of memory in `space`, and a compiler may move it.
template <typename OpTy>
static bool isPlainIn(unsigned space, OpTy access) {
  auto pointer = cast<LLVM::LLVMPointerType>(access.getAddr().getType());
  return pointer.getAddressSpace() == space && !access.getVolatile_() &&
         access.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

/// True if it is a load or a store of shared memory, which loads of device
/// memory pass.
static bool isOfSharedMemory(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return isPlainIn(kSharedSpace, load);
  auto store = dyn_cast<LLVM::StoreOp>(op);
  return store && isPlainIn(kSharedSpace, store);
}

/// Of loops that only store: ops of a step that are worth it, ops of all steps,
/// of which vectors make several, and threads of a block that has one warp for
/// each of the four parts of a multiprocessor.
static constexpr int64_t kMinOpsOfChain = 32, kMaxOpsOfChains = 1280;
static constexpr int64_t kFewThreads = 128;

namespace {
/// What a step does.
struct Step {
  int64_t bits = 0; ///< that it loads of device memory
  int64_t ops = 0;
  bool stores = false;   ///< to device memory
  bool isShared = false; ///< uses shared memory, too
};
} // namespace

/// What a step of `loop` does; none if it is anything else that others see, or
/// if it waits.
static std::optional<Step> measure(scf::ForOp loop) {
  Step step;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    ++step.ops;
    if (isOfSharedMemory(op)) {
      step.isShared = true;
      return WalkResult::advance();
    }
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (!isPlainIn(kDeviceSpace, load))
        return WalkResult::interrupt();
      Type type = load.getResult().getType();
      auto vector = dyn_cast<VectorType>(type);
      step.bits += getElementTypeOrSelf(type).getIntOrFloatBitWidth() *
                   (vector ? vector.getNumElements() : 1);
      return WalkResult::advance();
    }
    if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      step.stores = true;
      return isPlainIn(kDeviceSpace, store) ? WalkResult::advance()
                                            : WalkResult::interrupt();
    }
    if (isa<scf::IfOp, scf::YieldOp>(op) || isMemoryEffectFree(op))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return result.wasInterrupted() ? std::nullopt : std::optional(step);
}

/// How many steps of `loop` are to be under way at most.
static int64_t countSteps(scf::ForOp loop, const Step &step, int64_t count) {
  bool isShort = count <= kMaxSteps && count * step.ops <= kMaxOpsOfAll;
  if (step.bits != 0)
    return step.stores
               ? 1
               : std::min({kBitsUnderWay / step.bits,
                           isShort ? count : kMaxOps / step.ops, kMaxSteps});
  // Rounds are marked lest the addresses of all be kept through a loop around
  // them.
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  if (!step.stores || step.isShared || !loop.getInitArgs().empty() ||
      loop->getParentOfType<LoopLikeOpInterface>() ||
      step.ops < kMinOpsOfChain || !kernel || !kernel.getKnownBlockSize() ||
      getNumThreads(kernel) > kFewThreads)
    return 1;
  return std::min(kMaxOpsOfChains / step.ops, kMaxSteps);
}

//===----------------------------------------------------------------------===//
// Loops that change shared memory
//===----------------------------------------------------------------------===//

/// True if `op` computes, or uses shared memory and neither waits nor orders.
static bool changesSharedMemory(Operation *op) {
  auto atom = dyn_cast<AtomOp>(op);
  if (!atom)
    return isOfSharedMemory(op) || isMemoryEffectFree(op);
  auto pointer = cast<LLVM::LLVMPointerType>(atom.getAddress().getType());
  return pointer.getAddressSpace() == kSharedSpace &&
         atom.getOrder() == MemoryOrder::Relaxed;
}

/// True if `op` and all ops in it, branches and their ends aside, are what
/// `isPart` says.
static bool isMadeOf(Operation *op,
                     llvm::function_ref<bool(Operation *)> isPart) {
  return !op->walk([&](Operation *inner) {
              return isa<scf::IfOp, scf::YieldOp>(inner) || isPart(inner)
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

namespace {
/// The ops of a step, in order: what loads, and what it takes for that, and
/// what changes shared memory, and all that is made of this.
struct Halves {
  SmallVector<Operation *> loads, changes;
  int64_t bits = 0, ops = 0;
};
} // namespace

/// None if a step does anything else.
static std::optional<Halves> cut(scf::ForOp loop) {
  Halves halves;
  llvm::SmallPtrSet<Operation *, 16> isChange;
  auto computesOrLoads = [&](Operation *op) {
    auto load = dyn_cast<LLVM::LoadOp>(op);
    if (!load)
      return isMemoryEffectFree(op);
    if (!isPlainIn(kDeviceSpace, load) || !load.getType().isIntOrFloat())
      return false;
    halves.bits += load.getType().getIntOrFloatBitWidth();
    return true;
  };
  auto usesChange = [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value value) {
                                return isChange.contains(value.getDefiningOp());
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    op.walk([&](Operation *) { ++halves.ops; });
    if (!usesChange(&op) && isMadeOf(&op, computesOrLoads)) {
      halves.loads.push_back(&op);
      continue;
    }
    if (!isMadeOf(&op, changesSharedMemory))
      return std::nullopt;
    halves.changes.push_back(&op);
    isChange.insert(&op);
  }
  if (halves.bits == 0 || halves.changes.empty())
    return std::nullopt;
  return halves;
}

/// Writes out `loop`, of so many steps, if it is short.
static void loadFirst(scf::ForOp loop, int64_t lower, int64_t step,
                      int64_t count) {
  if (!loop.getInitArgs().empty() || count > kMaxSteps)
    return;
  std::optional<Halves> halves = cut(loop);
  if (!halves || halves->bits * count > kBitsUnderWay ||
      halves->ops * count > kMaxOps)
    return;
  OpBuilder builder(loop);
  SmallVector<IRMapping> steps(count);
  for (auto [number, values] : llvm::enumerate(steps)) {
    values.map(loop.getInductionVar(),
               arith::ConstantOp::create(
                   builder, loop.getLoc(),
                   builder.getIntegerAttr(loop.getInductionVar().getType(),
                                          lower + static_cast<int64_t>(number) *
                                                      step)));
    for (Operation *op : halves->loads)
      builder.clone(*op, values);
  }
  for (IRMapping &values : steps)
    for (Operation *op : halves->changes)
      builder.clone(*op, values);
  loop.erase();
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

static void askFor(int64_t steps, scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto count = IntegerAttr::get(IntegerType::get(context, 32), steps);
  auto unroll =
      LLVM::LoopUnrollAttr::get(context, {}, count, {}, {}, {}, {}, {});
  loop->setAttr("llvm.loop_annotation",
                LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {},
                                              {}, {}, {}, {}, {}, {}, {}, {},
                                              {}, {}));
}

static void unroll(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step <= 0 || *upper <= *lower)
    return;
  int64_t count = (*upper - *lower + *step - 1) / *step;
  std::optional<Step> measured = measure(loop);
  bool isMarked = loop->hasAttr("llvm.loop_annotation");
  if (!measured && !isMarked)
    loadFirst(loop, *lower, *step, count);
  if (!measured || (isMarked && measured->bits != 0))
    return;
  int64_t steps = countSteps(loop, *measured, count);
  while (steps > 1 && count % steps != 0)
    --steps;
  if (steps > 1)
    askFor(steps, loop);
}

namespace {
struct UnrollLoadsPass : tl::impl::UnrollLoadsPassBase<UnrollLoadsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    llvm::for_each(loops, unroll);
  }
};
} // namespace
