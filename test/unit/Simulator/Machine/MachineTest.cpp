//===- MachineTest.cpp - Warps, barriers and what goes wrong --------------===//

#include "Simulated.h"

#include <set>

using namespace tl::sim;
using Kind = Report::Kind;

/// Stores each thread's number to shared memory, and reads its neighbour's.
static constexpr llvm::StringLiteral kNeighbour = R"(
    %base = tl.shared_base : !llvm.ptr<3>
    %c1 = arith.constant 1 : i32
    %c127 = arith.constant 127 : i32
    %mine = llvm.getelementptr %base[%t32] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t32, %mine : i32, !llvm.ptr<3>
    gpu.barrier
    %next = arith.addi %t32, %c1 : i32
    %wrapped = arith.andi %next, %c127 : i32
    %theirs = llvm.getelementptr %base[%wrapped] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %theirs : !llvm.ptr<3> -> i32
    llvm.store %v, %at : i32, !llvm.ptr<1>)";

TEST(Machine, ABarrierIsThereForAllSeeds) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Simulated run = simulate(kNeighbour, zeros(128), 128, 1024, seed);
    EXPECT_EQ(run.text, "");
    for (uint32_t t = 0; t < 128; ++t)
      EXPECT_EQ(run.words[t], (t + 1) % 128) << t << " of seed " << seed;
  }
}

/// Without a barrier what is read depends on the seed, and on nothing else.
TEST(Machine, ASeedIsOneExecution) {
  std::string body = kNeighbour.str();
  body.erase(body.find("gpu.barrier"), 11);
  std::set<std::vector<uint32_t>> seen;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Simulated first = simulate(body, zeros(128), 128, 1024, seed);
    Simulated again = simulate(body, zeros(128), 128, 1024, seed);
    EXPECT_EQ(first.words, again.words);
    seen.insert(first.words);
  }
  EXPECT_GT(seen.size(), 1u);
}

TEST(Machine, ThreadsThatFillNoWarp) {
  Simulated run =
      simulate("llvm.store %t32, %at : i32, !llvm.ptr<1>", zeros(40), 40);
  EXPECT_EQ(run.text, "");
  EXPECT_EQ(run.words[39], 39u);
}

TEST(Machine, LanesReadEachOther) {
  Simulated run = simulate(R"(
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %r, %ok = gpu.shuffle down %t32, %c1, %c8 : i32
    llvm.store %r, %at : i32, !llvm.ptr<1>)",
                           zeros());
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(run.words[t], t % 8 == 7 ? t : t + 1) << t;
}

/// Each block says that it is there, and waits until the other one of its
/// cluster is.
static constexpr llvm::StringLiteral kMeeting = R"(
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %block = gpu.block_id x
    %b = arith.index_cast %block : index to i32
    %other = arith.xori %b, %one : i32
    %mine = llvm.getelementptr %out[%b] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %theirs = llvm.getelementptr %out[%other] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      %was = tl.atom add %mine, %one : !llvm.ptr<1>, i32
      scf.while : () -> () {
        %there = tl.atom add %theirs, %zero : !llvm.ptr<1>, i32
        %isMissing = arith.cmpi eq, %there, %zero : i32
        scf.condition(%isMissing)
      } do {
        scf.yield
      }
    }
    gpu.barrier)";

TEST(Machine, BlocksOfAClusterRunAtTheSameTime) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Simulated run = simulate(kMeeting, zeros(6), /*threads=*/64,
                             /*shared=*/0, seed, /*blocks=*/6, /*cluster=*/2);
    EXPECT_EQ(run.text, "");
    EXPECT_EQ(run.words, std::vector<uint32_t>(6, 1));
  }
}

/// A block that fails ends the others, though they wait for it.
TEST(Machine, ABlockThatFailsEndsItsCluster) {
  std::string body = R"(
    %two = arith.constant 2 : index
    %number = gpu.block_id x
    %isThird = arith.cmpi eq, %number, %two : index
    scf.if %isThird {
      %far = llvm.getelementptr %out[4096] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      llvm.store %t32, %far : i32, !llvm.ptr<1>
    })" + kMeeting.str();
  Simulated run = simulate(body, zeros(4), 64, 0, /*seed=*/0, /*blocks=*/4,
                           /*cluster=*/4);
  EXPECT_EQ(run.kinds(), std::vector{Kind::OutOfBounds});
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

TEST(Machine, AStoreBehindATensor) {
  Simulated run =
      simulate("llvm.store %t32, %at : i32, !llvm.ptr<1>", zeros(20));
  EXPECT_EQ(run.kinds(), std::vector{Kind::OutOfBounds});
  EXPECT_EQ(
      run.text,
      "kernel `k`: out of bounds: an access is out of bounds; its index must "
      "be below the extent\n"
      "  -:6: block (0, 0, 0), thread (20, 0, 0) accesses 4 bytes at byte "
      "80 of `out`, which has 80 (`llvm.store`)\n");
  // What a warp cannot do as a whole it does not do.
  EXPECT_EQ(run.words[19], 0u);
}

TEST(Machine, AStoreBehindSharedMemory) {
  Simulated run = simulate(R"(
    %base = tl.shared_base : !llvm.ptr<3>
    %mine = llvm.getelementptr %base[%t32] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t32, %mine : i32, !llvm.ptr<3>)",
                           zeros(), 32, 64);
  EXPECT_EQ(run.kinds(), std::vector{Kind::OutOfBounds});
  EXPECT_NE(run.text.find("4 bytes at byte 64 of 64 bytes of shared memory"),
            std::string::npos)
      << run.text;
}

TEST(Machine, AMisalignedLoad) {
  Simulated run = simulate(R"(
    %odd = llvm.getelementptr %at[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %v = llvm.load %odd : !llvm.ptr<1> -> i32
    llvm.store %v, %at : i32, !llvm.ptr<1>)",
                           zeros());
  EXPECT_EQ(run.kinds(), std::vector{Kind::Misaligned});
}

TEST(Machine, ABarrierForAPartOfAWarp) {
  Simulated run = simulate(R"(
    %c5 = arith.constant 5 : i32
    %less = arith.cmpi ult, %t32, %c5 : i32
    scf.if %less {
      gpu.barrier
    })",
                           zeros());
  EXPECT_EQ(run.kinds(), std::vector{Kind::Divergence});
  EXPECT_NE(run.text.find("5 of 32 threads of the warp come here"),
            std::string::npos)
      << run.text;
}

/// One warp waits at a barrier that the other never comes to.
TEST(Machine, ABarrierThatOneWarpMisses) {
  Simulated run = simulate(R"(
    %c32 = arith.constant 32 : i32
    %less = arith.cmpi ult, %t32, %c32 : i32
    scf.if %less {
      gpu.barrier
    })",
                           zeros(64), 64);
  EXPECT_EQ(run.kinds(), std::vector{Kind::Deadlock});
  EXPECT_EQ(
      run.text,
      "kernel `k`: deadlock: no warp of the block can go on; 1 of 2 have "
      "ended, and arrive nowhere any more: 1\n"
      "  -:10: block (0, 0, 0), warp 0 waits at barrier 0 for 64 threads, "
      "of which 32 are there (`gpu.barrier`)\n");
}

/// A phase that nobody completes.
TEST(Machine, AnMbarrierThatNobodyArrivesAt) {
  Simulated run = simulate(R"(
    %base = tl.shared_base : !llvm.ptr<3>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    nvvm.mbarrier.init %base, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.try_wait.parity %base, %c0, %c1 : !llvm.ptr<3>, i32, i32)",
                           zeros(1), 1);
  EXPECT_EQ(run.kinds(), std::vector{Kind::Deadlock});
  EXPECT_NE(run.text.find("lacks 1 of 1 arrivals and 0 bytes"),
            std::string::npos)
      << run.text;
}

/// A loop that looks at word 0 of `out` until it is no longer zero, through
/// shared memory as all threads do in a program.
constexpr llvm::StringLiteral kLookingLoop = R"(
    %base = tl.shared_base : !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    %isFirst = arith.cmpi eq, %t32, %zero : i32
    scf.while : () -> () {
      gpu.barrier
      scf.if %isFirst {
        %seen = tl.atom load %out order(acquire) : <1>, i32
        llvm.store %seen, %base : i32, !llvm.ptr<3>
      }
      gpu.barrier
      %x = llvm.load %base : !llvm.ptr<3> -> i32
      %goesOn = arith.cmpi eq, %x, %zero : i32
      scf.condition(%goesOn)
    } do {
      scf.yield
    })";

TEST(Machine, ALoopThatNobodyEnds) {
  for (uint64_t seed = 0; seed < 9; ++seed) {
    Simulated run = simulate(kLookingLoop, zeros(64), 64, 1024, seed);
    EXPECT_EQ(run.kinds(), std::vector{Kind::Deadlock});
    EXPECT_EQ(run.text,
              "kernel `k`: deadlock: whoever has not ended waits, or goes "
              "round a loop that nothing lets end any more\n"
              "  -:13: block (0, 0, 0), thread (0, 0, 0) looks again and again "
              "at bytes 0 to 3 of `out`, which nobody changes any more "
              "(`tl.atom`)\n");
  }
}

/// Another block writes what the loop waits for, after a long time.
TEST(Machine, ALoopThatAnotherBlockEnds) {
  std::string body = (R"(
    %block = gpu.block_id x
    %one = arith.constant 1 : index
    %isOther = arith.cmpi eq, %block, %one : index
    scf.if %isOther {
      %from = arith.constant 0 : index
      %to = arith.constant 5000 : index
      %four = arith.constant 4 : i32
      %next = llvm.getelementptr %out[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      scf.for %i = %from to %to step %one {
        %same = llvm.load %next : !llvm.ptr<1> -> i32
        llvm.store %same, %next : i32, !llvm.ptr<1>
        gpu.barrier
      }
      %old = tl.atom add %out, %four order(release) : <1>, i32
    })" + kLookingLoop)
                         .str();
  for (uint64_t seed = 0; seed < 9; ++seed) {
    Simulated run = simulate(body, zeros(64), 64, 1024, seed, 2, 2);
    EXPECT_EQ(run.text, "");
  }
  // Block 0 is alone, and runs first.
  EXPECT_NE(simulate(body, zeros(64), 64, 1024, 0, 2, 1)
                .text.find("nor will the other 1 blocks let them go on"),
            std::string::npos);
}

/// The loop of warp 0 ends by warp 1, which counts in a loop of its own and
/// meets warp 0 in each round.
TEST(Machine, ALoopThatAnotherWarpEnds) {
  llvm::StringRef body = R"(
    %base = tl.shared_base : !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %many = arith.constant 2000 : i32
    %limit = arith.constant 32 : i32
    %isFirst = arith.cmpi ult, %t32, %limit : i32
    llvm.store %zero, %base : i32, !llvm.ptr<3>
    gpu.barrier
    scf.if %isFirst {
      scf.while : () -> () {
        gpu.barrier
        %x = llvm.load %base : !llvm.ptr<3> -> i32
        gpu.barrier
        %goesOn = arith.cmpi eq, %x, %zero : i32
        scf.condition(%goesOn)
      } do {
        scf.yield
      }
    } else {
      scf.for %i = %zero to %many step %one : i32 {
        gpu.barrier
        gpu.barrier
      }
      llvm.store %one, %base : i32, !llvm.ptr<3>
      gpu.barrier
      gpu.barrier
    })";
  for (uint64_t seed = 0; seed < 9; ++seed)
    EXPECT_EQ(simulate(body, zeros(64), 64, 1024, seed).text, "");
}

/// Neither carried values nor memory are the same again.
TEST(Machine, LoopsThatCount) {
  llvm::StringRef body = R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %many = arith.constant 3000 : i32
    %n = scf.while (%i = %zero) : (i32) -> i32 {
      %goesOn = arith.cmpi ult, %i, %many : i32
      scf.condition(%goesOn) %i : i32
    } do {
    ^bb0(%i: i32):
      %next = arith.addi %i, %one : i32
      scf.yield %next : i32
    }
    scf.while : () -> () {
      %x = llvm.load %at : !llvm.ptr<1> -> i32
      %next = arith.addi %x, %one : i32
      llvm.store %next, %at : i32, !llvm.ptr<1>
      %goesOn = arith.cmpi ult, %next, %n : i32
      scf.condition(%goesOn)
    } do {
      scf.yield
    })";
  Simulated run = simulate(body, zeros());
  EXPECT_EQ(run.text, "");
  EXPECT_EQ(run.words, std::vector<uint32_t>(32, 3000));
}

TEST(Machine, AnOpWithoutAMeaning) {
  Simulated run = simulate("%x = llvm.mlir.poison : i32", zeros());
  EXPECT_EQ(run.text, "`k` is no kernel of the simulator: `llvm.mlir.poison` "
                      "has no meaning in the simulator");
}
