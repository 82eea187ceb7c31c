//===- Assembler.h - Cubins from PTX ----------------------------*- C++ -*-===//
//
// The three ways to assemble PTX: the nvJitLink library, the `ptxas` program
// and the CUDA driver. All hold the same assembler, of different versions.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUBIN_ASSEMBLER_H
#define TL_TARGET_CUBIN_ASSEMBLER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace tl {

enum class Assembler { Auto, NvJitLink, Ptxas, Driver, None };

/// A cubin and what its assembler said.
struct Assembly {
  std::string cubin;
  std::string log;
};

/// Assembles the texts `ptx` for `chip`, linking them together, with one
/// assembler, neither `Auto` nor `None`. Fails with the assembler's own words,
/// if a text is of a newer version of PTX than it reads, or if it is not on
/// this machine.
llvm::Expected<Assembly> assemble(Assembler assembler,
                                  llvm::ArrayRef<llvm::StringRef> ptx,
                                  llvm::StringRef chip);

/// In a PTX text that changes how many registers threads have.
inline constexpr llvm::StringLiteral kChangesRegisters = "setmaxnreg";

/// True if an assembler of this machine takes `setmaxnreg` where `assembler` is
/// asked for: nvJitLink and the driver compile each text so that others can be
/// linked to it, and then ignore it.
bool canChangeRegisters(Assembler assembler);

/// The assembler that `Auto` stands for on this machine, or `None`.
Assembler chooseAssembler();

/// What a kernel needs, in registers for each thread and bytes.
struct Resources {
  int64_t registers = 0;
  int64_t stack = 0;
  int64_t spillStores = 0;
  int64_t spillLoads = 0;
};

/// The numbers of `entry` in an assembler's verbose log, if it has them.
std::optional<Resources> parseResources(llvm::StringRef log,
                                        llvm::StringRef entry);

/// The log's messages with a code C75xx: `wgmma` was serialised, or registers
/// could not be reallocated.
llvm::SmallVector<llvm::StringRef>
parsePerformanceWarnings(llvm::StringRef log);

} // namespace tl

#endif // TL_TARGET_CUBIN_ASSEMBLER_H
