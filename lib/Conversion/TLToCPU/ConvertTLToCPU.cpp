//===- ConvertTLToCPU.cpp - Turn tile kernels into host functions ---------===//
//
// A block runs on one thread, so that the tile level is all there is: tile ops
// become loops over scratch memory, and what only orders threads goes away.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "tl/Conversion/TLToCPU/Passes.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tl {
#define GEN_PASS_DEF_CONVERTTLTOCPUPASS
#include "tl/Conversion/TLToCPU/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True for ops that a block executes as a whole, or that are scalar.
static bool isTileLevel(Operation *op) {
  if (isa<gpu::GPUDialect>(op->getDialect()))
    return isa<gpu::BarrierOp, gpu::BlockIdOp, gpu::GridDimOp, gpu::ReturnOp>(
        op);
  if (isa<TLDialect>(op->getDialect()))
    return isa<TileOpInterface, AllocOp, AtomicOp, ClusterArriveOp,
               ClusterBarrierOp, ClusterWaitOp, CommitCopiesOp, FenceAsyncOp,
               LoadOp, MapSharedRankOp, PipelinedOp, SlotOp, StoreOp,
               TensorAtOp, WaitCopiesOp, WaitGemmOp, YieldOp>(op);
  return !isa<LLVM::LLVMDialect>(op->getDialect()) &&
         op->getName().getDialectNamespace() != "nvvm";
}

static LogicalResult verifyTileLevel(gpu::GPUFuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expects structured control flow");
  WalkResult result = kernel.getBody().walk([](Operation *op) {
    if (isTileLevel(op))
      return WalkResult::advance();
    op->emitError("`") << op->getName()
                       << "` speaks of threads: thread-level programs do not "
                          "run on `cpu`; use tile ops instead";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Replaces `op` by its scalar loops.
static LogicalResult lowerByScalarLoops(TileOpInterface op) {
  OpBuilder builder(op);
  if (failed(op.emitScalarLoops(builder)))
    return op.emitError("cannot be executed on `cpu`");
  if (isa<ParallelOp>(op))
    if (auto nest = dyn_cast_or_null<scf::ForOp>(op->getPrevNode()))
      cpu::hoistGuards(nest);
  return success();
}

static LogicalResult lowerTileOps(gpu::GPUFuncOp kernel,
                                  const cpu::Machine &machine) {
  SmallVector<TileOpInterface> ops;
  kernel.walk([&](TileOpInterface op) { ops.push_back(op); });
  for (TileOpInterface op : ops) {
    if (auto copy = dyn_cast<CopyOp>(op.getOperation()))
      cpu::lowerCopy(copy);
    else if (auto gemm = dyn_cast<GemmOp>(op.getOperation()))
      cpu::lowerGemm(gemm, machine);
    else if (failed(lowerByScalarLoops(op)))
      return failure();
    op->erase();
  }
  return success();
}

/// Nothing runs ahead of one thread: a pipelined loop is a loop.
static void lowerPipelined(PipelinedOp pipelined) {
  OpBuilder builder(pipelined);
  Location loc = pipelined.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, pipelined.getLower(),
                                 pipelined.getUpper(), one);
  Block &from = pipelined.getBody().front();
  from.getArgument(0).replaceAllUsesWith(loop.getInductionVar());
  from.getTerminator()->erase();
  Block &to = *loop.getBody();
  to.getOperations().splice(to.begin(), from.getOperations());
  pipelined.erase();
}

/// Loops, and the waits that have nothing to wait for.
static void lowerControl(gpu::GPUFuncOp kernel) {
  kernel.walk<WalkOrder::PostOrder>([](Operation *op) {
    if (auto pipelined = dyn_cast<PipelinedOp>(op))
      lowerPipelined(pipelined);
    else if (isa<CommitCopiesOp, FenceAsyncOp, gpu::BarrierOp, WaitCopiesOp,
                 WaitGemmOp>(op))
      op->erase();
  });
}

namespace {
struct ConvertTLToCPUPass
    : tl::impl::ConvertTLToCPUPassBase<ConvertTLToCPUPass> {
  using ConvertTLToCPUPassBase::ConvertTLToCPUPassBase;

  LogicalResult convert(gpu::GPUFuncOp kernel) {
    if (failed(verifyTileLevel(kernel)))
      return failure();
    lowerControl(kernel);
    std::array<int64_t, 3> blocks = cpu::runClusters(kernel);
    cpu::clampSlots(kernel);
    if (failed(lowerTileOps(kernel, cpu::Machine{vectorBytes})) ||
        failed(cpu::lowerAccesses(kernel)))
      return failure();
    return cpu::makeHostFunction(kernel, blocks);
  }

  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels(
        getOperation().getOps<gpu::GPUFuncOp>());
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(convert(kernel)))
        return signalPassFailure();
  }
};
} // namespace
