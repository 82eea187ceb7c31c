//===- Formulas.h - What formulas are made of -------------------*- C++ -*-===//

#ifndef TL_LIB_CONVERSION_MATHFUNCTIONS_FORMULAS_H
#define TL_LIB_CONVERSION_MATHFUNCTIONS_FORMULAS_H

#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "tl/Conversion/MathFunctions/MathFunctions.h"

namespace tl {

/// The building blocks of a formula.
struct Blocks {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const FloatBuilder &f;
  Reciprocal oneOver;
  mlir::arith::FastMathFlags flags;

  mlir::Value exp(mlir::Value x) const {
    return mlir::math::ExpOp::create(builder, loc, x, flags);
  }
  mlir::Value reciprocal(mlir::Value x) const {
    return oneOver(builder, loc, f, x);
  }
};

/// A number as a sum, whose second part is at most half a unit in the last
/// place of the first.
struct Parts {
  mlir::Value high, low;
};

/// a + b and a b, exactly.
Parts addParts(const FloatBuilder &f, mlir::Value a, mlir::Value b);
Parts mulParts(const FloatBuilder &f, mlir::Value a, mlir::Value b);

using Formula = mlir::Value (*)(const Blocks &blocks, mlir::Value x);
using TypePredicate = bool (*)(mlir::Type element);

inline bool isSingle(mlir::Type element) { return element.isF32(); }
inline bool isDouble(mlir::Type element) { return element.isF64(); }

/// Replaces an op of one type by a formula.
template <typename OpTy>
struct ReplaceFunction : mlir::OpRewritePattern<OpTy> {
  ReplaceFunction(mlir::MLIRContext *context, Reciprocal reciprocal,
                  TypePredicate isType, Formula formula)
      : mlir::OpRewritePattern<OpTy>(context, /*benefit=*/2),
        reciprocal(reciprocal), isType(isType), formula(formula) {}

  llvm::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const override {
    mlir::Value x = op.getOperand();
    if (!isType(mlir::getElementTypeOrSelf(x.getType())))
      return rewriter.notifyMatchFailure(op, "another type");
    FloatBuilder f(rewriter, op.getLoc(), x.getType());
    Blocks blocks{rewriter, op.getLoc(), f, reciprocal, op.getFastmath()};
    rewriter.replaceOp(op, formula(blocks, x));
    return mlir::success();
  }

private:
  Reciprocal reciprocal;
  TypePredicate isType;
  Formula formula;
};

template <typename OpTy>
void addFunction(mlir::RewritePatternSet &patterns, Reciprocal reciprocal,
                 TypePredicate isType, Formula formula) {
  patterns.add<ReplaceFunction<OpTy>>(patterns.getContext(), reciprocal, isType,
                                      formula);
}

} // namespace tl

#endif // TL_LIB_CONVERSION_MATHFUNCTIONS_FORMULAS_H
