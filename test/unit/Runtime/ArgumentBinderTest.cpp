//===- ArgumentBinderTest.cpp - The shortcut and the careful way ----------===//
//
// Whatever the arguments are, the shortcut for ordinary calls must not change
// the outcome: the same calls succeed, with the same slots. Small extents make
// the exceptions to the rules (empty tensors, extents of 1) frequent.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/ArgumentBinder.h"
#include "TestSupport.h"

#include <deque>
#include <random>

using namespace llvm;
using namespace tl::runtime;

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : engine(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

  /// A constant or one of two symbols.
  std::string dim() {
    int64_t choice = pick(0, 3);
    return choice < 2    ? std::to_string(choice + 1)
           : choice == 2 ? "\"m\""
                         : "\"n\"";
  }

  std::string list(unsigned rank, bool nulls) {
    std::string text = "[";
    for (unsigned i = 0; i != rank; ++i)
      text += (i ? ", " : "") + (nulls && !pick(0, 3) ? "null" : dim());
    return text + "]";
  }

  std::string argument(unsigned position) {
    std::string name = "\"A" + std::to_string(position) + "\"";
    if (!pick(0, 5))
      return R"({"kind": "scalar", "dtype": "i8", "name": )" + name + "}";
    unsigned rank = pick(0, 3);
    return R"({"kind": "tensor", "dtype": "f32", "align": 8, "name": )" + name +
           R"(, "shape": )" + list(rank, false) + R"(, "strides": )" +
           (pick(0, 1) ? "null" : list(rank, true)) + "}";
  }

private:
  std::mt19937 engine;
};

/// A tensor with extents of its own, sometimes not where it should be.
struct RandomTensor {
  int64_t shape[3], strides[3];
  alignas(8) char data[16];
  DLTensor tensor;

  RandomTensor(Generator &random, DLDeviceType device, int32_t rank) {
    if (!random.pick(0, 15))
      rank = random.pick(0, 3);
    int64_t stride = 1;
    for (int32_t i = rank; i-- != 0;) {
      shape[i] = random.pick(0, 9) ? random.pick(1, 2) : random.pick(-1, 0);
      strides[i] = random.pick(0, 7) ? stride : random.pick(0, 3);
      stride *= shape[i];
    }
    tensor = {random.pick(0, 31) ? data : nullptr,
              {random.pick(0, 31) ? device : kDLCUDAManaged,
               int32_t(!random.pick(0, 31))},
              rank,
              {uint8_t(random.pick(0, 31) ? kDLFloat : kDLInt), 32, 1},
              shape,
              random.pick(0, 7) ? strides : nullptr,
              uint64_t(random.pick(0, 31) ? 8 : 4)};
  }
};

class ArgumentBinderTest : public testing::TestWithParam<DLDeviceType> {};

TEST_P(ArgumentBinderTest, TheShortcutChangesNothing) {
  DLDeviceType deviceType = GetParam();
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator random(seed);
  unsigned accepted = 0, refused = 0;
  for (unsigned round = 0; round != 20000; ++round) {
    std::string arguments;
    unsigned count = random.pick(1, 3);
    for (unsigned i = 0; i != count; ++i)
      arguments += (i ? ", " : "") + random.argument(i);
    LaunchPlan plan = cantFail(LaunchPlan::parse(makePlan(arguments)));

    std::deque<RandomTensor> tensors;
    std::vector<Argument> given;
    for (const PlanArgument &argument : plan.arguments) {
      if (!argument.isTensor) {
        given.push_back(Argument::makeInt(random.pick(-140, 140)));
        continue;
      }
      tensors.emplace_back(random, deviceType, argument.rank);
      given.push_back(&tensors.back().tensor);
    }

    // Slots of tensors that nobody passed stay as they are.
    size_t size = plan.requirements.size();
    std::vector<int64_t> quick(size, -7), careful(size, -7);
    ArgumentBinder first(plan, given, deviceType, quick);
    ArgumentBinder second(plan, given, deviceType, careful);
    std::string quickError = toString(first.bind());
    std::string carefulError = toString(second.bindWithCare());
    ASSERT_EQ(quickError, carefulError) << arguments;
    (carefulError.empty() ? accepted : refused) += 1;
    if (carefulError.empty()) {
      ASSERT_EQ(quick, careful) << arguments;
      if (deviceType == kDLCUDA)
        ASSERT_EQ(first.getDevice(), second.getDevice()) << arguments;
    }
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_GT(refused, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Devices, ArgumentBinderTest,
                         testing::Values(kDLCPU, kDLCUDA));

} // namespace
