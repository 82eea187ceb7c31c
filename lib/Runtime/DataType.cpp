//===- DataType.cpp - Element types of a launch plan ----------------------===//
//
// One table gives each type its name and its DLPack encoding; everything else
// is read from there.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/DataType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tl::runtime;

namespace {
struct DataTypeInfo {
  DataType type;
  StringLiteral name;
  DLDataTypeCode code;
  uint8_t bits;
};
} // namespace

/// Indexed by DataType. A type that shares its DLPack encoding with another one
/// (`tf32`, `x8`) comes after it, so that a look-up by encoding finds the plain
/// one.
static constexpr DataTypeInfo dataTypes[] = {
    {DataType::I1, "i1", kDLBool, 8},
    {DataType::I8, "i8", kDLInt, 8},
    {DataType::U8, "u8", kDLUInt, 8},
    {DataType::I16, "i16", kDLInt, 16},
    {DataType::U16, "u16", kDLUInt, 16},
    {DataType::I32, "i32", kDLInt, 32},
    {DataType::U32, "u32", kDLUInt, 32},
    {DataType::I64, "i64", kDLInt, 64},
    {DataType::U64, "u64", kDLUInt, 64},
    {DataType::F16, "f16", kDLFloat, 16},
    {DataType::BF16, "bf16", kDLBfloat, 16},
    {DataType::F32, "f32", kDLFloat, 32},
    {DataType::F64, "f64", kDLFloat, 64},
    {DataType::TF32, "tf32", kDLFloat, 32},
    {DataType::F8E4M3, "f8e4m3", kDLFloat8_e4m3fn, 8},
    {DataType::F8E5M2, "f8e5m2", kDLFloat8_e5m2, 8},
    {DataType::F8E8M0, "f8e8m0", kDLFloat8_e8m0fnu, 8},
    {DataType::F8E4M3FNUZ, "f8e4m3fnuz", kDLFloat8_e4m3fnuz, 8},
    {DataType::F8E5M2FNUZ, "f8e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
    {DataType::X8, "x8", kDLInt, 8},
};

static const DataTypeInfo &getInfo(DataType type) {
  const DataTypeInfo &info = dataTypes[static_cast<size_t>(type)];
  assert(info.type == type && "the table is in the order of the enum");
  return info;
}

std::optional<DataType> tl::runtime::parseDataType(StringRef name) {
  const auto *info = find_if(
      dataTypes, [&](const DataTypeInfo &info) { return info.name == name; });
  if (info == std::end(dataTypes))
    return std::nullopt;
  return info->type;
}

StringRef tl::runtime::getName(DataType type) { return getInfo(type).name; }

unsigned tl::runtime::getByteSize(DataType type) {
  return getInfo(type).bits / 8;
}

bool tl::runtime::isInteger(DataType type) {
  DLDataTypeCode code = getInfo(type).code;
  return code == kDLInt || code == kDLUInt || code == kDLBool;
}

bool tl::runtime::isSignedInteger(DataType type) {
  return getInfo(type).code == kDLInt;
}

DLDataType tl::runtime::toDLPack(DataType type) {
  const DataTypeInfo &info = getInfo(type);
  return {info.code, info.bits, 1};
}

bool tl::runtime::isCompatible(DataType expected, DLDataType actual) {
  const DataTypeInfo &info = getInfo(expected);
  if (expected == DataType::X8 && actual.code == kDLFloat4_e2m1fn)
    return actual.bits * actual.lanes == 8;
  if (actual.bits != info.bits || actual.lanes != 1)
    return false;
  if (expected == DataType::X8)
    return actual.code == kDLInt || actual.code == kDLUInt;
  if (actual.code == info.code)
    return true;
  auto isByte = [](uint8_t code) { return code == kDLBool || code == kDLUInt; };
  return info.bits == 8 && isByte(info.code) && isByte(actual.code);
}

std::string tl::runtime::describe(DLDataType type) {
  std::string lanes = type.lanes == 1 ? "" : formatv("x{0}", type.lanes).str();
  for (const DataTypeInfo &info : dataTypes)
    if (info.code == type.code && info.bits == type.bits)
      return (info.name + lanes).str();
  if (type.code == kDLComplex)
    return formatv("complex{0}{1}", type.bits, lanes);
  return formatv("a type with DLPack code {0} and {1} bits{2}", type.code,
                 type.bits, lanes);
}

static const fltSemantics &getSemantics(DataType type) {
  switch (type) {
  case DataType::F16:
    return APFloat::IEEEhalf();
  case DataType::BF16:
    return APFloat::BFloat();
  case DataType::F32:
  case DataType::TF32:
    return APFloat::IEEEsingle();
  case DataType::F64:
    return APFloat::IEEEdouble();
  case DataType::F8E4M3:
    return APFloat::Float8E4M3FN();
  case DataType::F8E5M2:
    return APFloat::Float8E5M2();
  case DataType::F8E8M0:
    return APFloat::Float8E8M0FNU();
  case DataType::F8E4M3FNUZ:
    return APFloat::Float8E4M3FNUZ();
  case DataType::F8E5M2FNUZ:
    return APFloat::Float8E5M2FNUZ();
  default:
    llvm_unreachable("not a floating-point type");
  }
}

std::optional<uint64_t> tl::runtime::encodeFloat(DataType type, double value) {
  APFloat number(value);
  bool losesInfo;
  APFloat::opStatus status = number.convert(
      getSemantics(type), APFloat::rmNearestTiesToEven, &losesInfo);
  if (status & APFloat::opOverflow)
    return std::nullopt;
  return number.bitcastToAPInt().getZExtValue();
}
