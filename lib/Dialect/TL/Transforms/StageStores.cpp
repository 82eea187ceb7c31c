//===- StageStores.cpp - Pass accumulators through shared memory ----------===//
//
// The threads of a warp hold an accumulator in 8-byte pieces of 8 rows. Stored
// straight to device memory these fill half of each 32-byte sector; through
// shared memory whole lines leave the chip. Behind a pipelined loop its ring is
// free, so the staging tile usually costs no memory. In a loop over tiles the
// ring is being filled for the next tile meanwhile.
//
// A fragment that is computed of an accumulator, element by element, such as a
// scaled one or one of another type, lies as that does, and goes the same way.
//
// So does an accumulator that is added to device memory, where the bulk copy
// engine can add what is in shared memory. What all iterations of such a loop
// compute alike, as where the tile begins, is computed in front of it. Not
// where each multiprocessor has many such blocks, one after the other: threads
// that add straight from registers make room for the next block when the last
// addition has begun, while the engine first reads the whole tile, and the
// others' products hide how long memory takes. Of products with K in four parts
// on an H200, 1024^3 (256 blocks) was faster through shared memory by a fifth,
// and 4096^3 (4096 blocks) slower by a fifth.
//
// A tile that shared memory does not hold beside what else is there stays where
// it is: a faster store is no reason to refuse a kernel. What is there is known
// only once memory is planned; here it is what the program's own buffers take,
// in all slots that loops may give them.
//
// Sound because the staging tile holds what is to be stored, in the type that
// it is stored in, is written right before the store and is read by nothing
// else; a copy drops what is outside of the tensor from either. It is memory
// like any other to tl-insert-sync and tl-verify-sync.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/Rings.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/STLExtras.h"

#define DEBUG_TYPE "tl-stage-stores"

namespace tl {
#define GEN_PASS_DEF_STAGESTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kSectorBytes = 32;
static constexpr int64_t kRegistersOfMultiprocessor = 65536;
static constexpr int64_t kManyRounds = 4;

static bool isAccumulator(Value fragment) {
  return llvm::any_of(fragment.getUsers(), [&](Operation *user) {
    auto gemm = dyn_cast<GemmOp>(user);
    return gemm && gemm.getAcc() == fragment;
  });
}

/// Whether `store` assigns what is computed of an accumulator's element at the
/// same indices.
static bool isOfAccumulator(StoreOp store) {
  auto loop = store->getParentOfType<ParallelOp>();
  if (!loop)
    return false;
  WalkResult result = loop.getBody().walk([&](LoadOp load) {
    bool isSame = isInSpace(load.getSource(), Space::Fragment) &&
                  isAccumulator(load.getSource()) &&
                  load.getIndices() == store.getIndices();
    return isSame ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether threads hold a fragment as they do an accumulator, because it is one
/// or is computed of one, element by element.
static bool liesLikeAccumulator(Value fragment) {
  return isAccumulator(fragment) ||
         llvm::any_of(fragment.getUsers(), [&](Operation *user) {
           if (auto copy = dyn_cast<CopyOp>(user))
             return copy.getTarget() == fragment &&
                    isInSpace(copy.getSource(), Space::Fragment) &&
                    isAccumulator(copy.getSource());
           auto store = dyn_cast<StoreOp>(user);
           return store && store.getTarget() == fragment &&
                  isOfAccumulator(store);
         });
}

/// Whether rows of `columns` elements like those of `target` are whole sectors.
static bool hasWholeSectors(Value target, int64_t columns) {
  Type element = cast<MemRefType>(target.getType()).getElementType();
  return columns * element.getIntOrFloatBitWidth() % (8 * kSectorBytes) == 0;
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

/// True if `first` ends before `second` begins, however often a loop around
/// both begins again.
static bool isBefore(Operation *first, Operation *second) {
  for (Block *block = second->getBlock(); block;
       block = block->getParentOp()->getBlock())
    if (Operation *ancestor = block->findAncestorOpInBlock(*first)) {
      Operation *other = block->findAncestorOpInBlock(*second);
      return ancestor != other && ancestor->isBeforeInBlock(other);
    }
  return false;
}

static bool isInLoopWith(Operation *op, Operation *other) {
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>())
    if (loop->isProperAncestor(other))
      return true;
  return false;
}

/// Whether what `users` do with a buffer may leave something in it while
/// `store` is executed.
static bool mayHold(ArrayRef<Operation *> users, Operation *store) {
  bool before = false, after = false;
  for (Operation *user : users) {
    // What is done with a view of the buffer is not looked for.
    if (user->getNumResults() > 0 && isa<MemRefType>(user->getResultTypes()[0]))
      return true;
    if (isInLoopWith(user, store))
      return true;
    before |= isBefore(user, store);
    after |= isBefore(store, user);
  }
  return before && after;
}

/// How many tiles of the size of `buffer` there may be while `store` is
/// executed: those of its rings, and one if something is done with it outside
/// of the loops that fill these.
static int64_t countSlots(AllocOp buffer, Operation *store,
                          ArrayRef<Rings> all) {
  SmallVector<Operation *> users(buffer->getUsers());
  bool isHeld = mayHold(users, store);
  int64_t slots = 0;
  for (const Rings &rings : all) {
    if (!rings.tiles.contains(buffer))
      continue;
    slots += isHeld ? rings.tiles.stages : 0;
    llvm::erase_if(users, [&](Operation *user) {
      return llvm::any_of(rings.loops, [&](PipelinedOp loop) {
        return loop->isProperAncestor(user);
      });
    });
  }
  return slots + mayHold(users, store);
}

/// Whether the shared memory of a block holds a tile of `element`s beside what
/// is there while `store` is executed; says in a remark if not.
static bool fits(Operation *store, ArrayRef<int64_t> tile, Type element,
                 const Target &target) {
  int64_t bits = ShapedType::getNumElements(tile) *
                 int64_t(element.getIntOrFloatBitWidth());
  int64_t bytes = int64_t(llvm::divideCeil(bits, 8)) + kReservedSharedBytes;
  auto kernel = store->getParentOfType<gpu::GPUFuncOp>();
  SmallVector<Rings> rings = expectRings(kernel, target);
  kernel.walk([&](AllocOp buffer) {
    if (isInSpace(buffer, Space::Shared))
      bytes += getSharedBytes(buffer) * countSlots(buffer, store, rings);
  });
  // The tile may be on its way to device memory when the loop comes back.
  kernel.walk([&](GemmOp gemm) {
    if (isInLoopWith(gemm, store))
      bytes += getRoundedBytes(gemm, rings, target);
  });
  if (bytes <= target.getSharedMemoryLimit())
    return true;
  remark::missed(store->getLoc(),
                 remark::RemarkOpts::name("store").category(DEBUG_TYPE))
      << "an accumulator is stored straight from registers: a tile in shared "
         "memory, and what is there beside it, would take " +
             std::to_string(bytes) + " bytes";
  return false;
}

static bool shouldStage(CopyOp copy, const Target &target) {
  return isInSpace(copy.getSource(), Space::Fragment) &&
         isInSpace(copy.getTarget(), Space::Global) &&
         getSourceTile(copy).size() == 2 &&
         hasWholeSectors(copy.getTarget(), copy.getTile().back()) &&
         liesLikeAccumulator(copy.getSource()) &&
         fits(copy, getSourceTile(copy),
              cast<MemRefType>(copy.getTarget().getType()).getElementType(),
              target);
}

static bool isGridKnown(gpu::GPUFuncOp kernel) {
  return llvm::all_of(
      ArrayRef{gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z},
      [&](gpu::Dimension dimension) {
        return getGridLimit(kernel, dimension) <
               getGridLimit(/*kernel=*/nullptr, dimension);
      });
}

/// True if a block does `store`, of so many elements, once, while others
/// multiply: each multiprocessor has several rounds of them.
static bool isBesideOthers(Operation *store, int64_t elements) {
  auto kernel = store->getParentOfType<gpu::GPUFuncOp>();
  int64_t atOnce = llvm::divideCeil(kRegistersOfMultiprocessor, elements);
  return !store->getParentOfType<LoopLikeOpInterface>() &&
         isGridKnown(kernel) &&
         countBlocksOfGrid(kernel) >= kManyRounds * atOnce;
}

static bool shouldStage(ParallelOp loop, TileSum sum, const Target &target) {
  Value source = sum.load.getSource();
  auto type = cast<MemRefType>(source.getType());
  return isInSpace(source, Space::Fragment) && isAccumulator(source) &&
         !isBesideOthers(loop, type.getNumElements()) &&
         hasWholeSectors(sum.atomic.getTarget(), type.getShape().back()) &&
         fits(loop, type.getShape(), type.getElementType(), target);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Copies a tile of a fragment to a buffer of its own, of `element`s, before
/// `user`.
static Value stage(Operation *user, Value source, ValueRange offsets,
                   ArrayRef<int64_t> tile, Type element) {
  OpBuilder builder(user);
  Location loc = user->getLoc();
  auto space = gpu::AddressSpaceAttr::get(user->getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get(tile, element, MemRefLayoutAttrInterface(), space);
  auto kernel = user->getParentOfType<gpu::GPUFuncOp>();
  OpBuilder atEntry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value staging = AllocOp::create(atEntry, loc, type, /*layout=*/nullptr,
                                  /*offset=*/nullptr);
  CopyOp::create(builder, loc, source, offsets, staging, ValueRange(),
                 builder.getDenseI64ArrayAttr(tile),
                 /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                 /*barrierIndex=*/Value());
  return staging;
}

static void stage(CopyOp copy) {
  Type element = cast<MemRefType>(copy.getTarget().getType()).getElementType();
  Value staging = stage(copy, copy.getSource(), copy.getSourceOffsets(),
                        getSourceTile(copy), element);
  copy.getSourceMutable().assign(staging);
  copy.getSourceOffsetsMutable().clear();
}

static void stage(ParallelOp loop, TileSum sum) {
  auto type = cast<MemRefType>(sum.load.getSource().getType());
  Value staging = stage(loop, sum.load.getSource(), ValueRange(),
                        type.getShape(), type.getElementType());
  sum.load.getSourceMutable().assign(staging);
}

static void moveOutWhatIsAlike(ParallelOp loop) {
  moveLoopInvariantCode(
      {&loop.getBody()},
      [](Value value, Region *body) {
        return !body->isAncestor(value.getParentRegion());
      },
      [](Operation *op, Region *) {
        return op->getNumRegions() == 0 && isPure(op);
      },
      [&](Operation *op, Region *) { op->moveBefore(loop); });
}

namespace {
struct StageStoresPass : tl::impl::StageStoresPassBase<StageStoresPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) { copies.push_back(copy); });
    for (CopyOp copy : copies)
      if (shouldStage(copy, *target))
        stage(copy);
    if (!target->hasBulkCopy())
      return;
    getOperation().walk([&](ParallelOp loop) {
      if (loop.getBody().getOps<AtomicOp>().empty())
        return;
      moveOutWhatIsAlike(loop);
      std::optional<TileSum> sum = getTileSum(loop);
      if (sum && shouldStage(loop, *sum, *target))
        stage(loop, *sum);
    });
  }
};
} // namespace
