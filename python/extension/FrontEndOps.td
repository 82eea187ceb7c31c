//===- FrontEndOps.td - What programs in Python are made of -*- tablegen -*-===//
//
// The operations that the package `tilec` builds through functions of their
// own: generate_ops.py makes `tilec._ops` of their definitions.
//
//===----------------------------------------------------------------------===//

include "mlir/Dialect/Arith/IR/ArithOps.td"
include "mlir/Dialect/GPU/IR/GPUOps.td"
include "mlir/Dialect/SCF/IR/SCFOps.td"
include "tl/Dialect/TL/IR/Addresses.td"
include "tl/Dialect/TL/IR/Calls.td"
include "tl/Dialect/TL/IR/Prints.td"
include "tl/Dialect/TL/IR/Roles.td"
include "tl/Dialect/TL/IR/Scans.td"
include "tl/Dialect/TL/IR/TLOps.td"
include "tl/Dialect/TL/IR/Warps.td"

def FrontEnd {
  list<Op> ops = [
    TL_AllocOp, TL_AssertOp, TL_AtomicOp, TL_CallSourceOp, TL_ClusterArriveOp, TL_ClusterBarrierOp,
    TL_ClusterWaitOp, TL_CopyOp, TL_CutOp, TL_FillOp, TL_GemmOp, TL_KernelOp, TL_LoadOp,
    TL_MapSharedRankOp, TL_ParallelOp, TL_PipelinedOp, TL_PrintOp, TL_ReduceOp, TL_ScanOp, TL_ShuffleOp,
    TL_SlotOp, TL_SourceKernelOp, TL_StoreOp, TL_TensorAtOp, TL_VoteOp, TL_YieldOp,
    Arith_CmpFOp, Arith_CmpIOp, SelectOp,
    GPU_BarrierOp, GPU_ThreadIdOp,
    ConditionOp, ForOp, IfOp, WhileOp, YieldOp,
  ];
}
