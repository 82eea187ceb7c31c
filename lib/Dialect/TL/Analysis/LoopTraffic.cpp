//===- LoopTraffic.cpp - What a loop's layout costs in memory -------------===//
//
// See LoopTraffic.h. What is the same in all iterations, such as the place of a
// block, is taken as zero: it moves all lanes alike.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LoopTraffic.h"

#include "tl/Dialect/TL/Analysis/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static constexpr int64_t kWarp = 32, kBanks = 32, kWordBytes = 4;
static constexpr int64_t kSectorBytes = 32, kVectorBytes = 16;
/// Values of a thread that are looked at: others are like them.
static constexpr int64_t kMostValues = 256;
/// Operations on the way to an index that are looked through: each has two
/// operands, which may be the same.
static constexpr unsigned kMostDepth = 8;

namespace {

/// An index as a sum of loop indices.
struct Sum {
  SmallVector<int64_t> factors;
  int64_t constant = 0;

  int64_t at(ArrayRef<int64_t> point) const {
    int64_t sum = constant;
    for (auto [factor, position] : llvm::zip_equal(factors, point))
      sum += factor * position;
    return sum;
  }
};

class TrafficCounter {
public:
  TrafficCounter(ParallelOp loop, const FragmentLayout &layout)
      : loop(loop), extents(loop.getExtents()), layout(layout) {}

  LoopTraffic run() {
    loop.getBody().walk([&](Operation *op) {
      if (auto load = dyn_cast<LoadOp>(op))
        count(load.getSource(), load.getIndices());
      else if (auto store = dyn_cast<StoreOp>(op))
        count(store.getTarget(), store.getIndices());
      else if (auto atomic = dyn_cast<AtomicOp>(op))
        count(atomic.getTarget(), atomic.getIndices());
    });
    return traffic;
  }

private:
  std::optional<Sum> parse(Value index, unsigned depth = 0) {
    Sum sum{SmallVector<int64_t>(extents.size())};
    auto argument = dyn_cast<BlockArgument>(index);
    if (argument && argument.getOwner() == &loop.getBody().front()) {
      sum.factors[argument.getArgNumber()] = 1;
      return sum;
    }
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant))) {
      sum.constant = constant.getSExtValue();
      return sum;
    }
    if (!loop->getRegion(0).isAncestor(index.getParentRegion()) ||
        index.getDefiningOp<gpu::BlockIdOp>())
      return sum;
    Operation *op = index.getDefiningOp();
    if (depth == kMostDepth ||
        !isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return std::nullopt;
    std::optional<Sum> a = parse(op->getOperand(0), depth + 1);
    std::optional<Sum> b = parse(op->getOperand(1), depth + 1);
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::MulIOp>(op)) {
      auto isFactor = [](const Sum &it) {
        return llvm::all_of(it.factors, [](int64_t f) { return f == 0; });
      };
      if (!isFactor(*b))
        std::swap(a, b);
      if (!isFactor(*b))
        return std::nullopt;
      return combine(*a, sum, b->constant, 0);
    }
    return combine(*a, *b, 1, isa<arith::AddIOp>(op) ? 1 : -1);
  }

  static Sum combine(const Sum &a, const Sum &b, int64_t timesA,
                     int64_t timesB) {
    Sum sum = a;
    for (auto [factor, other] : llvm::zip_equal(sum.factors, b.factors))
      factor = factor * timesA + other * timesB;
    sum.constant = a.constant * timesA + b.constant * timesB;
    return sum;
  }

  void count(Value buffer, ValueRange indices) {
    bool isShared = isInSpace(buffer, Space::Shared);
    if (indices.empty() || (!isShared && !isInSpace(buffer, Space::Global)))
      return;
    if (isShared && getTileView(buffer) != buffer)
      return;
    SmallVector<Sum> sums;
    for (Value index : indices) {
      std::optional<Sum> sum = parse(index);
      if (!sum)
        return;
      sums.push_back(std::move(*sum));
    }
    int64_t bytes = getElementBytes(cast<MemRefType>(buffer.getType()));
    auto [lanes, width] = getGroup(buffer, sums);
    int64_t numValues = std::min(layout.numValues(), kMostValues);
    for (int64_t value = 0; value < numValues; value += lanes) {
      SmallVector<int64_t> addresses = getAddresses(buffer, sums, value);
      if (isShared)
        traffic.wavefronts += countWavefronts(addresses, width * bytes);
      else
        traffic.sectors += countSectors(addresses, width * bytes);
    }
  }

  /// How many values of a thread one access is for, and how many elements it
  /// has: neighbours, or one for all.
  std::pair<int64_t, int64_t> getGroup(Value buffer, ArrayRef<Sum> sums) const {
    auto type = cast<MemRefType>(buffer.getType());
    int64_t last = static_cast<int64_t>(extents.size()) - 1;
    int64_t run = layout.contiguousValues(last);
    if (llvm::any_of(sums.drop_back(),
                     [&](const Sum &sum) { return sum.factors[last] != 0; }))
      return {1, 1};
    int64_t slope = sums.back().factors[last];
    if (slope != 1)
      return {slope == 0 ? run : 1, 1};
    int64_t row = isInSpace(buffer, Space::Shared)
                      ? getSharedLayout(buffer).getChunk()
                      : type.getShape().back();
    int64_t width = std::min(run, kVectorBytes / getElementBytes(type));
    while (width > 1 && (ShapedType::isDynamic(row) || row % width != 0))
      width /= 2;
    return {width, width};
  }

  /// Where the lanes of the first warp access `value`; lanes without an
  /// iteration do not.
  SmallVector<int64_t> getAddresses(Value buffer, ArrayRef<Sum> sums,
                                    int64_t value) const {
    SmallVector<int64_t> addresses;
    for (int64_t lane = 0, e = std::min(kWarp, layout.numThreads()); lane < e;
         ++lane) {
      SmallVector<int64_t> point = layout.coordinates(lane, value);
      if (llvm::any_of(llvm::zip_equal(point, extents), [](auto pair) {
            return std::get<0>(pair) >= std::get<1>(pair);
          }))
        continue;
      SmallVector<int64_t> position = llvm::map_to_vector(
          sums, [&](const Sum &sum) { return sum.at(point); });
      addresses.push_back(getAddress(buffer, position));
    }
    return addresses;
  }

  static int64_t getAddress(Value buffer, ArrayRef<int64_t> position) {
    auto type = cast<MemRefType>(buffer.getType());
    if (isInSpace(buffer, Space::Shared)) {
      SmallVector<int64_t> inside;
      for (auto [index, extent] : llvm::zip_equal(position, type.getShape()))
        inside.push_back((index % extent + extent) % extent);
      return getSharedLayout(buffer).getOffset(inside);
    }
    // Rows of dynamic length begin far from each other.
    constexpr int64_t kFar = int64_t(1) << 20;
    int64_t offset = 0;
    for (auto [index, stride] : llvm::zip_equal(position, getStrides(type)))
      offset += index * (ShapedType::isDynamic(stride) ? kFar : stride);
    return offset * getElementBytes(type);
  }

  /// Lanes of wider accesses than a word are served in turn.
  static int64_t countWavefronts(ArrayRef<int64_t> addresses, int64_t bytes) {
    int64_t lanes = kWarp * kWordBytes / std::max(bytes, kWordBytes);
    int64_t wavefronts = 0;
    for (; !addresses.empty(); addresses = addresses.drop_front(
                                   std::min<size_t>(lanes, addresses.size()))) {
      llvm::DenseSet<int64_t> words;
      SmallVector<int64_t> perBank(kBanks);
      for (int64_t address : addresses.take_front(lanes))
        for (int64_t word = address / kWordBytes,
                     end = (address + bytes - 1) / kWordBytes;
             word <= end; ++word)
          if (words.insert(word).second)
            ++perBank[word % kBanks];
      wavefronts += *llvm::max_element(perBank);
    }
    return wavefronts;
  }

  static int64_t countSectors(ArrayRef<int64_t> addresses, int64_t bytes) {
    llvm::DenseSet<int64_t> sectors;
    for (int64_t address : addresses)
      for (int64_t sector = address / kSectorBytes,
                   end = (address + bytes - 1) / kSectorBytes;
           sector <= end; ++sector)
        sectors.insert(sector);
    return sectors.size();
  }

  ParallelOp loop;
  ArrayRef<int64_t> extents;
  const FragmentLayout &layout;
  LoopTraffic traffic;
};

} // namespace

LoopTraffic tl::countTraffic(ParallelOp loop, const FragmentLayout &layout) {
  return TrafficCounter(loop, layout).run();
}
