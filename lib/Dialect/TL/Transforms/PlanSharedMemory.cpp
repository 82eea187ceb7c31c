//===- PlanSharedMemory.cpp - Place shared buffers in one arena -----------===//
//
// Buffers that never hold something at the same time may share bytes. Where a
// buffer holds something is found op by op, over structured control flow: it
// has been accessed on some way to the op, and on some way from there it is
// read, or partly overwritten, before it is overwritten as a whole. A tile op
// is one op with all that its region touches. An asynchronous access holds its
// buffer until the wait that completes it.
//
// To share bytes within a loop costs barriers in each of its iterations, so a
// buffer keeps its place throughout the loops it is used in, unless the
// kernel's buffers would not fit then.
//
// Placement is sound if the events of the ops are true (`Events.h`). That
// conflicting uses of the same bytes are ordered is the next pass's work, and
// is checked by `tl-verify-sync`.
//
// Buffers are placed largest first, each at the lowest offset that no buffer it
// meets covers.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Footprints.h"
#include "tl/Dialect/TL/Analysis/KernelEvents.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tl {
#define GEN_PASS_DEF_PLANSHAREDMEMORYPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kBarrierBytes = 8;

namespace {
struct Buffer {
  Operation *alloc;
  int64_t bytes;
  int64_t alignment;
  int64_t position = 0; ///< of the allocation, to break ties
  int64_t offset = 0;
  /// The ops, by number, at which it holds something.
  BitVector exact = {};
  /// The same, widened to the loops it is used in.
  BitVector widened = {};
};
} // namespace

//===----------------------------------------------------------------------===//
// Lives
//===----------------------------------------------------------------------===//

namespace {

/// Finds at which ops of a kernel which buffers hold something.
class LifeAnalysis {
public:
  LifeAnalysis(gpu::GPUFuncOp kernel, MutableArrayRef<Buffer> buffers)
      : kernel(kernel), buffers(buffers) {}

  void run() {
    number();
    Forward start{BitVector(buffers.size()), {}};
    for (BitVector &bits : start.underWay)
      bits.resize(buffers.size());
    walkForward(kernel.getBody().front(), start);
    BitVector none(buffers.size());
    walkBackward(kernel.getBody().front(), none);
    record();
  }

private:
  static constexpr size_t kCompletions =
      static_cast<size_t>(Completion::GemmGroup) + 1;

  /// What one op does; bits are buffers.
  struct Step {
    BitVector touched;     ///< accessed here
    BitVector needed;      ///< whose contents matter here
    BitVector overwritten; ///< as a whole
    BitVector held;        ///< holds something here
    BitVector touchedBefore;
    int64_t number = 0;
  };

  struct Forward {
    BitVector touched;
    std::array<BitVector, kCompletions> underWay;

    bool add(const Forward &other) {
      bool changed = addBits(touched, other.touched);
      for (auto [bits, more] : llvm::zip(underWay, other.underWay))
        changed |= addBits(bits, more);
      return changed;
    }
  };

  /// True if that added something.
  static bool addBits(BitVector &bits, const BitVector &more) {
    if (!more.test(bits))
      return false;
    bits |= more;
    return true;
  }

  void number() {
    for (auto [index, buffer] : llvm::enumerate(buffers))
      indices[buffer.alloc->getResult(0)] = index;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == kernel || !isStep(op))
        return WalkResult::advance();
      Step &step = steps[op];
      step.number = steps.size() - 1;
      for (BitVector *bits : {&step.touched, &step.needed, &step.overwritten,
                              &step.held, &step.touchedBefore})
        bits->resize(buffers.size());
      SmallVector<Event, 4> events = getEvents(op);
      for (const Event &event : events)
        if (auto *access = std::get_if<Access>(&event))
          addAccess(step, *access);
      return WalkResult::skip();
    });
  }

  std::optional<unsigned> getIndex(Value view) {
    auto it = indices.find(getBuffer(view));
    return it == indices.end() ? std::nullopt : std::optional(it->second);
  }

  void addAccess(Step &step, const Access &access) {
    std::optional<unsigned> index = getIndex(access.buffer);
    if (!index)
      return;
    step.touched.set(*index);
    bool isWhole = access.writes && !getSlot(access.buffer) &&
                   access.footprint &&
                   coversBuffer(*access.footprint, access.buffer);
    // What the op itself wrote before does not come from an earlier one.
    if (isWhole && !step.needed.test(*index))
      step.overwritten.set(*index);
    else if (!step.overwritten.test(*index))
      step.needed.set(*index);
  }

  //===--------------------------------------------------------------------===//
  // Forward: what has been touched, and what is under way
  //===--------------------------------------------------------------------===//

  void walkForward(Block &block, Forward &state) {
    for (Operation &op : block) {
      if (isStep(&op))
        stepForward(&op, state);
      else
        flowForward(&op, state);
    }
  }

  void stepForward(Operation *op, Forward &state) {
    Step &step = steps[op];
    addBits(step.touchedBefore, state.touched);
    state.touched |= step.touched;
    for (const Event &event : getEvents(op)) {
      if (auto *access = std::get_if<Access>(&event)) {
        std::optional<unsigned> index = getIndex(access->buffer);
        if (index && access->completion != Completion::AtOp)
          underWay(state, access->completion).set(*index);
        continue;
      }
      const Sync &sync = std::get<Sync>(event);
      if (sync.kind == Sync::Kind::WaitPhase) {
        step.needed |= underWay(state, Completion::Phase);
      } else if (sync.kind == Sync::Kind::WaitGroups) {
        BitVector &waited = underWay(state, sync.group);
        addNeeded(step, waited);
        if (sync.pending == 0)
          waited.reset();
      }
    }
  }

  /// A wait needs the buffers that are under way, but for what the same op has
  /// started: that is complete when the op is.
  static void addNeeded(Step &step, BitVector waited) {
    waited.reset(step.overwritten);
    step.needed |= waited;
  }

  static BitVector &underWay(Forward &state, Completion completion) {
    return state.underWay[static_cast<size_t>(completion)];
  }

  void flowForward(Operation *op, Forward &state) {
    Forward empty{BitVector(buffers.size()), {}};
    for (BitVector &bits : empty.underWay)
      bits.resize(buffers.size());
    llvm::SmallMapVector<Region *, Forward, 2> starts, ends;
    for (Region &region : op->getRegions())
      starts[&region] = ends[&region] = empty;
    Forward after = empty;
    SmallVector<FlowEdge> edges = getFlow(op);
    bool changed = true;
    while (changed) {
      changed = false;
      for (const FlowEdge &edge : edges) {
        Forward &to = edge.to ? starts[edge.to] : after;
        changed |= to.add(edge.from ? ends[edge.from] : state);
      }
      for (Region &region : op->getRegions()) {
        if (region.empty())
          continue;
        Forward inside = starts[&region];
        walkForward(region.front(), inside);
        changed |= ends[&region].add(inside);
      }
    }
    state = after;
  }

  //===--------------------------------------------------------------------===//
  // Backward: what will be needed
  //===--------------------------------------------------------------------===//

  void walkBackward(Block &block, BitVector &needed) {
    for (Operation &op : llvm::reverse(block)) {
      if (isStep(&op))
        stepBackward(&op, needed);
      else
        flowBackward(&op, needed);
    }
  }

  void stepBackward(Operation *op, BitVector &needed) {
    Step &step = steps[op];
    // Held across the op: touched before, needed after.
    BitVector across = needed;
    across &= step.touchedBefore;
    step.held |= across;
    step.held |= step.touched;
    BitVector waited = step.needed;
    waited &= step.touchedBefore;
    step.held |= waited;
    needed.reset(step.overwritten);
    needed |= step.needed;
  }

  void flowBackward(Operation *op, BitVector &needed) {
    BitVector none(buffers.size());
    llvm::SmallMapVector<Region *, BitVector, 2> starts, ends;
    for (Region &region : op->getRegions())
      starts[&region] = ends[&region] = none;
    BitVector before = none;
    SmallVector<FlowEdge> edges = getFlow(op);
    bool changed = true;
    while (changed) {
      changed = false;
      for (const FlowEdge &edge : llvm::reverse(edges)) {
        BitVector &from = edge.from ? ends[edge.from] : before;
        changed |= addBits(from, edge.to ? starts[edge.to] : needed);
      }
      for (Region &region : op->getRegions()) {
        if (region.empty())
          continue;
        BitVector inside = ends[&region];
        walkBackward(region.front(), inside);
        changed |= addBits(starts[&region], inside);
      }
    }
    needed = before;
  }

  //===--------------------------------------------------------------------===//
  // Result
  //===--------------------------------------------------------------------===//

  /// The outermost loop around `op` in the kernel, or null.
  Operation *getOutermostLoop(Operation *op) {
    Operation *loop = nullptr;
    for (Operation *parent = op->getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface>(parent))
        loop = parent;
    return loop;
  }

  void record() {
    DenseMap<Operation *, BitVector> usedIn;
    for (Buffer &buffer : buffers)
      buffer.exact.resize(steps.size());
    for (auto &[op, step] : steps) {
      for (unsigned index : step.held.set_bits())
        buffers[index].exact.set(step.number);
      if (Operation *loop = getOutermostLoop(op)) {
        BitVector &used = usedIn[loop];
        used.resize(buffers.size());
        used |= step.touched;
      }
    }
    for (Buffer &buffer : buffers)
      buffer.widened = buffer.exact;
    for (auto &[op, step] : steps)
      if (Operation *loop = getOutermostLoop(op))
        for (unsigned index : usedIn[loop].set_bits())
          buffers[index].widened.set(step.number);
  }

  gpu::GPUFuncOp kernel;
  MutableArrayRef<Buffer> buffers;
  DenseMap<Value, unsigned> indices;
  llvm::MapVector<Operation *, Step> steps;
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static std::optional<Buffer> getSharedBuffer(Operation *op) {
  if (auto barriers = dyn_cast<AllocBarriersOp>(op))
    return Buffer{op, barriers.getType().getDimSize(0) * kBarrierBytes,
                  kBarrierBytes};
  auto alloc = dyn_cast<AllocOp>(op);
  if (!alloc || getSpace(alloc.getType()) != Space::Shared)
    return std::nullopt;
  return Buffer{op, getSharedBytes(alloc), getSharedAlignment(alloc)};
}

/// Places `buffer` below or between those already placed.
static void place(Buffer &buffer, ArrayRef<Buffer *> placed,
                  BitVector Buffer::*life) {
  SmallVector<Buffer *> neighbours;
  for (Buffer *other : placed)
    if ((buffer.*life).anyCommon(other->*life))
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
                        BitVector Buffer::*life) {
  SmallVector<Buffer *> order =
      llvm::map_to_vector(buffers, [](Buffer &buffer) { return &buffer; });
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::tuple(-a->alignment, -a->bytes, a->position) <
           std::tuple(-b->alignment, -b->bytes, b->position);
  });
  SmallVector<Buffer *> placed;
  int64_t total = 0;
  for (Buffer *buffer : order) {
    place(*buffer, placed, life);
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
    diag.attachNote(buffer.alloc->getLoc())
        << buffer.bytes << " bytes are allocated here";
  return diag;
}

static LogicalResult planKernel(gpu::GPUFuncOp kernel, const Target &target) {
  SmallVector<Buffer> buffers;
  kernel.walk([&](Operation *op) {
    std::optional<Buffer> buffer = getSharedBuffer(op);
    if (!buffer)
      return;
    buffer->position = buffers.size();
    buffers.push_back(*buffer);
  });
  LifeAnalysis(kernel, buffers).run();
  // Barriers are set up once, and are not invalidated, without which nothing
  // else may use their bytes (PTX ISA, `mbarrier.inval`).
  for (Buffer &buffer : buffers)
    if (isa<AllocBarriersOp>(buffer.alloc)) {
      buffer.exact.set();
      buffer.widened.set();
    }

  int64_t total = placeAll(buffers, &Buffer::widened);
  if (total > target.getSharedMemoryLimit())
    total = placeAll(buffers, &Buffer::exact);
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
      if (failed(requireSharedLayouts(kernel)) ||
          failed(requirePlainLoops(kernel)) ||
          failed(planKernel(kernel, *target)))
        return signalPassFailure();
    }
  }
};
} // namespace
