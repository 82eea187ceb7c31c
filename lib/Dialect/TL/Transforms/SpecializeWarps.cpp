//===- SpecializeWarps.cpp - Give bulk copies a thread of their own -------===//
//
// Of a kernel with `tl.specialize` two roles are made, which run at the same
// time: a thread of a further warp acquires slots, starts the bulk copies into
// them and commits; the threads of the program wait for slots, and do all the
// rest.
//
//     pipe, buffers                    pipe, buffers
//     for k {                          tl.role threads(256, 1) {
//       acquire, fill, commit            for k { acquire, fill, commit }
//       wait                      =>   }
//       compute                        tl.role threads(0, 256) {
//       release                          for k { wait, compute, release }
//     }                                }
//
// Each role goes through the loops and branches of the whole kernel, as far as
// it has something to do there, with scalars of its own.
//
// Sound because
//  - both roles are parts of one sequence in which each slot is acquired,
//    filled, waited for, read and released in turn, and between the two nothing
//    but the slots' contents passes: the scalars that the copies need are
//    arithmetic and elements of tensors that the kernel does not write
//    (ProducerSlice.cpp);
//  - the copies run ahead of reads as far as the pipe has slots, which
//    tl-assign-stages found out no statement can tell;
//  - that the barriers which tl-lower-pipes makes of the steps keep both roles
//    in order, and let neither wait for ever, is proven by tl-verify-sync.
//
// A tile that is copied once, before the first slots of the pipes are filled,
// is a case of that without a pipe: it has an mbarrier of its own, for one
// phase. So the first slots are filled at the same time. One that is copied
// later stays with the threads of the program: in shared memory it would be
// under way while the pipes are, and could not lie where their slots were.
//
// If the threads of the program are to have more registers than a block of so
// many begins with, the further warp becomes a warp group, which gives most of
// its own to them (`setmaxnreg` is executed by warp groups). Such a block has a
// multiprocessor to itself, which the kernel says: from the number of threads
// alone `ptxas` does not always find how many registers they begin with, and
// then ignores `setmaxnreg` (C7508). And where it pays, the warp groups of the
// program take turns (TakeTurns.cpp).
//
//===----------------------------------------------------------------------===//

#include "TakeTurns.h"
#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/ProducerSlice.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kWarp = 32;
static constexpr int64_t kProducerBarrier = 1, kConsumerBarrier = 2;

//===----------------------------------------------------------------------===//
// Which ops are whose
//===----------------------------------------------------------------------===//

/// True if the steps of `pipe` belong to two roles.
static bool hasRoles(Value pipe) {
  return llvm::any_of(pipe.getUsers(), [](Operation *step) {
    auto acquire = dyn_cast<PipeAcquireOp>(step);
    return acquire && acquire.getPhase();
  });
}

/// True if `copy` fills a slot of a pipe whose steps belong to two roles.
static bool fillsSlot(CopyOp copy) {
  auto slot = copy.getTarget().getDefiningOp<SlotOp>();
  return slot && llvm::any_of(slot.getSource().getUsers(), [](Operation *user) {
           auto pipe = dyn_cast<PipeOp>(user);
           return pipe && hasRoles(pipe);
         });
}

//===----------------------------------------------------------------------===//
// Tiles that are copied once
//===----------------------------------------------------------------------===//

/// True if nothing else in the kernel writes the buffer that `copy`, which
/// stands in no loop and no branch, fills, or comes to it before.
static bool isOnlyFill(CopyOp copy) {
  auto kernel = cast<gpu::GPUFuncOp>(copy->getParentOp());
  Value buffer = copy.getTarget();
  return !kernel
              .walk([&](Operation *op) {
                if (op == copy || isa<AllocOp>(op) ||
                    llvm::none_of(op->getOperands(), [&](Value operand) {
                      return isa<MemRefType>(operand.getType()) &&
                             getBuffer(operand) == buffer;
                    }))
                  return WalkResult::advance();
                Operation *top = copy->getBlock()->findAncestorOpInBlock(*op);
                if (top->isBeforeInBlock(copy))
                  return WalkResult::interrupt();
                for (const Event &event : getEvents(op))
                  if (auto *access = std::get_if<Access>(&event))
                    if (access->writes && getBuffer(access->buffer) == buffer)
                      return WalkResult::interrupt();
                return WalkResult::advance();
              })
              .wasInterrupted();
}

/// True if a thread of its own may start `copy`, and the others wait where it
/// stands.
static bool canBeStartedElsewhere(CopyOp copy) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(copy->getParentOp());
  auto alloc = copy.getTarget().getDefiningOp<AllocOp>();
  if (!kernel || !alloc || copy.getAsync() || copy.getBulk() ||
      copy.isGather() || !isInSpace(copy.getSource(), Space::Global) ||
      !isInSpace(copy.getTarget(), Space::Shared) || !fillsTarget(copy))
    return false;
  auto layout = dyn_cast_or_null<SharedLayoutAttr>(alloc.getLayoutAttr());
  std::string reason;
  return layout && getBulkCopyShape(copy, reason) && isOnlyFill(copy) &&
         ProducerSlice::of(kernel, {copy}).getReason().empty();
}

/// Makes `copy` one that completes the only phase of an mbarrier, and has the
/// threads wait for that behind it. Returns the copy.
static Operation *completeOnBarrier(CopyOp copy) {
  Location loc = copy.getLoc();
  auto kernel = cast<gpu::GPUFuncOp>(copy->getParentOp());
  auto start = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto space = gpu::AddressSpaceAttr::get(copy.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({1}, MBarrierType::get(copy.getContext()),
                              MemRefLayoutAttrInterface(), space);
  Value barrier = AllocBarriersOp::create(start, loc, type, /*arrivals=*/1,
                                          /*offset=*/nullptr);
  OpBuilder builder(copy);
  Value index = arith::ConstantIndexOp::create(builder, loc, 0);
  Value parity = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Operation *started = CopyOp::create(
      builder, loc, copy.getSource(), copy.getSourceOffsets(), copy.getTarget(),
      copy.getTargetOffsets(), copy.getTileAttr(), /*async=*/true,
      /*bulk=*/true, barrier, index);
  WaitBarrierOp::create(builder, loc, barrier, index, parity);
  copy.erase();
  return started;
}

/// True if in `op` a slot is filled.
static bool acquires(Operation *op) {
  return op->walk([](PipeAcquireOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// What the thread that fills slots is there for.
static SmallVector<Operation *> findFills(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> fills;
  for (Operation &op : llvm::make_early_inc_range(kernel.getBody().getOps())) {
    if (acquires(&op))
      break;
    if (auto copy = dyn_cast<CopyOp>(op); copy && canBeStartedElsewhere(copy))
      fills.push_back(completeOnBarrier(copy));
  }
  kernel.walk([&](Operation *op) {
    if (auto acquire = dyn_cast<PipeAcquireOp>(op)) {
      if (acquire.getPhase())
        fills.push_back(op);
    } else if (auto commit = dyn_cast<PipeCommitOp>(op)) {
      if (hasRoles(commit.getPipe()))
        fills.push_back(op);
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      if (fillsSlot(copy))
        fills.push_back(op);
    }
  });
  return fills;
}

/// Moves what is there for all roles to the kernel's start: buffers, pipes, and
/// values. Returns the first op behind that.
static Operation *collectCommon(Block &body) {
  Operation *first = nullptr;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    bool isCommon =
        isa<AllocOp, AllocBarriersOp, PipeOp>(op) ||
        (op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           Operation *source = operand.getDefiningOp();
           return !source || !first || source->isBeforeInBlock(first);
         }));
    if (op.hasTrait<OpTrait::IsTerminator>() || !isCommon) {
      if (!first)
        first = &op;
    } else if (first) {
      op.moveBefore(first);
    }
  }
  return first;
}

//===----------------------------------------------------------------------===//
// Cloning a slice
//===----------------------------------------------------------------------===//

namespace {

/// Clones the ops of a slice, and of loops and branches what they carry for it.
class SliceCloner {
public:
  SliceCloner(const ProducerSlice &slice, OpBuilder &builder)
      : slice(slice), builder(builder) {}

  void cloneOps(Block::iterator begin, Block::iterator end) {
    for (Operation &op : llvm::make_range(begin, end)) {
      if (!slice.contains(&op))
        continue;
      if (auto loop = dyn_cast<scf::ForOp>(op))
        cloneFor(loop);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        cloneWhile(loop);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        cloneIf(branch);
      else
        builder.clone(op, mapping);
    }
  }

private:
  /// Those of `values` for which the one of `asked` at the same place is
  /// needed.
  SmallVector<Value> select(ValueRange values, ValueRange asked) {
    SmallVector<Value> selected;
    for (auto [value, other] : llvm::zip_equal(values, asked))
      if (slice.needs(other))
        selected.push_back(value);
    return selected;
  }

  SmallVector<Value> lookup(ArrayRef<Value> values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  /// Makes arguments of `to` of those of `from` that are needed.
  void cloneArguments(ArrayRef<Value> from, Block &to) {
    for (Value argument : from)
      mapping.map(argument,
                  to.addArgument(argument.getType(), argument.getLoc()));
  }

  void cloneBody(Block &from, Block &to) {
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToEnd(&to);
    cloneOps(from.begin(), from.without_terminator().end());
  }

  void cloneFor(scf::ForOp loop) {
    ValueRange asked(loop.getRegionIterArgs());
    auto clone = scf::ForOp::create(
        builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
        mapping.lookupOrDefault(loop.getUpperBound()),
        mapping.lookupOrDefault(loop.getStep()),
        lookup(select(loop.getInits(), asked)), nullptr, loop.getUnsignedCmp());
    Block &body = *clone.getBody();
    if (!body.empty())
      body.getTerminator()->erase();
    SmallVector<Value> arguments = {loop.getInductionVar()};
    llvm::append_range(arguments, select(asked, asked));
    for (auto [argument, own] :
         llvm::zip_equal(arguments, body.getArguments())) {
      mapping.map(argument, own);
      own.setLoc(argument.getLoc());
    }
    cloneBody(*loop.getBody(), body);
    auto atEnd = OpBuilder::atBlockEnd(&body);
    scf::YieldOp::create(atEnd, loop.getLoc(),
                         lookup(select(loop.getYieldedValues(), asked)));
    mapResults(loop.getResults(), asked, clone.getResults());
  }

  void cloneWhile(scf::WhileOp loop) {
    ValueRange before(loop.getBeforeArguments()),
        after(loop.getAfterArguments());
    SmallVector<Value> passed = select(after, after);
    auto clone = scf::WhileOp::create(builder, loop.getLoc(),
                                      ValueRange(passed).getTypes(),
                                      lookup(select(loop.getInits(), before)));
    Block &first = clone.getBefore().emplaceBlock(),
          &second = clone.getAfter().emplaceBlock();
    cloneArguments(select(before, before), first);
    cloneBody(*loop.getBeforeBody(), first);
    scf::ConditionOp end = loop.getConditionOp();
    auto atEnd = OpBuilder::atBlockEnd(&first);
    scf::ConditionOp::create(atEnd, end.getLoc(),
                             mapping.lookupOrDefault(end.getCondition()),
                             lookup(select(end.getArgs(), after)));
    cloneArguments(passed, second);
    cloneBody(*loop.getAfterBody(), second);
    atEnd = OpBuilder::atBlockEnd(&second);
    scf::YieldOp::create(
        atEnd, loop.getLoc(),
        lookup(select(loop.getYieldOp().getOperands(), before)));
    mapResults(loop.getResults(), after, clone.getResults());
  }

  void cloneIf(scf::IfOp branch) {
    ValueRange asked(branch.getResults());
    SmallVector<Value> needed = select(asked, asked);
    auto clone = scf::IfOp::create(
        builder, branch.getLoc(), ValueRange(needed).getTypes(),
        mapping.lookupOrDefault(branch.getCondition()),
        /*withElseRegion=*/!branch.getElseRegion().empty());
    auto fill = [&](Region &from, Region &to) {
      if (from.empty())
        return;
      Block &body = to.front();
      if (!body.empty())
        body.getTerminator()->erase();
      cloneBody(from.front(), body);
      auto atEnd = OpBuilder::atBlockEnd(&body);
      scf::YieldOp::create(
          atEnd, branch.getLoc(),
          lookup(select(from.front().getTerminator()->getOperands(), asked)));
    };
    fill(branch.getThenRegion(), clone.getThenRegion());
    fill(branch.getElseRegion(), clone.getElseRegion());
    mapResults(branch.getResults(), asked, clone.getResults());
  }

  void mapResults(ValueRange results, ValueRange asked, ValueRange own) {
    for (auto [from, to] : llvm::zip_equal(select(results, asked), own))
      mapping.map(from, to);
  }

  const ProducerSlice &slice;
  OpBuilder &builder;
  IRMapping mapping;
};

} // namespace

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

/// Erases scalars that nothing uses any more.
static void eraseDead(Region &region) {
  bool changed = true;
  while (changed) {
    changed = false;
    region.walk([&](Operation *op) {
      if (!isOpTriviallyDead(op) || op->getNumRegions() != 0)
        return;
      op->erase();
      changed = true;
    });
  }
}

static LogicalResult specialize(gpu::GPUFuncOp kernel) {
  auto budget =
      dyn_cast<DenseI64ArrayAttr>(kernel->removeAttr(kSpecializeAttr));
  SmallVector<Operation *> fills = findFills(kernel);
  if (fills.empty())
    return success();
  Block &body = kernel.getBody().front();
  Operation *first = collectCommon(body);
  ProducerSlice slice = ProducerSlice::of(kernel, fills);
  if (!slice.getReason().empty())
    return slice.getPlace()->emitOpError(
               "keeps the copies of the kernel from a role of their own: ")
           << slice.getReason() << "; this is a defect of the compiler";

  int64_t threads = getNumThreads(kernel);
  Builder attributes(kernel.getContext());
  kernel.setKnownBlockSizeAttr(attributes.getDenseI32ArrayAttr(
      {static_cast<int32_t>(threads + (budget ? kWarpGroup : kWarp)), 1, 1}));
  if (budget && !kernel->hasAttr(kMinBlocksAttr))
    kernel->setAttr(kMinBlocksAttr, attributes.getI64IntegerAttr(1));
  OpBuilder builder(first);
  Location loc = kernel.getLoc();
  auto makeRole = [&](int64_t begin, int64_t count, int64_t barrier) {
    IntegerAttr registers =
        budget ? builder.getI64IntegerAttr(budget[begin == 0 ? 1 : 0])
               : IntegerAttr();
    auto role = RoleOp::create(builder, loc, begin, count, barrier, registers);
    RoleOp::ensureTerminator(role.getBody(), builder, loc);
    return role;
  };
  RoleOp producer = makeRole(threads, 1, kProducerBarrier);
  RoleOp consumer = makeRole(0, threads, kConsumerBarrier);
  {
    OpBuilder inside = OpBuilder::atBlockBegin(&producer.getBody().front());
    SliceCloner(slice, inside)
        .cloneOps(first->getIterator(), body.without_terminator().end());
  }
  Block &rest = consumer.getBody().front();
  rest.getOperations().splice(rest.begin(), body.getOperations(),
                              first->getIterator(),
                              body.without_terminator().end());
  for (Operation *fill : llvm::reverse(fills))
    fill->erase();
  eraseDead(consumer.getBody());
  takeTurns(consumer);
  return success();
}

namespace {
struct SpecializeWarpsPass
    : tl::impl::SpecializeWarpsPassBase<SpecializeWarpsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    SpecializeWarpsPassBase::getDependentDialects(registry);
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->hasAttr(kSpecializeAttr) && failed(specialize(kernel)))
        return signalPassFailure();
  }
};
} // namespace
