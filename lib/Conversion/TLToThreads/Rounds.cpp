//===- Rounds.cpp - Cut a thread's values into rounds ---------------------===//
//
// A long row of accesses, written out, makes the optimiser compute all of their
// addresses before a loop around it and spill them. A loop over rounds keeps
// what is live at once small.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMAttrs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tl;
using layout::FragmentMode;

/// The most of a mode's values that divide it, are no more than `room`, and
/// make whole units of what `taken` values of the modes before it begin. Where
/// that leaves more than half of the room empty (three of nine, and room for
/// eight), twice the room does no harm.
static int64_t takeOf(FragmentMode mode, int64_t room, int64_t taken,
                      int64_t unit) {
  auto fits = [&](int64_t part) {
    return mode.extent % part == 0 && taken * part % unit == 0;
  };
  int64_t part = std::min(mode.extent, room);
  while (part > 0 && !fits(part))
    --part;
  if (part > 0 && part * 2 >= std::min(mode.extent, room))
    return part;
  int64_t more = std::max(room, int64_t(1));
  while (more < mode.extent && !fits(more))
    ++more;
  return part == 0 || more <= 2 * room ? more : part;
}

Rounds::Rounds(const layout::FragmentLayout &layout, int64_t limit,
               int64_t unit)
    : shape(layout.getShape()), numValues(layout.numValues()) {
  if (numValues <= limit)
    return;
  numValues = 1;
  for (FragmentMode mode : layout.getValueModes()) {
    // Modes are taken in order; of one that does not fit, a part is.
    int64_t taken = 1;
    if (modes.empty())
      taken = takeOf(mode, limit / numValues, numValues, unit);
    numValues *= taken;
    if (taken < mode.extent)
      modes.push_back({mode.extent / taken, mode.stride * taken});
  }
  assert(numValues % unit == 0 && "a round holds whole units");
  for (FragmentMode mode : modes)
    count *= mode.extent;
}

Value Rounds::getOffset(ThreadLowering &lowering, Value round,
                        int64_t dim) const {
  int64_t stride = 1;
  for (size_t d = dim + 1; d < shape.size(); ++d)
    stride *= shape[d];
  Value offset = lowering.index(0);
  int64_t divisor = 1;
  for (FragmentMode mode : modes) {
    // Each mode moves along one dimension.
    bool moves = shape[dim] > 1 && mode.stride >= stride &&
                 mode.stride < stride * shape[dim];
    if (moves) {
      Value digit = lowering.div(round, divisor);
      if (divisor * mode.extent < count)
        digit = lowering.rem(digit, mode.extent);
      offset = lowering.add(offset, lowering.mul(digit, mode.stride / stride));
    }
    divisor *= mode.extent;
  }
  return offset;
}

void tl::keepRolled(Operation *loop) {
  MLIRContext *context = loop->getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
      {});
  loop->setAttr("llvm.loop_annotation",
                LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {},
                                              {}, {}, {}, {}, {}, {}, {}, {},
                                              {}, {}));
}

Value Rounds::openLoop(ThreadLowering &lowering, bool mayUnroll) const {
  OpBuilder &b = lowering.builder;
  auto loop = scf::ForOp::create(b, lowering.loc, lowering.index(0),
                                 lowering.index(count), lowering.index(1));
  b.setInsertionPointToStart(loop.getBody());
  if (!mayUnroll)
    keepRolled(loop);
  return loop.getInductionVar();
}
