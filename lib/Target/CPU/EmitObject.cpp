//===- EmitObject.cpp - Compile a host function to an object file ---------===//
//
// LLVM's own optimisation pipeline and code generator, told exactly which
// processor to compile for: nothing is asked from the machine this runs on, so
// that equal input and options give equal bytes.
//
//===----------------------------------------------------------------------===//

#include "LeaveLoops.h"
#include "tl/Conversion/TLToCPU/Passes.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/CPU/HostMachine.h"
#include "tl/Target/CPU/Passes.h"
#include "tl/Target/KeyedPass.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace tl {
#define GEN_PASS_DEF_EMITOBJECTPASS
#include "tl/Target/CPU/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

/// The code generator for `cpu` with `features`. Fails, after an error at
/// `loc`, if LLVM does not know the processor.
static FailureOr<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(Location loc, StringRef cpu, StringRef features) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return emitError(loc, "no code generator for this host: ") << why;

  // Asked first: a target machine would only print a warning.
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!cpu.empty() && !known->isCPUStringValid(cpu))
    return emitError(loc, "unknown processor `")
           << cpu << "`; `llc -mcpu=help` lists those of "
           << triple.getArchName();

  llvm::TargetOptions options;
  // As on a GPU, products may be fused with sums.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Aggressive));
}

static void setFunctionAttributes(llvm::Module &module,
                                  const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Scratch may be larger than the guard page below the stack.
    function.addFnAttr("probe-stack", "inline-asm");
    function.setDoesNotThrow();
  }
}

/// Has each function make its frame before it does anything else. Else
/// LLVM 22.1 may compute first how often a loop is done, in R11, and then make
/// the frame, whose probes of the stack take R11 for their own. Asked for by an
/// attribute of functions that a sanitizer looks at, of which only this is left
/// once the optimiser has run (`ShrinkWrap::isShrinkWrapEnabled`).
static void makeFramesFirst(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeThread);
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  // It takes a signed integer that was extended for a shorter one where it is
  // converted as an unsigned one: `uitofp (sext i8 to i64)` of eight lanes
  // became that of `i32` (LLVM 22.1). It gained nothing either.
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = true;
  // Blocks of a product fill the registers as they are: unrolling them further
  // gains nothing and doubles the time to compile.
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
        passes.addPass(LeaveLoopsPass());
      });
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

/// Writes those lanes of `store`, a masked one, that its constant mask selects:
/// runs of neighbours, in pieces of powers of two.
static void storeSelectedLanes(llvm::IRBuilder<> &builder,
                               llvm::IntrinsicInst *store,
                               llvm::Constant *mask) {
  llvm::Value *value = store->getArgOperand(0);
  llvm::Value *pointer = store->getArgOperand(1);
  llvm::Align alignment = store->getParamAlign(1).valueOrOne();
  auto *type = llvm::cast<llvm::FixedVectorType>(value->getType());
  llvm::Type *element = type->getElementType();
  uint64_t bytes =
      store->getModule()->getDataLayout().getTypeStoreSize(element);
  int count = type->getNumElements();
  auto isSelected = [&](int lane) {
    return lane < count && mask->getAggregateElement(lane)->isOneValue();
  };
  for (int lane = 0; lane < count;) {
    if (!isSelected(lane)) {
      ++lane;
      continue;
    }
    int end = lane;
    while (isSelected(end))
      ++end;
    int size = llvm::bit_floor(static_cast<unsigned>(end - lane));
    llvm::Value *address =
        builder.CreateConstInBoundsGEP1_64(element, pointer, lane);
    llvm::Value *piece = builder.CreateExtractElement(value, lane);
    if (size > 1)
      piece = builder.CreateShuffleVector(
          value, llvm::to_vector(llvm::seq(lane, lane + size)));
    builder.CreateAlignedStore(piece, address,
                               llvm::commonAlignment(alignment, lane * bytes));
    lane += size;
  }
}

/// Replaces masked stores whose mask is a constant, or one bit for all lanes:
/// the code generator for x86 writes too much there (LLVM 22). Of a truncated
/// vector with one lane selected it stores the lane before the truncation, and
/// a store of 8 bytes with one bit for all of them writes 16.
static void replaceMaskedStores(llvm::Module &module) {
  SmallVector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_store &&
          llvm::isa<llvm::FixedVectorType>(call->getArgOperand(0)->getType()))
        stores.push_back(call);
  for (llvm::IntrinsicInst *store : stores) {
    llvm::Value *mask = store->getArgOperand(2);
    llvm::IRBuilder<> builder(store);
    if (auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
        constant && !llvm::isa<llvm::ConstantExpr>(constant)) {
      storeSelectedLanes(builder, store, constant);
    } else if (llvm::Value *bit = llvm::getSplatValue(mask)) {
      builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(
          bit, store->getIterator(), /*Unreachable=*/false));
      builder.CreateAlignedStore(store->getArgOperand(0),
                                 store->getArgOperand(1),
                                 store->getParamAlign(1).valueOrOne());
    } else {
      continue;
    }
    store->eraseFromParent();
  }
}

/// The assembly text of `module`. Code generation uses the module up.
static std::string generateAssembly(llvm::Module &module,
                                    llvm::TargetMachine &machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  [[maybe_unused]] bool cannotEmit = machine.addPassesToEmitFile(
      passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile);
  assert(!cannotEmit && "native targets emit assembly");
  passes.run(module);
  return std::string(text);
}

/// The object that `assembly` stands for. Assembling takes a small part of the
/// time that generating code a second time would.
static std::string assemble(StringRef assembly,
                            const llvm::TargetMachine &machine) {
  const llvm::Target &target = machine.getTarget();
  const llvm::MCSubtargetInfo &subtarget = *machine.getMCSubtargetInfo();
  const llvm::MCTargetOptions &options = machine.Options.MCOptions;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(assembly), {});
  llvm::MCContext context(machine.getTargetTriple(), machine.getMCAsmInfo(),
                          machine.getMCRegisterInfo(), &subtarget, &sources,
                          &options);
  std::unique_ptr<llvm::MCObjectFileInfo> sections(
      target.createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());

  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(target.createMCAsmBackend(
      subtarget, *machine.getMCRegisterInfo(), options));
  std::unique_ptr<llvm::MCObjectWriter> writer =
      backend->createObjectWriter(os);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      target.createMCCodeEmitter(*machine.getMCInstrInfo(), context));
  std::unique_ptr<llvm::MCStreamer> streamer(target.createMCObjectStreamer(
      machine.getTargetTriple(), context, std::move(backend), std::move(writer),
      std::move(emitter), subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(
      sources, context, *streamer, *machine.getMCAsmInfo()));
  std::unique_ptr<llvm::MCTargetAsmParser> instructions(
      target.createMCAsmParser(subtarget, *parser, *machine.getMCInstrInfo(),
                               options));
  parser->setTargetParser(*instructions);
  [[maybe_unused]] bool isWrong = parser->Run(/*NoInitialTextSection=*/false);
  assert(!isWrong && "LLVM understands its own assembly");
  return std::string(object);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The one host function of `kernels`.
static FailureOr<LLVM::LLVMFuncOp> findKernel(gpu::GPUModuleOp kernels) {
  LLVM::LLVMFuncOp kernel;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    if (!function->hasAttr(kHostParamsAttr))
      continue;
    if (kernel)
      return kernels.emitError("expects one kernel, got `")
             << kernel.getName() << "` and `" << function.getName() << "`";
    kernel = function;
  }
  if (!kernel)
    return kernels.emitError(
        "has no host function: run `convert-tl-to-cpu` and "
        "`tl-lower-host-to-llvm` first");
  return kernel;
}

/// Translates what `kernels` holds to LLVM IR.
static std::unique_ptr<llvm::Module> translate(gpu::GPUModuleOp kernels,
                                               llvm::LLVMContext &context) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernels.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  for (Operation &op : *kernels.getBody())
    builder.clone(op);
  return translateModuleToLLVMIR(*module, context, kernels.getName());
}

namespace {
struct EmitObjectPass : tl::impl::EmitObjectPassBase<EmitObjectPass>,
                        KeyedPass {
  using EmitObjectPassBase::EmitObjectPassBase;

  std::optional<Product> getProduct() const override {
    return Product::HostArtifacts;
  }

  FailureOr<DictionaryAttr> compile() {
    gpu::GPUModuleOp kernels = getOperation();
    auto machine = makeTargetMachine(kernels.getLoc(), cpu, features);
    if (failed(machine))
      return failure();
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = translate(kernels, context);
    if (!module)
      return kernels.emitError("cannot be translated to LLVM IR");
    module->setTargetTriple((*machine)->getTargetTriple());
    module->setDataLayout((*machine)->createDataLayout());
    setFunctionAttributes(*module, **machine);
    optimize(*module, **machine);
    replaceMaskedStores(*module);
    makeFramesFirst(*module);

    std::string assembly = generateAssembly(*module, **machine);
    std::string object = assemble(assembly, **machine);
    Builder builder(&getContext());
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("kernel.o", builder.getStringAttr(object)),
         builder.getNamedAttr("kernel.s", builder.getStringAttr(assembly))});
  }

  void runOnOperation() override {
    FailureOr<LLVM::LLVMFuncOp> kernel = findKernel(getOperation());
    if (failed(kernel))
      return signalPassFailure();
    FailureOr<DictionaryAttr> files = compile();
    if (failed(files))
      return signalPassFailure();

    Location loc = kernel->getLoc();
    StringAttr name = kernel->getNameAttr();
    auto params = (*kernel)->getAttrOfType<ArrayAttr>(kHostParamsAttr);
    auto block = (*kernel)->getAttrOfType<DenseI64ArrayAttr>(kHostBlockAttr);
    Block *body = getOperation().getBody();
    body->clear();
    OpBuilder builder = OpBuilder::atBlockBegin(body);
    CompiledKernelOp::create(builder, loc, name, /*entry=*/nullptr, params,
                             block, builder.getI64IntegerAttr(0), *files,
                             /*symbols=*/nullptr);
  }
};
} // namespace

void tl::registerHostTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void tl::addHostPasses(OpPassManager &manager, const HostMachine &machine) {
  ConvertTLToCPUPassOptions convert;
  convert.vectorBytes = machine.vectorBytes;
  manager.addPass(createConvertTLToCPUPass(convert));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLowerHostToLLVMPass());
  manager.addPass(createCanonicalizerPass());
  EmitObjectPassOptions emit;
  emit.cpu = machine.cpu;
  emit.features = machine.features;
  manager.addPass(createEmitObjectPass(emit));
}
