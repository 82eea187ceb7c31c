//===- Requirements.h - What a pass needs of the passes before --*- C++ -*-===//
//
// Each fails after an error that names the op and the pass that should have
// run. A pass asks first, so that one alone, or out of its order, is an error
// and no crash.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_REQUIREMENTS_H
#define TL_DIALECT_TL_ANALYSIS_REQUIREMENTS_H

#include "llvm/Support/LogicalResult.h"

namespace mlir::gpu {
class GPUFuncOp;
} // namespace mlir::gpu

namespace tl {

/// Buffers in shared memory have layouts.
llvm::LogicalResult requireSharedLayouts(mlir::gpu::GPUFuncOp kernel);

/// Fragments, buffers in shared memory and parallel loops have layouts, and
/// gemms have plans.
llvm::LogicalResult requireLayouts(mlir::gpu::GPUFuncOp kernel);

/// There is no `tl.pipelined`.
llvm::LogicalResult requirePlainLoops(mlir::gpu::GPUFuncOp kernel);

/// Buffers in shared memory and barriers have offsets.
llvm::LogicalResult requireOffsets(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_REQUIREMENTS_H
