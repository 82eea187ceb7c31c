//===- ThreadLevel.h - Thread level as people read it -----------*- C++ -*-===//
//
// What the generators of source text, CUDA C++ and CuTe DSL, say of
// thread-level ops in the same words: names for values that have none, the
// symbols of comparisons, and what needs no words at all.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_SOURCE_THREADLEVEL_H
#define TL_TARGET_SOURCE_THREADLEVEL_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The parameters of `kernel`, as the entry that stands for it lists them.
mlir::ArrayAttr getParams(mlir::gpu::GPUFuncOp kernel);

/// The argument of the source that `param` belongs to: `name`, if it has one.
std::string getSourceArgument(ParamAttr param, llvm::StringRef name);

/// What to call a parameter that belongs to the argument `name` of the source:
/// `A`, `A_dim0`, `A_stride1` or `A_map`. Only external kernels take structs.
std::string describeParameter(ParamAttr param, llvm::StringRef name);

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What to call `result` for lack of a better name.
std::string describeResult(mlir::OpResult result);

/// True for ops that are written as nothing: casts between `index` and `i32`,
/// and between address spaces.
bool isAlias(mlir::Operation *op);

/// The value that an alias stands for.
mlir::Value lookThroughAliases(mlir::Value value);

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// `<` for both `slt` and `ult`.
llvm::StringRef getSymbol(mlir::arith::CmpIPredicate predicate);

/// True if `op` may be computed by an approximation.
bool isApproximate(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// True if `block`, which may be null, does nothing but yield values from
/// outside of it.
bool onlyYields(mlir::Block *block);

/// How many iterations of `loop` are to be one: 1 to leave it rolled, 0 for all
/// of them; none if that is open.
std::optional<unsigned> getUnrolling(mlir::Operation *loop);

} // namespace tl

#endif // TL_TARGET_SOURCE_THREADLEVEL_H
