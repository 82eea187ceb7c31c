//===- SharedAtomics.h - Loops of atomics on shared memory ------*- C++ -*-===//
//
// ptxas 13.0 to 13.5 and nvJitLink 13.0 make loops of most atomic operations on
// shared memory. Where a loop of the program begins with one, they count its
// iterations for all threads of a warp, of which some still try again. The text
// of PTX is rewritten so that they do not (AssemblerFaults.h). Cubins are
// looked at all the same: the text keeps guards that programs have, which ptxas
// may find to be true.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_SHAREDATOMICS_H
#define TL_TARGET_CUBIN_SHAREDATOMICS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Whether an atomic operation on shared memory in the ELF file `cubin` is
/// followed by a change of a register that a warp has one of, before the
/// threads that are through wait for those that try again. False for what is no
/// ELF file.
bool countsTriesOfAtomics(llvm::StringRef cubin);

} // namespace tl

#endif // TL_TARGET_CUBIN_SHAREDATOMICS_H
