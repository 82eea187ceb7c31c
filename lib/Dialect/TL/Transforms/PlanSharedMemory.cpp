//===- PlanSharedMemory.cpp - Place shared buffers in one arena -----------===//
//
// A buffer lives from its first to its last use, widened to whole loops that
// it is used in. Buffers are placed largest first, each at the lowest offset
// that no buffer living at the same time covers.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tl {
#define GEN_PASS_DEF_PLANSHAREDMEMORYPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// A 128-byte swizzle repeats after 1024 bytes.
static constexpr int64_t kSwizzledAlignment = 1024;
static constexpr int64_t kPlainAlignment = 128;
static constexpr int64_t kBarrierBytes = 8;

namespace {
struct Buffer {
  Operation *alloc;
  int64_t bytes;
  int64_t alignment;
  int64_t first = INT64_MAX; // positions of the first and last use
  int64_t last = -1;
  int64_t offset = 0;
  int64_t position = 0; // of the allocation, to break ties

  bool livesWith(const Buffer &other) const {
    return first <= other.last && other.first <= last;
  }
};
} // namespace

static std::optional<Buffer> getSharedBuffer(Operation *op) {
  if (auto barriers = dyn_cast<AllocBarriersOp>(op))
    return Buffer{op, barriers.getType().getDimSize(0) * kBarrierBytes,
                  kBarrierBytes};
  auto alloc = dyn_cast<AllocOp>(op);
  if (!alloc || getSpace(alloc.getType()) != Space::Shared)
    return std::nullopt;
  MemRefType type = alloc.getType();
  int64_t bytes =
      type.getNumElements() *
      llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  auto layout = cast<SharedLayoutAttr>(alloc.getLayoutAttr());
  return Buffer{op, bytes,
                layout.getSwizzle() ? kSwizzledAlignment : kPlainAlignment};
}

/// Extends `buffer` over every use of `value`, looking through views.
static void
addUses(Buffer &buffer, Value value,
        const DenseMap<Operation *, std::pair<int64_t, int64_t>> &positions) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    for (Operation *user : next.getUsers()) {
      if (isa<SlotOp>(user))
        worklist.push_back(user->getResult(0));
      // The outermost loop around the use: the buffer must survive all of its
      // iterations.
      Operation *scope = user;
      for (Operation *parent = user->getParentOp();
           parent && !isa<gpu::GPUFuncOp>(parent);
           parent = parent->getParentOp())
        if (isa<LoopLikeOpInterface>(parent))
          scope = parent;
      auto [begin, end] = positions.at(scope);
      buffer.first = std::min(buffer.first, begin);
      buffer.last = std::max(buffer.last, end);
    }
  }
}

/// Numbers ops in program order; an op with regions spans what it contains.
static DenseMap<Operation *, std::pair<int64_t, int64_t>>
numberOps(gpu::GPUFuncOp kernel) {
  DenseMap<Operation *, std::pair<int64_t, int64_t>> positions;
  int64_t next = 0;
  kernel.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { positions[op] = {next, next}, ++next; });
  kernel.walk<WalkOrder::PostOrder>([&](Operation *op) {
    int64_t end = positions[op].second;
    if (Operation *parent = op->getParentOp(); positions.count(parent))
      positions[parent].second = std::max(positions[parent].second, end);
  });
  return positions;
}

/// Places `buffer` below or between those already placed.
static void place(Buffer &buffer, ArrayRef<Buffer *> placed) {
  SmallVector<Buffer *> neighbours;
  for (Buffer *other : placed)
    if (buffer.livesWith(*other))
      neighbours.push_back(other);
  llvm::sort(neighbours,
             [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
  for (Buffer *other : neighbours) {
    if (buffer.offset + buffer.bytes <= other->offset)
      break;
    buffer.offset = std::max<int64_t>(
        buffer.offset,
        llvm::alignTo(other->offset + other->bytes, buffer.alignment));
  }
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
    diag.attachNote(buffer.alloc->getLoc())
        << buffer.bytes << " bytes are allocated here";
  return diag;
}

static LogicalResult planKernel(gpu::GPUFuncOp kernel, const Target &target) {
  auto positions = numberOps(kernel);
  SmallVector<Buffer> buffers;
  kernel.walk([&](Operation *op) {
    std::optional<Buffer> buffer = getSharedBuffer(op);
    if (!buffer)
      return;
    addUses(*buffer, op->getResult(0), positions);
    // Barriers are set up at the start of the kernel, and are not invalidated,
    // without which nothing else may use their bytes (PTX ISA,
    // `mbarrier.inval`).
    if (isa<AllocBarriersOp>(op)) {
      buffer->first = 0;
      buffer->last = INT64_MAX;
    }
    buffer->position = positions.at(op).first;
    buffers.push_back(*buffer);
  });

  SmallVector<Buffer *> order =
      llvm::map_to_vector(buffers, [](Buffer &buffer) { return &buffer; });
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::tuple(-a->alignment, -a->bytes, a->position) <
           std::tuple(-b->alignment, -b->bytes, b->position);
  });
  SmallVector<Buffer *> placed;
  int64_t total = 0;
  for (Buffer *buffer : order) {
    place(*buffer, placed);
    placed.push_back(buffer);
    total = std::max(total, buffer->offset + buffer->bytes);
  }
  if (failed(checkLimit(kernel, target, total, buffers)))
    return failure();

  Builder builder(kernel.getContext());
  for (const Buffer &buffer : buffers)
    buffer.alloc->setAttr("offset", builder.getI64IntegerAttr(buffer.offset));
  kernel->setAttr(kSharedAttr, builder.getI64IntegerAttr(total));
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
      if (failed(planKernel(kernel, *target)))
        return signalPassFailure();
    }
  }
};
} // namespace
