//===- Fingerprint.cpp - What a kernel's artifact depends on --------------===//
//
// See Fingerprint.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Fingerprint.h"

#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/Pipelines.h"
#include "tl/Target/Cubin/Assembler.h"
#include "tl/Target/KeyedPass.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include "Messages.h"
#include "PrintExactly.h"

using namespace mlir;
using namespace tl;

/// What `tl-cached` leaves on a kernel's module, for people.
static constexpr StringLiteral kCacheAttrPrefix = "tl.cache_";

/// What a kernel is called in the bytes that are keyed.
static constexpr StringLiteral kAnyName = "kernel";

/// What stands in these bytes for text that has a component of its own.
static constexpr StringLiteral kAnyText = "text";

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Replaces locations by the numbers of ops. Arguments of blocks have the
/// number of the op that they belong to. With `keepNames` names and statements
/// stay.
static void numberLocations(Operation *root, bool keepNames) {
  auto withName = [&](Location given, Location number) -> Location {
    if (!keepNames)
      return number;
    if (StringAttr statement = getStatement(given))
      number = withStatement(number, statement);
    return withNameOf(given, number);
  };
  unsigned number = 0;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    Location location = makeNumbered(op->getContext(), number++);
    op->setLoc(withName(op->getLoc(), location));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(withName(argument.getLoc(), location));
  });
}

/// A location without the names and statements around it.
static Location getPlace(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return getPlace(named.getChildLoc());
  auto fused = dyn_cast<FusedLoc>(location);
  return fused && fused.getLocations().size() == 1 && getStatement(fused)
             ? getPlace(fused.getLocations().front())
             : location;
}

/// Takes names and statements off all locations.
static void dropNames(Operation *root) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](NameLoc named) -> Attribute { return getPlace(named); });
  replacer.addReplacement(
      [](FusedLoc fused) -> Attribute { return getPlace(fused); });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/true);
}

/// Leaves of locations what the artifact may hold.
static void canonicalizeLocations(gpu::GPUModuleOp kernel, bool keepNames) {
  Attribute lineInfo = kernel->getAttr(kLineInfoAttr);
  if (!lineInfo)
    return numberLocations(kernel, keepNames);
  if (!keepNames)
    dropNames(kernel);
  if (auto folder = dyn_cast<StringAttr>(lineInfo)) {
    makePathsRelative(kernel, folder);
    kernel->setAttr(kLineInfoAttr, StringAttr::get(kernel.getContext(), ""));
  }
}

/// Renames the module and the symbol in it that has its name, as the function
/// of an outlined kernel does. References are left as they are.
static void rename(gpu::GPUModuleOp kernel, StringRef name) {
  auto newName = StringAttr::get(kernel.getContext(), name);
  if (Operation *entry = kernel.lookupSymbol(kernel.getName()))
    SymbolTable::setSymbolName(entry, newName);
  kernel.setSymNameAttr(newName);
}

/// Calls `exchange` with each text of the module's `tl.cuda_unit`s and what it
/// is called, and puts what that returns in its place.
static void exchangeTexts(
    gpu::GPUModuleOp kernel,
    llvm::function_ref<std::string(StringRef, std::string)> exchange) {
  MLIRContext *context = kernel.getContext();
  auto exchangeOne = [&](StringAttr text, const Twine &name) {
    return StringAttr::get(context, exchange(text, name.str()));
  };
  for (auto unit : kernel.getOps<CudaUnitOp>()) {
    unit.setTextAttr(
        exchangeOne(unit.getTextAttr(), "source " + unit.getName()));
    std::optional<DictionaryAttr> headers = unit.getHeaders();
    if (!headers)
      continue;
    SmallVector<NamedAttribute> exchanged;
    for (NamedAttribute header : *headers)
      exchanged.emplace_back(
          header.getName(), exchangeOne(cast<StringAttr>(header.getValue()),
                                        "header " + header.getName().strref()));
    unit.setHeadersAttr(DictionaryAttr::get(context, exchanged));
  }
}

/// Takes the texts out of the kernel. Two may be called the same; components of
/// keys may not, and are UTF-8.
static void detachTexts(gpu::GPUModuleOp kernel, CanonicalKernel &result) {
  llvm::StringSet<> taken;
  exchangeTexts(kernel, [&](StringRef text, std::string called) {
    called = llvm::json::fixUTF8(called);
    std::string name = called;
    for (unsigned i = 2; !taken.insert(name).second; ++i)
      name = called + " " + std::to_string(i);
    result.texts.emplace_back(std::move(name), text);
    return kAnyText.str();
  });
}

static void attachTexts(gpu::GPUModuleOp kernel, const CanonicalKernel &from) {
  auto next = from.texts.begin();
  exchangeTexts(kernel,
                [&](StringRef, std::string) { return (next++)->second; });
}

static bool containsChange(NamedAttribute file) {
  auto text = dyn_cast<StringAttr>(file.getValue());
  return text && text.getValue().contains(kChangesRegisters);
}

/// True if `setmaxnreg` may come to stand in what is made of `kernel`: it is
/// there, or several products of a loop may run beside what it computes.
static bool mayChangeRegisters(gpu::GPUModuleOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    bool may = isa<NVVM::SetMaxRegisterOp>(op);
    if (auto role = dyn_cast<RoleOp>(op)) {
      may = role.getRegisters().has_value();
    } else if (auto loop = dyn_cast<PipelinedOp>(op)) {
      auto gemms = loop.getBody().getOps<GemmOp>();
      may = std::distance(gemms.begin(), gemms.end()) > 1;
    } else if (auto unit = dyn_cast<CudaUnitOp>(op)) {
      may = unit.getText().contains(kChangesRegisters) ||
            (unit.getHeaders() &&
             llvm::any_of(*unit.getHeaders(), containsChange));
    } else if (auto compiled = dyn_cast<CompiledKernelOp>(op)) {
      may = llvm::any_of(compiled.getFiles(), containsChange);
    }
    return may ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

CanonicalKernel tl::canonicalize(gpu::GPUModuleOp kernel, bool keepNames) {
  // A clone's lists of uses are in the order of its ops, whatever was done to
  // the original; bytecode keeps that order.
  OwningOpRef<ModuleOp> holder =
      ModuleOp::create(UnknownLoc::get(kernel.getContext()));
  gpu::GPUModuleOp copy = kernel.clone();
  holder->push_back(copy);
  canonicalizeLocations(copy, keepNames);

  CanonicalKernel result;
  result.name = kernel.getName();
  // A component of its own says the name, so that the bytes need not.
  if (!copy.lookupSymbol(kAnyName))
    rename(copy, kAnyName);
  auto target = kernel->getAttrOfType<TargetAttr>(kTargetAttr);
  result.leadsToHostCode = !target || !target.getChip().starts_with("sm_");
  if (!result.leadsToHostCode)
    result.traits = {mayChangeRegisters(kernel), bool(findSourceCall(kernel))};
  for (NamedAttribute attribute : copy->getDiscardableAttrs())
    // Where another `tl-cached` found the kernel does not matter.
    if (!attribute.getName().strref().starts_with(kCacheAttrPrefix))
      result.attributes.emplace_back(attribute.getName().str(),
                                     printExactly(attribute.getValue()));
  copy->setDiscardableAttrs(DictionaryAttr::get(kernel.getContext()));
  detachTexts(copy, result);
  llvm::raw_string_ostream os(result.bytes);
  if (failed(writeBytecodeToFile(*holder, os)))
    llvm::report_fatal_error("the kernel has no bytecode form");
  return result;
}

OwningOpRef<ModuleOp> tl::parse(const CanonicalKernel &kernel,
                                MLIRContext &context) {
  auto holder = parseSourceString<ModuleOp>(kernel.bytes,
                                            ParserConfig(&context), "kernel");
  if (!holder)
    return nullptr;
  auto module = cast<gpu::GPUModuleOp>(holder->getBody()->front());
  rename(module, kernel.name);
  attachTexts(module, kernel);
  for (const auto &[name, text] : kernel.attributes) {
    Attribute attribute = parseAttribute(text, &context);
    if (!attribute)
      return nullptr;
    module->setDiscardableAttr(StringAttr::get(&context, name), attribute);
  }
  return holder;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static std::string printPass(Pass &pass) {
  std::string text;
  llvm::raw_string_ostream os(text);
  pass.printAsTextualPipeline(os);
  return text;
}

/// Takes over `manager` and what is nested in it.
LogicalResult Stage::add(OpPassManager manager, std::string &error) {
  order += (manager.getOpAnchorName() + "(").str();
  bool isFirst = true;
  for (Pass &pass : manager.getPasses()) {
    if (!isFirst)
      order += ",";
    isFirst = false;
    std::string text = printPass(pass);
    StringRef name = pass.getArgument();
    if (!name.empty()) {
      order += name;
      passes.push_back({name.str(), text.substr(name.size())});
      continue;
    }
    // A nested pass manager; only its text says what is in it.
    llvm::raw_string_ostream os(error);
    FailureOr<OpPassManager> nested = parsePassPipeline(text, os);
    if (failed(nested) || failed(add(std::move(*nested), error)))
      return failure();
  }
  order += ")";
  managers.push_back(std::make_shared<const OpPassManager>(std::move(manager)));
  addKeyed(*managers.back());
  return success();
}

/// What passes leave, of which the last leaves `next`.
static std::optional<Product> follow(std::optional<Product> product,
                                     std::optional<Product> next) {
  // What the host once runs is not made harmless by what follows.
  return next && product != Product::HostArtifacts ? next : product;
}

void Stage::addKeyed(const OpPassManager &manager) {
  for (const Pass &pass : manager.getPasses()) {
    auto *keyed = dynamic_cast<const KeyedPass *>(&pass);
    if (keyed)
      keyedPasses.push_back(keyed);
    product = follow(product, keyed ? keyed->getProduct() : Product::IR);
  }
}

FailureOr<std::vector<Stage>> Stage::parse(StringRef pipeline,
                                           std::string &error) {
  OpPassManager sequence(ModuleOp::getOperationName());
  llvm::raw_string_ostream os(error);
  if (failed(parsePassPipeline(pipeline, sequence, os)))
    return failure();
  std::vector<Stage> stages;
  for (Pass &pass : sequence.getPasses()) {
    Stage stage;
    stage.text = printPass(pass);
    FailureOr<OpPassManager> manager = parsePassPipeline(stage.text, os);
    if (failed(manager) ||
        manager->getOpAnchorName() != gpu::GPUModuleOp::getOperationName() ||
        failed(stage.add(std::move(*manager), error)) || stage.passes.empty())
      return failure();
    stages.push_back(std::move(stage));
  }
  if (stages.empty())
    return failure();
  return stages;
}

StringRef Stage::getName() const { return passes.back().name; }

bool Stage::printsNames() const {
  return llvm::any_of(
      keyedPasses, [](const KeyedPass *pass) { return pass->printsNames(); });
}

Product tl::getProduct(ArrayRef<Stage> stages) {
  std::optional<Product> product;
  for (const Stage &stage : stages)
    product = follow(product, stage.getProduct());
  return product.value_or(Product::IR);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Says in a key what is done with what `stages` make of a kernel.
static void addUse(cache::KeyBuilder &key, const CanonicalKernel &kernel,
                   ArrayRef<Stage> stages) {
  Product product = getProduct(stages);
  key.addUse(product == Product::IR ? cache::Use::Compile
                                    : cache::Use::LoadOnDevice);
  if (kernel.leadsToHostCode || product == Product::HostArtifacts)
    key.addUse(cache::Use::RunOnHost);
}

cache::Key tl::makeKey(const CanonicalKernel &kernel, ArrayRef<Stage> stages) {
  cache::KeyBuilder key;
  key.add("kernel", kernel.bytes).add("name", kernel.name);
  addUse(key, kernel, stages);
  key.add("compiler", getBuildId());
  for (const auto &[name, text] : kernel.attributes)
    key.add("attribute " + name, text);
  for (const auto &[name, text] : kernel.texts)
    key.add(name, text);

  std::string order;
  SmallVector<StringRef> seen;
  llvm::MapVector<StringRef, std::string> tools;
  for (const Stage &stage : stages) {
    order += stage.order;
    for (const auto &[name, options] : stage.passes) {
      seen.push_back(name);
      if (options.empty())
        continue;
      size_t number = llvm::count(seen, name);
      std::string suffix = number == 1 ? "" : " " + std::to_string(number);
      key.add("pass " + name + suffix, options);
    }
    for (const KeyedPass *pass : stage.keyedPasses)
      pass->forEachTool(kernel.traits, [&](StringRef name, StringRef identity) {
        tools[name] = identity;
      });
  }
  key.add("pipeline", order);
  for (const auto &[name, identity] : tools)
    key.add(("tool " + name).str(), identity);
  return key.build();
}
