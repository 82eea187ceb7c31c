//===- NVRTC.cpp - CUDA C++ by the NVRTC library --------------------------===//
//
// The library is loaded when it is first needed, and no CUDA header is needed
// to build this: the entry points declared here are those of nvrtc.h.
//
//===----------------------------------------------------------------------===//

#include "Compilers.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <dlfcn.h>

using namespace llvm;
using namespace tl;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

namespace {
class NVRTC {
public:
  static Expected<NVRTC> open();

  Expected<CudaCompilation> compile(const CudaProgram &program,
                                    const SourceFolder &tree) const;

private:
  using Program = void *;

  int (*version)(int *, int *);
  int (*create)(Program *, const char *, const char *, int, const char **,
                const char **);
  int (*destroy)(Program *);
  int (*compileProgram)(Program, int, const char *const *);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);
  int (*addName)(Program, const char *);
  int (*loweredName)(Program, const char *, const char **);

  static std::string getText(Program program, int (*size)(Program, size_t *),
                             int (*text)(Program, char *));
  bool isAtLeast(int major, int minor) const;
};
} // namespace

Expected<NVRTC> NVRTC::open() {
  std::string path = Toolchain::get().find("nvrtc");
  if (path.empty())
    return makeError(Twine("`nvrtc` is not on this machine; ") +
                     Toolchain::getRemedy("nvrtc"));
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError(Twine("`nvrtc` cannot be loaded: ") + dlerror());
  NVRTC api;
  auto resolve = [&](auto *&function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(handle, name));
    return function != nullptr;
  };
  if (!resolve(api.version, "nvrtcVersion") ||
      !resolve(api.create, "nvrtcCreateProgram") ||
      !resolve(api.destroy, "nvrtcDestroyProgram") ||
      !resolve(api.compileProgram, "nvrtcCompileProgram") ||
      !resolve(api.logSize, "nvrtcGetProgramLogSize") ||
      !resolve(api.log, "nvrtcGetProgramLog") ||
      !resolve(api.ptxSize, "nvrtcGetPTXSize") ||
      !resolve(api.ptx, "nvrtcGetPTX") ||
      !resolve(api.addName, "nvrtcAddNameExpression") ||
      !resolve(api.loweredName, "nvrtcGetLoweredName"))
    return makeError("`nvrtc` lacks an entry point that is needed");
  return api;
}

std::string NVRTC::getText(Program program, int (*getSize)(Program, size_t *),
                           int (*getText)(Program, char *)) {
  size_t size = 0;
  if (getSize(program, &size) != 0 || size == 0)
    return "";
  std::string text(size, '\0');
  if (getText(program, text.data()) != 0)
    return "";
  return text.c_str();
}

bool NVRTC::isAtLeast(int major, int minor) const {
  int ownMajor = 0, ownMinor = 0;
  return version(&ownMajor, &ownMinor) == 0 &&
         std::pair(ownMajor, ownMinor) >= std::pair(major, minor);
}

/// NVRTC knows no headers of the host's C library. What device code wants of
/// them is built in but for these; types are those that libcu++ has under
/// NVRTC.
static constexpr std::pair<const char *, const char *> kHostHeaders[] = {
    {"stdint.h", "#pragma once\n"
                 "typedef signed char int8_t;\n"
                 "typedef short int16_t;\n"
                 "typedef int int32_t;\n"
                 "typedef long long int64_t;\n"
                 "typedef unsigned char uint8_t;\n"
                 "typedef unsigned short uint16_t;\n"
                 "typedef unsigned int uint32_t;\n"
                 "typedef unsigned long long uint64_t;\n"
                 "typedef long long intptr_t;\n"
                 "typedef unsigned long long uintptr_t;\n"},
    {"cstdint", "#pragma once\n"
                "#include <stdint.h>\n"
                "namespace std {\n"
                "using ::int8_t, ::int16_t, ::int32_t, ::int64_t;\n"
                "using ::uint8_t, ::uint16_t, ::uint32_t, ::uint64_t;\n"
                "using ::intptr_t, ::uintptr_t;\n"
                "}\n"},
    {"stddef.h", "#pragma once\n"
                 "typedef decltype(sizeof(0)) size_t;\n"
                 "typedef long ptrdiff_t;\n"},
    {"cstddef", "#pragma once\n"
                "#include <stddef.h>\n"
                "namespace std {\n"
                "using ::size_t, ::ptrdiff_t;\n"
                "}\n"},
    {"math.h", ""},
    {"cmath", ""},
    {"stdio.h", ""},
    {"cstdio", ""},
    {"stdlib.h", "#include <stddef.h>\n"},
    {"cstdlib", "#include <cstddef>\n"},
    {"string.h", "#include <stddef.h>\n"},
    {"cstring", "#include <cstddef>\n"},
};

Expected<CudaCompilation> NVRTC::compile(const CudaProgram &program,
                                         const SourceFolder &tree) const {
  // `#include "…"` looks in the folder of the program's name.
  std::string name = tree.getPath(program.name);
  std::string text = composeText(program);
  // From memory, so that no option depends on where the tree is.
  SmallVector<const char *> headerNames, headers;
  for (auto [headerName, header] : kHostHeaders) {
    headerNames.push_back(headerName);
    headers.push_back(header);
  }
  std::string deviceHeader = getDeviceHeader().str();
  if (usesDeviceHeader(program)) {
    headerNames.push_back(kDeviceHeader.data());
    headers.push_back(deviceHeader.c_str());
  }
  Program handle = nullptr;
  if (create(&handle, text.c_str(), name.c_str(), headers.size(),
             headers.data(), headerNames.data()) != 0)
    return makeError("`nvrtc` cannot make a program");
  llvm::scope_exit cleanup([&] { destroy(&handle); });
  for (const std::string &expression : program.expressions)
    if (addName(handle, expression.c_str()) != 0)
      return makeError("`nvrtc` cannot look up `" + expression + "`");

  std::vector<std::string> options = getCommonOptions(program, tree.getRoot());
  // Without it, headers that declare functions of the host, such as `cuda.h`,
  // are errors.
  options.push_back("-default-device");
  // CUDA's headers are worth it; the support header is not. Nothing that is
  // compiled once may lie in this tree, and `#line` ends the search for
  // headers.
  if (program.usesToolkit && program.headers.empty() &&
      program.includePaths.empty() && !needsLineDirectives(program) &&
      isAtLeast(12, 8))
    for (const char *option :
         {"--pch", "--pch-messages=false", "--diag-suppress=629",
          "--diag-suppress=630", "--diag-suppress=20283"})
      options.push_back(option);
  std::vector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  int status = compileProgram(handle, arguments.size(), arguments.data());

  CudaCompilation result;
  result.messages =
      parseCudaMessages(getText(handle, logSize, log), tree.getRoot());
  result.succeeded = status == 0;
  if (!result.succeeded)
    return result;
  result.ptx = getText(handle, ptxSize, ptx);
  eraseRoot(result.ptx, tree.getRoot());
  for (const std::string &expression : program.expressions) {
    const char *symbol = nullptr;
    if (loweredName(handle, expression.c_str(), &symbol) != 0)
      return makeError("`nvrtc` cannot look up `" + expression + "`");
    result.symbols.push_back(symbol);
  }
  return result;
}

Expected<CudaCompilation> tl::compileByNVRTC(const CudaProgram &program) {
  Expected<NVRTC> api = NVRTC::open();
  if (!api)
    return api.takeError();
  Expected<SourceFolder> tree = makeSourceTree(program);
  if (!tree)
    return tree.takeError();
  if (!program.keepDirectory.empty())
    if (Error error = tree->write(program.name, composeText(program)))
      return std::move(error);
  Expected<CudaCompilation> result = api->compile(program, *tree);
  std::string trouble = tree->remove();
  if (result && !trouble.empty())
    result->messages.push_back(
        {CudaMessage::Severity::Warning, "", 0, std::move(trouble)});
  return result;
}
