//===- ThreadScopeTest.cpp - Parts of a block -----------------------------===//
//
// No tile program has parts of a block yet; what lowering would make for one is
// checked here.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadScope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tl;

namespace {

class ThreadScopeTest : public ::testing::Test {
protected:
  ThreadScopeTest() {
    context
        .loadDialect<arith::ArithDialect, gpu::GPUDialect, NVVM::NVVMDialect>();
    module = parseSourceString<ModuleOp>(
        "gpu.module @m { gpu.func @k() kernel attributes {known_block_size = "
        "array<i32: 384, 1, 1>} { gpu.return } }",
        &context);
    module->walk([&](gpu::GPUFuncOp op) { kernel = op; });
  }

  /// The kernel's ops, one in each line.
  std::string print() {
    std::string text;
    llvm::raw_string_ostream os(text);
    AsmState state(kernel);
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      op.print(os, state);
      os << "\n";
    }
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  gpu::GPUFuncOp kernel;
};

TEST_F(ThreadScopeTest, BlockMeetsAtItsOwnBarrier) {
  IndexBuilder b(kernel);
  ThreadScope scope(b, getThreads(kernel));
  EXPECT_EQ(scope.getNumThreads(), 384);
  scope.getThread();
  b.builder.setInsertionPoint(kernel.getBody().front().getTerminator());
  scope.createBarrier();
  EXPECT_EQ(print(), "%thread_id_x = gpu.thread_id  x\n"
                     "gpu.barrier\n");
}

TEST_F(ThreadScopeTest, PartHasNumbersAndABarrierOfItsOwn) {
  IndexBuilder b(kernel);
  ThreadScope part(b, {/*first=*/256, /*count=*/128, /*barrier=*/2});
  part.isFirstThread();
  b.builder.setInsertionPoint(kernel.getBody().front().getTerminator());
  part.createBarrier();
  EXPECT_EQ(print(),
            "%thread_id_x = gpu.thread_id  x\n"
            "%c-256 = arith.constant -256 : index\n"
            "%0 = arith.addi %thread_id_x, %c-256 overflow<nsw> : index\n"
            "%c0 = arith.constant 0 : index\n"
            "%1 = arith.cmpi eq, %0, %c0 : index\n"
            "%c2_i32 = arith.constant 2 : i32\n"
            "%c128_i32 = arith.constant 128 : i32\n"
            "nvvm.barrier id = %c2_i32 number_of_threads = %c128_i32\n");
}

TEST_F(ThreadScopeTest, CopiesAreThoseOfThePart) {
  IndexBuilder b(kernel);
  // One value for each of 64 threads.
  layout::FragmentLayout layout = layout::FragmentLayout::blocked({64}, 64, 1);
  ThreadScope small(b, {/*first=*/0, /*count=*/64, /*barrier=*/1});
  ThreadScope large(b, {/*first=*/64, /*count=*/320, /*barrier=*/2});
  EXPECT_FALSE(small.hasCopies(layout));
  EXPECT_TRUE(large.hasCopies(layout));
}

} // namespace
