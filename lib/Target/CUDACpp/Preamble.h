//===- Preamble.h - Functions that generated kernels call -------*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUDACPP_PREAMBLE_H
#define TL_LIB_TARGET_CUDACPP_PREAMBLE_H

#include "mlir/IR/Operation.h"
#include <map>
#include <string>

namespace tl {
class AtomOp;
class WgmmaOp;
} // namespace tl

namespace tl::cuda {

/// Definitions ahead of the kernels, in the order of their names: none calls
/// another.
class Preamble {
public:
  explicit Preamble(bool fastMath) : fastMath(fastMath) {}

  /// The function that computes one element of `op`, a `math` op that is no
  /// instruction: its formula is the one that PTX is generated from. Fails
  /// after an error if there is none.
  llvm::FailureOr<std::string> getMathFunction(mlir::Operation *op);

  /// The function that is the instruction of `op`.
  std::string getWgmma(WgmmaOp op);

  /// The function that is the instruction of `op`, on a generic address.
  std::string getAtom(AtomOp op);

  void print(llvm::raw_ostream &os) const;

private:
  bool fastMath;
  std::map<std::string, std::string> functions, instructions;
};

} // namespace tl::cuda

#endif // TL_LIB_TARGET_CUDACPP_PREAMBLE_H
