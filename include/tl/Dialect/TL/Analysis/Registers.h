//===- Registers.h - How many registers a kernel takes ----------*- C++ -*-===//

#ifndef TL_DIALECT_TL_ANALYSIS_REGISTERS_H
#define TL_DIALECT_TL_ANALYSIS_REGISTERS_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// Registers of a thread that hold fragments, if all were alive at once.
int64_t countFragmentRegisters(mlir::gpu::GPUFuncOp kernel);

/// The most registers of a thread that hold fragments at once, about: an op
/// that writes a fragment without reading it is taken to replace all of it, and
/// products to be done when the next op begins.
int64_t countLiveFragmentRegisters(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_REGISTERS_H
