//===- Accumulators.cpp - Registers that wgmma writes ---------------------===//
//
// See Accumulators.h. Sets of values are joined until nothing changes: an
// accumulator is found by its `wgmma`s, and grows along loops and branches.
//
//===----------------------------------------------------------------------===//

#include "Accumulators.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace tl;

namespace {
class Finder {
public:
  explicit Finder(gpu::GPUFuncOp kernel) : kernel(kernel) {}

  FailureOr<llvm::DenseMap<Value, unsigned>> find() {
    kernel.walk([&](WgmmaOp op) { add(op.getResult()); });
    do {
      hasChanged = false;
      kernel.walk([&](Operation *op) { visit(op); });
    } while (hasChanged);
    if (failed(check()))
      return failure();

    llvm::DenseMap<Value, unsigned> numbers;
    llvm::DenseMap<const void *, unsigned> sets;
    for (Value value : order)
      numbers[value] =
          sets.try_emplace(classes.getLeaderValue(key(value)), sets.size())
              .first->second;
    return numbers;
  }

private:
  static const void *key(Value value) { return value.getAsOpaquePointer(); }

  bool isKnown(Value value) const { return classes.contains(key(value)); }

  void add(Value value) {
    if (isKnown(value))
      return;
    classes.insert(key(value));
    order.push_back(value);
    hasChanged = true;
  }

  void join(Value a, Value b) {
    add(a);
    add(b);
    if (classes.isEquivalent(key(a), key(b)))
      return;
    classes.unionSets(key(a), key(b));
    hasChanged = true;
  }

  /// What is yielded under way is carried under way.
  void visit(Operation *op) {
    if (auto wgmma = dyn_cast<WgmmaOp>(op)) {
      if (isKnown(wgmma.getAcc()) && !isWaited(wgmma.getAcc()))
        join(wgmma.getAcc(), wgmma.getResult());
    } else if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
      for (auto [value, result] :
           llvm::zip_equal(wait.getValues(), wait.getResults()))
        if (isKnown(value))
          join(value, result);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                           loop.getYieldedValues(), loop.getResults()))
        carry({init, yielded}, {argument, result});
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [init, yielded, argument] :
           llvm::zip_equal(loop.getInits(), loop.getYieldedValues(),
                           loop.getBeforeArguments()))
        carry({init, yielded}, argument);
      for (auto [passed, argument, result] :
           llvm::zip_equal(loop.getConditionOp().getArgs(),
                           loop.getAfterArguments(), loop.getResults()))
        carry(passed, {argument, result});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (auto [i, result] : llvm::enumerate(branch.getResults()))
        for (Region *region : branch.getRegions())
          if (Value yielded = region->front().getTerminator()->getOperand(i);
              isUnderWay(yielded))
            join(yielded, result);
    }
  }

  /// `values` go to `places`. If one is under way all of them are one
  /// accumulator; but an initial value that is not is copied there.
  void carry(ArrayRef<Value> values, ArrayRef<Value> places) {
    Value first = places.front();
    if (llvm::none_of(values, [&](Value value) { return isUnderWay(value); }) &&
        !isUnderWay(first))
      return;
    for (Value place : places)
      join(first, place);
    // What comes last is the value of the iteration before.
    join(values.back(), first);
    for (Value value : values)
      if (isUnderWay(value))
        join(value, first);
  }

  static bool isWaited(Value value) {
    return value.getDefiningOp<WgmmaWaitOp>() != nullptr;
  }
  bool isUnderWay(Value value) const {
    return isKnown(value) && !isWaited(value);
  }

  /// Two values that one loop carries cannot be one accumulator.
  LogicalResult check() {
    WalkResult result = kernel.walk([&](scf::ForOp loop) {
      llvm::SmallPtrSet<const void *, 4> leaders;
      for (Value argument : loop.getRegionIterArgs())
        if (isKnown(argument) &&
            !leaders.insert(classes.getLeaderValue(key(argument))).second) {
          loop.emitOpError("carries one accumulator of `wgmma` twice, which "
                           "the simulator cannot follow");
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  gpu::GPUFuncOp kernel;
  llvm::EquivalenceClasses<const void *> classes;
  SmallVector<Value> order;
  bool hasChanged = false;
};
} // namespace

FailureOr<llvm::DenseMap<Value, unsigned>>
tl::sim::findAccumulators(gpu::GPUFuncOp kernel) {
  return Finder(kernel).find();
}
