//===- BulkCopy.cpp - What the bulk copy engine can copy ------------------===//
//
// A copy that the engine cannot do is still a copy: the reason goes into a
// remark, and threads copy the tile into the same layout.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RowBox.h"
#include "tl/Dialect/TL/IR/BulkSums.h"
#include "tl/Dialect/TL/IR/CopyTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

/// Limits of a tensor map (PTX ISA, "Tensor dimension, size and format";
/// CUDA driver API, `cuTensorMapEncodeTiled`).
static constexpr int64_t kMaxRank = 5;
static constexpr int64_t kMaxBox = 256;
static constexpr int64_t kGranule = 16; // bytes

static Value getGlobal(CopyOp copy) {
  return isInSpace(copy.getSource(), Space::Global) ? copy.getSource()
                                                    : copy.getTarget();
}

/// Why the engine cannot address `buffer`, or null.
static const char *refuseGlobal(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!isa<BlockArgument>(buffer))
    return "its buffer in device memory is not an argument of the kernel";
  if (type.getRank() < 1 || type.getRank() > kMaxRank)
    return "its buffer in device memory does not have 1 to 5 dimensions";
  if (getAlignment(buffer) % kGranule != 0)
    return "the address of its buffer is not known to be a multiple of 16 "
           "bytes";
  if (llvm::is_contained(type.getShape(), 0))
    return "its buffer is empty";
  if (getStrides(type).back() != 1)
    return "the last dimension of its buffer is not contiguous";
  if (type.getElementType().isInteger(1))
    return "its elements are of type `bool`, of which each byte has to be read";
  int64_t bytes = getElementBytes(type);
  SmallVector<int64_t> strides = getStrideDivisors(buffer);
  for (int64_t stride : ArrayRef(strides).drop_back())
    if (stride * bytes % kGranule != 0)
      return "a stride of its buffer is not known to be a multiple of 16 bytes";
  return nullptr;
}

/// Whether no box of a store to `offsets` begins before its tensor, not even
/// where sums and products could wrap: boxes lie side by side along the last
/// dimension, over `columns`.
static bool beginsInside(ValueRange offsets, int64_t columns) {
  return llvm::all_of(llvm::enumerate(offsets), [&](auto offset) {
    std::optional<int64_t> first = getGreatest(offset.value());
    bool isLast = offset.index() + 1 == offsets.size();
    return first && *first + (isLast ? columns - 1 : 0) <= INT32_MAX;
  });
}

/// Why the engine cannot reach the place of a copy, or null. At other places it
/// stops with an illegal instruction, as seen on an H200: a box of float32 that
/// starts at column -1 or 1 instead of -4, 0 or 4, and a store that starts
/// before its tensor in any dimension.
static const char *refusePlace(CopyOp copy) {
  if (copy.isGather() && !getRowBox(copy))
    return "it gathers rows that are not seen to be a box";
  bool load = isInSpace(copy.getSource(), Space::Global);
  Value global = getGlobal(copy);
  ValueRange offsets = copy.isGather() ? copy.getRows().getPlace()
                       : load          ? copy.getSourceOffsets()
                                       : copy.getTargetOffsets();
  if (offsets.empty())
    return nullptr;
  int64_t bytes = getElementBytes(cast<MemRefType>(global.getType()));
  if (getDivisor(offsets.back()) * bytes % kGranule != 0)
    return "its place in the last dimension is not known to be a multiple of "
           "16 bytes";
  // Passes keep the value of a place, but not all that tells its range: a store
  // that is marked was looked at when it was.
  if (!load && !copy.getBulk() && !beginsInside(offsets, copy.getTile().back()))
    return "its place is not known to be inside of its buffer, or behind it";
  return nullptr;
}

bool tl::isInReach(CopyOp copy) {
  return !refuseGlobal(getGlobal(copy)) && !refusePlace(copy);
}

std::optional<BulkCopyShape> tl::getBulkCopyShape(CopyOp copy,
                                                  std::string &reason) {
  bool load = isInSpace(copy.getSource(), Space::Global);
  Value global = getGlobal(copy);
  Value shared = load ? copy.getTarget() : copy.getSource();
  auto globalType = cast<MemRefType>(global.getType());
  auto sharedType = cast<MemRefType>(shared.getType());
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };

  for (const char *why : {refuseGlobal(global), refusePlace(copy)})
    if (why)
      return refuse(why);
  // The engine drops what is outside of a tensor in units of 16 bytes: a row
  // that ends within one would be written over its end.
  if (!load &&
      getRowDivisor(global) * getElementBytes(globalType) % kGranule != 0)
    return refuse("the rows of its buffer in device memory are not known to be "
                  "a multiple of 16 bytes");
  if (globalType.getElementType() != sharedType.getElementType())
    return refuse("it converts the element type");
  if (!(load ? copy.getTargetOffsets() : copy.getSourceOffsets()).empty() ||
      ArrayRef(load ? getTargetTile(copy) : getSourceTile(copy)) !=
          sharedType.getShape() ||
      getTileView(shared) != shared)
    return refuse("its tile is a part of the shared buffer");

  layout::SharedLayout panels = getSharedLayout(shared);
  if (!panels.isTile())
    return refuse("other statements use slots of the shared buffer, which do "
                  "not lie as one tile");
  BulkCopyShape shape{{}, panels.getSwizzle(), panels.getPanels()};
  shape.box.assign(globalType.getRank(), 1);
  if (copy.isGather()) {
    SmallVector<int64_t> extents = getRowBox(copy)->extents;
    shape.box.assign(extents.rbegin(), extents.rend());
    shape.box.front() = panels.getBox().front();
  }
  CopyLoops loops = CopyLoops::of(copy);
  for (auto [inSource, inTarget] :
       llvm::zip_equal(loops.source, loops.target)) {
    auto [inGlobal, inShared] =
        load ? std::pair(inSource, inTarget) : std::pair(inTarget, inSource);
    if (inGlobal >= 0)
      shape.box[globalType.getRank() - 1 - inGlobal] =
          panels.getBox()[sharedType.getRank() - 1 - inShared];
  }
  if (panels.getRowBytes() % kGranule != 0)
    return refuse("its rows are not a multiple of 16 bytes");
  if (llvm::any_of(shape.box, [](int64_t extent) { return extent > kMaxBox; }))
    return refuse("its tile has an extent above 256");
  return shape;
}

/// Bytes after which every swizzle begins again: a part is a tile of its own.
static constexpr int64_t kSwizzlePeriod = 1024;

std::optional<BulkCopyPart> tl::getBulkCopyPart(CopyOp copy,
                                                const BulkCopyShape &shape,
                                                int64_t blocks,
                                                std::string &reason) {
  if (copy.isGather()) {
    reason = "it gathers rows";
    return std::nullopt;
  }
  auto globalType = cast<MemRefType>(copy.getSource().getType());
  layout::SharedLayout panels = getSharedLayout(copy.getTarget());
  CopyLoops loops = CopyLoops::of(copy);
  BulkCopyPart part{shape.box, loops.source.front(), loops.extents.front(),
                    panels.getPanelBytes()};
  if (loops.extents.size() < 2 || part.extent % blocks != 0 ||
      part.bytes / blocks % kSwizzlePeriod != 0) {
    reason = "its tile has no " + std::to_string(blocks) +
             " equal parts of whole units of the swizzle, 1024 bytes";
    return std::nullopt;
  }
  part.extent /= blocks;
  part.bytes /= blocks;
  part.box[globalType.getRank() - 1 - part.dim] = part.extent;
  return part;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

std::optional<TileSum> tl::getTileSum(ParallelOp loop) {
  TileSum sum;
  for (Operation &op : loop.getBody().front()) {
    if (auto load = dyn_cast<LoadOp>(op); load && !sum.load)
      sum.load = load;
    else if (auto atomic = dyn_cast<AtomicOp>(op); atomic && !sum.atomic)
      sum.atomic = atomic;
    else if (!isa<arith::AddIOp, YieldOp>(op))
      return std::nullopt;
  }
  if (!sum.load || !sum.atomic || sum.atomic.getKind() != AtomicKind::Add ||
      sum.atomic.getOrder() != MemoryOrder::Relaxed ||
      sum.atomic.getScope() == MemoryScope::System ||
      !sum.atomic.getOld().use_empty() ||
      sum.atomic.getValue() != sum.load.getResult() ||
      !isInSpace(sum.atomic.getTarget(), Space::Global) ||
      !canAccumulate(sum.atomic.getOld().getType()))
    return std::nullopt;
  auto source = sum.load.getSource().getDefiningOp<AllocOp>();
  if (!source || source.getType().getShape() != loop.getExtents() ||
      !(isInSpace(source, Space::Shared) ||
        isInSpace(source, Space::Fragment)) ||
      !llvm::equal(sum.load.getIndices(), loop.getBody().getArguments()))
    return std::nullopt;
  return sum;
}
