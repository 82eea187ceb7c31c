//===- InferLayouts.cpp - Give every buffer and loop its layout -----------===//
//
// Gemms decide first, because hardware fixes where their accumulators lie.
// What they fixed spreads through the ops that relate layouts; a fragment that
// nothing reaches starts a new round with the default layout. Decisions end up
// as attributes, so that later passes only read them.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tl-infer-layouts"

namespace tl {
#define GEN_PASS_DEF_INFERLAYOUTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static constexpr int64_t kWarp = 32;

/// Plans every gemm and fixes its accumulator's layout.
static LogicalResult planGemms(gpu::GPUFuncOp kernel, LayoutMap &layouts) {
  WalkResult result = kernel.walk([&](GemmOp gemm) {
    std::string reason;
    GemmPlanAttr plan = gemm.getPlanAttr();
    if (!plan) {
      plan =
          planGemm(gemm, layouts.getTarget(), layouts.getNumThreads(), reason);
      gemm.setPlanAttr(plan);
    }
    if (!reason.empty())
      remark::missed(gemm.getLoc(),
                     remark::RemarkOpts::name("gemm").category(DEBUG_TYPE))
          << llvm::formatv("gemm uses {0}: {1}",
                           stringifyInstruction(plan.getInstruction()), reason)
                 .str();
    if (failed(layouts.set(
            gemm.getAcc(),
            getAccumulatorLayout(gemm, plan, layouts.getNumThreads()), gemm)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Lets ops relate layouts until nothing changes.
static LogicalResult propagate(gpu::GPUFuncOp kernel, LayoutMap &layouts) {
  do {
    layouts.takeChanged();
    WalkResult result = kernel.walk([&](LayoutOpInterface op) {
      return failed(op.inferLayouts(layouts)) ? WalkResult::interrupt()
                                              : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  } while (layouts.takeChanged());
  return success();
}

/// The fragment without a layout that says most about the others: the one with
/// most dimensions, then most elements, then the first.
static AllocOp findSeed(ArrayRef<AllocOp> fragments, const LayoutMap &layouts) {
  AllocOp seed;
  auto weight = [](AllocOp alloc) {
    return std::pair(alloc.getType().getRank(),
                     alloc.getType().getNumElements());
  };
  for (AllocOp alloc : fragments)
    if (!layouts.get(alloc.getResult()) &&
        (!seed || weight(alloc) > weight(seed)))
      seed = alloc;
  return seed;
}

/// The default layout of a tile: 16-byte vectors along its rows, if rows are
/// whole vectors.
static FragmentLayout defaultLayout(ArrayRef<int64_t> shape, Type element,
                                    int64_t numThreads) {
  int64_t width = getVectorWidth(element);
  while (width > 1 && (shape.empty() || shape.back() % width != 0))
    width /= 2;
  return FragmentLayout::blocked(shape, numThreads, width);
}

/// The widest element type that a loop reads or writes; a byte if none.
static Type getWidestElement(ParallelOp loop) {
  Type widest = IntegerType::get(loop.getContext(), 8);
  loop.getBody().walk([&](Operation *op) {
    if (!isa<LoadOp, StoreOp>(op))
      return;
    Type element =
        cast<MemRefType>(isa<LoadOp>(op)
                             ? cast<LoadOp>(op).getSource().getType()
                             : cast<StoreOp>(op).getTarget().getType())
            .getElementType();
    if (element.isIntOrFloat() &&
        element.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
      widest = element;
  });
  return widest;
}

/// Writes the layouts found into the IR, and gives the default to the rest.
static void recordLayouts(gpu::GPUFuncOp kernel, ArrayRef<AllocOp> fragments,
                          const LayoutMap &layouts) {
  MLIRContext *context = kernel.getContext();
  for (AllocOp alloc : fragments)
    alloc.setLayoutAttr(toAttr(context, *layouts.get(alloc.getResult())));
  kernel.walk([&](ParallelOp loop) {
    const FragmentLayout *layout = layouts.get(loop);
    loop.setLayoutAttr(
        toAttr(context,
               layout ? *layout
                      : defaultLayout(loop.getExtents(), getWidestElement(loop),
                                      layouts.getNumThreads())));
  });
  kernel.walk([&](AllocOp alloc) {
    if (getSpace(alloc.getType()) == Space::Shared && !alloc.getLayoutAttr())
      alloc.setLayoutAttr(chooseSharedLayout(alloc.getType()));
  });
}

/// The warps that share one result of a reduction, as laid out by `source`.
static int64_t countWarps(const FragmentLayout &source, int64_t dim) {
  int64_t warps = 1;
  SmallVector<layout::ThreadStep> steps = source.threadSteps(dim);
  for (const layout::ThreadStep &step : layout::splitSteps(steps, kWarp))
    if (step.divisor >= kWarp)
      warps *= step.extent;
  return warps;
}

/// Gives reductions across warps the shared memory they exchange results in.
static void addWorkspaces(gpu::GPUFuncOp kernel, const LayoutMap &layouts) {
  kernel.walk([&](ReduceOp reduce) {
    const FragmentLayout &source = *layouts.get(reduce.getSource());
    int64_t warps = countWarps(source, reduce.getDim());
    if (warps == 1 || reduce.getWorkspace())
      return;
    FragmentLayout target = source.project(reduce.getDim());
    auto type = cast<MemRefType>(reduce.getTarget().getType());
    auto space = gpu::AddressSpaceAttr::get(kernel.getContext(),
                                            gpu::AddressSpace::Workgroup);
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto workspaceType = MemRefType::get(
        {warps, llvm::product_of(target.getShape())}, type.getElementType(),
        MemRefLayoutAttrInterface(), space);
    auto layout = SharedLayoutAttr::get(kernel.getContext(), 0,
                                        workspaceType.getDimSize(1));
    reduce.getWorkspaceMutable().assign(
        AllocOp::create(builder, reduce.getLoc(), workspaceType, layout,
                        /*offset=*/nullptr, /*ring=*/false));
  });
}

/// Hands stores of whole shared tiles to the bulk copy engine.
static void markBulkStores(gpu::GPUFuncOp kernel) {
  kernel.walk([](CopyOp copy) {
    if (!isInSpace(copy.getSource(), Space::Shared) ||
        !isInSpace(copy.getTarget(), Space::Global))
      return;
    auto alloc = copy.getSource().getDefiningOp<AllocOp>();
    std::string reason;
    if (alloc &&
        getBulkCopyShape(copy, cast<SharedLayoutAttr>(alloc.getLayoutAttr()),
                         reason))
      return copy.setBulk(true);
    remark::missed(copy.getLoc(),
                   remark::RemarkOpts::name("bulk-store").category(DEBUG_TYPE))
        << "threads store the tile instead of the bulk copy engine: " + reason;
  });
}

static LogicalResult inferKernel(gpu::GPUFuncOp kernel, const Target &target) {
  int64_t numThreads = getNumThreads(kernel);
  LayoutMap layouts(target, numThreads);
  SmallVector<AllocOp> fragments;
  kernel.walk([&](AllocOp alloc) {
    if (getSpace(alloc.getType()) == Space::Fragment)
      fragments.push_back(alloc);
  });

  if (failed(planGemms(kernel, layouts)) || failed(propagate(kernel, layouts)))
    return failure();
  while (AllocOp seed = findSeed(fragments, layouts)) {
    MemRefType type = seed.getType();
    FragmentLayout layout =
        defaultLayout(type.getShape(), type.getElementType(), numThreads);
    if (failed(layouts.set(seed.getResult(), layout, seed)) ||
        failed(propagate(kernel, layouts)))
      return failure();
  }
  recordLayouts(kernel, fragments, layouts);
  addWorkspaces(kernel, layouts);
  if (target.hasBulkCopy())
    markBulkStores(kernel);
  return success();
}

namespace {
struct InferLayoutsPass : tl::impl::InferLayoutsPassBase<InferLayoutsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    InferLayoutsPassBase::getDependentDialects(registry);
    registerLayoutModels(registry);
  }

  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(inferKernel(kernel, *target)))
        return signalPassFailure();
  }
};
} // namespace
