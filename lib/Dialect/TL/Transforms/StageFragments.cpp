//===- StageFragments.cpp - Move elements to the threads that need them ---===//
//
// A fragment lies in one way, and not every op finds its elements there: a loop
// that reads it transposed or at a computed index, a copy of a part of it, a
// gemm or a reduction whose instruction has it otherwise. Such an op gets the
// elements by way of shared memory, which every thread can read: the fragment
// is copied to a tile there before the op, and back after it if the op wrote.
//
//   parallel loop, part of a fragment copied: the op uses the tile itself;
//   gemm, reduction, scan: a second fragment, in the layout that it needs, is
//   filled from the tile; gemm without a form that reads the fragment: it reads
//   the tile.
//
// Sound because all of it is copies of whole tiles between statements that are
// executed in order by the whole block. A fragment that the op only writes, and
// writes all of, is not copied in. Which accesses stay in registers is decided
// by the rules of FragmentAccess.h, and tl-verify-layouts holds the result
// against them.
//
// A parallel loop that only reads a fragment finds in its tile what the
// fragment holds for as long as nothing writes that. So the copy of a fragment
// that a serial loop around does not write stands in front of it (`hoist`), if
// all shared tiles have room beside each other: that the tile is held for
// longer is then nobody's loss. Nothing else writes the tile. A loop without
// iterations makes the copy one that nobody reads.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Layout/FragmentRelations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#define DEBUG_TYPE "tl-stage-fragments"

namespace tl {
#define GEN_PASS_DEF_STAGEFRAGMENTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentIndex;
using layout::FragmentLayout;

static MemRefType getType(Value buffer) {
  return cast<MemRefType>(buffer.getType());
}

static FragmentLayout getLayout(Value fragment) {
  return toLayout(cast<FragmentLayoutAttr>(
      fragment.getDefiningOp<AllocOp>().getLayoutAttr()));
}

namespace {

/// Rewrites the ops of one kernel.
class Stager {
public:
  explicit Stager(gpu::GPUFuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()) {}

  void run() {
    SmallVector<Operation *> ops;
    kernel.walk([&](Operation *op) {
      if (isa<ParallelOp, CopyOp, GemmOp, ReduceOp, ScanOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      loc = op->getLoc();
      if (auto loop = dyn_cast<ParallelOp>(op))
        stageLoop(loop);
      else if (auto copy = dyn_cast<CopyOp>(op))
        stageCopy(copy);
      else if (auto gemm = dyn_cast<GemmOp>(op))
        stageGemm(gemm);
      else if (auto reduce = dyn_cast<ReduceOp>(op))
        stageReduction(reduce);
      else if (auto scan = dyn_cast<ScanOp>(op))
        stageScan(scan);
    }
  }

  /// Has fragments that loops only read copied once, in front of serial loops
  /// around those, where shared memory of `limit` bytes has room.
  void hoist(int64_t limit) {
    if (onlyRead.empty() || getBytesOfAllTiles() + kReservedBytes > limit)
      return;
    for (CopyOp copy : onlyRead)
      copy->moveBefore(findFirstPlace(copy));
  }

private:
  /// mbarriers and the like, which are made later.
  static constexpr int64_t kReservedBytes = 1024;

  /// What the kernel's tiles take if each has memory of its own, and those of
  /// pipelined loops as much as their stages are.
  int64_t getBytesOfAllTiles() {
    int64_t bytes = 0;
    kernel.walk([&](AllocOp alloc) {
      if (!isInSpace(alloc, Space::Shared))
        return;
      int64_t slots = 1;
      for (Operation *user : alloc->getUsers())
        if (auto loop = user->getParentOfType<PipelinedOp>())
          slots = std::max<int64_t>(slots, loop.getStages());
      bytes += slots * getSharedBytes(alloc);
    });
    return bytes;
  }

  /// The outermost serial loop around the copy of a fragment that is not
  /// written there, or the copy.
  static Operation *findFirstPlace(CopyOp copy) {
    Value fragment = copy.getSource();
    Operation *place = copy;
    for (Operation *loop = copy->getParentOp();
         isa<scf::ForOp, PipelinedOp>(loop); loop = loop->getParentOp()) {
      bool mayChange =
          loop->isAncestor(fragment.getDefiningOp()) ||
          llvm::any_of(fragment.getUsers(), [&](Operation *user) {
            return loop->isAncestor(user) && !onlyReads(user, fragment);
          });
      if (mayChange)
        break;
      place = loop;
    }
    return place;
  }

  //===--------------------------------------------------------------------===//
  // Buffers and copies
  //===--------------------------------------------------------------------===//

  /// A tile in shared memory.
  Value makeTile(ArrayRef<int64_t> shape, Type element) {
    auto space = gpu::AddressSpaceAttr::get(kernel.getContext(),
                                            gpu::AddressSpace::Workgroup);
    auto type =
        MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
    return makeBuffer(type, chooseSharedLayout(type));
  }

  /// A fragment like `fragment`, with another layout.
  Value makeFragment(Value fragment, const FragmentLayout &layout) {
    return makeBuffer(getType(fragment), toAttr(kernel.getContext(), layout));
  }

  Value makeBuffer(MemRefType type, Attribute layout) {
    OpBuilder atEntry = OpBuilder::atBlockBegin(&kernel.getBody().front());
    return AllocOp::create(atEntry, loc, type, layout, /*offset=*/nullptr);
  }

  /// Copies a whole buffer to one of the same shape.
  CopyOp copyAll(Value source, Value target) {
    ArrayRef<int64_t> shape = getType(source).getShape();
    return CopyOp::create(builder, loc, source, ValueRange(), target,
                          ValueRange(), builder.getDenseI64ArrayAttr(shape),
                          /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                          /*barrierIndex=*/Value());
  }

  /// Copies a whole fragment to one that lies otherwise.
  void convert(Value source, Value target) {
    Value tile =
        makeTile(getType(target).getShape(), getType(target).getElementType());
    copyAll(source, tile);
    copyAll(tile, target);
  }

  void explain(Operation *op, const Twine &reason) {
    remark::missed(op->getLoc(),
                   remark::RemarkOpts::name("fragment").category(DEBUG_TYPE))
        << "a fragment goes through shared memory: " + reason.str();
  }

  //===--------------------------------------------------------------------===//
  // Parallel loops
  //===--------------------------------------------------------------------===//

  void stageLoop(ParallelOp loop) {
    FragmentLayout layout = toLayout(*loop.getLayout());
    llvm::MapVector<Value, SmallVector<FragmentAccess>> uses;
    for (FragmentAccess &access : getFragmentAccesses(loop))
      uses[access.fragment].push_back(std::move(access));
    // A fragment that goes through memory may be read and written there, which
    // R4 has against others of the loop: they are asked again.
    bool changed = true;
    while (changed) {
      changed = false;
      uses.remove_if([&](auto &use) {
        auto &[fragment, accesses] = use;
        const char *reason = nullptr;
        for (const FragmentAccess &access : accesses)
          if (const char *why =
                  refuseRegisters(access, loop, layout, getLayout(fragment)))
            reason = why;
        if (!reason)
          return false;
        explain(loop, reason);
        stageInLoop(loop, fragment, accesses);
        changed = true;
        return true;
      });
    }
  }

  /// Lets `loop` touch a tile in shared memory in the place of `fragment`.
  void stageInLoop(ParallelOp loop, Value fragment,
                   ArrayRef<FragmentAccess> accesses) {
    MemRefType type = getType(fragment);
    Value tile = makeTile(type.getShape(), type.getElementType());
    bool reads = false, writes = false, overwrites = false;
    for (const FragmentAccess &access : accesses) {
      reads |= !access.isWrite;
      writes |= access.isWrite;
      overwrites |= access.isWrite && writesWhole(loop, access);
      access.op->replaceUsesOfWith(fragment, tile);
    }
    if (!writes) {
      onlyRead.push_back(copyAll(fragment, tile));
      return;
    }
    if (reads || !overwrites)
      copyAll(fragment, tile);
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointAfter(loop);
    copyAll(tile, fragment);
  }

  /// True if every element of the fragment is written, in any case.
  static bool writesWhole(ParallelOp loop, const FragmentAccess &access) {
    if (access.op->getParentOp() != loop)
      return false;
    std::optional<SmallVector<int64_t>> dims = access.getDims();
    if (!dims)
      return false;
    SmallVector<int64_t> shape = access.getShape();
    return llvm::all_of(llvm::zip_equal(*dims, shape), [&](auto pair) {
      auto [dim, extent] = pair;
      return dim < 0 || loop.getExtents()[dim] >= extent;
    });
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  void stageCopy(CopyOp copy) {
    bool partOfSource =
        isPart(copy.getSource(), copy.getSourceOffsets(), getSourceTile(copy));
    bool partOfTarget =
        isPart(copy.getTarget(), copy.getTargetOffsets(), getTargetTile(copy));
    if (partOfSource) {
      explain(copy, "a part of it is copied");
      Value tile = makeTileLike(copy.getSource());
      copyAll(copy.getSource(), tile);
      copy.getSourceMutable().assign(tile);
    }
    if (partOfTarget) {
      explain(copy, "a part of it is written");
      Value fragment = copy.getTarget(), tile = makeTileLike(fragment);
      copyAll(fragment, tile);
      copy.getTargetMutable().assign(tile);
      OpBuilder::InsertionGuard saved(builder);
      builder.setInsertionPointAfter(copy);
      copyAll(tile, fragment);
    }
    Value source = copy.getSource(), target = copy.getTarget();
    if (!isInSpace(source, Space::Fragment) ||
        !isInSpace(target, Space::Fragment) ||
        canCopyInRegisters(getLayout(source), getLayout(target)))
      return;
    explain(copy, "it is copied to one that lies otherwise");
    convert(source, target);
    copy.erase();
  }

  /// True if a tile at `offsets` is only some elements of a fragment.
  static bool isPart(Value buffer, ValueRange offsets, ArrayRef<int64_t> tile) {
    return isInSpace(buffer, Space::Fragment) &&
           (!offsets.empty() || getType(buffer).getShape() != tile);
  }

  Value makeTileLike(Value fragment) {
    return makeTile(getType(fragment).getShape(),
                    getType(fragment).getElementType());
  }

  /// True if each thread that holds an element of `target` holds it in `source`
  /// as well: a copy is a loop that lies as its target does.
  static bool canCopyInRegisters(const FragmentLayout &source,
                                 const FragmentLayout &target) {
    SmallVector<FragmentIndex> indices;
    for (int64_t dim = 0; dim < target.getRank(); ++dim)
      indices.push_back({dim, 0});
    return layout::findRegisters(target, source, indices).has_value();
  }

  //===--------------------------------------------------------------------===//
  // Gemms, reductions and scans
  //===--------------------------------------------------------------------===//

  void stageGemm(GemmOp gemm) {
    stageOperand(gemm);
    GemmPlanAttr plan = *gemm.getPlan();
    if (plan.getInstruction() == Instruction::FMA)
      return;
    FragmentLayout needed =
        getAccumulatorLayout(gemm, plan, getThreads(gemm).count);
    Value acc = gemm.getAcc();
    if (getLayout(acc) == needed)
      return;
    explain(gemm, "the instruction needs the accumulator in another layout");
    Value own = makeFragment(acc, needed);
    convert(acc, own);
    gemm.getAccMutable().assign(own);
    builder.setInsertionPointAfter(gemm);
    convert(own, acc);
  }

  /// Lets the gemm find an A that is a fragment.
  void stageOperand(GemmOp gemm) {
    Value a = gemm.getA();
    if (!isInSpace(a, Space::Fragment))
      return;
    GemmPlanAttr plan = *gemm.getPlan();
    if (!takesRegisterA(gemm, plan)) {
      explain(gemm, "the instruction reads A from there");
      Value tile = makeTileLike(a);
      copyAll(a, tile);
      gemm.getAMutable().assign(tile);
      return;
    }
    FragmentLayout needed =
        getOperandLayout(gemm, plan, getThreads(gemm).count);
    if (getLayout(a) == needed)
      return;
    Value own = makeFragment(a, needed);
    if (canCopyInRegisters(getLayout(a), needed)) {
      copyAll(a, own);
    } else {
      explain(gemm, "the instruction needs A in another layout");
      convert(a, own);
    }
    gemm.getAMutable().assign(own);
  }

  void stageReduction(ReduceOp reduce) {
    FragmentLayout needed =
        getReducedLayout(reduce, getLayout(reduce.getSource()));
    Value target = reduce.getTarget();
    if (getLayout(target) == needed)
      return;
    explain(reduce, "the result of the reduction lies otherwise");
    Value own = makeFragment(target, needed);
    if (reduce.getAccumulate())
      convert(target, own);
    reduce.getTargetMutable().assign(own);
    builder.setInsertionPointAfter(reduce);
    if (canCopyInRegisters(needed, getLayout(target)))
      copyAll(own, target);
    else
      convert(own, target);
  }

  void stageScan(ScanOp scan) {
    Value source = scan.getSource(), target = scan.getTarget(), own;
    FragmentLayout needed = getLayout(source);
    if (!layout::meetsOnce(layout::getScanDigits(needed, scan.getDim()))) {
      explain(scan, "groups of threads have places between each other's");
      needed = getScanLayout(scan);
      own = makeFragment(source, needed);
      convert(source, own);
      scan.getSourceMutable().assign(own);
    }
    if (getLayout(target) == needed)
      return;
    if (!own)
      own = makeFragment(target, needed);
    scan.getTargetMutable().assign(own);
    builder.setInsertionPointAfter(scan);
    if (canCopyInRegisters(needed, getLayout(target))) {
      copyAll(own, target);
    } else {
      explain(scan, "the result of the scan lies otherwise");
      convert(own, target);
    }
  }

  gpu::GPUFuncOp kernel;
  OpBuilder builder;
  Location loc = kernel.getLoc();
  /// Copies of fragments to tiles that nothing else writes.
  SmallVector<CopyOp> onlyRead;
};

struct StageFragmentsPass
    : tl::impl::StageFragmentsPassBase<StageFragmentsPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(requireLayouts(kernel)))
        return signalPassFailure();
      Stager stager(kernel);
      stager.run();
      stager.hoist(target->getSharedMemoryLimit());
    }
  }
};

} // namespace
