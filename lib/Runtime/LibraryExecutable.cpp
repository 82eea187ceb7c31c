//===- LibraryExecutable.cpp - Run a library that was built of a plan -----===//
//
// The library checks, computes and launches; this hands the call over. It is
// never closed: it has modules on GPUs, and threads may be in it.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Call.h"
#include "tl/Runtime/Executable.h"
#include "tl/Runtime/RuntimeError.h"
#include <dlfcn.h>

using namespace llvm;
using namespace tl::runtime;

namespace {
using CallFunction = int (*)(const TlArgument *arguments, size_t count,
                             void *stream);
using ErrorFunction = const char *(*)();

class LibraryExecutable : public Executable {
public:
  LibraryExecutable(CallFunction function, ErrorFunction getMessage)
      : function(function), getMessage(getMessage) {}

  Error call(ArrayRef<Argument> arguments, void *stream) const override {
    int category =
        function(reinterpret_cast<const TlArgument *>(arguments.data()),
                 arguments.size(), stream);
    if (LLVM_LIKELY(category == 0))
      return Error::success();
    return makeError(static_cast<ErrorCategory>(category), getMessage());
  }

private:
  CallFunction function;
  ErrorFunction getMessage;
};
} // namespace

Expected<std::unique_ptr<Executable>>
Executable::loadLibrary(const std::string &path, StringRef function) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(ErrorCategory::Plan,
                     "the library of `" + function +
                         "` cannot be opened: " + dlerror());
  auto find = [&](const Twine &name) {
    return dlsym(library, name.str().c_str());
  };
  void *call = find("tl_" + function + "_call");
  void *error = find("tl_" + function + "_error");
  if (!call || !error)
    return makeError(ErrorCategory::Plan,
                     "`" + Twine(path) + "` is no library of `" + function +
                         "`: it does not export `tl_" + function +
                         "_call` and `tl_" + function + "_error`");
  return std::make_unique<LibraryExecutable>(
      reinterpret_cast<CallFunction>(call),
      reinterpret_cast<ErrorFunction>(error));
}
