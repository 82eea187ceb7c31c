//===- TL.h - The tl dialect ------------------------------------*- C++ -*-===//
//
// Declarations of the dialect's types, attributes, operations and interfaces.
// See TLOps.td for what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_TL_H
#define TL_DIALECT_TL_IR_TL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

#include "tl/Dialect/TL/IR/Events.h"
#include "tl/Layout/FragmentLayout.h"

#include "tl/Dialect/TL/IR/TLDialect.h.inc"

#include "tl/Dialect/TL/IR/TLEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tl/Dialect/TL/IR/TLAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tl/Dialect/TL/IR/TLTypes.h.inc"

#include "tl/Dialect/TL/IR/TLInterfaces.h.inc"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/TLOps.h.inc"

namespace tl {

/// The memory spaces of a kernel.
enum class Space { Global, Shared, Fragment, Private };

/// The space of a buffer, or none if the type has an unknown memory space.
std::optional<Space> getSpace(mlir::MemRefType type);

/// True if `value` is a buffer in `space`.
bool isInSpace(mlir::Value value, Space space);

/// True if one instruction does `kind` on a word of `type` (`tl.atom`).
bool isAtomInstruction(AtomicKind kind, mlir::Type type);

/// Looks through `tl.slot` to the op that made a buffer: a `tl.alloc` or the
/// kernel's argument.
mlir::Value getBuffer(mlir::Value view);

/// The position of `view` in the first dimension of its buffer: the index of a
/// `tl.slot`, null for other values.
mlir::Value getSlot(mlir::Value view);

/// What `op`, not counting ops in its regions unless it is a tile op, does to
/// memory and orders: as `EventOpInterface` or else its memory effects say.
llvm::SmallVector<Event, 4> getEvents(mlir::Operation *op);

/// Gives ops of other dialects their events; the dialect does it when loaded.
void attachEvents(mlir::MLIRContext &context);

/// Conversions between the attribute and the layout algebra's class.
layout::FragmentLayout toLayout(FragmentLayoutAttr attr);
FragmentLayoutAttr toAttr(mlir::MLIRContext *context,
                          const layout::FragmentLayout &layout);

/// Names of discardable attributes, in one place.
inline constexpr llvm::StringLiteral kEntryAttr = "tl.entry";
inline constexpr llvm::StringLiteral kTargetAttr = "tl.target";
inline constexpr llvm::StringLiteral kParamAttr = "tl.param";
inline constexpr llvm::StringLiteral kSharedAttr = "tl.shared";
inline constexpr llvm::StringLiteral kClusterAttr = "tl.cluster";
inline constexpr llvm::StringLiteral kAlignAttr = "tl.align";
/// On a tensor of a kernel: the bytes of each of its rows, and from one row to
/// the next, in every dimension, are a multiple.
inline constexpr llvm::StringLiteral kRowAlignAttr = "tl.row_align";
inline constexpr int64_t kRowAlign = 16;
inline constexpr llvm::StringLiteral kNameAttr = "tl.name";
inline constexpr llvm::StringLiteral kShapeAttr = "tl.shape";
inline constexpr llvm::StringLiteral kStridesAttr = "tl.strides";
inline constexpr llvm::StringLiteral kDtypeAttr = "tl.dtype";
/// On a kernel's module: it may be launched before the kernels in front of it
/// are done, and waits for them by itself.
inline constexpr llvm::StringLiteral kDependentAttr = "tl.dependent";
/// On a source kernel: parameters are bound to the host function's by name.
inline constexpr llvm::StringLiteral kBindByNameAttr = "tl.bind_by_name";
/// Lines are kept in the artifact, with paths relative to this folder.
inline constexpr llvm::StringLiteral kLineInfoAttr = "tl.line_info";
inline constexpr llvm::StringLiteral kFastMathAttr = "tl.fast_math";
/// On a kernel's module: why its result must not be kept, as a string.
inline constexpr llvm::StringLiteral kUncachedAttr = "tl.uncached";

/// The location of the first line of a unit's text, `file` being where the user
/// wrote it.
mlir::Location makeUnitLocation(mlir::MLIRContext *context,
                                llvm::StringRef file, int64_t line);

/// The place, as the user knows it, of a line of `file`, which is the unit's
/// own text or one of its headers, in messages of the unit's compiler.
mlir::Location locateInUnit(CudaUnitOp unit, llvm::StringRef file,
                            int64_t line);

/// A line of a unit whose file only a later stage of compilation knows, as
/// `locateInUnit` gives it for a unit without `makeUnitLocation`.
struct UnitPlace {
  llvm::StringRef file;
  int64_t line;

  /// The place that a location is, or none.
  static std::optional<UnitPlace> of(mlir::Location location);
};

/// How a parameter lies in memory, in bytes; `offsets` are those of a struct's
/// members.
struct ParamLayout {
  uint64_t size = 0;
  uint64_t alignment = 1;
  llvm::SmallVector<uint64_t> offsets;

  static ParamLayout of(ParamAttr param);
};

/// The threads of a block of a kernel function: product of
/// `known_block_size`. Requires the attribute.
int64_t getNumThreads(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_DIALECT_TL_IR_TL_H
