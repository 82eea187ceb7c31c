//===- Elementwise.h - The same for each word of some values ----*- C++ -*-===//
//
// What `arith` and `math` have in common: a function of words, applied to all
// elements of all lanes. Inactive lanes are computed too, which is harmless,
// because nothing looks at them and no function here can trap; the loops have
// no branches, so that the host's compiler makes vector instructions of them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_ELEMENTWISE_H
#define TL_LIB_SIMULATOR_ELEMENTWISE_H

#include "Decoder.h"
#include "Warp.h"

namespace tl::sim {

/// The words of a value.
template <typename Word>
Word *getWords(Warp &warp, Register at) {
  return reinterpret_cast<Word *>(warp.words(at));
}

/// `result = F(a)`, from words of one width to words of one width.
template <typename To, typename From, auto F>
Step applyUnary(Warp &warp, const Instruction &i) {
  auto *a = getWords<const From>(warp, i.a);
  auto *result = getWords<To>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = F(a[n]);
  return Step::Next;
}

template <typename To, typename From, auto F>
Step applyBinary(Warp &warp, const Instruction &i) {
  auto *a = getWords<const From>(warp, i.a);
  auto *b = getWords<const From>(warp, i.b);
  auto *result = getWords<To>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = F(a[n], b[n]);
  return Step::Next;
}

template <typename To, typename From, auto F>
Step applyTernary(Warp &warp, const Instruction &i) {
  auto *a = getWords<const From>(warp, i.a);
  auto *b = getWords<const From>(warp, i.b);
  auto *c = getWords<const From>(warp, i.c);
  auto *result = getWords<To>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = F(a[n], b[n], c[n]);
  return Step::Next;
}

/// Appends an instruction from the operands of `op` to its result.
inline Instruction &emitElementwise(Decoder &decoder, mlir::Operation *op,
                                    Execute execute) {
  Register result = decoder.define(op->getResult(0));
  Instruction &instruction = decoder.emit(execute);
  instruction.result = result;
  Register *operands[] = {&instruction.a, &instruction.b, &instruction.c};
  for (auto [at, value] : llvm::zip(operands, op->getOperands()))
    *at = decoder.get(value);
  Shape shape = Shape::get(op->getResult(0));
  instruction.count = shape.elements;
  instruction.bits = shape.bits;
  return instruction;
}

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_ELEMENTWISE_H
