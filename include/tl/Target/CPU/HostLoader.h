//===- HostLoader.h - Run object files in this process ----------*- C++ -*-===//
//
// Links the relocatable object of a kernel into the running process. No file is
// written, no compiler or linker is run.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CPU_HOSTLOADER_H
#define TL_TARGET_CPU_HOSTLOADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>

namespace tl {

/// A kernel as the launch plan calls it (docs/LaunchPlan.md).
using HostFunction = void (*)(void *const *params, int64_t begin, int64_t end,
                              int64_t gridX, int64_t gridY);

/// One object, linked. Its code lives as long as this.
class HostObject {
public:
  /// Links `object`, the bytes of a relocatable object, and finds `function` in
  /// it. What it uses of the C library is taken from the process. Fails, with
  /// an error that names them, if symbols are missing or the bytes are no
  /// object of this machine.
  static llvm::Expected<std::unique_ptr<HostObject>>
  load(llvm::StringRef object, llvm::StringRef function);

  ~HostObject();
  HostObject(const HostObject &) = delete;
  HostObject &operator=(const HostObject &) = delete;

  HostFunction getFunction() const { return function; }

private:
  class Linker;

  HostObject(std::unique_ptr<Linker> linker, HostFunction function);

  std::unique_ptr<Linker> linker;
  HostFunction function;
};

} // namespace tl

#endif // TL_TARGET_CPU_HOSTLOADER_H
