//===- IndexBuilder.h - Index arithmetic of a kernel ------------*- C++ -*-===//
//
// Builds ops in a kernel whose tile ops become thread-level ops. Constants
// fold.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_INDEXBUILDER_H
#define TL_CONVERSION_TLTOTHREADS_INDEXBUILDER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace tl {

class IndexBuilder {
public:
  explicit IndexBuilder(mlir::gpu::GPUFuncOp kernel);

  mlir::OpBuilder builder;
  /// The location given to new ops: that of the op being lowered.
  mlir::Location loc;

  mlir::gpu::GPUFuncOp getKernel() const { return kernel; }

  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value i32(int64_t value);
  mlir::Value toI32(mlir::Value index);
  mlir::Value toI64(mlir::Value index);

  /// Builds something that does not depend on where it stands, at the end of
  /// what stands at the kernel's start.
  mlir::Value atEntry(llvm::function_ref<mlir::Value()> make);

private:
  mlir::gpu::GPUFuncOp kernel;
  mlir::Operation *entryEnd = nullptr;
};

/// The value of a constant index.
std::optional<int64_t> getConstant(mlir::Value index);

/// Gives `value` a name for those who read the generated code.
mlir::Value named(mlir::Value value, llvm::StringRef name);

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_INDEXBUILDER_H
