//===- PTXSymbolsTest.cpp - Read entries and variables of PTX -------------===//

#include "tl/Target/CUDA/PTXSymbols.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

/// The parameters of the only entry of `ptx`, as text.
static std::string describe(StringRef ptx) {
  PTXSymbols symbols = cantFail(PTXSymbols::parse(ptx));
  std::string text;
  for (const PTXEntry &entry : symbols.entries) {
    text += entry.name + ":";
    for (const PTXParameter &parameter : entry.parameters)
      text += " " + parameter.str();
    text += ";";
  }
  return text;
}

TEST(PTXSymbolsTest, Entries) {
  EXPECT_EQ(describe(".version 9.0\n.target sm_90a\n"), "");
  EXPECT_EQ(describe(".visible .entry f()\n{\n\tret;\n}\n"), "f:;");
  EXPECT_EQ(describe(".visible .entry f\n{ ret; }"), "f:;");
  EXPECT_EQ(describe(".visible .entry f(\n\t.param .u64 f_param_0,\n"
                     "\t.param .f32 f_param_1\n)\n.maxntid 128, 1, 1\n{\n}\n"
                     ".weak .entry g(.param .u32 g_param_0) { }"),
            "f: u64 f32;g: u32;");
}

TEST(PTXSymbolsTest, Parameters) {
  EXPECT_EQ(describe(".entry f(.param .align 8 .b8 f_param_0[24]) {}"),
            "f: b8[24] align 8;");
  EXPECT_EQ(describe(".entry f(.param .align 64 .b8 f_param_0[128]) {}"),
            "f: b8[128] align 64;");
  // What the pointer points to says nothing about the parameter.
  EXPECT_EQ(
      describe(".entry f(.param .u64 .ptr .global .align 16 f_param_0) {}"),
      "f: u64;");
  PTXSymbols symbols = cantFail(PTXSymbols::parse(
      ".entry f(.param .u64 .ptr .global .align 16 p, .param .u8 q) {}"));
  EXPECT_EQ(symbols.entries[0].parameters[0].alignment, 8u);
  EXPECT_EQ(symbols.entries[0].parameters[1].size, 1u);
}

TEST(PTXSymbolsTest, DeclarationsAndBodiesAreNoEntries) {
  EXPECT_EQ(describe(".visible .entry f(.param .u64 p)\n;\n"), "");
  EXPECT_EQ(describe(".func f() { { .entry } } .entry g() { .const }"), "g:;");
}

TEST(PTXSymbolsTest, CommentsAndStrings) {
  EXPECT_EQ(describe("// .entry a() {}\n/* .entry b() {} */ .entry c() {}"),
            "c:;");
  EXPECT_EQ(describe(".file 1 \".entry a() {}\"\n.entry c() {}"), "c:;");
}

TEST(PTXSymbolsTest, Variables) {
  StringRef ptx = ".const .align 4 .b8 a[16];\n"
                  ".visible .global .align 8 .u64 b = generic(a);\n"
                  ".global .align 4 .b8 c[8] = {1, 2, 3};\n.entry f() {}";
  PTXSymbols symbols = cantFail(PTXSymbols::parse(ptx));
  ASSERT_EQ(symbols.variables.size(), 3u);
  EXPECT_EQ(symbols.variables[0].name, "a");
  EXPECT_FALSE(symbols.variables[0].isVisible);
  EXPECT_EQ(symbols.variables[0].offset, 0u);
  EXPECT_EQ(symbols.variables[1].name, "b");
  EXPECT_TRUE(symbols.variables[1].isVisible);
  EXPECT_EQ(symbols.variables[2].name, "c");
  EXPECT_EQ(symbols.variables[2].offset, ptx.find(".global .align 4"));
  EXPECT_EQ(symbols.entries.size(), 1u);
}

TEST(PTXSymbolsTest, FindsByCppName) {
  PTXSymbols symbols = cantFail(
      PTXSymbols::parse(".entry plain() {} .entry _ZN2ns5scaleIfEEvPT_() {}"
                        ".entry _Z4overf() {} .entry _Z4overd() {}"));
  EXPECT_EQ(symbols.findEntry("plain")->name, "plain");
  EXPECT_EQ(symbols.findEntry("ns::scale<float>")->name,
            "_ZN2ns5scaleIfEEvPT_");
  EXPECT_EQ(symbols.findEntry("_Z4overf")->name, "_Z4overf");
  EXPECT_EQ(symbols.findEntry("over"), nullptr) << "it is overloaded";
  EXPECT_EQ(symbols.findEntry("none"), nullptr);
}

TEST(PTXSymbolsTest, Demangles) {
  EXPECT_EQ(demangleName("_Z5scalePf"), "scale");
  EXPECT_EQ(demangleName("_ZN2ns5tableE"), "ns::table");
  EXPECT_EQ(demangleName("scale"), "scale");
}

TEST(PTXSymbolsTest, Errors) {
  auto getError = [](StringRef ptx) {
    Expected<PTXSymbols> symbols = PTXSymbols::parse(ptx);
    return symbols ? "" : toString(symbols.takeError());
  };
  EXPECT_EQ(getError("\n.entry ("),
            "line 2 of the PTX: expected the name of an entry, got `(`");
  EXPECT_EQ(getError(".entry f(.reg"),
            "line 1 of the PTX: expected `.param`, got `.reg`");
  EXPECT_EQ(getError(".entry f(.param .foo x"),
            "line 1 of the PTX: expected the type of a parameter, got `.foo`");
  EXPECT_EQ(getError(".entry f(.param .b8 x[y]"),
            "line 1 of the PTX: expected the size of a parameter, got `y`");
  EXPECT_EQ(getError(".entry f()"),
            "line 1 of the PTX: expected the body of `f`, got ``");
}
