//===- PredicateAccesses.cpp - Masked accesses as instructions ------------===//
//
// The backend has no instruction for a masked access and makes a branch of each
// lane. PTX has one where all lanes are on or off together: a load or a store
// behind a predicate (PTX ISA, "Predicated Execution").
//
//     mov.b32 r, 0;  @p ld.global.b32 r, [a+16];
//
// Done when LLVM has optimised, to which masked accesses say what they read and
// write; for the backend assembly is all that there is.
//
// Sound because the assembly is marked as volatile and as touching memory, so
// that the backend keeps accesses, barriers and waits in their order. Left to
// the backend are masks whose lanes may differ, loads that give something else
// than zero where they are off, addresses that are not known to be a multiple
// of all that is accessed, and address spaces that the instruction would have
// to name otherwise: one of another block's shared memory is no generic one.
//
//===----------------------------------------------------------------------===//

#include "PredicateAccesses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace {

/// The registers that an access takes: some of the same size, which hold all
/// of its elements.
struct Registers {
  unsigned bits, count;

  /// Those for vectors of `type`; none if there is no such access.
  static std::optional<Registers> of(FixedVectorType *type) {
    unsigned element = type->getScalarSizeInBits();
    unsigned all = element * type->getNumElements();
    if (!isPowerOf2_32(element) || element < 8 || element > 64 ||
        !isPowerOf2_32(all) || all > 128)
      return std::nullopt;
    unsigned bits = std::max(element, std::min(all, 32u));
    return Registers{bits, all / bits};
  }

  unsigned getBytes() const { return bits / 8 * count; }
  /// Bytes are loaded to and stored from registers of 16 bits.
  unsigned getWidth() const { return std::max(bits, 16u); }
  char getConstraint() const {
    return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h';
  }
};

/// Writes one masked access as assembly.
class Predication {
public:
  Predication(IntrinsicInst &access, FixedVectorType *type, Value *pointer,
              StringRef space, Value *mask, Registers registers)
      : access(access), builder(&access), type(type), space(space), mask(mask),
        registers(registers) {
    splitPointer(pointer);
  }

  void load() {
    std::string text, constraints;
    for (unsigned i = 0; i < registers.count; ++i) {
      text += formatv("mov.b{0} ${1}, 0;\n\t", registers.getWidth(), i);
      constraints += formatv("=&{0},", registers.getConstraint());
    }
    text += formatv("@${0} ld{1} {2}, [${3}{4}];", registers.count, getSuffix(),
                    listRegisters(0), registers.count + 1, getOffset());
    Type *word = builder.getIntNTy(registers.getWidth());
    Type *result = word;
    if (registers.count > 1)
      result = StructType::get(access.getContext(),
                               SmallVector<Type *>(registers.count, word));
    Value *loaded = call(text, constraints + "b,l", result, {getGuard(), base});
    access.replaceAllUsesWith(toElements(loaded));
    access.eraseFromParent();
  }

  void store(Value *value) {
    SmallVector<Value *> operands = {getGuard(), base};
    append_range(operands, toRegisters(value));
    std::string constraints = "b,l";
    for (unsigned i = 0; i < registers.count; ++i)
      constraints += formatv(",{0}", registers.getConstraint());
    call(formatv("@$0 st{0} [$1{1}], {2};", getSuffix(), getOffset(),
                 listRegisters(2)),
         constraints, builder.getVoidTy(), operands);
    access.eraseFromParent();
  }

private:
  /// Constants of the address go into the instruction, as far as they fit.
  void splitPointer(Value *pointer) {
    const DataLayout &layout = access.getDataLayout();
    APInt constant(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    Value *rest = pointer->stripAndAccumulateConstantOffsets(
        layout, constant, /*AllowNonInbounds=*/true);
    bool fits =
        constant.isSignedIntN(32) && rest->getType() == pointer->getType();
    offset = fits ? constant.getSExtValue() : 0;
    base = fits ? rest : pointer;
  }

  Value *getGuard() { return builder.CreateExtractElement(mask, uint64_t(0)); }

  std::string getOffset() const {
    return offset == 0 ? "" : formatv("+{0}", offset).str();
  }

  /// The state space, the number of registers and their size.
  std::string getSuffix() const {
    std::string several =
        registers.count > 1 ? formatv(".v{0}", registers.count).str() : "";
    return formatv("{0}{1}.b{2}", space, several, registers.bits);
  }

  std::string listRegisters(unsigned first) const {
    if (registers.count == 1)
      return formatv("${0}", first);
    std::string text = "{";
    for (unsigned i = 0; i < registers.count; ++i)
      text += (i ? ", $" : "$") + utostr(first + i);
    return text + "}";
  }

  Value *call(const std::string &text, const std::string &constraints,
              Type *result, ArrayRef<Value *> operands) {
    SmallVector<Type *> types;
    for (Value *operand : operands)
      types.push_back(operand->getType());
    auto *assembly = InlineAsm::get(
        FunctionType::get(result, types, /*isVarArg=*/false), text,
        constraints + ",~{memory}", /*hasSideEffects=*/true);
    return builder.CreateCall(assembly, operands);
  }

  unsigned getElementsPerRegister() const {
    return registers.bits / type->getScalarSizeInBits();
  }

  /// What one register holds: an element, or a vector of some.
  Type *getPartType() const {
    unsigned count = getElementsPerRegister();
    return count == 1 ? type->getElementType()
                      : FixedVectorType::get(type->getElementType(), count);
  }

  Value *toElements(Value *loaded) {
    Value *result = PoisonValue::get(type);
    for (unsigned i = 0; i < registers.count; ++i) {
      Value *word =
          registers.count == 1 ? loaded : builder.CreateExtractValue(loaded, i);
      Value *part = builder.CreateBitCast(
          builder.CreateTrunc(word, builder.getIntNTy(registers.bits)),
          getPartType());
      for (unsigned j = 0, e = getElementsPerRegister(); j < e; ++j)
        result = builder.CreateInsertElement(
            result, e == 1 ? part : builder.CreateExtractElement(part, j),
            i * e + j);
    }
    return result;
  }

  SmallVector<Value *> toRegisters(Value *value) {
    SmallVector<Value *> words;
    for (unsigned i = 0; i < registers.count; ++i) {
      Value *part = PoisonValue::get(getPartType());
      for (unsigned j = 0, e = getElementsPerRegister(); j < e; ++j) {
        Value *element = builder.CreateExtractElement(value, i * e + j);
        part = e == 1 ? element : builder.CreateInsertElement(part, element, j);
      }
      words.push_back(builder.CreateZExt(
          builder.CreateBitCast(part, builder.getIntNTy(registers.bits)),
          builder.getIntNTy(registers.getWidth())));
    }
    return words;
  }

  IntrinsicInst &access;
  IRBuilder<> builder;
  FixedVectorType *type;
  StringRef space;
  Value *mask, *base = nullptr;
  Registers registers;
  int64_t offset = 0;
};

} // namespace

static bool isLoad(IntrinsicInst &access) {
  return access.getIntrinsicID() == Intrinsic::masked_load;
}

/// The state space of an instruction for memory of an address space: generic
/// memory, device memory and the block's own shared memory; none for others.
static std::optional<StringRef> getStateSpace(unsigned addressSpace) {
  switch (addressSpace) {
  case 0:
    return "";
  case 1:
    return ".global";
  case 3:
    return ".shared";
  default:
    return std::nullopt;
  }
}

static void predicate(IntrinsicInst &access) {
  Value *value = isLoad(access) ? &access : access.getArgOperand(0);
  unsigned place = isLoad(access) ? 0 : 1;
  Value *pointer = access.getArgOperand(place);
  Value *mask = access.getArgOperand(place + 1);
  auto *type = dyn_cast<FixedVectorType>(value->getType());
  if (!type)
    return;
  std::optional<Registers> registers = Registers::of(type);
  std::optional<StringRef> space =
      getStateSpace(pointer->getType()->getPointerAddressSpace());
  bool isTogether = type->getNumElements() == 1 || getSplatValue(mask);
  if (!registers || !space || !isTogether ||
      access.getParamAlign(place).valueOrOne() < registers->getBytes())
    return;
  if (isLoad(access) && !match(access.getArgOperand(2), PatternMatch::m_Zero()))
    return;
  Predication predication(access, type, pointer, *space, mask, *registers);
  if (isLoad(access))
    predication.load();
  else
    predication.store(value);
}

static bool isMasked(Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && is_contained({Intrinsic::masked_load, Intrinsic::masked_store},
                              call->getIntrinsicID());
}

bool tl::hasMaskedAccesses(Module &module) {
  return any_of(module, [](Function &function) {
    return any_of(instructions(function), isMasked);
  });
}

void tl::predicateAccesses(Module &module) {
  SmallVector<IntrinsicInst *> accesses;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isMasked(instruction))
        accesses.push_back(cast<IntrinsicInst>(&instruction));
  for (IntrinsicInst *access : accesses)
    predicate(*access);
}
