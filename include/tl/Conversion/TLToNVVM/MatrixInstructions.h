//===- MatrixInstructions.h - What PTX calls them ---------------*- C++ -*-===//
//
// Facts of the matrix instructions that do not depend on who prints them.
// `wgmma` is inline assembly in PTX by way of LLVM and in CUDA C++ alike: no
// compiler has an intrinsic that leaves its accumulators where they are while
// the instruction is under way.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTONVVM_MATRIXINSTRUCTIONS_H
#define TL_CONVERSION_TLTONVVM_MATRIXINSTRUCTIONS_H

#include "tl/Dialect/TL/IR/TL.h"
#include <string>

namespace tl {

/// Elements of one multiplicand along K.
int64_t getDepth(MmaKind kind);

bool isInteger(MmaKind kind);

/// The parts of `wgmma.mma_async` (PTX ISA, "Asynchronous Warpgroup Level
/// Matrix Instructions").
struct WgmmaInstruction {
  std::string shape;           ///< `m64n128k16`
  llvm::StringRef accumulator; ///< `f32`
  llvm::StringRef kindA;       ///< `bf16`
  llvm::StringRef kindB;
  std::string flags; ///< behind the operands but whether it adds: `1, 1, 0, 1`

  /// Each of the instructions that `op` stands for.
  static WgmmaInstruction of(WgmmaOp op);

  /// The instruction on a list of accumulator registers, A (a descriptor, or
  /// registers in braces) and the descriptor of B. It replaces the accumulator
  /// if not `adds`.
  std::string print(llvm::StringRef registers, llvm::StringRef a,
                    llvm::StringRef b, bool adds = true) const;
};

/// True if every element of the accumulator `acc` of `op` is zero, and an
/// instruction of the group writes it: the first one to do so need not read it,
/// and no register is set to zero.
bool startsFromZero(WgmmaOp op, mlir::Value acc);

/// For each instruction of an `op` that starts from zero, whether a
/// `wgmma.fence` must stand before it.
///
/// ptxas 13.0 makes one instruction of two with equal registers of A, the same
/// B and nothing to add to, and copies its sums before they are complete: for
/// rows that are all alike, or a factor that is a constant. It does not do so
/// across a fence. Which registers are equal to it we cannot tell, so a fence
/// comes before the first instruction on further rows with a B that others
/// began with.
llvm::SmallVector<bool> needFences(WgmmaOp op);

/// Moves waits for the products of loops that may not run to where they ran.
/// What is below `root` is at thread level, and stays so.
void guardWaits(mlir::Operation *root);

/// Lets the warp groups of a block start their products in turn, in loops in
/// which each starts several. What it adds below `root` is no longer at thread
/// level.
void takeTurns(mlir::Operation *root);

} // namespace tl

#endif // TL_CONVERSION_TLTONVVM_MATRIXINSTRUCTIONS_H
