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

/// What log(1 + fraction) begins with: 2 s + term, where s = fraction / (2 +
/// fraction) and the term is 2/3 s^3, all in two parts. What else the series
/// has is made of s^2 and s^3, and needs one.
struct LogStart {
  Parts s, term;
  mlir::Value square, cube;
};

/// The product of two numbers, rounded by itself.
using Multiply = mlir::Value (FloatBuilder::*)(mlir::Value, mlir::Value) const;

LogStart startLog(const Blocks &blocks, mlir::Value fraction, Multiply multiply,
                  double third, double thirdLow);

/// x^y with the exceptions of the C standard; `result` is |x|^y of regular
/// numbers.
mlir::Value selectPower(const FloatBuilder &f, mlir::Value x, mlir::Value y,
                        mlir::Value result);

template <typename OpTy>
inline constexpr bool hasOneOperand =
    OpTy::template hasTrait<mlir::OpTrait::OneOperand>();
/// Makes the result of an op from its operand, or from its two.
template <typename OpTy>
using Formula = std::conditional_t<
    hasOneOperand<OpTy>, mlir::Value (*)(const Blocks &, mlir::Value),
    mlir::Value (*)(const Blocks &, mlir::Value, mlir::Value)>;

/// Which ops of a kind a formula is for.
using Predicate = bool (*)(mlir::Type element,
                           mlir::arith::FastMathFlags flags);

inline bool isSingle(mlir::Type element, mlir::arith::FastMathFlags) {
  return element.isF32();
}
inline bool isDouble(mlir::Type element, mlir::arith::FastMathFlags) {
  return element.isF64();
}
inline bool isPreciseSingle(mlir::Type element,
                            mlir::arith::FastMathFlags flags) {
  return element.isF32() && !mlir::arith::bitEnumContainsAll(
                                flags, mlir::arith::FastMathFlags::afn);
}

/// Replaces an op of one type by a formula.
template <typename OpTy>
struct ReplaceFunction : mlir::OpRewritePattern<OpTy> {
  ReplaceFunction(mlir::MLIRContext *context, Reciprocal reciprocal,
                  Predicate isWanted, Formula<OpTy> formula)
      : mlir::OpRewritePattern<OpTy>(context,
                                     /*benefit=*/hasOneOperand<OpTy> ? 2 : 5),
        reciprocal(reciprocal), isWanted(isWanted), formula(formula) {}

  llvm::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const override {
    mlir::Type type = op.getType();
    if (!isWanted(mlir::getElementTypeOrSelf(type), op.getFastmath()))
      return rewriter.notifyMatchFailure(op, "approximate, or of another type");
    FloatBuilder f(rewriter, op.getLoc(), type);
    Blocks blocks{rewriter, op.getLoc(), f, reciprocal, op.getFastmath()};
    if constexpr (hasOneOperand<OpTy>)
      rewriter.replaceOp(op, formula(blocks, op.getOperand()));
    else
      rewriter.replaceOp(op, formula(blocks, op.getLhs(), op.getRhs()));
    return mlir::success();
  }

private:
  Reciprocal reciprocal;
  Predicate isWanted;
  Formula<OpTy> formula;
};

template <typename OpTy>
void addFunction(mlir::RewritePatternSet &patterns, Reciprocal reciprocal,
                 Predicate isWanted, Formula<OpTy> formula) {
  patterns.add<ReplaceFunction<OpTy>>(patterns.getContext(), reciprocal,
                                      isWanted, formula);
}

} // namespace tl

#endif // TL_LIB_CONVERSION_MATHFUNCTIONS_FORMULAS_H
