//===- LowerTileOps.cpp - Write tile ops as what each thread does ---------===//
//
// The pass, and the small lowerings; each op has one model. Ops are lowered in
// program order, in place, so that what one op leaves is there for the next.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Conversion/TLToThreads/TellTiles.h"
#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_LOWERTILEOPSPASS
#include "tl/Conversion/TLToThreads/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

#include "tl/Conversion/TLToThreads/ThreadLoweringInterface.cpp.inc"

/// How long one `try_wait` may suspend a thread, in nanoseconds; it is
/// repeated.
static constexpr int64_t kWaitTicks = 10'000'000;

static constexpr int64_t kWarp = 32;

namespace {

template <typename Model, typename Op>
using LoweringModel = ThreadLoweringOpInterface::ExternalModel<Model, Op>;

struct CopyModel : LoweringModel<CopyModel, CopyOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    return lowerCopy(cast<CopyOp>(op), lowering);
  }
};

struct ReduceModel : LoweringModel<ReduceModel, ReduceOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    return lowerReduce(cast<ReduceOp>(op), lowering);
  }
};

struct ScanModel : LoweringModel<ScanModel, ScanOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    return lowerScan(cast<ScanOp>(op), lowering);
  }
};

struct ParallelModel : LoweringModel<ParallelModel, ParallelOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    return lowerParallel(cast<ParallelOp>(op), lowering);
  }
};

struct GemmModel : LoweringModel<GemmModel, GemmOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto gemm = cast<GemmOp>(op);
    switch (gemm.getPlan()->getInstruction()) {
    case Instruction::WGMMA:
      return lowerWgmmaGemm(gemm, lowering);
    case Instruction::MMA:
      return lowerMmaGemm(gemm, lowering);
    case Instruction::FMA:
      return lowerFmaGemm(gemm, lowering);
    }
    llvm_unreachable("all instructions are handled");
  }
};

/// The layout over which threads fill shared memory: vectors as wide as its
/// rows lie together.
static FragmentLayout getFillLayout(Value target, ThreadLowering &lowering) {
  auto type = cast<MemRefType>(target.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t numThreads = lowering.getScope().getNumThreads();
  SmallVector<Value> first(shape.size(), lowering.index(0));
  int64_t width = lowering.getAccessWidth(
      target, first, getVectorWidth(shape, type.getElementType()));
  return FragmentLayout::blocked(shape, numThreads,
                                 spreadVectors(shape, width, numThreads));
}

struct FillModel : LoweringModel<FillModel, FillOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto fill = cast<FillOp>(op);
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    Value target = fill.getTarget();
    bool isFragment = isInSpace(target, Space::Fragment);
    if (isFragment && !lowering.getFragmentMemory(target)) {
      lowering.writeFragment(
          target,
          vector::BroadcastOp::create(b, loc, lowering.getRegisterType(target),
                                      fill.getValue()));
      return success();
    }
    auto type = cast<MemRefType>(target.getType());
    if (isInSpace(target, Space::Private))
      return lowering.fillPrivate(target, fill.getValue()), success();
    FragmentLayout layout = isFragment ? lowering.getLayout(target)
                                       : getFillLayout(target, lowering);
    auto loop = ParallelOp::create(b, loc, type.getShape(),
                                   toAttr(b.getContext(), layout));
    {
      OpBuilder::InsertionGuard saved(b);
      b.setInsertionPointToStart(&loop.getBody().front());
      StoreOp::create(b, loc, fill.getValue(), target,
                      loop.getBody().getArguments());
    }
    LogicalResult result = lowerParallel(loop, lowering);
    lowering.erase(loop);
    return result;
  }
};

/// What a thread has of a fragment with an element for each thread.
static Value getOwn(ThreadLowering &lowering, Value fragment) {
  return vector::ExtractOp::create(lowering.builder, lowering.loc,
                                   lowering.readFragment(fragment),
                                   /*position=*/0);
}

struct ShuffleModel : LoweringModel<ShuffleModel, ShuffleOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto shuffle = cast<ShuffleOp>(op);
    OpBuilder &b = lowering.builder;
    Value value = lowering.shuffle(getOwn(lowering, shuffle.getSource()),
                                   getOwn(lowering, shuffle.getLanes()),
                                   gpu::ShuffleMode::IDX);
    lowering.writeFragment(
        shuffle.getTarget(),
        vector::FromElementsOp::create(
            b, lowering.loc, VectorType::get({1}, value.getType()), value));
    return success();
  }
};

/// Lanes that no thread is do not vote, and are in no mask that `vote.sync`
/// would wait for.
struct VoteModel : LoweringModel<VoteModel, VoteOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto vote = cast<VoteOp>(op);
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    Value isYes = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                        getOwn(lowering, vote.getSource()),
                                        lowering.i32(0));
    Value lanes =
        NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), lowering.i32(-1),
                                 isYes, NVVM::VoteSyncKind::ballot);
    lowering.writeFragment(
        vote.getTarget(),
        vector::FromElementsOp::create(
            b, loc, VectorType::get({1}, b.getI32Type()), lanes));
    return success();
  }
};

struct LoadModel : LoweringModel<LoadModel, LoadOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto load = cast<LoadOp>(op);
    Value guard = lowering.getInBounds(load.getSource(), load.getIndices());
    load.replaceAllUsesWith(
        lowering.load(load.getSource(), load.getIndices(), 1, guard));
    return success();
  }
};

struct StoreModel : LoweringModel<StoreModel, StoreOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto store = cast<StoreOp>(op);
    Value guard = lowering.getInBounds(store.getTarget(), store.getIndices());
    lowering.store(store.getValue(), store.getTarget(), store.getIndices(),
                   guard);
    return success();
  }
};

/// True if nothing stands between `op` and the next mbarriers to be set up:
/// then the block waits for both at once.
bool isFollowedByMore(Operation *op) {
  Operation *next = op->getNextNode();
  while (next && (isa<AllocOp>(next) ||
                  (next->getNumRegions() == 0 && isMemoryEffectFree(next))))
    next = next->getNextNode();
  return isa_and_nonnull<AllocBarriersOp>(next);
}

struct AllocBarriersModel : LoweringModel<AllocBarriersModel, AllocBarriersOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto alloc = cast<AllocBarriersOp>(op);
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    auto single =
        scf::IfOp::create(b, loc, lowering.getScope().isFirstThread());
    {
      OpBuilder::InsertionGuard saved(b);
      b.setInsertionPointToStart(single.thenBlock());
      for (int64_t i = 0; i < alloc.getType().getDimSize(0); ++i)
        NVVM::MBarrierInitOp::create(
            b, loc,
            lowering.getShared().getBarrierAddress(alloc, lowering.index(i)),
            lowering.i32(alloc.getArrivals()), /*predicate=*/Value());
      if (!isFollowedByMore(op))
        NVVM::FenceMbarrierInitOp::create(b, loc);
    }
    if (!isFollowedByMore(op))
      lowering.getScope().createBarrier();
    return success();
  }
};

/// The barrier of the threads that execute it.
struct BarrierModel : LoweringModel<BarrierModel, gpu::BarrierOp> {
  LogicalResult lowerToThreads(Operation *, ThreadLowering &lowering) const {
    lowering.getScope().createBarrier();
    return success();
  }
};

struct RotateModel : LoweringModel<RotateModel, RotateOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto rotate = cast<RotateOp>(op);
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    int64_t by = rotate.getBy(), of = rotate.getOf(), bound = of - by;
    Value slot = rotate.getSlot();
    // From slot `bound` on they start again: that is the last slot for steps of
    // one, and all but slot 0 for steps back.
    bool isStep = by == 1, isStepBack = bound == 1;
    Value starts = arith::CmpIOp::create(
        b, loc,
        isStep       ? arith::CmpIPredicate::eq
        : isStepBack ? arith::CmpIPredicate::ne
                     : arith::CmpIPredicate::sge,
        slot, lowering.index(!isStep && isStepBack ? 0 : bound));
    Value back =
        isStep ? lowering.index(0)
               : arith::AddIOp::create(b, loc, slot, lowering.index(-bound))
                     .getResult();
    Value further =
        isStepBack ? lowering.index(by)
                   : arith::AddIOp::create(b, loc, slot, lowering.index(by))
                         .getResult();
    rotate.replaceAllUsesWith(
        arith::SelectOp::create(b, loc, starts, back, further).getResult());
    return success();
  }
};

struct NextPhaseModel : LoweringModel<NextPhaseModel, NextPhaseOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto next = cast<NextPhaseOp>(op);
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    Value isLast =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next.getSlot(),
                              lowering.index(next.getOf() - 1));
    Value other =
        arith::XOrIOp::create(b, loc, next.getPhase(), lowering.i32(1));
    next.replaceAllUsesWith(
        arith::SelectOp::create(b, loc, isLast, other, next.getPhase())
            .getResult());
    return success();
  }
};

struct WaitBarrierModel : LoweringModel<WaitBarrierModel, WaitBarrierOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto wait = cast<WaitBarrierOp>(op);
    NVVM::MBarrierTryWaitParityOp::create(
        lowering.builder, lowering.loc,
        lowering.getShared().getBarrierAddress(wait.getBarriers(),
                                               wait.getIndex()),
        wait.getParity(), lowering.i32(kWaitTicks));
    return success();
  }
};

/// One lane says it for its warp, after all lanes have come.
struct ArriveBarrierModel : LoweringModel<ArriveBarrierModel, ArriveBarrierOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto arrive = cast<ArriveBarrierOp>(op);
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    Value address = lowering.getShared().getBarrierAddress(arrive.getBarriers(),
                                                           arrive.getIndex());
    OpBuilder::InsertionGuard saved(b);
    if (arrive.getCluster())
      return arriveInCluster(lowering, arrive, address);
    if (lowering.getScope().getNumThreads() > 1) {
      NVVM::SyncWarpOp::create(b, loc, lowering.i32(-1));
      enterFirstLanes(lowering, 1);
    }
    NVVM::MBarrierArriveOp::create(b, loc, b.getI64Type(), address);
    return success();
  }

private:
  /// Goes on in a branch for the first `count` lanes.
  static void enterFirstLanes(ThreadLowering &lowering, int64_t count) {
    OpBuilder &b = lowering.builder;
    Value isOne = arith::CmpIOp::create(
        b, lowering.loc, arith::CmpIPredicate::ult,
        lowering.getScope().getLane(), lowering.index(count));
    auto branch = scf::IfOp::create(b, lowering.loc, isOne);
    b.setInsertionPointToStart(branch.thenBlock());
  }

  /// Each of the first lanes arrives in one block.
  static LogicalResult arriveInCluster(ThreadLowering &lowering,
                                       ArriveBarrierOp arrive, Value address) {
    if (lowering.getScope().getNumThreads() == 1)
      return arrive.emitOpError("arrives in all blocks of a cluster, and is "
                                "executed by one thread");
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    NVVM::SyncWarpOp::create(b, loc, lowering.i32(-1));
    enterFirstLanes(lowering,
                    getClusterSize(arrive->getParentOfType<gpu::GPUFuncOp>()));
    auto remote = LLVM::LLVMPointerType::get(
        b.getContext(),
        static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
    Value there = NVVM::MapaOp::create(
        b, loc, remote, address, lowering.toI32(lowering.getScope().getLane()));
    NVVM::MBarrierArriveOp::create(b, loc, TypeRange(), there,
                                   /*count=*/Value());
    return success();
  }
};

/// Each thread arrives with release, and waits with acquire. Lanes that went
/// their own ways need not be together again.
template <typename Op>
struct ClusterModel : LoweringModel<ClusterModel<Op>, Op> {
  LogicalResult lowerToThreads(Operation *, ThreadLowering &lowering) const {
    if (!std::is_same_v<Op, ClusterWaitOp>)
      NVVM::ClusterArriveOp::create(lowering.builder, lowering.loc,
                                    /*aligned=*/UnitAttr());
    if (!std::is_same_v<Op, ClusterArriveOp>)
      NVVM::ClusterWaitOp::create(lowering.builder, lowering.loc,
                                  /*aligned=*/UnitAttr());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// Two warp groups meet at a barrier of turns: one that waits, and the one
/// before it.
constexpr int64_t kWarpsOfGroup = 4, kThreadsAtTurn = 2 * kWarpGroup;

/// Lowers an op of turns with `lower`, which gets the number of the thread's
/// warp group, and of the last one.
template <typename Op, typename Lower>
struct TurnModel : LoweringModel<TurnModel<Op, Lower>, Op> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    OpBuilder &b = lowering.builder;
    Value group =
        arith::DivUIOp::create(b, lowering.loc, lowering.getScope().getWarp(),
                               lowering.index(kWarpsOfGroup));
    int64_t last = getThreads(op).count / kWarpGroup - 1;
    OpBuilder::InsertionGuard saved(b);
    Lower()(lowering, cast<Op>(op).getBarrier(), group, last);
    return success();
  }
};

Value compareGroup(ThreadLowering &lowering, arith::CmpIPredicate predicate,
                   Value group, int64_t bound) {
  return arith::CmpIOp::create(lowering.builder, lowering.loc, predicate, group,
                               lowering.index(bound));
}

void arriveAtTurn(ThreadLowering &lowering, Value barrier) {
  NVVM::BarrierArriveOp::create(lowering.builder, lowering.loc, barrier,
                                lowering.i32(kThreadsAtTurn));
}

void waitForTurn(ThreadLowering &lowering, Value barrier) {
  NVVM::BarrierOp::create(lowering.builder, lowering.loc, TypeRange(), barrier,
                          lowering.i32(kThreadsAtTurn),
                          /*reductionOp=*/nullptr,
                          /*reductionPredicate=*/nullptr);
}

/// The barrier of warp group `group`.
Value getTurnBarrier(ThreadLowering &lowering, int64_t barrier, Value group) {
  OpBuilder &b = lowering.builder;
  Value number =
      arith::IndexCastOp::create(b, lowering.loc, b.getI32Type(), group);
  return arith::AddIOp::create(b, lowering.loc, number, lowering.i32(barrier));
}

struct LowerTakeTurn {
  void operator()(ThreadLowering &lowering, int64_t barrier, Value group,
                  int64_t) const {
    waitForTurn(lowering, getTurnBarrier(lowering, barrier, group));
  }
};

struct LowerPassTurn {
  void operator()(ThreadLowering &lowering, int64_t barrier, Value group,
                  int64_t last) const {
    OpBuilder &b = lowering.builder;
    Value isLast =
        compareGroup(lowering, arith::CmpIPredicate::uge, group, last);
    Value next =
        arith::AddIOp::create(b, lowering.loc, group, lowering.index(1));
    arriveAtTurn(lowering, getTurnBarrier(lowering, barrier,
                                          arith::SelectOp::create(
                                              b, lowering.loc, isLast,
                                              lowering.index(0), next)));
  }
};

struct LowerOpenTurns {
  void operator()(ThreadLowering &lowering, int64_t barrier, Value group,
                  int64_t last) const {
    auto branch = scf::IfOp::create(
        lowering.builder, lowering.loc,
        compareGroup(lowering, arith::CmpIPredicate::uge, group, last));
    lowering.builder.setInsertionPointToStart(branch.thenBlock());
    arriveAtTurn(lowering, lowering.i32(barrier));
  }
};

struct LowerCloseTurns {
  void operator()(ThreadLowering &lowering, int64_t barrier, Value group,
                  int64_t) const {
    auto branch = scf::IfOp::create(
        lowering.builder, lowering.loc,
        compareGroup(lowering, arith::CmpIPredicate::ult, group, 1));
    lowering.builder.setInsertionPointToStart(branch.thenBlock());
    waitForTurn(lowering, lowering.i32(barrier));
  }
};

struct CommitCopiesModel : LoweringModel<CommitCopiesModel, CommitCopiesOp> {
  LogicalResult lowerToThreads(Operation *, ThreadLowering &lowering) const {
    NVVM::CpAsyncCommitGroupOp::create(lowering.builder, lowering.loc);
    return success();
  }
};

struct WaitCopiesModel : LoweringModel<WaitCopiesModel, WaitCopiesOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    NVVM::CpAsyncWaitGroupOp::create(lowering.builder, lowering.loc,
                                     cast<WaitCopiesOp>(op).getPending());
    return success();
  }
};

struct WaitGemmModel : LoweringModel<WaitGemmModel, WaitGemmOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto wait = cast<WaitGemmOp>(op);
    SmallVector<Value> values =
        llvm::map_to_vector(wait.getFragments(), [&](Value acc) {
          return lowering.readFragment(acc);
        });
    auto done = WgmmaWaitOp::create(lowering.builder, lowering.loc,
                                    wait.getPending(), values);
    for (auto [acc, value] : llvm::zip(wait.getFragments(), done.getResults()))
      lowering.writeFragment(acc, value);
    return success();
  }
};

/// Only the thread that starts bulk stores has groups of them to wait for.
struct WaitStoresModel : LoweringModel<WaitStoresModel, WaitStoresOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    auto wait = cast<WaitStoresOp>(op);
    NVVM::CpAsyncBulkWaitGroupOp::create(
        lowering.builder, lowering.loc,
        lowering.builder.getI32IntegerAttr(wait.getPending()),
        wait.getReadAttr());
    return success();
  }
};

struct FenceAsyncModel : LoweringModel<FenceAsyncModel, FenceAsyncOp> {
  LogicalResult lowerToThreads(Operation *op, ThreadLowering &lowering) const {
    OpBuilder &b = lowering.builder;
    MLIRContext *context = b.getContext();
    if (cast<FenceAsyncOp>(op).getDevice())
      NVVM::FenceProxyOp::create(
          b, lowering.loc,
          NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async),
          NVVM::SharedSpaceAttr());
    else
      NVVM::FenceProxyOp::create(
          b, lowering.loc,
          NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async_shared),
          NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
    return success();
  }
};

} // namespace

void tl::registerThreadLoweringModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, gpu::GPUDialect *) {
    gpu::BarrierOp::attachInterface<BarrierModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TLDialect *) {
    AllocBarriersOp::attachInterface<AllocBarriersModel>(*context);
    ArriveBarrierOp::attachInterface<ArriveBarrierModel>(*context);
    CloseTurnsOp::attachInterface<TurnModel<CloseTurnsOp, LowerCloseTurns>>(
        *context);
    ClusterArriveOp::attachInterface<ClusterModel<ClusterArriveOp>>(*context);
    ClusterBarrierOp::attachInterface<ClusterModel<ClusterBarrierOp>>(*context);
    ClusterWaitOp::attachInterface<ClusterModel<ClusterWaitOp>>(*context);
    CommitCopiesOp::attachInterface<CommitCopiesModel>(*context);
    CopyOp::attachInterface<CopyModel>(*context);
    FenceAsyncOp::attachInterface<FenceAsyncModel>(*context);
    FillOp::attachInterface<FillModel>(*context);
    GemmOp::attachInterface<GemmModel>(*context);
    LoadOp::attachInterface<LoadModel>(*context);
    NextPhaseOp::attachInterface<NextPhaseModel>(*context);
    OpenTurnsOp::attachInterface<TurnModel<OpenTurnsOp, LowerOpenTurns>>(
        *context);
    ParallelOp::attachInterface<ParallelModel>(*context);
    PassTurnOp::attachInterface<TurnModel<PassTurnOp, LowerPassTurn>>(*context);
    ReduceOp::attachInterface<ReduceModel>(*context);
    RotateOp::attachInterface<RotateModel>(*context);
    ScanOp::attachInterface<ScanModel>(*context);
    ShuffleOp::attachInterface<ShuffleModel>(*context);
    VoteOp::attachInterface<VoteModel>(*context);
    StoreOp::attachInterface<StoreModel>(*context);
    TakeTurnOp::attachInterface<TurnModel<TakeTurnOp, LowerTakeTurn>>(*context);
    WaitBarrierOp::attachInterface<WaitBarrierModel>(*context);
    WaitCopiesOp::attachInterface<WaitCopiesModel>(*context);
    WaitGemmOp::attachInterface<WaitGemmModel>(*context);
    WaitStoresOp::attachInterface<WaitStoresModel>(*context);
  });
}

/// The ops to lower, in program order, without those inside a parallel loop or
/// of the places of a copy.
static SmallVector<Operation *> collectOps(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ThreadLoweringOpInterface>(op))
      ops.push_back(op);
    return isa<CopyOp, ParallelOp>(op) ? WalkResult::skip()
                                       : WalkResult::advance();
  });
  return ops;
}

/// Extents of arguments become parameters. Last, because what is known of a
/// row's extent is known of its tensor: which neighbours a guard lets through
/// together follows from it.
static void lowerDims(gpu::GPUFuncOp kernel, ThreadLowering &lowering) {
  SmallVector<memref::DimOp> dims;
  kernel.walk([&](memref::DimOp dim) { dims.push_back(dim); });
  for (memref::DimOp dim : dims) {
    lowering.enter(dim);
    dim.replaceAllUsesWith(lowering.getSignature().getDim(
        dim.getSource(), *dim.getConstantIndex()));
    lowering.erase(dim);
  }
}

/// A branch for the warps from `first` to `end`. Warps have the same number in
/// all lanes, so that it is known to decide for whole warps.
static scf::IfOp branchOnWarps(ThreadLowering &lowering, Value warp,
                               int64_t first, int64_t end, bool hasElse) {
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) -> Value {
    return arith::CmpIOp::create(lowering.builder, lowering.loc, predicate,
                                 warp, lowering.index(bound));
  };
  Value isIn = compare(arith::CmpIPredicate::ult, end);
  if (first > 0)
    isIn = arith::AndIOp::create(lowering.builder, lowering.loc, isIn,
                                 compare(arith::CmpIPredicate::uge, first));
  return scf::IfOp::create(lowering.builder, lowering.loc, isIn, hasElse);
}

static scf::IfOp branchOnThread(ThreadLowering &lowering, Value thread,
                                int64_t number) {
  Value isIt = arith::CmpIOp::create(lowering.builder, lowering.loc,
                                     arith::CmpIPredicate::eq, thread,
                                     lowering.index(number));
  return scf::IfOp::create(lowering.builder, lowering.loc, isIt);
}

/// Makes branches of the roles, which stand next to each other and have no
/// thread in common. Each stands in the other branch of the one before: where
/// the threads of a warp have been apart, as one of them was that copies, a
/// compiler may not know that those of others are together, and `ptxas` then
/// keeps nothing in the registers that a warp has one of.
///
/// What changes registers is executed by the warp groups of a role, also by
/// those of their threads that then pass by.
static void lowerRoles(gpu::GPUFuncOp kernel, ThreadLowering &lowering) {
  auto roles = llvm::to_vector(kernel.getOps<RoleOp>());
  if (roles.empty())
    return;
  OpBuilder &builder = lowering.builder;
  int64_t threads = getNumThreads(kernel), before = getFirstRegisters(threads);
  lowering.enter(kernel.getBody().front().getTerminator());
  Value warp = lowering.getScope().getWarp(),
        thread = lowering.getScope().getThread();
  builder.setInsertionPoint(roles.front());
  llvm::sort(roles,
             [](RoleOp a, RoleOp b) { return a.getFirst() < b.getFirst(); });
  int64_t warpsLeft = threads / kWarp;
  for (RoleOp role : roles) {
    lowering.loc = role.getLoc();
    int64_t first = role.getFirst(), count = role.getCount();
    int64_t registers = role.getRegisters().value_or(before);
    int64_t unit = registers == before ? kWarp : kWarpGroup;
    int64_t begin = first / kWarp,
            end = llvm::alignTo(first + count, unit) / kWarp;
    warpsLeft -= end - begin;
    Block *others = nullptr;
    if (role != roles.back() || warpsLeft > 0) {
      auto branch =
          branchOnWarps(lowering, warp, begin, end, role != roles.back());
      others = branch.elseBlock();
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    if (registers != before)
      NVVM::SetMaxRegisterOp::create(
          builder, lowering.loc, registers,
          registers < before ? NVVM::SetMaxRegisterAction::decrease
                             : NVVM::SetMaxRegisterAction::increase);
    if (count == 1)
      builder.setInsertionPointToStart(
          branchOnThread(lowering, thread, first).thenBlock());
    else if (count % unit != 0)
      builder.setInsertionPointToStart(branchOnWarps(lowering, warp, begin,
                                                     (first + count) / kWarp,
                                                     /*hasElse=*/false)
                                           .thenBlock());
    Block &body = role.getBody().front();
    builder.getInsertionBlock()->getOperations().splice(
        builder.getInsertionPoint(), body.getOperations(), body.begin(),
        body.without_terminator().end());
    if (others)
      builder.setInsertionPointToStart(others);
    role.erase();
  }
}

static LogicalResult lowerKernel(gpu::GPUFuncOp kernel, const Target &target,
                                 bool forReports) {
  if (failed(requireLayouts(kernel)) || failed(requirePlainLoops(kernel)) ||
      failed(requireOffsets(kernel)))
    return failure();
  carryPreviousSlots(kernel);
  ThreadLowering lowering(kernel, target, /*tellsIterations=*/forReports);
  std::optional<TileTeller> teller;
  if (forReports)
    lowering.builder.setListener(&teller.emplace(kernel));
  for (Operation *op : collectOps(kernel)) {
    lowering.enter(op);
    if (teller)
      teller->enter(op);
    if (failed(cast<ThreadLoweringOpInterface>(op).lowerToThreads(lowering)))
      return failure();
    // Buffers' definitions are asked for their layout until the end.
    if (!isa<AllocBarriersOp>(op))
      lowering.erase(op);
  }
  lowering.builder.setListener(nullptr);
  lowerDims(kernel, lowering);
  lowerRoles(kernel, lowering);
  SmallVector<Operation *> left;
  kernel.walk([&](Operation *op) {
    if (isa<AllocOp, AllocBarriersOp, MapSharedRankOp, SlotOp, TensorAtOp>(op))
      left.push_back(op);
  });
  for (Operation *op : llvm::reverse(left))
    op->erase();
  lowering.getSignature().finish();
  return success();
}

namespace {
struct LowerTileOpsPass : tl::impl::LowerTileOpsPassBase<LowerTileOpsPass> {
  using LowerTileOpsPassBase::LowerTileOpsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    LowerTileOpsPassBase::getDependentDialects(registry);
    registerThreadLoweringModels(registry);
  }

  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(lowerKernel(kernel, *target, reports)))
        return signalPassFailure();
  }
};
} // namespace
