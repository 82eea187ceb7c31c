//===- KernelGenerator.h - Tile kernels drawn at random ---------*- C++ -*-===//
//
// Text of modules for property tests: elementwise kernels with random
// expressions, pipelined matrix products and reductions of rows, each with
// random shapes, types, constants and facts about its arguments. The same seed
// gives the same kernels; a style varies what kernels do not consist of.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_PIPELINE_KERNELGENERATOR_H
#define TL_TEST_UNIT_PIPELINE_KERNELGENERATOR_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tl::test {

/// How text is written.
struct Style {
  /// What the names of values begin with.
  llvm::StringRef prefix = "v";
  /// Put comments and empty lines in between.
  bool hasComments = false;
  /// Write the last function first.
  bool isReversed = false;
  /// Put a function without kernels ahead, of this name.
  llvm::StringRef unrelated = "";
};

/// Functions with one kernel each.
std::string generateKernels(uint64_t seed, unsigned count,
                            const Style &style = {});

} // namespace tl::test

#endif // TL_TEST_UNIT_PIPELINE_KERNELGENERATOR_H
