//===- DelayedGemm.cpp - Gemms done an iteration late ---------------------===//
//
// In a loop whose gemms depend on each other by way of other arithmetic, such
// as
//
//     s = A * B(k);  p = f(s);  o += p * C(k)
//
// the tensor cores idle while `f` is computed. It is done beside the last
// product if that is moved over the end of its iteration, behind the start of
// the next one's first product:
//
//     s = A * B(k);  o += p * C(k - 1);  p = f(s)
//
// The loop then begins with its second iteration; the first one has no product
// of an iteration before, and that of the last one comes after the loop.
//
// No statement can tell if the gemm is moved over statements only that do not
// touch its accumulator and do not write its operands: it does nothing else
// than to read these and to change that. They must be the same buffers in each
// iteration. So the last gemm of the body is moved
//
//  - over all that follows it in its iteration, and
//  - in the next one over all that comes before the first use of what an
//    asynchronous gemm there has computed, which is where the block would wait.
//
// An operand that a copy ahead fills is another slot in each iteration, and
// waits in its slot for the gemm. It must be read by nothing else: then it has
// a pipe of its own, whose slots are given back an iteration later than those
// of the others. ExpandPipeline.cpp makes that; overlapping and verifying
// products is done on what it makes.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/DelayedGemm.h"

#include "tl/Dialect/TL/IR/Pipes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

bool tl::isAsync(GemmOp gemm) {
  return gemm.getPlan() &&
         gemm.getPlan()->getInstruction() == Instruction::WGMMA;
}

namespace {
/// What is known of a loop, or expected of it.
struct Facts {
  PipelinedOp loop;
  std::optional<CopyEngine> engine;
  ArrayRef<CopyOp> copies; ///< that run ahead
  function_ref<bool(GemmOp)> isAsync;
};
} // namespace

/// True if `op`, or an op in it, has `buffer` or a view of it as an operand;
/// with `onlyWrites`, if it may write it.
static bool touches(Operation *op, Value buffer, bool onlyWrites) {
  return op
      ->walk([&](Operation *inner) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
        for (Value operand : inner->getOperands()) {
          if (!isa<MemRefType>(operand.getType()) ||
              getBuffer(operand) != buffer || isa<SlotOp>(inner))
            continue;
          if (!onlyWrites || !effects ||
              effects.getEffectOnValue<MemoryEffects::Write>(operand))
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if `gemm` cannot be moved over `op`.
static bool conflicts(Operation *op, GemmOp gemm) {
  return touches(op, gemm.getAcc(), /*onlyWrites=*/false) ||
         touches(op, getBuffer(gemm.getA()), /*onlyWrites=*/true) ||
         touches(op, getBuffer(gemm.getB()), /*onlyWrites=*/true);
}

/// What the loop does when its copies run ahead, in order.
static SmallVector<Operation *> getStatements(const Facts &facts) {
  SmallVector<Operation *> statements;
  PipelinedOp loop = facts.loop;
  for (Operation &op : loop.getBody().front().without_terminator())
    if (auto copy = dyn_cast<CopyOp>(op);
        !copy || !llvm::is_contained(facts.copies, copy))
      statements.push_back(&op);
  return statements;
}

/// The first of `statements` that uses what an asynchronous gemm among them has
/// computed; null if none does.
static Operation *findFirstUse(ArrayRef<Operation *> statements,
                               function_ref<bool(GemmOp)> isAsync) {
  SmallVector<Value> started;
  for (Operation *op : statements) {
    auto gemm = dyn_cast<GemmOp>(op);
    bool isGemm = gemm && isAsync(gemm);
    for (Value acc : started)
      if (isGemm ? gemm.getA() == acc : touches(op, acc, /*onlyWrites=*/false))
        return op;
    if (isGemm)
      started.push_back(gemm.getAcc());
  }
  return nullptr;
}

/// True if a copy that runs ahead fills `buffer`.
static bool isFilledAhead(const Facts &facts, Value buffer) {
  return llvm::any_of(facts.copies,
                      [&](CopyOp copy) { return copy.getTarget() == buffer; });
}

/// Why `gemm`, the last one of the loop, must be done before the next iteration
/// comes to `next`; empty if it need not.
static std::string whyNotDelayed(const Facts &facts, GemmOp gemm,
                                 Operation *next) {
  PipelinedOp loop = facts.loop;
  SmallVector<Operation *> statements = getStatements(facts);
  auto at = llvm::find(statements, gemm);
  if (facts.engine != CopyEngine::Bulk)
    return "the loop's copies do not use the bulk copy engine";
  for (Value operand : {gemm.getA(), gemm.getB(), gemm.getAcc()})
    if (loop.getBody().isAncestor(operand.getParentRegion()))
      return "an operand is a part of a buffer that each iteration chooses";
  for (Operation *op : ArrayRef(at + 1, statements.end()))
    if (conflicts(op, gemm))
      return "its iteration goes on to use what it computes";
  for (Operation *op : statements) {
    if (op == next)
      break;
    if (conflicts(op, gemm))
      return "the next iteration uses what it computes, or changes an operand, "
             "before it has a product of its own to wait for";
  }
  SmallVector<Value> late;
  for (Value operand : {gemm.getA(), gemm.getB()})
    if (isFilledAhead(facts, operand))
      late.push_back(operand);
  if (late.empty())
    return "no copy that runs ahead fills its operands";
  for (Value buffer : late)
    for (Operation *op : statements)
      if (op != gemm && touches(op, buffer, /*onlyWrites=*/false))
        return "another statement reads the tile that is copied for it";
  bool hasOthers = llvm::any_of(facts.copies, [&](CopyOp copy) {
    return !llvm::is_contained(late, copy.getTarget());
  });
  if (!hasOthers)
    return "no copy that runs ahead is for the products before it";
  bool hasInner = loop.getBody()
                      .walk([](PipelinedOp) { return WalkResult::interrupt(); })
                      .wasInterrupted();
  return hasInner ? "the loop has another pipelined loop in it" : "";
}

static std::optional<DelayedGemm> find(const Facts &facts,
                                       std::string &reason) {
  reason.clear();
  SmallVector<Operation *> statements = getStatements(facts);
  GemmOp last;
  for (Operation *op : statements)
    if (auto gemm = dyn_cast<GemmOp>(op))
      last = gemm;
  if (!last || !facts.isAsync(last))
    return std::nullopt;
  // What comes before it, for otherwise its own product would be waited for.
  auto at = llvm::find(statements, last);
  Operation *next =
      findFirstUse(ArrayRef(statements.begin(), at), facts.isAsync);
  if (!next)
    return std::nullopt;
  reason = whyNotDelayed(facts, last, next);
  if (!reason.empty())
    return std::nullopt;
  auto end = llvm::find_if(ArrayRef(llvm::find(statements, next), at),
                           [&](Operation *op) { return conflicts(op, last); });
  return DelayedGemm{last, next, end == at ? nullptr : *end};
}

std::optional<DelayedGemm> DelayedGemm::of(PipelinedOp loop,
                                           std::string &reason) {
  SmallVector<CopyOp> copies(
      llvm::make_filter_range(loop.getBody().getOps<CopyOp>(), runsAhead));
  return find({loop, getEngine(loop), copies, tl::isAsync}, reason);
}

std::optional<DelayedGemm>
DelayedGemm::expect(PipelinedOp loop, CopyEngine engine,
                    ArrayRef<CopyOp> copies, function_ref<bool(GemmOp)> isAsync,
                    std::string &reason) {
  return find({loop, engine, copies, isAsync}, reason);
}
