//===- CompileCUDA.cpp - Compile the units of a module to PTX -------------===//
//
// The pass over the compilers of CUDA C++: it makes programs of units, turns
// what compilers say into diagnostics in the user's files, and settles what no
// scanner of C++ can know: the type of each entry by assertions that are
// compiled with it, the size of its parameters and its bounds by the PTX.
//
//===----------------------------------------------------------------------===//

#include "Assertions.h"
#include "Compilers.h"
#include "tl/Dialect/TL/IR/SourceKernels.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/CUDA/PTXSymbols.h"
#include "tl/Target/CUDA/Passes.h"
#include "tl/Target/CUDACpp/CUDACpp.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "tl/Target/KeyedPass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <optional>
#include <utility>

namespace tl {
#define GEN_PASS_DEF_COMPILECUDAPASS
#include "tl/Target/CUDA/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// `kernel.ptx`, `kernel_1.ptx`, …
static std::string numberFile(StringRef stem, StringRef extension,
                              size_t number) {
  std::string suffix = number == 0 ? "" : "_" + std::to_string(number);
  return (stem + suffix + "." + extension).str();
}

static std::vector<std::string> toStrings(std::optional<ArrayAttr> list) {
  std::vector<std::string> strings;
  if (list)
    for (auto element : list->getAsRange<StringAttr>())
      strings.push_back(element.str());
  return strings;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

namespace {
/// What a launch passes for one parameter.
struct Passed {
  std::string name;
  uint64_t size;
  uint64_t alignment;
  bool isFloat = false;
  bool isAggregate = false;
};
} // namespace

static Passed describe(ParamAttr param) {
  ParamLayout layout = ParamLayout::of(param);
  Passed passed{"", layout.size, layout.alignment};
  switch (param.getKind()) {
  case ParamKind::Base:
    passed.name = "pointer";
    return passed;
  case ParamKind::Dim:
  case ParamKind::Stride:
    passed.name = "i64";
    return passed;
  case ParamKind::TensorMap:
    passed.name = "tensor map";
    return passed;
  case ParamKind::Struct:
    passed.name = llvm::formatv("struct of {0} bytes", layout.size);
    passed.isAggregate = true;
    return passed;
  case ParamKind::Scalar:
    break;
  }
  Type type = param.getType();
  passed.isFloat = isa<FloatType>(type);
  if (type.isIndex())
    passed.name = "i64";
  else
    llvm::raw_string_ostream(passed.name) << type;
  return passed;
}

/// Whether a value as `passed` can be the parameter. PTX says of a parameter
/// whether it is a floating-point number, but not whether it is a pointer.
static bool fits(const Passed &passed, const PTXParameter &parameter) {
  if (passed.size != parameter.size || passed.alignment < parameter.alignment)
    return false;
  if (passed.isAggregate)
    return true;
  bool isInteger =
      parameter.type.front() == 'u' || parameter.type.front() == 's';
  return passed.isFloat ? !isInteger || passed.size < 4
                        : parameter.type.front() != 'f';
}

/// Compares what launches pass with what `compiled` takes.
static LogicalResult checkParameters(CudaEntryOp entry,
                                     const PTXEntry &compiled) {
  auto passed =
      llvm::map_to_vector(entry.getParams().getAsRange<ParamAttr>(), describe);
  size_t count = compiled.parameters.size();
  size_t misfit = 0;
  while (misfit < std::min(passed.size(), count) &&
         fits(passed[misfit], compiled.parameters[misfit]))
    ++misfit;
  bool isSameCount = passed.size() == count;
  if (isSameCount && misfit == count)
    return success();

  auto list = [](auto &&names) { return llvm::join(names, ", "); };
  InFlightDiagnostic diag =
      entry.emitError("kernel `")
      << entry.getEntryExpression() << "` takes ("
      << list(llvm::map_range(compiled.parameters,
                              [](const PTXParameter &p) { return p.str(); }))
      << "), and is given ("
      << list(llvm::map_range(passed, [](const Passed &p) { return p.name; }))
      << ")";
  if (!isSameCount)
    diag << ": " << count << " parameters, and " << passed.size()
         << " arguments";
  else
    diag << ": parameter " << misfit << " has another type";
  return diag;
}

//===----------------------------------------------------------------------===//
// Blocks and clusters
//===----------------------------------------------------------------------===//

/// `(2, 1, 1)`.
static std::string print(ArrayRef<int64_t> extents) {
  auto get = [&](size_t i) { return i < extents.size() ? extents[i] : 1; };
  return llvm::formatv("({0}, {1}, {2})", get(0), get(1), get(2));
}

/// Compares blocks and clusters of launches with what `compiled` says of them.
static LogicalResult checkShape(CudaEntryOp entry, const PTXEntry &compiled) {
  ArrayRef<int64_t> block = entry.getBlock();
  int64_t threads = llvm::product_of(block);
  if (!compiled.maxThreads.empty() &&
      threads > llvm::product_of(compiled.maxThreads))
    return entry.emitError("launches ")
           << threads << " threads; `__launch_bounds__` allows "
           << llvm::product_of(compiled.maxThreads);
  if (!compiled.blockSize.empty() && print(compiled.blockSize) != print(block))
    return entry.emitError("launches blocks of ")
           << print(block) << " threads; `__block_size__` says "
           << print(compiled.blockSize);
  auto attr = entry->getAttrOfType<DenseI64ArrayAttr>(kClusterAttr);
  if (!attr)
    return success();
  ArrayRef<int64_t> cluster = attr.asArrayRef();
  if (!compiled.clusterDims.empty() &&
      print(compiled.clusterDims) != print(cluster))
    return entry.emitError("launches clusters of ")
           << print(cluster) << " blocks; `__cluster_dims__` says "
           << print(compiled.clusterDims);
  if (compiled.maxClusterBlocks &&
      llvm::product_of(cluster) > *compiled.maxClusterBlocks)
    return entry.emitError("launches clusters of ")
           << llvm::product_of(cluster)
           << " blocks; `__launch_bounds__` allows "
           << *compiled.maxClusterBlocks;
  return success();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static CudaProgram makeProgram(CudaUnitOp unit, TargetAttr target) {
  CudaProgram program;
  program.name = unit.getName().str();
  program.text = unit.getText();
  program.prelude = unit.getPrelude().value_or("");
  program.flags = toStrings(unit.getFlags());
  program.includePaths = toStrings(unit.getIncludePaths());
  if (std::optional<DictionaryAttr> headers = unit.getHeaders())
    for (NamedAttribute header : *headers)
      program.headers.push_back(
          {header.getName().getValue(),
           cast<StringAttr>(header.getValue()).getValue()});
  program.usesToolkit = unit.getToolkit().has_value();
  program.chip = target.getChip();
  Operation *module = unit->getParentOp();
  program.lineInfo = module->hasAttr(kLineInfoAttr);
  program.isGenerated = unit->hasAttr(kOriginAttr);
  // Where the user wrote the first line, if the IR still says so.
  if (auto start = dyn_cast<FileLineColLoc>(
          Location(locateInUnit(unit, unit.getName(), 1)));
      start && program.lineInfo) {
    program.file = start.getFilename().getValue().str();
    program.line = start.getLine();
    for (auto [path, text] : program.headers)
      if (auto header =
              dyn_cast<FileLineColLoc>(Location(locateInUnit(unit, path, 1))))
        program.headerFiles[path.str()] = header.getFilename().getValue().str();
  }
  program.fastMath = module->hasAttr(kFastMathAttr);
  return program;
}

/// Says at a launch that the unit is not what it relies on. One mistake can
/// break several lines: the first one says it.
static void report(CudaMessage message, const Assertions &assertions,
                   llvm::SmallDenseSet<Operation *> &reported) {
  size_t number = message.line - 1;
  if (message.severity != CudaMessage::Severity::Error ||
      number >= assertions.lines.size())
    return;
  Assertions::Line line = assertions.lines[number];
  if (!reported.insert(line.entry).second)
    return;
  InFlightDiagnostic diag = mlir::emitError(line.entry.getLoc(), line.message);
  if (line.asksName)
    diag << ": " << StringRef(message.text).split('\n').first;
}

/// Gives what the compiler said at the lines that it is about. Notes belong to
/// what was said before them. Text that no user wrote is said to be such, once.
static void report(CudaUnitOp unit, ArrayRef<CudaMessage> messages,
                   const Assertions &assertions, bool succeeded) {
  auto origin = unit->getAttrOfType<StringAttr>(kOriginAttr);
  std::optional<InFlightDiagnostic> diag;
  llvm::SmallDenseSet<Operation *> reported;
  bool hasError = false;
  for (const CudaMessage &message : messages) {
    // Names that are wrong were so in the assertions, or the text is.
    bool repeatsName =
        message.file == kNVRTCNamesFile || message.file == kNVCCNamesFile;
    if (repeatsName && hasError)
      continue;
    hasError |= message.severity == CudaMessage::Severity::Error;
    if (message.file == kAssertionsFile) {
      diag.reset();
      report(message, assertions, reported);
      continue;
    }
    Location place = message.file.empty()
                         ? unit.getLoc()
                         : locateInUnit(unit, message.file, message.line);
    bool isNote = message.severity == CudaMessage::Severity::Note;
    if (isNote && diag) {
      diag->attachNote(place) << message.text;
      continue;
    }
    bool isError = message.severity == CudaMessage::Severity::Error ||
                   (isNote && !succeeded);
    diag.emplace(isError ? emitError(place) : emitWarning(place));
    *diag << message.text;
    if (StringAttr how = std::exchange(origin, {}))
      diag->attachNote(unit.getLoc())
          << "in the " << how.getValue() << " CUDA C++ of this kernel";
  }
}

namespace {

/// Compiles one module.
class ModuleCompiler {
public:
  /// `compiler` is nothing where the text is all that is wanted.
  ModuleCompiler(gpu::GPUModuleOp module, TargetAttr target,
                 std::optional<CudaCompiler> compiler, StringRef keepDirectory)
      : module(module), target(target), compiler(compiler),
        keepDirectory(keepDirectory), builder(module.getContext()),
        entries(module.getOps<CudaEntryOp>()),
        units(module.getOps<CudaUnitOp>()) {}

  LogicalResult run() {
    for (CudaUnitOp unit : units)
      if (failed(addUnit(unit)))
        return failure();
    for (CudaEntryOp entry : entries)
      if (failed(resolve(entry)))
        return failure();
    replace();
    return success();
  }

private:
  /// An entry's symbols, once they are known.
  struct Resolved {
    std::string entry;
    SmallVector<std::string> symbols;
  };

  bool isLinked() const { return units.size() > 1; }

  void addFile(StringRef stem, StringRef extension, StringRef text) {
    files.set(numberFile(stem, extension, unitNumber),
              builder.getStringAttr(text));
  }

  LogicalResult addUnit(CudaUnitOp unit) {
    LogicalResult added = failure();
    switch (unit.getLanguage()) {
    case SourceLanguage::Cuda:
      added = compile(unit);
      break;
    case SourceLanguage::PTX:
      added = addPTX(unit, unit.getText().str());
      break;
    case SourceLanguage::Cubin:
      if (isLinked())
        return unit.emitError("`")
               << unit.getName() << "` is a cubin, which cannot be linked with "
               << "other sources; give its CUDA C++ or PTX";
      addFile("kernel", "cubin", unit.getText());
      hasSymbols = false;
      added = success();
      break;
    }
    ++unitNumber;
    return added;
  }

  /// Adds the text as people are shown it.
  void addText(CudaUnitOp unit) {
    std::string prelude = unit.getPrelude().value_or("").str();
    addFile("device_kernel", "cu",
            (prelude.empty() ? "" : prelude + "\n") + unit.getText().str());
  }

  LogicalResult compile(CudaUnitOp unit) {
    if (!compiler) {
      hasSymbols = false;
      addText(unit);
      return success();
    }
    if (compiler == CudaCompiler::None)
      return unit.emitError("`")
             << unit.getName() << "` is CUDA C++, and there is no compiler for "
             << "it on this machine; " << Toolchain::getRemedy("nvrtc");
    CudaProgram program = makeProgram(unit, target);
    program.isRelocatable = isLinked();
    program.keepDirectory = keepDirectory;
    // Names in one of several units are looked up in their PTX.
    if (!isLinked())
      program.expressions = listExpressions();
    Assertions assertions = makeAssertions(listEntries(), isLinked());
    program.assertions = assertions.text;
    llvm::Expected<CudaCompilation> compilation =
        compileCUDA(*compiler, program);
    if (!compilation)
      return unit.emitError("`") << unit.getName() << "` cannot be compiled: "
                                 << llvm::toString(compilation.takeError());
    report(unit, compilation->messages, assertions, compilation->succeeded);
    if (!compilation->succeeded)
      return failure();
    for (auto [expression, symbol] :
         llvm::zip(program.expressions, compilation->symbols))
      symbols[expression] = symbol;
    addText(unit);
    return addPTX(unit, std::move(compilation->ptx));
  }

  /// The entries that the current unit has for certain.
  SmallVector<CudaEntryOp> listEntries() {
    return llvm::filter_to_vector(entries, [&](CudaEntryOp entry) {
      auto source = entry->getAttrOfType<IntegerAttr>(kSourceAttr);
      return !isLinked() || (source && source.getInt() == unitNumber);
    });
  }

  /// The names of all entries, and the addresses of all variables that launches
  /// set.
  std::vector<std::string> listExpressions() {
    std::vector<std::string> expressions;
    auto add = [&](std::string expression) {
      if (!llvm::is_contained(expressions, expression))
        expressions.push_back(std::move(expression));
    };
    for (CudaEntryOp entry : entries) {
      add(entry.getEntryExpression().str());
      for (const std::string &symbol : toStrings(entry.getSymbols()))
        add("&" + symbol);
    }
    return expressions;
  }

  LogicalResult addPTX(CudaUnitOp unit, std::string ptx) {
    llvm::Expected<PTXSymbols> parsed = PTXSymbols::parse(ptx);
    if (!parsed)
      return unit.emitError("`")
             << unit.getName()
             << "` is not PTX: " << llvm::toString(parsed.takeError());
    showVariables(*parsed, ptx);
    addFile("kernel", "ptx", ptx);
    llvm::append_range(offered.entries, parsed->entries);
    llvm::append_range(offered.variables, parsed->variables);
    return success();
  }

  /// Makes the variables that launches set visible to the loader; NVRTC hides
  /// those of a program that is not linked.
  void showVariables(const PTXSymbols &parsed, std::string &ptx) {
    SmallVector<const PTXVariable *> hidden;
    for (CudaEntryOp entry : entries)
      for (const std::string &name : toStrings(entry.getSymbols())) {
        const PTXVariable *variable = parsed.findVariable(getVariable(name));
        if (variable && !variable->isVisible &&
            !llvm::is_contained(hidden, variable))
          hidden.push_back(variable);
      }
    llvm::sort(hidden, [](const PTXVariable *a, const PTXVariable *b) {
      return a->offset > b->offset;
    });
    for (const PTXVariable *variable : hidden)
      ptx.insert(variable->offset, ".visible ");
  }

  std::string getVariable(StringRef name) const {
    auto known = symbols.find(("&" + name).str());
    return known == symbols.end() ? name.str() : known->second;
  }

  /// Finds an entry and its variables in what was compiled.
  LogicalResult resolve(CudaEntryOp entry) {
    StringRef expression = entry.getEntryExpression();
    Resolved &names = resolved.emplace_back();
    if (!hasSymbols) { // Those of a cubin are looked up when it is loaded.
      names.entry = expression.str();
      names.symbols.append(toStrings(entry.getSymbols()).begin(),
                           toStrings(entry.getSymbols()).end());
      return success();
    }
    auto lowered = symbols.find(expression.str());
    const PTXEntry *compiled = offered.findEntry(
        lowered == symbols.end() ? expression : StringRef(lowered->second));
    if (!compiled)
      return reportMissing(entry, "entry", expression, offered.entries);
    if (failed(checkParameters(entry, *compiled)) ||
        failed(checkShape(entry, *compiled)))
      return failure();
    names.entry = compiled->name;
    for (const std::string &name : toStrings(entry.getSymbols())) {
      const PTXVariable *variable = offered.findVariable(getVariable(name));
      if (!variable)
        return reportMissing(entry, "variable", name, offered.variables);
      names.symbols.push_back(variable->name);
    }
    return success();
  }

  template <typename T>
  LogicalResult reportMissing(CudaEntryOp entry, StringRef what, StringRef name,
                              const std::vector<T> &offered) {
    InFlightDiagnostic diag = entry.emitError("there is no ")
                              << what << " `" << name << "` in `"
                              << units.front().getName() << "`";
    if (offered.empty())
      return diag << ", and no other";
    diag << "; there " << (offered.size() == 1 ? "is " : "are ");
    llvm::interleaveComma(offered, diag, [&](const T &each) {
      diag << '`' << demangleName(each.name) << '`';
    });
    return diag;
  }

  void replace() {
    DictionaryAttr contents = files.getDictionary(module.getContext());
    for (auto [entry, names] : llvm::zip(entries, resolved)) {
      builder.setInsertionPoint(entry);
      StringAttr symbol = names.entry == entry.getSymName()
                              ? StringAttr()
                              : builder.getStringAttr(names.entry);
      ArrayAttr variables =
          names.symbols.empty()
              ? ArrayAttr()
              : builder.getStrArrayAttr(SmallVector<StringRef>(
                    names.symbols.begin(), names.symbols.end()));
      CompiledKernelOp::create(builder, entry.getLoc(), entry.getSymNameAttr(),
                               symbol, entry.getParamsAttr(),
                               entry.getBlockAttr(), entry.getSharedAttr(),
                               contents, variables);
    }
    for (CudaEntryOp entry : entries)
      entry.erase();
    for (CudaUnitOp unit : units)
      unit.erase();
  }

  gpu::GPUModuleOp module;
  TargetAttr target;
  std::optional<CudaCompiler> compiler;
  StringRef keepDirectory;
  OpBuilder builder;
  SmallVector<CudaEntryOp> entries;
  SmallVector<CudaUnitOp> units;

  int64_t unitNumber = 0;
  NamedAttrList files;
  PTXSymbols offered;
  bool hasSymbols = true;
  /// By expression.
  std::map<std::string, std::string> symbols;
  /// One per entry.
  std::vector<Resolved> resolved;
};

struct CompileCUDAPass : tl::impl::CompileCUDAPassBase<CompileCUDAPass>,
                         KeyedPass {
  using CompileCUDAPassBase::CompileCUDAPassBase;

  std::optional<Product> getProduct() const override {
    return Product::DeviceArtifacts;
  }

  void
  forEachTool(const KernelTraits &traits,
              function_ref<void(StringRef, StringRef)> add) const override {
    if (onlyText || (onlyCalls && !traits.callsSources))
      return;
    StringRef tool = choose() == CudaCompiler::NVRTC  ? "nvrtc"
                     : choose() == CudaCompiler::NVCC ? "nvcc"
                                                      : "";
    if (!tool.empty())
      add(tool, Toolchain::get().identity(tool));
    if (tool == "nvcc") // which has it preprocess
      add("g++", Toolchain::get().identity("g++"));
  }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (module.getOps<CudaUnitOp>().empty())
      return;
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttr);
    if (!target) {
      module.emitError("module `")
          << module.getName() << "` has no `" << kTargetAttr << "`";
      return signalPassFailure();
    }
    std::optional<CudaCompiler> chosen;
    if (!onlyText)
      chosen = choose();
    if (failed(ModuleCompiler(module, target, chosen, keepDir).run()))
      signalPassFailure();
  }

private:
  CudaCompiler choose() const {
    return compiler == CudaCompiler::Auto ? chooseCudaCompiler() : compiler;
  }
};
} // namespace
