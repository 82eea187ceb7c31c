//===- MarkBulkStores.cpp - Hand stores to the bulk copy engine -----------===//
//
// Comes after layouts, because the engine writes whole panels of a tile.
//
// A marked store must begin inside of its tensor, or behind it, in every
// launch: the analysis shows it of the place's arithmetic, wrapping included
// (`getGreatest`), and lowering takes the mark at its word.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tl-mark-bulk-stores"

namespace tl {
#define GEN_PASS_DEF_MARKBULKSTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static void markStore(CopyOp copy) {
  if (!isInSpace(copy.getSource(), Space::Shared) ||
      !isInSpace(copy.getTarget(), Space::Global))
    return;
  std::string reason;
  if (copy.getSource().getDefiningOp<AllocOp>() &&
      getBulkCopyShape(copy, reason))
    return copy.setBulk(true);
  remark::missed(copy.getLoc(),
                 remark::RemarkOpts::name("bulk-store").category(DEBUG_TYPE))
      << "threads store the tile instead of the bulk copy engine: " + reason;
}

namespace {
struct MarkBulkStoresPass
    : tl::impl::MarkBulkStoresPassBase<MarkBulkStoresPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (target->hasBulkCopy())
      getOperation().walk(markStore);
  }
};
} // namespace
