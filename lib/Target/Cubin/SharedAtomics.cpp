//===- SharedAtomics.cpp - Loops of atomics on shared memory --------------===//
//
// An atomic sum of floats in shared memory, in a loop of the program, is
//
//     BSSY B0, after ;
//     again:
//     LDS R4, [R0] ;
//     FADD R5, R2, R4 ;
//     ATOMS.CAST.SPIN R5, [R0], R4, R5 ;
//     ISETP.EQ.U32.AND P0, PT, R5, 0x1, PT ;
//     @!P0 BRA again ;
//     BSYNC B0 ;
//     after:
//     UIADD3 UR4, UR4, -0x1, URZ ;
//
// and wrong where `BSYNC` is behind `UIADD3`. So the first instruction that
// meets decides, behind the branch that follows the atomic operation: one that
// has threads wait, or one that changes a uniform register. One that sets such
// a register to what does not depend on it is none: however often it is done,
// it gives the same.
//
// What is used of the encoding was read off nvdisasm 13.5 (`-hex`) for sm_75,
// sm_80, sm_89, sm_90a, sm_100a and sm_120:
//
//  - bits 0 to 8 are the operation, and 9 to 11 what kinds of operands it has,
//    4 if the second one is a constant;
//  - bits 16 to 23 are the uniform register written, bits 24 to 31, 32 to 39
//    and 64 to 71 those read;
//  - bits 87 and 88 tell `ATOMS.CAST.SPIN` from `ATOMS.CAS`.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/SharedAtomics.h"

#include "MachineCode.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tl;

namespace {
enum Operation : unsigned {
  UIADD3 = 0x090,
  BSYNC = 0x141,
  BRA = 0x147,
  WARPSYNC = 0x148,
  ATOMS_CAS = 0x18D,
};
} // namespace

/// What makes `ATOMS.CAST.SPIN` of an `ATOMS.CAS`, in bits 64 to 127.
static constexpr uint64_t kSpins = 3 << 23;

/// Whether a `UIADD3` adds to the register that it writes.
static bool addsToItself(uint64_t low, uint64_t high) {
  uint8_t written = low >> 16, a = low >> 24, b = low >> 32, c = high;
  bool hasConstant = (low >> 9 & 7) == 4;
  return a == written || c == written || (!hasConstant && b == written);
}

bool tl::countsTriesOfAtomics(StringRef cubin) {
  return anyFunction(cubin, [](ArrayRef<uint8_t> code) {
    enum { Elsewhere, Trying, Through } at = Elsewhere;
    for (; code.size() >= kInstructionBytes;
         code = code.drop_front(kInstructionBytes)) {
      uint64_t low = support::endian::read64le(code.data()),
               high = support::endian::read64le(code.data() + 8);
      switch (low & 0x1FF) {
      case ATOMS_CAS:
        if ((high & kSpins) == kSpins)
          at = Trying;
        break;
      case BRA:
        at = at == Trying ? Through : Elsewhere;
        break;
      case BSYNC:
      case WARPSYNC:
        at = Elsewhere;
        break;
      case UIADD3:
        if (at == Through && addsToItself(low, high))
          return true;
      }
    }
    return false;
  });
}
