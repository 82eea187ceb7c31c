//===- CheckRecord.h - How a kernel reports what it finds -------*- C++ -*-===//
//
// Emits the report of one failed check into the record of a checked program,
// and describes the places that report.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_CHECKRECORD_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_CHECKRECORD_H

#include "Record.h"

#include "tl/Dialect/TL/Transforms/Checks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tl {

/// What one check found, at run time.
struct Finding {
  /// An `i1`: whether there is anything to report.
  mlir::Value isBad;
  /// An `i32`: kind and dimension, as `encode` makes it.
  mlir::Value code;
  /// An `i64` and an `i64`.
  mlir::Value index, extent;
};

/// The low byte of a report's first word.
int64_t encodeFinding(CheckKind kind, int64_t dimension);

class CheckRecord {
public:
  /// Gives `function` a last parameter, the record. Descriptions of all places
  /// that report are added to `sites`.
  CheckRecord(mlir::func::FuncOp function,
              llvm::SmallVectorImpl<mlir::Attribute> &sites);

  /// Emits, where `builder` stands, a report of what was found for `op`, which
  /// `runner` executes and which does `access` ("read", "write", "division") to
  /// `buffer`, if to any. In a parallel loop of the program it is only noted.
  void report(mlir::OpBuilder &builder, mlir::Operation *op, Runner runner,
              llvm::StringRef access, mlir::Value buffer,
              const Finding &finding);

  /// Lets the iterations of parallel loops report what they have noted. Comes
  /// after all reports.
  void reportNotes();

private:
  /// The variables in which an iteration notes what it finds first.
  struct Notes {
    mlir::Value code, index, extent;
  };

  Notes &getNotes(ParallelOp loop);
  void note(mlir::OpBuilder &builder, mlir::Location loc, const Notes &notes,
            const Finding &finding);
  void emitReport(mlir::OpBuilder &builder, mlir::Location loc, KernelOp kernel,
                  mlir::Value element, const Finding &finding);
  int64_t addSite(mlir::Operation *op, Runner runner, llvm::StringRef access,
                  mlir::Value buffer);
  void fill(mlir::OpBuilder &builder, mlir::Location loc, KernelOp kernel,
            mlir::Value element, const Finding &finding);

  mlir::Value record;
  llvm::MapVector<mlir::Operation *, Notes> notes;
  llvm::SmallVectorImpl<mlir::Attribute> &sites;
};

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_CHECKRECORD_H
