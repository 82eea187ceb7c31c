//===- PlanPipeline.cpp - Let the copies of pipelined loops run ahead -----===//
//
// A pipelined loop becomes a prologue that fills all slots but one, and a
// steady state that, in each iteration, waits for its slot, computes, and
// refills the slot that the iteration before has left:
//
//   mbarriers (bulk copies)              cp.async groups
//   -----------------------              ---------------
//   wait for full[slot]                  wait for all groups but stages - 2
//   compute                              block barrier
//   wait for the gemms of k - 1          refill, commit
//   block barrier                        compute
//   refill
//
// With bulk copies one thread refills, so the refill comes last, where it
// delays nobody; with cp.async every thread copies, so it comes before the
// arithmetic that hides it.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "tl-plan-pipeline"

namespace tl {
#define GEN_PASS_DEF_PLANPIPELINEPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static remark::RemarkOpts remarkOptions() {
  return remark::RemarkOpts::name("pipeline").category(DEBUG_TYPE);
}

//===----------------------------------------------------------------------===//
// What can be pipelined
//===----------------------------------------------------------------------===//

static bool isOnlyRead(Value buffer, Operation *user) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(user);
  return effects && !isa<SlotOp>(user) &&
         !effects.getEffectOnValue<MemoryEffects::Write>(buffer);
}

/// True if all that is done with `buffer` is that `copy` fills it and ops after
/// it, in the same iteration, read it.
static bool isOnlyFilledBy(CopyOp copy, Value buffer) {
  Block *body = copy->getBlock();
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (user == copy)
      return true;
    Operation *reader = body->findAncestorOpInBlock(*user);
    return reader && copy->isBeforeInBlock(reader) && isOnlyRead(buffer, user);
  });
}

/// Collects the ops of the loop's body that compute the copy's offsets. Fails
/// if one of them does more than arithmetic on the loop index.
static LogicalResult collectSlice(CopyOp copy, PipelinedOp loop,
                                  SetVector<Operation *> &slice) {
  SetVector<Value> worklist;
  worklist.insert(copy.getSourceOffsets().begin(),
                  copy.getSourceOffsets().end());
  worklist.insert(copy.getTargetOffsets().begin(),
                  copy.getTargetOffsets().end());
  for (size_t i = 0; i < worklist.size(); ++i) {
    Operation *op = worklist[i].getDefiningOp();
    if (!op || !loop->isProperAncestor(op))
      continue;
    if (op->getBlock() != copy->getBlock() || !isPure(op) ||
        op->getNumRegions() != 0)
      return failure();
    slice.insert(op);
    worklist.insert(op->operand_begin(), op->operand_end());
  }
  return success();
}

/// True if the copy can be started in an earlier iteration.
static bool isProducer(CopyOp copy, PipelinedOp loop) {
  SetVector<Operation *> slice;
  auto alloc = copy.getTarget().getDefiningOp<AllocOp>();
  return isInSpace(copy.getSource(), Space::Global) && alloc &&
         isInSpace(copy.getTarget(), Space::Shared) &&
         isOnlyFilledBy(copy, copy.getTarget()) &&
         succeeded(collectSlice(copy, loop, slice));
}

/// True if the next iteration may start while the gemm still reads `operand`:
/// nothing in the loop writes it but the pipeline's own copies.
static bool maySurviveIteration(Value operand, PipelinedOp loop,
                                ArrayRef<CopyOp> producers) {
  return llvm::all_of(operand.getUsers(), [&](Operation *user) {
    return !loop->isProperAncestor(user) || isOnlyRead(operand, user) ||
           llvm::is_contained(producers, user);
  });
}

/// True if nothing else in the loop touches the gemm's accumulator or writes
/// its operands, so that the product may run on while the next iteration
/// starts.
static bool canStayInFlight(GemmOp gemm, PipelinedOp loop,
                            ArrayRef<CopyOp> producers) {
  return gemm.getPlan() &&
         gemm.getPlan()->getInstruction() == Instruction::WGMMA &&
         gemm->getBlock() == &loop.getBody().front() &&
         llvm::all_of(gemm.getAcc().getUsers(),
                      [&](Operation *user) {
                        return user == gemm || !loop->isProperAncestor(user);
                      }) &&
         maySurviveIteration(gemm.getA(), loop, producers) &&
         maySurviveIteration(gemm.getB(), loop, producers);
}

//===----------------------------------------------------------------------===//
// Rewriting one loop
//===----------------------------------------------------------------------===//

namespace {

class PipelineRewriter {
public:
  PipelineRewriter(PipelinedOp loop, SmallVector<CopyOp> producers, bool bulk)
      : loop(loop), producers(std::move(producers)), bulk(bulk),
        stages(loop.getStages()), builder(loop), loc(loop.getLoc()) {}

  void run() {
    collectProducerSlice();
    makeRings();
    emitPrologue();
    emitLoop();
    emitEpilogue();
    loop.erase();
    for (Operation *alloc : replacedAllocs)
      alloc->erase();
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  void collectProducerSlice() {
    SetVector<Operation *> ops;
    for (CopyOp copy : producers)
      (void)collectSlice(copy, loop, ops);
    // In the body's order, so that operands come before their users.
    for (Operation &op : loop.getBody().front())
      if (ops.contains(&op))
        slice.push_back(&op);
  }

  /// A ring of `stages` slots in place of each buffer that a copy fills.
  void makeRings() {
    for (CopyOp copy : producers) {
      auto alloc = copy.getTarget().getDefiningOp<AllocOp>();
      if (rings.count(alloc.getResult()))
        continue;
      MemRefType type = alloc.getType();
      SmallVector<int64_t> shape = {stages};
      llvm::append_range(shape, type.getShape());
      OpBuilder atAlloc(alloc);
      rings[alloc.getResult()] = AllocOp::create(
          atAlloc, alloc.getLoc(),
          MemRefType::get(shape, type.getElementType(),
                          MemRefLayoutAttrInterface(), type.getMemorySpace()),
          alloc.getLayoutAttr(), /*offset=*/nullptr, /*ring=*/true);
      replacedAllocs.insert(alloc);
    }
    if (!bulk)
      return;
    auto space = gpu::AddressSpaceAttr::get(loop.getContext(),
                                            gpu::AddressSpace::Workgroup);
    auto type = MemRefType::get({stages}, MBarrierType::get(loop.getContext()),
                                MemRefLayoutAttrInterface(), space);
    Operation *first = *replacedAllocs.begin();
    OpBuilder atAlloc(first);
    // Each copy announces its own bytes, which counts as an arrival.
    full = AllocBarriersOp::create(atAlloc, loc, type, producers.size(),
                                   /*offset=*/nullptr);
  }

  Value slotOf(Value buffer, Value slot) {
    auto type = cast<MemRefType>(buffer.getType());
    return SlotOp::create(builder, loc, type, rings.lookup(buffer), slot);
  }

  /// Starts the copies of iteration `index` into `slot`, if there is such an
  /// iteration. Without barriers the group is closed in any case, so that
  /// groups can be counted.
  void emitFill(Value index, Value slot) {
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, index, loop.getUpper());
    auto guard = scf::IfOp::create(builder, loc, exists);
    {
      OpBuilder::InsertionGuard saved(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      IRMapping mapping;
      mapping.map(loop.getBody().getArgument(0), index);
      for (Operation *op : slice)
        builder.clone(*op, mapping);
      for (CopyOp copy : producers)
        emitCopy(copy, slot, mapping);
    }
    if (!bulk)
      CommitCopiesOp::create(builder, loc);
  }

  void emitCopy(CopyOp copy, Value slot, IRMapping &mapping) {
    auto mapped = [&](ValueRange values) {
      return llvm::map_to_vector(
          values, [&](Value value) { return mapping.lookupOrDefault(value); });
    };
    CopyOp::create(
        builder, copy.getLoc(), copy.getSource(),
        mapped(copy.getSourceOffsets()), slotOf(copy.getTarget(), slot),
        mapped(copy.getTargetOffsets()), copy.getTileAttr(),
        /*async=*/true, bulk, bulk ? full : Value(), bulk ? slot : Value());
  }

  void emitPrologue() {
    // The loop may have run before, and some threads still be in its end.
    if (loop->getParentOfType<LoopLikeOpInterface>())
      gpu::BarrierOp::create(builder, loc);
    for (int64_t stage = 0; stage < stages - 1; ++stage) {
      Value index = stage == 0
                        ? loop.getLower()
                        : arith::AddIOp::create(builder, loc, loop.getLower(),
                                                constant(stage))
                              .getResult();
      emitFill(index, constant(stage));
    }
  }

  /// `slot` + 1, back to zero after the last.
  std::pair<Value, Value> advance(Value slot) {
    Value next = arith::AddIOp::create(builder, loc, slot, constant(1));
    Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        next, constant(stages));
    return {arith::SelectOp::create(builder, loc, wraps, constant(0), next),
            wraps};
  }

  void emitLoop() {
    SmallVector<Value> inits = {constant(0), constant(stages - 1)};
    if (bulk)
      inits.push_back(arith::ConstantIntOp::create(builder, loc, 0, 32));
    Value one = constant(1);
    auto steady = scf::ForOp::create(builder, loc, loop.getLower(),
                                     loop.getUpper(), one, inits);
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToStart(steady.getBody());
    Value index = steady.getInductionVar();
    Value slot = steady.getRegionIterArg(0);
    Value refillSlot = steady.getRegionIterArg(1);
    index.setLoc(
        withNameOf(loop.getBody().front().getArgument(0).getLoc(), loc));
    static constexpr StringLiteral names[] = {"slot", "refill_slot", "phase"};
    for (auto [argument, name] : llvm::zip(steady.getRegionIterArgs(), names))
      argument.setLoc(NameLoc::get(builder.getStringAttr(name), loc));
    auto refill = [&] {
      Value ahead =
          arith::AddIOp::create(builder, loc, index, constant(stages - 1));
      emitFill(ahead, refillSlot);
    };

    if (bulk) {
      WaitBarrierOp::create(builder, loc, full, slot,
                            steady.getRegionIterArg(2));
      emitBody(index, slot);
      if (!inFlight.empty())
        WaitGemmOp::create(builder, loc, inFlight.size(), ValueRange());
      gpu::BarrierOp::create(builder, loc);
      refill();
    } else {
      WaitCopiesOp::create(builder, loc, stages - 2);
      if (feedsAsyncProxy())
        FenceAsyncOp::create(builder, loc, /*device=*/false);
      gpu::BarrierOp::create(builder, loc);
      refill();
      emitBody(index, slot);
    }

    auto [nextSlot, wraps] = advance(slot);
    SmallVector<Value> yields = {nextSlot, advance(refillSlot).first};
    if (bulk) {
      Value flipped = arith::XOrIOp::create(
          builder, loc, steady.getRegionIterArg(2),
          arith::ConstantIntOp::create(builder, loc, 1, 32));
      yields.push_back(arith::SelectOp::create(builder, loc, wraps, flipped,
                                               steady.getRegionIterArg(2)));
    }
    scf::YieldOp::create(builder, loc, yields);
  }

  bool feedsAsyncProxy() {
    return llvm::any_of(loop.getBody().getOps<GemmOp>(), [](GemmOp gemm) {
      return gemm.getPlan() &&
             gemm.getPlan()->getInstruction() == Instruction::WGMMA;
    });
  }

  /// The loop's body without the copies, reading the ring's slot.
  void emitBody(Value index, Value slot) {
    IRMapping mapping;
    mapping.map(loop.getBody().getArgument(0), index);
    for (auto &[buffer, ring] : rings)
      mapping.map(buffer, slotOf(buffer, slot));
    for (Operation &op : loop.getBody().front().without_terminator()) {
      if (llvm::is_contained(producers, &op))
        continue;
      Operation *copy = builder.clone(op, mapping);
      auto gemm = dyn_cast<GemmOp>(op);
      if (!bulk || !gemm || !canStayInFlight(gemm, loop, producers))
        continue;
      cast<GemmOp>(copy).setAsync(true);
      inFlight.push_back(gemm.getAcc());
    }
  }

  void emitEpilogue() {
    if (!bulk)
      WaitCopiesOp::create(builder, loc, 0);
    if (!inFlight.empty())
      WaitGemmOp::create(builder, loc, 0, inFlight);
  }

  PipelinedOp loop;
  SmallVector<CopyOp> producers;
  bool bulk;
  int64_t stages;
  OpBuilder builder;
  Location loc;
  SmallVector<Operation *> slice;
  llvm::MapVector<Value, Value> rings;
  SetVector<Operation *> replacedAllocs;
  Value full;
  SmallVector<Value> inFlight;
};

} // namespace

/// Turns the loop into a plain one.
static void makeSerial(PipelinedOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto serial =
      scf::ForOp::create(builder, loc, loop.getLower(), loop.getUpper(), one);
  Block &body = loop.getBody().front();
  serial.getInductionVar().setLoc(
      withNameOf(body.getArgument(0).getLoc(), loc));
  body.getArgument(0).replaceAllUsesWith(serial.getInductionVar());
  body.getTerminator()->erase();
  serial.getBody()->getOperations().splice(serial.getBody()->begin(),
                                           body.getOperations());
  loop.erase();
}

/// True if the bulk copy engine can do all copies; says in a remark if not.
static bool canUseBulk(PipelinedOp loop, ArrayRef<CopyOp> producers,
                       const Target &target) {
  if (!target.hasBulkCopy())
    return false;
  // Barriers are initialised once: a second run of the loop would have to know
  // in which phase the first one left them.
  if (loop->getParentOfType<LoopLikeOpInterface>()) {
    remark::missed(loop.getLoc(), remarkOptions())
        << "the loop's copies do not use the bulk copy engine: the loop is "
           "inside another loop";
    return false;
  }
  for (CopyOp copy : producers) {
    auto alloc = copy.getTarget().getDefiningOp<AllocOp>();
    std::string reason;
    if (getBulkCopyShape(copy, cast<SharedLayoutAttr>(alloc.getLayoutAttr()),
                         reason))
      continue;
    remark::missed(copy.getLoc(), remarkOptions())
        << "the loop's copies do not use the bulk copy engine: " + reason;
    return false;
  }
  return true;
}

static void pipeline(PipelinedOp loop, const Target &target) {
  SmallVector<CopyOp> producers;
  for (auto copy : loop.getBody().getOps<CopyOp>())
    if (isProducer(copy, loop))
      producers.push_back(copy);
  if (loop.getStages() < 2)
    return makeSerial(loop);
  if (producers.empty()) {
    remark::missed(loop.getLoc(), remarkOptions())
        << "loop is not pipelined: it has no copy from device memory into "
           "shared memory that could be started early";
    return makeSerial(loop);
  }
  bool bulk = canUseBulk(loop, producers, target);
  PipelineRewriter(loop, std::move(producers), bulk).run();
}

namespace {
struct PlanPipelinePass : tl::impl::PlanPipelinePassBase<PlanPipelinePass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(requireSharedLayouts(kernel)))
        return signalPassFailure();
    SmallVector<PipelinedOp> loops;
    getOperation().walk([&](PipelinedOp loop) { loops.push_back(loop); });
    for (PipelinedOp loop : loops)
      pipeline(loop, *target);
  }
};
} // namespace
