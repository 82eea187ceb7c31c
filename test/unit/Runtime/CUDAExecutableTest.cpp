//===- CUDAExecutableTest.cpp - Run launch plans on a GPU -----------------===//
//
// What reaches the driver, through a fake one.
//
//===----------------------------------------------------------------------===//

#include "FakeDriverTest.h"
#include "llvm/BinaryFormat/ELF.h"
#include <cstring>

using namespace llvm;
using namespace tl::runtime;
using namespace tl::runtime::cu;

namespace {

constexpr DLDevice cuda0 = {kDLCUDA, 0};
constexpr DLDevice cuda1 = {kDLCUDA, 1};

constexpr StringLiteral matrixA =
    R"({"kind": "tensor", "name": "A", "dtype": "f16", "shape": ["m", "k"],
        "strides": [null, null]})";

std::string makeLaunch(StringRef members, StringRef params = "") {
  return (R"({"kernel": "k", "grid": [["dim", 0, 0], 2, 1],
              "block": [128, 1, 1], )" +
          members + R"("params": [)" + params + "]}")
      .str();
}

/// The header of a cubin in the format of current toolkits, with the command
/// line that ptxas notes.
std::string makeCubin(unsigned architecture, StringRef target) {
  ELF::Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELF::ElfMagic, 4);
  header.e_ident[ELF::EI_ABIVERSION] = ELF::ELFABIVERSION_CUDA_V2;
  header.e_machine = ELF::EM_CUDA;
  header.e_flags = architecture << ELF::EF_CUDA_SM_OFFSET;
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  return bytes + "-arch " + target.str();
}

class CUDAExecutableTest : public FakeDriverTest {
protected:
  CUDAExecutableTest() : driver(cantFail(open())) { fake->calls.clear(); }

  std::unique_ptr<Executable> load(StringRef arguments, StringRef launches,
                                   StringRef image = ".target sm_90a") {
    return cantFail(Executable::loadCUDA(makePlan(arguments, launches),
                                         KernelImage::device("k", image),
                                         driver.get()));
  }

  std::unique_ptr<Driver> driver;
};

template <typename T>
T read(const std::vector<uint8_t> &bytes) {
  T value;
  EXPECT_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

TEST_F(CUDAExecutableTest, Launches) {
  auto executable =
      load(matrixA.str() + R"(, {"kind": "scalar", "name": "s",
                                 "dtype": "f16"})",
           makeLaunch(R"("shared": ["*", ["dim", 0, 1], 2], )",
                      R"({"base": 0}, {"value": ["dim", 0, 1], "type": "i32"},
                         {"value": ["stride", 0, 0], "type": "i64"},
                         {"scalar": 1})"));
  TestTensor a({3, 64}, f16, cuda0);
  a.withStrides({80, 1});
  a.byteOffset = 32;
  fake->parameterSizes = {8, 4, 8, 2};
  auto *stream = reinterpret_cast<void *>(0x77);
  expectSuccess(executable->call({&a, Argument::makeFloat(1)}, stream));

  ASSERT_EQ(fake->launches.size(), 1u);
  const FakeDriver::Launch &launch = fake->launches[0];
  EXPECT_EQ(launch.kernel, "k");
  EXPECT_EQ(launch.config.gridDimX, 3u);
  EXPECT_EQ(launch.config.gridDimY, 2u);
  EXPECT_EQ(launch.config.gridDimZ, 1u);
  EXPECT_EQ(launch.config.blockDimX, 128u);
  EXPECT_EQ(launch.config.blockDimY, 1u);
  EXPECT_EQ(launch.config.blockDimZ, 1u);
  EXPECT_EQ(launch.config.sharedMemBytes, 128u);
  EXPECT_EQ(launch.config.hStream, stream);
  EXPECT_TRUE(launch.attributes.empty());
  EXPECT_EQ(launch.context, FakeDriver::primaryContext(0));
  EXPECT_EQ(read<uint64_t>(launch.params[0]), 0x10020u);
  EXPECT_EQ(read<int32_t>(launch.params[1]), 64);
  EXPECT_EQ(read<int64_t>(launch.params[2]), 80);
  EXPECT_EQ(read<uint16_t>(launch.params[3]), 0x3c00);
  EXPECT_TRUE(fake->functionAttributes.empty());
}

TEST_F(CUDAExecutableTest, LaunchAttributes) {
  auto executable =
      load(matrixA, makeLaunch(R"("cluster": [2, 4, 1], "cooperative": true,
                                  "dependent": true, )"));
  TestTensor a({4, 64}, f16, cuda0);
  expectSuccess(executable->call({&a}));
  const std::vector<CUlaunchAttribute> &attributes =
      fake->launches.at(0).attributes;
  ASSERT_EQ(attributes.size(), 3u);
  EXPECT_EQ(attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(attributes[0].value.clusterDim.x, 2u);
  EXPECT_EQ(attributes[0].value.clusterDim.y, 4u);
  EXPECT_EQ(attributes[0].value.clusterDim.z, 1u);
  EXPECT_EQ(attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(attributes[1].value.cooperative, 1);
  EXPECT_EQ(attributes[2].id,
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(attributes[2].value.programmaticStreamSerializationAllowed, 1);
  EXPECT_TRUE(fake->functionAttributes.empty());
}

TEST_F(CUDAExecutableTest, LargeClustersMustBeAllowed) {
  auto executable = load(matrixA, makeLaunch(R"("cluster": [16, 1, 1], )"));
  TestTensor a({16, 64}, f16, cuda0);
  expectSuccess(executable->call({&a}));
  EXPECT_EQ(
      fake->functionAttributes,
      (std::vector<FakeDriver::FunctionAttribute>{
          {"k", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1}}));
}

// The limit of dynamic shared memory is raised when a launch exceeds it, and
// only then.
TEST_F(CUDAExecutableTest, SharedMemoryAboveTheDefault) {
  auto executable = load(matrixA, makeLaunch(R"("shared": ["dim", 0, 1], )"));
  auto use = [&](int64_t bytes) {
    TestTensor a({1, bytes}, f16, cuda0);
    return executable->call({&a});
  };
  for (int64_t bytes : {49152, 49153, 49153, 100000, 60000, 232448})
    expectSuccess(use(bytes));
  constexpr int attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(
      fake->functionAttributes,
      (std::vector<FakeDriver::FunctionAttribute>{{"k", attribute, 49153},
                                                  {"k", attribute, 100000},
                                                  {"k", attribute, 232448}}));
  EXPECT_EQ(fake->launches.size(), 6u);

  expectError(
      use(232449), ErrorCategory::Value,
      "`f`: kernel `k` needs 232449 bytes of dynamic shared memory, "
      "this GPU (Fake GPU) has 232448 for a block; use smaller tiles or "
      "fewer pipeline stages");
  auto doubled =
      load(matrixA, makeLaunch(R"("shared": ["*", ["dim", 0, 1], 2], )"));
  TestTensor big({1, int64_t(1) << 30}, f16, cuda0);
  expectError(doubled->call({&big}), ErrorCategory::Value,
              "`f`: shared memory of kernel `k` is 2147483648 bytes, expected "
              "0 to 2147483647 (computed as `(A.shape[1] * 2)`); pass other "
              "arguments");
}

TEST_F(CUDAExecutableTest, EmptyGridsLaunchNothing) {
  auto executable = load(matrixA, makeLaunch("", R"({"tensor_map": {"arg": 0,
                 "dtype": "f16", "box": [64, 64], "swizzle": 128}})"));
  TestTensor a({0, 64}, f16, cuda0);
  a.at(0);
  expectSuccess(executable->call({&a}));
  EXPECT_TRUE(fake->launches.empty());
  EXPECT_TRUE(fake->encodings.empty());
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

std::string makeTensorMap(StringRef dtype, StringRef box, unsigned swizzle) {
  return (R"({"tensor_map": {"arg": 0, "dtype": ")" + dtype + R"(", "box": )" +
          box + R"(, "swizzle": )" + Twine(swizzle) + "}}")
      .str();
}

TEST_F(CUDAExecutableTest, EncodesTensorMaps) {
  auto executable = load(
      R"({"kind": "tensor", "name": "A", "dtype": "f32",
          "shape": ["b", "m", "k"], "strides": [null, null, 1]})",
      makeLaunch("", makeTensorMap("tf32", "[32, 128, 1]", 128) +
                         R"(, {"base": 0})"));
  fake->parameterSizes = {128, 8};
  TestTensor a({2, 300, 40}, f32, cuda0);
  a.withStrides({20000, 64, 1});
  expectSuccess(executable->call({&a}));

  ASSERT_EQ(fake->encodings.size(), 1u);
  const FakeDriver::Encoding &encoding = fake->encodings[0];
  EXPECT_EQ(encoding.type, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
  EXPECT_EQ(encoding.address, a.data);
  EXPECT_EQ(encoding.dims, (std::vector<uint64_t>{40, 300, 2}));
  EXPECT_EQ(encoding.strides, (std::vector<uint64_t>{256, 80000}));
  EXPECT_EQ(encoding.box, (std::vector<uint32_t>{32, 128, 1}));
  EXPECT_EQ(encoding.elementStrides, (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(encoding.interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(encoding.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(encoding.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_EQ(encoding.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

  // The kernel gets the map by value, and the next parameter behind it.
  EXPECT_EQ(fake->launches.at(0).params[0], std::vector<uint8_t>(128, 1));
  EXPECT_EQ(read<uint64_t>(fake->launches[0].params[1]), 0x10000u);
}

TEST_F(CUDAExecutableTest, TensorMapTypesAndSwizzles) {
  struct Case {
    const char *dtype;
    DLDataType stored;
    CUtensorMapDataType type;
    unsigned swizzle;
    CUtensorMapSwizzle encoded;
  };
  const Case cases[] = {
      {"f16", f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"bf16",
       {kDLBfloat, 16, 1},
       CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
       32,
       CU_TENSOR_MAP_SWIZZLE_32B},
      {"f32", f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 64,
       CU_TENSOR_MAP_SWIZZLE_64B},
      {"f64",
       {kDLFloat, 64, 1},
       CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
       128,
       CU_TENSOR_MAP_SWIZZLE_128B},
      {"i8",
       {kDLInt, 8, 1},
       CU_TENSOR_MAP_DATA_TYPE_UINT8,
       0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"f8e4m3",
       {kDLFloat8_e4m3fn, 8, 1},
       CU_TENSOR_MAP_DATA_TYPE_UINT8,
       0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"i16",
       {kDLInt, 16, 1},
       CU_TENSOR_MAP_DATA_TYPE_UINT16,
       0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"i32", i32, CU_TENSOR_MAP_DATA_TYPE_INT32, 0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"u32",
       {kDLUInt, 32, 1},
       CU_TENSOR_MAP_DATA_TYPE_UINT32,
       0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"i64",
       {kDLInt, 64, 1},
       CU_TENSOR_MAP_DATA_TYPE_INT64,
       0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
      {"u64",
       {kDLUInt, 64, 1},
       CU_TENSOR_MAP_DATA_TYPE_UINT64,
       0,
       CU_TENSOR_MAP_SWIZZLE_NONE},
  };
  for (const Case &test : cases) {
    auto executable = load(
        (Twine(R"({"kind": "tensor", "name": "A", "dtype": ")") + test.dtype +
         R"(", "shape": ["m", "k"]})")
            .str(),
        makeLaunch("", makeTensorMap(test.dtype, "[16, 8]", test.swizzle)));
    TestTensor a({8, 64}, test.stored, cuda0);
    expectSuccess(executable->call({&a}));
    EXPECT_EQ(fake->encodings.back().type, test.type) << test.dtype;
    EXPECT_EQ(fake->encodings.back().swizzle, test.encoded) << test.dtype;
  }
}

TEST_F(CUDAExecutableTest, TensorMapsAreEncodedOnceForATensor) {
  auto executable =
      load(matrixA, makeLaunch("", makeTensorMap("f16", "[64, 64]", 128)));
  fake->parameterSizes = {128};
  TestTensor a({8, 64}, f16, cuda0);
  a.withStrides({64, 1});
  auto encodings = [&] {
    expectSuccess(executable->call({&a}));
    return fake->encodings.size();
  };
  EXPECT_EQ(encodings(), 1u);
  EXPECT_EQ(encodings(), 1u);
  a.at(0x20000);
  EXPECT_EQ(encodings(), 2u);
  a.withStrides({128, 1});
  EXPECT_EQ(encodings(), 3u);
  EXPECT_EQ(encodings(), 3u);
  EXPECT_EQ(fake->launches.back().params[0], std::vector<uint8_t>(128, 3));
}

// What could not be encoded is tried again.
TEST_F(CUDAExecutableTest, TensorMapErrorsAreNotRemembered) {
  auto executable =
      load(matrixA, makeLaunch("", makeTensorMap("f16", "[64, 64]", 128)));
  TestTensor a({8, 64}, f16, cuda0);
  fake->failures["cuTensorMapEncodeTiled"] = CUDA_ERROR_INVALID_VALUE;
  expectError(
      executable->call({&a}), ErrorCategory::CUDA,
      "`f`: encoding a tensor map with box (64, 64) and swizzle 128 for "
      "argument `A` failed: CUDA error 1 (no description)");
  fake->failures.clear();
  expectSuccess(executable->call({&a}));
  EXPECT_EQ(fake->encodings.size(), 1u);
}

// Extents of 1 often come with strides that the driver rejects.
TEST_F(CUDAExecutableTest, TensorMapStridesOfSingleRows) {
  auto executable =
      load(matrixA, makeLaunch("", makeTensorMap("f16", "[64, 64]", 128)));
  TestTensor row({1, 7}, f16, cuda0);
  row.withStrides({7, 1});
  expectSuccess(executable->call({&row}));
  EXPECT_EQ(fake->encodings.at(0).dims, (std::vector<uint64_t>{7, 1}));
  EXPECT_EQ(fake->encodings.at(0).strides, std::vector<uint64_t>{16});
}

TEST_F(CUDAExecutableTest, TensorMapsOfEmptyTensorsAreZero) {
  auto executable =
      load(matrixA, makeLaunch("", makeTensorMap("f16", "[64, 64]", 128)));
  fake->parameterSizes = {128};
  TestTensor empty({4, 0}, f16, cuda0);
  empty.at(0);
  expectSuccess(executable->call({&empty}));
  EXPECT_TRUE(fake->encodings.empty());
  EXPECT_EQ(fake->launches.at(0).params[0], std::vector<uint8_t>(128, 0));
}

TEST_F(CUDAExecutableTest, TensorsThatTheHardwareCannotAccess) {
  auto executable =
      load(matrixA, makeLaunch("", makeTensorMap("f16", "[64, 64]", 128)));
  TestTensor a({8, 64}, f16, cuda0);
  a.at(0x10008);
  expectError(executable->call({&a}), ErrorCategory::Alignment,
              "`f`: the data of argument `A` is at address 0x10008, expected a "
              "multiple of 16 bytes for tensor memory access; pass a copy or a "
              "slice that starts at such an address");
  a.at(0x10000).withStrides({65, 1});
  expectError(executable->call({&a}), ErrorCategory::Stride,
              "`f`: stride 0 of `A` is 130 bytes, expected a multiple of 16 "
              "bytes below 2^40 for tensor memory access; pad the rows");
  a.withStrides({1, 8});
  expectError(executable->call({&a}), ErrorCategory::Stride,
              "`f`: stride 1 of `A` is 8, expected 1 for tensor memory access; "
              "pass a contiguous copy");
  EXPECT_TRUE(fake->launches.empty());
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

TEST_F(CUDAExecutableTest, LoadingTouchesNoDriver) {
  auto executable = load(matrixA, makeLaunch(""));
  EXPECT_TRUE(fake->calls.empty());
}

TEST_F(CUDAExecutableTest, ModulesAreLoadedOncePerDevice) {
  auto executable = load(matrixA, makeLaunch(""));
  TestTensor on0({8, 64}, f16, cuda0), on1({8, 64}, f16, cuda1);
  TestTensor managed({8, 64}, f16, {kDLCUDAManaged, 0});
  for (TestTensor *tensor : {&on0, &on1, &on0, &on1, &managed})
    expectSuccess(executable->call({tensor}));
  EXPECT_EQ(fake->countCalls("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(fake->launches.at(1).context, FakeDriver::primaryContext(1));
  EXPECT_EQ(fake->launches.at(2).context, FakeDriver::primaryContext(0));
  // The first call made cuda:0 current.
  EXPECT_EQ(fake->current, FakeDriver::primaryContext(0));
  executable.reset();
  EXPECT_EQ(fake->countCalls("cuCtxSynchronize"), 2u);
  EXPECT_EQ(fake->unloadedModules, 2);
}

TEST_F(CUDAExecutableTest, CodeThatMayStillRunStaysLoaded) {
  auto executable = load(matrixA, makeLaunch(""));
  TestTensor a({8, 64}, f16, cuda0);
  expectSuccess(executable->call({&a}));
  fake->failures["cuCtxSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  executable.reset();
  EXPECT_EQ(fake->unloadedModules, 0);
}

TEST_F(CUDAExecutableTest, HotCallsOnlyLaunch) {
  auto executable = load(matrixA, makeLaunch("", R"({"base": 0})"));
  TestTensor a({8, 64}, f16, cuda0);
  expectSuccess(executable->call({&a}));
  fake->calls.clear();
  expectSuccess(executable->call({&a}));
  EXPECT_EQ(fake->calls,
            (std::vector<std::string>{"cuCtxGetCurrent", "cuLaunchKernelEx"}));
}

TEST_F(CUDAExecutableTest, WithoutTensorsTheCurrentDeviceIsUsed) {
  auto executable = load(R"({"kind": "scalar", "name": "n", "dtype": "i32"})",
                         R"({"kernel": "k", "grid": [["scalar", 0], 1, 1],
               "block": [1, 1, 1], "params": []})");
  fake->current = FakeDriver::primaryContext(1);
  expectSuccess(executable->call({Argument::makeInt(1)}));
  EXPECT_EQ(fake->launches.at(0).context, FakeDriver::primaryContext(1));
  fake->current = nullptr;
  expectSuccess(executable->call({Argument::makeInt(1)}));
  EXPECT_EQ(fake->launches.at(1).context, FakeDriver::primaryContext(0));
}

TEST_F(CUDAExecutableTest, KernelsShareImages) {
  std::string launches =
      R"({"kernel": "a", "grid": [1, 1, 1], "block": [1, 1, 1], "params": []},
         {"kernel": "b", "grid": [1, 1, 1], "block": [1, 1, 1], "params": []},
         {"kernel": "a", "grid": [1, 1, 1], "block": [1, 1, 1], "params": []})";
  StringRef image = ".target sm_80";
  auto executable = cantFail(Executable::loadCUDA(
      makePlan("", launches),
      {KernelImage::device("b", image), KernelImage::device("a", image)},
      driver.get()));
  expectSuccess(executable->call({}));
  EXPECT_EQ(fake->images, std::vector<std::string>{".target sm_80"});
  ASSERT_EQ(fake->launches.size(), 3u);
  EXPECT_EQ(fake->launches[0].kernel, "a");
  EXPECT_EQ(fake->launches[1].kernel, "b");
  EXPECT_EQ(fake->launches[2].kernel, "a");
  EXPECT_EQ(fake->countCalls("cuModuleGetFunction"), 2u);
}

// A kernel's name in the plan need not be its symbol.
TEST_F(CUDAExecutableTest, EntriesHaveSymbols) {
  std::string launches =
      R"({"kernel": "a", "entry": "_Z1fv", "grid": [1, 1, 1],
          "block": [1, 1, 1], "params": []},
         {"kernel": "b", "entry": "_Z1fv", "grid": [1, 1, 1],
          "block": [1, 1, 1], "params": []})";
  auto executable =
      cantFail(Executable::loadCUDA(makePlan("", launches),
                                    {KernelImage::device("a", ".target sm_80"),
                                     KernelImage::device("b", ".target sm_90")},
                                    driver.get()));
  expectSuccess(executable->call({}));
  EXPECT_EQ(fake->images.size(), 2u);
  ASSERT_EQ(fake->launches.size(), 2u);
  EXPECT_EQ(fake->launches[0].kernel, "_Z1fv");
  EXPECT_EQ(fake->launches[1].kernel, "_Z1fv");
}

TEST_F(CUDAExecutableTest, SetsVariables) {
  constexpr StringLiteral vector =
      R"({"kind": "tensor", "name": "W", "dtype": "f32", "shape": ["n"]})";
  std::string launch = R"({"kernel": "k", "grid": [1, 1, 1],
      "block": [1, 1, 1], "symbols": [{"name": "table", "arg": 0}],
      "params": []})";
  float values[] = {1, 2, 3};
  auto run = [&](int64_t count) {
    TestTensor w({count}, {kDLFloat, 32, 1}, cuda0);
    w.at(reinterpret_cast<uintptr_t>(values));
    return load(vector, launch)->call({&w});
  };
  expectError(run(3), ErrorCategory::Plan,
              "`f`: kernel `k`: its image has no variable `table`");

  fake->variables["table"].resize(sizeof(values));
  expectSuccess(run(3));
  EXPECT_EQ(
      std::memcmp(fake->variables["table"].data(), values, sizeof(values)), 0);
  ASSERT_EQ(fake->launches.size(), 1u);

  expectError(run(2), ErrorCategory::Value,
              "`f`: kernel `k`: variable `table` has 12 bytes, and argument "
              "`W`, which it is set from, has 8");
  fake->failures["cuMemcpyDtoDAsync_v2"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_TRUE(errorToBool(run(3)));
}

TEST_F(CUDAExecutableTest, PassesStructs) {
  auto executable =
      load(matrixA, makeLaunch("", R"({"struct": {"size": 24, "members": [
          {"at": 0, "bytes": 2, "value": 7, "type": "i32"},
          {"at": 8, "bytes": 8, "base": 0},
          {"at": 16, "bytes": 4, "value": ["dim", 0, 1], "type": "i32"}]}})"));
  TestTensor a({3, 64}, f16, cuda0);
  fake->parameterSizes = {24};
  expectSuccess(executable->call({&a}));
  std::vector<uint8_t> expected(24);
  uint64_t address = 0x10000;
  expected[0] = 7;
  std::memcpy(&expected[8], &address, 8);
  expected[16] = 64;
  EXPECT_EQ(fake->launches.at(0).params.at(0), expected);
}

TEST_F(CUDAExecutableTest, KernelsForOtherGPUs) {
  auto run = [&](StringRef image) {
    TestTensor a({8, 64}, f16, cuda0);
    return load(matrixA, makeLaunch(""), image)->call({&a});
  };
  fake->major = 8;
  fake->minor = 0;
  constexpr StringLiteral message =
      "`f`: kernel `k` was built for sm_90a, this GPU (Fake GPU) is sm_80; "
      "compile it for sm_80";
  expectError(run(makeCubin(90, "sm_90a")), ErrorCategory::Architecture,
              message);
  expectError(run(".version 8.0\n.target sm_90a\n"),
              ErrorCategory::Architecture, message);
  expectError(run(makeCubin(86, "sm_86")), ErrorCategory::Architecture,
              "`f`: kernel `k` was built for sm_86, this GPU (Fake GPU) is "
              "sm_80; compile it for sm_80");
  expectSuccess(run(makeCubin(80, "sm_80")));
  expectSuccess(run(".target sm_75"));
  EXPECT_EQ(fake->images.size(), 2u);

  // A cubin runs on later GPUs of its generation, PTX on all later ones; code
  // for one GPU or one family does not leave it.
  fake->major = 10;
  fake->minor = 3;
  expectSuccess(run(makeCubin(100, "sm_100")));
  expectSuccess(run(makeCubin(100, "sm_100f")));
  expectSuccess(run(".target sm_80"));
  expectError(run(makeCubin(100, "sm_100a")), ErrorCategory::Architecture,
              "`f`: kernel `k` was built for sm_100a, this GPU (Fake GPU) is "
              "sm_103; compile it for sm_103");
  expectError(run(makeCubin(90, "sm_90")), ErrorCategory::Architecture,
              "`f`: kernel `k` was built for sm_90, this GPU (Fake GPU) is "
              "sm_103; compile it for sm_103");
  fake->major = 12;
  expectError(run(".target sm_100f"), ErrorCategory::Architecture,
              "`f`: kernel `k` was built for sm_100f, this GPU (Fake GPU) is "
              "sm_123; compile it for sm_123");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(CUDAExecutableTest, LoadErrorsShowTheCompilersLog) {
  auto executable = load(matrixA, makeLaunch(""));
  TestTensor a({8, 64}, f16, cuda0);
  fake->failures["cuModuleLoadDataEx"] = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  fake->compilerLog = "ptxas fatal: version 9.9 is not supported\n";
  expectError(
      executable->call({&a}), ErrorCategory::Architecture,
      "`f`: kernel `k`: loading it on cuda:0 failed: CUDA error 222 (no "
      "description); update the NVIDIA driver or compile to a cubin\n"
      "ptxas fatal: version 9.9 is not supported");
  // The next call tries again.
  fake->failures.clear();
  expectSuccess(executable->call({&a}));
}

TEST_F(CUDAExecutableTest, KernelMissingFromItsImage) {
  auto executable = load(matrixA, makeLaunch(""));
  TestTensor a({8, 64}, f16, cuda0);
  fake->failures["cuModuleGetFunction"] = CUDA_ERROR_NOT_FOUND;
  expectError(
      executable->call({&a}), ErrorCategory::Plan,
      "`f`: kernel `k` is not in its image; is the name misspelt, or is "
      "it not extern \"C\"?");
  // What was loaded for nothing is unloaded.
  EXPECT_EQ(fake->unloadedModules, 1);
}

TEST_F(CUDAExecutableTest, LaunchErrors) {
  auto executable = load(matrixA, makeLaunch(""));
  TestTensor a({8, 64}, f16, cuda0);
  fake->failures["cuLaunchKernelEx"] = CUDA_ERROR_OUT_OF_MEMORY;
  expectError(executable->call({&a}), ErrorCategory::OutOfMemory,
              "`f`: kernel `k`: launching it on cuda:0 with grid (8, 2, 1), "
              "block (128, 1, 1), cluster (1, 1, 1) and 0 bytes of dynamic "
              "shared memory failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}

TEST_F(CUDAExecutableTest, NoSuchDevice) {
  auto executable = load(matrixA, makeLaunch(""));
  TestTensor a({8, 64}, f16, {kDLCUDA, 5});
  expectError(executable->call({&a}), ErrorCategory::NoCUDA,
              "there is no cuda:5, the number of GPUs is 2; is "
              "CUDA_VISIBLE_DEVICES set?");
}

TEST_F(CUDAExecutableTest, EveryKernelNeedsAnImage) {
  expectError(Executable::loadCUDA(makePlan(matrixA, makeLaunch("")),
                                   KernelImage::device("other", "x"))
                  .takeError(),
              ErrorCategory::Plan, "`f`: kernel `k` has no cubin or PTX");
}

} // namespace
