//===- Algebra.cpp - Composition, complement, inverses, divide, product ---===//
//
// All operations work on the leaves of a layout as a list of modes, extent and
// stride, and put the profile back where it matters.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>

using namespace llvm;
using namespace tl::layout;

namespace {

struct Mode {
  int64_t extent;
  int64_t stride;
};
using Modes = SmallVector<Mode>;

} // namespace

static Modes leafModes(const Layout &layout) {
  Modes modes;
  for (auto [extent, stride] :
       zip_equal(layout.getShape().getLeaves(), layout.getStride().getLeaves()))
    modes.push_back({extent, stride});
  return modes;
}

/// A list of modes, where a single mode stands alone and none is `1:0`.
static Layout fromModes(ArrayRef<Mode> modes) {
  if (modes.empty())
    return Layout();
  if (modes.size() == 1)
    return Layout(modes[0].extent, modes[0].stride);
  SmallVector<IntTuple> shape, stride;
  for (Mode mode : modes) {
    shape.push_back(mode.extent);
    stride.push_back(mode.stride);
  }
  return Layout(IntTuple::list(shape), IntTuple::list(stride));
}

static void appendMerged(Modes &modes, Mode mode) {
  bool continues = !modes.empty() &&
                   mode.stride == modes.back().extent * modes.back().stride;
  if (continues)
    modes.back().extent *= mode.extent;
  else
    modes.push_back(mode);
}

/// The unique shortest list of modes for the indices of `layout`.
static Modes coalescedModes(const Layout &layout) {
  Modes result;
  for (Mode mode : leafModes(layout))
    if (mode.extent != 1)
      appendMerged(result, mode);
  return result;
}

/// The shortest list of modes that also agrees with `layout` on indices past
/// its end. They continue along the last mode, so it counts at extent 1 too.
static Modes coalescedModesPastEnd(const Layout &layout) {
  Modes modes = leafModes(layout), result;
  for (auto [i, mode] : enumerate(modes))
    if (mode.extent != 1 || i + 1 == modes.size())
      appendMerged(result, mode);
  if (result.empty())
    result.push_back({1, 0});
  return result;
}

static Error makeError(StringRef what, const Layout &a, StringRef link,
                       const Layout &b, const Twine &reason) {
  return createStringError("cannot " + what + " `" + a.str() + "` " + link +
                           " `" + b.str() + "`: " + reason);
}

//===----------------------------------------------------------------------===//
// Form
//===----------------------------------------------------------------------===//

Layout tl::layout::makeLayout(ArrayRef<Layout> modes) {
  SmallVector<IntTuple> shape, stride;
  for (const Layout &mode : modes) {
    shape.push_back(mode.getShape());
    stride.push_back(mode.getStride());
  }
  return Layout(IntTuple::list(shape), IntTuple::list(stride));
}

Layout tl::layout::flatten(const Layout &layout) {
  return fromModes(leafModes(layout));
}

Layout tl::layout::coalesce(const Layout &layout) {
  return fromModes(coalescedModes(layout));
}

Layout tl::layout::filterZeros(const Layout &layout) {
  if (!layout.getShape().isLeaf())
    return makeLayout(map_to_vector(layout.getModes(), filterZeros));
  return layout.getStride() == 0 ? Layout() : layout;
}

bool tl::layout::isEquivalent(const Layout &a, const Layout &b) {
  return coalesce(a) == coalesce(b);
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

namespace {

/// Composes a layout with the leaves of another, one at a time, and keeps
/// account of what they add to each digit of the left-hand index.
class Composer {
public:
  Composer(const Layout &a, const Layout &b)
      : a(a), b(b), digits(coalescedModesPastEnd(a)),
        reached(digits.size(), 0) {}

  Expected<Layout> compose() { return composeTree(b); }

private:
  Expected<Layout> composeTree(const Layout &tree);
  Expected<Layout> composeLeaf(Mode leaf);

  /// Adds the positions 0, step, ..., (extent - 1) * step of a digit to what
  /// is reached, and fails when sums with the other leaves would carry into the
  /// next digit: then a(x + y) is not a(x) + a(y).
  Error reach(size_t digit, int64_t extent, int64_t step);

  Error fail(const Twine &reason) const {
    return makeError("compose", a, "with", b, reason);
  }

  const Layout &a;
  const Layout &b;
  Modes digits;
  SmallVector<int64_t> reached;
};

} // namespace

Expected<Layout> Composer::composeTree(const Layout &tree) {
  if (tree.getShape().isLeaf())
    return composeLeaf(
        {tree.getShape().getValue(), tree.getStride().getValue()});
  SmallVector<Layout> modes;
  for (const Layout &mode : tree.getModes()) {
    Expected<Layout> composed = composeTree(mode);
    if (!composed)
      return composed.takeError();
    modes.push_back(std::move(*composed));
  }
  return makeLayout(modes);
}

Error Composer::reach(size_t digit, int64_t extent, int64_t step) {
  reached[digit] += (extent - 1) * step;
  bool isLast = digit + 1 == digits.size();
  if (isLast || reached[digit] < digits[digit].extent)
    return Error::success();
  return fail("modes of the right-hand side add up to " +
              Twine(reached[digit]) + " inside the mode `" +
              Twine(digits[digit].extent) + ":" + Twine(digits[digit].stride) +
              "` of the left-hand side");
}

Expected<Layout> Composer::composeLeaf(Mode leaf) {
  auto [extent, step] = leaf;
  if (extent == 1 || step == 0)
    return Layout(extent, 0);

  Modes pieces;
  for (auto [i, digit] : enumerate(digits)) {
    bool isLast = i + 1 == digits.size();
    if (isLast || (extent - 1) * step < digit.extent) {
      // All that is left stays inside this digit.
      if (Error error = reach(i, extent, step))
        return error;
      appendMerged(pieces, {extent, step * digit.stride});
      break;
    }
    if (step % digit.extent == 0) {
      step /= digit.extent;
      continue;
    }
    int64_t inside = digit.extent / step;
    if (digit.extent % step || extent % inside)
      return fail("the mode `" + Twine(leaf.extent) + ":" + Twine(leaf.stride) +
                  "` does not divide the mode `" + Twine(digit.extent) + ":" +
                  Twine(digit.stride) + "` of the left-hand side evenly");
    if (Error error = reach(i, inside, step))
      return error;
    appendMerged(pieces, {inside, step * digit.stride});
    extent /= inside;
    step = 1;
  }
  return fromModes(pieces);
}

Expected<Layout> tl::layout::composition(const Layout &a, const Layout &b) {
  return Composer(a, b).compose();
}

//===----------------------------------------------------------------------===//
// Complement and inverses
//===----------------------------------------------------------------------===//

static void sortByStride(Modes &modes) {
  stable_sort(modes, [](Mode a, Mode b) { return a.stride < b.stride; });
}

Expected<Layout> tl::layout::complement(const Layout &a, int64_t cosizeHi) {
  assert(cosizeHi > 0 && "there is always the offset 0");
  Modes modes = coalescedModes(filterZeros(a));
  sortByStride(modes);

  Modes gaps;
  // Each offset below is reached once by the modes so far and the gaps.
  int64_t covered = 1;
  for (Mode mode : modes) {
    if (mode.stride % covered)
      return makeError("find the complement of", a, "in", Layout(cosizeHi, 1),
                       "stride " + Twine(mode.stride) +
                           " is not a multiple of " + Twine(covered) +
                           ", which the modes of smaller stride cover");
    gaps.push_back({mode.stride / covered, covered});
    covered = mode.extent * mode.stride;
  }
  gaps.push_back({int64_t(divideCeil(cosizeHi, covered)), covered});
  return coalesce(fromModes(gaps));
}

Layout tl::layout::rightInverse(const Layout &a) {
  struct Step {
    Mode mode;
    int64_t indexStride;
  };
  SmallVector<Step> steps;
  int64_t indexStride = 1;
  for (Mode mode : coalescedModes(a)) {
    steps.push_back({mode, indexStride});
    indexStride *= mode.extent;
  }
  stable_sort(steps, [](const Step &x, const Step &y) {
    return x.mode.stride < y.mode.stride;
  });

  Modes inverse;
  int64_t covered = 1;
  for (const Step &step : steps) {
    if (step.mode.stride != covered)
      continue;
    inverse.push_back({step.mode.extent, step.indexStride});
    covered *= step.mode.extent;
  }
  return coalesce(fromModes(inverse));
}

Expected<Layout> tl::layout::leftInverse(const Layout &a) {
  auto fail = [&](StringRef reason) {
    return createStringError("cannot invert `" + a.str() + "`: " + reason);
  };
  for (Mode mode : coalescedModes(a))
    if (mode.stride == 0)
      return fail("a mode of stride 0 reaches one offset more than once");
  Expected<Layout> rest = complement(a, a.getCosize());
  if (!rest)
    return fail(toString(rest.takeError()));
  return rightInverse(makeLayout({a, *rest}));
}

//===----------------------------------------------------------------------===//
// Divide and product
//===----------------------------------------------------------------------===//

/// Says which operation on which layouts ran into `error`.
static Error explain(StringRef what, const Layout &a, const Layout &b,
                     Error error) {
  return makeError(what, a, "by", b, toString(std::move(error)));
}

Expected<Layout> tl::layout::logicalDivide(const Layout &a, const Layout &b) {
  Expected<Layout> rest = complement(b, a.getSize());
  if (!rest)
    return explain("divide", a, b, rest.takeError());
  Expected<Layout> result = composition(a, makeLayout({b, *rest}));
  if (!result)
    return explain("divide", a, b, result.takeError());
  return result;
}

Expected<Layout> tl::layout::logicalDivide(const Layout &a,
                                           ArrayRef<Layout> tiler) {
  std::vector<Layout> modes = a.getModes();
  if (tiler.size() > modes.size())
    return makeError("divide", a, "by", makeLayout(tiler),
                     "the tiler has more modes than the layout");
  for (auto [mode, tile] : zip(modes, tiler)) {
    Expected<Layout> divided = logicalDivide(mode, tile);
    if (!divided)
      return explain("divide", a, makeLayout(tiler), divided.takeError());
    mode = std::move(*divided);
  }
  return makeLayout(modes);
}

Expected<Layout> tl::layout::zippedDivide(const Layout &a,
                                          ArrayRef<Layout> tiler) {
  Expected<Layout> divided = logicalDivide(a, tiler);
  if (!divided)
    return divided.takeError();
  SmallVector<Layout> tile, rest;
  for (auto [i, mode] : enumerate(divided->getModes())) {
    if (i >= tiler.size()) {
      rest.push_back(mode);
      continue;
    }
    tile.push_back(mode[0]);
    rest.push_back(mode[1]);
  }
  return makeLayout({makeLayout(tile), makeLayout(rest)});
}

Expected<Layout> tl::layout::logicalProduct(const Layout &a, const Layout &b) {
  Expected<Layout> rest = complement(a, a.getSize() * b.getCosize());
  if (!rest)
    return explain("multiply", a, b, rest.takeError());
  Expected<Layout> copies = composition(*rest, b);
  if (!copies)
    return explain("multiply", a, b, copies.takeError());
  return makeLayout({a, *copies});
}
