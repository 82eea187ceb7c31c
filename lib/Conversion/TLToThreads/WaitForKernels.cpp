//===- WaitForKernels.cpp - Wait for what is launched before a kernel -----===//
//
// Sound because the wait stands in front of every op that may touch device
// memory, which tl-verify-thread-level checks, where all threads come by; and
// because all that is done before it is arithmetic and setting up what is in
// shared memory. The kernel's last write is behind its wait, so that whoever
// waits for this kernel has waited for those before it.
//
// The next kernel may come behind the wait, not before: a kernel of others may
// read, ahead of a wait of its own, what is older than the kernel before it.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Dialect/TL/Analysis/ThreadLevel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace tl {
#define GEN_PASS_DEF_WAITFORKERNELSPASS
#include "tl/Conversion/TLToThreads/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static void waitForKernels(gpu::GPUFuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto first = llvm::find_if(
      body, [](Operation &op) { return mayTouchDeviceMemory(&op); });
  OpBuilder builder(first == body.end() ? body.getTerminator() : &*first);
  Location loc = kernel.getLoc();
  NVVM::GriddepcontrolOp::create(builder, loc, NVVM::GridDepActionKind::wait);
  NVVM::GriddepcontrolOp::create(builder, loc,
                                 NVVM::GridDepActionKind::launch_dependents);
}

namespace {
struct WaitForKernelsPass
    : tl::impl::WaitForKernelsPassBase<WaitForKernelsPass> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(kDependentAttr))
      for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
        waitForKernels(kernel);
  }
};
} // namespace
