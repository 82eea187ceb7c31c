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

/// a + b for |a| >= |b|, exactly.
Parts addOrdered(const FloatBuilder &f, mlir::Value a, mlir::Value b);

/// a + b and a b, exactly.
Parts addParts(const FloatBuilder &f, mlir::Value a, mlir::Value b);
Parts mulParts(const FloatBuilder &f, mlir::Value a, mlir::Value b);

/// x^y with the exceptions of the C standard; `result` is |x|^y of regular
/// numbers.
mlir::Value selectPower(const FloatBuilder &f, mlir::Value x, mlir::Value y,
                        mlir::Value result);

using Formula = mlir::Value (*)(const Blocks &blocks, mlir::Value x);
using Formula2 = mlir::Value (*)(const Blocks &blocks, mlir::Value x,
                                 mlir::Value y);
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

/// Replaces an op with two operands of one type by a formula, but for one that
/// may be approximate.
template <typename OpTy>
struct ReplaceFunction2 : mlir::OpRewritePattern<OpTy> {
  ReplaceFunction2(mlir::MLIRContext *context, Reciprocal reciprocal,
                   TypePredicate isType, Formula2 formula)
      : mlir::OpRewritePattern<OpTy>(context, /*benefit=*/5),
        reciprocal(reciprocal), isType(isType), formula(formula) {}

  llvm::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const override {
    mlir::Value x = op.getLhs();
    mlir::Type element = mlir::getElementTypeOrSelf(x.getType());
    bool isApproximate = element.isF32() &&
                         mlir::arith::bitEnumContainsAll(
                             op.getFastmath(), mlir::arith::FastMathFlags::afn);
    if (!isType(element) || isApproximate)
      return rewriter.notifyMatchFailure(op, "approximate, or of another type");
    FloatBuilder f(rewriter, op.getLoc(), x.getType());
    Blocks blocks{rewriter, op.getLoc(), f, reciprocal, op.getFastmath()};
    rewriter.replaceOp(op, formula(blocks, x, op.getRhs()));
    return mlir::success();
  }

private:
  Reciprocal reciprocal;
  TypePredicate isType;
  Formula2 formula;
};

template <typename OpTy>
void addFunction2(mlir::RewritePatternSet &patterns, Reciprocal reciprocal,
                  TypePredicate isType, Formula2 formula) {
  patterns.add<ReplaceFunction2<OpTy>>(patterns.getContext(), reciprocal,
                                       isType, formula);
}

} // namespace tl

#endif // TL_LIB_CONVERSION_MATHFUNCTIONS_FORMULAS_H
