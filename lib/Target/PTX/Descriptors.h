//===- Descriptors.h - Where products find their tiles ----------*- C++ -*-===//

#ifndef TL_LIB_TARGET_PTX_DESCRIPTORS_H
#define TL_LIB_TARGET_PTX_DESCRIPTORS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tl {

/// LLVM moves descriptors out of loops, since a sum is cheap to keep, and its
/// code generator would again. Where these are many, products compute them
/// inside their assembly: the same sums, at the place where they are used.
void keepFewDescriptors(llvm::Module &module);

/// Has threads of kernels with products compute their places in shared memory
/// from another register than the descriptors' are computed from.
void keepDescriptorsUniform(llvm::Module &module);

} // namespace tl

#endif // TL_LIB_TARGET_PTX_DESCRIPTORS_H
