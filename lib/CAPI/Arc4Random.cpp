//===- Arc4Random.cpp - The random numbers of a newer glibc ---------------===//
//
// LLVM's support library, as it was built, takes random numbers for names of
// temporary files from glibc's `arc4random`, which came with 2.36. This one
// stands before glibc's, and asks the kernel. So `libtl.so` starts on glibc
// 2.35 as well, with which Ubuntu 22.04 comes; nobody else sees the symbol.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/ErrorHandling.h"

#include <cerrno>
#include <cstdint>
#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept {
  uint32_t number;
  // Interrupted only before the kernel has gathered entropy; 256 bytes or less
  // come whole (getrandom(2)).
  while (::getrandom(&number, sizeof(number), 0) != sizeof(number))
    if (errno != EINTR)
      llvm::report_fatal_error("the kernel has no random numbers");
  return number;
}
