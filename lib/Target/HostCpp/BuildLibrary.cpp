//===- BuildLibrary.cpp - A shared library of a program -------------------===//
//
// Any compiler of C++17 will do: the machine's own, or nvcc, which passes what
// is not CUDA on to it. Only the functions that C programs call are visible in
// the library, so that several libraries fit into one program.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/Environment.h"
#include "tl/Support/RunProgram.h"
#include "tl/Support/SourceFolder.h"
#include "tl/Target/HostCpp/HostProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tl;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// Returns the full path of `wanted`, or of this machine's compiler if that is
/// empty.
static Expected<std::string> findCompiler(StringRef wanted) {
  std::string chosen = wanted.str();
  if (chosen.empty())
    chosen = readVariable("CXX").value_or("");
  if (!chosen.empty()) {
    if (std::string path = findProgram(chosen); !path.empty())
      return path;
    return makeError("the C++ compiler `" + chosen +
                     "` is not on this machine; install it, or name another "
                     "one in `CXX`");
  }
  for (StringRef name : {"c++", "g++", "clang++"})
    if (std::string path = findProgram(name); !path.empty())
      return path;
  return makeError("there is no C++ compiler on this machine; install `g++` or "
                   "`clang`, or name one in `CXX`");
}

Error tl::writeFiles(ArrayRef<HostFile> files, StringRef directory) {
  for (const HostFile &file : files)
    if (Error error = writeFile(directory, file.path, file.bytes))
      return error;
  return Error::success();
}

static std::string readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  return file ? (*file)->getBuffer().str() : "";
}

/// Returns the command line that makes `output`.
static std::vector<std::string>
getCommand(StringRef compiler, const HostSources &sources,
           const SourceFolder &folder, StringRef function, StringRef output) {
  std::vector<std::string> command = {compiler.str(), "-std=c++17",
                                      "-O2",          "-shared",
                                      "-I",           folder.getRoot().str()};
  if (sys::path::stem(compiler) == "nvcc") {
    append_range(command, ArrayRef<std::string>{
                              "-Xcompiler", "-fPIC", "-Xcompiler",
                              "-fvisibility=hidden", "-cudart", "none"});
    // The one that nvcc would look for, whose identity callers can know.
    if (std::string host = findHostCompiler(); !host.empty())
      command.push_back("--compiler-bindir=" + host);
  } else
    append_range(command,
                 ArrayRef<std::string>{"-fPIC", "-fvisibility=hidden"});
  for (const HostFile &source : sources.sources)
    command.push_back(folder.getPath(source.path));
  for (const HostFile &object : sources.objects)
    command.push_back(folder.getPath(object.path));
  append_range(command,
               ArrayRef<std::string>{
                   "-Xlinker", "--version-script=" + folder.getPath("exports"),
                   "-Xlinker", ("-soname=lib" + function + ".so").str(), "-o",
                   output.str(), "-lpthread", "-ldl", "-lm"});
  return command;
}

static Expected<std::string> build(StringRef compiler,
                                   const HostSources &sources,
                                   const SourceFolder &folder,
                                   StringRef function) {
  for (const std::vector<HostFile> *files :
       {&sources.headers, &sources.sources, &sources.objects})
    if (Error error = writeFiles(*files, folder.getRoot()))
      return std::move(error);
  std::string exports =
      formatv("{{ global: tl_{0}; tl_{0}_call; tl_{0}_category; tl_{0}_error; "
              "__tvm_ffi_{0}; local: *; };\n",
              function);
  if (Error error = folder.write("exports", exports))
    return std::move(error);

  std::string output = folder.getPath("library.so");
  std::string log = folder.getPath("log.txt");
  std::vector<std::string> command =
      getCommand(compiler, sources, folder, function, output);
  SmallVector<StringRef> arguments(command.begin(), command.end());
  std::string message;
  int status = runProgram(compiler, arguments, log, message);
  if (status < 0)
    return makeError("`" + compiler + "` cannot be run: " + message);
  if (status != 0)
    return makeError("`" + compiler + "` cannot build the library of `" +
                     function + "`: " + StringRef(readFile(log)).trim());
  return readFile(output);
}

Expected<std::string> tl::buildLibrary(const HostSources &sources,
                                       StringRef function, StringRef compiler,
                                       StringRef keep,
                                       std::vector<std::string> &warnings) {
  Expected<std::string> path = findCompiler(compiler);
  if (!path)
    return path.takeError();
  Expected<SourceFolder> folder = SourceFolder::make("host", keep);
  if (!folder)
    return folder.takeError();
  Expected<std::string> library = build(*path, sources, *folder, function);
  if (std::string trouble = folder->remove(); !trouble.empty())
    warnings.push_back(std::move(trouble));
  return library;
}
