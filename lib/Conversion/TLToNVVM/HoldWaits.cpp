//===- HoldWaits.cpp - Keep waits behind what runs beside products --------===//
//
// Between a wait that leaves products under way and the one that completes them
// stands what is to be computed beside them. The second wait does not depend on
// it, and `ptxas` moves it up to the first: then nothing runs beside the
// products. It moves no wait over a branch, though, so that one goes in front
// of the wait, which depends on what has been computed:
//
//     wait 1; x = …; wait 0  =>  wait 1; x = …; if (x is one number) sleep;
//     wait 0
//
// Sound because a thread that sleeps computes nothing, and all of its warp come
// to the wait together whether it does or not.
//
// It is enough to look at the few numbers that are used behind the wait as they
// are, and not as vectors of many: what a reduction leaves depends on all that
// is reduced.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

/// Registers that a branch looks at, and those of one value, at most.
static constexpr int64_t kMostRegisters = 8, kMostOfOne = 4;

/// 32-bit registers of a value, or 0 if it is not made of a few of them.
static int64_t countRegisters(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = vector ? vector.getElementType() : type;
  int64_t count = vector ? vector.getNumElements() : 1;
  bool isWord = element.isF32() || element.isInteger(32);
  return isWord && count <= kMostOfOne ? count : 0;
}

/// The wait before `wait` that leaves products under way for it; null if there
/// is none in its block.
static WgmmaWaitOp findStart(WgmmaWaitOp wait) {
  for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<WgmmaOp>(op))
      return {};
    if (auto start = dyn_cast<WgmmaWaitOp>(op))
      return start.getPending() > wait.getPending() ? start : WgmmaWaitOp();
  }
  return {};
}

static bool isUsedBehind(Value value, Operation *wait) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *place = wait->getBlock()->findAncestorOpInBlock(*user);
    return !place || wait->isBeforeInBlock(place);
  });
}

/// What was computed between `start` and `wait` and is used behind it, the last
/// values first.
static SmallVector<Value> findResults(WgmmaWaitOp start, WgmmaWaitOp wait) {
  SmallVector<Value> results;
  int64_t total = 0;
  for (Operation *op = wait->getPrevNode(); op != start; op = op->getPrevNode())
    for (Value result : op->getResults()) {
      int64_t count = countRegisters(result.getType());
      if (count == 0 || total + count > kMostRegisters ||
          !isUsedBehind(result, wait) || isa<arith::ConstantOp>(op))
        continue;
      results.push_back(result);
      total += count;
    }
  return results;
}

/// One number that depends on all of `values`.
static Value mix(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  Value mixed;
  for (Value value : values) {
    auto type = dyn_cast<VectorType>(value.getType());
    for (int64_t i = 0, e = type ? type.getNumElements() : 1; i < e; ++i) {
      Value word = value;
      if (type)
        word = vector::ExtractOp::create(builder, loc, value, i);
      if (!word.getType().isInteger())
        word =
            arith::BitcastOp::create(builder, loc, builder.getI32Type(), word);
      mixed = mixed ? arith::XOrIOp::create(builder, loc, mixed, word) : word;
    }
  }
  return mixed;
}

static void hold(WgmmaWaitOp wait) {
  WgmmaWaitOp start = findStart(wait);
  if (!start)
    return;
  SmallVector<Value> results = findResults(start, wait);
  if (results.empty())
    return;
  OpBuilder builder(wait);
  Location loc = wait.getLoc();
  Value mixed = mix(builder, loc, results);
  LLVM::InlineAsmOp::create(
      builder, loc, /*res=*/Type(), mixed,
      "{\n.reg .pred HIT;\nsetp.eq.u32 HIT, $0, 0x7FB5C3A1;\n"
      "@!HIT bra GO;\nnanosleep.u32 1;\nGO:\n}",
      "r", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(wait.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

void tl::holdWaits(Operation *root) {
  SmallVector<WgmmaWaitOp> waits;
  root->walk([&](WgmmaWaitOp wait) { waits.push_back(wait); });
  llvm::for_each(waits, hold);
}
