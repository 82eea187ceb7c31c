//===- LayoutTest.cpp - Tests for the layout algebra ----------------------===//
//
// Each operation is held against its law, index by index, over all small
// layouts of a family, and against the examples of CuTe's documentation.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/Layout.h"
#include "tl/Layout/Swizzle.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <set>

using namespace llvm;
using namespace tl::layout;

namespace {

Layout layout(StringRef text) {
  Expected<Layout> parsed = Layout::parse(text);
  if (parsed)
    return *parsed;
  ADD_FAILURE() << toString(parsed.takeError());
  return Layout();
}

/// The printed result, or the message of the error.
template <typename T>
std::string show(Expected<T> result) {
  return result ? result->str() : toString(result.takeError());
}

/// The result if there is one; laws say nothing about failures.
std::optional<Layout> tryGet(Expected<Layout> result) {
  if (result)
    return *result;
  EXPECT_NE(toString(result.takeError()), "");
  return std::nullopt;
}

std::vector<int64_t> offsets(const Layout &layout) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < layout.getSize(); ++i)
    result.push_back(layout(i));
  return result;
}

/// All layouts `(e0,e1):(s0,s1)` of small extents and strides.
std::vector<Layout> pairs() {
  std::vector<Layout> result;
  for (int64_t e0 : {1, 2, 3, 4})
    for (int64_t e1 : {1, 2, 3, 4})
      for (int64_t s0 : {0, 1, 2, 3, 4, 6, 8})
        for (int64_t s1 : {0, 1, 2, 3, 4, 6, 8})
          result.push_back(makeLayout({Layout(e0, s0), Layout(e1, s1)}));
  return result;
}

/// The same nested, `((e0,e1),e2):((s0,s1),s2)`, over fewer numbers.
std::vector<Layout> nested() {
  std::vector<Layout> result;
  for (const Layout &inner : pairs())
    for (int64_t extent : {2, 3})
      for (int64_t stride : {1, 4, 12})
        result.push_back(makeLayout({inner, Layout(extent, stride)}));
  return result;
}

std::vector<Layout> vectors() {
  std::vector<Layout> result;
  for (int64_t extent : {1, 2, 3, 4, 6, 8})
    for (int64_t stride : {0, 1, 2, 3, 4, 5, 6, 8, 12})
      result.push_back(Layout(extent, stride));
  return result;
}

std::vector<Layout> concat(std::vector<Layout> a, ArrayRef<Layout> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

TEST(Layout, SaysWhatItIs) {
  Layout a = layout("((4,8),(2,2)):((2,256),(1,2048))");
  EXPECT_EQ(a.getSize(), 128);
  EXPECT_EQ(a.getRank(), 2);
  EXPECT_EQ(a.getDepth(), 2);
  EXPECT_EQ(a.getCosize(), 3 * 2 + 7 * 256 + 1 + 2048 + 1);
  EXPECT_EQ(a[0].str(), "(4,8):(2,256)");
  EXPECT_EQ(layout("8:1").getRank(), 1);
  EXPECT_EQ(layout("8:1").getDepth(), 0);
  EXPECT_EQ(Layout().getSize(), 1);
  EXPECT_EQ(makeLayout({}).getSize(), 1);
  EXPECT_EQ(makeLayout({})(0), 0);
}

// An index, a coordinate per mode and a coordinate per leaf name one offset.
TEST(Layout, TakesIndicesAndCoordinates) {
  Layout a = layout("((2,3),4):((12,1),3)");
  for (int64_t i = 0; i < 24; ++i) {
    int64_t x = i % 2, y = i / 2 % 3, z = i / 6;
    int64_t expected = 12 * x + y + 3 * z;
    EXPECT_EQ(a(i), expected);
    EXPECT_EQ(a(IntTuple::list({i % 6, z})), expected);
    EXPECT_EQ(a(IntTuple::list({IntTuple::list({x, y}), z})), expected);
  }
}

TEST(Layout, ContinuesPastItsEnd) {
  EXPECT_EQ(layout("(2,3):(3,1)")(6), 3);
  EXPECT_EQ(layout("(2,3):(3,1)")(7), 6);
}

TEST(Layout, CosizeIsOneMoreThanTheLargestOffset) {
  for (const Layout &a : concat(pairs(), nested())) {
    std::vector<int64_t> reached = offsets(a);
    EXPECT_EQ(a.getCosize(), *llvm::max_element(reached) + 1) << a.str();
  }
}

TEST(Layout, MakesCompactLayouts) {
  IntTuple shape = layout("((2,3),4):((0,0),0)").getShape();
  EXPECT_EQ(Layout::columnMajor(shape).str(), "((2,3),4):((1,2),6)");
  EXPECT_EQ(Layout::rowMajor(shape).str(), "((2,3),4):((12,4),1)");
}

TEST(Layout, ComparesTreesAndHashes) {
  Layout a = layout("(4,2):(1,4)");
  EXPECT_EQ(a, layout("(4,2):(1,4)"));
  EXPECT_EQ(hash_value(a), hash_value(layout("(4,2):(1,4)")));
  EXPECT_NE(a, layout("8:1"));
  EXPECT_NE(layout("(8):(1)"), layout("8:1"));
  EXPECT_TRUE(isEquivalent(a, layout("8:1")));
}

//===----------------------------------------------------------------------===//
// Form
//===----------------------------------------------------------------------===//

TEST(LayoutForm, CoalesceKeepsTheFunctionAndIsShortest) {
  EXPECT_EQ(coalesce(layout("(2,(1,6)):(1,(6,2))")).str(), "12:1");
  EXPECT_EQ(coalesce(layout("(2,1):(3,7)")).str(), "2:3");
  EXPECT_EQ(coalesce(layout("(1,1):(3,7)")).str(), "1:0");
  for (const Layout &a : concat(pairs(), nested())) {
    Layout b = coalesce(a);
    EXPECT_EQ(offsets(a), offsets(b)) << a.str();
    EXPECT_LE(b.getDepth(), 1);
    EXPECT_EQ(coalesce(b), b);
    EXPECT_EQ(offsets(flatten(a)), offsets(a)) << a.str();
  }
}

TEST(LayoutForm, EquivalentMeansEqualFunctions) {
  std::vector<Layout> all = pairs();
  int64_t equivalent = 0;
  for (const Layout &a : all)
    for (const Layout &b : all) {
      bool expected = offsets(a) == offsets(b);
      ASSERT_EQ(isEquivalent(a, b), expected) << a.str() << " " << b.str();
      equivalent += expected;
    }
  EXPECT_GT(equivalent, int64_t(all.size()));
}

TEST(LayoutForm, FilterZerosReachesTheSameOffsets) {
  EXPECT_EQ(filterZeros(layout("((2,3),4):((0,1),0)")).str(),
            "((1,3),1):((0,1),0)");
  for (const Layout &a : nested()) {
    std::vector<int64_t> before = offsets(a), after = offsets(filterZeros(a));
    EXPECT_EQ(std::set(before.begin(), before.end()),
              std::set(after.begin(), after.end()));
  }
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

TEST(LayoutComposition, MatchesCuTe) {
  auto compose = [](StringRef a, StringRef b) {
    return show(composition(layout(a), layout(b)));
  };
  EXPECT_EQ(compose("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
  EXPECT_EQ(compose("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)");
  EXPECT_EQ(compose("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
}

// R(i) = a(b(i)), also where b leaves the domain of a, and R keeps the profile
// of b above its leaves.
TEST(LayoutComposition, ObeysItsLaw) {
  int64_t composed = 0;
  for (const Layout &a : concat(pairs(), nested()))
    for (const Layout &b :
         concat(vectors(), {layout("(2,2):(1,2)"), layout("(2,3):(2,1)"),
                            layout("(2,2):(1,1)"), layout("(3,2):(1,3)"),
                            layout("(2,(2,2)):(4,(1,2))")})) {
      std::optional<Layout> r = tryGet(composition(a, b));
      if (!r)
        continue;
      ++composed;
      ASSERT_EQ(r->getSize(), b.getSize());
      if (!b.getShape().isLeaf()) {
        ASSERT_EQ(r->getRank(), b.getRank());
        for (int64_t mode = 0; mode < b.getRank(); ++mode)
          ASSERT_EQ((*r)[mode].getSize(), b[mode].getSize());
      }
      for (int64_t i = 0; i < b.getSize(); ++i)
        ASSERT_EQ((*r)(i), a(b(i)))
            << a.str() << " o " << b.str() << " = " << r->str() << " at " << i;
    }
  EXPECT_GT(composed, 100000);
}

// CuTe's conditions of divisibility, on the stride and then the extent, are
// enough for success.
TEST(LayoutComposition, TakesWhatDividesEvenly) {
  for (const Layout &a : pairs())
    for (const Layout &b : vectors()) {
      int64_t first = a[0].getSize();
      int64_t extent = b.getSize(), step = b.getStride().getValue();
      bool skips = step % first == 0;
      bool cuts = step != 0 && first % step == 0 &&
                  (extent <= first / step || extent % (first / step) == 0);
      if (skips || cuts) {
        EXPECT_TRUE(tryGet(composition(a, b))) << a.str() << " o " << b.str();
      }
    }
}

TEST(LayoutComposition, IdentityIsNeutral) {
  for (const Layout &a : nested()) {
    std::optional<Layout> right =
        tryGet(composition(a, Layout(a.getSize(), 1)));
    std::optional<Layout> left =
        tryGet(composition(Layout(a.getCosize(), 1), a));
    ASSERT_TRUE(left && right) << a.str();
    EXPECT_TRUE(isEquivalent(*right, a)) << a.str();
    EXPECT_TRUE(isEquivalent(*left, a)) << a.str();
  }
}

TEST(LayoutComposition, NamesBothLayouts) {
  EXPECT_EQ(show(composition(layout("(6,4):(1,10)"), layout("4:4"))),
            "cannot compose `(6,4):(1,10)` with `4:4`: the mode `4:4` does not "
            "divide the mode `6:1` of the left-hand side evenly");
  // a(1 + 1) = 10 but a(1) + a(1) = 2.
  EXPECT_EQ(show(composition(layout("(2,2):(1,10)"), layout("(2,2):(1,1)"))),
            "cannot compose `(2,2):(1,10)` with `(2,2):(1,1)`: modes of the "
            "right-hand side add up to 2 inside the mode `2:1` of the "
            "left-hand side");
}

//===----------------------------------------------------------------------===//
// Complement and inverses
//===----------------------------------------------------------------------===//

TEST(LayoutComplement, MatchesCuTe) {
  auto complementOf = [](StringRef a) {
    return show(complement(layout(a), 24));
  };
  EXPECT_EQ(complementOf("4:1"), "6:4");
  EXPECT_EQ(complementOf("6:4"), "4:1");
  EXPECT_EQ(complementOf("(4,6):(1,4)"), "1:0");
  EXPECT_EQ(complementOf("4:2"), "(2,3):(1,8)");
  EXPECT_EQ(complementOf("(2,4):(1,6)"), "3:2");
  EXPECT_EQ(complementOf("(2,2):(1,6)"), "(3,2):(2,12)");
}

// (a, C) reaches each offset below its size once, C is increasing, and all
// offsets up to `cosizeHi` are reached.
TEST(LayoutComplement, ObeysItsLaws) {
  int64_t found = 0;
  for (const Layout &a : concat(pairs(), vectors()))
    for (int64_t cosizeHi : {1, 7, 12, 24}) {
      std::optional<Layout> c = tryGet(complement(a, cosizeHi));
      if (!c)
        continue;
      ++found;
      Layout both = makeLayout({filterZeros(a), *c});
      std::vector<int64_t> reached = offsets(both);
      EXPECT_EQ(std::set(reached.begin(), reached.end()).size(), reached.size())
          << a.str() << " and " << c->str() << " meet";
      EXPECT_EQ(both.getCosize(), both.getSize()) << a.str();
      EXPECT_GE(both.getSize(), cosizeHi) << a.str();
      std::vector<int64_t> own = offsets(*c);
      EXPECT_TRUE(is_sorted(own)) << c->str();
    }
  EXPECT_GT(found, 500);
}

TEST(LayoutComplement, NamesTheOverlap) {
  EXPECT_EQ(show(complement(layout("(2,2):(1,1)"), 8)),
            "cannot find the complement of `(2,2):(1,1)` in `8:1`: stride 1 is "
            "not a multiple of 2, which the modes of smaller stride cover");
}

TEST(LayoutInverse, RightInverseObeysItsLaw) {
  for (const Layout &a : concat(pairs(), nested())) {
    Layout r = rightInverse(a);
    for (int64_t i = 0; i < r.getSize(); ++i)
      ASSERT_EQ(a(r(i)), i) << a.str() << " inverse " << r.str();
    // A bijection is inverted whole.
    std::vector<int64_t> reached = offsets(a);
    std::set<int64_t> distinct(reached.begin(), reached.end());
    if (int64_t(distinct.size()) == a.getSize() &&
        a.getCosize() == a.getSize()) {
      EXPECT_EQ(r.getSize(), a.getSize()) << a.str();
    }
  }
  EXPECT_EQ(rightInverse(layout("(4,8):(8,1)")).str(), "(8,4):(4,1)");
}

TEST(LayoutInverse, LeftInverseObeysItsLaw) {
  int64_t found = 0;
  for (const Layout &a : concat(pairs(), nested())) {
    std::optional<Layout> l = tryGet(leftInverse(a));
    if (!l)
      continue;
    ++found;
    for (int64_t i = 0; i < a.getSize(); ++i)
      ASSERT_EQ((*l)(a(i)), i) << a.str() << " inverse " << l->str();
  }
  EXPECT_GT(found, 500);
}

TEST(LayoutInverse, NamesWhatIsNotInjective) {
  EXPECT_EQ(show(leftInverse(layout("(2,4):(1,0)"))),
            "cannot invert `(2,4):(1,0)`: a mode of stride 0 reaches one "
            "offset more than once");
  EXPECT_EQ(show(leftInverse(layout("(2,2):(2,3)"))),
            "cannot invert `(2,2):(2,3)`: cannot find the complement of "
            "`(2,2):(2,3)` in `6:1`: stride 3 is not a multiple of 4, which "
            "the modes of smaller stride cover");
}

//===----------------------------------------------------------------------===//
// Divide and product
//===----------------------------------------------------------------------===//

TEST(LayoutDivide, MatchesCuTe) {
  EXPECT_EQ(show(logicalDivide(layout("(4,2,3):(2,1,8)"), layout("4:2"))),
            "((2,2),(2,3)):((4,1),(2,8))");
  Layout a = layout("(9,(4,8)):(59,(13,1))");
  Layout tiler[] = {layout("3:3"), layout("(2,4):(1,8)")};
  EXPECT_EQ(show(logicalDivide(a, tiler)),
            "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
  EXPECT_EQ(show(zippedDivide(a, tiler)),
            "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
}

// Mode 0 is a o b, and when b tiles a, the whole is a permutation of a.
TEST(LayoutDivide, ObeysItsDefinition) {
  int64_t divided = 0;
  for (const Layout &a : pairs())
    for (const Layout &b : vectors()) {
      std::optional<Layout> d = tryGet(logicalDivide(a, b));
      if (!d)
        continue;
      ++divided;
      ASSERT_EQ(d->getRank(), 2);
      ASSERT_EQ((*d)[0].getSize(), b.getSize());
      for (int64_t i = 0; i < b.getSize(); ++i)
        ASSERT_EQ((*d)[0](i), a(b(i))) << a.str() << " / " << b.str();
      if (d->getSize() != a.getSize() || filterZeros(b) != b)
        continue;
      std::vector<int64_t> before = offsets(a), after = offsets(*d);
      sort(before);
      sort(after);
      EXPECT_EQ(before, after) << a.str() << " / " << b.str();
    }
  EXPECT_GT(divided, 5000);
}

TEST(LayoutDivide, ZipsTheModesWithoutTiler) {
  EXPECT_EQ(show(zippedDivide(layout("(8,6):(1,8)"), layout("4:1"))),
            "((4),(2,6)):((1),(4,8))");
}

TEST(LayoutDivide, HangsOverTheEnd) {
  EXPECT_EQ(show(logicalDivide(layout("10:1"), layout("4:1"))), "(4,3):(1,4)");
}

TEST(LayoutDivide, NamesBothLayouts) {
  EXPECT_EQ(show(logicalDivide(layout("8:1"), layout("(2,2):(1,1)"))),
            "cannot divide `8:1` by `(2,2):(1,1)`: cannot find the complement "
            "of `(2,2):(1,1)` in `8:1`: stride 1 is not a multiple of 2, which "
            "the modes of smaller stride cover");
  EXPECT_EQ(show(logicalDivide(layout("8:1"), {layout("2:1"), layout("2:1")})),
            "cannot divide `8:1` by `(2,2):(1,1)`: the tiler has more modes "
            "than the layout");
}

TEST(LayoutProduct, MatchesCuTe) {
  Layout a = layout("(2,2):(4,1)");
  EXPECT_EQ(show(logicalProduct(a, layout("6:1"))),
            "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(show(logicalProduct(a, layout("(4,2):(2,1)"))),
            "((2,2),(4,2)):((4,1),(8,2))");
}

// Mode 0 is a; copies do not meet; they are ordered as b says.
TEST(LayoutProduct, ObeysItsDefinition) {
  int64_t multiplied = 0;
  for (const Layout &a : pairs())
    for (const Layout &b : vectors()) {
      std::optional<Layout> p = tryGet(logicalProduct(a, b));
      if (!p)
        continue;
      ++multiplied;
      ASSERT_EQ((*p)[0], a);
      ASSERT_EQ((*p)[1].getSize(), b.getSize());
      std::optional<Layout> rest =
          tryGet(complement(a, a.getSize() * b.getCosize()));
      ASSERT_TRUE(rest);
      for (int64_t i = 0; i < b.getSize(); ++i)
        ASSERT_EQ((*p)[1](i), (*rest)(b(i)));
      Layout distinct = filterZeros(*p);
      std::vector<int64_t> reached = offsets(distinct);
      EXPECT_EQ(std::set(reached.begin(), reached.end()).size(), reached.size())
          << a.str() << " x " << b.str();
    }
  EXPECT_GT(multiplied, 5000);
}

TEST(LayoutProduct, NamesBothLayouts) {
  EXPECT_EQ(show(logicalProduct(layout("(2,2):(1,1)"), layout("2:1"))),
            "cannot multiply `(2,2):(1,1)` by `2:1`: cannot find the "
            "complement of `(2,2):(1,1)` in `8:1`: stride 1 is not a multiple "
            "of 2, which the modes of smaller stride cover");
}

//===----------------------------------------------------------------------===//
// Swizzles
//===----------------------------------------------------------------------===//

// Sw<3,4,3> on bytes: the 16-byte chunk within a 128-byte row is XORed with the
// number of the row modulo 8.
TEST(Swizzle, PermutesChunksOfRows) {
  Swizzle swizzle{3, 4, 3};
  for (int64_t offset = 0; offset < 4096; ++offset) {
    int64_t row = offset / 128, chunk = offset / 16 % 8, byte = offset % 16;
    EXPECT_EQ(swizzle(offset), row * 128 + (chunk ^ (row % 8)) * 16 + byte);
    EXPECT_EQ(swizzle(swizzle(offset)), offset);
  }
}

// With a negative shift the lower bits change the upper ones.
TEST(Swizzle, ShiftsDownwards) {
  Swizzle swizzle{2, 1, -3};
  for (int64_t offset = 0; offset < 256; ++offset) {
    EXPECT_EQ(swizzle(offset), offset ^ ((offset >> 1 & 3) << 4));
    EXPECT_EQ(swizzle(swizzle(offset)), offset);
  }
}

TEST(Swizzle, ColumnsFallIntoDistinctBanks) {
  Expected<ComposedLayout> tile =
      ComposedLayout::parse("Sw<3,3,3> o 0 o (8,64):(64,1)");
  ASSERT_TRUE(bool(tile));
  for (int64_t column = 0; column < 64; ++column) {
    std::set<int64_t> chunks;
    for (int64_t row = 0; row < 8; ++row)
      chunks.insert((*tile)(IntTuple::list({row, column})) % 64 / 8);
    EXPECT_EQ(chunks.size(), 8u);
  }
  EXPECT_EQ((*tile)(1), (*tile)(IntTuple::list({1, 0})));
}

TEST(Swizzle, AddsTheOffsetFirst) {
  ComposedLayout tile{{1, 0, 1}, 2, layout("2:1")};
  EXPECT_EQ(tile(0), 3);
  EXPECT_EQ(tile(1), 2);
}

//===----------------------------------------------------------------------===//
// Notation
//===----------------------------------------------------------------------===//

TEST(LayoutNotation, RoundTrips) {
  for (StringRef text :
       {"1:0", "8:1", "(8):(1)", "():()", "((4,8),(2,2)):((2,256),(1,2048))",
        "(2,(1,(6,3))):(1,(6,(2,0)))"})
    EXPECT_EQ(show(Layout::parse(text)), text);
  for (const Layout &a : nested())
    EXPECT_EQ(layout(a.str()), a);
  EXPECT_EQ(show(IntTuple::parse("((1,-2),3)")), "((1,-2),3)");
  EXPECT_EQ(show(Swizzle::parse("Sw<2,1,-3>")), "Sw<2,1,-3>");
  EXPECT_EQ(show(ComposedLayout::parse("Sw<3,4,3> o 16 o (8,64):(64,1)")),
            "Sw<3,4,3> o 16 o (8,64):(64,1)");
}

TEST(LayoutNotation, SkipsBlanks) {
  EXPECT_EQ(show(Layout::parse(" ( 4, 8 ) : ( 1 ,4) ")), "(4,8):(1,4)");
  EXPECT_EQ(show(Swizzle::parse("Sw < 3, 4, 3 >")), "Sw<3,4,3>");
}

TEST(LayoutNotation, SaysWhereItFails) {
  auto parse = [](StringRef text) { return show(Layout::parse(text)); };
  EXPECT_EQ(parse(""), "expected a 64-bit integer at column 1 of ``");
  EXPECT_EQ(parse("(4,8)"), "expected `:` at column 6 of `(4,8)`");
  EXPECT_EQ(parse("(4,8:1"), "expected `)` at column 5 of `(4,8:1`");
  EXPECT_EQ(parse("(4,):1"),
            "expected a 64-bit integer at column 4 of `(4,):1`");
  EXPECT_EQ(parse("4:1 x"), "unexpected text at column 5 of `4:1 x`");
  EXPECT_EQ(parse("99999999999999999999:1"),
            "expected a 64-bit integer at column 1 of "
            "`99999999999999999999:1`");
  std::string deep(33, '(');
  EXPECT_EQ(parse(deep),
            "more than 32 nested lists at column 34 of `" + deep + "`");
}

TEST(LayoutNotation, RefusesWhatIsNoLayout) {
  auto parse = [](StringRef text) { return show(Layout::parse(text)); };
  EXPECT_EQ(parse("(4,8):1"),
            "`(4,8):1` is not a layout: shape and stride differ in profile");
  EXPECT_EQ(parse("(4,2):(1,4,8)"), "`(4,2):(1,4,8)` is not a layout: shape "
                                    "and stride differ in profile");
  EXPECT_EQ(parse("0:1"), "`0:1` is not a layout: extents must be positive");
  EXPECT_EQ(parse("2:-1"),
            "`2:-1` is not a layout: strides must not be negative");
  EXPECT_EQ(parse("2:9223372036854775807"),
            "`2:9223372036854775807` is not a layout: sizes and offsets must "
            "fit in 64 bits");
  EXPECT_EQ(parse("(4294967296,4294967296):(0,0)"),
            "`(4294967296,4294967296):(0,0)` is not a layout: sizes and "
            "offsets must fit in 64 bits");
}

TEST(LayoutNotation, RefusesWhatIsNoSwizzle) {
  auto parse = [](StringRef text) { return show(Swizzle::parse(text)); };
  EXPECT_EQ(parse("Sw<3,4"), "expected `,` at column 7 of `Sw<3,4`");
  EXPECT_EQ(parse("Zw<3,4,3>"), "expected `Sw` at column 1 of `Zw<3,4,3>`");
  EXPECT_EQ(parse("Sw<3,4,2>"), "`Sw<3,4,2>` is not a swizzle: the shift must "
                                "be at least the number of bits");
  for (StringRef text : {"Sw<-1,4,3>", "Sw<3,60,3>", "Sw<3,4,-64>"})
    EXPECT_EQ(parse(text), ("`" + text +
                            "` is not a swizzle: fields must lie in the 63 "
                            "bits of an offset")
                               .str());
  EXPECT_EQ(show(ComposedLayout::parse("Sw<3,4,3> o -1 o 8:1")),
            "the offset must not be negative at column 15 of `Sw<3,4,3> o -1 o "
            "8:1`");
}

} // namespace
