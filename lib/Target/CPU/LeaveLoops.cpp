//===- LeaveLoops.cpp - Loops that LLVM cannot vectorise in time ----------===//
//
// See LeaveLoops.h.
//
//===----------------------------------------------------------------------===//

#include "LeaveLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;
using namespace tl;

/// Steps for one instruction, of which a processor does some ten millions in a
/// second, and of which a loop may have hundreds.
static constexpr uint64_t kMostSteps = 1 << 16;

namespace {
/// What it takes to ask whether a value is the same in all iterations.
struct Question {
  bool isSame;
  uint64_t steps;
};
} // namespace

/// True if that is asked of an instruction of `loop` in too many steps. The
/// operands of one are asked in turn, up to the first that may differ.
static bool takesTooLong(Loop &loop, LoopInfo &loops) {
  DenseMap<const Value *, Question> known;
  LoopBlocksRPO blocks(&loop);
  blocks.perform(&loops);
  for (BasicBlock *block : blocks)
    for (llvm::Instruction &instruction : *block) {
      Question question{!isa<PHINode>(instruction), 1};
      for (const Use &operand : instruction.operands()) {
        if (!question.isSame)
          break;
        auto found = known.find(operand.get());
        if (found == known.end())
          continue;
        question.isSame = found->second.isSame;
        question.steps = SaturatingAdd(question.steps, found->second.steps);
      }
      if (question.steps > kMostSteps)
        return true;
      known.insert({&instruction, question});
    }
  return false;
}

PreservedAnalyses LeaveLoopsPass::run(Function &function,
                                      FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (loop->isInnermost() && takesTooLong(*loop, loops))
      addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
  return PreservedAnalyses::all();
}
