//===- JoinLoads.cpp - Load neighbouring scalars as one vector ------------===//
//
// Threads that load scalars which lie side by side, as a loop over the elements
// of a local array does once it is written out, load them at once. LLVM does so
// on the way to PTX; NVRTC and nvcc do not, so it is done where both
// generators begin.
//
// Loads are joined where they stand in one block and have addresses that differ
// by numbers (`getPlace`). Sound because
//
// - the vector has the bytes of the loads that it stands for and no others, so
//   that it can only trap where one of them does, and all of them are executed
//   wherever the first one is;
// - it stands at the first of them, and nothing between that and the last one
//   writes memory that they may read, waits, or leaves;
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
#include <map>

namespace tl {
#define GEN_PASS_DEF_JOINLOADSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Loads of a block
//===----------------------------------------------------------------------===//

namespace {
struct ScalarLoad {
  LLVM::LoadOp op;
  int64_t offset;
  size_t number; // in its group
};

/// Loads whose addresses differ by their offsets alone, in order.
struct Group {
  SmallVector<ScalarLoad> loads;
  int64_t alignment;
};

class BlockLoads {
public:
  void run(Block &block);

private:
  void add(LLVM::LoadOp load);
  void flush(unsigned space);
  void join(Group &group);
  int64_t getNumber(const void *of) {
    return numbers.try_emplace(of, numbers.size()).first->second;
  }

  using Key = std::vector<int64_t>;
  std::map<Key, unsigned> known;
  SmallVector<Group> groups;
  llvm::DenseMap<const void *, int64_t> numbers;
  /// Loads that nothing uses any more. They stay to the end, so that no op that
  /// is made meanwhile has the address of one, by which `numbers` knows it.
  SmallVector<LLVM::LoadOp> joined;
};
} // namespace

static bool isJoinable(LLVM::LoadOp load) {
  unsigned space = getAddressSpace(load.getAddr());
  int64_t bytes = getMemoryBytes(load.getType());
  return (space == kDeviceSpace || space == kSharedSpace) &&
         !load.getVolatile_() && !load.getInvariant() &&
         !load.getNontemporal() &&
         load.getOrdering() == LLVM::AtomicOrdering::not_atomic && bytes != 0 &&
         bytes < kMaxAccessBytes;
}

/// True if no thread can tell whether a load of `space` stands in front of `op`
/// or behind it.
static bool commutes(Operation *op, unsigned space) {
  if (isMemoryEffectFree(op))
    return true;
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return !load.getVolatile_() &&
           load.getOrdering() == LLVM::AtomicOrdering::not_atomic;
  auto store = dyn_cast<LLVM::StoreOp>(op);
  if (!store || store.getVolatile_() ||
      store.getOrdering() != LLVM::AtomicOrdering::not_atomic)
    return false;
  return isElsewhere(store.getAddr(), space);
}

/// The address of `first`, the load of the least address, at `place`, which is
/// the place of a load `offset` bytes behind it.
static Value getAddressAt(OpBuilder &builder, LLVM::LoadOp first,
                          LLVM::LoadOp place, int64_t offset) {
  Operation *address = first.getAddr().getDefiningOp();
  if (!address || address->getBlock() != place->getBlock() ||
      address->isBeforeInBlock(place))
    return first.getAddr();
  return LLVM::GEPOp::create(
      builder, place.getLoc(), place.getAddr().getType(), builder.getI8Type(),
      place.getAddr(), ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(-offset)));
}

/// Writes a load of a vector in the place of `loads`, which are in the order of
/// their addresses. False if they are told different things.
static bool replace(MutableArrayRef<ScalarLoad> loads) {
  FailureOr<NamedAttrList> attributes = joinAttributes(llvm::map_to_vector(
      loads, [](ScalarLoad &load) { return load.op.getOperation(); }));
  if (failed(attributes))
    return false;
  ScalarLoad *earliest = &loads.front();
  for (ScalarLoad &load : loads)
    if (load.op->isBeforeInBlock(earliest->op))
      earliest = &load;
  OpBuilder builder(earliest->op);
  Value address = getAddressAt(builder, loads.front().op, earliest->op,
                               earliest->offset - loads.front().offset);
  Type element = loads.front().op.getType();
  auto count = static_cast<int64_t>(loads.size());
  auto vector = LLVM::LoadOp::create(builder, earliest->op.getLoc(),
                                     VectorType::get({count}, element), address,
                                     count * getMemoryBytes(element));
  vector->setDiscardableAttrs(attributes->getDictionary(vector.getContext()));
  for (auto [number, load] : llvm::enumerate(loads)) {
    Value own = vector::ExtractOp::create(builder, load.op.getLoc(), vector,
                                          static_cast<int64_t>(number));
    load.op.replaceAllUsesWith(own);
  }
  return true;
}

void BlockLoads::join(Group &group) {
  llvm::sort(group.loads, [](const ScalarLoad &a, const ScalarLoad &b) {
    return std::pair(a.offset, a.number) < std::pair(b.offset, b.number);
  });
  // A second load of an element stays: `cse` left it.
  SmallVector<ScalarLoad> loads;
  for (ScalarLoad &load : group.loads)
    if (loads.empty() || loads.back().offset != load.offset)
      loads.push_back(load);
  auto offsets = llvm::map_to_vector(
      loads, [](const ScalarLoad &load) { return load.offset; });
  int64_t bytes = getMemoryBytes(loads.front().op.getType());
  MutableArrayRef<ScalarLoad> rest = loads;
  while (!rest.empty()) {
    size_t width = getJoinedWidth(ArrayRef(offsets).take_back(rest.size()),
                                  bytes, group.alignment);
    if (width > 1 && replace(rest.take_front(width)))
      for (ScalarLoad &load : rest.take_front(width))
        joined.push_back(load.op);
    rest = rest.drop_front(width);
  }
}

void BlockLoads::add(LLVM::LoadOp load) {
  Place place = getPlace(load.getAddr());
  SmallVector<std::pair<int64_t, int64_t>> terms;
  for (auto [value, factor] : place.terms)
    if (factor != 0)
      terms.push_back({getNumber(value.getAsOpaquePointer()), factor});
  llvm::sort(terms);
  Key key = {getNumber(place.base.getAsOpaquePointer()),
             getNumber(load.getType().getAsOpaquePointer())};
  for (auto [value, factor] : terms) {
    key.push_back(value);
    key.push_back(factor);
  }
  auto [it, isNew] = known.try_emplace(std::move(key), groups.size());
  if (isNew)
    groups.push_back({{}, getAlignment(place)});
  SmallVector<ScalarLoad> &loads = groups[it->second].loads;
  loads.push_back({load, place.offset, loads.size()});
}

/// Ends the groups of loads of `space`.
void BlockLoads::flush(unsigned space) {
  for (Group &group : groups) {
    if (group.loads.empty() ||
        getAddressSpace(group.loads.front().op.getAddr()) != space)
      continue;
    join(group);
    group.loads.clear();
  }
}

void BlockLoads::run(Block &block) {
  for (Operation &op : block) {
    for (unsigned space : {kDeviceSpace, kSharedSpace})
      if (!commutes(&op, space))
        flush(space);
    if (auto load = dyn_cast<LLVM::LoadOp>(op); load && isJoinable(load))
      add(load);
  }
  flush(kDeviceSpace);
  flush(kSharedSpace);
  for (LLVM::LoadOp load : joined)
    load->erase();
}

namespace {
struct JoinLoadsPass : tl::impl::JoinLoadsPassBase<JoinLoadsPass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      BlockLoads().run(*block);
  }
};
} // namespace
