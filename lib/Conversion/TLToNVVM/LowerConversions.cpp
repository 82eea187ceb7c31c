//===- LowerConversions.cpp - Conversions that are instructions -----------===//
//
// `arith.fptosi` and `arith.fptoui` saturate, and so does the instruction:
// `cvt.rzi` clamps to the ends of the integer's range, and makes 0 of a NaN
// where both types have 32 bits (PTX ISA, "cvt"). LLVM's own `fptosi` is
// undefined there, and its optimiser relies on that; LLVM's saturating one
// becomes seven instructions. So the instruction is called by its intrinsic.
//
// Floats of 8 bits are converted two at a time (PTX ISA, "cvt", from sm_89 on).
// To them the instruction saturates, and keeps NaN, which is what a conversion
// of the language means: the limits before `arith.truncf` are left to it. Where
// there are none, what is too large is told apart: before the instruction,
// where it becomes NaN, and behind it, where it becomes infinity. 464 and 61440
// are the least such numbers but for ties, of which the first goes to the even
// number below and the second to the one above. Older chips compute conversions
// as the CPU does.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include <limits>

using namespace mlir;
using namespace tl;

/// The intrinsic that converts to the integer `to`; empty if there is none.
static std::string getIntrinsic(Type from, Type to, bool isSigned) {
  unsigned width = to.getIntOrFloatBitWidth();
  if ((!from.isF32() && !from.isF64()) || (width != 32 && width != 64))
    return "";
  return (Twine("llvm.nvvm.") + (from.isF32() ? "f" : "d") + "2" +
          (isSigned ? "" : "u") + (width == 32 ? "i" : "ll") + ".rz")
      .str();
}

namespace {
template <typename OpTy>
struct ConversionToInstruction : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type to = getElementTypeOrSelf(op.getType());
    std::string name = getIntrinsic(getElementTypeOrSelf(op.getIn().getType()),
                                    to, std::is_same_v<OpTy, arith::FPToSIOp>);
    if (name.empty())
      return rewriter.notifyMatchFailure(op, "no such instruction");
    rewriter.replaceOp(op, callIntrinsic(rewriter, loc, name, op.getIn(), to));
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Floats of 8 bits
//===----------------------------------------------------------------------===//

/// `e4m3` or `e5m2`; empty for other types.
static StringRef getSmallFormat(Type type) {
  type = getElementTypeOrSelf(type);
  return isa<Float8E4M3FNType>(type) ? "e4m3"
         : isa<Float8E5M2Type>(type) ? "e5m2"
                                     : "";
}

/// Pairs of elements, as many as a type has; none if one is left over.
static int64_t getNumPairs(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return 1;
  return vector.getNumElements() % 2 == 0 ? vector.getNumElements() / 2 : 0;
}

static Type withElement(Type shape, Type element) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.clone(element);
  return element;
}

/// Pairs of bytes, the first of them the lower half.
static SmallVector<Value> toPairs(OpBuilder &builder, Location loc,
                                  Value bytes) {
  Type word = builder.getI16Type();
  auto type = dyn_cast<VectorType>(bytes.getType());
  if (!type)
    return {arith::ExtUIOp::create(builder, loc, word, bytes)};
  auto pairs = VectorType::get(type.getNumElements() / 2, word);
  auto elements = vector::ToElementsOp::create(
      builder, loc, vector::BitCastOp::create(builder, loc, pairs, bytes));
  return llvm::to_vector_of<Value>(elements.getResults());
}

/// The opposite; `type` is that of the bytes.
static Value fromPairs(OpBuilder &builder, Location loc, ArrayRef<Value> words,
                       Type type) {
  if (!isa<VectorType>(type))
    return arith::TruncIOp::create(builder, loc, type, words.front());
  auto pairs = VectorType::get(words.size(), builder.getI16Type());
  Value vector = vector::FromElementsOp::create(builder, loc, pairs, words);
  return vector::BitCastOp::create(builder, loc, type, vector);
}

namespace {
struct WidenByInstruction : OpRewritePattern<arith::ExtFOp> {
  WidenByInstruction(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type from = op.getIn().getType();
    StringRef format = getSmallFormat(from);
    if (format.empty() || getNumPairs(from) == 0)
      return rewriter.notifyMatchFailure(op, "no pairs of small floats");
    Value bytes = arith::BitcastOp::create(
        rewriter, loc, withElement(from, rewriter.getI8Type()), op.getIn());
    auto pair = VectorType::get(2, rewriter.getF16Type());
    std::string name = ("llvm.nvvm." + format + "x2.to.f16x2.rn").str();
    SmallVector<Value> halves;
    for (Value word : toPairs(rewriter, loc, bytes)) {
      Value both = LLVM::CallIntrinsicOp::create(
                       rewriter, loc, pair, rewriter.getStringAttr(name), word)
                       .getResult(0);
      halves.push_back(vector::ExtractOp::create(rewriter, loc, both, 0));
      halves.push_back(vector::ExtractOp::create(rewriter, loc, both, 1));
    }
    Value result = halves.front();
    if (isa<VectorType>(from))
      result = vector::FromElementsOp::create(
          rewriter, loc, withElement(from, rewriter.getF16Type()), halves);
    // Exact in every wider type, bfloat16 by way of f32.
    if (getElementTypeOrSelf(op.getType()).isBF16()) {
      Type single = withElement(from, rewriter.getF32Type());
      result = arith::ExtFOp::create(rewriter, loc, single, result);
      result = arith::TruncFOp::create(rewriter, loc, op.getType(), result);
    } else if (result.getType() != op.getType()) {
      result = arith::ExtFOp::create(rewriter, loc, op.getType(), result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// The number of which `x` is what is left of it between `greatest` and its
/// opposite; null if `x` is not limited so.
static Value getUnlimited(Value x, double greatest) {
  auto isConstant = [](Value value, double number) {
    llvm::APFloat found(0.0);
    return matchPattern(value, m_ConstantFloat(&found)) &&
           found.convertToDouble() == number;
  };
  auto low = x.getDefiningOp<arith::MaximumFOp>();
  if (!low || !isConstant(low.getRhs(), -greatest))
    return {};
  auto high = low.getLhs().getDefiningOp<arith::MinimumFOp>();
  if (!high || !isConstant(high.getRhs(), greatest))
    return {};
  return high.getLhs();
}

struct NarrowByInstruction : OpRewritePattern<arith::TruncFOp> {
  NarrowByInstruction(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    StringRef format = getSmallFormat(op.getType());
    Type from = getElementTypeOrSelf(op.getIn().getType());
    if (format.empty() || getNumPairs(op.getType()) == 0 || from.isF64())
      return rewriter.notifyMatchFailure(op, "no pairs of small floats");
    Value x = getUnlimited(op.getIn(), *getGreatestOf8Bits(op.getType()));
    bool isLimited = x != nullptr;
    if (!isLimited)
      x = op.getIn();
    if (from.isBF16() || (from.isF16() && !isLimited))
      x = convertElement(rewriter, loc, x, rewriter.getF32Type());

    Type bytes = withElement(op.getType(), rewriter.getI8Type());
    Value result = isLimited ? emitPairs(rewriter, loc, x, format, bytes)
                             : emitUnlimited(rewriter, loc, x, format, bytes);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), result);
    return success();
  }

private:
  /// Floats of 16 or 32 bits, saturated.
  static Value emitPairs(OpBuilder &builder, Location loc, Value x,
                         StringRef format, Type bytes) {
    SmallVector<Value> elements = {x};
    Type element = getElementTypeOrSelf(x.getType());
    if (isa<VectorType>(x.getType()))
      elements = llvm::to_vector_of<Value>(
          vector::ToElementsOp::create(builder, loc, x).getResults());
    else
      elements.push_back(arith::ConstantOp::create(
          builder, loc, builder.getFloatAttr(element, 0)));
    bool isHalf = element.isF16();
    std::string name = ("llvm.nvvm." + Twine(isHalf ? "f16x2" : "ff") + ".to." +
                        format + "x2.rn")
                           .str();
    SmallVector<Value> words;
    for (size_t i = 0; i < elements.size(); i += 2) {
      // The first of two operands is the upper half.
      SmallVector<Value> operands = {elements[i + 1], elements[i]};
      if (isHalf)
        operands = {vector::FromElementsOp::create(
            builder, loc, VectorType::get(2, element),
            ArrayRef<Value>{elements[i], elements[i + 1]})};
      words.push_back(
          LLVM::CallIntrinsicOp::create(builder, loc, builder.getI16Type(),
                                        builder.getStringAttr(name), operands)
              .getResult(0));
    }
    return fromPairs(builder, loc, words, bytes);
  }

  /// Floats of 32 bits, where what is too large becomes infinity or NaN.
  static Value emitUnlimited(OpBuilder &builder, Location loc, Value x,
                             StringRef format, Type bytes) {
    FloatBuilder f(builder, loc, x.getType());
    Value size = f.abs(x);
    if (format == "e4m3") {
      Value given = f.select(f.greater(size, 464),
                             f(std::numeric_limits<double>::quiet_NaN()), x);
      return emitPairs(builder, loc, given, format, bytes);
    }
    Value sign = f.mask(f.shiftDown(f.floatToBits(x), 24), 0x80);
    Value infinity = arith::TruncIOp::create(builder, loc, bytes,
                                             f.either(sign, f.integer(0x7C)));
    return f.select(f.atLeast(size, 61440), infinity,
                    emitPairs(builder, loc, x, format, bytes));
  }
};
} // namespace

void tl::populateSmallFloatInstructionPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowByInstruction, WidenByInstruction>(patterns.getContext());
}

void tl::populateConversionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConversionToInstruction<arith::FPToSIOp>,
               ConversionToInstruction<arith::FPToUIOp>>(patterns.getContext());
}
