//===- AssemblerFaultsTest.cpp - PTX that ptxas understands ---------------===//

#include "tl/Target/Cubin/AssemblerFaults.h"

#include "gtest/gtest.h"

using tl::avoidAssemblerFaults;

TEST(AssemblerFaults, PartsOfRegistersAreStoredFromCopies) {
  EXPECT_EQ(avoidAssemblerFaults("\tst.shared.u8 \t[%rd9+4096], %rs302;\n"),
            "\t{\n\t.reg .b16 part;\n\tmov.b16 part, %rs302;\n"
            "\tst.shared.u8 \t[%rd9+4096], part;\n\t}\n");
  EXPECT_EQ(avoidAssemblerFaults("st.volatile.global.b16 [%rd1], %r2;"),
            "{\n\t.reg .b32 part;\n\tmov.b32 part, %r2;\n"
            "\tst.volatile.global.b16 [%rd1], part;\n\t}");
  EXPECT_EQ(avoidAssemblerFaults("\tst.b32 [%rd1], %rd2;\n"),
            "\t{\n\t.reg .b64 part;\n\tmov.b64 part, %rd2;\n"
            "\tst.b32 [%rd1], part;\n\t}\n");
  EXPECT_EQ(
      avoidAssemblerFaults("st.global.L2::cache_hint.u8 [%rd1], %rs1, %rd2;"),
      "{\n\t.reg .b16 part;\n\tmov.b16 part, %rs1;\n"
      "\tst.global.L2::cache_hint.u8 [%rd1], part, %rd2;\n\t}");
}

TEST(AssemblerFaults, GuardsStayWithTheStore) {
  EXPECT_EQ(avoidAssemblerFaults("{.reg .pred p; setp.ne.u32 p, %r1, 0; "
                                 "@!p st.shared.s8 [%r3], %r4;}"),
            "{.reg .pred p; setp.ne.u32 p, %r1, 0; {\n\t.reg .b32 part;\n"
            "\tmov.b32 part, %r4;\n\t@!p st.shared.s8 [%r3], part;\n\t}}");
}

TEST(AssemblerFaults, WholeRegistersAndVectorsAreStoredAsTheyAre) {
  for (llvm::StringRef text :
       {"\tst.global.u16 [%rd1], %rs1;\n", "\tst.global.f32 [%rd1], %f1;\n",
        "\tst.b32 [%rd1], %r2;\n", "\tst.shared.v2.u8 [%rd1], {%rs1, %rs2};\n",
        "\tst.global.u8 [%rd1], 3;\n", "// st.global.u8 [%rd1], %rs1;\n",
        "\tld.global.u8 %rs1, [%rd1];\n", "\tst.global.u8 [%rd1], %rs1", ""})
    EXPECT_EQ(avoidAssemblerFaults(text), text);
}

TEST(AssemblerFaults, EqualityHasNoSign) {
  EXPECT_EQ(avoidAssemblerFaults("setp.eq.s32 %p1, %r1, 2;\n"
                                 "setp.eq.and.s16 \t%p1, %rs1, 2, %p2;\n"
                                 "setp.eq.f32 %p1, %f1, %f2;\n"
                                 "setp.lt.s32 %p1, %r1, 2;\n"),
            "setp.eq.u32 %p1, %r1, 2;\n"
            "setp.eq.and.u16 \t%p1, %rs1, 2, %p2;\n"
            "setp.eq.f32 %p1, %f1, %f2;\n"
            "setp.lt.s32 %p1, %r1, 2;\n");
}

TEST(AssemblerFaults, PackedSumsAreTakenApart) {
  std::string ptx =
      avoidAssemblerFaults("\tadd.s16x2 \t%r1, %r2, %r3;\n\tret;\n");
  EXPECT_EQ(ptx, "\t{\n\t.reg .b16 a0, a1, b0, b1;\n"
                 "\tmov.b32 {a0, a1}, %r2;\n\tmov.b32 {b0, b1}, %r3;\n"
                 "\tadd.s16 a0, a0, b0;\n\tadd.s16 a1, a1, b1;\n"
                 "\tmov.b32 %r1, {a0, a1};\n\t}\n\tret;\n");
}
