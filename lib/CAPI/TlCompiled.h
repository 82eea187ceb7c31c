//===- TlCompiled.h - What the compiler made of a module --------*- C++ -*-===//
//
// What `TlCompiled` of tl-c/Compiler.h is inside of the library.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_TLCOMPILED_H
#define TL_LIB_CAPI_TLCOMPILED_H

#include "tl-c/Compiler.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>

struct TlCompiled {
  std::string info;
  std::string chip;
  llvm::StringMap<std::string> plans;
  /// Files of each kernel. Equal contents are kept once, so that kernels of one
  /// image are loaded as one module.
  llvm::StringMap<llvm::StringMap<llvm::StringRef>> kernels;
  llvm::StringSet<> contents;

  /// Whether its kernels, if it has any, run on the host.
  bool isHost() const { return chip == "cpu"; }
  /// Whether they run in the simulator.
  bool isSimulated = false;

  /// Returns what is executed of a kernel's files. What it is compiled for
  /// decides, not what the files are called: an object among those of a GPU's
  /// kernel is nothing that we made.
  std::optional<llvm::StringRef>
  getCode(const llvm::StringMap<llvm::StringRef> &files) const {
    if (isSimulated)
      return findFile(files, {"kernel.sim.mlir"});
    if (isHost())
      return findFile(files, {"kernel.o"});
    // Without a cubin the driver compiles the PTX.
    return findFile(files, {"kernel.cubin", "kernel.ptx"});
  }

private:
  /// The first of these files that is there.
  static std::optional<llvm::StringRef>
  findFile(const llvm::StringMap<llvm::StringRef> &files,
           std::initializer_list<llvm::StringRef> names) {
    for (llvm::StringRef name : names)
      if (auto found = files.find(name); found != files.end())
        return found->second;
    return std::nullopt;
  }
};

#endif // TL_LIB_CAPI_TLCOMPILED_H
