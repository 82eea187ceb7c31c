//===- PrefetchOperands.cpp - Load for the next step before it begins -----===//
//
// A loop whose steps wait for a group of copies, meet at the block's barrier,
// load operands and multiply leaves the tensor cores idle from the barrier to
// the first loads' end. Here the wait, the barrier and the loads of the first
// products of a step stand before the last products of the step before:
//
//   for k:                     wait; barrier; first = load(begin)
//     wait; barrier            for k but the last one:
//     copies of a later step     copies of a later step
//     first = load(k)            products of first
//     products of first          rest = load'(k)
//     rest = load'(k)            wait; barrier; first = load(k + 1)
//     products of rest           products of rest
//                              the last step, without wait, barrier and load
//
// Where a step has no more loads than those and one further round of them, the
// copies are issued behind its loads, so that these do not queue up behind
// them; if the wait leaves the group of these copies under way.
//
// Sound because what touches memory or synchronises does so in the same order
// as before, loop for loop, except for loads that now precede the issue of
// copies of their own step. tl-verify-sync has proven that nothing in between
// conflicts with a copy that is under way: it may complete at once or at the
// next wait, and so may be issued later too. All that a wait is moved over is
// pure. Guarded by the loop's own condition where it may have no step.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace tl {
#define GEN_PASS_DEF_PREFETCHOPERANDSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// What a loop may need: what it carries, the first operands twice, and an
/// address for each load. A thread has 255 registers, and copies take some.
static constexpr int64_t kMostRegisters = 216;
static constexpr int64_t kRegisterBits = 32;

namespace {

/// The parts of a step. What is in none of them is pure, or comes later.
struct Step {
  SmallVector<Operation *> waits;  ///< for groups, and the barrier
  SmallVector<Operation *> copies; ///< the issue of a later step's groups
  SmallVector<Operation *> first;  ///< loads of the first products
  /// What the loop carries that the addresses of `first` are computed from.
  llvm::SetVector<BlockArgument> carried;
  int64_t furtherLoads = 0;
  bool hasOthers = false; ///< something else that is not pure
  /// The last op that is not pure. Products follow it.
  Operation *last = nullptr;

  /// Whether copies are issued behind all loads.
  bool issuesLast() const;
};

} // namespace

//===----------------------------------------------------------------------===//
// Recognise
//===----------------------------------------------------------------------===//

static bool isNamed(Operation *op, StringRef name) {
  return op->getName().getStringRef() == name;
}

static bool isWait(Operation *op) {
  return isNamed(op, "nvvm.cp.async.wait.group");
}

static bool isLoad(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return !load.getVolatile_() &&
           load.getOrdering() == LLVM::AtomicOrdering::not_atomic;
  return isa<LdmatrixOp>(op);
}

/// True if `op` starts copies or closes their group, and does nothing else.
static bool issuesCopies(Operation *op) {
  if (isNamed(op, "nvvm.cp.async.shared.global") ||
      isNamed(op, "nvvm.cp.async.commit.group"))
    return true;
  if (!isa<scf::IfOp, scf::ForOp>(op) || op->getNumResults())
    return false;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (!isPure(&inner) && !isa<scf::YieldOp>(inner) && !issuesCopies(&inner))
        return false;
  return true;
}

bool Step::issuesLast() const {
  // Behind the wait, the groups of these copies must be free to go on.
  auto isCommit = [](Operation *op) {
    return isNamed(op, "nvvm.cp.async.commit.group");
  };
  int64_t groups = llvm::count_if(copies, isCommit);
  bool areFree = llvm::all_of(waits, [&](Operation *wait) {
    return !isWait(wait) || wait->getAttrOfType<IntegerAttr>("n").getInt() >=
                                std::max<int64_t>(groups, 1);
  });
  return areFree && !hasOthers &&
         furtherLoads <= static_cast<int64_t>(first.size());
}

static Step readStep(Block &body) {
  Step step;
  bool hasProducts = false;
  for (Operation &op : body.without_terminator()) {
    if (isa<MmaOp, MmaF64Op>(op))
      hasProducts = true;
    if (isPure(&op))
      continue;
    bool isBegin = !step.last || step.last == step.waits.back();
    step.last = &op;
    if (isBegin && (isWait(&op) || isa<gpu::BarrierOp>(op))) {
      step.waits.push_back(&op);
    } else if (step.waits.empty()) {
      // What follows cannot be moved in front of it.
      return step;
    } else if (issuesCopies(&op)) {
      step.copies.push_back(&op);
    } else if (!isLoad(&op)) {
      step.hasOthers = true;
    } else if (hasProducts || step.hasOthers) {
      ++step.furtherLoads;
    } else {
      step.first.push_back(&op);
    }
  }
  return step;
}

/// What the loop carries that `values` are computed from. None if something in
/// `body` that is not pure takes part.
static std::optional<llvm::SetVector<BlockArgument>>
findCarried(ValueRange values, Block &body) {
  llvm::SetVector<BlockArgument> carried;
  llvm::SetVector<Value> seen(values.begin(), values.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    Value value = seen[i];
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == &body && argument.getArgNumber() > 0)
      carried.insert(argument);
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &body)
      continue;
    if (!isPure(op) || op->getNumRegions() != 0)
      return std::nullopt;
    seen.insert(op->operand_begin(), op->operand_end());
  }
  return carried;
}

/// What the end of `body` passes on as `argument`.
static Value getPassedOn(BlockArgument argument, Block &body) {
  return body.getTerminator()->getOperand(argument.getArgNumber() - 1);
}

/// The registers that a value takes: what is no vector of numbers takes one.
static int64_t countRegisters(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return 1;
  return llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(),
                          kRegisterBits);
}

/// The step of a loop whose products behind the last op that is not pure are
/// worth a wait's time, and in which what is moved before them is known there.
static std::optional<Step> findStep(scf::ForOp loop) {
  Block &body = *loop.getBody();
  Step step = readStep(body);
  if (!isConstantIntValue(loop.getStep(), 1) || loop.getUnsignedCmp() ||
      step.first.empty() || !llvm::any_of(step.waits, isWait) ||
      !isa<gpu::BarrierOp>(step.waits.back()))
    return std::nullopt;
  auto tail = llvm::make_range(std::next(step.last->getIterator()), body.end());
  if (llvm::none_of(tail, llvm::IsaPred<MmaOp, MmaF64Op>))
    return std::nullopt;
  int64_t registers = step.first.size() + step.furtherLoads;
  for (Value carried : loop.getRegionIterArgs())
    registers += countRegisters(carried);
  for (Operation *load : step.first)
    registers += 2 * countRegisters(load->getResult(0));
  if (registers > kMostRegisters)
    return std::nullopt;
  SmallVector<Value> addresses, passedOn;
  for (Operation *load : step.first)
    llvm::append_range(addresses, load->getOperands());
  auto carried = findCarried(addresses, body);
  if (!carried)
    return std::nullopt;
  step.carried = std::move(*carried);
  for (BlockArgument argument : step.carried)
    passedOn.push_back(getPassedOn(argument, body));
  if (!findCarried(passedOn, body))
    return std::nullopt;
  return step;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

namespace {

/// Clones one step of a loop.
class StepCloner {
public:
  StepCloner(OpBuilder &builder, Block &body, Value iteration,
             ValueRange carried)
      : builder(builder), body(body) {
    mapping.map(body.getArgument(0), iteration);
    mapping.map(body.getArguments().drop_front(), carried);
  }

  void clone(Operation *op) {
    if (cloned.insert(op).second)
      builder.clone(*op, mapping);
  }

  /// Clones what computes `value`, if it has not been, and returns its like.
  Value clone(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == &body && !cloned.contains(op)) {
      for (Value operand : op->getOperands())
        clone(operand);
      clone(op);
    }
    return mapping.lookupOrDefault(value);
  }

  /// The waits and the first loads; returns what these load.
  SmallVector<Value> begin(const Step &step) {
    for (Operation *wait : step.waits)
      clone(wait);
    for (Operation *load : step.first)
      clone(load->getResult(0));
    return llvm::map_to_vector(step.first, [&](Operation *load) {
      return mapping.lookup(load->getResult(0));
    });
  }

  /// Takes what `begin` did as done, and its loads to be `values`.
  void skipBegin(const Step &step, ValueRange values) {
    cloned.insert_range(step.waits);
    cloned.insert_range(step.first);
    for (auto [load, value] : llvm::zip_equal(step.first, values))
      mapping.map(load->getResult(0), value);
  }

  /// What the step passes on to the next one.
  SmallVector<Value> getPassedOn() {
    return llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookupOrDefault(value); });
  }

private:
  OpBuilder &builder;
  Block &body;
  IRMapping mapping;
  llvm::SmallPtrSet<Operation *, 32> cloned;
};

} // namespace

/// The body of the new loop: all of a step but its begin, and the begin of the
/// next one before the products at the end.
static SmallVector<Value> cloneStep(OpBuilder &b, Location loc, Block &body,
                                    const Step &step, Value iteration,
                                    ValueRange carried, ValueRange loaded) {
  StepCloner current(b, body, iteration, carried);
  current.skipBegin(step, loaded);
  bool issueLast = step.issuesLast();
  for (Operation &op : body.without_terminator()) {
    if (!issueLast || !llvm::is_contained(step.copies, &op))
      current.clone(&op);
    if (&op == step.last)
      break;
  }
  if (issueLast)
    for (Operation *copy : step.copies)
      current.clone(copy);

  Value next = arith::AddIOp::create(
      b, loc, iteration,
      arith::ConstantOp::create(b, loc, b.getOneAttr(iteration.getType())));
  SmallVector<Value> passedOn(carried);
  for (BlockArgument argument : step.carried)
    passedOn[argument.getArgNumber() - 1] =
        current.clone(getPassedOn(argument, body));
  SmallVector<Value> nextLoaded =
      StepCloner(b, body, next, passedOn).begin(step);

  for (Operation &op : body.without_terminator())
    current.clone(&op);
  SmallVector<Value> results = current.getPassedOn();
  results.append(nextLoaded);
  return results;
}

/// The new loop and the step behind it, of a loop with one step at least.
/// Returns what the last step passes on.
static SmallVector<Value> prefetch(OpBuilder &b, scf::ForOp loop,
                                   const Step &step) {
  Location loc = loop.getLoc();
  Block &body = *loop.getBody();
  Value begin = loop.getLowerBound();
  Value last =
      b.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(), loop.getStep());
  SmallVector<Value> inits(loop.getInitArgs());
  size_t count = inits.size();
  inits.append(StepCloner(b, body, begin, loop.getInitArgs()).begin(step));
  auto steps = scf::ForOp::create(
      b, loc, begin, last, loop.getStep(), inits,
      [&](OpBuilder &inner, Location, Value iteration, ValueRange carried) {
        scf::YieldOp::create(inner, loc,
                             cloneStep(inner, loc, body, step, iteration,
                                       carried.take_front(count),
                                       carried.drop_front(count)));
      });
  steps->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  StepCloner end(b, body, last, steps.getResults().take_front(count));
  end.skipBegin(step, steps.getResults().drop_front(count));
  for (Operation &op : body.without_terminator())
    end.clone(&op);
  return end.getPassedOn();
}

static void prefetch(scf::ForOp loop, const Step &step) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  SmallVector<Value> results;
  if (begin && end && *begin < *end) {
    results = prefetch(b, loop, step);
  } else {
    Value any =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(
        b, loc, any,
        [&](OpBuilder &inner, Location) {
          scf::YieldOp::create(inner, loc, prefetch(inner, loop, step));
        },
        [&](OpBuilder &inner, Location) {
          scf::YieldOp::create(inner, loc, loop.getInitArgs());
        });
    results.assign(branch.result_begin(), branch.result_end());
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

namespace {
struct PrefetchOperandsPass
    : tl::impl::PrefetchOperandsPassBase<PrefetchOperandsPass> {
  void runOnOperation() override {
    // Loops inside come first, and are done before what is around is looked at.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (std::optional<Step> step = findStep(loop))
        prefetch(loop, *step);
  }
};
} // namespace
