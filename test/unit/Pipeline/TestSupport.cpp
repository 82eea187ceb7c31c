//===- TestSupport.cpp - Keys of kernels given as text --------------------===//

#include "TestSupport.h"

#include "InitAll.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace tl;
using namespace tl::test;

const DialectRegistry &test::getRegistry() {
  static const DialectRegistry *registry = [] {
    registerPasses();
    auto *made = new DialectRegistry;
    registerDialects(*made);
    return made;
  }();
  return *registry;
}

bool test::run(StringRef pipeline, ModuleOp module) {
  PassManager manager(module.getContext());
  return succeeded(parsePassPipeline(pipeline, manager)) &&
         succeeded(manager.run(module));
}

OwningOpRef<ModuleOp> test::parse(MLIRContext &context, StringRef text,
                                  StringRef file) {
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context), file);
  EXPECT_TRUE(module) << text.str();
  // Tests go on with something.
  return module ? std::move(module)
                : ModuleOp::create(UnknownLoc::get(&context));
}

void test::outline(ModuleOp module, StringRef target) {
  ASSERT_TRUE(run(
      ("tl-outline-kernels,tl-attach-target{" + target + "},canonicalize,cse")
          .str(),
      module));
}

OwningOpRef<ModuleOp> test::parseKernels(MLIRContext &context, StringRef text,
                                         StringRef target, StringRef file) {
  OwningOpRef<ModuleOp> module = parse(context, text, file);
  outline(*module, target);
  return module;
}

std::string test::print(gpu::GPUModuleOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}

std::vector<Stage> test::parseStages(StringRef pipeline) {
  std::string error;
  FailureOr<std::vector<Stage>> stages = Stage::parse(pipeline, error);
  EXPECT_TRUE(succeeded(stages)) << pipeline.str() << ": " << error;
  return succeeded(stages) ? std::move(*stages) : std::vector<Stage>();
}

std::vector<Stage> test::getPlainStages() {
  getRegistry();
  return parseStages("gpu.module(tl-infer-layouts)");
}

bool test::anyPrintsNames(ArrayRef<Stage> stages) {
  return llvm::any_of(stages,
                      [](const Stage &stage) { return stage.printsNames(); });
}

cache::Key test::keyOf(gpu::GPUModuleOp kernel, ArrayRef<Stage> stages) {
  return makeKey(canonicalize(kernel, anyPrintsNames(stages)), stages);
}

Keys test::keysOf(ModuleOp module, ArrayRef<Stage> stages) {
  Keys keys;
  for (auto kernel : module.getOps<gpu::GPUModuleOp>())
    keys[kernel.getName().str()] = keyOf(kernel, stages).hex();
  return keys;
}

Keys test::keysOf(ModuleOp module) { return keysOf(module, getPlainStages()); }
