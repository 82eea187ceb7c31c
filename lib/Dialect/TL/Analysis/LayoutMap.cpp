//===- LayoutMap.cpp - Layouts known so far -------------------------------===//
//
// Keeps the cause of every layout, because an error about a conflict is only of
// use when it points at both.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LayoutMap.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::FragmentMode;

const FragmentLayout *LayoutMap::get(Value fragment) const {
  auto it = fragments.find(fragment);
  return it == fragments.end() ? nullptr : &it->second.layout;
}

const FragmentLayout *LayoutMap::get(ParallelOp loop) const {
  auto it = loops.find(loop);
  return it == loops.end() ? nullptr : &it->second.layout;
}

LogicalResult LayoutMap::record(Known &known, bool isNew, Operation *subject,
                                const FragmentLayout &layout,
                                Operation *cause) {
  if (isNew) {
    known = {layout, cause};
    changed = true;
    return success();
  }
  if (known.layout == layout)
    return success();
  InFlightDiagnostic diag = subject->emitError()
                            << "needs two different layouts; copy it into a "
                               "second fragment through shared memory";
  diag.attachNote(known.cause->getLoc()) << "this needs " << known.layout.str();
  diag.attachNote(cause->getLoc()) << "this needs " << layout.str();
  return diag;
}

LogicalResult LayoutMap::set(Value fragment, const FragmentLayout &layout,
                             Operation *cause) {
  auto [it, isNew] = fragments.try_emplace(fragment);
  return record(it->second, isNew, fragment.getDefiningOp(), layout, cause);
}

LogicalResult LayoutMap::set(ParallelOp loop, const FragmentLayout &layout,
                             Operation *cause) {
  auto [it, isNew] = loops.try_emplace(loop);
  return record(it->second, isNew, loop, layout, cause);
}

/// Row-major strides of `shape`.
static SmallVector<int64_t> rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

FragmentLayout tl::selectDims(const FragmentLayout &layout,
                              ArrayRef<unsigned> dims) {
  ArrayRef<int64_t> shape = layout.getShape();
  SmallVector<int64_t> strides = rowMajor(shape);
  SmallVector<int64_t> newShape;
  for (unsigned dim : dims)
    newShape.push_back(shape[dim]);
  SmallVector<int64_t> newStrides = rowMajor(newShape);

  // The stride of a mode in the new tile; zero if it moves along a dimension
  // that is left out. Each mode moves along one dimension: the last one whose
  // stride does not exceed the mode's, extents of one aside.
  auto translate = [&](FragmentMode mode) -> FragmentMode {
    if (mode.stride == 0)
      return mode;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      if (extent == 1 || mode.stride < strides[dim])
        continue;
      const unsigned *position = llvm::find(dims, dim);
      if (position == dims.end())
        return {mode.extent, 0};
      int64_t step = mode.stride / strides[dim];
      return {mode.extent, step * newStrides[position - dims.begin()]};
    }
    llvm_unreachable("a mode moves along a dimension of its tile");
  };
  SmallVector<FragmentMode> threads, values;
  for (FragmentMode mode : layout.getThreadModes())
    threads.push_back(translate(mode));
  for (FragmentMode mode : layout.getValueModes())
    if (FragmentMode translated = translate(mode); translated.stride != 0)
      values.push_back(translated);
  return FragmentLayout(newShape, threads, values);
}
