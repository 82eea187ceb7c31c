//===- Convert.cpp - Conversion between element types ---------------------===//
//
// See Convert.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tl;

/// `element`, in the shape of `shape` if that is a vector.
static Type withElement(Type shape, Type element) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.clone(element);
  return element;
}

Value tl::roundForTF32(OpBuilder &builder, Location loc, Value bits) {
  Type type = bits.getType();
  auto constant = [&](uint32_t number) -> Value {
    TypedAttr value = builder.getI32IntegerAttr(static_cast<int32_t>(number));
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  };
  Value floats = arith::BitcastOp::create(
      builder, loc, withElement(type, builder.getF32Type()), bits);
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      floats, floats);
  Value sum = arith::AddIOp::create(builder, loc, bits, constant(0x1000));
  return arith::SelectOp::create(builder, loc, isNaN, constant(0x7FFFFFFF),
                                 sum);
}

std::optional<double> tl::getGreatestOf8Bits(Type type) {
  type = getElementTypeOrSelf(type);
  if (isa<Float8E4M3FNType>(type))
    return 448;
  if (isa<Float8E5M2Type>(type))
    return 57344;
  return std::nullopt;
}

/// `value`, or the nearest of the numbers up to `greatest`; NaN stays NaN.
static Value limit(OpBuilder &builder, Location loc, Value value,
                   double greatest) {
  Type type = value.getType();
  auto constant = [&](double number) -> Value {
    TypedAttr attribute =
        builder.getFloatAttr(getElementTypeOrSelf(type), number);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  value = arith::MinimumFOp::create(builder, loc, value, constant(greatest));
  return arith::MaximumFOp::create(builder, loc, value, constant(-greatest));
}

/// Where `saturate`, what is too large for 8 bits becomes the greatest number.
static Value convertFloat(OpBuilder &builder, Location loc, Value value,
                          Type to, bool saturate) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == to)
    return value;
  // Two types of one width (f16 and bf16) have no direct conversion.
  if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth()) {
    Value wide =
        convertFloat(builder, loc, value, builder.getF32Type(), saturate);
    return convertFloat(builder, loc, wide, to, saturate);
  }
  Type type = withElement(value.getType(), to);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (std::optional<double> greatest = getGreatestOf8Bits(to);
      greatest && saturate)
    value = limit(builder, loc, value, *greatest);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value tl::convertHeldElement(OpBuilder &builder, Location loc, Value value,
                             Type to) {
  return convertFloat(builder, loc, value, to, /*saturate=*/false);
}

/// A float of 8 bits is computed with in f32.
static bool isSmall(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() == 8;
}

/// A mask of what is not zero.
static Value convertToBool(OpBuilder &builder, Location loc, Value value) {
  if (isSmall(value.getType()))
    value = convertElement(builder, loc, value, builder.getF32Type());
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, value,
                                 zero);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

/// A signed integer of type `to`: towards zero, and as near as the type allows.
static Value convertToInteger(OpBuilder &builder, Location loc, Value value,
                              FloatType from, IntegerType to) {
  auto constant = [&](Type type, int64_t number) -> Value {
    TypedAttr attribute =
        builder.getIntegerAttr(getElementTypeOrSelf(type), number);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  if (from.getWidth() < 32)
    value = convertElement(builder, loc, value, builder.getF32Type());
  unsigned width = std::max(to.getWidth(), 32u);
  Type wide = withElement(value.getType(), builder.getIntegerType(width));
  Value result = arith::FPToSIOp::create(builder, loc, wide, value);
  if (from.getWidth() > 32 || width > 32) {
    Value isNumber = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::ORD, value, value);
    result = arith::SelectOp::create(builder, loc, isNumber, result,
                                     constant(wide, 0));
  }
  if (to.getWidth() == width)
    return result;
  int64_t greatest = llvm::maxIntN(to.getWidth());
  result =
      arith::MinSIOp::create(builder, loc, result, constant(wide, greatest));
  result = arith::MaxSIOp::create(builder, loc, result,
                                  constant(wide, -greatest - 1));
  return arith::TruncIOp::create(builder, loc, withElement(value.getType(), to),
                                 result);
}

static Value convertInteger(OpBuilder &builder, Location loc, Value value,
                            IntegerType from, IntegerType to) {
  Type type = withElement(value.getType(), to);
  if (from.getWidth() > to.getWidth())
    return arith::TruncIOp::create(builder, loc, type, value);
  if (from.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}

Value tl::convertElement(OpBuilder &builder, Location loc, Value value,
                         Type to) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == to)
    return value;
  Type type = withElement(value.getType(), to);

  // `arith` converts between `index` and floats, or `i1`, only by way of an
  // integer, and its folds take an index that is cast to fewer bits and back
  // for itself.
  Type i64 = builder.getI64Type();
  bool isNarrow = to.isInteger() && to.getIntOrFloatBitWidth() < 32;
  if (from.isIndex() && (isa<FloatType>(to) || isNarrow))
    return convertElement(builder, loc,
                          convertElement(builder, loc, value, i64), to);
  if (to.isIndex() && isa<FloatType>(from))
    return convertElement(builder, loc,
                          convertElement(builder, loc, value, i64), to);
  if (to.isIndex() && from.isInteger(1))
    return arith::IndexCastUIOp::create(builder, loc, type, value);
  if (from.isIndex() || to.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);

  auto fromFloat = dyn_cast<FloatType>(from);
  auto toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return convertFloat(builder, loc, value, to, /*saturate=*/true);
  if (to.isInteger(1))
    return convertToBool(builder, loc, value);
  if (fromFloat)
    return convertToInteger(builder, loc, value, fromFloat,
                            cast<IntegerType>(to));
  if (toFloat && isSmall(to))
    return convertElement(
        builder, loc, convertElement(builder, loc, value, builder.getF32Type()),
        to);
  if (toFloat && from.isInteger(1))
    return arith::UIToFPOp::create(builder, loc, type, value);
  if (toFloat)
    return arith::SIToFPOp::create(builder, loc, type, value);
  return convertInteger(builder, loc, value, cast<IntegerType>(from),
                        cast<IntegerType>(to));
}

Type tl::getReductionType(Type type) {
  auto element = dyn_cast<FloatType>(type);
  bool isNarrow = element && element.getWidth() < 32;
  return isNarrow ? Type(Float32Type::get(type.getContext())) : type;
}
