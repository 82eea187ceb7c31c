//===- SharedLayout.cpp - Tiles in shared memory --------------------------===//
//
// See SharedLayout.h. Everything in a tile is computed from four numbers: rows,
// columns, columns of a panel, and bytes of an element.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/SharedLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tl::layout;

/// A swizzle repeats after 8 rows of its width (PTX ISA, "Tensor swizzling
/// modes").
static constexpr int64_t kPeriodRows = 8;
/// A destination of the bulk copy engine is a multiple of 128 bytes (PTX ISA,
/// "cp.async.bulk.tensor").
static constexpr int64_t kBulkAlignment = 128;
/// Matrix descriptors see their base as one of 1024 bytes.
static constexpr int64_t kSwizzledAlignment = 1024;

SharedLayout::SharedLayout(ArrayRef<int64_t> shape, int64_t elementBytes,
                           int64_t swizzle, int64_t chunk, int64_t slotDims)
    : shape(shape), elementBytes(elementBytes), swizzle(swizzle), chunk(chunk),
      slotDims(slotDims),
      rows(shape.empty() ? 1
                         : product_of(shape.drop_front(slotDims).drop_back(),
                                      int64_t(1))),
      columns(shape.empty() ? 1 : shape.back()) {
  assert((shape.empty() || slotDims < static_cast<int64_t>(shape.size())) &&
         "a tile has columns");
}

int64_t SharedLayout::chooseSwizzle(ArrayRef<int64_t> shape,
                                    int64_t elementBytes) {
  if (shape.size() < 2 ||
      product_of(shape.drop_back(), int64_t(1)) % kPeriodRows != 0)
    return 0;
  for (int64_t swizzle : {128, 64, 32})
    if (shape.back() * elementBytes % swizzle == 0)
      return swizzle;
  return 0;
}

LogicalResult SharedLayout::verify(std::string &why) const {
  if (chunk < 1 || columns % chunk != 0) {
    why = "rows of " + std::to_string(columns) +
          " elements cannot be cut into panels of " + std::to_string(chunk);
    return failure();
  }
  if (swizzle == 0 && chunk != columns &&
      rows * getRowBytes() % kBulkAlignment != 0) {
    why = "a panel of " + std::to_string(rows) + " rows of " +
          std::to_string(getRowBytes()) +
          " bytes is not a whole number of units of 128 bytes, at which the "
          "bulk copy engine writes";
    return failure();
  }
  if (swizzle != 0 && (getRowBytes() != swizzle || rows % kPeriodRows != 0)) {
    why = "a panel of " + std::to_string(rows) + " rows of " +
          std::to_string(getRowBytes()) +
          " bytes is not a whole number of periods of a swizzle of " +
          std::to_string(swizzle) + " bytes";
    return failure();
  }
  return success();
}

int64_t SharedLayout::getAlignment() const {
  return swizzle ? kSwizzledAlignment : kBulkAlignment;
}

int64_t SharedLayout::align(int64_t bytes) const {
  return alignTo(bytes, swizzle ? kPeriodRows * swizzle : kBulkAlignment);
}

int64_t SharedLayout::getBytes() const {
  if (isTile())
    return getTileBytes();
  return product_of(ArrayRef(shape).take_front(slotDims),
                    align(getTileBytes()));
}

SmallVector<SharedLayout::Term> SharedLayout::getTerms() const {
  SmallVector<Term> terms;
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  if (last < 0)
    return terms;
  if (chunk < columns) {
    terms.push_back({last, chunk, 0, getPanelBytes()});
    terms.push_back({last, 1, chunk, elementBytes});
  } else {
    terms.push_back({last, 1, 0, elementBytes});
  }
  int64_t bytes = getRowBytes();
  for (int64_t dim = last - 1; dim >= 0; --dim) {
    if (dim + 1 == slotDims)
      bytes = align(getTileBytes());
    terms.push_back({dim, 1, 0, bytes});
    bytes *= shape[dim];
  }
  return terms;
}

int64_t SharedLayout::getOffset(ArrayRef<int64_t> coordinates) const {
  int64_t offset = 0;
  for (Term term : getTerms()) {
    int64_t digit = coordinates[term.dim] / term.divisor;
    offset += (term.extent ? digit % term.extent : digit) * term.bytes;
  }
  return offset ^ (offset / 8 & getSwizzleMask());
}

std::optional<SmallVector<int64_t>>
SharedLayout::getCoordinates(int64_t offset) const {
  int64_t slots = product_of(ArrayRef(shape).take_front(slotDims), int64_t(1));
  int64_t tileBytes = getTileBytes(),
          stride = isTile() ? tileBytes : align(tileBytes);
  if (offset < 0 || offset >= slots * stride || offset % stride >= tileBytes)
    return std::nullopt;
  int64_t slot = offset / stride;
  // The bits that the swizzle looks at are none of those that it changes.
  int64_t inTile = offset % stride;
  inTile ^= inTile / 8 & getSwizzleMask();
  int64_t inPanel = inTile % getPanelBytes();
  int64_t column =
      inTile / getPanelBytes() * chunk + inPanel % getRowBytes() / elementBytes;
  SmallVector<int64_t> coordinates(shape.size());
  int64_t row = slot * rows + inPanel / getRowBytes();
  for (size_t dim = shape.size(); dim-- > 0;) {
    int64_t &rest = dim + 1 == shape.size() ? column : row;
    coordinates[dim] = rest % shape[dim];
    rest /= shape[dim];
  }
  return coordinates;
}

SmallVector<int64_t> SharedLayout::getBox() const {
  assert(isTile() && "slots are boxes of their own");
  SmallVector<int64_t> box = {chunk};
  if (!shape.empty())
    append_range(box, reverse(ArrayRef(shape).drop_back()));
  return box;
}

int64_t SharedLayout::getColumnOffset(int64_t column) const {
  int64_t bytes = column * elementBytes;
  return bytes / getRowBytes() * getPanelBytes() + bytes % getRowBytes();
}

uint64_t SharedLayout::getMatrixDescriptor(bool kMajor) const {
  // Leading byte offset: from panel to panel; ignored where K is contiguous.
  uint64_t leading = kMajor ? 1 : getPanelBytes() >> 4;
  // Stride byte offset: from 8 rows to the next 8.
  uint64_t stride = kPeriodRows * getRowBytes() >> 4;
  uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  return leading << 16 | stride << 32 | mode << 62;
}
