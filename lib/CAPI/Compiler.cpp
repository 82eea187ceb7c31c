//===- Compiler.cpp - C API of the compiler -------------------------------===//
//
// See tl-c/Compiler.h. A module owns its context; a compilation works on a copy
// and keeps nothing of it but strings.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Compiler.h"

#include "InitAll.h"
#include "TlCompiled.h"
#include "TlError.h"
#include "TlModule.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Checks.h"
#include "tl/Dialect/TL/Transforms/Prints.h"
#include "tl/Pipeline/CacheCounters.h"
#include "tl/Pipeline/DumpPasses.h"
#include "tl/Pipeline/Miss.h"
#include "tl/Pipeline/Pipelines.h"
#include "tl/Pipeline/PostProcess.h"
#include "tl/Simulator/Decode.h"
#include "tl/Simulator/SimulatedExecutable.h"
#include "tl/Target/CPU/HostLoader.h"
#include "tl/Target/CUDA/FilesRead.h"
#include "tl/Target/Cubin/Toolchain.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

#include <chrono>
#include <cstring>

using namespace mlir;
using namespace tl;
using llvm::json::Array;
using llvm::json::Object;

char *tl::copyString(llvm::StringRef text) {
  auto *copy = static_cast<char *>(malloc(text.size() + 1));
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

std::string tl::toText(llvm::json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static const char *getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("all severities are handled");
}

void tl::addPlace(Object &object, Location location) {
  location->walk([&](Location nested) {
    auto file = dyn_cast<FileLineColLoc>(nested);
    if (!file)
      return WalkResult::advance();
    object["file"] = file.getFilename().str();
    object["line"] = file.getLine();
    object["column"] = file.getColumn();
    return WalkResult::interrupt();
  });
}

static Object toJSON(Diagnostic &diag) {
  Object object{{"severity", getSeverityName(diag.getSeverity())},
                {"message", diag.str()}};
  addPlace(object, diag.getLocation());
  Array notes;
  for (Diagnostic &note : diag.getNotes())
    notes.push_back(toJSON(note));
  object["notes"] = std::move(notes);
  if (isMarkedNotCached(diag))
    object["kind"] = "not-cached";
  return object;
}

namespace {
/// Collects what is said in a context while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diag) {
          std::lock_guard<std::mutex> lock(mutex);
          list.push_back(toJSON(diag));
          return success();
        }) {}

  void finish(char **result) {
    if (result)
      *result = copyString(toText(std::move(list)));
  }

private:
  std::mutex mutex;
  Array list;
  ScopedDiagnosticHandler handler;
};
} // namespace

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    registerPasses();
    auto *made = new DialectRegistry;
    registerDialects(*made);
    return made;
  }();
  return *registry;
}

TlModule *tlModuleParse(const char *text, size_t length, const char *name,
                        char **diagnostics) {
  auto result = std::make_unique<TlModule>();
  // Threads would cost more than they gain on modules of a few kernels; the
  // compilation turns them on.
  result->context = std::make_unique<MLIRContext>(
      getRegistry(), MLIRContext::Threading::DISABLED);
  result->context->printOpOnDiagnostic(false);
  DiagnosticCollector collector(*result->context);
  result->module = parseSourceString<ModuleOp>(
      llvm::StringRef(text, length), ParserConfig(result->context.get()), name);
  collector.finish(diagnostics);
  return result->module ? result.release() : nullptr;
}

void tlModuleDestroy(TlModule *module) { delete module; }

char *tlModulePrint(TlModule *module, int locations) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->module->print(os, flags);
  return copyString(text);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// A launch plan's attributes as JSON; unit stands for null.
static llvm::json::Value toJSON(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, llvm::json::Value>(attribute)
      .Case<DictionaryAttr>([](DictionaryAttr dictionary) {
        Object object;
        for (NamedAttribute entry : dictionary)
          object[entry.getName().getValue()] = toJSON(entry.getValue());
        return llvm::json::Value(std::move(object));
      })
      .Case<ArrayAttr>([](ArrayAttr list) {
        Array array;
        for (Attribute entry : list)
          array.push_back(toJSON(entry));
        return llvm::json::Value(std::move(array));
      })
      .Case<BoolAttr>([](BoolAttr value) { return value.getValue(); })
      .Case<IntegerAttr>([](IntegerAttr value) { return value.getInt(); })
      .Case<StringAttr>([](StringAttr value) { return value.getValue().str(); })
      .Default([](Attribute) { return nullptr; });
}

static llvm::json::Value getString(Operation *op, llvm::StringRef name) {
  auto attribute = op->getAttrOfType<StringAttr>(name);
  return attribute ? llvm::json::Value(attribute.getValue().str())
                   : llvm::json::Value(nullptr);
}

/// What to look at again before what was compiled is used once more.
static llvm::json::Value describe(const FilesRead &files) {
  if (!files.isComplete())
    return nullptr;
  Object digests;
  for (const auto &[file, digest] : files.getDigests())
    digests[file] = digest;
  return digests;
}

/// Takes over everything that callers may ask for.
static std::unique_ptr<TlCompiled>
collect(ModuleOp module, const FilesRead &files, double seconds) {
  auto result = std::make_unique<TlCompiled>();
  Object functions;
  for (auto plan : module.getOps<LaunchPlanOp>()) {
    llvm::json::Value json = toJSON(plan.getPlan());
    result->plans[plan.getName()] = toText(json);
    functions[plan.getName()] = std::move(json);
  }
  Array kernels;
  for (auto holder : module.getOps<gpu::GPUModuleOp>())
    for (auto kernel : holder.getOps<CompiledKernelOp>()) {
      Array files;
      for (NamedAttribute file : kernel.getFiles()) {
        files.push_back(file.getName().str());
        result->kernels[kernel.getName()][file.getName()] =
            result->contents
                .insert(cast<StringAttr>(file.getValue()).getValue())
                .first->first();
      }
      auto hit = holder->getAttrOfType<BoolAttr>("tl.cache_hit");
      Object described{
          {"name", kernel.getName().str()},
          {"shared", static_cast<int64_t>(kernel.getShared())},
          {"block", Array(llvm::ArrayRef<int64_t>(kernel.getBlock()))},
          {"files", std::move(files)},
          {"cached", hit && hit.getValue()},
          {"unsigned", holder->hasAttr("tl.cache_unsigned")},
          {"path", getString(holder, "tl.cache_path")},
          {"key", getString(holder, "tl.cache_key")}};
      if (Attribute resources = kernel->getAttr("tl.resources"))
        described["resources"] = toJSON(resources);
      kernels.push_back(std::move(described));
    }
  Attribute checks = module->getAttr(kChecksAttr);
  Attribute prints = module->getAttr(kPrintsAttr);
  result->info = toText(Object{
      {"checks", checks ? toJSON(checks) : nullptr},
      {"functions", std::move(functions)},
      {"kernels", std::move(kernels)},
      {"files_read", describe(files)},
      {"prints", prints ? toJSON(prints) : nullptr},
      {"stages", Array{Object{{"name", "compile"}, {"seconds", seconds}}}}});
  return result;
}

/// The caller's post-processor as a function that owns its data.
static PostProcessor wrap(const TlPostProcessor &given) {
  std::shared_ptr<void> data(given.data, [release = given.release](void *data) {
    if (release)
      release(data);
  });
  return [process = given.process,
          data](llvm::StringRef source,
                llvm::StringRef chip) -> llvm::Expected<std::string> {
    char *reason = nullptr;
    char *edited =
        process(source.str().c_str(), chip.str().c_str(), data.get(), &reason);
    std::string text =
        edited ? edited : (reason ? reason : "it does not say why");
    free(edited);
    free(reason);
    if (edited)
      return text;
    return llvm::createStringError(text);
  };
}

/// Whether `tl-lower-tile-ops` and what follows it were here: no tile is left
/// to lower, and parameters are what a launch passes.
static bool isAtThreadLevel(gpu::GPUFuncOp kernel) {
  auto isParameter = [&](unsigned i) {
    return kernel.getArgAttr(i, kParamAttr) != nullptr;
  };
  return kernel->hasAttr(kSharedAttr) &&
         llvm::all_of(llvm::seq(kernel.getNumArguments()), isParameter);
}

/// True if there are kernels, and all are at thread level.
static bool isAtThreadLevel(ModuleOp module) {
  SmallVector<gpu::GPUFuncOp> kernels;
  module.walk([&](gpu::GPUFuncOp kernel) { kernels.push_back(kernel); });
  bool hasTiles = module.walk([](KernelOp) { return WalkResult::interrupt(); })
                      .wasInterrupted();
  return !kernels.empty() && !hasTiles &&
         llvm::all_of(kernels,
                      [](gpu::GPUFuncOp op) { return isAtThreadLevel(op); });
}

/// Fails for a kernel that earlier passes made for another chip: what they
/// decided holds for theirs.
static LogicalResult checkChip(ModuleOp module, llvm::StringRef chip) {
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (auto target = kernels->getAttrOfType<TargetAttr>(kTargetAttr);
        target && target.getChip() != chip)
      return kernels.emitError("kernel `")
             << kernels.getName() << "` is for chip `" << target.getChip()
             << "` by its `" << kTargetAttr << "`, and `" << chip
             << "` is asked for; ask for that chip, or start from the module "
                "before `tl-attach-target`";
  return success();
}

static LogicalResult run(ModuleOp module, const TlCompileOptions &options,
                         FilesRead &files) {
  CompileOptions compile;
  compile.filesRead = &files;
  std::optional<PostProcessorScope> processor;
  if (options.postProcessor) {
    compile.postProcess = options.postProcessor->id;
    processor.emplace(compile.postProcess, wrap(*options.postProcessor));
  }
  compile.chip = options.chip ? options.chip : "sm_90a";
  if (failed(checkChip(module, compile.chip)))
    return failure();
  compile.fromThreads = isAtThreadLevel(module);
  if (options.backend)
    compile.backend = options.backend;
  llvm::StringRef assembler = options.assembler ? options.assembler : "auto";
  auto chosen = llvm::StringSwitch<std::optional<Assembler>>(assembler)
                    .Case("auto", Assembler::Auto)
                    .Case("nvjitlink", Assembler::NvJitLink)
                    .Case("ptxas", Assembler::Ptxas)
                    .Case("driver", Assembler::Driver)
                    .Case("none", Assembler::None)
                    .Default(std::nullopt);
  if (!chosen)
    return module.emitError("unknown assembler `")
           << assembler
           << "`; use `auto`, `nvjitlink`, `ptxas`, `driver` or `none`";
  compile.assembler = *chosen;
  bool dumps = options.dumpDir && *options.dumpDir;
  // Dumps show every pass, so that every pass must run.
  if (options.useCache && options.cacheDir && !dumps)
    compile.cacheDir = options.cacheDir;
  if (dumps)
    compile.keepDir = options.dumpDir;
  compile.requireCached = options.requireCached;
  compile.lineInfo = options.lineInfo;
  compile.fastMath = options.fastMath;
  compile.checks = options.checks;

  PassManager manager(module.getContext());
  std::string error;
  if (failed(buildCompilePipeline(manager, compile, error)))
    return module.emitError(error);
  OpPrintingFlags flags;
  if (options.dumpLocations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  if (dumps)
    manager.addInstrumentation(createPassDump(options.dumpDir, flags));
  return manager.run(module);
}

TlCompiled *tlModuleCompile(TlModule *module, const TlCompileOptions *options,
                            char **diagnostics) {
  auto start = std::chrono::steady_clock::now();
  MLIRContext &context = *module->context;
  if (!context.getRemarkEngine())
    enableRemarks(context);
  DiagnosticCollector collector(context);
  OwningOpRef<ModuleOp> copy = module->module->clone();
  std::unique_ptr<TlCompiled> result;
  FilesRead files;
  if (succeeded(run(*copy, *options, files))) {
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result = collect(*copy, files, elapsed.count());
    result->chip = options->chip ? options->chip : "";
    result->isSimulated =
        options->backend && llvm::StringRef(options->backend) == "sim";
  }
  collector.finish(diagnostics);
  return result.release();
}

void tlCompiledDestroy(TlCompiled *compiled) { delete compiled; }

const char *tlCompiledInfo(TlCompiled *compiled) {
  return compiled->info.c_str();
}

const void *tlCompiledFile(TlCompiled *compiled, const char *kernel,
                           const char *file, size_t *size) {
  auto files = compiled->kernels.find(kernel);
  if (files == compiled->kernels.end())
    return nullptr;
  auto found = files->second.find(file);
  if (found == files->second.end())
    return nullptr;
  *size = found->second.size();
  return found->second.data();
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The host code of every kernel that was loaded; kept until the process ends,
/// because executables do not say when they are done with it.
static llvm::Expected<HostFunction> loadHostCode(llvm::StringRef object,
                                                 llvm::StringRef name) {
  static std::mutex mutex;
  static auto *loaded = new std::vector<std::unique_ptr<HostObject>>;
  llvm::Expected<std::unique_ptr<HostObject>> code =
      HostObject::load(object, name);
  if (!code)
    return code.takeError();
  HostFunction function = (*code)->getFunction();
  std::lock_guard<std::mutex> lock(mutex);
  loaded->push_back(std::move(*code));
  return function;
}

/// Decodes the kernels of a function, and loads them into the simulator.
static TlExecutable *loadSimulated(const TlCompiled &compiled,
                                   llvm::StringRef plan, TlError **error) {
  auto fail = [&](llvm::Error why) {
    *error = new TlError{TL_ERROR_PLAN, toString(std::move(why))};
    return nullptr;
  };
  std::vector<std::unique_ptr<sim::Program>> programs;
  for (const auto &kernel : compiled.kernels) {
    llvm::StringRef text =
        compiled.getCode(kernel.second).value_or(llvm::StringRef());
    auto program = sim::decodeText(text, kernel.first(), getRegistry());
    if (!program)
      return fail(program.takeError());
    programs.push_back(std::move(*program));
  }
  auto executable = sim::loadSimulated(plan, std::move(programs));
  if (!executable)
    return fail(executable.takeError());
  return reinterpret_cast<TlExecutable *>(executable->release());
}

void tlSimulatorSetOptions(uint64_t seed, bool checks, bool shrinks) {
  sim::setOptions({seed, checks, shrinks});
}

void tlSimulatorBeginCounts(uint64_t most_blocks) {
  sim::beginCounts(most_blocks);
}

char *tlSimulatorEndCounts() { return copyString(toText(sim::endCounts())); }

void tlSimulatorBeginTimeline(uint64_t block, unsigned line) {
  sim::beginTimeline(block, line);
}

char *tlSimulatorEndTimeline() {
  return copyString(toText(sim::endTimeline()));
}

bool tlSimulatorSetReplay(const char *replay) {
  if (!*replay) {
    sim::endReplay();
    return true;
  }
  std::optional<sim::Replay> parsed = sim::parseReplay(replay);
  if (parsed)
    sim::beginReplay(std::move(*parsed));
  return parsed.has_value();
}

uint64_t tlSimulatorInstructions() { return sim::getThreadInstructions(); }

TlExecutable *tlCompiledLoad(TlCompiled *compiled, const char *function,
                             TlError **error) {
  auto plan = compiled->plans.find(function);
  if (plan == compiled->plans.end()) {
    *error = new TlError{TL_ERROR_PLAN, "the module has no entry function `" +
                                            std::string(function) + "`"};
    return nullptr;
  }
  if (compiled->isSimulated)
    return loadSimulated(*compiled, plan->second, error);
  std::vector<const char *> names;
  std::vector<const void *> images;
  std::vector<size_t> sizes;
  std::vector<TlHostKernel> hostFunctions;
  for (auto &kernel : compiled->kernels) {
    names.push_back(kernel.first().data());
    std::optional<llvm::StringRef> image = compiled->getCode(kernel.second);
    if (!image) {
      *error = new TlError{TL_ERROR_PLAN, "kernel `" + kernel.first().str() +
                                              "` has no machine code"};
      return nullptr;
    }
    if (!compiled->isHost()) {
      images.push_back(image->data());
      sizes.push_back(image->size());
      continue;
    }
    llvm::Expected<HostFunction> code = loadHostCode(*image, kernel.first());
    if (!code) {
      *error = new TlError{TL_ERROR_PLAN, toString(code.takeError())};
      return nullptr;
    }
    hostFunctions.push_back(*code);
  }
  const std::string &text = plan->second;
  if (compiled->isHost())
    return tlExecutableLoadHost(text.data(), text.size(), names.size(),
                                names.data(), hostFunctions.data(), error);
  return tlExecutableLoadCuda(text.data(), text.size(), names.size(),
                              names.data(), images.data(), sizes.data(), error);
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

char *tlCacheCounters(void) {
  return copyString(toText(tl::toJSON(getCacheCounters())));
}

char *tlToolchainInfo(void) {
  Toolchain &toolchain = Toolchain::get();
  Object tools;
  for (llvm::StringRef tool : {"nvjitlink", "ptxas", "nvrtc", "nvcc", "cuda"}) {
    std::string path = toolchain.find(tool);
    if (path.empty())
      tools[tool] =
          Object{{"path", nullptr}, {"remedy", Toolchain::getRemedy(tool)}};
    else
      tools[tool] =
          Object{{"path", path}, {"version", toolchain.identity(tool)}};
  }
  return copyString(toText(std::move(tools)));
}
