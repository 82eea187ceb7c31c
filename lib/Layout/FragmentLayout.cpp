//===- FragmentLayout.cpp - Tiles spread over the registers of threads ----===//
//
// Everything here rests on one fact: a mode with more than one position moves
// along at most one dimension without leaving the tile, and modes along one
// dimension tile it exactly when, sorted by step, each step is the product of
// the extents before it (the digits of a mixed-radix number). So a layout is
// verified and inverted one dimension at a time, without visiting elements.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/FragmentLayout.h"
#include "Moves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace llvm;
using namespace tl::layout;

/// Whether `next` continues where `mode` ends, so that one mode can say both.
static bool continues(ArrayRef<int64_t> shape, FragmentMode mode,
                      FragmentMode next) {
  if (mode.extent < 1 || next.extent < 1)
    return false;
  if (next.stride != mode.extent * mode.stride)
    return false;
  return mode.stride == 0 ||
         findMove(shape, {mode.extent * next.extent, mode.stride});
}

static SmallVector<FragmentMode> canonicalize(ArrayRef<int64_t> shape,
                                              ArrayRef<FragmentMode> modes) {
  SmallVector<FragmentMode> result;
  for (FragmentMode mode : modes) {
    if (mode.extent == 1)
      continue;
    if (!result.empty() && continues(shape, result.back(), mode))
      result.back().extent *= mode.extent;
    else
      result.push_back(mode);
  }
  return result;
}

static int64_t productOfExtents(ArrayRef<FragmentMode> modes) {
  int64_t product = 1;
  for (FragmentMode mode : modes)
    product *= mode.extent;
  return product;
}

/// The coordinates that the digits of `index` add up to.
static SmallVector<int64_t>
offsetOf(ArrayRef<int64_t> shape, ArrayRef<FragmentMode> modes, int64_t index) {
  SmallVector<int64_t> offset(shape.size(), 0);
  for (FragmentMode mode : modes) {
    if (std::optional<Move> move = findMove(shape, mode))
      offset[move->dim] += index % mode.extent * move->step;
    index /= mode.extent;
  }
  return offset;
}

/// The inverse of `offsetOf`: the digits that `coordinates` ask for, with zero
/// for modes that stand still.
static int64_t indexOf(ArrayRef<int64_t> shape, ArrayRef<FragmentMode> modes,
                       ArrayRef<int64_t> coordinates) {
  int64_t index = 0;
  int64_t weight = 1;
  for (FragmentMode mode : modes) {
    if (std::optional<Move> move = findMove(shape, mode))
      index += coordinates[move->dim] / move->step % mode.extent * weight;
    weight *= mode.extent;
  }
  return index;
}

static void printMode(raw_ostream &os, FragmentMode mode) {
  os << mode.extent << ":" << mode.stride;
}

static void printShape(raw_ostream &os, ArrayRef<int64_t> shape) {
  os << "[";
  interleaveComma(shape, os);
  os << "]";
}

SmallVector<ThreadStep> tl::layout::splitSteps(ArrayRef<ThreadStep> steps,
                                               int64_t lanes) {
  SmallVector<ThreadStep> result;
  for (ThreadStep step : steps) {
    int64_t inner = lanes / step.divisor;
    bool straddles = inner > 1 && inner < step.extent;
    if (!straddles || lanes % step.divisor || step.extent % inner) {
      result.push_back(step);
      continue;
    }
    result.push_back({step.divisor, inner, step.step});
    result.push_back({lanes, step.extent / inner, inner * step.step});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

FragmentLayout::FragmentLayout(ArrayRef<int64_t> shape,
                               ArrayRef<FragmentMode> threadModes,
                               ArrayRef<FragmentMode> valueModes)
    : shape(shape), threadModes(canonicalize(shape, threadModes)),
      valueModes(canonicalize(shape, valueModes)) {}

/// How many of `numThreads` threads share a row of `vectors` accesses, `extent`
/// of them or fewer: a third of what they do is not to be beyond its end, if
/// other rows have work for the rest. Eight threads still fill whole lines.
static int64_t fitRow(ArrayRef<int64_t> shape, int64_t vectors, int64_t extent,
                      int64_t numThreads) {
  constexpr int64_t fewest = 8;
  int64_t part = std::min(vectors & -vectors, extent);
  int64_t rows = product_of(shape.drop_back(), int64_t(1));
  int64_t done = divideCeil(vectors, extent) * extent;
  bool wastes = 2 * done > 3 * vectors;
  return wastes && part >= fewest && rows % (numThreads / part) == 0 ? part
                                                                     : extent;
}

FragmentLayout FragmentLayout::blocked(ArrayRef<int64_t> shape,
                                       int64_t numThreads,
                                       int64_t vectorWidth) {
  assert(numThreads > 0 && "a fragment needs threads to hold it");
  assert(isPowerOf2_64(vectorWidth) && "vector accesses are powers of two");
  assert(all_of(shape, [](int64_t size) { return size > 0; }) &&
         "an empty tile has no layout");

  TileCover cover(shape);
  auto dims = seq<int64_t>(0, shape.size());
  if (!shape.empty()) {
    int64_t widest = PowerOf2Ceil(shape.back());
    cover.addValues(shape.size() - 1, std::min(vectorWidth, widest));
  }

  int64_t powerOfTwo = numThreads & -numThreads;
  int64_t odd = numThreads / powerOfTwo;
  for (int64_t dim : reverse(dims)) {
    int64_t wanted = PowerOf2Ceil(cover.remaining(dim));
    int64_t extent = std::min(wanted, powerOfTwo);
    if (dim + 1 == static_cast<int64_t>(shape.size()))
      extent = fitRow(shape, cover.remaining(dim), extent, powerOfTwo);
    cover.addThreads(dim, extent);
    powerOfTwo /= extent;
  }
  cover.addCopies(powerOfTwo);

  // Last in the order of threads, so that the lanes of a warp stay a power of
  // two along every dimension and can be reduced by shuffles.
  std::optional<int64_t> longest;
  for (int64_t dim : dims)
    if (cover.remaining(dim) > (longest ? cover.remaining(*longest) : 1))
      longest = dim;
  if (longest)
    cover.addThreads(*longest, odd);
  else
    cover.addCopies(odd);

  for (int64_t dim : reverse(dims))
    cover.addValues(dim, cover.remaining(dim));
  return cover.finish();
}

FragmentLayout FragmentLayout::mmaAccumulator(int64_t m, int64_t n,
                                              int64_t warpsM, int64_t warpsN) {
  assert(m % (16 * warpsM) == 0 && n % (8 * warpsN) == 0 &&
         "each warp must own whole m16n8 tiles");
  int64_t warpM = m / warpsM, warpN = n / warpsN;
  return FragmentLayout(
      {m, n}, {{4, 2}, {8, n}, {warpsM, warpM * n}, {warpsN, warpN}},
      {{2, 1}, {2, 8 * n}, {warpN / 8, 8}, {warpM / 16, 16 * n}});
}

FragmentLayout FragmentLayout::wgmmaAccumulator(int64_t m, int64_t n,
                                                int64_t groupsM,
                                                int64_t groupsN) {
  assert(m % (64 * groupsM) == 0 && n % (8 * groupsN) == 0 &&
         "each warpgroup must own whole m64n8 tiles");
  int64_t groupM = m / groupsM, groupN = n / groupsN;
  return FragmentLayout(
      {m, n},
      {{4, 2}, {8, n}, {4, 16 * n}, {groupsM, groupM * n}, {groupsN, groupN}},
      {{2, 1}, {2, 8 * n}, {groupN / 8, 8}, {groupM / 64, 64 * n}});
}

FragmentLayout FragmentLayout::matrixOperand(int64_t m, int64_t k,
                                             int64_t bytes, int64_t rows,
                                             int64_t workersM,
                                             int64_t workersN) {
  int64_t perRegister = 4 / bytes, workerM = m / workersM;
  assert(m % (rows * workersM) == 0 && k % (8 * perRegister) == 0 &&
         "each worker must own whole blocks");
  return FragmentLayout({m, k},
                        {{4, perRegister},
                         {8, k},
                         {rows / 16, 16 * k},
                         {workersM, workerM * k},
                         {workersN, 0}},
                        {{perRegister, 1},
                         {2, 8 * k},
                         {2, 4 * perRegister},
                         {k / (8 * perRegister), 8 * perRegister},
                         {workerM / rows, rows * k}});
}

FragmentLayout FragmentLayout::project(int64_t dim) const {
  assert(dim >= 0 && dim < getRank() && "no such dimension");
  SmallVector<int64_t> smaller(shape);
  smaller.erase(smaller.begin() + dim);
  SmallVector<int64_t> strides = rowMajorStrides(smaller);
  strides.insert(strides.begin() + dim, 0);

  auto projectMode = [&](FragmentMode mode) {
    std::optional<Move> move = findMove(shape, mode);
    return FragmentMode{mode.extent,
                        move ? move->step * strides[move->dim] : 0};
  };
  SmallVector<FragmentMode> threads = map_to_vector(threadModes, projectMode);
  SmallVector<FragmentMode> values = map_to_vector(valueModes, projectMode);
  erase_if(values, [](FragmentMode mode) { return mode.stride == 0; });
  return FragmentLayout(smaller, threads, values);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyShape(ArrayRef<int64_t> shape,
                                 raw_ostream &message) {
  int64_t size = 1;
  for (auto [dim, extent] : enumerate(shape)) {
    if (extent < 1) {
      message << "dimension " << dim << " of the tile has extent " << extent
              << ", expected at least 1";
      return failure();
    }
    if (MulOverflow(size, extent, size)) {
      message << "the tile ";
      printShape(message, shape);
      message << " has too many elements for a 64-bit index";
      return failure();
    }
  }
  return success();
}

/// Checks that `modes` move inside the tile and appends what they do to
/// `moves`, by dimension. Only thread modes may stand still.
static LogicalResult
verifyModes(ArrayRef<int64_t> shape, ArrayRef<FragmentMode> modes,
            StringRef kind, bool mayStandStill,
            MutableArrayRef<SmallVector<FragmentMode>> moves,
            raw_ostream &message) {
  int64_t size = 1;
  for (FragmentMode mode : modes) {
    auto fail = [&](StringRef reason) {
      message << kind << " mode `";
      printMode(message, mode);
      message << "` " << reason;
      return failure();
    };
    if (mode.extent < 1)
      return fail("has no positions");
    if (MulOverflow(size, mode.extent, size))
      return fail("gives more positions than a 64-bit index can count");
    if (mode.stride == 0) {
      if (!mayStandStill)
        return fail("does not move, so a thread would hold an element twice");
      continue;
    }
    std::optional<Move> move = findMove(shape, mode);
    if (!move) {
      (void)fail("does not move inside the tile ");
      printShape(message, shape);
      message << " along one dimension";
      return failure();
    }
    moves[move->dim].push_back({mode.extent, move->step});
  }
  return success();
}

/// Checks that the modes along a dimension, given by extent and step, reach
/// each of its positions once.
static LogicalResult verifyCover(int64_t dim, int64_t extent,
                                 MutableArrayRef<FragmentMode> moves,
                                 raw_ostream &message) {
  sort(moves,
       [](FragmentMode a, FragmentMode b) { return a.stride < b.stride; });
  int64_t covered = 1;
  for (FragmentMode move : moves) {
    if (move.stride != covered) {
      message << "dimension " << dim << " has a mode of step " << move.stride
              << " where step " << covered << " is next, so "
              << (move.stride < covered ? "an element is held twice"
                                        : "elements are left out");
      return failure();
    }
    covered *= move.extent;
  }
  if (covered != extent) {
    message << "dimension " << dim << " has extent " << extent
            << " but its modes cover " << covered;
    return failure();
  }
  return success();
}

LogicalResult FragmentLayout::verify(std::string &why) const {
  why.clear();
  raw_string_ostream message(why);
  if (failed(verifyShape(shape, message)))
    return failure();

  SmallVector<SmallVector<FragmentMode>> moves(shape.size());
  if (failed(verifyModes(shape, threadModes, "thread", /*mayStandStill=*/true,
                         moves, message)) ||
      failed(verifyModes(shape, valueModes, "value", /*mayStandStill=*/false,
                         moves, message)))
    return failure();

  for (auto [dim, extent] : enumerate(shape))
    if (failed(verifyCover(dim, extent, moves[dim], message)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

int64_t FragmentLayout::numThreads() const {
  return productOfExtents(threadModes);
}

int64_t FragmentLayout::numValues() const {
  return productOfExtents(valueModes);
}

int64_t FragmentLayout::numCopies() const {
  int64_t copies = 1;
  for (FragmentMode mode : threadModes)
    if (mode.stride == 0)
      copies *= mode.extent;
  return copies;
}

SmallVector<int64_t> FragmentLayout::valueOffset(int64_t value) const {
  return offsetOf(shape, valueModes, value);
}

SmallVector<int64_t> FragmentLayout::threadOffset(int64_t thread) const {
  return offsetOf(shape, threadModes, thread);
}

SmallVector<int64_t> FragmentLayout::coordinates(int64_t thread,
                                                 int64_t value) const {
  SmallVector<int64_t> sum = threadOffset(thread);
  for (auto [coordinate, offset] : zip_equal(sum, valueOffset(value)))
    coordinate += offset;
  return sum;
}

SmallVector<ThreadStep> FragmentLayout::threadSteps(int64_t dim) const {
  SmallVector<ThreadStep> steps;
  int64_t divisor = 1;
  for (FragmentMode mode : threadModes) {
    std::optional<Move> move = findMove(shape, mode);
    if (move && move->dim == dim)
      steps.push_back({divisor, mode.extent, move->step});
    divisor *= mode.extent;
  }
  return steps;
}

int64_t FragmentLayout::contiguousValues(int64_t dim) const {
  if (valueModes.empty())
    return 1;
  FragmentMode first = valueModes.front();
  std::optional<Move> move = findMove(shape, first);
  if (!move || move->dim != dim || move->step != 1)
    return 1;
  // All other steps along `dim` are multiples of this extent, so whatever power
  // of two divides it also aligns the runs.
  return first.extent & -first.extent;
}

std::optional<FragmentLayout::Owner>
FragmentLayout::findOwner(ArrayRef<int64_t> coordinates) const {
  for (auto [coordinate, extent] : zip_equal(coordinates, shape))
    if (coordinate < 0 || coordinate >= extent)
      return std::nullopt;
  return Owner{indexOf(shape, threadModes, coordinates),
               indexOf(shape, valueModes, coordinates)};
}

//===----------------------------------------------------------------------===//
// Printing and hashing
//===----------------------------------------------------------------------===//

void FragmentLayout::print(raw_ostream &os) const {
  auto printModes = [&](ArrayRef<FragmentMode> modes) {
    os << "[";
    interleaveComma(modes, os, [&](FragmentMode mode) { printMode(os, mode); });
    os << "]";
  };
  os << "shape=";
  printShape(os, shape);
  os << " thread=";
  printModes(threadModes);
  os << " value=";
  printModes(valueModes);
}

std::string FragmentLayout::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

hash_code tl::layout::hash_value(const FragmentMode &mode) {
  return hash_combine(mode.extent, mode.stride);
}

hash_code tl::layout::hash_value(const FragmentLayout &layout) {
  return hash_combine(hash_combine_range(layout.getShape()),
                      hash_combine_range(layout.getThreadModes()),
                      hash_combine_range(layout.getValueModes()));
}

raw_ostream &tl::layout::operator<<(raw_ostream &os,
                                    const FragmentLayout &layout) {
  layout.print(os);
  return os;
}
