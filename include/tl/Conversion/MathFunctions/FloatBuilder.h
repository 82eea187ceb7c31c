//===- FloatBuilder.h - Write formulas as ops -------------------*- C++ -*-===//

#ifndef TL_CONVERSION_MATHFUNCTIONS_FLOATBUILDER_H
#define TL_CONVERSION_MATHFUNCTIONS_FLOATBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tl {

/// Builds the ops of a formula over f16, f32 or f64, or over a vector of one.
/// Called with a number, it is that constant; integers are as wide as the
/// floats.
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

  /// The integer constant of these bits.
  Value bits(uint64_t value) const {
    return integer(static_cast<int64_t>(value));
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
  /// Product of floats or of integers.
  Value mul(Value a, Value b) const {
    if (mlir::isa<mlir::IntegerType>(mlir::getElementTypeOrSelf(a.getType())))
      return mlir::arith::MulIOp::create(builder, loc, a, b);
    return mlir::arith::MulFOp::create(builder, loc, a, b);
  }
  /// Product of floats, also to a sum as rounded: no generator joins the two.
  Value product(Value a, Value b) const { return fma(a, b, (*this)(0)); }
  /// The lower and the upper half of a product of unsigned integers.
  std::pair<Value, Value> mulWide(Value a, Value b) const {
    auto product = mlir::arith::MulUIExtendedOp::create(builder, loc, a, b);
    return {product.getLow(), product.getHigh()};
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
  Value floor(Value a) const {
    return mlir::math::FloorOp::create(builder, loc, a);
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
  Value equal(Value a, Value b) const {
    return compare(mlir::arith::CmpFPredicate::OEQ, a, b);
  }
  Value isNaN(Value a) const {
    return compare(mlir::arith::CmpFPredicate::UNO, a, a);
  }
  Value both(Value a, Value b) const {
    return mlir::arith::AndIOp::create(builder, loc, a, b);
  }
  /// Of masks, whether they differ; of integers, the bits that do.
  Value differ(Value a, Value b) const {
    return mlir::arith::XOrIOp::create(builder, loc, a, b);
  }
  /// Whether all elements of a mask are set.
  Value all(Value mask) const;
  Value either(Value a, Value b) const {
    return mlir::arith::OrIOp::create(builder, loc, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }

  /// Whether one of two floats is negative.
  Value signsDiffer(Value a, Value b) const {
    Value bits = differ(floatToBits(a), floatToBits(b));
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::slt, bits, integer(0));
  }
  /// The integer `a`, without sign, if it is not above `greatest`.
  Value minInteger(Value a, int64_t greatest) const {
    return mlir::arith::MinUIOp::create(builder, loc, a, integer(greatest));
  }
  /// Whether the integer `a` has these bits.
  Value equalBits(Value a, int64_t bits) const {
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::eq, a, integer(bits));
  }
  /// The integer `a`, not below `least` and not above `greatest`.
  Value clampInteger(Value a, int64_t least, int64_t greatest) const {
    a = mlir::arith::MaxSIOp::create(builder, loc, a, integer(least));
    return mlir::arith::MinSIOp::create(builder, loc, a, integer(greatest));
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
  /// The bits of the integer `a` that are set in `bits`.
  Value mask(Value a, uint64_t bits) const {
    return mlir::arith::AndIOp::create(builder, loc, a, integer(bits));
  }
  /// Shifts by less than the width, of an integer without sign.
  Value shiftLeft(Value a, Value bits) const {
    return mlir::arith::ShLIOp::create(builder, loc, a, bits);
  }
  Value shiftDown(Value a, Value bits) const {
    return mlir::arith::ShRUIOp::create(builder, loc, a, bits);
  }
  Value shiftDown(Value a, int32_t bits) const {
    return shiftDown(a, integer(bits));
  }
  /// Whether the integer `a` is below `b`, both without sign.
  Value isBelow(Value a, Value b) const {
    return mlir::arith::CmpIOp::create(builder, loc,
                                       mlir::arith::CmpIPredicate::ult, a, b);
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
