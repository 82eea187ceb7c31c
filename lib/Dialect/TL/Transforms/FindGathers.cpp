//===- FindGathers.cpp - Rows that a parallel loop copies -----------------===//
//
// A loop that copies rows from where a table says, or a stencil, is a copy with
// places of its own for each row:
//
//   for i, j in T.Parallel(64, 512):
//       S[i, j] = T.if_then_else(i < n, K[table[i], j], 0)
//
// As a `tl.copy` its pieces go past the registers, and may run ahead.
//
// A loop whose indices name a part of a shared tile that begins elsewhere is a
// copy of a box to there, if they name a box of the tensor, too:
//
//   for i, j in T.Parallel(32, 32):
//       S[i, j + 32] = A[row + i, column + j]
//
// Sound because it moves the same elements:
//
// - The loop stores to each element of a part of a shared tile that its indices
//   name, once, and does nothing else that anybody sees.
// - What it stores is an element of a tensor, or zero where a condition does
//   not hold: a copy reads nothing there, and zero outside of the tensor, as a
//   load does (M1). Or it stores nothing where the condition does not hold, and
//   the copy keeps these rows as they are.
// - The last index goes along a row: it is added to the last place, and no
//   other place, nor the condition, depends on it. So the places for zero are
//   those of the row's first element.
// - In a box each index is added to the place of its dimension once, and to no
//   other: the box begins at the places for zero. Where in the tile it goes is
//   constant, and all of it is inside.
// - Places are computed also where the condition does not hold: of arithmetic
//   that nothing can go wrong in, and of reads, which are zero outside.
// - The kernel writes neither the tensor nor what the places are read from, and
//   has no tensors at addresses, so that it does not matter when they are read.
//
// All of this is checked here, op by op. The verifier of `tl.copy` checks what
// its places may hold, and tl-verify-sync that it is waited for, as for every
// other copy.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_FINDGATHERSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The bytes of the least and the greatest piece of `cp.async`.
static constexpr int64_t kLeastPiece = 4, kGreatestPiece = 16;

namespace {

/// A parallel loop as a copy of rows.
class Gather {
public:
  explicit Gather(ParallelOp loop)
      : loop(loop), body(&loop.getBody().front()) {}

  /// False if the loop is no such copy.
  bool find() {
    return loop.getExtents().size() > 0 && findStores() && hasRows() &&
           collectOps() && readsWhatStays();
  }

  /// False if the loop is no copy of a box to a part of a tile that begins
  /// elsewhere than at zero.
  bool findBox() {
    return loop.getExtents().size() > 0 && findPart() && isBox() &&
           collectOps() && !readsTables() && readsWhatStays();
  }

  /// Writes the copy in place of the loop, if its pieces are large enough.
  void rewrite();
  void rewriteBox();

private:
  bool findStores();
  bool findLoad(Value stored);
  bool storesTile(StoreOp store);
  bool findPart();
  bool hasRows();
  bool isBox();
  bool isOfSameType();
  bool collectOps();
  bool readsTables();
  bool readsWhatStays();
  void findSlopes(Value along);
  /// How much an index changes with the one that slopes were found along; none
  /// if that is neither 0 nor 1.
  std::optional<int64_t> getSlope(Value value) const {
    auto found = slopes.find(value);
    return found == slopes.end() ? std::optional<int64_t>(0) : found->second;
  }
  Value last() const { return body->getArguments().back(); }
  int64_t getPieceBytes(ArrayRef<Value> places);

  ParallelOp loop;
  Block *body;
  StoreOp store;
  LoadOp load;
  Value condition; ///< null if all rows exist
  bool isInverted = false;
  bool keeps = false; ///< stores nothing where there is no row
  /// Where in the tile a box begins.
  SmallVector<int64_t> corner;
  /// Of what depends on the index that they were found along.
  DenseMap<Value, std::optional<int64_t>> slopes;
  /// What computes the places, in order.
  SmallVector<Operation *> ops;
};

} // namespace

static bool isZero(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return false;
  auto number = dyn_cast<FloatAttr>(constant);
  return number ? number.getValue().isPosZero() : matchPattern(value, m_Zero());
}

/// Whether the store fills a part of a tile that begins at zero, as the loop's
/// indices name its elements.
bool Gather::storesTile(StoreOp store) {
  auto alloc = store.getTarget().getDefiningOp<AllocOp>();
  return alloc && isInSpace(alloc, Space::Shared) &&
         !loop->isProperAncestor(alloc) &&
         llvm::equal(store.getIndices(), body->getArguments()) &&
         llvm::all_of(llvm::zip(loop.getExtents(), alloc.getType().getShape()),
                      [](auto pair) {
                        auto [extent, size] = pair;
                        return extent <= size;
                      });
}

/// Sees in what is stored a load, and the condition under which it is one.
bool Gather::findLoad(Value stored) {
  if ((load = stored.getDefiningOp<LoadOp>()))
    return true;
  if (condition)
    return false;
  Value then, otherwise;
  if (auto select = stored.getDefiningOp<arith::SelectOp>()) {
    condition = select.getCondition();
    then = select.getTrueValue();
    otherwise = select.getFalseValue();
  } else if (auto branch = stored.getDefiningOp<scf::IfOp>();
             branch && branch.getNumResults() == 1) {
    condition = branch.getCondition();
    then = branch.thenYield().getOperand(0);
    otherwise = branch.elseYield().getOperand(0);
  } else {
    return false;
  }
  isInverted = isZero(then);
  load = (isInverted ? otherwise : then).getDefiningOp<LoadOp>();
  return load && isZero(isInverted ? then : otherwise);
}

/// Finds the one store, or the two of which one stores zero, or the one behind
/// a condition.
bool Gather::findStores() {
  SmallVector<StoreOp> stores;
  loop.getBody().walk([&](StoreOp store) { stores.push_back(store); });
  if (stores.size() == 2) {
    auto branch = dyn_cast<scf::IfOp>(stores[0]->getParentOp());
    if (!branch || branch->getBlock() != body ||
        stores[0]->getBlock() != branch.thenBlock() ||
        stores[1]->getBlock() != branch.elseBlock() ||
        stores[0].getTarget() != stores[1].getTarget() ||
        !llvm::all_of(stores, [&](StoreOp each) { return storesTile(each); }))
      return false;
    condition = branch.getCondition();
    isInverted = isZero(stores[0].getValue());
    store = stores[isInverted ? 1 : 0];
    if (!isZero(stores[isInverted ? 0 : 1].getValue()))
      return false;
  } else if (stores.size() == 1 && stores[0]->getBlock() == body) {
    store = stores[0];
  } else if (stores.size() == 1) {
    auto branch = dyn_cast<scf::IfOp>(stores[0]->getParentOp());
    if (!branch || branch->getBlock() != body ||
        stores[0]->getBlock() != branch.thenBlock())
      return false;
    condition = branch.getCondition();
    keeps = true;
    store = stores[0];
  } else {
    return false;
  }
  return storesTile(store) && findLoad(store.getValue());
}

/// The number that `index` adds to `argument`.
static std::optional<int64_t> getShift(Value index, Value argument) {
  if (index == argument)
    return 0;
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return std::nullopt;
  bool isFirst = sum.getLhs() == argument;
  if (!isFirst && sum.getRhs() != argument)
    return std::nullopt;
  return getConstantIntValue(isFirst ? sum.getRhs() : sum.getLhs());
}

/// Finds the one store, of an element that is loaded, and where in its tile the
/// part begins that it fills.
bool Gather::findPart() {
  SmallVector<StoreOp> stores;
  loop.getBody().walk([&](StoreOp each) { stores.push_back(each); });
  if (stores.size() != 1 || stores[0]->getBlock() != body)
    return false;
  store = stores[0];
  load = store.getValue().getDefiningOp<LoadOp>();
  auto alloc = store.getTarget().getDefiningOp<AllocOp>();
  if (!load || !alloc || !isInSpace(alloc, Space::Shared) ||
      loop->isProperAncestor(alloc) ||
      store.getIndices().size() != body->getNumArguments())
    return false;
  for (auto [index, argument, extent, size] :
       llvm::zip(store.getIndices(), body->getArguments(), loop.getExtents(),
                 alloc.getType().getShape())) {
    std::optional<int64_t> shift = getShift(index, argument);
    if (!shift || *shift < 0 || extent > size || *shift > size - extent)
      return false;
    corner.push_back(*shift);
  }
  return llvm::any_of(corner, [](int64_t shift) { return shift != 0; });
}

/// Whether what is loaded is a box of the tensor, of the loop's extents in its
/// last dimensions.
bool Gather::isBox() {
  if (!isOfSameType() || load.getIndices().size() < body->getNumArguments())
    return false;
  size_t before = load.getIndices().size() - body->getNumArguments();
  return llvm::all_of(body->getArguments(), [&](BlockArgument argument) {
    findSlopes(argument);
    size_t own = before + argument.getArgNumber();
    return llvm::all_of(llvm::enumerate(load.getIndices()), [&](auto place) {
      return getSlope(place.value()) == (place.index() == own ? 1 : 0);
    });
  });
}

bool Gather::readsTables() {
  return llvm::any_of(ops, [](Operation *op) { return isa<LoadOp>(op); });
}

/// Each number is looked at once, in order: it may be added to itself often.
void Gather::findSlopes(Value along) {
  slopes.clear();
  slopes[along] = 1;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (llvm::all_of(op->getOperands(),
                     [&](Value value) { return getSlope(value) == 0; }))
      return;
    std::optional<int64_t> slope;
    if (isa<arith::AddIOp>(op)) {
      std::optional<int64_t> a = getSlope(op->getOperand(0)),
                             b = getSlope(op->getOperand(1));
      if (a && b && *a + *b == 1)
        slope = 1;
    }
    for (Value result : op->getResults())
      slopes[result] = slope;
  });
}

/// Whether elements go from device memory to a tile of the same type.
bool Gather::isOfSameType() {
  return isInSpace(load.getSource(), Space::Global) &&
         cast<MemRefType>(load.getSource().getType()).getElementType() ==
             cast<MemRefType>(store.getTarget().getType()).getElementType();
}

/// Whether the last index goes along a row of the tensor, and no further.
bool Gather::hasRows() {
  if (!isOfSameType() || load.getIndices().empty())
    return false;
  findSlopes(last());
  if (condition && getSlope(condition) != 0)
    return false;
  OperandRange places = load.getIndices();
  return llvm::all_of(places.drop_back(),
                      [&](Value place) { return getSlope(place) == 0; }) &&
         getSlope(places.back()) == 1;
}

/// Collects what computes places and condition. False if more is done.
bool Gather::collectOps() {
  DenseSet<Operation *> needed;
  SmallVector<Value> worklist(load.getIndices());
  if (condition)
    worklist.push_back(condition);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && loop->isProperAncestor(op) && needed.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
  bool isPlain = true;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto read = dyn_cast<LoadOp>(op);
    bool isArithmetic = op->getNumRegions() == 0 && isPure(op);
    if (needed.contains(op)) {
      ops.push_back(op);
      isPlain &=
          isArithmetic || (read && isInSpace(read.getSource(), Space::Global));
    } else {
      // What is not needed is seen by nobody.
      isPlain &= isArithmetic || read || isa<StoreOp, scf::IfOp>(op) ||
                 op->hasTrait<OpTrait::IsTerminator>();
    }
  });
  return isPlain;
}

/// Whether the kernel writes nothing of what the copy reads.
bool Gather::readsWhatStays() {
  SmallVector<Value> tensors = {load.getSource()};
  for (Operation *op : ops)
    if (auto read = dyn_cast<LoadOp>(op))
      tensors.push_back(read.getSource());
  return llvm::all_of(tensors, [](Value tensor) {
    return isa<BlockArgument>(tensor) &&
           llvm::all_of(tensor.getUsers(), [&](Operation *user) {
             return onlyReads(user, tensor);
           });
  });
}

/// The most bytes that all pieces of a copy from `places` can have.
int64_t Gather::getPieceBytes(ArrayRef<Value> places) {
  Value tensor = load.getSource();
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = getElementBytes(type);
  if (getStrides(type).back() != 1 || type.getElementType().isInteger(1) ||
      type.getElementTypeBitWidth() % 8 != 0)
    return 0;
  auto fits = [&](int64_t width) {
    return getDivisor(places.back()) % width == 0 &&
           getRowDivisor(tensor) % width == 0 &&
           loop.getExtents().back() % width == 0 &&
           (corner.empty() || corner.back() % width == 0) &&
           getAlignment(tensor) % (width * bytes) == 0 &&
           llvm::all_of(ArrayRef(getStrideDivisors(tensor)).drop_back(),
                        [&](int64_t stride) { return stride % width == 0; });
  };
  int64_t width = std::max<int64_t>(kGreatestPiece / bytes, 1);
  while (width > 1 && !fits(width))
    width /= 2;
  return width * bytes;
}

void Gather::rewrite() {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  OperationState state(loc, CopyOp::getOperationName());
  CopyOp::build(builder, state, load.getSource(), ValueRange(),
                store.getTarget(), ValueRange(),
                builder.getDenseI64ArrayAttr(loop.getExtents()),
                /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                /*barrierIndex=*/Value());
  Block *rows = new Block();
  state.addRegion()->push_back(rows);
  IRMapping mapping;
  builder.setInsertionPointToStart(rows);
  for (BlockArgument index : body->getArguments().drop_back())
    mapping.map(index, rows->addArgument(index.getType(), index.getLoc()));
  mapping.map(last(), arith::ConstantIndexOp::create(builder, loc, 0));
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> places =
      llvm::map_to_vector(load.getIndices(), [&](Value place) {
        return mapping.lookupOrDefault(place);
      });
  Value exists = condition ? mapping.lookupOrDefault(condition) : Value();
  if (isInverted)
    exists = arith::XOrIOp::create(
        builder, loc, exists, arith::ConstantIntOp::create(builder, loc, 1, 1));
  PlacesOp::create(builder, loc, places, exists, keeps);
  builder.setInsertionPoint(loop);
  Operation *copy = builder.create(state);
  (getPieceBytes(places) >= kLeastPiece ? loop.getOperation() : copy)->erase();
}

void Gather::rewriteBox() {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  IRMapping mapping;
  for (BlockArgument index : body->getArguments())
    mapping.map(index, arith::ConstantIndexOp::create(builder, loc, 0));
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> places =
      llvm::map_to_vector(load.getIndices(), [&](Value place) {
        return mapping.lookupOrDefault(place);
      });
  if (getPieceBytes(places) < kLeastPiece)
    return;
  SmallVector<Value> offsets =
      llvm::map_to_vector(corner, [&](int64_t shift) -> Value {
        return arith::ConstantIndexOp::create(builder, loc, shift);
      });
  CopyOp::create(builder, loc, load.getSource(), places, store.getTarget(),
                 offsets, builder.getDenseI64ArrayAttr(loop.getExtents()),
                 /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                 /*barrierIndex=*/Value());
  loop.erase();
}

namespace {
struct FindGathersPass : tl::impl::FindGathersPassBase<FindGathersPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (!target->hasAsyncCopy())
      return;
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (hasTensorsAtAddresses(kernel))
        continue;
      SmallVector<ParallelOp> loops;
      kernel.walk([&](ParallelOp loop) { loops.push_back(loop); });
      for (ParallelOp loop : loops)
        if (Gather gather(loop); gather.find())
          gather.rewrite();
        else if (Gather box(loop); box.findBox())
          box.rewriteBox();
    }
  }
};
} // namespace
