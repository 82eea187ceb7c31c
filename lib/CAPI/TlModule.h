//===- TlModule.h - A module and its context --------------------*- C++ -*-===//
//
// What `TlModule` of tl-c/Compiler.h is inside of the library, and the text
// that its functions return.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_TLMODULE_H
#define TL_LIB_CAPI_TLMODULE_H

#include "tl-c/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/JSON.h"

#include <memory>

struct TlModule {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

namespace tl {

/// A copy that `tlFree` frees.
char *copyString(llvm::StringRef text);

std::string toText(llvm::json::Value value);

/// Adds the first place of a file that `location` has, as "file", "line" and
/// "column".
void addPlace(llvm::json::Object &object, mlir::Location location);

} // namespace tl

#endif // TL_LIB_CAPI_TLMODULE_H
