//===- FoldNumbers.cpp - Have numbers be constants ------------------------===//
//
// See FoldNumbers.h.
//
//===----------------------------------------------------------------------===//

#include "FoldNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;

void tl::foldNumbers(gpu::GPUFuncOp kernel) {
  OperationFolder folder(kernel.getContext());
  SmallVector<Operation *> numbers;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<arith::ArithDialect>(op->getDialect()) &&
        !op->hasTrait<OpTrait::ConstantLike>() &&
        op->getResult(0).getType().isIntOrIndex())
      numbers.push_back(op);
  });
  for (Operation *number : numbers)
    (void)folder.tryToFold(number);
}
