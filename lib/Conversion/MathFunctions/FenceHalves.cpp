//===- FenceHalves.cpp - Keep halves that are infinite --------------------===//
//
// LLVM 22 takes `fpext (sitofp x to half) to float` for `sitofp x to float`
// where it knows that `x` has no more significant bits than a half
// (InstCombine, `isKnownExactCastIntToFP`). It does not ask how large `x` is:
// 2^31 and 65536 have one such bit, and are infinite as halves. The conversion
// from an integer may get there by way of variables, selects, and
// `fptrunc (sitofp x to float) to half`, which LLVM shortens. So what is
// extended is fenced, in kernels that have such integers at all.
//
// Sound because `llvm.arithmetic.fence` is the identity, and no instruction;
// complete because a half that is extended behind a fence is never seen to be
// an integer, and integers of 16 bits are either finite as halves or, above
// 65504, have more than 11 significant bits. Held by test_conversions.py.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/MathFunctions/MathFunctions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

/// Whether `op` makes floats of integers that may be too large for halves.
static bool convertsLargeIntegers(Operation *op) {
  if (!isa<LLVM::SIToFPOp, LLVM::UIToFPOp>(op))
    return false;
  constexpr unsigned halfWidth = 16;
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  return from.getIntOrFloatBitWidth() > halfWidth;
}

void tl::fenceHalves(Operation *module) {
  bool isNeeded = module
                      ->walk([](Operation *op) {
                        return convertsLargeIntegers(op)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
  if (!isNeeded)
    return;
  module->walk([](LLVM::FPExtOp extension) {
    Value half = extension.getArg();
    if (!getElementTypeOrSelf(half.getType()).isF16())
      return;
    OpBuilder builder(extension);
    auto fence = LLVM::CallIntrinsicOp::create(
        builder, extension.getLoc(), half.getType(),
        builder.getStringAttr("llvm.arithmetic.fence"), half);
    extension.setOperand(fence.getResult(0));
  });
}
