//===- StackPointer.h - Kernels that lose their stack pointer --*- C++ -*-===//
//
// ptxas 13.0, and nvJitLink and drivers of that version, use R1 as an ordinary
// register in some kernels with arrays in local memory, which they then reach
// through it. No PTX is known that avoids it, so cubins are looked at.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_STACKPOINTER_H
#define TL_TARGET_CUBIN_STACKPOINTER_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Whether a function of the ELF file `cubin` has a stack frame and computes
/// something else than the frame's address in the stack pointer. False for
/// what is no ELF file.
bool losesStackPointer(llvm::StringRef cubin);

} // namespace tl

#endif // TL_TARGET_CUBIN_STACKPOINTER_H
