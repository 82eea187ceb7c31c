//===- StageStores.cpp - Pass accumulators through shared memory ----------===//
//
// The threads of a warp hold an accumulator in 8-byte pieces of 8 rows. Stored
// straight to device memory these fill half of each 32-byte sector; through
// shared memory whole lines leave the chip. The pipeline's ring is free by
// then, so the staging tile usually costs no memory.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_STAGESTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kSectorBytes = 32;

static bool isAccumulator(Value fragment) {
  return llvm::any_of(fragment.getUsers(), [&](Operation *user) {
    auto gemm = dyn_cast<GemmOp>(user);
    return gemm && gemm.getAcc() == fragment;
  });
}

static bool shouldStage(CopyOp copy) {
  auto target = cast<MemRefType>(copy.getTarget().getType());
  int64_t rowBits =
      copy.getTile().back() * target.getElementType().getIntOrFloatBitWidth();
  return isInSpace(copy.getSource(), Space::Fragment) &&
         isInSpace(copy.getTarget(), Space::Global) &&
         getSourceTile(copy).size() == 2 && rowBits % (8 * kSectorBytes) == 0 &&
         isAccumulator(copy.getSource());
}

static void stage(CopyOp copy) {
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  auto target = cast<MemRefType>(copy.getTarget().getType());
  auto space = gpu::AddressSpaceAttr::get(copy.getContext(),
                                          gpu::AddressSpace::Workgroup);
  SmallVector<int64_t> tile = getSourceTile(copy);
  auto type = MemRefType::get(tile, target.getElementType(),
                              MemRefLayoutAttrInterface(), space);
  auto kernel = copy->getParentOfType<gpu::GPUFuncOp>();
  OpBuilder atEntry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value staging = AllocOp::create(atEntry, loc, type, /*layout=*/nullptr,
                                  /*offset=*/nullptr);
  CopyOp::create(builder, loc, copy.getSource(), copy.getSourceOffsets(),
                 staging, ValueRange(), builder.getDenseI64ArrayAttr(tile),
                 /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                 /*barrierIndex=*/Value());
  copy.getSourceMutable().assign(staging);
  copy.getSourceOffsetsMutable().clear();
}

namespace {
struct StageStoresPass : tl::impl::StageStoresPassBase<StageStoresPass> {
  void runOnOperation() override {
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) {
      if (shouldStage(copy))
        copies.push_back(copy);
    });
    llvm::for_each(copies, stage);
  }
};
} // namespace
