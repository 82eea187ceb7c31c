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
//
// In the body of a parallel loop variables are each iteration's own, and LLVM
// does the same with less to read.
//
// Sound because a loop with constant bounds is what its iterations are, one
// after the other: the values that it carries go from each to the next.
//
//===----------------------------------------------------------------------===//

#include "FoldNumbers.h"

#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/TL.h"
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

/// Iterations of a loop that is written out, and operations of all of them,
/// loops inside included.
static constexpr int64_t kMostIterations = 64, kMostOperations = 1024;

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

/// The operations in `op`, of a loop those of all its iterations, where `loops`
/// are written out; none if they are too many, or the iterations of one of
/// `loops` are.
static std::optional<int64_t> countOperations(Operation *op,
                                              const SerialLoops &loops) {
  int64_t count = 0;
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps()) {
      std::optional<int64_t> own = countOperations(&nested, loops);
      if (!own)
        return std::nullopt;
      bool isCounted =
          !isa<scf::ForOp>(nested) && !nested.hasTrait<OpTrait::IsTerminator>();
      count += *own + isCounted;
    }
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && loops.contains(loop)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (trips->ugt(kMostIterations))
      return std::nullopt;
    count *= trips->getSExtValue();
  }
  return count <= kMostOperations ? std::optional(count) : std::nullopt;
}

namespace {
struct UnrollArrayLoopsPass
    : tl::impl::UnrollArrayLoopsPassBase<UnrollArrayLoopsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      SerialLoops loops;
      kernel.walk([&](AllocOp array) {
        if (!isInSpace(array, Space::Private) ||
            array.getType().getNumElements() == 1)
          return;
        SerialLoops all = loops;
        all.insert_range(getLoops(array));
        bool areShort = llvm::all_of(all, [&](scf::ForOp loop) {
          return countOperations(loop, all).has_value();
        });
        if (areShort)
          loops = all;
      });
      if (loops.empty())
        continue;
      // Inner loops first, which an outer one then has in it written out.
      SmallVector<scf::ForOp> inOrder;
      kernel.walk([&](scf::ForOp loop) {
        if (loops.contains(loop))
          inOrder.push_back(loop);
      });
      for (scf::ForOp loop : inOrder)
        (void)loopUnrollFull(loop);
      foldNumbers(kernel);
    }
  }
};
} // namespace
