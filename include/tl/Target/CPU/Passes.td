//===- Passes.td - Object code for the CPU -----------------*- tablegen -*-===//

#ifndef TL_TARGET_CPU_PASSES_TD
#define TL_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitObjectPass : Pass<"tl-emit-object", "::mlir::gpu::GPUModuleOp"> {
  let summary = "compile a kernel's host function to an object file";
  let description = [{
    Requires what `tl-lower-host-to-llvm` leaves: one function with `tl.params`
    and `tl.block`. Translates it to LLVM IR, optimises it (O3, with
    vectorisation) for the processor named by the options, and puts a
    `tl.compiled_kernel` in its place with two files: `kernel.o`, a relocatable
    object, and `kernel.s`, the same as assembly text.

    The options are all that the code depends on besides the IR. Without them
    it runs on any processor of the host's architecture. An unknown processor
    is an error.
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"\"",
      "the processor, as LLVM names it; empty for a generic one">,
    Option<"features", "features", "std::string", "\"\"",
      "processor features to add and remove, such as +avx2,-avx512f">
  ];
}

#endif // TL_TARGET_CPU_PASSES_TD
