//===- TakeTurns.cpp - Let warp groups start products one after another ---===//
//
// Warp groups that come to their products together share the tensor cores, have
// their sums at the same time, and then all compute while the tensor cores
// idle. A block barrier behind the products sees to that: the last one of them
// starts when nearly all have run. So in a loop in which each group starts
// several products and computes beside them, groups meet in different places:
//
//   products; barrier; compute     =>     group 0: products; barrier; compute
//                                         others:  barrier; products; compute
//
// Group 0 computes while the products of the others run, and these compute
// while its next ones run. Of three groups or more each one but the first
// starts when the one before has, by a named barrier: group g + 1 waits at
// barrier g + 1 until group g has arrived there.
//
// Sound because a barrier may be moved up over what touches no memory by
// ordinary accesses: products, which read slots that the program waits for by
// other means, waits for copies, and arithmetic. What is ordered before it
// stays before it, and what is behind it comes later than the others' arrival
// still. Nobody waits in a circle at the named barriers, each group only for
// the one before it; and the block barrier of the next iteration comes between
// two uses of one. Only kernels that use no other named barrier take turns.
// The block barrier becomes a named one of all threads too: at barrier 0 tools
// expect all of a block at the same place. The synccheck of compute-sanitizer
// 13.0 calls the named one divergent as well; PTX does not ask for one place.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Dialect/TL/IR/TL.h"

using namespace mlir;
using namespace tl;

static constexpr int64_t kWarpGroup = 128;
/// There are 16 named barriers: 0 is the block's, 1 and so on are those of the
/// groups but the first, and the next one is what a turn's block barrier
/// becomes. A multiprocessor has so many for all its blocks that no more are
/// named than are needed.
static constexpr int64_t kMostGroups = 15;

namespace {
/// What one group does while the others wait for their turn.
struct Turn {
  WgmmaOp first, last;
  gpu::BarrierOp barrier;
};
} // namespace

/// The warp groups of a kernel that can take turns, or 1.
static int64_t countGroups(gpu::GPUFuncOp kernel) {
  std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize();
  bool hasNamed =
      kernel.walk([](NVVM::BarrierOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!size || hasNamed || (*size)[1] != 1 || (*size)[2] != 1 ||
      (*size)[0] % kWarpGroup != 0 || (*size)[0] > kMostGroups * kWarpGroup)
    return 1;
  return (*size)[0] / kWarpGroup;
}

/// True if a block barrier may be moved over `op`.
static bool isIndifferent(Operation *op) {
  return isa<WgmmaOp, NVVM::MBarrierTryWaitParityOp>(op) ||
         isMemoryEffectFree(op);
}

/// The products that an iteration of `loop` starts before it waits for one, and
/// the block barrier behind them, if then a wait for some of them comes and one
/// for the others: between the two something is computed.
static std::optional<Turn> findTurn(scf::ForOp loop) {
  Turn turn;
  int numWaits = 0;
  for (Operation &op : *loop.getBody()) {
    if (auto product = dyn_cast<WgmmaOp>(op)) {
      if (turn.barrier)
        return std::nullopt;
      if (!turn.first)
        turn.first = product;
      turn.last = product;
    } else if (isa<WgmmaWaitOp>(op) && turn.first) {
      ++numWaits;
    }
    if (!turn.first || turn.barrier)
      continue;
    if (auto barrier = dyn_cast<gpu::BarrierOp>(op))
      turn.barrier = barrier;
    else if (!isIndifferent(&op))
      return std::nullopt;
  }
  return turn.barrier && numWaits > 1 ? std::optional(turn) : std::nullopt;
}

/// Executes `instruction`, which may name `$1`, the number `barrier`, if
/// `condition` holds.
static void emitBarrier(OpBuilder &builder, Location loc, Value condition,
                        StringRef instruction, Value barrier) {
  Value flag =
      arith::ExtUIOp::create(builder, loc, builder.getI32Type(), condition);
  std::string text = ("{\n.reg .pred MINE;\nsetp.ne.u32 MINE, $0, 0;\n@MINE " +
                      instruction + ";\n}")
                         .str();
  LLVM::InlineAsmOp::create(
      builder, loc, /*res=*/Type(), ValueRange{flag, barrier}, text,
      "r,r,~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

static void takeTurns(Turn turn, int64_t groups) {
  OpBuilder builder(turn.first);
  Location loc = turn.first.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value a,
                     int64_t b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, constant(b));
  };
  std::string meet =
      ("bar.sync " + Twine(groups) + ", " + Twine(groups * kWarpGroup)).str();
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  thread =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), thread);
  Value group =
      arith::DivUIOp::create(builder, loc, thread, constant(kWarpGroup));
  Value isFirst = compare(arith::CmpIPredicate::eq, group, 0);
  Value isOther = compare(arith::CmpIPredicate::ne, group, 0);
  emitBarrier(builder, loc, isOther, meet, group);
  if (groups > 2)
    emitBarrier(builder, loc, compare(arith::CmpIPredicate::ugt, group, 1),
                "bar.sync $1, 256", group);

  builder.setInsertionPointAfter(turn.last);
  if (groups > 2) {
    Value next = arith::AddIOp::create(builder, loc, group, constant(1));
    Value isAwaited =
        arith::AndIOp::create(builder, loc, isOther,
                              compare(arith::CmpIPredicate::ult, next, groups));
    emitBarrier(builder, loc, isAwaited, "bar.arrive $1, 256", next);
  }
  builder.setInsertionPoint(turn.barrier);
  emitBarrier(builder, loc, isFirst, meet, group);
  turn.barrier.erase();
}

void tl::takeTurns(Operation *root) {
  root->walk([](gpu::GPUFuncOp kernel) {
    int64_t groups = countGroups(kernel);
    SmallVector<Turn> turns;
    kernel.walk([&](scf::ForOp loop) {
      if (std::optional<Turn> turn = findTurn(loop))
        turns.push_back(*turn);
    });
    if (groups > 1)
      for (const Turn &turn : turns)
        ::takeTurns(turn, groups);
  });
}
