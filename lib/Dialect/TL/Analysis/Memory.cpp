//===- Memory.cpp - What is known of buffers in memory --------------------===//
//
// Ties the IR to `SharedLayout`. The layout attribute of a buffer with slots is
// that of its tiles: the first dimensions count slots, and slots are padded so
// that each begins where a buffer of its own could.
//
// Which dimensions count slots follows from the deepest `tl.slot` of a buffer,
// and from nothing else, so that all who look at it see the same. A tile with a
// swizzle is a matrix, since instructions may read it as one: a slot of it that
// is a row has no layout of its own.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Memory.h"

#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;
using layout::SharedLayout;

SmallVector<int64_t> tl::getStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    strides.assign(type.getRank(), ShapedType::kDynamic);
  return strides;
}

/// An integer that `name` says of a tensor of a kernel, or zero.
static int64_t getFact(Value tensor, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument)
    return 0;
  auto kernel = dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  if (!kernel)
    return 0;
  auto fact =
      kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), name);
  return fact ? fact.getInt() : 0;
}

/// How many elements a dynamic extent or stride that `tl.row_align` speaks of
/// is a multiple of.
static int64_t getKnownRows(Value buffer) {
  int64_t bytes = getElementBytes(cast<MemRefType>(buffer.getType()));
  return std::max<int64_t>(getFact(buffer, kRowAlignAttr) / bytes, 1);
}

int64_t tl::getRowDivisor(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t extent = type.getShape().back();
  return ShapedType::isDynamic(extent) ? getKnownRows(buffer) : extent;
}

SmallVector<int64_t> tl::getStrideDivisors(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> divisors = getStrides(type);
  int64_t known = 1, rows = getKnownRows(buffer);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    // A launch checks that tensors without a layout of their own are
    // contiguous.
    if (ShapedType::isDynamic(divisors[dim]))
      divisors[dim] = type.getLayout().isIdentity() ? known : rows;
    int64_t extent = type.getDimSize(dim);
    if (dim + 1 == type.getRank())
      extent = getRowDivisor(buffer);
    if (!ShapedType::isDynamic(extent) && extent > 0 && known <= INT32_MAX)
      known *= extent;
  }
  return divisors;
}

int64_t tl::getElementBytes(MemRefType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

int64_t tl::getAlignment(Value buffer) {
  int64_t natural = getElementBytes(cast<MemRefType>(buffer.getType()));
  if (auto tensor = buffer.getDefiningOp<TensorAtOp>())
    return tensor.getAlignment();
  int64_t align = getFact(buffer, kAlignAttr);
  return align ? align : natural;
}

SharedLayoutAttr tl::chooseSharedLayout(MemRefType type) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t bytes = getElementBytes(type);
  int64_t columns = shape.empty() ? 1 : shape.back();
  int64_t swizzle = SharedLayout::chooseSwizzle(shape, bytes);
  return SharedLayoutAttr::get(type.getContext(), swizzle,
                               swizzle ? swizzle / bytes : columns);
}

/// How many `tl.slot`s, one of another, lead from `view` to its buffer.
static int64_t getDepth(Value view) {
  int64_t depth = 0;
  view = getUnmapped(view);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    view = slot.getSource();
    ++depth;
  }
  return depth;
}

/// The most `tl.slot`s, one of another, through which a buffer is seen.
static int64_t getDeepestSlot(Value buffer) {
  int64_t deepest = 0;
  SmallVector<std::pair<Value, int64_t>> worklist = {{buffer, 0}};
  while (!worklist.empty()) {
    auto [view, depth] = worklist.pop_back_val();
    deepest = std::max(deepest, depth);
    for (Operation *user : view.getUsers())
      if (auto slot = dyn_cast<SlotOp>(user))
        worklist.push_back({slot.getView(), depth + 1});
  }
  return deepest;
}

/// How many of the first dimensions of `alloc` count slots, if its tiles have
/// `tileRank` dimensions at least.
static int64_t getSlotDims(AllocOp alloc, int64_t tileRank) {
  int64_t most = std::max<int64_t>(alloc.getType().getRank() - tileRank, 0);
  return std::min(getDeepestSlot(alloc), most);
}

/// True if a pipelined loop copies a tensor to `alloc`, and nothing but copies
/// touch it.
static bool isStreamed(AllocOp alloc) {
  bool isFilled = false;
  for (Operation *user : alloc->getUsers()) {
    auto copy = dyn_cast<CopyOp>(user);
    if (!copy)
      return false;
    auto source = cast<MemRefType>(copy.getSource().getType());
    isFilled |= copy.getTarget() == alloc &&
                isInSpace(copy.getSource(), Space::Global) &&
                source.getElementType() == alloc.getType().getElementType() &&
                isa<PipelinedOp>(copy->getParentOp());
  }
  return isFilled;
}

/// The most elements of a box in a dimension, by the bulk copy engine, and the
/// bytes at whose multiples it writes one.
static constexpr int64_t kMaxBox = 256, kBoxAlignment = 128;

/// Columns of the widest equal panels, of so many rows and bytes an element,
/// that are boxes of the bulk copy engine; all of them if there are none.
static int64_t getPanelColumns(int64_t columns, int64_t rows, int64_t bytes) {
  constexpr int64_t kLeast = 64;
  for (int64_t panel = kMaxBox; panel >= kLeast; panel /= 2)
    if (columns % panel == 0 && rows * panel * bytes % kBoxAlignment == 0)
      return panel;
  return columns;
}

SharedLayoutAttr tl::chooseSharedLayout(AllocOp alloc) {
  MemRefType type = alloc.getType();
  int64_t slotDims = getSlotDims(alloc, /*tileRank=*/2);
  ArrayRef<int64_t> tile = type.getShape().drop_front(slotDims);
  SharedLayoutAttr layout = chooseSharedLayout(
      MemRefType::get(tile, type.getElementType(), MemRefLayoutAttrInterface(),
                      type.getMemorySpace()));
  int64_t columns = layout.getChunk();
  if (layout.getSwizzle() != 0 || columns <= kMaxBox || !isStreamed(alloc))
    return layout;
  int64_t rows = ShapedType::getNumElements(tile) / columns;
  return SharedLayoutAttr::get(
      type.getContext(), /*swizzle=*/0,
      getPanelColumns(columns, rows, getElementBytes(type)));
}

static SharedLayoutAttr getLayoutAttr(AllocOp alloc) {
  auto attr = cast_or_null<SharedLayoutAttr>(alloc.getLayoutAttr());
  return attr ? attr : chooseSharedLayout(alloc);
}

static int64_t getSlotDims(AllocOp alloc) {
  return getSlotDims(alloc, getLayoutAttr(alloc).getSwizzle() ? 2 : 1);
}

SharedLayout tl::getSharedLayout(Value view) {
  auto alloc = getBuffer(view).getDefiningOp<AllocOp>();
  auto type = cast<MemRefType>(view.getType());
  SharedLayoutAttr attr = getLayoutAttr(alloc);
  int64_t slotDims = std::max<int64_t>(getSlotDims(alloc) - getDepth(view), 0);
  return SharedLayout(type.getShape(), getElementBytes(type), attr.getSwizzle(),
                      attr.getChunk(), slotDims);
}

Value tl::getTileView(Value view) {
  auto alloc = getBuffer(view).getDefiningOp<AllocOp>();
  int64_t rows = getDepth(view) - getSlotDims(alloc);
  view = getUnmapped(view);
  for (; rows > 0; --rows)
    view = view.getDefiningOp<SlotOp>().getSource();
  return view;
}

int64_t tl::getSharedBytes(AllocOp alloc) {
  return getSharedLayout(alloc).getBytes();
}

int64_t tl::getSharedAlignment(AllocOp alloc) {
  return getSharedLayout(alloc).getAlignment();
}
