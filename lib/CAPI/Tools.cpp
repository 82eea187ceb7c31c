//===- Tools.cpp - The tools' main functions ------------------------------===//
//
// `tl-opt` and `tl-lsp-server` are MLIR's own tools over our registry. They
// live in the library so that every tool runs the very compiler that Python
// loads.
//
//===----------------------------------------------------------------------===//

#include "CacheStats.h"
#include "Environment.h"
#include "InitAll.h"
#include "tl-c/Compiler.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

static void printVersion(llvm::raw_ostream &os) {
  os << "tl " << tlVersion() << ", build " << tlBuildId() << '\n';
}

int tlOptMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(printVersion);
  tl::useCacheEnvironment("tl-opt");
  tl::registerPasses();
  mlir::DialectRegistry registry;
  tl::registerDialects(registry);
  llvm::cl::opt<std::string> cacheStats(
      "cache-stats",
      llvm::cl::desc("Write what the cache did, as JSON, to this file"),
      llvm::cl::value_desc("path"));
  llvm::LogicalResult result = mlir::MlirOptMain(
      argc, argv, "tl-opt: run passes on tile kernels\n", registry);
  if (!tl::writeCacheStats(cacheStats, "tl-opt"))
    return EXIT_FAILURE;
  return mlir::asMainReturnCode(result);
}

int tlLspServerMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tl::registerDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirLspServerMain(argc, argv, registry));
}
