//===- Passes.h - Kernels run with no GPU -----------------------*- C++ -*-===//

#ifndef TL_SIMULATOR_PASSES_H
#define TL_SIMULATOR_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Simulator/Passes.h.inc"

} // namespace tl

#endif // TL_SIMULATOR_PASSES_H
