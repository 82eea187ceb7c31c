//===- DumpPasses.cpp - The IR after every pass, as files -----------------===//
//
// MLIR can print to a tree of files too, whose names say the anonymous module
// and numbers that do not sort. These are for people to leaf through.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/DumpPasses.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// The module that an op is in, or is.
static Operation *getOutermost(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return op;
}

namespace {
class PassDump : public PassInstrumentation {
public:
  PassDump(std::string directory, OpPrintingFlags flags)
      : directory(std::move(directory)), flags(flags) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    // What only holds other passes has no name.
    if (!pass->getArgument().empty())
      write(pass->getArgument(), op);
  }

private:
  void write(StringRef pass, Operation *op) {
    Operation *module = getOutermost(op);
    StringRef kernel =
        op == module ? "" : SymbolTable::getSymbolName(op).getValue();
    SmallString<128> path(directory);
    llvm::sys::path::append(path, kernel);
    (void)llvm::sys::fs::create_directories(path);
    llvm::sys::path::append(
        path, llvm::formatv("{0,0+2}-{1}.mlir", counts[kernel]++, pass).str());
    std::string error;
    std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(path, &error);
    if (!file) {
      module->emitWarning(error);
      return;
    }
    module->print(file->os(), flags);
    file->os() << '\n';
    file->keep();
  }

  std::string directory;
  OpPrintingFlags flags;
  /// How many passes were written of each kernel; of the module under "".
  llvm::StringMap<unsigned> counts;
};
} // namespace

std::unique_ptr<PassInstrumentation> tl::createPassDump(std::string directory,
                                                        OpPrintingFlags flags) {
  return std::make_unique<PassDump>(std::move(directory), flags);
}
