//===- ThreadOpsTest.cpp - The simulator knows the whole table ------------===//

#include "Simulated.h"

#include "tl/Dialect/TL/IR/ThreadOps.h"

using namespace tl;

/// An op that a pass may make has a meaning; what holds kernels needs none, and
/// text of CUDA C++, which no other generator takes, has one for C++ alone.
TEST(ThreadOps, AllHaveAMeaning) {
  for (const ThreadOp &op : getThreadOps()) {
    bool isHolder =
        op.category == ThreadOp::Category::Kernel && op.name != "gpu.return";
    bool isText =
        op.isTakenBy(Generator::CUDA) && !op.isTakenBy(Generator::PTX);
    EXPECT_EQ(sim::isDecoded(op.name), !isHolder && !isText) << op.name.str();
  }
}
