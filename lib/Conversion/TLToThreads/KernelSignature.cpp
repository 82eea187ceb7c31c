//===- KernelSignature.cpp - What the host passes to a kernel -------------===//

#include "tl/Conversion/TLToThreads/KernelSignature.h"

#include "tl/Dialect/TL/Analysis/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tl;

static constexpr unsigned kGlobalSpace = 1;

KernelSignature::KernelSignature(IndexBuilder &b)
    : b(b), numOriginal(b.getKernel().getNumArguments()) {
  for (unsigned i = 0; i < numOriginal; ++i) {
    BlockArgument argument = b.getKernel().getArgument(i);
    Type type = argument.getType();
    if (isa<MemRefType>(type))
      continue;
    Type passed = type.isIndex() ? b.builder.getI32Type() : type;
    auto param = ParamAttr::get(b.builder.getContext(), ParamKind::Scalar, i, 0,
                                {}, 0, passed);
    Value value = addParameter(param, passed);
    if (type.isIndex())
      value = b.atEntry([&]() -> Value {
        return arith::IndexCastOp::create(b.builder, b.loc, type, value);
      });
    argument.replaceAllUsesWith(value);
  }
}

Value KernelSignature::addParameter(ParamAttr param, Type type) {
  Value &value = parameters[param];
  if (value)
    return value;
  gpu::GPUFuncOp kernel = b.getKernel();
  unsigned position = kernel.getNumArguments();
  auto attrs =
      b.builder.getDictionaryAttr(b.builder.getNamedAttr(kParamAttr, param));
  Location place = kernel.getArgument(param.getOperand()).getLoc();
  (void)kernel.insertArgument(position, type, attrs, place);
  return value = kernel.getArgument(position);
}

ParamAttr KernelSignature::getParam(ParamKind kind, Value buffer,
                                    int64_t index) {
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  return ParamAttr::get(b.builder.getContext(), kind, operand, index, {}, 0,
                        Type());
}

Value KernelSignature::getBase(Value buffer) {
  Value base = addParameter(
      getParam(ParamKind::Base, buffer),
      LLVM::LLVMPointerType::get(b.builder.getContext(), kGlobalSpace));
  // Code generators join accesses as far as the base allows; no access is wider
  // than 16 bytes.
  b.getKernel().setArgAttr(
      cast<BlockArgument>(base).getArgNumber(), kAlignAttr,
      b.builder.getI64IntegerAttr(std::min<int64_t>(getAlignment(buffer), 16)));
  return base;
}

Value KernelSignature::getDim(Value buffer, int64_t dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return b.index(type.getDimSize(dim));
  ParamAttr param = getParam(ParamKind::Dim, buffer, dim);
  Value passed = addParameter(param, b.builder.getI64Type());
  Value &extent = extents[param];
  if (!extent)
    extent = b.atEntry([&]() -> Value {
      return arith::IndexCastOp::create(b.builder, b.loc,
                                        b.builder.getIndexType(), passed);
    });
  return extent;
}

Value KernelSignature::getStride(Value buffer, int64_t dim) {
  int64_t stride = getStrides(cast<MemRefType>(buffer.getType()))[dim];
  if (!ShapedType::isDynamic(stride))
    return arith::ConstantIntOp::create(b.builder, b.loc, stride, 64);
  return addParameter(getParam(ParamKind::Stride, buffer, dim),
                      b.builder.getI64Type());
}

Value KernelSignature::getTensorMap(Value buffer, ArrayRef<int64_t> box,
                                    int64_t swizzle, Type type) {
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  MLIRContext *context = b.builder.getContext();
  return addParameter(ParamAttr::get(context, ParamKind::TensorMap, operand, 0,
                                     box, swizzle, type),
                      LLVM::LLVMPointerType::get(context));
}

void KernelSignature::finish() {
  gpu::GPUFuncOp kernel = b.getKernel();
  llvm::BitVector original(kernel.getNumArguments());
  original.set(0, numOriginal);
  [[maybe_unused]] LogicalResult erased = kernel.eraseArguments(original);
  assert(succeeded(erased) && "tile-level arguments have no uses left");
}
