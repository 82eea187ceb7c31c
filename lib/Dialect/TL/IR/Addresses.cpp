//===- Addresses.cpp - Tensors at addresses -------------------------------===//
//
// Verifiers of the ops of Addresses.td, whose constraints the labels (C1) …
// name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Addresses.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Addresses.cpp.inc"

LogicalResult TensorAtOp::verify() {
  MemRefType type = getTensor().getType();
  if (getSpace(type) != Space::Global) // C1
    return emitOpError("makes a tensor in device memory, not `") << type << "`";
  int64_t extents = type.getNumDynamicDims();
  if (static_cast<int64_t>(getExtents().size()) != extents) // C2
    return emitOpError("expects ") << extents << " extents for `" << type
                                   << "`, got " << getExtents().size();
  SmallVector<int64_t> steps;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(steps, offset)) || offset != 0) // C3
    return emitOpError("expects a layout of strides alone, got `")
           << type << "`";
  int64_t strides = type.getLayout().isIdentity()
                        ? 0
                        : llvm::count_if(steps, ShapedType::isDynamic);
  if (static_cast<int64_t>(getStrides().size()) != strides) // C3
    return emitOpError("expects ") << strides << " strides for `" << type
                                   << "`, got " << getStrides().size();
  int64_t least = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  auto alignment = static_cast<int64_t>(getAlignment());
  if (alignment < least || !llvm::isPowerOf2_64(alignment)) // C4
    return emitOpError("expects an alignment that is a power of two and ")
           << least << " at least, got " << alignment;
  return success();
}

bool tl::hasTensorsAtAddresses(Operation *kernel) {
  return kernel->walk([](TensorAtOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool tl::isAtAddress(Value view) {
  return getBuffer(view).getDefiningOp<TensorAtOp>() != nullptr;
}

bool tl::mayBeSame(Value a, Value b) {
  if (a == b)
    return true;
  return isInSpace(a, Space::Global) && isInSpace(b, Space::Global) &&
         (isAtAddress(a) || isAtAddress(b));
}
