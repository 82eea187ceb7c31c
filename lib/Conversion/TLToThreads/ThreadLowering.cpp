//===- ThreadLowering.cpp - What lowerings to threads share ---------------===//
//
// See ThreadLowering.h. Ops that do not depend on where they stand (thread
// numbers, parameters) are put at the start of the kernel; everything else goes
// where the tile op was.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::ThreadStep;

static constexpr int64_t kWarp = 32;
/// Coordinates fit 32 bits. Saying so lets LLVM move constants out of the
/// extension to 64 bits, into the offsets of loads and stores.
static constexpr arith::IntegerOverflowFlags kNoOverflow =
    arith::IntegerOverflowFlags::nsw;
static constexpr unsigned kGlobalSpace = 1;
static constexpr unsigned kSharedSpace = 3;

ThreadLowering::ThreadLowering(gpu::GPUFuncOp kernel, const Target &target)
    : builder(kernel.getContext()), loc(kernel.getLoc()), kernel(kernel),
      target(target), numThreads(tl::getNumThreads(kernel)),
      numOriginal(kernel.getNumArguments()) {
  builder.setInsertionPointToStart(&kernel.getBody().front());
  ArrayRef<int32_t> extents = *kernel.getKnownBlockSize();
  static constexpr gpu::Dimension dimensions[] = {
      gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z};
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  int64_t stride = 1;
  for (size_t d = 1; d < extents.size(); ++d) {
    stride *= extents[d - 1];
    if (extents[d] > 1)
      thread =
          add(thread, mul(gpu::ThreadIdOp::create(builder, loc, dimensions[d]),
                          stride));
  }
  entryEnd = thread.getDefiningOp();

  for (unsigned i = 0; i < numOriginal; ++i) {
    BlockArgument argument = kernel.getArgument(i);
    Type type = argument.getType();
    if (isa<MemRefType>(type))
      continue;
    Type passed = type.isIndex() ? builder.getI32Type() : type;
    auto param = ParamAttr::get(builder.getContext(), ParamKind::Scalar, i, 0,
                                {}, 0, passed);
    Value value = addParameter(param, passed);
    if (type.isIndex())
      value = atEntry([&]() -> Value {
        return arith::IndexCastOp::create(builder, loc, type, value);
      });
    argument.replaceAllUsesWith(value);
  }
}

/// Builds something at the end of what stands at the kernel's start.
Value ThreadLowering::atEntry(function_ref<Value()> make) {
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointAfter(entryEnd);
  Value value = make();
  if (Operation *op = value.getDefiningOp();
      op && op->getBlock() == entryEnd->getBlock() &&
      entryEnd->isBeforeInBlock(op))
    entryEnd = op;
  return value;
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

/// The value of a constant index.
static std::optional<int64_t> asConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

void ThreadLowering::erase(Operation *op) {
  op->walk([&](Operation *inner) {
    if (isa<AllocOp, SlotOp>(inner))
      privates.erase(inner->getResult(0));
  });
  op->erase();
}

Value ThreadLowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ThreadLowering::add(Value a, Value b) {
  std::optional<int64_t> x = asConstant(a), y = asConstant(b);
  if (x && y)
    return index(*x + *y);
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  return arith::AddIOp::create(builder, loc, a, b, kNoOverflow);
}

Value ThreadLowering::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}

Value ThreadLowering::mul(Value a, Value b) {
  std::optional<int64_t> x = asConstant(a), y = asConstant(b);
  if (x && y)
    return index(*x * *y);
  if (x == 0 || y == 0)
    return index(0);
  if (x == 1)
    return b;
  if (y == 1)
    return a;
  return arith::MulIOp::create(builder, loc, a, b, kNoOverflow);
}

Value ThreadLowering::mul(Value a, int64_t b) {
  return b == 1 ? a : mul(a, index(b));
}

Value ThreadLowering::div(Value a, int64_t b) {
  if (b == 1)
    return a;
  if (std::optional<int64_t> x = asConstant(a))
    return index(*x / b);
  return arith::DivUIOp::create(builder, loc, a, index(b));
}

Value ThreadLowering::rem(Value a, int64_t b) {
  if (b == 1)
    return index(0);
  if (std::optional<int64_t> x = asConstant(a))
    return index(*x % b);
  return arith::RemUIOp::create(builder, loc, a, index(b));
}

Value ThreadLowering::i32(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value ThreadLowering::toI32(Value index) {
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI32Type(),
                                                  index);
}

Value ThreadLowering::toI64(Value index) {
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(),
                                                  index);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Gives `value` a name for those who read the generated code.
static Value named(Value value, StringRef name) {
  if (Operation *op = value.getDefiningOp())
    op->setLoc(
        NameLoc::get(StringAttr::get(value.getContext(), name), op->getLoc()));
  return value;
}

Value ThreadLowering::getLane() {
  if (!lane)
    lane = atEntry([&] { return named(rem(thread, kWarp), "lane"); });
  return lane;
}

Value ThreadLowering::getWarp() {
  if (!warp)
    // All lanes take the number of lane 0, so that the compiler knows it to be
    // the same in the whole warp.
    warp = atEntry([&]() -> Value {
      Value own = toI32(div(thread, kWarp));
      auto shuffle = gpu::ShuffleOp::create(builder, loc, own, i32(0),
                                            i32(kWarp), gpu::ShuffleMode::IDX);
      named(shuffle.getShuffleResult(), "warp");
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        shuffle.getShuffleResult());
    });
  return warp;
}

Value ThreadLowering::isFirstThread() {
  if (!first)
    first = atEntry([&]() -> Value {
      Value zero = index(0);
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   thread, zero);
    });
  return first;
}

Value ThreadLowering::sumSteps(ArrayRef<ThreadStep> steps) {
  Value sum = index(0);
  for (const ThreadStep &step : steps) {
    Value digit = div(thread, step.divisor);
    if (step.divisor * step.extent < numThreads)
      digit = rem(digit, step.extent);
    sum = add(sum, mul(digit, step.step));
  }
  return sum;
}

Value ThreadLowering::getThreadOffset(const FragmentLayout &layout,
                                      int64_t dim) {
  return sumSteps(layout.threadSteps(dim));
}

/// The digits of the thread's number that tell copies of the same values apart.
static SmallVector<ThreadStep> getCopySteps(const FragmentLayout &layout) {
  SmallVector<ThreadStep> steps;
  int64_t divisor = 1;
  for (layout::FragmentMode mode : layout.getThreadModes()) {
    if (mode.stride == 0)
      steps.push_back({divisor, mode.extent, 1});
    divisor *= mode.extent;
  }
  return steps;
}

bool ThreadLowering::hasCopies(const FragmentLayout &layout) const {
  return layout.numCopies() > 1 || layout.numThreads() < numThreads;
}

Value ThreadLowering::isFirstCopy(const FragmentLayout &layout) {
  Value isFirst;
  auto require = [&](arith::CmpIPredicate predicate, Value value,
                     int64_t bound) {
    Value holds =
        arith::CmpIOp::create(builder, loc, predicate, value, index(bound));
    isFirst =
        isFirst
            ? arith::AndIOp::create(builder, loc, isFirst, holds).getResult()
            : holds;
  };
  if (layout.numThreads() < numThreads)
    require(arith::CmpIPredicate::ult, thread, layout.numThreads());
  for (ThreadStep step : getCopySteps(layout)) {
    if (step.divisor * step.extent >= numThreads)
      require(arith::CmpIPredicate::ult, thread, step.divisor);
    else
      require(arith::CmpIPredicate::eq,
              rem(div(thread, step.divisor), step.extent), 0);
  }
  return isFirst;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

FragmentLayout ThreadLowering::getLayout(Value fragment) {
  auto alloc = fragment.getDefiningOp<AllocOp>();
  return toLayout(cast<FragmentLayoutAttr>(alloc.getLayoutAttr()));
}

VectorType ThreadLowering::getRegisterType(Value fragment) {
  Type element = cast<MemRefType>(fragment.getType()).getElementType();
  return VectorType::get({getLayout(fragment).numValues()}, element);
}

Value ThreadLowering::createSlot(Location place, VectorType type) {
  return atEntry([&]() -> Value {
    return memref::AllocaOp::create(builder, place, MemRefType::get({}, type));
  });
}

Value ThreadLowering::getFragmentSlot(Value fragment) {
  Value &slot = slots[fragment];
  if (!slot)
    slot = createSlot(fragment.getLoc(), getRegisterType(fragment));
  return slot;
}

Value ThreadLowering::readFragment(Value fragment) {
  return memref::LoadOp::create(builder, loc, getFragmentSlot(fragment));
}

void ThreadLowering::writeFragment(Value fragment, Value values) {
  memref::StoreOp::create(builder, loc, values, getFragmentSlot(fragment));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value ThreadLowering::addParameter(ParamAttr param, Type type) {
  Value &value = parameters[param];
  if (value)
    return value;
  unsigned position = kernel.getNumArguments();
  auto attrs =
      builder.getDictionaryAttr(builder.getNamedAttr(kParamAttr, param));
  Location place = kernel.getArgument(param.getOperand()).getLoc();
  (void)kernel.insertArgument(position, type, attrs, place);
  return value = kernel.getArgument(position);
}

Value ThreadLowering::getBase(Value buffer) {
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  auto param = ParamAttr::get(builder.getContext(), ParamKind::Base, operand, 0,
                              {}, 0, Type());
  Value base = addParameter(
      param, LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace));
  // Code generators join accesses as far as the base allows; no access is wider
  // than 16 bytes.
  kernel.setArgAttr(
      cast<BlockArgument>(base).getArgNumber(), kAlignAttr,
      builder.getI64IntegerAttr(std::min<int64_t>(getAlignment(buffer), 16)));
  return base;
}

Value ThreadLowering::getDim(Value buffer, int64_t dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  auto param = ParamAttr::get(builder.getContext(), ParamKind::Dim, operand,
                              dim, {}, 0, Type());
  Value passed = addParameter(param, builder.getI64Type());
  Value &extent = parameterIndices[param];
  if (!extent)
    extent = atEntry([&]() -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        passed);
    });
  return extent;
}

Value ThreadLowering::getStride(Value buffer, int64_t dim) {
  int64_t stride = getStrides(cast<MemRefType>(buffer.getType()))[dim];
  if (!ShapedType::isDynamic(stride))
    return arith::ConstantIntOp::create(builder, loc, stride, 64);
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  auto param = ParamAttr::get(builder.getContext(), ParamKind::Stride, operand,
                              dim, {}, 0, Type());
  return addParameter(param, builder.getI64Type());
}

Value ThreadLowering::getTensorMap(Value buffer, ArrayRef<int64_t> box,
                                   int64_t swizzle, Type type) {
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  auto param = ParamAttr::get(builder.getContext(), ParamKind::TensorMap,
                              operand, 0, box, swizzle, type);
  return addParameter(param, LLVM::LLVMPointerType::get(builder.getContext()));
}

void ThreadLowering::finishSignature() {
  llvm::BitVector original(kernel.getNumArguments());
  original.set(0, numOriginal);
  [[maybe_unused]] LogicalResult erased = kernel.eraseArguments(original);
  assert(succeeded(erased) && "tile-level arguments have no uses left");
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Type tl::getStorageType(Type element) {
  bool isByte =
      element.isInteger(1) || isa<Float8E4M3FNType, Float8E5M2Type>(element);
  return isByte ? IntegerType::get(element.getContext(), 8) : element;
}

static int64_t getBytes(Type element) {
  return getStorageType(element).getIntOrFloatBitWidth() / 8;
}

Value ThreadLowering::getSharedBase() {
  if (!sharedBase)
    sharedBase = atEntry([&]() -> Value {
      return SharedBaseOp::create(
          builder, loc,
          LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace));
    });
  return sharedBase;
}

Value ThreadLowering::getSharedOffset(Value view) {
  Value offset = index(0);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    int64_t bytes = getSharedLayout(slot.getView()).getSlotBytes();
    offset = add(offset, mul(slot.getIndex(), bytes));
    view = slot.getSource();
  }
  auto alloc = view.getDefiningOp<AllocOp>();
  return add(offset, *alloc.getOffset());
}

/// Address of byte `offset` of the arena.
static Value offsetAddress(ThreadLowering &lowering, Value offset) {
  OpBuilder &b = lowering.builder;
  Value base = lowering.getSharedBase();
  return LLVM::GEPOp::create(b, lowering.loc, base.getType(), b.getI8Type(),
                             base,
                             ArrayRef<LLVM::GEPArg>(lowering.toI32(offset)));
}

Value ThreadLowering::getSharedAddress(Value view, ValueRange indices) {
  layout::SharedLayout layout = getSharedLayout(view);
  Value offset = index(0);
  for (const layout::SharedLayout::Term &term : layout.getTerms()) {
    Value digit = div(indices[term.dim], term.divisor);
    if (term.extent)
      digit = rem(digit, term.extent);
    offset = add(offset, mul(digit, term.bytes));
  }
  // The swizzle: 16-byte units move by the number of their 128-byte line.
  if (int64_t bits = layout.getSwizzleMask()) {
    Value line = div(offset, 8);
    Value flip = arith::AndIOp::create(builder, loc, line, index(bits));
    offset = arith::XOrIOp::create(builder, loc, offset, flip);
  }
  return offsetAddress(*this, add(offset, getSharedOffset(view)));
}

Value ThreadLowering::getBarrierAddress(Value barriers, Value index) {
  auto alloc = barriers.getDefiningOp<AllocBarriersOp>();
  return offsetAddress(*this, add(mul(index, 8), *alloc.getOffset()));
}

Value ThreadLowering::getGlobalAddress(Value buffer, ValueRange indices) {
  Value base = getBase(buffer);
  Value offset;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (asConstant(index) == 0)
      continue;
    // Offsets into device memory exceed 32 bits.
    Value term =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    if (getStrides(cast<MemRefType>(buffer.getType()))[dim] != 1)
      term = arith::MulIOp::create(builder, loc, term, getStride(buffer, dim));
    offset = offset
                 ? arith::AddIOp::create(builder, loc, offset, term).getResult()
                 : term;
  }
  if (!offset)
    return base;
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  return LLVM::GEPOp::create(builder, loc, base.getType(),
                             getStorageType(element), base,
                             ArrayRef<LLVM::GEPArg>(offset));
}

Value ThreadLowering::createPrivate(Location place, Type element,
                                    int64_t count) {
  return atEntry([&]() -> Value {
    return LLVM::AllocaOp::create(
        builder, place, LLVM::LLVMPointerType::get(builder.getContext()),
        getStorageType(element), i32(count));
  });
}

Value ThreadLowering::getPrivateAddress(Value view, ValueRange indices) {
  Value offset = index(0);
  for (auto [dim, position] : llvm::enumerate(indices))
    offset = add(mul(offset, cast<MemRefType>(view.getType()).getDimSize(dim)),
                 position);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    int64_t elements =
        cast<MemRefType>(slot.getView().getType()).getNumElements();
    offset = add(offset, mul(slot.getIndex(), elements));
    view = slot.getSource();
  }
  auto type = cast<MemRefType>(view.getType());
  Value &base = privates[view];
  if (!base)
    base = createPrivate(view.getLoc(), type.getElementType(),
                         type.getNumElements());
  return LLVM::GEPOp::create(builder, loc, base.getType(),
                             getStorageType(type.getElementType()), base,
                             ArrayRef<LLVM::GEPArg>(toI32(offset)));
}

void ThreadLowering::fillPrivate(Value buffer, Value value) {
  auto type = cast<MemRefType>(buffer.getType());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> indices(type.getRank());
    int64_t rest = i;
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      indices[d] = index(rest % type.getDimSize(d));
      rest /= type.getDimSize(d);
    }
    store(value, buffer, indices, Value());
  }
}

Value ThreadLowering::getAddress(Value buffer, ValueRange indices) {
  switch (*getSpace(cast<MemRefType>(buffer.getType()))) {
  case Space::Global:
    return getGlobalAddress(buffer, indices);
  case Space::Shared:
    return getSharedAddress(buffer, indices);
  case Space::Private:
    return getPrivateAddress(buffer, indices);
  case Space::Fragment:
    break;
  }
  llvm_unreachable("fragments have no addresses");
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

int64_t ThreadLowering::getAccessWidth(Value buffer, ValueRange indices,
                                       int64_t limit) {
  auto type = cast<MemRefType>(buffer.getType());
  std::optional<Space> space = getSpace(type);
  if (indices.empty() || space == Space::Private)
    return 1;
  int64_t bytes = getBytes(type.getElementType());
  SmallVector<int64_t> strides;
  if (space == Space::Global)
    strides = getStrides(type);
  auto fits = [&](int64_t width) {
    if (width * bytes > 16 || getDivisor(indices.back()) % width != 0)
      return false;
    if (space == Space::Shared)
      return getSharedLayout(buffer).getChunk() % width == 0;
    // A vector lies inside a row, or outside, as a whole.
    if (strides.back() != 1 || type.getShape().back() % width != 0 ||
        ShapedType::isDynamic(type.getShape().back()) ||
        getAlignment(buffer) % (width * bytes) != 0)
      return false;
    for (auto [stride, index] :
         llvm::zip(ArrayRef(strides).drop_back(), indices.drop_back())) {
      int64_t divisor = getDivisor(index);
      if (divisor == 0)
        continue;
      if (ShapedType::isDynamic(stride) || stride % width != 0)
        return false;
    }
    return true;
  };
  int64_t width = limit;
  while (width > 1 && !fits(width))
    width /= 2;
  return width;
}

Value ThreadLowering::getInBounds(Value buffer, ValueRange indices) {
  if (!isInSpace(buffer, Space::Global))
    return nullptr;
  auto type = cast<MemRefType>(buffer.getType());
  Value inside;
  for (auto [dim, position] : llvm::enumerate(indices)) {
    std::optional<int64_t> constant = asConstant(position);
    if (constant && !type.isDynamicDim(dim) && *constant >= 0 &&
        *constant < type.getDimSize(dim))
      continue;
    // Unsigned, so that negative positions are outside too.
    Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        position, getDim(buffer, dim));
    inside =
        inside ? arith::AndIOp::create(builder, loc, inside, below).getResult()
               : below;
  }
  return inside;
}

static unsigned getAccessAlignment(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * getBytes(vector.getElementType());
  return getBytes(type);
}

/// `type`, a scalar or a vector, as it is in memory.
static Type toStorage(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(getStorageType(vector.getElementType()));
  return getStorageType(type);
}

/// What was read of memory as a value of `type`.
static Value fromStorage(OpBuilder &builder, Location loc, Value value,
                         Type type) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return arith::BitcastOp::create(builder, loc, type, value);
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

Value ThreadLowering::loadFrom(Value address, Type type) {
  Type storage = toStorage(type);
  Value value = LLVM::LoadOp::create(builder, loc, storage, address,
                                     getAccessAlignment(storage));
  return fromStorage(builder, loc, value, type);
}

void ThreadLowering::storeTo(Value address, Value value) {
  Type storage = toStorage(value.getType());
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
      storage != value.getType())
    value = arith::BitcastOp::create(builder, loc, storage, value);
  else if (storage != value.getType())
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  LLVM::StoreOp::create(builder, loc, value, address,
                        getAccessAlignment(storage));
}

Value ThreadLowering::load(Value buffer, ValueRange indices, int64_t width,
                           Value guard) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Type type = width == 1 ? element : VectorType::get({width}, element);
  if (!guard)
    return loadFrom(getAddress(buffer, indices), type);
  Type storage = toStorage(type);
  auto guarded = scf::IfOp::create(builder, loc, TypeRange(storage), guard,
                                   /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    scf::YieldOp::create(builder, loc,
                         loadFrom(getAddress(buffer, indices), storage));
    builder.setInsertionPointToStart(guarded.elseBlock());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(storage));
    scf::YieldOp::create(builder, loc, zero);
  }
  return fromStorage(builder, loc, guarded.getResult(0), type);
}

void ThreadLowering::store(Value value, Value buffer, ValueRange indices,
                           Value guard) {
  OpBuilder::InsertionGuard saved(builder);
  if (guard) {
    auto guarded = scf::IfOp::create(builder, loc, guard);
    builder.setInsertionPointToStart(guarded.thenBlock());
  }
  storeTo(getAddress(buffer, indices), value);
}

MmaKind tl::getMmaKind(Type type) {
  if (type.isF16())
    return MmaKind::F16;
  if (type.isBF16())
    return MmaKind::BF16;
  if (type.isF32())
    return MmaKind::TF32;
  return MmaKind::S8;
}
