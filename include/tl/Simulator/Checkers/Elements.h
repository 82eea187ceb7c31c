//===- Elements.h - Bytes as the program calls them -------------*- C++ -*-===//
//
// Texts that name the elements of a tensor or of a tile in shared memory which
// some bytes are. Bytes that have no such name are said to be bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_ELEMENTS_H
#define TL_SIMULATOR_CHECKERS_ELEMENTS_H

#include "tl/Simulator/Memory.h"
#include "tl/Simulator/Report.h"

namespace tl::sim {

class Program;

/// Knows what a launch's memory is called.
class Elements {
public:
  /// Both may be null, and then all are bytes.
  Elements(const Program *program, const GlobalMemory *memory)
      : program(program), memory(memory) {}

  /// "`S[18]`", "`B[31, 0]` to `B[31, 3]`", "bytes 4 to 7 of shared memory":
  /// what `instruction` touches. What lies outside of the tiles that its
  /// statement uses is said to.
  std::string describe(InstructionId instruction, const Span &span) const;

  /// "4 bytes at `S[128]`, outside of its shape (128)": what an access that is
  /// not all inside of memory was meant for, of `sharedBytes` that there are.
  std::string describeOutside(InstructionId instruction, const Span &span,
                              uint32_t sharedBytes) const;

  /// "the mbarrier `empty[0]`", or where it is.
  std::string describeMbarrier(InstructionId instruction,
                               uint64_t address) const;

private:
  std::string describeShared(InstructionId instruction, const Span &span) const;
  std::string describeTensor(const Span &span) const;

  const Program *program;
  const GlobalMemory *memory;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_ELEMENTS_H
