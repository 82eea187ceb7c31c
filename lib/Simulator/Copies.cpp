//===- Copies.cpp - Asynchronous copies and their groups ------------------===//

#include "Elementwise.h"
#include "FloatFormats.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tl::sim;

/// An operation of the active lanes, or of one of them.
static AsyncOperation begin(Warp &warp, const Instruction &i, AsyncKind kind,
                            LaneMask lanes) {
  AsyncOperation operation;
  operation.kind = kind;
  operation.issue = warp.getEvent(i);
  operation.issue.lanes = lanes;
  return operation;
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

/// `count` bytes from `b` to `a`, of which `c` says how many are read, if
/// `bits` is 1.
static Step copyAsyncOp(Warp &warp, const Instruction &i) {
  if (!warp.lanes)
    return Step::Next;
  AsyncOperation operation = begin(warp, i, AsyncKind::CopyAsync, warp.lanes);
  operation.uncommitted = warp.lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    AsyncOperation::Part &part = operation.parts.emplace_back();
    part.lane = lane;
    uint32_t read = i.bits ? warp.words(i.c)[lane] : i.count;
    std::optional<Fault> fault = copyAsync(
        warp.block.shared, warp.block.global, warp.words(i.a)[lane],
        getWords<const uint64_t>(warp, i.b)[lane], i.count, read, part.copy);
    if (fault) {
      fault->lane = lane;
      return warp.fail(*fault, i);
    }
  }
  warp.block.async.issue(std::move(operation));
  return Step::Next;
}

static LogicalResult decodeCopyAsync(Decoder &decoder, Operation *op) {
  auto copy = cast<NVVM::CpAsyncOp>(op);
  Instruction &instruction = decoder.emit(copyAsyncOp);
  instruction.a = decoder.get(copy.getDst());
  instruction.b = decoder.get(copy.getSrc());
  instruction.count = copy.getSize();
  if (Value size = copy.getCpSize()) {
    instruction.c = decoder.get(size);
    instruction.bits = 1;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Bulk copies of tensors
//===----------------------------------------------------------------------===//

/// The coordinates of a lane, whose registers are in a table of the program.
static SmallVector<int32_t, 5> getCoordinates(Warp &warp, const Instruction &i,
                                              unsigned lane) {
  const uint32_t *at = warp.block.program.numbers.data() + i.immediate;
  SmallVector<int32_t, 5> coordinates;
  for (uint32_t dim = 0; dim < i.count; ++dim)
    coordinates.push_back(warp.words(at[dim])[lane]);
  return coordinates;
}

/// Adds words one by one. Other blocks may be on other threads of the host.
template <typename Word, Word (*Add)(Word, Word)>
static void addWords(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(Word)) {
    auto *word = reinterpret_cast<Word *>(to + at);
    Word value;
    std::memcpy(&value, from + at, sizeof(Word));
    Word old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(word, &old, Add(old, value),
                                        /*weak=*/false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
    }
  }
}

static uint32_t addIntegers(uint32_t a, uint32_t b) { return a + b; }

template <typename Format, typename Word>
static Word addFloats(Word a, Word b) {
  return Word(Format::encode(Format::decode(a) + Format::decode(b)));
}

/// How a store adds to elements of a tensor, or null if it cannot.
static decltype(AsyncOperation::add) getAddition(TensorMap::Addend addend) {
  switch (addend) {
  case TensorMap::Addend::I32:
    return addWords<uint32_t, addIntegers>;
  case TensorMap::Addend::F16:
    return addWords<uint16_t, addFloats<F16Format, uint16_t>>;
  case TensorMap::Addend::BF16:
    return addWords<uint16_t, addFloats<BF16Format, uint16_t>>;
  case TensorMap::Addend::F32:
    return addWords<uint32_t, addFloats<F32Format, uint32_t>>;
  case TensorMap::Addend::None:
    break;
  }
  return nullptr;
}

/// An operation of `kind` that one lane issues.
static AsyncOperation beginCopy(Warp &warp, const Instruction &i,
                                AsyncKind kind, unsigned lane,
                                ArrayRef<CopyPart> parts) {
  AsyncOperation operation = begin(warp, i, kind, LaneMask(1) << lane);
  for (const CopyPart &copy : parts) {
    AsyncOperation::Part &part = operation.parts.emplace_back();
    part.copy = copy;
    part.lane = lane;
  }
  return operation;
}

/// Has parts of a load written to shared memory of a block, and complete at the
/// mbarrier `c`.
static bool issueLoad(Warp &warp, const Instruction &i, unsigned lane,
                      tl::sim::Block &block, ArrayRef<CopyPart> parts) {
  AsyncOperation operation =
      beginCopy(warp, i, AsyncKind::TensorLoad, lane, parts);
  operation.mbarrier = warp.words(i.c)[lane];
  if (!block.findMbarrier(operation.mbarrier)) {
    (void)warp.fail(Report::Kind::Barrier, i,
                    "there is no mbarrier where the program has " +
                        block.getElements().describeMbarrier(
                            warp.getEvent(i).instruction, operation.mbarrier),
                    "is to complete at it", lane);
    return false;
  }
  block.async.issue(std::move(operation));
  return true;
}

/// To the blocks of the cluster that the mask in the register `result` has.
static bool issueMulticast(Warp &warp, const Instruction &i, unsigned lane,
                           ArrayRef<CopyPart> parts) {
  uint32_t mask = warp.words(i.result)[lane] & 0xFFFF;
  for (; mask; mask &= mask - 1) {
    uint32_t to = (llvm::countr_zero(mask) + 1u) << kClusterShift;
    tl::sim::Block *block = warp.block.findBlock(warp, i, lane, to);
    if (!block || !issueLoad(warp, i, lane, *block, parts))
      return false;
  }
  return true;
}

/// The part of the tensor map `a` at `count` coordinates, to or from `b`. A
/// load completes at the mbarrier `c`. If `bits` is 1, a load is one to several
/// blocks, and a store adds. Each active lane does one.
template <AsyncKind Kind>
static Step copyTensor(Warp &warp, const Instruction &i) {
  constexpr bool isLoad = Kind == AsyncKind::TensorLoad;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    const auto &map = *reinterpret_cast<const TensorMap *>(
        getWords<const uint64_t>(warp, i.a)[lane]);
    uint32_t shared = warp.words(i.b)[lane];
    SmallVector<CopyPart> parts;
    auto plan = isLoad ? tensorLoad : tensorStore;
    std::optional<Fault> fault =
        plan(warp.block.shared, warp.block.global, map,
             getCoordinates(warp, i, lane), shared, parts);
    if (fault) {
      fault->lane = lane;
      return warp.fail(*fault, i);
    }
    if (isLoad) {
      if (!(i.bits ? issueMulticast(warp, i, lane, parts)
                   : issueLoad(warp, i, lane, warp.block, parts)))
        return Step::Failed;
      continue;
    }
    AsyncOperation operation = beginCopy(warp, i, Kind, lane, parts);
    operation.uncommitted = LaneMask(1) << lane;
    if (i.bits) {
      operation.add = getAddition(map.addend);
      if (!operation.add)
        return warp.fail(Report::Kind::Unsupported, i,
                         "the engine adds to elements of int32, uint32, "
                         "float16, bfloat16 and float32 only",
                         "is to add to others", lane);
    }
    // All of a store may be outside of the tensor.
    if (!operation.isDone())
      warp.block.async.issue(std::move(operation));
  }
  return Step::Next;
}

static Instruction &emitTensorCopy(Decoder &decoder, Execute execute, Value map,
                                   Value shared, ValueRange coordinates,
                                   Value mbarrier) {
  std::vector<uint32_t> &numbers = decoder.program.numbers;
  Instruction &instruction = decoder.emit(execute);
  instruction.a = decoder.get(map);
  instruction.b = decoder.get(shared);
  if (mbarrier)
    instruction.c = decoder.get(mbarrier);
  instruction.count = coordinates.size();
  instruction.immediate = numbers.size();
  for (Value coordinate : coordinates)
    numbers.push_back(decoder.get(coordinate));
  return instruction;
}

static LogicalResult decodeTensorLoad(Decoder &decoder, Operation *op) {
  auto load = cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op);
  if (!load.getIm2colOffsets().empty() || load.getPredicate())
    return op->emitError("`")
           << op->getName()
           << "` has a form (im2col or predicated) that has no meaning in the "
              "simulator";
  Instruction &instruction = emitTensorCopy(
      decoder, copyTensor<AsyncKind::TensorLoad>, load.getTmaDescriptor(),
      load.getDstMem(), load.getCoordinates(), load.getMbar());
  if (Value mask = load.getMulticastMask()) {
    instruction.result = decoder.get(mask);
    instruction.bits = 1;
  }
  return success();
}

static LogicalResult decodeTensorStore(Decoder &decoder, Operation *op) {
  auto store = cast<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(op);
  if (store.getPredicate())
    return op->emitError("`")
           << op->getName()
           << "` has a predicate, which has no meaning in the simulator";
  emitTensorCopy(decoder, copyTensor<AsyncKind::TensorStore>,
                 store.getTmaDescriptor(), store.getSrcMem(),
                 store.getCoordinates(), nullptr);
  return success();
}

static LogicalResult decodeTensorSum(Decoder &decoder, Operation *op) {
  auto sum = cast<NVVM::CpAsyncBulkTensorReduceOp>(op);
  if (sum.getRedKind() != NVVM::TMAReduxKind::ADD ||
      sum.getMode() != NVVM::TMAStoreMode::TILE)
    return op->emitError("`")
           << op->getName()
           << "` has a form (im2col, or not a sum) that has no meaning in the "
              "simulator";
  emitTensorCopy(decoder, copyTensor<AsyncKind::TensorStore>,
                 sum.getTmaDescriptor(), sum.getSrcMem(), sum.getCoordinates(),
                 nullptr)
      .bits = 1;
  return success();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

template <AsyncKind Kind>
static Step commit(Warp &warp, const Instruction &i) {
  warp.block.async.commit(warp, Kind, warp.getEvent(i).instruction);
  return Step::Next;
}

/// Until at most `count` groups are under way. `bits` of 1: their reads.
template <AsyncKind Kind>
static Step waitGroups(Warp &warp, const Instruction &i) {
  warp.block.async.wait(warp, Kind, i.count, i.bits,
                        warp.getEvent(i).instruction);
  return Step::Next;
}

template <AsyncKind Kind>
static LogicalResult decodeCommit(Decoder &decoder, Operation *) {
  decoder.emit(commit<Kind>);
  return success();
}

static LogicalResult decodeWait(Decoder &decoder, Operation *op) {
  decoder.emit(waitGroups<AsyncKind::CopyAsync>).count =
      cast<NVVM::CpAsyncWaitGroupOp>(op).getN();
  return success();
}

static LogicalResult decodeBulkWait(Decoder &decoder, Operation *op) {
  auto wait = cast<NVVM::CpAsyncBulkWaitGroupOp>(op);
  Instruction &instruction = decoder.emit(waitGroups<AsyncKind::TensorStore>);
  instruction.count = wait.getGroup();
  instruction.bits = wait.getRead().has_value();
  return success();
}

void tl::sim::addCopies(DecodeTable &table) {
  table["nvvm.cp.async.bulk.commit.group"] =
      decodeCommit<AsyncKind::TensorStore>;
  table["nvvm.cp.async.bulk.tensor.global.shared.cta"] = decodeTensorStore;
  table["nvvm.cp.async.bulk.tensor.reduce"] = decodeTensorSum;
  table["nvvm.cp.async.bulk.tensor.shared.cluster.global"] = decodeTensorLoad;
  table["nvvm.cp.async.bulk.wait_group"] = decodeBulkWait;
  table["nvvm.cp.async.commit.group"] = decodeCommit<AsyncKind::CopyAsync>;
  table["nvvm.cp.async.shared.global"] = decodeCopyAsync;
  table["nvvm.cp.async.wait.group"] = decodeWait;
}
