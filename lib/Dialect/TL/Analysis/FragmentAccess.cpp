//===- FragmentAccess.cpp - Fragments as parallel loops touch them --------===//
//
// The proofs of the rules in FragmentAccess.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/IR/Addresses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentIndex;
using layout::FragmentLayout;

/// Constants that are added to loop indices: a sum with a larger one, which no
/// fragment has room for, could wrap.
static constexpr uint64_t kMostBeside = 1 << 20;

std::optional<FragmentIndex> tl::getFragmentIndex(Value index, ParallelOp loop,
                                                  bool isWrite) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return FragmentIndex{-1, constant.getSExtValue()};
  int64_t position = 0;
  if (auto sum = index.getDefiningOp<arith::AddIOp>();
      sum && !isWrite && sum.getType().isIndex() &&
      matchPattern(sum.getRhs(), m_ConstantInt(&constant)) &&
      constant.abs().ult(kMostBeside)) {
    index = sum.getLhs();
    position = constant.getSExtValue();
  }
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument || argument.getOwner() != &loop.getBody().front())
    return std::nullopt;
  return FragmentIndex{argument.getArgNumber(), position};
}

SmallVector<FragmentAccess> tl::getFragmentAccesses(ParallelOp loop) {
  SmallVector<FragmentAccess> accesses;
  loop.getBody().walk([&](Operation *op) {
    Value buffer;
    ValueRange indices;
    if (auto load = dyn_cast<LoadOp>(op)) {
      buffer = load.getSource();
      indices = load.getIndices();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      buffer = store.getTarget();
      indices = store.getIndices();
    }
    if (!buffer || !isInSpace(buffer, Space::Fragment))
      return;
    FragmentAccess access{op, buffer, isa<StoreOp>(op), std::nullopt};
    SmallVector<FragmentIndex> parsed;
    for (Value index : indices)
      if (std::optional<FragmentIndex> known =
              getFragmentIndex(index, loop, access.isWrite))
        parsed.push_back(*known);
    if (parsed.size() == indices.size())
      access.indices = std::move(parsed);
    accesses.push_back(std::move(access));
  });
  return accesses;
}

std::optional<SmallVector<int64_t>> FragmentAccess::getDims() const {
  return isBeside() ? std::nullopt : getDimsBeside();
}

bool FragmentAccess::isBeside() const {
  return indices && llvm::any_of(*indices, [](FragmentIndex index) {
           return index.dim >= 0 && index.position != 0;
         });
}

std::optional<SmallVector<int64_t>> FragmentAccess::getDimsBeside() const {
  if (!indices)
    return std::nullopt;
  SmallVector<int64_t> dims;
  ArrayRef<int64_t> shape = cast<MemRefType>(fragment.getType()).getShape();
  for (auto [index, extent] : llvm::zip_equal(*indices, shape)) {
    bool isWhole =
        index.dim < 0 ? extent == 1 : !llvm::is_contained(dims, index.dim);
    if (!isWhole)
      return std::nullopt;
    dims.push_back(index.dim);
  }
  return dims;
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

/// R2: every loop index that takes several values is an index of the access.
static bool isInjective(const FragmentAccess &access, ParallelOp loop) {
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (extent > 1 && llvm::none_of(*access.indices, [&](FragmentIndex index) {
          return index.dim == static_cast<int64_t>(dim);
        }))
      return false;
  return true;
}

/// R3: along each index, the positions past the loop's extent that its layout
/// has are past the fragment's extent as well.
static bool writesNothingBeyond(const FragmentAccess &access, ParallelOp loop,
                                const FragmentLayout &layout) {
  ArrayRef<int64_t> shape =
      cast<MemRefType>(access.fragment.getType()).getShape();
  for (auto [index, extent] : llvm::zip_equal(*access.indices, shape)) {
    if (index.dim < 0)
      continue;
    int64_t end = loop.getExtents()[index.dim];
    if (layout.getShape()[index.dim] > end && end < extent)
      return false;
  }
  // A loop index that is not an index of the access has one position, and the
  // lanes beyond it would write the same elements again.
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (layout.getShape()[dim] > extent &&
        llvm::none_of(*access.indices, [&](FragmentIndex index) {
          return index.dim == static_cast<int64_t>(dim);
        }))
      return false;
  return true;
}

/// R4: true if the loop reads a buffer in memory that it writes.
static bool readsWhatItWrites(ParallelOp loop) {
  llvm::SmallPtrSet<Value, 4> read, written;
  loop.getBody().walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      Value buffer = effect.getValue();
      if (!buffer || !isa<MemRefType>(buffer.getType()) ||
          isInSpace(buffer, Space::Fragment) ||
          isInSpace(buffer, Space::Private))
        continue;
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        read.insert(getBuffer(buffer));
      if (isa<MemoryEffects::Write>(effect.getEffect()))
        written.insert(getBuffer(buffer));
    }
  });
  return llvm::any_of(
      read, [&](Value buffer) { return mayBeOneOf(buffer, written); });
}

const char *tl::refuseRegisters(const FragmentAccess &access, ParallelOp loop,
                                const FragmentLayout &loopLayout,
                                const FragmentLayout &fragmentLayout) {
  if (!access.indices ||
      !layout::findRegisters(loopLayout, fragmentLayout, *access.indices))
    return "(R1) a thread does not hold the elements that its iterations touch";
  if (!access.isWrite)
    return nullptr;
  if (!isInjective(access, loop))
    return "(R2) several iterations write one element";
  if (!writesNothingBeyond(access, loop, loopLayout))
    return "(R3) threads without an iteration would write";
  if (loopLayout.numCopies() > 1 && readsWhatItWrites(loop))
    return "(R4) several threads run an iteration that reads memory which the "
           "loop writes";
  return nullptr;
}
