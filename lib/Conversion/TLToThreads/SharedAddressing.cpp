//===- SharedAddressing.cpp - Where shared buffers lie --------------------===//

#include "tl/Conversion/TLToThreads/SharedAddressing.h"

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tl;

static constexpr unsigned kSharedSpace = 3;
static constexpr int64_t kBarrierBytes = 8;

Value SharedAddressing::getBase() {
  if (!base)
    base = b.atEntry([&]() -> Value {
      return SharedBaseOp::create(
          b.builder, b.loc,
          LLVM::LLVMPointerType::get(b.builder.getContext(), kSharedSpace));
    });
  return base;
}

Value SharedAddressing::getOffset(Value view) {
  Value offset = b.index(0);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    int64_t bytes = getSharedLayout(slot.getView()).getSlotBytes();
    offset = b.add(offset, b.mul(slot.getIndex(), bytes));
    view = slot.getSource();
  }
  return b.add(offset, *view.getDefiningOp<AllocOp>().getOffset());
}

Value SharedAddressing::getAddress(Value offset) {
  Value arena = getBase();
  return LLVM::GEPOp::create(b.builder, b.loc, arena.getType(),
                             b.builder.getI8Type(), arena,
                             ArrayRef<LLVM::GEPArg>(b.toI32(offset)));
}

/// The address in the block of the cluster that has what is at `address` here.
/// PTX ISA, `mapa`: of a number that no block has the result is undefined.
Value SharedAddressing::mapToRank(Value address, Value rank) {
  int64_t last = getClusterSize(b.getKernel()) - 1;
  std::optional<int64_t> known = getConstant(rank);
  if (!known || *known < 0 || *known > last)
    rank = arith::MinUIOp::create(b.builder, b.loc, rank, b.index(last));
  auto remote = LLVM::LLVMPointerType::get(
      b.builder.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  return NVVM::MapaOp::create(b.builder, b.loc, remote, address, b.toI32(rank));
}

Value SharedAddressing::getAddress(Value view, ValueRange indices) {
  if (auto mapped = view.getDefiningOp<MapSharedRankOp>())
    return mapToRank(getAddress(mapped.getSource(), indices), mapped.getRank());
  SmallVector<Value> position(indices);
  for (Value tile = getTileView(view); view != tile;) {
    auto slot = view.getDefiningOp<SlotOp>();
    position.insert(position.begin(), slot.getIndex());
    view = slot.getSource();
  }
  layout::SharedLayout layout = getSharedLayout(view);
  int64_t swizzle = layout.getSwizzleMask();
  auto [own, constant] = getSplitOffset(layout, position);
  if (swizzle == 0)
    return getAddress(b.add(b.add(own, getOffset(view)), constant));
  // The swizzle: 16-byte units move by the number of their 128-byte line.
  auto move = [&](Value offset) -> Value {
    Value line = b.div(offset, 8);
    Value flip =
        arith::AndIOp::create(b.builder, b.loc, line, b.index(swizzle));
    return arith::XOrIOp::create(b.builder, b.loc, offset, flip);
  };
  if ((getPossibleBits(own) & constant) != 0)
    return getAddress(b.add(move(b.add(own, constant)), getOffset(view)));
  // Of two numbers without a bit in common the sum moves by what each of them
  // does: of many elements of a thread the own part is computed once, and what
  // is outside of the swizzle goes into the instruction.
  int64_t moved = constant ^ (constant >> 3 & swizzle);
  Value place = move(own);
  if (int64_t flip = moved & swizzle)
    place = arith::XOrIOp::create(b.builder, b.loc, place, b.index(flip));
  return getAddress(b.add(b.add(place, getOffset(view)), moved & ~swizzle));
}

/// Sums that are looked through for constants.
static constexpr unsigned kMostSums = 32;

/// The power of two by which `index` is a quotient or a remainder.
static std::optional<int64_t> getDivisorOfBits(Value index) {
  Operation *op = index.getDefiningOp();
  if (!isa_and_nonnull<arith::DivUIOp, arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> by = getConstant(op->getOperand(1));
  return by && *by > 0 && llvm::isPowerOf2_64(*by) ? by : std::nullopt;
}

/// `sum` as a sum of a value and of a constant that has no bit in common with
/// it; the constant is zero if there is no such sum.
std::pair<Value, int64_t> SharedAddressing::splitSum(Value sum) {
  unsigned left = kMostSums;
  auto split = [&](auto &self, Value sum) -> std::pair<Value, int64_t> {
    if (std::optional<int64_t> number = getConstant(sum);
        number && *number >= 0)
      return {b.index(0), *number};
    auto add = sum.getDefiningOp<arith::AddIOp>();
    if (!add || left == 0)
      return {sum, 0};
    --left;
    auto [one, first] = self(self, add.getLhs());
    auto [other, second] = self(self, add.getRhs());
    if (first + second == 0)
      return {sum, 0};
    return {b.add(one, other), first + second};
  };
  auto [own, constant] = split(split, sum);
  if (constant > INT32_MAX || (getPossibleBits(own) & constant) != 0)
    return {sum, 0};
  return {own, constant};
}

/// `index` as a sum of a value and of a constant that has no bit in common with
/// it; the constant is zero if there is no such sum. Quotients and remainders
/// by powers of two are groups of bits: of a sum without a carry they are the
/// sum of those of its parts.
std::pair<Value, int64_t> SharedAddressing::splitIndex(Value index) {
  SmallVector<std::pair<Operation *, int64_t>> digits;
  Value sum = index;
  while (std::optional<int64_t> by = getDivisorOfBits(sum)) {
    digits.push_back({sum.getDefiningOp(), *by});
    sum = sum.getDefiningOp()->getOperand(0);
  }
  auto [own, constant] = splitSum(sum);
  if (constant == 0)
    return {index, 0};
  for (auto [op, by] : llvm::reverse(digits)) {
    bool isQuotient = isa<arith::DivUIOp>(op);
    own = isQuotient ? b.div(own, by) : b.rem(own, by);
    constant = isQuotient ? constant / by : constant % by;
  }
  return {own, constant};
}

/// Where an element is in its tile, in bytes and before the swizzle, as a sum
/// of a value and a constant. Digits of numbers without a bit in common are
/// those of each, if they are groups of bits.
std::pair<Value, int64_t>
SharedAddressing::getSplitOffset(const layout::SharedLayout &layout,
                                 ArrayRef<Value> position) {
  bool isOfBits = llvm::all_of(
      layout.getTerms(), [](const layout::SharedLayout::Term &term) {
        return llvm::isPowerOf2_64(term.divisor) &&
               (term.extent == 0 || llvm::isPowerOf2_64(term.extent));
      });
  SmallVector<std::pair<Value, int64_t>> parts;
  for (Value index : position)
    parts.push_back(isOfBits ? splitIndex(index)
                             : std::pair(index, int64_t(0)));
  Value offset = b.index(0);
  int64_t constant = 0;
  for (const layout::SharedLayout::Term &term : layout.getTerms()) {
    auto [own, fixed] = parts[term.dim];
    Value digit = b.div(own, term.divisor);
    fixed /= term.divisor;
    if (term.extent) {
      digit = b.rem(digit, term.extent);
      fixed %= term.extent;
    }
    offset = b.add(offset, b.mul(digit, term.bytes));
    constant += fixed * term.bytes;
  }
  return {offset, constant};
}

Value SharedAddressing::getBarrierAddress(Value barriers, Value index) {
  auto alloc = barriers.getDefiningOp<AllocBarriersOp>();
  return getAddress(b.add(b.mul(index, kBarrierBytes), *alloc.getOffset()));
}
