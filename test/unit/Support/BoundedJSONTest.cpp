//===- BoundedJSONTest.cpp - JSON that anyone may have written ------------===//

#include "tl/Support/BoundedJSON.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

static std::string whyNot(StringRef text, JSONLimits limits = {}) {
  Expected<json::Value> value = parseBounded(text, limits);
  return value ? "" : toString(value.takeError());
}

TEST(BoundedJSONTest, WhatIsWithinTheLimitsIsRead) {
  EXPECT_EQ(whyNot(R"({"a": [1, {"b": "[[[[\"{"}], "c": null})"), "");
  EXPECT_EQ(whyNot("[[1]]", {.maxDepth = 2}), "");
}

TEST(BoundedJSONTest, WhatIsNotIsRefusedUnread) {
  EXPECT_EQ(whyNot(std::string(1000000, '[')), "is nested too deeply");
  EXPECT_EQ(whyNot("[[[1]]]", {.maxDepth = 2}), "is nested too deeply");
  // Brackets in strings do not close any.
  std::string hidden;
  for (int i = 0; i < 100; ++i)
    hidden += "[\"]\",";
  EXPECT_EQ(whyNot(hidden), "is nested too deeply");
  // A string ends at a quote that no backslash is before, which may itself be
  // escaped.
  EXPECT_EQ(whyNot(R"(["\\\"[[", "\\", [], "\\\\\"["])", {.maxDepth = 2}), "");
  EXPECT_EQ(whyNot(R"(["\\", [[]]])", {.maxDepth = 2}), "is nested too deeply");
  EXPECT_EQ(whyNot(R"(["\")").substr(0, 12), "is not JSON:");
  EXPECT_EQ(whyNot("[1,2,3,4]", {.maxValues = 2}), "has more than 2 values");
  EXPECT_EQ(whyNot("[1,2]", {.maxBytes = 4}), "is longer than 4 bytes");
  EXPECT_EQ(whyNot("nonsense").substr(0, 12), "is not JSON:");
}
