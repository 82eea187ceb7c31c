//===- EmitObject.cpp - Compile a host function to an object file ---------===//
//
// LLVM's own optimisation pipeline and code generator, told exactly which
// processor to compile for: nothing is asked from the machine this runs on, so
// that equal input and options give equal bytes.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToCPU/Passes.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/CPU/HostMachine.h"
#include "tl/Target/CPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

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

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
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

/// The text of `module` as an object or as assembly. Code generation uses the
/// module up.
static std::string generate(llvm::Module &module, llvm::TargetMachine &machine,
                            llvm::CodeGenFileType type) {
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  [[maybe_unused]] bool cannotEmit =
      machine.addPassesToEmitFile(passes, os, nullptr, type);
  assert(!cannotEmit && "native targets emit objects and assembly");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
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
struct EmitObjectPass : tl::impl::EmitObjectPassBase<EmitObjectPass> {
  using EmitObjectPassBase::EmitObjectPassBase;

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

    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
    Builder builder(&getContext());
    auto file = [&](StringRef name, llvm::Module &code,
                    llvm::CodeGenFileType type) {
      return builder.getNamedAttr(
          name, builder.getStringAttr(generate(code, **machine, type)));
    };
    return builder.getDictionaryAttr(
        {file("kernel.o", *module, llvm::CodeGenFileType::ObjectFile),
         file("kernel.s", *copy, llvm::CodeGenFileType::AssemblyFile)});
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
    CompiledKernelOp::create(builder, loc, name, params, block,
                             builder.getI64IntegerAttr(0), *files);
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
