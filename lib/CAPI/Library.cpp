//===- Library.cpp - C API of libraries of compiled kernels ---------------===//
//
// See tl-c/Library.h. What the compiler made becomes programs of
// tl/Target/HostCpp, which know nothing of the compiler.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Library.h"

#include "TlCompiled.h"
#include "tl/Target/HostCpp/HostProgram.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace llvm;
using namespace tl;

/// A copy that `tlFree` frees.
static char *copyBytes(StringRef bytes) {
  auto *copy = static_cast<char *>(malloc(bytes.size() + 1));
  memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = 0;
  return copy;
}

/// Stores the reason for the caller. Returns false.
static bool fail(Error error, char **result) {
  std::string message = toString(std::move(error));
  if (result)
    *result = copyBytes(message);
  return false;
}

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static Expected<HostProgram> makeProgram(const TlCompiled &compiled,
                                         StringRef function) {
  auto plan = compiled.plans.find(function);
  if (plan == compiled.plans.end())
    return makeError("the module has no entry function `" + function + "`");
  Expected<runtime::LaunchPlan> parsed =
      runtime::LaunchPlan::parse(plan->second);
  if (!parsed)
    return parsed.takeError();
  HostProgram program = {compiled.chip, std::move(*parsed), {}};
  for (const runtime::Launch &launch : program.plan.launches) {
    auto kernel = compiled.kernels.find(launch.kernel);
    std::optional<StringRef> code;
    if (kernel != compiled.kernels.end())
      code = compiled.getCode(kernel->second);
    if (!code)
      return makeError("kernel `" + launch.kernel + "` has no machine code");
    program.code[launch.kernel] = *code;
  }
  return std::move(program);
}

static Expected<std::vector<HostProgram>>
makePrograms(const TlCompiled *const *compiled, size_t count,
             StringRef function) {
  std::vector<HostProgram> programs;
  for (const TlCompiled *one : ArrayRef(compiled, count)) {
    Expected<HostProgram> program = makeProgram(*one, function);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (programs.empty())
    return makeError("`" + function + "` is compiled for no chip");
  return programs;
}

static Expected<HostSources> makeSources(const TlCompiled *const *compiled,
                                         size_t count, StringRef function) {
  Expected<std::vector<HostProgram>> programs =
      makePrograms(compiled, count, function);
  if (!programs)
    return programs.takeError();
  return printHostSources(*programs);
}

char *tlHostSource(const TlCompiled *const *compiled, size_t count,
                   const char *function, char **error) {
  Expected<HostSources> sources = makeSources(compiled, count, function);
  if (!sources) {
    (void)fail(sources.takeError(), error);
    return nullptr;
  }
  return copyBytes(sources->sources.front().bytes);
}

bool tlHostSourcesExport(const TlCompiled *const *compiled, size_t count,
                         const char *function, const char *directory,
                         char **error) {
  Expected<HostSources> sources = makeSources(compiled, count, function);
  if (!sources)
    return fail(sources.takeError(), error);
  for (ArrayRef<HostFile> files :
       {ArrayRef(sources->sources), ArrayRef(sources->objects),
        ArrayRef(sources->headers)})
    if (Error failure = writeFiles(files, directory))
      return fail(std::move(failure), error);
  return true;
}

static StringRef toText(const char *text) {
  return text ? StringRef(text) : StringRef();
}

static Expected<std::string> build(ArrayRef<HostProgram> programs,
                                   StringRef function,
                                   const TlBuildOptions *options,
                                   char **warning) {
  Expected<HostSources> sources = printHostSources(programs);
  if (!sources)
    return sources.takeError();
  std::vector<std::string> warnings;
  Expected<std::string> library =
      buildLibrary(*sources, function, toText(options->compiler),
                   toText(options->keepDir), warnings);
  if (warning && !warnings.empty())
    *warning = copyBytes(join(warnings, "; "));
  return library;
}

char *tlLibraryBuild(const TlCompiled *const *compiled, size_t count,
                     const char *function, const TlBuildOptions *options,
                     size_t *size, char **warning, char **error) {
  Expected<std::vector<HostProgram>> programs =
      makePrograms(compiled, count, function);
  if (!programs) {
    (void)fail(programs.takeError(), error);
    return nullptr;
  }
  Expected<std::string> library = build(*programs, function, options, warning);
  if (!library) {
    (void)fail(library.takeError(), error);
    return nullptr;
  }
  *size = library->size();
  return copyBytes(*library);
}

bool tlLibraryExport(const TlCompiled *const *compiled, size_t count,
                     const char *function, const char *directory,
                     const TlBuildOptions *options, char **warning,
                     char **error) {
  Expected<std::vector<HostProgram>> programs =
      makePrograms(compiled, count, function);
  if (!programs)
    return fail(programs.takeError(), error);
  Expected<std::string> library = build(*programs, function, options, warning);
  if (!library)
    return fail(library.takeError(), error);
  if (Error failure = writeFiles(makePackage(*programs, *library), directory))
    return fail(std::move(failure), error);
  return true;
}
