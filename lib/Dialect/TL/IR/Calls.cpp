//===- Calls.cpp - Functions that users wrote in CUDA C++ -----------------===//
//
// The verifier of the op of Calls.td, whose constraints the labels (C1) … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Calls.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Calls.cpp.inc"

CallSourceOp tl::findSourceCall(Operation *root) {
  CallSourceOp found;
  root->walk([&](CallSourceOp call) {
    found = call;
    return WalkResult::interrupt();
  });
  return found;
}

/// `type` as values have it: integers without a sign, and no vector.
static Type getElement(Type type) {
  type = getElementTypeOrSelf(type);
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

LogicalResult CallSourceOp::verify() {
  if (getFunction().empty() || getSources().empty()) // C4
    return emitOpError("expects the name of a function, and its source");
  if (getCounts().size() != getParams().size()) // C1
    return emitOpError("expects a count for each of ")
           << getParams().size() << " parameters, got " << getCounts().size();
  SmallVector<Type> types;
  SmallVector<bool> isBehindPointer;
  for (auto [param, count] :
       llvm::zip(getParams().getAsValueRange<TypeAttr>(), getCounts())) {
    if (count < 0) // C1
      return emitOpError("expects counts from 0 on, got ") << count;
    types.append(std::max<int64_t>(count, 1), getElement(param));
    isBehindPointer.append(std::max<int64_t>(count, 1), count != 0);
  }
  if (types.size() != getArgs().size()) // C1
    return emitOpError("expects ")
           << types.size() << " arguments, got " << getArgs().size();
  for (auto [type, argument] : llvm::zip(types, getArgs()))
    if (getElement(argument.getType()) != type) // C1
      return emitOpError("expects an argument of ")
             << type << ", got " << argument.getType();
  int64_t place = getPlace();
  Type given;
  if (place == -1 && getReturned()) // C2
    given = getElement(*getReturned());
  else if (place >= 0 && place < int64_t(types.size()) &&
           isBehindPointer[place])
    given = types[place];
  else
    return emitOpError("gives what the function neither returns nor leaves "
                       "behind a pointer");
  if (getElement(getResult().getType()) != given) // C3
    return emitOpError("gives ") << given << ", not " << getResult().getType();
  return success();
}
