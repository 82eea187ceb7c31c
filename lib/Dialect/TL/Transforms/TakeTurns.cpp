//===- TakeTurns.cpp - Let warp groups start products one after another ---===//
//
// Warp groups that come to their products together share the tensor cores, have
// their sums at the same time, and then all compute while the tensor cores
// idle. So in a loop in which a role starts several products and computes
// beside them, its warp groups start them one after another:
//
//     products; compute    =>    take turn; products; pass turn; compute
//
// The first one computes while the products of the others run, and these
// compute while its next ones run.
//
// Sound because turns order nothing that anybody relies on, and nobody waits
// for ever: in a turn there are products, waits for copies and for products of
// the warp group's own, and arithmetic, but nothing that another warp group of
// the role waits for. So whoever has the turn comes to its end, and each warp
// group takes as many turns as the others, since a role goes through its loops
// and branches together. The verifiers of the ops check that.
//
//===----------------------------------------------------------------------===//

#include "TakeTurns.h"

#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

namespace {
/// The products that an iteration starts before it waits for one of them.
struct Turn {
  GemmOp first, last;
};
} // namespace

static bool isWrittenIn(scf::ForOp loop, Value buffer) {
  return loop.getBody()
      ->walk([&](Operation *op) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(op);
        for (Value operand : op->getOperands())
          if (isa<MemRefType>(operand.getType()) &&
              getBuffer(operand) == buffer && !isa<SlotOp>(op) &&
              (!effects ||
               effects.getEffectOnValue<MemoryEffects::Write>(operand)))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if the threads of the role must not meet between the start of the
/// iteration's products and this one.
static bool needsNobody(GemmOp gemm, scf::ForOp loop) {
  return llvm::all_of(ArrayRef<Value>{gemm.getA(), gemm.getB()},
                      [&](Value operand) {
                        return isInSpace(operand, Space::Fragment) ||
                               operand.getDefiningOp<SlotOp>() ||
                               !isWrittenIn(loop, getBuffer(operand));
                      });
}

/// True if `op` may stand in a turn beside products: it waits for copies, or
/// touches what a thread has to itself.
static bool isIndifferent(Operation *op) {
  if (isa<PipeWaitOp>(op) || isMemoryEffectFree(op))
    return true;
  return !op->walk([](Operation *inner) {
              return llvm::all_of(inner->getOperands(),
                                  [](Value operand) {
                                    return !isa<MemRefType>(
                                               operand.getType()) ||
                                           isInSpace(operand, Space::Fragment);
                                  }) &&
                             !isa<gpu::BarrierOp, WaitGemmOp>(inner)
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

/// The turn of an iteration of `loop`, if then a wait for some of its products
/// comes and one for the others: between the two something is computed.
static std::optional<Turn> findTurn(scf::ForOp loop) {
  Turn turn;
  int numWaits = 0;
  bool canStand = true;
  for (Operation &op : *loop.getBody()) {
    if (auto gemm = dyn_cast<GemmOp>(op); gemm && gemm.getAsync()) {
      if (numWaits > 0 || !canStand || !needsNobody(gemm, loop))
        return std::nullopt;
      if (!turn.first)
        turn.first = gemm;
      turn.last = gemm;
    } else if (turn.first && isa<WaitGemmOp>(op)) {
      ++numWaits;
    } else if (turn.first) {
      canStand &= isIndifferent(&op);
    }
  }
  return numWaits > 1 ? std::optional(turn) : std::nullopt;
}

void tl::takeTurns(RoleOp role) {
  int64_t count = role.getCount(), barrier = 0;
  if (count % kWarpGroup != 0 || count < 2 * kWarpGroup)
    return;
  for (auto other : role->getParentOfType<gpu::GPUFuncOp>().getOps<RoleOp>())
    barrier = std::max<int64_t>(barrier, other.getBarrier());
  ++barrier;
  if (barrier + count / kWarpGroup > kNumBarriers)
    return;
  SmallVector<Turn> turns;
  role.walk([&](scf::ForOp loop) {
    if (std::optional<Turn> turn = findTurn(loop))
      turns.push_back(*turn);
  });
  if (turns.empty())
    return;
  Block &body = role.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  OpenTurnsOp::create(builder, role.getLoc(), barrier);
  for (Turn &turn : turns) {
    builder.setInsertionPoint(turn.first);
    TakeTurnOp::create(builder, turn.first.getLoc(), barrier);
    builder.setInsertionPointAfter(turn.last);
    PassTurnOp::create(builder, turn.last.getLoc(), barrier);
  }
  builder.setInsertionPoint(body.getTerminator());
  CloseTurnsOp::create(builder, role.getLoc(), barrier);
}
