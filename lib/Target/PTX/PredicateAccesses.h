//===- PredicateAccesses.h - Masked accesses as instructions ----*- C++ -*-===//

#ifndef TL_LIB_TARGET_PTX_PREDICATEACCESSES_H
#define TL_LIB_TARGET_PTX_PREDICATEACCESSES_H

namespace llvm {
class Module;
} // namespace llvm

namespace tl {

/// True if `module` has a masked load or store.
bool hasMaskedAccesses(llvm::Module &module);

/// Makes predicated instructions of masked loads and stores whose lanes are all
/// on or all off.
void predicateAccesses(llvm::Module &module);

} // namespace tl

#endif // TL_LIB_TARGET_PTX_PREDICATEACCESSES_H
