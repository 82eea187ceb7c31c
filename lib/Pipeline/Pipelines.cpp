//===- Pipelines.cpp - The named pipeline ---------------------------------===//
//
// The order of passes, once. Each kernel's passes are nested, so that the cache
// can stand in for all of them.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Pipelines.h"

#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Pipeline/Passes.h"
#include "tl/Target/CPU/HostMachine.h"
#include "tl/Target/CPU/Passes.h"
#include "tl/Target/Cubin/Passes.h"
#include "tl/Target/PTX/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tl;

/// From tiles to a cubin.
static void addCUDAPasses(OpPassManager &kernel,
                          const CompileOptions &compile) {
  kernel.addPass(createStageStoresPass());
  kernel.addPass(createInferLayoutsPass());
  kernel.addPass(createPlanPipelinePass());
  kernel.addPass(createPlanSharedMemoryPass());
  kernel.addPass(createInsertSyncPass());
  kernel.addPass(createLowerTileOpsPass());
  kernel.addPass(createPromoteFragmentsPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createVerifyThreadLevelPass());
  kernel.addPass(createConvertTLToNVVMPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createEmitPTXPass());
  if (!compile.postProcess.empty()) {
    PostProcessPassOptions edit;
    edit.id = compile.postProcess;
    kernel.addPass(createPostProcessPass(edit));
  }
  AssemblePassOptions options;
  // The choice is part of the artifact's identity, so it is made before keying.
  options.assembler = compile.assembler == Assembler::Auto ? chooseAssembler()
                                                           : compile.assembler;
  kernel.addPass(createAssemblePass(options));
}

LogicalResult tl::buildCompilePipeline(OpPassManager &manager,
                                       const CompileOptions &options,
                                       std::string &error) {
  bool isCPU = options.chip == "cpu";
  StringRef natural = isCPU ? "cpu" : "nvptx";
  if (options.backend != "auto" && options.backend != natural) {
    error = "backend `" + options.backend + "` does not compile for chip `" +
            options.chip + "`; use `" + natural.str() + "` or `auto`";
    return failure();
  }
  if (isCPU && !options.postProcess.empty()) {
    error = "backend `cpu` generates no source to post-process";
    return failure();
  }
  manager.addPass(createVerifyKernelsPass());
  manager.addPass(createOutlineKernelsPass());
  AttachTargetPassOptions target;
  target.chip = options.chip;
  target.lineInfo = options.lineInfo;
  target.fastMath = options.fastMath;
  manager.addPass(createAttachTargetPass(target));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());

  OpPassManager kernel(gpu::GPUModuleOp::getOperationName());
  if (isCPU)
    addHostPasses(kernel, HostMachine::get());
  else
    addCUDAPasses(kernel, options);
  if (options.cacheDir.empty()) {
    manager.nest<gpu::GPUModuleOp>() = kernel;
  } else {
    CachedPassOptions cached;
    llvm::raw_string_ostream text(cached.pipeline);
    kernel.printAsTextualPipeline(text);
    cached.dir = options.cacheDir;
    manager.addPass(createCachedPass(cached));
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
      [](function_ref<void(const detail::PassOptions &)> visit) {
        visit(CompileOptions());
      });
}
