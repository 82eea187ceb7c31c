//===- LowerConversions.cpp - Floats to integers that saturate ------------===//
//
// `arith.fptosi` and `arith.fptoui` saturate, and so does the instruction:
// `cvt.rzi` clamps to the ends of the integer's range, and makes 0 of a NaN
// where both types have 32 bits (PTX ISA, "cvt"). LLVM's own `fptosi` is
// undefined there, and its optimiser relies on that; LLVM's saturating one
// becomes seven instructions. So the instruction is called by its intrinsic.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tl;

/// The intrinsic that converts to the integer `to`; empty if there is none.
static std::string getIntrinsic(Type from, Type to, bool isSigned) {
  unsigned width = to.getIntOrFloatBitWidth();
  if ((!from.isF32() && !from.isF64()) || (width != 32 && width != 64))
    return "";
  return (Twine("llvm.nvvm.") + (from.isF32() ? "f" : "d") + "2" +
          (isSigned ? "" : "u") + (width == 32 ? "i" : "ll") + ".rz")
      .str();
}

namespace {
template <typename OpTy>
struct ConversionToInstruction : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type to = getElementTypeOrSelf(op.getType());
    std::string name = getIntrinsic(getElementTypeOrSelf(op.getIn().getType()),
                                    to, std::is_same_v<OpTy, arith::FPToSIOp>);
    if (name.empty())
      return rewriter.notifyMatchFailure(op, "no such instruction");
    auto convert = [&](Value value) -> Value {
      return LLVM::CallIntrinsicOp::create(rewriter, loc, to,
                                           rewriter.getStringAttr(name), value)
          .getResult(0);
    };
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type) {
      rewriter.replaceOp(op, convert(op.getIn()));
      return success();
    }
    auto elements = vector::ToElementsOp::create(rewriter, loc, op.getIn());
    SmallVector<Value> results =
        llvm::map_to_vector(elements.getResults(), convert);
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, results);
    return success();
  }
};
} // namespace

void tl::populateConversionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConversionToInstruction<arith::FPToSIOp>,
               ConversionToInstruction<arith::FPToUIOp>>(patterns.getContext());
}
