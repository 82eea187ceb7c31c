//===- UnrollLoads.cpp - Have loads of several steps under way ------------===//
//
// A loop that loads from device memory, computes in registers and does nothing
// else waits for its loads once in each step. Where it has a known number of
// steps, code generators are asked to write several of them one after the
// other: their loads do not depend on what is computed, and all are started
// before the first of them is waited for. Which loop this pays for follows from
// its length: the registers that all loads of the steps need are to be there.
//
// Sound because it is a hint, `llvm.loop_annotation`, that changes no meaning.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tl {
#define GEN_PASS_DEF_UNROLLLOADSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// As many bits as a thread has under way by other means (`cp.async`, eight
/// vectors of a tile).
static constexpr int64_t kBitsUnderWay = 8 * 128;
static constexpr int64_t kMaxSteps = 8, kMaxOps = 512;
static constexpr unsigned kDeviceSpace = 1; // of pointers (PTX ISA)

/// The bits that a step loads of device memory, and how many ops it has; none
/// if it does anything else that others see, or waits.
static std::optional<std::pair<int64_t, int64_t>> measure(scf::ForOp loop) {
  int64_t bits = 0, ops = 0;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    ++ops;
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      auto pointer = cast<LLVM::LLVMPointerType>(load.getAddr().getType());
      if (pointer.getAddressSpace() != kDeviceSpace || load.getVolatile_() ||
          load.getOrdering() != LLVM::AtomicOrdering::not_atomic)
        return WalkResult::interrupt();
      Type type = load.getResult().getType();
      auto vector = dyn_cast<VectorType>(type);
      bits += getElementTypeOrSelf(type).getIntOrFloatBitWidth() *
              (vector ? vector.getNumElements() : 1);
      return WalkResult::advance();
    }
    if (isa<scf::IfOp, scf::YieldOp>(op) || isMemoryEffectFree(op))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted() || bits == 0)
    return std::nullopt;
  return std::pair(bits, ops);
}

static void askFor(int64_t steps, scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto count = IntegerAttr::get(IntegerType::get(context, 32), steps);
  auto unroll =
      LLVM::LoopUnrollAttr::get(context, {}, count, {}, {}, {}, {}, {});
  loop->setAttr("llvm.loop_annotation",
                LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {},
                                              {}, {}, {}, {}, {}, {}, {}, {},
                                              {}, {}));
}

static void unroll(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (loop->hasAttr("llvm.loop_annotation") || !lower || !upper || !step ||
      *step <= 0 || *upper <= *lower)
    return;
  auto measured = measure(loop);
  if (!measured)
    return;
  auto [bits, ops] = *measured;
  int64_t count = (*upper - *lower + *step - 1) / *step;
  int64_t steps = std::min({kBitsUnderWay / bits, kMaxOps / ops, kMaxSteps});
  while (steps > 1 && count % steps != 0)
    --steps;
  if (steps > 1)
    askFor(steps, loop);
}

namespace {
struct UnrollLoadsPass : tl::impl::UnrollLoadsPassBase<UnrollLoadsPass> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) { unroll(loop); });
  }
};
} // namespace
