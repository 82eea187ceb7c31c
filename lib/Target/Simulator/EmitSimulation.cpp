//===- EmitSimulation.cpp - Keep kernels for the simulator ----------------===//
//
// The simulator decodes thread-level IR, so that there is nothing to generate:
// a kernel's artifact is its text. It holds locations, for reports, relative to
// the folder that all of them share, as line information on a GPU does. To
// decode it here too finds out what the simulator cannot run while there is
// somebody to tell.
//
// The text is parsed where it is loaded, by the host. It is therefore trusted
// like host code (docs/security.md).
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Simulator/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Simulator/Decode.h"
#include "tl/Target/KeyedPass.h"
#include "tl/Target/Source/ThreadLevel.h"

namespace tl {
#define GEN_PASS_DEF_EMITSIMULATIONPASS
#include "tl/Target/Simulator/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The short form of `nvvm.barrier` cannot be read again: a location behind it
/// is taken for its reduction, which is an attribute too (MLIR 22).
static bool hasNamedBarrier(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return op->getName().getStringRef() == "nvvm.barrier"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The text of a module that holds `kernel` alone.
static std::string print(gpu::GPUFuncOp kernel) {
  auto module = cast<gpu::GPUModuleOp>(kernel->getParentOp());
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
  auto holder =
      gpu::GPUModuleOp::create(builder, module.getLoc(), module.getName());
  OpBuilder::atBlockBegin(holder.getBody()).clone(*kernel);
  if (auto folder = module->getAttrOfType<StringAttr>(kLineInfoAttr))
    makePathsRelative(*copy, folder);
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  if (hasNamedBarrier(kernel))
    flags.printGenericOpForm();
  copy->print(os, flags);
  return text;
}

/// Puts a compiled kernel in the place of `kernel`.
static void replaceKernel(gpu::GPUFuncOp kernel) {
  OpBuilder builder(kernel);
  SmallVector<int64_t> block(*kernel.getKnownBlockSize());
  CompiledKernelOp::create(
      builder, kernel.getLoc(), kernel.getName(), /*entry=*/nullptr,
      getParams(kernel), block,
      kernel->getAttrOfType<IntegerAttr>(kSharedAttr).getInt(),
      builder.getDictionaryAttr(builder.getNamedAttr(
          kSimulatedFile, builder.getStringAttr(print(kernel)))),
      /*symbols=*/nullptr);
  kernel.erase();
}

namespace {
struct EmitSimulationPass
    : tl::impl::EmitSimulationPassBase<EmitSimulationPass>,
      KeyedPass {
  /// Reports show statements.
  bool printsNames() const override { return true; }

  std::optional<Product> getProduct() const override {
    return Product::HostArtifacts;
  }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (!module.getOps<CudaUnitOp>().empty()) {
      module.emitError("source kernel `")
          << module.getName()
          << "` is CUDA C++, which the simulator does not run; compile for a "
             "GPU";
      return signalPassFailure();
    }
    if (CallSourceOp call = findSourceCall(module)) {
      call.emitError("`") << call.getFunction()
                          << "` is CUDA C++, which the simulator does not run; "
                             "compile for a GPU, or write it in the language";
      return signalPassFailure();
    }
    for (auto kernel :
         llvm::make_early_inc_range(module.getOps<gpu::GPUFuncOp>())) {
      if (failed(sim::decode(kernel)))
        return signalPassFailure();
      replaceKernel(kernel);
    }
  }
};
} // namespace
