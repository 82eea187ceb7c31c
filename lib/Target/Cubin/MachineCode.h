//===- MachineCode.h - The instructions of a cubin --------------*- C++ -*-===//
//
// What looks for faults of the assembler in its machine code has in common.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CUBIN_MACHINECODE_H
#define TL_LIB_TARGET_CUBIN_MACHINECODE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tl {

/// How long an instruction is, on chips of 7.0 and later.
inline constexpr size_t kInstructionBytes = 16;

/// Whether `test` is true of the instructions of a function of the ELF file
/// `cubin`. False for what is no ELF file.
bool anyFunction(llvm::StringRef cubin,
                 llvm::function_ref<bool(llvm::ArrayRef<uint8_t>)> test);

} // namespace tl

#endif // TL_LIB_TARGET_CUBIN_MACHINECODE_H
