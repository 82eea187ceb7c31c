//===- Intrinsics.cpp - Instructions that have no op ----------------------===//

#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

Value tl::callIntrinsic(OpBuilder &builder, Location loc, StringRef name,
                        Value value, Type element) {
  if (!element)
    element = getElementTypeOrSelf(value.getType());
  auto call = [&](Value operand) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, loc, element,
                                         builder.getStringAttr(name), operand)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return call(value);
  auto elements = vector::ToElementsOp::create(builder, loc, value);
  SmallVector<Value> results = llvm::map_to_vector(elements.getResults(), call);
  return vector::FromElementsOp::create(builder, loc, vector.clone(element),
                                        results);
}
