//===- TestSupport.h - Keys of kernels given as text ------------*- C++ -*-===//

#ifndef TL_TEST_UNIT_PIPELINE_TESTSUPPORT_H
#define TL_TEST_UNIT_PIPELINE_TESTSUPPORT_H

#include "tl/Pipeline/Fingerprint.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "gtest/gtest.h"

#include <map>

namespace tl::test {

/// What the tools know. The passes are registered too.
const mlir::DialectRegistry &getRegistry();

/// Runs the passes on the module; false after an error.
bool run(llvm::StringRef pipeline, mlir::ModuleOp module);

/// The module of this text, as if it stood in `file`.
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                        llvm::StringRef text,
                                        llvm::StringRef file = "kernels.mlir");

/// Makes tile kernels what `tl-cached` gets to see; `target` are the options of
/// `tl-attach-target`.
void outline(mlir::ModuleOp module, llvm::StringRef target = "chip=sm_90a");

/// Both at once.
mlir::OwningOpRef<mlir::ModuleOp>
parseKernels(mlir::MLIRContext &context, llvm::StringRef text,
             llvm::StringRef target = "chip=sm_90a",
             llvm::StringRef file = "kernels.mlir");

/// Everything that the kernel consists of, but for locations.
std::string print(mlir::gpu::GPUModuleOp kernel);

std::vector<Stage> parseStages(llvm::StringRef pipeline);

/// The stages that most tests key: what they run does not matter to a kernel's
/// part of the key.
std::vector<Stage> getPlainStages();

bool anyPrintsNames(llvm::ArrayRef<Stage> stages);

cache::Key keyOf(mlir::gpu::GPUModuleOp kernel, llvm::ArrayRef<Stage> stages);

/// The keys of a module's kernels, in hexadecimal, by the kernels' names.
using Keys = std::map<std::string, std::string>;
Keys keysOf(mlir::ModuleOp module, llvm::ArrayRef<Stage> stages);
Keys keysOf(mlir::ModuleOp module);

} // namespace tl::test

#endif // TL_TEST_UNIT_PIPELINE_TESTSUPPORT_H
