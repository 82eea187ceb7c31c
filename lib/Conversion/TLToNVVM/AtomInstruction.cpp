//===- AtomInstruction.cpp - Atomic operations as PTX ---------------------===//
//
// PTX ISA, "atom", "red", "ld", "st" and "Memory Consistency Model". There is
// no sequentially consistent instruction: it is a fence of that kind and then
// one that acquires and releases.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToNVVM/AtomInstruction.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;

int64_t tl::getRegisterCount(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return 1;
  return vector.getNumElements() * vector.getElementTypeBitWidth() / 32;
}

static StringRef getScope(MemoryScope scope) {
  switch (scope) {
  case MemoryScope::Block:
    return "cta";
  case MemoryScope::Device:
    return "gpu";
  case MemoryScope::System:
    return "sys";
  }
  llvm_unreachable("all scopes are handled");
}

static StringRef getOrder(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::Relaxed:
    return "relaxed";
  case MemoryOrder::Acquire:
    return "acquire";
  case MemoryOrder::Release:
    return "release";
  case MemoryOrder::AcqRel:
  case MemoryOrder::SeqCst:
    return "acq_rel";
  }
  llvm_unreachable("all orders are handled");
}

/// `add.v2.f32`: neighbours of 16 bits are added in pairs, a register each.
static std::string getVectorOperation(VectorType type) {
  Type element = type.getElementType();
  int64_t registers = getRegisterCount(type);
  std::string vector =
      registers == 1 ? "" : llvm::formatv(".v{0}", registers).str();
  if (element.isF32())
    return llvm::formatv("add{0}.f32", vector);
  return llvm::formatv("add.noftz{0}.{1}x2", vector,
                       element.isBF16() ? "bf16" : "f16");
}

/// `add.f32`: the operation and the type that it needs to know.
static std::string getOperation(AtomicKind kind, Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return getVectorOperation(vector);
  unsigned bits = type.getIntOrFloatBitWidth();
  auto typed = [&](StringRef name, StringRef letter) {
    return llvm::formatv("{0}.{1}{2}", name, letter, bits).str();
  };
  switch (kind) {
  case AtomicKind::Add:
    if (type.isBF16())
      return "add.noftz.bf16";
    if (type.isF16())
      return "add.noftz.f16";
    return typed("add", isa<FloatType>(type) ? "f" : "u");
  case AtomicKind::Min:
    return typed("min", "s");
  case AtomicKind::Max:
    return typed("max", "s");
  case AtomicKind::UMin:
    return typed("min", "u");
  case AtomicKind::UMax:
    return typed("max", "u");
  case AtomicKind::And:
    return typed("and", "b");
  case AtomicKind::Or:
    return typed("or", "b");
  case AtomicKind::Xor:
    return typed("xor", "b");
  case AtomicKind::Exchange:
    return typed("exch", "b");
  case AtomicKind::CompareExchange:
    return typed("cas", "b");
  case AtomicKind::Load:
    break;
  }
  llvm_unreachable("a load is an instruction of its own");
}

/// True for what `red` does: it releases at most, and does not exchange.
static bool isReduction(AtomOp op) {
  return op.getKind() != AtomicKind::Exchange &&
         op.getKind() != AtomicKind::CompareExchange &&
         (op.getOrder() == MemoryOrder::Relaxed ||
          op.getOrder() == MemoryOrder::Release);
}

/// A byte is changed as a part of the aligned word that it lies in: by an `or`
/// with a word that is zero elsewhere, or an `and` with one that is ones there.
/// `fence`, `order` and `scope` are as for a word.
static std::string printByte(AtomOp op, const AtomOperands &operands,
                             StringRef fence, StringRef order, StringRef scope,
                             StringRef space) {
  bool isAnd = op.getKind() == AtomicKind::And;
  std::string text = llvm::formatv(
      "{{ .reg .b64 word; .reg .b32 at, bits, others, old; "
      "and.b64 word, {0}, -4; cvt.u32.u64 at, {0}; and.b32 at, at, 3; "
      "shl.b32 at, at, 3; shl.b32 bits, {1}, at; ",
      operands.address, operands.value);
  if (isAnd)
    text += "shl.b32 others, 255, at; not.b32 others, others; "
            "or.b32 bits, bits, others; ";
  text += llvm::formatv("{0}{1}.{2}.{3}{4}.{5}.b32 {6}[word], bits; ", fence,
                        givesResult(op) || !isReduction(op) ? "atom" : "red",
                        order, scope, space, isAnd ? "and" : "or",
                        givesResult(op) || !isReduction(op) ? "old, " : "");
  if (givesResult(op))
    text += llvm::formatv("shr.u32 {0}, old, at; and.b32 {0}, {0}, 255; ",
                          operands.result);
  return text + "}";
}

StringRef tl::getStateSpace(AtomOp op) {
  switch (cast<LLVM::LLVMPointerType>(op.getAddress().getType())
              .getAddressSpace()) {
  case 1:
    return "global";
  case 3:
    return "shared";
  default:
    return "";
  }
}

std::string tl::printAtom(AtomOp op, const AtomOperands &operands) {
  std::string space = getStateSpace(op).str();
  if (!space.empty())
    space.insert(0, ".");
  Type type = op.getOld().getType();
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  StringRef scope = getScope(op.getScope());
  // What `ld` and `st` do of an order is told by their kind.
  bool isSeqCst = op.getOrder() == MemoryOrder::SeqCst;
  StringRef order = getOrder(op.getOrder());
  std::string fence =
      isSeqCst ? llvm::formatv("fence.sc.{0}; ", scope).str() : "";
  if (op.getKind() == AtomicKind::Load)
    return llvm::formatv("{0}ld.{1}.{2}{3}.b{4} {5}, [{6}];", fence,
                         isSeqCst ? "acquire" : order, scope, space, bits,
                         operands.result, operands.address);
  if (bits == 8)
    return printByte(op, operands, fence, order, scope, space);
  bool releases = order == "relaxed" || order == "release";
  if (!givesResult(op) && op.getKind() == AtomicKind::Exchange && releases)
    return llvm::formatv("st.{0}.{1}{2}.b{3} [{4}], {5};", order, scope, space,
                         bits, operands.address, operands.value);
  std::string operation = getOperation(op.getKind(), type);
  if (!givesResult(op) && isReduction(op))
    return llvm::formatv("red.{0}.{1}{2}.{3} [{4}], {5};", order, scope, space,
                         operation, operands.address, operands.value);
  std::string values = op.getExpected()
                           ? operands.expected + ", " + operands.value
                           : operands.value;
  auto print = [&](StringRef result) {
    return llvm::formatv("{0}atom.{1}.{2}{3}.{4} {5}, [{6}], {7};", fence,
                         order, scope, space, operation, result,
                         operands.address, values)
        .str();
  };
  if (givesResult(op))
    return print(operands.result);
  // ptxas and nvJitLink 13.0 crash where nothing is to become of a sum of bf16.
  if (type.isBF16())
    return "{ .reg .b16 unused; " + print("unused") + " }";
  return print("_");
}

char tl::getRegisterLetter(Type type) {
  switch (type.getIntOrFloatBitWidth()) {
  case 8: // There are no registers of bytes in assembly.
    return 'r';
  case 16:
    return 'h';
  case 32:
    return type.isF32() ? 'f' : 'r';
  default:
    return type.isF64() ? 'd' : 'l';
  }
}
