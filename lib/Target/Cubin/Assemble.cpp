//===- Assemble.cpp - Add a cubin to a compiled kernel --------------------===//
//
// The pass over the assemblers: it chooses one, and turns what they say into
// diagnostics and attributes.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/CuTeDSL/CuTeDSL.h"
#include "tl/Target/Cubin/Passes.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "tl/Target/KeyedPass.h"
#include "llvm/ADT/MapVector.h"

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

/// The texts to link: `kernel.ptx`, and `kernel_1.ptx` and so on if there are.
static SmallVector<StringRef> listPTX(DictionaryAttr files) {
  SmallVector<StringRef> texts;
  std::string name = kPTXFile.str();
  while (auto text = files.getAs<StringAttr>(name)) {
    texts.push_back(text);
    name = "kernel_" + std::to_string(texts.size()) + ".ptx";
  }
  return texts;
}

/// Whether the kernel `entry` has arrays in local memory. What is not in
/// registers for want of them is not declared in PTX.
static bool declaresLocalArray(ArrayRef<StringRef> texts, StringRef entry) {
  return llvm::any_of(texts, [&](StringRef text) {
    StringRef function = text.split((".entry " + entry + "(").str()).second;
    return function.split("\n}").first.contains("\n\t.local ");
  });
}

/// Warns of a kernel whose threads keep values in local memory, which is device
/// memory behind caches.
static void warnOfSpills(CompiledKernelOp kernel, StringRef entry,
                         const Resources &resources,
                         ArrayRef<StringRef> texts) {
  if (resources.stack == 0 && resources.spillStores == 0)
    return;
  InFlightDiagnostic diag = kernel.emitWarning("kernel `")
                            << kernel.getSymName() << "` keeps "
                            << std::max(resources.stack, resources.spillStores)
                            << " bytes of each thread in local memory";
  if (!declaresLocalArray(texts, entry)) {
    diag << ", because it needs more than its " << resources.registers
         << " registers; use smaller tiles or more threads";
  } else {
    // PTX has one array for all of them, without names.
    diag << ", for arrays whose indices are computed, or fragments whose "
            "elements are gone through in loops";
    if (resources.spillStores != 0)
      diag << ", and spilled registers";
    diag << "; use `T.unroll` for loops over such arrays, and smaller tiles or "
            "more threads for such fragments";
  }
  diag << " [register-spill]";
}

/// The assembler for `texts`, if `assembler` was chosen for kernels in general.
/// nvJitLink compiles each text so that others can be linked to it, and then
/// ignores `setmaxnreg` (C7504): who calls a function must know how many
/// registers it leaves. `ptxas` compiles a text that is all there is.
static Assembler chooseFor(ArrayRef<StringRef> texts, Assembler assembler) {
  bool setsRegisters =
      texts.size() == 1 && texts.front().contains(kChangesRegisters);
  return assembler == Assembler::NvJitLink && setsRegisters &&
                 !Toolchain::get().find("ptxas").empty()
             ? Assembler::Ptxas
             : assembler;
}

/// Adds what `assembler` makes of the PTX of `kernels`, which have one set of
/// files.
static LogicalResult assembleKernels(ArrayRef<CompiledKernelOp> kernels,
                                     StringRef chip, Assembler assembler) {
  CompiledKernelOp first = kernels.front();
  NamedAttrList files(first.getFiles());
  // What is a module of CuTe DSL, that assembles.
  if (files.get(kCubinFile) || files.get(kCuTeDSLFile))
    return success();
  SmallVector<StringRef> texts = listPTX(first.getFiles());
  if (texts.empty())
    return first.emitError("kernel `")
           << first.getSymName() << "` has no `" << kPTXFile << "`";
  llvm::Expected<Assembly> assembly =
      assemble(chooseFor(texts, assembler), texts, chip);
  if (!assembly)
    return first.emitError("kernel `")
           << first.getSymName()
           << "` cannot be assembled: " << llvm::toString(assembly.takeError());

  Builder builder(first.getContext());
  files.set(kCubinFile, builder.getStringAttr(assembly->cubin));
  DictionaryAttr all = files.getDictionary(first.getContext());
  for (CompiledKernelOp kernel : kernels) {
    kernel.setFilesAttr(all);
    StringRef entry = kernel.getEntry().value_or(kernel.getSymName());
    if (std::optional<Resources> resources =
            parseResources(assembly->log, entry)) {
      kernel->setAttr(kResourcesAttr, toAttr(*resources, builder));
      warnOfSpills(kernel, entry, *resources, texts);
    }
  }
  for (StringRef warning : parsePerformanceWarnings(assembly->log))
    first.emitWarning() << warning;
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

  std::optional<Product> getProduct() const override {
    return Product::DeviceArtifacts;
  }

  void
  forEachTool(const KernelTraits &traits,
              function_ref<void(StringRef, StringRef)> add) const override {
    StringRef tool = getToolName(choose());
    if (!tool.empty())
      add(tool, Toolchain::get().identity(tool));
    if (traits.mayChangeRegisters && choose() == Assembler::NvJitLink)
      add("ptxas", Toolchain::get().identity("ptxas"));
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
    llvm::MapVector<Attribute, SmallVector<CompiledKernelOp>> byFiles;
    for (auto kernel : module.getOps<CompiledKernelOp>())
      byFiles[kernel.getFiles()].push_back(kernel);
    for (auto &[files, kernels] : byFiles)
      if (failed(assembleKernels(kernels, target.getChip(), chosen)))
        return signalPassFailure();
  }

private:
  Assembler choose() const {
    return assembler == Assembler::Auto ? chooseAssembler() : assembler;
  }
};
} // namespace
