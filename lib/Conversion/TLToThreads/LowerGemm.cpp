//===- LowerGemm.cpp - Gemms, by the instruction of their plan ------------===//
//
// wgmma: descriptors of the tiles in shared memory, one group of instructions
// for each warp group. mma.sync: operands by ldmatrix where K is contiguous or
// elements have 16 bits, else one by one. Both take A from where it is if it is
// a fragment, whose registers are in the instructions' order. fma: a loop over
// K around a parallel loop, or inside of it.
//
// All matrix instructions take 32 bytes of K from each operand row, so that
// tiles are walked in steps of 32 bytes whatever the type.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

static constexpr int64_t kStepBytes = 32;
static constexpr int64_t kWarp = 32;
static constexpr int64_t kGroup = 128;

namespace {

/// One operand of a gemm. "MN" is the dimension that the
/// accumulator shares with it: rows of A, columns of B.
struct Operand {
  Value tile;
  bool kMajor; ///< K is the contiguous dimension
  int64_t bytes;
  /// Where the operand begins in the tile, as it is stored.
  std::array<int64_t, 2> place;

  int64_t stepK() const { return kStepBytes / bytes; }

  /// Where it begins along M or N, and along K.
  int64_t firstMN() const { return place[kMajor ? 0 : 1]; }
  int64_t firstK() const { return place[kMajor ? 1 : 0]; }

  /// Coordinates in the tile as it is stored.
  SmallVector<Value> at(ThreadLowering &lowering, Value mn, Value k) const {
    if (firstMN() != 0)
      mn = lowering.add(mn, firstMN());
    if (firstK() != 0)
      k = lowering.add(k, firstK());
    return kMajor ? SmallVector<Value>{mn, k} : SmallVector<Value>{k, mn};
  }
};

} // namespace

static std::pair<Operand, Operand> getOperands(GemmOp gemm) {
  int64_t bytes =
      cast<MemRefType>(gemm.getA().getType()).getElementTypeBitWidth() / 8;
  return {{gemm.getA(), !gemm.getTransposeA(), bytes, gemm.getPlace(false)},
          {gemm.getB(), gemm.getTransposeB(), bytes, gemm.getPlace(true)}};
}

/// Registers of A for one instruction.
static constexpr int64_t kRegistersA = 4;

static MmaKind getKind(Value tile) {
  return getMmaKind(cast<MemRefType>(tile.getType()).getElementType());
}

/// The kind of B's elements, where it is another one than that of A's.
static MmaKindAttr getKindOfB(GemmOp gemm) {
  MmaKind kind = getKind(gemm.getB());
  return kind == getKind(gemm.getA())
             ? MmaKindAttr()
             : MmaKindAttr::get(gemm.getContext(), kind);
}

/// Which part along N a warp or warp group, of `size` threads, computes. Those
/// beyond the last part compute the first ones again.
static Value getColumnPart(GemmPlanAttr plan, Value worker, int64_t size,
                           ThreadLowering &lowering) {
  Value part = lowering.div(worker, plan.getWarpsM());
  if (lowering.getScope().getNumThreads() / size >
      plan.getWarpsM() * plan.getWarpsN())
    part = lowering.rem(part, plan.getWarpsN());
  return part;
}

/// The registers of A, a fragment, block of rows after block of rows, and in
/// each of them four for each step of K.
static Value readRegisters(GemmOp gemm, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Value values = lowering.readFragment(gemm.getA());
  auto type = cast<VectorType>(values.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  Value registers = vector::BitCastOp::create(
      b, lowering.loc, VectorType::get({bits / 32}, b.getI32Type()), values);
  return type.getElementType().isF32() && !gemm.getNarrowA()
             ? roundForTF32(b, lowering.loc, registers)
             : registers;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

namespace {

/// The matrix descriptor of an operand (PTX ISA, "Matrix Descriptor Format")
/// and the offsets of its blocks, in the descriptor's unit of 16 bytes.
class DescriptorBuilder {
public:
  DescriptorBuilder(const Operand &operand, ThreadLowering &lowering)
      : operand(operand), lowering(lowering),
        layout(getSharedLayout(operand.tile)) {}

  /// The descriptor of the tile shifted by `start` bytes.
  Value build(Value start) {
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    Value base = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(),
                                          lowering.getShared().getBase());
    Value offset =
        lowering.add(lowering.getShared().getOffset(operand.tile), start);
    Value address = arith::AddIOp::create(b, loc, base, lowering.toI32(offset));
    // In a cluster the address carries the block's rank in its high bits.
    address = arith::AndIOp::create(b, loc, address, lowering.i32(0x3FFFF));
    address = arith::ShRUIOp::create(b, loc, address, lowering.i32(4));
    uint64_t fields = layout.getMatrixDescriptor(operand.kMajor);
    constexpr uint64_t lowHalf = UINT32_MAX;
    Value low =
        arith::OrIOp::create(b, loc, address, lowering.i32(fields & lowHalf));
    Value high = arith::ConstantIntOp::create(
        b, loc, static_cast<int64_t>(fields & ~lowHalf), 64);
    Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), low);
    return arith::OrIOp::create(b, loc, wide, high);
  }

  /// Bytes from the tile's start to the operand's block row or column `mn`, a
  /// multiple of 8 rows or of whole panels.
  Value startOf(Value mn) {
    Value start = operand.kMajor
                      ? lowering.mul(mn, layout.getRowBytes())
                      : lowering.mul(lowering.div(mn, layout.getChunk()),
                                     layout.getPanelBytes());
    int64_t first = distanceTo(operand.firstMN());
    return first == 0 ? start : lowering.add(start, first);
  }
  /// Bytes from one block row or column to the one that is `mn` behind it.
  int64_t distanceTo(int64_t mn) {
    return operand.kMajor ? layout.getRowOffset(mn)
                          : layout.getColumnOffset(mn);
  }

  /// Bytes to K step `step`.
  int64_t stepOffset(int64_t step) {
    int64_t k = operand.firstK() + step * operand.stepK();
    return operand.kMajor ? layout.getColumnOffset(k) : layout.getRowOffset(k);
  }

private:
  Operand operand;
  ThreadLowering &lowering;
  layout::SharedLayout layout;
};

} // namespace

LogicalResult tl::lowerWgmmaGemm(GemmOp gemm, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  GemmPlanAttr plan = *gemm.getPlan();
  auto [a, bOperand] = getOperands(gemm);
  int64_t groupM = gemm.getM() / plan.getWarpsM();
  int64_t groupN = gemm.getN() / plan.getWarpsN();
  int64_t steps = gemm.getK() * a.bytes / kStepBytes;

  Value group = lowering.div(lowering.getScope().getWarp(), 4);
  Value m0 = lowering.mul(lowering.rem(group, plan.getWarpsM()), groupM);
  Value n0 = lowering.mul(getColumnPart(plan, group, kGroup, lowering), groupN);
  DescriptorBuilder bTile(bOperand, lowering);
  std::optional<DescriptorBuilder> aTile;
  Value aValue;
  if (isInSpace(a.tile, Space::Fragment)) {
    aValue = readRegisters(gemm, lowering);
  } else {
    aTile.emplace(a, lowering);
    aValue = aTile->build(aTile->startOf(m0));
  }
  Value bDescriptor = bTile.build(bTile.startOf(n0));

  SmallVector<int64_t> accOffsets, aOffsets, bOffsets;
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t block = 0; block < groupM / 64; ++block) {
      accOffsets.push_back(block * groupN / 2);
      aOffsets.push_back(
          aTile ? (aTile->distanceTo(block * 64) + aTile->stepOffset(step)) >> 4
                : (block * steps + step) * kRegistersA);
      bOffsets.push_back(bTile.stepOffset(step) >> 4);
    }
  Value acc = lowering.readFragment(gemm.getAcc());
  Value result = WgmmaOp::create(
      b, loc, acc.getType(), getKind(gemm.getA()), getKindOfB(gemm), groupN,
      aValue, bDescriptor, acc, accOffsets, aOffsets, bOffsets,
      /*aMNMajor=*/!a.kMajor, /*bMNMajor=*/!bOperand.kMajor);
  if (gemm.getAsync()) {
    lowering.writeFragment(gemm.getAcc(), result);
    return success();
  }
  SmallVector<Value> values = {result};
  if (!aTile)
    values.push_back(lowering.readFragment(a.tile));
  auto done = WgmmaWaitOp::create(b, loc, 0, values);
  lowering.writeFragment(gemm.getAcc(), done.getResult(0));
  if (!aTile)
    lowering.writeFragment(a.tile, done.getResult(1));
  return success();
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace {

/// Loads operand registers of one warp.
class RegisterLoader {
public:
  RegisterLoader(ThreadLowering &lowering) : lowering(lowering) {}

  /// `count` (2 or 4) registers of an operand's block at (`mn`, `k`). Register
  /// j covers the 8 rows at `mn` + mnOffset[j] and the 16 bytes of K at `k` +
  /// kOffset[j] halves.
  Value load(const Operand &operand, Value mn, Value k,
             ArrayRef<std::pair<int64_t, int64_t>> blocks) {
    if (operand.kMajor || operand.bytes == 2)
      return loadMatrices(operand, mn, k, blocks);
    return loadElements(operand, mn, k, blocks);
  }

private:
  /// One ldmatrix: lane l addresses line l mod 8 of matrix l / 8, a line being
  /// 8 elements of MN if K is not contiguous, which `trans` then turns.
  Value loadMatrices(const Operand &operand, Value mn, Value k,
                     ArrayRef<std::pair<int64_t, int64_t>> blocks) {
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    int64_t count = blocks.size();
    Value lane = lowering.getScope().getLane();
    Value line = lowering.rem(lane, 8);
    Value matrix = lowering.rem(lowering.div(lane, 8), count);
    int64_t half = operand.stepK() / 2;
    auto pick = [&](auto member, int64_t scale) {
      // Offsets are bits of the matrix number: at most one bit each.
      Value sum = lowering.index(0);
      for (int64_t bit = 1; bit < count; bit *= 2)
        if (int64_t value = blocks[bit].*member)
          sum = lowering.add(
              sum, lowering.mul(lowering.rem(lowering.div(matrix, bit), 2),
                                value * scale));
      return sum;
    };
    using Block = std::pair<int64_t, int64_t>;
    Value mnAt = lowering.add(mn, pick(&Block::first, 1));
    Value kAt = lowering.add(k, pick(&Block::second, half));
    (operand.kMajor ? mnAt : kAt) =
        lowering.add(operand.kMajor ? mnAt : kAt, line);
    Value address =
        lowering.getAddress(operand.tile, operand.at(lowering, mnAt, kAt));
    return LdmatrixOp::create(b, loc, VectorType::get({count}, b.getI32Type()),
                              address,
                              /*transpose=*/!operand.kMajor);
  }

  /// Element by element: lane l holds row l / 4 and the 4 bytes of K at l mod 4
  /// of each block.
  Value loadElements(const Operand &operand, Value mn, Value k,
                     ArrayRef<std::pair<int64_t, int64_t>> blocks) {
    OpBuilder &b = lowering.builder;
    Location loc = lowering.loc;
    Value lane = lowering.getScope().getLane();
    int64_t perRegister = 4 / operand.bytes;
    Value row = lowering.add(mn, lowering.div(lane, 4));
    Value column =
        lowering.add(k, lowering.mul(lowering.rem(lane, 4), perRegister));
    Type element = cast<MemRefType>(operand.tile.getType()).getElementType();
    SmallVector<Value> elements;
    for (auto [mnOffset, kOffset] : blocks)
      for (int64_t i = 0; i < perRegister; ++i) {
        Value kAt = lowering.add(column, kOffset * operand.stepK() / 2 + i);
        elements.push_back(lowering.load(
            operand.tile,
            operand.at(lowering, lowering.add(row, mnOffset), kAt), 1,
            /*guard=*/Value()));
      }
    int64_t count = elements.size();
    Value packed = vector::FromElementsOp::create(
        b, loc, VectorType::get({count}, element), elements);
    return vector::BitCastOp::create(
        b, loc,
        VectorType::get({static_cast<int64_t>(blocks.size())}, b.getI32Type()),
        packed);
  }

  ThreadLowering &lowering;
};

} // namespace

/// Of f64 a lane has one element of each row that it multiplies. Tiles are read
/// element by element: no matrix of `ldmatrix` is of as many bytes.
static LogicalResult lowerF64Gemm(GemmOp gemm, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  GemmPlanAttr plan = *gemm.getPlan();
  auto [a, bOperand] = getOperands(gemm);
  int64_t warpM = gemm.getM() / plan.getWarpsM();
  int64_t warpN = gemm.getN() / plan.getWarpsN();
  int64_t tilesM = warpM / 16, tilesN = warpN / 8;

  Value warp = lowering.getScope().getWarp(),
        lane = lowering.getScope().getLane();
  Value m0 = lowering.mul(lowering.rem(warp, plan.getWarpsM()), warpM);
  Value n0 = lowering.mul(getColumnPart(plan, warp, kWarp, lowering), warpN);
  Value line = lowering.div(lane, 4), depth = lowering.rem(lane, 4);
  auto load = [&](const Operand &operand, Value mn, Value k) {
    return lowering.load(
        operand.tile,
        operand.at(lowering, lowering.add(mn, line), lowering.add(k, depth)), 1,
        /*guard=*/Value());
  };

  Value acc = lowering.readFragment(gemm.getAcc());
  SmallVector<Value> sums;
  for (int64_t i = 0; i < tilesM * tilesN; ++i)
    sums.push_back(
        vector::ExtractStridedSliceOp::create(b, loc, acc, i * 4, 4, 1));
  for (int64_t step = 0; step < gemm.getK() / a.stepK(); ++step) {
    Value kAt = lowering.index(step * a.stepK());
    SmallVector<Value> rows, columns;
    for (int64_t m = 0; m < tilesM; ++m)
      rows.push_back(vector::FromElementsOp::create(
          b, loc, VectorType::get({2}, b.getF64Type()),
          ValueRange{load(a, lowering.add(m0, m * 16), kAt),
                     load(a, lowering.add(m0, m * 16 + 8), kAt)}));
    for (int64_t n = 0; n < tilesN; ++n)
      columns.push_back(load(bOperand, lowering.add(n0, n * 8), kAt));
    for (int64_t m = 0; m < tilesM; ++m)
      for (int64_t n = 0; n < tilesN; ++n) {
        Value &sum = sums[m * tilesN + n];
        sum = MmaF64Op::create(b, loc, sum.getType(), rows[m], columns[n], sum);
      }
  }
  for (auto [i, sum] : llvm::enumerate(sums))
    acc = vector::InsertStridedSliceOp::create(b, loc, sum, acc, i * 4, 1);
  lowering.writeFragment(gemm.getAcc(), acc);
  return success();
}

LogicalResult tl::lowerMmaGemm(GemmOp gemm, ThreadLowering &lowering) {
  if (cast<MemRefType>(gemm.getA().getType()).getElementType().isF64())
    return lowerF64Gemm(gemm, lowering);
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  GemmPlanAttr plan = *gemm.getPlan();
  auto [a, bOperand] = getOperands(gemm);
  MmaKind kind = getKind(gemm.getA());
  int64_t warpM = gemm.getM() / plan.getWarpsM();
  int64_t warpN = gemm.getN() / plan.getWarpsN();
  int64_t tilesM = warpM / 16, tilesN = warpN / 8;

  Value warp = lowering.getScope().getWarp();
  Value m0 = lowering.mul(lowering.rem(warp, plan.getWarpsM()), warpM);
  Value n0 = lowering.mul(getColumnPart(plan, warp, kWarp, lowering), warpN);
  RegisterLoader loader(lowering);
  auto loadRounded = [&](bool ofB, Value mn, Value k,
                         ArrayRef<std::pair<int64_t, int64_t>> blocks) {
    Value registers = loader.load(ofB ? bOperand : a, mn, k, blocks);
    return kind == MmaKind::TF32 && !gemm.isNarrow(ofB)
               ? roundForTF32(lowering.builder, lowering.loc, registers)
               : registers;
  };

  Value aRegisters = isInSpace(a.tile, Space::Fragment)
                         ? readRegisters(gemm, lowering)
                         : Value();
  int64_t steps = gemm.getK() / a.stepK();
  Value acc = lowering.readFragment(gemm.getAcc());
  auto accType =
      VectorType::get({4}, cast<VectorType>(acc.getType()).getElementType());
  SmallVector<Value> sums;
  for (int64_t i = 0; i < tilesM * tilesN; ++i)
    sums.push_back(
        vector::ExtractStridedSliceOp::create(b, loc, acc, i * 4, 4, 1));

  for (int64_t step = 0; step < steps; ++step) {
    Value kAt = lowering.index(step * a.stepK());
    SmallVector<Value> rows, columns;
    for (int64_t m = 0; m < tilesM; ++m)
      rows.push_back(aRegisters
                         ? vector::ExtractStridedSliceOp::create(
                               b, loc, aRegisters,
                               (m * steps + step) * kRegistersA, kRegistersA, 1)
                               .getResult()
                         : loadRounded(/*ofB=*/false, lowering.add(m0, m * 16),
                                       kAt, {{0, 0}, {8, 0}, {0, 1}, {8, 1}}));
    for (int64_t n = 0; n < tilesN; n += 2) {
      Value nAt = lowering.add(n0, n * 8);
      if (n + 1 == tilesN) {
        columns.push_back(
            loadRounded(/*ofB=*/true, nAt, kAt, {{0, 0}, {0, 1}}));
        continue;
      }
      Value pair =
          loadRounded(/*ofB=*/true, nAt, kAt, {{0, 0}, {0, 1}, {8, 0}, {8, 1}});
      for (int64_t half = 0; half < 2; ++half)
        columns.push_back(vector::ExtractStridedSliceOp::create(
            b, loc, pair, half * 2, 2, 1));
    }
    for (int64_t m = 0; m < tilesM; ++m)
      for (int64_t n = 0; n < tilesN; ++n) {
        Value &sum = sums[m * tilesN + n];
        sum = MmaOp::create(b, loc, accType, kind, getKindOfB(gemm), rows[m],
                            columns[n], sum);
      }
  }
  for (auto [i, sum] : llvm::enumerate(sums))
    acc = vector::InsertStridedSliceOp::create(b, loc, sum, acc, i * 4, 1);
  lowering.writeFragment(gemm.getAcc(), acc);
  return success();
}

//===----------------------------------------------------------------------===//
// fma
//===----------------------------------------------------------------------===//

/// A loop over the steps of K, with the insertion point left in it.
static scf::ForOp openSteps(GemmOp gemm, ThreadLowering &lowering,
                            ValueRange sums = {}) {
  auto steps =
      scf::ForOp::create(lowering.builder, lowering.loc, lowering.index(0),
                         lowering.index(gemm.getK()), lowering.index(1), sums);
  lowering.builder.setInsertionPointToStart(steps.getBody());
  return steps;
}

/// The elements of both operands that are multiplied at `k`, as `element`.
static std::pair<Value, Value> loadFactors(GemmOp gemm,
                                           ThreadLowering &lowering, Value m,
                                           Value n, Value k, Type element) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  auto [a, bOperand] = getOperands(gemm);
  Value left = convertElement(
      b, loc, LoadOp::create(b, loc, a.tile, a.at(lowering, m, k)), element);
  Value right = convertElement(
      b, loc,
      LoadOp::create(b, loc, bOperand.tile, bOperand.at(lowering, n, k)),
      element);
  return {left, right};
}

static Value addProduct(ThreadLowering &lowering, Value sum, Value left,
                        Value right) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  if (isa<FloatType>(sum.getType()))
    return arith::AddFOp::create(b, loc, sum,
                                 arith::MulFOp::create(b, loc, left, right));
  return arith::AddIOp::create(b, loc, sum,
                               arith::MulIOp::create(b, loc, left, right));
}

/// Steps of K stand around the parallel loop, so that each reads its row and
/// column of the operands once. Of an accumulator in memory they stand inside,
/// so that each sum is read and written once. It adds the same in the same
/// order.
LogicalResult tl::lowerFmaGemm(GemmOp gemm, ThreadLowering &lowering) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value acc = gemm.getAcc();
  auto type = cast<MemRefType>(acc.getType());
  bool isInside = lowering.getFragmentMemory(acc) != Value();
  OpBuilder::InsertionGuard saved(b);
  scf::ForOp steps = isInside ? scf::ForOp() : openSteps(gemm, lowering);
  auto loop = ParallelOp::create(
      b, loc, type.getShape(), toAttr(b.getContext(), lowering.getLayout(acc)));
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(&loop.getBody().front());
    ValueRange at = loop.getBody().getArguments();
    Value sum;
    if (isInside) {
      steps = openSteps(gemm, lowering,
                        LoadOp::create(b, loc, acc, at).getResult());
      sum = steps.getRegionIterArg(0);
    }
    auto [left, right] =
        loadFactors(gemm, lowering, at[0], at[1], steps.getInductionVar(),
                    type.getElementType());
    if (!isInside)
      sum = LoadOp::create(b, loc, acc, at);
    sum = addProduct(lowering, sum, left, right);
    if (isInside) {
      scf::YieldOp::create(b, loc, sum);
      b.setInsertionPointAfter(steps);
      sum = steps.getResult(0);
    }
    StoreOp::create(b, loc, sum, acc, at);
  }
  LogicalResult result = lowerParallel(loop, lowering);
  loop.erase();
  return result;
}
