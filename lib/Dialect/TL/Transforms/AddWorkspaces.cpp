//===- AddWorkspaces.cpp - Shared memory for reductions and scans ---------===//
//
// Threads of different warps, and lanes that shuffles do not reach, exchange
// their parts of a result in shared memory: a row for each of those that meet
// there, with a place for each result. Parts are kept in the type that they are
// combined in, so that a result is rounded once.
//
// Sound because each of these ops gets memory that nothing else names, and says
// by its events when it touches that: so tl-plan-shared-memory lets it share
// bytes, tl-insert-sync puts it in order, and tl-verify-sync proves the order.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Layout/FragmentRelations.h"

#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_ADDWORKSPACESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static FragmentLayout getLayout(Value fragment) {
  return toLayout(cast<FragmentLayoutAttr>(
      fragment.getDefiningOp<AllocOp>().getLayoutAttr()));
}

/// Gives `op`, which combines elements of `source` along `dim`, memory for what
/// `groups` groups have of each result, if there are several.
template <typename Op>
static void addWorkspace(Op op, const FragmentLayout &source, int64_t dim,
                         int64_t groups) {
  if (groups == 1 || op.getWorkspace())
    return;
  auto kernel = op->template getParentOfType<gpu::GPUFuncOp>();
  MemRefType type = getWorkspaceType(op.getTarget(), source, dim, groups);
  auto layout = SharedLayoutAttr::get(op.getContext(), 0, type.getDimSize(1));
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  op.getWorkspaceMutable().assign(
      AllocOp::create(builder, op.getLoc(), type, layout, /*offset=*/nullptr));
}

static void addWorkspaces(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    FragmentLayout source = getLayout(reduce.getSource());
    addWorkspace(
        reduce, source, reduce.getDim(),
        layout::getReductionSteps(source, reduce.getDim()).countGroups());
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    FragmentLayout source = getLayout(scan.getSource());
    addWorkspace(
        scan, source, scan.getDim(),
        layout::countGroups(layout::getScanDigits(source, scan.getDim())));
  }
}

namespace {
struct AddWorkspacesPass : tl::impl::AddWorkspacesPassBase<AddWorkspacesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(requireLayouts(kernel)))
        return signalPassFailure();
      kernel.walk(addWorkspaces);
    }
  }
};
} // namespace
