//===- SpeculateChoices.cpp - Compute both numbers of a choice ------------===//
//
// `T.if_then_else(c, A[i], 0)` needs `A[i]` only where `c` holds, and so the
// front end builds a branch. A number that costs little is computed sooner than
// it is jumped around, and what computes both is straight code, which the lanes
// of vectors do side by side: here the branch becomes a `select`.
//
// Sound because nothing but time tells that the other number was computed too:
//
// - No op of it fails or divides by zero. The front end marks the choices whose
//   arithmetic means something for all operands (`tl.total`): its divisions are
//   guarded where their divisor may be zero (I3). A branch without the mark
//   stays.
// - It writes nothing, and calls nothing of the user's: ops are of `arith` and
//   `math`, the thread's number, and reads.
// - A read of a tensor is one that nobody's write can meet: of an argument that
//   the kernel reads and copies from, and does nothing else with. No other
//   argument is the same memory then (M5), no tensor at an address may be, as
//   the kernel has none (M13), and no other kernel runs meanwhile (S1). Outside
//   of the tensor it is zero (M1).
// - A read of private memory is of a known element that there is.
//
// These are checked here, op by op, all but the first one, which the front end
// owes: test/python/hazards.py divides by all that is special, in choices too.
// Random programs (test/fuzz/programs) and the simulator's races hold all of it
// to account. What is reported in a checked program is a statement of the
// branch, which therefore stays.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

namespace tl {
#define GEN_PASS_DEF_SPECULATECHOICESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// On a `scf.if` that chooses between numbers: both may be computed, but for
/// what they read.
static constexpr StringLiteral kTotalAttr = "tl.total";

/// True if every index is a number that is inside of `type`.
static bool isKnownElement(MemRefType type, ValueRange indices) {
  return llvm::all_of(
      llvm::zip_equal(indices, type.getShape()), [](auto entry) {
        auto [index, extent] = entry;
        std::optional<int64_t> number = getConstantIntValue(index);
        return number && *number >= 0 && *number < extent;
      });
}

namespace {
class ChoiceRewrite {
public:
  /// Turns a choice into a `select` if both of its numbers may be computed.
  void visit(scf::IfOp choice);

private:
  bool mayExecute(Operation &op);
  bool mayRead(LoadOp load);
  bool isOnlyRead(Value tensor);

  /// Whether nobody writes a tensor while the kernel runs.
  llvm::DenseMap<Value, bool> tensors;
};
} // namespace

bool ChoiceRewrite::isOnlyRead(Value tensor) {
  auto [entry, isNew] = tensors.try_emplace(tensor, false);
  if (isNew) {
    auto argument = dyn_cast<BlockArgument>(tensor);
    auto kernel =
        argument ? dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp())
                 : gpu::GPUFuncOp();
    entry->second = kernel && !hasTensorsAtAddresses(kernel) &&
                    llvm::all_of(tensor.getUsers(), [tensor](Operation *user) {
                      return onlyReads(user, tensor);
                    });
  }
  return entry->second;
}

bool ChoiceRewrite::mayRead(LoadOp load) {
  Value source = load.getSource();
  if (isInSpace(source, Space::Private))
    return isKnownElement(cast<MemRefType>(source.getType()),
                          load.getIndices());
  return isInSpace(source, Space::Global) && isOnlyRead(source);
}

bool ChoiceRewrite::mayExecute(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return mayRead(load);
  return op.getNumRegions() == 0 &&
         (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
          isa<gpu::ThreadIdOp>(op));
}

/// One of two numbers, as the front end would say it of numbers that are there:
/// `and` and `or` are choices with a number that is known.
static Value select(OpBuilder &builder, Location loc, Value chosen, Value yes,
                    Value no) {
  if (matchPattern(no, m_Zero()) && no.getType().isInteger(1))
    return arith::AndIOp::create(builder, loc, chosen, yes);
  if (matchPattern(yes, m_One()) && yes.getType().isInteger(1))
    return arith::OrIOp::create(builder, loc, chosen, no);
  return arith::SelectOp::create(builder, loc, chosen, yes, no);
}

void ChoiceRewrite::visit(scf::IfOp choice) {
  if (!choice->removeAttr(kTotalAttr))
    return;
  for (Region *region : choice.getRegions())
    for (Operation &op : region->front().without_terminator())
      if (!mayExecute(op))
        return;

  OpBuilder builder(choice);
  SmallVector<Value> yes(choice.thenYield().getResults());
  SmallVector<Value> no(choice.elseYield().getResults());
  for (Region *region : choice.getRegions()) {
    Block &block = region->front();
    block.getTerminator()->erase();
    choice->getBlock()->getOperations().splice(choice->getIterator(),
                                               block.getOperations());
  }
  for (auto [result, a, b] : llvm::zip_equal(choice.getResults(), yes, no))
    result.replaceAllUsesWith(
        select(builder, choice.getLoc(), choice.getCondition(), a, b));
  choice.erase();
}

namespace {
struct SpeculateChoicesPass
    : tl::impl::SpeculateChoicesPassBase<SpeculateChoicesPass> {
  void runOnOperation() override {
    ChoiceRewrite rewrite;
    // Inner choices come first: they may be ops of outer ones.
    getOperation().walk([&](scf::IfOp choice) { rewrite.visit(choice); });
  }
};
} // namespace
