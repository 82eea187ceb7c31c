//===- VerifyStatements.cpp - Check which statements have a meaning -------===//
//
// The one check, for all targets, of what the rules of the language
// (docs/language/semantics.md) refuse in the body of a kernel:
//
//   S4  tile ops and barriers where only some threads go, or with operands that
//       differ between threads;
//   P1  tile ops in a parallel loop, whose body is a program of scalars, and
//       iterations that ask which thread runs them;
//   P3  a variable that is read after a parallel loop whose iterations assigned
//       it;
//   S11 barriers of a cluster that not all blocks come to, and what no such
//       barrier orders (VerifyClusters.h).
//
// It runs on the program as the user wrote it, before anything is rewritten or
// simplified, so that it does not depend on the target or on an optimisation,
// and names things as the user did. What it lets pass,
// `tl-normalize-statements` and `tl-privatize-variables` can rewrite.
//
//===----------------------------------------------------------------------===//

#include "VerifyClusters.h"

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYSTATEMENTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// What the user calls a buffer, for the middle of a sentence.
static std::string describe(Value buffer) {
  StringAttr given = getGivenName(buffer.getLoc());
  return given ? ("`" + given.getValue() + "`").str() : "a variable";
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// What `value` is made of, or decided by.
static SmallVector<Value> getSources(Value value) {
  SmallVector<Value> sources;
  auto addDeciders = [&](Operation *op) {
    for (; op && !isa<KernelOp, gpu::GPUFuncOp>(op); op = op->getParentOp())
      llvm::append_range(sources, getDeciders(op));
  };
  Operation *op = value.getDefiningOp();
  if (!op)
    op = value.getParentRegion()->getParentOp();
  addDeciders(op);
  llvm::append_range(sources, op->getOperands());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(sources, block.getTerminator()->getOperands());
  if (Value variable = getReadVariable(op))
    sources.push_back(variable);
  if (isa<AllocOp>(op))
    for (Operation *user : value.getUsers())
      if (getAssignedVariable(user) == value) {
        llvm::append_range(sources, user->getOperands());
        addDeciders(user);
      }
  return sources;
}

/// Adds a note at a `gpu.thread_id` because of which `values` differ.
static void noteThread(InFlightDiagnostic &diag, SmallVector<Value> values,
                       const ThreadDependence &dependence) {
  llvm::SmallDenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (!dependence.depends(value) || !seen.insert(value).second)
      continue;
    if (auto thread = value.getDefiningOp<gpu::ThreadIdOp>()) {
      diag.attachNote(thread.getLoc()) << "it comes from the thread's number";
      return;
    }
    llvm::append_range(values, getSources(value));
  }
}

/// Refuses ops of the whole block in `divergent`, where only some threads go.
static LogicalResult verifyDivergent(Operation *divergent,
                                     const ThreadDependence &dependence) {
  WalkResult result = divergent->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == divergent || isScalarOp(op))
      return WalkResult::advance();
    InFlightDiagnostic diag = op->emitOpError(
        "is executed by the whole block, and stands where only some of its "
        "threads go; take it out of the control flow, or let a condition "
        "decide "
        "that is the same for all threads");
    diag.attachNote(divergent->getLoc())
        << "what decides here differs between threads";
    noteThread(diag, getDeciders(divergent), dependence);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult refuseThread(Operation *op, ValueRange values,
                                  const ThreadDependence &dependence) {
  InFlightDiagnostic diag =
      op->emitOpError("is executed by the whole block, and is given a value "
                      "that differs between threads; use values that are the "
                      "same for all, or write it as loads and stores of "
                      "elements");
  noteThread(diag, SmallVector<Value>(values), dependence);
  return diag;
}

/// The body of a parallel loop is a program of scalars that does not know on
/// which thread it runs.
static LogicalResult verifyBody(ParallelOp loop,
                                const ThreadDependence &dependence) {
  auto refuse = [&](Operation *op, ValueRange values) {
    InFlightDiagnostic diag =
        op->emitError("an iteration of `tl.parallel` cannot use what differs "
                      "between threads: "
                      "it runs on any of them; use the loop's index instead");
    diag.attachNote(loop.getLoc()) << "the loop is here";
    noteThread(diag, SmallVector<Value>(values), dependence);
    return WalkResult::interrupt();
  };
  WalkResult result = loop.getBody().walk([&](Operation *op) {
    if (!isScalarOp(op)) {
      InFlightDiagnostic diag = op->emitOpError(
          "is executed by the whole block, and cannot stand in `tl.parallel`, "
          "whose body is a program of scalars; put it before or after the "
          "loop, "
          "or write it as loads and stores of elements");
      diag.attachNote(loop.getLoc()) << "the loop is here";
      return WalkResult::interrupt();
    }
    if (auto alloc = dyn_cast<AllocOp>(op);
        alloc && !isInSpace(alloc, Space::Private)) {
      InFlightDiagnostic diag = op->emitOpError(
          "allocates memory of the whole block in an iteration of "
          "`tl.parallel`; put it before the loop, or use `T.alloc_local`");
      diag.attachNote(loop.getLoc()) << "the loop is here";
      return WalkResult::interrupt();
    }
    if (isa<gpu::ThreadIdOp>(op))
      return refuse(op, {});
    for (Value operand : op->getOperands())
      if (!isa<MemRefType>(operand.getType()) && dependence.depends(operand))
        return refuse(op, operand);
    Value variable = getReadVariable(op);
    if (variable && dependence.depends(variable) &&
        findReadBeforeAssignment(loop.getBody().front(), variable,
                                 ElementStore::AssignsOne) == op)
      return refuse(op, variable);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyThreads(Region &kernel) {
  ThreadDependence dependence(kernel);
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<ParallelOp>(op))
      return failed(verifyBody(loop, dependence)) ? WalkResult::interrupt()
                                                  : WalkResult::skip();
    if (!dependence.isPerThread(op) || isa<AllocOp>(op))
      return WalkResult::advance();
    if (op->getNumRegions() != 0)
      return failed(verifyDivergent(op, dependence)) ? WalkResult::interrupt()
                                                     : WalkResult::skip();
    if (isScalarOp(op))
      return WalkResult::advance();
    return failed(refuseThread(op, op->getOperands(), dependence))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

namespace {
/// Follows the statements of a kernel and keeps the variables that iterations
/// of a parallel loop have assigned and no statement since.
class VariableFlow {
public:
  LogicalResult visit(Block &block) {
    for (Operation &op : block)
      if (failed(visit(&op)))
        return failure();
    return success();
  }

private:
  using State = llvm::MapVector<Value, ParallelOp>;

  LogicalResult visit(Operation *op) {
    if (auto loop = dyn_cast<ParallelOp>(op))
      return visitParallel(loop);
    if (Value read = getReadVariable(op); read && lost.contains(read))
      return refuse(op, read);
    if (Value assigned = getAssignedVariable(op))
      lost.erase(assigned);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return visitBranch(branch);
    // A loop's second iteration begins with what the first one leaves.
    for (int pass = 0; pass < 2; ++pass)
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (failed(visit(block)))
            return failure();
    return success();
  }

  LogicalResult visitBranch(scf::IfOp branch) {
    State before = lost;
    if (failed(visit(*branch.thenBlock())))
      return failure();
    std::swap(before, lost);
    if (branch.elseBlock() && failed(visit(*branch.elseBlock())))
      return failure();
    for (auto &[variable, loop] : before)
      lost.insert({variable, loop});
    return success();
  }

  LogicalResult visitParallel(ParallelOp loop) {
    for (auto [variable, assigner] : lost)
      if (Operation *read = findReadBeforeAssignment(
              loop.getBody().front(), variable, ElementStore::AssignsAll))
        return refuse(read, variable);
    for (Value variable : getAssignedVariables(loop))
      lost.insert({variable, loop});
    return success();
  }

  LogicalResult refuse(Operation *read, Value variable) {
    InFlightDiagnostic diag =
        read->emitError("reads ")
        << describe(variable)
        << ", which a parallel loop before has assigned: each of its "
           "iterations "
           "has a variable of its own, whose value is gone after the loop; to "
           "combine what iterations compute, write it to a fragment and use "
           "`T.reduce_sum` or its kin, or assign the variable again before "
           "reading it";
    diag.attachNote(lost[variable].getLoc()) << "the parallel loop is here";
    return diag;
  }

  State lost;
};
} // namespace

static LogicalResult verifyKernel(Operation *op) {
  Region &kernel = op->getRegion(0);
  if (kernel.empty())
    return success();
  if (failed(verifyThreads(kernel)) || failed(verifyClusters(op)))
    return failure();
  return VariableFlow().visit(kernel.front());
}

namespace {
struct VerifyStatementsPass
    : tl::impl::VerifyStatementsPassBase<VerifyStatementsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!isa<KernelOp, gpu::GPUFuncOp>(op))
        return WalkResult::advance();
      return failed(verifyKernel(op)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
