//===- InferLayouts.cpp - Give every buffer and loop its layout -----------===//
//
// Gemms decide first, because hardware fixes where their accumulators lie, and
// operands in registers. Where loops read one line of a fragment after the
// other, each thread holds its part of all lines.
// What they fixed spreads through the ops that relate layouts; where it reaches
// some dimensions of a tile only, the others are spread anew. A fragment or
// loop that nothing reaches starts a new round with the default layout.
// Decisions end up as attributes, so that later passes only read them.
//
// A fragment has one layout. Where two ops need different ones the first keeps
// it and tl-stage-fragments moves elements for the other, so inference never
// fails, and is free to choose badly: no layout that it chooses can be wrong.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/LoopTraffic.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RowAccesses.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Layout/FragmentRelations.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

namespace tl {
#define GEN_PASS_DEF_INFERLAYOUTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

/// The layout of a loop without fragments: the default one, or one in which the
/// lanes of a warp lie along another dimension, if that keeps more of them from
/// waiting for each other at shared memory (a transposition) and moves no more
/// of device memory.
static FragmentLayout chooseLayout(ParallelOp loop) {
  FragmentLayout best = getDefaultLayout(loop);
  LoopTraffic least = countTraffic(loop, best);
  ArrayRef<int64_t> extents = loop.getExtents();
  int64_t lastDim = static_cast<int64_t>(extents.size()) - 1;
  int64_t width = best.contiguousValues(lastDim), sectors = least.sectors;
  for (int64_t dim = 0; dim < lastDim; ++dim) {
    FragmentLayout other = layout::extendDims(
        FragmentLayout::blocked({extents[dim]}, getThreads(loop).count, 1),
        {dim}, extents, width);
    if (other.numValues() != best.numValues())
      continue;
    LoopTraffic traffic = countTraffic(loop, other);
    if (traffic.wavefronts >= least.wavefronts || traffic.sectors > sectors)
      continue;
    best = other;
    least = traffic;
  }
  return best;
}

namespace {

/// The layouts of one kernel.
class Inference {
public:
  explicit Inference(gpu::GPUFuncOp kernel) : kernel(kernel) {
    kernel.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<AllocOp>(op);
          alloc && getSpace(alloc.getType()) == Space::Fragment)
        fragments.push_back(alloc);
      if (auto loop = dyn_cast<ParallelOp>(op);
          loop && !getFragmentAccesses(loop).empty())
        loops.push_back(loop);
    });
  }

  LogicalResult run() {
    placeRows();
    if (failed(placeAccumulators()))
      return failure();
    placeOperands();
    placeLines();
    if (failed(propagate()))
      return failure();
    while (seed())
      if (failed(propagate()))
        return failure();
    record();
    return success();
  }

private:
  /// What each thread has of its own lies in it already, and so do the loops
  /// that pick from it.
  void placeRows() {
    for (AllocOp alloc : fragments)
      if (Attribute layout = alloc.getLayoutAttr())
        layouts.set(alloc.getResult(),
                    toLayout(cast<FragmentLayoutAttr>(layout)));
    for (ParallelOp loop : loops)
      for (const FragmentAccess &access : getFragmentAccesses(loop))
        if (const FragmentLayout *rows = layouts.get(access.fragment);
            rows && access.isOfRow(loop))
          layouts.set(loop, rows->project(rows->getRank() - 1));
  }

  /// Matrix instructions have no choice; other gemms take what comes, and the
  /// layout that suits them only if nothing else does.
  LogicalResult placeAccumulators() {
    SmallVector<GemmOp> free;
    WalkResult result = kernel.walk([&](GemmOp gemm) {
      GemmPlanAttr plan = gemm.getPlanAttr();
      if (!plan) {
        gemm.emitOpError("has no plan: run `tl-plan-gemms` first");
        return WalkResult::interrupt();
      }
      if (plan.getInstruction() == Instruction::FMA)
        free.push_back(gemm);
      else
        place(gemm);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    llvm::for_each(free, [&](GemmOp gemm) { place(gemm); });
    return success();
  }

  /// What is an accumulator as well stays one.
  void placeOperands() {
    kernel.walk([&](GemmOp gemm) {
      if (takesRegisterA(gemm, gemm.getPlanAttr()))
        layouts.set(gemm.getA(), getOperandLayout(gemm, gemm.getPlanAttr(),
                                                  getThreads(gemm).count));
    });
  }

  /// Threads lie along the dimensions that loops go along, if these are enough
  /// for all of them, and not along those that constants are chosen from.
  void placeLines() {
    llvm::MapVector<Value, SmallVector<std::set<int64_t>>> lines;
    for (ParallelOp loop : loops)
      for (const FragmentAccess &access : getFragmentAccesses(loop)) {
        auto type = cast<MemRefType>(access.fragment.getType());
        if (!access.indices ||
            static_cast<int64_t>(access.indices->size()) != type.getRank())
          continue;
        auto &chosen = lines[access.fragment];
        chosen.resize(type.getRank());
        for (auto [dim, index] : llvm::enumerate(*access.indices))
          if (index.dim < 0)
            chosen[dim].insert(index.position);
      }
    for (auto &[fragment, chosen] : lines) {
      auto alloc = fragment.getDefiningOp<AllocOp>();
      bool isFree = !layouts.get(fragment) &&
                    llvm::none_of(fragment.getUsers(), [](Operation *user) {
                      return isa<GemmOp, ReduceOp, ScanOp>(user);
                    });
      if (alloc && isFree)
        placeLines(alloc, chosen);
    }
  }

  void placeLines(AllocOp alloc, ArrayRef<std::set<int64_t>> chosen) {
    ArrayRef<int64_t> shape = alloc.getType().getShape();
    SmallVector<int64_t> dims, extents;
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (chosen[dim].size() < 2) {
        dims.push_back(dim);
        extents.push_back(extent);
      }
    int64_t threads = getThreads(alloc).count;
    if (dims.size() == shape.size() ||
        llvm::product_of(extents, int64_t(1)) < threads)
      return;
    Type element = getRowUses(alloc.getResult()).element;
    FragmentLayout line = getDefaultLayout(extents, element, threads);
    layouts.set(alloc.getResult(),
                layout::extendDims(line, dims, shape, /*vectorWidth=*/1));
  }

  void place(GemmOp gemm) {
    layouts.set(gemm.getAcc(), getAccumulatorLayout(gemm, gemm.getPlanAttr(),
                                                    getThreads(gemm).count));
  }

  /// Lets ops relate layouts until nothing changes. What fits exactly goes
  /// first; only then is one op asked to extend what it has.
  LogicalResult propagate() {
    do {
      layouts.takeChanged();
      WalkResult result = kernel.walk([&](LayoutOpInterface op) {
        return failed(op.inferLayouts(layouts)) ? WalkResult::interrupt()
                                                : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    } while (layouts.takeChanged() || extendOne());
    return success();
  }

  /// True if some op could extend a layout.
  bool extendOne() {
    return kernel
        .walk([&](Operation *op) {
          extendLayouts(op, layouts);
          return layouts.takeChanged() ? WalkResult::interrupt()
                                       : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Gives the layout that suits it to what a scan goes over, before anything
  /// takes the default layout; false if there is none left.
  bool seedScan() {
    return kernel
        .walk([&](ScanOp scan) {
          if (layouts.get(scan.getSource()))
            return WalkResult::advance();
          layouts.set(scan.getSource(), getScanLayout(scan));
          return WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  /// Gives the default layout to what says most about the others: most
  /// dimensions, then most elements; a fragment before a loop, then the first.
  /// False if everything has a layout.
  bool seed() {
    if (seedScan())
      return true;
    using Weight = std::pair<int64_t, int64_t>;
    auto weigh = [](ArrayRef<int64_t> shape) {
      return Weight(shape.size(), llvm::product_of(shape, int64_t(1)));
    };
    Weight most(-1, -1);
    AllocOp fragment;
    ParallelOp loop;
    for (AllocOp alloc : fragments)
      if (!layouts.get(alloc.getResult()) &&
          weigh(alloc.getType().getShape()) > most) {
        fragment = alloc;
        most = weigh(alloc.getType().getShape());
      }
    for (ParallelOp candidate : loops)
      if (!layouts.get(candidate) && weigh(candidate.getExtents()) > most) {
        loop = candidate;
        most = weigh(candidate.getExtents());
      }
    if (loop)
      layouts.set(loop, getDefaultLayout(loop));
    else if (fragment)
      layouts.set(fragment.getResult(), getDefaultLayout(fragment));
    return loop || fragment;
  }

  /// Writes the layouts into the IR, and gives the default to loops without
  /// fragments.
  void record() {
    MLIRContext *context = kernel.getContext();
    for (AllocOp alloc : fragments)
      alloc.setLayoutAttr(toAttr(context, *layouts.get(alloc.getResult())));
    kernel.walk([&](ParallelOp loop) {
      const FragmentLayout *known = layouts.get(loop);
      FragmentLayout layout = known ? *known : chooseLayout(loop);
      loop.setLayoutAttr(toAttr(context, layout));
    });
    kernel.walk([&](AllocOp alloc) {
      if (getSpace(alloc.getType()) == Space::Shared && !alloc.getLayoutAttr())
        alloc.setLayoutAttr(chooseSharedLayout(alloc));
    });
  }

  gpu::GPUFuncOp kernel;
  LayoutMap layouts;
  SmallVector<AllocOp> fragments;
  SmallVector<ParallelOp> loops;
};

struct InferLayoutsPass : tl::impl::InferLayoutsPassBase<InferLayoutsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    InferLayoutsPassBase::getDependentDialects(registry);
    registerLayoutModels(registry);
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(Inference(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
