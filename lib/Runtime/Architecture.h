//===- Architecture.h - Which GPU a kernel was built for --------*- C++ -*-===//
//
// The driver says no more than "no kernel image is available" about a kernel
// that was built for another GPU. This finds out what it was built for first.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_RUNTIME_ARCHITECTURE_H
#define TL_LIB_RUNTIME_ARCHITECTURE_H

#include "tl/Runtime/Executable.h"
#include <optional>
#include <string>

namespace tl::runtime {

/// A target of ptxas: `sm_90a` is {9, 0, 'a'}.
struct Architecture {
  int major = 0;
  int minor = 0;
  /// 'a' for features of one GPU, 'f' for features of a family, or 0.
  char suffix = 0;

  /// Returns what `image` was built for, or nothing if it does not say so in a
  /// form known here; the driver then has the last word.
  static std::optional<Architecture> of(const KernelImage &image);

  /// Returns whether code for this architecture runs on a GPU of compute
  /// capability `gpuMajor`.`gpuMinor`.
  bool runsOn(int gpuMajor, int gpuMinor, KernelImage::Kind kind) const;

  /// Returns "sm_90a".
  std::string str() const;
};

} // namespace tl::runtime

#endif // TL_LIB_RUNTIME_ARCHITECTURE_H
