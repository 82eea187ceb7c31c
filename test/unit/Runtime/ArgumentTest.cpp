//===- ArgumentTest.cpp - What a call checks ------------------------------===//
//
// One test per check, with the message that a user sees. Plans without launches
// do: the checks are the same on every device.
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace llvm;
using namespace tl::runtime;

namespace {

constexpr DLDevice cpu = {kDLCPU, 0};

/// Calls a plan with the arguments `json`, for the CPU.
Error call(StringRef json, ArrayRef<Argument> arguments) {
  return cantFail(Executable::loadHost(makePlan(json), {}))->call(arguments);
}

/// The same for a GPU, which is not reached because arguments are wrong.
Error callCUDA(StringRef json, ArrayRef<Argument> arguments) {
  return cantFail(Executable::loadCUDA(makePlan(json), {}))->call(arguments);
}

constexpr StringLiteral matrix =
    R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": ["m", 64],
        "align": 16})";
constexpr StringLiteral strided =
    R"({"kind": "tensor", "name": "A", "dtype": "f32", "shape": ["m", "n"],
        "strides": ["ld", 1]},
       {"kind": "tensor", "name": "B", "dtype": "f32", "shape": ["m", "n"],
        "strides": ["ld", null]})";

std::string scalar(StringRef dtype) {
  return (R"({"kind": "scalar", "name": "s", "dtype": ")" + dtype + "\"}")
      .str();
}

TEST(ArgumentTest, Count) {
  TestTensor a({8, 64}, f16);
  std::string plan = (matrix + ", " + scalar("f32")).str();
  expectError(call(plan, {&a}), ErrorCategory::ArgumentCount,
              "`f`: expected 2 arguments, got 1; pass `s`");
  expectError(call(plan, {}), ErrorCategory::ArgumentCount,
              "`f`: expected 2 arguments, got 0; pass `A`, `s`");
  expectError(call(matrix, {&a, &a}), ErrorCategory::ArgumentCount,
              "`f`: expected 1 argument, got 2; the last one is `A`");
  expectError(call("", {&a}), ErrorCategory::ArgumentCount,
              "`f`: expected 0 arguments, got 1; pass none");
  expectSuccess(call("", {}));
}

TEST(ArgumentTest, NullStandsForUnusedTensors) {
  // Its extents are nobody's: those of the other tensor solve `m`.
  std::string launch =
      R"({"kernel": "k", "grid": [["dim", 1, 0], 1, 1], "block": [1, 1, 1],
          "params": [{"base": 1}]})";
  std::string plan = makePlan((matrix + ", " + StringRef(R"(
      {"kind": "tensor", "name": "B", "dtype": "f32", "shape": ["m"]})"))
                                  .str(),
                              launch);
  static int64_t blocks;
  auto kernel = [](void *const *, int64_t begin, int64_t end, int64_t,
                   int64_t) { blocks += end - begin; };
  auto executable =
      cantFail(Executable::loadHost(plan, {KernelImage::host("k", kernel)}));
  TestTensor a({8, 64}, f16), b({8}, f32), other({7}, f32);
  blocks = 0;
  expectSuccess(executable->call({Argument(nullptr), &other}));
  EXPECT_EQ(blocks, 7);
  expectSuccess(executable->call({&a, &b}));
  expectError(executable->call({&a, &other}), ErrorCategory::Shape,
              "`f`: dimension 0 of `B` is 7, expected 8, because `m` is "
              "dimension 0 of `A` and that is 8; make the two agree");
  expectError(executable->call({&a, Argument(nullptr)}),
              ErrorCategory::ArgumentKind,
              "`f`: argument `B` is null, expected a tensor of f32 with shape "
              "(m)");
}

TEST(ArgumentTest, ExtentsOf32Bits) {
  const char *message =
      "`f`: dimension 0 of `A` is 2147483648, expected at most 2147483647, "
      "because kernels count in 32 bits; pass a view with more and smaller "
      "dimensions";
  TestTensor a({int64_t(1) << 31, 64}, f16, {kDLCUDA, 0});
  expectError(callCUDA(matrix, {&a}), ErrorCategory::Shape, message);
  TestTensor onHost({int64_t(1) << 31, 64}, f16);
  expectError(call(matrix, {&onHost}), ErrorCategory::Shape, message);
}

TEST(ArgumentTest, Kind) {
  TestTensor a({8, 64}, f16);
  expectError(call(matrix, {Argument::makeInt(3)}), ErrorCategory::ArgumentKind,
              "`f`: argument `A` is an integer, expected a tensor of f16 with "
              "shape (m, 64)");
  expectError(call(scalar("f32"), {&a}), ErrorCategory::ArgumentKind,
              "`f`: argument `s` is a tensor, expected a number (f32); convert "
              "it");
  expectError(call(scalar("i32"), {Argument::makeFloat(1)}),
              ErrorCategory::ArgumentKind,
              "`f`: argument `s` is a float, expected an integer (i32); "
              "convert it");
  expectError(call(scalar("f32"), {Argument::makeBool(true)}),
              ErrorCategory::ArgumentKind,
              "`f`: argument `s` is a Boolean, expected a number (f32); "
              "convert it");
}

TEST(ArgumentTest, DType) {
  TestTensor a({8, 64}, f32);
  expectError(call(matrix, {&a}), ErrorCategory::DType,
              "`f`: argument `A` has dtype f32, expected f16; convert it or "
              "compile the kernel for its dtype");
  TestTensor mask({4}, {kDLBool, 8, 1});
  expectSuccess(
      call(R"({"kind": "tensor", "name": "M", "dtype": "u8", "shape": [4]})",
           {&mask}));
}

TEST(ArgumentTest, Rank) {
  TestTensor a({2, 4, 64}, f16);
  expectError(call(matrix, {&a}), ErrorCategory::Rank,
              "`f`: argument `A` has rank 3, expected 2 for shape (m, 64); "
              "reshape it");
}

TEST(ArgumentTest, ShapeConstants) {
  TestTensor a({8, 32}, f16);
  expectError(call(matrix, {&a}), ErrorCategory::Shape,
              "`f`: dimension 1 of `A` is 32, expected 64; pass a tensor of "
              "shape (m, 64) or compile the kernel for this shape");
  TestTensor negative({-8, 64}, f16);
  expectError(call(matrix, {&negative}), ErrorCategory::Shape,
              "`f`: dimension 0 of `A` is -8, expected no negative number; the "
              "tensor is malformed");
}

TEST(ArgumentTest, SymbolsMustAgree) {
  TestTensor a({8, 16}, f32), b({8, 17}, f32);
  expectError(call(strided, {&a, &b}), ErrorCategory::Shape,
              "`f`: dimension 1 of `B` is 17, expected 16, because `n` is "
              "dimension 1 of `A` and that is 16; make the two agree");
  TestTensor square({4, 5}, f32);
  expectError(
      call(
          R"({"kind": "tensor", "name": "S", "dtype": "f32", "shape": ["n", "n"]})",
          {&square}),
      ErrorCategory::Shape,
      "`f`: dimension 1 of `S` is 5, expected 4, because `n` is dimension 0 of "
      "`S` and that is 4; make the two agree");
}

TEST(ArgumentTest, StridesMustAgree) {
  TestTensor a({8, 16}, f32), b({8, 16}, f32);
  a.withStrides({32, 1});
  b.withStrides({48, 1});
  expectError(call(strided, {&a, &b}), ErrorCategory::Stride,
              "`f`: stride 0 of `B` is 48, expected 32, because `ld` is stride "
              "0 of `A` and that is 32; make the two agree");
  // The inner stride of `B` is not checked.
  b.withStrides({32, 2});
  expectSuccess(call(strided, {&a, &b}));
  a.withStrides({32, 2});
  expectError(
      call(strided, {&a, &b}), ErrorCategory::Stride,
      "`f`: stride 1 of `A` is 2, expected 1; pass a tensor with such a "
      "layout or compile the kernel for this layout");
}

TEST(ArgumentTest, StridesOfOneElementDoNotMatter) {
  TestTensor a({1, 16}, f32), b({1, 16}, f32);
  a.withStrides({12345, 1});
  b.withStrides({-7, 1});
  expectSuccess(call(strided, {&a, &b}));
  TestTensor empty({0, 16}, f32), other({0, 16}, f32);
  empty.withStrides({1, 99});
  other.withStrides({2, 98});
  expectSuccess(call(strided, {&empty, &other}));
}

TEST(ArgumentTest, ContiguousTensors) {
  TestTensor a({8, 64}, f16);
  expectSuccess(call(matrix, {&a}));
  a.withStrides({64, 1});
  expectSuccess(call(matrix, {&a}));
  a.withStrides({128, 1});
  expectError(call(matrix, {&a}), ErrorCategory::Stride,
              "`f`: stride 0 of `A` is 128, expected 64 for a contiguous "
              "row-major tensor of shape (8, 64); pass a contiguous copy");
  TestTensor row({1, 64}, f16);
  row.withStrides({7, 1});
  expectSuccess(call(matrix, {&row}));
  TestTensor empty({0, 64}, f16);
  empty.withStrides({7, 9});
  expectSuccess(call(matrix, {&empty}));
}

TEST(ArgumentTest, Alignment) {
  TestTensor a({8, 64}, f16);
  a.at(0x10008);
  expectError(
      call(matrix, {&a}), ErrorCategory::Alignment,
      "`f`: the data of argument `A` is at address 0x10008, expected a "
      "multiple of 16 bytes; pass a copy or a slice that starts at such "
      "an address");
  // The byte offset counts.
  a.byteOffset = 8;
  expectSuccess(call(matrix, {&a}));
  TestTensor empty({0, 64}, f16);
  empty.at(0x10008);
  expectSuccess(call(matrix, {&empty}));
}

TEST(ArgumentTest, NullData) {
  TestTensor a({8, 64}, f16), empty({0, 64}, f16);
  a.at(0);
  empty.at(0);
  expectError(call(matrix, {&a}), ErrorCategory::NullPointer,
              "`f`: argument `A` has shape (8, 64) but no data; pass a tensor "
              "that owns memory");
  expectSuccess(call(matrix, {&empty}));
}

TEST(ArgumentTest, Device) {
  TestTensor onCPU({8, 64}, f16, cpu);
  TestTensor onGPU({8, 64}, f16, {kDLCUDA, 1});
  TestTensor pinned({8, 64}, f16, {kDLCUDAHost, 0});
  expectError(
      call(matrix, {&onGPU}), ErrorCategory::Device,
      "`f`: argument `A` is on cuda:1, expected the CPU; copy it to the "
      "host or compile the kernel for the GPU");
  expectSuccess(call(matrix, {&pinned}));
  expectError(
      callCUDA(matrix, {&onCPU}), ErrorCategory::Device,
      "`f`: argument `A` is on the CPU, expected a CUDA device; copy it "
      "to the GPU or compile the kernel for the CPU");
  expectError(
      callCUDA(matrix, {&pinned}), ErrorCategory::Device,
      "`f`: argument `A` is on the CPU (pinned), expected a CUDA device; "
      "copy it to the GPU or compile the kernel for the CPU");
  TestTensor metal({8, 64}, f16, {static_cast<DLDeviceType>(8), 0});
  expectError(call(matrix, {&metal}), ErrorCategory::Device,
              "`f`: argument `A` is on a device of DLPack type 8, expected the "
              "CPU; copy it to the host or compile the kernel for the GPU");

  TestTensor a({8, 16}, f32, {kDLCUDA, 0}), b({8, 16}, f32, {kDLCUDA, 1});
  expectError(callCUDA(strided, {&a, &b}), ErrorCategory::Device,
              "`f`: argument `B` is on cuda:1, expected cuda:0 like `A`; copy "
              "it there");
}

TEST(ArgumentTest, IntegerRanges) {
  auto take = [](StringRef dtype, Argument value) {
    return call(scalar(dtype), {value});
  };
  expectSuccess(take("i8", Argument::makeInt(-128)));
  expectError(take("i8", Argument::makeInt(128)), ErrorCategory::Value,
              "`f`: argument `s` is 128, expected -128 to 127 (i8); pass a "
              "value in that range");
  expectError(
      take("u16", Argument::makeInt(-1)), ErrorCategory::Value,
      "`f`: argument `s` is -1, expected 0 to 65535 (u16); pass a value "
      "in that range");
  expectError(take("i64", Argument::makeUInt(1ull << 63)), ErrorCategory::Value,
              "`f`: argument `s` is 9223372036854775808, expected "
              "-9223372036854775808 to 9223372036854775807 (i64); pass a value "
              "in that range");
  expectSuccess(take("u64", Argument::makeUInt(UINT64_MAX)));
  expectSuccess(take("i64", Argument::makeInt(INT64_MIN)));
  expectSuccess(take("i1", Argument::makeBool(true)));
  expectSuccess(take("i1", Argument::makeInt(1)));
  expectError(take("i1", Argument::makeInt(2)), ErrorCategory::Value,
              "`f`: argument `s` is 2, expected 0 to 1 (i1); pass a value in "
              "that range");
  expectSuccess(take("i32", Argument::makeBool(true)));
}

// An expression is computed with signed 64-bit integers.
TEST(ArgumentTest, LargeIntegersCannotBeComputedWith) {
  std::string plan =
      makePlan(scalar("u64"), R"({"kernel": "k", "grid": [["scalar", 0], 1, 1],
                                  "block": [1, 1, 1], "params": []})");
  auto kernel = KernelImage::host(
      "k", [](void *const *, int64_t, int64_t, int64_t, int64_t) {});
  auto executable = cantFail(Executable::loadHost(plan, kernel));
  expectError(executable->call({Argument::makeUInt(UINT64_MAX)}),
              ErrorCategory::Value,
              "`f`: argument `s` is 18446744073709551615, expected at most "
              "9223372036854775807, because grids and sizes are computed from "
              "it; pass a smaller value");
}

TEST(ArgumentTest, FloatRanges) {
  auto take = [](StringRef dtype, Argument value) {
    return call(scalar(dtype), {value});
  };
  expectSuccess(take("f32", Argument::makeInt(3)));
  expectSuccess(take("f64", Argument::makeFloat(1e300)));
  expectError(take("f16", Argument::makeFloat(70000)), ErrorCategory::Value,
              "`f`: argument `s` is 70000, which is beyond the largest f16; "
              "pass a smaller value");
  expectError(take("f32", Argument::makeFloat(-1e300)), ErrorCategory::Value,
              "`f`: argument `s` is -1e+300, which is beyond the largest f32; "
              "pass a smaller value");
}

} // namespace
