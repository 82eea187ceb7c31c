//===- Passes.h - Cubins from PTX -------------------------------*- C++ -*-===//

#ifndef TL_TARGET_CUBIN_PASSES_H
#define TL_TARGET_CUBIN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tl/Target/Cubin/Assembler.h"

namespace tl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Target/Cubin/Passes.h.inc"

} // namespace tl

#endif // TL_TARGET_CUBIN_PASSES_H
