//===- AddChecks.cpp - Report what has no meaning -------------------------===//
//
// Makes a checked program of a program: one that means the same, and notes in a
// record where it divides an integer by zero, touches an element outside of a
// buffer, reads an on-chip element that nothing has written, or copies parts
// whose lengths do not fit.
//
// It works on the program as the user wrote it and adds statements that a user
// could have written, so that all targets and generators carry them out, and
// threads, layouts and barriers are seen to by the passes that see to all
// others. What is wrong is reported and then goes on harmlessly: an on-chip
// read out of bounds takes the element at zero, a write is dropped; device
// memory and divisions have their meaning anyway (docs/language/semantics.md,
// M1, I3). A tile that a copy takes from or to device memory may leave the
// tensor (M1), also one that a loop marked `tl.copied` copies; its other side
// may not. So may the elements of a `tl.parallel` that begin inside of the
// tensor, at a multiple of how many they are: that is a tile, too.
//
// Requires what `tl-verify-kernels` and `tl-verify-statements` check. What can
// be seen to be right is not asked: indices by an analysis of ranges, contents
// by dominance (Shadows.cpp).
//
//===----------------------------------------------------------------------===//

#include "CheckRecord.h"
#include "Shadows.h"

#include "tl/Dialect/TL/Analysis/IndexRanges.h"
#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/ScalarLoops.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tl {
#define GEN_PASS_DEF_ADDCHECKSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// What can be seen
//===----------------------------------------------------------------------===//

/// The divisor of an integer division, or null. The front end divides by one
/// where the divisor is zero, which is not what the user wrote.
static Value getDivisor(Operation *op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return {};
  Value divisor = op->getOperand(1);
  if (!divisor.getType().isIntOrIndex())
    return {};
  Operation *guard = divisor.getDefiningOp();
  if (!guard || guard->getLoc() != op->getLoc())
    return divisor;
  if (auto select = dyn_cast<arith::SelectOp>(guard);
      select && isConstantIntValue(select.getTrueValue(), 1))
    return select.getFalseValue();
  if (auto most = dyn_cast<arith::MaxUIOp>(guard);
      most && isConstantIntValue(most.getRhs(), 1))
    return most.getLhs();
  return divisor;
}

/// True if no value that `divisor` can have is zero.
static bool isNeverZero(const IndexRanges &ranges, Value divisor) {
  std::optional<ConstantIntRanges> range = ranges.get(divisor);
  return range && (range->umin().ugt(0) || range->smin().sgt(0) ||
                   range->smax().isNegative());
}

/// True if no length that `cut` can have is one to report.
static bool isSeenToFit(const IndexRanges &ranges, CutOp cut) {
  std::optional<ConstantIntRanges> length = ranges.get(cut.getLength());
  std::optional<ConstantIntRanges> extent = ranges.get(cut.getExtent());
  if (cut.getKind() == Cut::Equal || !length || !extent)
    return false;
  return !length->smax().isStrictlyPositive() ||
         length->smax().sle(extent->smin());
}

/// What an index was before it was narrowed: the front end puts the least `i32`
/// in the place of what does not fit.
static Value getExactIndex(Value index) {
  Operation *cast = index.getDefiningOp();
  if (!isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(cast))
    return index;
  auto fits = cast->getOperand(0).getDefiningOp<arith::SelectOp>();
  if (!fits || !matchPattern(fits.getFalseValue(), m_Constant()))
    return index;
  auto narrow = fits.getTrueValue().getDefiningOp<arith::TruncIOp>();
  return narrow && narrow.getIn().getType().isInteger(64) ? narrow.getIn()
                                                          : index;
}

//===----------------------------------------------------------------------===//
// Checks of a kernel
//===----------------------------------------------------------------------===//

namespace {
/// What is asked of one op. All of it is decided before anything changes.
struct Question {
  Operation *op;
  Runner runner;
  /// The dimensions in which the element, or the tile, may be outside of the
  /// first and of the second buffer that the op names.
  SmallVector<unsigned> source, target;
};

/// Bounds at run time.
struct Bounds {
  /// Whether any index is outside; null if none can be.
  Value isOutside;
  /// For each dimension asked whether its index is outside.
  SmallVector<Value> each;
  Value code, index, extent;
};

class KernelChecks {
public:
  KernelChecks(KernelOp kernel, const IndexRanges &ranges, CheckRecord &record)
      : kernel(kernel), ranges(ranges), record(record), shadows(kernel),
        dependence(kernel.getBody()) {}

  void run(int64_t sharedLimit) {
    SmallVector<Question> questions;
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (std::optional<Question> question = examine(op))
        questions.push_back(*question);
    });
    shadows.create(sharedLimit);
    for (Question &question : questions)
      answer(question);
  }

private:
  std::optional<Question> examine(Operation *op);
  void answer(Question &question);

  void answerLoad(LoadOp load, const Question &question);
  void answerStore(StoreOp store, const Question &question);
  void answerAtomic(AtomicOp atomic, const Question &question);
  void answerCopy(CopyOp copy, const Question &question);
  void answerSlot(SlotOp slot, const Question &question);
  void answerCut(CutOp cut, const Question &question);
  void answerDivision(Operation *op, const Question &question);

  Bounds emitBounds(OpBuilder &builder, Location loc, Value buffer,
                    ValueRange indices, ArrayRef<int64_t> tile,
                    ArrayRef<unsigned> unproven, ParallelOp ragged = {});
  void reportBounds(OpBuilder &builder, const Question &question,
                    StringRef access, Value buffer, const Bounds &bounds);
  Value moveInto(Operation *op, const Bounds &bounds);

  void emitBox(OpBuilder &builder, const Question &question, Value buffer,
               ArrayRef<int64_t> tile,
               function_ref<void(OpBuilder &, ValueRange)> body);
  void askTile(OpBuilder &builder, const Question &question, Value view,
               ArrayRef<int64_t> place = {}, ArrayRef<int64_t> shape = {});
  void noteTile(OpBuilder &builder, const Question &question, Value view,
                ValueRange offsets, ArrayRef<int64_t> tile);
  Finding makeUninitialized(OpBuilder &builder, Location loc, Value view,
                            Value shadow, ValueRange indices);

  KernelOp kernel;
  const IndexRanges &ranges;
  CheckRecord &record;
  Shadows shadows;
  ThreadDependence dependence;
};
} // namespace

static MemRefType getType(Value buffer) {
  return cast<MemRefType>(buffer.getType());
}

static bool isOnChip(Value buffer) { return !isInSpace(buffer, Space::Global); }

static Value getConstant(OpBuilder &builder, Location loc, int64_t value,
                         unsigned width) {
  return arith::ConstantIntOp::create(builder, loc, value, width);
}

static Value toWide(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
}

/// True for what prints are made of, which is as it should be.
static bool writesRecord(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return isRecord(store.getTarget());
  auto atomic = dyn_cast<AtomicOp>(op);
  return atomic && isRecord(atomic.getTarget());
}

/// True if `access` is of a loop that copies a tile element by element, which
/// the front end marks.
static bool isOfCopy(Operation *access) {
  for (Operation *parent = access->getParentOp(); !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    if (parent->hasAttr(kCopiedAttr))
      return true;
  return false;
}

std::optional<Question> KernelChecks::examine(Operation *op) {
  Question question{op, getRunner(op, kernel, dependence), {}, {}};
  auto unproven = [&](Value buffer, ValueRange offsets,
                      ArrayRef<int64_t> tile) {
    // What leaves a tensor is what a ragged tile is made of.
    if (!isOnChip(buffer) && isOfCopy(op))
      return SmallVector<unsigned>();
    return ranges.getUnproven(offsets, getType(buffer).getShape(), tile);
  };
  if (writesRecord(op))
    return std::nullopt;
  if (auto load = dyn_cast<LoadOp>(op)) {
    question.source = unproven(load.getSource(), load.getIndices(), {});
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    question.target = unproven(store.getTarget(), store.getIndices(), {});
  } else if (auto atomic = dyn_cast<AtomicOp>(op)) {
    question.target = unproven(atomic.getTarget(), atomic.getIndices(), {});
  } else if (auto slot = dyn_cast<SlotOp>(op)) {
    question.source = ranges.getUnproven(
        slot.getIndex(), getType(slot.getSource()).getShape().take_front(), {});
    if (question.source.empty())
      return std::nullopt;
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    // What leaves a tensor is what a ragged tile is made of.
    if (isOnChip(copy.getSource()))
      question.source = unproven(copy.getSource(), copy.getSourceOffsets(),
                                 getSourceTile(copy));
    if (isOnChip(copy.getTarget()))
      question.target = unproven(copy.getTarget(), copy.getTargetOffsets(),
                                 getTargetTile(copy));
  } else if (auto cut = dyn_cast<CutOp>(op)) {
    if (isSeenToFit(ranges, cut))
      return std::nullopt; // it has no use, and goes as such ops do
  } else if (Value divisor = getDivisor(op)) {
    if (isNeverZero(ranges, divisor))
      return std::nullopt;
  } else if (!isa<FillOp, GemmOp, ReduceOp, ScanOp, ShuffleOp, VoteOp>(op)) {
    return std::nullopt;
  }
  return question;
}

void KernelChecks::answer(Question &question) {
  Operation *op = question.op;
  OpBuilder before(op), after(op);
  after.setInsertionPointAfter(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](LoadOp load) { answerLoad(load, question); })
      .Case([&](StoreOp store) { answerStore(store, question); })
      .Case([&](AtomicOp atomic) { answerAtomic(atomic, question); })
      .Case([&](CopyOp copy) { answerCopy(copy, question); })
      .Case([&](SlotOp slot) { answerSlot(slot, question); })
      .Case([&](CutOp cut) { answerCut(cut, question); })
      .Case([&](FillOp fill) {
        noteTile(after, question, fill.getTarget(), {},
                 getType(fill.getTarget()).getShape());
      })
      .Case([&](GemmOp gemm) {
        for (bool ofB : {false, true})
          askTile(before, question, ofB ? gemm.getB() : gemm.getA(),
                  gemm.getPlace(ofB), gemm.getOperandShape(ofB));
        askTile(before, question, gemm.getAcc());
      })
      .Case<ReduceOp, ScanOp, ShuffleOp, VoteOp>([&](Operation *) {
        for (Value view : getReadBuffers(op))
          askTile(before, question, view);
        if (auto reduce = dyn_cast<ReduceOp>(op))
          noteTile(after, question, reduce.getTarget(), {},
                   getType(reduce.getTarget()).getShape());
        if (auto scan = dyn_cast<ScanOp>(op))
          noteTile(after, question, scan.getTarget(), {},
                   getType(scan.getTarget()).getShape());
        if (auto shuffle = dyn_cast<ShuffleOp>(op))
          noteTile(after, question, shuffle.getTarget(), {},
                   getType(shuffle.getTarget()).getShape());
        if (auto vote = dyn_cast<VoteOp>(op))
          noteTile(after, question, vote.getTarget(), {},
                   getType(vote.getTarget()).getShape());
      })
      .Default([&](Operation *) { answerDivision(op, question); });
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// The ops inside of `loop` that compute `index` from its coordinates and
/// values from before it, in order; nothing if other ops than sums and products
/// do.
static std::optional<SmallVector<Operation *>> getFormula(ParallelOp loop,
                                                          Value index) {
  llvm::SetVector<Operation *> formula;
  SmallVector<Value> worklist = {index};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!loop.getBody().isAncestor(value.getParentRegion()) ||
        llvm::is_contained(loop.getBody().getArguments(), value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::ConstantOp,
                         arith::IndexCastOp>(op))
      return std::nullopt;
    if (formula.insert(op))
      llvm::append_range(worklist, op->getOperands());
  }
  return llvm::to_vector(topologicalSort(formula));
}

/// Emits, before `loop`, whether the elements at `index`, over all iterations,
/// are no tile of dimension `dim` of `buffer`: one that begins in it, at a
/// multiple of its length. Null if that is not known.
static Value emitIsNoTile(ParallelOp loop, Value index, Value buffer,
                          int64_t dim) {
  std::optional<SmallVector<Operation *>> formula = getFormula(loop, index);
  if (!formula)
    return {};
  OpBuilder builder(loop);
  Location loc = index.getLoc();
  auto evaluate = [&](bool atEnd) -> Value {
    IRMapping mapping;
    for (auto [coordinate, size] :
         llvm::zip(loop.getBody().getArguments(), loop.getExtents()))
      mapping.map(coordinate, arith::ConstantIndexOp::create(
                                  builder, loc, atEnd ? size - 1 : 0));
    for (Operation *op : *formula)
      builder.clone(*op, mapping);
    return toWide(builder, loc, mapping.lookupOrDefault(index));
  };
  Value first = evaluate(/*atEnd=*/false), last = evaluate(/*atEnd=*/true);
  Value one = getConstant(builder, loc, 1, 64);
  Value length = arith::SubIOp::create(builder, loc, last, first);
  length = arith::AddIOp::create(builder, loc, length, one);
  length = arith::MaxSIOp::create(builder, loc, length, one);
  Value rest = arith::RemUIOp::create(builder, loc, first, length);
  Value isShifted =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest,
                            getConstant(builder, loc, 0, 64));
  Value extent = toWide(builder, loc,
                        builder.createOrFold<memref::DimOp>(loc, buffer, dim));
  Value isBeyond = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::uge, first, extent);
  return arith::OrIOp::create(builder, loc, isShifted, isBeyond);
}

Bounds KernelChecks::emitBounds(OpBuilder &builder, Location loc, Value buffer,
                                ValueRange indices, ArrayRef<int64_t> tile,
                                ArrayRef<unsigned> unproven,
                                ParallelOp ragged) {
  Bounds bounds;
  size_t lead = indices.size() - tile.size();
  for (unsigned dim : llvm::reverse(unproven)) {
    int64_t length = dim < lead ? 1 : tile[dim - lead];
    Value extent = toWide(builder, loc,
                          builder.createOrFold<memref::DimOp>(
                              loc, buffer, static_cast<int64_t>(dim)));
    Value index = toWide(builder, loc, getExactIndex(indices[dim]));
    Value beyond = index, isOutside;
    if (length > 1)
      beyond = arith::AddIOp::create(builder, loc, index,
                                     getConstant(builder, loc, length - 1, 64));
    // A negative index is a large one as an unsigned number.
    isOutside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                      beyond, extent);
    if (length > 1) {
      Value isNegative =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index,
                                getConstant(builder, loc, 0, 64));
      isOutside = arith::OrIOp::create(builder, loc, isOutside, isNegative);
      index = arith::SelectOp::create(builder, loc, isNegative, index, beyond);
    }
    if (Value isNoTile = ragged
                             ? emitIsNoTile(ragged, indices[dim], buffer, dim)
                             : Value()) {
      Value isNegative =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index,
                                getConstant(builder, loc, 0, 64));
      Value isWrong = arith::OrIOp::create(builder, loc, isNoTile, isNegative);
      isOutside = arith::AndIOp::create(builder, loc, isOutside, isWrong);
    }
    Value code =
        getConstant(builder, loc, encodeFinding(CheckKind::Bounds, dim), 32);
    auto choose = [&](Value here, Value rest) -> Value {
      return rest ? arith::SelectOp::create(builder, loc, isOutside, here, rest)
                        .getResult()
                  : here;
    };
    bounds.code = choose(code, bounds.code);
    bounds.index = choose(index, bounds.index);
    bounds.extent = choose(extent, bounds.extent);
    bounds.isOutside =
        bounds.isOutside
            ? arith::OrIOp::create(builder, loc, isOutside, bounds.isOutside)
            : isOutside;
    bounds.each.insert(bounds.each.begin(), isOutside);
  }
  return bounds;
}

void KernelChecks::reportBounds(OpBuilder &builder, const Question &question,
                                StringRef access, Value buffer,
                                const Bounds &bounds) {
  if (bounds.isOutside)
    record.report(builder, question.op, question.runner, access, buffer,
                  {bounds.isOutside, bounds.code, bounds.index, bounds.extent});
}

/// Lets `op` be executed only where nothing is outside.
Value KernelChecks::moveInto(Operation *op, const Bounds &bounds) {
  if (!bounds.isOutside)
    return {};
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value isInside = arith::XOrIOp::create(builder, loc, bounds.isOutside,
                                         getConstant(builder, loc, 1, 1));
  auto branch = scf::IfOp::create(builder, loc, isInside,
                                  /*withElseRegion=*/false);
  op->moveBefore(branch.thenBlock()->getTerminator());
  return isInside;
}

/// Leaves an access to on-chip memory no index outside.
static void clamp(OpBuilder &builder, Location loc, MutableOperandRange indices,
                  ArrayRef<unsigned> unproven, const Bounds &bounds) {
  for (auto [dim, isOutside] : llvm::zip(unproven, bounds.each)) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    OpOperand &index = indices[dim];
    index.set(
        arith::SelectOp::create(builder, loc, isOutside, zero, index.get()));
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Emits `body` for each element of a tile: as a statement of the block, or,
/// for what is a scalar program or only has threads' own memory, as loops.
void KernelChecks::emitBox(OpBuilder &builder, const Question &question,
                           Value buffer, ArrayRef<int64_t> tile,
                           function_ref<void(OpBuilder &, ValueRange)> body) {
  Location loc = question.op->getLoc();
  OpBuilder::InsertionGuard guard(builder);
  if (question.runner == Runner::Block && !isInSpace(buffer, Space::Private)) {
    SmallVector<int64_t> extents(tile);
    if (tile.empty())
      extents.push_back(1);
    ParallelOp loop = emitParallel(builder, loc, extents);
    ValueRange indices = loop.getBody().getArguments();
    body(builder, indices.take_front(tile.size()));
    return;
  }
  emitNest(builder, loc, tile, body);
}

/// What is found where `shadow`, that of `view`, says that nothing was written.
/// The index is the element's number.
Finding KernelChecks::makeUninitialized(OpBuilder &builder, Location loc,
                                        Value view, Value shadow,
                                        ValueRange indices) {
  Value note = LoadOp::create(builder, loc, shadow, indices);
  Value isUnset = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        note, getConstant(builder, loc, 0, 8));
  Value number = getConstant(builder, loc, 0, 64);
  for (auto [index, extent] : llvm::zip(indices, getType(view).getShape())) {
    number = builder.createOrFold<arith::MulIOp>(
        loc, number, getConstant(builder, loc, extent, 64));
    number = builder.createOrFold<arith::AddIOp>(loc, number,
                                                 toWide(builder, loc, index));
  }
  return {
      isUnset,
      getConstant(builder, loc, encodeFinding(CheckKind::Uninitialized, 0), 32),
      number, getConstant(builder, loc, 0, 64)};
}

/// Reports elements of `view`, or of the tile of it that is copied, that are
/// read and were not written. What a copy reads and then drops, because it
/// leaves a tensor, is not read. Of other ops that read a part of `view`,
/// `place` says where it begins, and `shape` its extents.
void KernelChecks::askTile(OpBuilder &builder, const Question &question,
                           Value view, ArrayRef<int64_t> place,
                           ArrayRef<int64_t> shape) {
  if (!isOnChip(view) || !shadows.isAsked(question.op, view))
    return;
  Location loc = question.op->getLoc();
  Value shadow = shadows.get(builder, view);
  auto copy = dyn_cast<CopyOp>(question.op);
  CopyLoops loops;
  if (copy)
    loops = CopyLoops::of(copy);
  else
    loops.extents.assign(shape.empty() ? getType(view).getShape() : shape);
  auto ask = [&](OpBuilder &b, ValueRange indices) {
    SmallVector<Value> position(indices);
    for (auto [index, first] : llvm::zip(position, place))
      index = b.createOrFold<arith::AddIOp>(
          loc, index, arith::ConstantIndexOp::create(b, loc, first));
    if (copy)
      position = shift(b, loc, getType(view).getRank(), copy.getSourceOffsets(),
                       indices, loops.source);
    Finding finding = makeUninitialized(b, loc, view, shadow, position);
    if (copy) {
      MemRefType target = getType(copy.getTarget());
      SmallVector<Value> there =
          shift(b, loc, target.getRank(), copy.getTargetOffsets(), indices,
                loops.target);
      SmallVector<unsigned> all =
          llvm::to_vector(llvm::seq<unsigned>(0, target.getRank()));
      Bounds bounds = emitBounds(b, loc, copy.getTarget(), there, {}, all);
      if (bounds.isOutside) {
        Value isInside = arith::XOrIOp::create(b, loc, bounds.isOutside,
                                               getConstant(b, loc, 1, 1));
        finding.isBad = arith::AndIOp::create(b, loc, finding.isBad, isInside);
      }
    }
    record.report(b, question.op, question.runner, "read", view, finding);
  };
  emitBox(builder, question, view, loops.extents, ask);
}

/// Notes that a tile was written.
void KernelChecks::noteTile(OpBuilder &builder, const Question &question,
                            Value view, ValueRange offsets,
                            ArrayRef<int64_t> tile) {
  Value shadow = isOnChip(view) ? shadows.get(builder, view) : Value();
  if (!shadow)
    return;
  Location loc = question.op->getLoc();
  Value one = getConstant(builder, loc, 1, 8);
  if (offsets.empty() && tile == getType(view).getShape()) {
    FillOp::create(builder, loc, shadow, one);
    return;
  }
  emitBox(builder, question, view, tile, [&](OpBuilder &b, ValueRange indices) {
    StoreOp::create(b, loc, one, shadow,
                    shift(b, loc, getType(view).getRank(), offsets, indices));
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The loop whose iterations may be a tile that leaves `view`, or null.
static ParallelOp getRagged(Operation *access, Value view) {
  return isOnChip(view) ? ParallelOp() : access->getParentOfType<ParallelOp>();
}

void KernelChecks::answerLoad(LoadOp load, const Question &question) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Value view = load.getSource();
  Bounds bounds = emitBounds(builder, loc, view, load.getIndices(), {},
                             question.source, getRagged(load, view));
  if (isOnChip(view))
    clamp(builder, loc, load.getIndicesMutable(), question.source, bounds);
  reportBounds(builder, question, "read", view, bounds);
  if (!isOnChip(view) || !shadows.isAsked(load, view))
    return;
  Finding finding = makeUninitialized(
      builder, loc, view, shadows.get(builder, view), load.getIndices());
  record.report(builder, load, question.runner, "read", view, finding);
}

void KernelChecks::answerStore(StoreOp store, const Question &question) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  Value view = store.getTarget();
  Bounds bounds = emitBounds(builder, loc, view, store.getIndices(), {},
                             question.target, getRagged(store, view));
  reportBounds(builder, question, "write", view, bounds);
  if (!isOnChip(view))
    return;
  moveInto(store, bounds);
  builder.setInsertionPointAfter(store);
  if (Value shadow = shadows.get(builder, view))
    StoreOp::create(builder, loc, getConstant(builder, loc, 1, 8), shadow,
                    store.getIndices());
}

void KernelChecks::answerAtomic(AtomicOp atomic, const Question &question) {
  OpBuilder builder(atomic);
  Location loc = atomic.getLoc();
  Value view = atomic.getTarget();
  Bounds bounds = emitBounds(builder, loc, view, atomic.getIndices(), {},
                             question.target, getRagged(atomic, view));
  if (isOnChip(view))
    clamp(builder, loc, atomic.getIndicesMutable(), question.target, bounds);
  reportBounds(builder, question, "access", view, bounds);
  Value shadow = isOnChip(view) ? shadows.get(builder, view) : Value();
  if (!shadow)
    return;
  if (!atomic.isStore() && shadows.isAsked(atomic, view)) {
    Finding finding =
        makeUninitialized(builder, loc, view, shadow, atomic.getIndices());
    record.report(builder, atomic, question.runner, "read", view, finding);
  }
  builder.setInsertionPointAfter(atomic);
  if (atomic.getKind() != AtomicKind::Load)
    StoreOp::create(builder, loc, getConstant(builder, loc, 1, 8), shadow,
                    atomic.getIndices());
}

void KernelChecks::answerCopy(CopyOp copy, const Question &question) {
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  Value source = copy.getSource(), target = copy.getTarget();
  Bounds from = emitBounds(builder, loc, source, copy.getSourceOffsets(),
                           getSourceTile(copy), question.source);
  reportBounds(builder, question, "read", source, from);
  Bounds to = emitBounds(builder, loc, target, copy.getTargetOffsets(),
                         getTargetTile(copy), question.target);
  reportBounds(builder, question, "write", target, to);
  moveInto(copy, from);
  moveInto(copy, to);

  builder.setInsertionPoint(copy);
  if (!isOnChip(target))
    return askTile(builder, question, source);
  builder.setInsertionPointAfter(copy);
  Value shadow = shadows.get(builder, target);
  Value sourceShadow =
      isOnChip(source) && shadow ? shadows.get(builder, source) : Value();
  if (!sourceShadow)
    return noteTile(builder, question, target, copy.getTargetOffsets(),
                    getTargetTile(copy));
  // What was not written stays so where it is copied to.
  CopyOp::create(builder, loc, sourceShadow, copy.getSourceOffsets(), shadow,
                 copy.getTargetOffsets(), copy.getTileAttr(), /*async=*/false,
                 /*bulk=*/false, /*barrier=*/Value(), /*barrierIndex=*/Value());
}

void KernelChecks::answerSlot(SlotOp slot, const Question &question) {
  OpBuilder builder(slot);
  Location loc = slot.getLoc();
  Bounds bounds = emitBounds(builder, loc, slot.getSource(), slot.getIndex(),
                             {}, question.source);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  slot.getIndexMutable().assign(arith::SelectOp::create(
      builder, loc, bounds.isOutside, zero, slot.getIndex()));
  reportBounds(builder, question, "access", slot.getSource(), bounds);
}

void KernelChecks::answerCut(CutOp cut, const Question &question) {
  OpBuilder builder(cut);
  Location loc = cut.getLoc();
  Value zero = getConstant(builder, loc, 0, 64);
  auto clip = [&](Value length) -> Value {
    return arith::MaxSIOp::create(builder, loc, toWide(builder, loc, length),
                                  zero);
  };
  Value length = clip(cut.getLength()), extent = clip(cut.getExtent());
  bool isExact = cut.getKind() == Cut::Equal;
  Value isBad = arith::CmpIOp::create(builder, loc,
                                      isExact ? arith::CmpIPredicate::ne
                                              : arith::CmpIPredicate::sgt,
                                      length, extent);
  Value code = getConstant(
      builder, loc, encodeFinding(CheckKind::Extents, cut.getDimension()), 32);
  StringRef access = cut.getKind() == Cut::Inside ? "slice" : "copy";
  record.report(builder, cut, question.runner, access, cut.getBuffer(),
                {isBad, code, length, extent});
  cut.erase();
}

void KernelChecks::answerDivision(Operation *op, const Question &question) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value divisor = getDivisor(op);
  Value none = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(divisor.getType()));
  Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       divisor, none);
  Value zero = getConstant(builder, loc, 0, 64);
  record.report(
      builder, op, question.runner, "division", Value(),
      {isZero,
       getConstant(builder, loc, encodeFinding(CheckKind::Division, 0), 32),
       zero, zero});
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct AddChecksPass : tl::impl::AddChecksPassBase<AddChecksPass> {
  using AddChecksPassBase::AddChecksPassBase;

  void runOnOperation() override {
    SmallVector<Attribute> sites;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(kEntryAttr))
        continue;
      if (failed(addChecks(function, sites)))
        return signalPassFailure();
    }
    getOperation()->setAttr(kChecksAttr, ArrayAttr::get(&getContext(), sites));
  }

private:
  LogicalResult addChecks(func::FuncOp function,
                          SmallVectorImpl<Attribute> &sites) {
    // Nothing runs ahead of a check.
    function.walk([](PipelinedOp loop) { loop.setStages(1); });
    FailureOr<std::unique_ptr<IndexRanges>> ranges = IndexRanges::of(function);
    if (failed(ranges))
      return failure();
    CheckRecord record(function, sites);
    function.walk([&](KernelOp kernel) {
      KernelChecks(kernel, **ranges, record).run(sharedMemory);
    });
    record.reportNotes();
    return success();
  }
};
} // namespace
