//===- Passes.h - PTX from the LLVM dialect ---------------------*- C++ -*-===//

#ifndef TL_TARGET_PTX_PASSES_H
#define TL_TARGET_PTX_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Target/PTX/Passes.h.inc"

} // namespace tl

#endif // TL_TARGET_PTX_PASSES_H
