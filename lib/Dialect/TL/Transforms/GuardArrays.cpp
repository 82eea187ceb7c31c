//===- GuardArrays.cpp - Keep accesses inside of local arrays -------------===//
//
// An element of a local array that there is not reads as some element, and is
// not written (docs/language/semantics.md, M2). Programs rely on the latter:
// they write back what they read behind an array's end. Where arrays of threads
// lie side by side, a write there would be one to another thread's array.
//
// Each index that may be outside is cut to the last element, and what is stored
// at such a place is what was there. That is straight code, which lanes do side
// by side; a branch would be none.
//
// Sound because reads and writes of private memory are ordered with each other
// and with nobody else's, so that one more read is not seen; and because ranges
// of integers hold all that an index can be (IndexRanges.h), so that one which
// is left as it was is inside. The simulator, which reports every access
// outside, holds it to account.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/IndexRanges.h"
#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tl {
#define GEN_PASS_DEF_GUARDARRAYSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The array of private memory that `op` reads or writes an element of, or
/// null.
static Value getArray(Operation *op) {
  Value buffer;
  if (auto load = dyn_cast<LoadOp>(op))
    buffer = load.getSource();
  else if (auto store = dyn_cast<StoreOp>(op))
    buffer = store.getTarget();
  return buffer && isInSpace(buffer, Space::Private) ? buffer : Value();
}

/// Keeps an access inside of its array in the dimensions where it may leave it.
static void guard(Operation *access, Value array, ArrayRef<unsigned> unproven) {
  OpBuilder b(access);
  Location loc = access->getLoc();
  auto type = cast<MemRefType>(array.getType());
  SmallVector<Value> place(getElementIndices(access));
  Value isInside;
  for (unsigned dim : unproven) {
    // An index below zero is a large one without a sign.
    Value last =
        arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim) - 1);
    Value isHere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule,
                                         place[dim], last);
    isInside = isInside
                   ? arith::AndIOp::create(b, loc, isInside, isHere).getResult()
                   : isHere;
    place[dim] = arith::MinUIOp::create(b, loc, place[dim], last);
  }
  if (auto store = dyn_cast<StoreOp>(access)) {
    Value old = LoadOp::create(b, loc, array, place);
    store.getValueMutable().assign(
        arith::SelectOp::create(b, loc, isInside, store.getValue(), old));
  }
  replaceAccess(access, array, place);
}

namespace {
struct GuardArraysPass : tl::impl::GuardArraysPassBase<GuardArraysPass> {
  void runOnOperation() override {
    // Most kernels have no array, and need no analysis.
    SmallVector<Operation *> accesses;
    getOperation().walk([&](Operation *op) {
      if (Value array = getArray(op);
          array && !getElementNumber(cast<MemRefType>(array.getType()),
                                     getElementIndices(op)))
        accesses.push_back(op);
    });
    if (accesses.empty())
      return;
    FailureOr<std::unique_ptr<IndexRanges>> ranges =
        IndexRanges::of(getOperation());
    if (failed(ranges))
      return signalPassFailure();
    // All is decided before anything changes.
    auto unproven = llvm::map_to_vector(accesses, [&](Operation *op) {
      auto type = cast<MemRefType>(getArray(op).getType());
      return (*ranges)->getUnproven(getElementIndices(op), type.getShape(), {});
    });
    for (auto [op, dims] : llvm::zip(accesses, unproven))
      if (!dims.empty())
        guard(op, getArray(op), dims);
  }
};
} // namespace
