//===- LowerAtomics.cpp - Atomic operations on a CPU ----------------------===//
//
// Blocks run on several threads of the host, and meet in device memory alone:
// there an atomic operation is one of the processor. A block runs on one
// thread, so that for on-chip memory a read and a write are enough.
//
// The processor has no operations on floats. They are computed until nobody
// came between, and words are compared as bits, as on a GPU
// (Conversion/TLToThreads/Atomics.cpp).
//
// A loop whose condition acquires waits for another block, of which there may
// be more than processors (Runtime/HostExecutable.cpp): each round lets others
// go on, by `sched_yield`. The runtime puts itself in its place, and is told
// what it needs to know of a deadlock (Runtime/HostWaits.h): where a block
// comes to a loop that does nothing but wait, and each round of it. That the
// rounds write nothing is checked here. The C library's own takes no argument,
// and by the calling conventions of our platforms sees none.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Runtime/HostWaits.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using namespace tl::cpu;
using tl::runtime::WaitStep;

/// Without an order an operation is atomic and no more; any other order is the
/// strongest, which costs x86-64 nothing.
static LLVM::AtomicOrdering getOrdering(AtomicOp atomic) {
  return atomic.getOrder() == MemoryOrder::Relaxed
             ? LLVM::AtomicOrdering::monotonic
             : LLVM::AtomicOrdering::seq_cst;
}

static LLVM::AtomicBinOp getInstruction(AtomicKind kind) {
  switch (kind) {
  case AtomicKind::Add:
    return LLVM::AtomicBinOp::add;
  case AtomicKind::Min:
    return LLVM::AtomicBinOp::min;
  case AtomicKind::Max:
    return LLVM::AtomicBinOp::max;
  case AtomicKind::UMin:
    return LLVM::AtomicBinOp::umin;
  case AtomicKind::UMax:
    return LLVM::AtomicBinOp::umax;
  case AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  case AtomicKind::Exchange:
    return LLVM::AtomicBinOp::xchg;
  case AtomicKind::CompareExchange:
  case AtomicKind::Load:
    break;
  }
  llvm_unreachable("these are operations of their own");
}

namespace {
class AtomicEmitter {
public:
  AtomicEmitter(OpBuilder &builder, AtomicOp atomic)
      : b(builder), loc(atomic.getLoc()), atomic(atomic),
        view(atomic.getTarget()), type(atomic.getOld().getType()) {}

  Value emit() {
    if (!isInSpace(view.buffer, Space::Global))
      return emitAlone();
    Value address = getAddress();
    if (atomic.getKind() == AtomicKind::Load) {
      if (scf::WhileOp loop = getWait())
        emitYields(loop);
      return LLVM::LoadOp::create(b, loc, type, address, getBytes(),
                                  /*isVolatile=*/false, /*isNonTemporal=*/false,
                                  /*isInvariant=*/false,
                                  /*isInvariantGroup=*/false,
                                  getOrdering(atomic));
    }
    if (atomic.getKind() == AtomicKind::CompareExchange)
      return compareExchange(address, atomic.getExpected(), atomic.getValue());
    if (isa<FloatType>(type))
      return emitLoop(address);
    return LLVM::AtomicRMWOp::create(b, loc, getInstruction(atomic.getKind()),
                                     address, atomic.getValue(),
                                     getOrdering(atomic));
  }

private:
  unsigned getBytes() const { return type.getIntOrFloatBitWidth() / 8; }

  /// The loop that waits of whose condition the operation is a part, or null.
  scf::WhileOp getWait() {
    auto loop = atomic->getParentOfType<scf::WhileOp>();
    bool isCondition =
        loop && loop.getBefore().isAncestor(atomic->getParentRegion());
    return isCondition && atomic.getOrder() != MemoryOrder::Relaxed
               ? loop
               : scf::WhileOp();
  }

  /// Calls what POSIX has for giving the processor away, in each round. Of
  /// several operations in a condition the first one does it for all.
  void emitYields(scf::WhileOp loop) {
    Block *body = loop.getAfterBody();
    if (llvm::any_of(body->getOps<LLVM::CallOp>(), [](LLVM::CallOp call) {
          return call.getCallee() == kYield;
        }))
      return;
    bool onlyWaits = isOnlyWait(loop);
    if (onlyWaits) {
      OpBuilder before(loop);
      emitYield(before, WaitStep::Comes);
    }
    OpBuilder inside = OpBuilder::atBlockBegin(body);
    emitYield(inside, onlyWaits ? WaitStep::Waits : WaitStep::Turns);
  }

  /// True if rounds of the loop do nothing but read, and all do the same.
  static bool isOnlyWait(scf::WhileOp loop) {
    if (!loop.getInits().empty() ||
        !llvm::hasSingleElement(*loop.getAfterBody()))
      return false;
    Region &condition = loop.getBefore();
    WalkResult found = condition.walk([&](Operation *op) {
      if (auto other = dyn_cast<AtomicOp>(op))
        return other.getKind() == AtomicKind::Load ? WalkResult::advance()
                                                   : WalkResult::interrupt();
      // What is inside of it is looked at by itself.
      if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
          op->hasTrait<OpTrait::IsTerminator>() || onlyReads(op, condition))
        return WalkResult::advance();
      return WalkResult::interrupt();
    });
    return !found.wasInterrupted();
  }

  /// True if `op` writes nothing that lives longer than `condition` is
  /// evaluated: a thread hands what it has loaded to the block in a tile.
  static bool onlyReads(Operation *op, Region &condition) {
    // What another operation of the condition has become.
    if (isa<LLVM::LoadOp>(op))
      return true;
    auto isOwn = [&](Value memory) {
      auto alloc =
          memory ? getBuffer(memory).getDefiningOp<AllocOp>() : AllocOp();
      return alloc && condition.isAncestor(alloc->getParentRegion());
    };
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(op);
    return effects &&
           llvm::all_of(*effects, [&](MemoryEffects::EffectInstance &effect) {
             return isa<MemoryEffects::Read, MemoryEffects::Allocate>(
                        effect.getEffect()) ||
                    isOwn(effect.getValue());
           });
  }

  static constexpr llvm::StringLiteral kYield = "sched_yield";

  void emitYield(OpBuilder &at, WaitStep step) {
    auto module = atomic->getParentOfType<gpu::GPUModuleOp>();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kYield);
    if (!function) {
      OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
      Type i32 = at.getI32Type();
      function =
          LLVM::LLVMFuncOp::create(outside, module.getLoc(), kYield,
                                   LLVM::LLVMFunctionType::get(i32, {i32}));
    }
    Value said = LLVM::ConstantOp::create(at, loc, at.getI32Type(),
                                          static_cast<int32_t>(step));
    LLVM::CallOp::create(at, loc, function, said);
  }

  /// On-chip memory is the thread's own.
  Value emitAlone() {
    Value old = view.load(b, loc, atomic.getIndices());
    if (atomic.getKind() == AtomicKind::Load)
      return old;
    Value next;
    if (atomic.getKind() == AtomicKind::CompareExchange) {
      Value isExpected = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                               old, atomic.getExpected());
      next =
          arith::SelectOp::create(b, loc, isExpected, atomic.getValue(), old);
    } else {
      next = emitAtomicUpdate(b, loc, atomic.getKind(), old, atomic.getValue());
    }
    view.store(b, loc, next, atomic.getIndices());
    return old;
  }

  /// The address of the element.
  Value getAddress() {
    auto parts = memref::ExtractStridedMetadataOp::create(b, loc, view.buffer);
    Value offset = parts.getOffset();
    for (auto [index, stride] :
         llvm::zip(view.at(atomic.getIndices()), parts.getStrides()))
      offset = arith::AddIOp::create(
          b, loc, offset, arith::MulIOp::create(b, loc, index, stride));
    Value start =
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, view.buffer);
    Value bytes = arith::ConstantIndexOp::create(b, loc, getBytes());
    Value place = arith::AddIOp::create(
        b, loc, start, arith::MulIOp::create(b, loc, offset, bytes));
    place = arith::IndexCastOp::create(b, loc, b.getI64Type(), place);
    return LLVM::IntToPtrOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()), place);
  }

  Value compareExchange(Value address, Value expected, Value value) {
    // Where it fails it releases nothing.
    LLVM::AtomicOrdering ordering = getOrdering(atomic);
    Value both = LLVM::AtomicCmpXchgOp::create(b, loc, address, expected, value,
                                               ordering, ordering);
    return LLVM::ExtractValueOp::create(b, loc, both, 0);
  }

  Value emitLoop(Value address) {
    Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
    Value first = LLVM::LoadOp::create(
        b, loc, bits, address, getBytes(), /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
    auto loop = scf::WhileOp::create(
        b, loc, bits, first,
        [&](OpBuilder &, Location, ValueRange found) {
          Value old = arith::BitcastOp::create(b, loc, type, found[0]);
          Value next = emitAtomicUpdate(b, loc, atomic.getKind(), old,
                                        atomic.getValue());
          Value wanted = arith::BitcastOp::create(b, loc, bits, next);
          Value seen = compareExchange(address, found[0], wanted);
          Value again = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                              seen, found[0]);
          scf::ConditionOp::create(b, loc, again, seen);
        },
        [&](OpBuilder &, Location, ValueRange seen) {
          scf::YieldOp::create(b, loc, seen);
        });
    return arith::BitcastOp::create(b, loc, type, loop.getResult(0));
  }

  OpBuilder &b;
  Location loc;
  AtomicOp atomic;
  View view;
  Type type;
};
} // namespace

Value cpu::emitAtomic(OpBuilder &builder, AtomicOp atomic) {
  return AtomicEmitter(builder, atomic).emit();
}
