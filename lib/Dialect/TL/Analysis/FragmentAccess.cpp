//===- FragmentAccess.cpp - Fragments as parallel loops touch them --------===//
//
// The proofs of the rules in FragmentAccess.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/IR/Addresses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace tl;
using layout::FragmentIndex;
using layout::FragmentLayout;

/// Constants that are added to loop indices: a sum with a larger one, which no
/// fragment has room for, could wrap.
static constexpr uint64_t kMostBeside = 1 << 20;

/// An index of `loop`, a constant, or, in reads, the sum of the two.
static std::optional<FragmentIndex> getOneIndex(Value index, ParallelOp loop,
                                                bool isWrite) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return FragmentIndex{-1, constant.getSExtValue()};
  int64_t position = 0;
  if (auto sum = index.getDefiningOp<arith::AddIOp>();
      sum && !isWrite && sum.getType().isIndex() &&
      matchPattern(sum.getRhs(), m_ConstantInt(&constant)) &&
      constant.abs().ult(kMostBeside)) {
    index = sum.getLhs();
    position = constant.getSExtValue();
  }
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument || argument.getOwner() != &loop.getBody().front())
    return std::nullopt;
  return FragmentIndex{argument.getArgNumber(), position};
}

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

namespace {

/// A sum of multiples of a loop's indices, and a constant; no factor and no
/// constant is negative. Indices that are always zero have the factor zero.
struct IndexSum {
  SmallVector<int64_t> factors;
  int64_t constant = 0;

  /// The greatest value in a loop of `extents`.
  int64_t getGreatest(ArrayRef<int64_t> extents) const {
    int64_t greatest = constant;
    for (auto [factor, extent] : llvm::zip_equal(factors, extents))
      greatest += factor * (extent - 1);
    return greatest;
  }
};

/// Reads the arithmetic of an index, each number once. Every number on the way
/// is seen to stay below 2^31, so that nothing wraps, whatever the width.
class IndexReader {
public:
  explicit IndexReader(ParallelOp loop)
      : body(&loop.getBody().front()), extents(loop.getExtents()) {}

  std::optional<IndexSum> read(Value value, int depth = 0) {
    Type type = value.getType();
    if (!type.isIndex() && type.getIntOrFloatBitWidth() < 32)
      return std::nullopt;
    if (auto it = known.find(value); it != known.end())
      return it->second;
    std::optional<IndexSum> sum = readAny(value, depth);
    if (sum && sum->getGreatest(extents) > kGreatest)
      sum = std::nullopt;
    known[value] = sum;
    return sum;
  }

private:
  static constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();
  static constexpr int kMostDepth = 32;

  IndexSum getConstant(int64_t constant) const {
    return {SmallVector<int64_t>(extents.size()), constant};
  }

  static std::optional<int64_t> matchConstant(Value value) {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)) ||
        constant.isNegative() || constant.getActiveBits() > 31)
      return std::nullopt;
    return constant.getSExtValue();
  }

  std::optional<IndexSum> readAny(Value value, int depth) {
    if (depth > kMostDepth)
      return std::nullopt;
    if (std::optional<int64_t> constant = matchConstant(value))
      return getConstant(*constant);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != body)
        return std::nullopt;
      IndexSum sum = getConstant(0);
      if (extents[argument.getArgNumber()] > 1)
        sum.factors[argument.getArgNumber()] = 1;
      return sum;
    }
    Operation *op = value.getDefiningOp();
    if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
      return read(cast.getIn(), depth + 1);
    if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::DivUIOp,
                         arith::RemUIOp, arith::DivSIOp, arith::RemSIOp,
                         arith::FloorDivSIOp>(op))
      return std::nullopt;
    std::optional<IndexSum> left = read(op->getOperand(0), depth + 1);
    if (!left)
      return std::nullopt;
    if (isa<arith::AddIOp>(op)) {
      std::optional<IndexSum> right = read(op->getOperand(1), depth + 1);
      if (!right)
        return std::nullopt;
      for (auto [factor, more] : llvm::zip_equal(left->factors, right->factors))
        factor += more;
      left->constant += right->constant;
      return left;
    }
    std::optional<int64_t> number = matchConstant(op->getOperand(1));
    if (!number)
      return std::nullopt;
    if (!isa<arith::MulIOp>(op))
      return divide(*left, *number, isa<arith::RemUIOp, arith::RemSIOp>(op));
    for (int64_t &factor : left->factors)
      factor *= *number;
    left->constant *= *number;
    return left;
  }

  /// The quotient or the rest: multiples of the divisor go into the quotient,
  /// if what is not one never reaches the divisor.
  std::optional<IndexSum> divide(const IndexSum &sum, int64_t divisor,
                                 bool takeRest) const {
    if (divisor == 0)
      return std::nullopt;
    IndexSum quotient = getConstant(sum.constant / divisor);
    IndexSum rest = getConstant(sum.constant % divisor);
    for (auto [dim, factor] : llvm::enumerate(sum.factors))
      if (factor % divisor == 0)
        quotient.factors[dim] = factor / divisor;
      else
        rest.factors[dim] = factor;
    if (rest.getGreatest(extents) >= divisor)
      return std::nullopt;
    return takeRest ? rest : quotient;
  }

  Block *body;
  ArrayRef<int64_t> extents;
  DenseMap<Value, std::optional<IndexSum>> known;
};

} // namespace

/// Appends the digits in which `loop` counts a dimension of `extent` by
/// `index`, and the index of each. False if it is no such number.
static bool readDigits(Value index, int64_t extent, ParallelOp loop,
                       FragmentAccess &access) {
  std::optional<IndexSum> sum = IndexReader(loop).read(index);
  if (!sum)
    return false;
  SmallVector<int64_t> dims;
  for (auto [dim, factor] : llvm::enumerate(sum->factors))
    if (factor != 0)
      dims.push_back(dim);
  if (dims.empty()) {
    access.digits.push_back({extent});
    access.indices->push_back({-1, sum->constant});
    return true;
  }
  if (sum->constant != 0)
    return false;
  llvm::sort(dims, [&](int64_t a, int64_t b) {
    return sum->factors[a] < sum->factors[b];
  });
  // Each digit counts what all faster ones reach together.
  SmallVector<int64_t, 2> digits;
  int64_t reached = 1;
  for (int64_t dim : dims) {
    if (sum->factors[dim] != reached)
      return false;
    digits.push_back(loop.getExtents()[dim]);
    reached *= digits.back();
  }
  // The slowest one has the rest, of which the loop may take a part.
  int64_t faster = reached / digits.back();
  if (extent % faster != 0)
    return false;
  digits.back() = extent / faster;
  for (int64_t dim : llvm::reverse(dims))
    access.indices->push_back({dim, 0});
  access.digits.push_back({digits.rbegin(), digits.rend()});
  return true;
}

FragmentAccess tl::getFragmentAccess(Operation *op, Value fragment,
                                     ValueRange indices, ParallelOp loop) {
  FragmentAccess access{op, fragment, isa<StoreOp>(op), {}, {}};
  access.indices.emplace();
  ArrayRef<int64_t> shape = cast<MemRefType>(fragment.getType()).getShape();
  for (auto [index, extent] : llvm::zip_equal(indices, shape)) {
    if (std::optional<FragmentIndex> one =
            getOneIndex(index, loop, access.isWrite)) {
      access.indices->push_back(*one);
      access.digits.push_back({extent});
    } else if (!readDigits(index, extent, loop, access)) {
      access.indices.reset();
      access.digits.clear();
      break;
    }
  }
  return access;
}

SmallVector<int64_t> FragmentAccess::getShape() const {
  SmallVector<int64_t> shape;
  for (ArrayRef<int64_t> dim : digits)
    shape.append(dim.begin(), dim.end());
  return shape;
}

std::optional<FragmentLayout>
FragmentAccess::see(const FragmentLayout &layout) const {
  return layout::splitDims(layout, digits);
}

SmallVector<FragmentAccess> tl::getFragmentAccesses(ParallelOp loop) {
  SmallVector<FragmentAccess> accesses;
  loop.getBody().walk([&](Operation *op) {
    Value buffer;
    ValueRange indices;
    if (auto load = dyn_cast<LoadOp>(op)) {
      buffer = load.getSource();
      indices = load.getIndices();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      buffer = store.getTarget();
      indices = store.getIndices();
    }
    if (buffer && isInSpace(buffer, Space::Fragment))
      accesses.push_back(getFragmentAccess(op, buffer, indices, loop));
  });
  return accesses;
}

std::optional<SmallVector<int64_t>> FragmentAccess::getDims() const {
  return isBeside() ? std::nullopt : getDimsBeside();
}

bool FragmentAccess::isBeside() const {
  return indices && llvm::any_of(*indices, [](FragmentIndex index) {
           return index.dim >= 0 && index.position != 0;
         });
}

/// The loop index that each dimension is indexed by; negative for constants
/// where `isFree` says of a dimension that they do not matter.
static std::optional<SmallVector<int64_t>>
findDims(const FragmentAccess &access, function_ref<bool(int64_t)> isFree) {
  if (!access.indices)
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (auto [i, index] : llvm::enumerate(*access.indices)) {
    bool isWhole =
        index.dim < 0 ? isFree(i) : !llvm::is_contained(dims, index.dim);
    if (!isWhole)
      return std::nullopt;
    dims.push_back(index.dim);
  }
  return dims;
}

std::optional<SmallVector<int64_t>> FragmentAccess::getDimsBeside() const {
  return findDims(*this, [&](int64_t dim) { return getShape()[dim] == 1; });
}

std::optional<SmallVector<int64_t>>
FragmentAccess::getDimsWithin(const FragmentLayout &layout) const {
  std::optional<FragmentLayout> seen;
  if (indices)
    seen = see(layout);
  if (!seen)
    return getDimsBeside();
  return findDims(*this,
                  [&](int64_t dim) { return seen->threadSteps(dim).empty(); });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static ValueRange getIndices(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getIndices();
  return cast<StoreOp>(op).getIndices();
}

bool FragmentAccess::isOfRow(ParallelOp loop) const {
  ArrayRef<int64_t> shape = cast<MemRefType>(fragment.getType()).getShape();
  return shape.size() == loop.getExtents().size() + 1 &&
         shape.drop_back() == loop.getExtents() &&
         llvm::equal(getIndices(op).drop_back(), loop.getBody().getArguments());
}

bool tl::picksFromRow(Operation *op, Value fragment) {
  auto loop = op->getParentOfType<ParallelOp>();
  if (!loop || !isa<LoadOp, StoreOp>(op))
    return false;
  FragmentAccess access{op, fragment, isa<StoreOp>(op), {}, {}};
  return access.isOfRow(loop) &&
         !matchPattern(getIndices(op).back(), m_Constant());
}

bool tl::isInOwnRow(const FragmentAccess &access, ParallelOp loop,
                    const FragmentLayout &loopLayout,
                    const FragmentLayout &fragmentLayout) {
  if (!access.isOfRow(loop))
    return false;
  auto rows =
      layout::getRows(cast<MemRefType>(access.fragment.getType()).getShape());
  return fragmentLayout == rows &&
         loopLayout == rows.project(rows.getRank() - 1);
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

/// R2: every loop index that takes several values is an index of the access.
static bool isInjective(const FragmentAccess &access, ParallelOp loop) {
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (extent > 1 && llvm::none_of(*access.indices, [&](FragmentIndex index) {
          return index.dim == static_cast<int64_t>(dim);
        }))
      return false;
  return true;
}

/// R3: along each index, the positions past the loop's extent that its layout
/// has are past the fragment's extent as well.
static bool writesNothingBeyond(const FragmentAccess &access, ParallelOp loop,
                                const FragmentLayout &layout) {
  for (auto [index, extent] :
       llvm::zip_equal(*access.indices, access.getShape())) {
    if (index.dim < 0)
      continue;
    int64_t end = loop.getExtents()[index.dim];
    if (layout.getShape()[index.dim] > end && end < extent)
      return false;
  }
  // A loop index that is not an index of the access has one position, and the
  // lanes beyond it would write the same elements again.
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (layout.getShape()[dim] > extent &&
        llvm::none_of(*access.indices, [&](FragmentIndex index) {
          return index.dim == static_cast<int64_t>(dim);
        }))
      return false;
  return true;
}

/// R4: true if the loop reads a buffer in memory that it writes.
static bool readsWhatItWrites(ParallelOp loop) {
  llvm::SmallPtrSet<Value, 4> read, written;
  loop.getBody().walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      Value buffer = effect.getValue();
      if (!buffer || !isa<MemRefType>(buffer.getType()) ||
          isInSpace(buffer, Space::Fragment) ||
          isInSpace(buffer, Space::Private))
        continue;
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        read.insert(getBuffer(buffer));
      if (isa<MemoryEffects::Write>(effect.getEffect()))
        written.insert(getBuffer(buffer));
    }
  });
  return llvm::any_of(
      read, [&](Value buffer) { return mayBeOneOf(buffer, written); });
}

const char *tl::refuseRegisters(const FragmentAccess &access, ParallelOp loop,
                                const FragmentLayout &loopLayout,
                                const FragmentLayout &fragmentLayout) {
  if (isInOwnRow(access, loop, loopLayout, fragmentLayout))
    return nullptr;
  std::optional<FragmentLayout> seen;
  if (access.indices)
    seen = access.see(fragmentLayout);
  if (!seen || !layout::findRegisters(loopLayout, *seen, *access.indices))
    return "(R1) a thread does not hold the elements that its iterations touch";
  if (!access.isWrite)
    return nullptr;
  if (!isInjective(access, loop))
    return "(R2) several iterations write one element";
  if (!writesNothingBeyond(access, loop, loopLayout))
    return "(R3) threads without an iteration would write";
  if (loopLayout.numCopies() > 1 && readsWhatItWrites(loop))
    return "(R4) several threads run an iteration that reads memory which the "
           "loop writes";
  return nullptr;
}
