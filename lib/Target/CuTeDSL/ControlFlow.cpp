//===- ControlFlow.cpp - Loops and branches -------------------------------===//
//
// What a loop carries and what a branch results in are variables that have a
// value before it, which CuTe DSL finds by itself. Python assigns several at
// once, as a yield does.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using namespace tl::cutedsl;

void KernelPrinter::printBlock(Block &block) {
  bool isEmpty = true;
  for (Operation &op : block) {
    if (failed)
      return;
    if (!isWritten(&op) || isOpTriviallyDead(&op))
      continue;
    // The op that the region belongs to prints these.
    if (isa<scf::YieldOp, scf::ConditionOp, gpu::ReturnOp>(op))
      continue;
    printOp(&op);
    isEmpty = false;
  }
  if (isEmpty && block.getTerminator()->getNumOperands() == 0)
    line("pass");
}

void KernelPrinter::printOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return printWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return printIf(branch);
  if (printStatement(op))
    return;
  if (op->getNumResults() != 1)
    return failFor(op);
  define(op->getResult(0), print(op));
}

/// True if CuTe DSL carries values of these types.
bool KernelPrinter::checkCarried(Operation *op, TypeRange types) {
  if (llvm::none_of(types, [](Type type) {
        return isa<LLVM::LLVMPointerType, LLVM::LLVMStructType>(type);
      }))
    return true;
  fail(op) << "carries a pointer, which has no form in CuTe DSL here; the "
              "backends `nvptx` and `nvrtc` have one";
  return false;
}

std::string KernelPrinter::declare(Operation *at, Value value,
                                   const Expression &init) {
  std::string name = bind(value, "carried");
  statement(at, name + " = " + init.text);
  return name;
}

void KernelPrinter::assignAll(Operation *at, ArrayRef<std::string> targets,
                              ValueRange values) {
  SmallVector<std::string> left, right;
  for (auto [target, value] : llvm::zip_equal(targets, values)) {
    std::string text = get(value).text;
    if (text == target)
      continue;
    left.push_back(target);
    right.push_back(text);
  }
  if (!left.empty())
    statement(at, llvm::join(left, ", ") + " = " + llvm::join(right, ", "));
  else if (!targets.empty())
    line("pass");
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The argument of `cutlass.range` that says how to unroll `loop`.
static std::string getUnrollArgument(scf::ForOp loop) {
  std::optional<unsigned> unrolling = getUnrolling(loop);
  if (!unrolling)
    return "";
  return *unrolling == 0 ? ", unroll_full=True"
                         : ", unroll=" + std::to_string(*unrolling);
}

void KernelPrinter::printFor(scf::ForOp loop) {
  Type type = loop.getInductionVar().getType();
  if (loop.getUnsignedCmp() || getScalarType(type) != "Int32") {
    fail(loop) << "counts in " << type
               << (loop.getUnsignedCmp() ? " without sign" : "")
               << "; `cutlass.range` counts in 32 bits with sign";
    return;
  }
  if (!checkCarried(loop, loop.getResultTypes()))
    return;
  SmallVector<std::string> carried;
  for (auto [init, argument, result] : llvm::zip_equal(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    carried.push_back(declare(loop, argument, get(init)));
    variables[result] = carried.back();
  }
  SmallVector<Expression> bounds = {getLiteral(loop.getLowerBound()),
                                    getLiteral(loop.getUpperBound()),
                                    getLiteral(loop.getStep())};
  bounds.back().text += getUnrollArgument(loop);
  std::string name = bind(loop.getInductionVar(), "k");
  statement(loop,
            "for " + name + " in " + call("cutlass.range", bounds).text + ":");
  ++depth;
  printBlock(*loop.getBody());
  assignAll(loop.getBody()->getTerminator(), carried, loop.getYieldedValues());
  --depth;
}

void KernelPrinter::printWhile(scf::WhileOp loop) {
  if (!checkCarried(loop, loop.getResultTypes()) ||
      !checkCarried(loop, loop.getInits().getTypes()))
    return;
  SmallVector<std::string> before;
  for (auto [init, argument] :
       llvm::zip_equal(loop.getInits(), loop.getBeforeArguments()))
    before.push_back(declare(loop, argument, get(init)));
  // The condition's code runs ahead of the loop and at the end of its body.
  scf::ConditionOp condition = loop.getConditionOp();
  printBlock(*loop.getBeforeBody());
  std::string go = takeName("go");
  statement(condition, go + " = " + get(condition.getCondition()).text);
  SmallVector<std::string> after;
  for (auto [result, argument, value] : llvm::zip_equal(
           loop.getResults(), loop.getAfterArguments(), condition.getArgs())) {
    after.push_back(declare(condition, argument, get(value)));
    variables[result] = after.back();
  }
  statement(loop, "while " + go + ":");
  ++depth;
  printBlock(*loop.getAfterBody());
  assignAll(loop.getYieldOp(), before, loop.getYieldedValues());
  printBlock(*loop.getBeforeBody());
  after.push_back(go);
  SmallVector<Value> values(condition.getArgs());
  values.push_back(condition.getCondition());
  assignAll(condition, after, values);
  --depth;
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// A value to have before a branch gives one.
static Expression getZero(Type type) {
  std::string scalar = getScalarType(type);
  std::string zero = isa<FloatType>(getElementTypeOrSelf(type)) ? "0.0" : "0";
  if (scalar == "Boolean")
    zero = "False";
  if (auto vector = dyn_cast<VectorType>(type))
    return call("cutlass.vector.full",
                {{std::to_string(vector.getNumElements())}, {zero}, {scalar}});
  return call(scalar, {{zero}});
}

void KernelPrinter::printIf(scf::IfOp branch) {
  if (!checkCarried(branch, branch.getResultTypes()))
    return;
  bool elseFirst =
      branch.getNumResults() != 0 && onlyYields(branch.elseBlock());
  SmallVector<std::string> results;
  for (OpResult result : branch.getResults()) {
    Expression init =
        elseFirst ? get(branch.elseYield().getOperand(result.getResultNumber()))
                  : getZero(result.getType());
    results.push_back(declare(branch, result, init));
  }
  statement(branch, "if " + get(branch.getCondition()).text + ":");
  ++depth;
  printBlock(*branch.thenBlock());
  if (!results.empty())
    assignAll(branch.thenYield(), results, branch.thenYield().getOperands());
  --depth;
  if (!branch.elseBlock() || elseFirst || onlyYields(branch.elseBlock()))
    return;
  line("else:");
  ++depth;
  printBlock(*branch.elseBlock());
  if (!results.empty())
    assignAll(branch.elseYield(), results, branch.elseYield().getOperands());
  --depth;
}
