//===- RowAccesses.cpp - How rows of tiles meet memory --------------------===//
//
// See RowAccesses.h. Fragments lie alike if a loop touches both by the same
// last index over equal extents, or one is copied, or scanned, to the other.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/RowAccesses.h"

#include "tl/Dialect/TL/IR/Scans.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tl;

static MemRefType getType(Value buffer) {
  return cast<MemRefType>(buffer.getType());
}

static int64_t getBits(Type element) {
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

/// The wider of two types, either of which may be null.
static Type getWider(Type a, Type b) {
  return !a || (b && getBits(b) > getBits(a)) ? b : a;
}

static bool isMemory(Value buffer) {
  return !isInSpace(buffer, Space::Fragment) &&
         !isInSpace(buffer, Space::Private);
}

/// True if `value` is computed from `argument`, or may be.
static bool isComputedFrom(Value value, BlockArgument argument) {
  SetVector<Value> worklist;
  worklist.insert(value);
  Region *body = argument.getParentRegion();
  for (size_t i = 0; i < worklist.size(); ++i) {
    Value next = worklist[i];
    if (next == argument)
      return true;
    if (!body->isAncestor(next.getParentRegion()))
      continue;
    Operation *op = next.getDefiningOp();
    if (op && op->getNumRegions() == 0)
      worklist.insert(op->operand_begin(), op->operand_end());
    else if (op || next.getParentRegion() != body)
      return true; // of a loop or a branch in the body
  }
  return false;
}

/// Calls `visit` for each access of the body: buffer and last index.
static void forEachAccess(ParallelOp loop,
                          function_ref<void(Value, Value)> visit) {
  loop.getBody().walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op); load && !load.getIndices().empty())
      visit(load.getSource(), load.getIndices().back());
    if (auto store = dyn_cast<StoreOp>(op);
        store && !store.getIndices().empty())
      visit(store.getTarget(), store.getIndices().back());
  });
}

/// The widest element of rows in memory along which `dim` moves, or null.
static Type findRowElement(ParallelOp loop, int64_t dim) {
  BlockArgument argument = loop.getBody().getArgument(dim);
  Type widest;
  forEachAccess(loop, [&](Value buffer, Value last) {
    if (isMemory(buffer) && isComputedFrom(last, argument))
      widest = getWider(widest, getType(buffer).getElementType());
  });
  return widest;
}

Type tl::getRowElement(ParallelOp loop, int64_t dim) {
  if (Type element = findRowElement(loop, dim))
    return element;
  Type widest = IntegerType::get(loop.getContext(), 8);
  forEachAccess(loop, [&](Value buffer, Value) {
    widest = getWider(widest, getType(buffer).getElementType());
  });
  return widest;
}

namespace {
/// Goes from a fragment to all that lie as it does.
class RowWalk {
public:
  RowUses run(Value fragment) {
    family.insert(fragment);
    for (size_t i = 0; i < family.size(); ++i)
      for (Operation *user : family[i].getUsers())
        visit(user, family[i]);
    uses.element = widest ? widest : getType(fragment).getElementType();
    return uses;
  }

private:
  void visit(Operation *user, Value fragment) {
    if (auto copy = dyn_cast<CopyOp>(user))
      return visitOther(copy.getSource() == fragment ? copy.getTarget()
                                                     : copy.getSource());
    if (auto reduce = dyn_cast<ReduceOp>(user)) {
      int64_t dim = reduce.getDim();
      bool isAlong = dim == getType(fragment).getRank() - 1;
      if (reduce.getSource() == fragment)
        (isAlong ? uses.isReduced : uses.isReducedAcross) = true;
      return;
    }
    if (auto scan = dyn_cast<ScanOp>(user)) {
      family.insert(scan.getSource());
      family.insert(scan.getTarget());
      return;
    }
    if (auto load = dyn_cast<LoadOp>(user))
      return visitLoop(load, load.getIndices());
    if (auto store = dyn_cast<StoreOp>(user))
      return visitLoop(store, store.getIndices());
  }

  void visitOther(Value buffer) {
    if (isMemory(buffer))
      widest = getWider(widest, getType(buffer).getElementType());
    else if (isInSpace(buffer, Space::Fragment))
      family.insert(buffer);
  }

  /// An access of a fragment in a parallel loop, by `indices`.
  void visitLoop(Operation *access, ValueRange indices) {
    auto loop = access->getParentOfType<ParallelOp>();
    if (!loop || indices.empty())
      return;
    auto last = dyn_cast<BlockArgument>(indices.back());
    if (!last || last.getOwner() != &loop.getBody().front())
      return;
    int64_t dim = last.getArgNumber();
    if (Type element = findRowElement(loop, dim))
      widest = getWider(widest, element);
    forEachAccess(loop, [&](Value buffer, Value index) {
      if (isInSpace(buffer, Space::Fragment) && index == last &&
          getType(buffer).getShape().back() == loop.getExtents()[dim])
        family.insert(buffer);
    });
  }

  SetVector<Value> family;
  Type widest;
  RowUses uses;
};
} // namespace

RowUses tl::getRowUses(Value fragment) { return RowWalk().run(fragment); }
