//===- AtomInstruction.h - Atomic operations as PTX -------------*- C++ -*-===//
//
// The text of the instructions of a `tl.atom`, which is inline assembly in PTX
// by way of LLVM and in CUDA C++ alike: LLVM's own forms have neither orders
// nor scopes, and C++ has no name for all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTONVVM_ATOMINSTRUCTION_H
#define TL_CONVERSION_TLTONVVM_ATOMINSTRUCTION_H

#include "tl/Dialect/TL/IR/TL.h"
#include <string>

namespace tl {

/// What each operand of an instruction is called in the text.
struct AtomOperands {
  std::string result, address, value, expected;
};

/// The state space that the address of `op` is known to be in, `global` or
/// `shared`. Empty if it is generic: then ptxas has to ask (`QSPC`).
llvm::StringRef getStateSpace(AtomOp op);

/// The registers of 32 bits, or of a word, that a value of `type` is in: those
/// of a vector are named together, `{a, b}`.
int64_t getRegisterCount(mlir::Type type);

/// The instructions of `op`. Without `result` they give nothing, which costs
/// less. The address is one of `getStateSpace`.
std::string printAtom(AtomOp op, const AtomOperands &operands);

/// True if `op` gives a result in registers: somebody asks what was there.
inline bool givesResult(AtomOp op) { return !op.getOld().use_empty(); }

/// The letter of inline assembly for a register of `type`.
char getRegisterLetter(mlir::Type type);

} // namespace tl

#endif // TL_CONVERSION_TLTONVVM_ATOMINSTRUCTION_H
