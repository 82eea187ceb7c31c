//===- PostProcess.cpp - Let a user's program edit generated source -------===//
//
// `tl-post-process` stands between the generator of a source and what compiles
// it further, so that the cache stores what came of the edited source.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/PostProcess.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/Passes.h"

#include "mlir/IR/Builders.h"

#include <mutex>

namespace tl {
#define GEN_PASS_DEF_POSTPROCESSPASS
#include "tl/Pipeline/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct Table {
  std::mutex mutex;
  std::multimap<std::string, PostProcessor> processors;

  static Table &get() {
    // Never destroyed: kernels may be compiled while the process ends.
    static auto *table = new Table;
    return *table;
  }
};
} // namespace

PostProcessorScope::PostProcessorScope(StringRef id, PostProcessor processor) {
  Table &table = Table::get();
  std::lock_guard<std::mutex> guard(table.mutex);
  place = table.processors.emplace(id.str(), std::move(processor));
}

PostProcessorScope::~PostProcessorScope() {
  Table &table = Table::get();
  std::lock_guard<std::mutex> guard(table.mutex);
  table.processors.erase(place);
}

PostProcessor tl::findPostProcessor(StringRef id) {
  Table &table = Table::get();
  std::lock_guard<std::mutex> guard(table.mutex);
  auto found = table.processors.find(id.str());
  return found == table.processors.end() ? PostProcessor() : found->second;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PostProcessPass : tl::impl::PostProcessPassBase<PostProcessPass> {
  using PostProcessPassBase::PostProcessPassBase;

  void runOnOperation() override {
    PostProcessor processor = findPostProcessor(id);
    if (!processor) {
      getOperation().emitError("there is no post-processor `")
          << id << "` in this process";
      return signalPassFailure();
    }
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    StringRef chip = target ? target.getChip() : "";
    for (auto kernel : getOperation().getOps<CompiledKernelOp>())
      if (failed(process(kernel, processor, chip)))
        return signalPassFailure();
  }

  /// Replaces the source of one kernel.
  LogicalResult process(CompiledKernelOp kernel, const PostProcessor &processor,
                        StringRef chip) {
    NamedAttrList files(kernel.getFiles());
    auto source = dyn_cast_or_null<StringAttr>(files.get(file));
    if (!source)
      return kernel.emitError("has no source `") << file << "` to post-process";
    llvm::Expected<std::string> edited = processor(source.getValue(), chip);
    if (!edited)
      return kernel.emitError("the post-processor failed: ")
             << toString(edited.takeError());
    files.set(file, StringAttr::get(&getContext(), *edited));
    kernel.setFilesAttr(files.getDictionary(&getContext()));
    return success();
  }
};
} // namespace
