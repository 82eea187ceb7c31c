//===- RoundFactors.cpp - Round to tf32 what is multiplied as such --------===//
//
// Matrix instructions take f32 as tf32: they leave out the lower 13 bits. A
// gemm rounds to nearest. What comes in by the bulk copy engine is rounded on
// the way, if nobody but such gemms reads it: its copies are marked
// `round_tf32`. What was extended from narrower floats has no lower bits. A
// gemm by `mma`, or with its A in registers, rounds what it has in registers,
// but for operands that need it not, which are marked. wgmma reads tiles in
// shared memory: any other one is copied to one of its own in front of the
// gemm, rounded.
//
// Comes after tl-expand-pipeline, which decides what the engine copies, and
// before tl-overlap-gemms, which has what writes an operand wait for products.
//
// Sound because the new tile is written right in front of the gemm, and read by
// it alone: the program's tile stays as it is. It is memory like any other to
// tl-insert-sync and tl-verify-sync. A mark is lowered as it stands, and
// nothing later decides on it: tl-verify-sync proves that a tile of marked
// copies is read by gemms alone that do not round it, and that these read
// nothing else but narrow numbers.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ExactFactors.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tl {
#define GEN_PASS_DEF_ROUNDFACTORSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static bool isByWgmma(GemmOp gemm) {
  std::optional<GemmPlanAttr> plan = gemm.getPlan();
  return plan && plan->getInstruction() == Instruction::WGMMA;
}

/// True if `gemm` multiplies f32 as tf32.
static bool takesTF32(GemmOp gemm) {
  std::optional<GemmPlanAttr> plan = gemm.getPlan();
  return plan && plan->getInstruction() != Instruction::FMA &&
         gemm.getOperandType(/*ofB=*/false).getElementType().isF32();
}

/// Has the engine round what is in a buffer, if it writes all of it, and gemms
/// that take tf32 alone read it.
static bool roundOnTheWay(Value buffer) {
  SmallVector<Value> worklist = {buffer};
  SmallVector<CopyOp> loads;
  while (!worklist.empty()) {
    Value part = worklist.pop_back_val();
    for (OpOperand &use : part.getUses()) {
      Operation *user = use.getOwner();
      if (isa<SlotOp>(user)) {
        worklist.push_back(user->getResult(0));
        continue;
      }
      auto copy = dyn_cast<CopyOp>(user);
      auto gemm = dyn_cast<GemmOp>(user);
      bool isLoad = copy && copy.getBulk() && copy.getTarget() == part &&
                    isInSpace(copy.getSource(), Space::Global);
      if (isLoad)
        loads.push_back(copy);
      else if (!(gemm && takesTF32(gemm)) && !isa<PipeOp>(user))
        return false;
    }
  }
  for (CopyOp load : loads)
    load.setRoundTF32(true);
  return true;
}

/// Copies A or B in front of `gemm` to a new tile, rounded.
static Value makeRounded(GemmOp gemm, bool ofB, gpu::GPUFuncOp kernel) {
  Location loc = gemm.getLoc();
  Value tile = ofB ? gemm.getB() : gemm.getA();
  MemRefType type = gemm.getOperandType(ofB);
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  // wgmma reads f32 with K along the rows, in steps of 32 bytes: a tile of its
  // own has a swizzle as the one that a window is cut from has.
  Value rounded = AllocOp::create(builder, loc, type, chooseSharedLayout(type),
                                  /*offset=*/IntegerAttr());
  builder.setInsertionPoint(gemm);
  constexpr int64_t kWidth = 4;
  int64_t threads = getThreads(gemm).count;
  FragmentLayout layout =
      FragmentLayout::blocked(type.getShape(), threads,
                              spreadVectors(type.getShape(), kWidth, threads));
  auto loop = ParallelOp::create(builder, loc, type.getShape(),
                                 toAttr(builder.getContext(), layout));
  builder.setInsertionPointToStart(&loop.getBody().front());
  SmallVector<Value> at(loop.getBody().getArguments());
  SmallVector<Value> from = at;
  if (gemm.hasWindow(ofB))
    for (auto [index, first] : llvm::zip(from, gemm.getPlace(ofB)))
      index = arith::AddIOp::create(
          builder, loc, index,
          arith::ConstantIndexOp::create(builder, loc, first));
  Value value = LoadOp::create(builder, loc, tile, from);
  value = arith::BitcastOp::create(builder, loc, builder.getI32Type(), value);
  value = roundForTF32(builder, loc, value);
  value = arith::BitcastOp::create(builder, loc, type.getElementType(), value);
  StoreOp::create(builder, loc, value, rounded, at);
  return rounded;
}

/// True if the gemms that take it need not round what is in `buffer`.
static bool isNarrow(Value buffer) {
  return holdsNarrowNumbers(buffer) ||
         (isInSpace(buffer, Space::Shared) && roundOnTheWay(buffer));
}

static void roundFactors(gpu::GPUFuncOp kernel) {
  // What is found of a buffer has to be found before its gemms are changed.
  SmallVector<std::pair<GemmOp, bool>> factors;
  kernel.walk([&](GemmOp gemm) {
    if (!takesTF32(gemm))
      return;
    for (bool ofB : {false, true}) {
      Value factor = ofB ? gemm.getB() : gemm.getA();
      if (isNarrow(getBuffer(factor)))
        gemm.setNarrow(ofB);
      else if (isByWgmma(gemm) && isInSpace(factor, Space::Shared))
        factors.push_back({gemm, ofB});
    }
  });
  // Both factors of a gemm may be one tile.
  GemmOp last;
  Value tile, rounded;
  for (auto [gemm, ofB] : factors) {
    Value factor = ofB ? gemm.getB() : gemm.getA();
    if (gemm != last || factor != tile || gemm.hasWindow(ofB)) {
      tile = factor;
      rounded = makeRounded(gemm, ofB, kernel);
    }
    // That of A, if it was a window, is of no use to B.
    last = gemm.hasWindow(ofB) ? GemmOp() : gemm;
    gemm.setOperand(ofB, rounded);
  }
}

namespace {

struct RoundFactors : tl::impl::RoundFactorsPassBase<RoundFactors> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      roundFactors(kernel);
  }
};

} // namespace
