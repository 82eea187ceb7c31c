//===- VerifyLayouts.cpp - Prove that threads hold what they touch --------===//
//
// Lowering to threads takes layouts at their word: a register is named by what
// the layouts say, and nothing is checked at run time. This pass proves, for
// every op of every kernel, what must hold for that:
//
//   a layout is a layout (each element in each thread at most once), it has
//   room for its tile, and it names every thread of the block;
//   every access of a fragment in a parallel loop keeps the rules of
//   FragmentAccess.h;
//   a copy reaches fragments as a whole, and a thread that holds an element of
//   the target holds it in the source as well;
//   a gemm's accumulator, and its A if that is a fragment, lie as its
//   instruction has them, in a block of whole warps;
//   a reduction's target lies as its source projected, and a scan's as its
//   source, whose groups of threads are neighbours; either has a workspace for
//   all of them if threads must meet in memory;
//   what threads of a warp give each other is an element of each;
//   a shared tile is cut into whole panels.
//
// A message from here is about the compiler, not about the user's program.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Dialect/TL/Transforms/Prints.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "tl-verify-layouts"

namespace tl {
#define GEN_PASS_DEF_VERIFYLAYOUTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentIndex;
using layout::FragmentLayout;

static ArrayRef<int64_t> getShape(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

/// Requires what `verifyAlloc` checks.
static FragmentLayout getLayout(Value fragment) {
  return toLayout(cast<FragmentLayoutAttr>(
      fragment.getDefiningOp<AllocOp>().getLayoutAttr()));
}

/// Checks a layout of a tile of `extents` against the threads that execute
/// `op`.
static LogicalResult verifyLayout(Operation *op, const FragmentLayout &layout,
                                  ArrayRef<int64_t> extents) {
  int64_t numThreads = getThreads(op).count;
  if (layout.numThreads() != numThreads)
    return op->emitOpError("has a layout for ")
           << layout.numThreads() << " threads in a block of " << numThreads;
  bool hasRoom =
      layout.getRank() == static_cast<int64_t>(extents.size()) &&
      llvm::all_of(llvm::zip(layout.getShape(), extents), [](auto pair) {
        return std::get<0>(pair) >= std::get<1>(pair);
      });
  if (!hasRoom)
    return op->emitOpError("has a layout that does not cover its tile: ")
           << layout.str();
  return success();
}

static LogicalResult verifyAlloc(AllocOp alloc) {
  std::optional<Space> space = getSpace(alloc.getType());
  if (space != Space::Fragment && space != Space::Shared)
    return success();
  if (!alloc.getLayoutAttr())
    return alloc.emitOpError("has no layout: run `tl-infer-layouts` first");
  if (space == Space::Fragment)
    return verifyLayout(alloc, getLayout(alloc), alloc.getType().getShape());
  std::string why;
  if (failed(getSharedLayout(alloc).verify(why)))
    return alloc.emitOpError("has a layout that does not fit: ") << why;
  return success();
}

static LogicalResult verifyLoop(ParallelOp loop) {
  if (!loop.getLayout())
    return loop.emitOpError("has no layout: run `tl-infer-layouts` first");
  FragmentLayout layout = toLayout(*loop.getLayout());
  if (failed(verifyLayout(loop, layout, loop.getExtents())))
    return failure();
  for (const FragmentAccess &access : getFragmentAccesses(loop))
    if (const char *why =
            refuseRegisters(access, loop, layout, getLayout(access.fragment)))
      return access.op->emitOpError(
                 "touches a fragment that does not lie as its loop does: ")
             << why;
  return success();
}

static LogicalResult verifyCopy(CopyOp copy) {
  for (auto [buffer, offsets, tile] :
       {std::tuple(copy.getSource(), copy.getSourceOffsets(),
                   getSourceTile(copy)),
        std::tuple(copy.getTarget(), copy.getTargetOffsets(),
                   getTargetTile(copy))})
    if (isInSpace(buffer, Space::Fragment) &&
        (!offsets.empty() || getShape(buffer) != ArrayRef(tile)))
      return copy.emitOpError("reaches a part of a fragment");
  if (!isInSpace(copy.getSource(), Space::Fragment) ||
      !isInSpace(copy.getTarget(), Space::Fragment))
    return success();
  SmallVector<FragmentIndex> same;
  for (size_t dim = 0; dim < copy.getTile().size(); ++dim)
    same.push_back({static_cast<int64_t>(dim), 0});
  if (!layout::findRegisters(getLayout(copy.getTarget()),
                             getLayout(copy.getSource()), same))
    return copy.emitOpError("copies between fragments that lie differently");
  return success();
}

static LogicalResult verifyGemm(GemmOp gemm) {
  if (!gemm.getPlan())
    return gemm.emitOpError("has no plan: run `tl-plan-gemms` first");
  if (isInSpace(gemm.getA(), Space::Fragment) &&
      (!takesRegisterA(gemm, *gemm.getPlan()) ||
       getLayout(gemm.getA()) !=
           getOperandLayout(gemm, *gemm.getPlan(), getThreads(gemm).count)))
    return gemm.emitOpError("has an operand in registers that does not lie as "
                            "its instruction has it");
  // Other gemms are parallel loops that lie as the accumulator does.
  if (gemm.getPlan()->getInstruction() == Instruction::FMA)
    return success();
  if (getLayout(gemm.getAcc()) !=
      getAccumulatorLayout(gemm, *gemm.getPlan(), getThreads(gemm).count))
    return gemm.emitOpError("has an accumulator that does not lie as its "
                            "instruction has it");
  return success();
}

/// The memory in which `groups` groups of threads combine along `dim`.
template <typename Op>
static LogicalResult verifyWorkspace(Op op, const FragmentLayout &source,
                                     int64_t groups) {
  if (groups == 1)
    return success();
  Value workspace = op.getWorkspace();
  if (!workspace)
    return op.emitOpError("has no workspace for ")
           << groups << " groups of threads: run `tl-add-workspaces` first";
  MemRefType type =
      getWorkspaceType(op.getTarget(), source, op.getDim(), groups);
  if (workspace.getType() != type)
    return op.emitOpError("needs a workspace of type ")
           << type << " for " << groups << " groups of threads";
  return success();
}

static LogicalResult verifyReduction(ReduceOp reduce) {
  FragmentLayout source = getLayout(reduce.getSource());
  if (getLayout(reduce.getTarget()) != getReducedLayout(reduce, source))
    return reduce.emitOpError("has a target that does not lie as its source");
  return verifyWorkspace(
      reduce, source,
      layout::getReductionSteps(source, reduce.getDim()).countGroups());
}

static LogicalResult verifyScan(ScanOp scan) {
  FragmentLayout layout = getLayout(scan.getSource());
  if (getLayout(scan.getTarget()) != layout)
    return scan.emitOpError("has a target that does not lie as its source");
  SmallVector<layout::ScanDigit> digits =
      layout::getScanDigits(layout, scan.getDim());
  if (!layout::meetsOnce(digits))
    return scan.emitOpError("has groups of threads whose places are no "
                            "neighbours");
  return verifyWorkspace(scan, layout, layout::countGroups(digits));
}

/// What threads give each other lies in the thread that it belongs to.
static LogicalResult verifyExchange(Operation *op) {
  int64_t numThreads = getThreads(op).count;
  for (Value fragment : op->getOperands()) {
    FragmentLayout layout = getLayout(fragment);
    for (int64_t thread = 0; thread < numThreads; ++thread) {
      std::optional<FragmentLayout::Owner> owner = layout.findOwner({thread});
      if (!owner || owner->thread != thread || layout.numValues() != 1)
        return op->emitOpError(
            "has an element that lies in another thread than "
            "the one that it belongs to");
    }
  }
  return success();
}

static LogicalResult verifyKernel(gpu::GPUFuncOp kernel) {
  // Buffers first: the others rely on their layouts.
  WalkResult buffers = kernel.walk([](AllocOp alloc) {
    return failed(verifyAlloc(alloc)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  if (buffers.wasInterrupted())
    return failure();
  WalkResult ops = kernel.walk([](Operation *op) {
    LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                               .Case<ParallelOp>(verifyLoop)
                               .Case<CopyOp>(verifyCopy)
                               .Case<GemmOp>(verifyGemm)
                               .Case<ReduceOp>(verifyReduction)
                               .Case<ScanOp>(verifyScan)
                               .Case<ShuffleOp, VoteOp>(verifyExchange)
                               .Default([](Operation *) { return success(); });
    return failed(result) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(ops.wasInterrupted());
}

/// Tells whoever prints a buffer with its layout what that is
/// (docs/rationale/prints.md).
static void tellLayouts(gpu::GPUFuncOp kernel) {
  kernel.walk([](AllocOp alloc) {
    auto number = alloc->getAttrOfType<IntegerAttr>(kTellLayoutAttr);
    if (!number || !alloc.getLayoutAttr())
      return;
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "layout " << number.getInt() << ": " << alloc.getLayoutAttr();
    remark::passed(alloc.getLoc(),
                   remark::RemarkOpts::name("layout").category(DEBUG_TYPE))
        << text;
  });
}

namespace {
struct VerifyLayoutsPass : tl::impl::VerifyLayoutsPassBase<VerifyLayoutsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (succeeded(verifyKernel(kernel)))
        tellLayouts(kernel);
      else
        return signalPassFailure();
  }
};
} // namespace
