//===- Toolchain.h - CUDA tools and libraries of this machine ---*- C++ -*-===//
//
// Finds, once a process, the external tools that make artifacts, and names each
// by version and content, so that cache keys change when a tool does.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_TOOLCHAIN_H
#define TL_TARGET_CUBIN_TOOLCHAIN_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <mutex>
#include <string>
#include <vector>

namespace tl {

class Toolchain {
public:
  /// The tools found when it was first called.
  static Toolchain &get();

  /// The file of `tool`: a program (`ptxas`, `nvcc`, `nvdisasm`, `g++`), or a
  /// library (`nvjitlink`, `nvrtc`, `cuda`). Empty if it is not on this
  /// machine.
  ///
  /// A program is looked for in `$CUDA_HOME/bin`, on `PATH`, and in
  /// `/usr/local/cuda/bin`; a library in `$CUDA_HOME/lib64`, in PyPI's `nvidia`
  /// packages beside ours, in `/usr/local/cuda/lib64`, and where the system's
  /// loader looks.
  std::string find(llvm::StringRef tool);

  /// What identifies `tool` in a cache key: its version and what tells its file
  /// from others (the linker's hash, or a digest). Empty if it is not on this
  /// machine.
  std::string identity(llvm::StringRef tool);

  /// The folders of the toolkit's headers, in the order to search them: that of
  /// `cuda_runtime.h` and that of `cuda/std`. Empty if they are not on this
  /// machine.
  std::vector<std::string> getIncludeDirectories();

  /// What to install to get `tool`, in words.
  static llvm::StringRef getRemedy(llvm::StringRef tool);

private:
  std::mutex mutex;
  llvm::StringMap<std::string> paths;
  /// By path, size and time of last change.
  llvm::StringMap<std::string> identities;
};

} // namespace tl

#endif // TL_TARGET_CUBIN_TOOLCHAIN_H
