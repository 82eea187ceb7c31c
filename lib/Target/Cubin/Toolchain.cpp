//===- Toolchain.cpp - CUDA tools and libraries of this machine -----------===//
//
// Looks where CUDA is installed by its installer, by a distribution and by pip,
// and asks nothing of the user.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/Toolchain.h"

#include "tl/Cache/Digest.h"
#include "tl/Support/Environment.h"
#include "tl/Support/PerProcess.h"
#include "tl/Support/RunProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>
#include <link.h>

using namespace llvm;
using namespace tl;

namespace {
struct Tool {
  StringLiteral name;
  bool isProgram;
  /// File names, the newest version first.
  std::array<StringLiteral, 2> files;
  StringLiteral remedy;
};
} // namespace

static constexpr Tool kTools[] = {
    {"ptxas",
     true,
     {"ptxas", ""},
     "install the CUDA toolkit, or `nvidia-cuda-nvcc` from PyPI"},
    {"nvcc",
     true,
     {"nvcc", ""},
     "install the CUDA toolkit, or `nvidia-cuda-nvcc` from PyPI"},
    {"nvdisasm",
     true,
     {"nvdisasm", ""},
     "install the CUDA toolkit, or `pip install nvidia-cuda-nvdisasm`"},
    {"g++", true, {"g++", ""}, "install `g++`, or name one in `NVCC_CCBIN`"},
    {"nvjitlink",
     false,
     {"libnvJitLink.so.13", "libnvJitLink.so.12"},
     "install the CUDA toolkit, or `nvidia-nvjitlink` from PyPI"},
    {"nvrtc",
     false,
     {"libnvrtc.so.13", "libnvrtc.so.12"},
     "install the CUDA toolkit, or `nvidia-cuda-nvrtc` from PyPI"},
    {"cuda", false, {"libcuda.so.1", ""}, "install the NVIDIA driver"},
};

static const Tool &getTool(StringRef name) {
  const Tool *tool =
      find_if(kTools, [&](const Tool &tool) { return tool.name == name; });
  assert(tool != std::end(kTools) && "a tool that TL knows");
  return *tool;
}

//===----------------------------------------------------------------------===//
// Where tools lie
//===----------------------------------------------------------------------===//

static std::string joinPath(StringRef directory, StringRef name) {
  SmallString<256> path(directory);
  sys::path::append(path, name);
  return path.str().str();
}

/// The folders `nvidia/*/<leaf>` of the Python environment that holds this
/// library, sorted.
static SmallVector<std::string> getPackageDirectories(StringRef leaf) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&getPackageDirectories), &info) ||
      !info.dli_fname)
    return {};
  SmallVector<std::string> found;
  for (StringRef folder = sys::path::parent_path(info.dli_fname);
       !folder.empty() && found.empty();
       folder = sys::path::parent_path(folder)) {
    std::error_code error;
    sys::fs::directory_iterator package(joinPath(folder, "nvidia"), error), end;
    for (; !error && package != end; package.increment(error)) {
      std::string path = joinPath(package->path(), leaf);
      if (sys::fs::is_directory(path))
        found.push_back(path);
    }
  }
  sort(found);
  return found;
}

/// The folders to look in before the system's own search, in order.
static SmallVector<std::string> getDirectories(StringRef toolkitLeaf,
                                               StringRef packageLeaf) {
  SmallVector<std::string> directories;
  if (std::optional<std::string> home = readVariable("CUDA_HOME"))
    directories.push_back(joinPath(*home, toolkitLeaf));
  append_range(directories, getPackageDirectories(packageLeaf));
  return directories;
}

static std::string findToolProgram(StringRef name) {
  SmallVector<std::string> directories = getDirectories("bin", "bin");
  SmallVector<StringRef> paths(directories.begin(), directories.end());
  std::string path = paths.empty() ? "" : findProgram(name, paths);
  if (path.empty())
    path = findProgram(name);
  return path.empty() ? findProgram(name, {"/usr/local/cuda/bin"}) : path;
}

/// The file that the system's loader finds for `name`. The library stays open:
/// those of CUDA start threads that do not survive being unloaded.
static std::string findBySystem(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  link_map *map = nullptr;
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
    return "";
  return map->l_name;
}

static std::string findLibrary(const Tool &tool) {
  SmallVector<std::string> directories = getDirectories("lib64", "lib");
  directories.push_back("/usr/local/cuda/lib64");
  for (StringRef file : tool.files) {
    if (file.empty())
      continue;
    for (StringRef directory : directories)
      if (std::string path = joinPath(directory, file); sys::fs::exists(path))
        return path;
    if (std::string path = findBySystem(file.data()); !path.empty())
      return path;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// What tools are
//===----------------------------------------------------------------------===//

/// `V13.0.88` of the last lines that NVIDIA's programs print for `--version`.
static std::string getProgramVersion(StringRef path) {
  SmallString<128> output;
  if (makeTemporaryFile("tl-version", "txt", output))
    return "";
  FileRemover remover(output);
  std::string message;
  if (runProgram(path, {path, "--version"}, output, message) != 0)
    return "";
  ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(output);
  if (!text)
    return "";
  StringRef version = (*text)->getBuffer().split(", V").second;
  return version.take_until([](char c) { return isspace(c); }).str();
}

/// `13.0.88` of `libnvJitLink.so.13.0.88`, behind symbolic links.
static std::string getLibraryVersion(StringRef path) {
  SmallString<256> real;
  if (sys::fs::real_path(path, real))
    real = path;
  return sys::path::filename(real).split(".so.").second.str();
}

Toolchain &Toolchain::get() {
  static PerProcess<Toolchain> toolchains;
  return toolchains.get();
}

std::string Toolchain::find(StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = paths.try_emplace(name);
  if (isNew) {
    const Tool &tool = getTool(name);
    entry->second = name == "g++"    ? findHostCompiler()
                    : tool.isProgram ? findToolProgram(name)
                                     : findLibrary(tool);
  }
  return entry->second;
}

/// What tells a file from others of its version: the hash of itself that its
/// linker left (`--build-id`), which takes a few pages to read, else the digest
/// of all its bytes.
static std::string getContentId(MemoryBufferRef file) {
  Expected<std::unique_ptr<object::ObjectFile>> object =
      object::ObjectFile::createObjectFile(file);
  if (object) {
    object::BuildIDRef buildId = object::getBuildID(object->get());
    if (!buildId.empty())
      return toHex(buildId, /*LowerCase=*/true);
  } else {
    consumeError(object.takeError());
  }
  return cache::Digest::of(file.getBuffer()).hex();
}

std::string Toolchain::identity(StringRef name) {
  std::string path = find(name);
  sys::fs::file_status status;
  if (path.empty() || sys::fs::status(path, status))
    return "";
  std::string key =
      formatv("{0}|{1}|{2}", path, status.getSize(),
              status.getLastModificationTime().time_since_epoch().count());

  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = identities.try_emplace(key);
  if (isNew) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> file =
        MemoryBuffer::getFile(path, /*IsText=*/false,
                              /*RequiresNullTerminator=*/false);
    if (!file)
      return "";
    std::string version = getTool(name).isProgram ? getProgramVersion(path)
                                                  : getLibraryVersion(path);
    entry->second = formatv("{0} {1} {2}", name, version,
                            getContentId((*file)->getMemBufferRef()));
  }
  return entry->second;
}

std::vector<std::string> Toolchain::getIncludeDirectories() {
  SmallVector<std::string> roots = getDirectories("include", "include");
  roots.push_back("/usr/local/cuda/include");
  std::vector<std::string> found;
  // libcu++ has a folder of its own since CUDA 13.
  for (StringRef header : {"cuda_runtime.h", "cuda/std/cstdint"})
    for (const std::string &root : roots) {
      std::string nested = joinPath(root, "cccl");
      std::string folder = sys::fs::exists(joinPath(root, header))     ? root
                           : sys::fs::exists(joinPath(nested, header)) ? nested
                                                                       : "";
      if (folder.empty())
        continue;
      if (!is_contained(found, folder))
        found.push_back(folder);
      break;
    }
  return found;
}

StringRef Toolchain::getRemedy(StringRef name) { return getTool(name).remedy; }
