//===- Factors.cpp - Registers that wgmma reads ---------------------------===//
//
// See Factors.h.
//
//===----------------------------------------------------------------------===//

#include "Factors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/ThreadOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace tl;

namespace {
class Classes {
public:
  explicit Classes(gpu::GPUFuncOp kernel) {
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  }

  const void *getClass(Value value) const {
    return classes.getOrInsertLeaderValue(value.getAsOpaquePointer());
  }

  /// Indices are no registers of a factor. Constants, and what is arranged of
  /// them, may be made anew wherever they are needed, and would join all.
  bool isRegister(Value value) const {
    Operation *definer = value.getDefiningOp();
    return !value.getType().isIndex() && !constants.contains(value) &&
           !(definer && definer->hasTrait<OpTrait::ConstantLike>());
  }

private:
  void join(Value a, Value b) {
    if (isRegister(a) && isRegister(b))
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }

  template <typename... Ranges>
  void joinEach(Value first, Ranges... others) {
    (join(first, others), ...);
  }

  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                           loop.getYieldedValues(), loop.getResults()))
        joinEach(argument, init, yielded, result);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [init, yielded, argument] :
           llvm::zip_equal(loop.getInits(), loop.getYieldedValues(),
                           loop.getBeforeArguments()))
        joinEach(argument, init, yielded);
      for (auto [passed, argument, result] :
           llvm::zip_equal(loop.getConditionOp().getArgs(),
                           loop.getAfterArguments(), loop.getResults()))
        joinEach(passed, argument, result);
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

  /// Constants stay some, also if they are arranged or rounded. What is made of
  /// one value alone, perhaps in several steps, counts as that value.
  void follow(Operation *op) {
    llvm::SmallDenseSet<const void *> of;
    for (Value operand : op->getOperands())
      if (isRegister(operand))
        of.insert(getClass(operand));
    if (of.empty())
      constants.insert_range(op->getResults());
    if (of.size() == 1 || arrangesElements(op))
      for (Value operand : op->getOperands())
        for (Value result : op->getResults())
          join(operand, result);
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

  mutable llvm::EquivalenceClasses<const void *> classes;
  llvm::DenseSet<Value> constants;
};
} // namespace

llvm::DenseMap<Value, unsigned> tl::sim::findFactors(gpu::GPUFuncOp kernel) {
  Classes classes(kernel);
  llvm::DenseMap<const void *, unsigned> numbers;
  kernel.walk([&](WgmmaOp op) {
    if (op.hasRegisterA() && classes.isRegister(op.getA()))
      numbers.try_emplace(classes.getClass(op.getA()), numbers.size() + 1);
  });
  llvm::DenseMap<Value, unsigned> factors;
  auto add = [&](Value value) {
    if (unsigned number = numbers.lookup(classes.getClass(value)))
      factors[value] = number;
  };
  kernel.walk([&](Operation *op) {
    if (auto wgmma = dyn_cast<WgmmaOp>(op))
      add(wgmma.getA());
    else if (auto wait = dyn_cast<WgmmaWaitOp>(op))
      llvm::for_each(wait.getValues(), add);
  });
  return factors;
}
