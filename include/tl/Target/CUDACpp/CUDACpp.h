//===- CUDACpp.h - CUDA C++ from thread level -------------------*- C++ -*-===//

#ifndef TL_TARGET_CUDACPP_CUDACPP_H
#define TL_TARGET_CUDACPP_CUDACPP_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace tl {

/// On a `tl.cuda_unit` that no user wrote: how its text came to be, as messages
/// about it say, `kGenerated` or `kEdited`.
inline constexpr llvm::StringLiteral kOriginAttr = "tl.origin";
inline constexpr llvm::StringLiteral kGenerated = "generated";
inline constexpr llvm::StringLiteral kEdited = "post-processed";

/// The kernels of `module`, which must be at thread level, as one translation
/// unit of CUDA C++17 that includes `kDeviceHeader`
/// (DeviceHeader.h). Fails after an error.
/// Names and source lines come from the locations in the IR.
mlir::FailureOr<std::string> emitCUDA(mlir::gpu::GPUModuleOp module);

} // namespace tl

#endif // TL_TARGET_CUDACPP_CUDACPP_H
