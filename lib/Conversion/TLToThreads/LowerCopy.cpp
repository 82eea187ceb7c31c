//===- LowerCopy.cpp - Copies, by engine or by threads --------------------===//
//
// A copy marked `bulk` is one instruction per panel, issued by one thread. An
// asynchronous one is `cp.async` where its pieces are 4 to 16 bytes. An
// accumulator goes to shared memory by `stmatrix`. Everything else is a
// parallel loop over the tile. Where a copy gathers rows, each thread computes
// where the rows of its pieces begin: by `cp.async` those of several pieces
// before it starts one, so that it waits for their table once, and not for each
// row of it.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RowBox.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Layout/FragmentRelations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static constexpr int64_t kWarp = 32;
/// Asynchronous copies that a thread starts in a row.
static constexpr int64_t kRoundPieces = 8;

static int64_t getBytes(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8;
}

namespace {
/// A buffer that is copied from or to.
struct Side {
  Value buffer;
  ValueRange offsets;
  SmallVector<int64_t> dims; ///< which dimensions the tile has in it
};
} // namespace

static Side getSource(CopyOp copy) {
  return {copy.getSource(), copy.getSourceOffsets(),
          CopyLoops::of(copy).source};
}

static Side getTarget(CopyOp copy) {
  return {copy.getTarget(), copy.getTargetOffsets(),
          CopyLoops::of(copy).target};
}

/// The position of element `coordinates` of the tile in one side of the copy.
static SmallVector<Value> getPosition(ThreadLowering &lowering,
                                      const Side &side,
                                      ArrayRef<Value> coordinates) {
  int64_t rank = cast<MemRefType>(side.buffer.getType()).getRank();
  SmallVector<Value> position;
  for (int64_t d = 0; d < rank; ++d) {
    Value value =
        side.offsets.empty() ? lowering.index(0) : Value(side.offsets[d]);
    if (const int64_t *found = llvm::find(side.dims, d);
        found != side.dims.end())
      value = lowering.add(value, coordinates[found - side.dims.begin()]);
    position.push_back(value);
  }
  return position;
}

/// The position of a row that a copy gathers, and whether there is one: null if
/// there always is.
struct Row {
  SmallVector<Value> position;
  Value exists;
};

/// Finds the row for all but the last of `coordinates`, by `load`.
static Row findRow(CopyOp copy, OpBuilder &b, ArrayRef<Value> coordinates,
                   function_ref<Value(LoadOp)> load) {
  IRMapping mapping;
  Block &body = copy.getPlaces().front().front();
  for (auto [argument, coordinate] :
       llvm::zip_equal(body.getArguments(), coordinates.drop_back()))
    mapping.map(argument, coordinate);
  for (Operation &op : body.without_terminator()) {
    Operation *clone = b.clone(op, mapping);
    if (auto read = dyn_cast<LoadOp>(clone))
      if (Value found = load(read))
        mapping.map(op.getResult(0), found);
  }
  PlacesOp rows = copy.getRows();
  Row row;
  for (Value place : rows.getPlace())
    row.position.push_back(mapping.lookupOrDefault(place));
  if (rows.getExists())
    row.exists = mapping.lookupOrDefault(rows.getExists());
  return row;
}

/// The position of element `coordinates` of the tile in the source, and whether
/// it is zero for another reason than that it lies outside: null if not.
static Row findSource(CopyOp copy, ThreadLowering &lowering,
                      ArrayRef<Value> coordinates) {
  if (!copy.isGather())
    return {getPosition(lowering, getSource(copy), coordinates), Value()};
  Row row = findRow(copy, lowering.builder, coordinates, [&](LoadOp load) {
    Value guard = lowering.getInBounds(load.getSource(), load.getIndices());
    Value found = lowering.load(load.getSource(), load.getIndices(), 1, guard);
    load.erase();
    return found;
  });
  row.position.back() = lowering.add(row.position.back(), coordinates.back());
  return row;
}

/// Positions that tell how wide the pieces of a copy can be which begin at
/// `coordinates` of the tile: what divides these divides the source's.
static SmallVector<SmallVector<Value>>
getSourcesAlike(CopyOp copy, ThreadLowering &lowering,
                ArrayRef<Value> coordinates) {
  if (!copy.isGather())
    return {getPosition(lowering, getSource(copy), coordinates)};
  // Rows can be any.
  SmallVector<Value> first(copy.getRows().getPlace().size(),
                           lowering.getScope().getThread());
  SmallVector<Value> within = first;
  first.back() = copy.getRows().getPlace().back();
  within.back() = coordinates.back();
  return {first, within};
}

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

/// Is true if the buffer has no elements; null if it has some for sure.
static Value isEmpty(ThreadLowering &lowering, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Value empty;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim))
      continue;
    Value zero = arith::CmpIOp::create(
        lowering.builder, lowering.loc, arith::CmpIPredicate::eq,
        lowering.getSignature().getDim(buffer, dim), lowering.index(0));
    empty = empty ? arith::OrIOp::create(lowering.builder, lowering.loc, empty,
                                         zero)
                        .getResult()
                  : zero;
  }
  return empty;
}

/// Box coordinates of the panel that starts at `column`, innermost first.
static SmallVector<Value> getBox(ThreadLowering &lowering, Value global,
                                 ValueRange offsets, int64_t column) {
  int64_t rank = cast<MemRefType>(global.getType()).getRank();
  SmallVector<Value> box;
  for (int64_t d = rank - 1; d >= 0; --d) {
    Value offset = offsets.empty() ? lowering.index(0) : Value(offsets[d]);
    if (d == rank - 1)
      offset = lowering.add(offset, column);
    box.push_back(lowering.toI32(offset));
  }
  return box;
}

/// Byte `offset` past the start of a shared buffer or slot.
static Value getPanelAddress(ThreadLowering &lowering, Value view,
                             Value offset) {
  SharedAddressing &arena = lowering.getShared();
  return arena.getAddress(lowering.add(arena.getOffset(view), offset));
}

/// Writes zeros to a shared buffer or slot, for whoever waits for the engine.
static void clearShared(ThreadLowering &lowering, Value view, int64_t bytes) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  auto type = VectorType::get({16}, b.getI8Type());
  auto loop = scf::ForOp::create(b, loc, lowering.index(0),
                                 lowering.index(bytes), lowering.index(16));
  OpBuilder::InsertionGuard saved(b);
  b.setInsertionPointToStart(loop.getBody());
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  LLVM::StoreOp::create(b, loc, zeros,
                        getPanelAddress(lowering, view, loop.getInductionVar()),
                        /*alignment=*/16);
  b.setInsertionPointAfter(loop);
  NVVM::FenceProxyOp::create(
      b, loc, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

/// The number of the block in its cluster, x fastest.
static Value getClusterRank(ThreadLowering &lowering, gpu::GPUFuncOp kernel) {
  std::array<int64_t, 3> extents = getClusterExtents(kernel);
  Value rank = lowering.index(0);
  for (size_t dim = extents.size(); dim-- > 0;) {
    if (extents[dim] == 1)
      continue;
    Value block = gpu::BlockIdOp::create(lowering.builder, lowering.loc,
                                         static_cast<gpu::Dimension>(dim));
    rank = lowering.add(lowering.mul(rank, extents[dim]),
                        lowering.rem(block, extents[dim]));
  }
  return rank;
}

/// Starts a load of a box to `address`: of this block, or if `blocks` is more
/// than one, of all of its cluster.
static void startLoad(ThreadLowering &lowering, Value address, Value map,
                      ValueRange box, Value barrier, int64_t blocks) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value mask;
  if (blocks > 1) {
    auto type = LLVM::LLVMPointerType::get(
        b.getContext(),
        static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
    address = LLVM::AddrSpaceCastOp::create(b, loc, type, address);
    mask = arith::ConstantIntOp::create(
        b, loc, static_cast<int16_t>((1u << blocks) - 1), 16);
  }
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, address, map, box, barrier, ValueRange(), mask, Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/blocks == 1,
      NVVM::CTAGroupKindAttr(), Value());
}

/// Where the box of a bulk load begins. If the rows that it gathers do not
/// exist, behind the tensor.
static SmallVector<Value> getStart(CopyOp copy, ThreadLowering &lowering) {
  if (!copy.isGather())
    return SmallVector<Value>(copy.getSourceOffsets());
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  IRMapping mapping;
  Block &body = copy.getPlaces().front().front();
  for (BlockArgument index : body.getArguments())
    mapping.map(index, lowering.index(0));
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> start =
      llvm::map_to_vector(copy.getRows().getPlace(), [&](Value place) {
        return mapping.lookupOrDefault(place);
      });
  for (Value condition : getRowBox(copy)->conditions)
    start.front() = arith::SelectOp::create(
        b, loc, mapping.lookupOrDefault(condition), start.front(),
        lowering.getSignature().getDim(copy.getSource(), 0));
  return start;
}

static LogicalResult lowerBulkCopy(CopyOp copy, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  bool isLoad = isInSpace(copy.getSource(), Space::Global);
  Value global = isLoad ? copy.getSource() : copy.getTarget();
  Value shared = isLoad ? copy.getTarget() : copy.getSource();
  std::string reason;
  std::optional<BulkCopyShape> shape = getBulkCopyShape(copy, reason);
  std::optional<BulkCopyPart> part;
  auto kernel = copy->getParentOfType<gpu::GPUFuncOp>();
  int64_t blocks = isMulticast(copy) ? getClusterSize(kernel) : 1;
  if (shape && blocks > 1)
    part = getBulkCopyPart(copy, *shape, blocks, reason);
  if (!reason.empty())
    return copy.emitOpError("cannot be done by the bulk copy engine: ")
           << reason;
  Type type = cast<MemRefType>(global.getType()).getElementType();
  if (copy.getRoundTF32())
    type = FloatTF32Type::get(b.getContext());
  Value map = lowering.getSignature().getTensorMap(
      global, part ? part->box : shape->box, shape->swizzle, type);
  int64_t panelBytes = getSharedLayout(shared).getPanelBytes();

  Value barrier;
  auto expect = [&](int64_t bytes) {
    NVVM::MBarrierArriveExpectTxOp::create(
        b, loc, Type(), barrier, lowering.i32(bytes), NVVM::MemScopeKind::CTA,
        /*relaxed=*/false, /*predicate=*/Value());
  };
  auto single = scf::IfOp::create(b, loc, lowering.getScope().isFirstThread());
  OpBuilder::InsertionGuard saved(b);
  b.setInsertionPointToStart(single.thenBlock());
  SmallVector<Value> offsets =
      isLoad ? getStart(copy, lowering)
             : SmallVector<Value>(copy.getTargetOffsets());
  if (isLoad)
    barrier = lowering.getShared().getBarrierAddress(copy.getBarrier(),
                                                     copy.getBarrierIndex());
  // No tensor map describes an empty tensor.
  if (Value empty = isEmpty(lowering, global)) {
    auto branch = scf::IfOp::create(b, loc, empty, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    if (isLoad) {
      clearShared(lowering, shared, shape->panels * panelBytes);
      expect(0);
    }
    b.setInsertionPointToStart(branch.elseBlock());
  }
  if (isLoad)
    expect(shape->panels * panelBytes);
  // Of each panel the block's part.
  Value start = lowering.index(0);
  if (part) {
    Value rank = getClusterRank(lowering, kernel);
    start = lowering.mul(rank, part->bytes);
    offsets.resize(cast<MemRefType>(global.getType()).getRank(),
                   lowering.index(0));
    offsets[part->dim] =
        lowering.add(offsets[part->dim], lowering.mul(rank, part->extent));
  }
  for (int64_t panel = 0; panel < shape->panels; ++panel) {
    SmallVector<Value> box =
        getBox(lowering, global, offsets, panel * shape->box.front());
    Value address = getPanelAddress(lowering, shared,
                                    lowering.add(start, panel * panelBytes));
    if (isLoad)
      startLoad(lowering, address, map, box, barrier, blocks);
    else if (copy.getAccumulate())
      NVVM::CpAsyncBulkTensorReduceOp::create(
          b, loc, map, address, NVVM::TMAReduxKind::ADD,
          NVVM::TMAStoreMode::TILE, box, /*l2CacheHint=*/Value());
    else
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          b, loc, map, address, box, Value(), NVVM::TMAStoreMode::TILE,
          Value());
  }
  if (!isLoad) {
    NVVM::CpAsyncBulkCommitGroupOp::create(b, loc);
    // The tile may be overwritten, and the block may end, once it is read.
    if (!copy.getAsync())
      NVVM::CpAsyncBulkWaitGroupOp::create(b, loc, b.getI32IntegerAttr(0),
                                           b.getUnitAttr());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

/// The layout over which threads copy a tile between memories: vectors as wide
/// as the side in device memory allows.
static FragmentLayout getCopyLayout(CopyOp copy, ThreadLowering &lowering) {
  bool isLoad = isInSpace(copy.getSource(), Space::Global);
  bool isStore = isInSpace(copy.getTarget(), Space::Global);
  Value widest = getBytes(copy.getSource()) >= getBytes(copy.getTarget())
                     ? copy.getSource()
                     : copy.getTarget();
  Type element = cast<MemRefType>(widest.getType()).getElementType();
  SmallVector<int64_t> tile = CopyLoops::of(copy).extents;
  int64_t width = getVectorWidth(tile, element);
  if (isLoad || isStore) {
    Side global = isLoad ? getSource(copy) : getTarget(copy);
    // Tile coordinates are multiples of any width, so offsets decide.
    SmallVector<Value> zero(tile.size(), lowering.index(0));
    SmallVector<Value> position =
        copy.isGather() ? getSourcesAlike(copy, lowering, zero).front()
                        : getPosition(lowering, global, zero);
    // Rows other than the first move by the row stride: one stands for all.
    for (Value &index :
         MutableArrayRef(position).drop_back(position.empty() ? 0 : 1))
      if (getDivisor(index) == 0 && tile.size() > 1)
        index = lowering.getScope().getThread();
    width = lowering.getAccessWidth(global.buffer, position, width);
  }
  int64_t numThreads = lowering.getScope().getNumThreads();
  return FragmentLayout::blocked(tile, numThreads,
                                 spreadVectors(tile, width, numThreads));
}

/// Where a thread's pieces of a copy begin, in the tile.
static SmallVector<Value> getCoordinates(ThreadLowering &lowering,
                                         ArrayRef<Value> base,
                                         ArrayRef<int64_t> offsets) {
  SmallVector<Value> coordinates;
  for (auto [start, offset] : llvm::zip(base, offsets))
    coordinates.push_back(lowering.add(start, offset));
  return coordinates;
}

/// How many elements, up to `width`, every piece of a copy can move at once: a
/// tile may begin anywhere in a buffer.
static int64_t getPieceWidth(CopyOp copy, ThreadLowering &lowering,
                             const FragmentLayout &layout, int64_t width) {
  SmallVector<Value> base;
  for (int64_t d = 0; d < layout.getRank(); ++d)
    base.push_back(lowering.getScope().getThreadOffset(layout, d));
  for (int64_t value = 0; value < layout.numValues(); value += width) {
    SmallVector<Value> coordinates =
        getCoordinates(lowering, base, layout.valueOffset(value));
    for (ArrayRef<Value> from : getSourcesAlike(copy, lowering, coordinates))
      width = lowering.getAccessWidth(copy.getSource(), from, width);
    width = lowering.getAccessWidth(
        copy.getTarget(), getPosition(lowering, getTarget(copy), coordinates),
        width);
  }
  return width;
}

/// Copies by `cp.async`. False, if the pieces are too small for it.
static bool lowerCpAsync(CopyOp copy, ThreadLowering &lowering) {
  Value source = copy.getSource(), target = copy.getTarget();
  Type element = cast<MemRefType>(source.getType()).getElementType();
  if (element != cast<MemRefType>(target.getType()).getElementType() ||
      element.getIntOrFloatBitWidth() % 8 != 0)
    return false;
  FragmentLayout layout = getCopyLayout(copy, lowering);
  int64_t lastDim = layout.getRank() - 1;
  int64_t width = layout.contiguousValues(lastDim);
  int64_t bytes = getBytes(source);
  if (layout.getShape() != ArrayRef(CopyLoops::of(copy).extents) ||
      layout.numCopies() != 1)
    return false;
  width = getPieceWidth(copy, lowering, layout, std::min(width, 16 / bytes));
  if (width * bytes < 4)
    return false;

  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Rounds rounds(layout, kRoundPieces * width, /*unit=*/width);
  OpBuilder::InsertionGuard saved(b);
  Value round = rounds.getCount() > 1 ? rounds.openLoop(lowering) : Value();
  SmallVector<Value> base;
  for (int64_t d = 0; d <= lastDim; ++d) {
    base.push_back(lowering.getScope().getThreadOffset(layout, d));
    if (round)
      base.back() =
          lowering.add(base.back(), rounds.getOffset(lowering, round, d));
  }
  auto modifier = width * bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA;
  auto getPiece = [&](int64_t value) {
    return getCoordinates(lowering, base, layout.valueOffset(value));
  };
  // Rows of all pieces are looked up before a thread waits for one.
  SmallVector<Row> rows;
  if (copy.isGather())
    for (int64_t value = 0; value < rounds.getNumValues(); value += width)
      rows.push_back(findSource(copy, lowering, getPiece(value)));
  for (int64_t value = 0; value < rounds.getNumValues(); value += width) {
    SmallVector<Value> coordinates = getPiece(value);
    auto [from, exists] = copy.isGather()
                              ? rows[value / width]
                              : findSource(copy, lowering, coordinates);
    OpBuilder::InsertionGuard outside(b);
    if (copy.keepsRows()) {
      b.setInsertionPointToStart(scf::IfOp::create(b, loc, exists).thenBlock());
      exists = Value();
    }
    SmallVector<Value> to = getPosition(lowering, getTarget(copy), coordinates);
    // A size of zero reads nothing and writes zeros.
    Value size;
    Value inside = lowering.getInBounds(source, from);
    if (exists)
      inside = inside ? arith::AndIOp::create(b, loc, inside, exists) : exists;
    if (inside)
      size = arith::SelectOp::create(
          b, loc, inside, lowering.i32(width * bytes), lowering.i32(0));
    NVVM::CpAsyncOp::create(
        b, loc, lowering.getAddress(target, to),
        lowering.getAddress(source, from), b.getI32IntegerAttr(width * bytes),
        NVVM::LoadCacheModifierKindAttr::get(b.getContext(), modifier), size);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// stmatrix
//===----------------------------------------------------------------------===//

/// True if each 8 values are a thread's part of four 8x8 matrices, two down and
/// two across, as an accumulator's are.
static bool isMatrixOrder(const FragmentLayout &layout) {
  static constexpr int64_t order[8][2] = {{0, 0}, {0, 1}, {8, 0}, {8, 1},
                                          {0, 8}, {0, 9}, {8, 8}, {8, 9}};
  if (layout.getRank() != 2 || layout.numValues() % 8 != 0)
    return false;
  for (int64_t value = 0; value < layout.numValues(); value += 8) {
    SmallVector<int64_t> first = layout.valueOffset(value);
    for (int64_t i = 0; i < 8; ++i) {
      SmallVector<int64_t> offset = layout.valueOffset(value + i);
      if (offset[0] - first[0] != order[i][0] ||
          offset[1] - first[1] != order[i][1])
        return false;
    }
  }
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    SmallVector<int64_t> offset = layout.threadOffset(lane);
    if (offset[0] != lane / 4 || offset[1] != lane % 4 * 2)
      return false;
  }
  return true;
}

/// True if the copy fills its target, or a part of it of which every row of a
/// matrix, 16 bytes, is aligned.
static bool beginsAtMatrix(CopyOp copy) {
  auto type = cast<MemRefType>(copy.getTarget().getType());
  ValueRange offsets = copy.getTargetOffsets();
  if (offsets.empty())
    return true;
  if (type.getRank() != 2)
    return false;
  SmallVector<int64_t> extents = CopyLoops::of(copy).extents;
  for (auto [offset, extent, size] :
       llvm::zip_equal(offsets, extents, type.getShape())) {
    std::optional<int64_t> known = getConstantIntValue(offset);
    if (!known || *known < 0 || *known + extent > size)
      return false;
  }
  return *getConstantIntValue(offsets.back()) % 8 == 0;
}

static bool canUseStmatrix(CopyOp copy, ThreadLowering &lowering) {
  return lowering.getTarget().hasStmatrix() &&
         isInSpace(copy.getSource(), Space::Fragment) &&
         isInSpace(copy.getTarget(), Space::Shared) &&
         !isMapped(copy.getTarget()) && getBytes(copy.getTarget()) == 2 &&
         getSharedLayout(copy.getTarget()).getChunk() % 8 == 0 &&
         isMatrixOrder(lowering.getLayout(copy.getSource())) &&
         lowering.getLayout(copy.getSource()).getShape() ==
             ArrayRef(CopyLoops::of(copy).extents) &&
         beginsAtMatrix(copy);
}

static void lowerStmatrix(CopyOp copy, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value target = copy.getTarget();
  Type element = cast<MemRefType>(target.getType()).getElementType();
  FragmentLayout layout = lowering.getLayout(copy.getSource());
  Value values =
      convertElement(b, loc, lowering.readFragment(copy.getSource()), element);

  // Where the warp's part starts, and the row that this lane addresses: lanes
  // 0-7 the first matrix, 8-15 the one below, 16-31 those to the right.
  auto warpStart = [&](int64_t dim) {
    SmallVector<layout::ThreadStep> steps;
    SmallVector<layout::ThreadStep> all = layout.threadSteps(dim);
    for (const layout::ThreadStep &step : layout::splitSteps(all, kWarp))
      if (step.divisor >= kWarp)
        steps.push_back(step);
    return lowering.getScope().sumSteps(steps);
  };
  Value lane = lowering.getScope().getLane();
  Value row = lowering.add(warpStart(0), lowering.rem(lane, 16));
  Value column =
      lowering.add(warpStart(1), lowering.mul(lowering.div(lane, 16), 8));
  auto registers = VectorType::get({4}, b.getI32Type());
  for (int64_t value = 0; value < layout.numValues(); value += 8) {
    SmallVector<int64_t> offset = layout.valueOffset(value);
    Value piece =
        vector::ExtractStridedSliceOp::create(b, loc, values, value, 8, 1);
    Value packed = vector::BitCastOp::create(b, loc, registers, piece);
    SmallVector<Value> position = getPosition(
        lowering, getTarget(copy),
        {lowering.add(row, offset[0]), lowering.add(column, offset[1])});
    Value address = lowering.getAddress(target, position);
    StmatrixOp::create(b, loc, packed, address, /*transpose=*/false);
  }
}

//===----------------------------------------------------------------------===//
// By threads
//===----------------------------------------------------------------------===//

/// The element of the source for `coordinates` of the tile, in a parallel loop.
static Value loadElement(CopyOp copy, ThreadLowering &lowering,
                         ArrayRef<Value> coordinates) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value source = copy.getSource();
  if (!copy.isGather())
    return LoadOp::create(b, loc, source,
                          getPosition(lowering, getSource(copy), coordinates));
  Row row = findRow(copy, b, coordinates, [](LoadOp) { return Value(); });
  row.position.back() =
      arith::AddIOp::create(b, loc, row.position.back(), coordinates.back());
  if (!row.exists)
    return LoadOp::create(b, loc, source, row.position);
  Type element = cast<MemRefType>(source.getType()).getElementType();
  auto branch = scf::IfOp::create(b, loc, element, row.exists,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard saved(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value found = LoadOp::create(b, loc, source, row.position);
  scf::YieldOp::create(b, loc, found);
  b.setInsertionPointToStart(branch.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  scf::YieldOp::create(b, loc, zero);
  return branch.getResult(0);
}

/// Copies an element of a row, if there is one, in a parallel loop.
static void copyOfRow(CopyOp copy, OpBuilder &b, ArrayRef<Value> coordinates) {
  Location loc = copy.getLoc();
  Row row = findRow(copy, b, coordinates, [](LoadOp) { return Value(); });
  OpBuilder::InsertionGuard saved(b);
  b.setInsertionPointToStart(scf::IfOp::create(b, loc, row.exists).thenBlock());
  row.position.back() =
      arith::AddIOp::create(b, loc, row.position.back(), coordinates.back());
  Value found = LoadOp::create(b, loc, copy.getSource(), row.position);
  StoreOp::create(b, loc, found, copy.getTarget(), coordinates);
}

/// Writes the copy as a parallel loop and lowers that.
static LogicalResult lowerByThreads(CopyOp copy, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value source = copy.getSource(), target = copy.getTarget();
  CopyLoops loops = CopyLoops::of(copy);
  // A fragment that is copied is copied as a whole.
  auto follow = [&](Value fragment, ArrayRef<int64_t> dims) {
    FragmentLayout held = lowering.getLayout(fragment);
    return dims.size() < held.getShape().size() ? layout::selectDims(held, dims)
                                                : held;
  };
  FragmentLayout layout =
      isInSpace(source, Space::Fragment)   ? follow(source, loops.source)
      : isInSpace(target, Space::Fragment) ? follow(target, loops.target)
                                           : getCopyLayout(copy, lowering);
  auto loop =
      ParallelOp::create(b, loc, loops.extents, toAttr(b.getContext(), layout));
  {
    OpBuilder::InsertionGuard saved(b);
    b.setInsertionPointToStart(&loop.getBody().front());
    SmallVector<Value> coordinates(loop.getBody().getArguments());
    if (copy.keepsRows()) {
      copyOfRow(copy, b, coordinates);
    } else {
      Type element = cast<MemRefType>(target.getType()).getElementType();
      Value value = loadElement(copy, lowering, coordinates);
      StoreOp::create(b, loc, convertElement(b, loc, value, element), target,
                      getPosition(lowering, getTarget(copy), coordinates));
    }
  }
  LogicalResult result = lowerParallel(loop, lowering);
  lowering.erase(loop);
  return result;
}

LogicalResult tl::lowerCopy(CopyOp copy, ThreadLowering &lowering) {
  if (copy.getBulk())
    return lowerBulkCopy(copy, lowering);
  if (copy.getAsync() && lowerCpAsync(copy, lowering))
    return success();
  if (canUseStmatrix(copy, lowering))
    return lowerStmatrix(copy, lowering), success();
  return lowerByThreads(copy, lowering);
}
