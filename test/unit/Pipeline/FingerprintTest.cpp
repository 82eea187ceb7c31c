//===- FingerprintTest.cpp - What does not change a key -------------------===//
//
// Properties over generated modules. MutationTest.cpp has what does change it.
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "TestSupport.h"

#include "tl/Target/KeyedPass.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <random>
#include <unistd.h>

using namespace mlir;
using namespace tl;
using namespace tl::test;

namespace {

constexpr unsigned kNumSeeds = 12;
constexpr unsigned kNumKernels = 6;

/// One case for each generated module.
class FingerprintTest : public testing::TestWithParam<unsigned> {
protected:
  std::string generate(const Style &style = {}) {
    return generateKernels(GetParam(), kNumKernels, style);
  }

  /// The keys of the module as it is generated.
  Keys getKeys() {
    Keys keys = keysOf(*parseKernels(context, generate()));
    EXPECT_EQ(keys.size(), kNumKernels);
    return keys;
  }

  MLIRContext context{getRegistry(), MLIRContext::Threading::DISABLED};
};

std::string print(ModuleOp module, const OpPrintingFlags &flags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, flags);
  return text;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Seeds, FingerprintTest, testing::Range(0u, kNumSeeds));

/// All tests below compare keys: there must be as many as there are kernels.
TEST_P(FingerprintTest, KernelsHaveKeysOfTheirOwn) {
  std::set<std::string> different;
  for (const auto &[name, key] : getKeys())
    different.insert(key);
  EXPECT_EQ(different.size(), kNumKernels);
}

TEST_P(FingerprintTest, NamesOfValuesDoNotMatter) {
  EXPECT_EQ(keysOf(*parseKernels(context, generate({.prefix = "other_"}))),
            getKeys());
}

TEST_P(FingerprintTest, CommentsDoNotMatter) {
  EXPECT_EQ(keysOf(*parseKernels(context, generate({.hasComments = true}))),
            getKeys());
}

TEST_P(FingerprintTest, OrderOfFunctionsDoesNotMatter) {
  EXPECT_EQ(keysOf(*parseKernels(context, generate({.isReversed = true}))),
            getKeys());
}

TEST_P(FingerprintTest, OtherSymbolsDoNotMatter) {
  for (StringRef name : {"helper", "kernel", "another_helper"})
    EXPECT_EQ(keysOf(*parseKernels(context, generate({.unrelated = name}))),
              getKeys());
}

/// In a module with other kernels, and alone.
TEST_P(FingerprintTest, OtherKernelsDoNotMatter) {
  OwningOpRef<ModuleOp> module = parseKernels(context, generate());
  Keys keys = getKeys();
  SmallVector<gpu::GPUModuleOp> kernels(module->getOps<gpu::GPUModuleOp>());
  for (gpu::GPUModuleOp kernel : kernels) {
    OwningOpRef<ModuleOp> alone = ModuleOp::create(kernel.getLoc());
    kernel->moveBefore(alone->getBody(), alone->getBody()->end());
    EXPECT_EQ(keysOf(*alone).begin()->second, keys[kernel.getName().str()]);
  }
}

TEST_P(FingerprintTest, FilesDoNotMatter) {
  EXPECT_EQ(keysOf(*parseKernels(context, generate(), "chip=sm_90a",
                                 "/home/someone/project/kernels.mlir")),
            getKeys());
}

TEST_P(FingerprintTest, LocationsDoNotMatter) {
  OwningOpRef<ModuleOp> module = parse(context, generate());
  std::mt19937_64 random(GetParam());
  module->walk([&](Operation *op) {
    Location line = FileLineColLoc::get(&context, "some.py", random() % 99, 7);
    Location choices[] = {UnknownLoc::get(&context), line,
                          NameLoc::get(StringAttr::get(&context, "name"), line),
                          CallSiteLoc::get(line, op->getLoc()),
                          FusedLoc::get(&context, {line, op->getLoc()})};
    op->setLoc(choices[random() % std::size(choices)]);
  });
  outline(*module);
  EXPECT_EQ(keysOf(*module), getKeys());
}

/// As users write it, and as `tl-cached` sees it; with and without locations.
TEST_P(FingerprintTest, PrintingAndParsingDoesNotMatter) {
  Keys keys = getKeys();
  OpPrintingFlags generic, located;
  generic.printGenericOpForm();
  located.enableDebugInfo();
  for (const OpPrintingFlags &flags : {OpPrintingFlags(), generic, located}) {
    OwningOpRef<ModuleOp> source = parse(context, generate());
    EXPECT_EQ(keysOf(*parseKernels(context, print(*source, flags))), keys);
    outline(*source);
    EXPECT_EQ(keysOf(*parse(context, print(*source, flags))), keys);
  }
}

TEST_P(FingerprintTest, BytecodeDoesNotMatter) {
  OwningOpRef<ModuleOp> module = parseKernels(context, generate());
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  ASSERT_TRUE(succeeded(writeBytecodeToFile(*module, os)));
  EXPECT_EQ(keysOf(*parse(context, bytes)), getKeys());
}

/// What is compiled is parsed from the bytes that are keyed; it has the same
/// key.
TEST_P(FingerprintTest, CanonicalKernelsAreReadBack) {
  OwningOpRef<ModuleOp> module = parseKernels(context, generate());
  std::vector<Stage> stages = getPlainStages();
  for (auto kernel : module->getOps<gpu::GPUModuleOp>()) {
    OwningOpRef<ModuleOp> read =
        tl::parse(canonicalize(kernel, /*keepNames=*/false), context);
    ASSERT_TRUE(read);
    auto again = cast<gpu::GPUModuleOp>(read->getBody()->front());
    EXPECT_EQ(tl::test::print(again), tl::test::print(kernel));
    EXPECT_EQ(keyOf(again, stages).hex(), keyOf(kernel, stages).hex());
  }
}

//===----------------------------------------------------------------------===//
// What happened before
//===----------------------------------------------------------------------===//

TEST_P(FingerprintTest, HistoryDoesNotMatter) {
  Keys keys = getKeys();
  MLIRContext used(getRegistry());
  for (unsigned other = 0; other < kNumSeeds; ++other)
    keysOf(*parseKernels(used, generateKernels(100 + other, 3)));
  EXPECT_EQ(keysOf(*parseKernels(used, generate())), keys);
}

/// Uses that were moved around are the same uses.
TEST_P(FingerprintTest, OrderOfUsesDoesNotMatter) {
  OwningOpRef<ModuleOp> module = parseKernels(context, generate());
  module->walk([&](Operation *op) {
    for (Value value : op->getResults()) {
      SmallVector<unsigned> order =
          llvm::to_vector(llvm::seq<unsigned>(0, value.getNumUses()));
      std::reverse(order.begin(), order.end());
      if (order.size() > 1)
        value.shuffleUseList(order);
    }
  });
  EXPECT_EQ(keysOf(*module), getKeys());
}

TEST_P(FingerprintTest, ThreadsDoNotMatter) {
  MLIRContext threaded(getRegistry(), MLIRContext::Threading::ENABLED);
  EXPECT_EQ(keysOf(*parseKernels(threaded, generate())), getKeys());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kBranches = R"(
gpu.module @m {
  gpu.func @m(%p: !llvm.ptr<1>, %c: i1) kernel {
    cf.cond_br %c, ^FIRST(%c : i1), ^SECOND
  ^FIRST(%x: i1):
    llvm.store %x, %p : i1, !llvm.ptr<1>
    cf.br ^SECOND
  ^SECOND:
    gpu.return
  }
}
)";

static std::string replaceAll(StringRef text, StringRef from, StringRef to) {
  return llvm::join(llvm::split(text, from), to);
}

TEST(BlockTest, NamesDoNotMatter) {
  MLIRContext context(getRegistry());
  std::string renamed =
      replaceAll(replaceAll(kBranches, "FIRST", "then"), "SECOND", "after");
  EXPECT_EQ(keysOf(*parse(context, kBranches)),
            keysOf(*parse(context, renamed)));
}

TEST(BlockTest, TargetsOfBranchesMatter) {
  MLIRContext context(getRegistry());
  StringRef skipping = "cf.cond_br %c, ^SECOND, ^FIRST(%c : i1)";
  std::string other = replaceAll(
      kBranches, "cf.cond_br %c, ^FIRST(%c : i1), ^SECOND", skipping);
  EXPECT_NE(keysOf(*parse(context, kBranches)), keysOf(*parse(context, other)));
}

//===----------------------------------------------------------------------===//
// Names and lines
//===----------------------------------------------------------------------===//

namespace {
struct PrintNamesPass
    : PassWrapper<PrintNamesPass, OperationPass<gpu::GPUModuleOp>>,
      KeyedPass {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintNamesPass)
  StringRef getArgument() const override { return "test-print-names"; }
  bool printsNames() const override { return true; }
  void runOnOperation() override {}
};

PassRegistration<PrintNamesPass> registration;

/// A kernel in a file, with a name for a value, `down` lines further down.
class LineTest : public testing::Test {
protected:
  Keys keysIn(StringRef file, unsigned down, StringRef name, StringRef pipeline,
              StringRef target = "chip=sm_80") {
    std::string text = std::string(down, '\n');
    text += "func.func @f(%A: memref<64xf32>, %n: index) attributes "
            "{tl.entry} {\n"
            "  tl.kernel blocks(%b) in (%n) threads(32) {\n"
            "    tl.parallel (%i) in (64) {\n"
            "      %x = tl.load %A[%i] : memref<64xf32>\n"
            "      %y = arith.mulf %x, %x : f32\n"
            "      tl.store %y, %A[%i] : memref<64xf32>\n"
            "    }\n  }\n  return\n}\n";
    OwningOpRef<ModuleOp> module = parse(context, text, file);
    module->walk([&](Operation *op) {
      op->setLoc(NameLoc::get(StringAttr::get(&context, name), op->getLoc()));
    });
    outline(*module, target);
    return keysOf(*module, parseStages(pipeline));
  }

  MLIRContext context{getRegistry()};
  static constexpr StringLiteral plain = "gpu.module(tl-infer-layouts)";
  static constexpr StringLiteral printing = "gpu.module(test-print-names)";
};
} // namespace

TEST_F(LineTest, NothingCountsByDefault) {
  Keys keys = keysIn("/home/ann/p/k.py", 0, "x", plain);
  EXPECT_EQ(keysIn("/srv/b/other.py", 0, "x", plain), keys);
  EXPECT_EQ(keysIn("/home/ann/p/k.py", 5, "x", plain), keys);
  EXPECT_EQ(keysIn("/home/ann/p/k.py", 0, "y", plain), keys);
}

/// With line information the artifact has lines, in files of the project
/// wherever that lies, and no names.
TEST_F(LineTest, LinesCountWithLineInformation) {
  StringRef target = "chip=sm_80 line-info";
  Keys keys = keysIn("/home/ann/p/k.py", 0, "x", plain, target);
  EXPECT_EQ(keysIn("/srv/b/k.py", 0, "x", plain, target), keys);
  EXPECT_EQ(keysIn("/home/ann/p/k.py", 0, "y", plain, target), keys);
  EXPECT_NE(keysIn("/home/ann/p/k.py", 5, "x", plain, target), keys);
  EXPECT_NE(keysIn("/home/ann/p/other.py", 0, "x", plain, target), keys);
}

/// A pass that says so gets to see names.
TEST_F(LineTest, NamesCountWhereTheyArePrinted) {
  Keys keys = keysIn("/home/ann/p/k.py", 0, "x", printing);
  EXPECT_NE(keysIn("/home/ann/p/k.py", 0, "y", printing), keys);
  EXPECT_EQ(keysIn("/srv/b/k.py", 5, "x", printing), keys);
}

/// Of several stages one that prints them is enough.
TEST_F(LineTest, NamesCountInLaterStages) {
  std::string both = (plain + "," + printing).str();
  EXPECT_NE(keysIn("k.py", 0, "x", both), keysIn("k.py", 0, "y", both));
}

//===----------------------------------------------------------------------===//
// Another process
//===----------------------------------------------------------------------===//

static constexpr const char *kKeysFile = "TL_TEST_KEYS_FILE";

static Keys getKeysOfManyModules() {
  MLIRContext context(getRegistry());
  Keys keys;
  for (unsigned seed = 0; seed < kNumSeeds; ++seed)
    keys.merge(keysOf(*parseKernels(context, generateKernels(seed, 3))));
  return keys;
}

/// Not a test but the other process of the next one.
TEST(ProcessTest, WritesKeys) {
  const char *file = std::getenv(kKeysFile);
  if (!file)
    GTEST_SKIP() << "the next test runs it";
  ASSERT_EQ(chdir("/"), 0);
  std::error_code error;
  llvm::raw_fd_ostream os(file, error);
  ASSERT_FALSE(error) << error.message();
  for (const auto &[name, key] : getKeysOfManyModules())
    os << name << ' ' << key << '\n';
}

/// With another user, home, working directory, language and layout of memory.
TEST(ProcessTest, DoesNotMatter) {
  SmallString<128> file;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("tl-keys", "txt", file));
  std::string name = kKeysFile;
  std::string variable = name + "=" + file.str().str();
  SmallVector<StringRef> environment = {variable, "HOME=/nowhere",
                                        "USER=someone", "LC_ALL=tr_TR.UTF-8",
                                        "TZ=Asia/Tokyo"};
  for (char **entry = environ; *entry; ++entry)
    environment.push_back(*entry);
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  std::string error;
  int status = llvm::sys::ExecuteAndWait(
      self, {self, "--gtest_filter=ProcessTest.WritesKeys"},
      ArrayRef<StringRef>(environment), {}, /*SecondsToWait=*/0,
      /*MemoryLimit=*/0, &error);
  ASSERT_EQ(status, 0) << error;

  Keys theirs;
  auto text = llvm::MemoryBuffer::getFile(file);
  ASSERT_TRUE(text);
  for (llvm::line_iterator line(**text); !line.is_at_end(); ++line) {
    auto [kernel, key] = line->split(' ');
    theirs[kernel.str()] = key.str();
  }
  llvm::sys::fs::remove(file);
  EXPECT_EQ(theirs.size(), kNumSeeds * 3);
  EXPECT_EQ(theirs, getKeysOfManyModules());
}
