//===- LowerMatrixOps.cpp - Warp and warp-group instructions to NVVM ------===//
//
// `ldmatrix`, `stmatrix` and `mma.sync` have NVVM ops that return values, and
// need only a change of types. `wgmma` does not: it is asynchronous, and its
// accumulators must not be touched, or even moved, until a wait has completed
// them. Both the group and the wait are therefore one piece of inline assembly
// each, in which every accumulator register is an output tied to an input:
// what the wait returns is a new value to LLVM, so no use can move above it,
// and the same register to `ptxas`, so nothing is copied (a copy of a register
// in flight makes ptxas serialise: warnings C7510 to C7519).
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Vectors and registers
//===----------------------------------------------------------------------===//

/// The vector of 32-bit registers that a `vector` of 16- or 32-bit elements is.
static VectorType getRegisterType(VectorType vector) {
  Type element = vector.getElementType();
  if (element.getIntOrFloatBitWidth() == 32)
    return vector;
  int64_t bits = vector.getNumElements() * element.getIntOrFloatBitWidth();
  return VectorType::get({bits / 32},
                         IntegerType::get(vector.getContext(), 32));
}

static Value castVector(OpBuilder &builder, Location loc, Value value,
                        Type type) {
  if (value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}

static Value getI32(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI32IntegerAttr(value));
}

/// The elements of `vector`, after a cast to `type`.
static SmallVector<Value> unpack(OpBuilder &builder, Location loc, Value vector,
                                 VectorType type) {
  vector = castVector(builder, loc, vector, type);
  SmallVector<Value> elements;
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(builder, loc, vector,
                                                      getI32(builder, loc, i)));
  return elements;
}

static SmallVector<Value> unpackRegisters(OpBuilder &builder, Location loc,
                                          Value vector) {
  return unpack(builder, loc, vector,
                getRegisterType(cast<VectorType>(vector.getType())));
}

/// The inverse of `unpack`: a vector of type `type`.
static Value pack(OpBuilder &builder, Location loc, ValueRange elements,
                  VectorType type) {
  auto packed =
      VectorType::get({int64_t(elements.size())}, elements.front().getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, packed);
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(builder, loc, vector, element,
                                           getI32(builder, loc, i));
  return castVector(builder, loc, vector, type);
}

/// An op with several results returns a struct, one with a single result that.
static Type getResultType(MLIRContext *context, TypeRange types) {
  if (types.size() == 1)
    return types.front();
  return LLVM::LLVMStructType::getLiteral(context, llvm::to_vector(types));
}

static SmallVector<Value> getResults(OpBuilder &builder, Location loc,
                                     Value result) {
  auto type = dyn_cast<LLVM::LLVMStructType>(result.getType());
  if (!type)
    return {result};
  SmallVector<Value> values;
  for (int64_t i = 0, e = type.getBody().size(); i < e; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, result, i));
  return values;
}

/// Emits `text`, an instruction that reads and writes `registers` in place (or
/// only writes them, if not `reads`) and reads `inputs`. In the text the
/// registers are `$0`, `$1` …, the inputs follow them. No input may share a
/// register with them, though both be the same zero (`=&`): several products in
/// one text read inputs after the first has written. Returns the registers
/// afterwards. The assembly has side effects, which also makes it convergent
/// when PTX is emitted.
static SmallVector<Value> emitInPlace(OpBuilder &builder, Location loc,
                                      StringRef text, ValueRange registers,
                                      ValueRange inputs = {},
                                      bool reads = true) {
  SmallVector<std::string> constraints;
  for (Value value : registers)
    constraints.push_back(isa<FloatType>(value.getType()) ? "=&f" : "=&r");
  for (Value value : inputs)
    constraints.push_back(value.getType().isInteger(32) ? "r" : "l");
  SmallVector<Value> operands(inputs);
  if (reads) {
    for (size_t i = 0; i < registers.size(); ++i)
      constraints.push_back(std::to_string(i));
    llvm::append_range(operands, registers);
  }
  constraints.push_back("~{memory}");

  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, getResultType(builder.getContext(), registers.getTypes()),
      operands, text, llvm::join(constraints, ","), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  return getResults(builder, loc, assembly.getResult(0));
}

//===----------------------------------------------------------------------===//
// Warp instructions
//===----------------------------------------------------------------------===//

namespace {

struct LdmatrixToNVVM : ConvertOpToLLVMPattern<LdmatrixOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(LdmatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<VectorType>(op.getType());
    SmallVector<Type> registers(type.getNumElements(), type.getElementType());
    auto load = NVVM::LdMatrixOp::create(
        rewriter, op.getLoc(), getResultType(getContext(), registers),
        adaptor.getAddress(), type.getNumElements(),
        op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
    rewriter.replaceOp(op, pack(rewriter, op.getLoc(),
                                getResults(rewriter, op.getLoc(), load), type));
    return success();
  }
};

struct StmatrixToNVVM : ConvertOpToLLVMPattern<StmatrixOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(StmatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::StMatrixOp>(
        op, adaptor.getAddress(),
        unpackRegisters(rewriter, op.getLoc(), adaptor.getValue()),
        op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
    return success();
  }
};

struct MmaToNVVM : ConvertOpToLLVMPattern<MmaOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(MmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MmaKind kind = op.getKind();
    auto half2 = VectorType::get({2}, rewriter.getF16Type());
    auto unpackMultiplicand = [&](Value value) {
      SmallVector<Value> registers = unpackRegisters(rewriter, loc, value);
      // The intrinsics take f16 as pairs, all other types as i32.
      if (kind == MmaKind::F16)
        for (Value &part : registers)
          part = castVector(rewriter, loc, part, half2);
      return registers;
    };

    auto type = cast<VectorType>(op.getType());
    bool halfAccumulator = type.getElementType().isF16();
    SmallVector<Value> c = unpackRegisters(rewriter, loc, adaptor.getC());
    if (halfAccumulator)
      for (Value &part : c)
        part = castVector(rewriter, loc, part, half2);

    SmallVector<Value> a = unpackMultiplicand(adaptor.getA());
    SmallVector<Value> b = unpackMultiplicand(adaptor.getB());
    Type result = getResultType(getContext(), ValueRange(c).getTypes());
    FailureOr<int> capability = getCapability(op);
    if (failed(capability))
      return failure();
    SmallVector<Value> d;
    if (*capability != 0 && *capability < kFirstWithWholeSteps)
      d = multiplyInParts(rewriter, op, a, b, c);
    else
      d = getResults(rewriter, loc,
                     !isSmallFloat(kind)
                         ? multiply(rewriter, op, a, b, c, result)
                     : hasNoSmallFloats(*capability)
                         ? multiplyAsHalves(rewriter, op, a, b, c, result)
                         : multiplySmallFloats(rewriter, op, a, b, c, result));
    if (halfAccumulator)
      for (Value &part : d)
        part = castVector(rewriter, loc, part, rewriter.getI32Type());
    rewriter.replaceOp(op, pack(rewriter, loc, d, type));
    return success();
  }

private:
  /// Chips before that have instructions of half the depth, and of bytes such
  /// of half the rows (PTX ISA, "mma": m16n8k8, m8n8k16).
  static constexpr int kFirstWithWholeSteps = 80;

  /// Register 2 h + r of A is of half h of the depth and of half r of the rows,
  /// in which each lane has what it would have in the smaller instruction; and
  /// so with B, of which register h is, and with the sums.
  static SmallVector<Value> multiplyInParts(OpBuilder &builder, MmaOp op,
                                            ArrayRef<Value> a,
                                            ArrayRef<Value> b,
                                            ArrayRef<Value> c) {
    size_t parts = isInteger(op.getKind()) ? 2 : 1;
    size_t rows = 2 / parts, sums = c.size() / parts;
    SmallVector<int64_t> shape = parts == 1 ? SmallVector<int64_t>{16, 8, 8}
                                            : SmallVector<int64_t>{8, 8, 16};
    SmallVector<Value> d;
    for (size_t part = 0; part < parts; ++part) {
      SmallVector<Value> sum(c.slice(part * sums, sums));
      Type result = getResultType(op.getContext(), ValueRange(sum).getTypes());
      for (size_t half = 0; half < 2; ++half)
        sum = getResults(builder, op.getLoc(),
                         createMma(builder, op, a.slice(2 * half + part, rows),
                                   b[half], sum, result, shape));
      llvm::append_range(d, sum);
    }
    return d;
  }

  static bool isSmallFloat(MmaKind kind) {
    return kind == MmaKind::E4M3 || kind == MmaKind::E5M2;
  }

  static Value multiply(OpBuilder &builder, MmaOp op, ValueRange a,
                        ValueRange b, ValueRange c, Type result) {
    return createMma(builder, op, a, b, c, result,
                     {16, 8, getDepth(op.getKind())});
  }

  static Value createMma(OpBuilder &builder, MmaOp op, ValueRange a,
                         ValueRange b, ValueRange c, Type result,
                         ArrayRef<int64_t> shape) {
    MmaKind kind = op.getKind();
    std::optional<NVVM::MMAIntOverflow> overflow;
    if (isInteger(kind))
      overflow = NVVM::MMAIntOverflow::wrapped;
    return NVVM::MmaOp::create(
        builder, op.getLoc(), result, a, b, c, shape, /*b1Op=*/std::nullopt,
        overflow, std::array{getPTXType(kind), getPTXType(op.getKindOfB())},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  }

  /// The op of NVVM has no floats of 8 bits, LLVM has.
  static Value multiplySmallFloats(OpBuilder &builder, MmaOp op, ValueRange a,
                                   ValueRange b, ValueRange c, Type result) {
    bool halfAccumulator =
        cast<VectorType>(op.getType()).getElementType().isF16();
    StringRef sum = halfAccumulator ? "f16" : "f32";
    std::string name = llvm::formatv(
        "llvm.nvvm.mma.m16n8k32.row.col.{0}.{1}.{2}.{0}", sum,
        stringifyMmaKind(op.getKind()), stringifyMmaKind(op.getKindOfB()));
    SmallVector<Value> operands(a);
    llvm::append_range(operands, b);
    llvm::append_range(operands, c);
    return LLVM::CallIntrinsicOp::create(builder, op.getLoc(), result,
                                         builder.getStringAttr(name), operands)
        .getResult(0);
  }

  /// Chips of 9.0 to 11.x multiply no floats of 8 bits by `mma.sync`: ptxas
  /// takes them apart into halves. ptxas 13.0 then makes a 7 of the upper bytes
  /// of a register that it knows to be zero.
  static bool hasNoSmallFloats(int capability) {
    return capability >= 90 && capability < 120;
  }

  /// What ptxas makes of it: the lower bytes of all registers as halves, and
  /// the upper ones.
  static Value multiplyAsHalves(OpBuilder &builder, MmaOp op, ValueRange a,
                                ValueRange b, ValueRange c, Type result) {
    SmallVector<Value> sum(c);
    Value mma;
    for (bool isUpper : {false, true}) {
      auto convert = [&](ValueRange registers, MmaKind kind) {
        return llvm::map_to_vector(registers, [&](Value value) {
          return convertToHalves(builder, op.getLoc(), value, kind, isUpper);
        });
      };
      mma = NVVM::MmaOp::create(
          builder, op.getLoc(), result, convert(a, op.getKind()),
          convert(b, op.getKindOfB()), sum, ArrayRef<int64_t>{16, 8, 16},
          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
          std::array{NVVM::MMATypes::f16, NVVM::MMATypes::f16},
          std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
      sum = getResults(builder, op.getLoc(), mma);
    }
    return mma;
  }

  /// Two floats of 8 bits of a register as halves. The upper ones are shifted:
  /// of a zero that is taken apart by `mov`, ptxas 13.0 makes a 7 too.
  static Value convertToHalves(OpBuilder &builder, Location loc, Value value,
                               MmaKind kind, bool isUpper) {
    std::string text = llvm::formatv(
        "{{\n\t.reg .b16 %h;\n\t.reg .b32 %w;\n\tshr.u32 %w, $1, {0};\n\t"
        "cvt.u16.u32 %h, %w;\n\tcvt.rn.f16x2.{1}x2 $0, %h;\n\t}",
        isUpper ? 16 : 0, stringifyMmaKind(kind));
    auto assembly = LLVM::InlineAsmOp::create(
        builder, loc, builder.getI32Type(), value, text, "=r,r",
        /*has_side_effects=*/false, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(builder.getContext(),
                                  LLVM::AsmDialect::AD_ATT),
        /*operand_attrs=*/ArrayAttr());
    return castVector(builder, loc, assembly.getResult(0),
                      VectorType::get({2}, builder.getF16Type()));
  }

  static NVVM::MMATypes getPTXType(MmaKind kind) {
    switch (kind) {
    case MmaKind::F16:
      return NVVM::MMATypes::f16;
    case MmaKind::BF16:
      return NVVM::MMATypes::bf16;
    case MmaKind::TF32:
      return NVVM::MMATypes::tf32;
    case MmaKind::S8:
      return NVVM::MMATypes::s8;
    case MmaKind::U8:
      return NVVM::MMATypes::u8;
    case MmaKind::E4M3:
      return NVVM::MMATypes::e4m3;
    case MmaKind::E5M2:
      return NVVM::MMATypes::e5m2;
    }
    llvm_unreachable("unknown kind of mma");
  }
};

struct MmaF64ToNVVM : ConvertOpToLLVMPattern<MmaF64Op> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(MmaF64Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<int> capability = getCapability(op);
    if (failed(capability))
      return failure();
    constexpr int firstWithAllRows = 90;
    bool hasAllRows = *capability >= firstWithAllRows;
    SmallVector<Value> a =
        unpack(rewriter, loc, adaptor.getA(), op.getA().getType());
    SmallVector<Value> c = unpack(rewriter, loc, adaptor.getC(), op.getType());
    SmallVector<Value> d;
    // Of two instructions each has eight rows, with half of the elements.
    for (unsigned part = 0, parts = hasAllRows ? 1 : 2; part < parts; ++part) {
      auto own = [&](ArrayRef<Value> all) {
        size_t count = all.size() / parts;
        return all.slice(part * count, count);
      };
      SmallVector<Value> operands(own(a));
      operands.push_back(adaptor.getB());
      llvm::append_range(operands, own(c));
      Type result = getResultType(getContext(), ValueRange(own(c)).getTypes());
      StringRef name = hasAllRows ? "llvm.nvvm.mma.m16n8k4.row.col.f64"
                                  : "llvm.nvvm.mma.m8n8k4.row.col.f64";
      Value mma =
          LLVM::CallIntrinsicOp::create(rewriter, loc, result,
                                        rewriter.getStringAttr(name), operands)
              .getResult(0);
      llvm::append_range(d, getResults(rewriter, loc, mma));
    }
    rewriter.replaceOp(op,
                       pack(rewriter, loc, d, cast<VectorType>(op.getType())));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Warp-group instructions
//===----------------------------------------------------------------------===//

/// `descriptor` moved by `offset` units of 16 bytes. Only the low word changes,
/// and it holds the address: 32-bit arithmetic stays in uniform registers.
static Value advanceDescriptor(OpBuilder &builder, Location loc,
                               Value descriptor, int64_t offset) {
  if (offset == 0)
    return descriptor;
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value shift =
      LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  Value low = LLVM::TruncOp::create(builder, loc, i32, descriptor);
  low = LLVM::AddOp::create(builder, loc, low, getI32(builder, loc, offset));
  Value high = LLVM::LShrOp::create(builder, loc, descriptor, shift);
  high = LLVM::ShlOp::create(builder, loc, high, shift);
  return LLVM::OrOp::create(builder, loc, high,
                            LLVM::ZExtOp::create(builder, loc, i64, low));
}

/// `count` operands of an assembly, from `first` on.
static std::string getPlaces(int64_t first, int64_t count) {
  return llvm::join(
      llvm::map_range(llvm::seq(first, first + count),
                      [](int64_t i) { return "$" + std::to_string(i); }),
      ", ");
}

struct WgmmaToAssembly : ConvertOpToLLVMPattern<WgmmaOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(WgmmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> registers =
        unpackRegisters(rewriter, loc, adaptor.getAcc());
    int64_t packing =
        cast<VectorType>(op.getType()).getNumElements() / registers.size();

    WgmmaInstruction instruction = WgmmaInstruction::of(op);
    constexpr StringLiteral fence = "wgmma.fence.sync.aligned;\n";
    std::string text = fence.str();
    bool fromZero = startsFromZero(op, adaptor.getAcc());
    SmallVector<bool> fences(op.getAccOffsets().size(), false);
    if (fromZero)
      fences = needFences(op);
    llvm::SmallSet<int64_t, 4> started;
    SmallVector<Value> inputs;
    if (op.hasRegisterA())
      inputs = unpackRegisters(rewriter, loc, adaptor.getA());
    for (auto [accOffset, aOffset, bOffset, needsFence] : llvm::zip_equal(
             op.getAccOffsets(), op.getAOffsets(), op.getBOffsets(), fences)) {
      if (needsFence)
        text += fence;
      std::string a;
      if (op.hasRegisterA()) {
        a = "{" + getPlaces(registers.size() + aOffset, 4) + "}";
      } else {
        a = getPlaces(registers.size() + inputs.size(), 1);
        inputs.push_back(
            advanceDescriptor(rewriter, loc, adaptor.getA(), aOffset));
      }
      std::string b = getPlaces(registers.size() + inputs.size(), 1);
      inputs.push_back(
          advanceDescriptor(rewriter, loc, adaptor.getB(), bOffset));
      text += instruction.print(
                  getPlaces(accOffset / packing, op.getN() / 2 / packing), a, b,
                  !fromZero || !started.insert(accOffset).second) +
              "\n";
    }
    text += "wgmma.commit_group.sync.aligned;";

    registers = emitInPlace(rewriter, loc, text, registers, inputs,
                            /*reads=*/!fromZero);
    rewriter.replaceOp(
        op, pack(rewriter, loc, registers, cast<VectorType>(op.getType())));
    return success();
  }
};

struct WgmmaWaitToAssembly : ConvertOpToLLVMPattern<WgmmaWaitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(WgmmaWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getValues().empty()) {
      rewriter.replaceOpWithNewOp<NVVM::WgmmaWaitGroupSyncOp>(op,
                                                              op.getPending());
      return success();
    }

    Location loc = op.getLoc();
    SmallVector<Value> registers;
    SmallVector<size_t> counts;
    for (Value value : adaptor.getValues()) {
      SmallVector<Value> part = unpackRegisters(rewriter, loc, value);
      counts.push_back(part.size());
      llvm::append_range(registers, part);
    }
    std::string text =
        llvm::formatv("wgmma.wait_group.sync.aligned {0};", op.getPending());
    registers = emitInPlace(rewriter, loc, text, registers);

    SmallVector<Value> results;
    ArrayRef<Value> rest = registers;
    for (auto [count, value] : llvm::zip_equal(counts, adaptor.getValues())) {
      // Factors are held as well, and those of 8-bit floats are integers here.
      results.push_back(pack(rewriter, loc, rest.take_front(count),
                             cast<VectorType>(value.getType())));
      rest = rest.drop_front(count);
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void tl::populateMatrixOpPatterns(const LLVMTypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<LdmatrixToNVVM, MmaToNVVM, MmaF64ToNVVM, StmatrixToNVVM,
               WgmmaToAssembly, WgmmaWaitToAssembly>(converter);
}
