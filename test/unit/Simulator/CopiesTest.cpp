//===- CopiesTest.cpp - Tests for cp.async and tensor copies --------------===//
//
// Boxes of random tensors are compared element by element with what the PTX
// ISA says: coordinates in bounds, positions in shared memory, units of 16
// bytes exchanged.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

using namespace tl::sim;

namespace {

constexpr uint32_t kBase = SharedMemory::kBase;
constexpr uint32_t kSharedBytes = 64 * 1024;

/// A tensor with random contents, whose strides are larger than they need be,
/// and the memory around it.
struct Tensor {
  TensorMap map;
  std::vector<uint8_t> storage;
  uint64_t begin = 0;

  /// Bytes from the tensor's begin to its end.
  uint64_t getBytes() const {
    return map.strides[map.rank - 1] * map.extents[map.rank - 1];
  }

  GlobalMemory getMemory() const {
    return GlobalMemory({{begin, begin + getBytes(), "T"}});
  }
};

Tensor makeTensor(std::mt19937 &random, unsigned rank, unsigned bytes,
                  unsigned swizzle, bool wholeUnits) {
  auto draw = [&](unsigned from, unsigned to) {
    return from + unsigned(random() % (to - from + 1));
  };
  Tensor tensor;
  TensorMap &map = tensor.map;
  map.rank = rank;
  map.elementBytes = bytes;
  map.swizzle = swizzle;
  unsigned perUnit = 16 / bytes;
  uint64_t stride = 1;
  for (unsigned dim = 0; dim < rank; ++dim) {
    map.extents[dim] = dim == 0 ? draw(1, 40) : draw(1, 9);
    if (dim == 0 && wholeUnits)
      map.extents[0] *= perUnit;
    map.strides[dim] = dim == 0 ? bytes : stride;
    stride = map.strides[dim] * map.extents[dim];
    stride = (stride + 15) / 16 * 16 + 16 * draw(0, 2);
    map.elementStrides[dim] = draw(0, 3) ? 1 : draw(1, 3);
    unsigned most = swizzle ? swizzle / 16 : 8;
    map.box[dim] = dim == 0 ? perUnit * draw(1, most) : draw(1, 4);
  }
  tensor.storage.resize(tensor.getBytes() + 32);
  for (uint8_t &byte : tensor.storage)
    byte = uint8_t(random());
  tensor.begin =
      (reinterpret_cast<uint64_t>(tensor.storage.data()) + 15) / 16 * 16;
  map.address = tensor.begin;
  return tensor;
}

/// Calls `visit` with each element of the box: its bytes in shared memory, and
/// in device memory, or 0 if it is outside of the tensor.
template <typename Visitor>
void visitElements(const TensorMap &map, const std::vector<int32_t> &start,
                   uint32_t target, Visitor visit) {
  std::vector<unsigned> counts(map.rank), at(map.rank);
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    unsigned stride = dim ? map.elementStrides[dim] : 1;
    counts[dim] = (map.box[dim] + stride - 1) / stride;
  }
  while (true) {
    uint32_t position = 0, scale = 1;
    uint64_t address = map.address;
    bool inside = true;
    for (unsigned dim = 0; dim < map.rank; ++dim) {
      position += at[dim] * scale;
      scale *= counts[dim];
      int64_t index =
          start[dim] + int64_t(at[dim]) * (dim ? map.elementStrides[dim] : 1);
      inside &= 0 <= index && index < int64_t(map.extents[dim]);
      address += index * map.strides[dim];
    }
    // "Swizzling modes": unit x of row y, rows as wide as the swizzle, is where
    // unit x xor y, y / 2 or y / 4 would be without.
    uint32_t shared = target + position * map.elementBytes;
    if (map.swizzle) {
      uint32_t y = shared / map.swizzle, x = shared % map.swizzle / 16;
      uint32_t units = map.swizzle / 16;
      x ^= y / (8 / units) % units;
      shared = y * map.swizzle + x * 16 + shared % 16;
    }
    visit(shared, inside ? address : 0);

    unsigned dim = 0;
    while (dim < map.rank && ++at[dim] == counts[dim])
      at[dim++] = 0;
    if (dim == map.rank)
      return;
  }
}

std::vector<int32_t> drawStart(std::mt19937 &random, const TensorMap &map,
                               bool negative) {
  std::vector<int32_t> start;
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    unsigned unit = dim ? 1 : 16 / map.elementBytes;
    int32_t most = int32_t(map.extents[dim] / unit) + 2;
    int32_t least = negative ? -int32_t(map.box[dim] / unit) - 1 : 0;
    start.push_back((least + int32_t(random() % (most - least))) *
                    int32_t(unit));
  }
  return start;
}

constexpr unsigned kSwizzles[] = {0, 32, 64, 128};

TEST(Copies, TensorLoadsFillWhatIsOutside) {
  std::mt19937 random(5);
  for (unsigned i = 0; i < 400; ++i) {
    Tensor tensor = makeTensor(random, 1 + i % 5, 1 << i % 4,
                               kSwizzles[i / 4 % 4], /*wholeUnits=*/false);
    std::vector<int32_t> start = drawStart(random, tensor.map, true);
    uint32_t target = kBase + 128 * (random() % 16);
    SharedMemory shared(kSharedBytes);
    std::memset(shared.at(kBase), 0xEE, kSharedBytes);
    SharedMemory expected = shared;
    uint32_t bytes = 0;
    visitElements(tensor.map, start, target, [&](uint32_t to, uint64_t from) {
      unsigned count = tensor.map.elementBytes;
      bytes += count;
      if (from)
        std::memcpy(expected.at(to), GlobalMemory::at(from), count);
      else
        std::memset(expected.at(to), 0, count);
    });

    llvm::SmallVector<CopyPart> parts;
    auto fault = tensorLoad(shared, tensor.getMemory(), tensor.map, start,
                            target, parts);
    ASSERT_FALSE(fault) << fault->text;
    std::shuffle(parts.begin(), parts.end(), random);
    for (const CopyPart &part : parts) {
      bytes -= part.to.bytes;
      copyPart(shared, part);
    }
    ASSERT_EQ(bytes, 0u);
    ASSERT_EQ(std::memcmp(shared.at(kBase), expected.at(kBase), kSharedBytes),
              0)
        << i;
  }
}

TEST(Copies, TensorStoresDropWhatIsOutside) {
  std::mt19937 random(6);
  for (unsigned i = 0; i < 400; ++i) {
    Tensor tensor = makeTensor(random, 1 + i % 5, 1 << i % 4,
                               kSwizzles[i / 4 % 4], /*wholeUnits=*/true);
    std::vector<int32_t> start = drawStart(random, tensor.map, false);
    uint32_t source = kBase + 128 * (random() % 16);
    SharedMemory shared(kSharedBytes);
    for (uint32_t at = 0; at < kSharedBytes; ++at)
      *shared.at(kBase + at) = uint8_t(random());
    std::vector<uint8_t> expected = tensor.storage;
    visitElements(tensor.map, start, source, [&](uint32_t from, uint64_t to) {
      if (to)
        std::memcpy(expected.data() + (to - reinterpret_cast<uint64_t>(
                                                tensor.storage.data())),
                    shared.at(from), tensor.map.elementBytes);
    });

    llvm::SmallVector<CopyPart> parts;
    auto fault = tensorStore(shared, tensor.getMemory(), tensor.map, start,
                             source, parts);
    ASSERT_FALSE(fault) << fault->text;
    std::shuffle(parts.begin(), parts.end(), random);
    for (const CopyPart &part : parts)
      copyPart(shared, part);
    ASSERT_EQ(tensor.storage, expected) << i;
  }
}

// A part is as long as it can be, so that there are few.
TEST(Copies, UnitsOfALineAreOnePart) {
  std::vector<uint8_t> storage(4096 + 16);
  TensorMap map;
  map.address = (reinterpret_cast<uint64_t>(storage.data()) + 15) / 16 * 16;
  map.rank = 2;
  map.elementBytes = 2;
  map.extents = {64, 32};
  map.strides = {2, 128};
  map.box = {64, 4};
  GlobalMemory global({{map.address, map.address + 4096, "T"}});
  SharedMemory shared(4096);
  llvm::SmallVector<CopyPart> parts;
  ASSERT_FALSE(tensorLoad(shared, global, map, {0, 30}, kBase, parts));
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].from.bytes, 128u);
  EXPECT_EQ(parts[2].from.bytes, 0u);
  EXPECT_EQ(parts[2].to.bytes, 128u);
}

TEST(Copies, TensorLoadsRoundToTF32) {
  alignas(16) float source[4] = {1 + 0x1p-11f, 1 + 0x3p-11f, -3.14159265f,
                                 1e-40f};
  TensorMap map;
  map.address = reinterpret_cast<uint64_t>(source);
  map.rank = 1;
  map.elementBytes = 4;
  map.extents = {4};
  map.strides = {4};
  map.box = {8};
  map.roundsToTF32 = true;
  GlobalMemory global({{map.address, map.address + 16, "T"}});
  SharedMemory shared(1024);
  std::memset(shared.at(kBase), 0xEE, 1024);
  llvm::SmallVector<CopyPart> parts;
  ASSERT_FALSE(tensorLoad(shared, global, map, {0}, kBase, parts));
  for (const CopyPart &part : parts)
    copyPart(shared, part);
  float result[8];
  std::memcpy(result, shared.at(kBase), sizeof(result));
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[1], 1 + 0x1p-9f);
  EXPECT_EQ(result[2], decodeTF32(encodeFloat(source[2], kTF32)));
  EXPECT_EQ(result[3], decodeTF32(encodeFloat(source[3], kTF32)));
  EXPECT_NE(result[3], 0);
  EXPECT_EQ(result[4], 0);
}

TEST(Copies, RefusesBoxesThatTheEngineCannotDo) {
  std::vector<uint8_t> storage(8192 + 16);
  uint64_t begin = (reinterpret_cast<uint64_t>(storage.data()) + 15) / 16 * 16;
  GlobalMemory global({{begin, begin + 8192, "T"}});
  SharedMemory shared(8192);
  auto getFault = [&](bool store, auto change) -> std::string {
    TensorMap map;
    map.address = begin;
    map.rank = 2;
    map.elementBytes = 4;
    map.extents = {16, 16};
    map.strides = {4, 64};
    map.box = {16, 8};
    map.swizzle = 64;
    llvm::SmallVector<int32_t> start = {0, 0};
    uint32_t address = kBase;
    change(map, start, address);
    llvm::SmallVector<CopyPart> parts;
    auto fault = store ? tensorStore(shared, global, map, start, address, parts)
                       : tensorLoad(shared, global, map, start, address, parts);
    if (!fault)
      return "none";
    return fault->kind == Fault::Kind::OutOfBounds ? "bounds" : fault->text;
  };
  using Start = llvm::SmallVector<int32_t>;
  auto getLoadFault = [&](auto change) { return getFault(false, change); };
  auto getStoreFault = [&](auto change) { return getFault(true, change); };
  auto keep = [](TensorMap &, Start &, uint32_t &) {};
  EXPECT_EQ(getLoadFault(keep), "none");
  EXPECT_EQ(getStoreFault(keep), "none");

  EXPECT_EQ(getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.rank = 0; }),
            "there is no tensor map; an empty tensor has none");
  EXPECT_EQ(
      getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.extents[1] = 0; }),
      "there is no tensor map of an empty tensor");
  EXPECT_EQ(
      getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.address += 8; }),
      "a tensor map's tensor must begin at a multiple of 16 bytes");
  EXPECT_EQ(
      getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.box[0] = 6; }),
      "the lines of a tensor map's box must be a multiple of 16 bytes");
  EXPECT_EQ(
      getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.box[0] = 20; }),
      "the lines of a tensor map's box are longer than its swizzle");
  EXPECT_EQ(
      getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.box[1] = 257; }),
      "a tensor map's box has 1 to 256 elements in each dimension");
  EXPECT_EQ(getLoadFault(
                [](TensorMap &m, Start &, uint32_t &) { m.strides[1] = 72; }),
            "a tensor map's strides must be multiples of 16 bytes below 2^40");
  EXPECT_EQ(getLoadFault([](TensorMap &m, Start &, uint32_t &) {
              m.extents[1] = 1, m.strides[1] = 72;
            }),
            "none");
  EXPECT_EQ(getLoadFault([](TensorMap &m, Start &, uint32_t &) {
              m.elementStrides[1] = 9;
            }),
            "a tensor map's element strides are 1 to 8");
  EXPECT_EQ(
      getLoadFault([](TensorMap &, Start &s, uint32_t &) { s.pop_back(); }),
      "a tensor copy has a coordinate for each dimension of its tensor map");
  // As on an H200.
  EXPECT_EQ(getLoadFault([](TensorMap &, Start &s, uint32_t &) { s[0] = -1; }),
            "the box of a tensor copy must begin at a multiple of 16 bytes of "
            "a row");
  EXPECT_EQ(getLoadFault([](TensorMap &, Start &s, uint32_t &) { s[0] = -4; }),
            "none");
  EXPECT_EQ(getStoreFault([](TensorMap &, Start &s, uint32_t &) { s[1] = -1; }),
            "the box of a tensor store may not begin before its tensor");
  EXPECT_EQ(
      getStoreFault(
          [](TensorMap &m, Start &, uint32_t &) { m.extents[0] = 6; }),
      "a tensor store writes units of 16 bytes, and goes over the end of a row "
      "that ends inside of one");
  EXPECT_EQ(
      getLoadFault([](TensorMap &m, Start &, uint32_t &) { m.extents[0] = 6; }),
      "none");
  EXPECT_EQ(getLoadFault([](TensorMap &, Start &, uint32_t &a) { a += 64; }),
            "the box of a tensor copy must begin at a multiple of 128 bytes of "
            "shared memory");
  EXPECT_EQ(getLoadFault([](TensorMap &, Start &, uint32_t &a) { a += 7808; }),
            "bounds");
  // The map says more than there is.
  EXPECT_EQ(getLoadFault([](TensorMap &m, Start &s, uint32_t &) {
              m.extents[1] = 200, s[1] = 124;
            }),
            "bounds");
}

TEST(Copies, CopyAsyncFillsWhatItDoesNotRead) {
  alignas(16) uint8_t source[16];
  for (unsigned i = 0; i < 16; ++i)
    source[i] = uint8_t(i + 1);
  uint64_t from = reinterpret_cast<uint64_t>(source);
  GlobalMemory global({{from, from + 16, "T"}});
  for (unsigned bytes : {4, 8, 16})
    for (unsigned count = 0; count <= bytes; ++count) {
      SharedMemory shared(64);
      std::memset(shared.at(kBase), 0xEE, 64);
      CopyPart part;
      ASSERT_FALSE(copyAsync(shared, global, kBase + bytes, count ? from : 3,
                             bytes, count, part));
      EXPECT_EQ(part.to.bytes, bytes);
      EXPECT_EQ(part.from.bytes, count);
      copyPart(shared, part);
      for (unsigned i = 0; i < 64; ++i) {
        unsigned at = i - bytes;
        uint8_t expected = i < bytes || i >= 2 * bytes ? 0xEE
                           : at < count                ? source[at]
                                                       : 0;
        ASSERT_EQ(*shared.at(kBase + i), expected);
      }
    }
}

TEST(Copies, CopyAsyncMustBeAlignedAndThere) {
  alignas(16) uint8_t source[32] = {};
  uint64_t from = reinterpret_cast<uint64_t>(source);
  GlobalMemory global({{from, from + 32, "T"}});
  SharedMemory shared(64);
  CopyPart part;
  auto getFault = [&](uint32_t target, uint64_t source, unsigned bytes,
                      unsigned count) -> std::optional<Fault::Kind> {
    auto fault = copyAsync(shared, global, target, source, bytes, count, part);
    return fault ? std::optional(fault->kind) : std::nullopt;
  };
  EXPECT_EQ(getFault(kBase, from, 16, 16), std::nullopt);
  EXPECT_EQ(getFault(kBase, from, 12, 12), Fault::Kind::Invalid);
  EXPECT_EQ(getFault(kBase, from, 8, 9), Fault::Kind::Invalid);
  EXPECT_EQ(getFault(kBase + 8, from, 16, 16), Fault::Kind::Misaligned);
  EXPECT_EQ(getFault(kBase, from + 4, 8, 8), Fault::Kind::Misaligned);
  EXPECT_EQ(getFault(kBase + 64, from, 4, 4), Fault::Kind::OutOfBounds);
  EXPECT_EQ(getFault(kBase, from + 32, 4, 4), Fault::Kind::OutOfBounds);
  EXPECT_EQ(getFault(kBase, from + 16, 16, 16), std::nullopt);
}

} // namespace
