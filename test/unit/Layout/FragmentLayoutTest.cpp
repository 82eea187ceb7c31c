//===- FragmentLayoutTest.cpp - Tests for FragmentLayout ------------------===//
//
// Layouts are compared with the definition by brute force: every (thread,
// value) is visited, and the accumulators are held against the index formulas
// of the PTX ISA.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/FragmentLayout.h"
#include "tl/Layout/FragmentRelations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "gtest/gtest.h"
#include <map>
#include <numeric>
#include <set>

using namespace llvm;
using namespace tl::layout;

namespace {

using Coordinates = std::vector<int64_t>;

Coordinates at(const FragmentLayout &layout, int64_t thread, int64_t value) {
  SmallVector<int64_t> coordinates = layout.coordinates(thread, value);
  return Coordinates(coordinates.begin(), coordinates.end());
}

/// Which (thread, value) pairs hold each element.
std::map<Coordinates, std::set<std::pair<int64_t, int64_t>>>
owners(const FragmentLayout &layout) {
  std::map<Coordinates, std::set<std::pair<int64_t, int64_t>>> result;
  for (int64_t thread = 0; thread < layout.numThreads(); ++thread)
    for (int64_t value = 0; value < layout.numValues(); ++value)
      result[at(layout, thread, value)].insert({thread, value});
  return result;
}

/// Checks by visiting every pair that each element of the tile is held by the
/// same number of threads, once in each, and that it is found where it is.
void expectHoldsTile(const FragmentLayout &layout) {
  SCOPED_TRACE(layout.str());
  std::string why;
  EXPECT_TRUE(succeeded(layout.verify(why))) << why;

  auto held = owners(layout);
  ArrayRef<int64_t> shape = layout.getShape();
  int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                 std::multiplies<>());
  EXPECT_EQ(int64_t(held.size()), size);
  for (auto &[coordinates, pairs] : held) {
    for (auto [coordinate, extent] : zip_equal(coordinates, shape)) {
      EXPECT_GE(coordinate, 0);
      EXPECT_LT(coordinate, extent);
    }
    EXPECT_EQ(int64_t(pairs.size()), layout.numCopies());
    std::set<int64_t> threads;
    for (auto [thread, value] : pairs)
      threads.insert(thread);
    EXPECT_EQ(threads.size(), pairs.size()) << "held twice by one thread";

    auto owner = layout.findOwner(coordinates);
    ASSERT_TRUE(owner);
    EXPECT_EQ(std::pair(owner->thread, owner->value), *pairs.begin());
  }
}

/// The steps must say the same as `threadOffset`, also when split at warps.
void expectStepsMatch(const FragmentLayout &layout) {
  auto evaluate = [](ArrayRef<ThreadStep> steps, int64_t thread) {
    int64_t sum = 0;
    for (ThreadStep step : steps)
      sum += thread / step.divisor % step.extent * step.step;
    return sum;
  };
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    SmallVector<ThreadStep> steps = layout.threadSteps(dim);
    SmallVector<ThreadStep> split = splitSteps(steps, 32);
    for (int64_t thread = 0; thread < layout.numThreads(); ++thread) {
      int64_t expected = layout.threadOffset(thread)[dim];
      EXPECT_EQ(evaluate(steps, thread), expected) << layout.str();
      EXPECT_EQ(evaluate(split, thread), expected) << layout.str();
    }
  }
}

bool isRun(const FragmentLayout &layout, int64_t dim, int64_t first,
           int64_t width) {
  Coordinates start = at(layout, 0, first);
  if (start[dim] % width)
    return false;
  for (int64_t i = 1; i < width; ++i) {
    Coordinates expected = start;
    expected[dim] += i;
    if (at(layout, 0, first + i) != expected)
      return false;
  }
  return true;
}

/// `contiguousValues` from its definition.
int64_t longestVector(const FragmentLayout &layout, int64_t dim) {
  int64_t best = 1;
  for (int64_t width = 2; layout.numValues() % width == 0; width *= 2) {
    for (int64_t value = 0; value < layout.numValues(); value += width)
      if (!isRun(layout, dim, value, width))
        return best;
    for (int64_t thread = 0; thread < layout.numThreads(); ++thread)
      if (layout.threadOffset(thread)[dim] % width)
        return best;
    best = width;
  }
  return best;
}

void expectVectorsMatch(const FragmentLayout &layout) {
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    EXPECT_EQ(layout.contiguousValues(dim), longestVector(layout, dim))
        << layout.str() << " dim " << dim;
}

/// A thread of the projection holds exactly the projections of what it held.
void expectProjects(const FragmentLayout &layout) {
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    FragmentLayout projected = layout.project(dim);
    expectHoldsTile(projected);
    EXPECT_EQ(projected.numThreads(), layout.numThreads());
    for (int64_t thread = 0; thread < layout.numThreads(); ++thread) {
      // The order of the values must survive, hence vectors and not sets.
      std::vector<Coordinates> expected, actual;
      for (int64_t value = 0; value < layout.numValues(); ++value) {
        Coordinates coordinates = at(layout, thread, value);
        coordinates.erase(coordinates.begin() + dim);
        if (!is_contained(expected, coordinates))
          expected.push_back(coordinates);
      }
      for (int64_t value = 0; value < projected.numValues(); ++value)
        actual.push_back(at(projected, thread, value));
      EXPECT_EQ(actual, expected) << layout.str() << " dim " << dim;
    }
  }
}

void expectSound(const FragmentLayout &layout) {
  expectHoldsTile(layout);
  expectStepsMatch(layout);
  expectVectorsMatch(layout);
  expectProjects(layout);
}

std::string whyInvalid(const FragmentLayout &layout) {
  std::string why;
  EXPECT_TRUE(failed(layout.verify(why))) << layout.str();
  return why;
}

//===----------------------------------------------------------------------===//
// Blocked
//===----------------------------------------------------------------------===//

TEST(FragmentLayoutBlocked, HoldsEveryTile) {
  std::vector<std::vector<int64_t>> shapes = {
      {},        {1},        {5},      {64},     {1000},      {1, 1},
      {16, 8},   {33, 7},    {64, 64}, {1, 128}, {128, 1},    {3, 100},
      {2, 3, 4}, {5, 1, 24}, {7, 40},  {8, 16},  {2, 2, 2, 2}};
  for (ArrayRef<int64_t> shape : shapes)
    for (int64_t threads : {32, 64, 96, 128, 256, 384})
      for (int64_t width : {1, 2, 8}) {
        auto layout = FragmentLayout::blocked(shape, threads, width);
        EXPECT_EQ(layout.numThreads(), threads);
        EXPECT_EQ(layout.getRank(), int64_t(shape.size()));
        for (auto [padded, extent] : zip_equal(layout.getShape(), shape))
          EXPECT_GE(padded, extent);
        expectSound(layout);
      }
}

TEST(FragmentLayoutBlocked, LaysThreadsAlongTheLastDimensionFirst) {
  EXPECT_EQ(FragmentLayout::blocked({64, 64}, 128, 8).str(),
            "shape=[64, 64] thread=[8:8, 16:64] value=[8:1, 4:1024]");
  // More columns than threads: values wrap around along the row.
  EXPECT_EQ(FragmentLayout::blocked({2, 512}, 32, 4).str(),
            "shape=[2, 512] thread=[32:4] value=[4:1, 4:128, 2:512]");
}

TEST(FragmentLayoutBlocked, PadsOddExtents) {
  EXPECT_EQ(FragmentLayout::blocked({3, 100}, 64, 4).str(),
            "shape=[4, 128] thread=[32:4, 2:128] value=[4:1, 2:256]");
}

// 128 threads along a row of 144 vectors would do nothing in 112 of 256 places;
// 16 threads do nine each.
TEST(FragmentLayoutBlocked, LeavesFewPlacesBeyondTheEndOfARow) {
  EXPECT_EQ(FragmentLayout::blocked({64, 576}, 128, 4).str(),
            "shape=[64, 576] thread=[16:4, 8:576] value=[4:1, 9:64, 8:4608]");
  // Not where the threads that are left have no rows of their own.
  EXPECT_EQ(FragmentLayout::blocked({4, 576}, 128, 4).str(),
            "shape=[4, 1024] thread=[128:4] value=[4:1, 2:512, 4:1024]");
}

TEST(FragmentLayoutBlocked, SpreadsAnOddFactorOverWhatIsLeft) {
  // 96 threads: 32 cover a row, and 3 rows are taken at a time.
  EXPECT_EQ(FragmentLayout::blocked({64, 128}, 96, 4).str(),
            "shape=[66, 128] thread=[32:4, 3:128] value=[4:1, 22:384]");
}

TEST(FragmentLayoutBlocked, ReplicatesSmallTiles) {
  auto layout = FragmentLayout::blocked({4}, 96, 1);
  EXPECT_EQ(layout.str(), "shape=[4] thread=[4:1, 24:0] value=[]");
  EXPECT_EQ(layout.numCopies(), 24);
}

TEST(FragmentLayoutBlocked, NarrowsVectorsToTheRow) {
  EXPECT_EQ(FragmentLayout::blocked({32, 1}, 32, 8).str(),
            "shape=[32, 1] thread=[32:1] value=[]");
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

// PTX ISA, fragment C of mma.m16n8k16: groupID = lane >> 2, threadID_in_group =
// lane % 4; row = groupID for c0, c1 and groupID + 8 for c2, c3; col =
// threadID_in_group * 2 + (i & 1).
TEST(FragmentLayoutMMA, MatchesThePTXFormula) {
  for (int64_t m : {64, 128})
    for (int64_t n : {16, 64})
      for (int64_t warpsM : {1, 2, 4})
        for (int64_t warpsN : {1, 2}) {
          auto layout = FragmentLayout::mmaAccumulator(m, n, warpsM, warpsN);
          SCOPED_TRACE(layout.str());
          ASSERT_EQ(layout.numThreads(), 32 * warpsM * warpsN);
          ASSERT_EQ(layout.numValues() * layout.numThreads(), m * n);
          int64_t tilesN = n / warpsN / 8;
          for (int64_t thread = 0; thread < layout.numThreads(); ++thread)
            for (int64_t value = 0; value < layout.numValues(); ++value) {
              int64_t lane = thread % 32, warp = thread / 32;
              int64_t i = value % 4, tile = value / 4;
              int64_t row = (lane >> 2) + (i >= 2 ? 8 : 0) +
                            tile / tilesN * 16 + warp % warpsM * (m / warpsM);
              int64_t column = lane % 4 * 2 + (i & 1) + tile % tilesN * 8 +
                               warp / warpsM * (n / warpsN);
              EXPECT_EQ(at(layout, thread, value), (Coordinates{row, column}));
            }
        }
}

// PTX ISA, fragment D of wgmma.m64nNk16: row = (warp % 4) * 16 + lane / 4 + 8 *
// ((i / 2) % 2), col = lane % 4 * 2 + i % 2 + 8 * (i / 4).
TEST(FragmentLayoutWGMMA, MatchesThePTXFormula) {
  for (int64_t m : {128, 256})
    for (int64_t n : {16, 256})
      for (int64_t groupsM : {1, 2})
        for (int64_t groupsN : {1, 2}) {
          auto layout =
              FragmentLayout::wgmmaAccumulator(m, n, groupsM, groupsN);
          SCOPED_TRACE(layout.str());
          ASSERT_EQ(layout.numThreads(), 128 * groupsM * groupsN);
          ASSERT_EQ(layout.numValues() * layout.numThreads(), m * n);
          int64_t blockValues = n / groupsN / 2;
          for (int64_t thread = 0; thread < layout.numThreads(); ++thread)
            for (int64_t value = 0; value < layout.numValues(); ++value) {
              int64_t lane = thread % 32, warp = thread / 32 % 4;
              int64_t group = thread / 128;
              int64_t i = value % blockValues, block = value / blockValues;
              int64_t row = warp * 16 + lane / 4 + 8 * (i / 2 % 2) +
                            block * 64 + group % groupsM * (m / groupsM);
              int64_t column = lane % 4 * 2 + i % 2 + 8 * (i / 4) +
                               group / groupsM * (n / groupsN);
              EXPECT_EQ(at(layout, thread, value), (Coordinates{row, column}));
            }
        }
}

// PTX ISA, fragment A of mma.m16n8k8 (4 bytes), k16 (2) and k32 (1), and of
// wgmma.m64nNk8, k16 and k32: row = lane / 4 + 8 * (register % 2), and each
// lane has 4 bytes of each 16 of a row, the second ones in registers 2 and 3.
TEST(FragmentLayoutOperand, MatchesThePTXFormula) {
  for (int64_t bytes : {1, 2, 4})
    for (int64_t rows : {16, 64})
      for (int64_t workersM : {1, 2})
        for (int64_t workersN : {1, 2}) {
          int64_t m = 128 * workersM, k = 64, perRegister = 4 / bytes;
          auto layout = FragmentLayout::matrixOperand(m, k, bytes, rows,
                                                      workersM, workersN);
          SCOPED_TRACE(layout.str());
          int64_t threads = rows / 16 * 32;
          ASSERT_EQ(layout.numThreads(), threads * workersM * workersN);
          ASSERT_EQ(layout.numCopies(), workersN);
          int64_t blockValues = k / 2;
          for (int64_t thread = 0; thread < layout.numThreads(); ++thread)
            for (int64_t value = 0; value < layout.numValues(); ++value) {
              int64_t lane = thread % 32, warp = thread % threads / 32;
              int64_t block = value / blockValues;
              int64_t number = value % blockValues / perRegister;
              int64_t row = warp * 16 + lane / 4 + 8 * (number % 2) +
                            block * rows +
                            thread / threads % workersM * (m / workersM);
              int64_t column = lane % 4 * perRegister + value % perRegister +
                               number / 2 * 4 * perRegister;
              EXPECT_EQ(at(layout, thread, value), (Coordinates{row, column}));
            }
        }
}

// What one product computes is an operand of the next one as it lies.
TEST(FragmentLayoutOperand, OfTwoBytesIsAnAccumulator) {
  EXPECT_EQ(FragmentLayout::matrixOperand(128, 64, 2, 64, 2, 1),
            FragmentLayout::wgmmaAccumulator(128, 64, 2, 1));
  EXPECT_EQ(FragmentLayout::matrixOperand(64, 32, 2, 16, 4, 1),
            FragmentLayout::mmaAccumulator(64, 32, 4, 1));
}

TEST(FragmentLayoutMMA, IsSound) {
  expectSound(FragmentLayout::mmaAccumulator(16, 8, 1, 1));
  expectSound(FragmentLayout::mmaAccumulator(64, 48, 2, 3));
  expectSound(FragmentLayout::matrixOperand(64, 32, 2, 64, 1, 1));
  expectSound(FragmentLayout::matrixOperand(128, 64, 1, 64, 2, 1));
  expectSound(FragmentLayout::matrixOperand(32, 16, 4, 16, 2, 2));
  expectSound(FragmentLayout::wgmmaAccumulator(64, 8, 1, 1));
  expectSound(FragmentLayout::wgmmaAccumulator(128, 64, 2, 1));
  expectSound(FragmentLayout::wgmmaAccumulator(128, 48, 1, 2));
}

// One wgmma warpgroup and four mma.sync warps along m differ in nothing when
// each warp owns 16 rows.
TEST(FragmentLayoutMMA, OneRowTilePerWarpIsWGMMA) {
  auto mma = FragmentLayout::mmaAccumulator(64, 64, 4, 1);
  auto wgmma = FragmentLayout::wgmmaAccumulator(64, 64, 1, 1);
  EXPECT_EQ(mma, wgmma);
  EXPECT_EQ(hash_value(mma), hash_value(wgmma));
  EXPECT_NE(FragmentLayout::mmaAccumulator(64, 64, 2, 2), wgmma);
}

TEST(FragmentLayoutMMA, RowSumsLiveInQuads) {
  auto rows = FragmentLayout::mmaAccumulator(16, 8, 1, 1).project(1);
  EXPECT_EQ(rows.str(), "shape=[16] thread=[4:0, 8:1] value=[2:8]");
  EXPECT_EQ(rows.numCopies(), 4);
}

//===----------------------------------------------------------------------===//
// Canonical form
//===----------------------------------------------------------------------===//

TEST(FragmentLayout, MergesModesThatContinue) {
  FragmentLayout split({8, 8}, {{2, 1}, {1, 7}, {4, 2}, {2, 0}, {2, 0}},
                       {{2, 8}, {4, 16}});
  EXPECT_EQ(split.str(), "shape=[8, 8] thread=[8:1, 4:0] value=[8:8]");
  EXPECT_EQ(split, FragmentLayout({8, 8}, {{8, 1}, {4, 0}}, {{8, 8}}));
}

// 4:1 then 2:4 is one mode in linear terms, but steps over the end of a row.
TEST(FragmentLayout, KeepsDimensionsApart) {
  FragmentLayout layout({2, 4}, {{4, 1}, {2, 4}}, {});
  EXPECT_EQ(layout.str(), "shape=[2, 4] thread=[4:1, 2:4] value=[]");
  expectSound(layout);
}

// Extents of one share a row-major stride with their neighbour.
TEST(FragmentLayout, SkipsDimensionsOfExtentOne) {
  expectSound(FragmentLayout({1, 4, 1}, {{4, 1}}, {}));
  expectSound(FragmentLayout({4, 1, 2}, {{2, 1}, {2, 2}}, {{2, 4}}));
}

TEST(FragmentLayout, SplitsStepsAtWarps) {
  using Steps = SmallVector<ThreadStep>;
  EXPECT_EQ(splitSteps({{1, 64, 2}}, 32), (Steps{{1, 32, 2}, {32, 2, 64}}));
  EXPECT_EQ(splitSteps({{8, 12, 1}}, 32), (Steps{{8, 4, 1}, {32, 3, 4}}));
  EXPECT_EQ(splitSteps({{4, 8, 1}, {32, 4, 8}}, 32),
            (Steps{{4, 8, 1}, {32, 4, 8}}));
  // 12 lanes do not go into a warp: nothing to split at.
  EXPECT_EQ(splitSteps({{3, 32, 1}}, 32), (Steps{{3, 32, 1}}));
}

TEST(FragmentLayout, FindsNoOwnerOutside) {
  auto layout = FragmentLayout::mmaAccumulator(16, 8, 1, 1);
  EXPECT_FALSE(layout.findOwner({16, 0}));
  EXPECT_FALSE(layout.findOwner({0, -1}));
  EXPECT_TRUE(layout.findOwner({15, 7}));
}

//===----------------------------------------------------------------------===//
// Relations between a loop and the fragments that it touches
//===----------------------------------------------------------------------===//

Coordinates element(const FragmentLayout &loop, ArrayRef<FragmentIndex> indices,
                    int64_t thread, int64_t value) {
  Coordinates point = at(loop, thread, value), result;
  for (FragmentIndex index : indices)
    result.push_back((index.dim < 0 ? 0 : point[index.dim]) + index.position);
  return result;
}

bool isInside(const FragmentLayout &fragment, ArrayRef<int64_t> coordinates) {
  return llvm::all_of(llvm::zip(coordinates, fragment.getShape()),
                      [](auto pair) {
                        auto [coordinate, extent] = pair;
                        return coordinate >= 0 && coordinate < extent;
                      });
}

/// `findRegisters` from the definition: every thread and value is visited.
std::optional<SmallVector<int64_t>>
findRegistersByForce(const FragmentLayout &loop, const FragmentLayout &fragment,
                     ArrayRef<FragmentIndex> indices) {
  SmallVector<int64_t> registers;
  for (int64_t lane = 0; lane < loop.numValues(); ++lane) {
    std::optional<int64_t> found;
    for (int64_t value = 0; value < fragment.numValues() && !found; ++value) {
      bool everywhere = true;
      for (int64_t thread = 0; thread < loop.numThreads(); ++thread)
        everywhere &=
            at(fragment, thread, value) == element(loop, indices, thread, lane);
      if (everywhere)
        found = value;
    }
    bool isOutside = llvm::none_of(
        llvm::seq<int64_t>(0, loop.numThreads()), [&](int64_t thread) {
          return isInside(fragment, element(loop, indices, thread, lane));
        });
    if (!found && !isOutside)
      return std::nullopt;
    registers.push_back(found.value_or(-1));
  }
  return registers;
}

// Over pairs of layouts of a block of 8 threads, with indices in order, turned
// round, repeated and constant, algebra finds what visiting every element
// finds.
TEST(FragmentLayoutRelations, RegistersAreThoseOfBruteForce) {
  std::vector<FragmentLayout> layouts;
  for (int64_t rows : {1, 2, 4, 8})
    for (int64_t columns : {1, 3, 4, 8})
      for (int64_t width : {1, 2, 4})
        layouts.push_back(FragmentLayout::blocked({rows, columns}, 8, width));
  layouts.push_back(
      FragmentLayout({8, 8}, {{4, 2}, {2, 8}}, {{2, 1}, {4, 16}}));
  layouts.push_back(
      FragmentLayout({8, 8}, {{2, 32}, {4, 1}}, {{2, 4}, {4, 8}}));
  layouts.push_back(FragmentLayout({8, 8}, {{8, 0}}, {{64, 1}}));
  FragmentIndex i{0, 0}, j{1, 0}, zero{-1, 0}, three{-1, 3};
  std::vector<std::pair<FragmentIndex, FragmentIndex>> accesses = {
      {i, j}, {j, i}, {i, i}, {i, zero}, {three, j}, {zero, zero}};
  int64_t found = 0, refused = 0;
  for (const FragmentLayout &loop : layouts)
    for (const FragmentLayout &fragment : layouts)
      for (auto [first, second] : accesses) {
        FragmentIndex indices[] = {first, second};
        auto registers = findRegisters(loop, fragment, indices);
        auto byForce = findRegistersByForce(loop, fragment, indices);
        if (byForce && llvm::is_contained(*byForce, -1))
          byForce = std::nullopt;
        EXPECT_EQ(registers, byForce)
            << loop.str() << " touches " << fragment.str();
        (registers ? found : refused) += 1;
      }
  EXPECT_GT(found, 300);
  EXPECT_GT(refused, 300);

  // Beside a loop index, what is found is right, and some is found.
  int64_t beside = 0, outside = 0;
  for (const FragmentLayout &loop : layouts)
    for (const FragmentLayout &fragment : layouts)
      for (int64_t rows : {-8, -4, -2, -1, 0, 1, 2, 4, 8})
        for (int64_t columns : {-4, -1, 0, 1, 2, 4, 5}) {
          FragmentIndex indices[] = {{0, rows}, {1, columns}};
          auto registers = findRegisters(loop, fragment, indices);
          if (!registers || (rows == 0 && columns == 0))
            continue;
          EXPECT_EQ(registers, findRegistersByForce(loop, fragment, indices))
              << loop.str() << " touches " << fragment.str() << " at " << rows
              << ", " << columns;
          beside += 1;
          outside += llvm::is_contained(*registers, -1);
        }
  EXPECT_GT(beside, 300);
  EXPECT_GT(outside, 300);
  EXPECT_LT(outside, beside);
}

// In digits every thread holds the same elements in the same values, under
// other names, and together they are the tile again.
TEST(FragmentLayoutRelations, DigitsRenameElements) {
  DimDigits digits = {{64}, {2, 4, 16}};
  for (const FragmentLayout &layout :
       {FragmentLayout::wgmmaAccumulator(64, 128, 1, 2),
        FragmentLayout::mmaAccumulator(64, 128, 2, 4),
        FragmentLayout::blocked({64, 128}, 256, 8)}) {
    auto split = splitDims(layout, digits);
    ASSERT_TRUE(split) << layout.str();
    expectSound(*split);
    EXPECT_EQ(split->getShape(), ArrayRef<int64_t>({64, 2, 4, 16}));
    EXPECT_EQ(split->numValues(), layout.numValues());
    for (int64_t thread = 0; thread < layout.numThreads(); ++thread)
      for (int64_t value = 0; value < layout.numValues(); ++value) {
        Coordinates one = at(layout, thread, value);
        Coordinates other = at(*split, thread, value);
        EXPECT_EQ(one[0], other[0]);
        EXPECT_EQ(one[1], other[1] * 64 + other[2] * 16 + other[3]);
      }
    EXPECT_EQ(joinDims(*split, digits), layout);
  }
  // A mode of three positions goes over the end of a digit, and padding has
  // none.
  EXPECT_FALSE(splitDims(FragmentLayout({12}, {{3, 1}}, {{4, 3}}), {{6, 2}}));
  EXPECT_FALSE(splitDims(FragmentLayout::blocked({100}, 128, 1), {{10, 10}}));
  EXPECT_FALSE(joinDims(FragmentLayout::blocked({4, 30}, 128, 1), {{4, 30}}));
}

/// A loop that is laid out as `fragment` along `dims` finds its elements there.
void expectExtends(const FragmentLayout &fragment, ArrayRef<int64_t> dims,
                   ArrayRef<int64_t> extents, int64_t vectorWidth) {
  FragmentLayout loop = extendDims(fragment, dims, extents, vectorWidth);
  expectHoldsTile(loop);
  EXPECT_EQ(loop.numThreads(), fragment.numThreads());
  SmallVector<FragmentIndex> indices;
  for (int64_t dim : dims)
    indices.push_back({dim, 0});
  EXPECT_TRUE(findRegisters(loop, fragment, indices)) << loop.str();
  EXPECT_EQ(selectDims(loop, dims), fragment);
}

TEST(FragmentLayoutRelations, LoopsExtendFragments) {
  FragmentLayout tile = FragmentLayout::blocked({64, 64}, 128, 4);
  FragmentLayout rows = tile.project(1), columns = tile.project(0);
  expectExtends(rows, {0}, {64, 64}, 4);
  expectExtends(rows, {0}, {64, 32}, 4);
  expectExtends(rows, {1}, {16, 64}, 4);
  expectExtends(columns, {1}, {3, 64}, 4);
  expectExtends(tile, {1, 0}, {64, 64}, 4);
  expectExtends(tile, {0, 2}, {64, 5, 64}, 4);
  expectExtends(FragmentLayout::blocked({20}, 96, 4), {0}, {20, 7}, 2);
  expectExtends(FragmentLayout::mmaAccumulator(64, 64, 2, 2).project(1), {0},
                {64, 128}, 8);
}

/// Checks that the layout holds what `tile` does of the first `extents`, each
/// element in the same threads, and one value for each that a thread needs.
void expectCrops(const FragmentLayout &tile, ArrayRef<int64_t> extents) {
  FragmentLayout part = cropDims(tile, extents);
  std::string why;
  ASSERT_TRUE(succeeded(part.verify(why))) << why;
  auto all = owners(tile), held = owners(part);
  for (auto &[element, places] : held) {
    std::set<int64_t> threads, before;
    for (auto [thread, value] : places)
      threads.insert(thread);
    for (auto [thread, value] : all.at(element))
      before.insert(thread);
    EXPECT_EQ(threads, before);
  }
  for (auto [dim, extent] : enumerate(extents))
    EXPECT_GE(part.getShape()[dim], extent);
}

TEST(FragmentLayoutRelations, PartsAreCropped) {
  FragmentLayout factor({16, 256}, {{4, 1}, {8, 256}},
                        {{2, 4}, {2, 2048}, {32, 8}});
  EXPECT_EQ(cropDims(factor, {16, 4}),
            FragmentLayout({16, 4}, {{4, 1}, {8, 4}}, {{2, 32}}));
  EXPECT_EQ(cropDims(factor, {16, 20}).numValues(), 2 * 2 * 3);
  for (int64_t columns : {1, 4, 5, 8, 20, 255, 256}) {
    expectCrops(factor, {16, columns});
    expectCrops(factor, {3, columns});
    expectCrops(FragmentLayout::blocked({16, 256}, 128, 4), {16, columns});
    expectCrops(FragmentLayout::mmaAccumulator(64, 256, 2, 2), {64, columns});
  }
}

// Copies become threads along the new dimension: 4 of 16 lanes for a row of 16
// in vectors of 4, the others still hold copies.
TEST(FragmentLayoutRelations, CopiesAreSpread) {
  FragmentLayout rows({8}, {{16, 0}, {8, 1}}, {});
  EXPECT_EQ(extendDims(rows, {0}, {8, 16}, 4),
            FragmentLayout({8, 16}, {{4, 4}, {4, 0}, {8, 16}}, {{4, 1}}));
}

TEST(FragmentLayoutRelations, UnitDimensionsAreSeen) {
  FragmentLayout tile = FragmentLayout::blocked({8, 16}, 32, 4);
  EXPECT_EQ(selectDims(tile, {-1, 1}),
            FragmentLayout({1, 16}, {{4, 4}, {8, 0}}, {{4, 1}}));
  EXPECT_EQ(selectDims(tile, {-1}), FragmentLayout({1}, {{32, 0}}, {}));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST(FragmentLayoutReduction, ShufflesReachTheLanesOfWholeWarps) {
  // 128 threads along a row: 32 lanes, then 4 warps.
  ReductionSteps steps =
      getReductionSteps(FragmentLayout::blocked({1, 512}, 128, 4), 1);
  EXPECT_EQ(steps.lanes, SmallVector<ThreadStep>({{1, 32, 4}}));
  EXPECT_EQ(steps.groups, SmallVector<ThreadStep>({{32, 4, 128}}));
  EXPECT_EQ(steps.countGroups(), 4);
}

TEST(FragmentLayoutReduction, PartialWarpsMeetInMemory) {
  for (int64_t threads : {16, 24, 48, 100}) {
    ReductionSteps steps =
        getReductionSteps(FragmentLayout::blocked({1, 512}, threads, 4), 1);
    EXPECT_TRUE(steps.lanes.empty()) << threads;
    EXPECT_EQ(steps.countGroups(), threads);
  }
}

TEST(FragmentLayoutReduction, OddStepsMeetInMemory) {
  FragmentLayout layout({32, 3}, {{3, 1}, {32, 3}}, {});
  EXPECT_TRUE(getReductionSteps(layout, 1).lanes.empty());
  EXPECT_EQ(getReductionSteps(layout, 1).countGroups(), 3);
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

using Kind = ScanDigit::Kind;

TEST(FragmentLayoutScan, DigitsAreSortedByTheirSteps) {
  // Two values, four lanes, more values, two warps.
  FragmentLayout layout({8, 64}, {{4, 2}, {8, 64}, {2, 32}}, {{2, 1}, {4, 8}});
  SmallVector<ScanDigit> digits = getScanDigits(layout, 1);
  EXPECT_EQ(digits, SmallVector<ScanDigit>({{Kind::Value, 2, 1, 1},
                                            {Kind::Lane, 4, 2, 1},
                                            {Kind::Value, 4, 8, 1},
                                            {Kind::Group, 2, 32, 32}}));
  EXPECT_EQ(countGroups(digits), 2);
  EXPECT_TRUE(meetsOnce(digits));
}

TEST(FragmentLayoutScan, ValuesBehindGroupsMeetAgain) {
  FragmentLayout layout({8, 64}, {{4, 2}, {8, 64}, {2, 8}}, {{2, 1}, {4, 16}});
  EXPECT_FALSE(meetsOnce(getScanDigits(layout, 1)));
}

TEST(FragmentLayoutScan, RowsLieOverWarpsWhereTheseAreMore) {
  EXPECT_EQ(getScanLayout({1, 64}, 1, 256, 4),
            FragmentLayout({1, 64}, {{16, 4}, {16, 0}}, {{4, 1}}));
  EXPECT_EQ(getScanLayout({1, 1024}, 1, 256, 4),
            FragmentLayout({1, 1024}, {{256, 4}}, {{4, 1}}));
  EXPECT_EQ(
      getScanLayout({8, 1024}, 1, 256, 4),
      FragmentLayout({8, 1024}, {{32, 4}, {8, 1024}}, {{4, 1}, {8, 128}}));
}

TEST(FragmentLayoutScan, ColumnsLieInThreads) {
  EXPECT_EQ(getScanLayout({16, 128}, 0, 128, 4),
            FragmentLayout({16, 128}, {{128, 1}}, {{16, 128}}));
  EXPECT_EQ(getScanLayout({64, 16}, 0, 128, 4),
            FragmentLayout({64, 16}, {{16, 1}, {8, 128}}, {{8, 16}}));
}

TEST(FragmentLayoutScan, AnyTileMeetsOnce) {
  for (int64_t threads : {1, 7, 32, 33, 48, 64, 96, 256})
    for (SmallVector<int64_t> shape :
         std::initializer_list<SmallVector<int64_t>>{{1},
                                                     {5},
                                                     {300},
                                                     {1, 64},
                                                     {3, 33},
                                                     {40, 12},
                                                     {2, 3, 20},
                                                     {6, 1, 9}})
      for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
        for (int64_t width : {1, 4}) {
          FragmentLayout layout = getScanLayout(shape, dim, threads, width);
          expectHoldsTile(layout);
          EXPECT_EQ(layout.numThreads(), threads);
          for (auto [held, extent] : zip_equal(layout.getShape(), shape))
            EXPECT_GE(held, extent) << layout.str();
          SmallVector<ScanDigit> digits = getScanDigits(layout, dim);
          EXPECT_TRUE(meetsOnce(digits)) << layout.str();
          int64_t places = 1;
          for (const ScanDigit &digit : digits) {
            EXPECT_EQ(digit.step, places) << layout.str();
            places *= digit.extent;
          }
          EXPECT_EQ(places, layout.getShape()[dim]) << layout.str();
        }
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

TEST(FragmentLayoutVerify, NamesTheFault) {
  EXPECT_EQ(whyInvalid(FragmentLayout({4, 0}, {}, {})),
            "dimension 1 of the tile has extent 0, expected at least 1");
  EXPECT_EQ(
      whyInvalid(FragmentLayout({int64_t(1) << 40, int64_t(1) << 40}, {}, {})),
      "the tile [1099511627776, 1099511627776] has too many elements for "
      "a 64-bit index");
  EXPECT_EQ(whyInvalid(FragmentLayout({4}, {{0, 1}}, {})),
            "thread mode `0:1` has no positions");
  EXPECT_EQ(whyInvalid(FragmentLayout({4}, {{4, 1}}, {{2, 0}})),
            "value mode `2:0` does not move, so a thread would hold an element "
            "twice");
  EXPECT_EQ(whyInvalid(FragmentLayout({4, 8}, {{8, 1}}, {{2, 12}})),
            "value mode `2:12` does not move inside the tile [4, 8] along one "
            "dimension");
  EXPECT_EQ(whyInvalid(FragmentLayout({4, 8}, {{16, 1}}, {{4, 8}})),
            "thread mode `16:1` does not move inside the tile [4, 8] along one "
            "dimension");
  EXPECT_EQ(whyInvalid(FragmentLayout({4}, {{4, -1}}, {})),
            "thread mode `4:-1` does not move inside the tile [4] along one "
            "dimension");
  EXPECT_EQ(whyInvalid(FragmentLayout({4}, {{4, 1}}, {{2, 2}})),
            "dimension 0 has a mode of step 2 where step 4 is next, so an "
            "element is held twice");
  EXPECT_EQ(whyInvalid(FragmentLayout({4}, {{2, 2}}, {})),
            "dimension 0 has a mode of step 2 where step 1 is next, so "
            "elements are left out");
  EXPECT_EQ(whyInvalid(FragmentLayout({4, 8}, {{8, 1}}, {{2, 8}})),
            "dimension 0 has extent 4 but its modes cover 2");
}

/// Whether `modes` (the last one for values, the others for threads) hold each
/// element of a 4 x 6 tile alike, straight from the definition.
bool holdsTile(ArrayRef<FragmentMode> modes) {
  auto row = [](int64_t index) { return index / 6; };
  auto column = [](int64_t index) { return index % 6; };

  std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> threadsOf;
  auto [e0, s0] = modes[0];
  auto [e1, s1] = modes[1];
  auto [e2, s2] = modes[2];
  for (int64_t i = 0; i < e0 * e1 * e2; ++i) {
    int64_t parts[] = {i % e0 * s0, i / e0 % e1 * s1, i / e0 / e1 * s2};
    int64_t rows = 0, columns = 0;
    for (auto [part, mode] : zip_equal(parts, modes)) {
      // No mode moves along both dimensions.
      if (row(part) && (column(part) || column(mode.stride)))
        return false;
      rows += row(part);
      columns += column(part);
    }
    if (rows >= 4 || columns >= 6)
      return false;
    int64_t thread = i % (e0 * e1);
    if (!threadsOf[{rows, columns}].insert(thread).second)
      return false;
  }
  return threadsOf.size() == 24 && all_of(threadsOf, [&](const auto &entry) {
           return entry.second.size() == threadsOf.begin()->second.size();
         });
}

// Over all layouts of two thread modes and one value mode on a small tile, the
// verifier accepts exactly those that hold each element alike.
TEST(FragmentLayoutVerify, AgreesWithBruteForce) {
  int64_t accepted = 0;
  for (int64_t extents = 0; extents < 5 * 5 * 5; ++extents)
    for (int64_t strides = 0; strides < 14 * 14 * 14; ++strides) {
      constexpr int64_t extentChoices[] = {1, 2, 3, 4, 6};
      FragmentMode modes[] = {
          {extentChoices[extents % 5], strides % 14},
          {extentChoices[extents / 5 % 5], strides / 14 % 14},
          {extentChoices[extents / 25], strides / 14 / 14}};
      FragmentLayout layout({4, 6}, ArrayRef(modes).take_front(2), modes[2]);
      bool expected = holdsTile(modes);
      std::string why;
      ASSERT_EQ(succeeded(layout.verify(why)), expected)
          << layout.str() << ": " << why;
      accepted += expected;
    }
  EXPECT_GT(accepted, 100);
}

} // namespace
