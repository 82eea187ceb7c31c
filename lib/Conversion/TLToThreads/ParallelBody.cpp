//===- ParallelBody.cpp - What is known of a parallel loop's body ---------===//
//
// One walk in program order. A value is uniform if every op on the way to it
// gives the same in all iterations of a thread, and may be done once for all of
// them: a load or a division that stands behind a condition may not.
//
//===----------------------------------------------------------------------===//

#include "ParallelBody.h"

#include "NumberFormula.h"

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Calls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

bool tl::mayTrap(Operation *op) {
  if (isa<CallSourceOp>(op))
    return true;
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return false;
  APInt divisor;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    return true;
  // The least integer divided by -1 overflows.
  return divisor.isZero() || divisor.isAllOnes();
}

std::optional<int64_t> tl::getConstantPosition(Value buffer,
                                               ValueRange indices) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t position = 0;
  for (auto [extent, index] : llvm::zip(type.getShape(), indices)) {
    APInt constant;
    if (!matchPattern(index, m_ConstantInt(&constant)) ||
        constant.isNegative() || constant.getSExtValue() >= extent)
      return std::nullopt;
    position = position * extent + constant.getSExtValue();
  }
  return position;
}

static llvm::BitVector join(llvm::BitVector a, const llvm::BitVector &other) {
  a |= other;
  return a;
}

/// Variables are kept in a vector for each of their elements.
static constexpr int64_t kMaxVariableElements = 32;

ParallelBody::ParallelBody(ParallelOp loop, const FragmentLayout &layout)
    : loop(loop), extents(loop.getExtents()), layout(layout) {
  Block &block = loop.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    slopes[argument] = int64_t(number) == getLastDim() ? 1 : 0;
    llvm::BitVector own(getRank());
    own.set(number);
    dependences[argument] = own;
  }
  findBuffers();
  visit(block, {llvm::BitVector(getRank())});
  block.walk([&](Operation *op) { work += countWork(op); });
}

/// True for a conversion from or to a float of 8 bits, or what has one in it.
/// Chips without an instruction for it have a formula (SmallFloats.cpp), and
/// others have not all of them.
static bool convertsSmallFloats(Operation *op) {
  auto isSmall = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
  };
  return !isa<arith::SelectOp, arith::BitcastOp>(op) &&
         (llvm::any_of(op->getOperandTypes(), isSmall) ||
          llvm::any_of(op->getResultTypes(), isSmall));
}

int64_t ParallelBody::countWork(Operation *op) const {
  if (op->hasTrait<OpTrait::ConstantLike>() || op->getNumRegions() != 0 ||
      (op->getNumResults() == 1 && isUniform(op->getResult(0))))
    return 0;
  if (isa<LoadOp, StoreOp, AtomicOp>(op))
    return mayBeWide(op) ? 1 : 8;
  if (convertsSmallFloats(op))
    return 16;
  bool isFunction = isa<math::MathDialect>(op->getDialect()) &&
                    !isa<math::AbsFOp, math::AbsIOp, math::FmaOp>(op);
  if (!isFunction && !isa<arith::DivFOp, arith::RemFOp>(op))
    return 1;
  // About as long as the formulas of accuracy.md. Those of sine and cosine take
  // great arguments apart, digit by digit.
  bool isWide = op->getOperand(0).getType().isF64();
  if (isa<math::SinOp, math::CosOp>(op))
    return isWide ? 256 : 128;
  if (isa<math::LogOp, math::Log2Op>(op))
    return isWide ? 80 : 60;
  return isWide ? 64 : 16;
}

/// True for accesses of registers, and for those that neighbours may share:
/// others have an address and a guard each.
bool ParallelBody::mayBeWide(Operation *access) const {
  if (isa<AtomicOp>(access))
    return false;
  bool writes = isa<StoreOp>(access);
  Value buffer = access->getOperand(writes ? 1 : 0);
  if (isInSpace(buffer, Space::Fragment) || isInSpace(buffer, Space::Private))
    return true;
  ValueRange indices = writes ? cast<StoreOp>(access).getIndices()
                              : cast<LoadOp>(access).getIndices();
  return llvm::all_of(indices, [&](Value index) {
    std::optional<int64_t> slope = getSlope(index);
    return slope == 0 ||
           (index == indices.back() && (slope == 1 || getDivisor(index)));
  });
}

bool ParallelBody::isInside(Value value) const {
  return loop->getRegion(0).isAncestor(value.getParentRegion());
}

std::optional<int64_t> ParallelBody::getSlope(Value value) const {
  if (isUniform(value))
    return 0;
  auto it = slopes.find(value);
  return it == slopes.end() ? std::nullopt : it->second;
}

llvm::BitVector ParallelBody::getDependence(Value value) const {
  auto it = dependences.find(value);
  return it == dependences.end() ? llvm::BitVector(getRank()) : it->second;
}

llvm::BitVector ParallelBody::getDependence(ValueRange values) const {
  llvm::BitVector all(getRank());
  for (Value value : values)
    all |= getDependence(value);
  return all;
}

llvm::BitVector ParallelBody::getDependence(Operation *op) const {
  return reaches.lookup(op);
}

std::optional<unsigned> ParallelBody::getArgument(Value index) const {
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument || argument.getOwner()->getParentOp() != loop)
    return std::nullopt;
  return argument.getArgNumber();
}

bool ParallelBody::isReadBack(Value buffer) const {
  buffer = getBuffer(buffer);
  return mayBeOneOf(buffer, read) && mayBeOneOf(buffer, written);
}

bool ParallelBody::readsBack() const {
  return llvm::any_of(written,
                      [&](Value buffer) { return mayBeOneOf(buffer, read); });
}

bool ParallelBody::isChangedTwice(Value buffer) const {
  return isReadBack(buffer) || writtenAgain.contains(buffer) ||
         llvm::any_of(written, [&](Value other) {
           return other != buffer && mayBeSame(other, buffer);
         });
}

bool ParallelBody::changesTwice() const {
  return llvm::any_of(written,
                      [&](Value buffer) { return isChangedTwice(buffer); });
}

bool ParallelBody::mayMeet() const {
  auto may = [&](Value buffer) { return mayMeet(buffer); };
  return llvm::any_of(written, may) || llvm::any_of(writtenFragments, may);
}

bool ParallelBody::follows(Value index, Value argument) const {
  if (index == argument)
    return true;
  auto isCommon = [&](Value value) {
    return !isInside(value) || matchPattern(value, m_Constant());
  };
  Operation *op = index.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return false;
  Value a = op->getOperand(0), b = op->getOperand(1);
  return (a == argument && isCommon(b)) || (b == argument && isCommon(a));
}

bool ParallelBody::tellIterationsApart(ValueRange indices) const {
  return llvm::all_of(loop->getRegion(0).front().getArguments(),
                      [&](BlockArgument argument) {
                        return extents[argument.getArgNumber()] == 1 ||
                               llvm::any_of(indices, [&](Value index) {
                                 return follows(index, argument);
                               });
                      });
}

bool ParallelBody::mayMeet(Value buffer) const {
  buffer = getBuffer(buffer);
  if (!mayBeOneOf(buffer, written) && !writtenFragments.contains(buffer))
    return false;
  const Access *first = nullptr;
  for (const Access &access : accesses) {
    if (!mayBeSame(getBuffer(access.view), buffer))
      continue;
    if (!first)
      first = &access;
    if (access.view != first->view || access.indices != first->indices)
      return true;
  }
  return first && !tellIterationsApart(first->indices);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// True if `op` of the body of `loop` may be executed several times in one
/// iteration.
static bool isInInnerLoop(Operation *op, ParallelOp loop) {
  for (op = op->getParentOp(); op != loop; op = op->getParentOp())
    if (!isa<scf::IfOp>(op))
      return true;
  return false;
}

void ParallelBody::findBuffers() {
  loop.getBody().walk([&](Operation *op) {
    if (auto atomic = dyn_cast<AtomicOp>(op)) {
      accesses.push_back({atomic.getTarget(), atomic.getIndices()});
      read.insert(getBuffer(atomic.getTarget()));
      written.insert(getBuffer(atomic.getTarget()));
      return;
    }
    bool writes = isa<StoreOp>(op);
    if (!writes && !isa<LoadOp>(op))
      return;
    Value buffer = getBuffer(op->getOperand(writes ? 1 : 0));
    if (!isInSpace(buffer, Space::Private))
      accesses.push_back({op->getOperand(writes ? 1 : 0),
                          op->getOperands().drop_front(writes ? 2 : 1)});
    if (isInSpace(buffer, Space::Fragment)) {
      fragments.insert(buffer);
      if (writes)
        writtenFragments.insert(buffer);
    } else if (!isInSpace(buffer, Space::Private)) {
      bool isNew = (writes ? written : read).insert(buffer);
      if (writes && (!isNew || isInInnerLoop(op, loop)))
        writtenAgain.insert(buffer);
    }
  });
}

void ParallelBody::dependOnAll(Operation *op) {
  for (Value result : op->getResults())
    dependences[result] = llvm::BitVector(getRank(), true);
}

void ParallelBody::visit(Block &block, const Conditions &conditions) {
  for (Operation &op : block.without_terminator())
    visit(&op, conditions);
}

void ParallelBody::visit(Operation *op, const Conditions &conditions) {
  if (auto load = dyn_cast<LoadOp>(op))
    return visitAccess(op, load.getSource(), load.getIndices(), conditions);
  if (auto store = dyn_cast<StoreOp>(op))
    return visitAccess(op, store.getTarget(), store.getIndices(), conditions);
  // Each iteration finds what others have left.
  if (isa<AtomicOp>(op)) {
    together[op] = conditions.together;
    return dependOnAll(op);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch, conditions);
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return visitFor(inner, conditions);
  if (isa<gpu::BlockIdOp, gpu::GridDimOp, memref::DimOp>(op)) {
    uniforms.insert(op->getResult(0));
    return;
  }
  if (auto alloc = dyn_cast<AllocOp>(op)) {
    if (!isInSpace(alloc, Space::Private) ||
        alloc.getType().getNumElements() > kMaxVariableElements)
      needScalars(op);
    return;
  }
  if (auto slot = dyn_cast<SlotOp>(op)) {
    if (!isUniform(slot.getIndex()) || isInSpace(slot, Space::Private))
      needScalars(op);
    return;
  }
  if (op->getNumRegions() == 0 && op->getNumResults() == 1)
    return visitElementwise(op, conditions);
  // Everything else has a meaning for one iteration at a time only.
  needScalars(op);
  op->walk([&](Operation *inner) {
    dependOnAll(inner);
    reaches[inner] = llvm::BitVector(getRank(), true);
    for (Region &region : inner->getRegions())
      for (BlockArgument argument : region.getArguments())
        dependences[argument] = llvm::BitVector(getRank(), true);
  });
}

void ParallelBody::visitAccess(Operation *op, Value buffer, ValueRange indices,
                               const Conditions &conditions) {
  Value base = getBuffer(buffer);
  bool isOwn = isInside(base);
  if (isInSpace(base, Space::Private) &&
      ((isOwn && !getConstantPosition(buffer, indices)) ||
       (!isOwn && isa<StoreOp>(op))))
    needScalars(op);
  together[op] = conditions.together;
  if (auto store = dyn_cast<StoreOp>(op)) {
    reaches[op] = join(conditions.dims, getDependence(store.getValue()));
    return;
  }
  Value result = op->getResult(0);
  reaches[op] = join(conditions.dims, getDependence(indices));
  if (isOwn || isReadBack(base))
    return dependOnAll(op);
  dependences[result] = getDependence(indices);
  if (conditions.together == 0 && areSteady(indices) &&
      !writtenFragments.contains(base))
    slopes[result] = 0;
  // Lanes of the padding touch no memory.
  bool canBeUniform =
      !conditions.isMasked && !isPadded() &&
      !isInSpace(base, Space::Fragment) &&
      llvm::all_of(indices, [&](Value it) { return isUniform(it); });
  if (canBeUniform)
    uniforms.insert(result);
}

void ParallelBody::visitIf(scf::IfOp branch, const Conditions &conditions) {
  Value condition = branch.getCondition();
  bool isJoint = isUniform(condition);
  Conditions inside = {join(conditions.dims, getDependence(condition)),
                       conditions.isMasked || !isJoint,
                       std::gcd(conditions.together, countTogether(condition))};
  for (Region &region : branch->getRegions())
    if (!region.empty())
      visit(region.front(), inside);
  for (auto [i, result] : llvm::enumerate(branch.getResults())) {
    Value yes = branch.thenYield().getOperand(i);
    Value no = branch.elseYield().getOperand(i);
    dependences[result] = getDependence({condition, yes, no});
    if (areSteady({condition, yes, no}))
      slopes[result] = 0;
    if (isJoint && isUniform(yes) && isUniform(no))
      uniforms.insert(result);
  }
}

void ParallelBody::visitFor(scf::ForOp inner, const Conditions &conditions) {
  SmallVector<Value> bounds = {inner.getLowerBound(), inner.getUpperBound(),
                               inner.getStep()};
  if (!llvm::all_of(bounds, [&](Value it) { return isUniform(it); }))
    needScalars(inner);
  uniforms.insert(inner.getInductionVar());
  for (BlockArgument argument : inner.getRegionIterArgs())
    dependences[argument] = llvm::BitVector(getRank(), true);
  dependOnAll(inner);
  visit(*inner.getBody(),
        {join(conditions.dims, getDependence(ValueRange(bounds))),
         conditions.isMasked, conditions.together});
}

void ParallelBody::visitElementwise(Operation *op,
                                    const Conditions &conditions) {
  bool isKnown = op->hasTrait<OpTrait::ConstantLike>() ||
                 OpTrait::hasElementwiseMappableTraits(op);
  if (!isKnown)
    return needScalars(op);
  Value result = op->getResult(0);
  dependences[result] = getDependence(op->getOperands());
  reaches[op] = join(conditions.dims, dependences[result]);
  // A division says nothing of its neighbours in lanes that are off. Padding
  // is at the end: its lanes have no neighbours before them that are off.
  bool isOffSomewhere = mayTrap(op) && (conditions.isMasked || isPadded());
  if (!mayTrap(op) || conditions.together == 0)
    slopes[result] = findSlope(op);
  if (!isOffSomewhere &&
      llvm::all_of(op->getOperands(), [&](Value it) { return isUniform(it); }))
    uniforms.insert(result);
}

//===----------------------------------------------------------------------===//
// Slopes
//===----------------------------------------------------------------------===//

bool ParallelBody::areSteady(ValueRange values) const {
  return llvm::all_of(values,
                      [&](Value value) { return getSlope(value) == 0; });
}

std::optional<int64_t> ParallelBody::findSlope(Operation *op) const {
  if (areSteady(op->getOperands()))
    return 0;
  if (isa<arith::MulIOp>(op))
    return multiplySlope(op->getOperand(0), op->getOperand(1));
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<int64_t> a = getSlope(op->getOperand(0));
  std::optional<int64_t> b = getSlope(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *a + *b : *a - *b;
}

/// A power of two of which `sum` is a multiple where the last loop index is; 1
/// for what is not the sum of that index and of what neighbours have in common.
/// It stays one if the sum wraps around, or changes its width.
int64_t ParallelBody::getAlignment(Value sum) const {
  constexpr int64_t kMost = 16;
  if (getArgument(sum) == getLastDim())
    return kMost;
  Operation *op = sum.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp>(op))
    return getAlignment(op->getOperand(0));
  if (isa_and_nonnull<arith::AddIOp>(op))
    for (unsigned i : {0, 1})
      if (Value other = op->getOperand(1 - i); getSlope(other) == 0)
        return std::gcd(getAlignment(op->getOperand(i)),
                        std::gcd(kMost, tl::getDivisor(other)));
  return 1;
}

/// How many neighbours, from a multiple of so many on, have `condition` in
/// common: sums that count the multiples of `n` are all below a multiple of it,
/// or none is.
int64_t ParallelBody::countTogether(Value condition) const {
  if (getSlope(condition) == 0)
    return 0;
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return std::gcd(countTogether(op->getOperand(0)),
                    countTogether(op->getOperand(1)));
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare)
    return 1;
  Value sum = compare.getLhs(), bound = compare.getRhs();
  using Predicate = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case Predicate::slt:
  case Predicate::sge:
  case Predicate::ult:
  case Predicate::uge:
    break;
  case Predicate::sgt:
  case Predicate::sle:
  case Predicate::ugt:
  case Predicate::ule:
    std::swap(sum, bound);
    break;
  default:
    return 1;
  }
  if (getSlope(bound) != 0)
    return 1;
  return std::gcd(getAlignment(sum), tl::getDivisor(bound));
}

std::optional<int64_t> ParallelBody::getDivisor(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp>(op)) {
    for (unsigned i : {0, 1})
      if (getSlope(op->getOperand(1 - i)) == 0)
        if (std::optional<int64_t> divisor = getDivisor(op->getOperand(i)))
          return divisor;
    return std::nullopt;
  }
  // Loop indices are not negative: all ways to round are the same.
  APInt divisor;
  if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
          op) ||
      getArgument(op->getOperand(0)) != getLastDim() ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive())
    return std::nullopt;
  return divisor.getSExtValue();
}

std::optional<int64_t> ParallelBody::multiplySlope(Value a, Value b) const {
  APInt factor;
  std::optional<int64_t> slope = getSlope(a);
  if (matchPattern(b, m_ConstantInt(&factor)) && slope)
    return *slope * factor.getSExtValue();
  slope = getSlope(b);
  if (matchPattern(a, m_ConstantInt(&factor)) && slope)
    return *slope * factor.getSExtValue();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

static InFlightDiagnostic foreignElement(Operation *op, Value fragment) {
  InFlightDiagnostic diag =
      op->emitOpError("touches an element of a fragment that another thread "
                      "holds; index it by the loop's own indices, or go "
                      "through workgroup memory");
  diag.attachNote(fragment.getLoc()) << "the fragment is allocated here";
  return diag;
}

FailureOr<SmallVector<int64_t>> tl::findRegisters(Operation *op,
                                                  const ParallelBody &body,
                                                  ThreadLowering &lowering,
                                                  Value fragment,
                                                  ValueRange indices) {
  const FragmentLayout &lanes = body.getLayout();
  ParallelOp loop = body.getLoop();
  FragmentAccess access = getFragmentAccess(op, fragment, indices, loop);
  if (!access.indices)
    return foreignElement(op, fragment);
  std::optional<FragmentLayout> seen = access.see(lowering.getLayout(fragment));
  if (!seen)
    return foreignElement(op, fragment);
  const FragmentLayout &registers = *seen;
  ArrayRef<layout::FragmentIndex> parsed = *access.indices;
  for (auto [dim, index] : llvm::enumerate(parsed)) {
    SmallVector<layout::ThreadStep> wanted;
    if (index.dim >= 0)
      wanted = lanes.threadSteps(index.dim);
    if (joinSteps(wanted) != joinSteps(registers.threadSteps(dim)))
      return foreignElement(op, fragment);
  }
  bool mayLeave = access.isBeside();
  SmallVector<int64_t> found, element(parsed.size());
  for (int64_t lane = 0, e = lanes.numValues(); lane < e; ++lane) {
    SmallVector<int64_t> offset = lanes.valueOffset(lane);
    for (auto [dim, index] : llvm::enumerate(parsed))
      element[dim] = (index.dim < 0 ? 0 : offset[index.dim]) + index.position;
    if (mayLeave && layout::isOutside(registers, element)) {
      found.push_back(-1);
      continue;
    }
    std::optional<FragmentLayout::Owner> owner = registers.findOwner(element);
    if (owner && owner->thread == 0) {
      found.push_back(owner->value);
      continue;
    }
    // All threads may be in the padding here, which run nothing.
    bool isPadding = false;
    for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
      isPadding |= offset[dim] >= extent;
    if (!isPadding)
      return foreignElement(op, fragment);
    found.push_back(-1);
  }
  return found;
}

LogicalResult tl::verifyFragmentStore(StoreOp store, const ParallelBody &body) {
  llvm::BitVector used(body.getRank());
  FragmentAccess access = getFragmentAccess(store, store.getTarget(),
                                            store.getIndices(), body.getLoop());
  if (access.indices)
    for (layout::FragmentIndex index : *access.indices)
      if (index.dim >= 0)
        used.set(index.dim);
  llvm::BitVector dependence = body.getDependence(store.getOperation());
  for (int64_t dim = 0; dim < body.getRank(); ++dim) {
    if (used.test(dim) || body.getLayout().threadSteps(dim).empty())
      continue;
    if (dependence.test(dim) || body.isPadded(dim)) {
      InFlightDiagnostic diag = store.emitOpError(
          "writes an element of a fragment from iterations that lie in "
          "different threads, each of which holds a copy; write it in a loop "
          "over its own indices, or keep it in workgroup memory");
      diag.attachNote(store.getTarget().getLoc())
          << "the fragment is allocated here";
      return diag;
    }
  }
  return success();
}
