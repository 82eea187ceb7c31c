//===- KernelSignature.h - What the host passes to a kernel -----*- C++ -*-===//
//
// A kernel of the tile level takes buffers and scalars; one of the thread level
// takes what the host passes for them, each with its `tl.param`: addresses,
// extents, strides, tensor maps. Parameters are added as lowering asks for
// them, in that order.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_KERNELSIGNATURE_H
#define TL_CONVERSION_TLTOTHREADS_KERNELSIGNATURE_H

#include "tl/Conversion/TLToThreads/IndexBuilder.h"
#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

class KernelSignature {
public:
  /// Replaces the scalar arguments of the kernel by parameters.
  explicit KernelSignature(IndexBuilder &b);

  /// Address of a buffer in device memory.
  mlir::Value getBase(mlir::Value buffer);
  /// Extent of a dimension of a buffer, as index.
  mlir::Value getDim(mlir::Value buffer, int64_t dim);
  /// Stride of a dimension of a buffer in device memory, in elements, as i64.
  mlir::Value getStride(mlir::Value buffer, int64_t dim);
  /// A `CUtensorMap` for a buffer in device memory.
  mlir::Value getTensorMap(mlir::Value buffer, llvm::ArrayRef<int64_t> box,
                           int64_t swizzle, mlir::Type type);

  /// Forgets the tile-level arguments; requires that nothing uses them.
  void finish();

private:
  mlir::Value addParameter(ParamAttr param, mlir::Type type);
  ParamAttr getParam(ParamKind kind, mlir::Value buffer, int64_t index = 0);

  IndexBuilder &b;
  unsigned numOriginal; ///< arguments of the tile-level kernel
  llvm::DenseMap<mlir::Attribute, mlir::Value> parameters, extents;
};

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_KERNELSIGNATURE_H
