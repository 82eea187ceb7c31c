//===- Descriptors.cpp - Where products find their tiles ------------------===//
//
// A warp has registers of its own beside those of its threads, and `wgmma`
// takes its descriptors from them. ptxas computes what descriptors are made of
// in these, too, if it can. One thing it is made of is where shared memory
// begins: a constant, of which LLVM's code generator makes one register for the
// whole kernel. Threads compute places of their own from it, so that it becomes
// a register of threads; and what is computed from it must be moved to those of
// the warp, for each product in each iteration (`R2UR`). So a loop has that
// constant from an assembly that stands before it.
//
// Sound because the assembly is the constant.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"

#include "tl/Conversion/TLToNVVM/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

static bool isWgmma(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  auto *assembly =
      call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && assembly->getAsmString().contains("wgmma.mma_async");
}

//===----------------------------------------------------------------------===//
// Few
//===----------------------------------------------------------------------===//

/// So many descriptors that are the same in all iterations may be kept for
/// them. Each takes a register or two, of those that accumulators are in.
static constexpr size_t kMostDescriptors = 16;

/// The sum, of something and a constant, that `value` is, if that is computed
/// in another block than it is used in; or null.
static BinaryOperator *getHoistedSum(Value *value, BasicBlock *block) {
  auto *sum = dyn_cast<BinaryOperator>(value);
  bool isSum = sum && (sum->getOpcode() == Instruction::Add ||
                       sum->getOpcode() == Instruction::Or);
  return isSum && sum->getType()->isIntegerTy(64) &&
                 isa<ConstantInt>(sum->getOperand(1)) &&
                 sum->getParent() != block
             ? sum
             : nullptr;
}

/// Has `call` compute its hoisted sums itself.
static void computeInside(CallInst &call) {
  auto &assembly = *cast<InlineAsm>(call.getCalledOperand());
  size_t numOutputs =
      count_if(assembly.ParseConstraints(), [](const auto &constraint) {
        return constraint.Type == InlineAsm::isOutput;
      });
  std::string sums;
  DenseMap<size_t, std::string> names; // by place
  for (Use &operand : call.args()) {
    auto *sum = getHoistedSum(operand, call.getParent());
    if (!sum)
      continue;
    size_t place = numOutputs + call.getArgOperandNo(&operand);
    std::string name = "d" + std::to_string(place);
    auto *constant = cast<ConstantInt>(sum->getOperand(1));
    sums += formatv(".reg .b64 {0};\n{1} {0}, ${2}, {3};\n", name,
                    sum->getOpcode() == Instruction::Add ? "add.s64" : "or.b64",
                    place, constant->getSExtValue());
    names[place] = name;
    operand.set(sum->getOperand(0));
  }
  std::string text;
  for (StringRef rest = assembly.getAsmString(); !rest.empty();) {
    auto [before, after] = rest.split('$');
    text += before;
    if (before.size() == rest.size())
      break;
    StringRef digits = after.take_while(isDigit);
    size_t place = 0;
    bool isPlace = !digits.getAsInteger(10, place);
    auto name = names.find(place);
    text += isPlace && name != names.end() ? name->second : "$" + digits.str();
    rest = after.drop_front(digits.size());
  }
  call.setCalledOperand(
      InlineAsm::get(assembly.getFunctionType(), "{\n" + sums + text + "\n}",
                     assembly.getConstraintString(), assembly.hasSideEffects(),
                     assembly.isAlignStack(), assembly.getDialect()));
}

void tl::keepFewDescriptors(Module &module) {
  SmallPtrSet<Value *, 32> hoisted;
  SmallVector<CallInst *> calls;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (!isWgmma(instruction))
        continue;
      calls.push_back(cast<CallInst>(&instruction));
      for (Use &operand : calls.back()->args())
        if (auto *sum = getHoistedSum(operand, instruction.getParent()))
          hoisted.insert(sum);
    }
  if (hoisted.size() <= kMostDescriptors)
    return;
  for (CallInst *call : calls)
    if (any_of(call->args(), [&](Use &operand) {
          return getHoistedSum(operand, call->getParent());
        }))
      computeInside(*call);
}

//===----------------------------------------------------------------------===//
// Uniform
//===----------------------------------------------------------------------===//

/// The innermost loops with products.
static SmallSetVector<Loop *, 4> findLoops(Function &function,
                                           const LoopInfo &loops) {
  SmallSetVector<Loop *, 4> found;
  for (Instruction &instruction : instructions(function))
    if (isWgmma(instruction))
      if (Loop *loop = loops.getLoopFor(instruction.getParent()))
        found.insert(loop);
  return found;
}

/// `constant`, which may be `shared` as a number, made of `base` instead; null
/// if it is something else, as a place in it that accesses have in themselves.
static Value *rebuild(Constant *constant, GlobalVariable *shared, Value *base,
                      IRBuilder<> &builder) {
  if (constant == shared)
    return base;
  auto *cast = dyn_cast<ConstantExpr>(constant);
  if (!cast || !cast->isCast())
    return nullptr;
  Value *source = rebuild(cast->getOperand(0), shared, base, builder);
  return source ? builder.CreateCast(Instruction::CastOps(cast->getOpcode()),
                                     source, cast->getType())
                : nullptr;
}

/// Computes `shared` in `before`, for what `loop` makes of it.
static void giveBase(Loop &loop, BasicBlock &before, GlobalVariable *shared) {
  IRBuilder<> builder(before.getTerminator());
  auto *type = FunctionType::get(shared->getType(), /*isVarArg=*/false);
  Value *base = builder.CreateCall(
      type,
      InlineAsm::get(type, formatv("mov.b64 $0, {0};", shared->getName()).str(),
                     "=l", /*hasSideEffects=*/false));
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      if (isa<GetElementPtrInst, CastInst, BinaryOperator>(instruction))
        for (Use &operand : instruction.operands())
          if (auto *constant = dyn_cast<Constant>(operand))
            if (Value *value = rebuild(constant, shared, base, builder))
              operand.set(value);
}

void tl::keepDescriptorsUniform(Module &module) {
  GlobalVariable *shared = module.getNamedGlobal(kSharedMemorySymbol);
  if (!shared)
    return;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DominatorTree tree(function);
    LoopInfo loops(tree);
    for (Loop *loop : findLoops(function, loops)) {
      BasicBlock *before = loop->getLoopPreheader();
      if (!before)
        before = InsertPreheaderForLoop(loop, &tree, &loops, /*MSSAU=*/nullptr,
                                        /*PreserveLCSSA=*/false);
      if (before)
        giveBase(*loop, *before, shared);
    }
  }
}
