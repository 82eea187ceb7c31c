//===- MarkThreadStatements.cpp - Keep what each thread does apart --------===//
//
// Whether a statement is executed once by the block or once by each of its
// threads is a matter of how it is written (docs/language/semantics.md, S4):
// `T.atomic_add(C[0], t - t + 1)` depends on the thread `t`, although no value
// in it differs. Simplification does not know that. It turns `t - t` into 0,
// drops branches that are always taken, and the statement would be done once.
//
// Of what a statement may do, only an atomic operation is of another effect if
// fewer threads do it: of stores of equal values one is as good as many. So
// each atomic operation that depends on the thread is marked before anything is
// simplified, and `ThreadDependence` takes the mark for dependence.
//
// Sound because the mark is put on the program as written, and nothing but
// `tl-normalize-statements`, which makes a loop over the threads of such a
// statement, removes what the mark says.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace tl {
#define GEN_PASS_DEF_MARKTHREADSTATEMENTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True if `op` in `kernel` depends on the thread itself, or stands where only
/// some threads go.
static bool isForEachThread(Operation *op, KernelOp kernel,
                            const ThreadDependence &dependence) {
  if (dependence.isPerThread(op))
    return true;
  for (Operation *at = op->getParentOp(); at != kernel; at = at->getParentOp())
    if (dependence.isDivergent(at))
      return true;
  return false;
}

static void markStatements(KernelOp kernel) {
  ThreadDependence dependence(kernel.getBody());
  kernel.walk([&](AtomicOp atomic) {
    if (!atomic->getParentOfType<ParallelOp>() &&
        isForEachThread(atomic, kernel, dependence))
      atomic.setEachThread(true);
  });
}

namespace {
struct MarkThreadStatementsPass
    : tl::impl::MarkThreadStatementsPassBase<MarkThreadStatementsPass> {
  void runOnOperation() override { getOperation().walk(markStatements); }
};
} // namespace
