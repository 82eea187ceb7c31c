//===- PostProcess.cpp - Let a user's program edit generated source -------===//
//
// `tl-post-process` stands between the generator of a source and what compiles
// it further, so that the cache stores what came of the edited source.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/PostProcess.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Pipeline/Passes.h"
#include "tl/Target/CUDACpp/CUDACpp.h"
#include "tl/Target/KeyedPass.h"

#include "mlir/IR/Builders.h"

#include <mutex>

namespace tl {
#define GEN_PASS_DEF_POSTPROCESSPASS
#include "tl/Pipeline/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// What holds the source of a kernel that was generated as PTX.
static constexpr StringLiteral kSourceFile = "kernel.ptx";

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
struct PostProcessPass : tl::impl::PostProcessPassBase<PostProcessPass>,
                         KeyedPass {
  using PostProcessPassBase::PostProcessPassBase;

  std::optional<Product> getProduct() const override { return std::nullopt; }

  void runOnOperation() override {
    PostProcessor processor = findPostProcessor(id);
    if (!processor) {
      getOperation().emitError("there is no post-processor `")
          << id << "` in this process";
      return signalPassFailure();
    }
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    StringRef chip = target ? target.getChip() : "";
    auto edit = [&](Operation *op, StringRef source) -> FailureOr<StringAttr> {
      llvm::Expected<std::string> edited = processor(source, chip);
      if (edited)
        return StringAttr::get(&getContext(), *edited);
      return op->emitError("the post-processor failed: ")
             << toString(edited.takeError());
    };
    for (auto kernel : getOperation().getOps<CompiledKernelOp>())
      if (failed(process(kernel, edit)))
        return signalPassFailure();
    for (auto unit : getOperation().getOps<CudaUnitOp>())
      if (failed(process(unit, edit)))
        return signalPassFailure();
  }

  using Edit = function_ref<FailureOr<StringAttr>(Operation *, StringRef)>;

  /// Replaces the PTX of one kernel.
  static LogicalResult process(CompiledKernelOp kernel, Edit edit) {
    NamedAttrList files(kernel.getFiles());
    auto source = dyn_cast_or_null<StringAttr>(files.get(kSourceFile));
    if (!source)
      return kernel.emitError("has no source `")
             << kSourceFile << "` to post-process";
    FailureOr<StringAttr> edited = edit(kernel, source);
    if (failed(edited))
      return failure();
    files.set(kSourceFile, *edited);
    kernel.setFilesAttr(files.getDictionary(kernel.getContext()));
    return success();
  }

  /// Replaces the text of a unit, unless a user wrote it.
  static LogicalResult process(CudaUnitOp unit, Edit edit) {
    if (!unit->hasAttr(kOriginAttr))
      return success();
    FailureOr<StringAttr> edited = edit(unit, unit.getText());
    if (failed(edited))
      return failure();
    if (edited->getValue().trim().empty())
      return unit.emitError("the post-processor returned no source");
    unit.setTextAttr(*edited);
    unit->setAttr(kOriginAttr, StringAttr::get(unit.getContext(), kEdited));
    return success();
  }
};
} // namespace
