//===- ClusterOrder.cpp - What barriers of a cluster order ----------------===//
//
// The blocks execute one program, so that what another block may do in its own
// memory at the same time is in this program too: between the same barriers. A
// forward analysis keeps the accesses since the barrier, and whether the block
// has arrived there since, to a fixed point. A branch that blocks of the
// cluster may take differently counts as executed on both sides, one after the
// other: while one block is in the one, another one may be in the other.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ClusterOrder.h"

#include "tl/Dialect/TL/Analysis/ClusterAccesses.h"
#include "tl/Dialect/TL/Analysis/ClusterDependence.h"
#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

namespace {
/// An access that no barrier of the cluster has ordered yet.
struct Touch {
  Operation *op;
  const Access *access;
  /// The block has arrived at the barrier since.
  bool hasArrived = false;

  bool operator==(const Touch &) const = default;
};

/// What is known at some place of the program.
struct State {
  SmallVector<Touch> touched;
  /// On some way there the block has arrived and not waited; on some way not.
  bool mayBeOpen = false, mayBeClosed = false;

  /// True if that changed something.
  bool add(const State &other) {
    bool changed =
        (other.mayBeOpen && !mayBeOpen) || (other.mayBeClosed && !mayBeClosed);
    mayBeOpen |= other.mayBeOpen;
    mayBeClosed |= other.mayBeClosed;
    for (const Touch &touch : other.touched)
      if (!llvm::is_contained(touched, touch)) {
        touched.push_back(touch);
        changed = true;
      }
    return changed;
  }
};

class ClusterFlow {
public:
  ClusterFlow(Operation *kernel, const ClusterDependence &dependence)
      : kernel(kernel), dependence(dependence) {
    kernel->walk([&](MapSharedRankOp mapped) {
      reached.insert(getBuffer(mapped.getSource()));
    });
  }

  ClusterConflict run() {
    State state;
    state.mayBeClosed = true;
    walk(kernel->getRegion(0).front(), state);
    if (state.mayBeOpen)
      fail(ClusterConflict::Kind::EndsOpen, lastArrival);
    return conflict;
  }

private:
  using Kind = ClusterConflict::Kind;

  void walk(Block &block, State &state) {
    for (Operation &op : block) {
      if (isStep(&op))
        step(&op, state);
      else if (llvm::any_of(getDeciders(&op), [&](Value decider) {
                 return dependence.depends(decider);
               }))
        walkAll(&op, state);
      else
        flow(&op, state);
    }
  }

  /// Everything in `op`, twice, so that each is seen behind each.
  void walkAll(Operation *op, State &state) {
    for (int pass = 0; pass < 2; ++pass)
      for (Region &region : op->getRegions())
        for (Block &block : region)
          walk(block, state);
  }

  void flow(Operation *op, State &state) {
    SmallVector<FlowEdge> edges = getFlow(op);
    llvm::SmallMapVector<Region *, State, 2> starts, ends;
    State after;
    bool changed = true;
    while (changed) {
      changed = false;
      for (const FlowEdge &edge : edges)
        changed |= (edge.to ? starts[edge.to] : after)
                       .add(edge.from ? ends[edge.from] : state);
      for (Region &region : op->getRegions()) {
        if (region.empty())
          continue;
        State inside = starts[&region];
        walk(region.front(), inside);
        changed |= ends[&region].add(inside);
      }
    }
    state = std::move(after);
  }

  void step(Operation *op, State &state) {
    if (arrivesAtCluster(op))
      arrive(op, state);
    if (waitsForCluster(op))
      wait(op, state);
    for (const Event &event : events.of(op)) {
      auto *access = std::get_if<Access>(&event);
      if (!access || !reached.contains(getBuffer(access->buffer)))
        continue;
      Touch touch{op, access};
      if (!llvm::is_contained(state.touched, touch))
        state.touched.push_back(touch);
      // Also with itself: another block may be at the same op.
      for (const Touch &earlier : state.touched)
        compare(earlier, op, *access);
    }
  }

  void arrive(Operation *op, State &state) {
    lastArrival = op;
    if (state.mayBeOpen)
      fail(Kind::ArrivesOpen, op);
    state.mayBeOpen = true;
    state.mayBeClosed = false;
    State after = std::move(state);
    state = State{{}, after.mayBeOpen, after.mayBeClosed};
    for (Touch &touch : after.touched) {
      touch.hasArrived = true;
      if (!llvm::is_contained(state.touched, touch))
        state.touched.push_back(touch);
    }
  }

  void wait(Operation *op, State &state) {
    if (state.mayBeClosed)
      fail(Kind::WaitsClosed, op);
    state.mayBeOpen = false;
    state.mayBeClosed = true;
    llvm::erase_if(state.touched,
                   [](const Touch &touch) { return touch.hasArrived; });
  }

  void compare(const Touch &earlier, Operation *op, const Access &access) {
    const Access &before = *earlier.access;
    bool areMapped[] = {isMapped(before.buffer), isMapped(access.buffer)};
    if (getBuffer(before.buffer) != getBuffer(access.buffer) ||
        (!before.writes && !access.writes) ||
        (!areMapped[0] && !areMapped[1]) ||
        (areMapped[0] && areMapped[1] && before.writes && access.writes) ||
        areApartInCluster(before, access, dependence))
      return;
    if (conflict.kind == Kind::None)
      conflict = {Kind::Unordered, op, access, before, earlier.op};
  }

  void fail(Kind kind, Operation *op) {
    if (conflict.kind == Kind::None)
      conflict = {kind, op};
  }

  Operation *kernel;
  const ClusterDependence &dependence;
  KernelEvents events;
  /// Buffers that other blocks touch.
  llvm::DenseSet<Value> reached;
  Operation *lastArrival = nullptr;
  ClusterConflict conflict;
};
} // namespace

ClusterConflict tl::findClusterConflict(Operation *kernel,
                                        const ClusterDependence &dependence) {
  return ClusterFlow(kernel, dependence).run();
}
