//===- SplitFormulas.cpp - Evaluate formulas a few elements at a time -----===//
//
// A function that becomes a formula, op by op over a whole vector, keeps the
// intermediate results of all elements in registers at once: 128 quotients took
// several hundred. Element-wise ops that stand together are therefore done for
// a few elements, then for the next, which still gives the assembler
// independent work.
//
// Sound because the ops are element-wise and pure, and between them stand only
// constants: they may move behind the last of them.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "ShareFormulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tl/Conversion/TLToNVVM/Passes.h"

using namespace mlir;
using namespace tl;

/// Elements of a piece: enough to hide the latency of their instructions.
static constexpr int64_t kPiece = 8;

/// So many pieces share one function for their formula. Those of fewer may all
/// be in registers, and LLVM sees more of a kernel without calls.
static constexpr int64_t kManyPieces = 32;

/// Whether an op becomes a formula rather than an instruction.
static bool isFormula(Operation *op) {
  return op->hasAttr(kSigmoidAttr) ||
         isa<arith::DivFOp, math::AtanOp, math::Atan2Op, math::CosOp,
             math::ErfOp, math::ExpM1Op, math::LogOp, math::Log10Op,
             math::Log1pOp, math::Log2Op, math::PowFOp, math::SinOp,
             math::SqrtOp, math::TanhOp>(op);
}

/// Whether an op becomes a dozen instructions, which are too few to move it
/// for, but many where all pieces have them.
static bool isShortFormula(Operation *op) {
  if (isa<math::ExpOp>(op))
    return true;
  // LLVM makes one or two of a division by a constant.
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
             arith::RemSIOp, arith::RemUIOp>(op) &&
         !matchPattern(op->getOperand(1), m_Constant());
}

/// The number of elements that an element-wise op on vectors works on; none for
/// other ops.
static std::optional<int64_t> getLength(Operation *op) {
  if (op->getNumResults() != 1 || !isPure(op) ||
      !OpTrait::hasElementwiseMappableTraits(op))
    return std::nullopt;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type || type.getRank() != 1)
    return std::nullopt;
  return type.getNumElements();
}

namespace {

/// Neighbouring element-wise ops on vectors of one length.
class Run {
public:
  /// Adds `op`, if it goes on with the run.
  bool add(Operation *op) {
    std::optional<int64_t> opLength = getLength(op);
    if (!opLength || (!ops.empty() && *opLength != length))
      return false;
    length = *opLength;
    ops.push_back(op);
    return true;
  }

  /// Replaces the ops by ops on pieces, all of them for one piece before those
  /// for the next, or by calls of a function for each piece. Ops of which
  /// neither is worth it are left alone.
  void split() {
    bool hasFormula = llvm::any_of(ops, isFormula);
    std::optional<SharedFormula> shared = share();
    if (length <= kPiece || !(hasFormula || shared))
      return;
    OpBuilder builder(ops.back());
    DenseMap<Value, Value> results;
    for (int64_t first = 0; first < length; first += kPiece) {
      if (!shared || first + kPiece > length) {
        emitPiece(builder, first, std::min(kPiece, length - first), results);
        continue;
      }
      for (auto [old, piece] :
           llvm::zip_equal(shared->getResults(), shared->call(builder, first)))
        insert(builder, piece, old, first, results);
    }
    for (auto [old, result] : results)
      old.replaceUsesWithIf(result, [&](OpOperand &use) {
        return !llvm::is_contained(ops, use.getOwner());
      });
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

private:
  /// Makes a function of the ops where pieces are many, if it may be one. The
  /// last ops stay behind it where they are in the way: what they give may not
  /// be passed. Those are no longer ops of the run.
  std::optional<SharedFormula> share() {
    if (length < kManyPieces * kPiece)
      return std::nullopt;
    ArrayRef<Operation *> first = ops;
    while (llvm::any_of(first, isFormula) ||
           llvm::any_of(first, isShortFormula)) {
      if (auto shared = SharedFormula::create(first, length, kPiece)) {
        ops.truncate(first.size());
        return shared;
      }
      // One that is left alone would be done for all elements at once.
      if (isFormula(first.back()))
        break;
      first = first.drop_back();
    }
    return std::nullopt;
  }

  bool isUsedBehind(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !llvm::is_contained(ops, user);
    });
  }

  void emitPiece(OpBuilder &builder, int64_t first, int64_t size,
                 DenseMap<Value, Value> &results) {
    DenseMap<Value, Value> pieces;
    auto getPiece = [&](Value value, Location loc) -> Value {
      if (!isa<VectorType>(value.getType()))
        return value;
      Value &piece = pieces[value];
      if (!piece)
        piece = vector::ExtractStridedSliceOp::create(builder, loc, value,
                                                      first, size, 1);
      return piece;
    };
    for (Operation *op : ops) {
      Location loc = op->getLoc();
      Value old = op->getResult(0);
      auto type = cast<VectorType>(old.getType());
      OperationState state(loc, op->getName());
      for (Value operand : op->getOperands())
        state.operands.push_back(getPiece(operand, loc));
      state.addTypes(VectorType::get({size}, type.getElementType()));
      state.attributes = llvm::to_vector(op->getDiscardableAttrs());
      state.propertiesAttr = op->getPropertiesAsAttribute();
      Value piece = pieces[old] = builder.create(state)->getResult(0);
      if (isUsedBehind(old))
        insert(builder, piece, old, first, results);
    }
  }

  /// Puts `piece` into what `old` is replaced by, from `first` on.
  static void insert(OpBuilder &builder, Value piece, Value old, int64_t first,
                     DenseMap<Value, Value> &results) {
    Value &result = results[old];
    if (!result)
      result = arith::ConstantOp::create(builder, old.getLoc(), old.getType(),
                                         builder.getZeroAttr(old.getType()));
    result = vector::InsertStridedSliceOp::create(builder, old.getLoc(), piece,
                                                  result, first, 1);
  }

  SmallVector<Operation *> ops;
  int64_t length = 0;
};

} // namespace

void tl::splitFormulas(Operation *root) {
  SmallVector<Run> runs;
  root->walk([&](Block *block) {
    runs.emplace_back();
    for (Operation &op : *block) {
      if (op.hasTrait<OpTrait::ConstantLike>() || runs.back().add(&op))
        continue;
      runs.emplace_back();
      runs.back().add(&op);
    }
  });
  for (Run &run : runs)
    run.split();
}
