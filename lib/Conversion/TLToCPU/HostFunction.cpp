//===- HostFunction.cpp - The function that runs a kernel's blocks --------===//
//
// A kernel's arguments are buffers and numbers; the host passes an array of
// pointers to plain values: addresses, extents, strides, scalars
// (docs/LaunchPlan.md). This file makes the one from the other, puts the loop
// over blocks around the body, and gives scratch memory its place.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "tl/Conversion/TLToCPU/Passes.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Addresses.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tl;
using namespace tl::cpu;

/// Scratch memory up to this size is on the stack, of which a thread has 8 MiB
/// on Linux.
static constexpr int64_t kMaxStackBytes = 1 << 20;

/// A cache line, and the widest vector.
static constexpr int64_t kScratchAlignment = 64;

namespace {
/// Reads the parameters of a host function and keeps the list that describes
/// them.
class ParameterReader {
public:
  ParameterReader(OpBuilder &builder, Location loc, Value parameters)
      : builder(builder), loc(loc), parameters(parameters),
        converter(builder.getContext()) {
    cpu::addMemorySpaces(converter);
  }

  /// The value of the kernel's argument `argument`.
  FailureOr<Value> read(BlockArgument argument);

  ArrayAttr getDescription() { return builder.getArrayAttr(description); }

private:
  Value readParameter(ParamKind kind, int64_t operand, int64_t index,
                      Type type);
  Value readIndex(ParamKind kind, int64_t operand, int64_t index);
  FailureOr<Value> readBuffer(BlockArgument argument, MemRefType type);
  Value readScalar(int64_t operand, Type type);

  OpBuilder &builder;
  Location loc;
  Value parameters;
  LLVMTypeConverter converter;
  SmallVector<Attribute> description;
};
} // namespace

/// Reads the next parameter, of the given type in the LLVM dialect.
Value ParameterReader::readParameter(ParamKind kind, int64_t operand,
                                     int64_t index, Type type) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto position = static_cast<int32_t>(description.size());
  Type described = kind == ParamKind::Scalar ? type : Type();
  description.push_back(ParamAttr::get(builder.getContext(), kind, operand,
                                       index, /*box=*/{}, /*swizzle=*/0,
                                       described));
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, parameters,
                                   LLVM::GEPArg(position));
  Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
  if (!type.isBF16())
    return LLVM::LoadOp::create(builder, loc, type, address);
  // LLVM knows only what it is stored in.
  Value bits =
      LLVM::LoadOp::create(builder, loc, builder.getI16Type(), address);
  return arith::BitcastOp::create(builder, loc, type, bits);
}

Value ParameterReader::readIndex(ParamKind kind, int64_t operand,
                                 int64_t index) {
  return readParameter(kind, operand, index, builder.getI64Type());
}

/// A buffer in device memory that begins at `base`, a pointer. `getExtent` and
/// `getStride` give what the type does not say, as 64-bit integers.
static Value makeTensor(OpBuilder &builder, Location loc,
                        const LLVMTypeConverter &converter, MemRefType type,
                        Value base,
                        llvm::function_ref<Value(int64_t dim)> getExtent,
                        llvm::function_ref<Value(int64_t dim)> getStride) {
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), value);
  };
  // The base is the address of the first element, offset included.
  SmallVector<Value> fields{base, base, constant(0)};
  SmallVector<Value> extents;
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    extents.push_back(ShapedType::isDynamic(extent) ? getExtent(dim)
                                                    : constant(extent));
  llvm::append_range(fields, extents);

  // Strides of a row-major buffer follow from its extents.
  SmallVector<int64_t> strides = getStrides(type);
  SmallVector<Value> steps(type.getRank());
  bool isRowMajor = type.getLayout().isIdentity();
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (!ShapedType::isDynamic(strides[dim]))
      steps[dim] = constant(strides[dim]);
    else if (isRowMajor)
      steps[dim] =
          LLVM::MulOp::create(builder, loc, steps[dim + 1], extents[dim + 1]);
    else
      steps[dim] = getStride(dim);
  }
  llvm::append_range(fields, steps);
  Value descriptor =
      MemRefDescriptor::pack(builder, loc, converter, type, fields);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

FailureOr<Value> ParameterReader::readBuffer(BlockArgument argument,
                                             MemRefType type) {
  int64_t operand = argument.getArgNumber();
  if (!type.isStrided())
    return emitError(argument.getLoc(), "argument ")
           << operand << " of type " << type
           << " has no strides; kernels take strided buffers";
  Value base = readParameter(ParamKind::Base, operand, 0,
                             LLVM::LLVMPointerType::get(builder.getContext()));
  return makeTensor(
      builder, loc, converter, type, base,
      [&](int64_t dim) { return readIndex(ParamKind::Dim, operand, dim); },
      [&](int64_t dim) { return readIndex(ParamKind::Stride, operand, dim); });
}

/// Makes buffers of the tensors at addresses.
static void placeTensors(gpu::GPUFuncOp kernel) {
  LLVMTypeConverter converter(kernel.getContext());
  cpu::addMemorySpaces(converter);
  SmallVector<TensorAtOp> tensors;
  kernel.walk([&](TensorAtOp tensor) { tensors.push_back(tensor); });
  for (TensorAtOp tensor : tensors) {
    OpBuilder builder(tensor);
    Location loc = tensor.getLoc();
    auto type = cast<MemRefType>(tensor.getType());
    Value base = LLVM::IntToPtrOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        tensor.getAddress());
    auto getExtent = [&](int64_t dim) -> Value {
      return arith::IndexCastOp::create(
          builder, loc, builder.getI64Type(),
          tensor.getExtents()[type.getDynamicDimIndex(dim)]);
    };
    auto getStride = [&](int64_t dim) -> Value {
      SmallVector<int64_t> strides = getStrides(type);
      ArrayRef<int64_t> before = ArrayRef(strides).take_front(dim);
      return tensor.getStrides()[llvm::count_if(before, ShapedType::isDynamic)];
    };
    tensor.replaceAllUsesWith(
        makeTensor(builder, loc, converter, type, base, getExtent, getStride));
    tensor.erase();
  }
}

Value ParameterReader::readScalar(int64_t operand, Type type) {
  if (type.isIndex()) {
    Value value =
        readParameter(ParamKind::Scalar, operand, 0, builder.getI64Type());
    // Coordinates have 32 bits.
    value = arith::TruncIOp::create(builder, loc, builder.getI32Type(), value);
    return arith::IndexCastOp::create(builder, loc, type, value);
  }
  return readParameter(ParamKind::Scalar, operand, 0, type);
}

FailureOr<Value> ParameterReader::read(BlockArgument argument) {
  if (auto type = dyn_cast<MemRefType>(argument.getType()))
    return readBuffer(argument, type);
  if (!argument.getType().isIntOrIndexOrFloat())
    return emitError(argument.getLoc(), "argument ")
           << argument.getArgNumber() << " of type " << argument.getType()
           << " cannot be passed to a kernel on `cpu`";
  return readScalar(argument.getArgNumber(), argument.getType());
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

static int64_t sizeInBytes(MemRefType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

/// Replaces the allocations in `kernel` by memory made at `start` and freed, if
/// need be, at `end`. Every block reuses it.
static void placeScratch(gpu::GPUFuncOp kernel, OpBuilder &start,
                         OpBuilder &end) {
  SmallVector<AllocOp> allocs;
  int64_t total = 0;
  kernel.walk([&](AllocOp alloc) {
    allocs.push_back(alloc);
    total += sizeInBytes(cast<MemRefType>(alloc.getType()));
  });
  for (AllocOp alloc : allocs) {
    Location loc = alloc.getLoc();
    auto type = cast<MemRefType>(alloc.getType());
    IntegerAttr alignment = start.getI64IntegerAttr(kScratchAlignment);
    Value memory;
    if (total <= kMaxStackBytes) {
      memory = memref::AllocaOp::create(start, loc, type, alignment);
    } else {
      memory = memref::AllocOp::create(start, loc, type, alignment);
      memref::DeallocOp::create(end, loc, memory);
    }
    alloc.replaceAllUsesWith(memory);
    alloc.erase();
  }
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Declares `void k(void *const *params, i64 begin, i64 end, i64 gridX,
/// i64 gridY)`.
static func::FuncOp declareFunction(gpu::GPUFuncOp kernel, OpBuilder &builder) {
  Type i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = builder.getFunctionType({pointer, i64, i64, i64, i64}, {});
  auto function =
      func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(), type);
  if (std::optional<ArrayRef<int32_t>> block = kernel.getKnownBlockSize())
    function->setAttr(kHostBlockAttr,
                      builder.getDenseI64ArrayAttr(
                          SmallVector<int64_t>(block->begin(), block->end())));
  return function;
}

/// Replaces block coordinates, and the grid extents that the host tells, in the
/// body of `loop`, which runs over linear block indices. Where the body
/// executes several blocks these are numbered one after the other, and the
/// coordinates are those of the first.
static LogicalResult replaceCoordinates(scf::ForOp loop, Value gridX,
                                        Value gridY, ArrayRef<int64_t> blocks) {
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  Location loc = loop.getLoc();
  auto divide = [&](Value value, int64_t by) -> Value {
    if (by == 1)
      return value;
    return arith::DivUIOp::create(
        builder, loc, value, arith::ConstantIndexOp::create(builder, loc, by));
  };
  Value group = divide(loop.getInductionVar(), llvm::product_of(blocks));
  Value groupsX = divide(gridX, blocks[0]), groupsY = divide(gridY, blocks[1]);
  Value rest = arith::DivUIOp::create(builder, loc, group, groupsX);
  Value coordinates[] = {arith::RemUIOp::create(builder, loc, group, groupsX),
                         arith::RemUIOp::create(builder, loc, rest, groupsY),
                         arith::DivUIOp::create(builder, loc, rest, groupsY)};
  for (auto [coordinate, extent] : llvm::zip(coordinates, blocks))
    if (extent != 1)
      coordinate = arith::MulIOp::create(
          builder, loc, coordinate,
          arith::ConstantIndexOp::create(builder, loc, extent));
  Value extents[] = {gridX, gridY};
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    if (auto block = dyn_cast<gpu::BlockIdOp>(op)) {
      block.replaceAllUsesWith(
          coordinates[static_cast<unsigned>(block.getDimension())]);
      block.erase();
    } else if (auto grid = dyn_cast<gpu::GridDimOp>(op)) {
      if (grid.getDimension() == gpu::Dimension::z) {
        grid.emitOpError("of `z` is not known on `cpu`; pass the extent as an "
                         "argument");
        return WalkResult::interrupt();
      }
      grid.replaceAllUsesWith(
          extents[static_cast<unsigned>(grid.getDimension())]);
      grid.erase();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Slots are resolved where they are used.
static void eraseSlots(gpu::GPUFuncOp kernel) {
  SmallVector<SlotOp> slots;
  kernel.walk([&](SlotOp slot) { slots.push_back(slot); });
  for (SlotOp slot : llvm::reverse(slots))
    slot.erase();
}

LogicalResult cpu::makeHostFunction(gpu::GPUFuncOp kernel,
                                    std::array<int64_t, 3> blocks) {
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  func::FuncOp function = declareFunction(kernel, builder);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  Block &body = kernel.getBody().front();
  ParameterReader reader(builder, loc, entry->getArgument(0));
  for (BlockArgument argument : kernel.getArguments()) {
    if (argument.use_empty())
      continue;
    FailureOr<Value> value = reader.read(argument);
    if (failed(value))
      return failure();
    argument.replaceAllUsesWith(*value);
  }
  function->setAttr(kHostParamsAttr, reader.getDescription());

  auto bound = [&](unsigned argument) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      entry->getArgument(argument));
  };
  Value begin = bound(1), end = bound(2), gridX = bound(3), gridY = bound(4);
  Value step =
      arith::ConstantIndexOp::create(builder, loc, llvm::product_of(blocks));
  auto loop = scf::ForOp::create(builder, loc, begin, end, step);
  auto exit = func::ReturnOp::create(builder, loc);

  eraseSlots(kernel);
  placeTensors(kernel);
  OpBuilder beforeLoop(loop), beforeExit(exit);
  placeScratch(kernel, beforeLoop, beforeExit);
  body.getTerminator()->erase();
  loop.getBody()->getOperations().splice(loop.getBody()->begin(),
                                         body.getOperations());
  if (failed(replaceCoordinates(loop, gridX, gridY, blocks)))
    return failure();
  kernel.erase();
  return success();
}
