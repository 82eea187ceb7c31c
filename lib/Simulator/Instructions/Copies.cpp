//===- Copies.cpp - cp.async and tensor copies ----------------------------===//
//
// A tensor copy is one of a box, whose innermost dimension is a *line*: lines
// lie one after another in shared memory, each element beside the next, and
// addresses are swizzled (PTX ISA, "Tensors"; CUDA driver API,
// `cuTensorMapEncodeTiled`). In device memory a line is a part of a row of the
// tensor, or outside of it.
//
// Some rules are in no manual, and were found on an H200: a box has to begin at
// a multiple of 16 bytes of a row, and that of a store not before its tensor;
// and what a store does not write ends at a multiple of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include <algorithm>
#include <cstring>

using namespace tl::sim;

/// What the copy engine moves, and a swizzle exchanges.
static constexpr unsigned kUnit = 16;
static constexpr unsigned kBoxAlignment = 128;
static constexpr unsigned kMostElements = 256;
static constexpr unsigned kMostStride = 8;

static Fault makeFault(Fault::Kind kind, Span span, const char *text) {
  return {kind, span, 0, text};
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

std::optional<Fault> tl::sim::copyAsync(const SharedMemory &shared,
                                        const GlobalMemory &global,
                                        uint32_t target, uint64_t source,
                                        unsigned bytes, unsigned sourceBytes,
                                        CopyPart &part) {
  Span to{Space::Shared, target, bytes};
  Span from{Space::Global, source, sourceBytes};
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return makeFault(Fault::Kind::Invalid, to,
                     "cp.async copies 4, 8 or 16 bytes");
  if (sourceBytes > bytes)
    return makeFault(Fault::Kind::Invalid, from,
                     "cp.async reads more bytes than it writes");
  if (target % bytes != 0)
    return makeFault(Fault::Kind::Misaligned, to,
                     "cp.async writes to a multiple of its bytes");
  if (!shared.contains(target, bytes))
    return makeFault(Fault::Kind::OutOfBounds, to, "");
  // Nothing is read where nothing is to be read.
  if (sourceBytes != 0 && source % bytes != 0)
    return makeFault(Fault::Kind::Misaligned, from,
                     "cp.async reads from a multiple of its bytes");
  if (sourceBytes != 0 && !global.contains(source, sourceBytes))
    return makeFault(Fault::Kind::OutOfBounds, from, "");
  part = {from, to};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {

/// A box of a tensor, and where it is in shared memory.
class Box {
public:
  Box(const TensorMap &map, llvm::ArrayRef<int32_t> start, uint32_t target)
      : map(map), start(start), target(target),
        lineBytes(map.box[0] * map.elementBytes) {
    for (unsigned dim = 1; dim < map.rank; ++dim)
      lines *= getCount(dim);
  }

  uint64_t getBytes() const { return lines * lineBytes; }

  /// Calls `visit` with each unit of each line: its bytes in shared memory, and
  /// where its first `inside` bytes are in device memory.
  template <typename Visitor>
  void visitUnits(Visitor visit) const {
    for (uint64_t line = 0; line < lines; ++line) {
      std::optional<uint64_t> rowAddress = getRowAddress(line);
      int64_t offset = int64_t(start[0]) * map.elementBytes;
      int64_t rowBytes = int64_t(map.extents[0]) * map.elementBytes;
      for (unsigned byte = 0; byte < lineBytes; byte += kUnit) {
        int64_t at = offset + byte;
        int64_t inside = 0;
        if (rowAddress && at >= 0)
          inside = std::clamp<int64_t>(rowBytes - at, 0, kUnit);
        visit(swizzle(target + uint32_t(line) * lineBytes + byte),
              inside ? *rowAddress + at : 0, unsigned(inside),
              /*beginsLine=*/byte == 0);
      }
    }
  }

private:
  /// Elements of a dimension that are copied.
  uint32_t getCount(unsigned dim) const {
    uint32_t stride = map.elementStrides[dim];
    return (map.box[dim] + stride - 1) / stride;
  }

  /// The address of the row that a line is in; none if it is outside.
  std::optional<uint64_t> getRowAddress(uint64_t line) const {
    uint64_t address = map.address;
    for (unsigned dim = 1; dim < map.rank; ++dim) {
      int64_t index =
          start[dim] + int64_t(line % getCount(dim)) * map.elementStrides[dim];
      line /= getCount(dim);
      if (index < 0 || uint64_t(index) >= map.extents[dim])
        return std::nullopt;
      address += uint64_t(index) * map.strides[dim];
    }
    return address;
  }

  /// PTX ISA, "Swizzling modes": bits 4 and up of an address are exchanged by
  /// as many from bit 7 on.
  uint32_t swizzle(uint32_t address) const {
    uint32_t mask = map.swizzle ? map.swizzle / kUnit - 1 : 0;
    return address ^ (address >> 7 & mask) << 4;
  }

  const TensorMap &map;
  llvm::ArrayRef<int32_t> start;
  uint32_t target;
  unsigned lineBytes;
  uint64_t lines = 1;
};

} // namespace

/// What `cuTensorMapEncodeTiled` would refuse, or null.
static const char *checkMap(const TensorMap &map) {
  if (map.rank == 0 || map.rank > TensorMap::kMaxRank)
    return "there is no tensor map; an empty tensor has none";
  if (map.address % kUnit != 0)
    return "a tensor map's tensor must begin at a multiple of 16 bytes";
  unsigned inner = map.box[0] * map.elementBytes;
  if (inner % kUnit != 0)
    return "the lines of a tensor map's box must be a multiple of 16 bytes";
  if (map.swizzle && inner > map.swizzle)
    return "the lines of a tensor map's box are longer than its swizzle";
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    if (map.extents[dim] == 0)
      return "there is no tensor map of an empty tensor";
    if (map.box[dim] == 0 || map.box[dim] > kMostElements)
      return "a tensor map's box has 1 to 256 elements in each dimension";
    if (dim == 0)
      continue;
    // The stride of a single element has no meaning.
    if (map.extents[dim] != 1 &&
        (map.strides[dim] % kUnit != 0 || map.strides[dim] >> 40))
      return "a tensor map's strides must be multiples of 16 bytes below 2^40";
    if (map.elementStrides[dim] == 0 || map.elementStrides[dim] > kMostStride)
      return "a tensor map's element strides are 1 to 8";
  }
  return nullptr;
}

static std::optional<Fault> checkCopy(const SharedMemory &shared,
                                      const TensorMap &map,
                                      llvm::ArrayRef<int32_t> coordinates,
                                      uint32_t address) {
  Span span{Space::Shared, address, 0};
  if (const char *text = checkMap(map))
    return makeFault(Fault::Kind::Invalid, span, text);
  if (coordinates.size() != map.rank)
    return makeFault(Fault::Kind::Invalid, span,
                     "a tensor copy has a coordinate for each dimension of its "
                     "tensor map");
  if (int64_t(coordinates[0]) * map.elementBytes % kUnit != 0)
    return makeFault(Fault::Kind::Invalid, span,
                     "the box of a tensor copy must begin at a multiple of 16 "
                     "bytes of a row");
  span.bytes = uint32_t(Box(map, coordinates, address).getBytes());
  if (address % kBoxAlignment != 0)
    return makeFault(Fault::Kind::Misaligned, span,
                     "the box of a tensor copy must begin at a multiple of 128 "
                     "bytes of shared memory");
  if (!shared.contains(address, span.bytes))
    return makeFault(Fault::Kind::OutOfBounds, span, "");
  return std::nullopt;
}

/// Adds a part, or makes the last one of the same line longer by it.
static void addPart(llvm::SmallVectorImpl<CopyPart> &parts, bool beginsLine,
                    const CopyPart &part) {
  if (!beginsLine && !parts.empty()) {
    CopyPart &last = parts.back();
    auto follows = [](const Span &a, const Span &b) {
      return a.address + a.bytes == b.address;
    };
    bool bothEmpty = last.from.bytes == 0 && part.from.bytes == 0;
    bool bothMoved = last.from.bytes == last.to.bytes && part.from.bytes != 0 &&
                     follows(last.from, part.from);
    if (follows(last.to, part.to) && (bothEmpty || bothMoved)) {
      last.from.bytes += part.from.bytes;
      last.to.bytes += part.to.bytes;
      return;
    }
  }
  parts.push_back(part);
}

std::optional<Fault>
tl::sim::tensorLoad(const SharedMemory &shared, const GlobalMemory &global,
                    const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                    uint32_t target, llvm::SmallVectorImpl<CopyPart> &parts) {
  if (auto fault = checkCopy(shared, map, coordinates, target))
    return fault;
  std::optional<Fault> fault;
  Box(map, coordinates, target)
      .visitUnits([&](uint32_t address, uint64_t source, unsigned inside,
                      bool beginsLine) {
        Span from{Space::Global, source, inside};
        if (inside && !fault && !global.contains(source, inside))
          fault = makeFault(Fault::Kind::OutOfBounds, from, "");
        addPart(parts, beginsLine,
                {from, {Space::Shared, address, kUnit}, map.roundsToTF32});
      });
  return fault;
}

std::optional<Fault>
tl::sim::tensorStore(const SharedMemory &shared, const GlobalMemory &global,
                     const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                     uint32_t source, llvm::SmallVectorImpl<CopyPart> &parts) {
  if (auto fault = checkCopy(shared, map, coordinates, source))
    return fault;
  if (llvm::any_of(coordinates, [](int32_t at) { return at < 0; }))
    return makeFault(Fault::Kind::Invalid, {Space::Shared, source, 0},
                     "the box of a tensor store may not begin before its "
                     "tensor");
  std::optional<Fault> fault;
  Box(map, coordinates, source)
      .visitUnits([&](uint32_t address, uint64_t target, unsigned inside,
                      bool beginsLine) {
        if (inside == 0)
          return;
        Span to{Space::Global, target, inside};
        if (fault)
          return;
        if (inside != kUnit)
          fault = makeFault(Fault::Kind::Invalid, to,
                            "a tensor store writes units of 16 bytes, and goes "
                            "over the end of a row that ends inside of one");
        else if (!global.contains(target, inside))
          fault = makeFault(Fault::Kind::OutOfBounds, to, "");
        addPart(parts, beginsLine, {{Space::Shared, address, inside}, to});
      });
  return fault;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static uint8_t *getBytes(SharedMemory &shared, const Span &span) {
  return span.space == Space::Shared ? shared.at(span.address)
                                     : GlobalMemory::at(span.address);
}

/// To nearest, ties to even (PTX ISA, "Tensor Dimension, size and format").
static void roundToTF32(uint8_t *bytes, unsigned count) {
  for (unsigned i = 0; i < count; i += sizeof(float)) {
    float value;
    std::memcpy(&value, bytes + i, sizeof(float));
    uint32_t rounded = encodeFloat(value, kTF32);
    std::memcpy(bytes + i, &rounded, sizeof(float));
  }
}

void tl::sim::copyPart(SharedMemory &shared, const CopyPart &part) {
  uint8_t *to = getBytes(shared, part.to);
  if (part.from.bytes)
    std::memcpy(to, getBytes(shared, part.from), part.from.bytes);
  std::memset(to + part.from.bytes, 0, part.to.bytes - part.from.bytes);
  if (part.roundsToTF32)
    roundToTF32(to, part.from.bytes);
}
