//===- AddWorkspaces.cpp - Shared memory for reductions -------------------===//
//
// Threads of different warps, and lanes that shuffles do not reach, exchange
// their parts of a result in shared memory: a row for each of those that meet
// there, with a place for each result. Parts are kept in the type that they are
// combined in, so that a result is rounded once.
//
// Sound because each reduction gets memory that nothing else names, and says
// by its events when it touches that: so tl-plan-shared-memory lets it share
// bytes, tl-insert-sync puts it in order, and tl-verify-sync proves the order.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/Convert.h"
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

static void addWorkspace(ReduceOp reduce) {
  FragmentLayout source = toLayout(cast<FragmentLayoutAttr>(
      reduce.getSource().getDefiningOp<AllocOp>().getLayoutAttr()));
  int64_t groups =
      layout::getReductionSteps(source, reduce.getDim()).countGroups();
  if (groups == 1 || reduce.getWorkspace())
    return;
  auto kernel = reduce->getParentOfType<gpu::GPUFuncOp>();
  int64_t results =
      llvm::product_of(source.project(reduce.getDim()).getShape(), int64_t(1));
  auto space = gpu::AddressSpaceAttr::get(reduce.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(
      {groups, results},
      getReductionType(
          cast<MemRefType>(reduce.getTarget().getType()).getElementType()),
      MemRefLayoutAttrInterface(), space);
  auto layout = SharedLayoutAttr::get(reduce.getContext(), 0, results);
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  reduce.getWorkspaceMutable().assign(AllocOp::create(builder, reduce.getLoc(),
                                                      type, layout,
                                                      /*offset=*/nullptr));
}

namespace {
struct AddWorkspacesPass : tl::impl::AddWorkspacesPassBase<AddWorkspacesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(requireLayouts(kernel)))
        return signalPassFailure();
      kernel.walk(addWorkspace);
    }
  }
};
} // namespace
