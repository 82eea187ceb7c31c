//===- RunProgram.h - Other programs, and what they are given --*- C++ -*-===//
//
// Programs that TL starts (nvcc, ptxas, a C++ compiler) get no more of the
// environment than they need to be found and to find their parts. Secrets stay
// here; and variables that add options or folders to a compiler's own
// (`NVCC_APPEND_FLAGS`, `CPATH`) would change what is made without changing its
// key.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_RUNPROGRAM_H
#define TL_SUPPORT_RUNPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tl {

/// What programs get of this process's environment, as `name=value`: the
/// places of programs, libraries, home and temporary files. Messages are in
/// English, for us to read.
std::vector<std::string> getProgramEnvironment();

/// Runs a program with that environment and waits for it. What it prints goes
/// to the file `log`, and nothing is its input. Returns its exit status; less
/// than zero if it did not run or crashed, for the reason in `message`.
int runProgram(llvm::StringRef program,
               llvm::ArrayRef<llvm::StringRef> arguments, llvm::StringRef log,
               std::string &message);

/// The C++ compiler that nvcc uses for the host's part: the one that its own
/// variable names, `NVCC_CCBIN`, because the newest `g++` may be too new for
/// it; else `g++` of the path. Empty if there is none. It is part of the key of
/// what nvcc makes, and given to it by name.
std::string findHostCompiler();

} // namespace tl

#endif // TL_SUPPORT_RUNPROGRAM_H
