//===- EarlyReads.cpp - Zeros that are read too early ---------------------===//
//
//     CS2R R10, SRZ ;                        // goes on after 2 cycles
//     @P3 IMAD.WIDE.U32 R10, R20, 0x352, RZ ; // after 3
//     @P4 IADD3 R10, P6, R10, R18, RZ ;
//
// The zeros take 7 cycles. A thread for which P3 is false adds what was in R10
// before. Each instruction says how many cycles the next one waits at least, so
// that they can be counted. A branch says five, so that what is read behind it
// has waited long enough.
//
// What is used of the encoding was read off nvdisasm 13.0 (`-hex`):
//
//  - bits 0 to 8 are the operation, those of memory from 0x180 on, and 9 to 11
//    are 1 if all operands are registers;
//  - bits 12 to 15 are the condition, 7 for none;
//  - bits 16 to 23 are the register written, or the first of two, and bits 24
//    to 31, 32 to 39 and 64 to 71 those read;
//  - bits 105 to 108 are the cycles.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/EarlyReads.h"

#include "MachineCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tl;

/// Cycles from `CS2R` until what it writes can be read. ptxas 13.5 waits for so
/// many, and the others do where no condition stands between.
static constexpr unsigned kCyclesOfZeros = 7;

namespace {
/// An instruction, of which `read` is what it may read.
struct Decoded {
  explicit Decoded(ArrayRef<uint8_t> code) {
    uint64_t low = support::endian::read64le(code.data()),
             high = support::endian::read64le(code.data() + 8);
    operation = low & 0x1FF;
    hasCondition = (low >> 12 & 0xF) != 7;
    cycles = high >> 41 & 0xF;
    written = low >> 16;
    read[0] = low >> 24;
    read[1] = high;
    // What is no register here is a constant, or one of a warp.
    bool hasThird = (low >> 9 & 7) == 1 || operation >= 0x180;
    read[2] = hasThird ? low >> 32 : read[0];
  }

  /// `CS2R`. R255 is none, and R0 never the first of two, as R1 is the stack
  /// pointer: so no predicate that another instruction writes is taken for it.
  bool clearsTwoRegisters() const {
    return operation == 0x005 && written != 255;
  }

  unsigned operation, cycles;
  bool hasCondition;
  uint8_t written, read[3];
};
} // namespace

/// The same of one function.
static bool readsZerosEarly(ArrayRef<uint8_t> code) {
  auto at = [&](size_t number) {
    return Decoded(code.slice(number * kInstructionBytes, kInstructionBytes));
  };
  size_t numInstructions = code.size() / kInstructionBytes;
  for (size_t first = 0; first != numInstructions; ++first) {
    Decoded zeros = at(first);
    if (!zeros.clearsTwoRegisters())
      continue;
    auto isOfZeros = [&](uint8_t number) {
      return number == zeros.written || number == zeros.written + 1;
    };
    bool mayBeOther = false;
    unsigned cycles = zeros.cycles;
    for (size_t next = first + 1;
         next != numInstructions && cycles < kCyclesOfZeros; ++next) {
      Decoded other = at(next);
      if (mayBeOther && any_of(other.read, isOfZeros))
        return true;
      if (isOfZeros(other.written)) {
        if (!other.hasCondition)
          break;
        mayBeOther = true;
      }
      cycles += other.cycles;
    }
  }
  return false;
}

bool tl::readsZerosEarly(StringRef cubin) {
  return anyFunction(
      cubin, [](ArrayRef<uint8_t> code) { return ::readsZerosEarly(code); });
}
