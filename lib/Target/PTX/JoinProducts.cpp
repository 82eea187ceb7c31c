//===- JoinProducts.cpp - Both halves of a product at once ----------------===//
//
// Generators of random numbers use both halves of products of 32 bits. By LLVM
// these are two, of which one is of 64 bits and its lower half not used:
//
//     low = mul i32 a, b
//     high = trunc (lshr (mul i64 (zext a), (zext b)), 32)
//
// GPUs have one instruction for both (`IMAD.WIDE.U32`), which `ptxas` finds if
// they stand side by side (`mul.hi.u32` and `mul.lo.s32`), and LLVM puts each
// near its uses. Here they are halves of one number of 64 bits, which an
// assembly computes: LLVM takes a product that it knows apart again.
//
// Done when LLVM has optimised, which would compute in 64 bits what comes
// behind the halves.
//
// Sound because the operands of 64 bits are known to be below 2^32, so that
// they are the words of which the lower half is the product, and that product
// is then the number of 64 bits, modulo 2^32. It is computed where the first of
// the two was, and its operands come before: those of the other are the same,
// or made of them there.
//
//===----------------------------------------------------------------------===//

#include "JoinProducts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/ConstantFold.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

static Value *getNameOfWord(Value *word);

static bool isOf(Value *value, unsigned bits) {
  return value->getType()->isIntOrIntVectorTy(bits);
}

/// The type of words as many as `type` has numbers.
static Type *getWordType(Type *type) {
  return type->getWithNewType(Type::getInt32Ty(type->getContext()));
}

/// A value of 32 or of 64 bits whose lowest word `wide` has, the same for all
/// that are made of it.
static Value *getName(Value *wide) {
  Value *word;
  if (match(wide, m_ZExt(m_Value(word))) && isOf(word, 32))
    return getNameOfWord(word);
  if (auto *constant = dyn_cast<Constant>(wide))
    if (Constant *folded = ConstantFoldCastInstruction(
            Instruction::Trunc, constant, getWordType(wide->getType())))
      return folded;
  return wide;
}

/// The same of a word of 32 bits.
static Value *getNameOfWord(Value *word) {
  Value *wide;
  if (match(word, m_Trunc(m_Value(wide))) && isOf(wide, 64))
    return getName(wide);
  return word;
}

/// True if `value` is below 2^32.
static bool isWord(Value *value, const DataLayout &layout) {
  return computeKnownBits(value, layout).countMinLeadingZeros() >= 32;
}

/// True for a product of words of which the upper half is used.
static bool isHigh(BinaryOperator &product, const DataLayout &layout) {
  return isOf(&product, 64) &&
         all_of(product.users(),
                [](User *user) {
                  return match(user, m_LShr(m_Value(), m_SpecificInt(32)));
                }) &&
         isWord(product.getOperand(0), layout) &&
         isWord(product.getOperand(1), layout);
}

namespace {
/// Two products of the same words, and the one that comes first.
struct Halves {
  BinaryOperator *low, *high, *first;
};
} // namespace

/// The products in a block of which there are both halves.
static SmallVector<Halves> findHalves(BasicBlock &block,
                                      const DataLayout &layout) {
  using Names = std::pair<Value *, Value *>;
  DenseMap<Names, BinaryOperator *> lows, highs;
  SmallVector<Halves> found;
  for (Instruction &instruction : block) {
    auto *product = dyn_cast<BinaryOperator>(&instruction);
    if (!product || product->getOpcode() != Instruction::Mul)
      continue;
    bool isLow = isOf(product, 32);
    if (!isLow && !isHigh(*product, layout))
      continue;
    auto name = isLow ? getNameOfWord : getName;
    Names names(name(product->getOperand(0)), name(product->getOperand(1)));
    if (names.second < names.first)
      std::swap(names.first, names.second);
    auto &others = isLow ? highs : lows;
    auto other = others.find(names);
    if (other == others.end()) {
      (isLow ? lows : highs).try_emplace(names, product);
      continue;
    }
    BinaryOperator *first = other->second;
    found.push_back({isLow ? product : first, isLow ? first : product, first});
    others.erase(other);
  }
  return found;
}

/// The product of two words, or of each two of vectors.
static Value *multiply(IRBuilder<> &builder, Value *a, Value *b) {
  Type *word = builder.getInt32Ty(), *both = builder.getInt64Ty();
  auto *assembly =
      InlineAsm::get(FunctionType::get(both, {word, word}, /*isVarArg=*/false),
                     "mul.wide.u32 $0, $1, $2;", "=l,r,r",
                     /*hasSideEffects=*/false);
  auto *type = dyn_cast<FixedVectorType>(a->getType());
  if (!type)
    return builder.CreateCall(assembly, {a, b});
  Value *products =
      PoisonValue::get(FixedVectorType::get(both, type->getNumElements()));
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    Value *product =
        builder.CreateCall(assembly, {builder.CreateExtractElement(a, i),
                                      builder.CreateExtractElement(b, i)});
    products = builder.CreateInsertElement(products, product, i);
  }
  return products;
}

static void join(const Halves &halves) {
  IRBuilder<> builder(halves.first);
  Type *word = halves.low->getType();
  auto getWord = [&](Value *operand) {
    return builder.CreateTrunc(getName(operand), word);
  };
  Value *product = multiply(builder, getWord(halves.high->getOperand(0)),
                            getWord(halves.high->getOperand(1)));
  halves.low->replaceAllUsesWith(builder.CreateTrunc(product, word));
  halves.high->replaceAllUsesWith(product);
  halves.low->eraseFromParent();
  halves.high->eraseFromParent();
}

void tl::joinProducts(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      for (const Halves &halves : findHalves(block, module.getDataLayout()))
        join(halves);
}
