//===- Control.cpp - Branches, loops and moves between them ---------------===//
//
// All lanes of a warp go through the program together. A branch whose condition
// differs between them is executed on both sides, each with the lanes that take
// it; a loop until its last lane has left. The stack of a warp holds the masks
// of the regions around:
//
//   if c                        for i in lb..ub step s
//     branch  c -> else         enter          push the lanes
//     ...                     head:
//     other   -> end            test   i < ub -> out   lanes that stay
//   else:                       ...
//     ...                       yields, i += s
//   end:                        jump head
//     leave                   out:
//                               leave
//
// `branch` pushes the lanes, and those for the other side, if there is one.
// Values that come out of a region are moved by the lanes that come out there.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Warp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Dialect/TL/IR/TL.h"

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

/// Lanes of which the word is not zero.
static LaneMask getTrueLanes(const uint32_t *words) {
  LaneMask mask = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    mask |= LaneMask(words[lane] & 1) << lane;
  return mask;
}

static Step jump(Warp &warp, const Instruction &instruction) {
  warp.position = instruction.target;
  return Step::Jumped;
}

/// Jumps if no lane is left.
static Step jumpIfEmpty(Warp &warp, const Instruction &instruction) {
  return warp.lanes ? Step::Next : jump(warp, instruction);
}

/// The lanes of `a` go on. An `if` without another side has `bits` of 0.
static Step branch(Warp &warp, const Instruction &instruction) {
  LaneMask taken = getTrueLanes(warp.words(instruction.a)) & warp.lanes;
  warp.masks.push_back(warp.lanes);
  if (instruction.bits)
    warp.masks.push_back(warp.lanes & ~taken);
  warp.lanes = taken;
  return jumpIfEmpty(warp, instruction);
}

/// The other side begins.
static Step other(Warp &warp, const Instruction &instruction) {
  warp.lanes = warp.masks.pop_back_val();
  return jumpIfEmpty(warp, instruction);
}

static Step enter(Warp &warp, const Instruction &) {
  warp.masks.push_back(warp.lanes);
  return Step::Next;
}

static Step leave(Warp &warp, const Instruction &) {
  warp.lanes = warp.masks.pop_back_val();
  return Step::Next;
}

/// Lanes of which counter `a` is below bound `b` stay in the loop.
template <typename Word>
static Step test(Warp &warp, const Instruction &i) {
  auto *counter = reinterpret_cast<const Word *>(warp.words(i.a));
  auto *bound = reinterpret_cast<const Word *>(warp.words(i.b));
  LaneMask mask = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    mask |= LaneMask(counter[lane] < bound[lane]) << lane;
  warp.lanes &= mask;
  return jumpIfEmpty(warp, i);
}

/// The lanes of `a` stay in a `while` loop.
static Step stay(Warp &warp, const Instruction &instruction) {
  warp.lanes &= getTrueLanes(warp.words(instruction.a));
  return jumpIfEmpty(warp, instruction);
}

/// A round of loop number `bits` begins, by lanes whose state is in the
/// registers of the table at `immediate`. If it is what it was a round ago and
/// nothing has changed since then, this round will end the same way.
static Step beginRound(Warp &warp, const Instruction &i) {
  Group &group = warp.block.group;
  Round &round = warp.rounds[i.bits];
  const uint32_t *table = &warp.block.program.numbers[i.immediate];
  bool isSame = round.hasBegun && round.changes == group.changes &&
                round.lanes == warp.lanes;
  size_t at = 0;
  for (uint32_t n = 0; n < i.count; ++n, table += 2) {
    const uint32_t *words = warp.words(table[0]);
    uint32_t *before = round.carried.data() + at;
    isSame = isSame && std::equal(words, words + table[1], before);
    std::copy_n(words, table[1], before);
    at += table[1];
  }
  if (isSame) {
    warp.idleSince = round.turn;
    warp.idleChanges = group.changes;
  }
  round.hasBegun = true;
  round.lanes = warp.lanes;
  round.changes = group.changes;
  round.turn = group.turns;
  return Step::Next;
}

/// The warp comes to loop number `bits`, which carries `count` words.
static Step enterOpen(Warp &warp, const Instruction &i) {
  warp.rounds.resize(warp.block.program.openLoops);
  warp.rounds[i.bits].hasBegun = false;
  warp.rounds[i.bits].carried.resize(i.count);
  return enter(warp, i);
}

static Step end(Warp &warp, const Instruction &) {
  if (auto read = warp.block.async.findUnheld(warp))
    return warp.failUnheld(*read);
  return Step::Ended;
}

/// The `wgmma` that may still write what is copied, or what is copied to.
static std::optional<InstructionId> findWriter(Warp &warp,
                                               const Instruction &i) {
  for (Register at : {i.a, i.result})
    if (std::optional<InstructionId> writer =
            warp.block.async.findWriter(warp, warp.words(at)))
      return writer;
  return std::nullopt;
}

/// Copies `count` words.
static Step moveAll(Warp &warp, const Instruction &i) {
  if (std::optional<InstructionId> writer = findWriter(warp, i))
    return warp.failInFlight(i, *writer);
  std::copy_n(warp.words(i.a), i.count, warp.words(i.result));
  return Step::Next;
}

/// Copies the words of the active lanes, of `count` rows.
template <typename Word>
static Step moveActive(Warp &warp, const Instruction &i) {
  if (std::optional<InstructionId> writer = findWriter(warp, i))
    return warp.failInFlight(i, *writer);
  auto *from = reinterpret_cast<const Word *>(warp.words(i.a));
  auto *to = reinterpret_cast<Word *>(warp.words(i.result));
  if (warp.lanes == kAllLanes) {
    std::copy_n(from, size_t(i.count) * kLanes, to);
    return Step::Next;
  }
  Word keep[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    keep[lane] = warp.lanes & LaneMask(1) << lane ? 0 : ~Word(0);
  for (uint32_t row = 0; row < i.count; ++row, from += kLanes, to += kLanes)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      to[lane] = (to[lane] & keep[lane]) | (from[lane] & ~keep[lane]);
  return Step::Next;
}

template <typename Word>
static Step add(Warp &warp, const Instruction &i) {
  auto *a = reinterpret_cast<const Word *>(warp.words(i.a));
  auto *b = reinterpret_cast<const Word *>(warp.words(i.b));
  auto *result = reinterpret_cast<Word *>(warp.words(i.result));
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = a[lane] + b[lane];
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

void Decoder::emitMove(Register to, Register from, Shape shape, bool isMasked) {
  if (to == from)
    return;
  if (!isMasked) {
    Instruction &move = emit(moveAll);
    move.result = to;
    move.a = from;
    move.count = shape.words();
    return;
  }
  Instruction &move =
      emit(shape.isWide() ? moveActive<uint64_t> : moveActive<uint32_t>);
  move.result = to;
  move.a = from;
  move.count = shape.elements;
}

void Decoder::emitMoves(ArrayRef<Register> to, ValueRange from) {
  // What is overwritten before it is read goes aside first.
  SmallVector<Register> sources;
  SmallVector<std::pair<Register, uint32_t>> aside;
  for (auto [i, value] : llvm::enumerate(from)) {
    Register source = get(value);
    Shape shape = Shape::get(value);
    if (llvm::is_contained(to.take_front(i), source) && source != to[i]) {
      Register copy = allocate(shape.words());
      aside.emplace_back(copy, shape.words());
      emitMove(copy, source, shape, /*isMasked=*/false);
      source = copy;
    }
    sources.push_back(source);
  }
  for (auto [target, source, value] : llvm::zip_equal(to, sources, from))
    emitMove(target, source, Shape::get(value), /*isMasked=*/true);
  for (auto [copy, words] : aside)
    release(copy, words);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Defines values, and returns where.
static SmallVector<Register> defineAll(Decoder &decoder, ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return decoder.define(value); });
}

static LogicalResult decodeIf(Decoder &decoder, Operation *op) {
  auto branchOp = cast<scf::IfOp>(op);
  SmallVector<Register> results = defineAll(decoder, branchOp.getResults());
  bool hasElse = !branchOp.getElseRegion().empty();
  InstructionId begin = decoder.next();
  Instruction &first = decoder.emit(branch);
  first.a = decoder.get(branchOp.getCondition());
  first.bits = hasElse;
  if (failed(decoder.decodeRegion(branchOp.getThenRegion(), results)))
    return failure();
  decoder.setTarget(begin, decoder.next());
  if (hasElse) {
    InstructionId middle = decoder.next();
    decoder.emit(other);
    if (failed(decoder.decodeRegion(branchOp.getElseRegion(), results)))
      return failure();
    decoder.setTarget(middle, decoder.next());
  }
  decoder.emit(leave);
  return success();
}

static LogicalResult decodeFor(Decoder &decoder, Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  Shape shape = Shape::get(loop.getInductionVar());
  if (shape.bits != 32 && shape.bits != 64)
    return op->emitError("`scf.for` counts in a type that the simulator does "
                         "not count in");
  bool isWide = shape.isWide(), isUnsigned = loop.getUnsignedCmp();
  // Initial values go straight to where the loop carries them.
  SmallVector<Register> carried;
  for (auto [result, argument, initial] : llvm::zip_equal(
           loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs())) {
    carried.push_back(decoder.define(result));
    decoder.defineAs(argument, carried.back());
    decoder.emitMove(carried.back(), decoder.get(initial), Shape::get(initial),
                     /*isMasked=*/false);
  }
  Register counter = decoder.allocate(shape.words());
  decoder.defineAs(loop.getInductionVar(), counter);
  decoder.emitMove(counter, decoder.get(loop.getLowerBound()), shape,
                   /*isMasked=*/false);
  decoder.emit(enter);

  InstructionId head = decoder.next();
  Instruction &first =
      decoder.emit(isWide ? (isUnsigned ? test<uint64_t> : test<int64_t>)
                          : (isUnsigned ? test<uint32_t> : test<int32_t>));
  first.a = counter;
  first.b = decoder.get(loop.getUpperBound());
  if (failed(decoder.decodeRegion(loop.getRegion(), carried)))
    return failure();
  Instruction &step = decoder.emit(isWide ? add<uint64_t> : add<uint32_t>);
  step.result = step.a = counter;
  step.b = decoder.get(loop.getStep());
  decoder.emit(jump).target = head;
  decoder.setTarget(head, decoder.next());
  decoder.emit(leave);
  decoder.release(counter, shape.words());
  return success();
}

static LogicalResult decodeWhile(Decoder &decoder, Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  SmallVector<Register> before;
  for (auto [argument, initial] :
       llvm::zip_equal(loop.getBeforeArguments(), loop.getInits())) {
    Shape shape = Shape::get(initial);
    std::optional<Register> accumulator = decoder.getAccumulator(argument);
    before.push_back(accumulator ? *accumulator
                                 : decoder.allocate(shape.words()));
    decoder.defineAs(argument, before.back());
    decoder.emitMove(before.back(), decoder.get(initial), shape,
                     /*isMasked=*/false);
  }
  // What the condition passes on is the result for the lanes that leave.
  SmallVector<Register> passed = defineAll(decoder, loop.getResults());
  for (auto [argument, at] : llvm::zip_equal(loop.getAfterArguments(), passed))
    decoder.defineAs(argument, at);
  uint32_t number = decoder.program.openLoops++;
  loop.walk([&](tl::AtomOp atom) {
    decoder.program.mayWaitForBlocks |=
        atom.getScope() != tl::MemoryScope::Block;
  });
  uint64_t table = decoder.program.numbers.size();
  uint32_t words = 0;
  for (auto [at, argument] :
       llvm::zip_equal(before, loop.getBeforeArguments())) {
    words += Shape::get(argument).words();
    decoder.program.numbers.push_back(at);
    decoder.program.numbers.push_back(Shape::get(argument).words());
  }
  Instruction &first = decoder.emit(enterOpen);
  first.bits = number;
  first.count = words;

  InstructionId head = decoder.next();
  Instruction &round = decoder.emit(beginRound);
  round.bits = number;
  round.count = before.size();
  round.immediate = table;
  scf::ConditionOp condition = loop.getConditionOp();
  Register decides = decoder.allocate(kLanes);
  if (failed(decoder.decodeRegion(loop.getBefore(), passed, [&] {
        decoder.emitMove(decides, decoder.get(condition.getCondition()),
                         Shape(), /*isMasked=*/false);
      })))
    return failure();
  InstructionId decision = decoder.next();
  decoder.emit(stay).a = decides;
  if (failed(decoder.decodeRegion(loop.getAfter(), before)))
    return failure();
  decoder.emit(jump).target = head;
  decoder.setTarget(decision, decoder.next());
  decoder.emit(leave);
  decoder.release(decides, kLanes);
  for (auto [at, argument] : llvm::zip_equal(before, loop.getBeforeArguments()))
    if (!decoder.getAccumulator(argument))
      decoder.release(at, Shape::get(argument).words());
  return success();
}

/// Those that decode the op around have decoded it.
static LogicalResult decodeTerminator(Decoder &, Operation *) {
  llvm_unreachable("terminators are decoded with the op around");
}

static LogicalResult decodeReturn(Decoder &decoder, Operation *) {
  decoder.emit(end);
  return success();
}

void tl::sim::addControl(DecodeTable &table) {
  table["gpu.return"] = decodeReturn;
  table["scf.condition"] = decodeTerminator;
  table["scf.for"] = decodeFor;
  table["scf.if"] = decodeIf;
  table["scf.while"] = decodeWhile;
  table["scf.yield"] = decodeTerminator;
}
