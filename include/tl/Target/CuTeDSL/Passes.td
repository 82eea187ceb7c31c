//===- Passes.td - CuTe DSL from thread level --------------*- tablegen -*-===//

#ifndef TL_TARGET_CUTEDSL_PASSES_TD
#define TL_TARGET_CUTEDSL_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCuTeDSLPass : Pass<"tl-emit-cutedsl", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Generate Python modules of CuTe DSL";
  let description = [{
    Requires thread level (`tl-verify-thread-level`). Afterwards the module
    holds a `tl.compiled_kernel` with `kernel.py` for each kernel: a module of
    NVIDIA's CuTe DSL (the package `nvidia-cutlass-dsl`) with the kernel, a
    function that launches it, and one that compiles it. A kernel's parameters
    are those of its launch, in order.

    Expressed are arithmetic, `scf`, accesses of global and shared memory,
    block barriers, shuffles, and vectors in registers. Matrix instructions, asynchronous
    copies, tensor maps, clusters and atomic accesses are errors that name the op. Modules
    of `tl.cuda_unit`s are left alone.
  }];
  let dependentDialects = ["::tl::TLDialect"];
}

#endif // TL_TARGET_CUTEDSL_PASSES_TD
