//===- Assertions.h - What a unit must be for its launches ------*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUDA_ASSERTIONS_H
#define TL_LIB_TARGET_CUDA_ASSERTIONS_H

#include "tl/Dialect/TL/IR/TL.h"
#include <string>
#include <vector>

namespace tl {

/// The file that the lines of an assertion are in for the compiler.
inline constexpr llvm::StringLiteral kAssertionsFile = "the launches of a unit";

/// C++ that stands after a unit and fails to compile where a launch relies on
/// what the unit does not have.
struct Assertions {
  /// A line of `text`: the launch that it speaks for, and the error if it does
  /// not hold; what the compiler says about it follows if `asksName`.
  struct Line {
    CudaEntryOp entry;
    std::string message;
    bool asksName = false;
  };

  std::string text;
  /// Line 1 and on of `kAssertionsFile`.
  std::vector<Line> lines;
};

/// The assertions for the launches of `entries`, which the unit has. The
/// variables that launches set may be in another unit if it `isLinked`.
Assertions makeAssertions(llvm::ArrayRef<CudaEntryOp> entries, bool isLinked);

} // namespace tl

#endif // TL_LIB_TARGET_CUDA_ASSERTIONS_H
