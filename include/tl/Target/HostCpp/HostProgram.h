//===- HostProgram.h - Launch plans as C++ ----------------------*- C++ -*-===//
//
// Prints what the runtime does with a launch plan as a C++ program that needs
// no runtime, and builds libraries of it. The program is `host_kernel.cpp`: the
// checks, computations and launches of one function, written with `tl/host.h`
// (docs/AOT.md).
//
// No MLIR: a compiled function is a plan and the code of its kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_HOSTCPP_HOSTPROGRAM_H
#define TL_TARGET_HOSTCPP_HOSTPROGRAM_H

#include "tl/Runtime/LaunchPlan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tl {

/// A function compiled for one chip.
struct HostProgram {
  /// "cpu", or "sm_90a" and the like.
  std::string chip;
  runtime::LaunchPlan plan;
  /// The code of each kernel that the plan launches: a cubin or PTX, for the
  /// CPU a relocatable object. Belongs to the caller.
  llvm::StringMap<llvm::StringRef> code;

  bool isHost() const { return chip == "cpu"; }
};

/// A file to write: its path, relative to some folder, and what is in it.
struct HostFile {
  std::string path;
  std::string bytes;
};

/// What a program of C++ is made of, ready to be written, edited and compiled.
struct HostSources {
  /// `host_kernel.cpp`, and `device_images.cpp` with the code for GPUs.
  std::vector<HostFile> sources;
  /// The code for the CPU, one object for each kernel.
  std::vector<HostFile> objects;
  /// The headers that the sources include.
  std::vector<HostFile> headers;
};

/// Prints one function, compiled for one chip or for several GPUs, among which
/// its calls then choose. Fails if the programs do not fit together, or if the
/// function's name is none in C.
llvm::Expected<HostSources>
printHostSources(llvm::ArrayRef<HostProgram> programs);

/// Compiles and links `sources` with `compiler`, a C++ compiler or nvcc, or if
/// that is empty with the machine's (`$CXX`, else the first that is found).
/// Returns the bytes of the shared library, which exports the functions that
/// start with `tl_<function>`, and `__tvm_ffi_<function>`. What is written for
/// the compiler is in a folder of its own within `keep`, or if that is empty in
/// a temporary one, which is removed. Failures to remove it are added to
/// `warnings`.
llvm::Expected<std::string> buildLibrary(const HostSources &sources,
                                         llvm::StringRef function,
                                         llvm::StringRef compiler,
                                         llvm::StringRef keep,
                                         std::vector<std::string> &warnings);

/// Returns the files of an installed library, whose bytes are `library`:
/// `include/<function>.h` and the header that it includes,
/// `lib/lib<function>.so`, and the package that CMake finds.
std::vector<HostFile> makePackage(llvm::ArrayRef<HostProgram> programs,
                                  llvm::StringRef library);

/// Writes files below `directory`, which is created if necessary.
llvm::Error writeFiles(llvm::ArrayRef<HostFile> files,
                       llvm::StringRef directory);

} // namespace tl

#endif // TL_TARGET_HOSTCPP_HOSTPROGRAM_H
