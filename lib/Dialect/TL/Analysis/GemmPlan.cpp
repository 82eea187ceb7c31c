//===- GemmPlan.cpp - Choose a gemm's instruction and warp partition ------===//
//
// The fastest instruction that the target has and the tile allows, and a grid
// of warps (or warp groups) over the accumulator.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/LayoutMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

static constexpr int64_t kWarp = 32;
static constexpr int64_t kGroup = 128;
/// Every matrix instruction takes 32 bytes of K per operand row.
static constexpr int64_t kStepBytes = 32;

int64_t tl::getVectorWidth(Type type) {
  return std::max<int64_t>(1, 128 / std::max(8u, type.getIntOrFloatBitWidth()));
}

SharedLayoutAttr tl::chooseSharedLayout(MemRefType type) {
  MLIRContext *context = type.getContext();
  int64_t columns = type.getRank() ? type.getShape().back() : 1;
  auto plain = SharedLayoutAttr::get(context, 0, columns);
  if (type.getRank() < 2 || type.getElementTypeBitWidth() % 8 != 0)
    return plain;
  // A swizzle repeats every 8 lines of 128 bytes and starts at an address that
  // is a multiple of its period, so panels must be whole periods.
  int64_t rows = type.getDimSize(type.getRank() - 2);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (rows % 8 != 0)
    return plain;
  for (int64_t swizzle : {128, 64, 32})
    if (columns * bytes % swizzle == 0)
      return SharedLayoutAttr::get(context, swizzle, swizzle / bytes);
  return plain;
}

/// True if the accumulator can be cut into `partsM` by `partsN` parts of whole
/// `unitM` x 8 blocks.
static bool divides(GemmOp gemm, int64_t partsM, int64_t partsN,
                    int64_t unitM) {
  return gemm.getM() % (partsM * unitM) == 0 && gemm.getN() % (partsN * 8) == 0;
}

/// The best grid of `parts` over the accumulator under the gemm's policy, or
/// none. `cost` is less for better grids.
static std::optional<std::pair<int64_t, int64_t>>
choosePartition(GemmOp gemm, int64_t parts, int64_t unitM,
                llvm::function_ref<int64_t(int64_t, int64_t)> cost) {
  std::optional<std::pair<int64_t, int64_t>> best;
  for (int64_t partsM = 1; partsM <= parts; ++partsM) {
    if (parts % partsM != 0)
      continue;
    int64_t partsN = parts / partsM;
    if (!divides(gemm, partsM, partsN, unitM))
      continue;
    if (!best || cost(partsM, partsN) < cost(best->first, best->second))
      best = {partsM, partsN};
  }
  return best;
}

/// Cost of a grid: policy first, then how far a part is from a square.
static int64_t partitionCost(GemmOp gemm, int64_t partsM, int64_t partsN) {
  switch (gemm.getPolicy()) {
  case GemmPolicy::FullRow:
    return -partsM;
  case GemmPolicy::FullCol:
    return -partsN;
  case GemmPolicy::Square:
    return std::abs(gemm.getM() / partsM - gemm.getN() / partsN);
  }
  llvm_unreachable("all policies are handled");
}

/// Cost for warp groups: B is shared by all of them, so rows are cut first.
static int64_t groupCost(GemmOp gemm, int64_t groupsM, int64_t groupsN) {
  return gemm.getPolicy() == GemmPolicy::FullCol ? -groupsN : -groupsM;
}

/// Why the gemm cannot use wgmma, or empty.
static std::string refuseWgmma(GemmOp gemm, int64_t numThreads) {
  auto a = cast<MemRefType>(gemm.getA().getType());
  auto b = cast<MemRefType>(gemm.getB().getType());
  Type element = a.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  if (element.isF64())
    return "wgmma has no f64";
  if (numThreads % kGroup != 0)
    return "the block is not a multiple of 128 threads";
  if (gemm.getK() * bytes % kStepBytes != 0)
    return "K is not a multiple of 32 bytes";
  if (bytes != 2 && (gemm.getTransposeA() || !gemm.getTransposeB()))
    return "wgmma reads 8- and 32-bit operands only with K contiguous";
  if (!chooseSharedLayout(a).getSwizzle() ||
      !chooseSharedLayout(b).getSwizzle())
    return "an operand's rows are not a multiple of 32 bytes";
  return {};
}

static std::optional<std::pair<int64_t, int64_t>>
partitionWgmma(GemmOp gemm, int64_t numThreads) {
  auto groups =
      choosePartition(gemm, numThreads / kGroup, 64, [&](int64_t m, int64_t n) {
        // One instruction spans at most 256 columns.
        bool tooWide = gemm.getN() / n > 256;
        return groupCost(gemm, m, n) + (tooWide ? 1000 : 0);
      });
  if (!groups || gemm.getN() / groups->second > 256)
    return std::nullopt;
  // MN-major operands are cut at whole panels.
  if (!gemm.getTransposeB()) {
    auto b = cast<MemRefType>(gemm.getB().getType());
    if (gemm.getN() / groups->second % chooseSharedLayout(b).getChunk() != 0)
      return std::nullopt;
  }
  if (gemm.getTransposeA()) {
    auto a = cast<MemRefType>(gemm.getA().getType());
    if (64 % chooseSharedLayout(a).getChunk() != 0)
      return std::nullopt;
  }
  return groups;
}

GemmPlanAttr tl::planGemm(GemmOp gemm, const Target &target, int64_t numThreads,
                          std::string &reason) {
  MLIRContext *context = gemm.getContext();
  if (target.hasWgmma()) {
    reason = refuseWgmma(gemm, numThreads);
    if (reason.empty()) {
      if (auto groups = partitionWgmma(gemm, numThreads))
        return GemmPlanAttr::get(context, Instruction::WGMMA, groups->first,
                                 groups->second);
      reason = "the tile cannot be cut into 64-row blocks for its warp groups";
    }
  }
  Type element = cast<MemRefType>(gemm.getA().getType()).getElementType();
  int64_t stepK = kStepBytes * 8 / element.getIntOrFloatBitWidth();
  if (!element.isF64() && gemm.getK() % stepK == 0) {
    auto warps = choosePartition(
        gemm, numThreads / kWarp, 16,
        [&](int64_t m, int64_t n) { return partitionCost(gemm, m, n); });
    if (warps)
      return GemmPlanAttr::get(context, Instruction::MMA, warps->first,
                               warps->second);
  }
  reason = "no matrix instruction fits the tile, its type and " +
           std::to_string(numThreads) + " threads";
  return GemmPlanAttr::get(context, Instruction::FMA, 1, 1);
}

layout::FragmentLayout tl::getAccumulatorLayout(GemmOp gemm, GemmPlanAttr plan,
                                                int64_t numThreads) {
  using layout::FragmentLayout;
  int64_t m = gemm.getM(), n = gemm.getN();
  switch (plan.getInstruction()) {
  case Instruction::WGMMA:
    return FragmentLayout::wgmmaAccumulator(m, n, plan.getWarpsM(),
                                            plan.getWarpsN());
  case Instruction::MMA:
    return FragmentLayout::mmaAccumulator(m, n, plan.getWarpsM(),
                                          plan.getWarpsN());
  case Instruction::FMA:
    return FragmentLayout::blocked({m, n}, numThreads, 1);
  }
  llvm_unreachable("all instructions are handled");
}
