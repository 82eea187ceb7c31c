//===- ExpandPipeline.cpp - Turn pipelined loops into loops on a pipe -----===//
//
// A loop with copies that run ahead gets a pipe, and a ring of slots for each
// buffer that they fill. A prologue fills all slots but one; iteration k reads
// slot k and refills the slot that iteration k - 1 has read:
//
//   bulk                                 groups
//   ----                                 ------
//   wait for slot k                      release slot k - 1
//   compute                              wait for slot k
//   release slot k - 1                   acquire slot k - 1, fill, commit
//   acquire slot k - 1, fill, commit     compute
//
// A loop with a gemm that is done an iteration late (`tl.delayed`) gets a pipe
// of its own for what is copied for that gemm, and a first iteration by itself:
//
//   wait for slot 0; compute
//   in iteration k, from the second one on:
//     wait for slot k; compute up to where the gemm goes
//     wait for the late pipe's slot k - 1; the gemm of iteration k - 1
//     release slot k - 1, and k - 2 of the late pipe; acquire and refill them
//     compute the rest
//   wait for the late pipe's last slot; the gemm of the last iteration
//
// The copies are started while two products are under way, and no product is at
// the end of the iteration.
//
// If the kernel is to have roles (`tl.specialize`), the thread that fills comes
// to iteration k on its own, long before those that read: there is no prologue,
// and bulk copies are written where they stand:
//
//   acquire slot k, fill, commit
//   wait for slot k
//   compute
//   release slot k
//
// In one sequence this is right as well, only slow; tl-specialize-warps takes
// it apart. A loop with a late gemm still has a first iteration by itself, and
// each iteration begins by filling both pipes' slots k; that of the first pipe
// is released before what its products have computed is used, and the late
// pipe's slot k - 1 before the first statement that waits for the late gemm.
//
// Loops that fill the same tiles, in as many slots and by the same engine, have
// one pipe, wherever they stand: they come one after the other, and each goes
// on where the one before stopped. So they need no more shared memory than one,
// and a role that fills may run ahead into the next loop while the last slots
// of the one before are still read.
//
// One thread starts bulk copies, so the refill comes last, where it delays
// nobody, and a product of iteration k - 1 has had the time of iteration k to
// end. With `cp.async` every thread copies, so the refill comes before the
// arithmetic that hides it.
//
// Sound because:
//  - the copies may run ahead (tl-assign-stages; the verifier of `tl.copy`
//    checks that they fill the whole buffer), so nothing but their order with
//    the reads of their slots matters;
//  - slots take turns: a run of n iterations fills n slots and waits for n, as
//    each fill is guarded by the very bound that the loop has, so that slot and
//    phase at its end are those at which the next run must begin, of this loop
//    or of another one with its pipe, also if n is 0 or less than the slots.
//    Runs leave them to each other in variables, which become values that all
//    control flow around passes on; the prologue acquires what it fills;
//  - no loop that fills a tile ahead stands in another one that does
//    (tl-assign-stages), so that no run begins within a run of the same pipe.
//    Whatever else loops over one tile differ in, such as which copy comes
//    first, what they read, or how often, is no matter of slots;
//  - a gemm is done late only where no statement can tell (DelayedGemm.cpp),
//    and as often as before: once for each iteration, none if there is none;
//  - a slot is waited for before it is read, released when it is read no more,
//    and acquired before it is filled again. tl-lower-pipes makes barriers of
//    that, and tl-verify-sync checks them.
//
//===----------------------------------------------------------------------===//

#include "PlainLoop.h"
#include "SlotPromotion.h"
#include "tl/Dialect/TL/Analysis/DelayedGemm.h"
#include "tl/Dialect/TL/Analysis/Rings.h"
#include "tl/Dialect/TL/Analysis/RunAhead.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/SharedNames.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <list>

#define DEBUG_TYPE "tl-expand-pipeline"

namespace tl {
#define GEN_PASS_DEF_EXPANDPIPELINEPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// What loops over the same tiles have in common
//===----------------------------------------------------------------------===//

namespace {

/// The pipes of loops over the same tiles.
struct CommonPipes {
  LoopTiles tiles;
  Value main, late;                    ///< `late` is for the delayed gemm
  llvm::MapVector<Value, Value> rings; ///< of buffers
  SmallVector<Value> first;            ///< slot, and phase of bulk copies
  /// The same as variables in memory, in which each run of a loop leaves them
  /// to the next one. None if there is one run, or if it need not know.
  SmallVector<Value> carried;
};

} // namespace

/// True if the copy is for the gemm that is done an iteration late.
static bool isForDelayed(CopyOp copy, std::optional<DelayedGemm> delayed) {
  return delayed && (copy.getTarget() == delayed->gemm.getA() ||
                     copy.getTarget() == delayed->gemm.getB());
}

//===----------------------------------------------------------------------===//
// Rewriting one loop
//===----------------------------------------------------------------------===//

namespace {

class Expander {
public:
  /// `common` are the loop's pipes, which it makes if it is the first to run.
  Expander(PipelinedOp loop, CommonPipes &common)
      : loop(loop), common(common), stages(loop.getStages()),
        isBulk(getEngine(loop) == CopyEngine::Bulk), builder(loop),
        loc(loop.getLoc()), delayed(findDelayed(loop)) {
    hasRoles = isBulk && loop->getParentOfType<gpu::GPUFuncOp>()->hasAttr(
                             kSpecializeAttr);
    for (auto copy : loop.getBody().getOps<CopyOp>())
      if (runsAhead(copy))
        (isForDelayed(copy, delayed) ? late : main).copies.push_back(copy);
  }

  /// `isCarried`: another run begins where this one ends.
  void run(bool isCarried) {
    hoistBuffers();
    collectOffsets(main);
    collectOffsets(late);
    if (!common.main)
      makePipes(isCarried);
    main.pipe = common.main;
    late.pipe = common.late;
    readState();
    if (delayed) {
      if (!hasRoles)
        emitDelayedPrologue();
      emitDelayedLoop();
    } else {
      if (!hasRoles)
        emitPrologue();
      emitLoop();
    }
    Value slot = steady->getResult(0);
    if (!hasRoles)
      PipeReleaseOp::create(builder, loc, main.pipe, rotate(slot, stages - 1));
    if (delayed && !hasRoles)
      for (int64_t back : {2, 1})
        PipeReleaseOp::create(builder, loc, late.pipe,
                              rotate(slot, stages - back));
    for (Pipe *pipe : {&main, &late})
      if (pipe->pipe)
        PipeDrainOp::create(builder, loc, pipe->pipe);
    for (auto [variable, last] :
         llvm::zip(common.carried, steady->getResults()))
      memref::StoreOp::create(builder, loc, last, variable);
    loop.erase();
    for (auto &[buffer, ring] : common.rings)
      if (buffer.use_empty())
        buffer.getDefiningOp()->erase();
  }

private:
  /// Slots that are filled and emptied together.
  struct Pipe {
    SmallVector<CopyOp> copies;
    SmallVector<Operation *> offsetOps;
    Value pipe;
  };

  /// Moves the buffers of copies that run ahead out of the loop, which may have
  /// them in its body: rings take their places, in copies of the body too.
  void hoistBuffers() {
    for (Pipe *pipe : {&main, &late})
      for (CopyOp copy : pipe->copies) {
        Operation *alloc = copy.getTarget().getDefiningOp();
        if (loop->isProperAncestor(alloc))
          alloc->moveBefore(loop);
      }
  }

  /// What computes where the copies read, in the body's order, so that operands
  /// come before their users.
  void collectOffsets(Pipe &pipe) {
    SetVector<Operation *> ops;
    for (CopyOp copy : pipe.copies) {
      [[maybe_unused]] LogicalResult known = collectOffsetOps(copy, loop, ops);
      assert(succeeded(known) && "copies that run ahead have such offsets");
    }
    for (Operation &op : loop.getBody().front())
      if (ops.contains(&op))
        pipe.offsetOps.push_back(&op);
  }

  OpBuilder atStartOfKernel() {
    auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
    return OpBuilder::atBlockBegin(&kernel.getBody().front());
  }

  void makePipes(bool isCarried) {
    makeState(isCarried && isBulk);
    common.main = makePipe(main);
    if (delayed)
      common.late = makePipe(late);
  }

  /// A pipe with a ring for each buffer, at the start of the kernel: there they
  /// are set up once, however often the loop runs.
  Value makePipe(Pipe &pipe) {
    OpBuilder atStart = atStartOfKernel();
    SmallVector<Value> values;
    for (CopyOp copy : pipe.copies) {
      auto alloc = copy.getTarget().getDefiningOp<AllocOp>();
      MemRefType type = alloc.getType();
      SmallVector<int64_t> shape = {stages};
      llvm::append_range(shape, type.getShape());
      auto ring = AllocOp::create(atStart, alloc.getLoc(),
                                  MemRefType::get(shape, type.getElementType(),
                                                  MemRefLayoutAttrInterface(),
                                                  type.getMemorySpace()),
                                  alloc.getLayoutAttr(), /*offset=*/nullptr);
      ring->setAttr(kRingAttr, atStart.getUnitAttr());
      common.rings[alloc.getResult()] = ring;
      values.push_back(ring);
    }
    return PipeOp::create(
        atStart, loc,
        PipeType::get(loop.getContext(), *getEngine(loop), stages), values);
  }

  /// The slot and phase with which the first run begins.
  void makeState(bool isCarried) {
    OpBuilder atStart = atStartOfKernel();
    common.first.push_back(
        arith::ConstantIndexOp::create(atStart, named("slot"), 0));
    if (isBulk)
      common.first.push_back(
          arith::ConstantIntOp::create(atStart, named("phase"), 0, 32));
    if (!isCarried)
      return;
    for (Value first : common.first) {
      Value variable = memref::AllocaOp::create(
          atStart, first.getLoc(), MemRefType::get({}, first.getType()));
      memref::StoreOp::create(atStart, loc, first, variable);
      common.carried.push_back(variable);
    }
  }

  /// The slot and phase with which this run begins.
  void readState() {
    if (common.carried.empty())
      first = common.first;
    for (Value variable : common.carried)
      first.push_back(
          memref::LoadOp::create(builder, variable.getLoc(), variable));
  }

  Location named(StringRef name) {
    return NameLoc::get(builder.getStringAttr(name), loc);
  }

  Value rotate(Value slot, int64_t by) {
    if (by == 0)
      return slot;
    if (slot == first[0] && common.carried.empty())
      return arith::ConstantIndexOp::create(builder, loc, by);
    return RotateOp::create(builder, loc, slot, by, stages);
  }

  Value slotOf(Value buffer, Value slot) {
    auto type = cast<MemRefType>(buffer.getType());
    return SlotOp::create(builder, loc, type, common.rings.lookup(buffer),
                          slot);
  }

  /// Starts the copies of the iteration that comes `ahead` after `index` into
  /// `slot`, if there is such an iteration. Returns the last op of it.
  /// `isRunning` says that there is an iteration `index`. The bound may be the
  /// greatest number that there is, so that `index` + `ahead` wraps; what is
  /// left does not, without a sign.
  Operation *emitFill(Pipe &pipe, Value index, int64_t ahead, Value slot,
                      bool isRunning) {
    auto compare = [&](arith::CmpIPredicate predicate, Value a,
                       Value b) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, a, b);
    };
    Value exists;
    if (!isRunning)
      exists = compare(arith::CmpIPredicate::slt, index, loop.getUpper());
    if (ahead > 0) {
      Value left = arith::SubIOp::create(builder, loc, loop.getUpper(), index);
      Value isFar =
          compare(arith::CmpIPredicate::ugt, left,
                  arith::ConstantIndexOp::create(builder, loc, ahead));
      exists =
          exists
              ? arith::AndIOp::create(builder, loc, exists, isFar).getResult()
              : isFar;
    }
    if (!exists)
      exists = arith::ConstantIntOp::create(builder, loc, 1, 1);
    auto guard = scf::IfOp::create(builder, loc, exists);
    {
      OpBuilder::InsertionGuard saved(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      emitCopies(pipe, later(index, ahead), slot);
    }
    return PipeCommitOp::create(builder, loc, pipe.pipe, slot);
  }

  /// Starts the copies of iteration `index`, which there is, into `slot`.
  void emitCopies(Pipe &pipe, Value index, Value slot) {
    IRMapping mapping;
    mapping.map(loop.getBody().getArgument(0), index);
    for (Operation *op : pipe.offsetOps)
      builder.clone(*op, mapping);
    for (CopyOp copy : pipe.copies) {
      auto offsets =
          llvm::map_to_vector(copy.getSourceOffsets(), [&](Value value) {
            return mapping.lookupOrDefault(value);
          });
      OperationState state(copy.getLoc(), CopyOp::getOperationName());
      CopyOp::build(builder, state, copy.getSource(), offsets,
                    slotOf(copy.getTarget(), slot), ValueRange(),
                    copy.getTileAttr(), /*async=*/true, isBulk,
                    /*barrier=*/Value(), /*barrierIndex=*/Value(),
                    /*accumulate=*/false, copy.getMulticast());
      for (Region &places : copy.getPlaces())
        places.cloneInto(state.addRegion(), mapping);
      builder.create(state);
    }
  }

  /// `value` + `offset`, the index of an iteration that there is, or the bound.
  Value later(Value value, int64_t offset) {
    if (offset == 0)
      return value;
    return arith::AddIOp::create(
        builder, loc, value,
        arith::ConstantIndexOp::create(builder, loc, offset),
        arith::IntegerOverflowFlags::nsw);
  }

  void emitPrologue() {
    PipeAcquireOp::create(builder, loc, main.pipe, first[0], stages - 1,
                          /*phase=*/Value());
    for (int64_t stage = 0; stage < stages - 1; ++stage)
      emitFill(main, loop.getLower(), stage, rotate(first[0], stage),
               /*isRunning=*/false);
  }

  /// The late pipe's slot before the first is free when the loop begins.
  void emitDelayedPrologue() {
    PipeAcquireOp::create(builder, loc, main.pipe, first[0], stages,
                          /*phase=*/Value());
    PipeAcquireOp::create(builder, loc, late.pipe, first[0], stages - 1,
                          /*phase=*/Value());
    for (int64_t stage = 0; stage < stages; ++stage)
      for (Pipe *pipe : {&main, &late})
        if (pipe == &main || stage < stages - 1)
          emitFill(*pipe, loop.getLower(), stage, rotate(first[0], stage),
                   /*isRunning=*/false);
  }

  void emitLoop() {
    scf::ForOp inner = makeFor(loop.getLower());
    steady = inner;
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToStart(inner.getBody());
    Value index = inner.getInductionVar();
    Value slot = inner.getRegionIterArg(0);
    Value phase = isBulk ? inner.getRegionIterArg(1) : Value();
    Value previous;
    auto release = [&] {
      previous = rotate(slot, stages - 1);
      PipeReleaseOp::create(builder, loc, main.pipe, previous);
    };
    auto wait = [&] {
      return PipeWaitOp::create(builder, loc, main.pipe, slot,
                                hasRoles ? stages - 1 : stages - 2, phase);
    };
    auto refill = [&] {
      PipeAcquireOp::create(builder, loc, main.pipe, previous, /*count=*/1,
                            /*phase=*/Value());
      return emitFill(main, index, stages - 1, previous, /*isRunning=*/true);
    };

    Operation *beforeBody;
    if (hasRoles) {
      emitOwnFill(main, index, slot, phase);
      beforeBody = wait();
      PipeReleaseOp::create(builder, loc, main.pipe, slot);
    } else if (isBulk) {
      beforeBody = wait();
      release();
      refill();
    } else {
      release();
      wait();
      beforeBody = refill();
    }
    SmallVector<Value> next = {rotate(slot, 1)};
    if (isBulk)
      next.push_back(NextPhaseOp::create(builder, loc, phase, slot, stages));
    scf::YieldOp::create(builder, loc, next);
    builder.setInsertionPointAfter(beforeBody);
    moveBody(index, slot);
  }

  /// A loop from `lower` on that carries slot and phase.
  scf::ForOp makeFor(Value lower) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto made =
        scf::ForOp::create(builder, loc, lower, loop.getUpper(), one, first);
    made.getInductionVar().setLoc(
        withNameOf(loop.getBody().front().getArgument(0).getLoc(), loc));
    for (auto [argument, value] :
         llvm::zip_equal(made.getRegionIterArgs(), first))
      argument.setLoc(value.getLoc());
    return made;
  }

  /// Slot and phase after `slot` and `phase`.
  SmallVector<Value> advance(Value slot, Value phase) {
    return {rotate(slot, 1),
            NextPhaseOp::create(builder, loc, phase, slot, stages)};
  }

  void wait(Pipe &pipe, Value slot, Value phase) {
    PipeWaitOp::create(builder, loc, pipe.pipe, slot,
                       hasRoles ? stages - 1 : stages - 2, phase);
  }

  /// What the role that fills does in iteration `index`.
  void emitOwnFill(Pipe &pipe, Value index, Value slot, Value phase) {
    PipeAcquireOp::create(builder, loc, pipe.pipe, slot, /*count=*/1, phase);
    emitCopies(pipe, index, slot);
    PipeCommitOp::create(builder, loc, pipe.pipe, slot);
  }

  /// The statements from `begin` to `end` (exclusive, null for the last one),
  /// but the delayed gemm, for iteration `index`. `mapping` holds what was made
  /// of those before.
  void cloneStatements(Operation *begin, Operation *end, Value index,
                       Value slot, IRMapping &mapping) {
    mapping.map(loop.getBody().getArgument(0), index);
    for (CopyOp copy : main.copies)
      if (!mapping.contains(copy.getTarget()))
        mapping.map(copy.getTarget(), slotOf(copy.getTarget(), slot));
    for (Operation *op = begin; op != end; op = op->getNextNode()) {
      auto copy = dyn_cast<CopyOp>(op);
      if (op != delayed->gemm && !(copy && runsAhead(copy)) &&
          !op->hasTrait<OpTrait::IsTerminator>())
        builder.clone(*op, mapping);
    }
  }

  /// The statements from `delayed->next` on of an iteration that has `slot` of
  /// the first pipe and, if there is an iteration before, `lateSlot` of the
  /// other one to itself. Each is released where it is read no more.
  void cloneRest(Value index, Value slot, Value lateSlot, IRMapping &mapping) {
    Operation *begin = delayed->next;
    auto goOnTo = [&](Operation *end) {
      cloneStatements(begin, end, index, slot, mapping);
      begin = end;
    };
    auto isBefore = [](Operation *a, Operation *b) {
      return a && (!b || a->isBeforeInBlock(b));
    };
    Operation *end = findEndOfReads(), *lateEnd = delayed->end;
    if (lateSlot && isBefore(lateEnd, end)) {
      goOnTo(lateEnd);
      PipeReleaseOp::create(builder, loc, late.pipe, lateSlot);
      lateSlot = Value();
    }
    goOnTo(end);
    PipeReleaseOp::create(builder, loc, main.pipe, slot);
    if (lateSlot) {
      goOnTo(lateEnd);
      PipeReleaseOp::create(builder, loc, late.pipe, lateSlot);
    }
    goOnTo(nullptr);
  }

  /// The first statement from `delayed->next` on from which no statement reads
  /// the slots of the first pipe; null if the last one does.
  Operation *findEndOfReads() {
    Operation *end = delayed->next;
    for (Operation *op = end; op; op = op->getNextNode())
      if (llvm::any_of(main.copies, [&](CopyOp copy) {
            return copy != op && touches(op, copy.getTarget());
          }))
        end = op->getNextNode();
    return end->hasTrait<OpTrait::IsTerminator>() ? nullptr : end;
  }

  static bool touches(Operation *op, Value buffer) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value operand) {
                                return isa<MemRefType>(operand.getType()) &&
                                       getBuffer(operand) == buffer;
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The gemm of the iteration whose `slot` of the late pipe is filled.
  void cloneDelayed(Value slot) {
    IRMapping mapping;
    for (CopyOp copy : late.copies)
      mapping.map(copy.getTarget(), slotOf(copy.getTarget(), slot));
    builder.clone(*delayed->gemm, mapping)->removeAttr(kDelayedAttr);
  }

  void emitDelayedLoop() {
    Value runs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       loop.getLower(), loop.getUpper());
    auto branch = scf::IfOp::create(builder, loc, ValueRange(first).getTypes(),
                                    runs, /*withElseRegion=*/true);
    steady = branch;
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, first);

    Operation *begin = &loop.getBody().front().front();
    builder.setInsertionPointToStart(branch.thenBlock());
    if (hasRoles)
      for (Pipe *pipe : {&main, &late})
        emitOwnFill(*pipe, loop.getLower(), first[0], first[1]);
    wait(main, first[0], first[1]);
    IRMapping mapping;
    if (hasRoles) {
      cloneStatements(begin, delayed->next, loop.getLower(), first[0], mapping);
      cloneRest(loop.getLower(), first[0], /*lateSlot=*/Value(), mapping);
    } else {
      cloneStatements(begin, nullptr, loop.getLower(), first[0], mapping);
    }
    scf::ForOp inner = makeFor(later(loop.getLower(), 1));
    emitLateIteration(inner);

    Value slot = inner.getResult(0), phase = inner.getResult(1);
    wait(late, slot, phase);
    cloneDelayed(slot);
    if (hasRoles)
      PipeReleaseOp::create(builder, loc, late.pipe, slot);
    scf::YieldOp::create(builder, loc, advance(slot, phase));
  }

  /// An iteration that begins by ending the one before, whose slot and phase
  /// `inner` carries.
  void emitLateIteration(scf::ForOp inner) {
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToStart(inner.getBody());
    Value index = inner.getInductionVar();
    Value previous = inner.getRegionIterArg(0);
    Value phase = inner.getRegionIterArg(1);
    SmallVector<Value> current = advance(previous, phase);
    Operation *begin = &loop.getBody().front().front();
    if (hasRoles)
      for (Pipe *pipe : {&main, &late})
        emitOwnFill(*pipe, index, current[0], current[1]);
    wait(main, current[0], current[1]);
    IRMapping mapping;
    cloneStatements(begin, delayed->next, index, current[0], mapping);
    wait(late, previous, phase);
    cloneDelayed(previous);
    if (hasRoles) {
      cloneRest(index, current[0], previous, mapping);
      scf::YieldOp::create(builder, loc, current);
      return;
    }

    Value beforePrevious = rotate(previous, stages - 1);
    PipeReleaseOp::create(builder, loc, main.pipe, previous);
    PipeReleaseOp::create(builder, loc, late.pipe, beforePrevious);
    PipeAcquireOp::create(builder, loc, main.pipe, previous, /*count=*/1,
                          /*phase=*/Value());
    emitFill(main, index, stages - 1, previous, /*isRunning=*/true);
    PipeAcquireOp::create(builder, loc, late.pipe, beforePrevious, /*count=*/1,
                          /*phase=*/Value());
    emitFill(late, index, stages - 2, beforePrevious, /*isRunning=*/true);
    cloneStatements(delayed->next, nullptr, index, current[0], mapping);
    scf::YieldOp::create(builder, loc, current);
  }

  /// The loop's body without the copies, reading `slot` of the rings. The fills
  /// have been made of it by now.
  void moveBody(Value index, Value slot) {
    Block &body = loop.getBody().front();
    for (CopyOp copy : main.copies)
      copy.erase();
    body.getTerminator()->erase();
    body.getArgument(0).replaceAllUsesWith(index);
    for (auto &[buffer, ring] : common.rings) {
      Value view = slotOf(buffer, slot);
      buffer.replaceUsesWithIf(view, [&](OpOperand &use) {
        return loop->isProperAncestor(use.getOwner());
      });
    }
    builder.getBlock()->getOperations().splice(builder.getInsertionPoint(),
                                               body.getOperations());
  }

  PipelinedOp loop;
  CommonPipes &common;
  int64_t stages;
  bool isBulk;
  /// One role will fill the slots, and another one read them.
  bool hasRoles = false;
  OpBuilder builder;
  Location loc;
  std::optional<DelayedGemm> delayed;
  Pipe main, late;
  SmallVector<Value> first; ///< slot and phase with which this run begins
  Operation *steady;        ///< what leaves the next slot and phase
};

} // namespace

/// The first pipelined loop, an outer one before those inside.
static PipelinedOp findLoop(Operation *root) {
  PipelinedOp found;
  root->walk<WalkOrder::PreOrder>([&](PipelinedOp loop) {
    found = loop;
    return WalkResult::interrupt();
  });
  return found;
}

/// True if a loop that is still to be expanded, other than `except`, fills
/// `tiles`.
static bool isFilledLater(const LoopTiles &tiles, Operation *root,
                          PipelinedOp except = nullptr) {
  return root
      ->walk([&](PipelinedOp loop) {
        return loop != except && getEngine(loop) && LoopTiles::of(loop) == tiles
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct ExpandPipelinePass
    : tl::impl::ExpandPipelinePassBase<ExpandPipelinePass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      expandAll(kernel);
  }

private:
  void expandAll(gpu::GPUFuncOp kernel) {
    // Those that loops which are still to be expanded have in common.
    std::list<CommonPipes> known;
    SetVector<Value> carried;
    // Outer loops first: they clone those inside.
    while (PipelinedOp loop = findLoop(kernel)) {
      if (!getEngine(loop)) {
        makePlain(loop);
        continue;
      }
      CommonPipes &pipes = findPipes(LoopTiles::of(loop), known);
      bool isAgain = loop->getParentOfType<LoopLikeOpInterface>() ||
                     isFilledLater(pipes.tiles, kernel, loop);
      Expander(loop, pipes).run(isAgain);
      carried.insert_range(pipes.carried);
      // Others may come to lie where a buffer did that is gone.
      known.remove_if([&](const CommonPipes &pipes) {
        return !isFilledLater(pipes.tiles, kernel);
      });
    }
    promoteSlots(std::move(carried), kernel.getBody().front());
  }

  /// Those of `known` for `tiles`; new ones, which are empty, if there are
  /// none.
  static CommonPipes &findPipes(const LoopTiles &tiles,
                                std::list<CommonPipes> &known) {
    for (CommonPipes &pipes : known)
      if (pipes.tiles == tiles)
        return pipes;
    CommonPipes &made = known.emplace_back();
    made.tiles = tiles;
    return made;
  }
};
} // namespace
