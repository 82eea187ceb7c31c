//===- KernelSignature.cpp - What the host passes to a kernel -------------===//
//
// Of a tensor at an address the host passes nothing: what parameters say of
// others, operands of its `tl.tensor_at` say. It has no tensor map, since the
// host does not know it.
//
// Tensor maps come behind all else: a map is two lines of the constant cache,
// and what lies behind one is in a line of its own, for which a block waits
// once more, as soon as it needs it: behind its wait for the kernel before. It
// is less machine code behind that wait; wy_fast, whose factors lay behind a
// map, is no faster by it (11.7 us on an H200). Any order is sound, since each
// parameter says what is passed for it.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/KernelSignature.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Addresses.h"

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

/// Where `param` goes: maps to the end, others before the first of them.
static unsigned getPosition(gpu::GPUFuncOp kernel, ParamAttr param) {
  unsigned position = kernel.getNumArguments();
  if (param.getKind() == ParamKind::TensorMap)
    return position;
  auto isMap = [&](unsigned argument) {
    auto other = kernel.getArgAttrOfType<ParamAttr>(argument, kParamAttr);
    return other && other.getKind() == ParamKind::TensorMap;
  };
  while (position > 0 && isMap(position - 1))
    --position;
  return position;
}

Value KernelSignature::addParameter(ParamAttr param, Type type) {
  Value &value = parameters[param];
  if (value)
    return value;
  gpu::GPUFuncOp kernel = b.getKernel();
  unsigned position = getPosition(kernel, param);
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

/// The bytes from the first element to behind the last one, none if there is an
/// extent of zero.
static Value getBytes(TensorAtOp tensor, KernelSignature &signature,
                      IndexBuilder &b) {
  auto type = cast<MemRefType>(tensor.getType());
  OpBuilder &builder = b.builder;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, b.loc, value, 64);
  };
  Value one = number(1), zero = number(0), elements = one, isEmpty;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value extent = b.toI64(signature.getDim(tensor, dim));
    Value none = arith::CmpIOp::create(builder, b.loc,
                                       arith::CmpIPredicate::sle, extent, zero);
    isEmpty =
        isEmpty
            ? arith::OrIOp::create(builder, b.loc, isEmpty, none).getResult()
            : none;
    Value steps = arith::SubIOp::create(builder, b.loc, extent, one);
    Value reach = arith::MulIOp::create(builder, b.loc, steps,
                                        signature.getStride(tensor, dim));
    elements = arith::AddIOp::create(builder, b.loc, elements, reach);
  }
  Value bytes = arith::MulIOp::create(builder, b.loc, elements,
                                      number(getElementBytes(type)));
  return isEmpty ? arith::SelectOp::create(builder, b.loc, isEmpty, zero, bytes)
                       .getResult()
                 : bytes;
}

/// The pointer of a tensor at an address, made in front of it, and so before
/// all that touches it.
static Value getPointer(TensorAtOp tensor, KernelSignature &signature,
                        IndexBuilder &b) {
  if (auto made = dyn_cast_or_null<DevicePointerOp>(tensor->getPrevNode()))
    return made;
  OpBuilder::InsertionGuard saved(b.builder);
  b.builder.setInsertionPoint(tensor);
  auto type = LLVM::LLVMPointerType::get(b.builder.getContext(), kGlobalSpace);
  return DevicePointerOp::create(b.builder, tensor.getLoc(), type,
                                 tensor.getAddress(),
                                 getBytes(tensor, signature, b));
}

Value KernelSignature::getBase(Value buffer) {
  if (auto tensor = buffer.getDefiningOp<TensorAtOp>())
    return getPointer(tensor, *this, b);
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
  if (auto tensor = buffer.getDefiningOp<TensorAtOp>())
    return tensor.getExtents()[type.getDynamicDimIndex(dim)];
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

/// A stride that the type does not say: an operand, or the product of the
/// extents behind.
static Value getStrideAt(TensorAtOp tensor, int64_t dim,
                         KernelSignature &signature, IndexBuilder &b) {
  auto type = cast<MemRefType>(tensor.getType());
  if (!type.getLayout().isIdentity()) {
    SmallVector<int64_t> strides = getStrides(type);
    ArrayRef<int64_t> before = ArrayRef(strides).take_front(dim);
    return tensor.getStrides()[llvm::count_if(before, ShapedType::isDynamic)];
  }
  Value stride = arith::ConstantIntOp::create(b.builder, b.loc, 1, 64);
  for (int64_t behind = dim + 1; behind < type.getRank(); ++behind)
    stride = arith::MulIOp::create(b.builder, b.loc, stride,
                                   b.toI64(signature.getDim(tensor, behind)));
  return stride;
}

Value KernelSignature::getStride(Value buffer, int64_t dim) {
  int64_t stride = getStrides(cast<MemRefType>(buffer.getType()))[dim];
  if (!ShapedType::isDynamic(stride))
    return arith::ConstantIntOp::create(b.builder, b.loc, stride, 64);
  if (auto tensor = buffer.getDefiningOp<TensorAtOp>())
    return getStrideAt(tensor, dim, *this, b);
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
