//===- EarlyReads.h - Zeros that are read too early -------------*- C++ -*-===//
//
// ptxas and nvJitLink 13.0 to 13.3 read two registers that they have cleared
// before these are clear, where an instruction that a condition may leave out
// writes them in between, as in `x = c ? a * b : 0`, a product of 64 bits.
// 13.5 waits. Where that is so depends on what else the kernel does, so that
// nothing in the text of PTX avoids it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_EARLYREADS_H
#define TL_TARGET_CUBIN_EARLYREADS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Whether an instruction in the ELF file `cubin` reads zeros before they are
/// there. False for what is no ELF file.
bool readsZerosEarly(llvm::StringRef cubin);

} // namespace tl

#endif // TL_TARGET_CUBIN_EARLYREADS_H
