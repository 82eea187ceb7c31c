//===- SplitLoops.cpp - Do without a guard where it is false --------------===//
//
// A guard in a pipelined loop that is false from some iteration on to another
// one, such as that of a causal mask, which cuts the last tiles only, is taken
// out of a loop for these iterations:
//
//     pipelined k = lower to upper {      pipelined k = lower to end {
//       compute                             compute
//       if (k + 1) * 128 > n { mask }       compute more
//       compute more                      }
//     }                              =>   pipelined k = end to upper {
//                                           compute
//                                           if (k + 1) * 128 > n { mask }
//                                           compute more
//                                         }
//
// or two loops with the guard around it. What stands behind a guard holds
// registers in all iterations, and keeps the arithmetic around it apart. With a
// role for copies (`tl.specialize`) another loop costs no time: its copies run
// ahead into it. Other kernels have their slots filled again in front of each
// loop, and are left alone.
//
// A loop with a tile that the blocks of a cluster fetch together stays one:
// they do its copies in step, and the guard may begin at another iteration in
// each. So does one with buffers of its own, which two loops would have twice.
//
// When it is false is arithmetic: a * k + b > c, with a > 0, is so up to
// k = (c - b) / a, and a * k + b < c from there on. An `or` is false where both
// of its conditions are, an `and` where one is.
//
// Sound because
//  - the loops together do the iterations of the one, in its order, as each
//    begins where the one before ends, within its bounds;
//  - b and c are the same in all iterations: arithmetic on values from outside
//    of the loop;
//  - indices and numbers of 32 bits wrap (I1). What is divided has 64, and is
//    made of b and c as they are. No iteration is below zero, so that a * k + b
//    is not below b; that it is not above the greatest number is seen where the
//    guard is false as it is not above c, and is asked of the last iteration
//    where the guard is false as it is not below c. So it has not wrapped where
//    the guard is taken out.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <limits>

namespace tl {
#define GEN_PASS_DEF_SPLITLOOPSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {

/// `factor` * k + `rest` at 32 bits, with a rest that is the same in all
/// iterations.
struct Linear {
  int64_t factor;
  Value rest;
};

/// Iterations from `begin` to `end` (exclusive), as numbers of 64 bits; null is
/// where the loop begins or ends.
struct Iterations {
  Value begin, end;
};

/// Computes in front of a loop when conditions in it are false.
class FalseIterations {
public:
  explicit FalseIterations(PipelinedOp loop)
      : loop(loop), builder(loop), loc(loop.getLoc()) {}

  /// Iterations in which `condition` is false. None if they are not known.
  std::optional<Iterations> of(Value condition) {
    if (auto compare = condition.getDefiningOp<arith::CmpIOp>())
      if (std::optional<Iterations> found = ofComparison(compare))
        return found;
    if (auto either = condition.getDefiningOp<arith::OrIOp>()) {
      std::optional<Iterations> a = of(either.getLhs()),
                                b = of(either.getRhs());
      if (!a || !b)
        return std::nullopt;
      return Iterations{combine<arith::MaxSIOp>(a->begin, b->begin),
                        combine<arith::MinSIOp>(a->end, b->end)};
    }
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      std::optional<Iterations> a = of(both.getLhs());
      return a ? a : of(both.getRhs());
    }
    if (Value same = hoist(condition))
      return Iterations{Value(),
                        arith::SelectOp::create(builder, loc, same, wide(0),
                                                wide(kGreatest))};
    return std::nullopt;
  }

private:
  static constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();

  template <typename Op>
  Value combine(Value a, Value b) {
    return a && b ? Op::create(builder, loc, a, b).getResult() : a ? a : b;
  }

  Value wide(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }

  Value widen(Value value) {
    Type type = builder.getI64Type();
    return value.getType().isIndex()
               ? arith::IndexCastOp::create(builder, loc, type, value)
                     .getResult()
               : arith::ExtSIOp::create(builder, loc, type, value).getResult();
  }

  /// An index, or a number of as many bits.
  static bool has32Bits(Type type) {
    return type.isIndex() || type.isInteger(32);
  }

  /// `value` in front of the loop; null if it is not the same in all
  /// iterations.
  Value hoist(Value value) {
    if (loop.getBody().isAncestor(value.getParentRegion())) {
      Operation *op = value.getDefiningOp();
      if (Value done = mapping.lookupOrNull(value))
        return done;
      if (!op || op->getNumRegions() != 0 || op->getNumResults() != 1 ||
          !isPure(op) || !llvm::all_of(op->getOperands(), [&](Value operand) {
            return !!hoist(operand);
          }))
        return Value();
      return builder.clone(*op, mapping)->getResult(0);
    }
    mapping.map(value, value);
    return value;
  }

  /// What `value` is of the loop's index. None if it is no such sum.
  std::optional<Linear> split(Value value) {
    if (value == loop.getBody().getArgument(0))
      return Linear{1, arith::ConstantIndexOp::create(builder, loc, 0)};
    if (!has32Bits(value.getType()))
      return std::nullopt;
    if (Value rest = hoist(value))
      return Linear{0, rest};
    Operation *op = value.getDefiningOp();
    if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op)) {
      std::optional<Linear> sum = split(cast.getIn());
      if (sum)
        sum->rest = arith::IndexCastOp::create(builder, loc, value.getType(),
                                               sum->rest);
      return sum;
    }
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return std::nullopt;
    std::optional<Linear> a = split(op->getOperand(0)),
                          b = split(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return checked(a->factor + b->factor,
                     arith::AddIOp::create(builder, loc, a->rest, b->rest));
    if (isa<arith::SubIOp>(op))
      return checked(a->factor - b->factor,
                     arith::SubIOp::create(builder, loc, a->rest, b->rest));
    std::optional<int64_t> by = getConstantIntValue(op->getOperand(1));
    if (!by || *by != static_cast<int32_t>(*by))
      return std::nullopt;
    return checked(a->factor * *by,
                   arith::MulIOp::create(builder, loc, a->rest, b->rest));
  }

  static std::optional<Linear> checked(int64_t factor, Value rest) {
    if (factor != static_cast<int32_t>(factor))
      return std::nullopt;
    return Linear{factor, rest};
  }

  /// The predicate of `b ? a` where `predicate` is that of `a ? b`.
  static arith::CmpIPredicate turn(arith::CmpIPredicate predicate) {
    switch (predicate) {
    case arith::CmpIPredicate::sgt:
      return arith::CmpIPredicate::slt;
    case arith::CmpIPredicate::sge:
      return arith::CmpIPredicate::sle;
    case arith::CmpIPredicate::slt:
      return arith::CmpIPredicate::sgt;
    case arith::CmpIPredicate::sle:
      return arith::CmpIPredicate::sge;
    default:
      return predicate;
    }
  }

  std::optional<Iterations> ofComparison(arith::CmpIOp compare) {
    if (!has32Bits(compare.getLhs().getType()))
      return std::nullopt;
    if (Value bound = hoist(compare.getRhs()))
      return ofComparison(compare.getLhs(), compare.getPredicate(), bound);
    if (Value bound = hoist(compare.getLhs()))
      return ofComparison(compare.getRhs(), turn(compare.getPredicate()),
                          bound);
    return std::nullopt;
  }

  std::optional<Iterations>
  ofComparison(Value value, arith::CmpIPredicate predicate, Value bound) {
    bool isAbove = predicate == arith::CmpIPredicate::sgt ||
                   predicate == arith::CmpIPredicate::sge;
    bool isBelow = predicate == arith::CmpIPredicate::slt ||
                   predicate == arith::CmpIPredicate::sle;
    std::optional<Linear> sum =
        isAbove || isBelow ? split(value) : std::nullopt;
    if (!sum || sum->factor <= 0)
      return std::nullopt;
    // The least k for which the sum is above the bound, or the bound itself.
    bool reaches = predicate == arith::CmpIPredicate::sge ||
                   predicate == arith::CmpIPredicate::slt;
    Value factor = wide(sum->factor), rest = widen(sum->rest);
    Value room = arith::SubIOp::create(builder, loc, widen(bound), rest);
    room = arith::AddIOp::create(builder, loc, room,
                                 wide(sum->factor - (reaches ? 1 : 0)));
    room = arith::MaxSIOp::create(builder, loc, room, wide(0));
    Value least = arith::DivUIOp::create(builder, loc, room, factor);
    if (isAbove)
      return Iterations{Value(), least};
    Value last =
        arith::SubIOp::create(builder, loc, widen(loop.getUpper()), wide(1));
    last = arith::MulIOp::create(builder, loc, last, factor);
    last = arith::AddIOp::create(builder, loc, last, rest);
    Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                        last, wide(kGreatest));
    return Iterations{
        arith::SelectOp::create(builder, loc, wraps, wide(kGreatest), least),
        Value()};
  }

  PipelinedOp loop;
  OpBuilder builder;
  Location loc;
  IRMapping mapping;
};

} // namespace

/// True if `loop` may be several.
static bool canBeSplit(PipelinedOp loop) {
  return !loop.getBody()
              .walk([](Operation *op) {
                auto copy = dyn_cast<CopyOp>(op);
                return isa<AllocOp>(op) || (copy && copy.getMulticast())
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// True if `op` does nothing but arithmetic on elements.
static bool isMask(Operation *op) {
  auto guard = dyn_cast<scf::IfOp>(op);
  return guard && guard.getNumResults() == 0 && !guard.elseBlock() &&
         llvm::all_of(guard.thenBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isa<ParallelOp>(inner) || isPure(&inner);
                      });
}

/// Has a loop in front of `loop` do its iterations up to `end`, which has 64
/// bits. Returns where what is cloned is in it.
static IRMapping cutOff(PipelinedOp loop, Value end) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value upper = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                           loop.getUpper());
  end = arith::MinSIOp::create(builder, loc, end, upper);
  end = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), end);
  end = arith::MaxSIOp::create(builder, loc, end, loop.getLower());
  IRMapping mapping;
  auto before = cast<PipelinedOp>(builder.clone(*loop, mapping));
  before.getUpperMutable().assign(end);
  loop.getLowerMutable().assign(end);
  return mapping;
}

/// Takes `guard`, one of the ops of `loop`, out of a loop for the iterations in
/// which it is false, if they are known.
static void split(PipelinedOp loop, scf::IfOp guard) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLower());
  if (!lower || *lower < 0)
    return;
  std::optional<Iterations> iterations =
      FalseIterations(loop).of(guard.getCondition());
  if (!iterations)
    return;
  if (iterations->begin)
    cutOff(loop, iterations->begin);
  Operation *there = guard;
  if (iterations->end)
    there = cutOff(loop, iterations->end).lookup(there);
  there->erase();
}

namespace {
struct SplitLoopsPass : tl::impl::SplitLoopsPassBase<SplitLoopsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->hasAttr(kSpecializeAttr))
        continue;
      SmallVector<PipelinedOp> loops;
      kernel.walk([&](PipelinedOp loop) {
        if (getEngine(loop) == CopyEngine::Bulk && canBeSplit(loop))
          loops.push_back(loop);
      });
      for (PipelinedOp loop : loops)
        for (Operation &op : loop.getBody().front())
          if (isMask(&op)) {
            split(loop, cast<scf::IfOp>(op));
            break;
          }
    }
  }
};
} // namespace
