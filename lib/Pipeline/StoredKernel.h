//===- StoredKernel.h - A stage's result as a cache entry -------*- C++ -*-===//
//
// An entry holds a kernel's module as text in `kernel.mlir`. What is in the
// files of a compiled kernel lies next to it, as files that people and loaders
// can open; in the text stand their names.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_PIPELINE_STOREDKERNEL_H
#define TL_LIB_PIPELINE_STOREDKERNEL_H

#include "Messages.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tl/Cache/Entry.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace tl {

/// The entry of a result that took `seconds` to make.
cache::Entry store(mlir::gpu::GPUModuleOp result,
                   llvm::ArrayRef<Message> messages, double seconds);

/// Adds the text of `kernel`, which the entry is the result of, for people:
/// when another kernel has another key, `tl-cache explain` shows where they
/// differ.
void addInput(cache::Entry &entry, mlir::gpu::GPUModuleOp kernel);

/// The seconds that it took to make an entry.
double getSeconds(const cache::Entry &entry);

/// A module that holds the stored `gpu.module` alone. Null if the entry is not
/// what `store` makes.
mlir::OwningOpRef<mlir::ModuleOp> load(const cache::Entry &entry,
                                       mlir::MLIRContext &context);

/// Puts a stored result in the place of the kernel that it was made from; where
/// ops have numbers for locations they get those of today's ops. Fails if the
/// entry is not what `store` makes.
mlir::LogicalResult install(const cache::Entry &entry,
                            mlir::gpu::GPUModuleOp kernel);

} // namespace tl

#endif // TL_LIB_PIPELINE_STOREDKERNEL_H
