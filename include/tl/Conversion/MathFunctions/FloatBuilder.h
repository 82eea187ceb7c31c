//===- FloatBuilder.h - Write formulas as ops -------------------*- C++ -*-===//

#ifndef TL_CONVERSION_MATHFUNCTIONS_FLOATBUILDER_H
#define TL_CONVERSION_MATHFUNCTIONS_FLOATBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tl {

/// Builds the ops of a formula over f32 or f64, or over a vector of one. Called
/// with a number, it is that constant; integers are as wide as the floats.
class FloatBuilder {
public:
  using Value = mlir::Value;

  FloatBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type)
      : builder(builder), loc(loc), type(type) {}

  Value operator()(double value) const {
    return constant(type, builder.getFloatAttr(getElement(), value));
  }
  Value integer(int64_t value) const {
    mlir::Type integer = getIntegerType();
    return constant(integer, builder.getIntegerAttr(
                                 mlir::getElementTypeOrSelf(integer), value));
  }

  /// Sum of floats or of integers.
  Value add(Value a, Value b) const {
    if (mlir::isa<mlir::IntegerType>(mlir::getElementTypeOrSelf(a.getType())))
      return mlir::arith::AddIOp::create(builder, loc, a, b);
    return mlir::arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) const {
    if (mlir::isa<mlir::IntegerType>(mlir::getElementTypeOrSelf(a.getType())))
      return mlir::arith::SubIOp::create(builder, loc, a, b);
    return mlir::arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) const {
    return mlir::arith::MulFOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) const {
    return mlir::arith::DivFOp::create(builder, loc, a, b);
  }
  Value neg(Value a) const {
    return mlir::arith::NegFOp::create(builder, loc, a);
  }
  Value fma(Value a, Value b, Value c) const {
    return mlir::math::FmaOp::create(builder, loc, a, b, c);
  }
  Value sqrt(Value a) const {
    return mlir::math::SqrtOp::create(builder, loc, a);
  }
  Value abs(Value a) const {
    return mlir::math::AbsFOp::create(builder, loc, a);
  }
  Value copySign(Value magnitude, Value sign) const {
    return mlir::math::CopySignOp::create(builder, loc, magnitude, sign);
  }
  Value roundEven(Value a) const {
    return mlir::math::RoundEvenOp::create(builder, loc, a);
  }

  /// The other operand, if one is NaN.
  Value min(Value a, Value b) const {
    return mlir::arith::MinNumFOp::create(builder, loc, a, b);
  }
  Value max(Value a, Value b) const {
    return mlir::arith::MaxNumFOp::create(builder, loc, a, b);
  }

  /// `a` between `-bound` and `bound`; NaN if it is.
  Value clamp(Value a, double bound) const {
    a = mlir::arith::MaximumFOp::create(builder, loc, a, (*this)(-bound));
    return mlir::arith::MinimumFOp::create(builder, loc, a, (*this)(bound));
  }

  /// The polynomial of `x` with `coefficients`, the highest power first.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) const {
    Value result = (*this)(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = fma(result, x, (*this)(coefficient));
    return result;
  }

  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) const {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value greater(Value a, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OGT, a, (*this)(bound));
  }
  Value atLeast(Value a, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OGE, a, (*this)(bound));
  }
  Value less(Value a, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OLT, a, (*this)(bound));
  }
  Value atMost(Value a, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OLE, a, (*this)(bound));
  }
  Value equal(Value a, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OEQ, a, (*this)(bound));
  }
  Value isNaN(Value a) const {
    return compare(mlir::arith::CmpFPredicate::UNO, a, a);
  }
  Value both(Value a, Value b) const {
    return mlir::arith::AndIOp::create(builder, loc, a, b);
  }
  Value either(Value a, Value b) const {
    return mlir::arith::OrIOp::create(builder, loc, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }

  /// True where the integer `a` has a bit of `mask`.
  Value test(Value a, int32_t mask) const {
    Value bits = mlir::arith::AndIOp::create(builder, loc, a, integer(mask));
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::ne, bits, integer(0));
  }
  Value shiftLeft(Value a, int32_t bits) const {
    return mlir::arith::ShLIOp::create(builder, loc, a, integer(bits));
  }
  Value shiftRight(Value a, int32_t bits) const {
    return mlir::arith::ShRSIOp::create(builder, loc, a, integer(bits));
  }
  /// `a` must fit.
  Value toInteger(Value a) const {
    return mlir::arith::FPToSIOp::create(builder, loc, getIntegerType(), a);
  }
  Value toFloat(Value a) const {
    return mlir::arith::SIToFPOp::create(builder, loc, type, a);
  }
  Value bitsToFloat(Value a) const {
    return mlir::arith::BitcastOp::create(builder, loc, type, a);
  }
  Value floatToBits(Value a) const {
    return mlir::arith::BitcastOp::create(builder, loc, getIntegerType(), a);
  }

private:
  mlir::Type getElement() const { return mlir::getElementTypeOrSelf(type); }

  mlir::Type getIntegerType() const {
    mlir::Type element =
        builder.getIntegerType(getElement().getIntOrFloatBitWidth());
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return vector.clone(element);
    return element;
  }

  Value constant(mlir::Type type, mlir::TypedAttr value) const {
    if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type))
      value = mlir::DenseElementsAttr::get(shaped, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(builder, loc, value);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;
};

} // namespace tl

#endif // TL_CONVERSION_MATHFUNCTIONS_FLOATBUILDER_H
