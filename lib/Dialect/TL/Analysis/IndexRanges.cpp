//===- IndexRanges.cpp - What integers of a program can be ----------------===//

#include "tl/Dialect/TL/Analysis/IndexRanges.h"

#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;

namespace {
/// The analysis, which knows no loops of ours.
struct RangeAnalysis : dataflow::IntegerRangeAnalysis {
  using IntegerRangeAnalysis::IntegerRangeAnalysis;

  void visitNonControlFlowArguments(
      Operation *op, const RegionSuccessor &successor,
      ArrayRef<dataflow::IntegerValueRangeLattice *> lattices,
      unsigned first) override {
    auto loop = dyn_cast<ParallelOp>(op);
    if (!loop)
      return IntegerRangeAnalysis::visitNonControlFlowArguments(
          op, successor, lattices, first);
    for (auto [lattice, extent] : llvm::zip(lattices, loop.getExtents())) {
      auto range =
          ConstantIntRanges::fromSigned(APInt(64, 0), APInt(64, extent - 1));
      propagateIfChanged(lattice, lattice->join(IntegerValueRange(range)));
    }
  }
};
} // namespace

FailureOr<std::unique_ptr<IndexRanges>> IndexRanges::of(Operation *root) {
  std::unique_ptr<IndexRanges> ranges(new IndexRanges);
  dataflow::loadBaselineAnalyses(ranges->solver);
  ranges->solver.load<RangeAnalysis>();
  if (failed(ranges->solver.initializeAndRun(root)))
    return failure();
  return ranges;
}

std::optional<ConstantIntRanges> IndexRanges::get(Value value) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return ConstantIntRanges::constant(constant);
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
  if (!state || state->getValue().isUninitialized())
    return std::nullopt;
  return state->getValue().getValue();
}

SmallVector<unsigned> IndexRanges::getUnproven(ValueRange offsets,
                                               ArrayRef<int64_t> shape,
                                               ArrayRef<int64_t> tile) const {
  SmallVector<unsigned> unproven;
  size_t lead = shape.size() - tile.size();
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    int64_t room = shape[dim] - (dim < lead ? 1 : tile[dim - lead]);
    std::optional<ConstantIntRanges> range = get(offset);
    if (ShapedType::isDynamic(shape[dim]) || !range ||
        range->smin().isNegative() || range->smax().sgt(room))
      unproven.push_back(dim);
  }
  return unproven;
}
