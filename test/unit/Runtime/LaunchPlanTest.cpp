//===- LaunchPlanTest.cpp - Parse launch plans ----------------------------===//

#include "TestSupport.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::runtime;

namespace {

void expectPlanError(StringRef plan, StringRef message) {
  expectError(LaunchPlan::parse(plan).takeError(), ErrorCategory::Plan,
              message);
}

constexpr StringLiteral tensorA =
    R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": ["m", 64]})";

/// Expects an error for a plan whose only argument is `text`.
void expectArgumentError(StringRef text, StringRef message) {
  expectPlanError(makePlan(text), message);
}

/// Expects an error for a plan with a tensor and a scalar whose only launch has
/// these members besides the ones that every launch needs.
void expectLaunchError(StringRef members, StringRef message) {
  std::string launch = R"({"kernel": "k", "grid": [1, 1, 1])";
  if (!members.contains("\"block\""))
    launch += R"(, "block": [1, 1, 1])";
  if (!members.contains("\"params\""))
    launch += R"(, "params": [])";
  launch += ", " + members.str() + "}";
  expectPlanError(makePlan(tensorA.str() + R"(, {"kind": "scalar", "name": "s",
                                     "dtype": "f32"})",
                           launch),
                  message);
}

void expectParameterError(StringRef parameter, StringRef message) {
  expectLaunchError(R"("params": [)" + parameter.str() + "]", message);
}

TEST(LaunchPlanTest, ParsesTheDocumentedExample) {
  LaunchPlan plan = cantFail(LaunchPlan::parse(R"({
    "version": 1, "name": "matmul",
    "args": [
      {"kind": "tensor", "name": "A", "dtype": "f16", "shape": ["m", 1024],
       "strides": null, "align": 16},
      {"kind": "tensor", "name": "C", "dtype": "f16", "shape": ["m", "n"],
       "strides": ["ldc", 1], "align": 16},
      {"kind": "scalar", "name": "alpha", "dtype": "f32"}],
    "launches": [{
      "kernel": "matmul_kernel",
      "grid": [["ceildiv", ["dim", 1, 1], 128], ["ceildiv", ["dim", 0, 0], 128],
               1],
      "block": [256, 1, 1], "cluster": [2, 1, 1], "shared": 98304,
      "cooperative": false, "dependent": true,
      "params": [
        {"tensor_map": {"arg": 0, "dtype": "f16", "box": [64, 128],
                        "swizzle": 128}},
        {"base": 1},
        {"value": ["dim", 0, 0], "type": "i64"},
        {"scalar": 2}]}]})"));
  EXPECT_EQ(plan.name, "matmul");
  ASSERT_EQ(plan.arguments.size(), 3u);
  EXPECT_TRUE(plan.arguments[0].isContiguous);
  EXPECT_FALSE(plan.arguments[1].isContiguous);
  EXPECT_EQ(plan.arguments[1].alignment, 16u);
  EXPECT_EQ(plan.arguments[2].firstSlot, 8u);
  EXPECT_EQ(plan.symbols, (std::vector<std::string>{"m", "n", "ldc"}));
  EXPECT_EQ(plan.describeShape(plan.arguments[0]), "(m, 1024)");

  ASSERT_EQ(plan.launches.size(), 1u);
  const Launch &launch = plan.launches[0];
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.clusterSize(), 2u);
  EXPECT_TRUE(launch.isDependent);
  EXPECT_FALSE(launch.isCooperative);
  EXPECT_EQ(launch.params[0].map.box, (SmallVector<uint32_t, 5>{64, 128}));
  // The tensor map comes first, where it is aligned.
  EXPECT_EQ(launch.params[0].firstWord, 0u);
  EXPECT_EQ(launch.params[1].firstWord, 16u);
  EXPECT_EQ(plan.frameWords, 19u);
}

TEST(LaunchPlanTest, MembersWithADefaultMayBeMissing) {
  LaunchPlan plan = cantFail(LaunchPlan::parse(makePlan(
      tensorA,
      R"({"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "params": []})")));
  EXPECT_TRUE(plan.arguments[0].isContiguous);
  EXPECT_EQ(plan.arguments[0].alignment, 1u);
  EXPECT_FALSE(plan.arguments[0].isRecord);
  EXPECT_EQ(plan.launches[0].clusterSize(), 1u);
  EXPECT_EQ(cantFail(plan.launches[0].shared.evaluate({})), 0);
}

TEST(LaunchPlanTest, TopLevelErrors) {
  std::string notJSON =
      toString(LaunchPlan::parse("{\"version\": ").takeError());
  EXPECT_TRUE(StringRef(notJSON).starts_with("launch plan: not JSON: "))
      << notJSON;
  expectPlanError("[]", "launch plan: ``: expected an object");
  expectPlanError(R"({"version": 2, "name": "f", "args": [], "launches": []})",
                  "launch plan: `version`: version 2 is not supported, "
                  "expected 1");
  expectPlanError(R"({"name": "f", "args": [], "launches": []})",
                  "launch plan: `version`: expected an integer between 1 and "
                  "2147483647");
  expectPlanError(R"({"version": 1, "args": [], "launches": []})",
                  "launch plan: `name`: expected a non-empty string");
  expectPlanError(R"({"version": 1, "name": "f", "launches": []})",
                  "launch plan: `args`: expected a list");
  expectPlanError(R"({"version": 1, "name": "f", "args": []})",
                  "launch plan: `launches`: expected a list");
  expectPlanError(
      R"({"version": 1, "name": "f", "args": [], "launches": [], "x": 1})",
      "launch plan: ``: unknown member `x`; was the plan made by a newer "
      "compiler?");
}

TEST(LaunchPlanTest, ArgumentErrors) {
  expectArgumentError("1", "launch plan: `args[0]`: expected an object");
  expectArgumentError(R"({"kind": "list", "name": "A", "dtype": "f16"})",
                      "launch plan: `args[0].kind`: expected `tensor` or "
                      "`scalar`, got `list`");
  expectArgumentError(R"({"kind": "scalar", "name": "A", "dtype": "half"})",
                      "launch plan: `args[0].dtype`: unknown dtype `half`");
  expectArgumentError(
      R"({"kind": "scalar", "name": "A", "dtype": "f16", "shape": []})",
      "launch plan: `args[0]`: unknown member `shape`; was the plan made by a "
      "newer compiler?");
  expectArgumentError(R"({"kind": "tensor", "name": "A", "dtype": "f16"})",
                      "launch plan: `args[0].shape`: expected a list");
  expectArgumentError(
      R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": [1, -4]})",
      "launch plan: `args[0].shape[1]`: expected an integer between 0 and "
      "9223372036854775807");
  expectArgumentError(
      R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": [null]})",
      "launch plan: `args[0].shape[0]`: expected an integer between 0 and "
      "9223372036854775807");
  expectArgumentError(
      R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": [""]})",
      "launch plan: `args[0].shape[0]`: expected a symbol's name");
  expectArgumentError(
      R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": [1, 2],
          "strides": [1]})",
      "launch plan: `args[0].strides`: expected one stride for each of the 2 "
      "dimensions, got 1");
  expectArgumentError(
      R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": [],
          "align": 12})",
      "launch plan: `args[0].align`: expected a power of two");
  expectArgumentError(
      R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": [],
          "record": 1})",
      "launch plan: `args[0].record`: expected true or false");
}

TEST(LaunchPlanTest, RecordsAreToldFromOtherTensors) {
  LaunchPlan plan = cantFail(LaunchPlan::parse(makePlan(
      R"({"kind": "tensor", "name": "A", "dtype": "i64", "shape": [4],
          "record": true})",
      R"({"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "params": []})")));
  EXPECT_TRUE(plan.arguments[0].isRecord);
}

TEST(LaunchPlanTest, LaunchErrors) {
  expectLaunchError(R"("block": [1, 1])",
                    "launch plan: `launches[0].block`: expected a list of "
                    "three integers");
  expectLaunchError(R"("block": [64, 32, 1])",
                    "launch plan: `launches[0].block`: the product is 2048, "
                    "the limit is 1024");
  expectLaunchError(R"("block": [0, 1, 1])",
                    "launch plan: `launches[0].block[0]`: expected an integer "
                    "between 1 and 1024");
  expectLaunchError(R"("cluster": [8, 4, 1])",
                    "launch plan: `launches[0].cluster`: the product is 32, "
                    "the limit is 16");
  expectLaunchError(R"("shared": "many")",
                    "launch plan: `launches[0].shared`: expected an integer or "
                    "a list [operator, operand ...]");
  expectLaunchError(R"("shared": ["pow", 1, 2])",
                    "launch plan: `launches[0].shared[0]`: unknown operator "
                    "`pow`");
  expectLaunchError(R"("shared": ["+", 1])",
                    "launch plan: `launches[0].shared`: `+` takes two "
                    "operands, got 1");
  expectLaunchError(R"("shared": ["dim", 0])",
                    "launch plan: `launches[0].shared`: expected [\"dim\", "
                    "argument, dimension]");
  expectLaunchError(R"("shared": ["dim", 2, 0])",
                    "launch plan: `launches[0].shared[1]`: expected an integer "
                    "between 0 and 1");
  expectLaunchError(R"("shared": ["dim", 0, 2])",
                    "launch plan: `launches[0].shared[2]`: expected an integer "
                    "between 0 and 1");
  expectLaunchError(R"("shared": ["stride", 1, 0])",
                    "launch plan: `launches[0].shared[1]`: argument `s` is a "
                    "scalar, expected a tensor");
  expectLaunchError(R"("shared": ["scalar", 0])",
                    "launch plan: `launches[0].shared[1]`: argument `A` is a "
                    "tensor, expected a scalar");
  expectLaunchError(R"("shared": ["scalar", 1])",
                    "launch plan: `launches[0].shared`: argument `s` is f32, "
                    "expected an integer type");
  expectLaunchError(R"("entry": "")",
                    "launch plan: `launches[0].entry`: expected a non-empty "
                    "string");
  expectLaunchError(R"("symbols": 1)",
                    "launch plan: `launches[0].symbols`: expected a list");
  expectLaunchError(R"("symbols": [{"name": "x"}])",
                    "launch plan: `launches[0].symbols[0].arg`: expected an "
                    "integer between 0 and 1");
  expectLaunchError(R"("cooperative": 1)",
                    "launch plan: `launches[0].cooperative`: expected true or "
                    "false");
  expectPlanError(makePlan("", R"({"kernel": "k", "grid": [1, 1],
                                   "block": [1, 1, 1], "params": []})"),
                  "launch plan: `launches[0].grid`: expected a list of three "
                  "expressions");
}

TEST(LaunchPlanTest, ParameterErrors) {
  expectParameterError("{}",
                       "launch plan: `launches[0].params[0]`: expected exactly "
                       "one of `base`, `value`, `scalar`, `tensor_map` and "
                       "`struct`");
  expectParameterError(
      R"({"base": 0, "scalar": 1})",
      "launch plan: `launches[0].params[0]`: expected exactly "
      "one of `base`, `value`, `scalar`, `tensor_map` and `struct`");
  expectParameterError(R"({"base": 1})",
                       "launch plan: `launches[0].params[0].base`: argument "
                       "`s` is a scalar, expected a tensor");
  expectParameterError(R"({"value": 1, "type": "f32"})",
                       "launch plan: `launches[0].params[0].type`: expected "
                       "`i32` or `i64`, got `f32`");
  expectPlanError(
      makePlan("", R"({"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
                       "params": [{"base": 0}]})"),
      "launch plan: `launches[0].params[0].base`: the plan has no arguments");
}

TEST(LaunchPlanTest, TensorMapErrors) {
  auto expectMapError = [](StringRef dtype, StringRef box, StringRef swizzle,
                           StringRef message) {
    expectParameterError(
        (R"({"tensor_map": {"arg": 0, "dtype": ")" + dtype + R"(", "box": )" +
         box + R"(, "swizzle": )" + swizzle + "}}")
            .str(),
        ("launch plan: `launches[0].params[0].tensor_map" + message).str());
  };
  expectMapError("f32", "[64, 64]", "0",
                 ".dtype`: `f32` differs in size from the f16 of argument `A`");
  expectMapError("f16", "[64]", "0",
                 ".box`: expected 2 extents, one for each dimension of "
                 "argument `A`, got 1");
  expectMapError("f16", "[64, 257]", "0",
                 ".box[1]`: expected an integer between 1 and 256");
  expectMapError("f16", "[12, 64]", "0",
                 ".box`: the innermost extent takes 24 bytes, expected a "
                 "multiple of 16");
  expectMapError("f16", "[64, 64]", "64",
                 ".box`: the innermost extent takes 128 bytes, more than the "
                 "swizzle's 64");
  expectMapError("f16", "[64, 64]", "96",
                 ".swizzle`: expected 0, 32, 64 or 128");
  expectPlanError(
      makePlan(
          R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": []})",
          R"({"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
                   "params": [{"tensor_map": {"arg": 0, "dtype": "f16",
                                              "box": [], "swizzle": 0}}]})"),
      "launch plan: `launches[0].params[0].tensor_map`: argument `A` has rank "
      "0, expected 1 to 5");
}

//===----------------------------------------------------------------------===//
// Plans that nobody's compiler made
//===----------------------------------------------------------------------===//

TEST(LaunchPlanTest, SizesDoNotWrap) {
  // 64 launches of 4096 structs of 32 KiB are 2^33 bytes: their words would be
  // none in 32 bits.
  std::string parameter = R"({"struct": {"size": 32764, "members": []}})";
  std::string params = parameter;
  for (int i = 1; i < 4096; ++i)
    params += "," + parameter;
  std::string launch = R"({"kernel": "k", "grid": [1, 1, 1],
                           "block": [1, 1, 1], "params": [)" +
                       params + "]}";
  expectPlanError(makePlan(tensorA, launch),
                  "launch plan: `launches`: the parameters take more than "
                  "8388608 bytes");
}

TEST(LaunchPlanTest, DeepTextIsNotParsed) {
  expectPlanError(std::string(1000000, '['),
                  "launch plan: is nested too deeply");
}

TEST(LaunchPlanTest, LongListsAreRefused) {
  auto repeat = [](StringRef item, size_t count) {
    std::string list = item.str();
    for (size_t i = 1; i < count; ++i)
      list += "," + item.str();
    return list;
  };
  expectPlanError("[" + repeat("1", 500000) + "]",
                  "launch plan: has more than 400000 values");
  expectArgumentError(R"({"kind": "tensor", "name": "A", "dtype": "f16",
                          "shape": [)" +
                          repeat("1", 65) + "]}",
                      "launch plan: `args[0].shape`: expected at most 64 "
                      "elements, got 65");
  expectLaunchError(R"("params": [)" + repeat(R"({"base": 0})", 4097) + "]",
                    "launch plan: `launches[0].params`: expected at most 4096 "
                    "elements, got 4097");
  expectPlanError(makePlan(R"({"kind": "scalar", "dtype": "f32", "name": ")" +
                           std::string(5000, 'n') + R"("})"),
                  "launch plan: `args[0].name`: expected a string of at most "
                  "4096 bytes");
}

} // namespace
