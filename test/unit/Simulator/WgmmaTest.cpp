//===- WgmmaTest.cpp - Tests for wgmma ------------------------------------===//
//
// Factors are put into shared memory by the table "Canonical Layouts" of the
// PTX ISA, which is written here as it is there: shapes and strides of the two
// coordinates, and a swizzle of the byte address.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include "gtest/gtest.h"
#include <array>
#include <cstring>
#include <random>
#include <vector>

using namespace tl::sim;

namespace {

//===----------------------------------------------------------------------===//
// Canonical layouts
//===----------------------------------------------------------------------===//

/// (extent, stride) of the parts of one coordinate, the fastest first.
using Mode = std::vector<std::pair<unsigned, unsigned>>;

unsigned getOffset(const Mode &mode, unsigned coordinate) {
  unsigned offset = 0;
  for (auto [extent, stride] : mode) {
    offset += coordinate % extent * stride;
    coordinate /= extent;
  }
  EXPECT_EQ(coordinate, 0u);
  return offset;
}

/// `Swizzle<bits, 4, 3>` of CuTe.
unsigned swizzle(unsigned bits, unsigned address) {
  unsigned mask = ((1u << bits) - 1) << 7;
  return address ^ (address & mask) >> 3;
}

struct Layout {
  bool mnMajor;
  unsigned width; ///< of the swizzle, in bytes; 16 for none
  unsigned bytes; ///< of an element
  unsigned lbo, sbo;
  unsigned start;

  unsigned swizzleBits() const {
    return width == 128 ? 3 : width == 64 ? 2 : width == 32 ? 1 : 0;
  }

  /// Byte address of an element. All strides of the table are in elements.
  unsigned getAddress(unsigned mn, unsigned k) const {
    const unsigned T = 16 / bytes, LBO = lbo / bytes, SBO = sbo / bytes;
    const unsigned m = 32, w = width / 16;
    Mode first, second;
    if (mnMajor && w == 1) {
      first = {{T, 1}, {1, T}, {m, SBO}};
      second = {{8, 1 * T}, {2, LBO}};
    } else if (mnMajor) {
      first = {{T, 1}, {w, T}, {m, LBO}};
      second = {{8, w * T}, {2, SBO}};
    } else if (w == 1) {
      first = {{8, 1 * T}, {m, SBO}};
      second = {{T, 1}, {2, LBO}};
    } else {
      first = {{8, w * T}, {m, SBO}};
      second = {{T, 1}, {2, T}};
    }
    unsigned elements = getOffset(first, mn) + getOffset(second, k);
    return swizzle(swizzleBits(), start + elements * bytes);
  }

  uint64_t getDescriptor() const {
    auto encode = [](uint64_t x) { return (x & 0x3FFFF) >> 4; };
    uint64_t mode = width == 128 ? 1 : width == 64 ? 2 : width == 32 ? 3 : 0;
    return encode(start) | encode(lbo) << 16 | encode(sbo) << 32 | mode << 62;
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct Type {
  MmaType type;
  unsigned bytes;
  FloatFormat format;
  bool isInteger, isSigned;
};

const Type kTypes[] = {
    {MmaType::F16, 2, kF16, false, true},
    {MmaType::BF16, 2, kBF16, false, true},
    {MmaType::TF32, 4, kTF32, false, true},
    {MmaType::S8, 1, kF16, true, true},
    {MmaType::U8, 1, kF16, true, false},
    {MmaType::E4M3, 1, kE4M3, false, true},
    {MmaType::E5M2, 1, kE5M2, false, true},
};

/// Random whole numbers, which are exact in all types, as are their sums.
std::vector<std::vector<int>> draw(std::mt19937 &random, const Type &type,
                                   unsigned rows, unsigned columns) {
  std::vector<std::vector<int>> matrix(rows, std::vector<int>(columns));
  for (auto &row : matrix)
    for (int &element : row)
      element = int(random() % 7) - (type.isSigned ? 3 : 0);
  return matrix;
}

void put(SharedMemory &shared, unsigned address, const Type &type, int value) {
  uint32_t bits =
      type.isInteger ? uint32_t(value) & 0xFF : encodeFloat(value, type.format);
  std::memcpy(shared.at(address), &bits, type.bytes);
}

uint32_t toSum(SumType sum, int value) {
  return sum == SumType::I32   ? uint32_t(value)
         : sum == SumType::F32 ? std::bit_cast<uint32_t>(float(value))
                               : encodeFloat(value, kF16);
}

constexpr unsigned kSharedBytes = 160 * 1024;
constexpr unsigned kBOffset = 64 * 1024;

/// Multiplies random matrices, and compares each element of each warp with the
/// sum of products.
void check(const Type &type, SumType sum, unsigned n, Layout a, Layout b) {
  SCOPED_TRACE(testing::Message()
               << "type " << int(type.type) << " n " << n << " a "
               << (a.mnMajor ? "MN " : "K ") << a.width << " b "
               << (b.mnMajor ? "MN " : "K ") << b.width);
  std::mt19937 random(n);
  unsigned depth = 32 / type.bytes;
  auto left = draw(random, type, 64, depth);
  auto right = draw(random, type, n, depth);
  auto before = draw(random, type, 64, n);
  SharedMemory shared(kSharedBytes);
  std::memset(shared.at(SharedMemory::kBase), 0x55, kSharedBytes);
  std::vector<bool> written(kSharedBytes + SharedMemory::kBase);
  auto fill = [&](const auto &matrix, const Layout &layout) {
    for (unsigned mn = 0; mn < matrix.size(); ++mn)
      for (unsigned k = 0; k < depth; ++k) {
        unsigned address = layout.getAddress(mn, k);
        put(shared, address, type, matrix[mn][k]);
        for (unsigned i = 0; i < type.bytes; ++i) {
          ASSERT_FALSE(written[address + i]);
          written[address + i] = true;
        }
      }
  };
  fill(left, a);
  fill(right, b);

  Wgmma wgmma{type.type,         sum,       n,        a.getDescriptor(),
              b.getDescriptor(), a.mnMajor, b.mnMajor};
  std::vector<bool> seen(written.size());
  for (unsigned warp = 0; warp < 4; ++warp) {
    llvm::SmallVector<Span> reads;
    auto fault = wgmmaReads(shared, wgmma, warp, reads);
    ASSERT_FALSE(fault) << fault->text;
    unsigned bytes = 0;
    for (Span span : reads) {
      bytes += span.bytes;
      for (unsigned i = 0; i < span.bytes; ++i)
        seen[span.address + i] = true;
    }
    EXPECT_EQ(bytes, (16 + n) * 32);

    // "Register fragments for wgmma.mma_async", matrix D: the row of element
    // d_i is that of the warp, the lane's group, and 8 more for every other
    // pair; each pair of pairs is 8 columns.
    std::vector<uint32_t> sums(n / 2 * 32);
    auto getPlace = [&](unsigned lane, unsigned i) {
      return std::pair(warp * 16 + lane / 4 + 8 * (i / 2 % 2),
                       i / 4 * 8 + lane % 4 * 2 + i % 2);
    };
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < n / 2; ++i) {
        auto [row, column] = getPlace(lane, i);
        sums[i * 32 + lane] = toSum(sum, before[row][column]);
      }
    wgmmaMultiply(shared, wgmma, warp, /*a=*/nullptr, sums.data());
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < n / 2; ++i) {
        auto [row, column] = getPlace(lane, i);
        int expected = before[row][column];
        for (unsigned k = 0; k < depth; ++k)
          expected += left[row][k] * right[column][k];
        ASSERT_EQ(sums[i * 32 + lane], toSum(sum, expected))
            << "row " << row << " column " << column;
      }
  }
  // The warps together read the factors and nothing else.
  EXPECT_EQ(seen, written);
}

/// A layout of `mn` rows or columns whose strides are larger than they need be.
Layout spread(bool mnMajor, unsigned width, unsigned bytes, unsigned mn,
              unsigned start) {
  unsigned atom = 8 * width;
  unsigned lines = mnMajor ? (mn * bytes + width - 1) / width : mn / 8;
  Layout layout{mnMajor, width, bytes, 0, 0, start};
  if (mnMajor && width == 16)
    layout.sbo = atom, layout.lbo = lines * atom + 256;
  else if (mnMajor)
    layout.lbo = 2 * atom, layout.sbo = atom;
  else
    layout.sbo = 2 * atom, layout.lbo = width == 16 ? atom : 16;
  return layout;
}

TEST(Wgmma, MultipliesInAllModesAndTypes) {
  for (const Type &type : kTypes)
    for (bool aMN : {false, true})
      for (bool bMN : {false, true})
        for (unsigned aWidth : {16, 32, 64, 128})
          for (unsigned bWidth : {16, 32, 64, 128}) {
            // Only 16-bit types are MN-major.
            if ((aMN || bMN) && type.bytes != 2)
              continue;
            SumType sum = type.isInteger ? SumType::I32 : SumType::F32;
            check(type, sum, 64,
                  spread(aMN, aWidth, type.bytes, 64, SharedMemory::kBase),
                  spread(bMN, bWidth, type.bytes, 64, kBOffset));
          }
}

/// A row of A, a row of B, and what came of them on an H100, which keeps 13
/// bits behind the greatest product of 8-bit floats, and 14 of the sum.
struct Recorded {
  MmaType type;
  std::array<uint8_t, 32> a, b;
  uint32_t sum;
};
const Recorded kRecorded[] = {
    {MmaType::E4M3,
     {0x92, 0x20, 0x20, 0x39, 0xbb, 0x82, 0xa9, 0x31, 0xc4, 0xa4, 0x28,
      0x2b, 0x29, 0x86, 0x4e, 0xcf, 0xce, 0xb3, 0x2e, 0xb7, 0xcf, 0xa1,
      0x33, 0x38, 0x4d, 0xa1, 0x1c, 0x43, 0x38, 0x3c, 0x25, 0x3d},
     {0x3c, 0xaa, 0xb3, 0xc4, 0x43, 0x31, 0x38, 0x45, 0x43, 0xb9, 0x8d,
      0xd6, 0xcc, 0x4f, 0x45, 0xd3, 0xa8, 0xa8, 0x06, 0x49, 0x26, 0x4c,
      0xcb, 0xb2, 0xbc, 0xbb, 0x20, 0x99, 0x37, 0x4b, 0x99, 0xbd},
     0x4290e000},
    {MmaType::E5M2,
     {0xb0, 0xbb, 0x3e, 0x32, 0xab, 0x2e, 0xa2, 0x3c, 0xbe, 0x36, 0x45,
      0xb9, 0x49, 0xc7, 0x31, 0xc2, 0xb9, 0xae, 0xc7, 0x4a, 0x31, 0x3f,
      0x36, 0x46, 0xb7, 0x44, 0x39, 0x2e, 0x30, 0x3f, 0xb9, 0xbb},
     {0x31, 0x3a, 0xc1, 0x30, 0x3b, 0x4b, 0x41, 0x45, 0xb7, 0xbb, 0xb3,
      0xbe, 0x2e, 0x38, 0xb9, 0xb0, 0x46, 0xbd, 0xae, 0xb3, 0x2f, 0x3c,
      0x3b, 0xbf, 0xa8, 0xb5, 0x2f, 0x9d, 0x38, 0x2e, 0xae, 0xc4},
     0xc13ab400}};

TEST(Wgmma, AddsProductsOfBytesAsAGpuDid) {
  for (const Recorded &recorded : kRecorded) {
    SharedMemory shared(kSharedBytes);
    Layout a = spread(false, 32, 1, 64, SharedMemory::kBase);
    Layout b = spread(false, 32, 1, 8, kBOffset);
    for (unsigned k = 0; k < 32; ++k) {
      for (unsigned m = 0; m < 64; ++m)
        *shared.at(a.getAddress(m, k)) = recorded.a[k];
      for (unsigned n = 0; n < 8; ++n)
        *shared.at(b.getAddress(n, k)) = recorded.b[k];
    }
    Wgmma wgmma{recorded.type,     SumType::F32, 8,    a.getDescriptor(),
                b.getDescriptor(), false,        false};
    std::vector<uint32_t> sums(4 * 32);
    wgmmaMultiply(shared, wgmma, /*warpInGroup=*/0, /*a=*/nullptr, sums.data());
    for (uint32_t sum : sums)
      ASSERT_EQ(sum, recorded.sum);
  }
}

TEST(Wgmma, TakesEachN) {
  for (unsigned n = 8; n <= 256; n += 8)
    for (bool mnMajor : {false, true})
      check(kTypes[0], n % 16 ? SumType::F16 : SumType::F32, n,
            spread(false, 128, 2, 64, SharedMemory::kBase),
            spread(mnMajor, 128, 2, n, kBOffset));
  for (unsigned n : {8, 16, 24, 32, 48, 240, 256})
    check(kTypes[3], SumType::I32, n,
          spread(false, 64, 1, 64, SharedMemory::kBase),
          spread(false, 32, 1, n, kBOffset));
}

// Steps along K begin inside of an atom, K-major, or some atoms further.
TEST(Wgmma, FactorsMayBeginInsideOfAnAtom) {
  for (unsigned step = 0; step < 4; ++step) {
    Layout a = spread(false, 128, 2, 64, SharedMemory::kBase + 32 * step);
    Layout b = spread(false, 128, 2, 32, kBOffset + 1024 * step + 32 * step);
    check(kTypes[0], SumType::F32, 32, a, b);
  }
  // 8 lines of 64 bytes end in the middle of the pattern of the address.
  Layout a = spread(false, 64, 2, 64, SharedMemory::kBase + 512 + 32);
  check(kTypes[1], SumType::F32, 32, a,
        spread(true, 32, 2, 32, kBOffset + 256));
}

// The pattern begins where the base offset says.
TEST(Wgmma, BaseOffsetMovesThePattern) {
  SharedMemory shared(8192);
  Wgmma wgmma{MmaType::F16, SumType::F32, 8};
  Layout layout{false, 128, 2, 16, 1024, SharedMemory::kBase + 256};
  wgmma.a = wgmma.b = layout.getDescriptor() | uint64_t(2) << 49;
  llvm::SmallVector<Span> reads;
  ASSERT_FALSE(wgmmaReads(shared, wgmma, 0, reads));
  // The first line is not exchanged, the second by one unit, which stays within
  // the pair, the third by two.
  EXPECT_EQ(reads[0].address, layout.start);
  EXPECT_EQ(reads[1].address, layout.start + 128);
  EXPECT_EQ(reads[2].address, layout.start + 256 + 32);
}

TEST(Wgmma, RefusesWhatHasNoMeaning) {
  SharedMemory shared(64 * 1024);
  Layout plain = spread(false, 128, 2, 64, SharedMemory::kBase);
  auto getFault = [&](auto change) -> std::string {
    Wgmma wgmma{MmaType::F16, SumType::F32, 64, plain.getDescriptor(),
                plain.getDescriptor()};
    change(wgmma);
    llvm::SmallVector<Span> reads;
    auto fault = wgmmaReads(shared, wgmma, 0, reads);
    return fault ? fault->text : "none";
  };
  EXPECT_EQ(getFault([](Wgmma &) {}), "none");
  EXPECT_EQ(getFault([](Wgmma &w) { w.n = 12; }),
            "N of wgmma must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(getFault([](Wgmma &w) { w.n = 264; }),
            "N of wgmma must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(getFault([](Wgmma &w) {
              w.type = MmaType::S8, w.sum = SumType::I32, w.n = 40;
            }),
            "N of an integer wgmma above 32 must be a multiple of 16");
  EXPECT_EQ(getFault([](Wgmma &w) { w.sum = SumType::I32; }),
            "wgmma has no such pair of types");
  EXPECT_EQ(
      getFault([](Wgmma &w) { w.type = MmaType::BF16, w.sum = SumType::F16; }),
      "wgmma has no such pair of types");
  EXPECT_EQ(getFault([](Wgmma &w) { w.typeOfB = MmaType::BF16; }),
            "wgmma has no such pair of types");
  EXPECT_EQ(
      getFault([](Wgmma &w) { w.type = MmaType::TF32, w.bMNMajor = true; }),
      "only factors of 16 bits may be MN-major");
  EXPECT_EQ(getFault([](Wgmma &w) { w.a |= 1 << 14; }),
            "a matrix descriptor has reserved bits set");
  EXPECT_EQ(getFault([](Wgmma &w) { w.b |= uint64_t(1) << 46; }),
            "a matrix descriptor has reserved bits set");
  EXPECT_EQ(getFault([](Wgmma &w) {
              w.a &= ~(uint64_t(3) << 62), w.a |= uint64_t(1) << 49;
            }),
            "a matrix descriptor without a swizzle has a base offset");
  EXPECT_EQ(getFault([](Wgmma &w) { w.a += 8; }),
            "a factor of `wgmma` begins with another line of its swizzle than "
            "the first one");
  EXPECT_EQ(getFault([](Wgmma &w) { w.b += 8, w.bMNMajor = true; }),
            "a factor of `wgmma` begins with another line of its swizzle than "
            "the first one");
  // 16 bytes before the end of a line; K-major takes 32 of them.
  EXPECT_EQ(getFault([](Wgmma &w) { w.a += 7; }),
            "a factor begins in the middle of a line of its swizzle, and does "
            "not end with it");
  EXPECT_EQ(getFault([](Wgmma &w) { w.b += 2, w.bMNMajor = true; }),
            "a factor begins in the middle of a line of its swizzle, and does "
            "not end with it");
}

TEST(Wgmma, FactorsMustBeThere) {
  SharedMemory shared(16 * 1024);
  Layout a{false, 128, 2, 16, 1024, SharedMemory::kBase};
  Layout b{false, 128, 2, 16, 1024, SharedMemory::kBase + 8 * 1024};
  Wgmma wgmma{MmaType::F16, SumType::F32, 64, a.getDescriptor(),
              b.getDescriptor()};
  llvm::SmallVector<Span> reads;
  EXPECT_FALSE(wgmmaReads(shared, wgmma, 3, reads));
  wgmma.n = 72;
  auto fault = wgmmaReads(shared, wgmma, 3, reads);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::OutOfBounds);
  EXPECT_EQ(fault->span.address, SharedMemory::kBase + 16 * 1024u);
}

} // namespace
