//===- FragmentRelations.cpp - Layouts that follow from others ------------===//
//
// See FragmentRelations.h. Layouts are related mode by mode: each moves along
// one dimension of one tile, which is a dimension of the other, or none.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/FragmentRelations.h"
#include "Moves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>

using namespace llvm;
using namespace tl::layout;

static constexpr int64_t kWarp = 32;

FragmentLayout tl::layout::selectDims(const FragmentLayout &layout,
                                      ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> shape = layout.getShape();
  SmallVector<int64_t> newShape = map_to_vector(
      dims, [&](int64_t dim) { return dim < 0 ? 1 : shape[dim]; });
  SmallVector<int64_t> strides = rowMajorStrides(newShape);
  // Zero for a mode that moves along a dimension that is left out.
  auto translate = [&](FragmentMode mode) {
    std::optional<Move> move = findMove(shape, mode);
    const int64_t *position = move ? find(dims, move->dim) : dims.end();
    return FragmentMode{mode.extent,
                        position == dims.end()
                            ? 0
                            : move->step * strides[position - dims.begin()]};
  };
  SmallVector<FragmentMode> threads =
      map_to_vector(layout.getThreadModes(), translate);
  SmallVector<FragmentMode> values =
      map_to_vector(layout.getValueModes(), translate);
  erase_if(values, [](FragmentMode mode) { return mode.stride == 0; });
  return FragmentLayout(newShape, threads, values);
}

FragmentLayout tl::layout::cropDims(const FragmentLayout &layout,
                                    ArrayRef<int64_t> extents) {
  ArrayRef<int64_t> shape = layout.getShape();
  // Where threads go, all values before them stay.
  SmallVector<int64_t> wanted(extents);
  for (FragmentMode mode : layout.getThreadModes())
    if (std::optional<Move> move = findMove(shape, mode))
      wanted[move->dim] = std::max(wanted[move->dim], move->step * mode.extent);
  SmallVector<int64_t> newShape(shape.size(), 1);
  auto hold = [&](Move move, int64_t extent) {
    newShape[move.dim] = std::max(newShape[move.dim], move.step * extent);
  };
  SmallVector<std::pair<FragmentMode, Move>> values;
  for (FragmentMode mode : layout.getValueModes()) {
    Move move = *findMove(shape, mode);
    if (move.step >= wanted[move.dim])
      continue;
    mode.extent =
        std::min(mode.extent, int64_t(divideCeil(wanted[move.dim], move.step)));
    hold(move, mode.extent);
    values.push_back({mode, move});
  }
  for (FragmentMode mode : layout.getThreadModes())
    if (std::optional<Move> move = findMove(shape, mode))
      hold(*move, mode.extent);
  SmallVector<int64_t> strides = rowMajorStrides(newShape);
  auto threads = map_to_vector(layout.getThreadModes(), [&](FragmentMode mode) {
    std::optional<Move> move = findMove(shape, mode);
    return FragmentMode{mode.extent,
                        move ? move->step * strides[move->dim] : 0};
  });
  auto kept = map_to_vector(values, [&](auto &pair) {
    auto [mode, move] = pair;
    return FragmentMode{mode.extent, move.step * strides[move.dim]};
  });
  return FragmentLayout(newShape, threads, kept);
}

FragmentLayout tl::layout::extendDims(const FragmentLayout &layout,
                                      ArrayRef<int64_t> dims,
                                      ArrayRef<int64_t> extents,
                                      int64_t vectorWidth) {
  ArrayRef<int64_t> shape = layout.getShape();
  TileCover cover(extents);
  for (auto [dim, extent] : zip_equal(dims, shape)) {
    assert(extents[dim] <= extent && "the dimension must be held");
    cover.fixDim(dim, extent);
  }
  auto free = to_vector(
      make_filter_range(reverse(seq<int64_t>(0, extents.size())),
                        [&](int64_t dim) { return !is_contained(dims, dim); }));
  if (!free.empty() && free.front() + 1 == int64_t(extents.size())) {
    int64_t widest = PowerOf2Ceil(extents.back());
    cover.addValues(free.front(), std::min(vectorWidth, widest));
  }

  auto moved = [&](FragmentMode mode) {
    Move move = *findMove(shape, mode);
    return Move{dims[move.dim], move.step};
  };
  for (FragmentMode mode : layout.getThreadModes()) {
    if (mode.stride != 0) {
      cover.addThreads(mode.extent, moved(mode));
      continue;
    }
    // Powers of two, so that lanes can be combined by shuffles.
    int64_t copies = mode.extent;
    for (int64_t dim : free) {
      int64_t wanted = PowerOf2Ceil(cover.remaining(dim));
      int64_t extent = std::min(wanted, copies & -copies);
      cover.addThreads(dim, extent);
      copies /= extent;
    }
    cover.addCopies(copies);
  }
  for (FragmentMode mode : layout.getValueModes())
    cover.addValues(mode.extent, moved(mode));
  for (int64_t dim : free)
    cover.addValues(dim, cover.remaining(dim));
  return cover.finish();
}

FragmentLayout tl::layout::getRows(ArrayRef<int64_t> shape) {
  SmallVector<FragmentMode> threads;
  int64_t stride = shape.back();
  for (int64_t extent : reverse(shape.drop_back())) {
    threads.push_back({extent, stride});
    stride *= extent;
  }
  return FragmentLayout(shape, threads, {{shape.back(), 1}});
}

/// Appends `mode`, which moves inside a dimension of `digits`, cut where it
/// goes from digit to digit; `dimStride` is the dimension's. False if it does
/// not move by whole digits.
static bool splitMode(FragmentMode mode, ArrayRef<int64_t> digits,
                      int64_t dimStride, SmallVectorImpl<FragmentMode> &modes) {
  int64_t unit = dimStride;
  for (int64_t digit : reverse(digits)) {
    int64_t end = unit * digit;
    if (mode.stride < end && mode.extent > 1) {
      if (mode.stride % unit != 0 || end % mode.stride != 0)
        return false;
      int64_t positions = std::min(mode.extent, end / mode.stride);
      if (mode.extent % positions != 0)
        return false;
      modes.push_back({positions, mode.stride});
      mode = {mode.extent / positions, mode.stride * positions};
    }
    unit = end;
  }
  return mode.extent == 1;
}

std::optional<FragmentLayout>
tl::layout::splitDims(const FragmentLayout &layout, const DimDigits &digits) {
  ArrayRef<int64_t> shape = layout.getShape();
  assert(digits.size() == shape.size() && "one list for each dimension");
  SmallVector<int64_t> newShape, strides = rowMajorStrides(shape);
  for (auto [extent, parts] : zip_equal(shape, digits)) {
    if (parts.size() == 1) {
      newShape.push_back(extent);
      continue;
    }
    if (product_of(parts, int64_t(1)) != extent)
      return std::nullopt;
    newShape.append(parts.begin(), parts.end());
  }
  // Row-major numbers of elements stay as they are, and so do strides.
  auto split = [&](ArrayRef<FragmentMode> modes)
      -> std::optional<SmallVector<FragmentMode>> {
    SmallVector<FragmentMode> result;
    for (FragmentMode mode : modes) {
      std::optional<Move> move = findMove(shape, mode);
      if (!move || digits[move->dim].size() == 1)
        result.push_back(mode);
      else if (!splitMode(mode, digits[move->dim], strides[move->dim], result))
        return std::nullopt;
    }
    return result;
  };
  auto threads = split(layout.getThreadModes());
  auto values = split(layout.getValueModes());
  if (!threads || !values)
    return std::nullopt;
  FragmentLayout result(newShape, *threads, *values);
  std::string why;
  return succeeded(result.verify(why)) ? std::optional(result) : std::nullopt;
}

std::optional<FragmentLayout> tl::layout::joinDims(const FragmentLayout &layout,
                                                   const DimDigits &digits) {
  ArrayRef<int64_t> shape = layout.getShape();
  SmallVector<int64_t> newShape;
  for (ArrayRef<int64_t> parts : digits) {
    ArrayRef<int64_t> held = shape.take_front(parts.size());
    shape = shape.drop_front(parts.size());
    if (parts.size() != 1 && held != parts)
      return std::nullopt;
    newShape.push_back(product_of(held, int64_t(1)));
  }
  assert(shape.empty() && "a dimension for each digit");
  return FragmentLayout(newShape, layout.getThreadModes(),
                        layout.getValueModes());
}

int64_t ReductionSteps::countGroups() const {
  int64_t count = 1;
  for (ThreadStep step : groups)
    count *= step.extent;
  return count;
}

ReductionSteps tl::layout::getReductionSteps(const FragmentLayout &layout,
                                             int64_t dim) {
  ReductionSteps result;
  bool wholeWarps = layout.numThreads() % kWarp == 0;
  for (ThreadStep step : splitSteps(layout.threadSteps(dim), kWarp)) {
    bool inWarp = step.divisor * step.extent <= kWarp &&
                  isPowerOf2_64(step.divisor) && isPowerOf2_64(step.extent);
    (wholeWarps && inWarp ? result.lanes : result.groups).push_back(step);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

SmallVector<ScanDigit> tl::layout::getScanDigits(const FragmentLayout &layout,
                                                 int64_t dim) {
  SmallVector<ScanDigit> digits;
  for (FragmentMode mode : layout.getValueModes())
    if (std::optional<Move> move = findMove(layout.getShape(), mode);
        move && move->dim == dim)
      digits.push_back({ScanDigit::Kind::Value, mode.extent, move->step, 1});
  ReductionSteps steps = getReductionSteps(layout, dim);
  for (ThreadStep lane : steps.lanes)
    digits.push_back(
        {ScanDigit::Kind::Lane, lane.extent, lane.step, lane.divisor});
  for (ThreadStep group : steps.groups)
    digits.push_back(
        {ScanDigit::Kind::Group, group.extent, group.step, group.divisor});
  sort(digits,
       [](const ScanDigit &a, const ScanDigit &b) { return a.step < b.step; });
  return digits;
}

int64_t tl::layout::countGroups(ArrayRef<ScanDigit> digits) {
  int64_t count = 1;
  for (const ScanDigit &digit : digits)
    if (digit.kind == ScanDigit::Kind::Group)
      count *= digit.extent;
  return count;
}

bool tl::layout::meetsOnce(ArrayRef<ScanDigit> digits) {
  return std::is_partitioned(digits.begin(), digits.end(),
                             [](const ScanDigit &digit) {
                               return digit.kind != ScanDigit::Kind::Group;
                             });
}

FragmentLayout tl::layout::getScanLayout(ArrayRef<int64_t> shape, int64_t dim,
                                         int64_t numThreads,
                                         int64_t vectorWidth) {
  int64_t lastDim = static_cast<int64_t>(shape.size()) - 1;
  int64_t length = shape[dim], rows = product_of(shape, int64_t(1)) / length;
  int64_t threads = numThreads & -numThreads, odd = numThreads / threads;
  int64_t lanes = numThreads % kWarp == 0 ? kWarp : 1;
  TileCover cover(shape);
  auto spreadRows = [&] {
    for (int64_t other = lastDim; other >= 0; --other)
      if (other != dim) {
        int64_t extent =
            std::min<int64_t>(PowerOf2Ceil(cover.remaining(other)), threads);
        cover.addThreads(other, extent);
        threads /= extent;
      }
  };
  // A thread's neighbours, and what else of `dim` it has, are below its threads
  // where shuffles do not reach these.
  if (dim == lastDim) {
    cover.addValues(dim, std::min<int64_t>(vectorWidth, PowerOf2Ceil(length)));
    int64_t share = std::max<int64_t>(
        lanes, threads / std::min<int64_t>(threads, PowerOf2Ceil(rows)));
    int64_t along = std::min<int64_t>(
        {share, threads, int64_t(PowerOf2Ceil(cover.remaining(dim)))});
    int64_t near = std::min(along, lanes);
    cover.addThreads(dim, near);
    cover.addValues(dim, divideCeil(cover.remaining(dim), along / near));
    cover.addThreads(dim, along / near);
    threads /= along;
    spreadRows();
  } else {
    constexpr int64_t fewest = 4;
    spreadRows();
    int64_t along =
        std::min<int64_t>(threads, PowerOf2Ceil(divideCeil(length, fewest)));
    cover.addValues(dim, divideCeil(length, along));
    cover.addThreads(dim, along);
    threads /= along;
  }
  cover.addCopies(threads);
  std::optional<int64_t> longest;
  for (int64_t other = 0; other <= lastDim; ++other)
    if (other != dim &&
        cover.remaining(other) > (longest ? cover.remaining(*longest) : 1))
      longest = other;
  if (longest)
    cover.addThreads(*longest, odd);
  else
    cover.addCopies(odd);
  for (int64_t other = lastDim; other >= 0; --other)
    cover.addValues(other, cover.remaining(other));
  return cover.finish();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// What `indices` make of a point of the loop, from `origin` on.
static SmallVector<int64_t> touched(ArrayRef<FragmentIndex> indices,
                                    ArrayRef<int64_t> point,
                                    ArrayRef<int64_t> origin) {
  SmallVector<int64_t> element;
  for (auto [index, start] : zip_equal(indices, origin))
    element.push_back((index.dim < 0 ? 0 : point[index.dim]) + index.position -
                      start);
  return element;
}

bool tl::layout::isOutside(const FragmentLayout &fragment,
                           ArrayRef<int64_t> element) {
  // Threads add numbers from zero on.
  for (auto [dim, at] : enumerate(element)) {
    if (at >= fragment.getShape()[dim])
      return true;
    int64_t most = 0;
    for (ThreadStep step : fragment.threadSteps(dim))
      most += (step.extent - 1) * step.step;
    if (at + most < 0)
      return true;
  }
  return false;
}

std::optional<SmallVector<int64_t>>
tl::layout::findRegisters(const FragmentLayout &loop,
                          const FragmentLayout &fragment,
                          ArrayRef<FragmentIndex> indices) {
  if (loop.numThreads() != fragment.numThreads())
    return std::nullopt;
  // What values must add to the thread's part of the coordinates: by the loop's
  // first value, which adds nothing of its own, the same in every thread.
  SmallVector<int64_t> rest =
      touched(indices, loop.threadOffset(0), fragment.threadOffset(0));
  for (int64_t thread = 1; thread < loop.numThreads(); ++thread)
    if (touched(indices, loop.threadOffset(thread),
                fragment.threadOffset(thread)) != rest)
      return std::nullopt;

  bool mayLeave = any_of(indices, [](FragmentIndex index) {
    return index.dim >= 0 && index.position != 0;
  });
  SmallVector<int64_t> registers;
  for (int64_t lane = 0; lane < loop.numValues(); ++lane) {
    SmallVector<int64_t> element = touched(indices, loop.valueOffset(lane),
                                           SmallVector<int64_t>(rest.size()));
    if (mayLeave && isOutside(fragment, element)) {
      registers.push_back(-1);
      continue;
    }
    std::optional<FragmentLayout::Owner> owner = fragment.findOwner(element);
    // Of thread 0, because it is the thread's part that has been taken away.
    if (!owner || fragment.valueOffset(owner->value) != element)
      return std::nullopt;
    registers.push_back(owner->value);
  }
  return registers;
}
