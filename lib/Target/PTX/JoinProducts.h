//===- JoinProducts.h - Both halves of a product at once --------*- C++ -*-===//

#ifndef TL_LIB_TARGET_PTX_JOINPRODUCTS_H
#define TL_LIB_TARGET_PTX_JOINPRODUCTS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tl {

/// Makes one instruction of two that compute the halves of the product of the
/// same words.
void joinProducts(llvm::Module &module);

} // namespace tl

#endif // TL_LIB_TARGET_PTX_JOINPRODUCTS_H
