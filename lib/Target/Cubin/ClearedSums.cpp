//===- ClearedSums.cpp - Sums that an instruction clears ------------------===//
//
// `DMMA.16x8x4 R8, R4, R18, R8, UP0` adds to R8 to R15 if UP0 is true, else to
// zero. ptxas makes it of four `selp` for the four sums, and copies R10 and R11
// over R12 to R15 in front of it, as if there were two. Of 8 rows there are,
// and it is right.
//
// What is used of the encoding was read off nvdisasm 13.5 (`-hex`) for sm_90,
// the only chips with instructions of 16 rows, of all their shapes:
//
//  - bits 0 to 8 are the operation;
//  - bits 76 and 77 are the shape: 0 is 8x8x4, and the others have 16 rows;
//  - bits 87 to 89 are the condition, 7 for UP0, and 0 for what is always true;
//  - bit 90 negates it.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/ClearedSums.h"

#include "MachineCode.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tl;

static constexpr unsigned kMatrixProductOfDoubles = 0x03F;

bool tl::clearsSumsByCondition(StringRef cubin) {
  return anyFunction(cubin, [](ArrayRef<uint8_t> code) {
    for (; code.size() >= kInstructionBytes;
         code = code.drop_front(kInstructionBytes)) {
      uint64_t low = support::endian::read64le(code.data()),
               high = support::endian::read64le(code.data() + 8);
      unsigned shape = high >> 12 & 3, condition = high >> 23 & 7;
      if ((low & 0x1FF) == kMatrixProductOfDoubles && shape != 0 &&
          condition != 0)
        return true;
    }
    return false;
  });
}
