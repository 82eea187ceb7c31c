//===- ExpressionTest.cpp - Evaluate a launch plan's integers -------------===//
//
// Expressions are written as a plan has them, in the grid of a launch, over the
// slots of a tensor `A` of rank 2 (0-3) and an `i32` scalar `n` (4).
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace llvm;
using namespace tl::runtime;

namespace {

/// Parses `text` as the x extent of a grid.
Expected<Expression> parseExpression(StringRef text) {
  std::string plan = makePlan(
      R"({"kind": "tensor", "name": "A", "dtype": "f32", "shape": ["m", "k"],
          "strides": [null, null]},
         {"kind": "scalar", "name": "n", "dtype": "i32"})",
      R"({"kernel": "k", "grid": [)" + text.str() +
          R"(, 1, 1], "block": [1, 1, 1], "params": []})");
  Expected<LaunchPlan> parsed = LaunchPlan::parse(plan);
  if (!parsed)
    return parsed.takeError();
  return parsed->launches[0].grid[0];
}

int64_t evaluate(StringRef text, ArrayRef<int64_t> slots = {7, 3, 16, 1, 5}) {
  return cantFail(cantFail(parseExpression(text)).evaluate(slots));
}

void expectFailure(StringRef text, StringRef message,
                   ArrayRef<int64_t> slots = {7, 3, 16, 1, 5}) {
  Expression expression = cantFail(parseExpression(text));
  expectError(expression.evaluate(slots).takeError(), ErrorCategory::Value,
              message);
}

TEST(ExpressionTest, ReadsSlots) {
  EXPECT_EQ(evaluate("42"), 42);
  EXPECT_EQ(evaluate("-1"), -1);
  EXPECT_EQ(evaluate(R"(["dim", 0, 0])"), 7);
  EXPECT_EQ(evaluate(R"(["dim", 0, 1])"), 3);
  EXPECT_EQ(evaluate(R"(["stride", 0, 0])"), 16);
  EXPECT_EQ(evaluate(R"(["scalar", 1])"), 5);
}

TEST(ExpressionTest, Computes) {
  EXPECT_EQ(evaluate(R"(["+", ["dim", 0, 0], 3])"), 10);
  EXPECT_EQ(evaluate(R"(["-", 3, ["dim", 0, 0]])"), -4);
  EXPECT_EQ(evaluate(R"(["*", ["dim", 0, 0], ["dim", 0, 1]])"), 21);
  EXPECT_EQ(evaluate(R"(["min", ["dim", 0, 0], ["dim", 0, 1]])"), 3);
  EXPECT_EQ(evaluate(R"(["max", ["dim", 0, 0], ["dim", 0, 1]])"), 7);
  EXPECT_EQ(evaluate(R"(["-", ["*", 2, ["+", 1, 2]], ["-", 5, 1]])"), 2);
}

TEST(ExpressionTest, DivisionsRoundLikeAffineMaps) {
  EXPECT_EQ(evaluate(R"(["ceildiv", 256, 128])"), 2);
  EXPECT_EQ(evaluate(R"(["ceildiv", 257, 128])"), 3);
  EXPECT_EQ(evaluate(R"(["ceildiv", 0, 128])"), 0);
  EXPECT_EQ(evaluate(R"(["ceildiv", -7, 2])"), -3);
  EXPECT_EQ(evaluate(R"(["floordiv", 7, 2])"), 3);
  EXPECT_EQ(evaluate(R"(["floordiv", -7, 2])"), -4);
  EXPECT_EQ(evaluate(R"(["mod", 7, 4])"), 3);
  EXPECT_EQ(evaluate(R"(["mod", -7, 4])"), 1);
}

TEST(ExpressionTest, DivisionByZeroNamesTheExpression) {
  constexpr int64_t empty[] = {7, 0, 16, 1, 0};
  expectFailure(R"(["ceildiv", ["dim", 0, 0], ["dim", 0, 1]])",
                "`f`: grid x of kernel `k`: division by zero in "
                "`ceildiv(A.shape[0], A.shape[1])`",
                empty);
  expectFailure(R"(["floordiv", ["stride", 0, 0], ["scalar", 1]])",
                "`f`: grid x of kernel `k`: division by zero in "
                "`floordiv(A.strides[0], n)`",
                empty);
  expectFailure(R"(["mod", ["+", ["dim", 0, 0], 1], 0])",
                "`f`: grid x of kernel `k`: division by zero in "
                "`mod((A.shape[0] + 1), 0)`",
                empty);
}

TEST(ExpressionTest, OverflowIsAnError) {
  constexpr int64_t large[] = {INT64_MAX, INT64_MIN, 1, 1, -1};
  for (const char *text :
       {R"(["+", ["dim", 0, 0], 1])", R"(["-", ["dim", 0, 1], 1])",
        R"(["*", ["dim", 0, 0], 2])",
        R"(["floordiv", ["dim", 0, 1], ["scalar", 1]])",
        R"(["ceildiv", ["dim", 0, 1], ["scalar", 1]])",
        R"(["mod", ["dim", 0, 1], ["scalar", 1]])"}) {
    Expression expression = cantFail(parseExpression(text));
    expectError(expression.evaluate(large).takeError(), ErrorCategory::Value,
                "`f`: grid x of kernel `k`: 64-bit overflow in `" +
                    expression.text + "`");
  }
}

// The deepest expression that a plan may hold fits the evaluation's stack, and
// one more level is rejected.
TEST(ExpressionTest, DepthIsBounded) {
  auto nest = [](unsigned depth) {
    std::string text = "1";
    for (unsigned i = 0; i != depth; ++i)
      text = R"(["+", 1, )" + text + "]";
    return text;
  };
  EXPECT_EQ(evaluate(nest(Expression::maxDepth - 1)), Expression::maxDepth);
  Error error = parseExpression(nest(Expression::maxDepth)).takeError();
  EXPECT_TRUE(StringRef(toString(std::move(error)))
                  .ends_with("the expression is nested too deeply"));
}

} // namespace
