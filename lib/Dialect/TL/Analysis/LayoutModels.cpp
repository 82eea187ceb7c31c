//===- LayoutModels.cpp - How ops relate the layouts of their buffers -----===//
//
// One model per op. Models only add to what is known; inference calls them
// until nothing changes. What they add needs no conversion: in a parallel loop
// it satisfies the rules of FragmentAccess.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/RowAccesses.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/IR/Warps.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::extendDims;
using layout::FragmentLayout;
using layout::selectDims;

#include "tl/Dialect/TL/Analysis/LayoutInterface.cpp.inc"

static ArrayRef<int64_t> getShape(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

/// The dimensions of `access` that a loop index picks, as positions in the
/// fragment and as loop indices.
static std::pair<SmallVector<int64_t>, SmallVector<int64_t>>
splitDims(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> positions, loopDims;
  for (auto [position, dim] : llvm::enumerate(dims))
    if (dim >= 0) {
      positions.push_back(position);
      loopDims.push_back(dim);
    }
  return {positions, loopDims};
}

/// True if `layout` has a position for each of `extents`.
static bool covers(const FragmentLayout &layout, ArrayRef<int64_t> extents) {
  return llvm::all_of(llvm::zip_equal(layout.getShape(), extents),
                      [](auto pair) {
                        auto [held, extent] = pair;
                        return held >= extent;
                      });
}

/// The layout of `loop` in which `access`, by `dims`, of a fragment with layout
/// `known` stays in registers; none if the fragment is smaller than the loop.
static std::optional<FragmentLayout>
followFragment(ParallelOp loop, const FragmentAccess &access,
               const FragmentLayout &known, ArrayRef<int64_t> dims) {
  std::optional<FragmentLayout> tile = access.see(known);
  if (!tile)
    return std::nullopt;
  auto [positions, loopDims] = splitDims(dims);
  FragmentLayout seen = selectDims(*tile, positions);
  SmallVector<int64_t> extents = llvm::map_to_vector(
      loopDims, [&](int64_t dim) { return loop.getExtents()[dim]; });
  if (!covers(seen, extents))
    return std::nullopt;
  seen = layout::cropDims(seen, extents);
  int64_t lastDim = static_cast<int64_t>(loop.getExtents().size()) - 1;
  int64_t width =
      getVectorWidth(loop.getExtents(), getRowElement(loop, lastDim));
  return extendDims(seen, loopDims, loop.getExtents(), width);
}

/// True if the access names every loop index that takes several values, over
/// the fragment's whole extents.
static bool isBijective(const FragmentAccess &access, ParallelOp loop,
                        ArrayRef<int64_t> dims) {
  for (auto [dim, extent] : llvm::zip_equal(dims, access.getShape()))
    if (dim >= 0 && loop.getExtents()[dim] != extent)
      return false;
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (extent > 1 && !llvm::is_contained(dims, static_cast<int64_t>(dim)))
      return false;
  return true;
}

namespace {

struct ParallelModel
    : LayoutOpInterface::ExternalModel<ParallelModel, ParallelOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto loop = cast<ParallelOp>(op);
    SmallVector<FragmentAccess> accesses = getFragmentAccesses(loop);
    for (const FragmentAccess &access : accesses) {
      const FragmentLayout *known = layouts.get(access.fragment);
      std::optional<SmallVector<int64_t>> dims = access.getDims();
      if (layouts.get(loop) || !known || !dims ||
          !isBijective(access, loop, *dims))
        continue;
      if (auto layout = followFragment(loop, access, *known, *dims))
        layouts.set(loop, *layout);
    }
    const FragmentLayout *layout = layouts.get(loop);
    if (!layout)
      return success();
    for (const FragmentAccess &access : accesses)
      if (std::optional<SmallVector<int64_t>> dims = access.getDims()) {
        FragmentLayout seen = selectDims(*layout, *dims);
        if (!covers(seen, access.getShape()))
          continue;
        if (auto tile = layout::joinDims(seen, access.digits))
          layouts.set(access.fragment, *tile);
      }
    return success();
  }
};

} // namespace

/// Threads may do so many times the iterations that they would have to, if that
/// keeps a fragment in registers.
static constexpr int64_t kMostIterations = 4;

/// True if few threads hold the part of a fragment that `loop` touches, so that
/// they would do its work alone, and that is more than to visit all that each
/// holds: a loop that repeats one column, whose rows are spread over threads.
static bool isLopsided(ParallelOp loop, const FragmentLayout &layout,
                       const FragmentLayout &fragment) {
  Type element =
      getRowElement(loop, static_cast<int64_t>(loop.getExtents().size()) - 1);
  FragmentLayout even =
      FragmentLayout::blocked(loop.getExtents(), getThreads(loop).count,
                              getVectorWidth(loop.getExtents(), element));
  return layout.numValues() >
         std::max(kMostIterations * even.numValues(), fragment.numValues());
}

/// Lays a loop out as the largest fragment that some of its indices pick.
static void extendLoop(ParallelOp loop, LayoutMap &layouts) {
  if (layouts.get(loop))
    return;
  std::optional<FragmentLayout> best;
  int64_t most = 0;
  for (const FragmentAccess &access : getFragmentAccesses(loop)) {
    const FragmentLayout *known = layouts.get(access.fragment);
    int64_t elements = llvm::product_of(getShape(access.fragment), int64_t(1));
    if (!known || elements <= most)
      continue;
    std::optional<SmallVector<int64_t>> dims = access.getDimsWithin(*known);
    if (!dims)
      continue;
    if (auto layout = followFragment(loop, access, *known, *dims);
        layout && !isLopsided(loop, *layout, *known)) {
      best = layout;
      most = elements;
    }
  }
  if (best)
    layouts.set(loop, *best);
}

//===----------------------------------------------------------------------===//
// Reductions and copies
//===----------------------------------------------------------------------===//

FragmentLayout tl::getReducedLayout(ReduceOp reduce,
                                    const FragmentLayout &source) {
  FragmentLayout reduced = source.project(reduce.getDim());
  // The result of a tile of one dimension may be a tile of one element.
  if (reduced.getRank() == 0 && getShape(reduce.getTarget()).size() == 1)
    return selectDims(reduced, {-1});
  return reduced;
}

namespace {

struct ReduceModel : LayoutOpInterface::ExternalModel<ReduceModel, ReduceOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto reduce = cast<ReduceOp>(op);
    if (const FragmentLayout *source = layouts.get(reduce.getSource()))
      layouts.set(reduce.getTarget(), getReducedLayout(reduce, *source));
    return success();
  }
};

} // namespace

/// Lays a reduction's source out so that its result lies as the target does.
static void extendReduction(ReduceOp reduce, LayoutMap &layouts) {
  const FragmentLayout *target = layouts.get(reduce.getTarget());
  if (!target || layouts.get(reduce.getSource()))
    return;
  ArrayRef<int64_t> shape = getShape(reduce.getSource());
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (dim != reduce.getDim())
      dims.push_back(dim);
  FragmentLayout kept = dims.empty() ? selectDims(*target, {}) : *target;
  int64_t width = getVectorWidth(shape, getRowUses(reduce.getSource()).element);
  layouts.set(reduce.getSource(), extendDims(kept, dims, shape, width));
}

void tl::extendLayouts(Operation *op, LayoutMap &layouts) {
  if (auto loop = dyn_cast<ParallelOp>(op))
    extendLoop(loop, layouts);
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    extendReduction(reduce, layouts);
}

namespace {

/// Sources and targets of scans lie alike.
struct ScanModel : LayoutOpInterface::ExternalModel<ScanModel, ScanOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto scan = cast<ScanOp>(op);
    if (const FragmentLayout *layout = layouts.get(scan.getSource()))
      layouts.set(scan.getTarget(), FragmentLayout(*layout));
    else if (const FragmentLayout *layout = layouts.get(scan.getTarget()))
      layouts.set(scan.getSource(), FragmentLayout(*layout));
    return success();
  }
};

struct CopyModel : LayoutOpInterface::ExternalModel<CopyModel, CopyOp> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    auto copy = cast<CopyOp>(op);
    Value source = copy.getSource(), target = copy.getTarget();
    if (!isInSpace(source, Space::Fragment) ||
        !isInSpace(target, Space::Fragment) ||
        getShape(source) != getShape(target) ||
        getShape(source) != ArrayRef(copy.getTile()) ||
        !copy.getSourceOffsets().empty() || !copy.getTargetOffsets().empty())
      return success();
    if (const FragmentLayout *layout = layouts.get(source))
      layouts.set(target, FragmentLayout(*layout));
    else if (const FragmentLayout *layout = layouts.get(target))
      layouts.set(source, FragmentLayout(*layout));
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

FragmentLayout tl::getThreadLayout(int64_t numThreads) {
  return FragmentLayout::blocked({numThreads}, numThreads, /*vectorWidth=*/1);
}

namespace {

/// Of what threads give each other each has its own.
template <typename Op>
struct ExchangeModel : LayoutOpInterface::ExternalModel<ExchangeModel<Op>, Op> {
  LogicalResult inferLayouts(Operation *op, LayoutMap &layouts) const {
    for (Value fragment : op->getOperands())
      layouts.set(fragment, getThreadLayout(getThreads(op).count));
    return success();
  }
};

} // namespace

void tl::registerLayoutModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TLDialect *) {
    ParallelOp::attachInterface<ParallelModel>(*context);
    ReduceOp::attachInterface<ReduceModel>(*context);
    CopyOp::attachInterface<CopyModel>(*context);
    ScanOp::attachInterface<ScanModel>(*context);
    ShuffleOp::attachInterface<ExchangeModel<ShuffleOp>>(*context);
    VoteOp::attachInterface<ExchangeModel<VoteOp>>(*context);
  });
}
