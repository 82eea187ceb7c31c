//===- JoinStores.cpp - Store neighbouring scalars as one vector ----------===//
//
// Threads that store scalars which lie side by side, as a loop over the
// elements of a local array does once it is written out, store them at once.
// What `tl-join-loads` does for loads, and for the same reason.
//
// Stores are joined where they stand in one block and have addresses that
// differ by numbers (`getPlace`). Sound because
//
// - the vector has the bytes of the stores that it stands for and no others, so
//   that it can only trap where one of them does;
// - it stands at the last of them, all of which are executed where that one is:
//   nothing between them leaves, waits, or reads or writes memory that they may
//   write. No two of them write the same byte;
// - the address of its first element is a multiple of its size, as divisors of
//   its parts and the base's `tl.align` say. The host checks the latter.
//
// The simulator, which traps vectors that are not aligned, is given them too.
//
//===----------------------------------------------------------------------===//

#include "ScalarAccesses.h"

#include "tl/Dialect/TL/Analysis/Places.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tl {
#define GEN_PASS_DEF_JOINSTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {
struct ScalarStore {
  LLVM::StoreOp op;
  int64_t offset;
};

/// Stores of one space and one type that are not joined yet, whose addresses
/// differ by their offsets alone.
class OpenStores {
public:
  explicit OpenStores(unsigned space) : space(space) {}

  /// Takes `op` into account, which comes behind the stores.
  void visit(Operation &op);
  void join();

private:
  bool add(LLVM::StoreOp store);
  bool isBeside(const Place &place, Type type) const;

  unsigned space;
  Place first;
  SmallVector<ScalarStore> stores;
};
} // namespace

static bool isPlain(LLVM::StoreOp store) {
  return !store.getVolatile_() && !store.getNontemporal() &&
         store.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

static bool isJoinable(LLVM::StoreOp store) {
  int64_t bytes = getMemoryBytes(store.getValue().getType());
  return isPlain(store) && bytes != 0 && bytes < kMaxAccessBytes;
}

/// True if no thread can tell whether a store to `space` stands in front of
/// `op` or behind it.
static bool commutes(Operation &op, unsigned space) {
  if (isMemoryEffectFree(&op))
    return true;
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return !load.getVolatile_() &&
           load.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
           isElsewhere(load.getAddr(), space);
  auto store = dyn_cast<LLVM::StoreOp>(op);
  return store && isPlain(store) && isElsewhere(store.getAddr(), space);
}

/// Writes a store of a vector in the place of `stores`, which are in the order
/// of their addresses, if they are told the same.
static void replace(ArrayRef<ScalarStore> stores) {
  FailureOr<NamedAttrList> attributes = joinAttributes(llvm::map_to_vector(
      stores, [](ScalarStore store) { return store.op.getOperation(); }));
  if (failed(attributes))
    return;
  ScalarStore lowest = stores.front();
  LLVM::StoreOp last = lowest.op;
  SmallVector<Value> elements;
  for (ScalarStore store : stores) {
    elements.push_back(store.op.getValue());
    if (last->isBeforeInBlock(store.op))
      last = store.op;
  }
  OpBuilder builder(last);
  Type element = elements.front().getType();
  auto count = static_cast<int64_t>(elements.size());
  Value vector = vector::FromElementsOp::create(
      builder, last.getLoc(), VectorType::get({count}, element), elements);
  auto store =
      LLVM::StoreOp::create(builder, last.getLoc(), vector, lowest.op.getAddr(),
                            count * getMemoryBytes(element));
  store->setDiscardableAttrs(attributes->getDictionary(store.getContext()));
  for (ScalarStore old : stores)
    old.op->erase();
}

void OpenStores::join() {
  if (stores.size() > 1) {
    llvm::sort(stores, [](const ScalarStore &a, const ScalarStore &b) {
      return a.offset < b.offset;
    });
    int64_t bytes = getMemoryBytes(stores.front().op.getValue().getType());
    int64_t alignment = getAlignment(first);
    auto offsets = llvm::map_to_vector(
        stores, [](const ScalarStore &store) { return store.offset; });
    ArrayRef<ScalarStore> rest = stores;
    while (!rest.empty()) {
      size_t width = getJoinedWidth(ArrayRef(offsets).take_back(rest.size()),
                                    bytes, alignment);
      if (width > 1)
        replace(rest.take_front(width));
      rest = rest.drop_front(width);
    }
  }
  stores.clear();
}

static bool haveSameTerms(const Place &a, const Place &b) {
  auto isIn = [](const Place &place) {
    return [&](const std::pair<Value, int64_t> &term) {
      return place.terms.lookup(term.first) == term.second;
    };
  };
  return a.base == b.base && llvm::all_of(a.terms, isIn(b)) &&
         llvm::all_of(b.terms, isIn(a));
}

/// True if a store of `type` at `place` has its address at a number of bytes
/// from those of the others, and writes none of theirs.
bool OpenStores::isBeside(const Place &place, Type type) const {
  if (type != LLVM::StoreOp(stores.front().op).getValue().getType() ||
      !haveSameTerms(place, first))
    return false;
  auto bytes = static_cast<uint64_t>(getMemoryBytes(type));
  return llvm::all_of(stores, [&](const ScalarStore &store) {
    uint64_t distance = static_cast<uint64_t>(store.offset) -
                        static_cast<uint64_t>(place.offset);
    return distance >= bytes && -distance >= bytes;
  });
}

/// False if `store` is not to be joined with any.
bool OpenStores::add(LLVM::StoreOp store) {
  if (getAddressSpace(store.getAddr()) != space || !isJoinable(store))
    return false;
  Place place = getPlace(store.getAddr());
  if (!stores.empty() && !isBeside(place, store.getValue().getType()))
    join();
  if (stores.empty())
    first = place;
  stores.push_back({store, place.offset});
  return true;
}

void OpenStores::visit(Operation &op) {
  if (auto store = dyn_cast<LLVM::StoreOp>(op); store && add(store))
    return;
  if (!stores.empty() && !commutes(op, space))
    join();
}

static void joinStores(Block &block) {
  OpenStores device(kDeviceSpace), shared(kSharedSpace);
  for (Operation &op : block) {
    device.visit(op);
    shared.visit(op);
  }
  device.join();
  shared.join();
}

namespace {
struct JoinStoresPass : tl::impl::JoinStoresPassBase<JoinStoresPass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      joinStores(*block);
  }
};
} // namespace
