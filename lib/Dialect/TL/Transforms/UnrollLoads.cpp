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
// Chains of several steps are executed in turns in the same way. If nothing but
// the index tells a step from another, all are written out, and what they store
// is computed when the kernel is compiled.
//
// A short loop with atomic operations on shared memory, as a histogram has, or
// with barriers is written out here, since LLVM has no load pass those: first
// what the loads of all steps need, and the loads, then the rest of each step.
//
// Sound because the annotation of other loops, `llvm.loop_annotation`, is a
// hint that changes no meaning; and because of a loop that is written out
// - loads of device memory come before accesses and relaxed atomic operations
//   of shared memory, which write none, wait for nothing and order nothing that
//   others write;
// - or, before barriers and stores to device memory as well, loads of an
//   argument that the kernel nowhere writes, which is no memory of those that
//   it writes (docs/language/semantics.md, M5): what they find is the same in
//   all of a kernel that acquires nothing. A kernel with a write of which it is
//   not known where it goes, or an op of which it is not known what it does,
//   has no such argument.
// The rest has the order that it had. A load stays in its branch, and its
// condition is of the values that it was of.
//
//===----------------------------------------------------------------------===//

#include "ScalarAccesses.h"

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
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

static int64_t getBits(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() *
         (vector ? vector.getNumElements() : 1);
}

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
/// Ops of all steps if what they store are numbers then: compilers compute
/// them.
static constexpr int64_t kMaxOpsOfNumbers = 8192;

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
      step.bits += getBits(load.getType());
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

/// True if `value` is a number once `loop` is written out.
static bool becomesNumber(Value value, scf::ForOp loop) {
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  SetVector<Value> parts;
  parts.insert(value);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == loop.getInductionVar())
      continue;
    Operation *op = parts[i].getDefiningOp();
    bool isOnly = false;
    if (auto block = dyn_cast_or_null<gpu::BlockIdOp>(op))
      isOnly = getGridLimit(kernel, block.getDimension()) == 1;
    else if (auto thread = dyn_cast_or_null<gpu::ThreadIdOp>(op))
      isOnly = getBlockExtent(kernel, thread.getDimension()) == 1;
    if (isOnly)
      continue;
    if (!op ||
        !isa<arith::ArithDialect, vector::VectorDialect>(op->getDialect()) ||
        !isMemoryEffectFree(op))
      return false;
    parts.insert_range(op->getOperands());
  }
  return true;
}

/// True if all that a step stores are numbers once `loop` is written out.
static bool storesNumbers(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([&](LLVM::StoreOp store) {
                return becomesNumber(store.getValue(), loop)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
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
  if (count * step.ops <= kMaxOpsOfNumbers && storesNumbers(loop))
    return count;
  return std::min(kMaxOpsOfChains / step.ops, kMaxSteps);
}

//===----------------------------------------------------------------------===//
// Loops that no load passes
//===----------------------------------------------------------------------===//

namespace {
/// What a kernel does to tensors.
class Tensors {
public:
  explicit Tensors(gpu::GPUFuncOp kernel) : entry(&kernel.getBody().front()) {
    kernel.walk([&](Operation *op) {
      if (auto store = dyn_cast<LLVM::StoreOp>(op))
        addWrite(store.getAddr());
      else if (auto atom = dyn_cast<AtomOp>(op);
               atom && atom.getOrder() == MemoryOrder::Relaxed)
        addWrite(atom.getAddress());
      else if (!isa<gpu::BarrierOp, LLVM::AllocaOp, LLVM::LoadOp>(op) &&
               op->getNumRegions() == 0 &&
               !op->hasTrait<OpTrait::IsTerminator>())
        areKnown &= isMemoryEffectFree(op);
    });
  }

  /// True if what `load` reads is the same in all of the kernel: an argument
  /// that nothing in it writes.
  bool isOnlyRead(LLVM::LoadOp load) const {
    Value tensor = getBase(load.getAddr());
    return areKnown && isArgument(tensor) && !written.contains(tensor);
  }

private:
  static Value getBase(Value pointer) {
    while (auto element = pointer.getDefiningOp<LLVM::GEPOp>())
      pointer = element.getBase();
    return pointer;
  }

  bool isArgument(Value pointer) const {
    auto argument = dyn_cast<BlockArgument>(pointer);
    return argument && argument.getOwner() == entry;
  }

  void addWrite(Value pointer) {
    auto type = cast<LLVM::LLVMPointerType>(pointer.getType());
    Value base = getBase(pointer);
    if (type.getAddressSpace() == kSharedSpace ||
        base.getDefiningOp<LLVM::AllocaOp>())
      return;
    areKnown &= isArgument(base);
    written.insert(base);
  }

  Block *entry;
  bool areKnown = true;
  llvm::SmallPtrSet<Value, 4> written;
};

/// The ops of a step, in order: what loads, and what it takes for that, and
/// the rest.
struct Halves {
  SmallVector<Operation *> loads, rest;
  int64_t bits = 0, ops = 0;
};

/// Which loads come before what.
enum class Passing {
  SharedMemory, ///< all of device memory before what uses shared memory
  Barriers,     ///< those of what is only read before anything
};
} // namespace

/// True if loads may come before `op`.
static bool isPassed(Operation *op, Passing passing) {
  if (auto atom = dyn_cast<AtomOp>(op)) {
    auto pointer = cast<LLVM::LLVMPointerType>(atom.getAddress().getType());
    return atom.getOrder() == MemoryOrder::Relaxed &&
           (passing == Passing::Barriers ||
            pointer.getAddressSpace() == kSharedSpace);
  }
  return isOfSharedMemory(op) || isMemoryEffectFree(op) ||
         (passing == Passing::Barriers &&
          isa<gpu::BarrierOp, LLVM::LoadOp, LLVM::StoreOp>(op));
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

/// None if a step does what its loads do not pass, or nothing else.
static std::optional<Halves> cut(scf::ForOp loop, const Tensors &tensors,
                                 Passing passing) {
  Halves halves;
  llvm::SmallPtrSet<Value, 16> ofRest(llvm::from_range,
                                      loop.getRegionIterArgs());
  auto computesOrLoads = [&](Operation *op) {
    auto load = dyn_cast<LLVM::LoadOp>(op);
    return load ? isPlainIn(kDeviceSpace, load) &&
                      (passing == Passing::SharedMemory ||
                       tensors.isOnlyRead(load))
                : isMemoryEffectFree(op);
  };
  auto usesRest = [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(
                     inner->getOperands(),
                     [&](Value value) { return ofRest.contains(value); })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    op.walk([&](Operation *) { ++halves.ops; });
    if (!usesRest(&op) && isMadeOf(&op, computesOrLoads)) {
      halves.loads.push_back(&op);
      op.walk(
          [&](LLVM::LoadOp load) { halves.bits += getBits(load.getType()); });
      continue;
    }
    if (!isMadeOf(&op, [&](Operation *op) { return isPassed(op, passing); }))
      return std::nullopt;
    halves.rest.push_back(&op);
    ofRest.insert_range(op.getResults());
  }
  if (halves.bits == 0 || halves.rest.empty())
    return std::nullopt;
  return halves;
}

/// Writes out `loop`, of so many steps, the loads of all before the rest.
static void writeOut(scf::ForOp loop, int64_t lower, int64_t step,
                     int64_t count, const Halves &halves) {
  OpBuilder builder(loop);
  SmallVector<IRMapping> steps(count);
  for (auto [number, values] : llvm::enumerate(steps)) {
    values.map(loop.getInductionVar(),
               arith::ConstantOp::create(
                   builder, loop.getLoc(),
                   builder.getIntegerAttr(loop.getInductionVar().getType(),
                                          lower + static_cast<int64_t>(number) *
                                                      step)));
    for (Operation *op : halves.loads)
      builder.clone(*op, values);
  }
  SmallVector<Value> carried(loop.getInitArgs());
  for (IRMapping &values : steps) {
    values.map(loop.getRegionIterArgs(), carried);
    for (Operation *op : halves.rest)
      builder.clone(*op, values);
    for (auto [value, yielded] : llvm::zip(carried, loop.getYieldedValues()))
      value = values.lookupOrDefault(yielded);
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

/// Writes out `loop`, of so many steps, if it is short.
static void loadFirst(scf::ForOp loop, int64_t lower, int64_t step,
                      int64_t count, const Tensors &tensors) {
  if (count > kMaxSteps)
    return;
  for (Passing passing : {Passing::SharedMemory, Passing::Barriers}) {
    std::optional<Halves> halves = cut(loop, tensors, passing);
    if (!halves || halves->bits * count > kBitsUnderWay ||
        halves->ops * count > kMaxOpsOfAll)
      continue;
    return writeOut(loop, lower, step, count, *halves);
  }
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

static void unroll(scf::ForOp loop, const Tensors &tensors) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step <= 0 || *upper <= *lower)
    return;
  int64_t count = (*upper - *lower + *step - 1) / *step;
  std::optional<Step> measured = measure(loop);
  bool isMarked = loop->hasAttr("llvm.loop_annotation");
  if (!measured && !isMarked)
    loadFirst(loop, *lower, *step, count, tensors);
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
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      Tensors tensors(kernel);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        unroll(loop, tensors);
    }
  }
};
} // namespace
