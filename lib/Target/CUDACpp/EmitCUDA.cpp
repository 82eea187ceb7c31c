//===- EmitCUDA.cpp - Thread level to CUDA C++ ----------------------------===//
//
// The pass, and the frame of the text: includes, preamble, kernel. Whether PTX
// or CUDA C++ is generated, kernels are the same thread-level ops, with the
// same formulas for functions.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Dialect/TL/Analysis/ThreadLevel.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Target/CUDACpp/CUDACpp.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "tl/Target/CUDACpp/Passes.h"
#include "tl/Target/KeyedPass.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tl {
#define GEN_PASS_DEF_EMITCUDAPASS
#include "tl/Target/CUDACpp/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// What `kernel` is called in the text.
static std::string getFunctionName(gpu::GPUFuncOp kernel) {
  return cuda::NameAllocator().takeFunction(kernel.getName());
}

FailureOr<std::string> tl::emitCUDA(gpu::GPUModuleOp module) {
  cuda::Preamble preamble(module->hasAttr(kFastMathAttr));
  std::string kernels;
  llvm::raw_string_ostream os(kernels);
  for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
    os << "\n";
    if (failed(cuda::KernelPrinter(kernel, preamble, os)
                   .printKernel(getFunctionName(kernel))))
      return failure();
  }
  std::string text;
  llvm::raw_string_ostream all(text);
  all << "#include <" << kDeviceHeader << ">\n\n";
  preamble.printSources(all);
  preamble.print(all);
  return StringRef(text).rtrim('\n').str() + "\n" + kernels;
}

/// The entry that stands for `kernel` in the text.
static void createEntry(OpBuilder &builder, gpu::GPUFuncOp kernel) {
  SmallVector<int64_t> block(*kernel.getKnownBlockSize());
  std::string function = getFunctionName(kernel);
  StringAttr entry = function == kernel.getName()
                         ? StringAttr()
                         : builder.getStringAttr(function);
  CudaEntryOp::create(builder, kernel.getLoc(), kernel.getName(), entry,
                      getParams(kernel), block,
                      kernel->getAttrOfType<IntegerAttr>(kSharedAttr).getInt(),
                      /*symbols=*/ArrayAttr());
}

/// The digests of the toolkit's headers that calls of sources reach, or null.
static StringAttr describeToolkits(gpu::GPUModuleOp module) {
  llvm::SetVector<StringRef> digests;
  module.walk([&](CallSourceOp call) {
    if (std::optional<StringRef> toolkit = call.getToolkit())
      digests.insert(*toolkit);
  });
  return digests.empty()
             ? StringAttr()
             : StringAttr::get(module.getContext(), llvm::join(digests, " "));
}

namespace {
struct EmitCUDAPass : tl::impl::EmitCUDAPassBase<EmitCUDAPass>, KeyedPass {
  using EmitCUDAPassBase::EmitCUDAPassBase;

  /// Code that is generated for the sake of a call is not for people.
  bool printsNames() const override { return !onlyCalls; }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (module.getOps<gpu::GPUFuncOp>().empty())
      return;
    CallSourceOp call = findSourceCall(module);
    if (onlyCalls && !call)
      return;
    StringAttr toolkit = describeToolkits(module);
    if (failed(verifyThreadLevel(module, Generator::CUDA)))
      return signalPassFailure();
    if (module->hasAttr(kFastMathAttr))
      setFastMath(module);
    if (auto folder = module->getAttrOfType<StringAttr>(kLineInfoAttr))
      makePathsRelative(module, folder);
    guardWaits(module);
    FailureOr<std::string> text = emitCUDA(module);
    if (failed(text))
      return signalPassFailure();

    SmallVector<gpu::GPUFuncOp> kernels(module.getOps<gpu::GPUFuncOp>());
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto unit = CudaUnitOp::create(
        builder, module.getLoc(), (module.getName() + ".cu").str(), *text,
        SourceLanguage::Cuda, /*prelude=*/StringAttr(), /*flags=*/ArrayAttr(),
        /*headers=*/DictionaryAttr(), /*include_paths=*/ArrayAttr(), toolkit);
    unit->setAttr(kOriginAttr, builder.getStringAttr(kGenerated));
    for (gpu::GPUFuncOp kernel : kernels)
      createEntry(builder, kernel);
    for (gpu::GPUFuncOp kernel : kernels)
      kernel.erase();
  }
};
} // namespace
