//===- SplitVectors.h - Take long vectors apart -----------------*- C++ -*-===//

#ifndef TL_LIB_TARGET_PTX_SPLITVECTORS_H
#define TL_LIB_TARGET_PTX_SPLITVECTORS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tl {

/// If `module` has a vector that takes LLVM too long, replaces all but short
/// ones by pieces.
void splitLongVectors(llvm::Module &module);

} // namespace tl

#endif // TL_LIB_TARGET_PTX_SPLITVECTORS_H
