//===- LayoutMap.cpp - Layouts known so far -------------------------------===//
//
// The first layout of a fragment or loop is the one it keeps, so the order in
// which inference asks decides; it asks those first who cannot choose.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LayoutMap.h"

#include "tl/Dialect/TL/Analysis/RowAccesses.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Layout/FragmentRelations.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static constexpr int64_t kWarp = 32;

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

int64_t tl::getVectorWidth(ArrayRef<int64_t> shape, Type element) {
  int64_t width = getVectorWidth(element);
  while (width > 1 && (shape.empty() || shape.back() % width != 0))
    width /= 2;
  return width;
}

int64_t tl::spreadVectors(ArrayRef<int64_t> shape, int64_t width,
                          int64_t numThreads) {
  int64_t elements = llvm::product_of(shape, int64_t(1));
  while (width > 1 && elements < numThreads * width)
    width /= 2;
  return width;
}

FragmentLayout tl::getDefaultLayout(ArrayRef<int64_t> shape, Type element,
                                    int64_t numThreads) {
  int64_t width = getVectorWidth(shape, element);
  return FragmentLayout::blocked(shape, numThreads,
                                 spreadVectors(shape, width, numThreads));
}

/// Atomic operations are one for each element, and neighbouring threads do
/// neighbouring ones together.
FragmentLayout tl::getDefaultLayout(ParallelOp loop) {
  int64_t numThreads = getThreads(loop).count;
  bool isAtomic = loop.getBody()
                      .walk([](AtomicOp) { return WalkResult::interrupt(); })
                      .wasInterrupted();
  if (isAtomic)
    return FragmentLayout::blocked(loop.getExtents(), numThreads, 1);
  int64_t rank = loop.getExtents().size();
  return getDefaultLayout(loop.getExtents(), getRowElement(loop, rank - 1),
                          numThreads);
}

/// Vectors of a row as narrow as makes it fill a warp, but of 32 bits.
static int64_t fillWarp(int64_t row, int64_t width, Type element) {
  while (width > 1 && row < kWarp * width &&
         width * element.getIntOrFloatBitWidth() > 32)
    width /= 2;
  return width;
}

FragmentLayout tl::getScanLayout(ScanOp scan) {
  ArrayRef<int64_t> shape =
      cast<MemRefType>(scan.getSource().getType()).getShape();
  RowUses uses = getRowUses(scan.getSource());
  return layout::getScanLayout(shape, scan.getDim(), getThreads(scan).count,
                               getVectorWidth(shape, uses.element));
}

/// A row that a warp holds is reduced without a barrier; other warps hold
/// copies then. So vectors are as short as gives all threads something, but no
/// shorter than keeps the row in a warp. Of rows that are added up, lanes hold
/// columns of their own, and have nothing to shuffle.
FragmentLayout tl::getDefaultLayout(AllocOp fragment) {
  ArrayRef<int64_t> shape = fragment.getType().getShape();
  int64_t numThreads = getThreads(fragment).count;
  RowUses uses = getRowUses(fragment.getResult());
  int64_t widest = getVectorWidth(shape, uses.element);
  int64_t width = spreadVectors(shape, widest, numThreads);
  if (uses.isReduced && shape.back() <= kWarp * widest)
    while (shape.back() > kWarp * width)
      width *= 2;
  if (uses.isReducedAcross && !uses.isReduced)
    width = fillWarp(shape.back(), width, uses.element);
  return FragmentLayout::blocked(shape, numThreads, width);
}

MemRefType tl::getWorkspaceType(Value target, const FragmentLayout &source,
                                int64_t dim, int64_t groups) {
  int64_t results =
      llvm::product_of(source.project(dim).getShape(), int64_t(1));
  Type element = cast<MemRefType>(target.getType()).getElementType();
  return MemRefType::get(
      {groups, results}, getReductionType(element), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(target.getContext(),
                                 gpu::AddressSpace::Workgroup));
}
