//===- GemmPlan.cpp - Choose a gemm's instruction and warp partition ------===//
//
// The fastest instruction that the target has and the tile allows, and a grid
// of warps (or warp groups) over the accumulator.
//
// Matrix instructions are executed by whole warps, so they are only planned for
// blocks that consist of such. If the tile cannot be cut into as many parts as
// there are warps, it is cut into fewer: each part is then computed by several
// warps alike, which hold copies of it.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/Analysis/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::FragmentMode;

static constexpr int64_t kWarp = 32;
static constexpr int64_t kGroup = 128;
/// Every matrix instruction takes 32 bytes of K per operand row.
static constexpr int64_t kStepBytes = 32;

namespace {
/// Parts along the rows and along the columns of the accumulator.
struct Grid {
  int64_t m, n;
};
} // namespace

static bool isOfF64(GemmOp gemm) {
  return cast<MemRefType>(gemm.getA().getType()).getElementType().isF64();
}

/// True if A is a fragment that lies with K along its rows: matrix instructions
/// have no other form. One that does not is read from shared memory, and so is
/// one of f64.
static bool hasRegisterA(GemmOp gemm) {
  return isInSpace(gemm.getA(), Space::Fragment) && !gemm.getTransposeA() &&
         !isOfF64(gemm);
}

/// True if operand A or B lies with K along the rows of its tile.
static bool isKMajor(GemmOp gemm, bool ofB) {
  return ofB ? gemm.getTransposeB() : !gemm.getTransposeA();
}

static MemRefType getTile(GemmOp gemm, bool ofB) {
  return cast<MemRefType>((ofB ? gemm.getB() : gemm.getA()).getType());
}

/// The best grid of `parts` over the accumulator, or none: `fits` says which
/// ones are possible, `cost` is less for better ones.
static std::optional<Grid> chooseGrid(int64_t parts,
                                      llvm::function_ref<bool(Grid)> fits,
                                      llvm::function_ref<int64_t(Grid)> cost) {
  std::optional<Grid> best;
  for (int64_t m = 1; m <= parts; ++m) {
    Grid grid{m, parts / m};
    if (parts % m != 0 || !fits(grid))
      continue;
    if (!best || cost(grid) < cost(*best))
      best = grid;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// True if a descriptor can begin where the window of A or B does: a step of K
/// begins at 32 bytes of a row, or at a row of a period of the swizzle, and M
/// and N begin at such a row, or at a panel (PTX ISA, "Matrix Descriptor
/// Format").
static bool canDescribeWindow(GemmOp gemm, bool ofB) {
  constexpr int64_t periodRows = 8;
  MemRefType tile = getTile(gemm, ofB);
  auto [row, column] = gemm.getPlace(ofB);
  int64_t unit = isKMajor(gemm, ofB) ? kStepBytes / getElementBytes(tile)
                                     : chooseSharedLayout(tile).getChunk();
  return row % periodRows == 0 && column % unit == 0;
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
  if ((!hasRegisterA(gemm) && !chooseSharedLayout(a).getSwizzle()) ||
      !chooseSharedLayout(b).getSwizzle())
    return "an operand's rows are not a multiple of 32 bytes";
  for (bool ofB : {false, true})
    if (gemm.hasWindow(ofB) && !canDescribeWindow(gemm, ofB))
      return "an operand begins where no descriptor can";
  return {};
}

/// True if there is a wgmma of `columns` (PTX ISA, "wgmma.mma_async", tables of
/// shapes).
static bool hasWgmma(Type element, int64_t columns) {
  return columns % (element.isInteger() && columns > 32 ? 16 : 8) == 0 &&
         columns <= 256;
}

/// True if each warp group gets whole 64-row blocks and instructions that there
/// are. Operands that are contiguous along M or N are cut at whole panels.
static bool fitsWgmma(GemmOp gemm, Grid grid) {
  auto a = cast<MemRefType>(gemm.getA().getType());
  if (gemm.getM() % (grid.m * 64) != 0 || gemm.getN() % grid.n != 0 ||
      !hasWgmma(a.getElementType(), gemm.getN() / grid.n))
    return false;
  auto chunk = [](Value operand) {
    return chooseSharedLayout(cast<MemRefType>(operand.getType())).getChunk();
  };
  if (!gemm.getTransposeB() && gemm.getN() / grid.n % chunk(gemm.getB()) != 0)
    return false;
  return !gemm.getTransposeA() || 64 % chunk(gemm.getA()) == 0;
}

/// Cost for warp groups: B is shared by all of them, so rows are cut first.
static int64_t groupCost(GemmOp gemm, Grid grid) {
  return gemm.getPolicy() == GemmPolicy::FullCol ? -grid.n : -grid.m;
}

static std::optional<Grid> chooseGroups(GemmOp gemm, int64_t parts) {
  return chooseGrid(
      parts, [&](Grid grid) { return fitsWgmma(gemm, grid); },
      [&](Grid grid) { return groupCost(gemm, grid); });
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// True if `ldmatrix`, which reads lines of 16 bytes, finds them in the window
/// of A or B. Where it has no form elements are read one by one.
static bool canLoadWindow(GemmOp gemm, bool ofB) {
  constexpr int64_t lineBytes = 16;
  MemRefType tile = getTile(gemm, ofB);
  int64_t bytes = getElementBytes(tile);
  if (isOfF64(gemm) || (!isKMajor(gemm, ofB) && bytes != 2))
    return true;
  return gemm.getPlace(ofB)[1] * bytes % lineBytes == 0 &&
         tile.getDimSize(1) * bytes % lineBytes == 0;
}

static bool canUseMma(GemmOp gemm, const Target &target, int64_t numThreads) {
  Type element = cast<MemRefType>(gemm.getA().getType()).getElementType();
  if (!target.hasMma(element))
    return false;
  for (bool ofB : {false, true})
    if (gemm.hasWindow(ofB) && !canLoadWindow(gemm, ofB))
      return false;
  return numThreads % kWarp == 0 &&
         gemm.getK() * element.getIntOrFloatBitWidth() / 8 % kStepBytes == 0;
}

static bool fitsMma(GemmOp gemm, Grid grid) {
  return gemm.getM() % (grid.m * 16) == 0 && gemm.getN() % (grid.n * 8) == 0;
}

/// Cost of a grid: policy first, then how far a part is from a square. Parts
/// along N would have copies of A's registers, which have to come from
/// somewhere.
static int64_t warpCost(GemmOp gemm, Grid grid) {
  if (hasRegisterA(gemm) && gemm.getPolicy() == GemmPolicy::Square)
    return -grid.m;
  switch (gemm.getPolicy()) {
  case GemmPolicy::FullRow:
    return -grid.m;
  case GemmPolicy::FullCol:
    return -grid.n;
  case GemmPolicy::Square:
    return std::abs(gemm.getM() / grid.m - gemm.getN() / grid.n);
  }
  llvm_unreachable("all policies are handled");
}

static std::optional<Grid> chooseWarps(GemmOp gemm, int64_t parts) {
  return chooseGrid(
      parts, [&](Grid grid) { return fitsMma(gemm, grid); },
      [&](Grid grid) { return warpCost(gemm, grid); });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The grid that `choose` finds for the most parts below `limit` that divide
/// it, or none.
static std::optional<Grid>
cutIntoFewer(int64_t limit,
             llvm::function_ref<std::optional<Grid>(int64_t)> choose) {
  for (int64_t parts = limit - 1; parts >= 1; --parts)
    if (limit % parts == 0)
      if (std::optional<Grid> grid = choose(parts))
        return grid;
  return std::nullopt;
}

/// True if the gemm can take a plan made for another one.
static bool canTake(GemmOp gemm, GemmPlanAttr plan, const Target &target,
                    int64_t numThreads) {
  Grid grid{plan.getWarpsM(), plan.getWarpsN()};
  switch (plan.getInstruction()) {
  case Instruction::WGMMA:
    return target.hasWgmma() && refuseWgmma(gemm, numThreads).empty() &&
           fitsWgmma(gemm, grid);
  case Instruction::MMA:
    return canUseMma(gemm, target, numThreads) && fitsMma(gemm, grid);
  case Instruction::FMA:
    return false;
  }
  llvm_unreachable("all instructions are handled");
}

GemmPlanAttr tl::planGemm(GemmOp gemm, const Target &target, int64_t numThreads,
                          GemmPlanAttr wanted, std::string &reason) {
  if (wanted && canTake(gemm, wanted, target, numThreads))
    return wanted;
  auto plan = [&](Instruction instruction, Grid grid) {
    return GemmPlanAttr::get(gemm.getContext(), instruction, grid.m, grid.n);
  };
  auto groups = [&](int64_t parts) { return chooseGroups(gemm, parts); };
  auto warps = [&](int64_t parts) { return chooseWarps(gemm, parts); };

  bool wgmma = false;
  if (target.hasWgmma()) {
    reason = refuseWgmma(gemm, numThreads);
    wgmma = reason.empty();
    if (wgmma)
      if (std::optional<Grid> grid = groups(numThreads / kGroup))
        return plan(Instruction::WGMMA, *grid);
    if (wgmma)
      reason = "the tile cannot be cut into 64-row blocks for its warp groups";
  }
  bool mma = canUseMma(gemm, target, numThreads);
  if (mma)
    if (std::optional<Grid> grid = warps(numThreads / kWarp))
      return plan(Instruction::MMA, *grid);
  if (wgmma)
    if (std::optional<Grid> grid = cutIntoFewer(numThreads / kGroup, groups)) {
      reason = "the tile has no part for each warp group: several compute the "
               "same";
      return plan(Instruction::WGMMA, *grid);
    }
  if (mma)
    if (std::optional<Grid> grid = cutIntoFewer(numThreads / kWarp, warps)) {
      reason = "the tile has no part for each warp: several compute the same";
      return plan(Instruction::MMA, *grid);
    }
  Type element = cast<MemRefType>(gemm.getA().getType()).getElementType();
  if (!target.hasMma(element))
    reason = "the chip has no matrix instruction of the operands' type";
  else
    reason = "no matrix instruction fits the tile, its type and " +
             std::to_string(numThreads) + " threads";
  return plan(Instruction::FMA, {1, 1});
}

/// `layout` for a block of `numThreads`: the further ones hold copies.
static FragmentLayout repeat(const FragmentLayout &layout, int64_t numThreads) {
  SmallVector<FragmentMode> threads(layout.getThreadModes());
  threads.push_back({numThreads / layout.numThreads(), 0});
  return FragmentLayout(layout.getShape(), threads, layout.getValueModes());
}

FragmentLayout tl::getAccumulatorLayout(GemmOp gemm, GemmPlanAttr plan,
                                        int64_t numThreads) {
  int64_t m = gemm.getM(), n = gemm.getN();
  switch (plan.getInstruction()) {
  case Instruction::WGMMA:
    return repeat(FragmentLayout::wgmmaAccumulator(m, n, plan.getWarpsM(),
                                                   plan.getWarpsN()),
                  numThreads);
  case Instruction::MMA:
    return repeat(FragmentLayout::mmaAccumulator(m, n, plan.getWarpsM(),
                                                 plan.getWarpsN()),
                  numThreads);
  case Instruction::FMA:
    return FragmentLayout::blocked({m, n}, numThreads, 1);
  }
  llvm_unreachable("all instructions are handled");
}

bool tl::takesRegisterA(GemmOp gemm, GemmPlanAttr plan) {
  return hasRegisterA(gemm) && plan.getInstruction() != Instruction::FMA;
}

FragmentLayout tl::getOperandLayout(GemmOp gemm, GemmPlanAttr plan,
                                    int64_t numThreads) {
  auto type = cast<MemRefType>(gemm.getA().getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t rows = plan.getInstruction() == Instruction::WGMMA ? 64 : 16;
  return repeat(FragmentLayout::matrixOperand(gemm.getM(), gemm.getK(), bytes,
                                              rows, plan.getWarpsM(),
                                              plan.getWarpsN()),
                numThreads);
}

FragmentLayout tl::getLoadedLayout(GemmOp gemm, GemmPlanAttr plan, bool ofB,
                                   int64_t numThreads) {
  assert(plan.getInstruction() == Instruction::MMA && "others load nothing");
  MemRefType type = gemm.getOperandType(ofB);
  // An instruction takes the elements of four lanes, twice but for f64.
  int64_t perLane = std::max(1u, 32 / type.getElementTypeBitWidth());
  int64_t halves = isOfF64(gemm) ? 1 : 2;
  int64_t k = gemm.getK(), stepK = 4 * perLane * halves;
  int64_t mn = ofB ? gemm.getN() : gemm.getM(), block = ofB ? 8 : 16;
  int64_t part = mn / (ofB ? plan.getWarpsN() : plan.getWarpsM());
  bool kMajor = isKMajor(gemm, ofB);
  int64_t alongMN = kMajor ? k : 1, alongK = kMajor ? 1 : mn;
  FragmentLayout layout(type.getShape(),
                        {{4, perLane * alongK},
                         {8, alongMN},
                         {plan.getWarpsM(), ofB ? 0 : part * alongMN},
                         {plan.getWarpsN(), ofB ? part * alongMN : 0}},
                        {{perLane, alongK},
                         {block / 8, 8 * alongMN},
                         {halves, 4 * perLane * alongK},
                         {part / block, block * alongMN},
                         {k / stepK, stepK * alongK}});
  return repeat(layout, numThreads);
}
