//===- Passes.td - PTX from CUDA C++ -----------------------*- tablegen -*-===//

#ifndef TL_TARGET_CUDA_PASSES_TD
#define TL_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def CompileCUDAPass : Pass<"tl-compile-cuda", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Compile CUDA C++ to PTX";
  let description = [{
    Compiles each `tl.cuda_unit` of a module with a `tl.target` and replaces each
    `tl.cuda_entry` by a `tl.compiled_kernel` with `kernel.ptx`, and with the text
    itself in `device_kernel.cu`. Units that are PTX or cubins already are taken
    as they are. A module of several units is compiled for linking; their files
    are numbered from the second on (`kernel_1.ptx`), and `tl-assemble` links
    them. Modules without units are left alone.

    Expressions for entries and variables become symbols. What launches rely on is
    held against what is compiled. The types of an entry with `tl.passed` are
    asserted at the end of its unit, which of several `tl.source` says. The parameters
    of each entry in the PTX are compared, by number, size and alignment, with those
    that launches pass, and its launch bounds, block size and cluster dimensions
    with those of launches. A difference is an error at the launch.

    The compiler's messages are given at the line of the user's file that they
    are about, in its own words. `auto` takes NVRTC, else `nvcc`; where neither is
    on the machine, a unit of CUDA C++ is an error that says what to install.
    `keep-dir` is where to leave the files that the compiler was given, for
    debugging.

    With `only-text` nothing is compiled, and no compiler is needed: kernels are
    replaced by their text alone, which nothing can load. Entries keep the
    expressions that launches name them by, and what launches rely on is not held
    against anything. It is for people who want to read the text.
  }];
  let dependentDialects = ["::tl::TLDialect"];
  let options = [
    Option<"compiler", "compiler", "::tl::CudaCompiler",
      /*default=*/"::tl::CudaCompiler::Auto", "what turns CUDA C++ into PTX", [{
        ::llvm::cl::values(
          clEnumValN(::tl::CudaCompiler::Auto, "auto", "the first that is there"),
          clEnumValN(::tl::CudaCompiler::NVRTC, "nvrtc", "the NVRTC library"),
          clEnumValN(::tl::CudaCompiler::NVCC, "nvcc", "the nvcc program"),
          clEnumValN(::tl::CudaCompiler::None, "none", "nothing: an error"))
      }]>,
    Option<"keepDir", "keep-dir", "std::string", "\"\"", "folder for the compiler's input; it is removed without">,
    Option<"onlyCalls", "only-calls", "bool", "false",
      "for pipelines whose other kernels have no unit: the compiler is part of the identity only of those that call a function of a source">,
    Option<"onlyText", "only-text", "bool", "false", "keep the text and compile nothing">
  ];
}

def ResolveSourcesPass : Pass<"tl-resolve-sources", "::mlir::ModuleOp"> {
  let summary = "Put source kernels and their headers into the IR";
  let description = [{
    Reads the sources of each `tl.source_kernel` that name a file and have no
    text, and every header that they can reach through `#include`, whichever
    branches of `#if` it stands in. After it the IR holds all that a compiler will
    read besides the toolkit, whose headers it names by the digest of those that
    are reached: an edited comment in a header is another kernel, a touched time
    stamp is not, and neither is the project moved to another folder.

    `#include "…"` looks beside the including file, then, like `#include <…>`, in
    `include_paths` in their order, and last in the toolkit. A header that is
    found nowhere is left for the compiler to report, unless a branch of `#if`
    hides it. `#include MACRO` cannot be followed: such a kernel is compiled each
    time, and a remark says so.

    `tl.includes` says where each `#include` leads, for `tl-verify-entries`: this is
    the only place that looks for headers.

    A file that cannot be read, and a flag that is an include path, are errors.
  }];
  let dependentDialects = ["::tl::TLDialect"];
}

#endif // TL_TARGET_CUDA_PASSES_TD
