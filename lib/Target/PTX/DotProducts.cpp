//===- DotProducts.cpp - Four products of bytes at once -------------------===//
//
// GPUs add the products of the bytes of two words to a third one by one
// instruction (`dp4a`). LLVM has no form for it that it would find by itself:
//
//     c + sext a[0] * sext b[0] + ... + sext a[3] * sext b[3]
//
// is eight extensions, four products and four sums, and bytes that are taken
// apart take four registers where a word takes one.
//
// Done when LLVM has optimised, and bytes are those of words that lie together:
// loads of neighbours from an address that is a multiple of four, or elements
// of a vector. What makes a word of them, LLVM leaves out where it loads words.
//
// Sound because sums of 32 bits wrap, so that they may be added in any order,
// and the instruction's products and sums are exact modulo 2^32. Its words are
// made of the values that were multiplied, wherever these come from. A sum is
// made where the last of its additions was, behind all that it needs.
//
//===----------------------------------------------------------------------===//

#include "DotProducts.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include <array>
#include <map>
#include <tuple>

using namespace llvm;
using namespace llvm::PatternMatch;

static constexpr unsigned kBytes = 4; // of a word

namespace {
/// A byte of a word: `place` is the first of its bytes, in what `of` is or
/// points to.
struct Byte {
  using Word = std::tuple<Value *, int64_t, unsigned>;

  Value *value, *of;
  int64_t place;
  unsigned number;
  bool isSigned;

  Word getWord() const { return {of, place, isSigned}; }
};

using Words = std::pair<Byte::Word, Byte::Word>;
using Bytes = std::array<Value *, kBytes>;

/// A product of two bytes of the same number.
struct Product {
  Byte a, b;
};

/// The products of two words, as far as they are found.
struct DotProduct {
  std::array<Value *, kBytes> products = {};
  Bytes a = {}, b = {};

  bool isWhole() const { return !is_contained(products, nullptr); }
};
} // namespace

/// Finds where in a word `value` is, which is extended to 32 bits.
static std::optional<Byte> findByte(Value *value, const DataLayout &layout) {
  Value *narrow;
  bool isSigned = match(value, m_SExt(m_Value(narrow)));
  if ((!isSigned && !match(value, m_ZExt(m_Value(narrow)))) ||
      !narrow->getType()->isIntegerTy(8))
    return std::nullopt;
  int64_t place = 0;
  Value *of = nullptr;
  uint64_t element;
  if (match(narrow, m_ExtractElt(m_Value(of), m_ConstantInt(element)))) {
    place = static_cast<int64_t>(element);
  } else if (auto *load = dyn_cast<LoadInst>(narrow);
             load && load->isSimple()) {
    Value *pointer = load->getPointerOperand();
    APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    of = pointer->stripAndAccumulateConstantOffsets(layout, offset,
                                                    /*AllowNonInbounds=*/true);
    place = offset.getSExtValue();
  } else {
    return std::nullopt;
  }
  int64_t number = place & (kBytes - 1);
  return Byte{narrow, of, place - number, static_cast<unsigned>(number),
              isSigned};
}

static std::optional<Product> findProduct(Value *value,
                                          const DataLayout &layout) {
  Value *left, *right;
  if (!match(value, m_OneUse(m_Mul(m_Value(left), m_Value(right)))))
    return std::nullopt;
  std::optional<Byte> a = findByte(left, layout), b = findByte(right, layout);
  if (!a || !b || a->number != b->number)
    return std::nullopt;
  return Product{*a, *b};
}

/// True if `bytes` are elements of a vector, or loads from a multiple of four
/// on: a word of them takes no instruction.
static bool areWord(const Bytes &bytes) {
  auto *first = dyn_cast<LoadInst>(bytes.front());
  if (!first)
    return true;
  if (first->getAlign() < kBytes)
    return false;
  return all_of(bytes, [&](Value *byte) {
    return cast<LoadInst>(byte)->getParent() == first->getParent();
  });
}

static bool isSum(Value *value) {
  return value->getType()->isIntegerTy(32) &&
         match(value, m_Add(m_Value(), m_Value()));
}

/// True if `value` is added to something in its block, and nothing else.
static bool isPartOfSum(Instruction &value) {
  auto *user =
      value.hasOneUse() ? dyn_cast<Instruction>(value.user_back()) : nullptr;
  return user && isSum(user) && user->getParent() == value.getParent();
}

/// What `sum` adds up, by whatever sums of its block.
static SmallVector<Value *> getTerms(Instruction &sum) {
  SmallVector<Value *> terms, worklist = {sum.getOperand(1), sum.getOperand(0)};
  while (!worklist.empty()) {
    Value *value = worklist.pop_back_val();
    auto *part = dyn_cast<Instruction>(value);
    if (part && isSum(part) && isPartOfSum(*part) &&
        part->getParent() == sum.getParent())
      worklist.append({part->getOperand(1), part->getOperand(0)});
    else
      terms.push_back(value);
  }
  return terms;
}

namespace {
/// Rewrites the sums of a block, from its first op on.
class BlockRewriter {
public:
  explicit BlockRewriter(const DataLayout &layout) : layout(layout) {}

  void rewrite(Instruction &sum);

private:
  /// The word of `bytes`, made once in the block.
  Value *getWord(IRBuilder<> &builder, const Bytes &bytes);

  const DataLayout &layout;
  std::map<Bytes, Value *> words;
};
} // namespace

Value *BlockRewriter::getWord(IRBuilder<> &builder, const Bytes &bytes) {
  Value *&word = words[bytes];
  if (word)
    return word;
  Value *vector =
      PoisonValue::get(FixedVectorType::get(builder.getInt8Ty(), kBytes));
  for (auto [number, byte] : enumerate(bytes))
    vector = builder.CreateInsertElement(vector, byte, number);
  return word = builder.CreateBitCast(vector, builder.getInt32Ty());
}

static Intrinsic::ID getInstruction(bool isASigned, bool isBSigned) {
  if (isASigned)
    return isBSigned ? Intrinsic::nvvm_idp4a_s_s : Intrinsic::nvvm_idp4a_s_u;
  return isBSigned ? Intrinsic::nvvm_idp4a_u_s : Intrinsic::nvvm_idp4a_u_u;
}

void BlockRewriter::rewrite(Instruction &sum) {
  SmallVector<Value *> terms = getTerms(sum);
  MapVector<Words, DotProduct> found;
  for (Value *term : terms)
    if (std::optional<Product> product = findProduct(term, layout)) {
      Byte::Word a = product->a.getWord(), b = product->b.getWord();
      if (found.contains({b, a})) {
        std::swap(product->a, product->b);
        std::swap(a, b);
      }
      DotProduct &dot = found[{a, b}];
      unsigned number = product->a.number;
      if (dot.products[number]) // the same elements again
        continue;
      dot.products[number] = term;
      dot.a[number] = product->a.value;
      dot.b[number] = product->b.value;
    }
  found.remove_if([](auto &entry) {
    const DotProduct &dot = entry.second;
    return !dot.isWhole() || !areWord(dot.a) || !areWord(dot.b);
  });
  if (found.empty())
    return;
  for (auto &[names, dot] : found)
    erase_if(terms,
             [&](Value *term) { return is_contained(dot.products, term); });

  IRBuilder<> builder(&sum);
  Value *result = terms.empty() ? builder.getInt32(0) : terms.front();
  for (Value *term : drop_begin(terms, terms.empty() ? 0 : 1))
    result = builder.CreateAdd(result, term);
  for (auto &[names, dot] : found) {
    Intrinsic::ID instruction = getInstruction(
        std::get<unsigned>(names.first), std::get<unsigned>(names.second));
    result = builder.CreateIntrinsic(
        instruction, {},
        {getWord(builder, dot.a), getWord(builder, dot.b), result});
  }
  sum.replaceAllUsesWith(result);
  RecursivelyDeleteTriviallyDeadInstructions(&sum);
}

void tl::joinDotProducts(Module &module) {
  const DataLayout &layout = module.getDataLayout();
  for (Function &function : module)
    for (BasicBlock &block : function) {
      SmallVector<Instruction *> sums;
      for (Instruction &instruction : block)
        if (isSum(&instruction) && !isPartOfSum(instruction))
          sums.push_back(&instruction);
      BlockRewriter rewriter(layout);
      for (Instruction *sum : sums)
        rewriter.rewrite(*sum);
    }
}
