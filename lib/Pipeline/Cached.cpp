//===- Cached.cpp - Run a pipeline, or take its result from the cache -----===//
//
// The keyed bytes are what the nested pipeline runs on: they are parsed into a
// context of their own. Locations would make every edit of a comment a miss, so
// each op carries its number instead of its location in those bytes; messages
// that come back, now or from a stored entry, are put at the op with that
// number in today's kernel.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/Passes.h"
#include "tl/Pipeline/Pipelines.h"
#include "tl/Target/Cubin/Toolchain.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

#define DEBUG_TYPE "tl-cached"

namespace tl {
#define GEN_PASS_DEF_CACHEDPASS
#include "tl/Pipeline/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using llvm::json::Array;
using llvm::json::Object;

/// The pretended file of numbered locations.
static constexpr StringLiteral kOpFile = "<op>";
static constexpr StringLiteral kResultFile = "kernel.mlir";

//===----------------------------------------------------------------------===//
// Canonical bytes and keys
//===----------------------------------------------------------------------===//

/// Gives every op the location `<op>:n:0`, n being its place in a walk.
static void numberLocations(Operation *root) {
  unsigned number = 0;
  MLIRContext *context = root->getContext();
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    Location location = FileLineColLoc::get(context, kOpFile, number++, 0);
    op->setLoc(location);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(location);
  });
}

/// A copy of the kernel alone in a module, as files hold it.
static OwningOpRef<ModuleOp> wrap(gpu::GPUModuleOp kernel) {
  OwningOpRef<ModuleOp> holder =
      ModuleOp::create(UnknownLoc::get(kernel.getContext()));
  holder->push_back(kernel->clone());
  return holder;
}

/// The bytes that the kernel is keyed by and compiled from.
static std::string serialise(gpu::GPUModuleOp kernel) {
  OwningOpRef<ModuleOp> holder = wrap(kernel);
  if (!kernel->hasAttr(kLineInfoAttr))
    numberLocations(&holder->getBody()->front());
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(writeBytecodeToFile(*holder, os)))
    llvm::report_fatal_error("the kernel has no bytecode form");
  return bytes;
}

/// What can change the result besides the kernel: the pipeline, ourselves, and
/// the assembler that the pipeline names.
static cache::Key makeKey(StringRef bytes, StringRef pipeline) {
  cache::KeyBuilder key;
  key.add("kernel", bytes).add("pipeline", pipeline);
  key.add("compiler", getBuildId());
  for (StringRef tool : {"nvjitlink", "ptxas", "cuda"}) {
    StringRef option = tool == "cuda" ? StringRef("driver") : tool;
    if (pipeline.contains(("assembler=" + option).str()))
      key.add(tool, Toolchain::get().identity(tool));
  }
  return key.build();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {

/// A diagnostic of the nested pipeline, without its context.
struct Message {
  DiagnosticSeverity severity;
  std::string text;
  int64_t op; ///< number of the op it is at, or -1
  std::vector<Message> notes;

  static Message from(Diagnostic &diag) {
    int64_t op = -1;
    diag.getLocation()->walk([&](Location nested) {
      auto file = dyn_cast<FileLineColLoc>(nested);
      if (!file || file.getFilename() != kOpFile)
        return WalkResult::advance();
      op = file.getLine();
      return WalkResult::interrupt();
    });
    Message message{diag.getSeverity(), diag.str(), op, {}};
    for (Diagnostic &note : diag.getNotes())
      message.notes.push_back(from(note));
    return message;
  }

  llvm::json::Value toJSON() const {
    Array list;
    for (const Message &note : notes)
      list.push_back(note.toJSON());
    return Object{{"severity", static_cast<int64_t>(severity)},
                  {"text", text},
                  {"op", op},
                  {"notes", std::move(list)}};
  }

  static Message fromJSON(const Object &object) {
    Message message{static_cast<DiagnosticSeverity>(
                        object.getInteger("severity").value_or(0)),
                    object.getString("text").value_or("").str(),
                    object.getInteger("op").value_or(-1),
                    {}};
    if (const Array *list = object.getArray("notes"))
      for (const llvm::json::Value &note : *list)
        if (const Object *nested = note.getAsObject())
          message.notes.push_back(fromJSON(*nested));
    return message;
  }

  /// Gives a remark to today's engine, which knows who asked for it. The text
  /// is
  /// `[Missed] name | Category:category | Remark="text"`, as an engine prints
  /// it.
  void emitRemarkAt(Location location) const {
    auto [kind, named] = StringRef(text).split("] ");
    auto [name, categorised] = named.split(" | Category:");
    auto [category, said] = categorised.split(" | Remark=");
    auto options = remark::RemarkOpts::name(name).category(category);
    (kind == "[Passed" ? remark::passed(location, options)
                       : remark::missed(location, options))
        << said.trim('"');
  }

  /// Says it at the op of that number in `kernel`.
  void emit(gpu::GPUModuleOp kernel) const {
    SmallVector<Location> locations;
    kernel->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { locations.push_back(op->getLoc()); });
    auto locate = [&](int64_t number) {
      bool known = number >= 0 && number < int64_t(locations.size());
      return known ? locations[number] : kernel.getLoc();
    };
    if (severity == DiagnosticSeverity::Remark)
      return emitRemarkAt(locate(op));
    InFlightDiagnostic diag = severity == DiagnosticSeverity::Error
                                  ? emitError(locate(op))
                                  : emitWarning(locate(op));
    diag << text;
    for (const Message &note : notes)
      diag.attachNote(locate(note.op)) << note.text;
  }
};

/// The nested pipeline failed; its messages say why.
struct PipelineError : llvm::ErrorInfo<PipelineError> {
  static char ID;
  std::vector<Message> messages;
  explicit PipelineError(std::vector<Message> messages)
      : messages(std::move(messages)) {}
  void log(llvm::raw_ostream &os) const override {
    os << "the kernel could not be compiled";
  }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};
char PipelineError::ID = 0;

} // namespace

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static std::string printAttribute(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// What to store of a compiled kernel: its files as files, the rest as JSON.
static cache::Entry makeEntry(gpu::GPUModuleOp result, StringRef kernelName,
                              ArrayRef<Message> messages, double seconds) {
  cache::Entry entry;
  Object metadata{{"kernel", kernelName}, {"seconds", seconds}};
  Array list;
  for (const Message &message : messages)
    list.push_back(message.toJSON());
  metadata["messages"] = std::move(list);

  auto compiled = result.getOps<CompiledKernelOp>();
  if (compiled.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    wrap(result)->print(os, OpPrintingFlags().enableDebugInfo());
    entry.addFile(kResultFile, std::move(text));
  } else {
    CompiledKernelOp kernel = *compiled.begin();
    for (NamedAttribute file : kernel.getFiles())
      entry.addFile(file.getName(),
                    cast<StringAttr>(file.getValue()).getValue().str());
    metadata["params"] = printAttribute(kernel.getParams());
    metadata["block"] = printAttribute(kernel.getBlockAttr());
    metadata["shared"] = static_cast<int64_t>(kernel.getShared());
    metadata["attributes"] =
        printAttribute(kernel->getDiscardableAttrDictionary());
  }
  entry.setMetadata(metadata);
  return entry;
}

/// Puts a stored result in the kernel's place. Fails if the entry does not hold
/// what a compiler of our build writes.
static LogicalResult install(const cache::Entry &entry,
                             gpu::GPUModuleOp kernel) {
  MLIRContext *context = kernel.getContext();
  const Object &metadata = entry.metadata();
  Block *body = kernel.getBody();
  if (std::optional<StringRef> text = entry.file(kResultFile)) {
    auto parsed =
        parseSourceString<ModuleOp>(*text, ParserConfig(context), kResultFile);
    if (!parsed || parsed->getBody()->empty())
      return failure();
    auto result = dyn_cast<gpu::GPUModuleOp>(parsed->getBody()->front());
    if (!result)
      return failure();
    body->clear();
    body->getOperations().splice(body->end(),
                                 result.getBody()->getOperations());
    kernel->setDiscardableAttrs(result->getDiscardableAttrDictionary());
    return success();
  }

  auto parse = [&](StringRef name) {
    return parseAttribute(metadata.getString(name).value_or(""), context);
  };
  auto params = dyn_cast_or_null<ArrayAttr>(parse("params"));
  auto block = dyn_cast_or_null<DenseI64ArrayAttr>(parse("block"));
  auto attributes = dyn_cast_or_null<DictionaryAttr>(parse("attributes"));
  std::optional<int64_t> shared = metadata.getInteger("shared");
  std::optional<StringRef> name = metadata.getString("kernel");
  if (!params || !block || !attributes || !shared || !name)
    return failure();
  Builder builder(context);
  SmallVector<NamedAttribute> files;
  for (const cache::File &file : entry.files())
    files.push_back(
        builder.getNamedAttr(file.name, builder.getStringAttr(file.bytes)));

  OpBuilder inside(context);
  body->clear();
  inside.setInsertionPointToStart(body);
  auto compiled = CompiledKernelOp::create(
      inside, kernel.getLoc(), *name, /*entry=*/nullptr, params, block, *shared,
      builder.getDictionaryAttr(files));
  compiled->setDiscardableAttrs(attributes);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Runs the pipeline on the keyed bytes in a context of their own.
static llvm::Expected<cache::Entry> compile(StringRef bytes, StringRef name,
                                            StringRef pipeline,
                                            const DialectRegistry &registry) {
  auto start = std::chrono::steady_clock::now();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  enableRemarks(context);
  context.printOpOnDiagnostic(false);
  std::vector<Message> messages;
  context.getDiagEngine().registerHandler([&](Diagnostic &diag) {
    messages.push_back(Message::from(diag));
    return success();
  });
  auto fail = [&] {
    return llvm::make_error<PipelineError>(std::move(messages));
  };
  auto module = parseSourceString<ModuleOp>(bytes, ParserConfig(&context));
  if (!module)
    return fail();
  PassManager manager(&context);
  std::string why;
  llvm::raw_string_ostream os(why);
  FailureOr<OpPassManager> nested = parsePassPipeline(pipeline, os);
  if (failed(nested)) {
    emitError(UnknownLoc::get(&context)) << why;
    return fail();
  }
  manager.nest<gpu::GPUModuleOp>() = std::move(*nested);
  if (failed(manager.run(*module)))
    return fail();
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return makeEntry(cast<gpu::GPUModuleOp>(module->getBody()->front()), name,
                   messages, elapsed.count());
}

namespace {
struct CachedPass : tl::impl::CachedPassBase<CachedPass> {
  using CachedPassBase::CachedPassBase;

  /// A hit makes these; a miss makes them from what the store returns.
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<TLDialect>();
  }

  LogicalResult initialize(MLIRContext *context) override {
    std::string why;
    llvm::raw_string_ostream os(why);
    FailureOr<OpPassManager> nested = parsePassPipeline(pipeline, os);
    if (succeeded(nested) &&
        nested->getOpName() == gpu::GPUModuleOp::getOperationName())
      return success();
    return emitError(UnknownLoc::get(context))
           << "`tl-cached` expects a pipeline `gpu.module(…)`, got `"
           << pipeline << "`" << (why.empty() ? "" : ": ") << why;
  }

  void runOnOperation() override {
    SmallVector<gpu::GPUModuleOp> kernels(
        getOperation().getOps<gpu::GPUModuleOp>());
    const DialectRegistry &registry = getContext().getDialectRegistry();
    cache::Cache &cache = getCache(dir);

    // Lookups and compilations run in parallel; the IR changes afterwards.
    std::vector<cache::Key> keys(kernels.size());
    std::vector<std::optional<llvm::Expected<cache::Fetched>>> results(
        kernels.size());
    parallelFor(&getContext(), 0, kernels.size(), [&](size_t i) {
      std::string bytes = serialise(kernels[i]);
      keys[i] = makeKey(bytes, pipeline);
      results[i].emplace(cache.withKey(keys[i], [&] {
        return compile(bytes, kernels[i].getName(), pipeline, registry);
      }));
    });
    for (auto [kernel, key, result] : llvm::zip(kernels, keys, results))
      if (failed(finish(kernel, key, std::move(*result))))
        signalPassFailure();
  }

  /// Reports on one kernel and installs its result.
  LogicalResult finish(gpu::GPUModuleOp kernel, const cache::Key &key,
                       llvm::Expected<cache::Fetched> result) {
    if (!result) {
      handleAllErrors(
          result.takeError(),
          [&](const PipelineError &error) {
            for (const Message &message : error.messages)
              message.emit(kernel);
          },
          [&](const llvm::ErrorInfoBase &error) {
            kernel.emitError(error.message());
          });
      return failure();
    }
    const cache::Entry &entry = *result->entry;
    if (const Array *list = entry.metadata().getArray("messages"))
      for (const llvm::json::Value &message : *list)
        if (const Object *object = message.getAsObject())
          Message::fromJSON(*object).emit(kernel);
    bool hit = result->origin != cache::Origin::Made;
    if (hit)
      noteSecondsSaved(entry.metadata().getNumber("seconds").value_or(0));
    auto options = remark::RemarkOpts::name("cache").category(DEBUG_TYPE);
    std::string text = llvm::formatv("kernel `{0}`: {1}", kernel.getName(),
                                     hit ? "hit" : "miss");
    (hit ? remark::passed(kernel.getLoc(), options)
         : remark::missed(kernel.getLoc(), options))
        << text;

    if (failed(install(entry, kernel)))
      return kernel.emitError("the cache's entry ")
             << key.hex() << " is not one of this compiler; remove it with "
             << "`tl-cache`";
    Builder builder(kernel.getContext());
    kernel->setAttr("tl.cache_key", builder.getStringAttr(key.hex()));
    kernel->setAttr("tl.cache_hit", builder.getBoolAttr(hit));
    if (!entry.directory.empty())
      kernel->setAttr("tl.cache_path", builder.getStringAttr(entry.directory));
    return success();
  }
};
} // namespace
