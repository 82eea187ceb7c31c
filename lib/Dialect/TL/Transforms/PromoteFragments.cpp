//===- PromoteFragments.cpp - Turn register slots into SSA values ---------===//
//
// Fragments become values, which is what registers hold.
//
// Sound because only slots are promoted that are loaded and stored as wholes,
// in structured control flow (`isPromotable`), so that what is in them is
// known everywhere. Others stay in memory, which is right and slow.
//
//===----------------------------------------------------------------------===//

#include "SlotPromotion.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tl {
#define GEN_PASS_DEF_PROMOTEFRAGMENTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True if `slot` is a `memref.alloca` of one vector that can be promoted.
static bool isSlot(memref::AllocaOp slot) {
  MemRefType type = slot.getType();
  return type.getRank() == 0 && isa<VectorType>(type.getElementType()) &&
         isPromotable(slot);
}

namespace {
struct PromoteFragmentsPass
    : tl::impl::PromoteFragmentsPassBase<PromoteFragmentsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      Block &body = kernel.getBody().front();
      SetVector<Value> slots;
      for (auto slot : body.getOps<memref::AllocaOp>())
        if (isSlot(slot))
          slots.insert(slot);
      promoteSlots(std::move(slots), body);
    }
  }
};
} // namespace
