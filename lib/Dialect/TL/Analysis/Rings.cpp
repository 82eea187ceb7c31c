//===- Rings.cpp - How many slots loops fill ahead of tiles ---------------===//

#include "tl/Dialect/TL/Analysis/Rings.h"

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RunAhead.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

bool tl::canCarryPhase(PipelinedOp loop) {
  for (Operation *parent = loop->getParentOp(); !isa<gpu::GPUFuncOp>(parent);
       parent = parent->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp, PipelinedOp>(parent))
      return false;
  return true;
}

std::optional<DelayedGemm> tl::findDelayed(PipelinedOp loop) {
  std::string reason;
  std::optional<DelayedGemm> found = DelayedGemm::of(loop, reason);
  return found && found->gemm->hasAttr(kDelayedAttr) ? found : std::nullopt;
}

/// True if the gemms that `isAsync` says alone read the f32 that `copy` fills
/// in `loop`: so tl-round-factors can have the engine round it, if the ring has
/// no other readers either.
static bool canBeRounded(CopyOp copy, PipelinedOp loop,
                         function_ref<bool(GemmOp)> isAsync) {
  Value tile = copy.getTarget();
  return cast<MemRefType>(tile.getType()).getElementType().isF32() &&
         llvm::all_of(tile.getUsers(), [&](Operation *user) {
           auto gemm = dyn_cast<GemmOp>(user);
           return user == copy || !loop->isProperAncestor(user) ||
                  (gemm && isAsync(gemm));
         });
}

/// `copies` are those that run ahead, and `delayed` the gemm that is done late.
static SmallVector<LoopTiles::Tile>
getTiles(PipelinedOp loop, ArrayRef<CopyOp> copies,
         std::optional<DelayedGemm> delayed,
         function_ref<bool(GemmOp)> isAsync) {
  SmallVector<LoopTiles::Tile> tiles;
  for (CopyOp copy : copies) {
    Value buffer = copy.getTarget();
    bool isForDelayed = delayed && (buffer == delayed->gemm.getA() ||
                                    buffer == delayed->gemm.getB());
    tiles.push_back({buffer, isForDelayed, copy.getMulticast(),
                     canBeRounded(copy, loop, isAsync)});
  }
  llvm::sort(tiles, [](const LoopTiles::Tile &a, const LoopTiles::Tile &b) {
    return a.buffer.getAsOpaquePointer() < b.buffer.getAsOpaquePointer();
  });
  return tiles;
}

LoopTiles LoopTiles::of(PipelinedOp loop) {
  SmallVector<CopyOp> copies(
      llvm::make_filter_range(loop.getBody().getOps<CopyOp>(), runsAhead));
  return {*getEngine(loop), static_cast<int64_t>(loop.getStages()),
          getTiles(loop, copies, findDelayed(loop), isAsync)};
}

/// True if the gemm runs on, or will if it has no plan yet.
static bool expectAsync(GemmOp gemm, const Target &target) {
  if (gemm.getPlan())
    return isAsync(gemm);
  std::string reason;
  return target.hasWgmma() &&
         gemm->getParentOfType<gpu::GPUFuncOp>().getKnownBlockSize() &&
         planGemm(gemm, target, getThreads(gemm).count, nullptr, reason)
                 .getInstruction() == Instruction::WGMMA;
}

LoopTiles LoopTiles::expect(PipelinedOp loop, const Target &target) {
  SmallVector<CopyOp> copies;
  if (loop.getStages() >= 2)
    copies = RunAhead::of(loop).copies;
  bool isBulk = target.hasBulkCopy() && canCarryPhase(loop) &&
                llvm::all_of(copies, isInReach);
  auto isAsync = [&](GemmOp gemm) { return expectAsync(gemm, target); };
  CopyEngine engine = isBulk ? CopyEngine::Bulk : CopyEngine::Groups;
  std::string reason;
  std::optional<DelayedGemm> delayed =
      DelayedGemm::expect(loop, engine, copies, isAsync, reason);
  return {engine, static_cast<int64_t>(loop.getStages()),
          getTiles(loop, copies, delayed, isAsync)};
}

int64_t Rings::getBytes() const {
  int64_t bytes = 0;
  for (const LoopTiles::Tile &tile : tiles.tiles)
    bytes += getSharedBytes(tile.buffer.getDefiningOp<AllocOp>());
  return bytes * tiles.stages;
}

bool tl::sharesSlots(gpu::GPUFuncOp kernel) {
  return getClusterSize(kernel) == 1;
}

static void add(SmallVector<Rings> &all, PipelinedOp loop, LoopTiles tiles) {
  for (Rings &rings : all)
    if (rings.tiles == tiles)
      return rings.loops.push_back(loop);
  all.push_back({std::move(tiles), {loop}});
}

SmallVector<Rings> tl::findRings(gpu::GPUFuncOp kernel) {
  SmallVector<Rings> all;
  kernel.walk([&](PipelinedOp loop) {
    if (getEngine(loop))
      add(all, loop, LoopTiles::of(loop));
  });
  return all;
}

SmallVector<Rings> tl::expectRings(gpu::GPUFuncOp kernel,
                                   const Target &target) {
  SmallVector<std::pair<PipelinedOp, LoopTiles>> loops;
  kernel.walk([&](PipelinedOp loop) {
    LoopTiles tiles = LoopTiles::expect(loop, target);
    if (!tiles.tiles.empty())
      loops.push_back({loop, std::move(tiles)});
  });
  SmallVector<Rings> all;
  for (auto &[loop, tiles] : loops) {
    LoopTiles own = tiles;
    if (sharesSlots(kernel))
      for (auto &[other, others] : loops)
        if (own.isEqualButForStages(others))
          own.stages = std::max(own.stages, others.stages);
    add(all, loop, std::move(own));
  }
  return all;
}

int64_t tl::getRoundedBytes(GemmOp gemm, ArrayRef<Rings> all,
                            const Target &target) {
  if (!expectAsync(gemm, target))
    return 0;
  auto loop = gemm->getParentOfType<PipelinedOp>();
  auto isOnTheWay = [&](Value tile) {
    return llvm::any_of(all, [&](const Rings &rings) {
      return rings.tiles.engine == CopyEngine::Bulk &&
             llvm::is_contained(rings.loops, loop) &&
             llvm::any_of(rings.tiles.tiles, [&](const LoopTiles::Tile &own) {
               return own.buffer == tile && own.isRounded;
             });
    });
  };
  int64_t bytes = 0;
  for (bool ofB : {false, true}) {
    Value tile = ofB ? gemm.getB() : gemm.getA();
    MemRefType type = gemm.getOperandType(ofB);
    if (isInSpace(tile, Space::Shared) && type.getElementType().isF32() &&
        !isOnTheWay(tile))
      bytes += type.getNumElements() * getElementBytes(type);
  }
  return bytes;
}
