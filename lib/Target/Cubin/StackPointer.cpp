//===- StackPointer.cpp - Kernels that lose their stack pointer -----------===//
//
// NVIDIA does not publish how instructions are encoded. What is used here was
// read off nvdisasm 13.0 (`nvdisasm -c -hex`), of 28 programs for sm_80, sm_90,
// sm_90a and sm_120, 50 thousand instructions, without an exception:
//
//  - an instruction has 16 bytes, little-endian;
//  - bits 0 to 8 are the operation, whatever kinds of operands it has;
//  - of those below, bits 16 to 23 are the register written, or the first of
//    two, and bits 24 to 31 the first register read.
//
// Then a kernel with a frame begins so, on chips before sm_90 with a move in
// place of the load:
//
//     LDC R1, c[0x0][0x28] ;
//     VIADD R1, R1, 0xffffffd8 ;
//
// and nothing else writes R1. Where it is used as a register, it is so by
// instructions of many kinds. That not all kinds are known here therefore does
// not matter, and neither do results of two registers, R0 and R1.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/StackPointer.h"

#include "MachineCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tl;

static constexpr unsigned kStackPointer = 1;

namespace {
enum Operation : unsigned {
  MOV = 0x002,
  SEL = 0x007,
  IADD3 = 0x010,
  LEA = 0x011,
  LOP3 = 0x012,
  PRMT = 0x016,
  SHF = 0x019,
  FMUL = 0x020,
  FADD = 0x021,
  FFMA = 0x023,
  IMAD = 0x024,
  IADD = 0x035,
  VIADD = 0x036,
  S2R = 0x119,
  LDG = 0x181,
  LDC = 0x182,
  LDS = 0x184,
};
} // namespace

static bool writesRegister(unsigned operation) {
  static constexpr unsigned known[] = {MOV,   SEL,  IADD3, LEA,  LOP3, PRMT,
                                       SHF,   FMUL, FADD,  FFMA, IMAD, IADD,
                                       VIADD, S2R,  LDG,   LDC,  LDS};
  return is_contained(known, operation);
}

/// The same of one function.
static bool losesStackPointer(ArrayRef<uint8_t> code) {
  bool isSet = false, hasFrame = false;
  for (; code.size() >= kInstructionBytes;
       code = code.drop_front(kInstructionBytes)) {
    uint32_t word = support::endian::read32le(code.data());
    unsigned operation = word & 0x1FF, written = word >> 16 & 0xFF,
             read = word >> 24;
    if (written != kStackPointer || !writesRegister(operation))
      continue;
    bool isSum = operation == IADD3 || operation == IADD || operation == VIADD;
    if (isSum && read == kStackPointer)
      hasFrame = true;
    else if (isSet && hasFrame)
      return true;
    isSet = true;
  }
  return false;
}

bool tl::losesStackPointer(StringRef cubin) {
  return anyFunction(
      cubin, [](ArrayRef<uint8_t> code) { return ::losesStackPointer(code); });
}
