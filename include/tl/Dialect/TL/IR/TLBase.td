//===- TLBase.td - The tl dialect --------------------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_TLBASE_TD
#define TL_DIALECT_TL_IR_TLBASE_TD

include "mlir/IR/OpBase.td"

def TL_Dialect : Dialect {
  let name = "tl";
  let cppNamespace = "::tl";
  let summary = "tile kernels, source kernels and their launches";
  let description = [{
    The `tl` dialect models GPU programs at three levels. At the *tile level* a
    host function holds `tl.kernel` regions whose ops work on whole tiles:
    copies, matrix products, reductions, element-wise loops. At the *thread
    level* a kernel is a `gpu.func` in which every op is executed by each
    thread; `tl` adds the warp and warp-group instructions that carry values
    (`tl.mma`, `tl.wgmma`, `tl.wgmma_wait`). At the *target level* a kernel is a
    `tl.compiled_kernel`, and the host function a `tl.launch_plan`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 0;
}

#endif // TL_DIALECT_TL_IR_TLBASE_TD
