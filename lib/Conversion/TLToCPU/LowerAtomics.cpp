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
// The condition of a loop that acquires waits for another block, of which there
// may be more than processors (Runtime/HostExecutable.cpp): it lets others go
// on.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tl/Dialect/TL/IR/Combine.h"

using namespace mlir;
using namespace tl;
using namespace tl::cpu;

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
      if (isWait())
        emitYield();
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

  /// True if the operation is the condition of a loop that waits.
  bool isWait() {
    auto loop = dyn_cast<scf::WhileOp>(atomic->getParentOp());
    return loop && atomic->getParentRegion() == &loop.getBefore() &&
           atomic.getOrder() != MemoryOrder::Relaxed;
  }

  /// Calls what POSIX has for giving the processor away.
  void emitYield() {
    constexpr StringLiteral name = "sched_yield";
    auto module = atomic->getParentOfType<gpu::GPUModuleOp>();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {});
      function = LLVM::LLVMFuncOp::create(outside, module.getLoc(), name, type);
    }
    LLVM::CallOp::create(b, loc, function, ValueRange());
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
