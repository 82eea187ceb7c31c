//===- RunClusters.cpp - Blocks of a cluster that meet, on one thread -----===//
//
// Where the blocks of a cluster meet, and touch each other's shared memory, one
// thread executes them in turns: each block up to the barrier, then each block
// from there to the next one. What stands between two barriers becomes a loop
// over the blocks. Loops and branches around barriers go the same way in all
// blocks, which `tl-verify-statements` has checked, so that they stay outside
// of these loops and are decided by the first block. That blocks which run one
// after the other compute what they compute at the same time holds since
// nothing is in conflict between two barriers.
//
// Each block has memory of its own: an allocation becomes a ring with a slot
// for each block, and memory of another block is the slot of that one. What a
// part computes and another one uses is computed again, or if it was read from
// memory, kept in such a ring. What loops carry and branches return is kept in
// variables first.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tl;

static bool isMeeting(Operation *op) {
  return isa<ClusterArriveOp, ClusterBarrierOp, ClusterWaitOp>(op);
}

/// True if blocks meet in `op`.
static bool hasMeeting(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isMeeting(inner) ? WalkResult::interrupt()
                                : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasClusters(gpu::GPUFuncOp kernel) {
  return hasMeeting(kernel) ||
         kernel.walk([](MapSharedRankOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

namespace {
class ClusterRunner {
public:
  explicit ClusterRunner(gpu::GPUFuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        extents(getClusterExtents(kernel)), blocks(getClusterSize(kernel)) {}

  void run() {
    keepInVariables();
    makeRings();
    split(kernel.getBody().front());
    for (Operation *loop : loops)
      finish(cast<scf::ForOp>(loop));
    for (Operation *op : outer)
      finishOuter(op);
    for (Operation *op : llvm::reverse(replaced.getArrayRef()))
      op->erase();
  }

private:
  Value constant(Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  //===--------------------------------------------------------------------===//
  // Values of loops and branches around meetings
  //===--------------------------------------------------------------------===//

  /// Memory at the start of the kernel.
  Value allocate(Location loc, ArrayRef<int64_t> shape, Type element,
                 Attribute space) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    auto type =
        MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
    return AllocOp::create(builder, loc, type, /*layout=*/Attribute(),
                           /*offset=*/IntegerAttr());
  }

  /// Variables that hold values of `type`.
  Value makeVariables(Location loc, int64_t count, Type type) {
    return allocate(loc, count, type,
                    gpu::AddressSpaceAttr::get(builder.getContext(),
                                               gpu::AddressSpace::Private));
  }

  void assign(Location loc, Value variable, Value value) {
    StoreOp::create(builder, loc, value, variable, constant(loc, 0));
  }

  Value read(Location loc, Value variable) {
    return LoadOp::create(builder, loc, variable, constant(loc, 0));
  }

  void keepInVariables() {
    SmallVector<Operation *> around;
    kernel.walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<scf::ForOp, scf::IfOp>(op) && hasMeeting(op) &&
          op->getNumResults() != 0)
        around.push_back(op);
    });
    for (Operation *op : around)
      if (auto loop = dyn_cast<scf::ForOp>(op))
        keepInVariables(loop);
      else
        keepInVariables(cast<scf::IfOp>(op));
  }

  void keepInVariables(scf::ForOp loop) {
    Location loc = loop.getLoc();
    SmallVector<Value> variables;
    builder.setInsertionPoint(loop);
    for (Value init : loop.getInits()) {
      variables.push_back(makeVariables(loc, 1, init.getType()));
      assign(loc, variables.back(), init);
    }
    Operation *yield = loop.getBody()->getTerminator();
    builder.setInsertionPoint(yield);
    for (auto [variable, value] : llvm::zip(variables, yield->getOperands()))
      assign(loc, variable, value);
    builder.setInsertionPointToStart(loop.getBody());
    for (auto [variable, argument] :
         llvm::zip(variables, loop.getRegionIterArgs()))
      argument.replaceAllUsesWith(read(loc, variable));
    builder.setInsertionPoint(loop);
    auto plain = scf::ForOp::create(builder, loc, loop.getLowerBound(),
                                    loop.getUpperBound(), loop.getStep());
    loop.getInductionVar().replaceAllUsesWith(plain.getInductionVar());
    yield->erase();
    plain.getBody()->getOperations().splice(plain.getBody()->begin(),
                                            loop.getBody()->getOperations());
    replaceResults(loop, variables);
  }

  void keepInVariables(scf::IfOp branch) {
    Location loc = branch.getLoc();
    SmallVector<Value> variables;
    for (Type type : branch.getResultTypes())
      variables.push_back(makeVariables(loc, 1, type));
    builder.setInsertionPoint(branch);
    auto plain = scf::IfOp::create(builder, loc, branch.getCondition(),
                                   /*withElseRegion=*/true);
    for (auto [from, to] : {std::pair(branch.thenBlock(), plain.thenBlock()),
                            std::pair(branch.elseBlock(), plain.elseBlock())}) {
      Operation *yield = from->getTerminator();
      builder.setInsertionPoint(yield);
      for (auto [variable, value] : llvm::zip(variables, yield->getOperands()))
        assign(loc, variable, value);
      yield->erase();
      to->getOperations().splice(to->begin(), from->getOperations());
    }
    replaceResults(branch, variables);
  }

  void replaceResults(Operation *op, ArrayRef<Value> variables) {
    builder.setInsertionPointAfter(op);
    for (auto [result, variable] : llvm::zip(op->getResults(), variables))
      result.replaceAllUsesWith(read(op->getLoc(), variable));
    op->erase();
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  Value makeRing(Location loc, MemRefType type) {
    SmallVector<int64_t> shape = {blocks};
    llvm::append_range(shape, type.getShape());
    return allocate(loc, shape, type.getElementType(), type.getMemorySpace());
  }

  /// Of all memory of a block but what is an iteration's own.
  void makeRings() {
    SmallVector<AllocOp> allocs;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto alloc = dyn_cast<AllocOp>(op))
        allocs.push_back(alloc);
      return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    for (AllocOp alloc : allocs) {
      rings[alloc] = makeRing(alloc.getLoc(), alloc.getType());
      replaced.insert(alloc);
    }
    kernel.walk([&](Operation *op) {
      if (isa<MapSharedRankOp, gpu::BlockIdOp>(op))
        replaced.insert(op);
    });
  }

  /// `view`, of memory of a block, in block `rank`.
  Value getView(Value view, Value rank, scf::ForOp part, Value here) {
    Location loc = view.getLoc();
    if (auto mapped = view.getDefiningOp<MapSharedRankOp>()) {
      Value there = arith::MinUIOp::create(builder, loc,
                                           get(mapped.getRank(), part, here),
                                           constant(loc, blocks - 1));
      return getView(mapped.getSource(), there, part, here);
    }
    if (auto slot = view.getDefiningOp<SlotOp>())
      return SlotOp::create(builder, loc, slot.getType(),
                            getView(slot.getSource(), rank, part, here),
                            get(slot.getIndex(), part, here));
    auto ring = rings.find(view);
    if (ring == rings.end())
      return view; // A tensor.
    return SlotOp::create(builder, loc, view.getType(), ring->second, rank);
  }

  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  /// Makes loops of what stands between meetings in `block`.
  void split(Block &block) {
    SmallVector<Operation *> part;
    auto close = [&] {
      if (part.empty())
        return;
      builder.setInsertionPoint(part.front());
      Location loc = part.front()->getLoc();
      auto loop = scf::ForOp::create(builder, loc, constant(loc, 0),
                                     constant(loc, blocks), constant(loc, 1));
      for (Operation *op : part)
        op->moveBefore(loop.getBody()->getTerminator());
      loops.insert(loop);
      part.clear();
    };
    for (Operation &op :
         llvm::make_early_inc_range(block.without_terminator())) {
      if (isMeeting(&op)) {
        if (!isa<ClusterArriveOp>(op))
          close();
        op.erase();
      } else if (hasMeeting(&op)) {
        close();
        outer.push_back(&op);
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            split(inner);
      } else if (!isRing(&op)) {
        part.push_back(&op);
      }
    }
    close();
  }

  bool isRing(Operation *op) {
    return llvm::any_of(rings, [&](const auto &ring) {
      return ring.second.getDefiningOp() == op;
    });
  }

  /// The part that `op` is in, or null.
  scf::ForOp getPart(Operation *op) {
    while (op && !loops.contains(op))
      op = op->getParentOp();
    return cast_or_null<scf::ForOp>(op);
  }

  /// `value` of block `here`, where `part` is; as the first block has it for
  /// all if that is null.
  Value get(Value value, scf::ForOp part, Value here) {
    Operation *op = value.getDefiningOp();
    if (!op) { // Of the kernel, or the index of a loop, which a part may be.
      Operation *parent = value.getParentRegion()->getParentOp();
      return loops.contains(parent) ? here : value;
    }
    bool isOwn = part && part->isAncestor(op) && !replaced.contains(op);
    scf::ForOp from = getPart(op);
    if (isOwn || !from)
      return value;
    if (isa<MapSharedRankOp, SlotOp, AllocOp>(op))
      return getView(value, here, part, here);
    auto block = dyn_cast<gpu::BlockIdOp>(op);
    if (block && replaced.contains(op)) // Not the first block's, made here.
      return getCoordinate(block, here);
    if (op->getNumRegions() == 0 && isMemoryEffectFree(op)) {
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, get(operand, part, here));
      return builder.clone(*op, mapping)
          ->getResult(cast<OpResult>(value).getResultNumber());
    }
    return LoadOp::create(builder, op->getLoc(), getKept(value, from), here);
  }

  /// A ring in which `value`, which `from` computes, is kept.
  Value getKept(Value value, scf::ForOp from) {
    Value &ring = kept[value];
    if (ring)
      return ring;
    ring = makeVariables(value.getLoc(), blocks, value.getType());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    StoreOp::create(builder, value.getLoc(), value, ring,
                    from.getInductionVar());
    return ring;
  }

  /// The coordinate of block `rank`; what is left of `gpu.block_id` is that of
  /// the first block of the cluster.
  Value getCoordinate(gpu::BlockIdOp block, Value rank) {
    Location loc = block.getLoc();
    auto dim = static_cast<size_t>(block.getDimension());
    Value first = gpu::BlockIdOp::create(builder, loc, block.getDimension());
    if (extents[dim] == 1)
      return first;
    int64_t before = 1;
    for (size_t lower = 0; lower < dim; ++lower)
      before *= extents[lower];
    Value place = arith::RemUIOp::create(
        builder, loc,
        arith::DivUIOp::create(builder, loc, rank, constant(loc, before)),
        constant(loc, extents[dim]));
    return arith::AddIOp::create(builder, loc, first, place);
  }

  /// Gives the ops of a part what they use of the block that is executed.
  void finish(scf::ForOp part) {
    Value here = part.getInductionVar();
    SmallVector<Operation *> ops;
    part.getBody()->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (replaced.contains(op))
        continue;
      for (OpOperand &operand : op->getOpOperands()) {
        builder.setInsertionPoint(op);
        operand.set(get(operand.get(), part, here));
      }
    }
  }

  void finishOuter(Operation *op) {
    builder.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(get(operand.get(), scf::ForOp(), constant(op->getLoc(), 0)));
  }

  gpu::GPUFuncOp kernel;
  OpBuilder builder;
  std::array<int64_t, 3> extents;
  int64_t blocks;
  /// Of each allocation.
  llvm::DenseMap<Value, Value> rings;
  /// What is kept of a part for others.
  llvm::DenseMap<Value, Value> kept;
  /// The parts, each a loop over the blocks.
  llvm::SetVector<Operation *> loops;
  /// Loops and branches around meetings.
  SmallVector<Operation *> outer;
  /// What nothing uses any more in the end.
  llvm::SetVector<Operation *> replaced;
};
} // namespace

std::array<int64_t, 3> cpu::runClusters(gpu::GPUFuncOp kernel) {
  if (!hasClusters(kernel))
    return {1, 1, 1};
  ClusterRunner(kernel).run();
  return getClusterExtents(kernel);
}
