//===- PTX.h - PTX from the LLVM dialect ------------------------*- C++ -*-===//

#ifndef TL_TARGET_PTX_PTX_H
#define TL_TARGET_PTX_PTX_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir {
class DialectRegistry;
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace tl {

/// Adds the translations to LLVM IR that `emitPTX` needs.
void registerPTXTranslations(mlir::DialectRegistry &registry);

/// Optimises the `llvm.func`s of `module` for its `tl.target` and returns their
/// PTX. Fails after an error. The context must have `registerPTXTranslations`.
mlir::FailureOr<std::string> emitPTX(mlir::gpu::GPUModuleOp module);

/// The oldest PTX ISA version, times ten, with all that is generated for `chip`
/// (`sm_90a`); 0 if the chip is not known.
unsigned getPTXVersion(llvm::StringRef chip);

} // namespace tl

#endif // TL_TARGET_PTX_PTX_H
