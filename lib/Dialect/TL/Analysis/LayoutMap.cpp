//===- LayoutMap.cpp - Layouts known so far -------------------------------===//
//
// The first layout of a fragment or loop is the one it keeps, so the order in
// which inference asks decides; it asks those first who cannot choose.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LayoutMap.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

const FragmentLayout *LayoutMap::get(Value fragment) const {
  auto it = fragments.find(fragment);
  return it == fragments.end() ? nullptr : &it->second;
}

const FragmentLayout *LayoutMap::get(ParallelOp loop) const {
  auto it = loops.find(loop);
  return it == loops.end() ? nullptr : &it->second;
}

void LayoutMap::set(Value fragment, FragmentLayout layout) {
  changed |= fragments.try_emplace(fragment, std::move(layout)).second;
}

void LayoutMap::set(ParallelOp loop, FragmentLayout layout) {
  changed |= loops.try_emplace(loop, std::move(layout)).second;
}

int64_t tl::getVectorWidth(Type type) {
  return std::max<int64_t>(1, 128 / std::max(8u, type.getIntOrFloatBitWidth()));
}

/// The widest vector of `element`s that cuts rows evenly.
static int64_t chooseWidth(ArrayRef<int64_t> shape, Type element) {
  int64_t width = getVectorWidth(element);
  while (width > 1 && (shape.empty() || shape.back() % width != 0))
    width /= 2;
  return width;
}

FragmentLayout tl::getDefaultLayout(ArrayRef<int64_t> shape, Type element,
                                    int64_t numThreads) {
  return FragmentLayout::blocked(shape, numThreads,
                                 chooseWidth(shape, element));
}

Type tl::getWidestElement(ParallelOp loop) {
  Type widest = IntegerType::get(loop.getContext(), 8);
  loop.getBody().walk([&](Operation *op) {
    if (!isa<LoadOp, StoreOp>(op))
      return;
    Type element =
        cast<MemRefType>(isa<LoadOp>(op)
                             ? cast<LoadOp>(op).getSource().getType()
                             : cast<StoreOp>(op).getTarget().getType())
            .getElementType();
    if (element.isIntOrFloat() &&
        element.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
      widest = element;
  });
  return widest;
}
