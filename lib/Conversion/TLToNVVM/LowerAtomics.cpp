//===- LowerAtomics.cpp - Atomic operations to PTX ------------------------===//
//
// Each is a piece of inline assembly that touches memory and has side effects,
// so that neither LLVM nor `ptxas` moves other accesses over it: an order
// concerns them as well.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tl/Conversion/TLToNVVM/AtomInstruction.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tl;

/// The registers of a vector: floats of 32 bits, or words with two of 16 bits.
static SmallVector<Value> getRegisters(Value value, VectorType type,
                                       OpBuilder &builder, Location loc) {
  int64_t count = getRegisterCount(type);
  if (!type.getElementType().isF32())
    value = LLVM::BitcastOp::create(
        builder, loc, VectorType::get({count}, builder.getI32Type()), value);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i) {
    Value at =
        LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i));
    parts.push_back(LLVM::ExtractElementOp::create(builder, loc, value, at));
  }
  return parts;
}

namespace {
struct AtomToAssembly : ConvertOpToLLVMPattern<AtomOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(AtomOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getOld().getType();
    // Floats of 16 bits have no registers of their own.
    bool isHalf = isa<Float16Type, BFloat16Type>(type);
    bool isByte = type.isInteger(8);
    Type word = isHalf   ? rewriter.getI16Type()
                : isByte ? rewriter.getI32Type()
                         : type;
    auto toWord = [&](Value value) -> Value {
      if (isHalf)
        return LLVM::BitcastOp::create(rewriter, loc, word, value);
      return isByte ? LLVM::ZExtOp::create(rewriter, loc, word, value) : value;
    };

    std::string constraints;
    SmallVector<Value> inputs;
    unsigned count = 0;
    auto add = [&](const std::string &constraint) {
      constraints += (count == 0 ? "" : ",") + constraint;
      return "$" + std::to_string(count++);
    };
    auto addInput = [&](Value value, char letter) {
      inputs.push_back(value);
      return add(std::string(1, letter));
    };
    AtomOperands operands;
    char letter = isa<VectorType>(type) ? '\0' : getRegisterLetter(word);
    if (givesResult(op) || op.getKind() == AtomicKind::Load)
      operands.result = add(std::string("=") + letter);
    operands.address = addInput(adaptor.getAddress(), 'l');
    if (auto vector = dyn_cast<VectorType>(type)) {
      SmallVector<std::string> names;
      for (Value part : getRegisters(adaptor.getValue(), vector, rewriter, loc))
        names.push_back(addInput(part, getRegisterLetter(part.getType())));
      operands.value = names.size() == 1 ? names.front()
                                         : "{" + llvm::join(names, ", ") + "}";
    } else if (Value value = adaptor.getValue()) {
      operands.value = addInput(toWord(value), letter);
    }
    if (Value expected = adaptor.getExpected())
      operands.expected = addInput(toWord(expected), letter);
    add("~{memory}");

    SmallVector<Type> results;
    if (!operands.result.empty())
      results.push_back(word);
    auto assembly = LLVM::InlineAsmOp::create(
        rewriter, loc, results, inputs, printAtom(op, operands), constraints,
        /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
        /*operand_attrs=*/ArrayAttr());
    if (!givesResult(op)) {
      rewriter.eraseOp(op);
      return success();
    }
    Value old = assembly.getResult(0);
    if (isHalf)
      old = LLVM::BitcastOp::create(rewriter, loc, type, old);
    if (isByte)
      old = LLVM::TruncOp::create(rewriter, loc, type, old);
    rewriter.replaceOp(op, old);
    return success();
  }
};
} // namespace

void tl::populateAtomicPatterns(const LLVMTypeConverter &converter,
                                RewritePatternSet &patterns) {
  patterns.add<AtomToAssembly>(converter);
}
