//===- SharedLayoutTest.cpp - Tests for SharedLayout ----------------------===//
//
// Every element is visited: no two share bytes, the terms that threads add up
// say what `getOffset` says, and the bulk copy engine, imitated box by box,
// puts each element where threads look for it.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/SharedLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <set>

using namespace llvm;
using namespace tl::layout;

namespace {

/// Calls `visit` with the coordinates of each element, in row-major order.
void forEachElement(ArrayRef<int64_t> shape,
                    function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> at(shape.size(), 0);
  while (true) {
    visit(at);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    while (dim >= 0 && ++at[dim] == shape[dim])
      at[dim--] = 0;
    if (dim < 0)
      return;
  }
}

SharedLayout chosen(ArrayRef<int64_t> shape, int64_t bytes) {
  int64_t swizzle = SharedLayout::chooseSwizzle(shape, bytes);
  return SharedLayout(shape, bytes, swizzle,
                      swizzle ? swizzle / bytes : shape.back());
}

/// Where the engine writes the elements of the tile: box after box, each in
/// row-major order, the swizzle applied to addresses.
std::set<std::pair<std::vector<int64_t>, int64_t>>
placedByEngine(const SharedLayout &layout, ArrayRef<int64_t> shape,
               int64_t bytes) {
  std::set<std::pair<std::vector<int64_t>, int64_t>> placed;
  SmallVector<int64_t> box(reverse(layout.getBox()));
  for (int64_t panel = 0; panel < layout.getPanels(); ++panel) {
    int64_t address = panel * layout.getPanelBytes();
    forEachElement(box, [&](ArrayRef<int64_t> at) {
      std::vector<int64_t> element(at.begin(), at.end());
      element.back() += panel * box.back();
      int64_t flip = layout.getSwizzle() == 0
                         ? 0
                         : (address / 128 % 8 * 16) & (layout.getSwizzle() - 1);
      placed.insert({element, address ^ flip});
      address += bytes;
    });
  }
  return placed;
}

void expectConsistent(ArrayRef<int64_t> shape, int64_t bytes) {
  SharedLayout layout = chosen(shape, bytes);
  std::string why;
  EXPECT_TRUE(succeeded(layout.verify(why))) << why;
  std::set<int64_t> offsets;
  std::set<std::pair<std::vector<int64_t>, int64_t>> placed;
  forEachElement(shape, [&](ArrayRef<int64_t> at) {
    int64_t offset = layout.getOffset(at);
    EXPECT_EQ(offset % bytes, 0);
    EXPECT_LT(offset, layout.getBytes());
    EXPECT_EQ(layout.getCoordinates(offset + bytes - 1),
              SmallVector<int64_t>(at.begin(), at.end()));
    offsets.insert(offset);
    placed.insert({std::vector<int64_t>(at.begin(), at.end()), offset});
  });
  EXPECT_EQ(int64_t(offsets.size()) * bytes, layout.getBytes());
  EXPECT_EQ(placed, placedByEngine(layout, shape, bytes));
}

} // namespace

TEST(SharedLayout, ThreadsAndEngineAgree) {
  expectConsistent({64, 64}, 2);
  expectConsistent({8, 16}, 2);
  expectConsistent({16, 32}, 1);
  expectConsistent({64, 128}, 2);
  expectConsistent({5, 12}, 4);
  expectConsistent({72}, 4);
}

TEST(SharedLayout, ThreeDimensionsOfSeveralPanels) {
  expectConsistent({2, 64, 128}, 2);
  expectConsistent({3, 8, 64}, 4);
  // The rows of all leading dimensions together fill the periods.
  expectConsistent({2, 4, 128}, 2);
  expectConsistent({2, 2, 2, 64}, 4);
  expectConsistent({3, 5, 7}, 4);
}

TEST(SharedLayout, WidestSwizzleThatFits) {
  EXPECT_EQ(SharedLayout::chooseSwizzle({64, 64}, 2), 128);
  EXPECT_EQ(SharedLayout::chooseSwizzle({64, 96}, 2), 64);
  EXPECT_EQ(SharedLayout::chooseSwizzle({64, 16}, 2), 32);
  EXPECT_EQ(SharedLayout::chooseSwizzle({64, 24}, 2), 0);
  EXPECT_EQ(SharedLayout::chooseSwizzle({60, 64}, 2), 0);
  EXPECT_EQ(SharedLayout::chooseSwizzle({1024}, 2), 0);
  EXPECT_EQ(SharedLayout::chooseSwizzle({}, 2), 0);
}

TEST(SharedLayout, SlotsAreAligned) {
  // 288 bytes of elements: the engine's destinations are 128 bytes apart.
  EXPECT_EQ(chosen({1, 72}, 4).getBytes(), 288);
  EXPECT_EQ(chosen({1, 72}, 4).getSlotBytes(), 384);
  EXPECT_EQ(chosen({64, 64}, 2).getSlotBytes(), 8192);
  EXPECT_EQ(chosen({8, 16}, 2).getSlotBytes(), 256);
  EXPECT_EQ(chosen({64, 64}, 2).getAlignment(), 1024);
  EXPECT_EQ(chosen({1, 72}, 4).getAlignment(), 128);
}

TEST(SharedLayout, SlotsLieAsTilesOfTheirOwn) {
  struct Buffer {
    SmallVector<int64_t> slots, tile;
    int64_t bytes;
  };
  for (const Buffer &buffer :
       {Buffer{{2}, {64, 128}, 2}, Buffer{{3}, {5, 7}, 4}, Buffer{{4}, {72}, 4},
        Buffer{{2, 3}, {8, 16}, 2}, Buffer{{2, 2}, {3}, 1}}) {
    SharedLayout tile = chosen(buffer.tile, buffer.bytes);
    SmallVector<int64_t> shape(buffer.slots);
    append_range(shape, buffer.tile);
    SharedLayout whole(shape, buffer.bytes, tile.getSwizzle(), tile.getChunk(),
                       buffer.slots.size());
    EXPECT_FALSE(whole.isTile());
    int64_t number = 0;
    forEachElement(buffer.slots, [&](ArrayRef<int64_t> slot) {
      forEachElement(buffer.tile, [&](ArrayRef<int64_t> at) {
        SmallVector<int64_t> both(slot);
        append_range(both, at);
        EXPECT_EQ(whole.getOffset(both),
                  number * tile.getSlotBytes() + tile.getOffset(at));
        EXPECT_EQ(whole.getCoordinates(whole.getOffset(both)), both);
      });
      ++number;
    });
    EXPECT_EQ(whole.getBytes(), number * tile.getSlotBytes());
    EXPECT_EQ(whole.getSlotBytes(), whole.getBytes());
  }
}

TEST(SharedLayout, DescriptorsOfBothMajors) {
  SharedLayout layout = chosen({64, 128}, 2);
  // K along the rows: 8 rows of 128 bytes are 64 units of 16.
  EXPECT_EQ(layout.getMatrixDescriptor(/*kMajor=*/true),
            uint64_t(1) << 62 | uint64_t(64) << 32 | 1 << 16);
  // Else panels of 64 rows of 128 bytes lead.
  EXPECT_EQ(layout.getMatrixDescriptor(/*kMajor=*/false),
            uint64_t(1) << 62 | uint64_t(64) << 32 | 512 << 16);
  EXPECT_EQ(chosen({64, 16}, 2).getMatrixDescriptor(true) >> 62, 3u);
  EXPECT_EQ(chosen({64, 96}, 2).getMatrixDescriptor(true) >> 62, 2u);
  EXPECT_EQ(layout.getRowOffset(8), 1024);
  EXPECT_EQ(layout.getColumnOffset(32), 64);
  EXPECT_EQ(layout.getColumnOffset(96), 8192 + 64);
}

TEST(SharedLayout, RefusesWhatDoesNotRepeat) {
  std::string why;
  EXPECT_TRUE(failed(SharedLayout({64, 64}, 2, 128, 32).verify(why)));
  EXPECT_EQ(why, "a panel of 64 rows of 64 bytes is not a whole number of "
                 "periods of a swizzle of 128 bytes");
  EXPECT_TRUE(failed(SharedLayout({60, 64}, 2, 128, 64).verify(why)));
  EXPECT_TRUE(succeeded(SharedLayout({64, 64}, 2, 0, 32).verify(why)));
  EXPECT_TRUE(failed(SharedLayout({3, 64}, 2, 0, 32).verify(why)));
  EXPECT_EQ(why, "a panel of 3 rows of 64 bytes is not a whole number of units "
                 "of 128 bytes, at which the bulk copy engine writes");
  EXPECT_TRUE(failed(SharedLayout({64, 65}, 2, 128, 64).verify(why)));
  EXPECT_EQ(why, "rows of 65 elements cannot be cut into panels of 64");
}
