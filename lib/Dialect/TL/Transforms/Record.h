//===- Record.h - What a kernel writes for its caller -----------*- C++ -*-===//
//
// A record is one more tensor of an entry function, its last parameter, which
// whoever calls the function makes, passes and reads. Statements of the program
// write to it. This is what all that do so have in common: the parameter, the
// descriptions of the places that write, and who executes them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_RECORD_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_RECORD_H

#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tl {

class ThreadDependence;

/// Who executes an op: the block once, each of its threads, or each iteration
/// of a `tl.parallel`.
enum class Runner { Block, Thread, Iteration };

/// Who executes `op`, which is in `kernel`.
Runner getRunner(mlir::Operation *op, KernelOp kernel,
                 const ThreadDependence &dependence);

/// On a parameter: it is a record, and accesses to it are as they should be.
inline constexpr llvm::StringLiteral kRecordAttr = "tl.record";

/// Gives `function` a last parameter, a record of 64-bit words. It is called
/// `name`, or something longer if the program has that name. A negative number
/// of words is one that only the caller knows.
mlir::Value addRecord(mlir::func::FuncOp function, llvm::StringRef name,
                      int64_t words);

/// True if `buffer` is a record.
bool isRecord(mlir::Value buffer);

/// What the user calls the memory that `buffer` is in.
llvm::StringRef nameSpace(mlir::Value buffer);

/// In what is said of a place that writes to a record: the number of its
/// launch.
inline constexpr llvm::StringLiteral kSiteLaunch = "launch";

/// What is said of any place that writes to a record: the number of the
/// function's launch, the runner, the extents of the parallel loop around it,
/// the grid's dimensions, and the line.
mlir::NamedAttrList describeSite(mlir::Operation *op, Runner runner);

/// Arithmetic of records: on `i32` and `i64`, all of it wraps.
struct RecordEmitter {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value word(int64_t value) const {
    return mlir::arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  mlir::Value wide(int64_t value) const {
    return mlir::arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  mlir::Value index(int64_t value) const {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value toWord(mlir::Value index) const {
    return mlir::arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                            index);
  }
  /// Bits of an integer as a word of a record, zeros above them.
  mlir::Value widen(mlir::Value bits) const {
    return builder.createOrFold<mlir::arith::ExtUIOp>(loc, builder.getI64Type(),
                                                      bits);
  }
  template <typename Op>
  mlir::Value apply(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<Op>(loc, a, b);
  }

  /// The number of the iteration with these coordinates, in row-major order.
  mlir::Value number(mlir::ValueRange coordinates,
                     llvm::ArrayRef<int64_t> extents) const;

  /// The three coordinates of the block, as `i32`.
  llvm::SmallVector<mlir::Value> block(KernelOp kernel) const;

  /// A variable that begins with `value`.
  mlir::Value variable(mlir::Value value) const;
};

/// The number of the thread. It is asked for where the kernel begins, since no
/// statement may ask for it inside.
mlir::Value emitThread(mlir::OpBuilder builder, mlir::Location loc,
                       KernelOp kernel);

/// Emits a `tl.parallel` with these extents, and lets `builder` stand in it.
ParallelOp emitParallel(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<int64_t> extents);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_RECORD_H
