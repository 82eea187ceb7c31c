//===- Descriptors.cpp - Where products find their tiles ------------------===//
//
// A warp has registers of its own beside those of its threads, and `wgmma`
// takes its descriptors from them. ptxas computes what descriptors are made of
// in these, too, if it can. One thing they are made of is where shared memory
// begins: a constant, of which LLVM's code generator makes one register for the
// whole kernel. Threads compute places of their own from it, so that it becomes
// a register of threads; and what is computed from it must be moved to those of
// the warp, for each product in each iteration (`R2UR`). So threads have that
// constant from an assembly, and what is the same for all threads of a warp, in
// loops with products, from another one that stands before the loop. There
// ptxas may still make one register of both, if threads compute their places in
// the same block; so where many descriptors depend on it, it stands in the
// loop. What is a thread's own is a question of speed alone.
//
// Sound because both assemblies are the constant.
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
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
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

/// True if threads of a warp have different values of `instruction`, whatever
/// its operands are. Of what is known of memory and assembly nothing is asked.
static bool differs(const Instruction &instruction) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  if (!intrinsic)
    return isa<LoadInst, CallInst, AtomicRMWInst, AtomicCmpXchgInst>(
        instruction);
  return is_contained({Intrinsic::nvvm_read_ptx_sreg_tid_x,
                       Intrinsic::nvvm_read_ptx_sreg_tid_y,
                       Intrinsic::nvvm_read_ptx_sreg_tid_z,
                       Intrinsic::nvvm_read_ptx_sreg_laneid},
                      intrinsic->getIntrinsicID());
}

/// A value of one lane that all have: the number of a warp is made so. LLVM's
/// own analysis of uniformity takes it for different in each.
static bool isBroadcast(const Instruction &instruction) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return intrinsic &&
         intrinsic->getIntrinsicID() == Intrinsic::nvvm_shfl_sync_idx_i32p;
}

/// What is computed from what differs between the threads of a warp.
static SmallPtrSet<Instruction *, 32> findThreadsOwn(Function &function) {
  SmallPtrSet<Instruction *, 32> own;
  SmallVector<Instruction *> left;
  auto add = [&](Instruction &instruction) {
    if (!isBroadcast(instruction) && own.insert(&instruction).second)
      left.push_back(&instruction);
  };
  for (Instruction &instruction : instructions(function))
    if (differs(instruction))
      add(instruction);
  while (!left.empty())
    for (User *user : left.pop_back_val()->users())
      add(*cast<Instruction>(user));
  return own;
}

/// Whether `value` is where `shared` begins, maybe as a number.
static bool isBase(Value *value, GlobalVariable *shared) {
  auto *cast = dyn_cast<ConstantExpr>(value);
  while (cast && cast->isCast()) {
    value = cast->getOperand(0);
    cast = dyn_cast<ConstantExpr>(value);
  }
  return value == shared;
}

/// Whether `instruction` computes a place from where `shared` begins.
static bool usesBase(const Instruction &instruction, GlobalVariable *shared) {
  return isa<GetElementPtrInst, CastInst, BinaryOperator>(instruction) &&
         any_of(instruction.operands(),
                [&](const Use &operand) { return isBase(operand, shared); });
}

/// How many descriptors of products in `loop` are computed in it, from where
/// `shared` begins.
static size_t countDescriptors(Loop &loop, GlobalVariable *shared) {
  SmallPtrSet<Value *, 32> descriptors, computed;
  SmallVector<Instruction *> left;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      if (usesBase(instruction, shared) && computed.insert(&instruction).second)
        left.push_back(&instruction);
  while (!left.empty()) {
    Instruction *instruction = left.pop_back_val();
    for (User *user : instruction->users()) {
      auto *next = cast<Instruction>(user);
      if (isWgmma(*next))
        descriptors.insert(instruction);
      else if (isa<GetElementPtrInst, CastInst, BinaryOperator>(next) &&
               loop.contains(next) && computed.insert(next).second)
        left.push_back(next);
    }
  }
  return descriptors.size();
}

/// A constant that is made in each iteration takes three or four instructions
/// there. A descriptor from the registers of threads takes two.
static constexpr size_t kFewDescriptors = 4;

/// Where the innermost loops with products have the beginning of `shared` made
/// for them, of all their blocks: before the loop, or in it. `own` are
/// instructions whose results differ between the threads of a warp.
static DenseMap<BasicBlock *, Instruction *>
findBeginnings(Function &function, GlobalVariable *shared,
               const SmallPtrSetImpl<Instruction *> &own) {
  DominatorTree tree(function);
  LoopInfo loops(tree);
  SmallSetVector<Loop *, 4> found;
  for (Instruction &instruction : instructions(function))
    if (isWgmma(instruction))
      if (Loop *loop = loops.getLoopFor(instruction.getParent()))
        found.insert(loop);
  DenseMap<BasicBlock *, Instruction *> beginnings;
  for (Loop *loop : found) {
    BasicBlock *before = loop->getLoopPreheader();
    if (!before)
      before = InsertPreheaderForLoop(loop, &tree, &loops, /*MSSAU=*/nullptr,
                                      /*PreserveLCSSA=*/false);
    if (!before)
      continue;
    bool isMerged = any_of(*before, [&](Instruction &instruction) {
      return own.contains(&instruction) && usesBase(instruction, shared);
    });
    bool isInside =
        isMerged && countDescriptors(*loop, shared) > kFewDescriptors;
    Instruction *beginning = isInside
                                 ? &*loop->getHeader()->getFirstInsertionPt()
                                 : before->getTerminator();
    for (BasicBlock *block : loop->blocks())
      beginnings[block] = beginning;
  }
  return beginnings;
}

/// `constant` made of an assembly, `move`, if it is `shared`, maybe as a
/// number; or null: a place in it is part of the accesses themselves.
static Value *computeBase(Constant *constant, GlobalVariable *shared,
                          StringRef move, IRBuilder<> &builder) {
  if (constant == shared) {
    auto *type = FunctionType::get(shared->getType(), /*isVarArg=*/false);
    std::string text = formatv("{0} $0, {1};", move, shared->getName());
    return builder.CreateCall(
        type, InlineAsm::get(type, text, "=l", /*hasSideEffects=*/false));
  }
  auto *cast = dyn_cast<ConstantExpr>(constant);
  if (!cast || !cast->isCast())
    return nullptr;
  Value *source = computeBase(cast->getOperand(0), shared, move, builder);
  return source ? builder.CreateCast(Instruction::CastOps(cast->getOpcode()),
                                     source, cast->getType())
                : nullptr;
}

static void separateBases(Function &function, GlobalVariable *shared) {
  SmallPtrSet<Instruction *, 32> own = findThreadsOwn(function);
  DenseMap<BasicBlock *, Instruction *> beginnings =
      findBeginnings(function, shared, own);
  SmallVector<Instruction *> users;
  for (Instruction &instruction : instructions(function))
    if (isa<GetElementPtrInst, CastInst, BinaryOperator>(instruction))
      users.push_back(&instruction);
  for (Instruction *user : users) {
    bool isOwn = own.contains(user);
    Instruction *beginning = beginnings.lookup(user->getParent());
    if (!isOwn && !beginning)
      continue;
    IRBuilder<> builder(beginning ? beginning : user);
    // Equal assemblies would become one.
    StringRef move = isOwn ? "mov.u64" : "mov.b64";
    for (Use &operand : user->operands())
      if (auto *constant = dyn_cast<Constant>(operand))
        if (Value *base = computeBase(constant, shared, move, builder))
          operand.set(base);
  }
}

void tl::keepDescriptorsUniform(Module &module) {
  GlobalVariable *shared = module.getNamedGlobal(kSharedMemorySymbol);
  if (!shared)
    return;
  for (Function &function : module)
    if (any_of(instructions(function), isWgmma))
      separateBases(function, shared);
}
