//===- Atomics.cpp - Atomic operations on elements of memory --------------===//
//
// One `tl.atom` where there is an instruction for it. What there is none for is
// tried until nobody came between: read the word, compute what it becomes,
// write that if the word is still what was read. Words are compared as bits, so
// that a NaN is equal to itself.
//
// Sound because the one `compare_exchange` that succeeds is the operation: it
// has the order and scope that were asked for, and what it found is what was
// combined. The others write nothing.
//
// Sums of neighbours in device memory are one `tl.atom` of a vector, from
// compute capability 9.0 on, if nobody asks what was there and no order holds
// others back. Sound because the instruction adds to each element in a step of
// its own (PTX ISA, "red"), and the elements are different ones.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

#include "tl/Dialect/TL/IR/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tl;

/// Sums of bf16 came with compute capability 9.0 (PTX ISA, "atom").
static constexpr int kFirstWithBF16 = 90;

/// So did instructions that add to several elements.
static constexpr int kFirstWithVectors = 90;

bool ThreadLowering::hasInstruction(AtomicKind kind, Type type) const {
  if (isa<VectorType>(type) && target.getCapability() < kFirstWithVectors)
    return false;
  if (kind == AtomicKind::Add && type.isBF16() &&
      target.getCapability() < kFirstWithBF16)
    return false;
  return isAtomInstruction(kind, type);
}

Value ThreadLowering::emitAtomicLoop(AtomicOp op, Value address, Value value) {
  Type type = op.getOld().getType();
  Type bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
  auto first =
      AtomOp::create(builder, loc, bits, AtomicKind::Load, address, Value(),
                     Value(), MemoryOrder::Relaxed, op.getScope());
  markAccess(first);
  auto loop = scf::WhileOp::create(
      builder, loc, bits, first.getOld(),
      [&](OpBuilder &b, Location, ValueRange found) {
        Value old = arith::BitcastOp::create(b, loc, type, found[0]);
        Value next = emitAtomicUpdate(b, loc, op.getKind(), old, value);
        Value wanted = arith::BitcastOp::create(b, loc, bits, next);
        auto seen = AtomOp::create(
            b, loc, bits, AtomicKind::CompareExchange, address, wanted,
            /*expected=*/found[0], op.getOrder(), op.getScope());
        markAccess(seen);
        Value again = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                            seen.getOld(), found[0]);
        scf::ConditionOp::create(b, loc, again, seen.getOld());
      },
      [&](OpBuilder &b, Location, ValueRange seen) {
        scf::YieldOp::create(b, loc, seen);
      });
  return arith::BitcastOp::create(builder, loc, type, loop.getResult(0));
}

Value ThreadLowering::emitAtomic(AtomicOp op, Value address, Value value,
                                 Value expected) {
  Type type = value ? value.getType() : op.getOld().getType();
  if (!hasInstruction(op.getKind(), type))
    return emitAtomicLoop(op, address, value);
  auto atom = AtomOp::create(builder, loc, type, op.getKind(), address, value,
                             expected, op.getOrder(), op.getScope());
  markAccess(atom);
  return atom;
}

Value ThreadLowering::atomic(AtomicOp op, Value buffer, ValueRange indices,
                             Value value, Value expected, Value guard) {
  if (!guard)
    return emitAtomic(op, getAddress(buffer, indices), value, expected);
  Type type = op.getOld().getType();
  bool isAsked = !op.getOld().use_empty();
  OpBuilder::InsertionGuard saved(builder);
  auto guarded =
      scf::IfOp::create(builder, loc, isAsked ? TypeRange(type) : TypeRange(),
                        guard, /*withElseRegion=*/isAsked);
  builder.setInsertionPointToStart(guarded.thenBlock());
  Value old = emitAtomic(op, getAddress(buffer, indices), value, expected);
  if (!isAsked)
    return old;
  scf::YieldOp::create(builder, loc, old);
  builder.setInsertionPointToStart(guarded.elseBlock());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  scf::YieldOp::create(builder, loc, zero);
  return guarded.getResult(0);
}
