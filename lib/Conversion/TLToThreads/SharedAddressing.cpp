//===- SharedAddressing.cpp - Where shared buffers lie --------------------===//

#include "tl/Conversion/TLToThreads/SharedAddressing.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tl;

static constexpr unsigned kSharedSpace = 3;
static constexpr int64_t kBarrierBytes = 8;

Value SharedAddressing::getBase() {
  if (!base)
    base = b.atEntry([&]() -> Value {
      return SharedBaseOp::create(
          b.builder, b.loc,
          LLVM::LLVMPointerType::get(b.builder.getContext(), kSharedSpace));
    });
  return base;
}

Value SharedAddressing::getOffset(Value view) {
  Value offset = b.index(0);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    int64_t bytes = getSharedLayout(slot.getView()).getSlotBytes();
    offset = b.add(offset, b.mul(slot.getIndex(), bytes));
    view = slot.getSource();
  }
  return b.add(offset, *view.getDefiningOp<AllocOp>().getOffset());
}

Value SharedAddressing::getAddress(Value offset) {
  Value arena = getBase();
  return LLVM::GEPOp::create(b.builder, b.loc, arena.getType(),
                             b.builder.getI8Type(), arena,
                             ArrayRef<LLVM::GEPArg>(b.toI32(offset)));
}

/// The address in the block of the cluster that has what is at `address` here.
/// PTX ISA, `mapa`: of a number that no block has the result is undefined.
Value SharedAddressing::mapToRank(Value address, Value rank) {
  int64_t last = getClusterSize(b.getKernel()) - 1;
  std::optional<int64_t> known = getConstant(rank);
  if (!known || *known < 0 || *known > last)
    rank = arith::MinUIOp::create(b.builder, b.loc, rank, b.index(last));
  auto remote = LLVM::LLVMPointerType::get(
      b.builder.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  return NVVM::MapaOp::create(b.builder, b.loc, remote, address, b.toI32(rank));
}

Value SharedAddressing::getAddress(Value view, ValueRange indices) {
  if (auto mapped = view.getDefiningOp<MapSharedRankOp>())
    return mapToRank(getAddress(mapped.getSource(), indices), mapped.getRank());
  SmallVector<Value> position(indices);
  for (Value tile = getTileView(view); view != tile;) {
    auto slot = view.getDefiningOp<SlotOp>();
    position.insert(position.begin(), slot.getIndex());
    view = slot.getSource();
  }
  layout::SharedLayout layout = getSharedLayout(view);
  Value offset = b.index(0);
  for (const layout::SharedLayout::Term &term : layout.getTerms()) {
    Value digit = b.div(position[term.dim], term.divisor);
    if (term.extent)
      digit = b.rem(digit, term.extent);
    offset = b.add(offset, b.mul(digit, term.bytes));
  }
  // The swizzle: 16-byte units move by the number of their 128-byte line.
  if (int64_t bits = layout.getSwizzleMask()) {
    Value line = b.div(offset, 8);
    Value flip = arith::AndIOp::create(b.builder, b.loc, line, b.index(bits));
    offset = arith::XOrIOp::create(b.builder, b.loc, offset, flip);
  }
  return getAddress(b.add(offset, getOffset(view)));
}

Value SharedAddressing::getBarrierAddress(Value barriers, Value index) {
  auto alloc = barriers.getDefiningOp<AllocBarriersOp>();
  return getAddress(b.add(b.mul(index, kBarrierBytes), *alloc.getOffset()));
}
