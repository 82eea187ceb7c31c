//===- Expression.cpp - Evaluate a launch plan's integers -----------------===//
//
// A stack machine for the postfix code of an Expression.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/LaunchPlan.h"
#include "tl/Runtime/RuntimeError.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llvm;
using namespace tl::runtime;

using Opcode = Instruction::Opcode;

/// Stores `lhs opcode rhs` in `result`. Returns what went wrong, or null. The
/// divisions round as in MLIR's affine maps: `mod` is never negative for a
/// positive divisor.
static const char *apply(Opcode opcode, int64_t lhs, int64_t rhs,
                         int64_t &result) {
  constexpr const char *overflow = "64-bit overflow";
  switch (opcode) {
  case Opcode::Add:
    return AddOverflow(lhs, rhs, result) ? overflow : nullptr;
  case Opcode::Sub:
    return SubOverflow(lhs, rhs, result) ? overflow : nullptr;
  case Opcode::Mul:
    return MulOverflow(lhs, rhs, result) ? overflow : nullptr;
  case Opcode::Min:
    result = std::min(lhs, rhs);
    return nullptr;
  case Opcode::Max:
    result = std::max(lhs, rhs);
    return nullptr;
  case Opcode::FloorDiv:
  case Opcode::CeilDiv:
  case Opcode::Mod:
    break;
  case Opcode::Constant:
  case Opcode::Slot:
    llvm_unreachable("not an operator");
  }

  if (rhs == 0)
    return "division by zero";
  if (lhs == INT64_MIN && rhs == -1)
    return overflow;
  int64_t floor = divideFloorSigned(lhs, rhs);
  if (opcode == Opcode::FloorDiv)
    result = floor;
  else if (opcode == Opcode::CeilDiv)
    result = divideCeilSigned(lhs, rhs);
  else
    result = lhs - floor * rhs;
  return nullptr;
}

Expected<int64_t> Expression::run(ArrayRef<int64_t> slots) const {
  // An operator holds one value while its next operand is computed.
  int64_t stack[maxDepth + 2];
  unsigned top = 0;
  for (const Instruction &instruction : code) {
    switch (instruction.opcode) {
    case Opcode::Constant:
      stack[top++] = instruction.operand;
      break;
    case Opcode::Slot:
      stack[top++] = slots[instruction.operand];
      break;
    default:
      --top;
      if (const char *problem = apply(instruction.opcode, stack[top - 1],
                                      stack[top], stack[top - 1]))
        return makeError(ErrorCategory::Value,
                         purpose + ": " + problem + " in `" + text + "`");
    }
  }
  return stack[0];
}
