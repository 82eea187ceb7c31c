//===- StoredKernel.h - A stage's result as a cache entry -------*- C++ -*-===//
//
// An entry holds a kernel's module as text in `kernel.mlir`. What is in the
// files of a compiled kernel lies next to it, as files that people and loaders
// can open; in the text stand their names.
//
// Of a stage that leaves compiled kernels the text is data, which
// KernelRecord.h reads; of others it is IR, which only those are trusted with
// who could as well change the program (docs/security.md).
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_PIPELINE_STOREDKERNEL_H
#define TL_LIB_PIPELINE_STOREDKERNEL_H

#include "Messages.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tl/Cache/Entry.h"
#include "tl/Target/KeyedPass.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace tl {

/// An argument that a launch passes to a kernel.
struct LaunchArgument {
  /// Of a tensor.
  std::optional<int64_t> rank;
  unsigned elementBytes = 0;
  /// True for arithmetic on what the function was given: plans compute with 32
  /// and 64 bits.
  bool isComputed = false;
};

/// What a launch passes to a kernel.
struct LaunchArguments {
  llvm::SmallVector<LaunchArgument> arguments;
  size_t numSymbols = 0;
};

/// The launches of a module, by kernel: `module/kernel`.
using Launches = llvm::StringMap<llvm::SmallVector<LaunchArguments, 1>>;
Launches collectLaunches(mlir::ModuleOp module);

/// The entry of a result that took `seconds` to make. One that `accept` would
/// not accept is not to be kept.
cache::Entry store(mlir::gpu::GPUModuleOp result,
                   llvm::ArrayRef<Message> messages, double seconds,
                   Product product);

/// Adds the text of `kernel`, which the entry is the result of, for people:
/// when another kernel has another key, `tl-cache explain` shows where they
/// differ.
void addInput(cache::Entry &entry, mlir::gpu::GPUModuleOp kernel);

/// The seconds that it took to make an entry.
double getSeconds(const cache::Entry &entry);

/// Reads an entry of this product as if a stranger had made it: all that is
/// used of it later. Artifacts are also held against the launches of the kernel
/// in `module` that they stand for. Nothing of the IR that is compiled changes.
llvm::Error accept(const cache::Entry &entry, Product product,
                   mlir::gpu::GPUModuleOp kernel, const Launches *launches,
                   const mlir::DialectRegistry &registry);

/// A module that holds the stored `gpu.module` alone; compiled kernels have the
/// locations, and the module the attributes, of the `input` that they were made
/// from. Null if the entry is not what `store` makes.
mlir::OwningOpRef<mlir::ModuleOp>
load(const cache::Entry &entry, Product product, mlir::gpu::GPUModuleOp input);

/// Puts a stored result in the place of the kernel that it was made from; where
/// ops have numbers for locations they get those of today's ops. Fails if the
/// entry is not what `store` makes.
mlir::LogicalResult install(const cache::Entry &entry, Product product,
                            mlir::gpu::GPUModuleOp kernel);

} // namespace tl

#endif // TL_LIB_PIPELINE_STOREDKERNEL_H
