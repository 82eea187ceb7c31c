//===- ShowTextTest.cpp - Text of strangers on a terminal -----------------===//

#include "tl/Support/ShowText.h"

#include "tl/Support/SourceFolder.h"

#include "gtest/gtest.h"

using namespace tl;

TEST(ShowTextTest, PlainTextIsShownAsItIs) {
  EXPECT_EQ(showText(""), "");
  EXPECT_EQ(showText("a `b` (c) ~"), "a `b` (c) ~");
  EXPECT_EQ(showText("größe … 日本語 🙂"), "größe … 日本語 🙂");
}

TEST(ShowTextTest, WhatATerminalObeysIsNot) {
  EXPECT_EQ(showText("a\x1b[2Jb\r\n\tc\x7f"), "a?[2Jb???c?");
  // One character each in UTF-8: CSI, OSC, and marks that reorder or hide.
  EXPECT_EQ(showText("\u009b2J\u009d0;t\u009c"), "?2J?0;t?");
  EXPECT_EQ(showText("a\u202eb\u2066c\u200fd\u200be\ufefff\u2028g"),
            "a?b?c?d?e?f?g");
  EXPECT_EQ(showText("\U000e0041x"), "?x");
  EXPECT_EQ(showText(llvm::StringRef("a\0b", 3)), "a?b");
}

TEST(ShowTextTest, BytesThatAreNotUTF8AreNot) {
  EXPECT_EQ(showText("a\x9b\xff z"), "a?? z");
  EXPECT_EQ(showText("\xc2"), "?");
  // Longer than it need be: an escape in disguise.
  EXPECT_EQ(showText("\xc0\x9b"), "??");
  EXPECT_EQ(showText("\xed\xa0\x80"), "???");
}

TEST(ShowTextTest, LinesAfterTheFirstAreIndented) {
  EXPECT_EQ(showLines("a\nerror: b\r\n\tc"), "a\n    error: b\n     c");
  EXPECT_EQ(showLines("a\n\x1b[1A"), "a\n    ?[1A");
  EXPECT_EQ(showLines(""), "");
}

TEST(PlainPathTest, LeadsBelowWhereItBegins) {
  for (llvm::StringRef path : {"a.cu", "src/a b.cu", "0/include/a.h", "a/./b",
                               "größe.cu", "..a/b..", "<string>"})
    EXPECT_TRUE(isPlainPath(path)) << path.str();
  for (llvm::StringRef path :
       {"", "/a", "..", "../a", "a/../../b", "a/..", "a$(x).cu", "a`x`", "a\"b",
        "a\\b", "a\nb", "a\x1b"})
    EXPECT_FALSE(isPlainPath(path)) << path.str();
}
