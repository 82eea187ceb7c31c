//===- Effects.h - What ops do with a buffer --------------------*- C++ -*-===//

#ifndef TL_DIALECT_TL_ANALYSIS_EFFECTS_H
#define TL_DIALECT_TL_ANALYSIS_EFFECTS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {

/// True if all that `op` does with `buffer` is known, and of kind `Effect`.
template <typename Effect>
bool hasOnlyEffect(mlir::Operation *op, mlir::Value buffer) {
  auto interface = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  if (!interface)
    return false;
  llvm::SmallVector<mlir::MemoryEffects::EffectInstance> effects;
  interface.getEffectsOnValue(buffer, effects);
  return !effects.empty() &&
         llvm::all_of(effects,
                      [](const mlir::MemoryEffects::EffectInstance &it) {
                        return mlir::isa<Effect>(it.getEffect());
                      });
}

/// True if `op` reads elements of `buffer`, or asks for its extents, and does
/// nothing else with it.
inline bool onlyReads(mlir::Operation *op, mlir::Value buffer) {
  return hasOnlyEffect<mlir::MemoryEffects::Read>(op, buffer) ||
         mlir::isa<mlir::memref::DimOp>(op);
}

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_EFFECTS_H
