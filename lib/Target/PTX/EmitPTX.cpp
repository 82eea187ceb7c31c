//===- EmitPTX.cpp - PTX from the LLVM dialect ----------------------------===//
//
// Translates a kernel to LLVM IR, runs LLVM's O3 pipeline for the chip and
// prints what the NVPTX backend selects. What MLIR cannot say is said on the
// LLVM IR in between: that inline assembly is convergent.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/PTX/PTX.h"

#include "Descriptors.h"
#include "DotProducts.h"
#include "JoinProducts.h"
#include "PlaceFormulas.h"
#include "PredicateAccesses.h"
#include "SplitVectors.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/Cubin/AssemblerFaults.h"
#include "tl/Target/KeyedPass.h"
#include "tl/Target/PTX/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/ConstantFolder.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"
#include "llvm/Transforms/Scalar/SpeculativeExecution.h"
#include <mutex>
#include <optional>

namespace tl {
#define GEN_PASS_DEF_EMITPTXPASS
#include "tl/Target/PTX/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";
static constexpr StringLiteral kPTXFile = "kernel.ptx";

void tl::registerPTXTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

unsigned tl::getPTXVersion(StringRef chip) {
  // sm_89 needs 8.4 for products of 8-bit floats, sm_90 8.6 for bulk copies
  // to `.shared::cta`; the rest are the versions that introduced the chip, but
  // at least 8.0, that of CUDA 12.0.
  return llvm::StringSwitch<unsigned>(chip)
      .Cases({"sm_75", "sm_80", "sm_86", "sm_87"}, 80)
      .Case("sm_89", 84)
      .Cases({"sm_90", "sm_90a", "sm_100", "sm_100a"}, 86)
      .Cases({"sm_120", "sm_120a"}, 87)
      .Cases({"sm_103", "sm_103a", "sm_121", "sm_121a"}, 88)
      .Cases({"sm_110", "sm_110a"}, 90)
      .Default(0);
}

//===----------------------------------------------------------------------===//
// Line information
//===----------------------------------------------------------------------===//

static FileLineColLoc findFileLocation(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    found = dyn_cast<FileLineColLoc>(part);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Makes the translation keep the locations in `function`, as `.loc` lines.
static void attachLineInfo(LLVM::LLVMFuncOp function) {
  MLIRContext *context = function.getContext();
  FileLineColLoc location = findFileLocation(function.getLoc());
  StringRef path = location ? location.getFilename().getValue() : "<unknown>";
  auto file = LLVM::DIFileAttr::get(context, llvm::sys::path::filename(path),
                                    llvm::sys::path::parent_path(path));
  auto unit = LLVM::DICompileUnitAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
      file, StringAttr::get(context, "tl"), /*isOptimized=*/true,
      LLVM::DIEmissionKind::DebugDirectivesOnly);
  auto type = LLVM::DISubroutineTypeAttr::get(
      context, llvm::dwarf::DW_CC_normal, ArrayRef<LLVM::DITypeAttr>());
  StringAttr name = function.getNameAttr();
  unsigned line = location ? location.getLine() : 1;
  auto program = LLVM::DISubprogramAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name,
      name, file, line, line,
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
      type, /*retainedNodes=*/{}, /*annotations=*/{});
  function->setLoc(FusedLoc::get(context, {function.getLoc()}, program));
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

/// A builtin module with a copy of the functions and globals of `module`.
static OwningOpRef<ModuleOp> copyToBuiltinModule(gpu::GPUModuleOp module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
  for (Operation &op : module.getBody()->getOperations())
    builder.clone(op);
  // The translation warns of argument attributes that it does not know.
  copy->walk([](LLVM::LLVMFuncOp function) {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      function.removeArgAttr(i, kParamAttr);
  });
  if (Attribute lineInfo = module->getAttr(kLineInfoAttr)) {
    if (auto folder = dyn_cast<StringAttr>(lineInfo))
      makePathsRelative(*copy, folder);
    copy->walk(attachLineInfo);
  }
  return copy;
}

/// Inline assembly holds barriers and warp instructions, and so do intrinsics
/// that LLVM does not declare as convergent (`mma.sync`).
static void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = dyn_cast<llvm::CallInst>(&instruction);
      if (!call)
        continue;
      llvm::Function *callee = call->getCalledFunction();
      if (call->isInlineAsm() ||
          (callee && callee->getName().starts_with("llvm.nvvm.mma.")))
        call->setConvergent();
    }
}

static bool hasSignedExtremes(const llvm::Function &function) {
  return llvm::any_of(
      llvm::instructions(function), [](const llvm::Instruction &instruction) {
        auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
        return call && (call->getIntrinsicID() == llvm::Intrinsic::smax ||
                        call->getIntrinsicID() == llvm::Intrinsic::smin);
      });
}

/// Replaces `op` by what `compute` makes of its operand, element by element.
static void replaceElementwise(
    llvm::Instruction *op, llvm::Value *source,
    llvm::function_ref<llvm::Value *(llvm::IRBuilder<> &, llvm::Value *)>
        compute) {
  llvm::IRBuilder<> builder(op);
  llvm::Value *result;
  if (auto *vector = dyn_cast<llvm::FixedVectorType>(op->getType())) {
    result = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      result = builder.CreateInsertElement(
          result, compute(builder, builder.CreateExtractElement(source, i)), i);
  } else {
    result = compute(builder, source);
  }
  op->replaceAllUsesWith(result);
  op->eraseFromParent();
}

/// Computes `text`, an instruction of `$0` and `$1`, in 32 bits: of a shorter
/// integer with its sign. LLVM does not see what it is.
static auto computeInWord(llvm::LLVMContext &context, StringRef text) {
  auto *word = llvm::Type::getInt32Ty(context);
  auto *assembly = llvm::InlineAsm::get(
      llvm::FunctionType::get(word, {word}, /*isVarArg=*/false), text, "=r,r",
      /*hasSideEffects=*/false);
  return [=](llvm::IRBuilder<> &builder, llvm::Value *value) {
    return builder.CreateTrunc(
        builder.CreateCall(assembly, builder.CreateSExt(value, word)),
        value->getType());
  };
}

namespace {
/// A negation, which may be one of a shifted value: LLVM multiplies by -256
/// where the lower half of a short integer is negated and then extended.
struct Negation {
  llvm::Value *source;
  unsigned shift = 0;

  static std::optional<Negation> match(llvm::Instruction &op) {
    using namespace llvm::PatternMatch;
    llvm::Value *source;
    const llvm::APInt *factor;
    if (llvm::PatternMatch::match(&op, m_Neg(m_Value(source))))
      return Negation{source};
    if (llvm::PatternMatch::match(&op,
                                  m_Mul(m_Value(source), m_APInt(factor))) &&
        factor->isNegatedPowerOf2())
      return Negation{source, (-*factor).logBase2()};
    return std::nullopt;
  }
};
} // namespace

/// Negates in two steps, and in 32 bits, where ptxas 13.0 would lose a sign:
/// - of integers of 8 and 16 bits. `neg.s16` of the least one wraps, and a
///   shift or a conversion to more bits behind it takes it for 32768;
/// - where there are signed extremes. For sm_90 it makes one instruction of
///   `max(max(a, -b), c)` (`VIMNMX3`), also if `-b` gets there by way of
///   vectors and selects.
static void hideNegations(llvm::Module &module) {
  SmallVector<llvm::Instruction *> negations;
  // Also in another function: that of a formula becomes part of the kernel.
  bool hasExtremes = llvm::any_of(module, hasSignedExtremes);
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      unsigned width = instruction.getType()->getScalarSizeInBits();
      if (width != 8 && width != 16 && !(width == 32 && hasExtremes))
        continue;
      if (Negation::match(instruction))
        negations.push_back(&instruction);
    }
  auto negate = computeInWord(module.getContext(),
                              "not.b32 $0, $1;\n\tadd.s32 $0, $0, 1;");
  for (llvm::Instruction *op : negations) {
    // The source may be a negation that has just been replaced.
    Negation negation = *Negation::match(*op);
    replaceElementwise(op, negation.source,
                       [&](llvm::IRBuilder<> &builder, llvm::Value *value) {
                         return negate(
                             builder, builder.CreateShl(value, negation.shift));
                       });
  }
}

/// Adds integers of 16 bits, and of 8 bits, which the backend widens, one by
/// one; and divides them so, since the backend makes sums of a division by a
/// constant; and multiplies, since it makes negations of some (above), for
/// which there is no packed instruction. In a kernel that has an `add.s16x2`,
/// ptxas 13.0 makes packed adds for sm_90 of other 16-bit sums too, and loses
/// the constant of one that stands alone (`a - (b | 32)`, `VIADD.16x2 R0, R0,
/// 0x0`).
static void unpackShortSums(llvm::Module &module) {
  SmallVector<llvm::BinaryOperator *> sums;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *type = dyn_cast<llvm::FixedVectorType>(instruction.getType());
      auto *op = dyn_cast<llvm::BinaryOperator>(&instruction);
      if (op && type &&
          (type->getElementType()->isIntegerTy(8) ||
           type->getElementType()->isIntegerTy(16)) &&
          (op->isIntDivRem() ||
           llvm::is_contained({llvm::Instruction::Add, llvm::Instruction::Sub,
                               llvm::Instruction::Mul},
                              op->getOpcode())))
        sums.push_back(op);
    }
  for (llvm::BinaryOperator *op : sums) {
    llvm::IRBuilder<> builder(op);
    auto *type = cast<llvm::FixedVectorType>(op->getType());
    llvm::Value *result = llvm::PoisonValue::get(type);
    for (unsigned i = 0, e = type->getNumElements(); i < e; ++i) {
      llvm::Value *a = builder.CreateExtractElement(op->getOperand(0), i);
      llvm::Value *b = builder.CreateExtractElement(op->getOperand(1), i);
      result = builder.CreateInsertElement(
          result, builder.CreateBinOp(op->getOpcode(), a, b), i);
    }
    op->replaceAllUsesWith(result);
    op->eraseFromParent();
  }
}

/// Takes absolute values of integers of 8 and 16 bits in 32 bits. To ptxas 13.0
/// `abs.s16` has no sign, also of the least integer, whose absolute value
/// wraps: a conversion to more bits makes 32768 of -32768.
static void widenAbsoluteValues(llvm::Module &module) {
  SmallVector<llvm::IntrinsicInst *> narrow;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::abs &&
          call->getType()->getScalarSizeInBits() < 32)
        narrow.push_back(call);
  // LLVM would make an `abs.s16` of its own intrinsic again.
  auto absolute = computeInWord(module.getContext(), "abs.s32 $0, $1;");
  for (llvm::IntrinsicInst *op : narrow)
    replaceElementwise(op, op->getArgOperand(0), absolute);
}

/// Chooses -1 or 0 where a truth value with a sign becomes a bfloat16: LLVM 22
/// takes it for 1 (`selp.b32 1, 0; cvt.rn.bf16.s32`), for this type alone.
static void chooseBFloat16OfTruth(llvm::Module &module) {
  SmallVector<llvm::SIToFPInst *> conversions;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *op = dyn_cast<llvm::SIToFPInst>(&instruction);
          op && op->getSrcTy()->isIntOrIntVectorTy(1) &&
          op->getDestTy()->getScalarType()->isBFloatTy())
        conversions.push_back(op);
  for (llvm::SIToFPInst *op : conversions) {
    llvm::Type *type = op->getDestTy();
    op->replaceAllUsesWith(llvm::IRBuilder<>(op).CreateSelect(
        op->getOperand(0), llvm::ConstantFP::get(type, -1.0),
        llvm::ConstantFP::get(type, 0.0)));
    op->eraseFromParent();
  }
}

/// The numbers that `value`, floats of 16 bits, is rounded from, if it is so
/// for nobody else; of constants those that are equal to them. Null for others.
/// A NaN would change its bits when it is rounded again.
static llvm::Value *getUnrounded(llvm::Value *value, llvm::Type *wide) {
  if (auto *rounding = dyn_cast<llvm::FPTruncInst>(value))
    return rounding->hasOneUse() && rounding->getSrcTy() == wide
               ? rounding->getOperand(0)
               : nullptr;
  auto *constant = dyn_cast<llvm::Constant>(value);
  if (!constant ||
      !llvm::PatternMatch::match(constant, llvm::PatternMatch::m_NonNaN()))
    return nullptr;
  return llvm::ConstantFolder().FoldCast(llvm::Instruction::FPExt, constant,
                                         wide);
}

/// Rounds floats to 16 bits behind a selection instead of before it, as the
/// program did: LLVM moves a rounding to where the other side is a constant.
/// Two that are rounded together are one instruction (`F2FP.BF16.PACK_AB`),
/// where single ones are slow (`F2F.BF16.F32`), and selections of 16 bits are
/// three instructions each (AssemblerFaults.cpp).
///
/// Sound because a lane of the result is a rounding of the lane that is chosen:
/// that of `x`, or that of a constant, which is the constant.
static void roundBehindSelections(llvm::Module &module) {
  SmallVector<llvm::SelectInst *> selections;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      llvm::Type *type = instruction.getType()->getScalarType();
      if (auto *op = dyn_cast<llvm::SelectInst>(&instruction);
          op && (type->isBFloatTy() || type->isHalfTy()))
        selections.push_back(op);
    }
  // What is selected before may itself be selected.
  for (llvm::SelectInst *op : selections) {
    llvm::Type *wide = op->getType()->getWithNewType(
        llvm::Type::getFloatTy(module.getContext()));
    if (!isa<llvm::FPTruncInst>(op->getTrueValue()) &&
        !isa<llvm::FPTruncInst>(op->getFalseValue()))
      continue;
    llvm::Value *yes = getUnrounded(op->getTrueValue(), wide);
    llvm::Value *no = getUnrounded(op->getFalseValue(), wide);
    if (!yes || !no)
      continue;
    llvm::IRBuilder<> builder(op);
    op->replaceAllUsesWith(builder.CreateFPTrunc(
        builder.CreateSelect(op->getCondition(), yes, no), op->getType()));
    op->eraseFromParent();
  }
}

/// Extends bfloat16 by a shift where denormal numbers of f32 may be flushed:
/// there LLVM writes an instruction that flushes (`cvt.ftz.f32.bf16`), which is
/// one of the slow ones in SASS (`F2F`), where ptxas makes a shift of the
/// other.
static void extendByShift(llvm::Module &module) {
  SmallVector<llvm::FPExtInst *> extensions;
  for (llvm::Function &function : module) {
    llvm::DenormalMode mode =
        function.getDenormalMode(llvm::APFloat::IEEEsingle());
    if (mode.Output != llvm::DenormalMode::PreserveSign)
      continue;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *op = dyn_cast<llvm::FPExtInst>(&instruction);
          op && op->getSrcTy()->getScalarType()->isBFloatTy() &&
          op->getType()->getScalarType()->isFloatTy())
        extensions.push_back(op);
  }
  for (llvm::FPExtInst *op : extensions) {
    llvm::IRBuilder<> builder(op);
    llvm::Type *type = op->getType();
    llvm::Value *bits = builder.CreateBitCast(
        op->getOperand(0), type->getWithNewType(builder.getInt16Ty()));
    llvm::Value *word =
        builder.CreateZExt(bits, type->getWithNewType(builder.getInt32Ty()));
    op->replaceAllUsesWith(
        builder.CreateBitCast(builder.CreateShl(word, 16), type));
    op->eraseFromParent();
  }
}

/// Divides in 32 bits. For narrower integers ptxas calls a function, and in a
/// kernel with a call it waits for each `wgmma` (C7509).
static void widenDivisions(llvm::Module &module) {
  SmallVector<llvm::BinaryOperator *> divisions;
  // Also in another function: that of a formula becomes part of the kernel.
  bool hasWgmma = false;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      if (auto *call = dyn_cast<llvm::CallBase>(&instruction)) {
        auto *text = dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
        hasWgmma |= text && StringRef(text->getAsmString()).contains("wgmma");
      }
      auto *op = dyn_cast<llvm::BinaryOperator>(&instruction);
      if (op && op->isIntDivRem() && op->getType()->isIntegerTy() &&
          op->getType()->getIntegerBitWidth() < 32)
        divisions.push_back(op);
    }
  if (!hasWgmma)
    return;
  for (llvm::BinaryOperator *op : divisions) {
    llvm::IRBuilder<> builder(op);
    bool isSigned = op->getOpcode() == llvm::Instruction::SDiv ||
                    op->getOpcode() == llvm::Instruction::SRem;
    auto widen = [&](llvm::Value *value) {
      return builder.CreateIntCast(value, builder.getInt32Ty(), isSigned);
    };
    llvm::Value *wide = builder.CreateBinOp(
        op->getOpcode(), widen(op->getOperand(0)), widen(op->getOperand(1)));
    op->replaceAllUsesWith(builder.CreateTrunc(wide, op->getType()));
    op->eraseFromParent();
  }
}

/// Has "CodeGen Prepare" treat kernels of some hundred blocks, as guards make
/// them, as it treats huge functions: it looks again at the blocks that it
/// changed instead of at all of them. What it does to them is the same.
static void prepareForManyBlocks() {
  constexpr unsigned manyBlocks = 100;
  auto &options = llvm::cl::getRegisteredOptions();
  auto option = options.find("cgpp-huge-func");
  assert(option != options.end() && "an option of this version of LLVM");
  static_cast<llvm::cl::opt<unsigned> *>(option->second)->setValue(manyBlocks);
}

static FailureOr<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(gpu::GPUModuleOp module, StringRef chip) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    prepareForManyBlocks();
  });

  unsigned version = getPTXVersion(chip);
  if (version == 0)
    return module.emitError("chip `") << chip << "` has no PTX code generator";

  llvm::Triple triple(kTriple);
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return module.emitError(message);
  llvm::TargetOptions options;
  // Contraction is on, as in CUDA's compilers.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip, "+ptx" + std::to_string(version), options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// So many instructions are too many for passes that compare pairs of them.
static constexpr unsigned kManyInstructions = 4096;

/// Passes that do so and that find hardly anything in a kernel of formulas:
/// nothing overwrites what was stored, and the bounds that values have from
/// their guards are looked up in the guards of all elements.
static bool comparesPairs(StringRef pass) {
  return pass == "DSEPass" || pass == "CorrelatedValuePropagationPass";
}

/// Passes that find nothing where guards are masks: they look for what branches
/// decide or make dead, and for what else reads or writes the same bytes. The
/// PTX of such kernels is the same without them.
static bool looksBehindBranches(StringRef pass) {
  static constexpr StringLiteral passes[] = {
      "ADCEPass",          "BDCEPass",          "ConstraintEliminationPass",
      "GVNPass",           "JumpThreadingPass", "MemCpyOptPass",
      "SLPVectorizerPass", "VectorCombinePass"};
  return llvm::is_contained(passes, pass);
}

/// So many addresses are too many for the backend's strength reduction.
static constexpr unsigned kManyAddresses = 256;

static bool
hasManyAddresses(llvm::Module &module,
                 llvm::function_ref<bool(const llvm::GEPOperator &)> counts) {
  unsigned count = 0;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *address = dyn_cast<llvm::GEPOperator>(&instruction);
      count += address && counts(*address);
    }
  return count > kManyAddresses;
}

static bool hasManyAddresses(llvm::Module &module) {
  return hasManyAddresses(module,
                          [](const llvm::GEPOperator &) { return true; });
}

/// True if also many addresses are left that have an offset in common with no
/// other: those of many rows.
static bool hasManyOffsets(llvm::Module &module) {
  return hasManyAddresses(module, [](const llvm::GEPOperator &address) {
    return !address.hasAllConstantIndices();
  });
}

namespace {
/// Has the backend leave its strength reduction out, which looks at all pairs
/// of offsets: for 500 rows, each with an address of its own, it takes seconds.
/// Sound, since nothing needs it; a row has a product where it had a sum.
struct WithoutStrengthReduction : llvm::OptPassGate {
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return pass != "slsr";
  }
  bool isEnabled() const override { return true; }
};
} // namespace

/// Merges what addresses have in common, by the passes that the backend begins
/// with and one that it has only behind its strength reduction. That one looks
/// at all pairs: of guarded elements, each in a block of its own with the
/// address of its row, it takes seconds. Few addresses stay as they are,
/// because ptxas makes something else of them, if nothing worse.
static llvm::FunctionPassManager createAddressSharing() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SeparateConstOffsetFromGEPPass());
  passes.addPass(llvm::SpeculativeExecutionPass());
  passes.addPass(llvm::EarlyCSEPass());
  return passes;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassInstrumentationCallbacks callbacks;
  // Accesses are masked where there are many.
  bool isMasked = hasMaskedAccesses(module);
  if (isMasked || countPlacedInstructions(module) > kManyInstructions)
    callbacks.registerShouldRunOptionalPassCallback([=](StringRef pass,
                                                        llvm::Any) {
      return !comparesPairs(pass) && !(isMasked && looksBehindBranches(pass));
    });
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(),
                            /*PGOOpt=*/std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
  if (hasMaskedAccesses(module) || hasManyAddresses(module))
    llvm::createModuleToFunctionPassAdaptor(createAddressSharing())
        .run(module, modules);
}

namespace {
/// Turns the backend's errors into diagnostics at the kernel.
struct BackendDiagnostics : llvm::DiagnosticHandler {
  explicit BackendDiagnostics(Operation *module) : module(module) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    HasErrors = true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    module->emitError("LLVM cannot generate PTX: ") << text;
    return true;
  }

  Operation *module;
};
} // namespace

FailureOr<std::string> tl::emitPTX(gpu::GPUModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>(kTargetAttr);
  if (!target)
    return module.emitError("module `")
           << module.getName() << "` has no `" << kTargetAttr << "`";
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      createTargetMachine(module, target.getChip());
  if (failed(machine))
    return failure();

  llvm::LLVMContext context;
  // Nobody reads the names of values, and to keep them takes a tenth of the
  // time.
  context.setDiscardValueNames(true);
  OwningOpRef<ModuleOp> copy = copyToBuiltinModule(module);
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(*copy, context, module.getName());
  if (!llvmModule)
    return module.emitError("kernel cannot be translated to LLVM IR");
  llvmModule->setTargetTriple(llvm::Triple(kTriple));
  llvmModule->setDataLayout((*machine)->createDataLayout());
  markConvergent(*llvmModule);

  context.setDiagnosticHandler(std::make_unique<BackendDiagnostics>(module));
  keepFormulasApart(*llvmModule);
  splitLongVectors(*llvmModule);
  optimize(*llvmModule, **machine);
  predicateAccesses(*llvmModule);
  joinProducts(*llvmModule);
  joinDotProducts(*llvmModule);
  unpackShortSums(*llvmModule);
  widenAbsoluteValues(*llvmModule);
  widenDivisions(*llvmModule);
  hideNegations(*llvmModule);
  chooseBFloat16OfTruth(*llvmModule);
  roundBehindSelections(*llvmModule);
  extendByShift(*llvmModule);
  keepFewDescriptors(*llvmModule);
  keepDescriptorsUniform(*llvmModule);
  SmallVector<std::string> formulas = nameFormulas(*llvmModule);
  WithoutStrengthReduction gate;
  if (hasManyOffsets(*llvmModule))
    context.setOptPassGate(gate);

  SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("LLVM cannot print PTX");
  passes.run(*llvmModule);
  if (context.getDiagHandlerPtr()->HasErrors)
    return failure();
  std::string ptx = avoidAssemblerFaults(text);
  if (formulas.empty())
    return ptx;
  std::optional<std::string> placed = placeFormulas(ptx, formulas);
  if (!placed)
    return module.emitError("LLVM has made a formula of kernel `")
           << module.getName()
           << "` a function that does not end at its last instruction";
  return *placed;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// The only kernel of `module`. Fails after an error.
static FailureOr<LLVM::LLVMFuncOp> findKernel(gpu::GPUModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      kernels.push_back(function);
  if (kernels.size() != 1)
    return module.emitError("module `")
           << module.getName() << "` has " << kernels.size()
           << " kernels in the LLVM dialect instead of one";
  return kernels.front();
}

/// The compiled kernel that takes the place of `kernel`.
static FailureOr<CompiledKernelOp> createCompiledKernel(LLVM::LLVMFuncOp kernel,
                                                        StringRef ptx) {
  OpBuilder builder(kernel);
  SmallVector<Attribute> params;
  for (unsigned i = 0, e = kernel.getNumArguments(); i < e; ++i) {
    auto param = kernel.getArgAttrOfType<ParamAttr>(i, kParamAttr);
    if (!param)
      return kernel.emitError("argument ")
             << i << " of kernel `" << kernel.getName() << "` has no `"
             << kParamAttr << "`";
    params.push_back(param);
  }
  auto block = kernel->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  auto shared = kernel->getAttrOfType<IntegerAttr>(kSharedAttr);
  if (!block || !shared)
    return kernel.emitError("kernel `")
           << kernel.getName() << "` has no `"
           << (block ? StringRef(kSharedAttr)
                     : NVVM::NVVMDialect::getReqntidAttrName())
           << "`";
  SmallVector<int64_t> extents(block.asArrayRef());
  return CompiledKernelOp::create(
      builder, kernel.getLoc(), kernel.getName(), /*entry=*/nullptr,
      builder.getArrayAttr(params), extents, shared.getInt(),
      builder.getDictionaryAttr(
          builder.getNamedAttr(kPTXFile, builder.getStringAttr(ptx))),
      /*symbols=*/nullptr);
}

namespace {
struct EmitPTXPass : tl::impl::EmitPTXPassBase<EmitPTXPass>, KeyedPass {
  std::optional<Product> getProduct() const override {
    return Product::DeviceArtifacts;
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    EmitPTXPassBase::getDependentDialects(registry);
    registerPTXTranslations(registry);
  }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    // Device code as text is for `tl-compile-cuda`, or has been.
    if (!module.getOps<CudaUnitOp>().empty() ||
        !module.getOps<CompiledKernelOp>().empty())
      return;
    FailureOr<LLVM::LLVMFuncOp> kernel = findKernel(module);
    if (failed(kernel))
      return signalPassFailure();
    FailureOr<std::string> ptx = emitPTX(module);
    if (failed(ptx))
      return signalPassFailure();
    FailureOr<CompiledKernelOp> compiled = createCompiledKernel(*kernel, *ptx);
    if (failed(compiled))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (&op != compiled->getOperation())
        op.erase();
  }
};
} // namespace
