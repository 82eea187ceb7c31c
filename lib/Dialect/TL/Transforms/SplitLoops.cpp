//===- SplitLoops.cpp - Do without a guard where it is false --------------===//
//
// A guard in a pipelined loop that is false up to some iteration, such as that
// of a causal mask, which cuts the last tiles only, is taken out of a first
// loop, and stays in a second one:
//
//     pipelined k = lower to upper {      pipelined k = lower to first {
//       compute                             compute
//       if (k + 1) * 128 > n { mask }       compute more
//       compute more                      }
//     }                              =>   pipelined k = first to upper {
//                                           compute
//                                           if (k + 1) * 128 > n { mask }
//                                           compute more
//                                         }
//
// What stands behind a guard holds registers in all iterations, and keeps the
// arithmetic around it apart. With a role for copies (`tl.specialize`) a second
// loop costs no time: its copies run ahead into it. Other kernels have their
// slots filled again in front of each loop, and are left alone.
//
// `first` is the least k for which the guard may be true, by arithmetic:
// a * k + b > c, with a > 0, is false up to k = (c - b) / a; the first of two
// such numbers for an `or`, the last one for an `and`.
//
// Sound because
//  - both loops together do the iterations of the one, in its order, as `first`
//    is brought between its bounds;
//  - indices and numbers of 32 bits wrap (I1). `first` is computed from b and c
//    as they are, with 64 bits; up to it a * k + b is not above c, and not
//    below b, since neither k nor a is negative: so it has not wrapped, and the
//    guard is false;
//  - b and c are the same in all iterations: arithmetic on values from outside
//    of the loop.
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

/// Computes in front of a loop from when on conditions in it may be true.
class FirstIteration {
public:
  explicit FirstIteration(PipelinedOp loop)
      : loop(loop), builder(loop), loc(loop.getLoc()) {}

  /// The first iteration, as 64 bits, for which `condition` may be true. Null
  /// if that is not known.
  Value of(Value condition) {
    if (auto compare = condition.getDefiningOp<arith::CmpIOp>())
      if (Value first = ofComparison(compare))
        return first;
    if (auto either = condition.getDefiningOp<arith::OrIOp>()) {
      Value a = of(either.getLhs()), b = of(either.getRhs());
      return a && b ? arith::MinSIOp::create(builder, loc, a, b) : Value();
    }
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      Value a = of(both.getLhs()), b = of(both.getRhs());
      return a && b ? arith::MaxSIOp::create(builder, loc, a, b).getResult()
             : a    ? a
                    : b;
    }
    Value same = hoist(condition);
    return same ? arith::SelectOp::create(builder, loc, same, wide(0),
                                          wide(kNever))
                : Value();
  }

private:
  static constexpr int64_t kNever = std::numeric_limits<int32_t>::max();

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

  /// Of a * k + b > c: the least k, which is not negative, that is greater than
  /// (c - b) / a.
  Value ofComparison(arith::CmpIOp compare) {
    Value above = compare.getLhs(), below = compare.getRhs();
    if (!has32Bits(above.getType()))
      return Value();
    bool orEqual = false;
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::sge:
      orEqual = true;
      break;
    case arith::CmpIPredicate::sgt:
      break;
    case arith::CmpIPredicate::sle:
      orEqual = true;
      [[fallthrough]];
    case arith::CmpIPredicate::slt:
      std::swap(above, below);
      break;
    default:
      return Value();
    }
    Value bound = hoist(below);
    std::optional<Linear> sum = bound ? split(above) : std::nullopt;
    if (!sum || sum->factor <= 0)
      return Value();
    Value room =
        arith::SubIOp::create(builder, loc, widen(bound), widen(sum->rest));
    room = arith::AddIOp::create(builder, loc, room,
                                 wide(sum->factor - (orEqual ? 1 : 0)));
    room = arith::MaxSIOp::create(builder, loc, room, wide(0));
    return arith::DivUIOp::create(builder, loc, room, wide(sum->factor));
  }

  PipelinedOp loop;
  OpBuilder builder;
  Location loc;
  IRMapping mapping;
};

} // namespace

/// True if `op` does nothing but arithmetic on elements.
static bool isMask(Operation *op) {
  auto guard = dyn_cast<scf::IfOp>(op);
  return guard && guard.getNumResults() == 0 && !guard.elseBlock() &&
         llvm::all_of(guard.thenBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isa<ParallelOp>(inner) || isPure(&inner);
                      });
}

/// Splits `loop` where `guard`, one of its ops, may first be true.
static void split(PipelinedOp loop, scf::IfOp guard) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLower());
  if (!lower || *lower < 0)
    return;
  Value first = FirstIteration(loop).of(guard.getCondition());
  if (!first)
    return;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value end = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                         loop.getUpper());
  first = arith::MinSIOp::create(builder, loc, first, end);
  Value middle =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), first);
  middle = arith::MaxSIOp::create(builder, loc, middle, loop.getLower());

  IRMapping mapping;
  auto before = cast<PipelinedOp>(builder.clone(*loop, mapping));
  before.getUpperMutable().assign(middle);
  loop.getLowerMutable().assign(middle);
  mapping.lookup(guard.getOperation())->erase();
}

namespace {
struct SplitLoopsPass : tl::impl::SplitLoopsPassBase<SplitLoopsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->hasAttr(kSpecializeAttr))
        continue;
      SmallVector<PipelinedOp> loops;
      kernel.walk([&](PipelinedOp loop) {
        if (getEngine(loop) == CopyEngine::Bulk)
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
