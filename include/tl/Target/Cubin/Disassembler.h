//===- Disassembler.h - Machine code as text --------------------*- C++ -*-===//
//
// NVIDIA documents no form of its machine code, so its own program reads it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_DISASSEMBLER_H
#define TL_TARGET_CUBIN_DISASSEMBLER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tl {

/// Returns what `nvdisasm` prints of a cubin. Fails, with what to install,
/// where there is none on this machine, and with its words if it refuses the
/// cubin.
llvm::Expected<std::string> disassemble(llvm::StringRef cubin);

} // namespace tl

#endif // TL_TARGET_CUBIN_DISASSEMBLER_H
