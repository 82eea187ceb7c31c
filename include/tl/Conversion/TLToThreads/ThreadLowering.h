//===- ThreadLowering.h - What lowerings to threads share -------*- C++ -*-===//
//
// The state of one kernel while its tile ops become thread-level ops: index
// arithmetic, addresses in device and shared memory,
// the kernel's parameters, and the register slots of fragments.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_THREADLOWERING_H
#define TL_CONVERSION_TLTOTHREADS_THREADLOWERING_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Layout/FragmentLayout.h"
#include "llvm/ADT/MapVector.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tl {
class ThreadLowering;
} // namespace tl

#include "tl/Conversion/TLToThreads/ThreadLoweringInterface.h.inc"

namespace tl {

class ThreadLowering {
public:
  ThreadLowering(mlir::gpu::GPUFuncOp kernel, const Target &target);

  mlir::OpBuilder builder;
  /// The location given to new ops: that of the op being lowered.
  mlir::Location loc;

  const Target &getTarget() const { return target; }
  int64_t getNumThreads() const { return numThreads; }
  mlir::gpu::GPUFuncOp getKernel() const { return kernel; }

  //===--------------------------------------------------------------------===//
  // Index arithmetic. Constants fold.
  //===--------------------------------------------------------------------===//

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

  /// Erases an op and what is remembered of the values in it, whose addresses
  /// new values may get.
  void erase(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Threads
  //===--------------------------------------------------------------------===//

  /// The thread's number in its block, and its part of a warp.
  mlir::Value getThread() { return thread; }
  mlir::Value getLane();
  /// The warp's number, the same value for all its lanes.
  mlir::Value getWarp();
  /// True in one thread of the block.
  mlir::Value isFirstThread();

  /// Sum of the thread's steps along `dim`: the coordinate of its first value.
  mlir::Value getThreadOffset(const layout::FragmentLayout &layout,
                              int64_t dim);
  /// True if several threads of the block have the same values.
  bool hasCopies(const layout::FragmentLayout &layout) const;
  /// True in one of the threads that have the same values.
  mlir::Value isFirstCopy(const layout::FragmentLayout &layout);
  /// The sum of `steps` for the thread.
  mlir::Value sumSteps(llvm::ArrayRef<layout::ThreadStep> steps);

  //===--------------------------------------------------------------------===//
  // Fragments
  //===--------------------------------------------------------------------===//

  layout::FragmentLayout getLayout(mlir::Value fragment);
  mlir::VectorType getRegisterType(mlir::Value fragment);
  mlir::Value readFragment(mlir::Value fragment);
  void writeFragment(mlir::Value fragment, mlir::Value values);
  /// A place for one vector, which becomes an SSA value.
  mlir::Value createSlot(mlir::Location place, mlir::VectorType type);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// Extent of a dimension of a buffer, as index.
  mlir::Value getDim(mlir::Value buffer, int64_t dim);
  /// Stride of a dimension of a buffer in device memory, in elements, as i64.
  mlir::Value getStride(mlir::Value buffer, int64_t dim);
  /// A `CUtensorMap` parameter for a buffer in device memory.
  mlir::Value getTensorMap(mlir::Value buffer, llvm::ArrayRef<int64_t> box,
                           int64_t swizzle, mlir::Type type);

  /// Address of an element of any buffer that has addresses.
  mlir::Value getAddress(mlir::Value buffer, mlir::ValueRange indices);
  /// Byte offset of a shared buffer (or slot of one) in the arena.
  mlir::Value getSharedOffset(mlir::Value view);
  mlir::Value getSharedBase();
  mlir::Value getBarrierAddress(mlir::Value barriers, mlir::Value index);

  /// The widest access, at most `limit` elements, whose alignment and position
  /// inside a row are known at `indices` for any multiple of it.
  int64_t getAccessWidth(mlir::Value buffer, mlir::ValueRange indices,
                         int64_t limit);

  /// True if the element at `indices` may be outside of the buffer; null if it
  /// cannot be.
  mlir::Value getInBounds(mlir::Value buffer, mlir::ValueRange indices);

  /// Reads `width` elements from `indices` on along the last dimension: a
  /// scalar if `width` is 1, else a vector. Where `guard` (may be null) is
  /// false, zero.
  mlir::Value load(mlir::Value buffer, mlir::ValueRange indices, int64_t width,
                   mlir::Value guard);
  /// Writes a scalar or a vector from `indices` on, where `guard` holds.
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange indices,
             mlir::Value guard);

  /// Memory of each thread's own, for `count` elements.
  mlir::Value createPrivate(mlir::Location place, mlir::Type element,
                            int64_t count);
  /// Writes `value` to every element of a private buffer.
  void fillPrivate(mlir::Value buffer, mlir::Value value);

  /// Accesses of a scalar or a vector at an address.
  mlir::Value loadFrom(mlir::Value address, mlir::Type type);
  void storeTo(mlir::Value address, mlir::Value value);

  //===--------------------------------------------------------------------===//
  // The kernel's signature
  //===--------------------------------------------------------------------===//

  /// Forgets the tile-level arguments; requires that nothing uses them.
  void finishSignature();

private:
  mlir::Value addParameter(ParamAttr param, mlir::Type type);
  mlir::Value getBase(mlir::Value buffer);
  mlir::Value getGlobalAddress(mlir::Value buffer, mlir::ValueRange indices);
  mlir::Value getSharedAddress(mlir::Value view, mlir::ValueRange indices);
  mlir::Value getPrivateAddress(mlir::Value view, mlir::ValueRange indices);
  mlir::Value getFragmentSlot(mlir::Value fragment);
  mlir::Value atEntry(llvm::function_ref<mlir::Value()> make);

  mlir::gpu::GPUFuncOp kernel;
  Target target;
  int64_t numThreads;
  unsigned numOriginal; ///< arguments of the tile-level kernel
  mlir::Operation *entryEnd = nullptr;
  mlir::Value thread, lane, warp, sharedBase, first;
  llvm::DenseMap<mlir::Attribute, mlir::Value> parameters;
  llvm::DenseMap<mlir::Attribute, mlir::Value> parameterIndices;
  llvm::DenseMap<mlir::Value, mlir::Value> slots, privates;
};

/// A thread's values cut into rounds of equal size, run one after another by a
/// loop so that only one round at a time takes registers.
class Rounds {
public:
  /// Rounds of at most `limit` values; one round if the values do not divide.
  Rounds(const layout::FragmentLayout &layout, int64_t limit);

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

/// Lowers a parallel loop whose layout is set; also how copies and fills that
/// have no instruction of their own are lowered.
mlir::LogicalResult lowerParallel(ParallelOp loop, ThreadLowering &lowering);

/// Lets pipelined loops carry the slot before the current one.
void carryPreviousSlots(mlir::gpu::GPUFuncOp kernel);

/// Lower one gemm by its plan's instruction.
mlir::LogicalResult lowerMmaGemm(GemmOp gemm, ThreadLowering &lowering);
mlir::LogicalResult lowerWgmmaGemm(GemmOp gemm, ThreadLowering &lowering);
mlir::LogicalResult lowerFmaGemm(GemmOp gemm, ThreadLowering &lowering);

/// Lower copies and reductions.
mlir::LogicalResult lowerCopy(CopyOp copy, ThreadLowering &lowering);
mlir::LogicalResult lowerReduce(ReduceOp reduce, ThreadLowering &lowering);

/// The type that elements have in memory: i1 takes a byte.
mlir::Type getStorageType(mlir::Type element);

/// The instruction operand type for elements of `type`.
MmaKind getMmaKind(mlir::Type type);

/// Attaches `ThreadLoweringOpInterface` to every tile-level op.
void registerThreadLoweringModels(mlir::DialectRegistry &registry);

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_THREADLOWERING_H
