//===- Passes.td - Programs of the simulator ---------------*- tablegen -*-===//

#ifndef TL_TARGET_SIMULATOR_PASSES_TD
#define TL_TARGET_SIMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitSimulationPass : Pass<"tl-emit-simulation", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Keep kernels for the simulator";
  let description = [{
    Requires thread level (`tl-verify-thread-level`). Afterwards the module
    holds a `tl.compiled_kernel` with `kernel.sim.mlir` for each kernel: the
    kernel as it is, with its locations, which the simulator decodes when the
    kernel is loaded.

    An op that the simulator has no meaning for is an error here, and so is a
    kernel that is CUDA C++.
  }];
  let dependentDialects = ["::tl::TLDialect"];
}

#endif // TL_TARGET_SIMULATOR_PASSES_TD
