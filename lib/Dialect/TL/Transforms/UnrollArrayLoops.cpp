//===- UnrollArrayLoops.cpp - Write out loops over local arrays -----------===//
//
// Registers have numbers, so that an array of each thread is in registers only
// where all of its indices are known (tl-normalize-statements):
//
//     for k in T.serial(8):
//         total[0] += a[k] * b[k]
//
// A short loop whose index picks an element is written out, if that makes all
// indices of the array known. Other arrays lie in memory with loops or without.
// What the block does tile by tile costs more for each iteration than
// arithmetic and accesses, of which more are written out: the sums that a
// thread has of a product are a few thousand.
//
// Where the bounds of such a loop are computed of the index of one around it,
// that one is written out first.
//
// A pipelined loop with nothing that could run ahead, in which threads move
// elements of such arrays, is a loop without stages first.
//
// In the body of a parallel loop variables are each iteration's own, and LLVM
// does the same with less to read.
//
// Sound because a loop with constant bounds is what its iterations are, one
// after the other: the values that it carries go from each to the next. And a
// pipelined loop means what the loop without stages means (`tl.pipelined`).
//
//===----------------------------------------------------------------------===//

#include "FoldNumbers.h"

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_UNROLLARRAYLOOPSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Iterations of a loop that is written out, and operations of all of them that
/// do not become numbers, loops inside included; the same for loops of scalars;
/// and operations of a kernel for which these are.
static constexpr int64_t kMostIterations = 64, kMostOperations = 1024;
static constexpr int64_t kMostScalarIterations = 256,
                         kMostScalarOperations = 8192,
                         kMostOperationsOfKernel = 16384;
/// Iterations of a loop that is written out for the bounds of others.
static constexpr int64_t kMostDecidingIterations = 16;

using SerialLoops = llvm::SmallSetVector<scf::ForOp, 4>;

/// True if `index` is a number once `loops`, to which those are added whose
/// indices it is made of, are written out.
static bool becomesKnown(Value index, SerialLoops &loops) {
  SetVector<Value> parts;
  parts.insert(index);
  for (size_t i = 0; i < parts.size(); ++i) {
    Value part = parts[i];
    if (auto argument = dyn_cast<BlockArgument>(part)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || part != loop.getInductionVar() || !loop.getStaticTripCount())
        return false;
      loops.insert(loop);
      continue;
    }
    Operation *op = part.getDefiningOp();
    if (!isa<arith::ArithDialect>(op->getDialect()))
      return false;
    parts.insert_range(op->getOperands());
  }
  return true;
}

/// The loops that make all indices of an array known if they are written out;
/// none if no loops do.
static SerialLoops getLoops(AllocOp array) {
  SerialLoops loops;
  for (Operation *user : array->getUsers()) {
    if (isa<FillOp, CopyOp>(user))
      continue;
    if (!isa<LoadOp, StoreOp>(user) || user->getParentOfType<ParallelOp>() ||
        !llvm::all_of(getElementIndices(user),
                      [&](Value index) { return becomesKnown(index, loops); }))
      return {};
  }
  return loops;
}

/// True if a loop holds nothing that threads do together but to exchange a
/// number each.
static bool isOfScalars(LoopLikeOpInterface loop) {
  Block &body = loop.getLoopRegions().front()->front();
  return !body.walk([](Operation *op) {
                bool isScalar = !isa<ParallelOp>(op) && isScalarOp(op);
                return isScalar || isa<ShuffleOp>(op) ? WalkResult::advance()
                                                      : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// True if `op` computes a number once `loops` are written out.
static bool becomesKnown(Operation &op, const SerialLoops &loops) {
  SerialLoops needed;
  return op.getNumResults() == 1 && isa<arith::ArithDialect>(op.getDialect()) &&
         becomesKnown(op.getResult(0), needed) &&
         llvm::all_of(needed,
                      [&](scf::ForOp loop) { return loops.contains(loop); });
}

/// The operations in `op` that do not become numbers, of a loop those of all
/// its iterations, where `loops` are written out; none if they are more than
/// `limit`, or the iterations of one of `loops` are too many.
static std::optional<int64_t>
countOperations(Operation *op, const SerialLoops &loops, int64_t limit) {
  int64_t count = 0;
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps()) {
      std::optional<int64_t> own = countOperations(&nested, loops, limit);
      if (!own)
        return std::nullopt;
      bool isCounted = !isa<scf::ForOp>(nested) &&
                       !nested.hasTrait<OpTrait::IsTerminator>() &&
                       !becomesKnown(nested, loops);
      count += *own + isCounted;
    }
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && loops.contains(loop)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (trips->ugt(limit > kMostOperations ? kMostScalarIterations
                                           : kMostIterations))
      return std::nullopt;
    count *= trips->getSExtValue();
  }
  return count <= limit ? std::optional(count) : std::nullopt;
}

/// True if `all` loops may be written out.
static bool areShort(gpu::GPUFuncOp kernel, const SerialLoops &all) {
  bool areFew = llvm::all_of(all, [&](scf::ForOp loop) {
    return countOperations(loop, all, kMostOperations).has_value();
  });
  if (areFew)
    return true;
  return llvm::all_of(all,
                      [&](scf::ForOp loop) {
                        int64_t limit = isOfScalars(loop)
                                            ? kMostScalarOperations
                                            : kMostOperations;
                        return countOperations(loop, all, limit).has_value();
                      }) &&
         countOperations(kernel, all, kMostOperationsOfKernel);
}

/// The loops of which the bounds of loops are made that pick elements of
/// `array`, and whose iterations cannot be counted before they are written out.
static SerialLoops getDecidingLoops(AllocOp array) {
  SerialLoops deciding;
  for (Operation *user : array->getUsers())
    for (auto loop = user->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>()) {
      SerialLoops outer;
      bool isDecided =
          !loop.getStaticTripCount() &&
          llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(),
                                  loop.getStep()},
                       [&](Value bound) { return becomesKnown(bound, outer); });
      if (isDecided)
        deciding.insert_range(outer);
    }
  return deciding;
}

/// Writes out `loops`, inner ones first, which an outer one then has in it
/// written out.
static void unroll(gpu::GPUFuncOp kernel, const SerialLoops &loops) {
  if (loops.empty())
    return;
  SmallVector<scf::ForOp> inOrder;
  kernel.walk([&](scf::ForOp loop) {
    if (loops.contains(loop))
      inOrder.push_back(loop);
  });
  for (scf::ForOp loop : inOrder)
    (void)loopUnrollFull(loop);
  foldNumbers(kernel);
}

/// Calls `function` for each local array of several elements.
static void forEachArray(gpu::GPUFuncOp kernel,
                         llvm::function_ref<void(AllocOp)> function) {
  kernel.walk([&](AllocOp array) {
    if (isInSpace(array, Space::Private) &&
        array.getType().getNumElements() != 1)
      function(array);
  });
}

/// Writes out loops that decide how often others run.
static void unrollDecidingLoops(gpu::GPUFuncOp kernel) {
  SerialLoops loops;
  forEachArray(kernel, [&](AllocOp array) {
    for (scf::ForOp loop : getDecidingLoops(array)) {
      SerialLoops all = loops;
      all.insert(loop);
      std::optional<APInt> trips = loop.getStaticTripCount();
      if (isOfScalars(loop) && trips->ule(kMostDecidingIterations) &&
          llvm::all_of(all, [&](scf::ForOp each) {
            return countOperations(each, all, kMostOperations).has_value();
          }))
        loops = all;
    }
  });
  unroll(kernel, loops);
}

/// True for an access of a local array at a place made of the index of `loop`.
static bool picksElement(Operation *op, PipelinedOp loop) {
  if (!isa<LoadOp, StoreOp>(op))
    return false;
  Value array = op->getOperand(isa<LoadOp>(op) ? 0 : 1);
  return isInSpace(array, Space::Private) &&
         llvm::is_contained(getElementIndices(op),
                            loop.getBody().getArgument(0));
}

/// True for a loop over local arrays in which nothing could run ahead.
static bool hasNothingAhead(PipelinedOp loop) {
  bool picks = false, readsTensors = false;
  loop.getBody().walk([&](Operation *op) {
    picks |= picksElement(op, loop);
    readsTensors |= llvm::any_of(op->getOperands(), [](Value value) {
      return isa<MemRefType>(value.getType()) &&
             isInSpace(value, Space::Global);
    });
  });
  return picks && !readsTensors && isOfScalars(loop);
}

/// Makes loops without stages of those in which nothing could run ahead.
static void dropStages(gpu::GPUFuncOp kernel) {
  SmallVector<PipelinedOp> loops;
  kernel.walk([&](PipelinedOp loop) {
    if (hasNothingAhead(loop))
      loops.push_back(loop);
  });
  for (PipelinedOp loop : loops) {
    OpBuilder builder(loop);
    Value one = arith::ConstantIndexOp::create(builder, loop.getLoc(), 1);
    auto plain = scf::ForOp::create(builder, loop.getLoc(), loop.getLower(),
                                    loop.getUpper(), one);
    Block &body = loop.getBody().front();
    body.getTerminator()->erase();
    plain.getBody()->getOperations().splice(plain.getBody()->begin(),
                                            body.getOperations());
    body.getArgument(0).replaceAllUsesWith(plain.getInductionVar());
    loop.erase();
  }
}

namespace {
struct UnrollArrayLoopsPass
    : tl::impl::UnrollArrayLoopsPassBase<UnrollArrayLoopsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      dropStages(kernel);
      unrollDecidingLoops(kernel);
      SerialLoops loops;
      forEachArray(kernel, [&](AllocOp array) {
        SerialLoops all = loops;
        all.insert_range(getLoops(array));
        if (areShort(kernel, all))
          loops = all;
      });
      unroll(kernel, loops);
    }
  }
};
} // namespace
