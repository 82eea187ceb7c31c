//===- HostExecutableTest.cpp - Run launch plans on the CPU ---------------===//

#include "TestSupport.h"
#include "tl/Runtime/HostWaits.h"
#include "tl/Runtime/ThreadPool.h"
#include <atomic>
#include <cstring>
#include <thread>

using namespace llvm;
using namespace tl::runtime;

namespace {

constexpr StringLiteral vectors =
    R"({"kind": "tensor", "name": "X", "dtype": "f32", "shape": ["n"]},
       {"kind": "tensor", "name": "Y", "dtype": "f32", "shape": ["n"]},
       {"kind": "scalar", "name": "a", "dtype": "f32"})";

/// Y += a * X, 16 elements a block.
void axpy(void *const *params, int64_t begin, int64_t end, int64_t, int64_t) {
  const float *x = *static_cast<float *const *>(params[0]);
  float *y = *static_cast<float *const *>(params[1]);
  float a = *static_cast<float *>(params[2]);
  int32_t n = *static_cast<int32_t *>(params[3]);
  for (int64_t block = begin; block != end; ++block)
    for (int64_t i = 16 * block; i < std::min<int64_t>(n, 16 * block + 16); ++i)
      y[i] += a * x[i];
}

TEST(HostExecutableTest, RunsKernels) {
  std::string plan = makePlan(
      vectors, R"({"kernel": "axpy", "grid": [["ceildiv", ["dim", 0, 0], 16],
                   1, 1], "block": [1, 1, 1],
                   "params": [{"base": 0}, {"base": 1}, {"scalar": 2},
                              {"value": ["dim", 0, 0], "type": "i32"}]})");
  ThreadPool pool(3);
  auto executable = cantFail(
      Executable::loadHost(plan, KernelImage::host("axpy", axpy), &pool));
  for (int64_t n : {0, 1, 16, 1000}) {
    std::vector<float> x(n, 2), y(n + 1, 1);
    TestTensor X({n}, f32), Y({n}, f32);
    X.data = x.data();
    // One element is skipped by the byte offset.
    Y.data = y.data();
    Y.byteOffset = sizeof(float);
    expectSuccess(executable->call({&X, &Y, Argument::makeFloat(0.5)}));
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end()),
              std::vector<float>(n, 2));
  }
}

/// What `recordBlocks` sees: how often each block ran.
struct Blocks {
  int64_t x, y, z;
  std::atomic<int> counts[6][5][4];
};

void recordBlocks(void *const *params, int64_t begin, int64_t end,
                  int64_t gridX, int64_t gridY) {
  Blocks &blocks = **static_cast<Blocks *const *>(params[0]);
  for (int64_t i = begin; i != end; ++i)
    ++blocks.counts[i / (gridX * gridY)][i / gridX % gridY][i % gridX];
}

std::string makeGridPlan(StringRef grid) {
  return makePlan(
      R"({"kind": "tensor", "name": "B", "dtype": "u8", "shape": []},
         {"kind": "scalar", "name": "n", "dtype": "i32"})",
      R"({"kernel": "k", "grid": )" + grid.str() +
          R"(, "block": [1, 1, 1], "params": [{"base": 0}]})");
}

TEST(HostExecutableTest, EveryBlockRunsOnce) {
  ThreadPool pool(4);
  auto executable = cantFail(Executable::loadHost(
      makeGridPlan("[4, 5, 6]"), KernelImage::host("k", recordBlocks), &pool));
  Blocks blocks = {};
  TestTensor B({}, u8);
  B.data = &blocks;
  expectSuccess(executable->call({&B, Argument::makeInt(0)}));
  for (auto &plane : blocks.counts)
    for (auto &row : plane)
      for (auto &count : row)
        EXPECT_EQ(count, 1);
}

TEST(HostExecutableTest, EmptyGridsLaunchNothing) {
  for (StringRef grid : {"[[\"scalar\", 1], 5, 6]", "[4, [\"scalar\", 1], 6]",
                         "[4, 5, [\"scalar\", 1]]"}) {
    auto executable = cantFail(Executable::loadHost(
        makeGridPlan(grid),
        KernelImage::host(
            "k", [](void *const *, int64_t, int64_t, int64_t, int64_t) {
              ADD_FAILURE() << "the kernel was called";
            })));
    TestTensor B({}, u8);
    expectSuccess(executable->call({&B, Argument::makeInt(0)}));
  }
}

TEST(HostExecutableTest, GridsOutOfRange) {
  auto executable =
      cantFail(Executable::loadHost(makeGridPlan("[[\"scalar\", 1], 1, 1]"),
                                    KernelImage::host("k", recordBlocks)));
  TestTensor B({}, u8);
  expectError(executable->call({&B, Argument::makeInt(-3)}),
              ErrorCategory::Value,
              "`f`: grid x of kernel `k` is -3, expected 0 to 2147483647 "
              "(computed as `n`); pass other arguments");
  executable =
      cantFail(Executable::loadHost(makeGridPlan("[1, [\"scalar\", 1], 1]"),
                                    KernelImage::host("k", recordBlocks)));
  expectError(executable->call({&B, Argument::makeInt(65536)}),
              ErrorCategory::Value,
              "`f`: grid y of kernel `k` is 65536, expected 0 to 65535 "
              "(computed as `n`); pass other arguments");
}

/// Stores its parameter, an integer of 64 bits, where the test finds it.
std::vector<uint64_t> received;
void receive(void *const *params, int64_t, int64_t, int64_t, int64_t) {
  uint64_t word;
  std::memcpy(&word, params[0], sizeof(word));
  received.push_back(word);
}

std::string makeReceivePlan(StringRef argument, StringRef parameter) {
  return makePlan(argument, R"({"kernel": "k", "grid": [1, 1, 1],
                               "block": [1, 1, 1], "params": [)" +
                                parameter.str() + "]}");
}

TEST(HostExecutableTest, ScalarsArriveInTheirOwnType) {
  auto pass = [](StringRef dtype, Argument value) {
    received.clear();
    auto executable = cantFail(Executable::loadHost(
        makeReceivePlan(
            (R"({"kind": "scalar", "name": "s", "dtype": ")" + dtype + "\"}")
                .str(),
            R"({"scalar": 0})"),
        KernelImage::host("k", receive)));
    cantFail(executable->call(value));
    return received.at(0);
  };
  EXPECT_EQ(pass("f32", Argument::makeFloat(1)), 0x3f800000u);
  EXPECT_EQ(pass("f16", Argument::makeInt(1)), 0x3c00u);
  EXPECT_EQ(pass("i1", Argument::makeBool(true)), 1u);
  EXPECT_EQ(pass("u64", Argument::makeUInt(UINT64_MAX)), UINT64_MAX);
  // Only the low bytes are the kernel's.
  EXPECT_EQ(static_cast<int8_t>(pass("i8", Argument::makeInt(-5))), -5);
}

TEST(HostExecutableTest, ValuesMustFitTheirType) {
  constexpr StringLiteral scalar =
      R"({"kind": "scalar", "name": "n", "dtype": "i64"})";
  auto executable = cantFail(Executable::loadHost(
      makeReceivePlan(scalar,
                      R"({"value": ["*", ["scalar", 0], 2], "type": "i32"})"),
      KernelImage::host("k", receive)));
  expectError(executable->call(Argument::makeInt(1ll << 31)),
              ErrorCategory::Value,
              "`f`: a parameter of kernel `k` is 4294967296, expected a value "
              "that fits i32 (computed as `(n * 2)`); pass smaller tensors or "
              "compile the kernel with 64-bit indices");
  received.clear();
  executable = cantFail(Executable::loadHost(
      makeReceivePlan(scalar,
                      R"({"value": ["*", ["scalar", 0], 2], "type": "i64"})"),
      KernelImage::host("k", receive)));
  expectSuccess(executable->call(Argument::makeInt(1ll << 31)));
  EXPECT_EQ(received, std::vector<uint64_t>{1ull << 32});
}

// A stride that is not checked must not reach a kernel that takes it for the
// value of a symbol.
TEST(HostExecutableTest, UncheckedStridesTakeTheSymbolsValue) {
  auto executable = cantFail(Executable::loadHost(
      makeReceivePlan(
          R"({"kind": "tensor", "name": "A", "dtype": "f32",
              "shape": ["m", "n"], "strides": ["ld", 1]},
             {"kind": "tensor", "name": "B", "dtype": "f32",
              "shape": ["k", "n"], "strides": ["ld", 1]})",
          R"({"value": ["stride", 0, 0], "type": "i64"})"),
      KernelImage::host("k", receive)));
  received.clear();
  TestTensor row({1, 16}, f32), matrix({8, 16}, f32);
  row.withStrides({3, 1});
  matrix.withStrides({32, 1});
  expectSuccess(executable->call({&row, &matrix}));
  expectSuccess(executable->call({&matrix, &row}));
  // Where no place is checked, the first one counts.
  expectSuccess(executable->call({&row, &row}));
  EXPECT_EQ(received, (std::vector<uint64_t>{32, 32, 3}));
}

// Nothing is launched unless everything can be.
TEST(HostExecutableTest, ErrorsShowBeforeTheFirstLaunch) {
  std::string plan =
      makePlan(R"({"kind": "scalar", "name": "n", "dtype": "i64"})",
               R"({"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
          "params": [{"scalar": 0}]},
         {"kernel": "k", "grid": [["floordiv", 8, ["scalar", 0]], 1, 1],
          "block": [1, 1, 1], "params": [{"scalar": 0}]})");
  auto executable =
      cantFail(Executable::loadHost(plan, KernelImage::host("k", receive)));
  received.clear();
  expectError(
      executable->call(Argument::makeInt(0)), ErrorCategory::Value,
      "`f`: grid x of kernel `k`: division by zero in `floordiv(8, n)`");
  EXPECT_TRUE(received.empty());
  expectSuccess(executable->call(Argument::makeInt(8)));
  EXPECT_EQ(received, (std::vector<uint64_t>{8, 8}));
}

/// Blocks of a cooperative launch that have begun.
static std::atomic<int64_t> begun;

/// A kernel whose blocks wait for each other.
static void meet(void *const *, int64_t, int64_t, int64_t x, int64_t) {
  begun.fetch_add(1);
  while (begun.load() % x != 0)
    std::this_thread::yield();
}

// More blocks than the pool has threads, each in a thread of its own.
TEST(HostExecutableTest, BlocksOfACooperativeLaunchRunAtOnce) {
  auto load = [](int64_t blocks) {
    return cantFail(Executable::loadHost(
        makePlan(R"({"kind": "scalar", "name": "n", "dtype": "i64"})",
                 R"({"kernel": "k", "grid": [)" + std::to_string(blocks) +
                     R"(, 1, 1], "block": [1, 1, 1], "cooperative": true,
                 "params": []})"),
        KernelImage::host("k", meet)));
  };
  for (int64_t blocks : {1, 64}) {
    begun = 0;
    expectSuccess(load(blocks)->call(Argument::makeInt(0)));
    EXPECT_EQ(begun, blocks);
  }
  expectError(load(5000)->call(Argument::makeInt(0)), ErrorCategory::Value,
              "`f`: kernel `k`: 5000 blocks wait for each other, and the CPU "
              "runs at most 4096 at once; use a smaller grid");
}

/// A kernel whose blocks wait for one that never comes, but for one that ends.
static void waitForEver(void *const *, int64_t block, int64_t, int64_t,
                        int64_t) {
  waitInKernel(static_cast<int32_t>(WaitStep::Comes));
  while (block != 2)
    waitInKernel(static_cast<int32_t>(WaitStep::Waits));
}

/// A kernel whose blocks look at something in rounds that may end.
static void turnForEver(void *const *, int64_t, int64_t, int64_t, int64_t) {
  for (;;)
    waitInKernel(static_cast<int32_t>(WaitStep::Turns));
}

static std::unique_ptr<Executable> loadCooperative(HostKernel kernel) {
  return cantFail(Executable::loadHost(
      makePlan(R"({"kind": "scalar", "name": "n", "dtype": "i64"})",
               R"({"kernel": "k", "grid": [2, 2, 1], "block": [1, 1, 1],
                   "cooperative": true, "params": []})"),
      KernelImage::host("k", kernel)));
}

TEST(HostExecutableTest, BlocksThatWaitForEverAreADeadlock) {
  expectError(loadCooperative(waitForEver)->call(Argument::makeInt(0)),
              ErrorCategory::Deadlock,
              "`f`: kernel `k`: deadlock: each block that has not ended waits "
              "for what no block changes any more; 1 of 4 blocks have ended, "
              "and come to no barrier of the grid any more: (0, 1, 0); the "
              "simulator, `backend=\"sim\"`, says where they wait");
}

TEST(HostExecutableTest, BlocksThatWaitAreInterrupted) {
  static std::atomic<int> asked;
  asked = 0;
  setInterruptionCheck([] { return ++asked == 3; });
  expectError(loadCooperative(turnForEver)->call(Argument::makeInt(0)),
              ErrorCategory::Interrupted, "the call was interrupted");
  setInterruptionCheck(nullptr);
  EXPECT_EQ(asked, 3);
}

TEST(HostExecutableTest, GPUFeaturesAreRejected) {
  auto load = [](StringRef members, StringRef params = "") {
    std::string plan = makePlan(
        R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": ["n"]})",
        (R"({"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], )" +
         members + R"("params": [)" + params + "]}")
            .str());
    return Executable::loadHost(plan, KernelImage::host("k", receive))
        .takeError();
  };
  expectSuccess(load(R"("cluster": [2, 1, 1], )"));
  expectError(load("", R"({"tensor_map": {"arg": 0, "dtype": "f16",
                                          "box": [64], "swizzle": 0}})"),
              ErrorCategory::Plan,
              "`f`: kernel `k` needs tensor maps, which the CPU does not have; "
              "compile for the `cpu` backend or load the kernel for a GPU");
  expectError(Executable::loadHost(makeGridPlan("[1, 1, 1]"),
                                   KernelImage::host("other", receive))
                  .takeError(),
              ErrorCategory::Plan, "`f`: no host function for kernel `k`");
}

} // namespace
