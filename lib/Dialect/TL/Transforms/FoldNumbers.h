//===- FoldNumbers.h - Have numbers be constants ----------------*- C++ -*-===//

#ifndef TL_DIALECT_TL_TRANSFORMS_FOLDNUMBERS_H
#define TL_DIALECT_TL_TRANSFORMS_FOLDNUMBERS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tl {

/// Has integers that are computed of constants be constants, which they are
/// seen as then: those of a loop that has been written out are.
void foldNumbers(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_DIALECT_TL_TRANSFORMS_FOLDNUMBERS_H
