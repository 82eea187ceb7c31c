//===- ClearedSums.h - Sums that an instruction clears ----------*- C++ -*-===//
//
// ptxas 13.0 to 13.5, and nvJitLink and drivers of those versions, leave it to
// products of matrices of doubles to clear their sums, where a condition says
// so that is the same for all threads, and then take sums of 16 rows for those
// of 8. The text of PTX is rewritten so that they do not (AssemblerFaults.h).
// Cubins are looked at all the same: a condition need not come from a `selp`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_CLEAREDSUMS_H
#define TL_TARGET_CUBIN_CLEAREDSUMS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Whether a product of doubles with 16 rows in the ELF file `cubin` clears its
/// sums by a condition. False for what is no ELF file.
bool clearsSumsByCondition(llvm::StringRef cubin);

} // namespace tl

#endif // TL_TARGET_CUBIN_CLEAREDSUMS_H
