//===- LayoutInterface.td - How ops relate layouts ---------*- tablegen -*-===//
//
// Attached to ops of the dialect by models (LayoutModels.cpp): the IR knows
// nothing of inference.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_LAYOUTINTERFACE_TD
#define TL_DIALECT_TL_ANALYSIS_LAYOUTINTERFACE_TD

include "mlir/IR/OpBase.td"

def TL_LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::tl";
  let description = [{
    An op that demands or relates the layouts of the buffers it touches.
    `tl-infer-layouts` calls it until nothing changes.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds what this op demands of, or derives from, the layouts known so far.
        Fails, after a diagnostic, if they contradict each other.
      }], "::llvm::LogicalResult", "inferLayouts", (ins "::tl::LayoutMap &":$layouts)>
  ];
}

#endif // TL_DIALECT_TL_ANALYSIS_LAYOUTINTERFACE_TD
