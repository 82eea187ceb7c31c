//===- ThreadLevel.h - Whether a kernel is at thread level ------*- C++ -*-===//
//
// What generators for NVIDIA GPUs may rely on.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_THREADLEVEL_H
#define TL_DIALECT_TL_ANALYSIS_THREADLEVEL_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/ThreadOps.h"

namespace tl {

/// True unless it is known that neither `op` nor one inside of it reads or
/// writes device memory.
bool mayTouchDeviceMemory(mlir::Operation *op);

/// Fails, after one error, if `module` is not at thread level, or if
/// `generator` does not take one of its ops.
llvm::LogicalResult verifyThreadLevel(mlir::gpu::GPUModuleOp module,
                                      std::optional<Generator> generator = {});

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_THREADLEVEL_H
