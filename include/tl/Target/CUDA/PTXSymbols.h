//===- PTXSymbols.h - What a PTX module offers ------------------*- C++ -*-===//
//
// The entries of PTX text with their parameters, and its variables: what a
// launch can name. PTX is what all compilers of CUDA C++ write, so this is
// where the arguments of a launch are compared with what was compiled.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUDA_PTXSYMBOLS_H
#define TL_TARGET_CUDA_PTXSYMBOLS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace tl {

/// A parameter of an entry.
struct PTXParameter {
  /// The fundamental type without its dot, such as `u64`, `f32` or `b8`.
  std::string type;
  uint64_t size = 0;      ///< in bytes
  uint64_t alignment = 0; ///< in bytes

  /// `u64`, or `b8[24] align 8` for a struct.
  std::string str() const;
};

/// A `.entry` with its body.
struct PTXEntry {
  std::string name;
  std::vector<PTXParameter> parameters;
  /// `.maxntid`, `.reqntid` and `.reqnctapercluster`: three extents, or none.
  llvm::SmallVector<int64_t, 3> maxThreads;
  llvm::SmallVector<int64_t, 3> blockSize;
  llvm::SmallVector<int64_t, 3> clusterDims;
  /// `.maxclusterrank`.
  std::optional<int64_t> maxClusterBlocks;
};

/// A `.const` or `.global` variable of module scope.
struct PTXVariable {
  std::string name;
  size_t offset; ///< of its directive in the text
  bool isVisible;
};

struct PTXSymbols {
  std::vector<PTXEntry> entries;
  std::vector<PTXVariable> variables;

  /// Reads `ptx`. Fails, with the line, if a declaration is not as the PTX ISA
  /// ("Kernel and Function Directives", "Parameter State Space") has it.
  static llvm::Expected<PTXSymbols> parse(llvm::StringRef ptx);

  /// The entry whose symbol or C++ name is `name`: `scale`, `ns::scale` or
  /// `scale<float>`, without parameters. Null if there is none or, for a C++
  /// name, more than one.
  const PTXEntry *findEntry(llvm::StringRef name) const;
  const PTXVariable *findVariable(llvm::StringRef name) const;
};

/// `symbol` as C++ writes it, without parameters and return type; `symbol`
/// itself if it is not mangled.
std::string demangleName(llvm::StringRef symbol);

} // namespace tl

#endif // TL_TARGET_CUDA_PTXSYMBOLS_H
