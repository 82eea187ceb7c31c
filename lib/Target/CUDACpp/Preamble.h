//===- Preamble.h - Functions that generated kernels call -------*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUDACPP_PREAMBLE_H
#define TL_LIB_TARGET_CUDACPP_PREAMBLE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <string>

namespace tl {
class AtomOp;
class CallSourceOp;
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

  /// The function that is an instruction of `op`; one that does not add
  /// replaces the accumulator, which it does not read.
  std::string getWgmma(WgmmaOp op, bool adds);

  /// The function that is the instruction of `op`, on a generic address.
  std::string getAtom(AtomOp op);

  /// The function that calls that of `call` and returns all that it leaves.
  std::string getSourceCall(CallSourceOp call);

  /// The texts that users wrote, and what calls their functions.
  void printSources(llvm::raw_ostream &os) const;
  void print(llvm::raw_ostream &os) const;

private:
  bool fastMath;
  /// Each once, in the order of the first calls.
  llvm::SetVector<mlir::StringAttr> sources;
  /// Names and texts, by what they call.
  llvm::MapVector<mlir::Attribute, std::pair<std::string, std::string>>
      adapters;
  std::map<std::string, std::string> functions, instructions;
};

} // namespace tl::cuda

#endif // TL_LIB_TARGET_CUDACPP_PREAMBLE_H
