//===- StageStores.cpp - Pass accumulators through shared memory ----------===//
//
// The threads of a warp hold an accumulator in 8-byte pieces of 8 rows. Stored
// straight to device memory these fill half of each 32-byte sector; through
// shared memory whole lines leave the chip. The pipeline's ring is free by
// then, so the staging tile usually costs no memory.
//
// So does an accumulator that is added to device memory, where the bulk copy
// engine can add what is in shared memory.
//
// A tile that does not fit into the shared memory of a block stays where it is:
// a faster store is no reason to refuse a kernel.
//
// Sound because the staging tile holds what is to be stored, in the type that
// it is stored in, is written right before the store and is read by nothing
// else; a copy drops what is outside of the tensor from either. It is memory
// like any other to tl-insert-sync and tl-verify-sync.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_STAGESTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kSectorBytes = 32;

/// What the mbarriers of the kernel's loops may need beside a staging tile.
static constexpr int64_t kReservedBytes = 1024;

static bool isAccumulator(Value fragment) {
  return llvm::any_of(fragment.getUsers(), [&](Operation *user) {
    auto gemm = dyn_cast<GemmOp>(user);
    return gemm && gemm.getAcc() == fragment;
  });
}

/// Whether rows of `columns` elements like those of `target` are whole sectors.
static bool hasWholeSectors(Value target, int64_t columns) {
  Type element = cast<MemRefType>(target.getType()).getElementType();
  return columns * element.getIntOrFloatBitWidth() % (8 * kSectorBytes) == 0;
}

/// Whether the shared memory of a block holds a tile of `element`s.
static bool fits(ArrayRef<int64_t> tile, Type element, const Target &target) {
  int64_t bits = ShapedType::getNumElements(tile) *
                 int64_t(element.getIntOrFloatBitWidth());
  return llvm::divideCeil(bits, 8) + kReservedBytes <=
         uint64_t(target.getSharedMemoryLimit());
}

static bool shouldStage(CopyOp copy, const Target &target) {
  return isInSpace(copy.getSource(), Space::Fragment) &&
         isInSpace(copy.getTarget(), Space::Global) &&
         getSourceTile(copy).size() == 2 &&
         hasWholeSectors(copy.getTarget(), copy.getTile().back()) &&
         isAccumulator(copy.getSource()) &&
         fits(getSourceTile(copy),
              cast<MemRefType>(copy.getTarget().getType()).getElementType(),
              target);
}

static bool shouldStage(TileSum sum, const Target &target) {
  Value source = sum.load.getSource();
  auto type = cast<MemRefType>(source.getType());
  return isInSpace(source, Space::Fragment) && isAccumulator(source) &&
         hasWholeSectors(sum.atomic.getTarget(), type.getShape().back()) &&
         fits(type.getShape(), type.getElementType(), target);
}

/// Copies a tile of a fragment to a buffer of its own, of `element`s, before
/// `user`.
static Value stage(Operation *user, Value source, ValueRange offsets,
                   ArrayRef<int64_t> tile, Type element) {
  OpBuilder builder(user);
  Location loc = user->getLoc();
  auto space = gpu::AddressSpaceAttr::get(user->getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get(tile, element, MemRefLayoutAttrInterface(), space);
  auto kernel = user->getParentOfType<gpu::GPUFuncOp>();
  OpBuilder atEntry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value staging = AllocOp::create(atEntry, loc, type, /*layout=*/nullptr,
                                  /*offset=*/nullptr);
  CopyOp::create(builder, loc, source, offsets, staging, ValueRange(),
                 builder.getDenseI64ArrayAttr(tile),
                 /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                 /*barrierIndex=*/Value());
  return staging;
}

static void stage(CopyOp copy) {
  Type element = cast<MemRefType>(copy.getTarget().getType()).getElementType();
  Value staging = stage(copy, copy.getSource(), copy.getSourceOffsets(),
                        getSourceTile(copy), element);
  copy.getSourceMutable().assign(staging);
  copy.getSourceOffsetsMutable().clear();
}

static void stage(ParallelOp loop, TileSum sum) {
  auto type = cast<MemRefType>(sum.load.getSource().getType());
  Value staging = stage(loop, sum.load.getSource(), ValueRange(),
                        type.getShape(), type.getElementType());
  sum.load.getSourceMutable().assign(staging);
}

namespace {
struct StageStoresPass : tl::impl::StageStoresPassBase<StageStoresPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) {
      if (shouldStage(copy, *target))
        copies.push_back(copy);
    });
    for (CopyOp copy : copies)
      stage(copy);
    if (!target->hasBulkCopy())
      return;
    getOperation().walk([&](ParallelOp loop) {
      std::optional<TileSum> sum = getTileSum(loop);
      if (sum && shouldStage(*sum, *target))
        stage(loop, *sum);
    });
  }
};
} // namespace
