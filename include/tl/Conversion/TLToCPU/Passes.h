//===- Passes.h - From tile kernels to host functions -----------*- C++ -*-===//
//
// Declarations and registration of the passes in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOCPU_PASSES_H
#define TL_CONVERSION_TLTOCPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

/// Attributes of a host function that `convert-tl-to-cpu` made: how the host
/// makes its parameters (an array of `#tl.param`), and the shape of a block.
inline constexpr llvm::StringLiteral kHostParamsAttr = "tl.params";
inline constexpr llvm::StringLiteral kHostBlockAttr = "tl.block";

#define GEN_PASS_DECL
#include "tl/Conversion/TLToCPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tl/Conversion/TLToCPU/Passes.h.inc"

} // namespace tl

#endif // TL_CONVERSION_TLTOCPU_PASSES_H
