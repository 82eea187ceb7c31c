//===- ThreadRange.cpp - Which threads execute an op ----------------------===//

#include "tl/Dialect/TL/IR/ThreadRange.h"

#include "tl/Dialect/TL/IR/TL.h"

using namespace mlir;
using namespace tl;

ThreadRange tl::getThreads(Operation *op) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<gpu::GPUFuncOp>();
  return {/*first=*/0, getNumThreads(kernel), /*barrier=*/0};
}
