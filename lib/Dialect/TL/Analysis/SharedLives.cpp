//===- SharedLives.cpp - When shared buffers hold something ---------------===//
//
// See SharedLives.h.
//
// Which phase a wait is for is not known here. So what completes a phase of an
// mbarrier is taken to be under way until no wait for that mbarrier, or one set
// up with it, can follow. That is sound because whatever is under way there is
// still waited for: the end of the kernel must not come before, which
// tl-verify-sync proves. It also proves of buffers that share bytes that each
// is complete, and known to be, where the next one is written.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/SharedLives.h"

#include "tl/Dialect/TL/Analysis/Footprints.h"
#include "tl/Dialect/TL/Analysis/KernelEvents.h"
#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

namespace {

/// Finds at which ops of a kernel which buffers hold something.
class LifeAnalysis {
public:
  LifeAnalysis(gpu::GPUFuncOp kernel, SharedLives &lives)
      : kernel(kernel), lives(lives), buffers(lives.buffers) {}

  void run() {
    number();
    Forward start = makeForward();
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
    /// For each completion, and behind these for each buffer that is mbarriers,
    /// with phases of which it completes.
    SmallVector<BitVector, 0> underWay;

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
    for (auto [index, life] : llvm::enumerate(buffers))
      indices[life.alloc->getResult(0)] = index;
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
          startOf(*access, state).set(*index);
        continue;
      }
      const Sync &sync = std::get<Sync>(event);
      if (sync.kind == Sync::Kind::WaitPhase) {
        step.needed |= underWay(state, Completion::Phase);
        if (std::optional<unsigned> barriers = getIndex(sync.barrier))
          step.needed |= state.underWay[kCompletions + *barriers];
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

  /// Where it is kept that `access` is under way. What is not known to complete
  /// a phase of the block's own mbarriers is completed by any wait for one.
  BitVector &startOf(const Access &access, Forward &state) {
    if (access.completion == Completion::Phase && access.barrier &&
        !isMapped(access.barrier))
      if (std::optional<unsigned> barriers = getIndex(access.barrier))
        return state.underWay[kCompletions + *barriers];
    return underWay(state, access.completion);
  }

  Forward makeForward() const {
    BitVector none(buffers.size());
    return {none, SmallVector<BitVector, 0>(kCompletions + none.size(), none)};
  }

  void flowForward(Operation *op, Forward &state) {
    Forward empty = makeForward();
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
    for (SharedLife &life : buffers)
      life.exact.resize(steps.size());
    for (auto &[op, step] : steps) {
      lives.steps.push_back(op);
      for (unsigned index : step.held.set_bits())
        buffers[index].exact.set(step.number);
      if (Operation *loop = getOutermostLoop(op)) {
        BitVector &used = usedIn[loop];
        used.resize(buffers.size());
        used |= step.touched;
      }
    }
    for (SharedLife &life : buffers)
      life.widened = life.exact;
    for (auto &[op, step] : steps)
      if (Operation *loop = getOutermostLoop(op))
        for (unsigned index : usedIn[loop].set_bits())
          buffers[index].widened.set(step.number);
  }

  gpu::GPUFuncOp kernel;
  SharedLives &lives;
  MutableArrayRef<SharedLife> buffers;
  DenseMap<Value, unsigned> indices;
  llvm::MapVector<Operation *, Step> steps;
};

} // namespace

static bool isSharedBuffer(Operation *op) {
  auto alloc = dyn_cast<AllocOp>(op);
  return isa<AllocBarriersOp>(op) ||
         (alloc && getSpace(alloc.getType()) == Space::Shared);
}

SharedLives tl::findSharedLives(gpu::GPUFuncOp kernel) {
  SharedLives lives;
  kernel.walk([&](Operation *op) {
    if (isSharedBuffer(op))
      lives.buffers.push_back({op});
  });
  LifeAnalysis(kernel, lives).run();
  // Barriers are set up once, and are not invalidated, without which nothing
  // else may use their bytes (PTX ISA, `mbarrier.inval`). Other blocks of the
  // cluster come to what they reach while this one does something else.
  for (SharedLife &life : lives.buffers)
    if (isa<AllocBarriersOp>(life.alloc) ||
        isReachedByOthers(life.alloc->getResult(0))) {
      life.exact.set();
      life.widened.set();
    }
  return lives;
}
