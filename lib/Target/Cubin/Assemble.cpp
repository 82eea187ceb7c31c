//===- Assemble.cpp - Add a cubin to a compiled kernel --------------------===//
//
// The pass over the assemblers: it chooses one, and turns what they say into
// diagnostics and attributes.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/Cubin/Passes.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "tl/Target/KeyedPass.h"

namespace tl {
#define GEN_PASS_DEF_ASSEMBLEPASS
#include "tl/Target/Cubin/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr StringLiteral kPTXFile = "kernel.ptx";
static constexpr StringLiteral kCubinFile = "kernel.cubin";
static constexpr StringLiteral kResourcesAttr = "tl.resources";

static Attribute toAttr(const Resources &resources, Builder &builder) {
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr({
      number("registers", resources.registers),
      number("spill_loads", resources.spillLoads),
      number("spill_stores", resources.spillStores),
      number("stack", resources.stack),
  });
}

/// Adds what `assembler` makes of the PTX of `kernel`.
static LogicalResult assembleKernel(CompiledKernelOp kernel, StringRef chip,
                                    Assembler assembler) {
  auto ptx = kernel.getFiles().getAs<StringAttr>(kPTXFile);
  if (!ptx)
    return kernel.emitError("kernel `")
           << kernel.getSymName() << "` has no `" << kPTXFile << "`";
  llvm::Expected<Assembly> assembly = assemble(assembler, ptx.getValue(), chip);
  if (!assembly)
    return kernel.emitError("kernel `")
           << kernel.getSymName()
           << "` cannot be assembled: " << llvm::toString(assembly.takeError());

  Builder builder(kernel.getContext());
  NamedAttrList files(kernel.getFiles());
  files.set(kCubinFile, builder.getStringAttr(assembly->cubin));
  kernel.setFilesAttr(files.getDictionary(kernel.getContext()));
  if (std::optional<Resources> resources = parseResources(assembly->log))
    kernel->setAttr(kResourcesAttr, toAttr(*resources, builder));
  for (StringRef warning : parsePerformanceWarnings(assembly->log))
    kernel.emitWarning() << warning;
  return success();
}

/// The tool that an assembler is, or nothing.
static StringRef getToolName(Assembler assembler) {
  switch (assembler) {
  case Assembler::NvJitLink:
    return "nvjitlink";
  case Assembler::Ptxas:
    return "ptxas";
  case Assembler::Driver:
    return "cuda";
  case Assembler::Auto:
  case Assembler::None:
    return "";
  }
  llvm_unreachable("all assemblers are handled");
}

namespace {
struct AssemblePass : tl::impl::AssemblePassBase<AssemblePass>, KeyedPass {
  using AssemblePassBase::AssemblePassBase;

  void
  forEachTool(function_ref<void(StringRef, StringRef)> add) const override {
    StringRef tool = getToolName(choose());
    if (!tool.empty())
      add(tool, Toolchain::get().identity(tool));
  }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (assembler == Assembler::None)
      return;
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttr);
    if (!target) {
      module.emitError("module `")
          << module.getName() << "` has no `" << kTargetAttr << "`";
      return signalPassFailure();
    }
    Assembler chosen = choose();
    if (chosen == Assembler::None) {
      module.emitWarning("no assembler is on this machine, so that the kernel "
                         "is compiled when it is loaded; ")
          << Toolchain::getRemedy("nvjitlink");
      return;
    }
    for (auto kernel : module.getOps<CompiledKernelOp>())
      if (failed(assembleKernel(kernel, target.getChip(), chosen)))
        return signalPassFailure();
  }

private:
  Assembler choose() const {
    return assembler == Assembler::Auto ? chooseAssembler() : assembler;
  }
};
} // namespace
