//===- Intrinsics.cpp - Instructions that have no op ----------------------===//

#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

Value tl::callIntrinsic(OpBuilder &builder, Location loc, StringRef name,
                        ValueRange operands, Type element) {
  Type type = operands.front().getType();
  if (!element)
    element = getElementTypeOrSelf(type);
  auto call = [&](ValueRange of) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, loc, element,
                                         builder.getStringAttr(name), of)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return call(operands);
  SmallVector<ValueRange> elements;
  for (Value operand : operands)
    elements.push_back(
        vector::ToElementsOp::create(builder, loc, operand).getResults());
  SmallVector<Value> results;
  for (int64_t i = 0, e = vector.getNumElements(); i < e; ++i)
    results.push_back(call(llvm::map_to_vector(
        elements, [&](ValueRange of) -> Value { return of[i]; })));
  return vector::FromElementsOp::create(builder, loc, vector.clone(element),
                                        results);
}
