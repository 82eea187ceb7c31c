//===- AssemblerFaults.h - PTX that ptxas understands -----------*- C++ -*-===//
//
// ptxas 13.0, and nvJitLink and drivers of that version, make wrong code of
// some PTX. What a code generator cannot avoid, because LLVM and NVVM choose
// the instructions, is avoided in the text that they print.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_ASSEMBLERFAULTS_H
#define TL_TARGET_CUBIN_ASSEMBLERFAULTS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tl {

/// PTX that computes what `ptx` does, without what ptxas is known to mistake.
std::string avoidAssemblerFaults(llvm::StringRef ptx);

} // namespace tl

#endif // TL_TARGET_CUBIN_ASSEMBLERFAULTS_H
