//===- AssemblerFaultsTest.cpp - PTX that ptxas understands ---------------===//

#include "tl/Target/Cubin/AssemblerFaults.h"

#include "gtest/gtest.h"

using tl::avoidAssemblerFaults;

TEST(AssemblerFaults, PartsOfRegistersAreStoredFromCopies) {
  EXPECT_EQ(avoidAssemblerFaults("\tst.shared.u8 \t[%rd9+-4096], %rs302;\n"),
            "\t{\n\t.reg .b16 %part0;\n\tmov.b16 %part0, %rs302;\n"
            "\tst.shared.u8 \t[%rd9+-4096], %part0;\n\t}\n");
  EXPECT_EQ(avoidAssemblerFaults("st.volatile.global.b16 [%rd1], %r2;"),
            "{\n\t.reg .b32 %part0;\n\tmov.b32 %part0, %r2;\n"
            "\tst.volatile.global.b16 [%rd1], %part0;\n\t}");
  EXPECT_EQ(avoidAssemblerFaults("\tst.b32 [%rd1], %rd2;\n"),
            "\t{\n\t.reg .b64 %part0;\n\tmov.b64 %part0, %rd2;\n"
            "\tst.b32 [%rd1], %part0;\n\t}\n");
  EXPECT_EQ(
      avoidAssemblerFaults("st.global.L2::cache_hint.u8 [%rd1], %rs1, %rd2;"),
      "{\n\t.reg .b16 %part0;\n\tmov.b16 %part0, %rs1;\n"
      "\tst.global.L2::cache_hint.u8 [%rd1], %part0, %rd2;\n\t}");
}

TEST(AssemblerFaults, PartsInVectorsAreStoredFromCopies) {
  EXPECT_EQ(avoidAssemblerFaults("\tst.shared.v2.b8 \t[%rd1], {%rs1, %rs2};\n"),
            "\t{\n\t.reg .b16 %part0;\n\tmov.b16 %part0, %rs1;\n"
            "\t.reg .b16 %part1;\n\tmov.b16 %part1, %rs2;\n"
            "\tst.shared.v2.b8 \t[%rd1], {%part0, %part1};\n\t}\n");
  EXPECT_EQ(avoidAssemblerFaults(
                "@p st.global.L2::cache_hint.v2.u16 [%rd1],{3,%r2},%rd2;"),
            "{\n\t.reg .b32 %part1;\n\tmov.b32 %part1, %r2;\n"
            "\t@p st.global.L2::cache_hint.v2.u16 [%rd1],{3, %part1},%rd2;"
            "\n\t}");
}

TEST(AssemblerFaults, GuardsStayWithTheStore) {
  EXPECT_EQ(avoidAssemblerFaults("{.reg .pred p; setp.ne.u32 p, %r1, 0; "
                                 "@!p st.shared.s8 [%r3], %r4;}"),
            "{.reg .pred p; setp.ne.u32 p, %r1, 0; {\n\t.reg .b32 %part0;\n"
            "\tmov.b32 %part0, %r4;\n\t@!p st.shared.s8 [%r3], %part0;\n\t}}");
}

TEST(AssemblerFaults, StoresAreFoundWhereverTheyStand) {
  std::string stored = "{\n\t.reg .b16 %part0;\n\tmov.b16 %part0, %rs1;\n"
                       "\tst.u8 [%rd1], %part0;\n\t}";
  for (llvm::StringRef before :
       {"$L__BB0_1: ", "again:", "{ ", "ret; ", "// st.u8;\n", "/* ; */ ",
        ".loc 1 2 3 // a.cu; b\n", ".entry f() {", "{ // callseq 0, 0\n",
        "bra again; // back\n\t", "mov.b32 %r1, {%rs1, %rs2}; "})
    EXPECT_EQ(avoidAssemblerFaults(before.str() + "st.u8 [%rd1], %rs1;"),
              before.str() + stored);
  EXPECT_EQ(avoidAssemblerFaults("st.u8\n\t[%rd1],\n\t%rs1;"),
            "{\n\t.reg .b16 %part0;\n\tmov.b16 %part0, %rs1;\n"
            "\tst.u8\n\t[%rd1],\n\t%part0;\n\t}");
}

TEST(AssemblerFaults, WholeRegistersAreStoredAsTheyAre) {
  for (llvm::StringRef text :
       {"\tst.global.u16 [%rd1], %rs1;\n", "\tst.global.f32 [%rd1], %f1;\n",
        "\tst.b32 [%rd1], %r2;\n", "\tst.global.v2.b16 [%rd1], {%rs1, %rs2};\n",
        "\tst.global.u8 [%rd1], 3;\n", "\tld.global.u8 %rs1, [%rd1];\n",
        "\tst.global.u8 [%rd1], %rs1", "@", "@p;", ";", "ret;", "/", "{", ":;",
        ""})
    EXPECT_EQ(avoidAssemblerFaults(text), text);
}

TEST(AssemblerFaults, CommentsStay) {
  for (llvm::StringRef text :
       {"// st.global.u8 [%rd1], %rs1;\n", "// a; st.u8 [%rd1], %rs1;",
        "// add.s16x2 %r1, %r2, %r3;\nret;", "/* ;\n st.u8 [%rd1], %rs1; */",
        "ret; // setp.eq.s32 %p1, %r1, 2;\n", "bra a // ; st.u8 [%rd1], %rs1;",
        "//", "/*"})
    EXPECT_EQ(avoidAssemblerFaults(text), text);
}

TEST(AssemblerFaults, EqualityHasNoSign) {
  EXPECT_EQ(avoidAssemblerFaults("setp.eq.s32 %p1, %r1, 2;\n"
                                 "@p setp.eq.and.s16 \t%p1, %rs1, 2, %p2;\n"
                                 "setp.eq.f32 %p1, %f1, %f2;\n"
                                 "setp.lt.s32 %p1, %r1, 2;\n"),
            "setp.eq.u32 %p1, %r1, 2;\n"
            "@p setp.eq.and.u16 \t%p1, %rs1, 2, %p2;\n"
            "setp.eq.f32 %p1, %f1, %f2;\n"
            "setp.lt.s32 %p1, %r1, 2;\n");
}

TEST(AssemblerFaults, ShortExtremaAreComparedByInequality) {
  for (llvm::StringRef extremum :
       {"max.s16 %rs1, %rs2, 7;\n", "min.u16x2 %r1, %r2, %r3;\n",
        "min.relu.s16x2 %r1, %r2, %r3;\n"}) {
    EXPECT_EQ(avoidAssemblerFaults(extremum.str() +
                                   "\tsetp.eq.b16 \t%p1, %rs1, 7;\n"
                                   "@%p2 setp.eq.s32 %p1, %r1, %r2;\n"),
              extremum.str() + "\tsetp.ne.b16 \t%p1, %rs1, 7;\n"
                               "\tnot.pred %p1, %p1;\n"
                               "@%p2 setp.ne.s32 %p1, %r1, %r2;\n"
                               "\t@%p2 not.pred %p1, %p1;\n");
    for (llvm::StringRef other :
         {"setp.eq.b64 %p1, %rd1, 7;", "setp.eq.f32 %p1, %f1, %f2;",
          "setp.eq.f16 %p1, %h1, %h2;", "setp.ne.b16 %p1, %rs1, 7;",
          "setp.eq.u16 %p1|%p2, %rs1, 7;", "@!%p1 setp.eq.u16 %p1, %rs1, 7;",
          "setp.eq.and.b16 %p1, %rs1, 7, %p2;"})
      EXPECT_EQ(avoidAssemblerFaults(extremum.str() + other.str()),
                extremum.str() + other.str());
  }
  llvm::StringRef text = "max.s32 %r1, %r2, 7;\nsetp.eq.b16 %p1, %rs1, 7;";
  EXPECT_EQ(avoidAssemblerFaults(text), text);
}

TEST(AssemblerFaults, PairsOfBytesAreConvertedFromRegistersOfTheirOwn) {
  for (llvm::StringRef name : {"cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2",
                               "cvt.rn.relu.f16x2.e4m3x2"})
    EXPECT_EQ(avoidAssemblerFaults("\t@%p1 " + name.str() + " \t%r1, %rs2;\n"),
              "\t{\n\t.reg .b32 %wide;\n\t.reg .b16 %pair;\n"
              "\tcvt.u32.u16 %wide, %rs2;\n\tcvt.u16.u32 %pair, %wide;\n"
              "\t@%p1 " +
                  name.str() + " %r1, %pair;\n\t}\n");
  llvm::StringRef text = "cvt.rn.satfinite.e4m3x2.f16x2 %rs1, %r2;";
  EXPECT_EQ(avoidAssemblerFaults(text), text);
}

TEST(AssemblerFaults, AbsoluteValuesAreChosen) {
  EXPECT_EQ(avoidAssemblerFaults("\t@%p1 abs.s32 \t%r1, %r2;\n"),
            "\t{\n\t.reg .b32 %opposite;\n\t.reg .pred %negative;\n"
            "\tneg.s32 %opposite, %r2;\n"
            "\tsetp.lt.s32 %negative, %r2, 0;\n"
            "\t@%p1 selp.b32 %r1, %opposite, %r2, %negative;\n\t}\n");
  EXPECT_NE(avoidAssemblerFaults("abs.s64 %rd1, %rd2;").find("selp.b64"),
            std::string::npos);
  for (llvm::StringRef other : {"abs.f32 %f1, %f2;", "abs.ftz.f16 %h1, %h2;"})
    EXPECT_EQ(avoidAssemblerFaults(other), other);
}

TEST(AssemblerFaults, HalvesAreSelectedByMasks) {
  llvm::StringRef selection = "@%p1 selp.b16 \t%rs1, %rs2, 0x3C00, %p2;";
  for (llvm::StringRef sum :
       {"\tadd.rn.f16 \t%rs1, %rs1, %rs2;\n", "{add.f16 %h1,%h2,%h3;\n}\n",
        "fma.rn.bf16 %rs1, %rs1, %rs1, %rs2;\n", "max.f16 %h1, %h1, %h2;\n",
        "add.rn.f16x2 %r1, %r1, %r2;\n"})
    EXPECT_EQ(avoidAssemblerFaults(sum.str() + selection.str()),
              sum.str() + "{\n\t.reg .b16 %short;\n"
                          "\t.reg .b32 %mask, %yes, %no;\n"
                          "\tmov.b16 %short, %rs2;\n"
                          "\tcvt.u32.u16 %yes, %short;\n"
                          "\tmov.b16 %short, 0x3C00;\n"
                          "\tcvt.u32.u16 %no, %short;\n"
                          "\tselp.b32 %mask, -1, 0, %p2;\n"
                          "\tlop3.b32 %no, %mask, %yes, %no, 0xCA;\n"
                          "\t@%p1 cvt.u16.u32 %rs1, %no;\n\t}");
  for (llvm::StringRef other :
       {"cvt.rn.f16.f32 %rs1, %f1;\n", "add.f32 %f1, %f1, %f2;\n"})
    EXPECT_EQ(avoidAssemblerFaults(other.str() + selection.str()),
              other.str() + selection.str());
}

TEST(AssemblerFaults, DoublesAreSelectedByMasks) {
  llvm::StringRef product =
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2, %fd3, "
      "%fd4}, {%fd5, %fd6}, {%fd7}, {%fd1, %fd2, %fd3, %fd4};\n";
  for (llvm::StringRef type : {"b64", "f64"}) {
    std::string selection =
        "\t@%p1 selp." + type.str() + " \t%fd1, 0d0000000000000000, %fd2, %p2;";
    EXPECT_EQ(avoidAssemblerFaults(product.str() + selection),
              product.str() +
                  "\t{\n\t.reg .b64 %double;\n"
                  "\t.reg .b32 %mask, %yes0, %yes1, %no0, %no1;\n"
                  "\tmov." +
                  type.str() +
                  " %double, 0d0000000000000000;\n"
                  "\tmov.b64 {%yes0, %yes1}, %double;\n"
                  "\tmov." +
                  type.str() +
                  " %double, %fd2;\n"
                  "\tmov.b64 {%no0, %no1}, %double;\n"
                  "\tselp.b32 %mask, -1, 0, %p2;\n"
                  "\tlop3.b32 %no0, %mask, %yes0, %no0, 0xCA;\n"
                  "\tlop3.b32 %no1, %mask, %yes1, %no1, 0xCA;\n"
                  "\t@%p1 mov.b64 %fd1, {%no0, %no1};\n\t}");
    EXPECT_EQ(avoidAssemblerFaults(selection), selection);
  }
  for (llvm::StringRef other :
       {"selp.b32 %r1, 0, %r2, %p2;", "selp.f32 %f1, %f2, %f3, %p1;"})
    EXPECT_EQ(avoidAssemblerFaults(product.str() + other.str()),
              product.str() + other.str());
}

TEST(AssemblerFaults, PairsAreTakenAwayByProducts) {
  EXPECT_EQ(avoidAssemblerFaults("\t@%p1 sub.rn.f16x2 \t%r1, %r2, %r3;\n"),
            "\t{\n\t.reg .b32 %minus;\n\tmov.b32 %minus, 0xBC00BC00;\n"
            "\t@%p1 fma.rn.f16x2 %r1, %r3, %minus, %r2;\n\t}\n");
  EXPECT_EQ(avoidAssemblerFaults("sub.bf16x2 %r1, %r2, %r3;"),
            "{\n\t.reg .b32 %minus;\n\tmov.b32 %minus, 0xBF80BF80;\n"
            "\tfma.rn.bf16x2 %r1, %r3, %minus, %r2;\n\t}");
  for (llvm::StringRef other :
       {"sub.f16 %h1, %h2, %h3;", "sub.sat.f16x2 %r1, %r2, %r3;",
        "add.f16x2 %r1, %r2, %r3;", "sub.f32 %f1, %f2, %f3;"})
    EXPECT_EQ(avoidAssemblerFaults(other), other);
}

TEST(AssemblerFaults, AtomicsOnSharedMemoryAreGuarded) {
  auto guarded = [](llvm::StringRef text) {
    return "{\n\t.reg .b32 %lane;\n\t.reg .pred %always;\n"
           "\tmov.u32 %lane, %laneid;\n\tsetp.lt.u32 %always, %lane, 32;\n"
           "\t@%always " +
           text.str() + "\n\t}";
  };
  for (llvm::StringRef text : {
           "red.relaxed.cta.shared.add.f32 [%rd1], %r1;",
           "red.relaxed.gpu.shared.max.s64 \t[%rd1], %rd2;",
           "red.relaxed.cta.shared.and.b64 [%rd1], %rd2;",
           "atom.acq_rel.cta.shared::cta.add.noftz.f16x2 %r1, [%rd1], %r2;",
           "atom.add.f64 %rd1, [%rd2], %rd3;",
       })
    EXPECT_EQ(avoidAssemblerFaults(text), guarded(text));
  for (llvm::StringRef text : {
           "red.relaxed.gpu.global.add.f32 [%rd1], %r1;",
           "red.relaxed.cta.shared.add.u32 [%rd1], %r1;",
           "atom.shared.inc.u32 %r1, [%rd1], %r2;",
           "atom.relaxed.cta.shared.exch.b64 %rd1, [%rd2], %rd3;",
           "atom.relaxed.cta.shared.cas.b64 %rd1, [%rd2], %rd3, %rd4;",
           "@%p1 red.relaxed.cta.shared.add.f32 [%rd1], %r1;",
           "redux.sync.add.s32 %r1, %r2, %r3;",
       })
    EXPECT_EQ(avoidAssemblerFaults(text), text);
}

TEST(AssemblerFaults, PackedSumsAreTakenApart) {
  EXPECT_EQ(avoidAssemblerFaults("\tadd.s16x2 \t%r1, %r2, %r3;\n\tret;\n"),
            "\t{\n\t.reg .b16 %a0, %a1, %b0, %b1;\n"
            "\tmov.b32 {%a0, %a1}, %r2;\n\tmov.b32 {%b0, %b1}, %r3;\n"
            "\tadd.s16 %a0, %a0, %b0;\n\tadd.s16 %a1, %a1, %b1;\n"
            "\tmov.b32 %r1, {%a0, %a1};\n\t}\n\tret;\n");
  EXPECT_EQ(avoidAssemblerFaults("@%p1 add.s16x2 %r1,%r2,65537;"),
            "{\n\t.reg .b16 %a0, %a1, %b0, %b1;\n"
            "\tmov.b32 {%a0, %a1}, %r2;\n\tmov.b32 {%b0, %b1}, 65537;\n"
            "\tadd.s16 %a0, %a0, %b0;\n\tadd.s16 %a1, %a1, %b1;\n"
            "\t@%p1 mov.b32 %r1, {%a0, %a1};\n\t}");
}
