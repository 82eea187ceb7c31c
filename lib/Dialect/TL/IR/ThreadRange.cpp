//===- ThreadRange.cpp - Which threads execute an op ----------------------===//

#include "tl/Dialect/TL/IR/ThreadRange.h"

#include "tl/Dialect/TL/IR/Roles.h"

using namespace mlir;
using namespace tl;

ThreadRange tl::getThreads(Operation *op) {
  auto role = dyn_cast<RoleOp>(op);
  if (!role)
    role = op->getParentOfType<RoleOp>();
  if (role)
    return {static_cast<int64_t>(role.getFirst()),
            static_cast<int64_t>(role.getCount()),
            static_cast<int64_t>(role.getBarrier())};
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<gpu::GPUFuncOp>();
  return {/*first=*/0, getNumThreads(kernel), /*barrier=*/0};
}
