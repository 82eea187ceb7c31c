//===- TilesTest.cpp - Tests for instructions that work together ----------===//
//
// What is known to be right on an H200: the descriptors and steps of kernels
// that were measured there, for tiles that the copy engine brings and takes
// away. An error in one instruction that another one had as well would show.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include "gtest/gtest.h"
#include <cstring>
#include <random>
#include <vector>

using namespace tl::sim;

namespace {

constexpr uint32_t kA = SharedMemory::kBase;
constexpr uint32_t kB = kA + 8 * 1024;
constexpr uint32_t kC = kA + 40 * 1024;
constexpr unsigned kK = 64;

/// A row-major matrix of f16 in device memory.
struct Matrix {
  Matrix(unsigned rows, unsigned columns)
      : rows(rows), columns(columns), storage(rows * columns + 8) {}

  uint64_t begin() const {
    return (reinterpret_cast<uint64_t>(storage.data()) + 15) / 16 * 16;
  }
  uint16_t &at(unsigned row, unsigned column) {
    return reinterpret_cast<uint16_t *>(begin())[row * columns + column];
  }
  float value(unsigned row, unsigned column) {
    return decodeF16(at(row, column));
  }
  void draw(std::mt19937 &random) {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < columns; ++column)
        at(row, column) = uint16_t(encodeFloat(int(random() % 7) - 3, kF16));
  }
  GlobalMemory memory() const {
    return GlobalMemory({{begin(), begin() + 2 * rows * columns, "M"}});
  }

  /// With boxes of 64 columns, which are lines of 128 bytes.
  TensorMap getMap(unsigned boxRows) const {
    TensorMap map;
    map.address = begin();
    map.rank = 2;
    map.elementBytes = 2;
    map.extents = {columns, rows};
    map.strides = {2, 2 * columns};
    map.box = {64, boxRows};
    map.swizzle = 128;
    return map;
  }

  unsigned rows, columns;
  std::vector<uint16_t> storage;
};

void load(SharedMemory &shared, const Matrix &matrix, unsigned boxRows,
          llvm::ArrayRef<int32_t> start, uint32_t target) {
  llvm::SmallVector<CopyPart> parts;
  auto fault = tensorLoad(shared, matrix.memory(), matrix.getMap(boxRows),
                          start, target, parts);
  ASSERT_FALSE(fault) << fault->text;
  for (const CopyPart &part : parts)
    copyPart(shared, part);
}

uint64_t getDescriptor(uint32_t address, uint64_t leading) {
  return (address & 0x3FFFF) >> 4 | leading >> 4 << 16 | uint64_t(64) << 32 |
         uint64_t(1) << 62;
}

/// `C = A @ B` of one tile by a warp group, its epilogue included: registers to
/// f16, `stmatrix`, a tensor store.
void checkTile(unsigned n, bool aMNMajor, bool bMNMajor) {
  SCOPED_TRACE(testing::Message()
               << n << (aMNMajor ? " A^T" : "") << (bMNMajor ? "" : " B^T"));
  std::mt19937 random(n);
  Matrix a = aMNMajor ? Matrix(kK, 64) : Matrix(64, kK);
  Matrix b = bMNMajor ? Matrix(kK, n) : Matrix(n, kK);
  Matrix c(64, n);
  a.draw(random);
  b.draw(random);
  SharedMemory shared(64 * 1024);
  load(shared, a, 64, {0, 0}, kA);
  for (unsigned panel = 0; panel < (bMNMajor ? n / 64 : 1); ++panel)
    load(shared, b, bMNMajor ? kK : n, {int32_t(panel * 64), 0},
         kB + panel * kK * 128);

  // K-major a step is 32 bytes; MN-major it is 16 lines, and panels of 64
  // columns are as far apart as a panel is large.
  for (unsigned warp = 0; warp < 4; ++warp) {
    std::vector<uint32_t> sums(n / 2 * 32);
    for (unsigned step = 0; step < kK / 16; ++step) {
      Wgmma wgmma{MmaType::F16, SumType::F32, n};
      wgmma.a = getDescriptor(kA, kK * 128) + step * (aMNMajor ? 128 : 2);
      wgmma.b = getDescriptor(kB, kK * 128) + step * (bMNMajor ? 128 : 2);
      wgmma.aMNMajor = aMNMajor;
      wgmma.bMNMajor = bMNMajor;
      llvm::SmallVector<Span> reads;
      auto fault = wgmmaReads(shared, wgmma, warp, reads);
      ASSERT_FALSE(fault) << fault->text;
      wgmmaMultiply(shared, wgmma, warp, /*a=*/nullptr, sums.data());
    }
    // Eight elements are four matrices: two down, two across.
    for (unsigned block = 0; block < n / 16; ++block) {
      uint32_t packed[4 * 32], addresses[32];
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned r = 0; r < 4; ++r) {
          packed[r * 32 + lane] = 0;
          for (unsigned half : {0, 1}) {
            uint32_t bits = sums[(block * 8 + r * 2 + half) * 32 + lane];
            packed[r * 32 + lane] |=
                encodeFloat(std::bit_cast<float>(bits), kF16) << 16 * half;
          }
        }
        unsigned row = warp * 16 + lane % 16;
        unsigned column = block * 16 + lane / 16 * 8;
        unsigned unit = column % 64 / 8;
        addresses[lane] =
            kC + column / 64 * 64 * 128 + row * 128 + (unit ^ row % 8) * 16;
      }
      ASSERT_FALSE(stmatrix(shared, addresses, 4, false, packed));
    }
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < n / 2; ++i) {
        unsigned row = warp * 16 + lane / 4 + i / 2 % 2 * 8;
        unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float expected = 0;
        for (unsigned k = 0; k < kK; ++k)
          expected += (aMNMajor ? a.value(k, row) : a.value(row, k)) *
                      (bMNMajor ? b.value(k, column) : b.value(column, k));
        ASSERT_EQ(std::bit_cast<float>(sums[i * 32 + lane]), expected)
            << row << ", " << column;
        c.at(row, column) = uint16_t(encodeFloat(expected, kF16));
      }
  }

  Matrix out(64, n);
  for (unsigned panel = 0; panel < (n + 63) / 64; ++panel) {
    llvm::SmallVector<CopyPart> parts;
    auto fault =
        tensorStore(shared, out.memory(), out.getMap(64),
                    {int32_t(panel * 64), 0}, kC + panel * 64 * 128, parts);
    ASSERT_FALSE(fault) << fault->text;
    for (const CopyPart &part : parts)
      copyPart(shared, part);
  }
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < n; ++column)
      ASSERT_EQ(out.at(row, column), c.at(row, column)) << row << " " << column;
}

TEST(Tiles, WhatTheEngineLoadsIsMultipliedAndStored) {
  for (unsigned n : {64, 128, 192})
    for (bool aMNMajor : {false, true})
      for (bool bMNMajor : {false, true})
        checkTile(n, aMNMajor, bMNMajor);
}

// ldmatrix of a K-major tile is a fragment of A, and of B in pairs; with
// `.trans` it is that of a tile with K in its columns.
TEST(Tiles, WhatLdmatrixLoadsIsMultiplied) {
  std::mt19937 random(1);
  for (bool transpose : {false, true}) {
    Matrix a(16, 64), b(16, 64);
    a.draw(random);
    b.draw(random);
    SharedMemory shared(8 * 1024);
    load(shared, a, 16, {0, 0}, kA);
    load(shared, b, 16, {0, 0}, kA + 2048);
    auto getAddress = [&](uint32_t tile, unsigned row, unsigned column) {
      return tile + row * 128 + (column / 8 ^ row % 8) * 16;
    };
    // A is rows 0 to 15 and columns 16 to 31 of its tile, or transposed; B
    // columns 8 to 15 of rows 0 to 15 of its tile, or rows 8 to 15.
    uint32_t aAddresses[32], bAddresses[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned line = lane % 8, matrix = lane / 8;
      unsigned down = matrix % 2 * 8, right = matrix / 2 * 8;
      aAddresses[lane] = transpose ? getAddress(kA, line + right, 16 + down)
                                   : getAddress(kA, line + down, 16 + right);
      bAddresses[lane] = transpose ? getAddress(kA + 2048, line + down, 8)
                                   : getAddress(kA + 2048, 8 + line, down);
    }
    uint32_t ra[4 * 32], rb[2 * 32], sums[4 * 32] = {};
    ASSERT_FALSE(ldmatrix(shared, aAddresses, 4, transpose, ra));
    ASSERT_FALSE(ldmatrix(shared, bAddresses, 2, transpose, rb));
    mma(MmaType::F16, SumType::F32, ra, rb, sums, sums);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 4; ++i) {
        unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float expected = 0;
        for (unsigned k = 0; k < 16; ++k)
          expected +=
              (transpose ? a.value(k, 16 + row) : a.value(row, 16 + k)) *
              (transpose ? b.value(k, 8 + column) : b.value(8 + column, k));
        ASSERT_EQ(std::bit_cast<float>(sums[i * 32 + lane]), expected);
      }
  }
}

} // namespace
