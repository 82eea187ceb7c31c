//===- Passes.h - CuTe DSL from thread level --------------------*- C++ -*-===//

#ifndef TL_TARGET_CUTEDSL_PASSES_H
#define TL_TARGET_CUTEDSL_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Target/CuTeDSL/Passes.h.inc"

} // namespace tl

#endif // TL_TARGET_CUTEDSL_PASSES_H
