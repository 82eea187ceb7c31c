//===- UnrollFragmentLoops.cpp - Loops that pick parts of fragments -------===//
//
// Registers have numbers, so that a parallel loop finds in them what a constant
// says, and not what the index of a loop around it does:
//
//     for s in range(2):
//         for i, j in T.Parallel(16, 64):
//             S[i, j] = acc[i + 16 * s, j]
//
// goes through shared memory twice, and not at all where the loop over `s` is
// written out. A loop with few iterations is, if the elements of a fragment
// that its iterations read are a multiple of four apart: that is where matrix
// instructions have other elements of the same thread. So is one that reads a
// line of a fragment in each iteration (`x[s, j]`): tl-infer-layouts lays such
// a fragment out so that a thread has its part of all lines.
//
// Sound because a loop with constant bounds is what its iterations are, one
// after the other: the values that it carries go from each to the next. Whether
// a fragment can be read in registers is decided by tl-stage-fragments, and
// nothing relies on what is guessed here.
//
//===----------------------------------------------------------------------===//

#include "FoldNumbers.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_UNROLLFRAGMENTLOOPSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Iterations, and operations of all of them, of a loop that is written out.
static constexpr int64_t kMostIterations = 64, kMostOperations = 1024;
/// Lines of a fragment that a thread holds all of.
static constexpr int64_t kMostLines = 8;
/// Columns of a factor in tf32 that a thread holds are so far apart, rows and
/// columns of accumulators twice as far (PTX ISA, "Matrix Fragments for
/// mma.m16n8k8").
static constexpr int64_t kApart = 4;

/// How far `value` goes with each unit of the index of `loop`, if it is sums
/// and products of that and of constants; none if it is anything else.
static std::optional<int64_t> getSlope(Value value, scf::ForOp loop) {
  APInt factor;
  if (value == loop.getInductionVar())
    return 1;
  if (matchPattern(value, m_Constant()))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<int64_t> left = getSlope(op->getOperand(0), loop);
  std::optional<int64_t> right = getSlope(op->getOperand(1), loop);
  if (!left || !right)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *left + *right;
  if (matchPattern(op->getOperand(1), m_ConstantInt(&factor)))
    return *left * factor.getSExtValue();
  if (matchPattern(op->getOperand(0), m_ConstantInt(&factor)))
    return *right * factor.getSExtValue();
  return std::nullopt;
}

/// True if `index` is one of a parallel loop's own and a multiple of `kApart`
/// in each iteration of `loop`.
static bool isPickedBeside(Value index, ParallelOp parallel, scf::ForOp loop) {
  auto sum = index.getDefiningOp<arith::AddIOp>();
  APInt step;
  if (!sum || !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return false;
  for (auto [own, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                            std::pair(sum.getRhs(), sum.getLhs())}) {
    auto argument = dyn_cast<BlockArgument>(own);
    if (!argument || argument.getOwner() != &parallel.getBody().front())
      continue;
    std::optional<int64_t> slope = getSlope(other, loop);
    return slope && *slope != 0 && *slope * step.getSExtValue() % kApart == 0;
  }
  return false;
}

/// True if `index` says which line of a fragment is read, in each iteration of
/// `loop` another one.
static bool picksLine(Value index, scf::ForOp loop) {
  std::optional<int64_t> slope = getSlope(index, loop);
  return slope && *slope != 0;
}

/// True if `loop` is short, and picks parts of a fragment.
static bool isWrittenOut(scf::ForOp loop) {
  std::optional<APInt> count = loop.getStaticTripCount();
  if (!count || count->isZero() || count->ugt(kMostIterations))
    return false;
  bool isFew = count->ule(kMostLines);
  int64_t operations = 0;
  loop.getBody()->walk([&](Operation *) { ++operations; });
  if (operations * count->getSExtValue() > kMostOperations)
    return false;
  return loop.getBody()
      ->walk([&](LoadOp load) {
        auto parallel = load->getParentOfType<ParallelOp>();
        bool picks = isInSpace(load.getSource(), Space::Fragment) && parallel &&
                     llvm::any_of(load.getIndices(), [&](Value index) {
                       return isPickedBeside(index, parallel, loop) ||
                              (isFew && picksLine(index, loop));
                     });
        return picks ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

struct UnrollFragmentLoops
    : tl::impl::UnrollFragmentLoopsPassBase<UnrollFragmentLoops> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      // Inner loops first, which an outer one then has in it written out.
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      bool isChanged = false;
      for (scf::ForOp loop : loops)
        if (isWrittenOut(loop))
          isChanged |= succeeded(loopUnrollFull(loop));
      if (isChanged)
        foldNumbers(kernel);
    }
  }
};

} // namespace
