//===- ThreadLowering.cpp - What lowerings to threads share ---------------===//
//
// Puts the parts together, and keeps fragments: each is a slot, one vector of
// the values that a thread has. A fragment that no thread has the registers for
// is memory of its own instead, which loops walk over: written out, thousands
// of values that are all live at once take minutes to compile, and are in
// memory in the end.
//
// Sound because where a fragment lies is decided once, before anything touches
// it, and all accesses of one in memory go there: `readFragment` and
// `writeFragment` do.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

/// A fragment is in registers up to twice of what a thread can have.
static constexpr int64_t kMostRegisters = 512;
static constexpr int64_t kRegisterBits = 32;

/// So many operations on a fragment in registers are written out at most, in
/// all loops that go through it. NVRTC takes some ten seconds for about as
/// many, and its time grows with the square.
static constexpr int64_t kMostOperations = 32768;

/// What a product of a gemm without matrix instructions counts as: two factors
/// that are loaded and converted, and a sum. Where a thread's elements are not
/// all there, each load stands in a branch, for which NVRTC takes as long as
/// for many operations: eight such gemms of 96 elements take it 12 s.
static constexpr int64_t kProductOperations = 8, kPaddedProductOperations = 40;

/// What an integer division in a branch counts as: forty instructions or so,
/// and the branch stays one in CUDA C++. A kernel with one of 304 elements,
/// beside other statements on them, took ptxas a minute.
static constexpr int64_t kBranchedDivisionOperations = 96;

ThreadLowering::ThreadLowering(gpu::GPUFuncOp kernel, const Target &target,
                               bool tellsIterations)
    : IndexBuilder(kernel), target(target), tellsIterations(tellsIterations),
      scope(&getScope(getThreads(kernel))), signature(*this), shared(*this) {}

ThreadScope &ThreadLowering::getScope(const ThreadRange &range) {
  for (const std::unique_ptr<ThreadScope> &known : scopes)
    if (known->getRange() == range)
      return *known;
  scopes.push_back(std::make_unique<ThreadScope>(*this, range));
  // At the very start of the kernel, where readers look for it.
  scopes.back()->getThread();
  return *scopes.back();
}

void ThreadLowering::enter(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  scope = &getScope(getThreads(op));
}

void ThreadLowering::erase(Operation *op) {
  op->walk([&](Operation *inner) {
    if (isa<AllocOp, SlotOp>(inner))
      privates.erase(inner->getResult(0));
  });
  op->erase();
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

/// True if a matrix instruction reads `fragment` or adds to it.
static bool isMatrixOperand(Value fragment) {
  return llvm::any_of(fragment.getUsers(), [](Operation *user) {
    auto gemm = dyn_cast<GemmOp>(user);
    return gemm && gemm.getPlan()->getInstruction() != Instruction::FMA;
  });
}

/// True for a division of integers by what is no constant, in a branch.
static bool isBranchedDivision(Operation *op) {
  auto branch = op->getParentOfType<scf::IfOp>();
  return branch && branch->getParentOfType<ParallelOp>() &&
         isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivSIOp,
             arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp>(op) &&
         !matchPattern(op->getOperand(1), m_Constant());
}

/// How many operations the loops through `fragment`, and the gemms that add to
/// it, are if each of `count` elements that a thread has is written out.
static int64_t countOperations(Value fragment, const FragmentLayout &layout,
                               int64_t count) {
  bool isPadded =
      layout.getShape() != cast<MemRefType>(fragment.getType()).getShape();
  SmallPtrSet<Operation *, 8> loops;
  int64_t operations = 0;
  for (Operation *user : fragment.getUsers())
    if (auto gemm = dyn_cast<GemmOp>(user))
      operations += gemm.getAcc() != fragment ? 0
                    : isPadded                ? kPaddedProductOperations
                                              : kProductOperations;
    else if (auto loop = user->getParentOfType<ParallelOp>())
      loops.insert(loop);
  for (Operation *loop : loops)
    loop->walk([&](Operation *op) {
      if (!op->hasTrait<OpTrait::ConstantLike>())
        operations += isBranchedDivision(op) ? kBranchedDivisionOperations : 1;
    });
  return operations * count;
}

Value ThreadLowering::getFragmentMemory(Value fragment) {
  auto [place, isNew] = fragmentMemory.try_emplace(fragment);
  if (!isNew)
    return place->second;
  VectorType type = getRegisterType(fragment);
  int64_t count = type.getNumElements();
  int64_t bits =
      std::max<int64_t>(type.getElementTypeBitWidth(), kRegisterBits);
  bool isPicked = llvm::any_of(fragment.getUsers(), [&](Operation *user) {
    return picksFromRow(user, fragment);
  });
  if ((isPicked || count * bits > kMostRegisters * kRegisterBits ||
       countOperations(fragment, getLayout(fragment), count) >
           kMostOperations) &&
      !isMatrixOperand(fragment))
    place->second =
        createPrivate(fragment.getLoc(), type.getElementType(), count);
  return place->second;
}

Value ThreadLowering::readFragment(Value fragment) {
  if (Value memory = getFragmentMemory(fragment))
    return loadElements(memory, getRegisterType(fragment));
  return memref::LoadOp::create(builder, loc, getFragmentSlot(fragment));
}

void ThreadLowering::writeFragment(Value fragment, Value values) {
  if (Value memory = getFragmentMemory(fragment))
    return storeElements(memory, values);
  memref::StoreOp::create(builder, loc, values, getFragmentSlot(fragment));
}

/// Registers are of 32 or 64 bits; what is narrower travels as i32.
Value ThreadLowering::shuffle(Value value, Value lane, gpu::ShuffleMode mode) {
  constexpr int64_t warp = 32;
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isNarrow = bits < 32, isFloat = isa<FloatType>(type);
  Type word = builder.getIntegerType(bits);
  if (isNarrow && isFloat)
    value = arith::BitcastOp::create(builder, loc, word, value);
  if (isNarrow)
    value = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  value = gpu::ShuffleOp::create(builder, loc, value, lane, i32(warp), mode)
              .getShuffleResult();
  if (isNarrow)
    value = arith::TruncIOp::create(builder, loc, word, value);
  if (isNarrow && isFloat)
    value = arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

MmaKind tl::getMmaKind(Type type) {
  if (type.isF16())
    return MmaKind::F16;
  if (type.isBF16())
    return MmaKind::BF16;
  if (type.isF32())
    return MmaKind::TF32;
  if (isa<Float8E4M3FNType>(type))
    return MmaKind::E4M3;
  if (isa<Float8E5M2Type>(type))
    return MmaKind::E5M2;
  return MmaKind::S8;
}
