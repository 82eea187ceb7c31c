//===- StartCopies.cpp - Let loads of tiles go on behind their ops --------===//
//
// A copy from device to shared memory that nothing runs ahead becomes `async`:
// its pieces go past the registers (`cp.async`), all of them are under way at
// once, and whatever does not need the tile is done meanwhile. By ordinary
// instructions a thread has as many loads under way as it has registers for.
//
// Sound because tl-insert-sync, which comes next, puts a wait before the first
// access that an unfinished copy could conflict with, and tl-verify-sync proves
// it. What the engine of `cp.async` cannot do, lowering does by ordinary
// instructions, which are complete earlier.
//
// Not where pipes have groups of copies: such a wait is for all groups, and
// would empty the pipes.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tl {
#define GEN_PASS_DEF_STARTCOPIESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static bool hasGroups(gpu::GPUFuncOp kernel) {
  return kernel.walk([](CommitCopiesOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// True for what threads copy from device memory to a tile of their block, as
/// it is.
static bool isLoadOfTile(CopyOp copy) {
  auto type = [](Value side) { return cast<MemRefType>(side.getType()); };
  return !copy.getAsync() && !copy.getBulk() &&
         isInSpace(copy.getSource(), Space::Global) &&
         isInSpace(copy.getTarget(), Space::Shared) &&
         copy.getTarget().getDefiningOp<AllocOp>() &&
         type(copy.getSource()).getElementType() ==
             type(copy.getTarget()).getElementType();
}

namespace {
struct StartCopiesPass : tl::impl::StartCopiesPassBase<StartCopiesPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (!target->hasAsyncCopy())
      return;
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (!hasGroups(kernel))
        kernel.walk([](CopyOp copy) {
          if (isLoadOfTile(copy))
            copy.setAsync(true);
        });
  }
};
} // namespace
