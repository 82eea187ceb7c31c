//===- ConvertTLToNVVM.cpp - Thread-level kernels to the LLVM dialect -----===//
//
// Structured control flow becomes branches, `math` becomes what the hardware
// has, and then one dialect conversion takes everything to the LLVM dialect:
// upstream's patterns for `arith`, `cf`, `math` and `vector`, ours for kernels,
// for the few `gpu` ops of thread level and for `tl`. Upstream's gpu-to-nvvm is
// not used: it drops `byval` from tensor maps, gives dynamic shared memory an
// alignment of 16 bytes, and links ROCDL and SPIR-V.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToNVVM/Passes.h"

#include "Patterns.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tl/Conversion/MathFunctions/MathFunctions.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Branches.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"

namespace tl {
#define GEN_PASS_DEF_CONVERTTLTONVVMPASS
#include "tl/Conversion/TLToNVVM/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// What a tensor map is: 128 opaque bytes at a multiple of 64 (CUDA driver API,
/// `CUtensorMap`).
static constexpr int64_t kTensorMapBytes = 128;
static constexpr int64_t kTensorMapAlignment = 64;

/// Alignment that the launch plan checks base addresses for.
static constexpr int64_t kBaseAlignment = 16;

/// Swizzle atoms repeat every 1024 bytes, and so must dynamic shared memory.
static constexpr int64_t kSharedAlignment = 1024;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The attributes of argument `index` of the LLVM function made from `kernel`.
static DictionaryAttr getArgumentAttributes(gpu::GPUFuncOp kernel,
                                            unsigned index) {
  Builder builder(kernel.getContext());
  NamedAttrList attributes;
  auto param = kernel.getArgAttrOfType<ParamAttr>(index, kParamAttr);
  if (param)
    attributes.set(kParamAttr, param);

  auto pointer =
      dyn_cast<LLVM::LLVMPointerType>(kernel.getArgument(index).getType());
  if (!pointer)
    return attributes.getDictionary(kernel.getContext());

  if (param && param.getKind() == ParamKind::TensorMap) {
    Type bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), kTensorMapBytes);
    attributes.set(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    attributes.set(LLVM::LLVMDialect::getAlignAttrName(),
                   builder.getI64IntegerAttr(kTensorMapAlignment));
    attributes.set(NVVM::NVVMDialect::getGridConstantAttrName(),
                   builder.getUnitAttr());
    return attributes.getDictionary(kernel.getContext());
  }

  auto alignment = kernel.getArgAttrOfType<IntegerAttr>(index, kAlignAttr);
  attributes.set(LLVM::LLVMDialect::getAlignAttrName(),
                 builder.getI64IntegerAttr(alignment ? alignment.getInt()
                                                     : kBaseAlignment));
  return attributes.getDictionary(kernel.getContext());
}

/// Launch bounds and what later stages read of the kernel.
static void copyKernelAttributes(gpu::GPUFuncOp kernel,
                                 LLVM::LLVMFuncOp function) {
  Builder builder(kernel.getContext());
  if (!kernel.isKernel())
    return;
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  if (DenseI32ArrayAttr block = kernel.getKnownBlockSizeAttr())
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), block);
  if (auto blocks = kernel->getAttrOfType<IntegerAttr>(kMinBlocksAttr))
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(blocks.getInt()));
  if (auto cluster = kernel->getAttrOfType<DenseI64ArrayAttr>(kClusterAttr)) {
    SmallVector<int32_t> extents(cluster.asArrayRef());
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      builder.getDenseI32ArrayAttr(extents));
  }
  if (Attribute shared = kernel->getAttr(kSharedAttr))
    function->setAttr(kSharedAttr, shared);
}

namespace {

struct KernelToLLVMFunc : ConvertOpToLLVMPattern<gpu::GPUFuncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    Type type = getTypeConverter()->convertFunctionSignature(
        op.getFunctionType(), /*isVariadic=*/false,
        /*useBarePtrCallConv=*/false, signature);
    if (!type)
      return rewriter.notifyMatchFailure(op, "type of the kernel");

    auto function =
        LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getName(), type);
    copyKernelAttributes(op, function);
    SmallVector<DictionaryAttr> arguments;
    for (unsigned i = 0, e = op.getNumArguments(); i < e; ++i)
      arguments.push_back(getArgumentAttributes(op, i));
    function.setAllArgAttrs(arguments);
    if (op->getParentOp()->hasAttr(kFastMathAttr))
      function.setDenormalFpMathF32("preserve-sign,preserve-sign");

    rewriter.inlineRegionBefore(op.getBody(), function.getBody(),
                                function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(),
                                           *getTypeConverter(), &signature)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReturnToLLVM : ConvertOpToLLVMPattern<gpu::ReturnOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// gpu ops
//===----------------------------------------------------------------------===//

/// An index in one of three dimensions, read from one of three registers.
template <typename OpTy, typename X, typename Y, typename Z>
struct IndexToRegister : ConvertOpToLLVMPattern<OpTy> {
  using ConvertOpToLLVMPattern<OpTy>::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type i32 = rewriter.getI32Type();
    LLVM::ConstantRangeAttr range;
    if (std::optional<APInt> bound = op.getUpperBound())
      range = LLVM::ConstantRangeAttr::get(rewriter.getContext(), 32, 0,
                                           bound->getZExtValue());
    switch (op.getDimension()) {
    case gpu::Dimension::x:
      rewriter.replaceOpWithNewOp<X>(op, i32, range);
      return success();
    case gpu::Dimension::y:
      rewriter.replaceOpWithNewOp<Y>(op, i32, range);
      return success();
    case gpu::Dimension::z:
      rewriter.replaceOpWithNewOp<Z>(op, i32, range);
      return success();
    }
    llvm_unreachable("unknown dimension");
  }
};

struct BarrierToNVVM : ConvertOpToLLVMPattern<gpu::BarrierOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    return success();
  }
};

/// Shuffles move 32-bit registers: narrower values are extended, wider ones are
/// taken apart. All lanes of the warp take part; `width` cuts it in segments.
struct ShuffleToNVVM : ConvertOpToLLVMPattern<gpu::ShuffleOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = adaptor.getValue().getType();
    unsigned bits = getBitWidth(type);
    if (bits > 32 && bits % 32 != 0)
      return rewriter.notifyMatchFailure(op, "not whole registers");

    // PTX ISA, "shfl.sync": bits 8 to 12 of the last operand are the lanes'
    // bits that a segment fixes, bits 0 to 4 the clamp.
    auto i32 = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, loc,
                                      rewriter.getI32IntegerAttr(value));
    };
    Value control = LLVM::ShlOp::create(
        rewriter, loc,
        LLVM::SubOp::create(rewriter, loc, i32(32), adaptor.getWidth()),
        i32(8));
    if (op.getMode() != gpu::ShuffleMode::UP)
      control = LLVM::OrOp::create(rewriter, loc, control, i32(31));

    Value valid;
    SmallVector<Value> parts = split(rewriter, loc, adaptor.getValue(), bits);
    for (Value &part : parts) {
      Type result = LLVM::LLVMStructType::getLiteral(
          getContext(), {rewriter.getI32Type(), rewriter.getI1Type()});
      Value both = NVVM::ShflOp::create(
          rewriter, loc, result, i32(-1), part, adaptor.getOffset(), control,
          getKind(op.getMode()), rewriter.getUnitAttr());
      part = LLVM::ExtractValueOp::create(rewriter, loc, both, 0);
      valid = LLVM::ExtractValueOp::create(rewriter, loc, both, 1);
    }
    rewriter.replaceOp(op, {join(rewriter, loc, parts, type, bits), valid});
    return success();
  }

private:
  static unsigned getBitWidth(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getNumElements() *
             vector.getElementType().getIntOrFloatBitWidth();
    return type.getIntOrFloatBitWidth();
  }

  static NVVM::ShflKind getKind(gpu::ShuffleMode mode) {
    switch (mode) {
    case gpu::ShuffleMode::XOR:
      return NVVM::ShflKind::bfly;
    case gpu::ShuffleMode::UP:
      return NVVM::ShflKind::up;
    case gpu::ShuffleMode::DOWN:
      return NVVM::ShflKind::down;
    case gpu::ShuffleMode::IDX:
      return NVVM::ShflKind::idx;
    }
    llvm_unreachable("unknown mode of shuffle");
  }

  static SmallVector<Value> split(OpBuilder &builder, Location loc, Value value,
                                  unsigned bits) {
    Type i32 = builder.getI32Type();
    if (bits <= 32) {
      value = LLVM::BitcastOp::create(builder, loc,
                                      builder.getIntegerType(bits), value);
      if (bits < 32)
        value = LLVM::ZExtOp::create(builder, loc, i32, value);
      return {value};
    }
    value = LLVM::BitcastOp::create(builder, loc,
                                    VectorType::get({bits / 32}, i32), value);
    SmallVector<Value> parts;
    for (unsigned i = 0; i < bits / 32; ++i) {
      Value position =
          LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i));
      parts.push_back(
          LLVM::ExtractElementOp::create(builder, loc, value, position));
    }
    return parts;
  }

  static Value join(OpBuilder &builder, Location loc, ArrayRef<Value> parts,
                    Type type, unsigned bits) {
    if (bits <= 32) {
      Value value = parts.front();
      if (bits < 32)
        value = LLVM::TruncOp::create(builder, loc,
                                      builder.getIntegerType(bits), value);
      return LLVM::BitcastOp::create(builder, loc, type, value);
    }
    auto vectorType = VectorType::get({bits / 32}, builder.getI32Type());
    Value vector = LLVM::PoisonOp::create(builder, loc, vectorType);
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value position =
          LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i));
      vector =
          LLVM::InsertElementOp::create(builder, loc, vector, part, position);
    }
    return LLVM::BitcastOp::create(builder, loc, type, vector);
  }
};

struct SharedBaseToAddress : ConvertOpToLLVMPattern<SharedBaseOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(SharedBaseOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(op, op.getType(),
                                                   kSharedMemorySymbol);
    return success();
  }
};

/// Addresses in device memory are the same in all spaces.
struct DevicePointerToAddress : ConvertOpToLLVMPattern<DevicePointerOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(DevicePointerOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::IntToPtrOp>(op, op.getType(),
                                                  adaptor.getAddress());
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void tl::setFastMath(gpu::GPUModuleOp module) {
  auto flags = arith::FastMathFlagsAttr::get(
      module.getContext(), arith::FastMathFlags::afn |
                               arith::FastMathFlags::arcp |
                               arith::FastMathFlags::contract);
  module.walk([&](arith::ArithFastMathInterface op) {
    op->setAttr(op.getFastMathAttrName(), flags);
  });
}

/// Declares the symbol of dynamic shared memory, if a kernel uses it.
static void declareSharedMemory(gpu::GPUModuleOp module) {
  WalkResult found =
      module.walk([](SharedBaseOp) { return WalkResult::interrupt(); });
  if (!found.wasInterrupted())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  LLVM::GlobalOp::create(builder, module.getLoc(),
                         LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
                         /*isConstant=*/false, LLVM::Linkage::External,
                         kSharedMemorySymbol, Attribute(), kSharedAlignment,
                         /*addrSpace=*/unsigned(NVVM::NVVMMemorySpace::Shared));
}

/// Says that `branch` mostly passes by a side that does something, which keeps
/// LLVM from executing it always.
static void keepBranch(cf::CondBranchOp branch, bool hasThen) {
  constexpr int32_t seldom = 1, mostly = 1000;
  branch.setBranchWeights(hasThen ? ArrayRef<int32_t>{seldom, mostly}
                                  : ArrayRef<int32_t>{mostly, seldom});
}

/// Lowers the last op first: each one splits its block, and what is behind it
/// moves. In program order, as a dialect conversion goes, that would be the
/// rest of the kernel for each guard of it.
static LogicalResult lowerControlFlow(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  PatternApplicator applicator(frozen);
  applicator.applyDefaultCostModel();
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      ops.push_back(op);
  });
  PatternRewriter rewriter(module.getContext());
  for (Operation *op : llvm::reverse(ops)) {
    bool isKept = op->hasAttr(kBranchAttr);
    bool hasThen =
        isKept && !llvm::hasSingleElement(
                      cast<scf::IfOp>(op).thenBlock()->getOperations());
    Block *block = op->getBlock();
    rewriter.setInsertionPoint(op);
    if (failed(applicator.matchAndRewrite(op, rewriter)))
      return failure();
    if (isKept)
      keepBranch(cast<cf::CondBranchOp>(block->getTerminator()), hasThen);
  }
  return success();
}

FailureOr<int> tl::getCapability(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!module)
    module = cast<gpu::GPUModuleOp>(op);
  if (!module->hasAttr(kTargetAttr))
    return 0;
  FailureOr<Target> target = Target::of(module);
  if (failed(target))
    return failure();
  return target->getCapability();
}

/// Conversions that formulas make are in range: they come later.
static LogicalResult lowerConversions(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateConversionPatterns(patterns);
  populateSmallFloatPatterns(patterns);
  constexpr int firstWithSmallFloats = 89, firstWithIntegersToBFloat16 = 90,
                firstWithBFloat16 = 80;
  FailureOr<int> capability = getCapability(module);
  if (failed(capability))
    return failure();
  if (*capability >= firstWithSmallFloats)
    populateSmallFloatInstructionPatterns(patterns);
  if (*capability < firstWithIntegersToBFloat16)
    populateBFloat16IntegerPatterns(patterns);
  if (*capability != 0 && *capability < firstWithBFloat16)
    populateBFloat16FusedPatterns(patterns);
  return applyToOps(module, std::move(patterns));
}

/// Rewrites of `arith` and `vector` ops to others that convert one by one.
static LogicalResult expandOps(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  return applyToOps(module, std::move(patterns));
}

static LogicalResult convertOps(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(32);
  LLVMTypeConverter converter(context, options);

  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  populateAtomicPatterns(converter, patterns);
  populateMatrixOpPatterns(converter, patterns);
  patterns.add<BarrierToNVVM, KernelToLLVMFunc, ReturnToLLVM,
               DevicePointerToAddress, SharedBaseToAddress, ShuffleToNVVM,
               IndexToRegister<gpu::ThreadIdOp, NVVM::ThreadIdXOp,
                               NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>,
               IndexToRegister<gpu::BlockIdOp, NVVM::BlockIdXOp,
                               NVVM::BlockIdYOp, NVVM::BlockIdZOp>,
               IndexToRegister<gpu::GridDimOp, NVVM::GridDimXOp,
                               NVVM::GridDimYOp, NVVM::GridDimZOp>>(converter);

  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  // Kernels that are text are for `tl-compile-cuda`, or have been.
  target.addLegalOp<gpu::GPUModuleOp, CudaUnitOp, CudaEntryOp,
                    CompiledKernelOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

/// Has numbers of threads and blocks say what they are below, as kernels do.
static void tellBounds(gpu::GPUModuleOp module) {
  Builder builder(module.getContext());
  auto tell = [&](auto op, int64_t bound) {
    if (bound > 0)
      op.setUpperBoundAttr(builder.getIndexAttr(bound));
  };
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    kernel.walk([&](Operation *op) {
      if (auto thread = dyn_cast<gpu::ThreadIdOp>(op))
        tell(thread, getBlockExtent(kernel, thread.getDimension()));
      else if (auto block = dyn_cast<gpu::BlockIdOp>(op))
        tell(block, getGridLimit(kernel, block.getDimension()));
    });
}

/// NVVM ops without an intrinsic become inline assembly.
static LogicalResult lowerNVVM(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateNVVMToLLVMConversionPatterns(patterns);
  return applyToOps(module, std::move(patterns));
}

/// Puts loop annotations where the translation to LLVM IR looks for them:
/// `scf.for` hands them down to its branch as a discardable attribute only.
static void adoptLoopAnnotations(gpu::GPUModuleOp module) {
  auto adopt = [](auto branch) {
    constexpr StringLiteral name = "llvm.loop_annotation";
    if (auto annotation =
            branch->template getAttrOfType<LLVM::LoopAnnotationAttr>(name)) {
      branch->removeDiscardableAttr(name);
      branch.setLoopAnnotationAttr(annotation);
    }
  };
  module.walk([&](LLVM::BrOp branch) { adopt(branch); });
  module.walk([&](LLVM::CondBrOp branch) { adopt(branch); });
}

/// Makes waits for other kernels assembly that touches memory: LLVM's intrinsic
/// says that it touches none, so that a load could be moved in front of it.
static void guardKernelOrder(gpu::GPUModuleOp module) {
  module.walk([](NVVM::GriddepcontrolOp control) {
    bool isWait = control.getKind() == NVVM::GridDepActionKind::wait;
    OpBuilder builder(control);
    LLVM::InlineAsmOp::create(
        builder, control.getLoc(), /*res=*/Type(), ValueRange(),
        isWait ? "griddepcontrol.wait;" : "griddepcontrol.launch_dependents;",
        "~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(builder.getContext(),
                                  LLVM::AsmDialect::AD_ATT),
        /*operand_attrs=*/ArrayAttr());
    control.erase();
  });
}

LogicalResult tl::convertToNVVM(gpu::GPUModuleOp module) {
  bool fastMath = module->hasAttr(kFastMathAttr);
  if (fastMath)
    setFastMath(module);
  declareSharedMemory(module);
  guardWaits(module);
  takeTurns(module);
  guardKernelOrder(module);
  maskAccesses(module);
  splitFormulas(module);
  if (failed(lowerConversions(module)) || failed(lowerMath(module, fastMath)) ||
      failed(lowerDivisions(module)) || failed(expandOps(module)) ||
      failed(lowerControlFlow(module)))
    return failure();
  tellBounds(module);
  if (failed(convertOps(module)))
    return failure();
  adoptLoopAnnotations(module);
  fenceHalves(module);
  return lowerNVVM(module);
}

namespace {
struct ConvertTLToNVVMPass
    : tl::impl::ConvertTLToNVVMPassBase<ConvertTLToNVVMPass> {
  /// Divisions branch, whether or not the kernel does.
  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertTLToNVVMPassBase::getDependentDialects(registry);
    registry.insert<scf::SCFDialect>();
  }

  void runOnOperation() override {
    if (failed(convertToNVVM(getOperation())))
      signalPassFailure();
  }
};
} // namespace
