//===- GemmPlan.h - A gemm's instruction and warp partition -----*- C++ -*-===//
//
// Which instruction multiplies, how warps share the accumulator, and how the
// accumulator therefore lies.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_GEMMPLAN_H
#define TL_DIALECT_TL_ANALYSIS_GEMMPLAN_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Layout/FragmentLayout.h"

namespace tl {

/// Chooses the instruction of a gemm and how warps share it. A plan in
/// `wanted`, that of an earlier gemm on the same accumulator, is taken if it is
/// possible, so that the accumulator can stay where it is. `reason` says why a
/// faster instruction was not chosen, or is empty.
GemmPlanAttr planGemm(GemmOp gemm, const Target &target, int64_t numThreads,
                      GemmPlanAttr wanted, std::string &reason);

/// The layout of a gemm's accumulator under its plan.
layout::FragmentLayout getAccumulatorLayout(GemmOp gemm, GemmPlanAttr plan,
                                            int64_t numThreads);

/// True if the instruction of `plan` takes the gemm's A from registers.
bool takesRegisterA(GemmOp gemm, GemmPlanAttr plan);

/// The layout that it takes it in.
layout::FragmentLayout getOperandLayout(GemmOp gemm, GemmPlanAttr plan,
                                        int64_t numThreads);

/// How warps hold A or B, which lie in shared memory, when mma.sync takes them
/// (PTX ISA, "Matrix Fragments for mma.m16n8k16": A, B). The shape is that of
/// the operand as it lies, transposed or not; values are in the order in which
/// instructions take them: those of a block of 16 rows of A or 8 columns of B,
/// block after block, and so for one step of K after the other. Requires a plan
/// with mma.sync.
layout::FragmentLayout getLoadedLayout(GemmOp gemm, GemmPlanAttr plan, bool ofB,
                                       int64_t numThreads);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_GEMMPLAN_H
