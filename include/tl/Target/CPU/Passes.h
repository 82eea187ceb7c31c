//===- Passes.h - Object code for the CPU -----------------------*- C++ -*-===//
//
// Declarations and registration of the passes in Passes.td, and the pipeline
// from a tile kernel to an object file.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CPU_PASSES_H
#define TL_TARGET_CPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

struct HostMachine;

#define GEN_PASS_DECL
#include "tl/Target/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tl/Target/CPU/Passes.h.inc"

/// Adds, to a pass manager for `gpu.module`, the passes from a tile-level
/// kernel to a `tl.compiled_kernel` for `machine`. The context needs the
/// translations of `registerHostTranslations`.
void addHostPasses(mlir::OpPassManager &manager, const HostMachine &machine);

/// Registers what `tl-emit-object` needs to translate to LLVM IR.
void registerHostTranslations(mlir::DialectRegistry &registry);

} // namespace tl

#endif // TL_TARGET_CPU_PASSES_H
