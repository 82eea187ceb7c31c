//===- FoldPlan.cpp - Which ops are parts of expressions ------------------===//
//
// An expression is evaluated where it is used, and so only ops without effects
// move into one: used once, and not moved into a loop. Variables that they read
// do not change meanwhile, because a variable is only overwritten by the last
// user of its value. A load moves if nothing is written on the way.
//
//===----------------------------------------------------------------------===//

#include "FoldPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "tl/Target/Source/ThreadLevel.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

/// Ops in one expression: a line or two of text.
static constexpr unsigned kMaxWeight = 10;

/// Floats are rounded to 16 bits two at a time, by a function over the vector.
static bool isPackedConversion(Operation *op) {
  return isa<arith::TruncFOp>(op) &&
         isa<VectorType>(op->getResult(0).getType());
}

bool tl::cuda::isLaneByLane(Operation *op) {
  if (op->getNumResults() == 0 || !isa<VectorType>(op->getResult(0).getType()))
    return false;
  return OpTrait::hasElementwiseMappableTraits(op) && !isPackedConversion(op);
}

/// Written wherever it is used, however often.
static bool isInline(Operation *op) {
  if (isAlias(op) ||
      isa<SharedBaseOp, vector::ExtractOp, vector::ToElementsOp>(op))
    return true;
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return constant && (!isa<VectorType>(constant.getType()) ||
                      isa<SplatElementsAttr>(constant.getValue()));
}

/// The only use of `value`, behind aliases, or null.
static OpOperand *getOnlyUse(Value value) {
  OpOperand *only = nullptr;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      if (isAlias(use.getOwner())) {
        worklist.push_back(use.getOwner()->getResult(0));
        continue;
      }
      if (only)
        return nullptr;
      only = &use;
    }
  return only;
}

/// True if `inner` runs at most once for each run of `block`.
static bool isUnconditionallyInside(Operation *inner, Block *block) {
  while (inner->getBlock() != block) {
    inner = inner->getParentOp();
    if (!isa_and_nonnull<scf::IfOp>(inner))
      return false;
  }
  return true;
}

/// Users that write the operand's text where it is evaluated more than once.
static bool wantsVariable(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<vector::BroadcastOp, WgmmaOp, WgmmaWaitOp, vector::ShuffleOp,
          vector::ExtractOp, vector::ToElementsOp, arith::AddUIExtendedOp,
          arith::MulSIExtendedOp, arith::MulUIExtendedOp>(user))
    return true;
  if (auto extract = dyn_cast<vector::ExtractStridedSliceOp>(user))
    return true;
  // Bounds and step are read in every iteration.
  if (isa<scf::ForOp>(user))
    return use.getOperandNumber() == 1 || use.getOperandNumber() == 2;
  // A scalar condition of a vector is read for every element.
  return isLaneByLane(user) && !isa<VectorType>(use.get().getType());
}

/// Users that take a vector as one value.
static bool takesWhole(Operation *user) {
  return isa<LLVM::StoreOp, StmatrixOp, MmaOp, MmaF64Op, vector::BitCastOp,
             vector::InsertStridedSliceOp, scf::YieldOp>(user) ||
         isPackedConversion(user);
}

/// True if nothing is written between `load` and `user`, in one block.
static bool isUndisturbed(Operation *load, Operation *user) {
  if (load->getBlock() != user->getBlock())
    return false;
  for (Operation *op = load->getNextNode(); op != user; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<LLVM::LoadOp>(op))
      return false;
  return true;
}

static bool isPlainLoad(LLVM::LoadOp load) {
  return !load.getVolatile_() &&
         load.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

bool FoldPlan::foldsIntoUser(Operation *op) const {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  OpOperand *use = getOnlyUse(op->getResult(0));
  if (!use || wantsVariable(*use))
    return false;
  Operation *user = use->getOwner();
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return isPlainLoad(load) &&
           isa<LLVM::StoreOp, vector::InsertOp, vector::InsertStridedSliceOp,
               scf::YieldOp>(user) &&
           isUndisturbed(op, user);
  if (!isMemoryEffectFree(op) || isa<gpu::ThreadIdOp, gpu::BlockIdOp>(op) ||
      isa<CallSourceOp, MmaOp, MmaF64Op, vector::InsertOp,
          vector::InsertStridedSliceOp, vector::ShuffleOp>(op))
    return false;
  if (!isUnconditionallyInside(user, op->getBlock()))
    return false;
  if (!isa<VectorType>(op->getResult(0).getType()))
    return true;
  if (isa<arith::ConstantOp>(op))
    return false;
  bool isSlice = isa<vector::ExtractStridedSliceOp, vector::BroadcastOp>(op);
  if (isLaneByLane(user))
    return isSlice || isLaneByLane(op);
  return takesWhole(user) && !isLaneByLane(op);
}

unsigned FoldPlan::getWeight(Value value) const {
  auto it = folded.find(value.getDefiningOp());
  return it == folded.end() ? 0 : it->second;
}

void FoldPlan::decide(Operation *op) {
  if (isInline(op)) {
    unsigned weight = 0;
    if (isAlias(op))
      weight = getWeight(op->getOperand(0));
    folded[op] = weight;
    return;
  }
  unsigned weight = 1;
  for (Value operand : op->getOperands())
    weight += getWeight(operand);
  if (weight <= kMaxWeight && foldsIntoUser(op))
    folded[op] = weight;
}

FoldPlan::FoldPlan(Operation *root) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != root)
      decide(op);
  });
}
