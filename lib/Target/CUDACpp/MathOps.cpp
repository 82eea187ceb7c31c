//===- MathOps.cpp - Functions as C++ -------------------------------------===//
//
// What is an instruction has a function in the support header, or in CUDA's
// library; everything else is a function in the preamble, made of the formula
// that PTX is made of.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

/// The support header's name of an op that is an instruction.
static StringRef getFunction(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<math::AbsFOp, math::AbsIOp>([](auto) { return "tl::abs"; })
      .Case<math::CeilOp>([](auto) { return "tl::ceil"; })
      .Case<math::CopySignOp>([](auto) { return "tl::copysign"; })
      .Case<math::FloorOp>([](auto) { return "tl::floor"; })
      .Case<math::FmaOp>([](auto) { return "tl::fma"; })
      .Case<math::IsFiniteOp>([](auto) { return "tl::isfinite"; })
      .Case<math::IsNaNOp>([](auto) { return "tl::isnan"; })
      .Case<math::RoundOp>([](auto) { return "tl::round"; })
      .Case<math::RoundEvenOp>([](auto) { return "tl::roundeven"; })
      .Case<math::SqrtOp>([](auto) { return "tl::sqrt"; })
      .Case<math::TruncOp>([](auto) { return "tl::trunc"; })
      .Default([](Operation *) { return StringRef(); });
}

/// CUDA's own name of an op of a `float`, which the support header's function
/// would only call; empty if there is none.
static StringRef getCudaFunction(Operation *op) {
  if (!getElementTypeOrSelf(op->getResultTypes().front()).isF32())
    return {};
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<math::AbsFOp>([](auto) { return "fabsf"; })
      .Case<math::CeilOp>([](auto) { return "ceilf"; })
      .Case<math::CopySignOp>([](auto) { return "copysignf"; })
      .Case<math::FloorOp>([](auto) { return "floorf"; })
      .Case<math::RoundOp>([](auto) { return "roundf"; })
      .Case<math::RoundEvenOp>([](auto) { return "rintf"; })
      .Case<math::SqrtOp>([](auto) { return "sqrtf"; })
      .Case<math::TruncOp>([](auto) { return "truncf"; })
      .Default([](Operation *) { return StringRef(); });
}

/// Counts of bits. The header counts in 32 or 64: what a narrow value has above
/// it is taken off.
static Expression countBits(Operation *op, const Expression &x, Type type) {
  unsigned width = getIntegerWidth(type);
  Expression bits = asUnsigned(x, type);
  if (width < 32)
    bits = cast("unsigned", bits);
  std::string pad = std::to_string(32 - width);
  auto count = [&](StringRef function) {
    Expression result = call(function, bits);
    return width == 64 ? cast("long long", result) : result;
  };
  if (isa<math::CtPopOp>(op))
    return count("tl::popcount");
  if (isa<math::CountLeadingZerosOp>(op)) {
    Expression result = count("tl::countl_zero");
    if (width < 32) {
      result.text += " - " + pad;
      result.binding = Binding::Sum;
    }
    return result;
  }
  // A bit above the value stops the count.
  if (width < 32) {
    bits.text = bits.text + " | " + std::to_string(1u << width);
    bits.binding = Binding::BitOr;
  }
  return count("tl::countr_zero");
}

/// The function of an intrinsic that formulas call.
static StringRef getIntrinsic(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("llvm.nvvm.ex2.approx.f32", "tl::ex2_approx")
      .Case("llvm.nvvm.ex2.approx.ftz.f32", "tl::ex2_approx_ftz")
      .Case("llvm.nvvm.fma.rp.f", "tl::fma_up")
      .Case("llvm.nvvm.lg2.approx.ftz.f", "tl::lg2_approx_ftz")
      .Case("llvm.nvvm.rcp.approx.ftz.d", "tl::rcp_approx_ftz")
      .Case("llvm.nvvm.rcp.approx.ftz.f", "tl::rcp_approx_ftz")
      .Case("llvm.nvvm.rsqrt.approx.f", "tl::rsqrt_approx")
      .Case("llvm.nvvm.rsqrt.approx.ftz.d", "tl::rsqrt_approx_ftz")
      .Case("llvm.nvvm.rsqrt.approx.ftz.f", "tl::rsqrt_approx_ftz")
      .Case("llvm.nvvm.sin.approx.ftz.f", "tl::sin_approx_ftz")
      .Case("llvm.nvvm.cos.approx.ftz.f", "tl::cos_approx_ftz")
      .Default("");
}

std::optional<Expression> KernelPrinter::printMath(Operation *op,
                                                   StringRef element) {
  SmallVector<Expression> operands;
  if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    for (Value operand : op->getOperands())
      operands.push_back(get(operand));
    StringRef function = getIntrinsic(intrinsic.getIntrin());
    if (function.empty())
      return std::nullopt;
    return call(function, operands);
  }
  if (!isa<math::MathDialect>(op->getDialect()))
    return std::nullopt;
  for (Value operand : op->getOperands()) {
    Expression text = get(operand, element);
    if (isa<IntegerType, IndexType>(getElementTypeOrSelf(operand.getType())))
      text = asSigned(text, operand.getType());
    operands.push_back(text);
  }
  Type type = op->getOperand(0).getType();
  if (isa<math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>(
          op))
    return countBits(op, operands.front(), type);
  if (isNativeMath(op) && !isExpandedDivision(op)) {
    StringRef function = getCudaFunction(op);
    Expression result =
        call(function.empty() ? getFunction(op) : function, operands);
    if (isa<math::AbsIOp>(op) && getIntegerWidth(type) < 32)
      return cast(getScalarType(type), result);
    return result;
  }
  return callFormula(op, operands);
}

Expression KernelPrinter::callFormula(Operation *op,
                                      ArrayRef<Expression> operands) {
  FailureOr<std::string> function = preamble.getMathFunction(op);
  if (llvm::failed(function)) {
    failed = true;
    return Expression();
  }
  return call(*function, operands);
}
