//===- KernelEvents.h - The events of a kernel's ops ------------*- C++ -*-===//
//
// How analyses walk the events (`Events.h`) of a kernel: step by step, each
// op's asked for once, and which buffers can meet at all.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_KERNELEVENTS_H
#define TL_DIALECT_TL_ANALYSIS_KERNELEVENTS_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace tl {

/// True if analyses look at `op` as a whole: it has no regions, or what is in
/// them is part of its events.
bool isStep(mlir::Operation *op);

/// The events of steps, none of other ops. They keep their places in memory.
class KernelEvents {
public:
  llvm::ArrayRef<Event> of(mlir::Operation *op);

  /// `op` has changed, or is to be erased.
  void forget(mlir::Operation *op) { events.erase(op); }

private:
  llvm::DenseMap<mlir::Operation *,
                 std::unique_ptr<llvm::SmallVector<Event, 4>>>
      events;
};

/// True if two buffers, behind all views, have bytes in common. Those in shared
/// memory must have their offsets.
bool shareBytes(mlir::Value a, mlir::Value b);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_KERNELEVENTS_H
