//===- NameAllocator.h - Identifiers of generated C++ -----------*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUDACPP_NAMEALLOCATOR_H
#define TL_LIB_TARGET_CUDACPP_NAMEALLOCATOR_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace tl::cuda {

/// Gives out C++ identifiers that are unique where they are visible. Equal
/// requests in equal order give equal names.
class NameAllocator {
public:
  /// An identifier like `wish`: what is not allowed in one becomes `_`, and a
  /// name that is taken, or a word of C++ or CUDA, gets a number.
  std::string take(llvm::StringRef wish);

  /// A name for a function with C linkage, which the C library's functions
  /// leave no room for beside them.
  std::string takeFunction(llvm::StringRef wish);

  /// Names taken while a scope lives are free again after it.
  class Scope {
  public:
    explicit Scope(NameAllocator &names)
        : names(names), mark(names.taken.size()) {}
    ~Scope() { names.release(mark); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    NameAllocator &names;
    size_t mark;
  };

private:
  void release(size_t mark);

  llvm::StringSet<> inUse;
  llvm::SmallVector<std::string> taken;
};

} // namespace tl::cuda

#endif // TL_LIB_TARGET_CUDACPP_NAMEALLOCATOR_H
