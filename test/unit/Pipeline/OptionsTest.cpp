//===- OptionsTest.cpp - Every option of every pass is in the key ---------===//
//
// The registry knows all passes and pipelines with their options. Each option
// is given other values: keys must differ. A new option takes part by being
// registered, and fails the test until it is told values to try, if it takes
// any text.
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "TestSupport.h"

#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"

#include <set>

using namespace mlir;
using namespace tl;
using namespace tl::test;
using Values = std::vector<std::string>;

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

namespace {
struct OptionInfo {
  std::string name;
  /// As help says it, such as `string`; empty for one that is on or off.
  std::string type;
  /// Of one with a fixed set of values.
  Values choices;
};

struct PassText {
  std::string name;
  std::vector<OptionInfo> options;
};

struct RegistryText {
  std::vector<PassText> passes, pipelines;
};
} // namespace

/// What `tl-opt --help` prints, of its options those of passes. There is no
/// other way to list the registry.
static std::string printRegistry() {
  getRegistry();
  PassPipelineCLParser parser("", "passes");
  const char *arguments[] = {"tl-opt"};
  llvm::cl::ParseCommandLineOptions(1, arguments);
  llvm::outs().flush();
  testing::internal::CaptureStdout();
  llvm::cl::PrintHelpMessage();
  llvm::outs().flush();
  return testing::internal::GetCapturedStdout();
}

static const std::string &getHelp() {
  static const std::string text = printRegistry();
  return text;
}

/// Reads lines such as these, between those of other options:
///
///     Passes:
///       --tl-assemble              -   Assemble the PTX
///         --assembler=<value>      - what turns PTX into a cubin
///     =auto                        -   the first that is there
///     Pass Pipelines:
///       ...
static RegistryText readRegistry() {
  RegistryText registry;
  std::vector<PassText> *section = nullptr;
  size_t outer = 0;
  for (StringRef line : llvm::split(getHelp(), '\n')) {
    size_t indent = line.find_first_not_of(' ');
    StringRef word = line.trim().split(' ').first;
    if (line.trim() == "Passes:" || line.trim() == "Pass Pipelines:") {
      section = word == "Passes:" ? &registry.passes : &registry.pipelines;
      outer = indent;
    } else if (section && word.consume_front("=")) {
      section->back().options.back().choices.push_back(word.str());
    } else if (section && word.consume_front("--")) {
      auto [name, type] = word.split('=');
      type.consume_front("<");
      type.consume_back(">");
      if (indent <= outer)
        section = nullptr;
      else if (indent == outer + 2)
        section->push_back({name.str(), {}});
      else
        section->back().options.push_back({name.str(), type.str(), {}});
    }
  }
  return registry;
}

static const RegistryText &getRegistryText() {
  static const RegistryText registry = readRegistry();
  return registry;
}

/// Values that differ from each other, and do not stand for each other; empty
/// if it is not known what the option takes.
static Values getValues(const OptionInfo &option) {
  if (!option.choices.empty())
    return option.choices;
  return llvm::StringSwitch<Values>(option.type)
      .Case("", {"false", "true"})
      .Cases({"int", "long", "uint", "ulong"}, {"77", "78"})
      .Case("pass-manager", {"gpu.func(cse)", "gpu.func(canonicalize)"})
      .Case("string", {"one", "two"})
      .Default({});
}

/// The text of the pass with this option, in braces as other passes' texts need
/// them.
static std::string withOption(StringRef pass, const OptionInfo &option,
                              StringRef value) {
  return (pass + "{" + option.name + "=" + value + "}").str();
}

static bool isOnKernels(StringRef pass) {
  std::string ignored;
  return succeeded(Stage::parse(("gpu.module(" + pass + ")").str(), ignored));
}

TEST(OptionsTest, TheRegistryIsRead) {
  const RegistryText &registry = getRegistryText();
  std::map<std::string, std::vector<std::string>> known;
  for (const auto &list : {registry.passes, registry.pipelines})
    for (const PassText &pass : list)
      for (const OptionInfo &option : pass.options)
        known[pass.name].push_back(option.name);
  EXPECT_GT(registry.passes.size(), 25u);
  EXPECT_EQ(known["tl-assemble"], Values({"assembler"}));
  EXPECT_EQ(known["tl-attach-target"],
            Values({"chip", "fast-math", "line-info"}));
  EXPECT_TRUE(llvm::is_contained(known["tl-compile"], "assembler"));
}

//===----------------------------------------------------------------------===//
// Passes on kernels
//===----------------------------------------------------------------------===//

TEST(OptionsTest, OfPassesOnKernels) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module =
      parseKernels(context, generateKernels(/*seed=*/1, /*count=*/1));
  auto kernel = *module->getOps<gpu::GPUModuleOp>().begin();
  unsigned numOptions = 0;
  for (const PassText &pass : getRegistryText().passes) {
    if (!isOnKernels(pass.name))
      continue;
    for (const OptionInfo &option : pass.options) {
      Values values = getValues(option);
      std::set<std::string> keys;
      for (StringRef value : values) {
        std::string stages =
            "gpu.module(" + withOption(pass.name, option, value) + ")";
        keys.insert(keyOf(kernel, parseStages(stages)).hex());
      }
      EXPECT_FALSE(values.empty())
          << "say which values to try for an option of type " << option.type;
      EXPECT_EQ(keys.size(), values.size())
          << "`" << option.name << "` of `" << pass.name
          << "` does not change the key";
      ++numOptions;
    }
  }
  EXPECT_GT(numOptions, 15u);
}

/// Which passes run, how often, and in which order.
TEST(OptionsTest, OfPassesAndTheirOrder) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module =
      parseKernels(context, generateKernels(/*seed=*/1, /*count=*/1));
  auto kernel = *module->getOps<gpu::GPUModuleOp>().begin();
  Values pipelines = {"gpu.module(cse,canonicalize)",
                      "gpu.module(canonicalize,cse)",
                      "gpu.module(cse),gpu.module(canonicalize)",
                      "gpu.module(cse,cse)",
                      "gpu.module(gpu.func(cse))",
                      "gpu.module(cse,gpu.func(cse))",
                      "gpu.module(canonicalize{top-down=true},"
                      "canonicalize{top-down=false})",
                      "gpu.module(canonicalize{top-down=false},"
                      "canonicalize{top-down=true})"};
  for (const PassText &pass : getRegistryText().passes)
    if (isOnKernels(pass.name))
      pipelines.push_back("gpu.module(" + pass.name + ")");
  std::map<std::string, std::string> byKey;
  for (const std::string &pipeline : pipelines) {
    std::string &known = byKey[keyOf(kernel, parseStages(pipeline)).hex()];
    EXPECT_EQ(known, "") << "has the key of " << pipeline;
    known = pipeline;
  }
}

//===----------------------------------------------------------------------===//
// Passes on modules
//===----------------------------------------------------------------------===//

/// Options that say where artifacts are kept, which kernels are meant, or that
/// nothing may be made; or that change large kernels only, which is seen in
/// them.
static bool isAboutNoArtifact(StringRef pass, StringRef option) {
  static const std::set<std::pair<StringRef, StringRef>> known = {
      {"tl-add-checks", "shared-memory"}, {"tl-cached", "dir"},
      {"tl-cached", "of-sources"},        {"tl-cached", "require-cached"},
      {"tl-compile", "cache-dir"},        {"tl-compile", "require-cached"}};
  return known.count({pass, option});
}

/// They run before `tl-cached` and change what that sees.
TEST(OptionsTest, OfPassesOnModules) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  std::string text = generateKernels(/*seed=*/1, /*count=*/2);
  for (const PassText &pass : getRegistryText().passes) {
    if (isOnKernels(pass.name) || pass.name == "tl-cached" ||
        pass.name == "tl-simulate-launches") // which makes nothing
      continue;
    for (const OptionInfo &option : pass.options) {
      if (isAboutNoArtifact(pass.name, option.name))
        continue;
      std::set<Keys> keys;
      Values values = getValues(option);
      if (pass.name == "tl-attach-target" && option.name == "chip")
        values = {"sm_80", "sm_90", "sm_90a", "cpu"};
      for (StringRef value : values) {
        OwningOpRef<ModuleOp> module = parse(context, text);
        ASSERT_TRUE(
            run("tl-outline-kernels," + withOption(pass.name, option, value),
                *module));
        keys.insert(keysOf(*module));
      }
      EXPECT_FALSE(values.empty());
      EXPECT_EQ(keys.size(), values.size())
          << "`" << option.name << "` of `" << pass.name << "` changes no key";
    }
  }
}

/// `tl-cached` has one option that is about artifacts, and that is the key's.
TEST(OptionsTest, OfTheCachingPass) {
  const auto &passes = getRegistryText().passes;
  auto cached = llvm::find_if(
      passes, [](const PassText &pass) { return pass.name == "tl-cached"; });
  ASSERT_NE(cached, passes.end());
  for (const OptionInfo &option : cached->options)
    EXPECT_TRUE(option.name == "pipeline" ||
                isAboutNoArtifact(cached->name, option.name))
        << "say what `" << option.name << "` does to keys";
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kSourceKernel = R"(
func.func @scale(%a: memref<4xf32>) attributes {tl.entry} {
  %one = arith.constant 1 : index
  tl.source_kernel sources([#tl.cuda_source<"__global__ void triple(float *a) { a[threadIdx.x] *= 3.f; }">])
    entry("triple") blocks(%one) threads(4) args(%a : memref<4xf32>)
  return
}
)";

/// The option `pipeline`: what stands behind it up to the next option, which
/// is not inside of brackets.
static StringRef getNestedPipeline(StringRef cached) {
  StringRef nested = cached.split("pipeline=").second;
  int depth = 0;
  nested = nested.take_until([&](char c) {
    depth += StringRef("({").contains(c) - StringRef(")}").contains(c);
    return depth < 0 || (depth == 0 && c == ' ');
  });
  if (nested.consume_front("{"))
    nested.consume_back("}");
  return nested;
}

/// The keys that kernels have in `tl-compile` with these options. All passes
/// before `tl-cached` run; nothing is compiled.
static Keys keysOfCompile(MLIRContext &context, StringRef options,
                          StringRef sourceKernel = kSourceKernel) {
  OwningOpRef<ModuleOp> module = parse(
      context, generateKernels(/*seed=*/1, /*count=*/2) + sourceKernel.str());
  PassManager manager(&context);
  std::string pipeline =
      ("tl-compile{cache-dir=never-opened " + options + "}").str();
  EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, manager))) << pipeline;
  Keys keys;
  for (Pass &pass : manager.getPasses()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    pass.printAsTextualPipeline(os);
    if (pass.getArgument() == "tl-split-host-device")
      break;
    if (pass.getArgument() != "tl-cached") {
      EXPECT_TRUE(run(text, *module)) << text;
      continue;
    }
    bool ofSources = StringRef(text).contains("of-sources=true");
    std::vector<Stage> stages = parseStages(getNestedPipeline(text));
    for (auto kernel : module->getOps<gpu::GPUModuleOp>())
      if (ofSources != kernel.getOps<CudaUnitOp>().empty())
        keys[kernel.getName().str()] = keyOf(kernel, stages).hex();
  }
  EXPECT_FALSE(keys.empty());
  return keys;
}

/// Values to try for options of `tl-compile` that take some texts alone.
static Values getCompileValues(const OptionInfo &option) {
  if (option.name == "chip")
    return {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"};
  if (option.name == "post-process" || option.name == "keep-dir")
    return {"one", "two"};
  // `auto` is one of the others.
  Values values = option.type == "string" ? Values() : getValues(option);
  llvm::erase(values, "auto");
  return values;
}

TEST(OptionsTest, OfThePipeline) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  const auto &pipelines = getRegistryText().pipelines;
  ASSERT_EQ(pipelines.size(), 1u) << "say how to key the others";
  for (const OptionInfo &option : pipelines.front().options) {
    if (isAboutNoArtifact("tl-compile", option.name) ||
        option.name == "backend")
      continue;
    Values values = getCompileValues(option);
    std::set<Keys> keys;
    for (StringRef value : values)
      keys.insert(keysOfCompile(context, (option.name + "=" + value).str()));
    EXPECT_FALSE(values.empty())
        << "say which values to try for `" << option.name << "`";
    EXPECT_EQ(keys.size(), values.size())
        << "`" << option.name << "` of `tl-compile` does not change all keys";
  }
}

/// The backends that the description of the option names, such as `nvptx`.
static Values getBackends() {
  StringRef line =
      StringRef(getHelp()).split("--backend=").second.split('\n').first;
  Values names;
  while (line.contains('`')) {
    auto [name, rest] = line.split('`').second.split('`');
    if (name != "auto")
      names.push_back(name.str());
    line = rest;
  }
  return names;
}

/// Whether `tl-compile` takes these options; it says why not.
static bool isPipeline(MLIRContext &context, const std::string &options) {
  PassManager manager(&context);
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  return succeeded(
      parsePassPipeline("tl-compile{" + options + "}", manager, os));
}

/// What one backend makes for one chip is never what another makes, or makes
/// for another.
TEST(OptionsTest, OfBackends) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  std::map<Keys, std::string> keys;
  std::set<std::string> used;
  for (StringRef backend : getBackends())
    for (StringRef chip : {"cpu", "sm_80", "sm_90a"}) {
      std::string options = ("chip=" + chip + " backend=" + backend).str();
      if (!isPipeline(context, options))
        continue;
      Keys given = keysOfCompile(context, options, /*sourceKernel=*/"");
      auto [known, isNew] = keys.try_emplace(given, options);
      EXPECT_TRUE(isNew) << options << " has the keys of " << known->second;
      used.insert(backend.str());
    }
  EXPECT_TRUE(used.count("cpu"));
  EXPECT_TRUE(used.count("nvptx"));
  EXPECT_EQ(used.size(), getBackends().size()) << "every backend has a chip";
}
