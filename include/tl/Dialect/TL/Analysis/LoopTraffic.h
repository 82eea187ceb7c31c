//===- LoopTraffic.h - What a loop's layout costs in memory -----*- C++ -*-===//
//
// The lanes of a warp access memory together. Shared memory gives each of its
// 32 banks one word of four bytes at a time, and lanes that want other words of
// a bank wait (CUDA C++ Programming Guide, "Shared Memory"); device memory
// moves sectors of 32 bytes. So the same loop takes more or less of both, as
// its layout has it: this counts them, of accesses whose indices are sums of
// loop indices, for one warp.
//
// This is an estimate to choose by. Any layout is right.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_LOOPTRAFFIC_H
#define TL_DIALECT_TL_ANALYSIS_LOOPTRAFFIC_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Layout/FragmentLayout.h"

namespace tl {

struct LoopTraffic {
  /// Times that shared memory serves the warp.
  int64_t wavefronts = 0;
  /// Sectors of device memory that it moves.
  int64_t sectors = 0;
};

LoopTraffic countTraffic(ParallelOp loop, const layout::FragmentLayout &layout);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_LOOPTRAFFIC_H
