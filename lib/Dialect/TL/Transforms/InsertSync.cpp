//===- InsertSync.cpp - Barriers between conflicting uses of memory -------===//
//
// Walks each kernel in program order and keeps the uses of shared memory since
// the last block barrier. An op that conflicts with one of them gets a barrier
// in front. A loop is walked twice, the second time with what its end leaves
// pending, so that conflicts between iterations are found.
//
// All uses are taken to be by all threads: which thread touches which element
// is decided later. That costs a barrier where a thread reads back only what
// it wrote itself.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_INSERTSYNCPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {

/// One use of shared memory.
struct Access {
  Operation *alloc;
  bool writes;
  /// By `wgmma` or the bulk copy engine rather than by ordinary instructions.
  bool asyncProxy;

  bool operator==(const Access &) const = default;
};

/// A small set, in order of insertion so that output is deterministic.
class AccessSet {
public:
  void insert(const Access &access) {
    if (!llvm::is_contained(accesses, access))
      accesses.push_back(access);
  }
  void insert(const AccessSet &other) {
    for (const Access &access : other.accesses)
      insert(access);
  }
  void clear() { accesses.clear(); }
  ArrayRef<Access> get() const { return accesses; }

private:
  SmallVector<Access> accesses;
};

} // namespace

static std::pair<int64_t, int64_t> getRange(Operation *op) {
  auto alloc = cast<AllocOp>(op);
  MemRefType type = alloc.getType();
  int64_t begin = alloc.getOffset().value_or(0);
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return {begin, begin + type.getNumElements() * bytes};
}

/// True if the two uses touch common bytes, one of them writing, and nothing
/// else keeps them apart.
static bool conflict(const Access &a, const Access &b) {
  if (!a.writes && !b.writes)
    return false;
  if (a.alloc == b.alloc)
    return !cast<AllocOp>(a.alloc).getRing();
  auto [beginA, endA] = getRange(a.alloc);
  auto [beginB, endB] = getRange(b.alloc);
  return beginA < endB && beginB < endA;
}

/// True if `op` reads or writes shared memory through the async proxy.
static bool usesAsyncProxy(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getBulk();
  auto gemm = dyn_cast<GemmOp>(op);
  return gemm && gemm.getPlan() &&
         gemm.getPlan()->getInstruction() == Instruction::WGMMA;
}

/// The uses of shared memory by `op` and everything inside it.
static AccessSet getAccesses(Operation *op) {
  AccessSet accesses;
  op->walk([&](MemoryEffectOpInterface effects) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &effect : instances) {
      Value value = effect.getValue();
      if (!value || !isa<MemRefType>(value.getType()) ||
          !isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect()))
        continue;
      Operation *alloc = getBuffer(value).getDefiningOp<AllocOp>();
      if (alloc && isInSpace(alloc->getResult(0), Space::Shared))
        accesses.insert({alloc, isa<MemoryEffects::Write>(effect.getEffect()),
                         usesAsyncProxy(effects)});
    }
  });
  return accesses;
}

/// Inserts what must stand before `op`; true if it was a barrier.
static bool synchronise(Operation *op, const AccessSet &pending,
                        const AccessSet &accesses) {
  bool needsBarrier = false, needsFence = false;
  for (const Access &before : pending.get())
    for (const Access &after : accesses.get())
      if (conflict(before, after)) {
        needsBarrier = true;
        needsFence |= before.writes && !before.asyncProxy && after.asyncProxy;
      }
  if (!needsBarrier)
    return false;
  OpBuilder builder(op);
  if (needsFence)
    FenceAsyncOp::create(builder, op->getLoc());
  gpu::BarrierOp::create(builder, op->getLoc());
  return true;
}

static void processBlock(Block &block, AccessSet &pending);

/// The regions of a loop follow each other (`scf.while` has two), the first
/// follows the last, and the loop may end after any of them or not run at all.
static void processLoop(Operation *loop, AccessSet &pending) {
  AccessSet inside = pending, after = pending;
  for (int pass = 0; pass < 2; ++pass) {
    inside.insert(pending);
    for (Region &region : loop->getRegions())
      for (Block &block : region) {
        processBlock(block, inside);
        after.insert(inside);
      }
  }
  pending = after;
}

/// One of the regions is executed, or none.
static void processBranches(Operation *branch, AccessSet &pending) {
  AccessSet after = pending;
  for (Region &region : branch->getRegions())
    for (Block &block : region) {
      AccessSet inside = pending;
      processBlock(block, inside);
      after.insert(inside);
    }
  pending = after;
}

/// Walks a block; `pending` is what came since the last barrier.
static void processBlock(Block &block, AccessSet &pending) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<gpu::BarrierOp>(op)) {
      pending.clear();
      continue;
    }
    // A tile op is one step, also where it has a region.
    if (op.getNumRegions() == 0 || isa<TileOpInterface>(op)) {
      AccessSet accesses = getAccesses(&op);
      if (synchronise(&op, pending, accesses))
        pending.clear();
      pending.insert(accesses);
      continue;
    }
    if (isa<LoopLikeOpInterface>(op))
      processLoop(&op, pending);
    else
      processBranches(&op, pending);
  }
}

namespace {
struct InsertSyncPass : tl::impl::InsertSyncPassBase<InsertSyncPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      AccessSet pending;
      processBlock(kernel.getBody().front(), pending);
    }
  }
};
} // namespace
