//===- SplitVectors.cpp - Take long vectors apart -------------------------===//
//
// A fragment is one vector of all elements that a thread holds. LLVM's combines
// walk over the whole of it for each element, and so does its scalarizer, which
// builds every step of a chain of insertions anew: their time grows with the
// square of the length. Here a long vector becomes a list of short ones, in one
// walk over the function. The pieces are as long as the accesses of memory and
// the formulas that make them, so that what is packed stays packed.
//
// Sound because every lane of a piece is the lane of the vector that it stands
// for: ops of which that is known lane by lane are done on pieces; any other op
// gets its operands put together again, and its result taken apart.
//
//===----------------------------------------------------------------------===//

#include "SplitVectors.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include <numeric>

using namespace llvm;

/// Vectors that are longer take too long: of an accumulator of 128 elements a
/// quarter of the time to PTX. Shorter ones stay, because LLVM orders their
/// instructions better.
static constexpr unsigned kLongVector = 64;

/// Elements of a piece; the last one of a vector may have less.
static constexpr unsigned kPiece = 8;

/// The number of elements of a vector; 0 for other types.
static unsigned getLength(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 0;
}

static bool isSplit(Type *type) { return getLength(type) > kPiece; }

/// The type of piece `i` of a vector of `type`.
static FixedVectorType *getPieceType(Type *type, unsigned i) {
  unsigned length = getLength(type);
  return FixedVectorType::get(type->getScalarType(),
                              std::min(kPiece, length - i * kPiece));
}

static unsigned countPieces(Type *type) {
  return divideCeil(getLength(type), kPiece);
}

/// Whether each lane of the result depends on that lane of the operands alone,
/// and on scalars.
static bool isElementwise(Instruction &instruction) {
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return isTriviallyVectorizable(call->getIntrinsicID());
  if (isa<BitCastInst>(instruction))
    return getLength(instruction.getType()) ==
           getLength(instruction.getOperand(0)->getType());
  return isa<BinaryOperator, CastInst, CmpInst, FreezeInst, SelectInst,
             UnaryOperator>(instruction);
}

namespace {

/// Takes apart the vectors of one function.
class Splitter {
public:
  explicit Splitter(Function &function) : function(function) {}

  void run() {
    // Definitions come before their uses, but for those of phis.
    ReversePostOrderTraversal<Function *> blocks(&function);
    for (BasicBlock *block : blocks)
      for (Instruction &instruction : make_early_inc_range(*block))
        process(instruction);
    for (PHINode *phi : phis)
      fill(*phi);
    for (Instruction *instruction : reverse(replaced.getArrayRef())) {
      instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
      instruction->eraseFromParent();
    }
  }

private:
  using Pieces = SmallVector<Value *, 0>;

  /// A lane of a piece, or of a short vector; of none, it is poison.
  struct Lane {
    Value *vector = nullptr;
    unsigned index = 0;
  };

  //===--------------------------------------------------------------------===//
  // Pieces of values
  //===--------------------------------------------------------------------===//

  /// The pieces of `value`. Those of constants are constants; what was not made
  /// of pieces is taken apart behind its definition.
  ArrayRef<Value *> getPieces(Value *value) {
    auto [it, isNew] = pieces.try_emplace(value);
    if (!isNew)
      return *it->second;
    it->second = std::make_unique<Pieces>();
    Pieces &result = *it->second;
    Type *type = value->getType();
    auto *constant = dyn_cast<Constant>(value);
    if (constant && constant->getAggregateElement(0u)) {
      for (unsigned i = 0; i < countPieces(type); ++i)
        result.push_back(getPiece(*constant, i));
      return result;
    }
    IRBuilder<> builder(function.getContext());
    if (auto *instruction = dyn_cast<Instruction>(value)) {
      builder.SetInsertPoint(*instruction->getInsertionPointAfterDef());
      builder.SetCurrentDebugLocation(instruction->getDebugLoc());
    } else {
      builder.SetInsertPoint(&*function.getEntryBlock().begin());
    }
    for (unsigned i = 0; i < countPieces(type); ++i) {
      SmallVector<int> mask(getPieceType(type, i)->getNumElements());
      std::iota(mask.begin(), mask.end(), i * kPiece);
      result.push_back(builder.CreateShuffleVector(value, mask));
    }
    return result;
  }

  static Constant *getPiece(Constant &constant, unsigned i) {
    FixedVectorType *type = getPieceType(constant.getType(), i);
    SmallVector<Constant *> elements;
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane)
      elements.push_back(constant.getAggregateElement(i * kPiece + lane));
    return ConstantVector::get(elements);
  }

  /// Notes that `pieces` stand for `instruction` from now on.
  void replace(Instruction &instruction, Pieces made) {
    pieces[&instruction] = std::make_unique<Pieces>(std::move(made));
    replaced.insert(&instruction);
  }

  /// Lane `index` of `vector`, short or long; of a poison operand, none.
  Lane getLane(Value *vector, unsigned index) {
    if (isa<PoisonValue>(vector))
      return {};
    if (!isSplit(vector->getType()))
      return {vector, index};
    return {getPieces(vector)[index / kPiece], index % kPiece};
  }

  /// A vector of `lanes`, by one shuffle if they are of one vector or two.
  Value *build(IRBuilder<> &builder, ArrayRef<Lane> lanes, Type *element) {
    SmallSetVector<Value *, 4> sources;
    for (const Lane &lane : lanes)
      if (lane.vector)
        sources.insert(lane.vector);
    auto *type = FixedVectorType::get(element, lanes.size());
    if (sources.empty())
      return PoisonValue::get(type);
    bool haveOneType = all_equal(
        map_range(sources, [](Value *source) { return source->getType(); }));
    if (sources.size() > 2 || !haveOneType) {
      Value *result = PoisonValue::get(type);
      for (auto [i, lane] : enumerate(lanes))
        if (lane.vector)
          result = builder.CreateInsertElement(
              result, builder.CreateExtractElement(lane.vector, lane.index), i);
      return result;
    }
    unsigned length = getLength(sources[0]->getType());
    SmallVector<int> mask;
    for (const Lane &lane : lanes)
      mask.push_back(!lane.vector                ? PoisonMaskElem
                     : lane.vector == sources[0] ? int(lane.index)
                                                 : int(lane.index + length));
    if (sources.size() == 1 && ShuffleVectorInst::isIdentityMask(mask, length))
      return sources[0];
    return builder.CreateShuffleVector(
        sources[0],
        sources.size() == 2 ? sources[1]
                            : PoisonValue::get(sources[0]->getType()),
        mask);
  }

  //===--------------------------------------------------------------------===//
  // Instructions
  //===--------------------------------------------------------------------===//

  void process(Instruction &instruction) {
    bool hasLongResult = isSplit(instruction.getType());
    if (!hasLongResult && none_of(instruction.operands(), [](Value *operand) {
          return isSplit(operand->getType());
        }))
      return;
    if (auto *phi = dyn_cast<PHINode>(&instruction))
      return splitPhi(*phi);
    if (auto *insert = dyn_cast<InsertElementInst>(&instruction))
      if (isa<ConstantInt>(insert->getOperand(2)))
        return splitInsert(*insert);
    if (auto *extract = dyn_cast<ExtractElementInst>(&instruction))
      if (isa<ConstantInt>(extract->getIndexOperand()))
        return resolveExtract(*extract);
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction))
      return splitShuffle(*shuffle);
    if (hasLongResult && isElementwise(instruction))
      return splitElementwise(instruction);
    for (Use &operand : instruction.operands())
      if (isSplit(operand->getType()) && !isa<Constant>(operand))
        operand.set(join(operand, instruction));
  }

  void splitPhi(PHINode &phi) {
    Pieces made;
    for (unsigned i = 0; i < countPieces(phi.getType()); ++i) {
      auto *piece =
          PHINode::Create(getPieceType(phi.getType(), i),
                          phi.getNumIncomingValues(), "", phi.getIterator());
      piece->setDebugLoc(phi.getDebugLoc());
      made.push_back(piece);
    }
    phis.push_back(&phi);
    replace(phi, std::move(made));
  }

  /// Gives the pieces of `phi` what comes in, when all of that is known.
  void fill(PHINode &phi) {
    for (auto [value, block] : zip_equal(phi.incoming_values(), phi.blocks())) {
      ArrayRef<Value *> incoming = getPieces(value);
      for (auto [piece, part] : zip_equal(getPieces(&phi), incoming))
        cast<PHINode>(piece)->addIncoming(part, block);
    }
  }

  void splitInsert(InsertElementInst &insert) {
    IRBuilder<> builder(&insert);
    Pieces made(getPieces(insert.getOperand(0)));
    uint64_t index = cast<ConstantInt>(insert.getOperand(2))->getZExtValue();
    Value *&piece = made[index / kPiece];
    piece = builder.CreateInsertElement(piece, insert.getOperand(1),
                                        index % kPiece);
    replace(insert, std::move(made));
  }

  void resolveExtract(ExtractElementInst &extract) {
    IRBuilder<> builder(&extract);
    uint64_t index =
        cast<ConstantInt>(extract.getIndexOperand())->getZExtValue();
    Value *piece = getPieces(extract.getVectorOperand())[index / kPiece];
    extract.replaceAllUsesWith(
        builder.CreateExtractElement(piece, index % kPiece));
    replaced.insert(&extract);
  }

  void splitShuffle(ShuffleVectorInst &shuffle) {
    IRBuilder<> builder(&shuffle);
    unsigned length = getLength(shuffle.getOperand(0)->getType());
    SmallVector<Lane> lanes;
    for (int index : shuffle.getShuffleMask())
      lanes.push_back(
          index < 0 ? Lane()
                    : getLane(shuffle.getOperand(unsigned(index) >= length),
                              unsigned(index) % length));
    Type *element = shuffle.getType()->getElementType();
    if (!isSplit(shuffle.getType())) {
      shuffle.replaceAllUsesWith(build(builder, lanes, element));
      replaced.insert(&shuffle);
      return;
    }
    Pieces made;
    for (ArrayRef<Lane> rest = lanes; !rest.empty();) {
      ArrayRef<Lane> piece = rest.take_front(kPiece);
      made.push_back(build(builder, piece, element));
      rest = rest.drop_front(piece.size());
    }
    replace(shuffle, std::move(made));
  }

  void splitElementwise(Instruction &instruction) {
    Type *type = instruction.getType();
    Pieces made;
    for (unsigned i = 0; i < countPieces(type); ++i) {
      Instruction *piece = instruction.clone();
      for (Use &operand : instruction.operands())
        if (isSplit(operand->getType()))
          piece->setOperand(operand.getOperandNo(), getPieces(operand)[i]);
      piece->mutateType(getPieceType(type, i));
      piece->insertBefore(instruction.getIterator());
      if (auto *call = dyn_cast<IntrinsicInst>(piece))
        declare(*call);
      made.push_back(piece);
    }
    replace(instruction, std::move(made));
  }

  /// Makes `call`, of which result and operands have changed, one of the
  /// intrinsic of their types.
  static void declare(IntrinsicInst &call) {
    SmallVector<Type *> types;
    for (Value *argument : call.args())
      types.push_back(argument->getType());
    auto *type = FunctionType::get(call.getType(), types, /*isVarArg=*/false);
    SmallVector<Type *> overloads;
    [[maybe_unused]] bool fits = Intrinsic::getIntrinsicSignature(
        call.getIntrinsicID(), type, overloads);
    assert(fits && "an elementwise intrinsic takes vectors of any length");
    call.mutateFunctionType(type);
    call.setCalledOperand(Intrinsic::getOrInsertDeclaration(
        call.getModule(), call.getIntrinsicID(), overloads));
  }

  /// The whole of `value`, for `user`.
  Value *join(Value *value, Instruction &user) {
    auto *instruction = dyn_cast<Instruction>(value);
    if (!instruction || !replaced.contains(instruction))
      return value;
    IRBuilder<> builder(&user);
    ArrayRef<Value *> parts = getPieces(value);
    Value *result = PoisonValue::get(value->getType());
    for (unsigned i = 0; i < getLength(value->getType()); ++i)
      result = builder.CreateInsertElement(
          result, builder.CreateExtractElement(parts[i / kPiece], i % kPiece),
          i);
    return result;
  }

  Function &function;
  DenseMap<Value *, std::unique_ptr<Pieces>> pieces;
  /// What its pieces stand for, in order.
  SmallSetVector<Instruction *, 16> replaced;
  SmallVector<PHINode *> phis;
};

} // namespace

static bool hasLongVectors(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (getLength(instruction.getType()) > kLongVector)
        return true;
  return false;
}

void tl::splitLongVectors(Module &module) {
  if (!hasLongVectors(module))
    return;
  for (Function &function : module)
    if (!function.isDeclaration())
      Splitter(function).run();
}
