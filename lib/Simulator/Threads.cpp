//===- Threads.cpp - Which thread this is, and its neighbours -------------===//

#include "Elementwise.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tl/Dialect/TL/IR/Iterations.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Coordinate `bits` of the thread in its block.
static Step threadId(Warp &warp, const Instruction &i) {
  const std::array<uint32_t, 3> &extents = warp.block.program.block;
  uint32_t *result = warp.words(i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    uint32_t linear = warp.number * kLanes + lane;
    for (uint32_t dim = 0; dim < i.bits; ++dim)
      linear /= extents[dim];
    result[lane] = linear % extents[i.bits];
  }
  return Step::Next;
}

/// Coordinate `bits` of the block in the grid.
static Step blockId(Warp &warp, const Instruction &i) {
  std::fill_n(warp.words(i.result), kLanes, warp.block.position[i.bits]);
  return Step::Next;
}

/// Extent `bits` of the grid.
static Step gridDim(Warp &warp, const Instruction &i) {
  std::fill_n(warp.words(i.result), kLanes, warp.block.launch.grid[i.bits]);
  return Step::Next;
}

template <typename Op, Execute Position>
static LogicalResult decodePosition(Decoder &decoder, Operation *op) {
  Register result = decoder.define(op->getResult(0));
  Instruction &instruction = decoder.emit(Position);
  instruction.result = result;
  instruction.bits = static_cast<uint32_t>(cast<Op>(op).getDimension());
  return success();
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

/// The lane that `lane` reads from in a segment of `width` lanes, and whether
/// that is in the segment; if not, a lane reads its own (PTX ISA, "shfl.sync").
static std::pair<unsigned, bool> getSource(gpu::ShuffleMode mode, unsigned lane,
                                           uint32_t offset, uint32_t width) {
  unsigned begin = lane & ~(width - 1), end = begin + width;
  int64_t source = lane;
  switch (mode) {
  case gpu::ShuffleMode::XOR:
    // Segments of lower lanes can be read too, those of higher ones not.
    source = lane ^ (offset & (kLanes - 1));
    return source < end ? std::pair(unsigned(source), true)
                        : std::pair(lane, false);
  case gpu::ShuffleMode::UP:
    source = int64_t(lane) - (offset & (kLanes - 1));
    break;
  case gpu::ShuffleMode::DOWN:
    source = int64_t(lane) + (offset & (kLanes - 1));
    break;
  case gpu::ShuffleMode::IDX:
    source = begin | (offset & (width - 1));
    break;
  }
  if (source < begin || source >= end)
    return {lane, false};
  return {unsigned(source), true};
}

/// `count` rows of `a` by the offset `b` and the width `c`. The valid lanes go
/// to the row at `target`.
template <typename Word>
static Step shuffle(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  auto mode = static_cast<gpu::ShuffleMode>(i.bits);
  auto *a = getWords<const Word>(warp, i.a);
  const uint32_t *offset = warp.words(i.b), *width = warp.words(i.c);
  auto *result = getWords<Word>(warp, i.result);
  uint32_t *valid = warp.words(i.target);
  unsigned sources[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    auto [source, isValid] =
        getSource(mode, lane, offset[lane], std::max(width[lane], 1u));
    sources[lane] = source;
    valid[lane] = isValid;
  }
  for (uint32_t n = 0; n < i.count; ++n, a += kLanes, result += kLanes)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = a[sources[lane]];
  if (BlockObserver *observer = warp.block.getObserver())
    observer->onWarp(makeEvent<WarpEvent>(warp.getEvent(i)));
  return Step::Next;
}

static LogicalResult decodeShuffle(Decoder &decoder, Operation *op) {
  auto shuffleOp = cast<gpu::ShuffleOp>(op);
  Shape shape = Shape::get(shuffleOp.getValue());
  Register result = decoder.define(shuffleOp.getShuffleResult());
  Register valid = decoder.define(shuffleOp.getValid());
  Instruction &instruction =
      decoder.emit(shape.isWide() ? shuffle<uint64_t> : shuffle<uint32_t>);
  instruction.result = result;
  instruction.a = decoder.get(shuffleOp.getValue());
  instruction.b = decoder.get(shuffleOp.getOffset());
  instruction.c = decoder.get(shuffleOp.getWidth());
  instruction.count = shape.elements;
  instruction.bits = static_cast<uint32_t>(shuffleOp.getMode());
  instruction.target = valid;
  return success();
}

/// The lanes for which `a` holds, to all of them. Lanes that no thread is hold
/// nothing.
static Step ballot(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  const uint32_t *a = warp.words(i.a);
  uint32_t *result = warp.words(i.result);
  uint32_t votes = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    votes |= (a[lane] & warp.exists >> lane & 1) << lane;
  std::fill_n(result, kLanes, votes);
  if (BlockObserver *observer = warp.block.getObserver()) {
    auto event = makeEvent<WarpEvent>(warp.getEvent(i));
    event.kind = WarpEvent::Kind::Vote;
    observer->onWarp(event);
  }
  return Step::Next;
}

/// Passes make votes of whole warps, as bits, and no others.
static LogicalResult decodeVote(Decoder &decoder, Operation *op) {
  auto vote = cast<NVVM::VoteSyncOp>(op);
  APInt mask;
  if (vote.getKind() != NVVM::VoteSyncKind::ballot ||
      !matchPattern(vote.getMask(), m_ConstantInt(&mask)) || !mask.isAllOnes())
    return op->emitError("the simulator has no votes of this kind, or of some "
                         "lanes");
  Register result = decoder.define(vote.getRes());
  Instruction &instruction = decoder.emit(ballot);
  instruction.result = result;
  instruction.a = decoder.get(vote.getPred());
  return success();
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// Numbers of the instruction's own: extents, or registers of indices.
static llvm::ArrayRef<uint32_t> getNumbers(const Warp &warp,
                                           const Instruction &i) {
  return llvm::ArrayRef(warp.block.program.numbers).slice(i.immediate, i.count);
}

static Step beginIterations(Warp &warp, const Instruction &i) {
  if (BlockObserver *observer = warp.block.getObserver()) {
    auto event = makeEvent<IterationsEvent>(warp.getEvent(i));
    event.extents = getNumbers(warp, i);
    observer->onIterations(event);
  }
  return Step::Next;
}

static Step goToIterations(Warp &warp, const Instruction &i) {
  if (BlockObserver *observer = warp.block.getObserver()) {
    llvm::SmallVector<const uint32_t *, 4> rows;
    for (Register at : getNumbers(warp, i))
      rows.push_back(warp.words(at));
    auto event = makeEvent<IterationsEvent>(warp.getEvent(i));
    event.indices = rows;
    observer->onIterations(event);
  }
  return Step::Next;
}

/// `a` are registers of fragment `immediate`, which are written if `bits` is 1.
static Step touchFragment(Warp &warp, const Instruction &i) {
  if (BlockObserver *observer = warp.block.getObserver()) {
    auto event = makeEvent<FragmentEvent>(warp.getEvent(i));
    event.fragment = i.immediate;
    event.isWrite = i.bits;
    event.registers = warp.words(i.a);
    observer->onFragment(event);
  }
  return Step::Next;
}

static void emitWithNumbers(Decoder &decoder, Execute execute,
                            llvm::ArrayRef<uint32_t> numbers) {
  std::vector<uint32_t> &table = decoder.program.numbers;
  Instruction &instruction = decoder.emit(execute);
  instruction.immediate = table.size();
  instruction.count = numbers.size();
  llvm::append_range(table, numbers);
}

static LogicalResult decodeBegin(Decoder &decoder, Operation *op) {
  llvm::SmallVector<uint32_t> extents;
  llvm::append_range(extents, cast<tl::BeginIterationsOp>(op).getExtents());
  emitWithNumbers(decoder, beginIterations, extents);
  ++decoder.loops;
  return success();
}

static LogicalResult decodeGo(Decoder &decoder, Operation *op) {
  emitWithNumbers(decoder, goToIterations,
                  llvm::map_to_vector(op->getOperands(), [&](Value index) {
                    return decoder.get(index);
                  }));
  return success();
}

static LogicalResult decodeTouch(Decoder &decoder, Operation *op) {
  auto touch = cast<tl::TouchFragmentOp>(op);
  decoder.program.namesOfFragments[touch.getNumber()] = touch.getName();
  Instruction &instruction = decoder.emit(touchFragment);
  instruction.a = decoder.get(touch.getPosition());
  instruction.bits = touch.getWrite();
  instruction.immediate = touch.getNumber();
  return success();
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// The immediate says how many each thread is to have, `bits` whether that is
/// more than it has, or less.
static Step setRegisters(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  uint32_t count = i.immediate;
  if (i.bits ? count < warp.owned : count > warp.owned)
    return warp.fail(Report::Kind::Unsupported, i,
                     llvm::formatv("a thread has {0} registers, and is to get "
                                   "{1} by an instruction that only {2}",
                                   warp.owned, count,
                                   i.bits ? "adds some" : "takes some away")
                         .str(),
                     "changes them");
  if (auto instead = warp.block.warpGroups.arrive(warp.getEvent(i), {}))
    return warp.failApart(i, *instead);
  return warp.block.setRegisters(warp, i, count);
}

static LogicalResult decodeSetRegisters(Decoder &decoder, Operation *op) {
  auto set = cast<NVVM::SetMaxRegisterOp>(op);
  Instruction &instruction = decoder.emit(setRegisters);
  instruction.immediate = set.getRegCount();
  instruction.bits = set.getAction() == NVVM::SetMaxRegisterAction::increase;
  return success();
}

void tl::sim::addThreads(DecodeTable &table) {
  table["gpu.block_id"] = decodePosition<gpu::BlockIdOp, blockId>;
  table["gpu.grid_dim"] = decodePosition<gpu::GridDimOp, gridDim>;
  table["gpu.shuffle"] = decodeShuffle;
  table["nvvm.vote.sync"] = decodeVote;
  table["gpu.thread_id"] = decodePosition<gpu::ThreadIdOp, threadId>;
  table["nvvm.setmaxregister"] = decodeSetRegisters;
  table["tl.at_iterations"] = decodeGo;
  table["tl.begin_iterations"] = decodeBegin;
  table["tl.touch_fragment"] = decodeTouch;
}
