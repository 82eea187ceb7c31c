//===- TileLowering.h - The parts of convert-tl-to-cpu ----------*- C++ -*-===//
//
// Each function lowers one kind of op; ConvertTLToCPU.cpp calls them in order.
// Buffers keep their types, memory spaces included, until the LLVM dialect: the
// space is what tells device memory, whose bounds are checked, from scratch.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CONVERSION_TLTOCPU_TILELOWERING_H
#define TL_LIB_CONVERSION_TLTOCPU_TILELOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Dialect/TL/IR/TL.h"

#include <array>

namespace mlir {
class LLVMTypeConverter;
} // namespace mlir

namespace tl::cpu {

/// What the lowering knows of the machine.
struct Machine {
  int64_t vectorBytes;

  /// Vector registers of x86-64: 32 with AVX-512, else 16.
  int64_t getNumRegisters() const { return vectorBytes >= 64 ? 32 : 16; }
};

/// A buffer made by `tl.alloc` or given as an argument, and the indices that
/// the slots of a view of it stand for.
struct View {
  mlir::Value buffer;
  llvm::SmallVector<mlir::Value> slots;

  /// Resolves `tl.slot` down to the buffer.
  explicit View(mlir::Value value);

  mlir::MemRefType getType() const {
    return llvm::cast<mlir::MemRefType>(buffer.getType());
  }

  /// The slots' indices followed by `indices`.
  llvm::SmallVector<mlir::Value> at(mlir::ValueRange indices) const;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::ValueRange indices) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
             mlir::ValueRange indices) const;
};

/// Emits, before `copy`, loops that copy what is inside of device memory.
void lowerCopy(CopyOp copy);

/// Emits, before `gemm`, a register-blocked product.
void lowerGemm(GemmOp gemm, const Machine &machine);

/// Keeps the index of every `tl.slot` in `kernel` inside of its buffer.
void clampSlots(mlir::gpu::GPUFuncOp kernel);

/// Versions a loop nest so that accesses whose bounds are known before it go
/// unchecked where they are all inside.
void hoistGuards(mlir::scf::ForOp nest);

/// Emits what `atomic` does to its element, which is inside of the buffer, and
/// returns what that was before.
mlir::Value emitAtomic(mlir::OpBuilder &builder, AtomicOp atomic);

/// Replaces `tl.load`, `tl.store` and `tl.atomic` in `kernel`. Accesses are
/// checked, except those that `hoistGuards` or the ranges of the indices prove
/// inside.
llvm::LogicalResult lowerAccesses(mlir::gpu::GPUFuncOp kernel);

/// Gives every memory space the one address space that a CPU has.
void addMemorySpaces(mlir::LLVMTypeConverter &converter);

/// If the blocks of a cluster touch each other's memory, or meet, makes the
/// body of `kernel` execute all blocks of one. `gpu.block_id` is then the first
/// one's. Returns the extents of the blocks that the body executes, or ones.
std::array<int64_t, 3> runClusters(mlir::gpu::GPUFuncOp kernel);

/// Moves the body of `kernel`, which has no tile op left, into a host function
/// and erases the kernel. The body executes so many blocks along x, y and z.
llvm::LogicalResult makeHostFunction(mlir::gpu::GPUFuncOp kernel,
                                     std::array<int64_t, 3> blocks);

} // namespace tl::cpu

#endif // TL_LIB_CONVERSION_TLTOCPU_TILELOWERING_H
