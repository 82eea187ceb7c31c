//===- Expression.cpp - C++ expressions and types -------------------------===//

#include "Expression.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

unsigned tl::cuda::getIntegerWidth(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
}

StringRef tl::cuda::getScalarType(Type type, bool isUnsigned) {
  type = getElementTypeOrSelf(type);
  if (isa<Float8E4M3FNType>(type))
    return "tl::float8_e4m3";
  if (isa<Float8E5M2Type>(type))
    return "tl::float8_e5m2";
  if (type.isF16())
    return "tl::half";
  if (type.isBF16())
    return "tl::bfloat16";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  switch (getIntegerWidth(type)) {
  case 1:
    return "bool";
  case 8:
    return isUnsigned ? "unsigned char" : "signed char";
  case 16:
    return isUnsigned ? "unsigned short" : "short";
  case 32:
    return isUnsigned ? "unsigned" : "int";
  default:
    return isUnsigned ? "unsigned long long" : "long long";
  }
}

std::string tl::cuda::getValueType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return llvm::formatv("tl::vec<{0}, {1}>", getScalarType(type),
                         vector.getNumElements());
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    SmallVector<std::string> fields =
        llvm::map_to_vector(structure.getBody(), getValueType);
    return "tl::pair<" + llvm::join(fields, ", ") + ">";
  }
  return getScalarType(type).str();
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

Expression tl::cuda::cast(StringRef type, const Expression &x) {
  Expression result;
  result.text = ("(" + type + ")").str() + x.at(Binding::Unary);
  result.binding = Binding::Unary;
  result.isUnsigned = type.starts_with("unsigned");
  return result;
}

Expression tl::cuda::asSigned(const Expression &x, Type type) {
  if (!x.isUnsigned)
    return x;
  return cast(getScalarType(type), x);
}

Expression tl::cuda::asUnsigned(const Expression &x, Type type) {
  unsigned width = getIntegerWidth(type);
  if (x.isUnsigned || width == 1)
    return x;
  // A literal need not be cast, unless it is negative or narrow.
  if (x.isLiteral && width >= 32 && StringRef(x.text).front() != '-' &&
      StringRef(x.text).front() != '(') {
    Expression result = x;
    StringRef digits = StringRef(x.text).rtrim("l");
    result.text = digits.str() + (width == 64 ? "ull" : "u");
    result.isUnsigned = true;
    return result;
  }
  return cast(getScalarType(type, /*isUnsigned=*/true), x);
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

Expression tl::cuda::getLiteral(const APInt &value, Type type) {
  Expression result;
  result.isLiteral = true;
  unsigned width = getIntegerWidth(type);
  if (width == 1) {
    result.text = value.isZero() ? "false" : "true";
    return result;
  }
  APInt bits = value.sextOrTrunc(width);
  StringRef suffix = width == 64 ? "ll" : "";
  if (width >= 32 && bits.isMinSignedValue()) {
    // C++ has no literal for it: `-` is applied to one that is too large.
    APInt above = bits + 1;
    result.text =
        "(" + llvm::toString(above, 10, true) + suffix.str() + " - 1)";
    return result;
  }
  result.text = llvm::toString(bits, 10, /*Signed=*/true) + suffix.str();
  if (bits.isNegative())
    result.binding = Binding::Unary;
  return result;
}

Expression tl::cuda::getHexLiteral(const APInt &value, Type type) {
  unsigned width = getIntegerWidth(type);
  APInt bits = value.sextOrTrunc(width);
  if (width < 32 || bits.ult(10))
    return getLiteral(value, type);
  Expression result;
  result.text = "0x" + llvm::toString(bits, 16, false, false, false, false) +
                (width == 64 ? "ull" : "u");
  result.isUnsigned = true;
  return result;
}

/// The shortest decimal that reads back as `value`.
static std::string getDecimal(double value, bool isDouble) {
  for (int digits = 1; digits <= 17; ++digits) {
    SmallString<32> text;
    llvm::raw_svector_ostream(text) << llvm::format("%.*g", digits, value);
    double back = strtod(text.c_str(), nullptr);
    if (isDouble ? back == value : float(back) == float(value)) {
      if (text.find_first_of(".e") == StringRef::npos)
        text += ".0";
      return text.str().str();
    }
  }
  llvm_unreachable("17 digits name every double");
}

/// The bits of a float that has no decimal.
static std::string getBits(const APFloat &value, Type type) {
  std::string bits =
      "0x" + llvm::toString(value.bitcastToAPInt(), 16, false, false, false);
  if (type.isF32())
    return "__uint_as_float(" + bits + "u)";
  if (type.isF64())
    return "__longlong_as_double(" + bits + "ll)";
  // Braces would not do: a type with constructors converts what is in them.
  return "tl::bit_cast<" + getScalarType(type).str() + ">((unsigned " +
         (type.getIntOrFloatBitWidth() == 16 ? "short)" : "char)") + bits + ")";
}

static Expression getFloatLiteral(const APFloat &value, Type type) {
  Expression result;
  if (value.isNaN()) {
    result.text = getBits(value, type);
    return result;
  }
  bool isDouble = type.isF64();
  if (value.isInfinity()) {
    result.text = value.isNegative() ? "-" : "";
    result.text += isDouble ? "double(tl::inf)" : "tl::inf";
  } else {
    APFloat wide = value;
    bool exact;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
    result.text = getDecimal(wide.convertToDouble(), isDouble);
    if (!isDouble)
      result.text += "f";
  }
  if (value.isNegative())
    result.binding = Binding::Unary;
  return type.getIntOrFloatBitWidth() < 32 ? call(getScalarType(type), result)
                                           : result;
}

Expression tl::cuda::getLiteral(Attribute value, Type type) {
  type = getElementTypeOrSelf(type);
  if (auto number = dyn_cast<FloatAttr>(value))
    return getFloatLiteral(number.getValue(), type);
  return getLiteral(mlir::cast<IntegerAttr>(value).getValue(), type);
}

Expression tl::cuda::call(const Twine &function,
                          ArrayRef<Expression> arguments) {
  Expression result;
  result.text =
      function.str() + "(" +
      llvm::join(llvm::map_range(arguments,
                                 [](const Expression &x) { return x.text; }),
                 ", ") +
      ")";
  return result;
}
