//===- OwnElements.cpp - Threads that keep to elements of their own -------===//
//
// An index is a sum of two parts. One is the same for all threads as long as
// the statements run: what is computed before them, with factors. The other one
// is computed of numbers, of the thread's number and of the indices of loops in
// the statements; it is computed, for each thread and each iteration. Two
// accesses whose first parts are the same touch one element only if their
// second parts are equal, in all dimensions. A dimension of which that cannot
// be said tells nothing apart.
//
// Sound because
//
// - conditions are ignored, so that more is taken to be touched than is;
// - arithmetic on `index` and `i32` wraps at 32 bits (I1), and all numbers are
//   seen to stay below 2^30 in size: sums with the same first part are equal
//   only if they are, wrapped or not. Other types are not read;
// - what does not follow from these rules is not known, and an access of which
//   nothing is known meets every other one.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/OwnElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tl;

/// Points of one access, and of all accesses of a buffer: beyond, nothing is
/// proven.
static constexpr int64_t kMostPoints = 1 << 15, kMostWork = 1 << 19;
static constexpr int64_t kGreatest = 1 << 30;
/// As many dimensions are looked at.
static constexpr size_t kMostDims = 4;

/// Computes indices, over the threads of a block (the first one fastest) and
/// the iterations of loops.
class OwnElements::Reader {
public:
  Reader(const OwnElements &own) : own(own) {
    for (int32_t extent : own.size)
      threads *= extent;
    points = threads;
  }

  /// Takes the loops that `index` is made of into the domain. False if an
  /// iteration cannot be counted, or they are too many.
  bool findLoops(Value index) {
    SetVector<Value> parts;
    parts.insert(index);
    for (size_t i = 0; i < parts.size(); ++i) {
      Value part = parts[i];
      if (isFixed(part))
        continue;
      if (auto argument = dyn_cast<BlockArgument>(part)) {
        auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
        if (!loop || part != loop.getInductionVar())
          return false;
        if (loops.contains(part))
          continue;
        APInt lower, step;
        std::optional<APInt> trips = loop.getStaticTripCount();
        if (!trips ||
            !matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
            !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
            trips->ugt(kMostPoints) || lower.abs().ugt(kGreatest) ||
            step.abs().ugt(kGreatest))
          return false;
        int64_t count = std::max<int64_t>(1, trips->getSExtValue());
        loops[part] = {points, count, lower.getSExtValue(),
                       step.getSExtValue()};
        points *= count;
        if (points > kMostPoints)
          return false;
        continue;
      }
      parts.insert_range(part.getDefiningOp()->getOperands());
    }
    return true;
  }

  int64_t getPointsOfThread() const { return points / threads; }

  std::optional<Place> read(Value value) {
    if (auto it = known.find(value); it != known.end())
      return it->second;
    std::optional<Place> place = readAny(value);
    if (place && llvm::any_of(place->numbers, [](int64_t number) {
          return std::abs(number) >= kGreatest;
        }))
      place = std::nullopt;
    known[value] = place;
    return place;
  }

private:
  struct Loop {
    int64_t divisor, count, lower, step;
  };

  /// True if `value` is the same for all threads and iterations.
  bool isFixed(Value value) const {
    return value.getParentRegion()->isAncestor(own.block.getParent()) &&
           !own.dependence.depends(value);
  }

  Place getNumbers(llvm::function_ref<int64_t(int64_t)> number) const {
    Place place;
    place.numbers.resize(points);
    for (int64_t point = 0; point < points; ++point)
      place.numbers[point] = number(point);
    return place;
  }

  std::optional<Place> readAny(Value value) {
    if (!value.getType().isIndex() && !value.getType().isInteger(32))
      return std::nullopt;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      if (constant.getSignificantBits() > 31)
        return std::nullopt;
      return getNumbers([&](int64_t) { return constant.getSExtValue(); });
    }
    if (auto it = loops.find(value); it != loops.end()) {
      Loop loop = it->second;
      return getNumbers([&](int64_t point) {
        return loop.lower + point / loop.divisor % loop.count * loop.step;
      });
    }
    Operation *op = value.getDefiningOp();
    if (auto thread = dyn_cast_or_null<gpu::ThreadIdOp>(op))
      return readThread(thread);
    if (op && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      if (std::optional<Place> place = readSum(op))
        return place;
    if (isFixed(value)) {
      Place place = getNumbers([](int64_t) { return 0; });
      place.fixed[value] = 1;
      return place;
    }
    if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
      return read(cast.getIn());
    return op ? readNumbers(op) : std::nullopt;
  }

  Place readThread(gpu::ThreadIdOp thread) const {
    int64_t divisor = 1;
    auto dim = static_cast<unsigned>(thread.getDimension());
    for (unsigned d = 0; d < dim; ++d)
      divisor *= own.size[d];
    int64_t extent = own.size[dim];
    return getNumbers(
        [&](int64_t point) { return point % threads / divisor % extent; });
  }

  std::optional<Place> readSum(Operation *op) {
    std::optional<Place> left = read(op->getOperand(0)),
                         right = read(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    if (isa<arith::MulIOp>(op)) {
      APInt factor;
      if (matchPattern(op->getOperand(0), m_ConstantInt(&factor)))
        std::swap(left, right);
      bool isNumber = right->fixed.empty() && left->fixed.empty();
      if (!isNumber &&
          (!right->fixed.empty() || !llvm::all_equal(right->numbers)))
        return std::nullopt;
      for (auto &[value, times] : left->fixed) {
        times *= right->numbers.front();
        if (std::abs(times) >= kGreatest)
          return std::nullopt;
      }
      for (auto [number, by] : llvm::zip_equal(left->numbers, right->numbers))
        number *= by;
      return left;
    }
    int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
    for (auto [value, times] : right->fixed) {
      int64_t &sum = left->fixed[value];
      sum += sign * times;
      if (std::abs(sum) >= kGreatest)
        return std::nullopt;
    }
    left->fixed.remove_if([](auto &term) { return term.second == 0; });
    for (auto [number, more] : llvm::zip_equal(left->numbers, right->numbers))
      number += sign * more;
    return left;
  }

  /// What is computed of numbers alone, none of them negative: then signed and
  /// unsigned operations are the same.
  std::optional<Place> readNumbers(Operation *op) {
    if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
             arith::RemSIOp, arith::RemUIOp, arith::XOrIOp, arith::AndIOp,
             arith::OrIOp, arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp,
             arith::MaxUIOp, arith::ShRUIOp, arith::ShRSIOp, arith::ShLIOp>(op))
      return std::nullopt;
    std::optional<Place> left = read(op->getOperand(0)),
                         right = read(op->getOperand(1));
    if (!left || !right || !left->fixed.empty() || !right->fixed.empty())
      return std::nullopt;
    for (auto [a, b] : llvm::zip_equal(left->numbers, right->numbers)) {
      if (a < 0 || b < 0)
        return std::nullopt;
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
              arith::RemSIOp, arith::RemUIOp>(op)) {
        if (b == 0)
          return std::nullopt;
        a = isa<arith::RemSIOp, arith::RemUIOp>(op) ? a % b : a / b;
      } else if (isa<arith::ShRUIOp, arith::ShRSIOp, arith::ShLIOp>(op)) {
        if (b >= 30)
          return std::nullopt;
        a = isa<arith::ShLIOp>(op) ? a << b : a >> b;
      } else if (isa<arith::MinSIOp, arith::MinUIOp>(op)) {
        a = std::min(a, b);
      } else if (isa<arith::MaxSIOp, arith::MaxUIOp>(op)) {
        a = std::max(a, b);
      } else {
        a = isa<arith::XOrIOp>(op)   ? a ^ b
            : isa<arith::AndIOp>(op) ? a & b
                                     : a | b;
      }
    }
    return left;
  }

  const OwnElements &own;
  int64_t threads = 1, points;
  DenseMap<Value, Loop> loops;
  DenseMap<Value, std::optional<Place>> known;
};

bool OwnElements::add(const ThreadAccess &access) {
  if (view && access.view != view)
    return false;
  view = access.view;
  ValueRange indices =
      access.indices.take_back(std::min(access.indices.size(), kMostDims));
  Reader reader(*this);
  // All loops first: places of all dimensions have one domain.
  for (Value index : indices)
    if (!reader.findLoops(index))
      return false;
  Touch next;
  for (Value index : indices)
    next.places.push_back(reader.read(index));
  next.points = reader.getPointsOfThread();
  next.isWrite = access.isWrite;
  next.isOfFirst = access.isOfFirst;
  touches.push_back(std::move(next));
  isDropped.resize(indices.size());
  if (!dropDims(touches.back()))
    return touch(touches.back());
  touchers.clear();
  return llvm::all_of(touches, [&](const Touch &each) { return touch(each); });
}

/// Drops the dimensions that cannot be compared with those of the first access.
/// True if there are any that were not dropped before.
bool OwnElements::dropDims(const Touch &touch) {
  auto areSame = [](const Place &a, const Place &b) {
    return a.fixed.size() == b.fixed.size() &&
           llvm::all_of(a.fixed, [&](auto &term) {
             auto it = b.fixed.find(term.first);
             return it != b.fixed.end() && it->second == term.second;
           });
  };
  bool drops = false;
  for (auto [dim, place] : llvm::enumerate(touch.places)) {
    const std::optional<Place> &first = touches.front().places[dim];
    if (isDropped[dim] || (place && first && areSame(*place, *first)))
      continue;
    isDropped[dim] = drops = true;
  }
  return drops;
}

/// Notes who touches what. False if two threads meet.
bool OwnElements::touch(const Touch &touch) {
  int64_t threads = 1;
  for (int32_t extent : size)
    threads *= extent;
  work += touch.points * threads;
  if (work > kMostWork)
    return false;
  for (int64_t point = 0, e = touch.points * threads; point < e; ++point) {
    int64_t thread = point % threads;
    if (touch.isOfFirst && thread != 0)
      continue;
    std::array<uint32_t, kMostDims> at = {};
    for (auto [dim, place] : llvm::enumerate(touch.places))
      if (!isDropped[dim])
        at[dim] = static_cast<uint32_t>(place->numbers[point] + kGreatest);
    Toucher &who = touchers[{uint64_t(at[0]) << 32 | at[1],
                             uint64_t(at[2]) << 32 | at[3]}];
    if (who.writer >= 0 && who.writer != thread)
      return false;
    if (touch.isWrite) {
      if (who.reader != -1 && who.reader != thread)
        return false;
      who.writer = thread;
    } else {
      who.reader = who.reader == -1 || who.reader == thread ? thread : -2;
    }
  }
  return true;
}
