//===- PlanSharedMemory.cpp - Place shared buffers in one arena -----------===//
//
// Buffers that never hold something at the same time (`SharedLives.h`) may
// share bytes.
//
// To share bytes within a loop costs barriers in each of its iterations, so a
// buffer keeps its place throughout the loops it is used in, unless the
// kernel's buffers would not fit then.
//
// Placement is sound if the events of the ops are true (`Events.h`). That
// conflicting uses of the same bytes are ordered is the next pass's work, and
// is checked by `tl-verify-sync`.
//
// What names the program gave buffers is told with their places, for source
// text alone: artifacts that print none are keyed without names, which are then
// gone before this pass.
//
// Buffers are placed largest first, each at the lowest offset that no buffer it
// meets covers.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/SharedLives.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tl {
#define GEN_PASS_DEF_PLANSHAREDMEMORYPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {
struct Buffer {
  const SharedLife &life;
  int64_t bytes;
  int64_t alignment;
  int64_t position; ///< of the allocation, to break ties
  int64_t offset = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static Buffer measure(const SharedLife &life, int64_t position) {
  if (auto barriers = dyn_cast<AllocBarriersOp>(life.alloc))
    return {life, barriers.getType().getDimSize(0) * kBarrierBytes,
            kBarrierBytes, position};
  auto alloc = cast<AllocOp>(life.alloc);
  return {life, getSharedBytes(alloc), getSharedAlignment(alloc), position};
}

/// Places `buffer` below or between those already placed.
static void place(Buffer &buffer, ArrayRef<Buffer *> placed,
                  BitVector SharedLife::*kind) {
  SmallVector<Buffer *> neighbours;
  for (Buffer *other : placed)
    if ((buffer.life.*kind).anyCommon(other->life.*kind))
      neighbours.push_back(other);
  llvm::sort(neighbours,
             [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
  buffer.offset = 0;
  for (Buffer *other : neighbours) {
    if (buffer.offset + buffer.bytes <= other->offset)
      break;
    buffer.offset = std::max<int64_t>(
        buffer.offset,
        llvm::alignTo(other->offset + other->bytes, buffer.alignment));
  }
}

/// Places all buffers, and returns how many bytes they take.
static int64_t placeAll(MutableArrayRef<Buffer> buffers,
                        BitVector SharedLife::*kind) {
  SmallVector<Buffer *> order =
      llvm::map_to_vector(buffers, [](Buffer &buffer) { return &buffer; });
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::tuple(-a->alignment, -a->bytes, a->position) <
           std::tuple(-b->alignment, -b->bytes, b->position);
  });
  SmallVector<Buffer *> placed;
  int64_t total = 0;
  for (Buffer *buffer : order) {
    place(*buffer, placed, kind);
    placed.push_back(buffer);
    total = std::max(total, buffer->offset + buffer->bytes);
  }
  return total;
}

static LogicalResult checkLimit(gpu::GPUFuncOp kernel, const Target &target,
                                int64_t total, ArrayRef<Buffer> buffers) {
  if (total <= target.getSharedMemoryLimit())
    return success();
  InFlightDiagnostic diag =
      emitError(kernel.getLoc(), "kernel `")
      << kernel.getName() << "` needs " << total
      << " bytes of shared memory, and `" << target.getChip()
      << "` has at most " << target.getSharedMemoryLimit()
      << " for a block; use smaller tiles or fewer stages";
  for (const Buffer &buffer : buffers)
    diag.attachNote(buffer.life.alloc->getLoc())
        << buffer.bytes << " bytes are allocated here";
  return diag;
}

/// The buffers that have names, in program order: name, offset and bytes.
static ArrayAttr describe(Builder &builder, ArrayRef<Buffer> buffers) {
  SmallVector<Attribute> tiles;
  for (const Buffer &buffer : buffers)
    if (StringAttr name = getGivenName(buffer.life.alloc->getLoc()))
      tiles.push_back(
          builder.getArrayAttr({name, builder.getI64IntegerAttr(buffer.offset),
                                builder.getI64IntegerAttr(buffer.bytes)}));
  return builder.getArrayAttr(tiles);
}

static LogicalResult planKernel(gpu::GPUFuncOp kernel, const Target &target) {
  SharedLives lives = findSharedLives(kernel);
  SmallVector<Buffer> buffers;
  for (const SharedLife &life : lives.buffers)
    buffers.push_back(measure(life, buffers.size()));

  int64_t total = placeAll(buffers, &SharedLife::widened);
  if (total > target.getSharedMemoryLimit())
    total = placeAll(buffers, &SharedLife::exact);
  if (failed(checkLimit(kernel, target, total, buffers)))
    return failure();

  Builder builder(kernel.getContext());
  for (const Buffer &buffer : buffers)
    buffer.life.alloc->setAttr("offset",
                               builder.getI64IntegerAttr(buffer.offset));
  kernel->setAttr(kSharedAttr, builder.getI64IntegerAttr(total));
  if (ArrayAttr tiles = describe(builder, buffers); !tiles.empty())
    kernel->setAttr(kSharedTilesAttr, tiles);
  return success();
}

/// Allocations that nothing uses would keep no place.
static void eraseUnused(gpu::GPUFuncOp kernel) {
  kernel.walk([](Operation *op) {
    if (isa<AllocOp, AllocBarriersOp>(op) && op->use_empty())
      op->erase();
  });
}

namespace {
struct PlanSharedMemoryPass
    : tl::impl::PlanSharedMemoryPassBase<PlanSharedMemoryPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      eraseUnused(kernel);
      if (failed(requireSharedLayouts(kernel)) ||
          failed(requirePlainLoops(kernel)) ||
          failed(planKernel(kernel, *target)))
        return signalPassFailure();
    }
  }
};
} // namespace
