//===- ControlTest.cpp - Lanes that go different ways ---------------------===//

#include "Simulated.h"

using namespace tl::sim;

/// The lanes of one warp take both sides, and each has the value of its own.
TEST(Control, BothSidesOfABranch) {
  Simulated run = simulate(R"(
    %c5 = arith.constant 5 : i32
    %less = arith.cmpi ult, %t32, %c5 : i32
    %v = scf.if %less -> i32 {
      %a = arith.addi %t32, %c5 : i32
      scf.yield %a : i32
    } else {
      %a = arith.muli %t32, %c5 : i32
      scf.yield %a : i32
    }
    llvm.store %v, %at : i32, !llvm.ptr<1>)",
                           zeros());
  EXPECT_EQ(run.text, "");
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(run.words[t], t < 5 ? t + 5 : t * 5) << t;
}

/// A side that no lane takes is not executed: its store would be out of bounds.
TEST(Control, ASideWithoutLanes) {
  Simulated run = simulate(R"(
    %false = arith.constant false
    %far = llvm.getelementptr %out[1000] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    scf.if %false {
      llvm.store %t32, %far : i32, !llvm.ptr<1>
    }
    llvm.store %t32, %at : i32, !llvm.ptr<1>)",
                           zeros());
  EXPECT_EQ(run.text, "");
  EXPECT_EQ(run.words[31], 31u);
}

/// Each lane goes round as often as its own bound says, and keeps what it had
/// when it left.
TEST(Control, LanesLeaveALoopOneAfterTheOther) {
  Simulated run = simulate(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %sum = scf.for %i = %c0 to %t step %c1 iter_args(%s = %zero) -> i32 {
      %i32 = arith.index_cast %i : index to i32
      %next = arith.addi %s, %i32 : i32
      scf.yield %next : i32
    }
    llvm.store %sum, %at : i32, !llvm.ptr<1>)",
                           zeros());
  EXPECT_EQ(run.text, "");
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(run.words[t], t * (t - 1) / 2) << t;
}

/// What a loop carries changes places without being lost.
TEST(Control, CarriedValuesChangePlaces) {
  Simulated run = simulate(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %f:2 = scf.for %i = %c0 to %t step %c1 iter_args(%a = %zero, %b = %one) -> (i32, i32) {
      %next = arith.addi %a, %b : i32
      scf.yield %b, %next : i32, i32
    }
    llvm.store %f#0, %at : i32, !llvm.ptr<1>)",
                           zeros());
  uint32_t a = 0, b = 1;
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(run.words[t], a) << t;
    a = std::exchange(b, a + b);
  }
}

/// A `while` loop passes on what its condition saw last.
TEST(Control, AWhileLoop) {
  Simulated run = simulate(R"(
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c100 = arith.constant 100 : i32
    %begin = arith.addi %t32, %c1 : i32
    %v = scf.while (%x = %begin) : (i32) -> i32 {
      %more = arith.cmpi ult, %x, %c100 : i32
      scf.condition(%more) %x : i32
    } do {
    ^bb0(%x: i32):
      %next = arith.muli %x, %c2 : i32
      scf.yield %next : i32
    }
    llvm.store %v, %at : i32, !llvm.ptr<1>)",
                           zeros());
  EXPECT_EQ(run.text, "");
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t x = t + 1;
    while (x < 100)
      x *= 2;
    EXPECT_EQ(run.words[t], x) << t;
  }
}
