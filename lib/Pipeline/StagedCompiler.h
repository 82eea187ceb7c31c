//===- StagedCompiler.h - Compile a kernel, or find the result --*- C++ -*-===//
//
// One record holds what the whole pipeline makes of a kernel. Where it is
// missing each stage is looked up or run on its own, so that a new assembler
// only assembles, and kernels that become the same PTX share one cubin.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_PIPELINE_STAGEDCOMPILER_H
#define TL_LIB_PIPELINE_STAGEDCOMPILER_H

#include "Messages.h"
#include "StoredKernel.h"
#include "tl/Cache/Cache.h"
#include "tl/Pipeline/Fingerprint.h"

namespace tl {

/// A pass failed; the messages say why.
struct PipelineError : llvm::ErrorInfo<PipelineError> {
  static char ID;
  std::vector<Message> messages;

  explicit PipelineError(std::vector<Message> messages)
      : messages(std::move(messages)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// A kernel is not in the cache, and must not be compiled.
struct NotCachedError : llvm::ErrorInfo<NotCachedError> {
  static char ID;
  /// Why it is not there.
  std::string reason;

  explicit NotCachedError(std::string reason) : reason(std::move(reason)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// A stage of a kernel, and where its result came from.
struct CompiledStage {
  llvm::StringRef name;
  cache::Origin origin;
};

/// A kernel's result, and where it came from.
struct Compilation {
  cache::Key key;
  cache::EntryPtr entry;
  cache::Origin origin;
  /// What the kernel says of why it must not be kept; there is then no key.
  std::string whyUncached;
  /// What was looked up because the whole was not there.
  std::vector<CompiledStage> stages;
};

class StagedCompiler {
public:
  /// All arguments outlive the compiler. What is found is held against
  /// `launches`, if they are given.
  StagedCompiler(cache::Cache &cache, llvm::ArrayRef<Stage> stages,
                 const mlir::DialectRegistry &registry,
                 const Launches *launches = nullptr)
      : cache(cache), stages(stages), registry(registry), launches(launches) {}

  /// Finds or makes the result of all stages. A kernel with `tl.uncached` is
  /// made, and nothing of it kept. Safe to call from several threads.
  llvm::Expected<Compilation> compile(mlir::gpu::GPUModuleOp kernel) const;

  /// Finds the result of all stages, and makes nothing: that it is missing is a
  /// `NotCachedError`. Safe to call from several threads.
  llvm::Expected<Compilation> find(mlir::gpu::GPUModuleOp kernel) const;

private:
  using MakeStage = llvm::function_ref<llvm::Expected<cache::EntryPtr>(
      const CanonicalKernel &, const Stage &)>;

  llvm::Expected<Compilation>
  findOrCompile(mlir::gpu::GPUModuleOp kernel) const;
  llvm::Expected<Compilation> compileUncached(mlir::gpu::GPUModuleOp kernel,
                                              llvm::StringRef why) const;
  llvm::Expected<cache::Entry> runStages(CanonicalKernel input,
                                         MakeStage make) const;
  bool isLast(const Stage &stage) const { return &stage == &stages.back(); }

  cache::Cache &cache;
  llvm::ArrayRef<Stage> stages;
  const mlir::DialectRegistry &registry;
  const Launches *launches;
};

} // namespace tl

#endif // TL_LIB_PIPELINE_STAGEDCOMPILER_H
