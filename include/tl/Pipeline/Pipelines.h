//===- Pipelines.h - The named pipeline -------------------------*- C++ -*-===//
//
// One function builds the compilation pipeline for every user: `tl-opt`,
// `tl-translate`, the C API and Python.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_PIPELINES_H
#define TL_PIPELINE_PIPELINES_H

#include "mlir/Pass/PassOptions.h"
#include "tl/Cache/Cache.h"
#include "tl/Target/Cubin/Assembler.h"

namespace mlir {
class MLIRContext;
class OpPassManager;
} // namespace mlir

namespace tl {

class FilesRead;

/// Options of `--tl-compile`.
struct CompileOptions : mlir::PassPipelineOptions<CompileOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("the chip, such as sm_90a or cpu"),
                           llvm::cl::init("sm_90a")};
  Option<std::string> backend{
      *this, "backend",
      llvm::cl::desc("`cpu`, or for GPUs `nvptx`, `nvrtc` or `nvcc` by way of "
                     "CUDA C++, `cuda` for that text alone, `cutedsl` for a "
                     "module of CuTe DSL, and `sim` for the simulator; `auto` "
                     "is the first of those for the chip"),
      llvm::cl::init("auto")};
  Option<Assembler> assembler{
      *this, "assembler", llvm::cl::desc("what turns PTX into a cubin"),
      llvm::cl::init(Assembler::Auto),
      llvm::cl::values(
          clEnumValN(Assembler::Auto, "auto", "the first that is there"),
          clEnumValN(Assembler::NvJitLink, "nvjitlink",
                     "the nvJitLink library"),
          clEnumValN(Assembler::Ptxas, "ptxas", "the ptxas program"),
          clEnumValN(Assembler::Driver, "driver", "the CUDA driver"),
          clEnumValN(Assembler::None, "none", "nothing: PTX only"))};
  Option<std::string> cacheDir{
      *this, "cache-dir",
      llvm::cl::desc("cache directory; empty to compile without the cache"),
      llvm::cl::init("")};
  Option<bool> requireCached{
      *this, "require-cached",
      llvm::cl::desc("compile nothing: a kernel that is not in the cache is "
                     "an error"),
      llvm::cl::init(false)};
  Option<std::string> keepDir{
      *this, "keep-dir",
      llvm::cl::desc("where to leave what compilers of CUDA C++ are given; it "
                     "is removed without"),
      llvm::cl::init("")};
  Option<bool> fromThreads{
      *this, "from-threads",
      llvm::cl::desc("kernels are at thread level already"),
      llvm::cl::init(false)};
  Option<bool> lineInfo{*this, "line-info",
                        llvm::cl::desc("keep source lines in the artifacts"),
                        llvm::cl::init(false)};
  Option<bool> fastMath{
      *this, "fast-math",
      llvm::cl::desc("approximate division, square root and exponential"),
      llvm::cl::init(false)};
  Option<bool> checks{*this, "checks",
                      llvm::cl::desc("report at run time what has no meaning"),
                      llvm::cl::init(false)};
  Option<std::string> postProcess{
      *this, "post-process",
      llvm::cl::desc("the post-processor that edits the generated source"),
      llvm::cl::init("")};

  /// Where to note the files that are read; may be null.
  FilesRead *filesRead = nullptr;
};

/// Adds the passes from a module of tile kernels to launch plans and compiled
/// kernels. Fails, with the reason in `error`, if options do not go together.
llvm::LogicalResult buildCompilePipeline(mlir::OpPassManager &manager,
                                         const CompileOptions &options,
                                         std::string &error);

/// Turns remarks into diagnostics of the context, as a person reads them.
void enableRemarks(mlir::MLIRContext &context);

/// Registers `--tl-compile`.
void registerPipelines();

/// The cache of this process for a directory; for memory alone if it is empty.
cache::Cache &getCache(llvm::StringRef directory);

/// Drops what the caches of this process keep in memory.
void forgetCaches();

/// Opens every cache with a directory from now on with these options and shared
/// tiers.
void setCacheOptions(cache::DirectoryOptions directory,
                     cache::SharedTiers shared);

/// Identifies the bytes of the library that this code is linked into: the
/// linker's hash (`--build-id`).
llvm::StringRef getBuildId();

} // namespace tl

#endif // TL_PIPELINE_PIPELINES_H
