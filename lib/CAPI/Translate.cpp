//===- Translate.cpp - Compile a module to one artifact -------------------===//
//
// `tl-translate` shows what the pipeline makes of a file, or builds a library
// of it. It compiles through the C API, so that there is one way to compile,
// and one cache, for all.
//
//===----------------------------------------------------------------------===//

#include "CacheStats.h"
#include "Environment.h"
#include "Owned.h"
#include "tl-c/Compiler.h"
#include "tl-c/Library.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "tl/Target/Cubin/Assembler.h"
#include "tl/Target/Cubin/Disassembler.h"
#include "tl/Target/Cubin/Toolchain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using tl::Owned;

namespace {

enum class Artifact {
  CUDA,
  CuTeDSL,
  PTX,
  Cubin,
  SASS,
  Assembly,
  Plan,
  MLIR,
  Host,
  Library
};

struct Options {
  Artifact artifact;
  std::string input, output;
  std::vector<std::string> chips;
  std::string kernel, function, cacheDir, cacheStats;
};

} // namespace

/// Parses the command line. The options live here, not at file scope, because
/// the library serves tools with other options too.
static Options parseOptions(int argc, char **argv) {
  cl::OptionCategory category("tl-translate options");
  cl::opt<Artifact> artifact(
      "emit", cl::desc("What to make"), cl::Required, cl::cat(category),
      cl::values(
          clEnumValN(Artifact::CUDA, "cuda", "a kernel as CUDA C++"),
          clEnumValN(Artifact::CuTeDSL, "cutedsl",
                     "a kernel as a module of CuTe DSL"),
          clEnumValN(Artifact::PTX, "ptx", "the PTX of a kernel"),
          clEnumValN(Artifact::Cubin, "cubin", "the machine code of a kernel"),
          clEnumValN(Artifact::SASS, "sass", "that as text, by `nvdisasm`"),
          clEnumValN(Artifact::Assembly, "asm", "host assembly (chip `cpu`)"),
          clEnumValN(Artifact::Plan, "plan", "the launch plans, as JSON"),
          clEnumValN(Artifact::MLIR, "mlir", "the module as it was parsed"),
          clEnumValN(Artifact::Host, "host", "the host side, as C++"),
          clEnumValN(Artifact::Library, "library",
                     "a shared library with its header, in the folder `-o`")));
  cl::list<std::string> chips(
      "chip", cl::desc("What to compile for; several for one library"),
      cl::value_desc("sm_90a, ... or cpu"), cl::CommaSeparated,
      cl::cat(category));
  cl::opt<std::string> kernel("kernel",
                              cl::desc("Which kernel; the only one by default"),
                              cl::value_desc("name"), cl::cat(category));
  cl::opt<std::string> function(
      "function", cl::desc("Which function; the only one by default"),
      cl::value_desc("name"), cl::cat(category));
  cl::opt<std::string> cacheDir(
      "cache-dir", cl::desc("Keep compiled kernels in this directory"),
      cl::value_desc("path"), cl::cat(category));
  cl::opt<std::string> cacheStats(
      "cache-stats",
      cl::desc("Write what the cache did, as JSON, to this file"),
      cl::value_desc("path"), cl::cat(category));
  cl::opt<std::string> output("o", cl::desc("Output file"), cl::init("-"),
                              cl::value_desc("path"), cl::cat(category));
  cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                             cl::init("-"), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "tl-translate: compile tile kernels\n");
  return {artifact, input,    output,   chips,
          kernel,   function, cacheDir, cacheStats};
}

static bool fail(const Twine &message) {
  WithColor::error(errs(), "tl-translate") << message << '\n';
  return false;
}

/// Prints one diagnostic of the C API and its notes.
static void printDiagnostic(const json::Object &diagnostic) {
  // A diagnostic without a line is about the whole file.
  int64_t line = diagnostic.getInteger("line").value_or(0);
  if (std::optional<StringRef> file = diagnostic.getString("file")) {
    errs() << *file << ':';
    if (line > 0)
      errs() << line << ':' << diagnostic.getInteger("column").value_or(0)
             << ':';
    errs() << ' ';
  }
  errs() << diagnostic.getString("severity").value_or("note") << ": "
         << diagnostic.getString("message").value_or("") << '\n';
  if (const json::Array *notes = diagnostic.getArray("notes"))
    for (const json::Value &note : *notes)
      if (const json::Object *object = note.getAsObject())
        printDiagnostic(*object);
}

static void printDiagnostics(const Owned<char> &text) {
  Expected<json::Value> list = json::parse(text ? text.get() : "[]");
  if (!list) {
    fail(toString(list.takeError()));
    return;
  }
  for (const json::Value &diagnostic : *list->getAsArray())
    printDiagnostic(*diagnostic.getAsObject());
}

/// The file of a compiled kernel that an artifact is, or is made of.
static StringRef fileName(Artifact artifact) {
  switch (artifact) {
  case Artifact::CUDA:
    return "device_kernel.cu";
  case Artifact::CuTeDSL:
    return "kernel.py";
  case Artifact::PTX:
    return "kernel.ptx";
  case Artifact::Cubin:
  case Artifact::SASS:
    return "kernel.cubin";
  case Artifact::Assembly:
    return "kernel.s";
  case Artifact::Plan:
  case Artifact::MLIR:
  case Artifact::Host:
  case Artifact::Library:
    break;
  }
  llvm_unreachable("not a file of a kernel");
}

/// Returns what was asked for by name with `--<option>`, or the only thing
/// there is. Fails if that is not one of `names`.
static std::optional<std::string> choose(StringRef option, StringRef wanted,
                                         ArrayRef<std::string> names) {
  if (wanted.empty() && names.size() == 1)
    return names.front();
  if (is_contained(names, wanted))
    return wanted.str();
  if (names.empty()) {
    fail("the module has no " + option +
         "; compiled are functions with `tl.entry`, and the `tl.kernel`s in "
         "them");
    return std::nullopt;
  }
  fail((wanted.empty() ? "choose a " + option + " with `--" + option + "`"
                       : "no " + option + " `" + wanted + "`") +
       "; there are: " + join(names, ", "));
  return std::nullopt;
}

/// Puts the support header where CUDA C++ includes it: one file is all that is
/// written, and wheels have no folder of headers.
static std::string inlineDeviceHeader(StringRef source) {
  std::string include = ("#include <" + Twine(tl::kDeviceHeader) + ">\n").str();
  auto [before, after] = source.split(include);
  if (before.size() == source.size())
    return source.str();
  return (before + tl::getDeviceHeader() + "\n" + after).str();
}

/// What is shown of a kernel's file.
static Expected<std::string> present(Artifact artifact, StringRef contents) {
  switch (artifact) {
  case Artifact::CUDA:
    return inlineDeviceHeader(contents);
  case Artifact::SASS:
    return tl::disassemble(contents);
  default:
    return contents.str();
  }
}

/// Writes one file of the kernel that was asked for.
static bool writeFile(TlCompiled *compiled, const json::Object &info,
                      const Options &options, raw_ostream &os) {
  std::vector<std::string> names;
  for (const json::Value &kernel : *info.getArray("kernels"))
    names.push_back(kernel.getAsObject()->getString("name")->str());
  std::optional<std::string> kernel = choose("kernel", options.kernel, names);
  if (!kernel)
    return false;
  size_t size = 0;
  std::string file = fileName(options.artifact).str();
  const void *bytes =
      tlCompiledFile(compiled, kernel->c_str(), file.c_str(), &size);
  if (!bytes)
    return fail("kernel `" + *kernel + "` has no `" + file + "` for chip `" +
                options.chips.front() + "`");
  Expected<std::string> text = present(
      options.artifact, StringRef(static_cast<const char *>(bytes), size));
  if (!text)
    return fail("kernel `" + *kernel + "`: " + toString(text.takeError()));
  os << *text;
  return true;
}

/// Writes the host side of the function that was asked for, or a library of it.
static bool writeHost(ArrayRef<Owned<TlCompiled>> compiled,
                      const json::Object &info, const Options &options,
                      raw_ostream &os) {
  std::vector<std::string> names;
  for (const auto &entry : *info.getObject("functions"))
    names.push_back(entry.first.str());
  std::optional<std::string> function =
      choose("function", options.function, names);
  if (!function)
    return false;
  std::vector<const TlCompiled *> handles;
  for (const Owned<TlCompiled> &one : compiled)
    handles.push_back(one.get());
  char *error = nullptr, *warning = nullptr;
  if (options.artifact == Artifact::Host) {
    Owned<char> text(tlHostSource(handles.data(), handles.size(),
                                  function->c_str(), &error));
    if (text)
      os << text.get();
  } else {
    TlBuildOptions build = {};
    (void)tlLibraryExport(handles.data(), handles.size(), function->c_str(),
                          options.output.c_str(), &build, &warning, &error);
  }
  if (Owned<char> text(warning); text)
    WithColor::warning(errs(), "tl-translate") << text.get() << '\n';
  Owned<char> reason(error);
  return !reason || fail(reason.get());
}

static bool needsCode(Artifact artifact) {
  return is_contained(
      {Artifact::Cubin, Artifact::SASS, Artifact::Host, Artifact::Library},
      artifact);
}

/// The backend whose generator makes the artifact; null for the chip's first.
static const char *getBackend(Artifact artifact) {
  switch (artifact) {
  case Artifact::CUDA:
    return "cuda";
  case Artifact::CuTeDSL:
    return "cutedsl";
  default:
    return nullptr;
  }
}

/// Fails for a chip that has no such artifact, and for one whose machine code
/// nothing here can make.
static bool checkChip(const Options &options) {
  bool isForHost = options.chips.front() == "cpu";
  if (options.artifact == Artifact::Assembly && !isForHost)
    return fail("`--emit=asm` is for chip `cpu`, and `--chip` is `" +
                options.chips.front() + "`; its machine code is `--emit=sass`");
  bool isForGPU = is_contained({Artifact::CUDA, Artifact::CuTeDSL,
                                Artifact::PTX, Artifact::Cubin, Artifact::SASS},
                               options.artifact);
  if (!isForGPU)
    return true;
  if (isForHost)
    return fail("there is no such code for chip `cpu`; name a GPU's, such as "
                "`--chip=sm_90a`, or use `--emit=asm`");
  if (needsCode(options.artifact) &&
      tl::chooseAssembler() == tl::Assembler::None)
    return fail("there is no assembler of PTX on this machine; " +
                tl::Toolchain::getRemedy("nvjitlink"));
  return true;
}

static Owned<TlCompiled> compileFor(StringRef chip, TlModule *module,
                                    const Options &options) {
  std::string name = chip.str();
  TlCompileOptions compileOptions = {};
  compileOptions.chip = name.c_str();
  compileOptions.backend = getBackend(options.artifact);
  compileOptions.assembler = needsCode(options.artifact) ? "auto" : "none";
  compileOptions.cacheDir = options.cacheDir.c_str();
  compileOptions.useCache = !options.cacheDir.empty();
  char *diagnostics = nullptr;
  Owned<TlCompiled> compiled(
      tlModuleCompile(module, &compileOptions, &diagnostics));
  printDiagnostics(Owned<char>(diagnostics));
  return compiled;
}

/// Compiles the module and writes what was asked for.
static bool compile(TlModule *module, const Options &options, raw_ostream &os) {
  bool isHost =
      is_contained({Artifact::Host, Artifact::Library}, options.artifact);
  if (options.chips.empty())
    return fail("say what to compile for with `--chip`");
  if (options.chips.size() > 1 && !isHost)
    return fail("one artifact is for one chip, and `--chip` names " +
                Twine(options.chips.size()));
  if (!checkChip(options))
    return false;
  std::vector<Owned<TlCompiled>> compiled;
  for (const std::string &chip : options.chips) {
    compiled.push_back(compileFor(chip, module, options));
    if (!compiled.back())
      return false;
  }
  Expected<json::Value> info =
      json::parse(tlCompiledInfo(compiled.front().get()));
  if (!info)
    return fail(toString(info.takeError()));
  const json::Object &object = *info->getAsObject();
  if (isHost)
    return writeHost(compiled, object, options, os);
  if (options.artifact != Artifact::Plan)
    return writeFile(compiled.front().get(), object, options, os);
  os << formatv("{0:2}\n", *object.get("functions"));
  return true;
}

/// Does what the options say, writing to `os`.
static bool translate(const MemoryBuffer &input, const Options &options,
                      raw_ostream &os) {
  char *diagnostics = nullptr;
  Owned<TlModule> module(
      tlModuleParse(input.getBufferStart(), input.getBufferSize(),
                    input.getBufferIdentifier().str().c_str(), &diagnostics));
  printDiagnostics(Owned<char>(diagnostics));
  if (!module)
    return false;
  if (options.artifact != Artifact::MLIR)
    return compile(module.get(), options, os);
  os << Owned<char>(tlModulePrint(module.get(), /*locations=*/0)).get();
  return true;
}

/// Reads the input and writes what was asked for to where it was asked for.
static bool run(const Options &options) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> input =
      MemoryBuffer::getFileOrSTDIN(options.input);
  if (!input)
    return fail("cannot read `" + options.input +
                "`: " + input.getError().message());
  if (options.artifact == Artifact::Library) {
    if (options.output == "-")
      return fail("say where the library goes with `-o`");
    return translate(**input, options, outs());
  }
  std::error_code error;
  ToolOutputFile output(options.output, error, sys::fs::OF_None);
  if (error)
    return fail("cannot write `" + options.output + "`: " + error.message());
  if (!translate(**input, options, output.os()))
    return false;
  output.keep();
  return true;
}

int tlTranslateMain(int argc, char **argv) {
  InitLLVM init(argc, argv);
  Options options = parseOptions(argc, argv);
  tl::useCacheEnvironment("tl-translate");
  bool hasRun = run(options);
  bool isCounted = tl::writeCacheStats(options.cacheStats, "tl-translate");
  return hasRun && isCounted ? EXIT_SUCCESS : EXIT_FAILURE;
}
