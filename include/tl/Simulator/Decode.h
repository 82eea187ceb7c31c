//===- Decode.h - Thread-level kernels to programs --------------*- C++ -*-===//

#ifndef TL_SIMULATOR_DECODE_H
#define TL_SIMULATOR_DECODE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tl/Simulator/Program.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tl::sim {

/// Decodes a kernel that `tl-verify-thread-level` accepts. An op without a
/// meaning here is an error at its place.
mlir::FailureOr<std::unique_ptr<Program>> decode(mlir::gpu::GPUFuncOp kernel);

/// Whether the simulator has a meaning for the op of this name.
bool isDecoded(llvm::StringRef op);

/// Reads the text of a module, and decodes the kernel of this name in it.
llvm::Expected<std::unique_ptr<Program>>
decodeText(llvm::StringRef text, llvm::StringRef kernel,
           const mlir::DialectRegistry &registry);

} // namespace tl::sim

#endif // TL_SIMULATOR_DECODE_H
