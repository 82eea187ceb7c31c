//===- ThreadLoweringInterface.td - Ops as threads ---------*- tablegen -*-===//
//
// Attached to ops of the dialect by models (LowerTileOps.cpp): the IR knows
// nothing of how it is lowered.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_THREADLOWERINGINTERFACE_TD
#define TL_CONVERSION_TLTOTHREADS_THREADLOWERINGINTERFACE_TD

include "mlir/IR/OpBase.td"

def TL_ThreadLoweringOpInterface : OpInterface<"ThreadLoweringOpInterface"> {
  let cppNamespace = "::tl";
  let description = [{
    A tile op that can be written as what each thread of a block does.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits, before the op, the thread-level ops that compute it. The caller
        erases the op.
      }], "::llvm::LogicalResult", "lowerToThreads", (ins "::tl::ThreadLowering &":$lowering)>
  ];
}

#endif // TL_CONVERSION_TLTOTHREADS_THREADLOWERINGINTERFACE_TD
