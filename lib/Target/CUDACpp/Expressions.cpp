//===- Expressions.cpp - Values as C++ expressions ------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

Expression KernelPrinter::get(Value value, StringRef element) {
  bool isVector = isa<VectorType>(value.getType());
  value = lookThroughAliases(value);
  if (!isVector)
    element = "";
  auto it = variables.find(value);
  if (it != variables.end()) {
    Expression result;
    result.text = it->second;
    if (!element.empty())
      result.text += ("[" + element + "]").str();
    if (result.text.front() == '&')
      result.binding = Binding::Unary;
    return result;
  }
  auto result = dyn_cast<OpResult>(value);
  assert(result && "arguments are variables");
  return print(result.getOwner(), result.getResultNumber(), element);
}

void KernelPrinter::addUnlessDefault(SmallVectorImpl<Expression> &arguments,
                                     Value value, int64_t byDefault) {
  APInt bits;
  if (!matchPattern(lookThroughAliases(value), m_ConstantInt(&bits)) ||
      bits.getSExtValue() != byDefault)
    arguments.push_back(getSigned(value));
}

/// A constant, or one element of it.
static Expression printConstant(arith::ConstantOp constant, StringRef element) {
  auto vector = dyn_cast<VectorType>(constant.getType());
  if (!vector)
    return getLiteral(constant.getValue(), constant.getType());
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  Type type = vector.getElementType();
  if (auto splat = dyn_cast<SplatElementsAttr>(elements)) {
    Expression one = getLiteral(splat.getSplatValue<Attribute>(), type);
    if (!element.empty())
      return one;
    if (isa<FloatType>(type) || type.isInteger(1))
      return call("tl::splat<" + Twine(vector.getNumElements()) + ">", one);
    // The literal may be of a wider type than the elements.
    return call("tl::splat<" + Twine(vector.getNumElements()) + ", " +
                    getScalarType(type) + ">",
                one);
  }
  Expression list;
  list.text = "{";
  llvm::ListSeparator separator;
  for (Attribute value : elements.getValues<Attribute>()) {
    list.text += StringRef(separator).str();
    list.text += getLiteral(value, type).text;
  }
  list.text += "}";
  return list;
}

Expression KernelPrinter::print(Operation *op, unsigned result,
                                StringRef element) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return printConstant(constant, element);
  if (std::optional<Expression> text = printArith(op, result, element))
    return *text;
  if (std::optional<Expression> text = printMath(op, element))
    return *text;
  if (std::optional<Expression> text = printVector(op, result, element))
    return *text;
  if (std::optional<Expression> text = printMemory(op))
    return *text;
  if (std::optional<Expression> text = printThread(op))
    return *text;
  if (std::optional<Expression> text = printMatrix(op))
    return *text;
  if (auto call = dyn_cast<CallSourceOp>(op))
    return printSourceCall(call, element);
  fail(op) << "has no form in CUDA C++";
  return {};
}
