//===- DotProducts.h - Four products of bytes at once -----------*- C++ -*-===//
#ifndef TL_LIB_TARGET_PTX_DOTPRODUCTS_H
#define TL_LIB_TARGET_PTX_DOTPRODUCTS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tl {

/// Has sums of products of neighbouring bytes done four at a time
/// (`dp4a`).
void joinDotProducts(llvm::Module &module);

} // namespace tl

#endif // TL_LIB_TARGET_PTX_DOTPRODUCTS_H
