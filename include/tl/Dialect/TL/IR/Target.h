//===- Target.h - What a chip can do ----------------------------*- C++ -*-===//
//
// The one place that knows chips. Passes ask it what is legal; none compares
// names of chips.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_TARGET_H
#define TL_DIALECT_TL_IR_TARGET_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tl {

class Target {
public:
  /// The target named `chip`: `cpu`, or `sm_` and a compute capability from 75
  /// to 121, with `a` for the features that only that capability has. Fails,
  /// after an error that lists what is known, for any other name.
  static mlir::FailureOr<Target>
  parse(llvm::StringRef chip,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// The target of the kernel that `op` is in: `tl.target` of its `gpu.module`.
  /// Fails, after an error, if there is none.
  static mlir::FailureOr<Target> of(mlir::Operation *op);

  llvm::StringRef getChip() const { return chip; }
  bool isCPU() const { return capability == 0; }

  /// Ten times the compute capability: 75, 80, 89, 90, 100, 120; 0 for the CPU.
  int getCapability() const { return capability; }

  /// `wgmma`, and the register pools of warp groups.
  bool hasWgmma() const { return capability == 90 && archSpecific; }

  /// The bulk tensor copy engine, as the wgmma pipeline uses it.
  bool hasBulkCopy() const { return capability == 90 && archSpecific; }

  /// `cp.async`, and mbarriers.
  bool hasAsyncCopy() const { return capability >= 80; }

  /// `mma.sync` of operands of `element`: of all that kernels multiply from 8.0
  /// on, before that of f16 and of bytes.
  bool hasMma(mlir::Type element) const {
    return capability >= 80 || element.isF16() || element.isInteger(8);
  }

  bool hasStmatrix() const { return capability >= 90; }

  /// Shared memory that one block may use, in bytes (CUDA programming guide,
  /// "Technical Specifications per Compute Capability"); no limit on the CPU.
  int64_t getSharedMemoryLimit() const;

private:
  std::string chip;
  int capability = 0;
  bool archSpecific = false;
};

} // namespace tl

#endif // TL_DIALECT_TL_IR_TARGET_H
