//===- StoredKernel.cpp - A stage's result as a cache entry ---------------===//
//
// See StoredKernel.h.
//
//===----------------------------------------------------------------------===//

#include "StoredKernel.h"

#include "PrintExactly.h"
#include "tl/Cache/Manifest.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/KernelRecord.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tl;
using llvm::json::Object;

static constexpr StringLiteral kModuleFile = "kernel.mlir";

/// What an assembler says of a kernel.
static constexpr StringLiteral kResourcesAttr = "tl.resources";

/// True if brackets nest no deeper than those of any program; MLIR's parser
/// recurses.
static bool isShallow(StringRef text) {
  constexpr unsigned maxDepth = 256;
  unsigned depth = 0;
  while (!text.empty()) {
    char c = text.front();
    // Arrows and comparisons are no brackets.
    size_t taken = text.starts_with("->") || text.starts_with(">=") ? 2 : 1;
    if (text.starts_with("//")) {
      taken = text.take_until([](char c) { return c == '\n'; }).size();
    } else if (c == '"') {
      while (taken < text.size() && text[taken] != '"')
        taken += text[taken] == '\\' ? 2 : 1;
      ++taken;
    } else if (StringRef("([{<").contains(c)) {
      if (++depth > maxDepth)
        return false;
    } else if (taken == 1 && StringRef(")]}>").contains(c) && depth > 0) {
      --depth;
    }
    text = text.drop_front(std::min(taken, text.size()));
  }
  return true;
}

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

//===----------------------------------------------------------------------===//
// Records of compiled kernels
//===----------------------------------------------------------------------===//

/// True for a file that a GPU executes, or that was the source of one. What the
/// host would execute must not come with a kernel that is trusted as far as a
/// GPU goes.
static bool isOfDevice(StringRef file) {
  return file.ends_with(".ptx") || file.ends_with(".cubin") ||
         file.ends_with(".cu");
}

/// Reads the record of an entry of this product, whose files must all be there.
static llvm::Expected<KernelRecord> readRecord(const cache::Entry &entry,
                                               Product product) {
  std::optional<StringRef> text = entry.file(kModuleFile);
  if (!text)
    return llvm::createStringError("has no `" + kModuleFile + "`");
  llvm::Expected<KernelRecord> record = KernelRecord::parse(*text);
  if (!record)
    return llvm::createStringError(
        "has a `" + kModuleFile +
        "` that is no record of kernels: " + toString(record.takeError()));
  uint64_t total = 0;
  for (const RecordedKernel &kernel : record->kernels) {
    if (kernel.files.empty())
      return llvm::createStringError("has a kernel `" + kernel.name +
                                     "` without files");
    for (const auto &[name, stored] : kernel.files) {
      std::optional<StringRef> bytes = entry.file(stored);
      if (!bytes)
        return llvm::createStringError("lacks the file `" + stored + "`");
      if (product == Product::DeviceArtifacts && !isOfDevice(name))
        return llvm::createStringError("has a file `" + name +
                                       "`, which is none of a GPU");
      // Each is gone through for each kernel that names it.
      total += bytes->size();
      if (total > cache::Manifest::maxEntryBytes)
        return llvm::createStringError("names its files too often");
    }
  }
  return record;
}

static ParamAttr makeParam(const RecordedParam &param, MLIRContext *context) {
  std::optional<ParamKind> kind = symbolizeParamKind(param.kind);
  assert(kind && "the record's reader knows the kinds");
  Type type = param.type.empty() ? Type() : parseType(param.type, context);
  ArrayAttr members;
  if (!param.members.empty())
    members = ArrayAttr::get(
        context,
        llvm::map_to_vector(param.members, [&](const RecordedParam &member) {
          return Attribute(makeParam(member, context));
        }));
  return ParamAttr::get(context, *kind, param.operand, param.index, param.box,
                        param.swizzle, type, members);
}

/// Makes a kernel of a record at the builder's place.
static void makeKernel(OpBuilder &builder, Location location,
                       const RecordedKernel &kernel,
                       const cache::Entry &entry) {
  MLIRContext *context = builder.getContext();
  auto params =
      llvm::map_to_vector(kernel.params, [&](const RecordedParam &param) {
        return Attribute(makeParam(param, context));
      });
  SmallVector<NamedAttribute> files, resources;
  for (const auto &[name, stored] : kernel.files)
    files.push_back(
        builder.getNamedAttr(name, builder.getStringAttr(*entry.file(stored))));
  for (const auto &[name, value] : kernel.resources)
    resources.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  ArrayAttr symbols;
  if (kernel.symbols)
    symbols = builder.getStrArrayAttr(
        SmallVector<StringRef>(kernel.symbols->begin(), kernel.symbols->end()));
  auto made = CompiledKernelOp::create(
      builder, location, builder.getStringAttr(kernel.name),
      kernel.entry ? builder.getStringAttr(*kernel.entry) : StringAttr(),
      builder.getArrayAttr(params), builder.getDenseI64ArrayAttr(kernel.block),
      builder.getI64IntegerAttr(kernel.shared),
      builder.getDictionaryAttr(files), symbols);
  if (!resources.empty())
    made->setAttr(kResourcesAttr, builder.getDictionaryAttr(resources));
}

static LaunchArgument describe(Value argument) {
  LaunchArgument described;
  if (auto buffer = dyn_cast<MemRefType>(argument.getType())) {
    described.rank = buffer.getRank();
    described.elementBytes =
        llvm::divideCeil(buffer.getElementTypeBitWidth(), 8);
    return described;
  }
  bool isGiven = isa<BlockArgument>(argument) && !argument.getType().isIndex();
  described.isComputed = !isGiven && !matchPattern(argument, m_Constant());
  return described;
}

Launches tl::collectLaunches(ModuleOp module) {
  Launches launches;
  module.walk([&](LaunchOp launch) {
    LaunchArguments made;
    for (Value argument : launch.getArgs())
      made.arguments.push_back(describe(argument));
    made.numSymbols = launch.getSymbolArgs().size();
    SymbolRefAttr kernel = launch.getKernel();
    launches[(kernel.getRootReference().strref() + "/" +
              kernel.getLeafReference().strref())
                 .str()]
        .push_back(std::move(made));
  });
  return launches;
}

/// True for the name of a type of at least 32 bits.
static bool isWide(StringRef type) {
  constexpr StringLiteral letters = "fisu";
  unsigned bits;
  return type == "index" ||
         (!type.drop_while([&](char c) { return letters.contains(c); })
               .getAsInteger(10, bits) &&
          bits >= 32);
}

/// True if a launch can make the parameter of what it is given.
static bool canMake(const RecordedParam &param, const LaunchArguments &launch) {
  if (param.kind == "struct")
    return llvm::all_of(param.members, [&](const RecordedParam &member) {
      return canMake(member, launch);
    });
  if (param.operand >= int64_t(launch.arguments.size()))
    return false;
  const auto &[rank, elementBytes, isComputed] =
      launch.arguments[param.operand];
  if (param.kind == "scalar")
    return !rank && !param.type.empty() && (!isComputed || isWide(param.type));
  bool isMeasure = param.kind == "dim" || param.kind == "stride";
  bool isMap = param.kind == "tensor_map";
  return rank && (!isMeasure || param.index < *rank) &&
         (!isMap || (getMapElementBytes(param.type) == elementBytes &&
                     int64_t(param.box.size()) == *rank));
}

/// Checks that the kernels of a record are those that are launched, and take
/// what the launches pass.
static llvm::Error checkLaunches(const KernelRecord &record, StringRef module,
                                 const Launches &launches) {
  for (const RecordedKernel &kernel : record.kernels) {
    auto found = launches.find((module + "/" + kernel.name).str());
    if (found == launches.end())
      continue;
    for (const LaunchArguments &launch : found->second) {
      bool isSame =
          kernel.symbols.value_or(std::vector<std::string>()).size() ==
          launch.numSymbols;
      if (!isSame || !llvm::all_of(kernel.params, [&](const auto &param) {
            return canMake(param, launch);
          }))
        return llvm::createStringError("has a kernel `" + kernel.name +
                                       "` that takes something else than its "
                                       "launch passes");
    }
  }
  for (const auto &launch : launches) {
    auto [holder, name] = launch.first().split('/');
    if (holder == module &&
        llvm::none_of(record.kernels, [&](const RecordedKernel &kernel) {
          return kernel.name == name;
        }))
      return llvm::createStringError("lacks the kernel `" + name + "`");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

/// Parses the IR of an entry. Errors are the caller's to tell: nobody wrote
/// this text where a location could point. Null if it is not what was stored.
static OwningOpRef<ModuleOp> parseIR(const cache::Entry &entry,
                                     MLIRContext &context) {
  std::optional<StringRef> text = entry.file(kModuleFile);
  if (!text || !isShallow(*text))
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

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

cache::Entry tl::store(gpu::GPUModuleOp result, ArrayRef<Message> messages,
                       double seconds, Product product) {
  cache::Entry entry;
  OwningOpRef<gpu::GPUModuleOp> copy = result.clone();
  for (auto kernel : copy->getOps<CompiledKernelOp>())
    detachFiles(kernel, entry);
  bool isIR = product == Product::IR;
  entry.addFile(kModuleFile, printExactly(*copy, /*locations=*/isIR));
  entry.setMetadata(Object{{"kernel", result.getName()},
                           {"seconds", seconds},
                           {"messages", toJSON(messages)}});
  if (isIR)
    return entry;
  // Somebody may call a kernel what no stranger's is allowed to be called.
  llvm::Expected<KernelRecord> record = readRecord(entry, product);
  entry.mayBeKept = bool(record);
  if (!record)
    consumeError(record.takeError());
  return entry;
}

void tl::addInput(cache::Entry &entry, gpu::GPUModuleOp kernel) {
  entry.addFile(cache::inputFile, printExactly(kernel, /*locations=*/false));
}

double tl::getSeconds(const cache::Entry &entry) {
  double seconds = entry.metadata().getNumber("seconds").value_or(0);
  // Whoever wrote it, it goes into sums; no compilation takes a week.
  constexpr double most = 7 * 24 * 3600;
  return seconds >= 0 && seconds <= most ? seconds : 0;
}

llvm::Error tl::accept(const cache::Entry &entry, Product product,
                       gpu::GPUModuleOp kernel, const Launches *launches,
                       const DialectRegistry &registry) {
  if (llvm::Error error = checkMessages(entry.metadata()))
    return error;
  if (product == Product::IR) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.getDiagEngine().registerHandler([](Diagnostic &) {});
    if (parseIR(entry, context))
      return llvm::Error::success();
    return llvm::createStringError("has no `" + kModuleFile +
                                   "` that can be read");
  }
  llvm::Expected<KernelRecord> record = readRecord(entry, product);
  if (!record)
    return record.takeError();
  return launches ? checkLaunches(*record, kernel.getName(), *launches)
                  : llvm::Error::success();
}

/// True for what is read as a record; what is not kept is as it was made.
static bool isRecord(const cache::Entry &entry, Product product) {
  return product != Product::IR && entry.mayBeKept;
}

/// The location of what a kernel was made from.
static Location getOrigin(gpu::GPUModuleOp input, StringRef name) {
  Operation *origin = input.lookupSymbol(name);
  return origin ? origin->getLoc() : input.getLoc();
}

OwningOpRef<ModuleOp> tl::load(const cache::Entry &entry, Product product,
                               gpu::GPUModuleOp input) {
  MLIRContext *context = input.getContext();
  if (!isRecord(entry, product))
    return parseIR(entry, *context);
  llvm::Expected<KernelRecord> record = readRecord(entry, product);
  if (!record) {
    consumeError(record.takeError());
    return nullptr;
  }
  context->loadDialect<TLDialect>();
  OwningOpRef<ModuleOp> holder = ModuleOp::create(input.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(holder->getBody());
  auto module =
      gpu::GPUModuleOp::create(builder, input.getLoc(), input.getName());
  module->setDiscardableAttrs(input->getDiscardableAttrDictionary());
  builder.setInsertionPointToStart(module.getBody());
  for (const RecordedKernel &kernel : record->kernels)
    makeKernel(builder, getOrigin(input, kernel.name), kernel, entry);
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

/// Puts the kernels of a record in the place of the functions of their names,
/// whose locations they take over.
static LogicalResult installRecord(const cache::Entry &entry, Product product,
                                   gpu::GPUModuleOp kernel) {
  llvm::Expected<KernelRecord> record = readRecord(entry, product);
  if (!record) {
    consumeError(record.takeError());
    return failure();
  }
  SmallVector<Location> locations;
  for (const RecordedKernel &made : record->kernels)
    locations.push_back(getOrigin(kernel, made.name));
  kernel.getBody()->clear();
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBody());
  for (auto [made, location] : llvm::zip_equal(record->kernels, locations))
    makeKernel(builder, location, made, entry);
  return success();
}

LogicalResult tl::install(const cache::Entry &entry, Product product,
                          gpu::GPUModuleOp kernel) {
  if (isRecord(entry, product))
    return installRecord(entry, product, kernel);
  OwningOpRef<ModuleOp> holder = parseIR(entry, *kernel.getContext());
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
