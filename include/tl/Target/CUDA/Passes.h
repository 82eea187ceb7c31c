//===- Passes.h - PTX from CUDA C++ -----------------------------*- C++ -*-===//

#ifndef TL_TARGET_CUDA_PASSES_H
#define TL_TARGET_CUDA_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tl/Target/CUDA/Compiler.h"
#include "tl/Target/CUDA/FilesRead.h"

namespace tl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Target/CUDA/Passes.h.inc"

/// The pass, noting in `files`, if it is not null, what it looks at.
std::unique_ptr<mlir::Pass> createResolveSourcesPass(FilesRead *files);

} // namespace tl

#endif // TL_TARGET_CUDA_PASSES_H
