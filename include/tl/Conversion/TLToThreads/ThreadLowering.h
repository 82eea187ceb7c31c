//===- ThreadLowering.h - What lowerings to threads share -------*- C++ -*-===//
//
// The state of one kernel while its tile ops become thread-level ops. Its parts
// are the arithmetic of indices, the scope that executes an op, the kernel's
// signature, and where things lie in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_THREADLOWERING_H
#define TL_CONVERSION_TLTOTHREADS_THREADLOWERING_H

#include "tl/Conversion/TLToThreads/KernelSignature.h"
#include "tl/Conversion/TLToThreads/SharedAddressing.h"
#include "tl/Conversion/TLToThreads/ThreadScope.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Layout/FragmentLayout.h"
#include <memory>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tl {
class ScanOp;
class ThreadLowering;
} // namespace tl

#include "tl/Conversion/TLToThreads/ThreadLoweringInterface.h.inc"

namespace tl {

/// What the lowerings of one kernel's ops share: they build indices, ask the
/// scope for threads, the signature for what the host passes, and access
/// fragments and memory.
class ThreadLowering : public IndexBuilder {
public:
  /// `tellsIterations` is what `tl-lower-tile-ops` calls `iterations`.
  ThreadLowering(mlir::gpu::GPUFuncOp kernel, const Target &target,
                 bool tellsIterations);

  const Target &getTarget() const { return target; }
  bool doesTellIterations() const { return tellsIterations; }
  KernelSignature &getSignature() { return signature; }
  SharedAddressing &getShared() { return shared; }

  /// Makes `op` the one that is lowered: new ops go before it, and are executed
  /// by the threads that execute it.
  void enter(mlir::Operation *op);
  /// The threads that execute the op being lowered.
  ThreadScope &getScope() { return *scope; }

  /// Erases an op and what is remembered of the buffers in it, whose addresses
  /// new values may get.
  void erase(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Fragments
  //===--------------------------------------------------------------------===//

  layout::FragmentLayout getLayout(mlir::Value fragment);
  mlir::VectorType getRegisterType(mlir::Value fragment);
  /// All values of the thread, wherever they are.
  mlir::Value readFragment(mlir::Value fragment);
  void writeFragment(mlir::Value fragment, mlir::Value values);
  /// The memory of the thread's own that a fragment lies in, value after value;
  /// null for one that is in registers.
  mlir::Value getFragmentMemory(mlir::Value fragment);
  /// A number that no other fragment of the kernel has.
  int64_t getFragmentNumber(mlir::Value fragment) {
    return fragmentNumbers.try_emplace(fragment, fragmentNumbers.size())
        .first->second;
  }

  /// What the lane that `mode` and `lane`, an i32, name has in place of
  /// `value`, a number, for each lane of a warp that is whole.
  mlir::Value shuffle(mlir::Value value, mlir::Value lane,
                      mlir::gpu::ShuffleMode mode);

  /// A place for one vector, which becomes an SSA value.
  mlir::Value createSlot(mlir::Location place, mlir::VectorType type);

  //===--------------------------------------------------------------------===//
  // Memory (Accesses.cpp)
  //===--------------------------------------------------------------------===//

  /// Address of an element of any buffer that has addresses.
  mlir::Value getAddress(mlir::Value buffer, mlir::ValueRange indices);

  /// The widest access, at most `limit` elements, whose alignment and position
  /// inside a row are known at `indices` for any multiple of it.
  int64_t getAccessWidth(mlir::Value buffer, mlir::ValueRange indices,
                         int64_t limit);

  /// True if `position` along `dim` is inside of a buffer in device memory;
  /// null if it cannot be outside.
  mlir::Value getInBounds(mlir::Value buffer, unsigned dim,
                          mlir::Value position);
  /// True if the element at `indices` is inside of the buffer; null if it
  /// cannot be outside.
  mlir::Value getInBounds(mlir::Value buffer, mlir::ValueRange indices);

  /// What accesses bear from now on, or null: the iterations that they are of.
  void setIterations(mlir::DenseI64ArrayAttr attribute) {
    iterations = attribute;
  }

  /// Reads `width` elements from `indices` on along the last dimension: a
  /// scalar if `width` is 1, else a vector. Where `guard` (may be null) is
  /// false, zero.
  mlir::Value load(mlir::Value buffer, mlir::ValueRange indices, int64_t width,
                   mlir::Value guard);
  /// Writes a scalar or a vector from `indices` on, where `guard` holds.
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange indices,
             mlir::Value guard);

  /// Does what `op` says to the element at `indices`, where `guard` (may be
  /// null) holds, and returns what it was before, or zero (Atomics.cpp).
  mlir::Value atomic(AtomicOp op, mlir::Value buffer, mlir::ValueRange indices,
                     mlir::Value value, mlir::Value expected,
                     mlir::Value guard);

  /// Memory of each thread's own, for `count` elements.
  mlir::Value createPrivate(mlir::Location place, mlir::Type element,
                            int64_t count);
  /// Writes `value` to every element of a private buffer.
  void fillPrivate(mlir::Value buffer, mlir::Value value);

  /// Accesses of a scalar or a vector at an address.
  mlir::Value loadFrom(mlir::Value address, mlir::Type type);
  void storeTo(mlir::Value address, mlir::Value value);
  /// The address of element `number` of those that begin at `base`.
  mlir::Value getElementAddress(mlir::Value base, mlir::Type element,
                                mlir::Value number);
  /// Accesses of all elements of a vector, one after another.
  mlir::Value loadElements(mlir::Value base, mlir::VectorType type);
  void storeElements(mlir::Value base, mlir::Value values);

  /// True if the target does `kind` of words, or vectors, of `type` by one
  /// instruction.
  bool hasInstruction(AtomicKind kind, mlir::Type type) const;

private:
  mlir::Value getGlobalAddress(mlir::Value buffer, mlir::ValueRange indices);
  mlir::Value getPrivateAddress(mlir::Value view, mlir::ValueRange indices);
  mlir::Value getFragmentSlot(mlir::Value fragment);
  mlir::Value emitAtomic(AtomicOp op, mlir::Value address, mlir::Value value,
                         mlir::Value expected);
  mlir::Value emitAtomicLoop(AtomicOp op, mlir::Value address,
                             mlir::Value value);
  ThreadScope &getScope(const ThreadRange &range);

  /// Has an access that is made now bear its iterations.
  void markAccess(mlir::Operation *access) const;

  Target target;
  bool tellsIterations;
  mlir::DenseI64ArrayAttr iterations;
  std::vector<std::unique_ptr<ThreadScope>> scopes;
  ThreadScope *scope;
  KernelSignature signature;
  SharedAddressing shared;
  llvm::DenseMap<mlir::Value, mlir::Value> slots, privates, fragmentMemory;
  llvm::DenseMap<mlir::Value, int64_t> fragmentNumbers;
};

/// A thread's values cut into rounds of equal size, run one after another by a
/// loop so that only one round at a time takes registers.
class Rounds {
public:
  /// Rounds of at most `limit` values where they divide so, and of whole units
  /// of `unit` values, which divide those that lie side by side.
  Rounds(const layout::FragmentLayout &layout, int64_t limit, int64_t unit = 1);

  int64_t getCount() const { return count; }
  /// Values of one round: the first ones of the layout.
  int64_t getNumValues() const { return numValues; }

  /// What round `round` adds to the coordinate `dim` of the first one's values.
  mlir::Value getOffset(ThreadLowering &lowering, mlir::Value round,
                        int64_t dim) const;

  /// Opens the loop over the rounds and moves the insertion point into it. The
  /// optimiser leaves it as it is, unless it may unroll it.
  mlir::Value openLoop(ThreadLowering &lowering, bool mayUnroll = false) const;

private:
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<layout::FragmentMode> modes;
  int64_t count = 1, numValues;
};

/// Has the optimiser leave a loop as it is.
void keepRolled(mlir::Operation *loop);

/// Lowers a parallel loop whose layout is set; also how copies and fills that
/// have no instruction of their own are lowered.
mlir::LogicalResult lowerParallel(ParallelOp loop, ThreadLowering &lowering);

/// Lets pipelined loops carry the slot before the current one.
void carryPreviousSlots(mlir::gpu::GPUFuncOp kernel);

/// Lower one gemm by its plan's instruction.
mlir::LogicalResult lowerMmaGemm(GemmOp gemm, ThreadLowering &lowering);
mlir::LogicalResult lowerWgmmaGemm(GemmOp gemm, ThreadLowering &lowering);
mlir::LogicalResult lowerFmaGemm(GemmOp gemm, ThreadLowering &lowering);

/// Lower copies, reductions and scans.
mlir::LogicalResult lowerCopy(CopyOp copy, ThreadLowering &lowering);
mlir::LogicalResult lowerReduce(ReduceOp reduce, ThreadLowering &lowering);
mlir::LogicalResult lowerScan(ScanOp scan, ThreadLowering &lowering);

/// The type that elements have in memory: i1 takes a byte.
mlir::Type getStorageType(mlir::Type element);

/// The instruction operand type for elements of `type`.
MmaKind getMmaKind(mlir::Type type);

/// Attaches `ThreadLoweringOpInterface` to every tile-level op.
void registerThreadLoweringModels(mlir::DialectRegistry &registry);

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_THREADLOWERING_H
