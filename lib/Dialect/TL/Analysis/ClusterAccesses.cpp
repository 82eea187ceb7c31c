//===- ClusterAccesses.cpp - Accesses by several blocks of a cluster ------===//
//
// Along each dimension of a buffer, slots included, an access touches indices
// from a least to a greatest one, which move with the block's coordinates in
// its cluster: `slots[rank]`. Two accesses are apart if along some dimension
//
// - neither moves, and the one ends before the other one begins; or
// - both move alike, by so much from any block to any other that they cannot
//   meet, since they are of different blocks.
//
// An index with other parts may be any: one of a loop is another one when the
// other block comes to it. So may one that could wrap around, at 32 bits or at
// those of a narrower type: 2^30 times the block's place is 0 in every fourth
// block.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ClusterAccesses.h"

#include "tl/Dialect/TL/Analysis/ClusterDependence.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

using Extents = std::array<int64_t, 3>;

namespace {
/// Indices along one dimension.
struct Span {
  int64_t low = 0, high = 0;
  /// By how much a coordinate in the cluster moves them.
  Extents moves = {0, 0, 0};
};
} // namespace

/// Sums with more parts than this are not taken apart, nor are larger factors.
static constexpr int kMaxParts = 32;
static constexpr int64_t kMaxFactor = int64_t(1) << 31;

/// True if numbers of `type` wrap around where an index does, or later.
static bool isAsWideAsIndices(Type type) {
  return type.isIndex() || type.getIntOrFloatBitWidth() >= 32;
}

/// True if the indices are 32-bit numbers in all blocks, so that those that the
/// kernel computes, modulo 2^32, are these.
static bool isWithoutWrap(const Span &span, const Extents &extents) {
  int64_t low = span.low, high = span.high;
  for (auto [move, extent] : llvm::zip(span.moves, extents))
    (move < 0 ? low : high) += move * (extent - 1);
  return llvm::isInt<32>(low) && llvm::isInt<32>(high);
}

/// The dimension whose coordinate in the cluster `value` is.
static std::optional<unsigned>
getCoordinate(Value value, const ClusterDependence &dependence) {
  Operation *op = value.getDefiningOp();
  APInt divisor;
  if (!isa_and_nonnull<arith::RemUIOp, arith::RemSIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    return std::nullopt;
  Value dividend = op->getOperand(0);
  while (auto cast = dividend.getDefiningOp<arith::IndexCastOp>()) {
    if (!isAsWideAsIndices(cast.getType()))
      return std::nullopt;
    dividend = cast.getIn();
  }
  std::optional<unsigned> dim = dependence.getDimension(dividend);
  if (!dim || divisor.getSExtValue() != dependence.getExtents()[*dim])
    return std::nullopt;
  return dim;
}

/// Adds `factor` times `index`. Fails if that may be anything.
static LogicalResult add(Span &span, Value index, int64_t factor,
                         const ClusterDependence &dependence) {
  SmallVector<std::pair<Value, int64_t>> worklist = {{index, factor}};
  for (int parts = 0; !worklist.empty(); ++parts) {
    auto [value, scale] = worklist.pop_back_val();
    if (parts == kMaxParts || std::abs(scale) >= kMaxFactor ||
        !isAsWideAsIndices(value.getType()))
      return failure();
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      if (!constant.isSignedIntN(32))
        return failure();
      span.low += scale * constant.getSExtValue();
      span.high += scale * constant.getSExtValue();
      continue;
    }
    if (std::optional<unsigned> dim = getCoordinate(value, dependence)) {
      span.moves[*dim] += scale;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto sum = dyn_cast_or_null<arith::AddIOp>(op)) {
      worklist.push_back({sum.getLhs(), scale});
      worklist.push_back({sum.getRhs(), scale});
    } else if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op)) {
      worklist.push_back({cast.getIn(), scale});
    } else if (auto product = dyn_cast_or_null<arith::MulIOp>(op);
               product &&
               matchPattern(product.getRhs(), m_ConstantInt(&constant)) &&
               std::abs(constant.getSExtValue()) < kMaxFactor) {
      worklist.push_back({product.getLhs(), scale * constant.getSExtValue()});
    } else {
      return failure();
    }
  }
  return success();
}

static std::optional<Span> getSpan(const std::optional<IndexForm> &form,
                                   ArrayRef<int64_t> box,
                                   const ClusterDependence &dependence) {
  if (!form)
    return std::nullopt;
  Span span{form->constant, form->constant};
  for (auto [factor, extent] : llvm::zip(form->coordinates, box))
    (factor < 0 ? span.low : span.high) += factor * (extent - 1);
  for (auto [value, factor] : form->terms)
    if (failed(add(span, value, factor, dependence)))
      return std::nullopt;
  return isWithoutWrap(span, dependence.getExtents()) ? std::optional(span)
                                                      : std::nullopt;
}

/// One for each dimension of the buffer; none where it may be any index.
static SmallVector<std::optional<Span>>
getSpans(const Access &access, const ClusterDependence &dependence) {
  SmallVector<std::optional<Span>> spans;
  Value view = getUnmapped(access.buffer);
  for (auto slot = view.getDefiningOp<SlotOp>(); slot;
       slot = slot.getSource().getDefiningOp<SlotOp>()) {
    Span span;
    bool isKnown = succeeded(add(span, slot.getIndex(), 1, dependence)) &&
                   isWithoutWrap(span, dependence.getExtents());
    spans.insert(spans.begin(), isKnown ? std::optional(span) : std::nullopt);
  }
  int64_t rank = cast<MemRefType>(view.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    spans.push_back(access.footprint
                        ? getSpan(access.footprint->indices[dim],
                                  access.footprint->extents, dependence)
                        : std::nullopt);
  return spans;
}

/// True if from any block of the cluster to any other one indices move by
/// `width` or more: as digits of a number do, of which each counts more than
/// all before it.
static bool movesBy(const Extents &moves, int64_t width,
                    const Extents &extents) {
  SmallVector<std::pair<int64_t, int64_t>> digits;
  for (auto [move, extent] : llvm::zip(moves, extents))
    if (extent > 1)
      digits.push_back({std::abs(move), extent});
  llvm::sort(digits);
  for (auto [move, extent] : digits) {
    if (move < width)
      return false;
    width += move * (extent - 1);
  }
  return true;
}

bool tl::areApartInCluster(const Access &a, const Access &b,
                           const ClusterDependence &dependence) {
  for (auto [one, other] :
       llvm::zip_equal(getSpans(a, dependence), getSpans(b, dependence))) {
    if (!one || !other || one->moves != other->moves)
      continue;
    if (one->moves == Extents{0, 0, 0}) {
      if (one->high < other->low || other->high < one->low)
        return true;
      continue;
    }
    int64_t width =
        std::max(one->high, other->high) - std::min(one->low, other->low) + 1;
    if (movesBy(one->moves, width, dependence.getExtents()))
      return true;
  }
  return false;
}
