//===- AsyncTest.cpp - Tests for when asynchronous operations happen ------===//
//
// What a GPU may do early or late, some seeds do early and others late: a
// program that does not wait gets the wrong result from some of them, and one
// that does the right one from all.
//
//===----------------------------------------------------------------------===//

#include "Simulated.h"
#include "tl/Simulator/TensorMap.h"
#include <set>

using namespace tl::sim;

namespace {

constexpr unsigned kSeeds = 48;

/// The words that each seed ends with, when it runs `body` in `threads` threads
/// on `words`. `%out` points to them, and `%map` is a tensor map of them as
/// rows of 4, with boxes of 8 rows.
std::set<std::vector<uint32_t>> runSeeds(llvm::StringRef body,
                                         const std::vector<uint32_t> &words,
                                         unsigned threads) {
  std::string text =
      ("gpu.module @m {\n"
       "gpu.func @k(%out: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, "
       "%map: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [4, 8], "
       "swizzle = 0, type = i32>}) kernel attributes {known_block_size = "
       "array<i32: " +
       llvm::Twine(threads) +
       ", 1, 1>, tl.shared = 4096 : i64} {\n"
       "%t = gpu.thread_id x\n"
       "%t32 = arith.index_cast %t : index to i32\n"
       "%at = llvm.getelementptr %out[%t32] : (!llvm.ptr<1>, i32) -> "
       "!llvm.ptr<1>, i32\n"
       "%base = tl.shared_base : !llvm.ptr<3>\n"
       "%place = llvm.getelementptr %base[%t32] : (!llvm.ptr<3>, i32) -> "
       "!llvm.ptr<3>, i32\n"
       "%c0 = arith.constant 0 : i32\n"
       "%c7 = arith.constant 7 : i32\n"
       "%first = arith.cmpi eq, %t32, %c0 : i32\n" +
       body + "\ngpu.return\n}\n}\n")
          .str();
  auto program = decodeText(text, "k", getRegistry());
  if (!program) {
    ADD_FAILURE() << toString(program.takeError());
    return {};
  }
  std::set<std::vector<uint32_t>> results;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    // Tensors begin at multiples of 16 bytes.
    std::vector<uint32_t> storage(words.size() + 4);
    auto begin = (reinterpret_cast<uint64_t>(storage.data()) + 15) / 16 * 16;
    auto *given = reinterpret_cast<uint32_t *>(begin);
    llvm::copy(words, given);
    GlobalMemory memory({{begin, begin + 4 * words.size(), "out"}});
    TensorMap map;
    map.address = begin;
    map.rank = 2;
    map.elementBytes = 4;
    map.extents = {4, words.size() / 4};
    map.strides = {4, 16};
    map.box = {4, 8};
    uint64_t parameters[] = {begin, reinterpret_cast<uint64_t>(&map)};
    Launch launch;
    launch.program = program->get();
    launch.sharedBytes = 4096;
    launch.parameters = parameters;
    launch.global = &memory;
    launch.seed = seed;
    for (const Report &report : run(launch).reports)
      ADD_FAILURE() << describe(report, launch);
    results.insert({given, given + words.size()});
  }
  return results;
}

std::vector<uint32_t> count(unsigned words) {
  std::vector<uint32_t> result;
  for (unsigned i = 0; i < words; ++i)
    result.push_back(100 + i);
  return result;
}

TEST(Async, CopiesOfThreadsLandUntilTheirGroupIsWaitedFor) {
  auto copy = [](const char *wait) {
    return runSeeds(std::string(R"(
      llvm.store %c7, %place : i32, !llvm.ptr<3>
      nvvm.cp.async.shared.global %place, %at, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      gpu.barrier
    )") + wait + R"(
      %got = llvm.load %place : !llvm.ptr<3> -> i32
      llvm.store %got, %at : i32, !llvm.ptr<1>)",
                    count(64), 64);
  };
  EXPECT_EQ(copy("nvvm.cp.async.wait.group 0"), std::set{count(64)});
  auto late = copy("");
  EXPECT_TRUE(late.contains(count(64)));
  EXPECT_TRUE(late.contains(std::vector<uint32_t>(64, 7)));
  // Some of a warp's lanes, and not the others.
  EXPECT_GT(late.size(), 2u);
}

TEST(Async, BoxesLandLineByLineUntilTheirPhaseIsComplete) {
  auto load = [](const char *wait) {
    return runSeeds(std::string(R"(
      llvm.store %c7, %place : i32, !llvm.ptr<3>
      %bar = llvm.getelementptr %base[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %c1 = arith.constant 1 : i32
      %bytes = arith.constant 128 : i32
      scf.if %first {
        nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      }
      gpu.barrier
      scf.if %first {
        nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.tensor.shared.cluster.global %base, %map, %bar, box[%c0, %c0] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      }
      gpu.barrier
    )") + wait + R"(
      %got = llvm.load %place : !llvm.ptr<3> -> i32
      llvm.store %got, %at : i32, !llvm.ptr<1>)",
                    count(32), 32);
  };
  EXPECT_EQ(load("nvvm.mbarrier.try_wait.parity %bar, %c0, %c1 : "
                 "!llvm.ptr<3>, i32, i32"),
            std::set{count(32)});
  auto late = load("");
  EXPECT_TRUE(late.contains(count(32)));
  EXPECT_TRUE(late.contains(std::vector<uint32_t>(32, 7)));
  EXPECT_GT(late.size(), 2u);
  // A line of 16 bytes lands as a whole.
  for (const std::vector<uint32_t> &words : late)
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_EQ(words[i] == 7, words[i / 4 * 4] == 7);
}

TEST(Async, StoresReadUntilTheirReadsAreWaitedFor) {
  auto store = [](const char *wait) {
    return runSeeds(std::string(R"(
      %value = arith.addi %t32, %c7 : i32
      llvm.store %value, %place : i32, !llvm.ptr<3>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpu.barrier
      scf.if %first {
        nvvm.cp.async.bulk.tensor.global.shared.cta %map, %base, box[%c0, %c0] : !llvm.ptr, <3>
        nvvm.cp.async.bulk.commit.group
    )") + wait + R"(
      }
      gpu.barrier
      llvm.store %c0, %place : i32, !llvm.ptr<3>)",
                    count(32), 32);
  };
  std::vector<uint32_t> expected;
  for (unsigned i = 0; i < 32; ++i)
    expected.push_back(7 + i);
  EXPECT_EQ(store("nvvm.cp.async.bulk.wait_group 0 {read}"),
            std::set{expected});
  auto late = store("");
  EXPECT_TRUE(late.contains(expected));
  EXPECT_TRUE(late.contains(std::vector<uint32_t>(32)));
}

// A and B are ones. B becomes zeros, before the wait or after it.
TEST(Async, ProductsReadUntilTheyAreWaitedFor) {
  auto multiply = [](bool waits) {
    constexpr const char *wait =
        "%sums = tl.wgmma_wait 0 (%product : vector<4xf32>)\n";
    // 64 rows of A, and behind them 8 of B, of 32 bytes each and swizzled.
    return runSeeds(std::string(R"(
      %i0 = arith.constant 0 : index
      %i1 = arith.constant 1 : index
      %i4 = arith.constant 4 : index
      %c128 = arith.constant 128 : i32
      %ones = arith.constant 0x3C003C00 : i32
      %behind = llvm.getelementptr %place[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      scf.for %i = %i0 to %i4 step %i1 {
        %n = arith.index_cast %i : index to i32
        %row = arith.muli %n, %c128 : i32
        %word = llvm.getelementptr %place[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        llvm.store %ones, %word : i32, !llvm.ptr<3>
      }
      llvm.store %ones, %behind : i32, !llvm.ptr<3>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpu.barrier
      %a = arith.constant -4611685949707845568 : i64
      %b = arith.constant -4611685949707845440 : i64
      %zero = arith.constant dense<0.0> : vector<4xf32>
      %product = tl.wgmma f16 n(8) %a, %b, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
    )") + (waits ? wait : "") +
                        R"(
      gpu.barrier
      llvm.store %c0, %behind : i32, !llvm.ptr<3>
      gpu.barrier
    )" + (waits ? "" : wait) +
                        R"(
      %sum = vector.extract %sums[0] : f32 from vector<4xf32>
      llvm.store %sum, %at : f32, !llvm.ptr<1>)",
                    count(128), 128);
  };
  std::vector<uint32_t> sixteens(128, std::bit_cast<uint32_t>(16.0f));
  EXPECT_EQ(multiply(true), std::set{sixteens});
  auto late = multiply(false);
  EXPECT_TRUE(late.contains(sixteens));
  EXPECT_TRUE(late.contains(std::vector<uint32_t>(128)));
}

} // namespace
