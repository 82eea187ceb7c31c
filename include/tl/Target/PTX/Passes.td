//===- Passes.td - PTX from the LLVM dialect ---------------*- tablegen -*-===//

#ifndef TL_TARGET_PTX_PASSES_TD
#define TL_TARGET_PTX_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitPTXPass : Pass<"tl-emit-ptx", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Generate PTX with LLVM and keep it as a compiled kernel";
  let description = [{
    Requires what `convert-tl-to-nvvm` leaves: one kernel, in the LLVM dialect,
    in a module with a `tl.target`. Afterwards the module holds one
    `tl.compiled_kernel` of the kernel's name with the file `kernel.ptx`.

    The text depends on the module's contents alone, so that equal kernels give
    equal bytes in every process. It has line information only if the module
    has `tl.line_info`. Modules of `tl.cuda_unit`s are left to `tl-compile-cuda`.

    All inline assembly is taken to be convergent: LLVM duplicates other
    assembly into divergent branches, where barriers and warp instructions hang.

    Functions with `tl-formula` among their attributes are compiled once; their instructions
    stand in place of each call, in a scope of its own.

    A masked access whose lanes are on or off together becomes an instruction behind a
    predicate; one whose lanes may differ, a branch for each lane.
  }];
  let dependentDialects = ["::tl::TLDialect"];
}

#endif // TL_TARGET_PTX_PASSES_TD
