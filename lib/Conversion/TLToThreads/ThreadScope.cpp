//===- ThreadScope.cpp - The threads that lower an op together ------------===//
//
// Numbers of threads do not depend on where they are asked for, and are
// computed at the start of the kernel.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadScope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::ThreadStep;

static constexpr int64_t kWarp = 32;

ThreadScope::ThreadScope(IndexBuilder &b, const ThreadRange &range)
    : b(b), range(range) {
  assert(range.first % kWarp == 0 && "scopes begin with a warp");
}

/// The thread's number in its block, whose extents are `extents`.
static Value getThreadOfBlock(IndexBuilder &b, ArrayRef<int32_t> extents) {
  static constexpr gpu::Dimension dimensions[] = {
      gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z};
  Value thread = gpu::ThreadIdOp::create(b.builder, b.loc, dimensions[0]);
  int64_t stride = 1;
  for (size_t d = 1; d < extents.size(); ++d) {
    stride *= extents[d - 1];
    if (extents[d] == 1)
      continue;
    Value id = gpu::ThreadIdOp::create(b.builder, b.loc, dimensions[d]);
    thread = b.add(thread, b.mul(id, stride));
  }
  return thread;
}

Value ThreadScope::getThread() {
  if (!thread)
    thread = b.atEntry([&] {
      Value inBlock = getThreadOfBlock(b, *b.getKernel().getKnownBlockSize());
      return b.add(inBlock, -range.first);
    });
  return thread;
}

Value ThreadScope::getLane() {
  Value number = getThread();
  if (!lane)
    lane = b.atEntry([&] { return named(b.rem(number, kWarp), "lane"); });
  return lane;
}

Value ThreadScope::getWarp() {
  Value number = getThread();
  if (!warp)
    // All lanes take the number of lane 0, so that the compiler knows it to be
    // the same in the whole warp.
    warp = b.atEntry([&]() -> Value {
      Value own = b.toI32(b.div(number, kWarp));
      auto shuffle = gpu::ShuffleOp::create(
          b.builder, b.loc, own, b.i32(0), b.i32(kWarp), gpu::ShuffleMode::IDX);
      named(shuffle.getShuffleResult(), "warp");
      return arith::IndexCastOp::create(b.builder, b.loc,
                                        b.builder.getIndexType(),
                                        shuffle.getShuffleResult());
    });
  return warp;
}

Value ThreadScope::isFirstThread() {
  if (range.count == 1)
    return arith::ConstantIntOp::create(b.builder, b.loc, 1, 1);
  Value number = getThread();
  if (!first)
    first = b.atEntry([&]() -> Value {
      Value zero = b.index(0);
      return arith::CmpIOp::create(b.builder, b.loc, arith::CmpIPredicate::eq,
                                   number, zero);
    });
  return first;
}

void ThreadScope::createBarrier() {
  if (range.count == 1)
    return;
  if (range == getThreads(b.getKernel())) {
    gpu::BarrierOp::create(b.builder, b.loc);
    return;
  }
  NVVM::BarrierOp::create(b.builder, b.loc, TypeRange(), b.i32(range.barrier),
                          b.i32(range.count), /*reductionOp=*/nullptr,
                          /*reductionPredicate=*/nullptr);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

Value ThreadScope::sumSteps(ArrayRef<ThreadStep> steps) {
  Value sum = b.index(0);
  for (const ThreadStep &step : steps) {
    Value digit = b.div(getThread(), step.divisor);
    if (step.divisor * step.extent < range.count)
      digit = b.rem(digit, step.extent);
    sum = b.add(sum, b.mul(digit, step.step));
  }
  return sum;
}

Value ThreadScope::getThreadOffset(const FragmentLayout &layout, int64_t dim) {
  return sumSteps(layout.threadSteps(dim));
}

/// The digits of the thread's number that tell copies of the same values apart.
static SmallVector<ThreadStep> getCopySteps(const FragmentLayout &layout) {
  SmallVector<ThreadStep> steps;
  int64_t divisor = 1;
  for (layout::FragmentMode mode : layout.getThreadModes()) {
    if (mode.stride == 0)
      steps.push_back({divisor, mode.extent, 1});
    divisor *= mode.extent;
  }
  return steps;
}

bool ThreadScope::hasCopies(const FragmentLayout &layout) const {
  return layout.numCopies() > 1 || layout.numThreads() < range.count;
}

bool ThreadScope::hasWarpsOfCopies(const FragmentLayout &layout) const {
  return (layout.numThreads() < range.count &&
          layout.numThreads() % kWarp == 0) ||
         llvm::any_of(getCopySteps(layout), [](const ThreadStep &step) {
           return step.divisor % kWarp == 0;
         });
}

Value ThreadScope::isFirstCopy(const FragmentLayout &layout) {
  Value isFirst;
  auto require = [&](arith::CmpIPredicate predicate, Value value,
                     int64_t bound) {
    Value holds = arith::CmpIOp::create(b.builder, b.loc, predicate, value,
                                        b.index(bound));
    isFirst = isFirst ? arith::AndIOp::create(b.builder, b.loc, isFirst, holds)
                            .getResult()
                      : holds;
  };
  if (layout.numThreads() < range.count)
    require(arith::CmpIPredicate::ult, getThread(), layout.numThreads());
  for (ThreadStep step : getCopySteps(layout)) {
    if (step.divisor * step.extent >= range.count)
      require(arith::CmpIPredicate::ult, getThread(), step.divisor);
    else
      require(arith::CmpIPredicate::eq,
              b.rem(b.div(getThread(), step.divisor), step.extent), 0);
  }
  return isFirst;
}
