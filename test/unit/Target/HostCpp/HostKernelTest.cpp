//===- HostKernelTest.cpp - Printed programs do what the runtime does -----===//
//
// A plan that uses everything is printed, compiled and opened. Whatever the
// arguments are and whatever the driver answers, the library must launch what
// the runtime launches, or fail with the same words.
//
//===----------------------------------------------------------------------===//

#include "../../Runtime/FakeDriverTest.h"
#include "tl/Support/SourceFolder.h"
#include "tl/Target/HostCpp/HostProgram.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <random>

using namespace llvm;
using namespace tl;
using namespace tl::runtime;
using namespace tl::runtime::cu;

namespace {

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

constexpr StringLiteral dtypes[] = {
    "i1",  "i8",  "u8",  "i16",  "u16",    "i32",    "u32", "i64",
    "u64", "f16", "f32", "bf16", "f8e4m3", "f8e5m2", "f64", "tf32"};
constexpr unsigned tensorCount = 4;

/// Tensors with symbols in shapes and strides, and a scalar of each type. Some
/// have names that mean something else in the program.
std::string makeArguments() {
  std::string text = R"(
    {"kind": "tensor", "name": "A", "dtype": "f32", "shape": ["m", "n"],
     "align": 8},
    {"kind": "tensor", "name": "params", "dtype": "i32", "shape": ["m", 2],
     "strides": ["values0", 1]},
    {"kind": "tensor", "name": "int", "dtype": "u8", "shape": ["n"],
     "strides": [null]},
    {"kind": "tensor", "name": "grid0", "dtype": "f16", "shape": ["values0"]})";
  for (StringRef dtype : dtypes)
    text += formatv(R"(, {{"kind": "scalar", "name": "x {0}", "dtype": "{0}"})",
                    dtype);
  return text;
}

/// Two launches with parameters of the same sizes: `getParameterSizes`.
std::string makeLaunches() {
  std::string scalars;
  for (unsigned i = 0; i != std::size(dtypes); ++i)
    scalars += formatv(R"(, {{"scalar": {0}})", tensorCount + i);
  auto launch = [&](StringRef members, StringRef narrow, StringRef wide) {
    return formatv(R"({{{0}, "params": [
        {{"tensor_map": {{"arg": 0, "dtype": "f32", "box": [4, 2],
                          "swizzle": 32}},
        {{"base": 1}, {{"value": {1}, "type": "i32"},
        {{"value": {2}, "type": "i64"},
        {{"struct": {{"size": 20, "members": [
          {{"at": 0, "bytes": 8, "base": 0},
          {{"at": 8, "bytes": 4, "value": ["stride", 1, 0], "type": "i32"},
          {{"at": 16, "bytes": 2, "scalar": 7}]}}{3}]})",
                   members, narrow, wide, scalars)
        .str();
  };
  return launch(R"("kernel": "first",
                   "grid": [["ceildiv", ["dim", 0, 1], 3],
                            ["max", ["scalar", 5], ["dim", 0, 0]], 1],
                   "block": [32, 2, 1], "cluster": [1, 2, 1],
                   "shared": ["*", ["dim", 2, 0], 9000])",
                R"(["*", ["scalar", 9], ["dim", 0, 0]])",
                R"(["floordiv", ["scalar", 11], ["-", ["dim", 0, 0], 3]])") +
         ", " +
         launch(R"("kernel": "second", "entry": "_Z6secondv",
                   "grid": [1, 1, ["mod", ["scalar", 6], ["dim", 2, 0]]],
                   "block": [64, 1, 1], "cooperative": true, "dependent": true,
                   "cluster": [16, 1, 1],
                   "symbols": [{"name": "weights", "arg": 0}])",
                R"(["-", ["stride", 0, 0], 2147483647])",
                R"(["+", ["*", ["scalar", 11], ["scalar", 11]],
                         ["min", 7, ["floordiv", 10, 3]]])");
}

std::vector<size_t> getParameterSizes() {
  std::vector<size_t> sizes = {128, 8, 4, 8, 20};
  for (StringRef dtype : dtypes)
    sizes.push_back(getByteSize(*parseDataType(dtype)));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

class Generator {
public:
  explicit Generator(unsigned seed) : engine(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool oneIn(unsigned count) { return pick(1, count * rarity) == 1; }

  /// Makes what is odd as many times rarer.
  void setRarity(unsigned times) { rarity = times; }

  /// A number near a power of two: where types end.
  int64_t edge() {
    int64_t power = static_cast<int64_t>(uint64_t(1) << pick(0, 63));
    return static_cast<int64_t>(uint64_t(power) + uint64_t(pick(-2, 2))) *
           (oneIn(2) ? 1 : -1);
  }

  double real() {
    switch (pick(0, 5)) {
    case 0:
      return edge();
    case 1:
      return std::numeric_limits<double>::quiet_NaN();
    case 2:
      return std::numeric_limits<double>::infinity() * (oneIn(2) ? 1 : -1);
    default:
      // Halves of units are ties; small exponents are subnormal numbers.
      return std::ldexp(pick(-4096, 4096), pick(-40, 8));
    }
  }

  Argument scalar(StringRef dtype) {
    bool isFloat = dtype.contains('f');
    if (oneIn(40))
      return Argument(nullptr);
    if (isFloat && !oneIn(8))
      return Argument::makeFloat(oneIn(6) ? real() : pick(-8, 8) * 0.375);
    if (oneIn(8))
      return Argument::makeBool(oneIn(2));
    if (oneIn(8))
      return Argument::makeUInt(edge());
    return Argument::makeInt(oneIn(8) ? edge() : pick(0, 1));
  }

private:
  std::mt19937 engine;
  unsigned rarity = 1;
};

alignas(64) char memory[4096];

struct RandomTensor {
  int64_t shape[3], strides[3];
  DLTensor tensor;

  RandomTensor(Generator &random, std::vector<int64_t> extents,
               std::vector<int64_t> wanted, DLDataType dtype) {
    for (unsigned i = 0; i != extents.size(); ++i) {
      shape[i] = random.oneIn(40) ? random.pick(-1, 3) : extents[i];
      strides[i] = random.oneIn(40) ? random.pick(-1, 3) : wanted[i];
    }
    if (random.oneIn(60))
      dtype.bits = 16;
    if (random.oneIn(60))
      dtype.lanes = 2;
    DLDeviceType device = random.oneIn(60) ? kDLCPU : kDLCUDA;
    int32_t rank = extents.size();
    tensor = {random.oneIn(60) ? nullptr : memory,
              {device, int32_t(random.oneIn(60) ? 1 : 0)},
              random.oneIn(60) ? 3 - rank : rank,
              dtype,
              shape,
              random.oneIn(10) ? nullptr : strides,
              uint64_t(random.oneIn(30) ? 8 : 64)};
  }
};

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

std::string describe(Error error) {
  std::string text;
  handleAllErrors(std::move(error), [&](const RuntimeError &actual) {
    text = formatv("{0}: {1}", static_cast<int>(actual.getCategory()),
                   actual.getMessage());
  });
  return text;
}

/// Writes the library of `programs` to a file that is gone when it is open.
std::unique_ptr<Executable> buildAndOpen(ArrayRef<HostProgram> programs) {
  const std::string &name = programs.front().plan.name;
  std::vector<std::string> warnings;
  HostSources sources = cantFail(printHostSources(programs));
  std::string library = cantFail(buildLibrary(sources, name, "", "", warnings));
  EXPECT_TRUE(warnings.empty());
  SourceFolder folder = cantFail(SourceFolder::make("test", ""));
  cantFail(folder.write("library.so", library));
  return cantFail(Executable::loadLibrary(folder.getPath("library.so"), name));
}

HostProgram makeProgram(StringRef chip, StringRef plan, StringRef code) {
  HostProgram program = {chip.str(), cantFail(LaunchPlan::parse(plan)), {}};
  for (const Launch &launch : program.plan.launches)
    program.code[launch.kernel] = code;
  return program;
}

class HostKernelTest : public FakeDriverTest {
protected:
  HostKernelTest() : driver(cantFail(open())) { reset(); }

  void reset() {
    FakeDriver fresh;
    fresh.parameterSizes = getParameterSizes();
    fresh.variables = std::move(variables);
    fresh.failures = failures;
    variables = fresh.variables;
    *fake = fresh;
  }

  /// What a call leads to: its error, or all launches.
  std::string observe(const Executable &executable,
                      ArrayRef<Argument> arguments, void *stream) {
    reset();
    std::string text = describe(executable.call(arguments, stream));
    raw_string_ostream os(text);
    for (const FakeDriver::Launch &launch : fake->launches) {
      const CUlaunchConfig &config = launch.config;
      os << formatv("\n{0} on {1}, stream {2}: grid {3} {4} {5}, block {6} {7} "
                    "{8}, shared {9}",
                    launch.kernel, launch.context, config.hStream,
                    config.gridDimX, config.gridDimY, config.gridDimZ,
                    config.blockDimX, config.blockDimY, config.blockDimZ,
                    config.sharedMemBytes);
      for (const CUlaunchAttribute &attribute : launch.attributes)
        os << formatv(", attribute {0}: {1} {2} {3}", int(attribute.id),
                      attribute.value.clusterDim.x,
                      attribute.value.clusterDim.y,
                      attribute.value.clusterDim.z);
      for (const std::vector<uint8_t> &param : launch.params)
        os << "\n  " << format_bytes(param);
    }
    for (const FakeDriver::Encoding &encoding : fake->encodings) {
      os << formatv("\nencoding {0} of {1}, {2} {3} {4} {5}:",
                    int(encoding.type), encoding.address, encoding.interleave,
                    encoding.swizzle, encoding.promotion, encoding.fill);
      for (uint64_t value : encoding.dims)
        os << ' ' << value;
      for (uint64_t value : encoding.strides)
        os << ' ' << value;
      for (uint32_t value : encoding.box)
        os << ' ' << value;
      for (uint32_t value : encoding.elementStrides)
        os << ' ' << value;
    }
    return text;
  }

  std::unique_ptr<Driver> driver;
  std::map<std::string, std::vector<uint8_t>> variables;
  std::map<std::string, CUresult> failures;
};

constexpr StringLiteral image = ".version 8.0\n.target sm_90a\n";

TEST_F(HostKernelTest, DoesWhatTheRuntimeDoes) {
  std::string plan = makePlan(makeArguments(), makeLaunches());
  std::unique_ptr<Executable> library =
      buildAndOpen(makeProgram("sm_90a", plan, image));
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator random(seed);
  constexpr const char *functions[] = {
      "cuLaunchKernelEx", "cuTensorMapEncodeTiled", "cuMemcpyDtoDAsync",
      "cuCtxGetCurrent", "cuCtxSetCurrent"};

  // What loads the kernels fails first: afterwards they are there.
  std::vector<const char *> loading = {
      "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute",
      "cuFuncSetAttribute"};
  unsigned launched = 0, refused = 0;
  for (unsigned round = 0; round != 2000; ++round) {
    random.setRarity(round % 2 ? 1 : 8);
    int64_t m = random.pick(0, 9) ? random.pick(1, 4) : 0;
    int64_t n = random.oneIn(8) ? random.pick(0, 40) : 4 * random.pick(1, 4);
    int64_t s = random.oneIn(8) ? random.pick(0, 5) : 4;
    std::deque<RandomTensor> tensors;
    tensors.emplace_back(random, std::vector{m, n}, std::vector{n, int64_t(1)},
                         f32);
    tensors.emplace_back(random, std::vector{m, int64_t(2)},
                         std::vector{s, int64_t(1)}, i32);
    tensors.emplace_back(random, std::vector{n}, std::vector{int64_t(3)}, u8);
    tensors.emplace_back(random, std::vector{s}, std::vector{int64_t(1)}, f16);
    std::vector<Argument> arguments;
    for (RandomTensor &tensor : tensors)
      arguments.push_back(random.oneIn(80) ? nullptr : &tensor.tensor);
    if (random.oneIn(3))
      arguments.back() = nullptr;
    for (StringRef dtype : dtypes)
      arguments.push_back(random.scalar(dtype));
    if (random.oneIn(50))
      arguments.pop_back();
    if (random.oneIn(50))
      arguments.push_back(Argument::makeInt(0));

    variables.clear();
    if (!random.oneIn(20))
      variables["weights"].resize(4 * m * n + random.oneIn(20));
    failures.clear();
    if (!loading.empty())
      failures[loading.back()] = CUDA_ERROR_OUT_OF_MEMORY;
    else if (random.oneIn(10))
      failures[functions[random.pick(0, std::size(functions) - 1)]] =
          random.oneIn(2) ? CUDA_ERROR_ILLEGAL_ADDRESS : CUresult(999);

    // Nothing is kept from call to call, tensor maps above all.
    std::vector<KernelImage> images = {KernelImage::device("first", image),
                                       KernelImage::device("second", image)};
    std::unique_ptr<Executable> runtime =
        cantFail(Executable::loadCUDA(plan, images, driver.get()));
    auto *stream = reinterpret_cast<void *>(random.pick(0, 9));
    std::string expected = observe(*runtime, arguments, stream);
    std::string actual = observe(*library, arguments, stream);
    ASSERT_EQ(actual, expected);
    if (!loading.empty() &&
        StringRef(expected).contains("CUDA_ERROR_OUT_OF_MEMORY"))
      loading.pop_back();
    (StringRef(expected).starts_with("\n") ? launched : refused) += 1;
  }
  EXPECT_TRUE(loading.empty());
  EXPECT_GT(launched, 200u);
  EXPECT_GT(refused, 200u);
}

TEST_F(HostKernelTest, ChoosesTheChip) {
  std::string plan = makePlan(
      R"({"kind": "tensor", "name": "A", "dtype": "f32", "shape": ["m"]})",
      R"({"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1],
          "params": []})");
  auto code = [](StringRef chip) { return ("\177ELF " + chip).str(); };
  std::string a = code("sm_80"), b = code("sm_90a"), c = code("sm_90");
  HostProgram programs[] = {makeProgram("sm_80", plan, a),
                            makeProgram("sm_90a", plan, b),
                            makeProgram("sm_90", plan, c)};
  std::unique_ptr<Executable> library = buildAndOpen(programs);

  auto choose = [&](int device, int major, int minor) {
    reset();
    fake->parameterSizes.clear();
    fake->major = major;
    fake->minor = minor;
    TestTensor tensor({4}, f32, {kDLCUDA, device});
    std::string text = describe(library->call(Argument(&tensor)));
    return text + (fake->images.empty() ? "" : fake->images.back().substr(5));
  };
  EXPECT_EQ(choose(0, 9, 0), "sm_90a");
  EXPECT_EQ(choose(1, 8, 6), "sm_80");
  EXPECT_EQ(choose(0, 10, 0),
            "12: `f`: kernel `k` was built for sm_90a, sm_90, sm_80, this GPU "
            "(Fake GPU) is sm_100; compile it for sm_100");

  // A tensor of the host is refused as it is by a library for one chip.
  TestTensor tensor({4}, f32);
  expectError(library->call(Argument(&tensor)), ErrorCategory::Device,
              "`f`: argument `A` is on the CPU, expected a CUDA device; copy "
              "it to the GPU or compile the kernel for the CPU");
}

TEST(HostSourcesTest, RefusesWhatCannotBe) {
  auto message = [](ArrayRef<HostProgram> programs) {
    Expected<HostSources> sources = printHostSources(programs);
    return sources ? "" : toString(sources.takeError());
  };
  std::string plan = makePlan("");
  EXPECT_EQ(
      message({makeProgram("sm_80", plan, ""), makeProgram("cpu", plan, "")}),
      "`f`: a library is for GPUs or for the CPU, and `cpu` is among its "
      "chips; make two libraries");
  EXPECT_EQ(
      message({makeProgram("sm_80", plan, ""), makeProgram("sm_80", plan, "")}),
      "`f`: the chip `sm_80` is named twice");
  EXPECT_EQ(
      message(makeProgram(
          "sm_80",
          R"({"version": 1, "name": "a.b", "args": [], "launches": []})", "")),
      "the function `a.b` cannot be called from C: its name has other "
      "characters than letters, digits and `_`; rename it");
  EXPECT_EQ(message(makeProgram(
                "cpu", makePlan("", R"({"kernel": "k", "grid": [1, 1, 1],
                    "block": [1, 1, 1], "cluster": [2, 1, 1], "params": []})"),
                "")),
            "`f`: kernel `k` is launched as only a GPU can; compile it for "
            "one");
}

TEST(BuildLibraryTest, SaysWhatIsMissing) {
  auto message = [](StringRef compiler, HostSources sources) {
    std::vector<std::string> warnings;
    Expected<std::string> library =
        buildLibrary(sources, "f", compiler, "", warnings);
    return library ? "" : toString(library.takeError());
  };
  EXPECT_EQ(message("no-such-compiler", {}),
            "the C++ compiler `no-such-compiler` is not on this machine; "
            "install it, or name another one in `CXX`");
  std::string said = message("", {{{"host_kernel.cpp", "nonsense"}}, {}, {}});
  EXPECT_TRUE(StringRef(said).contains("cannot build the library of `f`: "))
      << said;
  EXPECT_TRUE(StringRef(said).contains("host_kernel.cpp")) << said;
}

} // namespace
