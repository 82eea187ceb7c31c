//===- MaskAccesses.cpp - Many guarded accesses without branches ----------===//
//
// An access that may be out of bounds stands in a branch of its own. A thread
// with some hundred of them has a thousand blocks, and LLVM's passes take their
// time for blocks: of a fragment of 512 guarded elements more than half of the
// way to PTX. Where a kernel has many, they become masked accesses of LLVM's,
// which stand in one block and which `tl-emit-ptx` makes predicated
// instructions of:
//
//     if (p) { x = load a } else { x = 0 }   =>   x = masked load a, p, 0
//
// Few stay as they are: `ptxas` makes predicated instructions of them itself.
//
// Sound because a masked access touches no memory where its mask is off, and
// all lanes of a mask are the guard. What stands beside the access in its
// branch is done in any case then, so it has to be pure: it may give anything
// where the guard does not hold, but does not trap, and is not used. A guard
// with a second access, or that does something else where it does not hold,
// stays a branch.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tl;

/// Fewer guarded accesses of a kernel stay branches.
static constexpr size_t kManyGuards = 128;

/// True for an ordinary load or store of what a masked access can take.
template <typename Access>
static bool isPlain(Access access) {
  return access && !access.getVolatile_() && access.getAlignment() &&
         access.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

static bool isAccess(Operation *op) {
  return isPlain(dyn_cast<LLVM::LoadOp>(op)) ||
         isPlain(dyn_cast<LLVM::StoreOp>(op));
}

/// True if `guard` gives what `access` loads, and zero where it does not hold;
/// or nothing, and `access` stores.
static bool isAllOf(scf::IfOp guard, Operation *access) {
  if (guard.getNumResults() != access->getNumResults())
    return false;
  if (guard.getNumResults() == 0)
    return !guard.elseBlock() ||
           guard.elseBlock()->without_terminator().empty();
  Attribute other;
  Type type = guard.getResult(0).getType();
  return guard.thenYield().getOperand(0) == access->getResult(0) &&
         llvm::all_of(guard.elseBlock()->without_terminator(),
                      [](Operation &op) { return isPure(&op); }) &&
         matchPattern(guard.elseYield().getOperand(0), m_Constant(&other)) &&
         other == Builder(guard.getContext()).getZeroAttr(type);
}

/// The only access that `guard` stands for; null if it does more.
static Operation *findAccess(scf::IfOp guard) {
  Operation *access = nullptr;
  for (Operation &op : guard.thenBlock()->without_terminator()) {
    if (!access && isAccess(&op))
      access = &op;
    else if (!isPure(&op))
      return nullptr;
  }
  return access && isAllOf(guard, access) ? access : nullptr;
}

/// A vector of `type` for a scalar or a vector.
static Value toVector(OpBuilder &builder, Location loc, VectorType type,
                      Value value) {
  return value.getType() == type
             ? value
             : vector::BroadcastOp::create(builder, loc, type, value)
                   .getResult();
}

static VectorType getVectorType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector : VectorType::get({1}, type);
}

static void mask(scf::IfOp guard, Operation *access) {
  OpBuilder builder(guard);
  Location loc = access->getLoc();
  for (Operation &op :
       llvm::make_early_inc_range(guard.thenBlock()->without_terminator()))
    if (&op != access)
      op.moveBefore(guard);
  auto maskOf = [&](VectorType type) {
    return toVector(builder, loc, type.clone(builder.getI1Type()),
                    guard.getCondition());
  };
  if (auto store = dyn_cast<LLVM::StoreOp>(access)) {
    VectorType type = getVectorType(store.getValue().getType());
    LLVM::MaskedStoreOp::create(
        builder, loc, toVector(builder, loc, type, store.getValue()),
        store.getAddr(), maskOf(type), *store.getAlignment());
  } else {
    auto load = cast<LLVM::LoadOp>(access);
    VectorType type = getVectorType(load.getType());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    Value loaded = LLVM::MaskedLoadOp::create(
        builder, loc, type, load.getAddr(), maskOf(type), zero,
        builder.getI32IntegerAttr(*load.getAlignment()),
        /*nontemporal=*/nullptr);
    if (type != load.getType())
      loaded = vector::ExtractOp::create(builder, loc, loaded, 0);
    guard.getResult(0).replaceAllUsesWith(loaded);
  }
  guard.erase();
}

void tl::maskAccesses(Operation *root) {
  root->walk([](gpu::GPUFuncOp kernel) {
    SmallVector<std::pair<scf::IfOp, Operation *>> found;
    kernel.walk([&](scf::IfOp guard) {
      if (Operation *access = findAccess(guard))
        found.emplace_back(guard, access);
    });
    if (found.size() >= kManyGuards)
      for (auto [guard, access] : found)
        mask(guard, access);
  });
}
