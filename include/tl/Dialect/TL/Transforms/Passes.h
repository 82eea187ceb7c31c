//===- Passes.h - Passes on the tile level ----------------------*- C++ -*-===//
//
// Declarations and registration of the passes in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_TRANSFORMS_PASSES_H
#define TL_DIALECT_TL_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

#define GEN_PASS_DECL
#include "tl/Dialect/TL/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tl/Dialect/TL/Transforms/Passes.h.inc"

} // namespace tl

#endif // TL_DIALECT_TL_TRANSFORMS_PASSES_H
