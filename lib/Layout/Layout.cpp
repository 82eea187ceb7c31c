//===- Layout.cpp - Functions from coordinates to offsets -----------------===//
//
// The class `Layout` itself; the operations on layouts are in Algebra.cpp.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace llvm;
using namespace tl::layout;

Layout::Layout(IntTuple shape, IntTuple stride)
    : shape(std::move(shape)), stride(std::move(stride)) {
  assert(this->shape.isCongruent(this->stride) &&
         "a layout needs a stride for each extent");
}

/// Why the trees are not a layout; empty if they are.
static StringRef findFault(const IntTuple &shape, const IntTuple &stride) {
  if (!shape.isCongruent(stride))
    return "shape and stride differ in profile";
  int64_t size = 1, last = 0;
  for (auto [extent, step] : zip_equal(shape.getLeaves(), stride.getLeaves())) {
    if (extent < 1)
      return "extents must be positive";
    if (step < 0)
      return "strides must not be negative";
    int64_t reach;
    if (MulOverflow(size, extent, size) ||
        MulOverflow(extent - 1, step, reach) || AddOverflow(last, reach, last))
      return "sizes and offsets must fit in 64 bits";
  }
  // The cosize is one more than the last offset.
  if (last == INT64_MAX)
    return "sizes and offsets must fit in 64 bits";
  return "";
}

Expected<Layout> Layout::get(IntTuple shape, IntTuple stride) {
  StringRef fault = findFault(shape, stride);
  if (!fault.empty())
    return createStringError("`" + shape.str() + ":" + stride.str() +
                             "` is not a layout: " + fault);
  return Layout(std::move(shape), std::move(stride));
}

/// Strides without gaps that continue from `next`, which moves on.
static IntTuple compactStrides(const IntTuple &shape, bool lastFirst,
                               int64_t &next) {
  if (shape.isLeaf()) {
    int64_t stride = next;
    next *= shape.getValue();
    return stride;
  }
  SmallVector<IntTuple> strides(shape.getRank());
  for (int64_t i = 0, rank = shape.getRank(); i < rank; ++i) {
    int64_t mode = lastFirst ? rank - 1 - i : i;
    strides[mode] = compactStrides(shape[mode], lastFirst, next);
  }
  return IntTuple::list(strides);
}

Layout Layout::columnMajor(const IntTuple &shape) {
  int64_t next = 1;
  return Layout(shape, compactStrides(shape, /*lastFirst=*/false, next));
}

Layout Layout::rowMajor(const IntTuple &shape) {
  int64_t next = 1;
  return Layout(shape, compactStrides(shape, /*lastFirst=*/true, next));
}

std::vector<Layout> Layout::getModes() const {
  std::vector<Layout> modes;
  for (auto [extent, step] : zip_equal(shape.getModes(), stride.getModes()))
    modes.emplace_back(extent, step);
  return modes;
}

int64_t Layout::getCosize() const {
  int64_t last = 0;
  for (auto [extent, step] : zip_equal(shape.getLeaves(), stride.getLeaves()))
    last += (extent - 1) * step;
  return last + 1;
}

int64_t Layout::operator()(int64_t index) const {
  assert(index >= 0 && "layouts have no negative indices");
  SmallVector<int64_t> extents = shape.getLeaves();
  SmallVector<int64_t> strides = stride.getLeaves();
  if (extents.empty())
    return 0;
  int64_t offset = 0;
  for (auto [extent, step] : zip(ArrayRef(extents).drop_back(), strides)) {
    offset += index % extent * step;
    index /= extent;
  }
  return offset + index * strides.back();
}

int64_t Layout::operator()(const IntTuple &coordinate) const {
  if (coordinate.isLeaf())
    return (*this)(coordinate.getValue());
  assert(!shape.isLeaf() && coordinate.getRank() == getRank() &&
         "the coordinate must have the profile of the shape");
  int64_t offset = 0;
  for (int64_t mode = 0, rank = getRank(); mode < rank; ++mode)
    offset += (*this)[mode](coordinate[mode]);
  return offset;
}

void Layout::print(raw_ostream &os) const { os << shape << ":" << stride; }

std::string Layout::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

hash_code tl::layout::hash_value(const Layout &layout) {
  return hash_combine(layout.getShape(), layout.getStride());
}

raw_ostream &tl::layout::operator<<(raw_ostream &os, const Layout &layout) {
  layout.print(os);
  return os;
}
