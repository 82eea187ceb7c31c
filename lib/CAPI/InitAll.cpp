//===- InitAll.cpp - What the compiler knows by name ----------------------===//
//
// One list of dialects and passes for every tool. It names what we use and no
// more: every dialect named here is linked into the library.
//
//===----------------------------------------------------------------------===//

#include "InitAll.h"

#include "tl/Conversion/TLToCPU/Passes.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Pipeline/Passes.h"
#include "tl/Pipeline/Pipelines.h"
#include "tl/Simulator/Passes.h"
#include "tl/Target/CPU/Passes.h"
#include "tl/Target/CUDA/Passes.h"
#include "tl/Target/CUDACpp/Passes.h"
#include "tl/Target/CuTeDSL/Passes.h"
#include "tl/Target/Cubin/Passes.h"
#include "tl/Target/PTX/PTX.h"
#include "tl/Target/PTX/Passes.h"
#include "tl/Target/Simulator/Passes.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/InlinerInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

void tl::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<TLDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
                  mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                  mlir::index::IndexDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
  mlir::LLVM::registerInlinerInterface(registry);
  registerLayoutModels(registry);
  registerThreadLoweringModels(registry);
  registerHostTranslations(registry);
  registerPTXTranslations(registry);
}

/// Our own passes and pipelines.
static void registerOwnPasses() {
  tl::registerPipelines();
  tl::registerTLPasses();
  tl::registerTLPipelinePasses();
  tl::registerTLSimulatorPasses();
  tl::registerTLTargetCPUPasses();
  tl::registerTLTargetCUDACppPasses();
  tl::registerTLTargetCUDAPasses();
  tl::registerTLTargetCuTeDSLPasses();
  tl::registerTLTargetCubinPasses();
  tl::registerTLTargetPTXPasses();
  tl::registerTLTargetSimulatorPasses();
  tl::registerTLToCPUPasses();
  tl::registerTLToNVVMPasses();
  tl::registerTLToThreadsPasses();
}

/// The upstream passes that are useful between ours on a command line.
static void registerUpstreamPasses() {
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  mlir::registerInlinerPass();
  mlir::registerLocationSnapshotPass();
  mlir::registerLoopInvariantCodeMotionPass();
  mlir::registerPrintIRPass();
  mlir::registerStripDebugInfoPass();
  mlir::registerSymbolDCEPass();
  mlir::registerPass([] { return mlir::createSCFToControlFlowPass(); });
  mlir::registerPass([] { return mlir::createReconcileUnrealizedCastsPass(); });
}

void tl::registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerOwnPasses();
    registerUpstreamPasses();
  });
}
