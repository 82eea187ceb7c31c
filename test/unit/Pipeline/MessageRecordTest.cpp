//===- MessageRecordTest.cpp - Messages as a cache keeps them -------------===//

#include "tl/Pipeline/MessageRecord.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

static Expected<std::vector<RecordedMessage>> read(StringRef messages) {
  json::Value value =
      cantFail(json::parse(("{\"messages\": [" + messages + "]}").str()));
  return RecordedMessage::read(*value.getAsObject());
}

static std::string whyNot(StringRef messages) {
  auto result = read(messages);
  return result ? "" : toString(result.takeError());
}

TEST(MessageRecordTest, WarningsAreRead) {
  auto messages = cantFail(read(
      R"({"severity": 1, "text": "slow", "op": 3, "file": "a/b.cu", "line": 4,
          "notes": [{"severity": 0, "text": "here"}]},
         {"severity": 3, "text": "a remark"})"));
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].op, 3u);
  EXPECT_EQ(messages[0].file, "a/b.cu");
  EXPECT_EQ(messages[0].notes[0].text, "here");
}

TEST(MessageRecordTest, TheyAreShownHarmlessly) {
  auto messages = cantFail(
      read(R"({"severity": 1, "text": "a\u001b]0;t\u0007\u009b\nerror: b"})"));
  EXPECT_EQ(messages[0].text, "a?]0;t??\n    error: b");
}

TEST(MessageRecordTest, WhatIsNoMessageIsRefused) {
  for (
      StringRef message :
      {R"({"severity": 2, "text": "an error"})",
       R"({"severity": 0, "text": "a note alone"})",
       R"({"severity": 9, "text": ""})", R"({"severity": 1})", "3",
       R"({"severity": 1, "text": "", "op": -1})",
       R"({"severity": 1, "text": "", "op": 4294967296})",
       R"({"severity": 1, "text": "", "file": "/dev/zero"})",
       R"({"severity": 1, "text": "", "file": "a/../../b"})",
       R"({"severity": 1, "text": "", "file": "a\u001b"})",
       R"({"severity": 1, "text": "", "line": -1})",
       R"({"severity": 1, "text": "", "notes": [{"severity": 1, "text": ""}]})",
       R"({"severity": 1, "text": "", "notes": [{"severity": 0, "text": "",
            "notes": [{"severity": 0, "text": ""}]}]})"})
    EXPECT_NE(whyNot(message), "") << message.str();
  std::string many = R"({"severity": 1, "text": ""})";
  for (int i = 0; i < 5000; ++i)
    many += R"(,{"severity": 1, "text": ""})";
  EXPECT_EQ(whyNot(many), "has too many messages");
}
