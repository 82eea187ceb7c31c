//===- Passes.td - From tile kernels to host functions -----*- tablegen -*-===//

#ifndef TL_CONVERSION_TLTOCPU_PASSES_TD
#define TL_CONVERSION_TLTOCPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTLToCPUPass : Pass<"convert-tl-to-cpu", "::mlir::gpu::GPUModuleOp"> {
  let summary = "turn tile kernels into host functions";
  let description = [{
    Requires tile-level kernels: every kernel `gpu.func` of the module becomes a
    `func.func` that runs a range of the grid's blocks one after another (see
    docs/LaunchPlan.md for its parameters). Its attribute `tl.params` lists how
    the host makes each parameter, `tl.block` is the block shape that it was
    written for.

    Buffers are row-major scratch memory that all blocks of a call share:
    layouts and memory spaces mean nothing here. `tl.gemm` becomes a
    register-blocked kernel of vector multiply-adds, `tl.copy` loops over the
    part of the tile that is inside the buffers, every other tile op its scalar
    loops. Where the bounds of an access can be computed before its loop nest,
    the nest is versioned, and the version that runs inside has no checks.

    Guarantees: what is left is `func`, `scf`, `arith`, `math`, `memref`,
    `vector`, and `llvm` for parameters. Threads do not exist: thread
    coordinates, barriers and thread-level ops are errors.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "32",
      "bytes of a vector register of the machine to run on">
  ];
}

def LowerHostToLLVMPass : Pass<"tl-lower-host-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower host functions to the LLVM dialect";
  let description = [{
    Requires what `convert-tl-to-cpu` leaves. Everything becomes the LLVM
    dialect. Exponentials, logarithms and their like become polynomials, which
    LLVM can vectorise, where there is an accurate one; other functions of
    `math` become calls of the C library.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // TL_CONVERSION_TLTOCPU_PASSES_TD
