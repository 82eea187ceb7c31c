//===- StoredKernel.cpp - A stage's result as a cache entry ---------------===//
//
// See StoredKernel.h.
//
//===----------------------------------------------------------------------===//

#include "StoredKernel.h"

#include "PrintExactly.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tl;
using llvm::json::Object;

static constexpr StringLiteral kModuleFile = "kernel.mlir";

/// Moves the kernel's files to the entry and leaves the names that they have
/// there. Kernels of one module often have the same files.
static void detachFiles(CompiledKernelOp kernel, cache::Entry &entry) {
  Builder builder(kernel.getContext());
  SmallVector<NamedAttribute> names;
  for (NamedAttribute file : kernel.getFiles()) {
    StringRef bytes = cast<StringAttr>(file.getValue()).getValue();
    std::string name = file.getName().str();
    for (unsigned i = 2; entry.file(name).value_or(bytes) != bytes; ++i)
      name = (Twine(i) + "." + file.getName().strref()).str();
    if (!entry.file(name))
      entry.addFile(name, bytes.str());
    names.push_back(
        builder.getNamedAttr(file.getName(), builder.getStringAttr(name)));
  }
  kernel.setFilesAttr(builder.getDictionaryAttr(names));
}

/// Puts the contents back. Fails if a file is not in the entry.
static LogicalResult attachFiles(CompiledKernelOp kernel,
                                 const cache::Entry &entry) {
  Builder builder(kernel.getContext());
  SmallVector<NamedAttribute> files;
  for (NamedAttribute file : kernel.getFiles()) {
    auto name = dyn_cast<StringAttr>(file.getValue());
    std::optional<StringRef> bytes =
        name ? entry.file(name.getValue()) : std::nullopt;
    if (!bytes)
      return failure();
    files.push_back(
        builder.getNamedAttr(file.getName(), builder.getStringAttr(*bytes)));
  }
  kernel.setFilesAttr(builder.getDictionaryAttr(files));
  return success();
}

cache::Entry tl::store(gpu::GPUModuleOp result, ArrayRef<Message> messages,
                       double seconds) {
  cache::Entry entry;
  OwningOpRef<gpu::GPUModuleOp> copy = result.clone();
  for (auto kernel : copy->getOps<CompiledKernelOp>())
    detachFiles(kernel, entry);
  entry.addFile(kModuleFile, printExactly(*copy));
  entry.setMetadata(Object{{"kernel", result.getName()},
                           {"seconds", seconds},
                           {"messages", toJSON(messages)}});
  return entry;
}

void tl::addInput(cache::Entry &entry, gpu::GPUModuleOp kernel) {
  entry.addFile(cache::inputFile, printExactly(kernel, /*locations=*/false));
}

double tl::getSeconds(const cache::Entry &entry) {
  return entry.metadata().getNumber("seconds").value_or(0);
}

OwningOpRef<ModuleOp> tl::load(const cache::Entry &entry,
                               MLIRContext &context) {
  std::optional<StringRef> text = entry.file(kModuleFile);
  if (!text)
    return nullptr;
  auto holder =
      parseSourceString<ModuleOp>(*text, ParserConfig(&context), kModuleFile);
  if (!holder || !llvm::hasSingleElement(*holder->getBody()))
    return nullptr;
  auto module = dyn_cast<gpu::GPUModuleOp>(holder->getBody()->front());
  if (!module)
    return nullptr;
  for (auto kernel : module.getOps<CompiledKernelOp>())
    if (failed(attachFiles(kernel, entry)))
      return nullptr;
  return holder;
}

/// Gives the ops below `result` the locations of the ops below `kernel` that
/// they have the numbers of.
static void restoreLocations(Operation *result, Operation *kernel) {
  SmallVector<Location> locations;
  kernel->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { locations.push_back(op->getLoc()); });
  AttrTypeReplacer replacer;
  using Replacement = std::pair<Attribute, WalkResult>;
  replacer.addReplacement([&](FileLineColLoc location) -> Replacement {
    std::optional<unsigned> number = getNumber(location);
    if (!number || *number >= locations.size())
      return {location, WalkResult::skip()};
    return {locations[*number], WalkResult::skip()};
  });
  replacer.recursivelyReplaceElementsIn(result, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/true);
}

LogicalResult tl::install(const cache::Entry &entry, gpu::GPUModuleOp kernel) {
  OwningOpRef<ModuleOp> holder = load(entry, *kernel.getContext());
  if (!holder)
    return failure();
  auto result = cast<gpu::GPUModuleOp>(holder->getBody()->front());
  restoreLocations(result, kernel);
  Block *body = kernel.getBody();
  body->clear();
  body->getOperations().splice(body->end(), result.getBody()->getOperations());
  kernel->setAttrs(result->getAttrDictionary());
  return success();
}
