//===- LayoutModels.cpp - How ops relate the layouts of their buffers -----===//
//
// One model per op. Models only add to what is known; inference calls them
// until nothing changes.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LayoutMap.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

namespace {

/// An access of a fragment in a parallel loop: its dimension i is indexed by
/// loop index `dims[i]`.
struct FragmentAccess {
  Operation *op;
  Value fragment;
  SmallVector<unsigned> dims;
};

} // namespace

/// The accesses of fragments in `loop`. Fails, after an error, for one that is
/// not indexed by the loop's own indices.
static FailureOr<SmallVector<FragmentAccess>> getAccesses(ParallelOp loop) {
  SmallVector<FragmentAccess> accesses;
  WalkResult result = loop.getBody().walk([&](Operation *op) {
    Value buffer;
    ValueRange indices;
    if (auto load = dyn_cast<LoadOp>(op)) {
      buffer = load.getSource();
      indices = load.getIndices();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      buffer = store.getTarget();
      indices = store.getIndices();
    }
    if (!buffer || !isInSpace(buffer, Space::Fragment))
      return WalkResult::advance();
    FragmentAccess access{op, buffer, {}};
    auto type = cast<MemRefType>(buffer.getType());
    for (auto [dim, index] : llvm::enumerate(indices)) {
      auto argument = dyn_cast<BlockArgument>(index);
      if (!argument || argument.getOwner() != &loop.getBody().front() ||
          loop.getExtents()[argument.getArgNumber()] != type.getDimSize(dim)) {
        op->emitError("expects a fragment to be indexed by the parallel loop's "
                      "own indices, over its whole extents");
        return WalkResult::interrupt();
      }
      access.dims.push_back(argument.getArgNumber());
    }
    accesses.push_back(std::move(access));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return accesses;
}

/// The loop's layout, given that of a fragment whose dimension i is indexed by
/// loop index `dims[i]`, all of them.
static FragmentLayout invertDims(const FragmentLayout &layout,
                                 ArrayRef<unsigned> dims) {
  SmallVector<unsigned> inverse(dims.size());
  for (auto [position, dim] : llvm::enumerate(dims))
    inverse[dim] = position;
  return selectDims(layout, inverse);
}

namespace {

struct ParallelModel
    : LayoutOpInterface::ExternalModel<ParallelModel, ParallelOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto loop = cast<ParallelOp>(op);
    FailureOr<SmallVector<FragmentAccess>> accesses = getAccesses(loop);
    if (failed(accesses))
      return failure();
    for (FragmentAccess &access : *accesses) {
      const FragmentLayout *known = layouts.get(access.fragment);
      llvm::SmallDenseSet<unsigned> distinct(access.dims.begin(),
                                             access.dims.end());
      if (known && !layouts.get(loop) &&
          access.dims.size() == distinct.size() &&
          distinct.size() == loop.getExtents().size())
        if (failed(
                layouts.set(loop, invertDims(*known, access.dims), access.op)))
          return failure();
    }
    const FragmentLayout *layout = layouts.get(loop);
    if (!layout)
      return success();
    for (FragmentAccess &access : *accesses)
      if (failed(layouts.set(access.fragment, selectDims(*layout, access.dims),
                             access.op)))
        return failure();
    return success();
  }
};

struct ReduceModel : LayoutOpInterface::ExternalModel<ReduceModel, ReduceOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto reduce = cast<ReduceOp>(op);
    const FragmentLayout *source = layouts.get(reduce.getSource());
    if (!source)
      return success();
    return layouts.set(reduce.getTarget(), source->project(reduce.getDim()),
                       op);
  }
};

struct CopyModel : LayoutOpInterface::ExternalModel<CopyModel, CopyOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto copy = cast<CopyOp>(op);
    Value source = copy.getSource(), target = copy.getTarget();
    bool sourceIsFragment = isInSpace(source, Space::Fragment);
    bool targetIsFragment = isInSpace(target, Space::Fragment);
    // A part of a fragment has no threads of its own to copy it.
    for (auto [buffer, offsets, isFragment] :
         {std::tuple(source, copy.getSourceOffsets(), sourceIsFragment),
          std::tuple(target, copy.getTargetOffsets(), targetIsFragment)}) {
      auto type = cast<MemRefType>(buffer.getType());
      if (isFragment &&
          (!offsets.empty() || ArrayRef(copy.getTile()) != type.getShape()))
        return copy.emitOpError("expects to copy a fragment as a whole");
    }
    if (!sourceIsFragment || !targetIsFragment)
      return success();
    if (const FragmentLayout *layout = layouts.get(source))
      return layouts.set(target, FragmentLayout(*layout), op);
    if (const FragmentLayout *layout = layouts.get(target))
      return layouts.set(source, FragmentLayout(*layout), op);
    return success();
  }
};

} // namespace

void tl::registerLayoutModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TLDialect *) {
    ParallelOp::attachInterface<ParallelModel>(*context);
    ReduceOp::attachInterface<ReduceModel>(*context);
    CopyOp::attachInterface<CopyModel>(*context);
  });
}
