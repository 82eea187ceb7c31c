//===- LowerScan.cpp - Scans, from neighbours outwards --------------------===//
//
// The places along the scanned dimension are numbers whose digits a thread's
// values, the lanes of a warp and groups of threads count. Digit by digit,
// fastest first, blocks that are scanned each by itself become one: what comes
// before a block in all is combined with each of its elements. Values of a
// thread need nobody; lanes give each other what their blocks have in all by
// shuffles, in as many steps as the digit has bits; groups write it to shared
// memory, meet once, and combine what those before them wrote. 16-bit floats
// are combined in f32. A scan in reverse counts each digit from its end.
//
// What must hold: source and target lie alike, digits of groups are the slowest
// ones, and there is a workspace where there are groups. tl-verify-layouts
// checks all three; `layout::getScanDigits` says for both sides what shuffles
// reach. What lies behind a row's end in its padding is combined with nothing
// in front of it; in reverse it counts as what changes nothing.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Layout/FragmentRelations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::ScanDigit;

/// Parts of other groups that a thread reads one by one; more are read in a
/// loop.
static constexpr int64_t kMostParts = 64;

namespace {

class ScanLowering {
public:
  ScanLowering(ScanOp scan, ThreadLowering &lowering)
      : scan(scan), lowering(lowering), b(lowering.builder), loc(lowering.loc),
        dim(scan.getDim()), layout(lowering.getLayout(scan.getSource())),
        digits(layout::getScanDigits(layout, dim)) {
    type = cast<MemRefType>(scan.getSource().getType());
    compute = getReductionType(type.getElementType());
  }

  void run() {
    read();
    if (scan.getReverse())
      maskPadding();
    for (const ScanDigit &digit : digits)
      if (digit.kind == ScanDigit::Kind::Value)
        joinValues(digit);
      else if (digit.kind == ScanDigit::Kind::Lane)
        joinLanes(digit);
    if (scan.getWorkspace())
      joinGroups();
    write();
  }

private:
  /// A thread's values of one block, in the order of the scan: the last one is
  /// what the block has in all, once it is scanned, in the lane that is last.
  using Block = SmallVector<int64_t>;

  void read() {
    Value all = convertElement(b, loc, lowering.readFragment(scan.getSource()),
                               compute);
    for (int64_t i = 0; i < layout.numValues(); ++i)
      values.push_back(vector::ExtractOp::create(b, loc, all, i));
  }

  void write() {
    auto all = vector::FromElementsOp::create(
        b, loc, VectorType::get({layout.numValues()}, compute), values);
    lowering.writeFragment(
        scan.getTarget(),
        emitResult(b, loc, scan.getKind(), all, type.getElementType()));
  }

  /// What is before, combined with what is behind it.
  Value combine(Value before, Value value) {
    return emitCombine(b, loc, scan.getKind(), before, value);
  }

  Value getNeutral() {
    return arith::ConstantOp::create(
        b, loc, getNeutralElement(scan.getKind(), compute));
  }

  /// Replaces values in the padding of the scanned dimension.
  void maskPadding() {
    if (layout.getShape()[dim] == type.getDimSize(dim))
      return;
    Value first = lowering.getScope().getThreadOffset(layout, dim);
    for (auto [i, value] : llvm::enumerate(values)) {
      Value place = lowering.add(first, layout.valueOffset(i)[dim]);
      Value inside =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, place,
                                lowering.index(type.getDimSize(dim)));
      value = arith::SelectOp::create(b, loc, inside, value, getNeutral());
    }
  }

  /// The thread's values of each block of `size` neighbouring places.
  SmallVector<Block> getBlocks(int64_t size) {
    llvm::MapVector<std::pair<SmallVector<int64_t>, int64_t>, Block> blocks;
    for (int64_t i = 0; i < layout.numValues(); ++i) {
      SmallVector<int64_t> row = layout.valueOffset(i);
      int64_t place = std::exchange(row[dim], 0);
      blocks[{row, place / size}].push_back(i);
    }
    SmallVector<Block> result;
    for (Block &block : llvm::make_second_range(blocks)) {
      llvm::sort(block, [&](int64_t a, int64_t b) {
        int64_t placeOfA = layout.valueOffset(a)[dim],
                placeOfB = layout.valueOffset(b)[dim];
        return scan.getReverse() ? placeOfA > placeOfB : placeOfA < placeOfB;
      });
      result.push_back(std::move(block));
    }
    return result;
  }

  /// Combines `before` with all of a block.
  void putBefore(Value before, ArrayRef<int64_t> block) {
    for (int64_t i : block)
      values[i] = combine(before, values[i]);
  }

  //===--------------------------------------------------------------------===//
  // Values of a thread
  //===--------------------------------------------------------------------===//

  void joinValues(const ScanDigit &digit) {
    for (const Block &whole : getBlocks(digit.step * digit.extent)) {
      size_t size = whole.size() / digit.extent;
      SmallVector<Value> totals;
      for (int64_t k = 0; k + 1 < digit.extent; ++k)
        totals.push_back(takeFromLast(values[whole[(k + 1) * size - 1]]));
      Value before = totals.front();
      for (int64_t k = 1; k < digit.extent; ++k) {
        ArrayRef<int64_t> part = ArrayRef(whole).slice(k * size, size);
        putBefore(before, part);
        if (k + 1 < digit.extent)
          before =
              lanes == 0 ? values[part.back()] : combine(before, totals[k]);
      }
    }
  }

  /// What the last lane has of those over which a block lies.
  Value takeFromLast(Value value) {
    if (lanes == 0)
      return value;
    Value lane = lowering.toI32(lowering.getScope().getLane());
    Value last =
        scan.getReverse()
            ? Value(arith::AndIOp::create(b, loc, lane, lowering.i32(~lanes)))
            : Value(arith::OrIOp::create(b, loc, lane, lowering.i32(lanes)));
    return lowering.shuffle(value, last, gpu::ShuffleMode::IDX);
  }

  //===--------------------------------------------------------------------===//
  // Lanes of a warp
  //===--------------------------------------------------------------------===//

  void joinLanes(const ScanDigit &digit) {
    for (const Block &block : getBlocks(digit.step)) {
      int64_t last = block.back();
      Value total = scanLanes(takeFromLast(values[last]), digit);
      bool isWhole = lanes == 0;
      // Of a block in one lane its last element is what it has in all.
      ArrayRef<int64_t> others = ArrayRef(block).drop_back(isWhole ? 1 : 0);
      if (!others.empty()) {
        Value before = shift(total, digit, 1);
        Value hasBefore = isBehind(digit, 1);
        for (int64_t i : others)
          values[i] = arith::SelectOp::create(
              b, loc, hasBefore, combine(before, values[i]), values[i]);
      }
      if (isWhole)
        values[last] = total;
    }
    lanes |= (digit.extent - 1) * digit.divisor;
  }

  /// Combines `total` with that of all lanes before it.
  Value scanLanes(Value total, const ScanDigit &digit) {
    for (int64_t distance = 1; distance < digit.extent; distance *= 2)
      total = arith::SelectOp::create(
          b, loc, isBehind(digit, distance),
          combine(shift(total, digit, distance), total), total);
    return total;
  }

  /// What the lane `distance` before this one has.
  Value shift(Value value, const ScanDigit &digit, int64_t distance) {
    return lowering.shuffle(value, lowering.i32(distance * digit.divisor),
                            scan.getReverse() ? gpu::ShuffleMode::DOWN
                                              : gpu::ShuffleMode::UP);
  }

  /// True in lanes that have one `distance` before them.
  Value isBehind(const ScanDigit &digit, int64_t distance) {
    Value number = getDigit(digit);
    return scan.getReverse()
               ? compare(arith::CmpIPredicate::ult, number,
                         digit.extent - distance)
               : compare(arith::CmpIPredicate::uge, number, distance);
  }

  Value getDigit(const ScanDigit &digit) {
    return lowering.rem(
        lowering.div(lowering.getScope().getThread(), digit.divisor),
        digit.extent);
  }

  Value compare(arith::CmpIPredicate how, Value a, int64_t value) {
    return arith::CmpIOp::create(b, loc, how, a, lowering.index(value));
  }

  //===--------------------------------------------------------------------===//
  // Groups of threads
  //===--------------------------------------------------------------------===//

  /// Groups write what they have in all of each row, and each thread combines
  /// what those before its own wrote.
  void joinGroups() {
    Value workspace = scan.getWorkspace();
    Value own = lowering.index(0);
    int64_t groups = 1;
    for (const ScanDigit &digit : digits)
      if (digit.kind == ScanDigit::Kind::Group) {
        own = lowering.add(own, lowering.mul(getDigit(digit), groups));
        groups *= digit.extent;
      }
    SmallVector<Block> rows = getBlocks(layout.getShape()[dim]);
    SmallVector<Value> places = llvm::map_to_vector(
        rows, [&](const Block &row) { return getPlace(row.front()); });
    Value isLast = isLastLane();
    for (auto [row, place] : llvm::zip_equal(rows, places))
      lowering.store(values[row.back()], workspace, {own, place}, isLast);
    lowering.getScope().createBarrier();
    // The last group is before no other.
    int64_t first = scan.getReverse() ? 1 : 0,
            end = scan.getReverse() ? groups : groups - 1;
    auto add = [&](Value group, ValueRange before) {
      Value isBefore =
          arith::CmpIOp::create(b, loc,
                                scan.getReverse() ? arith::CmpIPredicate::ugt
                                                  : arith::CmpIPredicate::ult,
                                group, own);
      return llvm::map_to_vector(
          llvm::zip_equal(places, before), [&](auto pair) -> Value {
            auto [place, sum] = pair;
            Value part = lowering.load(workspace, {group, place}, 1,
                                       /*guard=*/Value());
            return arith::SelectOp::create(b, loc, isBefore, combine(sum, part),
                                           sum);
          });
    };
    SmallVector<Value> before(rows.size(), getNeutral());
    if ((end - first) * int64_t(rows.size()) <= kMostParts)
      for (int64_t group = first; group < end; ++group)
        before = add(lowering.index(group), before);
    else
      before = addInLoop(first, end, before, add);
    for (auto [row, sum] : llvm::zip_equal(rows, before))
      putBefore(sum, row);
  }

  /// True in the lane that has what its group has in all; null if all have.
  Value isLastLane() {
    if (lanes == 0)
      return Value();
    Value lane = lowering.toI32(lowering.getScope().getLane());
    Value part = arith::AndIOp::create(b, loc, lane, lowering.i32(lanes));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, part,
                                 lowering.i32(scan.getReverse() ? 0 : lanes));
  }

  SmallVector<Value>
  addInLoop(int64_t first, int64_t end, ValueRange before,
            function_ref<SmallVector<Value>(Value, ValueRange)> add) {
    auto loop =
        scf::ForOp::create(b, loc, lowering.index(first), lowering.index(end),
                           lowering.index(1), before);
    OpBuilder::InsertionGuard saved(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, loc,
                         add(loop.getInductionVar(), loop.getRegionIterArgs()));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// The number of the row that a value is of.
  Value getPlace(int64_t value) {
    Value linear = lowering.index(0);
    SmallVector<int64_t> offset = layout.valueOffset(value);
    for (int64_t d = 0; d < layout.getRank(); ++d)
      if (d != dim)
        linear = lowering.add(
            lowering.mul(linear, layout.getShape()[d]),
            lowering.add(lowering.getScope().getThreadOffset(layout, d),
                         offset[d]));
    return linear;
  }

  ScanOp scan;
  ThreadLowering &lowering;
  OpBuilder &b;
  Location loc;
  int64_t dim;
  FragmentLayout layout;
  SmallVector<ScanDigit> digits;
  MemRefType type;
  Type compute;
  SmallVector<Value> values;
  /// The bits of a lane's number that count places of a block.
  int64_t lanes = 0;
};

} // namespace

LogicalResult tl::lowerScan(ScanOp scan, ThreadLowering &lowering) {
  ScanLowering(scan, lowering).run();
  return success();
}
