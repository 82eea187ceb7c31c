//===- Order.cpp - Barriers, mbarriers and fences -------------------------===//

#include "Elementwise.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Barriers of threads
//===----------------------------------------------------------------------===//

static Step barrier(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  return warp.block.arriveAtBarrier(warp, i, 0, warp.block.getThreadCount(),
                                    /*waits=*/true);
}

/// Number `a` for `b` threads, or for all of them if `bits` is 0.
template <bool Waits>
static Step namedBarrier(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  unsigned lane = llvm::countr_zero(warp.lanes);
  uint32_t number = warp.words(i.a)[lane];
  uint32_t threads =
      i.bits ? warp.words(i.b)[lane] : warp.block.getThreadCount();
  if (number >= tl::sim::Block::kBarriers || threads == 0 ||
      (i.bits && threads % kLanes != 0))
    return warp.fail(Report::Kind::Barrier, i,
                     llvm::formatv("there is no barrier {0} for {1} threads",
                                   number, threads)
                         .str(),
                     Waits ? "waits at it" : "arrives");
  return warp.block.arriveAtBarrier(warp, i, number, threads, Waits);
}

/// Of the lanes in `a`, which are all that the warp has.
static Step warpBarrier(Warp &warp, const Instruction &i) {
  unsigned lane = llvm::countr_zero(warp.lanes);
  if (!warp.isWhole() || (~warp.words(i.a)[lane] & warp.exists))
    return warp.failDivergent(i);
  if (BlockObserver *observer = warp.block.getObserver()) {
    auto event = makeEvent<WarpEvent>(warp.getEvent(i));
    event.kind = WarpEvent::Kind::Sync;
    observer->onWarp(event);
  }
  return Step::Next;
}

static LogicalResult decodeWarpBarrier(Decoder &decoder, Operation *op) {
  decoder.emit(warpBarrier).a =
      decoder.get(cast<NVVM::SyncWarpOp>(op).getMask());
  return success();
}

static LogicalResult decodeBarrier(Decoder &decoder, Operation *) {
  decoder.emit(barrier);
  return success();
}

static LogicalResult decodeNamedBarrier(Decoder &decoder, Operation *op) {
  auto barrierOp = cast<NVVM::BarrierOp>(op);
  if (barrierOp.getReductionOp())
    return op->emitError("`nvvm.barrier` reduces, which has no meaning in the "
                         "simulator");
  if (!barrierOp.getBarrierId()) {
    decoder.emit(barrier);
    return success();
  }
  Instruction &instruction = decoder.emit(namedBarrier</*Waits=*/true>);
  instruction.a = decoder.get(barrierOp.getBarrierId());
  if (Value threads = barrierOp.getNumberOfThreads()) {
    instruction.b = decoder.get(threads);
    instruction.bits = 1;
  }
  return success();
}

static LogicalResult decodeBarrierArrival(Decoder &decoder, Operation *op) {
  auto arrival = cast<NVVM::BarrierArriveOp>(op);
  if (!arrival.getBarrierId())
    return op->emitError("`nvvm.barrier.arrive` has no number, which has no "
                         "meaning in the simulator");
  Instruction &instruction = decoder.emit(namedBarrier</*Waits=*/false>);
  instruction.a = decoder.get(arrival.getBarrierId());
  instruction.b = decoder.get(arrival.getNumberOfThreads());
  instruction.bits = 1;
  return success();
}

static Step arriveAtCluster(Warp &warp, const Instruction &i) {
  return warp.isWhole() ? warp.block.arriveAtCluster(warp, i)
                        : warp.failDivergent(i);
}

static Step waitForCluster(Warp &warp, const Instruction &i) {
  return warp.isWhole() ? warp.block.waitForCluster(warp, i)
                        : warp.failDivergent(i);
}

template <Execute Function>
static LogicalResult decodePlain(Decoder &decoder, Operation *) {
  decoder.emit(Function);
  return success();
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

/// Bytes of an mbarrier, and what its address is a multiple of.
static constexpr uint32_t kMbarrierBytes = 8;

/// Checks that an mbarrier can be at the address of a lane.
static bool checkPlace(Warp &warp, const Instruction &i, uint32_t address,
                       unsigned lane) {
  Span span = {Space::Shared, address, kMbarrierBytes};
  if (address % kMbarrierBytes != 0)
    (void)warp.fail({Fault::Kind::Misaligned, span, lane, "uses"}, i);
  else if (!warp.block.shared.contains(address, kMbarrierBytes))
    (void)warp.fail({Fault::Kind::OutOfBounds, span, lane, "uses"}, i);
  else
    return true;
  return false;
}

/// The object of `block` at the address of a lane, or null, and then that is
/// reported.
static Mbarrier *getMbarrier(Warp &warp, const Instruction &i,
                             tl::sim::Block &block, uint32_t address,
                             unsigned lane) {
  if (!checkPlace(warp, i, address, lane))
    return nullptr;
  Mbarrier *mbarrier = block.findMbarrier(address);
  if (!mbarrier)
    (void)warp.fail(Report::Kind::Barrier, i,
                    "there is no mbarrier where the program has " +
                        block.getElements().describeMbarrier(
                            warp.getEvent(i).instruction, address),
                    "uses it before it is initialised", lane);
  return mbarrier;
}

/// Tells `block` of what one lane does to an object of it.
static void tell(Warp &warp, const Instruction &i, tl::sim::Block &block,
                 MbarrierEvent::Kind kind, uint32_t address, unsigned lane,
                 uint32_t count, uint32_t bytes, uint64_t phase) {
  BlockObserver *observer = block.getObserver();
  if (!observer)
    return;
  auto event = makeEvent<MbarrierEvent>(warp.getEvent(i));
  event.lanes = LaneMask(1) << lane;
  event.kind = kind;
  event.address = address;
  event.count = count;
  event.bytes = bytes;
  event.phase = phase;
  observer->onMbarrier(event);
}

/// Says that a lane may not arrive at an mbarrier of `block`, and who did
/// before, if a phase has no arrival left.
static Step failArrival(Warp &warp, const Instruction &i,
                        const tl::sim::Block &block, const Mbarrier &mbarrier,
                        uint32_t address, unsigned lane, const char *problem) {
  Report report;
  report.kind = Report::Kind::Barrier;
  report.message = block.getElements().describeMbarrier(
                       warp.getEvent(i).instruction, address) +
                   ": " + problem;
  report.sides.push_back(
      {warp.getEvent(i).instruction, warp.getId(), lane, "arrives"});
  auto last = block.lastArrivals.find(address);
  if (!mbarrier.getPendingArrivals() && last != block.lastArrivals.end())
    report.sides.push_back({last->second.instruction, last->second.warp,
                            llvm::countr_zero(last->second.lanes),
                            "makes the last arrival that the phase counts"});
  warp.block.report(std::move(report));
  return Step::Failed;
}

/// Keeps who arrived, for a report of one arrival too many.
static void noteArrival(Warp &warp, const Instruction &i, tl::sim::Block &block,
                        uint32_t address, unsigned lane) {
  Event event = warp.getEvent(i);
  event.lanes = LaneMask(1) << lane;
  block.lastArrivals[address] = event;
}

/// The object at `a` for `b` arrivals.
static Step initMbarrier(Warp &warp, const Instruction &i) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    uint32_t address = warp.words(i.a)[lane], count = warp.words(i.b)[lane];
    if (!checkPlace(warp, i, address, lane))
      return Step::Failed;
    if (count == 0 || count > Mbarrier::kMostArrivals)
      return warp.fail(
          Report::Kind::Barrier, i,
          llvm::formatv("an mbarrier cannot count {0} arrivals", count).str(),
          "initialises it", lane);
    warp.block.mbarriers.insert_or_assign(address, Mbarrier(count));
    ++warp.block.group.changes;
    tell(warp, i, warp.block, MbarrierEvent::Kind::Init, address, lane, count,
         0, 0);
  }
  return Step::Next;
}

/// One arrival at `a`, after `b` more bytes are expected.
static Step arriveExpecting(Warp &warp, const Instruction &i) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    uint32_t address = warp.words(i.a)[lane], bytes = warp.words(i.b)[lane];
    Mbarrier *mbarrier = getMbarrier(warp, i, warp.block, address, lane);
    if (!mbarrier)
      return Step::Failed;
    uint64_t before = mbarrier->getPhase();
    const char *problem = mbarrier->expect(bytes);
    if (!problem)
      problem = mbarrier->arrive();
    if (problem)
      return failArrival(warp, i, warp.block, *mbarrier, address, lane,
                         problem);
    noteArrival(warp, i, warp.block, address, lane);
    tell(warp, i, warp.block, MbarrierEvent::Kind::Arrive, address, lane, 1,
         bytes, before);
    warp.block.tellPhases(warp.getEvent(i), address, before);
  }
  return Step::Next;
}

/// One arrival at `a`, which may be of another block of the cluster.
static Step arrive(Warp &warp, const Instruction &i) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    uint32_t address = warp.words(i.a)[lane];
    tl::sim::Block *block = warp.block.findBlock(warp, i, lane, address);
    Mbarrier *mbarrier =
        block ? getMbarrier(warp, i, *block, address, lane) : nullptr;
    if (!mbarrier)
      return Step::Failed;
    uint64_t before = mbarrier->getPhase();
    if (const char *problem = mbarrier->arrive())
      return failArrival(warp, i, *block, *mbarrier, address, lane, problem);
    noteArrival(warp, i, *block, address, lane);
    tell(warp, i, *block, MbarrierEvent::Kind::Arrive, address, lane, 1, 0,
         before);
    block->tellPhases(warp.getEvent(i), address, before);
  }
  return Step::Next;
}

/// What is at `a` in the block of the cluster with the number `b`.
static Step mapToCluster(Warp &warp, const Instruction &i) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    warp.words(i.result)[lane] =
        warp.words(i.a)[lane] | (warp.words(i.b)[lane] + 1) << kClusterShift;
  return Step::Next;
}

static LogicalResult decodeMapa(Decoder &decoder, Operation *op) {
  auto mapa = cast<NVVM::MapaOp>(op);
  if (cast<LLVM::LLVMPointerType>(mapa.getA().getType()).getAddressSpace() != 3)
    return op->emitError("`nvvm.mapa` has an address that is not of shared "
                         "memory");
  Register result = decoder.define(mapa.getRes());
  Instruction &instruction = decoder.emit(mapToCluster);
  instruction.result = result;
  instruction.a = decoder.get(mapa.getA());
  instruction.b = decoder.get(mapa.getB());
  return success();
}

/// Until the phase of parity `b` of the object at `a` is complete. It is a loop
/// around the instruction, which itself need not wait.
static Step waitForParity(Warp &warp, const Instruction &i) {
  warp.waiting.kind = Waiting::Kind::Mbarrier;
  warp.waiting.instruction = warp.getEvent(i).instruction;
  warp.waiting.lanes = warp.lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    uint32_t address = warp.words(i.a)[lane];
    if (!getMbarrier(warp, i, warp.block, address, lane))
      return Step::Failed;
    warp.waiting.addresses[lane] = address;
    warp.waiting.parities[lane] = warp.words(i.b)[lane];
  }
  return warp.block.waitForPhase(warp) ? Step::Next : Step::Paused;
}

/// Appends an instruction of the op's first two operands.
template <Execute Function>
static LogicalResult decodeMbarrier(Decoder &decoder, Operation *op) {
  Type pointer = op->getOperand(0).getType();
  if (cast<LLVM::LLVMPointerType>(pointer).getAddressSpace() != 3)
    return op->emitError("`")
           << op->getName() << "` has an address that is not of shared memory";
  Instruction &instruction = decoder.emit(Function);
  instruction.a = decoder.get(op->getOperand(0));
  instruction.b = decoder.get(op->getOperand(1));
  return success();
}

/// The phase that it tells is of no use without `mbarrier.test_wait`, and
/// counts and other scopes are what nothing makes.
static LogicalResult decodeArrive(Decoder &decoder, Operation *op) {
  auto arriveOp = cast<NVVM::MBarrierArriveOp>(op);
  auto pointer = cast<LLVM::LLVMPointerType>(arriveOp.getAddr().getType());
  if (pointer.getAddressSpace() != 3 && pointer.getAddressSpace() != 7)
    return op->emitError("`")
           << op->getName() << "` has an address that is not of shared memory";
  if (arriveOp.getCount() || arriveOp.getRelaxed() ||
      arriveOp.getScope() != NVVM::MemScopeKind::CTA || !op->use_empty())
    return op->emitError("`")
           << op->getName()
           << "` is not a plain arrival, and has no meaning in the simulator";
  decoder.emit(arrive).a = decoder.get(arriveOp.getAddr());
  if (arriveOp.getRes())
    decoder.define(arriveOp.getRes());
  return success();
}

/// What has a predicate, which nothing makes, would be executed without it.
template <typename Op, Execute Function>
static LogicalResult decodePredicated(Decoder &decoder, Operation *op) {
  if (cast<Op>(op).getPredicate())
    return op->emitError("`")
           << op->getName()
           << "` has a predicate, which has no meaning in the simulator";
  return decodeMbarrier<Function>(decoder, op);
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

/// The spaces of the immediate: 1 for shared, 2 for device memory.
template <FenceEvent::Kind Kind>
static Step fence(Warp &warp, const Instruction &i) {
  if (BlockObserver *observer = warp.block.getObserver()) {
    auto event = makeEvent<FenceEvent>(warp.getEvent(i));
    event.kind = Kind;
    event.shared = i.immediate & 1;
    event.global = i.immediate & 2;
    observer->onFence(event);
  }
  return Step::Next;
}

static LogicalResult decodeProxyFence(Decoder &decoder, Operation *op) {
  Instruction &instruction = decoder.emit(fence<FenceEvent::Kind::AsyncProxy>);
  switch (cast<NVVM::FenceProxyOp>(op).getKind()) {
  case NVVM::ProxyKind::async_shared:
    instruction.immediate = 1;
    return success();
  case NVVM::ProxyKind::async_global:
    instruction.immediate = 2;
    return success();
  case NVVM::ProxyKind::async:
    instruction.immediate = 3;
    return success();
  default:
    return op->emitError("`nvvm.fence.proxy` is of a proxy that has no meaning "
                         "in the simulator");
  }
}

static LogicalResult decodeInitFence(Decoder &decoder, Operation *) {
  decoder.emit(fence<FenceEvent::Kind::MbarrierInit>).immediate = 1;
  return success();
}

/// Kernels run one after the other here, so that there is nothing to wait for,
/// but for what the checkers know. Nor is there anybody to be let in.
static LogicalResult decodeKernelOrder(Decoder &decoder, Operation *op) {
  if (cast<NVVM::GriddepcontrolOp>(op).getKind() ==
      NVVM::GridDepActionKind::wait)
    decoder.emit(fence<FenceEvent::Kind::Kernels>);
  return success();
}

/// What is asked for early is no other than what is there later.
static LogicalResult decodePrefetch(Decoder &, Operation *) {
  return success();
}

void tl::sim::addOrder(DecodeTable &table) {
  table["gpu.barrier"] = decodeBarrier;
  table["nvvm.bar.warp.sync"] = decodeWarpBarrier;
  table["nvvm.barrier"] = decodeNamedBarrier;
  table["nvvm.barrier.arrive"] = decodeBarrierArrival;
  table["nvvm.cluster.arrive"] = decodePlain<arriveAtCluster>;
  table["nvvm.cluster.wait"] = decodePlain<waitForCluster>;
  table["nvvm.fence.mbarrier.init"] = decodeInitFence;
  table["nvvm.fence.proxy"] = decodeProxyFence;
  table["nvvm.griddepcontrol"] = decodeKernelOrder;
  table["nvvm.prefetch"] = decodePrefetch;
  table["nvvm.mapa"] = decodeMapa;
  table["nvvm.mbarrier.arrive"] = decodeArrive;
  table["nvvm.mbarrier.arrive.expect_tx"] =
      decodePredicated<NVVM::MBarrierArriveExpectTxOp, arriveExpecting>;
  table["nvvm.mbarrier.init"] =
      decodePredicated<NVVM::MBarrierInitOp, initMbarrier>;
  table["nvvm.mbarrier.try_wait.parity"] = decodeMbarrier<waitForParity>;
}
