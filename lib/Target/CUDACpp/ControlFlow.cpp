//===- ControlFlow.cpp - Regions, loops and branches ----------------------===//
//
// A loop's carried values are variables declared before it. Its yield assigns
// them all at once in the IR; here an assignment waits for those that read what
// it overwrites.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "tl/Dialect/TL/IR/Calls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void KernelPrinter::printBlock(Block &block) {
  for (Operation &op : block) {
    if (failed)
      return;
    printOp(&op);
  }
}

/// The variable that element by element `op` may overwrite while it reads it.
static Value getUpdated(Operation *op) {
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType() &&
        !operand.getDefiningOp<arith::ConstantOp>())
      return operand;
  return nullptr;
}

void KernelPrinter::printOp(Operation *op) {
  if (plan.isFolded(op) || isOpTriviallyDead(op))
    return;
  if (printControlFlow(op) || printVectorStatement(op) ||
      printMemoryStatement(op) || printThreadStatement(op) ||
      printCopyStatement(op) || printMatrixStatement(op))
    return;
  if (op->getNumResults() == 0) {
    fail(op) << "has no form in CUDA C++";
    return;
  }
  if (auto call = dyn_cast<CallSourceOp>(op))
    callSource(call);
  if (!isLaneByLane(op)) {
    for (OpResult result : op->getResults())
      if (!result.use_empty())
        define(result, print(op, result.getResultNumber(), ""));
    return;
  }
  for (OpResult result : op->getResults()) {
    Value updated = op->getNumResults() == 1 ? getUpdated(op) : Value();
    if (updated && variables.contains(updated) && diesAt(op, updated)) {
      variables[result] = variables.lookup(updated);
    } else {
      std::string type = getValueType(result.getType());
      statement(op, type + " " + bind(result));
    }
    if (op->getNumResults() == 1)
      printLanes(op, variables.lookup(result));
    else
      for (int64_t i = 0,
                   e = cast<VectorType>(result.getType()).getNumElements();
           i < e; ++i)
        line(variables.lookup(result) + "[" + std::to_string(i) + "] = " +
             print(op, result.getResultNumber(), std::to_string(i)).text + ";");
  }
}

bool KernelPrinter::printControlFlow(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop), true;
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return printWhile(loop), true;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return printIf(branch), true;
  if (isa<gpu::ReturnOp>(op)) {
    if (op->getNumOperands() == 1)
      statement(op, "return " + get(op->getOperand(0)).text);
    return true;
  }
  // The op that the region belongs to prints these.
  return isa<scf::YieldOp, scf::ConditionOp>(op);
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

void KernelPrinter::collectReads(Value value, llvm::StringSet<> &reads) {
  auto it = variables.find(value);
  if (it != variables.end()) {
    reads.insert(it->second);
    return;
  }
  if (Operation *op = value.getDefiningOp())
    for (Value operand : op->getOperands())
      collectReads(operand, reads);
}

void KernelPrinter::assignAll(Operation *at, ArrayRef<std::string> targets,
                              ValueRange values) {
  struct Assignment {
    std::string target;
    Value value;
    llvm::StringSet<> reads;
  };
  SmallVector<Assignment> pending;
  for (auto [target, value] : llvm::zip_equal(targets, values)) {
    if (variables.lookup(lookThroughAliases(value)) == target)
      continue;
    pending.push_back({target, value, {}});
    collectReads(value, pending.back().reads);
  }
  auto isRead = [&](const Assignment &one) {
    return llvm::any_of(pending, [&](const Assignment &other) {
      return &other != &one && other.reads.contains(one.target);
    });
  };
  while (!pending.empty()) {
    auto *free = llvm::find_if_not(pending, isRead);
    if (free != pending.end()) {
      assign(at, free->target, free->value);
      pending.erase(free);
      continue;
    }
    // Each reads what another overwrites: keep all new values first.
    NameAllocator::Scope scope(names);
    SmallVector<std::string> kept;
    for (Assignment &one : pending) {
      kept.push_back(names.take("next_" + one.target));
      statement(at, "auto " + kept.back() + " = " + get(one.value).text);
    }
    for (auto [one, name] : llvm::zip_equal(pending, kept))
      statement(at, one.target + " = " + name);
    return;
  }
}

/// Declares, before `loop`, the variable of `argument` that starts as `init`.
std::string KernelPrinter::bindCarried(Value init, Value argument,
                                       Operation *loop) {
  if (isa<VectorType>(init.getType()) && variables.contains(init) &&
      diesAt(loop, init)) {
    std::string name = variables.lookup(init);
    variables[argument] = name;
    return name;
  }
  std::string type = getDeclaredType(argument);
  std::string text = getInitialiser(init);
  std::string name = bind(argument);
  statement(loop, type + name + " = " + text);
  return name;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// True for loops that threads go through together: the stages of a pipeline.
/// Their bodies overlap by what they start and wait for, and gain nothing from
/// being longer; CUDA's compilers would unroll them, LLVM does not.
static bool isInStep(Operation *loop) {
  return loop->walk([](gpu::BarrierOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void KernelPrinter::printUnrollHint(Operation *loop) {
  std::optional<unsigned> unrolling = getUnrolling(loop);
  if (!unrolling && isInStep(loop))
    unrolling = 1;
  if (unrolling)
    line(*unrolling == 0 ? "#pragma unroll"
                         : "#pragma unroll " + std::to_string(*unrolling));
}

void KernelPrinter::printFor(scf::ForOp loop) {
  SmallVector<std::string> carried;
  for (auto [init, argument, result] : llvm::zip_equal(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    carried.push_back(bindCarried(init, argument, loop));
    variables[result] = carried.back();
  }
  noteSource(loop);
  printUnrollHint(loop);
  NameAllocator::Scope scope(names);
  Value iv = loop.getInductionVar();
  Type type = iv.getType();
  bool isUnsigned = loop.getUnsignedCmp();
  auto bound = [&](Value value) {
    Expression text = get(value);
    return (isUnsigned ? asUnsigned(text, type) : asSigned(text, type)).text;
  };
  std::string wish = getWish(iv);
  std::string name = names.take(wish.empty() ? "k" : wish);
  variables[iv] = name;
  std::string step = matchPattern(loop.getStep(), m_One())
                         ? "++" + name
                         : name + " += " + bound(loop.getStep());
  open("for (" + getScalarType(type, isUnsigned) + " " + name + " = " +
       bound(loop.getLowerBound()) + "; " + name + " < " +
       bound(loop.getUpperBound()) + "; " + step + ")");
  printBlock(*loop.getBody());
  assignAll(loop.getBody()->getTerminator(), carried, loop.getYieldedValues());
  close();
}

void KernelPrinter::printWhile(scf::WhileOp loop) {
  SmallVector<std::string> before, after;
  for (auto [init, argument] :
       llvm::zip_equal(loop.getInits(), loop.getBeforeArguments()))
    before.push_back(bindCarried(init, argument, loop));
  // What the condition hands on: read by the body, and the results at the end.
  for (auto [result, argument] :
       llvm::zip_equal(loop.getResults(), loop.getAfterArguments())) {
    std::string type = getDeclaredType(result);
    std::string name = bind(result);
    statement(loop, type + name);
    variables[argument] = name;
    after.push_back(name);
  }
  noteSource(loop);
  NameAllocator::Scope scope(names);
  open("while (true)");
  printBlock(*loop.getBeforeBody());
  scf::ConditionOp condition = loop.getConditionOp();
  // The condition may read what handing on overwrites.
  Expression go = get(condition.getCondition());
  llvm::StringSet<> reads;
  collectReads(condition.getCondition(), reads);
  if (llvm::any_of(after, [&](const std::string &name) {
        return reads.contains(name);
      })) {
    std::string kept = names.take("go_on");
    statement(condition, "bool " + kept + " = " + go.text);
    go = Expression{kept};
  }
  assignAll(condition, after, condition.getArgs());
  open("if (!" + go.at(Binding::Unary) + ")");
  line("break;");
  close();
  printBlock(*loop.getAfterBody());
  assignAll(loop.getYieldOp(), before, loop.getYieldedValues());
  close();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

void KernelPrinter::printIf(scf::IfOp branch) {
  bool elseFirst =
      branch.getNumResults() != 0 && onlyYields(branch.elseBlock());
  SmallVector<std::string> results;
  for (OpResult result : branch.getResults()) {
    Value otherwise = branch.elseYield().getOperand(result.getResultNumber());
    Value source = lookThroughAliases(otherwise);
    // A branch that updates a value, or leaves it as it is.
    if (elseFirst && isa<VectorType>(result.getType()) &&
        variables.contains(source) && diesAt(branch.elseYield(), source)) {
      results.push_back(variables.lookup(source));
      variables[result] = results.back();
      continue;
    }
    std::string type = getDeclaredType(result);
    std::string init;
    if (elseFirst)
      init = " = " + getInitialiser(otherwise);
    results.push_back(bind(result));
    statement(branch, type + results.back() + init);
  }

  noteSource(branch);
  open("if (" + get(branch.getCondition()).text + ")");
  {
    NameAllocator::Scope scope(names);
    printBlock(*branch.thenBlock());
    if (!results.empty())
      assignAll(branch.thenYield(), results, branch.thenYield().getOperands());
  }
  if (branch.elseBlock() && !elseFirst && !onlyYields(branch.elseBlock())) {
    NameAllocator::Scope scope(names);
    --depth;
    open("} else");
    printBlock(*branch.elseBlock());
    if (!results.empty())
      assignAll(branch.elseYield(), results, branch.elseYield().getOperands());
  }
  close();
}
