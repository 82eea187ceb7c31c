//===- ShareFormulas.cpp - One function for many equal formulas -----------===//
//
// A thread with some hundred elements has as many copies of a formula, and
// LLVM's time is that of their instructions. Where the pieces are many, the
// formula of one becomes a function that each of them calls; `tl-emit-ptx` puts
// its instructions in place of the calls, when LLVM has made them once.
//
// Sound because the ops are pure and element-wise, and get the same operands.
// A product and a sum of it may be fused or not (F3 of the semantics). Still
// results should not depend on how many elements a thread has, and LLVM, which
// fuses, does not see through a call:
// - what the ops add to has to be no product, and no result of theirs that may
//   be one may be added to something behind them. Of an exponential, which ends
//   in a product, the function returns the factors, and the product of these
//   stands behind the call;
// - with fast math a quotient may be a product, too: nothing is shared.
// What goes through memory is not followed: LLVM may pass a product that was
// stored on to a load of it, and fuse it where it is not in a function.
// What is the same for several elements is computed once in place, so that
// vectors with a lane that is there twice are not taken, but for those that are
// one value in the whole piece.
//
//===----------------------------------------------------------------------===//

#include "ShareFormulas.h"

#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Whether `op` adds none of its operands to anything: it converts, compares,
/// multiplies or divides. A quotient is corrected by fused operations of its
/// own.
static bool addsNothing(Operation *op) {
  return isa<arith::CmpFOp, arith::DivFOp, arith::ExtFOp, arith::FPToSIOp,
             arith::FPToUIOp, arith::MulFOp, arith::TruncFOp>(op);
}

/// Whether what `op` gives is no product, also when it has become a formula.
static bool givesNoProduct(Operation *op) {
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return isExpandedDivision(op);
  // These formulas choose at the end; of f64 there are others.
  if (isa<math::ErfOp, math::LogOp, math::Log2Op, math::TanhOp>(op))
    return !getElementTypeOrSelf(op->getResult(0).getType()).isF64();
  return isa<arith::AddFOp, arith::ExtFOp, arith::SIToFPOp, arith::SubFOp,
             arith::TruncFOp, arith::UIToFPOp>(op);
}

/// Whether `op` only moves elements between vectors.
static bool isMove(Operation *op) {
  return isa<vector::BroadcastOp, vector::ExtractOp,
             vector::ExtractStridedSliceOp, vector::FromElementsOp,
             vector::InsertOp, vector::InsertStridedSliceOp, vector::ShuffleOp,
             vector::ToElementsOp>(op);
}

/// Whether `op` gives elements of its operands, where LLVM may find which.
static bool isChoice(Operation *op) {
  return isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
             arith::MinNumFOp, arith::SelectOp>(op);
}

/// Whether an element of `value` may be a product. What loops carry may be.
static bool mayBeProduct(Value value) {
  SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (!op)
      return true;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned result = cast<OpResult>(seen[i]).getResultNumber();
      seen.insert(branch.thenYield().getOperand(result));
      seen.insert(branch.elseYield().getOperand(result));
    } else if (isMove(op) || isChoice(op)) {
      seen.insert(op->operand_begin(), op->operand_end());
    } else if (isFloat(seen[i]) && !matchPattern(op, m_Constant()) &&
               !isa<gpu::ShuffleOp, LLVM::LoadOp, LLVM::MaskedLoadOp>(op) &&
               !givesNoProduct(op)) {
      return true;
    }
  }
  return false;
}

/// Whether `op` becomes one product of two factors that can be computed alone.
static bool isProductOfFactors(Operation *op) {
  auto exp = dyn_cast<math::ExpOp>(op);
  return exp && !op->hasAttr(kSigmoidAttr) &&
         !isApproximate(exp.getFastmath()) &&
         getElementTypeOrSelf(exp.getType()).isF32();
}

/// Whether an element of `value` may be added to something by an op that is
/// none of `ops`.
static bool mayBeAdded(Value value, const SetVector<Operation *> &ops) {
  SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Operation *user : seen[i].getUsers()) {
      if (ops.contains(user) || addsNothing(user) ||
          isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(user))
        continue;
      if (!isMove(user))
        return true;
      seen.insert(user->result_begin(), user->result_end());
    }
  return false;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Whether each full piece of `size` lanes of `vector` is one value.
static bool isUniform(Value vector, int64_t length, int64_t size) {
  if (auto broadcast = vector.getDefiningOp<vector::BroadcastOp>())
    return !isa<VectorType>(broadcast.getSourceType());
  auto elements = vector.getDefiningOp<vector::FromElementsOp>();
  if (!elements)
    return false;
  for (int64_t first = 0; first + size <= length; first += size)
    if (!llvm::all_equal(elements.getElements().slice(first, size)))
      return false;
  return true;
}

/// Whether no lane of `vector` is known to be that of another one.
static bool hasDistinctLanes(Value vector) {
  llvm::DenseSet<Value> parts;
  while (auto insertion =
             vector.getDefiningOp<vector::InsertStridedSliceOp>()) {
    Value part = insertion.getValueToStore();
    if (!matchPattern(part, m_Constant()) && !parts.insert(part).second)
      return false;
    vector = insertion.getDest();
  }
  if (auto elements = vector.getDefiningOp<vector::FromElementsOp>()) {
    for (Value element : elements.getElements())
      if (!parts.insert(element).second)
        return false;
    return true;
  }
  return !vector.getDefiningOp<vector::BroadcastOp>() &&
         !vector.getDefiningOp<vector::ShuffleOp>();
}

/// The value that all lanes of the piece from `first` on are.
static Value getUniform(Value vector, int64_t first) {
  if (auto broadcast = vector.getDefiningOp<vector::BroadcastOp>())
    return broadcast.getSource();
  return vector.getDefiningOp<vector::FromElementsOp>().getElements()[first];
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether registers hold elements of `type`, as `tl-emit-ptx` passes them.
static bool isPassed(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) ||
         type.isInteger(32) || type.isInteger(64);
}

/// A constant like `value`, of `size` elements; null if its elements differ.
static Value cloneConstant(OpBuilder &builder, Value value, int64_t size) {
  Attribute attribute;
  matchPattern(value, m_Constant(&attribute));
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return builder.clone(*value.getDefiningOp())->getResult(0);
  auto splat = dyn_cast<SplatElementsAttr>(attribute);
  if (!splat)
    return nullptr;
  return arith::ConstantOp::create(
      builder, value.getLoc(),
      splat.resizeSplat(VectorType::get({size}, type.getElementType())));
}

std::optional<SharedFormula> SharedFormula::create(ArrayRef<Operation *> list,
                                                   int64_t length,
                                                   int64_t size) {
  auto module = list.front()->getParentOfType<gpu::GPUModuleOp>();
  if (!module || module->hasAttr(kFastMathAttr))
    return std::nullopt;
  SharedFormula formula;
  formula.size = size;
  SetVector<Operation *> ops(list.begin(), list.end());
  SetVector<Value> constants;
  llvm::SmallDenseSet<Value> known;
  SmallVector<Type> inputTypes, resultTypes;
  for (Operation *op : list) {
    if (op->getNumRegions() != 0)
      return std::nullopt;
    for (Value operand : op->getOperands()) {
      if (ops.contains(operand.getDefiningOp()))
        continue;
      if (matchPattern(operand, m_Constant())) {
        constants.insert(operand);
        continue;
      }
      auto type = dyn_cast<VectorType>(operand.getType());
      if (!type || !isPassed(type.getElementType()) ||
          (isFloat(operand) && !addsNothing(op) && mayBeProduct(operand)))
        return std::nullopt;
      if (!known.insert(operand).second)
        continue;
      bool isOne = isUniform(operand, length, size);
      if (!isOne && !hasDistinctLanes(operand))
        return std::nullopt;
      formula.inputs.push_back({operand, isOne});
      inputTypes.push_back(
          isOne ? type.getElementType()
                : VectorType::get({size}, type.getElementType()));
    }
    Value result = op->getResult(0);
    if (llvm::all_of(result.getUsers(),
                     [&](Operation *user) { return ops.contains(user); }))
      continue;
    Type element = getElementTypeOrSelf(result.getType());
    bool isProduct =
        isFloat(result) && !givesNoProduct(op) && mayBeAdded(result, ops);
    if (!isPassed(element) || (isProduct && !isProductOfFactors(op)))
      return std::nullopt;
    formula.results.push_back(result);
    formula.products.push_back(isProduct);
    resultTypes.append(isProduct ? 2 : 1, VectorType::get({size}, element));
  }
  if (formula.results.empty())
    return std::nullopt;

  MLIRContext *context = module.getContext();
  Location loc = list.front()->getLoc();
  OpBuilder builder(context);
  Type returned = LLVM::LLVMStructType::getLiteral(context, resultTypes);
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, "formula",
      LLVM::LLVMFunctionType::get(returned, inputTypes));
  Block *block = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  IRMapping map;
  for (Value constant : constants) {
    Value clone = cloneConstant(builder, constant, size);
    if (!clone) {
      function.erase();
      return std::nullopt;
    }
    map.map(constant, clone);
  }
  for (auto [input, argument] :
       llvm::zip_equal(formula.inputs, block->getArguments())) {
    Value value = argument;
    if (input.isUniform)
      value = vector::BroadcastOp::create(
          builder, loc, VectorType::get({size}, argument.getType()), argument);
    map.map(input.vector, value);
  }
  for (Operation *op : list) {
    Operation *clone = builder.clone(*op, map);
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    clone->getResult(0).setType(VectorType::get({size}, element));
  }
  Value all = LLVM::PoisonOp::create(builder, loc, returned);
  int64_t index = 0;
  auto add = [&](Value value) {
    all = LLVM::InsertValueOp::create(builder, loc, all, value, index++);
  };
  for (auto [result, isProduct] :
       llvm::zip_equal(formula.results, formula.products)) {
    Value clone = map.lookup(result);
    if (!isProduct) {
      add(clone);
      continue;
    }
    for (StringRef factor : {kMantissa, kPower}) {
      Operation *part = builder.clone(*clone.getDefiningOp());
      part->setAttr(kFactorAttr, builder.getStringAttr(factor));
      add(part->getResult(0));
    }
  }
  LLVM::ReturnOp::create(builder, loc, all);
  function.setPassthroughAttr(builder.getStrArrayAttr(StringRef(kFormulaAttr)));
  SymbolTable(module).insert(function);
  formula.function = function;
  return formula;
}

SmallVector<Value> SharedFormula::call(OpBuilder &builder,
                                       int64_t first) const {
  auto callee = cast<LLVM::LLVMFuncOp>(function);
  Location loc = callee.getLoc();
  SmallVector<Value> arguments;
  for (const Input &input : inputs)
    arguments.push_back(input.isUniform
                            ? getUniform(input.vector, first)
                            : vector::ExtractStridedSliceOp::create(
                                  builder, loc, input.vector, first, size, 1));
  auto call = LLVM::CallOp::create(builder, loc, callee, arguments);
  SmallVector<Value> pieces;
  int64_t index = 0;
  auto next = [&] {
    return LLVM::ExtractValueOp::create(builder, loc, call.getResult(),
                                        index++);
  };
  for (bool isProduct : products) {
    Value piece = next();
    if (isProduct)
      piece = arith::MulFOp::create(builder, loc, piece, next());
    pieces.push_back(piece);
  }
  return pieces;
}
