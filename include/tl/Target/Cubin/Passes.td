//===- Passes.td - Cubins from PTX -------------------------*- tablegen -*-===//

#ifndef TL_TARGET_CUBIN_PASSES_TD
#define TL_TARGET_CUBIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssemblePass : Pass<"tl-assemble", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Assemble the PTX of a compiled kernel";
  let description = [{
    Requires a `tl.compiled_kernel` with `kernel.ptx` in a module with a
    `tl.target`. Adds the file `kernel.cubin`, and, from the assembler's log,
    the attribute `tl.resources` with the kernel's registers and its bytes of
    stack and spills. The assembler's errors become errors; where it had to
    serialise matrix instructions (its messages C7500 to C7599) it says so in
    warnings.

    `auto` takes the first assembler that is on the machine: nvJitLink, `ptxas`,
    the driver. Without one it leaves the PTX, which the driver can compile when
    the kernel is loaded, and warns.
  }];
  let dependentDialects = ["::tl::TLDialect"];
  let options = [
    Option<"assembler", "assembler", "::tl::Assembler",
      /*default=*/"::tl::Assembler::Auto", "what turns PTX into a cubin", [{
        ::llvm::cl::values(
          clEnumValN(::tl::Assembler::Auto, "auto", "the first that is there"),
          clEnumValN(::tl::Assembler::NvJitLink, "nvjitlink", "the nvJitLink library"),
          clEnumValN(::tl::Assembler::Ptxas, "ptxas", "the ptxas program"),
          clEnumValN(::tl::Assembler::Driver, "driver", "the CUDA driver"),
          clEnumValN(::tl::Assembler::None, "none", "nothing: PTX only"))
      }]>
  ];
}

#endif // TL_TARGET_CUBIN_PASSES_TD
