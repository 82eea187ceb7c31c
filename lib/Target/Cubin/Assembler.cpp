//===- Assembler.cpp - Cubins from PTX ------------------------------------===//
//
// Each assembler is loaded or run when it is first needed; no CUDA header or
// library is needed to build this. The entry points declared here are those of
// nvJitLink.h and cuda.h.
//
// A cubin in which a kernel loses its stack pointer (StackPointer.h), clears
// sums in a product (ClearedSums.h), counts iterations for threads that are not
// in step (SharedAtomics.h) or reads zeros that are not there yet
// (EarlyReads.h) is made once more, without optimisations.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/Assembler.h"

#include "ToolFiles.h"
#include "tl/Support/Environment.h"
#include "tl/Support/RunProgram.h"
#include "tl/Target/Cubin/ClearedSums.h"
#include "tl/Target/Cubin/EarlyReads.h"
#include "tl/Target/Cubin/SharedAtomics.h"
#include "tl/Target/Cubin/StackPointer.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Regex.h"

#include <dlfcn.h>

using namespace llvm;
using namespace tl;

/// Levels of optimisation, as all assemblers number them.
static constexpr unsigned kUsualLevel = 3, kPlainLevel = 0;

/// True if the PTX has `.loc` directives, which assemblers drop unless told.
static bool hasLineInfo(StringRef ptx) { return ptx.contains("\n\t.loc\t"); }

namespace {
/// A shared library and its entry points by name.
class Library {
public:
  static Expected<Library> open(StringRef tool) {
    Expected<std::string> path = findTool(tool);
    if (!path)
      return path.takeError();
    void *handle = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return makeError("`" + tool + "` cannot be loaded: " + dlerror());
    return Library(handle);
  }

  /// Sets `function` to the entry point `name`; false if there is none.
  template <typename Function>
  bool resolve(Function *&function, const char *name) const {
    function = reinterpret_cast<Function *>(dlsym(handle, name));
    return function;
  }

private:
  explicit Library(void *handle) : handle(handle) {}

  void *handle;
};

//===----------------------------------------------------------------------===//
// nvJitLink
//===----------------------------------------------------------------------===//

class NvJitLink {
public:
  static Expected<Assembly> assemble(ArrayRef<StringRef> ptx, StringRef chip,
                                     unsigned level) {
    Expected<Library> library = Library::open("nvjitlink");
    if (!library)
      return library.takeError();
    NvJitLink api;
    if (!library->resolve(api.create, "nvJitLinkCreate") ||
        !library->resolve(api.destroy, "nvJitLinkDestroy") ||
        !library->resolve(api.addData, "nvJitLinkAddData") ||
        !library->resolve(api.complete, "nvJitLinkComplete") ||
        !library->resolve(api.cubinSize, "nvJitLinkGetLinkedCubinSize") ||
        !library->resolve(api.cubin, "nvJitLinkGetLinkedCubin") ||
        !library->resolve(api.errorSize, "nvJitLinkGetErrorLogSize") ||
        !library->resolve(api.error, "nvJitLinkGetErrorLog") ||
        !library->resolve(api.infoSize, "nvJitLinkGetInfoLogSize") ||
        !library->resolve(api.info, "nvJitLinkGetInfoLog"))
      return makeError("`nvjitlink` lacks an entry point that is needed");
    return api.link(ptx, chip, level);
  }

private:
  using Handle = void *;
  static constexpr int kInputPTX = 2;

  int (*create)(Handle *, uint32_t, const char **);
  int (*destroy)(Handle *);
  int (*addData)(Handle, int, const void *, size_t, const char *);
  int (*complete)(Handle);
  int (*cubinSize)(Handle, size_t *);
  int (*cubin)(Handle, void *);
  int (*errorSize)(Handle, size_t *);
  int (*error)(Handle, char *);
  int (*infoSize)(Handle, size_t *);
  int (*info)(Handle, char *);

  static std::string getLog(Handle handle, int (*getSize)(Handle, size_t *),
                            int (*getText)(Handle, char *)) {
    size_t size = 0;
    if (getSize(handle, &size) != 0 || size == 0)
      return "";
    std::string text(size, '\0');
    if (getText(handle, text.data()) != 0)
      return "";
    return StringRef(text).rtrim(StringRef("\0\n", 2)).str();
  }

  Expected<Assembly> link(ArrayRef<StringRef> texts, StringRef chip,
                          unsigned level) const {
    std::string arch = ("-arch=" + chip).str();
    // Results of the driver's cache come without the figures of `-verbose`.
    std::string optimization = "-O" + std::to_string(level);
    SmallVector<const char *> options = {arch.c_str(), "-verbose",
                                         optimization.c_str(), "-no-cache"};
    if (any_of(texts, hasLineInfo))
      options.push_back("-lineinfo");

    Handle handle = nullptr;
    if (create(&handle, options.size(), options.data()) != 0)
      return makeError("`nvjitlink` does not know chip `" + chip + "`");
    llvm::scope_exit cleanup([&] { destroy(&handle); });
    size_t size = 0;
    auto add = [&](StringRef ptx) {
      return addData(handle, kInputPTX, ptx.data(), ptx.size(), "kernel.ptx") ==
             0;
    };
    if (!all_of(texts, add) || complete(handle) != 0 ||
        cubinSize(handle, &size) != 0)
      return makeError("`nvjitlink` failed: " +
                       getLog(handle, errorSize, error));
    Assembly result;
    result.cubin.resize(size);
    if (cubin(handle, result.cubin.data()) != 0)
      return makeError("`nvjitlink` failed: " +
                       getLog(handle, errorSize, error));
    result.log = getLog(handle, infoSize, info);
    return result;
  }
};

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

class Driver {
public:
  static Expected<Assembly> assemble(ArrayRef<StringRef> ptx, StringRef chip,
                                     unsigned level) {
    Expected<Library> library = Library::open("cuda");
    if (!library)
      return library.takeError();
    Driver api;
    if (!library->resolve(api.init, "cuInit") ||
        !library->resolve(api.getDevice, "cuDeviceGet") ||
        !library->resolve(api.retain, "cuDevicePrimaryCtxRetain") ||
        !library->resolve(api.release, "cuDevicePrimaryCtxRelease_v2") ||
        !library->resolve(api.push, "cuCtxPushCurrent_v2") ||
        !library->resolve(api.pop, "cuCtxPopCurrent_v2") ||
        !library->resolve(api.create, "cuLinkCreate_v2") ||
        !library->resolve(api.addData, "cuLinkAddData_v2") ||
        !library->resolve(api.complete, "cuLinkComplete") ||
        !library->resolve(api.destroy, "cuLinkDestroy"))
      return makeError("`cuda` lacks an entry point that is needed");
    return api.link(ptx, chip, level);
  }

private:
  using Context = void *;
  using LinkState = void *;
  /// CUjit_option and CUjitInputType.
  enum Option {
    InfoLog = 3,
    InfoLogSize = 4,
    ErrorLog = 5,
    ErrorLogSize = 6,
    OptimizationLevel = 7,
    Target = 9,
    LogVerbose = 12,
    LineInfo = 13
  };
  static constexpr int kInputPTX = 1;
  /// CU_COMPUTE_ACCELERATED_TARGET_BASE: the `a` of `sm_90a`.
  static constexpr unsigned kAccelerated = 0x10000;
  static constexpr size_t kLogSize = 1 << 16;

  int (*init)(unsigned);
  int (*getDevice)(int *, int);
  int (*retain)(Context *, int);
  int (*release)(int);
  int (*push)(Context);
  int (*pop)(Context *);
  int (*create)(unsigned, int *, void **, LinkState *);
  int (*addData)(LinkState, int, void *, size_t, const char *, unsigned, int *,
                 void **);
  int (*complete)(LinkState, void **, size_t *);
  int (*destroy)(LinkState);

  static Expected<unsigned> getTarget(StringRef chip) {
    StringRef number = chip;
    unsigned target;
    number.consume_front("sm_");
    bool accelerated = number.consume_back("a");
    if (number.getAsInteger(10, target))
      return makeError("the driver does not know chip `" + chip + "`");
    return accelerated ? target + kAccelerated : target;
  }

  Expected<Assembly> link(ArrayRef<StringRef> texts, StringRef chip,
                          unsigned level) const {
    Expected<unsigned> target = getTarget(chip);
    if (!target)
      return target.takeError();
    int device;
    Context context;
    if (init(0) != 0 || getDevice(&device, 0) != 0 ||
        retain(&context, device) != 0)
      return makeError("the driver has no device to assemble with; use "
                       "`nvjitlink` or `ptxas`");
    llvm::scope_exit releaseContext([&] { release(device); });
    if (push(context) != 0)
      return makeError("the driver's context cannot be made current");
    llvm::scope_exit popContext([&] { pop(&context); });

    std::string info(kLogSize, '\0'), error(kLogSize, '\0');
    auto number = [](uintptr_t value) {
      return reinterpret_cast<void *>(value);
    };
    int options[] = {InfoLog, InfoLogSize, ErrorLog, ErrorLogSize,
                     Target,  LogVerbose,  LineInfo, OptimizationLevel};
    void *values[] = {info.data(), number(kLogSize), error.data(),
                      number(kLogSize), number(*target), number(1),
                      number(any_of(texts, hasLineInfo)),
                      // 4 is the driver's highest, and what it does unasked.
                      number(level == kUsualLevel ? 4 : level)};
    LinkState state;
    if (create(std::size(options), options, values, &state) != 0)
      return makeError("the driver does not know chip `" + chip + "`");
    llvm::scope_exit destroyState([&] { destroy(state); });

    // The driver wants text with its terminating null.
    auto add = [&](StringRef ptx) {
      std::string text = ptx.str();
      return addData(state, kInputPTX, text.data(), text.size() + 1,
                     "kernel.ptx", 0, nullptr, nullptr) == 0;
    };
    void *cubin;
    size_t size;
    if (!all_of(texts, add) || complete(state, &cubin, &size) != 0)
      return makeError(Twine("the driver failed: ") + error.c_str());
    return Assembly{std::string(static_cast<char *>(cubin), size),
                    info.c_str()};
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// ptxas
//===----------------------------------------------------------------------===//

static Expected<Assembly> assembleByPtxas(ArrayRef<StringRef> texts,
                                          StringRef chip, unsigned level) {
  Expected<std::string> program = findTool("ptxas");
  if (!program)
    return program.takeError();
  if (texts.size() != 1)
    return makeError("`ptxas` does not link the PTX of several sources; use "
                     "`nvjitlink` or `driver`");
  StringRef ptx = texts.front();
  Expected<SmallString<128>> input = writeTemporary("ptx", ptx);
  if (!input)
    return input.takeError();
  FileRemover removeInput(*input);
  Expected<SmallString<128>> output = writeTemporary("cubin", "");
  if (!output)
    return output.takeError();
  FileRemover removeOutput(*output);
  Expected<SmallString<128>> log = writeTemporary("log", "");
  if (!log)
    return log.takeError();
  FileRemover removeLog(*log);

  std::string arch = ("-arch=" + chip).str();
  std::string optimization = "-O" + std::to_string(level);
  SmallVector<StringRef> arguments = {*program, "-v", optimization, arch,
                                      *input,   "-o", *output};
  if (hasLineInfo(ptx))
    arguments.push_back("--generate-line-info");
  std::string message;
  int status = runProgram(*program, arguments, *log, message);
  std::string text = readFile(*log);
  // The name of the temporary file means nothing to the user.
  for (size_t at; (at = text.find(input->c_str())) != std::string::npos;)
    text.replace(at, input->size(), "kernel.ptx");
  if (status < 0)
    return makeError("`" + *program + "` cannot be run: " + message);
  if (status != 0)
    return makeError("`ptxas` failed: " + StringRef(text).trim());
  return Assembly{readFile(*output), std::move(text)};
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

Assembler tl::chooseAssembler() {
  if (!Toolchain::get().find("nvjitlink").empty())
    return Assembler::NvJitLink;
  if (!Toolchain::get().find("ptxas").empty())
    return Assembler::Ptxas;
  if (!Toolchain::get().find("cuda").empty())
    return Assembler::Driver;
  return Assembler::None;
}

bool tl::canChangeRegisters(Assembler assembler) {
  switch (assembler) {
  case Assembler::Ptxas:
  case Assembler::None:
    return true;
  case Assembler::NvJitLink:
    return !Toolchain::get().find("ptxas").empty();
  case Assembler::Auto:
    return canChangeRegisters(chooseAssembler());
  case Assembler::Driver:
    return false;
  }
  llvm_unreachable("all assemblers are handled");
}

static Expected<Assembly> assembleAt(unsigned level, Assembler assembler,
                                     ArrayRef<StringRef> ptx, StringRef chip) {
  switch (assembler) {
  case Assembler::NvJitLink:
    return NvJitLink::assemble(ptx, chip, level);
  case Assembler::Ptxas:
    return assembleByPtxas(ptx, chip, level);
  case Assembler::Driver:
    return Driver::assemble(ptx, chip, level);
  case Assembler::Auto:
  case Assembler::None:
    break;
  }
  llvm_unreachable("not an assembler");
}

namespace {
/// An assembler as users know it, and how to get a newer one.
struct Named {
  StringLiteral name;
  StringLiteral newer;
};
} // namespace

static Named getName(Assembler assembler) {
  switch (assembler) {
  case Assembler::NvJitLink:
    return {"`nvjitlink`", "`nvidia-nvjitlink` from PyPI or the CUDA toolkit"};
  case Assembler::Ptxas:
    return {"`ptxas`", "`nvidia-cuda-nvcc` from PyPI or the CUDA toolkit"};
  case Assembler::Driver:
    return {"the driver", "the NVIDIA driver"};
  case Assembler::Auto:
  case Assembler::None:
    break;
  }
  llvm_unreachable("not an assembler");
}

/// The release of CUDA whose compiler wrote the PTX, as `13.5`, if it says so.
static StringRef getRelease(StringRef ptx) {
  StringRef rest = ptx.split("// Cuda compilation tools, release ").second;
  return rest.take_while([](char c) { return isDigit(c) || c == '.'; });
}

/// Says of a text that is newer than the assembler which versions these are,
/// and what to install. Compilers of CUDA C++ write the newest PTX they know,
/// and may come from another installation than the assembler does.
static Error explainVersions(Error error, Assembler assembler,
                             ArrayRef<StringRef> texts) {
  static const Regex unsupported(
      "Unsupported \\.version ([0-9.]+); current version is '([0-9.]+)'");
  std::string message = toString(std::move(error));
  SmallVector<StringRef> versions;
  if (!unsupported.match(message, &versions))
    return makeError(message);
  std::string directive = (".version " + versions[1]).str();
  const StringRef *text =
      find_if(texts, [&](StringRef text) { return text.contains(directive); });
  StringRef release = text == texts.end() ? "" : getRelease(*text);
  auto [name, newer] = getName(assembler);
  std::string made, wanted = "a newer version";
  if (!release.empty()) {
    made = (", as the compiler of CUDA " + release + " writes it").str();
    wanted = ("version " + release + " or later").str();
  }
  return makeError(name + " reads PTX up to version " + versions[2] +
                   ", and this is of version " + versions[1] + made +
                   "; install " + wanted + " of " + newer +
                   ", or an older compiler");
}

/// True if the frames of the PTX have a size that is known at run time: then
/// more than their beginning writes the stack pointer.
static bool hasDynamicFrames(StringRef ptx) { return ptx.contains("alloca"); }

/// What is wrong with the cubin of `ptx`, in words, or nothing.
static StringRef findFault(StringRef cubin, ArrayRef<StringRef> ptx) {
  if (losesStackPointer(cubin) && none_of(ptx, hasDynamicFrames))
    return "loses the stack pointer";
  if (clearsSumsByCondition(cubin))
    return "loses sums of products of `float64`";
  if (countsTriesOfAtomics(cubin))
    return "loses iterations of loops that begin with atomic operations on "
           "shared memory";
  if (readsZerosEarly(cubin))
    return "reads zeros before they are there";
  return "";
}

Expected<Assembly> tl::assemble(Assembler assembler, ArrayRef<StringRef> ptx,
                                StringRef chip) {
  Expected<Assembly> usual = assembleAt(kUsualLevel, assembler, ptx, chip);
  if (!usual)
    return explainVersions(usual.takeError(), assembler, ptx);
  if (findFault(usual->cubin, ptx).empty())
    return usual;
  Expected<Assembly> plain = assembleAt(kPlainLevel, assembler, ptx, chip);
  if (!plain)
    return plain;
  if (StringRef fault = findFault(plain->cubin, ptx); !fault.empty())
    return makeError("the code that the assembler makes " + fault +
                     ", with and without optimisations, as version 13.0 is "
                     "known to do; use another version of CUDA");
  return plain;
}

std::optional<Resources> tl::parseResources(StringRef log, StringRef entry) {
  static const Regex registers("Used ([0-9]+) registers");
  static const Regex frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill "
                           "stores, ([0-9]+) bytes spill loads");
  SmallVector<StringRef> matches;
  Resources resources;
  // What is said of an entry follows its name.
  log = log.substr(log.find(("entry function '" + entry + "'").str()));
  if (!registers.match(log, &matches) ||
      !to_integer(matches[1], resources.registers))
    return std::nullopt;
  if (!frame.match(log, &matches) || !to_integer(matches[1], resources.stack) ||
      !to_integer(matches[2], resources.spillStores) ||
      !to_integer(matches[3], resources.spillLoads))
    return std::nullopt;
  return resources;
}

SmallVector<StringRef> tl::parsePerformanceWarnings(StringRef log) {
  SmallVector<StringRef> warnings;
  for (StringRef line : split(log, '\n'))
    if (size_t at = line.find("(C75"); at != StringRef::npos)
      warnings.push_back(line.substr(at).rtrim());
  return warnings;
}
