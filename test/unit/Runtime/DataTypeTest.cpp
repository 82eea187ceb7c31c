//===- DataTypeTest.cpp - Element types of a launch plan ------------------===//

#include "tl/Runtime/DataType.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace tl::runtime;

namespace {

TEST(DataTypeTest, EveryNameParsesToItself) {
  for (const char *name :
       {"i1",     "i8",     "u8",     "i16",        "u16",        "i32", "u32",
        "i64",    "u64",    "f16",    "bf16",       "f32",        "f64", "tf32",
        "f8e4m3", "f8e5m2", "f8e8m0", "f8e4m3fnuz", "f8e5m2fnuz", "x8"}) {
    std::optional<DataType> type = parseDataType(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(getName(*type), name);
  }
  EXPECT_FALSE(parseDataType("float16"));
  EXPECT_FALSE(parseDataType(""));
}

TEST(DataTypeTest, BytesAreOfStorage) {
  EXPECT_EQ(getByteSize(DataType::I1), 1u);
  EXPECT_EQ(getByteSize(DataType::BF16), 2u);
  EXPECT_EQ(getByteSize(DataType::TF32), 4u);
  EXPECT_EQ(getByteSize(DataType::U64), 8u);
}

TEST(DataTypeTest, OnlyBooleansAndBytesStandForEachOther) {
  EXPECT_TRUE(isCompatible(DataType::I1, {kDLBool, 8, 1}));
  EXPECT_TRUE(isCompatible(DataType::I1, {kDLUInt, 8, 1}));
  EXPECT_TRUE(isCompatible(DataType::U8, {kDLBool, 8, 1}));
  EXPECT_TRUE(isCompatible(DataType::TF32, {kDLFloat, 32, 1}));
  EXPECT_FALSE(isCompatible(DataType::I8, {kDLUInt, 8, 1}));
  EXPECT_FALSE(isCompatible(DataType::I1, {kDLInt, 8, 1}));
  EXPECT_FALSE(isCompatible(DataType::F8E4M3, {kDLFloat8_e5m2, 8, 1}));
  EXPECT_FALSE(isCompatible(DataType::F16, {kDLBfloat, 16, 1}));
  EXPECT_FALSE(isCompatible(DataType::F32, {kDLFloat, 32, 4}));
}

TEST(DataTypeTest, PairsAreBytesOfAnyKind) {
  EXPECT_TRUE(isCompatible(DataType::X8, {kDLInt, 8, 1}));
  EXPECT_TRUE(isCompatible(DataType::X8, {kDLUInt, 8, 1}));
  EXPECT_TRUE(isCompatible(DataType::X8, {kDLFloat4_e2m1fn, 4, 2}));
  EXPECT_FALSE(isCompatible(DataType::X8, {kDLFloat4_e2m1fn, 4, 1}));
  EXPECT_FALSE(isCompatible(DataType::X8, {kDLInt, 16, 1}));
  EXPECT_FALSE(isCompatible(DataType::X8, {kDLBool, 8, 1}));
  EXPECT_FALSE(isCompatible(DataType::U8, {kDLInt, 8, 1}));
  EXPECT_EQ(describe({kDLInt, 8, 1}), "i8");
}

TEST(DataTypeTest, DescribesWhatAPlanCannotName) {
  EXPECT_EQ(describe({kDLBfloat, 16, 1}), "bf16");
  EXPECT_EQ(describe({kDLFloat, 32, 1}), "f32");
  EXPECT_EQ(describe({kDLFloat, 32, 4}), "f32x4");
  EXPECT_EQ(describe({kDLComplex, 64, 1}), "complex64");
  EXPECT_EQ(describe({17, 4, 1}), "a type with DLPack code 17 and 4 bits");
}

TEST(DataTypeTest, FloatsRoundToNearestEven) {
  EXPECT_EQ(encodeFloat(DataType::F64, 1.0), 0x3ff0000000000000u);
  EXPECT_EQ(encodeFloat(DataType::F32, -2.5), 0xc0200000u);
  EXPECT_EQ(encodeFloat(DataType::TF32, 1.0), 0x3f800000u);
  // 1 + 2^-11 lies between two f16 numbers; the even one is 1.
  EXPECT_EQ(encodeFloat(DataType::F16, 1.00048828125), 0x3c00u);
  EXPECT_EQ(encodeFloat(DataType::BF16, 1.0), 0x3f80u);
  EXPECT_EQ(encodeFloat(DataType::F8E4M3, 448.0), 0x7eu);
  EXPECT_EQ(encodeFloat(DataType::F8E5M2, 1.0), 0x3cu);
}

TEST(DataTypeTest, OnlyFiniteValuesOverflow) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(encodeFloat(DataType::F16, infinity), 0x7c00u);
  EXPECT_EQ(encodeFloat(DataType::F32, -infinity), 0xff800000u);
  EXPECT_FALSE(encodeFloat(DataType::F16, 65520.0));
  EXPECT_TRUE(encodeFloat(DataType::F16, 65504.0));
  EXPECT_FALSE(encodeFloat(DataType::F32, 1e300));
  EXPECT_FALSE(encodeFloat(DataType::F8E4M3, 1e4));
  std::optional<uint64_t> nan = encodeFloat(DataType::F32, std::nan(""));
  ASSERT_TRUE(nan);
  EXPECT_EQ(*nan & 0x7fc00000u, 0x7fc00000u);
}

} // namespace
