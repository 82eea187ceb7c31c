//===- HostMachine.h - The processor that code is made for ------*- C++ -*-===//
//
// Everything that host code depends on besides its IR, as plain strings that
// can stand in a pipeline's text and in a cache key.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CPU_HOSTMACHINE_H
#define TL_TARGET_CPU_HOSTMACHINE_H

#include <cstdint>
#include <string>

namespace tl {

struct HostMachine {
  std::string cpu;      ///< as LLVM names it, such as `znver4`
  std::string features; ///< such as `+avx2,+fma`, sorted
  int64_t vectorBytes;  ///< of a vector register: 16, 32 or 64

  /// The machine that this process runs on. Asked once.
  static const HostMachine &get();
};

} // namespace tl

#endif // TL_TARGET_CPU_HOSTMACHINE_H
