//===- EvaluateElements.cpp - One iteration after another -----------------===//
//
// The meaning of a parallel loop, written down: a thread runs a loop over its
// iterations, and the body is copied into it as the scalar program that it is,
// with whatever control flow it has. This is how bodies are lowered that have
// no form for the lanes of a vector: loops whose trips differ from iteration to
// iteration, and arrays that are indexed by what is computed.
//
// Registers cannot be indexed. A fragment that the body touches lies in memory
// of the thread's own while the loop runs, if it does not anyway; where LLVM
// unrolls the loop, that memory is registers again.
//
// An iteration is skipped in the padding of the layout. Nothing runs that the
// program does not: conditions are branches. Where threads run copies of the
// same iterations, one of them writes what an iteration changes twice.
//
//===----------------------------------------------------------------------===//

#include "NumberFormula.h"
#include "ParallelBody.h"

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

/// Loops of at most so many iterations may be unrolled.
static constexpr int64_t kMaxUnrolled = 8;

/// The numbers of `registers`, one for each value of `layout`, as a formula.
static std::optional<NumberFormula> findFormula(const FragmentLayout &layout,
                                                ArrayRef<int64_t> registers) {
  SmallVector<int64_t> extents = llvm::map_to_vector(
      layout.getValueModes(),
      [](layout::FragmentMode mode) { return mode.extent; });
  return NumberFormula::find(registers, extents);
}

FailureOr<bool> tl::hasFormulas(const ParallelBody &body,
                                ThreadLowering &lowering) {
  for (const FragmentAccess &access : getFragmentAccesses(body.getLoop())) {
    ValueRange indices = access.isWrite ? cast<StoreOp>(access.op).getIndices()
                                        : cast<LoadOp>(access.op).getIndices();
    if (isInOwnRow(access, body.getLoop(), body.getLayout(),
                   lowering.getLayout(access.fragment)))
      continue;
    FailureOr<SmallVector<int64_t>> registers =
        findRegisters(access.op, body, lowering, access.fragment, indices);
    if (failed(registers))
      return failure();
    if (!findFormula(body.getLayout(), *registers))
      return false;
    // A formula would find something for what is outside, where the iteration
    // runs all the same.
    if (access.isBeside() && llvm::is_contained(*registers, -1))
      return false;
  }
  return true;
}

namespace {

class ElementEvaluator {
public:
  ElementEvaluator(const ParallelBody &body, ThreadLowering &lowering,
                   bool orderCopies)
      : body(body), loop(body.getLoop()), lowering(lowering),
        b(lowering.builder), layout(body.getLayout()) {
    if (orderCopies)
      firstCopy = lowering.getScope().isFirstCopy(layout);
  }

  LogicalResult run() {
    for (Value fragment : body.getFragments())
      spill(fragment);
    if (failed(runLoop()))
      return failure();
    for (Value fragment : body.getWrittenFragments())
      reload(fragment);
    return success();
  }

private:
  LogicalResult runLoop() {
    OpBuilder::InsertionGuard saved(b);
    beginIterations(body, lowering);
    // Rounds of one value are numbered as the values are.
    Rounds rounds(layout, 1);
    lane = lowering.index(0);
    if (rounds.getCount() > 1)
      lane = rounds.openLoop(lowering, rounds.getCount() <= kMaxUnrolled);
    Value guard;
    SmallVector<Value> positions;
    for (auto [d, extent] : llvm::enumerate(loop.getExtents())) {
      Value position =
          lowering.add(lowering.getScope().getThreadOffset(layout, d),
                       rounds.getOffset(lowering, lane, d));
      positions.push_back(position);
      mapping.map(loop.getBody().getArgument(d), position);
      if (!body.isPadded(d))
        continue;
      Value below =
          arith::CmpIOp::create(b, lowering.loc, arith::CmpIPredicate::ult,
                                position, lowering.index(extent));
      guard =
          guard
              ? arith::AndIOp::create(b, lowering.loc, guard, below).getResult()
              : below;
    }
    goToIterations(body, lowering, positions);
    if (guard)
      b.setInsertionPointToStart(
          scf::IfOp::create(b, lowering.loc, guard).thenBlock());
    return evaluate(loop.getBody().front());
  }

  /// Has the accesses of `buffer` that are made meanwhile bear the present
  /// iteration.
  struct Marking {
    Marking(ElementEvaluator &evaluator, Value buffer)
        : lowering(evaluator.lowering) {
      const ParallelBody &body = evaluator.body;
      if (lowering.doesTellIterations() && body.mayMeet(buffer))
        lowering.setIterations(evaluator.b.getDenseI64ArrayAttr(
            SmallVector<int64_t>(body.getRank())));
    }
    ~Marking() { lowering.setIterations(nullptr); }

    ThreadLowering &lowering;
  };

  //===--------------------------------------------------------------------===//
  // Fragments
  //===--------------------------------------------------------------------===//

  void spill(Value fragment) {
    Value &memory = inMemory[fragment];
    memory = lowering.getFragmentMemory(fragment);
    if (memory)
      return;
    VectorType type = lowering.getRegisterType(fragment);
    memory = lowering.createPrivate(fragment.getLoc(), type.getElementType(),
                                    type.getNumElements());
    lowering.storeElements(memory, lowering.readFragment(fragment));
  }

  void reload(Value fragment) {
    if (lowering.getFragmentMemory(fragment))
      return;
    lowering.writeFragment(
        fragment, lowering.loadElements(inMemory.lookup(fragment),
                                        lowering.getRegisterType(fragment)));
  }

  bool isInRow(Operation *op, Value fragment, ValueRange indices) {
    return isInOwnRow(getFragmentAccess(op, fragment, indices, loop), loop,
                      layout, lowering.getLayout(fragment));
  }

  /// The address of the register that holds the element at `indices` of the
  /// present iteration.
  FailureOr<Value> findRegister(Operation *op, Value fragment,
                                ValueRange indices) {
    // Nobody else has the row, so that there is nothing to report.
    if (isInRow(op, fragment, indices))
      return lowering.getElementAddress(
          inMemory.lookup(fragment),
          cast<MemRefType>(fragment.getType()).getElementType(),
          mapping.lookupOrDefault(indices.back()));
    FailureOr<SmallVector<int64_t>> registers =
        findRegisters(op, body, lowering, fragment, indices);
    if (failed(registers))
      return failure();
    std::optional<NumberFormula> formula = findFormula(layout, *registers);
    if (!formula)
      return op->emitOpError("touches a fragment in an order that its layout "
                             "has no formula for; go through workgroup memory");
    Value number = formula->emit(lowering, lane);
    touchFragment(op, body, lowering, number,
                  SmallVector<int64_t>(body.getRank()), /*guard=*/Value());
    return lowering.getElementAddress(
        inMemory.lookup(fragment),
        cast<MemRefType>(fragment.getType()).getElementType(), number);
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  LogicalResult evaluate(Block &block) {
    for (Operation &op : block.without_terminator()) {
      lowering.loc = op.getLoc();
      if (failed(evaluate(&op)))
        return failure();
    }
    return success();
  }

  LogicalResult evaluate(Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return evaluateLoad(load);
    if (auto store = dyn_cast<StoreOp>(op))
      return evaluateStore(store);
    if (auto atomic = dyn_cast<AtomicOp>(op))
      return evaluateAtomic(atomic);
    if (isa<AllocOp>(op) && isInSpace(op->getResult(0), Space::Private))
      return success();
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      return evaluateControl(op);
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return op->emitOpError("is not supported inside `tl.parallel`, whose "
                             "body is a scalar program");
    b.clone(*op, mapping);
    return success();
  }

  LogicalResult evaluateControl(Operation *op) {
    Operation *copy = op->cloneWithoutRegions(mapping);
    b.insert(copy);
    for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
      if (from.empty())
        continue;
      Block &block = to.emplaceBlock();
      for (BlockArgument argument : from.getArguments())
        mapping.map(argument,
                    block.addArgument(argument.getType(), argument.getLoc()));
      OpBuilder::InsertionGuard saved(b);
      b.setInsertionPointToEnd(&block);
      if (failed(evaluate(from.front())))
        return failure();
      b.clone(*from.front().getTerminator(), mapping);
    }
    return success();
  }

  SmallVector<Value> map(ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  LogicalResult evaluateLoad(LoadOp load) {
    Value buffer = load.getSource();
    Value value;
    if (isInSpace(buffer, Space::Fragment)) {
      FailureOr<Value> address = findRegister(load, buffer, load.getIndices());
      if (failed(address))
        return failure();
      value = lowering.loadFrom(*address, load.getResult().getType());
    } else {
      Marking marking(*this, buffer);
      buffer = mapping.lookupOrDefault(buffer);
      SmallVector<Value> at = map(load.getIndices());
      value = lowering.load(buffer, at, 1, lowering.getInBounds(buffer, at));
    }
    mapping.map(load.getResult(), value);
    return success();
  }

  LogicalResult evaluateStore(StoreOp store) {
    Value buffer = store.getTarget();
    Value value = mapping.lookupOrDefault(store.getValue());
    if (isInSpace(buffer, Space::Fragment)) {
      FailureOr<Value> address =
          findRegister(store, buffer, store.getIndices());
      if (failed(address))
        return failure();
      if (!isInRow(store, buffer, store.getIndices()) &&
          failed(verifyFragmentStore(store, body)))
        return failure();
      lowering.storeTo(*address, value);
      return success();
    }
    Value copy = body.isChangedTwice(buffer) ? firstCopy : Value();
    Marking marking(*this, buffer);
    buffer = mapping.lookupOrDefault(buffer);
    SmallVector<Value> at = map(store.getIndices());
    Value inside = lowering.getInBounds(buffer, at);
    if (copy && inside)
      inside = arith::AndIOp::create(b, lowering.loc, copy, inside);
    lowering.store(value, buffer, at, inside ? inside : copy);
    return success();
  }

  LogicalResult evaluateAtomic(AtomicOp atomic) {
    auto get = [&](Value value) {
      return value ? mapping.lookupOrDefault(value) : value;
    };
    Marking marking(*this, atomic.getTarget());
    Value buffer = get(atomic.getTarget());
    SmallVector<Value> at = map(atomic.getIndices());
    mapping.map(atomic.getOld(),
                lowering.atomic(atomic, buffer, at, get(atomic.getValue()),
                                get(atomic.getExpected()),
                                lowering.getInBounds(buffer, at)));
    return success();
  }

  const ParallelBody &body;
  ParallelOp loop;
  ThreadLowering &lowering;
  OpBuilder &b;
  const FragmentLayout &layout;
  /// Set where one of several copies of an iteration writes.
  Value firstCopy;
  Value lane;
  IRMapping mapping;
  DenseMap<Value, Value> inMemory;
};

} // namespace

LogicalResult tl::lowerByElements(const ParallelBody &body,
                                  ThreadLowering &lowering, bool orderCopies) {
  return ElementEvaluator(body, lowering, orderCopies).run();
}
