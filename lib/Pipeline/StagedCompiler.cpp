//===- StagedCompiler.cpp - Compile a kernel, or find the result ----------===//
//
// Everything passes from stage to stage as an entry of the cache, found or just
// made: the next stage begins with the same bytes either way. Messages are kept
// with the numbers of the stage's ops and renumbered to the kernel's ops.
//
//===----------------------------------------------------------------------===//

#include "StagedCompiler.h"

#include "StoredKernel.h"
#include "tl/Cache/Budget.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/CacheCounters.h"
#include "tl/Pipeline/Miss.h"
#include "tl/Pipeline/Pipelines.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <chrono>

using namespace mlir;
using namespace tl;
using Clock = std::chrono::steady_clock;

char PipelineError::ID = 0;

void PipelineError::log(llvm::raw_ostream &os) const {
  os << "the kernel could not be compiled";
  for (const Message &message : messages)
    if (message.severity == DiagnosticSeverity::Error)
      os << ": " << message.text;
}

char NotCachedError::ID = 0;

void NotCachedError::log(llvm::raw_ostream &os) const {
  os << "the kernel is not in the cache: " << reason;
}

static double getSecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static gpu::GPUModuleOp getKernel(ModuleOp holder) {
  return cast<gpu::GPUModuleOp>(holder.getBody()->front());
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

/// Runs a stage on the keyed bytes, in a context of its own.
static llvm::Expected<cache::Entry> run(const CanonicalKernel &kernel,
                                        const Stage &stage,
                                        const DialectRegistry &registry) {
  Clock::time_point start = Clock::now();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  enableRemarks(context);
  context.printOpOnDiagnostic(false);
  OpNumbers numbers;
  std::vector<Message> messages;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    messages.push_back(Message::from(diagnostic, numbers));
    return success();
  });

  OwningOpRef<ModuleOp> holder = parse(kernel, context);
  if (!holder)
    return llvm::make_error<PipelineError>(std::move(messages));
  numbers = OpNumbers(getKernel(*holder));
  PassManager manager(&context);
  if (failed(parsePassPipeline(stage.getText(), manager)) ||
      failed(manager.run(*holder)))
    return llvm::make_error<PipelineError>(std::move(messages));
  return store(getKernel(*holder), messages, getSecondsSince(start),
               getProduct(stage));
}

//===----------------------------------------------------------------------===//
// All stages
//===----------------------------------------------------------------------===//

namespace {

/// The ops of the kernel that the ops of a stage's input came from.
class Origins {
public:
  using Numbers = SmallVector<std::optional<unsigned>>;

  /// For the first stage: ops are their own origins.
  explicit Origins(gpu::GPUModuleOp input) : numbers(input) {
    unsigned next = 0;
    input->walk([&](Operation *) { origins.push_back(next++); });
  }

  ArrayRef<std::optional<unsigned>> get() const { return origins; }

  /// The origins of the ops of the stage's result.
  Numbers trace(gpu::GPUModuleOp result) const {
    Numbers traced;
    result->walk<WalkOrder::PreOrder>([&](Operation *op) {
      std::optional<unsigned> number = numbers.find(op->getLoc());
      traced.push_back(number ? origins[*number] : std::nullopt);
    });
    return traced;
  }

  /// Goes on to the next stage, which takes `input`.
  void advance(Numbers traced, gpu::GPUModuleOp input) {
    origins = std::move(traced);
    numbers = OpNumbers(input);
  }

private:
  OpNumbers numbers;
  Numbers origins;
};

} // namespace

/// Says where the ops of a result come from in the terms of the kernel.
static void setOrigins(gpu::GPUModuleOp result,
                       ArrayRef<std::optional<unsigned>> origins) {
  size_t next = 0;
  result->walk<WalkOrder::PreOrder>([&](Operation *op) {
    std::optional<unsigned> origin = origins[next++];
    if (origin && getNumber(op->getLoc()))
      op->setLoc(makeNumbered(op->getContext(), *origin));
  });
}

static bool anyPrintsNames(ArrayRef<Stage> stages) {
  return llvm::any_of(stages,
                      [](const Stage &stage) { return stage.printsNames(); });
}

/// What a stage said, as said of the kernel, after what was said before.
static llvm::Error explainFailure(llvm::Error error,
                                  std::vector<Message> messages,
                                  const Origins &origins) {
  return llvm::handleErrors(
      std::move(error), [&](const PipelineError &failure) {
        for (Message message : failure.messages) {
          message.renumber(origins.get());
          messages.push_back(std::move(message));
        }
        return llvm::make_error<PipelineError>(std::move(messages));
      });
}

/// Goes through all stages, each made by `make`, and joins their messages and
/// times in the entry of the whole.
llvm::Expected<cache::Entry> StagedCompiler::runStages(CanonicalKernel input,
                                                       MakeStage make) const {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> holder = parse(input, context);
  Origins origins(getKernel(*holder));
  std::vector<Message> messages;
  double seconds = 0;
  for (auto [index, stage] : llvm::enumerate(stages)) {
    llvm::Expected<cache::EntryPtr> entry = make(input, stage);
    if (!entry)
      return explainFailure(entry.takeError(), std::move(messages), origins);
    for (Message &message : getMessages((*entry)->metadata())) {
      message.renumber(origins.get());
      messages.push_back(std::move(message));
    }
    seconds += getSeconds(**entry);

    OwningOpRef<ModuleOp> made =
        load(**entry, getProduct(stage), getKernel(*holder));
    if (!made)
      return llvm::createStringError(
          "the cache's entry of stage `" + stage.getName() +
          "` is not one of this compiler; remove it with `tl-cache`");
    holder = std::move(made);
    Origins::Numbers traced = origins.trace(getKernel(*holder));
    ArrayRef<Stage> remaining = stages.drop_front(index + 1);
    if (remaining.empty()) {
      setOrigins(getKernel(*holder), traced);
      break;
    }
    input = canonicalize(getKernel(*holder), anyPrintsNames(remaining));
    holder = parse(input, context);
    origins.advance(std::move(traced), getKernel(*holder));
  }
  return store(getKernel(*holder), messages, seconds, getProduct(stages));
}

//===----------------------------------------------------------------------===//
// With and without the cache
//===----------------------------------------------------------------------===//

static bool wasMade(const CompiledStage &stage) {
  return stage.origin == cache::Origin::Made;
}

/// Counts a kernel that was found or made. The record of a single stage is the
/// record of the whole.
static void count(Compilation &result, ArrayRef<Stage> stages,
                  Clock::time_point start) {
  cache::Fetched fetched{result.entry, result.origin};
  if (stages.size() == 1) {
    countStage(stages.front().getName(), fetched);
    result.stages.push_back({stages.front().getName(), result.origin});
  }
  countKernel(fetched, llvm::any_of(result.stages, wasMade),
              getSecondsSince(start));
}

llvm::Expected<Compilation>
StagedCompiler::findOrCompile(gpu::GPUModuleOp kernel) const {
  Clock::time_point start = Clock::now();
  CanonicalKernel input = canonicalize(kernel, anyPrintsNames(stages));
  Compilation result;
  result.key = makeKey(input, stages);
  auto findOrRun = [&](const CanonicalKernel &input,
                       const Stage &stage) -> llvm::Expected<cache::EntryPtr> {
    llvm::Expected<cache::Fetched> fetched = cache.withKey(
        makeKey(input, stage), [&] { return run(input, stage, registry); },
        [&](const cache::Entry &entry) {
          return accept(entry, getProduct(stage), kernel,
                        isLast(stage) ? launches : nullptr, registry);
        },
        // What is made of any stage is an entry of ours, which we sign.
        cache::Use::Compile);
    if (!fetched)
      return fetched.takeError();
    countStage(stage.getName(), *fetched);
    result.stages.push_back({stage.getName(), fetched->origin});
    return fetched->entry;
  };
  auto acceptWhole = [&](const cache::Entry &entry) {
    return accept(entry, getProduct(stages), kernel, launches, registry);
  };
  // What servers may take is for all lookups of a compilation together.
  cache::BudgetScope budget;
  llvm::Expected<cache::Fetched> fetched = cache.withKey(
      result.key,
      [&] {
        llvm::Expected<cache::Entry> made =
            stages.size() > 1 ? runStages(input, findOrRun)
                              : run(input, stages.front(), registry);
        if (made)
          addInput(*made, kernel);
        return made;
      },
      acceptWhole);
  if (!fetched)
    return fetched.takeError();
  result.entry = fetched->entry;
  result.origin = fetched->origin;
  count(result, stages, start);
  return result;
}

llvm::Expected<Compilation>
StagedCompiler::compileUncached(gpu::GPUModuleOp kernel, StringRef why) const {
  auto runOnly = [&](const CanonicalKernel &input,
                     const Stage &stage) -> llvm::Expected<cache::EntryPtr> {
    llvm::Expected<cache::Entry> entry = run(input, stage, registry);
    if (!entry)
      return entry.takeError();
    return std::make_shared<const cache::Entry>(std::move(*entry));
  };
  llvm::Expected<cache::Entry> entry =
      runStages(canonicalize(kernel, anyPrintsNames(stages)), runOnly);
  if (!entry)
    return entry.takeError();
  Compilation result;
  result.entry = std::make_shared<const cache::Entry>(std::move(*entry));
  result.origin = cache::Origin::Made;
  result.whyUncached = why;
  countKernel({result.entry, result.origin}, /*compiled=*/true, 0);
  return result;
}

/// Why the kernel must not be kept; null if it may.
static StringAttr getWhyUncached(gpu::GPUModuleOp kernel) {
  return kernel->getAttrOfType<StringAttr>(kUncachedAttr);
}

llvm::Expected<Compilation>
StagedCompiler::compile(gpu::GPUModuleOp kernel) const {
  StringAttr why = getWhyUncached(kernel);
  llvm::Expected<Compilation> result =
      why ? compileUncached(kernel, why) : findOrCompile(kernel);
  if (!result)
    countFailure();
  return result;
}

llvm::Expected<Compilation>
StagedCompiler::find(gpu::GPUModuleOp kernel) const {
  auto miss = [](std::string reason) {
    countFailure();
    return llvm::make_error<NotCachedError>(std::move(reason));
  };
  Clock::time_point start = Clock::now();
  if (StringAttr why = getWhyUncached(kernel))
    return miss("it is never kept: " + why.str());
  Compilation result;
  result.key = makeKey(canonicalize(kernel, anyPrintsNames(stages)), stages);
  result.entry = cache.lookup(result.key, [&](const cache::Entry &entry) {
    return accept(entry, getProduct(stages), kernel, launches, registry);
  });
  if (!result.entry)
    return miss(explainMiss(cache, result.key));
  result.origin = cache::Origin::Stored;
  count(result, stages, start);
  return result;
}
