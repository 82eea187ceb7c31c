//===- Cached.cpp - Run a pipeline, or take its result from the cache -----===//
//
// The pass over `StagedCompiler`: kernels are found or compiled in parallel;
// then, one after the other, it says again what was said of each and puts its
// result in its place.
//
//===----------------------------------------------------------------------===//

#include "StagedCompiler.h"
#include "StoredKernel.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/CacheCounters.h"
#include "tl/Pipeline/Miss.h"
#include "tl/Pipeline/Passes.h"
#include "tl/Pipeline/Pipelines.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tl-cached"

namespace tl {
#define GEN_PASS_DEF_CACHEDPASS
#include "tl/Pipeline/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static void remarkHit(Location location, const Twine &text) {
  auto options = remark::RemarkOpts::name("cache").category(DEBUG_TYPE);
  remark::passed(location, options) << text.str();
}

static void remarkMiss(Location location, const Twine &text) {
  auto options = remark::RemarkOpts::name("cache").category(DEBUG_TYPE);
  remark::missed(location, options) << text.str();
}

/// Says whether the kernel was there, and of a miss with several stages which
/// of those were.
static void remarkOn(gpu::GPUModuleOp kernel, const Compilation &compiled) {
  Location location = kernel.getLoc();
  std::string what = ("kernel `" + kernel.getName() + "`: ").str();
  if (!compiled.whyUncached.empty())
    return remarkMiss(location, what + "not cached: " + compiled.whyUncached);
  if (!compiled.entry->mayBeKept)
    return remarkMiss(location,
                      what + "not cached: no record can hold its names");
  if (compiled.origin != cache::Origin::Made)
    return remarkHit(location, what + "hit");
  remarkMiss(location, what + "miss");
  if (compiled.stages.size() == 1)
    return;
  for (const CompiledStage &stage : compiled.stages)
    if (stage.origin == cache::Origin::Made)
      remarkMiss(location, what + "stage `" + stage.name + "`: miss");
    else
      remarkHit(location, what + "stage `" + stage.name + "`: hit");
}

/// Sums up what was done, as far as others of the process did not do as well.
static void remarkOnCounts(Location location, const CacheCounters &before) {
  CacheCounters now = getCacheCounters();
  auto options = remark::RemarkOpts::name("counts").category(DEBUG_TYPE);
  remark::analysis(location, options)
      << llvm::formatv("hits {0}, misses {1}, bytes {2}, seconds saved {3:F2}",
                       now.hits - before.hits, now.misses - before.misses,
                       now.bytes - before.bytes,
                       now.secondsSaved - before.secondsSaved)
             .str();
}

/// Gives the messages of an error as errors.
static LogicalResult report(gpu::GPUModuleOp kernel, llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const PipelineError &failure) {
        for (const Message &message : failure.messages)
          message.emit(kernel);
      },
      [&](const NotCachedError &miss) {
        InFlightDiagnostic diag =
            kernel.emitError("kernel `")
            << kernel.getName()
            << "` is not in the cache, and nothing may be compiled";
        markNotCached(*diag.getUnderlyingDiagnostic());
        diag.attachNote() << miss.reason;
      },
      [&](const llvm::ErrorInfoBase &failure) {
        kernel.emitError(failure.message());
      });
  return failure();
}

/// Leaves on the kernel where it came from.
static void noteOrigin(gpu::GPUModuleOp kernel, const Compilation &compiled) {
  if (!compiled.whyUncached.empty())
    return;
  Builder builder(kernel.getContext());
  bool hit = compiled.origin != cache::Origin::Made;
  kernel->setAttr("tl.cache_key", builder.getStringAttr(compiled.key.hex()));
  kernel->setAttr("tl.cache_hit", builder.getBoolAttr(hit));
  if (compiled.entry->trust < cache::Trust::Signed)
    kernel->setAttr("tl.cache_unsigned", builder.getUnitAttr());
  const std::string &directory = compiled.entry->directory;
  if (!directory.empty())
    kernel->setAttr("tl.cache_path", builder.getStringAttr(directory));
}

/// Repeats what was said of the kernel and puts its result in its place.
static LogicalResult finish(gpu::GPUModuleOp kernel, Product product,
                            llvm::Expected<Compilation> compiled) {
  if (!compiled)
    return report(kernel, compiled.takeError());
  const cache::Entry &entry = *compiled->entry;
  for (const Message &message : getMessages(entry.metadata()))
    message.emit(kernel);
  remarkOn(kernel, *compiled);
  if (failed(install(entry, product, kernel)))
    return kernel.emitError("the cache's entry ")
           << compiled->key.hex() << " is not one of this compiler; remove it "
           << "with `tl-cache`";
  noteOrigin(kernel, *compiled);
  return success();
}

namespace {
struct CachedPass : tl::impl::CachedPassBase<CachedPass> {
  using CachedPassBase::CachedPassBase;

  /// A hit makes these; a miss makes them from what the store returns.
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<TLDialect>();
  }

  LogicalResult initialize(MLIRContext *context) override {
    std::string why;
    FailureOr<std::vector<Stage>> parsed = Stage::parse(pipeline, why);
    if (failed(parsed))
      return emitError(UnknownLoc::get(context))
             << "`tl-cached` expects a pipeline `gpu.module(…)` or a list of "
                "them, got `"
             << pipeline << "`" << (why.empty() ? "" : ": ") << why;
    stages = std::move(*parsed);
    return success();
  }

  void runOnOperation() override {
    SmallVector<gpu::GPUModuleOp> kernels;
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
      if (isOurs(module))
        kernels.push_back(module);
    if (kernels.empty())
      return;
    Launches launches = collectLaunches(getOperation());
    StagedCompiler compiler(getCache(dir), stages,
                            getContext().getDialectRegistry(), &launches);
    CacheCounters before = getCacheCounters();

    // Lookups and compilations run in parallel; the IR changes afterwards.
    std::vector<std::optional<llvm::Expected<Compilation>>> results(
        kernels.size());
    parallelFor(&getContext(), 0, kernels.size(), [&](size_t i) {
      results[i].emplace(requireCached ? compiler.find(kernels[i])
                                       : compiler.compile(kernels[i]));
    });
    for (auto [kernel, result] : llvm::zip(kernels, results))
      if (failed(finish(kernel, getProduct(stages), std::move(*result))))
        signalPassFailure();
    remarkOnCounts(getOperation().getLoc(), before);
  }

private:
  bool isOurs(gpu::GPUModuleOp module) {
    return module.getOps<CudaUnitOp>().empty() != ofSources;
  }

  std::vector<Stage> stages;
};
} // namespace
