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

#include "tl/Dialect/TL/Analysis/Places.h"
#include "tl/Dialect/TL/IR/Iterations.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

namespace tl {
#define GEN_PASS_DEF_JOINSTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kMaxBytes = 16;                      // of an access
static constexpr unsigned kDeviceSpace = 1, kSharedSpace = 3; // PTX ISA

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

static unsigned getSpace(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
}

static bool isPlain(LLVM::StoreOp store) {
  return !store.getVolatile_() && !store.getNontemporal() &&
         store.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

static bool isJoinable(LLVM::StoreOp store) {
  int64_t bytes = getMemoryBytes(store.getValue().getType());
  return isPlain(store) && bytes != 0 && bytes < kMaxBytes;
}

/// True if the address, which some access of the thread has, is of other memory
/// than that of `space`.
static bool isElsewhere(Value pointer, unsigned space) {
  unsigned to = getSpace(pointer);
  if (to == kDeviceSpace || to == kSharedSpace)
    return to != space;
  return getPlace(pointer).base.getDefiningOp<LLVM::AllocaOp>() != nullptr;
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

/// What the simulator is told of all stores: the iterations one after the
/// other, and the rest as of each. Fails if it is told different things.
static FailureOr<NamedAttrList> joinAttributes(ArrayRef<ScalarStore> stores) {
  SmallVector<int64_t> all;
  std::optional<NamedAttrList> rest;
  std::optional<size_t> length;
  for (ScalarStore store : stores) {
    NamedAttrList own(store.op->getDiscardableAttrDictionary());
    auto iterations =
        dyn_cast_or_null<DenseI64ArrayAttr>(own.erase(kIterationsAttr));
    ArrayRef<int64_t> told =
        iterations ? iterations.asArrayRef() : ArrayRef<int64_t>();
    if ((rest && *rest != own) || (length && *length != told.size()))
      return failure();
    rest = own;
    length = told.size();
    llvm::append_range(all, told);
  }
  if (!all.empty())
    rest->set(kIterationsAttr,
              DenseI64ArrayAttr::get(stores.front().op->getContext(), all));
  return *rest;
}

/// Writes a store of a vector in the place of `stores`, which are in the order
/// of their addresses, if they are told the same.
static void replace(ArrayRef<ScalarStore> stores) {
  FailureOr<NamedAttrList> attributes = joinAttributes(stores);
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

/// How many of `stores`, from the first one on, are side by side and make one
/// access; 1 if none does.
static size_t getWidth(ArrayRef<ScalarStore> stores, int64_t bytes,
                       int64_t alignment) {
  int64_t first = stores.front().offset;
  size_t run = 1;
  while (run < stores.size() &&
         stores[run].offset == first + static_cast<int64_t>(run) * bytes)
    ++run;
  auto width = static_cast<size_t>(kMaxBytes / bytes);
  while (
      width > 1 &&
      (width > run ||
       std::gcd(alignment, first) % (static_cast<int64_t>(width) * bytes) != 0))
    width /= 2;
  return width;
}

void OpenStores::join() {
  if (stores.size() > 1) {
    llvm::sort(stores, [](const ScalarStore &a, const ScalarStore &b) {
      return a.offset < b.offset;
    });
    int64_t bytes = getMemoryBytes(stores.front().op.getValue().getType());
    int64_t alignment = getAlignment(first);
    ArrayRef<ScalarStore> rest = stores;
    while (!rest.empty()) {
      size_t width = getWidth(rest, bytes, alignment);
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
  if (getSpace(store.getAddr()) != space || !isJoinable(store))
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
