//===- Factors.cpp - Registers that wgmma reads ---------------------------===//
//
// See Factors.h.
//
//===----------------------------------------------------------------------===//

#include "Factors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/ThreadOps.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>

using namespace mlir;
using namespace tl;

namespace {
/// Values that may be the same registers, and how many rounds of loops older
/// one is than another.
class Classes {
public:
  explicit Classes(gpu::GPUFuncOp kernel) {
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  }

  /// The value that stands for all of the class, and the age by it.
  struct Member {
    Value leader;
    int age = 0;
  };

  Member find(Value value) const {
    Member found{value, 0};
    for (auto it = links.find(value); it != links.end();
         it = links.find(found.leader))
      found = {it->second.leader, found.age + it->second.age};
    return found;
  }

  /// Whether no two ways through loops give a value of the class two ages.
  bool hasAges(Value leader) const { return !ageless.contains(leader); }

  /// Indices are no registers of a factor. Constants, and what is arranged of
  /// them, may be made anew wherever they are needed, and would join all.
  bool isRegister(Value value) const {
    Operation *definer = value.getDefiningOp();
    return !value.getType().isIndex() && !constants.contains(value) &&
           !(definer && definer->hasTrait<OpTrait::ConstantLike>());
  }

private:
  /// `b` may be `a`, `rounds` rounds of a loop later.
  void join(Value a, Value b, int rounds = 0) {
    if (!isRegister(a) || !isRegister(b))
      return;
    Member ofA = find(a), ofB = find(b);
    int age = ofA.age + rounds - ofB.age;
    if (ofA.leader == ofB.leader) {
      if (age != 0)
        ageless.insert(ofA.leader);
      return;
    }
    links[ofB.leader] = {ofA.leader, age};
    if (ageless.contains(ofB.leader))
      ageless.insert(ofA.leader);
  }

  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                           loop.getYieldedValues(), loop.getResults())) {
        join(init, argument);
        join(yielded, argument, 1);
        // Behind a loop that may do nothing is what was before it, perhaps.
        join(hasRounds(loop) ? yielded : argument, result);
      }
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [init, yielded, argument] :
           llvm::zip_equal(loop.getInits(), loop.getYieldedValues(),
                           loop.getBeforeArguments())) {
        join(init, argument);
        join(yielded, argument, 1);
      }
      for (auto [passed, argument, result] :
           llvm::zip_equal(loop.getConditionOp().getArgs(),
                           loop.getAfterArguments(), loop.getResults())) {
        join(passed, argument);
        join(passed, result);
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (auto [i, result] : llvm::enumerate(branch.getResults()))
        for (Region *region : branch.getRegions())
          join(region->front().getTerminator()->getOperand(i), result);
    } else if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
      for (auto [value, result] :
           llvm::zip_equal(wait.getValues(), wait.getResults()))
        join(value, result);
    } else if (isComputed(op)) {
      follow(op);
    }
  }

  /// Whether a loop is known to have a round.
  static bool hasRounds(scf::ForOp loop) {
    std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound()),
                           end = getConstantIntValue(loop.getUpperBound());
    return begin && end && *begin < *end;
  }

  /// Constants stay some, also if they are arranged or rounded. What is made of
  /// one value alone, perhaps in several steps, counts as that value; of what
  /// it was in several rounds, such as a maximum so far and the one before, as
  /// the last of these.
  void follow(Operation *op) {
    llvm::SmallDenseSet<Value> of;
    for (Value operand : op->getOperands())
      if (isRegister(operand))
        of.insert(find(operand).leader);
    if (of.empty())
      constants.insert_range(op->getResults());
    if (arrangesElements(op))
      joinAll(op->getOperands(), op->getResults());
    else if (of.size() == 1)
      joinAll(findNewest(op->getOperands()), op->getResults());
  }

  void joinAll(ValueRange operands, ValueRange results) {
    for (Value operand : operands)
      for (Value result : results)
        join(operand, result);
  }

  /// Of operands of one class, one that was made last.
  Value findNewest(ValueRange operands) const {
    Value newest;
    for (Value operand : operands)
      if (isRegister(operand) &&
          (!newest || find(operand).age < find(newest).age))
        newest = operand;
    return newest;
  }

  static bool isComputed(Operation *op) {
    const ThreadOp *line = getThreadOp(op->getName().getStringRef());
    return line && (line->category == ThreadOp::Category::Arithmetic ||
                    line->category == ThreadOp::Category::Vector);
  }

  static bool arrangesElements(Operation *op) {
    return getThreadOp(op->getName().getStringRef())->category ==
           ThreadOp::Category::Vector;
  }

  /// From each value that stands for no class to another one of its class.
  llvm::DenseMap<Value, Member> links;
  /// Leaders, present and former.
  llvm::DenseSet<Value> ageless;
  llvm::DenseSet<Value> constants;
};
} // namespace

llvm::DenseMap<Value, unsigned> tl::sim::findFactors(gpu::GPUFuncOp kernel) {
  Classes classes(kernel);
  llvm::DenseMap<Value, unsigned> numbers;
  kernel.walk([&](WgmmaOp op) {
    if (op.hasRegisterA() && classes.isRegister(op.getA()))
      numbers.try_emplace(classes.find(op.getA()).leader, numbers.size() + 1);
  });
  llvm::DenseMap<Value, unsigned> factors;
  auto add = [&](Value value) {
    auto [leader, age] = classes.find(value);
    unsigned number = numbers.lookup(leader);
    if (!number)
      return;
    // Ages by a leader may be negative, and lie near zero.
    factors[value] = number << 8;
    if (classes.hasAges(leader))
      factors[value] |= std::clamp(age + 128, 0, 255);
  };
  kernel.walk([&](Operation *op) {
    if (auto wgmma = dyn_cast<WgmmaOp>(op))
      add(wgmma.getA());
    else if (auto wait = dyn_cast<WgmmaWaitOp>(op))
      llvm::for_each(wait.getValues(), add);
  });
  return factors;
}
