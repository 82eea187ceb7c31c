//===- Rings.h - How many slots loops fill ahead of tiles -------*- C++ -*-===//
//
// A tile that pipelined loops fill ahead lies in a ring of slots. Loops that
// fill the same tiles in the same way have their rings in common, and others
// have rings of their own. This is where it is said which: `tl-expand-pipeline`
// makes the rings, and whoever asks before how much shared memory they take
// counts the same ones.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_RINGS_H
#define TL_DIALECT_TL_ANALYSIS_RINGS_H

#include "tl/Dialect/TL/Analysis/DelayedGemm.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Target.h"

namespace tl {

/// What mbarriers, and the alignment of tiles, may need beside what tiles take.
inline constexpr int64_t kReservedSharedBytes = 1024;

/// True if a slot and its phase can be carried to where the loop stands from
/// the kernel's start: a second run of the loop must know where the first one
/// stopped.
bool canCarryPhase(PipelinedOp loop);

/// What a loop fills ahead, and how. Loops of which all of this is the same
/// have their rings in common, wherever they stand.
struct LoopTiles {
  struct Tile {
    mlir::Value buffer;
    bool isForDelayed; ///< for the gemm that is done an iteration late
    bool isMulticast;  ///< blocks of a cluster fetch it together
    bool isRounded;    ///< on the way, which other readers would see
    bool operator==(const Tile &) const = default;
  };

  CopyEngine engine;
  int64_t stages;
  llvm::SmallVector<Tile> tiles; ///< in an order that serves comparison only

  /// Of a loop that `tl-assign-stages` has given an engine.
  static LoopTiles of(PipelinedOp loop);

  /// Of any other loop what it will be, as far as can be told before gemms have
  /// plans and tiles have layouts; no tiles if nothing runs ahead.
  static LoopTiles expect(PipelinedOp loop, const Target &target);

  bool operator==(const LoopTiles &) const = default;

  /// True if nothing but how many slots there are keeps the rings apart.
  bool isEqualButForStages(const LoopTiles &other) const {
    return engine == other.engine && tiles == other.tiles;
  }

  /// True if there is a ring of `buffer`.
  bool contains(mlir::Value buffer) const {
    return llvm::any_of(
        tiles, [&](const Tile &tile) { return tile.buffer == buffer; });
  }
};

/// A ring for each of the tiles, which these loops have in common.
struct Rings {
  LoopTiles tiles;
  llvm::SmallVector<PipelinedOp> loops;

  /// Bytes of shared memory that they take.
  int64_t getBytes() const;
};

/// True if loops of the kernel whose rings nothing but the number of slots
/// keeps apart all get as many as the one that asks for most. In clusters it is
/// decided later which copies blocks do together.
bool sharesSlots(mlir::gpu::GPUFuncOp kernel);

/// The gemm of the loop that has been marked to be done an iteration late.
std::optional<DelayedGemm> findDelayed(PipelinedOp loop);

/// The rings of all loops of the kernel that have engines.
llvm::SmallVector<Rings> findRings(mlir::gpu::GPUFuncOp kernel);

/// Those that there will be, if no loop has an engine yet.
llvm::SmallVector<Rings> expectRings(mlir::gpu::GPUFuncOp kernel,
                                     const Target &target);

/// Bytes of the tiles to which factors of the gemm are copied in front of it,
/// rounded, because they are not on the way (`tl-round-factors`); as far as can
/// be told if it has no plan yet.
int64_t getRoundedBytes(GemmOp gemm, llvm::ArrayRef<Rings> all,
                        const Target &target);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_RINGS_H
