//===- KernelRecordTest.cpp - Compiled kernels as a cache keeps them ------===//

#include "tl/Pipeline/KernelRecord.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

static std::string makeRecord(StringRef params, StringRef rest = "",
                              StringRef files = R"(kernel.ptx = "k.ptx")") {
  return ("gpu.module @m {\n  tl.compiled_kernel @k params([" + params +
          "]) block(128, 1, 1) shared(0) files({" + files + "}) " + rest +
          "\n}\n")
      .str();
}

static std::string whyNot(StringRef text) {
  Expected<KernelRecord> record = KernelRecord::parse(text);
  return record ? "" : toString(record.takeError());
}

TEST(KernelRecordTest, WhatTheCompilerPrintsIsRead) {
  KernelRecord record = cantFail(
      KernelRecord::parse(R"(gpu.module @m attributes {a = "}", b = {c = [1]}} {
  tl.compiled_kernel @k entry("_Z1k") params([#tl.param<base, 0>, #tl.param<dim, 0, index = 1>, #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>, #tl.param<struct, 1, members = [#tl.param<base, 1>, #tl.param<scalar, 2, type = i32>]>]) block(128, 1, 1) shared(16) symbols ["w"] files({"2.a" = "2.a", kernel.ptx = "kernel.ptx"}) {tl.resources = {registers = 14 : i64, stack = 0 : i64}}
  tl.compiled_kernel @l params([]) block(1, 1, 1) shared(0) files({})
}
)"));
  ASSERT_EQ(record.kernels.size(), 2u);
  const RecordedKernel &kernel = record.kernels[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.entry, "_Z1k");
  ASSERT_EQ(kernel.params.size(), 4u);
  EXPECT_EQ(kernel.params[1].index, 1);
  EXPECT_EQ(kernel.params[2].box, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(kernel.params[2].type, "bf16");
  ASSERT_EQ(kernel.params[3].members.size(), 2u);
  EXPECT_EQ(kernel.params[3].members[1].type, "i32");
  EXPECT_EQ(kernel.block, (std::vector<int64_t>{128, 1, 1}));
  EXPECT_EQ(kernel.shared, 16);
  EXPECT_EQ(kernel.symbols, std::vector<std::string>{"w"});
  EXPECT_EQ(kernel.files.size(), 2u);
  EXPECT_EQ(kernel.resources[0].second, 14);
  EXPECT_FALSE(record.kernels[1].entry);
}

TEST(KernelRecordTest, OtherOpsAreRefused) {
  for (StringRef op :
       {"tl.cuda_unit \"a\" \"b\"", "func.func @f()", "gpu.func @k()", "module",
        "\"tl.compiled_kernel\"() : () -> ()", "gpu.module @n {}"})
    EXPECT_EQ(whyNot(("gpu.module @m {\n" + op + "\n}").str()),
              "line 2: expected `tl.compiled_kernel`")
        << op.str();
  EXPECT_EQ(whyNot("module {}"), "line 1: expected `gpu.module`");
  EXPECT_EQ(whyNot("ML\xefR"), "line 1: expected `gpu.module`");
  EXPECT_EQ(whyNot("gpu.module @m {}\n{-# #-}"), "line 2: expected the end");
}

TEST(KernelRecordTest, NumbersHaveBounds) {
  for (auto [param, why] : std::vector<std::pair<StringRef, StringRef>>{
           {"#tl.param<base, 4096>", "expected an integer from 0 to 4095"},
           {"#tl.param<base, 100000000>", "expected an integer from 0 to 4095"},
           {"#tl.param<base, -1>", "expected an integer from 0 to 4095"},
           {"#tl.param<base, 99999999999999999999>",
            "expected an integer from 0 to 4095"},
           {"#tl.param<dim, 0, index = 64>",
            "expected an integer from 0 to 63"},
           {"#tl.param<tensor_map, 0, box = [257], type = f16>",
            "expected an integer from 1 to 256"},
           {"#tl.param<tensor_map, 0, box = [1, 1, 1, 1, 1, 1], type = f16>",
            "the list is too long"},
           {"#tl.param<tensor_map, 0, box = [1], swizzle = 3, type = f16>",
            "expected a swizzle of 0, 32, 64 or 128"},
           {"#tl.param<tensor_map, 0, type = f16>",
            "the parameter has the box of another kind"},
           {"#tl.param<tensor_map, 0, box = [8]>",
            "a tensor map has no elements of this type"},
           {"#tl.param<tensor_map, 0, box = [8], type = index>",
            "a tensor map has no elements of this type"},
           {"#tl.param<tensor_map, 0, box = [7], type = f16>",
            "expected a box whose rows fit the swizzle"},
           {"#tl.param<tensor_map, 0, box = [32], swizzle = 32, type = f16>",
            "expected a box whose rows fit the swizzle"},
           {"#tl.param<scalar, 0, type = i65>", "expected a type of numbers"},
           {"#tl.param<scalar, 0, type = vector>",
            "expected a type of numbers"},
           {"#tl.param<struct, 0>",
            "the parameter has the members of another kind"},
           {"#tl.param<struct, 0, members = [#tl.param<struct, 0>]>",
            "expected the kind of a parameter"},
           {"#tl.param<other, 0>", "expected the kind of a parameter"},
           {"#tl.param<base, 0, other = 1>", "a parameter has no `other` here"},
       })
    EXPECT_EQ(whyNot(makeRecord(param)), ("line 2: " + why).str())
        << param.str();
}

TEST(KernelRecordTest, NamesAreOnesOfFilesAndSymbols) {
  for (StringRef file :
       {R"(k = "../k")", R"(k = "/k")", R"(k = ".k")", R"(k = "a/b")",
        R"("../k" = "k")", R"(k = "a\22b")", R"(k = "k", k = "k")", R"(k = 1)",
        R"(k = "manifest.json")"})
    EXPECT_NE(whyNot(makeRecord("", "", file)), "") << file.str();
  std::string quoted = makeRecord("");
  EXPECT_EQ(whyNot(quoted), "");
  quoted.replace(quoted.find("@k"), 2, "@\"k\\22);\"");
  EXPECT_EQ(whyNot(quoted), "line 2: expected the name of a symbol");
}

TEST(KernelRecordTest, NamesAreTheirOwn) {
  std::string twice = makeRecord("");
  std::string op = twice.substr(twice.find("  tl."));
  EXPECT_EQ(whyNot(twice.substr(0, twice.find("  tl.")) +
                   op.substr(0, op.size() - 2) + op),
            "line 4: a kernel is named twice");
  EXPECT_EQ(
      whyNot(makeRecord("", "{tl.resources = {a = 1 : i64, a = 2 : i64}}")),
      "line 2: expected a name of its own");
  std::string without = makeRecord("");
  without.replace(without.find("128, 1, 1"), 9, "");
  EXPECT_EQ(whyNot(without), "line 2: expected the extents of a block");
}

TEST(KernelRecordTest, AKernelTakesNoMoreThanItCan) {
  std::string threads = makeRecord("");
  threads.replace(threads.find("128, 1, 1"), 9, "1024, 1, 2");
  EXPECT_EQ(whyNot(threads), "line 2: expected the extents of a block");
  auto makeParams = [](StringRef param, size_t count) {
    return join(std::vector<std::string>(count, param.str()), ", ");
  };
  StringRef base = "#tl.param<base, 0>";
  EXPECT_EQ(whyNot(makeRecord(makeParams(base, 4095))), "");
  EXPECT_EQ(whyNot(makeRecord(makeParams(base, 4096))),
            "line 2: the parameters take too many bytes");
  std::string aggregate =
      "#tl.param<struct, 0, members = [" + makeParams(base, 2048) + "]>";
  EXPECT_EQ(whyNot(makeRecord(aggregate)), "");
  EXPECT_EQ(whyNot(makeRecord(makeParams(aggregate, 2))),
            "line 2: the parameters take too many bytes");
}

TEST(KernelRecordTest, NothingRecurses) {
  EXPECT_NE(whyNot(makeRecord(std::string(200000, '['))), "");
  EXPECT_NE(whyNot("gpu.module @m attributes {a = " + std::string(200000, '[')),
            "");
  EXPECT_NE(whyNot(makeRecord("", "{a = " + std::string(200000, '<'))), "");
  EXPECT_EQ(whyNot(std::string(5 << 20, ' ')), "is too long");
}
