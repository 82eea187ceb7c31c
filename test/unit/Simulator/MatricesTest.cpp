//===- MatricesTest.cpp - Tests for ldmatrix, stmatrix and mma ------------===//
//
// Each element is looked for where the PTX ISA says that it is, by formulas
// written here as they are there: `groupID`, `threadID_in_group`, elements a0,
// a1 and so on.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace tl::sim;

namespace {

constexpr uint32_t kBase = SharedMemory::kBase;

uint16_t readHalf(const SharedMemory &shared, uint32_t address) {
  return uint16_t(*shared.at(address) | *shared.at(address + 1) << 8);
}

/// 4 KiB of random bytes, and 32 rows of 16 bytes in random places of it.
struct Rows {
  Rows() : shared(4096) {
    for (unsigned i = 0; i < shared.size(); ++i)
      *shared.at(kBase + i) = uint8_t(random());
    std::vector<uint32_t> places(256);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    for (unsigned lane = 0; lane < 32; ++lane)
      addresses[lane] = kBase + 16 * places[lane];
  }

  std::mt19937 random{7};
  SharedMemory shared;
  std::array<uint32_t, 32> addresses;
};

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix
//===----------------------------------------------------------------------===//

// "Matrix fragments for ldmatrix": thread t holds, of matrix i, elements
// 2 (t mod 4) and the next of row t / 4; with `.trans`, of column t / 4.
TEST(Matrices, LdmatrixGivesEachLaneItsPairs) {
  for (unsigned count : {1, 2, 4})
    for (bool transpose : {false, true}) {
      Rows rows;
      std::array<uint32_t, 4 * 32> result = {};
      ASSERT_FALSE(ldmatrix(rows.shared, rows.addresses.data(), count,
                            transpose, result.data()));
      for (unsigned i = 0; i < count; ++i)
        for (unsigned t = 0; t < 32; ++t)
          for (unsigned j : {0, 1}) {
            unsigned row = t / 4, column = 2 * (t % 4) + j;
            if (transpose)
              std::swap(row, column);
            uint32_t address = rows.addresses[8 * i + row] + 2 * column;
            uint16_t element = uint16_t(result[32 * i + t] >> (16 * j));
            ASSERT_EQ(element, readHalf(rows.shared, address));
          }
      for (unsigned i = 32 * count; i < result.size(); ++i)
        ASSERT_EQ(result[i], 0u);
    }
}

TEST(Matrices, StmatrixPutsEachPairInItsPlace) {
  for (unsigned count : {1, 2, 4})
    for (bool transpose : {false, true}) {
      Rows rows;
      SharedMemory before = rows.shared;
      std::array<uint32_t, 4 * 32> value;
      for (uint32_t &word : value)
        word = rows.random();
      ASSERT_FALSE(stmatrix(rows.shared, rows.addresses.data(), count,
                            transpose, value.data()));
      for (unsigned i = 0; i < count; ++i)
        for (unsigned t = 0; t < 32; ++t)
          for (unsigned j : {0, 1}) {
            unsigned row = t / 4, column = 2 * (t % 4) + j;
            if (transpose)
              std::swap(row, column);
            uint32_t address = rows.addresses[8 * i + row] + 2 * column;
            ASSERT_EQ(readHalf(rows.shared, address),
                      uint16_t(value[32 * i + t] >> (16 * j)));
          }
      unsigned changed = 0;
      for (unsigned i = 0; i < before.size(); i += 16)
        changed += !std::equal(before.at(kBase + i), before.at(kBase + i) + 16,
                               rows.shared.at(kBase + i));
      EXPECT_LE(changed, 8 * count);
    }
}

// The lanes after those that give rows may give anything.
TEST(Matrices, RowsMustBeAlignedAndThere) {
  Rows rows;
  std::array<uint32_t, 4 * 32> registers = {};
  rows.addresses[16] = 3;
  EXPECT_FALSE(
      ldmatrix(rows.shared, rows.addresses.data(), 2, false, registers.data()));
  auto fault =
      ldmatrix(rows.shared, rows.addresses.data(), 4, false, registers.data());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::Misaligned);
  EXPECT_EQ(fault->lane, 16u);
  rows.addresses[16] = kBase + rows.shared.size();
  fault =
      stmatrix(rows.shared, rows.addresses.data(), 4, true, registers.data());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::OutOfBounds);
  EXPECT_EQ(fault->lane, 16u);
  EXPECT_EQ(fault->span.bytes, 16u);
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

/// Where element `i` of a thread's fragment is in its matrix.
struct Place {
  unsigned row, column;
};

Place placeOfA(unsigned bits, unsigned lane, unsigned i) {
  unsigned groupID = lane >> 2, threadID_in_group = lane % 4;
  switch (bits) {
  case 16: // m16n8k16
    return {(i < 2 || (4 <= i && i < 6)) ? groupID : groupID + 8,
            threadID_in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  case 32: // m16n8k8, .tf32
    return {i == 0 || i == 2 ? groupID : groupID + 8,
            i == 0 || i == 1 ? threadID_in_group : threadID_in_group + 4};
  default: // m16n8k32
    return {(i < 4 || (8 <= i && i < 12)) ? groupID : groupID + 8,
            threadID_in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  }
}

Place placeOfB(unsigned bits, unsigned lane, unsigned i) {
  unsigned groupID = lane >> 2, threadID_in_group = lane % 4;
  switch (bits) {
  case 16:
    return {threadID_in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), groupID};
  case 32:
    return {i == 0 ? threadID_in_group : threadID_in_group + 4, groupID};
  default:
    return {threadID_in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0), groupID};
  }
}

Place placeOfC(unsigned lane, unsigned i) {
  unsigned groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i < 2 ? groupID : groupID + 8, threadID_in_group * 2 + (i & 1)};
}

struct Type {
  MmaType type;
  unsigned bits;
  FloatFormat format;
  bool isInteger, isSigned;
};

const Type kTypes[] = {
    {MmaType::F16, 16, kF16, false, true},
    {MmaType::BF16, 16, kBF16, false, true},
    {MmaType::TF32, 32, kTF32, false, true},
    {MmaType::S8, 8, kF16, true, true},
    {MmaType::U8, 8, kF16, true, false},
    {MmaType::E4M3, 8, kE4M3, false, true},
    {MmaType::E5M2, 8, kE5M2, false, true},
};

/// The bits of a whole number that all types have.
uint32_t toBits(const Type &type, int value) {
  if (!type.isInteger)
    return encodeFloat(value, type.format);
  return uint32_t(value) & 0xFF;
}

struct Registers {
  std::array<uint32_t, 4 * 32> a = {}, c = {}, d = {};
  std::array<uint32_t, 2 * 32> b = {};

  /// Puts an element where lane `lane` has its element number `i`.
  template <typename Array>
  static void put(Array &words, unsigned bits, unsigned lane, unsigned i,
                  uint32_t value) {
    unsigned perWord = 32 / bits;
    words[i / perWord * 32 + lane] |= value << (bits * (i % perWord));
  }
};

uint32_t sumToBits(SumType sum, double value) {
  switch (sum) {
  case SumType::F16:
    return encodeFloat(value, kF16);
  case SumType::F32:
    return std::bit_cast<uint32_t>(float(value));
  case SumType::I32:
    return uint32_t(int64_t(value));
  }
  return 0;
}

TEST(Matrices, MmaMultipliesAllShapesAndTypes) {
  std::mt19937 random(3);
  for (const Type &type : kTypes)
    for (SumType sum : {SumType::F16, SumType::F32, SumType::I32}) {
      if ((sum == SumType::I32) != type.isInteger ||
          (sum == SumType::F16 && type.type != MmaType::F16))
        continue;
      unsigned depth = 256 / type.bits;
      // Whole numbers of which all sums are exact in all types.
      auto draw = [&] { return int(random() % 7) - (type.isSigned ? 3 : 0); };
      std::vector<std::vector<int>> a(16, std::vector<int>(depth)),
          b(depth, std::vector<int>(8)), c(16, std::vector<int>(8));
      for (auto *matrix : {&a, &b, &c})
        for (auto &row : *matrix)
          for (int &element : row)
            element = draw();

      Registers r;
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < 128 / type.bits; ++i) {
          auto [row, column] = placeOfA(type.bits, lane, i);
          Registers::put(r.a, type.bits, lane, i, toBits(type, a[row][column]));
        }
        for (unsigned i = 0; i < 64 / type.bits; ++i) {
          auto [row, column] = placeOfB(type.bits, lane, i);
          Registers::put(r.b, type.bits, lane, i, toBits(type, b[row][column]));
        }
        for (unsigned i = 0; i < 4; ++i) {
          auto [row, column] = placeOfC(lane, i);
          r.c[32 * i + lane] = sumToBits(sum, c[row][column]);
        }
      }
      mma(type.type, sum, r.a.data(), r.b.data(), r.c.data(), r.d.data());
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4; ++i) {
          auto [row, column] = placeOfC(lane, i);
          int expected = c[row][column];
          for (unsigned k = 0; k < depth; ++k)
            expected += a[row][k] * b[k][column];
          ASSERT_EQ(r.d[32 * i + lane], sumToBits(sum, expected))
              << "type " << int(type.type) << " lane " << lane;
        }
      // In place.
      mma(type.type, sum, r.a.data(), r.b.data(), r.c.data(), r.c.data());
      EXPECT_EQ(r.c, r.d);
    }
}

/// The one sum of all elements if all of `a`, `b` and `c` are the same.
uint32_t multiplyUniform(MmaType type, SumType sum, uint32_t a, uint32_t b,
                         uint32_t c,
                         std::optional<MmaType> typeOfB = std::nullopt) {
  Registers r;
  r.a.fill(a);
  r.b.fill(b);
  r.c.fill(c);
  mma(type, sum, r.a.data(), r.b.data(), r.c.data(), r.d.data(), typeOfB);
  return r.d[0];
}

TEST(Matrices, MmaOfTwoTypes) {
  // 0x40 is 2 in both; 0x3c is 1.5 as e4m3, and 1 as e5m2.
  uint32_t two = 0x40404040, other = 0x3C3C3C3C;
  auto multiply = [&](MmaType a, MmaType b) {
    return std::bit_cast<float>(
        multiplyUniform(a, SumType::F32, two, other, 0, b));
  };
  EXPECT_EQ(multiply(MmaType::E4M3, MmaType::E4M3), 32 * 2 * 1.5f);
  EXPECT_EQ(multiply(MmaType::E4M3, MmaType::E5M2), 32 * 2 * 1.0f);
  EXPECT_EQ(multiply(MmaType::E5M2, MmaType::E4M3), 32 * 2 * 1.5f);
  EXPECT_EQ(multiplyUniform(MmaType::S8, SumType::I32, 0xFFFFFFFF, 0xFFFFFFFF,
                            0, MmaType::U8),
            uint32_t(-1 * 255 * 32));
}

TEST(Matrices, MmaOfF64) {
  // Whole numbers, so that sums are exact in any order.
  std::array<uint64_t, 2 * kLanes> a;
  std::array<uint64_t, kLanes> b;
  std::array<uint64_t, 4 * kLanes> c, d;
  double left[16][4], right[4][8];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < 2; ++i) {
      double value = left[lane / 4 + 8 * i][lane % 4] = lane * 7 + i * 3;
      a[i * kLanes + lane] = std::bit_cast<uint64_t>(value);
    }
    double value = right[lane % 4][lane / 4] = 5.0 * lane - 40;
    b[lane] = std::bit_cast<uint64_t>(value);
    for (unsigned i = 0; i < 4; ++i)
      c[i * kLanes + lane] = std::bit_cast<uint64_t>(double(100 * i + lane));
  }
  mmaF64(a.data(), b.data(), c.data(), d.data());
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      double sum = 100 * i + lane;
      for (unsigned k = 0; k < 4; ++k)
        sum += left[lane / 4 + 8 * (i / 2)][k] * right[k][lane % 4 * 2 + i % 2];
      EXPECT_EQ(std::bit_cast<double>(d[i * kLanes + lane]), sum);
    }
  // In place.
  mmaF64(a.data(), b.data(), c.data(), c.data());
  EXPECT_EQ(c, d);
}

TEST(Matrices, MmaRoundsOnce) {
  // 16 products of 2^-25 and 1: none of them alone would change it.
  uint32_t one = std::bit_cast<uint32_t>(1.0f);
  uint32_t small = encodeFloat(0x1p-13, kF16),
           half = encodeFloat(0x1p-12, kF16);
  EXPECT_EQ(multiplyUniform(MmaType::F16, SumType::F32, small * 0x10001,
                            half * 0x10001, one),
            std::bit_cast<uint32_t>(1 + 0x1p-21f));
  // 65536 is too large for f16.
  EXPECT_EQ(multiplyUniform(MmaType::F16, SumType::F16,
                            encodeFloat(4096, kF16) * 0x10001,
                            encodeFloat(1, kF16) * 0x10001, 0),
            0x7C00u);
  EXPECT_EQ(multiplyUniform(MmaType::BF16, SumType::F32, 0x7F807F80, 0, one),
            0x7FFFFFFFu);
}

TEST(Matrices, MmaCutsAddendsOffBehindTheGreatest) {
  auto half = [](double value) { return encodeFloat(value, kF16) * 0x10001; };
  auto single = [](double value) {
    return std::bit_cast<uint32_t>(float(value));
  };
  // 2^-26 is the first bit that is dropped, of each of the 16 products.
  EXPECT_EQ(multiplyUniform(MmaType::F16, SumType::F32, half(0x1p-13),
                            half(0x1p-13), single(1)),
            single(1));
  EXPECT_EQ(multiplyUniform(MmaType::F16, SumType::F32, half(0x1.8p-13),
                            half(0x1p-12), single(1)),
            single(1 + 0x1p-21));
  // The sum is rounded towards zero.
  EXPECT_EQ(multiplyUniform(MmaType::TF32, SumType::F32, single(1 + 0x1p-10),
                            single(1 + 0x1p-10), single(0x1.8p-21)),
            single(8 + 0x1p-6 + 0x1p-17));
}

/// A row of A, a column of B, and what came of them on an H100. None of the
/// sums is the exact one, rounded.
struct Recorded {
  MmaType type;
  std::vector<uint32_t> a, b;
  uint32_t sum;
};
const Recorded kRecorded[] = {
    {MmaType::F16,
     {0x3d4a, 0x3ad8, 0xb9e1, 0x42a9, 0xb490, 0xbbde, 0xb056, 0xa12b, 0x3170,
      0xb0ba, 0xb323, 0x2c5f, 0xbe09, 0xa2e0, 0x36e5, 0xaa91},
     {0x2d12, 0x3016, 0xa473, 0xaaf5, 0x2ed6, 0xc9dc, 0x309f, 0x4474, 0xc664,
      0xc784, 0x420a, 0xb6c5, 0x3afd, 0xc5e8, 0x401f, 0x44c1},
     0x41233c46},
    {MmaType::BF16,
     {0xbda0, 0x3fc6, 0xbf1a, 0xbf68, 0xbea6, 0x4098, 0x3e0a, 0x401d, 0x3ea2,
      0xbfaf, 0xc067, 0x3e26, 0x3fc0, 0xbf4f, 0x3da7, 0xbec4},
     {0x3e8a, 0xbdbd, 0x3ff1, 0xbed4, 0xbfaa, 0x3e2a, 0x3c5e, 0xc058, 0xbe10,
      0xbf3a, 0xbea7, 0x3e5a, 0x4010, 0xc113, 0xbd31, 0x3fbe},
     0x408d3a1f},
    {MmaType::TF32,
     {0xbe608000, 0x3c846000, 0xc0834000, 0x3ec46000, 0x40616000, 0xbe89a000,
      0x4025a000, 0x40e62000},
     {0x3e95a000, 0x41a62000, 0xbf5ae000, 0x41062000, 0xc0d1a000, 0x40876000,
      0x3e5c8000, 0x3fd2a000},
     0xc09a4919},
    {MmaType::E4M3,
     {0x07, 0xd2, 0x23, 0xa7, 0xa0, 0x27, 0xca, 0x45, 0x10, 0x33, 0x14,
      0xb2, 0xb9, 0xb6, 0xc4, 0xbe, 0x91, 0xab, 0xc2, 0x8b, 0x32, 0xce,
      0x29, 0x17, 0xcb, 0xb3, 0xaf, 0xb9, 0xc2, 0x48, 0xcf, 0x4d},
     {0xd5, 0x92, 0xb1, 0xa1, 0x40, 0xc7, 0x14, 0x32, 0x04, 0xc9, 0x24,
      0x28, 0x32, 0x31, 0x99, 0xc1, 0x47, 0x3b, 0x0a, 0x0d, 0x30, 0xb0,
      0x99, 0x3d, 0x47, 0x25, 0x4a, 0x37, 0xb6, 0xac, 0x48, 0xcc},
     0xc2b16ca7},
    {MmaType::E5M2,
     {0x42, 0x30, 0x2f, 0xb5, 0x27, 0x44, 0x3e, 0xab, 0xad, 0xbd, 0x46,
      0xbe, 0x35, 0x2f, 0xb1, 0xc9, 0xa6, 0x34, 0x32, 0x45, 0xc1, 0xb8,
      0x23, 0xbd, 0xc0, 0x3c, 0xb7, 0xac, 0x2d, 0x34, 0xb5, 0xbb},
     {0xb1, 0xb5, 0xac, 0xb3, 0x9c, 0xc1, 0xac, 0x3d, 0x86, 0xaf, 0x32,
      0xc2, 0xc1, 0x2e, 0xb5, 0xbf, 0xb4, 0x41, 0xae, 0x38, 0xc1, 0x35,
      0xae, 0x41, 0xb6, 0xca, 0xc6, 0x4e, 0xba, 0x2c, 0x49, 0x41},
     0x40220160}};

TEST(Matrices, MmaAddsAsAGpuDid) {
  for (const Recorded &recorded : kRecorded) {
    const Type &type = *std::find_if(
        std::begin(kTypes), std::end(kTypes),
        [&](const Type &each) { return each.type == recorded.type; });
    Registers r;
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned i = 0; i < 128 / type.bits; ++i)
        Registers::put(r.a, type.bits, lane, i,
                       recorded.a[placeOfA(type.bits, lane, i).column]);
      for (unsigned i = 0; i < 64 / type.bits; ++i)
        Registers::put(r.b, type.bits, lane, i,
                       recorded.b[placeOfB(type.bits, lane, i).row]);
    }
    mma(type.type, SumType::F32, r.a.data(), r.b.data(), r.c.data(),
        r.d.data());
    for (uint32_t sum : r.d)
      ASSERT_EQ(sum, recorded.sum) << "type " << int(type.type);
  }
}

TEST(Matrices, MmaTruncatesToTF32) {
  uint32_t almostTwo = 0x3FFFFFFF, one = 0x3F800000;
  EXPECT_EQ(multiplyUniform(MmaType::TF32, SumType::F32, almostTwo, one, 0),
            std::bit_cast<uint32_t>(float(8 * (2 - 0x1p-10))));
}

TEST(Matrices, MmaOfIntegersWraps) {
  EXPECT_EQ(multiplyUniform(MmaType::S8, SumType::I32, 0x7F7F7F7F, 0x7F7F7F7F,
                            0x7FFFFFFF),
            0x7FFFFFFFu + 32 * 127 * 127);
  EXPECT_EQ(
      multiplyUniform(MmaType::U8, SumType::I32, 0xFFFFFFFF, 0xFFFFFFFF, 0),
      32u * 255 * 255);
  EXPECT_EQ(
      multiplyUniform(MmaType::S8, SumType::I32, 0xFFFFFFFF, 0x01010101, 0),
      uint32_t(-32));
}

} // namespace
