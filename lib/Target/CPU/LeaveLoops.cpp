//===- LeaveLoops.cpp - Loops that LLVM is not to vectorise ---------------===//
//
// See LeaveLoops.h.
//
//===----------------------------------------------------------------------===//

#include "LeaveLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
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

/// True for the low bits of a number, fewer than 32: `t % 8`, or one that went
/// through a narrower type.
static bool keepsLowBits(llvm::Instruction *instruction) {
  if (instruction->getOpcode() == llvm::Instruction::And)
    if (auto *mask = dyn_cast<ConstantInt>(instruction->getOperand(1)))
      return mask->getValue().isMask() && mask->getValue().isIntN(31);
  return isa<TruncInst>(instruction) &&
         instruction->getType()->getIntegerBitWidth() < 32;
}

/// True if an address in `loop` is computed of low bits of what the loop
/// computes. LLVM 22.1 takes such an index for one that grows in each
/// iteration, on the condition that it does not wrap, and loses the condition
/// where it has others to check: `B[t + n] = A[t % 8]` read `A[t]`.
static bool comesBack(Loop &loop) {
  SmallPtrSet<llvm::Instruction *, 16> seen;
  SmallVector<llvm::Instruction *> worklist;
  auto ask = [&](llvm::Value *value) {
    auto *instruction = dyn_cast<llvm::Instruction>(value);
    if (instruction && loop.contains(instruction) &&
        instruction->getType()->isIntegerTy() &&
        !isa<PHINode, LoadInst>(instruction) && seen.insert(instruction).second)
      worklist.push_back(instruction);
  };
  for (BasicBlock *block : loop.blocks())
    for (llvm::Instruction &instruction : *block)
      if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
        for (llvm::Value *index : address->indices())
          ask(index);
  while (!worklist.empty()) {
    llvm::Instruction *instruction = worklist.pop_back_val();
    if (keepsLowBits(instruction))
      return true;
    for (llvm::Value *operand : instruction->operands())
      ask(operand);
  }
  return false;
}

PreservedAnalyses LeaveLoopsPass::run(Function &function,
                                      FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (loop->isInnermost() && (comesBack(*loop) || takesTooLong(*loop, loops)))
      addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
  return PreservedAnalyses::all();
}
