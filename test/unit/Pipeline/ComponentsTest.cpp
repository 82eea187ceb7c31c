//===- ComponentsTest.cpp - Every component of a key is needed ------------===//
//
// For each kind of component there is a pair of compilations that differ in
// nothing else: without that component one would get the artifact of the
// other. `explain` names the component, and no other.
//
//===----------------------------------------------------------------------===//

#include "FakeToolkit.h"
#include "TestSupport.h"

#include "tl/Pipeline/Pipelines.h"

#include <set>

using namespace mlir;
using namespace tl;
using namespace tl::test;

static cache::Key without(const cache::Key &key, StringRef component) {
  std::vector<cache::KeyComponent> rest;
  for (const cache::KeyComponent &part : key.components())
    if (part.name != component)
      rest.push_back(part);
  return cache::Key(std::move(rest));
}

/// The kinds of components, such as `pass`, for which there is a test.
static std::set<std::string> &getTestedKinds() {
  static std::set<std::string> kinds;
  return kinds;
}

/// Expects `first` and `second` to differ in `component` alone.
static void expectOnly(StringRef component, const cache::Key &first,
                       const cache::Key &second) {
  std::vector<std::string> differing;
  for (const cache::KeyDifference &difference : cache::explain(first, second))
    differing.push_back(difference.name);
  EXPECT_EQ(differing, std::vector<std::string>{component.str()});
  EXPECT_NE(first.hex(), second.hex()) << component.str();
  EXPECT_EQ(without(first, component).hex(), without(second, component).hex())
      << "dropping `" << component.str() << "` would go unnoticed";
  getTestedKinds().insert(component.split(' ').first.str());
}

static constexpr const char *kKernel = R"(
func.func @f(%A: memref<64xf32>, %n: index) attributes {tl.entry} {
  tl.kernel @k blocks(%b) in (%n) threads(32) {
    %c = arith.constant 2.0 : f32
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %y = arith.mulf %x, %c : f32
      tl.store %y, %A[%i] : memref<64xf32>
    }
  }
  return
}
)";

/// A kernel in two texts, of which the second includes a header.
static constexpr const char *kUnit = R"(
gpu.module @unit {
  tl.cuda_unit "one.cu" "void one();"
  tl.cuda_unit "two.cu" "#include <two.h>" headers {"two.h" = "int two();"}
  tl.cuda_entry @unit params([]) block(1) shared(0)
}
)";

static std::string replace(std::string text, StringRef from,
                           const std::string &to) {
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to);
}

namespace {
class ComponentsTest : public testing::Test {
protected:
  /// The key of a kernel that multiplies by `factor`.
  cache::Key key(StringRef pipeline = "gpu.module(tl-infer-layouts)",
                 StringRef name = "k", StringRef factor = "2.0",
                 StringRef target = "chip=sm_90a") {
    OwningOpRef<ModuleOp> module = makeKernel(name, factor, target);
    return keyOf(getKernel(*module), parseStages(pipeline));
  }

  OwningOpRef<ModuleOp> makeKernel(StringRef name = "k",
                                   StringRef factor = "2.0",
                                   StringRef target = "chip=sm_90a") {
    return parseKernels(
        context,
        replace(replace(kKernel, "@k", "@" + name.str()), "2.0", factor.str()),
        target);
  }

  gpu::GPUModuleOp getKernel(ModuleOp module) {
    return *module.getOps<gpu::GPUModuleOp>().begin();
  }

  /// The tests together are about every kind of component that there is.
  static void TearDownTestSuite();

  MLIRContext context{getRegistry(), MLIRContext::Threading::DISABLED};
};
} // namespace

void ComponentsTest::TearDownTestSuite() {
  const testing::TestSuite &suite =
      *testing::UnitTest::GetInstance()->current_test_suite();
  if (suite.test_to_run_count() != suite.total_test_count())
    return;
  std::set<std::string> kinds;
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  for (auto [text, target] :
       {std::pair(std::string(kKernel) + kUnit, "chip=sm_90a fast-math"),
        std::pair(std::string(kKernel), "chip=cpu")}) {
    OwningOpRef<ModuleOp> module = parseKernels(context, text, target);
    for (auto kernel : module->getOps<gpu::GPUModuleOp>())
      for (StringRef pass : {"canonicalize", "tl-assemble{assembler=ptxas}",
                             "tl-compile-cuda{compiler=nvrtc}"}) {
        cache::Key key =
            keyOf(kernel, parseStages(("gpu.module(" + pass + ")").str()));
        for (const cache::KeyComponent &part : key.components())
          kinds.insert(StringRef(part.name).split(' ').first.str());
      }
  }
  EXPECT_EQ(kinds, getTestedKinds());
}

TEST_F(ComponentsTest, Kernel) {
  StringRef pipeline = "gpu.module(tl-infer-layouts)";
  expectOnly("kernel", key(pipeline, "k", "2.0"), key(pipeline, "k", "3.0"));
}

TEST_F(ComponentsTest, Name) {
  StringRef pipeline = "gpu.module(tl-infer-layouts)";
  expectOnly("name", key(pipeline, "first"), key(pipeline, "second"));
  // The name that a kernel has in the bytes is a name like others.
  expectOnly("name", key(pipeline, "first"), key(pipeline, "kernel"));
}

/// The function of a kernel need not have its name.
TEST_F(ComponentsTest, NameOfTheFunction) {
  std::vector<Stage> stages = getPlainStages();
  OwningOpRef<ModuleOp> module = makeKernel();
  gpu::GPUModuleOp kernel = getKernel(*module);
  cache::Key before = keyOf(kernel, stages);
  SymbolTable::setSymbolName(kernel.lookupSymbol("k"),
                             StringAttr::get(&context, "other"));
  expectOnly("kernel", before, keyOf(kernel, stages));
}

TEST_F(ComponentsTest, AttributesOfTheModule) {
  StringRef pipeline = "gpu.module(tl-infer-layouts)";
  expectOnly("attribute tl.target", key(pipeline, "k", "2.0", "chip=sm_80"),
             key(pipeline, "k", "2.0", "chip=sm_90"));
  expectOnly("attribute tl.fast_math", key(pipeline, "k", "2.0", "chip=sm_80"),
             key(pipeline, "k", "2.0", "chip=sm_80 fast-math"));
}

/// The texts of source kernels, and of what they include.
TEST_F(ComponentsTest, Texts) {
  std::vector<Stage> stages = getPlainStages();
  auto keyWith = [&](StringRef from, const std::string &to) {
    OwningOpRef<ModuleOp> module = parse(context, replace(kUnit, from, to));
    return keyOf(getKernel(*module), stages);
  };
  cache::Key given = keyWith("one()", "one()");
  expectOnly("source one.cu", given, keyWith("one()", "other()"));
  expectOnly("source two.cu", given,
             keyWith("<two.h>", "<two.h> // see there"));
  expectOnly("header two.h", given, keyWith("int two()", "long two()"));
  // Where a text is included from is a fact of the kernel.
  EXPECT_NE(keyWith("\"two.h\" =", "\"2.h\" =").hex(), given.hex());
}

/// What is compiled has them.
TEST_F(ComponentsTest, TextsAreReadBack) {
  OwningOpRef<ModuleOp> module = parse(context, kUnit);
  outline(*module, "chip=sm_80 fast-math");
  gpu::GPUModuleOp unit = getKernel(*module);
  OwningOpRef<ModuleOp> read = tl::parse(canonicalize(unit, false), context);
  ASSERT_TRUE(read);
  EXPECT_EQ(print(getKernel(*read)), print(unit));
}

/// Two texts of one name, one way around and the other.
TEST_F(ComponentsTest, TextsOfOneName) {
  std::vector<Stage> stages = getPlainStages();
  auto keyWith = [&](StringRef first, StringRef second) {
    std::string text = "gpu.module @unit {\n  tl.cuda_unit \"one.cu\" \"" +
                       first.str() + "\"\n  tl.cuda_unit \"one.cu\" \"" +
                       second.str() + "\"\n}";
    OwningOpRef<ModuleOp> module = parse(context, text);
    return keyOf(getKernel(*module), stages);
  };
  EXPECT_NE(keyWith("a();", "b();").hex(), keyWith("b();", "a();").hex());
  expectOnly("source one.cu 2", keyWith("a();", "b();"),
             keyWith("a();", "c();"));
}

/// Options of the printer are about what people see.
TEST_F(ComponentsTest, LongAttributes) {
  std::vector<Stage> stages = getPlainStages();
  OwningOpRef<ModuleOp> module = makeKernel();
  gpu::GPUModuleOp kernel = getKernel(*module);
  auto keyWith = [&](int32_t last) {
    SmallVector<int32_t> values(1000);
    values.back() = last;
    kernel->setAttr("test.table", Builder(&context).getI32TensorAttr(values));
    return keyOf(kernel, stages);
  };
  expectOnly("attribute test.table", keyWith(1), keyWith(2));
}

TEST_F(ComponentsTest, OrderOfPasses) {
  expectOnly("pipeline", key("gpu.module(cse,tl-infer-layouts)"),
             key("gpu.module(tl-infer-layouts,cse)"));
  expectOnly("pipeline", key("gpu.module(cse,tl-infer-layouts)"),
             key("gpu.module(cse),gpu.module(tl-infer-layouts)"));
}

TEST_F(ComponentsTest, OptionsOfPasses) {
  expectOnly("pass canonicalize",
             key("gpu.module(canonicalize{top-down=true})"),
             key("gpu.module(canonicalize{top-down=false})"));
  expectOnly("pass canonicalize 2",
             key("gpu.module(canonicalize,cse,canonicalize{top-down=true})"),
             key("gpu.module(canonicalize,cse,canonicalize{top-down=false})"));
  expectOnly("pass canonicalize",
             key("gpu.module(gpu.func(canonicalize{top-down=true}))"),
             key("gpu.module(gpu.func(canonicalize{top-down=false}))"));
}

/// Another version, and another file of the same version.
TEST_F(ComponentsTest, Tools) {
  FakeToolkit &toolkit = FakeToolkit::get();
  for (auto [tool, pass] :
       {std::pair("ptxas", "tl-assemble{assembler=ptxas}"),
        std::pair("nvjitlink", "tl-assemble{assembler=nvjitlink}"),
        std::pair("cuda", "tl-assemble{assembler=driver}"),
        std::pair("nvrtc", "tl-compile-cuda{compiler=nvrtc}"),
        std::pair("nvcc", "tl-compile-cuda{compiler=nvcc}")}) {
    std::string pipeline = ("gpu.module(" + StringRef(pass) + ")").str();
    std::string component = ("tool " + StringRef(tool)).str();
    cache::Key before = key(pipeline);
    toolkit.replace(tool, "13.0.88", "other bytes");
    cache::Key changed = key(pipeline);
    expectOnly(component, before, changed);
    if (!toolkit.isProgram(tool))
      continue;
    toolkit.replace(tool, "13.1.42", "other bytes");
    expectOnly(component, changed, key(pipeline));
  }
}

/// The compiler of CUDA C++ is none of a kernel's that calls no function in it.
TEST_F(ComponentsTest, ToolsOfCalls) {
  StringRef pipeline = "gpu.module(tl-compile-cuda{only-calls})";
  cache::Key before = key(pipeline);
  FakeToolkit::get().replace("nvrtc", "13.0.88", "bytes of another");
  EXPECT_EQ(before.hex(), key(pipeline).hex());
}

/// Whether what is made comes to run on the host is a fact of the kernel; that
/// it is in the key as well keeps forgers from choosing.
TEST_F(ComponentsTest, HostCode) {
  std::vector<Stage> stages = getPlainStages();
  OwningOpRef<ModuleOp> module = makeKernel();
  CanonicalKernel kernel = canonicalize(getKernel(*module), false);
  EXPECT_FALSE(kernel.leadsToHostCode);
  cache::Key before = makeKey(kernel, stages);
  kernel.leadsToHostCode = true;
  expectOnly("host_code", before, makeKey(kernel, stages));
}

/// What the host does with an entry decides whose entries it takes.
TEST_F(ComponentsTest, Use) {
  cache::Key read = key();
  std::vector<cache::KeyComponent> parts = read.components().vec();
  auto use = llvm::find_if(parts, [](const cache::KeyComponent &part) {
    return part.name == "use";
  });
  ASSERT_NE(use, parts.end());
  cache::Use other = read.use() == cache::Use::Compile ? cache::Use::ParseAsIR
                                                       : cache::Use::Compile;
  use->digest = cache::Digest::of(cache::nameOf(other));
  cache::Key changed(parts);
  EXPECT_EQ(changed.use(), other);
  expectOnly("use", read, changed);
}

/// test/Pipeline/another-compiler.test runs two compilers.
TEST_F(ComponentsTest, Compiler) {
  cache::Key mine = key();
  std::vector<cache::KeyComponent> parts = mine.components().vec();
  auto compiler = llvm::find_if(parts, [](const cache::KeyComponent &part) {
    return part.name == "compiler";
  });
  ASSERT_NE(compiler, parts.end());
  EXPECT_EQ(compiler->digest, cache::Digest::of(getBuildId()));
  compiler->digest = cache::Digest::of("another build");
  expectOnly("compiler", mine, cache::Key(parts));
}
