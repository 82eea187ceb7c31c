//===- CuTeDSL.h - CuTe DSL from thread level -------------------*- C++ -*-===//

#ifndef TL_TARGET_CUTEDSL_CUTEDSL_H
#define TL_TARGET_CUTEDSL_CUTEDSL_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <string>

namespace tl {

/// The file of a compiled kernel that is a module of CuTe DSL.
inline constexpr llvm::StringLiteral kCuTeDSLFile = "kernel.py";

/// `kernel`, which must be at thread level, as a Python module of CuTe DSL.
/// Fails after an error that names what CuTe DSL has no form for.
mlir::FailureOr<std::string> emitCuTeDSL(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_TARGET_CUTEDSL_CUTEDSL_H
