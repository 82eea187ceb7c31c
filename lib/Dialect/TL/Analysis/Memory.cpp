//===- Memory.cpp - What is known of buffers in memory --------------------===//
//
// Ties the IR to `SharedLayout`. A ring's layout attribute is that of its
// tiles: the first dimension counts slots, and slots are padded so that each
// begins where a buffer of its own could.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Memory.h"

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

SmallVector<int64_t> tl::getStrideDivisors(MemRefType type) {
  SmallVector<int64_t> divisors = getStrides(type);
  int64_t known = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    // A launch checks that tensors without a layout of their own are
    // contiguous.
    if (ShapedType::isDynamic(divisors[dim]))
      divisors[dim] = type.getLayout().isIdentity() ? known : 1;
    int64_t extent = type.getDimSize(dim);
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
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument)
    return natural;
  auto kernel = dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  if (!kernel)
    return natural;
  auto align =
      kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kAlignAttr);
  return align ? align.getInt() : natural;
}

SharedLayoutAttr tl::chooseSharedLayout(MemRefType type) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t bytes = getElementBytes(type);
  int64_t columns = shape.empty() ? 1 : shape.back();
  int64_t swizzle = SharedLayout::chooseSwizzle(shape, bytes);
  return SharedLayoutAttr::get(type.getContext(), swizzle,
                               swizzle ? swizzle / bytes : columns);
}

SharedLayout tl::toLayout(SharedLayoutAttr attr, MemRefType type) {
  return SharedLayout(type.getShape(), getElementBytes(type), attr.getSwizzle(),
                      attr.getChunk());
}

SharedLayout tl::getSharedLayout(Value view) {
  auto alloc = getBuffer(view).getDefiningOp<AllocOp>();
  auto type = cast<MemRefType>(view.getType());
  auto attr = cast_or_null<SharedLayoutAttr>(alloc.getLayoutAttr());
  return toLayout(attr ? attr : chooseSharedLayout(type), type);
}

/// The slot through which a buffer is seen; null if it is a tile itself.
static SlotOp findSlot(AllocOp alloc) {
  for (Operation *user : alloc->getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      return slot;
  return nullptr;
}

int64_t tl::getSharedBytes(AllocOp alloc) {
  SlotOp slot = findSlot(alloc);
  if (!slot)
    return getSharedLayout(alloc).getBytes();
  return alloc.getType().getDimSize(0) *
         getSharedLayout(slot.getView()).getSlotBytes();
}

int64_t tl::getSharedAlignment(AllocOp alloc) {
  return getSharedLayout(alloc).getAlignment();
}
