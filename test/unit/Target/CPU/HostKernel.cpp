//===- HostKernel.cpp - Compile and run kernels in tests ------------------===//
//
// See HostKernel.h.
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tl/Target/CPU/Passes.h"

using namespace mlir;
using namespace tl;
using namespace tl::test;

HostKernel::HostKernel(const std::string &text, const HostMachine &machine) {
  DialectRegistry registry;
  registry.insert<TLDialect, arith::ArithDialect, gpu::GPUDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect>();
  registerHostTranslations(registry);
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    llvm::report_fatal_error("the kernel does not parse");
  PassManager manager(context.get());
  addHostPasses(manager.nest<gpu::GPUModuleOp>(), machine);
  if (failed(manager.run(*module)))
    llvm::report_fatal_error("the kernel does not compile");

  module->walk([&](CompiledKernelOp kernel) {
    for (auto param : kernel.getParams().getAsRange<ParamAttr>())
      params.push_back(param);
    object = kernel.getFiles().getAs<StringAttr>("kernel.o").str();
    assembly = kernel.getFiles().getAs<StringAttr>("kernel.s").str();
    name = kernel.getSymName().str();
  });
}

llvm::Error HostKernel::load() {
  auto loaded = HostObject::load(object, name);
  if (!loaded)
    return loaded.takeError();
  code = std::move(*loaded);
  return llvm::Error::success();
}

const std::string &HostKernel::getFile(const std::string &name) const {
  return name == "kernel.o" ? object : assembly;
}

void HostKernel::run(const std::vector<Argument> &arguments,
                     std::array<int64_t, 3> grid) {
  run(arguments, grid, 0, grid[0] * grid[1] * grid[2]);
}

void HostKernel::run(const std::vector<Argument> &arguments,
                     std::array<int64_t, 3> grid, int64_t begin, int64_t end) {
  if (!code)
    cantFail(load());
  std::vector<void *> values;
  for (ParamAttr param : params) {
    const Argument &argument = arguments[param.getOperand()];
    auto part = [&](const std::vector<int64_t> &list) {
      return const_cast<int64_t *>(&list[param.getIndex()]);
    };
    switch (param.getKind()) {
    case ParamKind::Base:
      values.push_back(const_cast<void **>(&argument.data));
      break;
    case ParamKind::Dim:
      values.push_back(part(argument.shape));
      break;
    case ParamKind::Stride:
      values.push_back(part(argument.strides));
      break;
    case ParamKind::Scalar:
      values.push_back(argument.data);
      break;
    default:
      llvm::report_fatal_error("a parameter that the CPU does not have");
    }
  }
  code->getFunction()(values.data(), begin, end, grid[0], grid[1]);
}
