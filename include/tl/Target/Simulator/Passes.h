//===- Passes.h - Programs of the simulator ---------------------*- C++ -*-===//

#ifndef TL_TARGET_SIMULATOR_PASSES_H
#define TL_TARGET_SIMULATOR_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

/// The file of a compiled kernel that the simulator decodes.
inline constexpr llvm::StringLiteral kSimulatedFile = "kernel.sim.mlir";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Target/Simulator/Passes.h.inc"

} // namespace tl

#endif // TL_TARGET_SIMULATOR_PASSES_H
