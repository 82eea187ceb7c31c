//===- Pipelines.cpp - The named pipeline ---------------------------------===//
//
// The order of passes, once. Each kernel's passes are nested, so that the cache
// can stand in for all of them.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Pipelines.h"

#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Pipeline/Passes.h"
#include "tl/Target/CPU/HostMachine.h"
#include "tl/Target/CPU/Passes.h"
#include "tl/Target/CUDA/Passes.h"
#include "tl/Target/CUDACpp/Passes.h"
#include "tl/Target/CuTeDSL/Passes.h"
#include "tl/Target/Cubin/Passes.h"
#include "tl/Target/PTX/Passes.h"
#include "tl/Target/Simulator/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;

namespace {
/// The passes on one kernel. Each stage has a record of its own in the cache.
using Stages = SmallVector<OpPassManager>;
} // namespace

static OpPassManager &addStage(Stages &stages) {
  return stages.emplace_back(gpu::GPUModuleOp::getOperationName());
}

/// For kernels of statements. Two branches with one condition stay two: what
/// threads do in the second one comes behind what all do in the first one (S4),
/// and in one branch, a single statement, it would not. The name is that of the
/// pattern in MLIR's SCF dialect, which is not declared anywhere;
/// `branches_of_one_condition_stay_apart` fails if it has another one.
static std::unique_ptr<Pass> createStatementCanonicalizer() {
  return createCanonicalizerPass(GreedyRewriteConfig(),
                                 {"(anonymous namespace)::CombineIfs"});
}

/// What makes a kernel mean the same on every target. First in all pipelines.
static void addNormalization(OpPassManager &kernel, bool sharedArrays = false) {
  kernel.addPass(createUnrollArrayLoopsPass());
  kernel.addPass(createGuardArraysPass());
  kernel.addPass(createPrivatizeVariablesPass());
  kernel.addPass(createNormalizeStatementsPass({sharedArrays}));
  kernel.addPass(createPromoteVariablesPass());
}

/// What takes kernels at thread level. CuTe DSL has no form for `cp.async`.
enum class Generator { PTX, CUDA, CuTeDSL, Simulator };

/// From tiles to thread level, which every generator for NVIDIA GPUs takes.
/// Threads change their registers if `assembler` lets them, which is decided
/// before keying. What is there already is verified alone.
static void addLowering(OpPassManager &kernel, Assembler assembler,
                        bool fromThreads, Generator generator) {
  if (fromThreads) {
    kernel.addPass(createVerifyThreadLevelPass());
    return;
  }
  // CuTe DSL has no form for memory of a thread's own.
  addNormalization(kernel,
                   /*sharedArrays=*/generator == Generator::CuTeDSL);
  kernel.addPass(createJoinContributionsPass());
  kernel.addPass(createNarrowTilesPass());
  kernel.addPass(createStageStoresPass());
  kernel.addPass(createPlanGemmsPass());
  // CuTe DSL has no form for `cp.async` but of whole tiles.
  if (generator != Generator::CuTeDSL)
    kernel.addPass(createFindGathersPass());
  kernel.addPass(createUnrollFragmentLoopsPass());
  kernel.addPass(createInferLayoutsPass());
  kernel.addPass(createStageFragmentsPass());
  kernel.addPass(createForwardFragmentsPass());
  kernel.addPass(createAddWorkspacesPass());
  kernel.addPass(createMarkBulkStoresPass());
  kernel.addPass(createVerifyLayoutsPass());
  kernel.addPass(createEnterGuardsPass());
  kernel.addPass(
      createAssignStagesPass({/*registers=*/canChangeRegisters(assembler)}));
  kernel.addPass(createSplitLoopsPass());
  kernel.addPass(createExpandPipelinePass());
  kernel.addPass(createRoundFactorsPass());
  kernel.addPass(createOverlapGemmsPass());
  kernel.addPass(createPlaceRefillsPass());
  kernel.addPass(createSpecializeWarpsPass());
  if (generator != Generator::CuTeDSL)
    kernel.addPass(createStartCopiesPass());
  kernel.addPass(createLowerPipesPass());
  kernel.addPass(createPlanSharedMemoryPass());
  kernel.addPass(createInsertSyncPass());
  kernel.addPass(createVerifySyncPass());
  kernel.addPass(
      createLowerTileOpsPass({/*reports=*/generator == Generator::Simulator}));
  kernel.addPass(createPromoteFragmentsPass());
  kernel.addPass(createPrefetchOperandsPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  if (generator != Generator::CuTeDSL) {
    kernel.addPass(createJoinLoadsPass());
    kernel.addPass(createJoinStoresPass());
  }
  kernel.addPass(createKeepBranchesPass());
  kernel.addPass(createUnrollLoadsPass());
  if (generator != Generator::CuTeDSL) {
    kernel.addPass(createShareAddressesPass());
    kernel.addPass(createPrefetchMapsPass());
  }
  kernel.addPass(createWaitForKernelsPass());
  kernel.addPass(createVerifyThreadLevelPass());
}

/// From tiles to an object of the host.
static void addHostStage(Stages &stages) {
  OpPassManager &kernel = addStage(stages);
  addNormalization(kernel);
  addHostPasses(kernel, HostMachine::get());
}

/// The user's edit of what was generated.
static void addPostProcessing(Stages &stages, const CompileOptions &compile) {
  if (compile.postProcess.empty())
    return;
  PostProcessPassOptions edit;
  edit.id = compile.postProcess;
  addStage(stages).addPass(createPostProcessPass(edit));
}

/// From PTX to a cubin.
static void addAssembly(Stages &stages, const CompileOptions &compile) {
  AssemblePassOptions options;
  // The choice is part of the artifact's identity, so it is made before keying.
  options.assembler = compile.assembler == Assembler::Auto ? chooseAssembler()
                                                           : compile.assembler;
  if (options.assembler != Assembler::None)
    addStage(stages).addPass(createAssemblePass(options));
}

/// From tiles to PTX, the user's edit of that, and to a cubin.
static void addPTXStages(Stages &stages, const CompileOptions &compile) {
  OpPassManager &kernel = addStage(stages);
  addLowering(kernel, compile.assembler, compile.fromThreads, Generator::PTX);
  // A kernel that calls CUDA C++ is CUDA C++: so calls are inlined, and nothing
  // is linked, which would take `setmaxnreg` from it (`tl-assemble`).
  EmitCUDAPassOptions emit;
  emit.onlyCalls = true;
  kernel.addPass(createEmitCUDAPass(emit));
  CompileCUDAPassOptions calls;
  calls.onlyCalls = true;
  calls.keepDir = compile.keepDir;
  kernel.addPass(createCompileCUDAPass(calls));
  kernel.addPass(createConvertTLToNVVMPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createEmitPTXPass());
  addPostProcessing(stages, compile);
  addAssembly(stages, compile);
}

/// What compiles CUDA C++: the backend that is named for it, else the first
/// that is there.
static CudaCompiler getCudaCompiler(StringRef backend) {
  return backend == "nvcc"    ? CudaCompiler::NVCC
         : backend == "nvrtc" ? CudaCompiler::NVRTC
                              : chooseCudaCompiler();
}

/// From CUDA C++ to PTX, and from PTX to a cubin; nowhere if the text is all
/// that is wanted.
static void addSourceStages(Stages &stages, const CompileOptions &options) {
  CompileCUDAPassOptions compile;
  if (options.backend == "cuda") {
    compile.onlyText = true;
    addStage(stages).addPass(createCompileCUDAPass(compile));
    return;
  }
  compile.compiler = getCudaCompiler(options.backend);
  compile.keepDir = options.keepDir;
  addStage(stages).addPass(createCompileCUDAPass(compile));
  addAssembly(stages, options);
}

/// From tiles to CUDA C++, the user's edit of that, and on as for CUDA C++ that
/// a user wrote.
static void addCUDAStages(Stages &stages, const CompileOptions &options) {
  OpPassManager &kernel = addStage(stages);
  addLowering(kernel, options.assembler, options.fromThreads, Generator::CUDA);
  kernel.addPass(createEmitCUDAPass());
  addPostProcessing(stages, options);
  addSourceStages(stages, options);
}

/// From tiles to modules of CuTe DSL, which Python compiles.
static void addCuTeDSLStages(Stages &stages, const CompileOptions &options) {
  OpPassManager &kernel = addStage(stages);
  addLowering(kernel, Assembler::None, options.fromThreads, Generator::CuTeDSL);
  kernel.addPass(createEmitCuTeDSLPass());
}

/// From tiles to programs of the simulator.
static void addSimulatorStages(Stages &stages, const CompileOptions &options) {
  OpPassManager &kernel = addStage(stages);
  addLowering(kernel, Assembler::None, options.fromThreads,
              Generator::Simulator);
  kernel.addPass(createEmitSimulationPass());
}

/// Adds the passes on kernels, behind the cache if there is one. `ofSources`
/// are for modules of external device code, others for the rest.
static void addStages(OpPassManager &manager, Stages stages, bool ofSources,
                      const CompileOptions &compile) {
  if (compile.cacheDir.empty()) {
    for (OpPassManager &stage : stages)
      manager.nest<gpu::GPUModuleOp>() = std::move(stage);
    return;
  }
  CachedPassOptions options;
  llvm::raw_string_ostream text(options.pipeline);
  llvm::interleave(
      stages, text,
      [&](const OpPassManager &stage) { stage.printAsTextualPipeline(text); },
      ",");
  options.dir = compile.cacheDir;
  options.ofSources = ofSources;
  options.requireCached = compile.requireCached;
  manager.addPass(createCachedPass(options));
}

/// Fails, with the reason in `error`, for a backend that is not one for `chip`.
static LogicalResult checkBackend(StringRef backend, StringRef chip,
                                  std::string &error) {
  static constexpr StringLiteral forHost[] = {"cpu", "auto"};
  static constexpr StringLiteral forGPU[] = {"nvptx",   "nvrtc", "nvcc", "cuda",
                                             "cutedsl", "sim",   "auto"};
  ArrayRef<StringLiteral> valid = forGPU;
  if (chip == "cpu")
    valid = forHost;
  if (llvm::is_contained(valid, backend))
    return success();
  error = llvm::formatv(
      "backend `{0}` does not compile for chip `{1}`; use {2} or `{3}`",
      backend, chip,
      llvm::join(llvm::map_range(
                     valid.drop_back(),
                     [](StringRef name) { return ("`" + name + "`").str(); }),
                 ", "),
      valid.back());
  return failure();
}

/// What makes a checked program of one. It comes before the kernels' keys are
/// made, so that checked kernels have keys of their own.
static void addChecks(OpPassManager &manager, StringRef chip) {
  AddChecksPassOptions options;
  // `tl-attach-target` reports a chip that is not known.
  FailureOr<Target> target =
      Target::parse(chip, [] { return InFlightDiagnostic(); });
  if (succeeded(target))
    options.sharedMemory = target->getSharedMemoryLimit();
  manager.addPass(createAddChecksPass(options));
}

/// What is said of statements, which threads have none of.
static void addStatements(OpPassManager &manager,
                          const CompileOptions &options) {
  manager.addPass(createVerifyKernelsPass());
  manager.addPass(createVerifyStatementsPass());
  manager.addPass(createMarkThreadStatementsPass());
  manager.addPass(createLowerPrintsPass());
  if (options.checks)
    addChecks(manager, options.chip);
}

LogicalResult tl::buildCompilePipeline(OpPassManager &manager,
                                       const CompileOptions &options,
                                       std::string &error) {
  bool isCPU = options.chip == "cpu";
  if (failed(checkBackend(options.backend, options.chip, error)))
    return failure();
  if (isCPU && !options.postProcess.empty()) {
    error = "backend `cpu` generates no source to post-process";
    return failure();
  }
  if (options.checks && options.fromThreads) {
    error = "checks are of tiles, and the kernels are at thread level; add "
            "them to the module at tile level";
    return failure();
  }
  if (isCPU && options.fromThreads) {
    error = "kernels at thread level are for GPUs; compile them for `cpu` from "
            "tile level";
    return failure();
  }
  if (options.requireCached && options.cacheDir.empty()) {
    error = "`require-cached` needs a `cache-dir` to find kernels in";
    return failure();
  }
  if (!options.fromThreads)
    addStatements(manager, options);
  if (!isCPU && !options.fromThreads)
    manager.addPass(createFitBlocksPass());
  manager.addPass(createResolveSourcesPass(options.filesRead));
  manager.addPass(createVerifyEntriesPass());
  manager.addPass(createOutlineKernelsPass());
  // CuTe DSL takes seconds for each kernel.
  if (!isCPU && !options.fromThreads && options.backend != "cutedsl")
    manager.addPass(createVersionKernelsPass());
  AttachTargetPassOptions target;
  target.chip = options.chip;
  // What the simulator reports has lines.
  target.lineInfo = options.lineInfo || options.backend == "sim";
  target.fastMath = options.fastMath;
  manager.addPass(createAttachTargetPass(target));
  // CuTe DSL has no form for the wait. Kernels at thread level have theirs, and
  // a launch that is not dependent yet must not become so without one.
  if (options.backend != "cutedsl" && !options.fromThreads)
    manager.addPass(createOverlapLaunchesPass());
  if (!options.fromThreads)
    manager.addPass(createSpeculateChoicesPass());
  manager.addPass(createStatementCanonicalizer());
  manager.addPass(createCSEPass());

  Stages stages, ofSources;
  if (isCPU)
    addHostStage(stages);
  else if (llvm::is_contained({"nvrtc", "nvcc", "cuda"}, options.backend))
    addCUDAStages(stages, options);
  else if (options.backend == "cutedsl")
    addCuTeDSLStages(stages, options);
  else if (options.backend == "sim")
    addSimulatorStages(stages, options);
  else
    addPTXStages(stages, options);
  addStages(manager, std::move(stages), /*ofSources=*/false, options);
  if (!isCPU) {
    if (options.backend == "sim")
      addStage(ofSources).addPass(createEmitSimulationPass());
    else
      addSourceStages(ofSources, options);
    addStages(manager, std::move(ofSources), /*ofSources=*/true, options);
  }
  manager.addPass(createSplitHostDevicePass());
  return success();
}

void tl::enableRemarks(MLIRContext &context) {
  // `all` widens the kinds that are given; it gives none by itself.
  remark::RemarkCategories ours;
  ours.passed = ours.missed = ours.analysis = ours.failed = "tl-.*";
  [[maybe_unused]] LogicalResult enabled = remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr,
      std::make_unique<remark::RemarkEmittingPolicyAll>(), ours,
      /*printAsEmitRemarks=*/true);
  assert(succeeded(enabled) && "the pattern is a regular expression");
}

void tl::registerPipelines() {
  // Registered by its parts, because `PassPipelineRegistration` takes a builder
  // that cannot fail.
  registerPassPipeline(
      "tl-compile", "Compile tile kernels to launch plans and artifacts",
      [](OpPassManager &manager, StringRef text,
         function_ref<LogicalResult(const Twine &)> report) {
        CompileOptions options;
        std::string error;
        if (failed(options.parseFromString(text)))
          return failure();
        if (failed(buildCompilePipeline(manager, options, error)))
          return report(error);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(CompileOptions());
      });
}
