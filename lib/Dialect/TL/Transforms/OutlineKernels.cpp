//===- OutlineKernels.cpp - Make each kernel a module of its own ----------===//
//
// After this pass every kernel is a `gpu.module` of its own that names all it
// knows of the host: that is the unit that later passes work on and the cache
// keys. A changed grid expression stays on the host side. Source kernels of the
// same text share a module, because a text is compiled as a whole.
//
// Of the grid a kernel is told how large its extents can be (`tl.grid_limit`),
// so that places like `block * 128` are known not to wrap, and to be inside of
// a tensor whose extents are numbers. The limits hold for every launch, because
// a kernel has one, whose grid they are taken from: what the binder lets
// through as an extent or an integer of 32 bits is below 2^31. Where no tensor
// has an extent that is a number, they are coarse, so that a changed number of
// blocks is usually the same kernel: numbers count as 2^16 or the next power of
// two. What an extent is divided by, which places are multiplied by, counts as
// it is.
//
// Sound because what moves into a kernel is constants and extents, which are
// the same there, and all else that it uses comes as an argument: a `gpu.func`
// is isolated, so that the verifier finds what is left out.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/SourceKernels.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

namespace tl {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True for host ops that the kernel computes itself rather than take as an
/// argument: constants, and extents of buffers that it takes anyway.
static bool belongsInKernel(Operation *op) {
  return op &&
         (op->hasTrait<OpTrait::ConstantLike>() || isa<memref::DimOp>(op));
}

/// Copies such ops to the start of the kernel's body, operands first.
static void sinkComputations(KernelOp kernel) {
  Region &body = kernel.getBody();
  SetVector<Value> used;
  getUsedValuesDefinedAbove(body, used);
  SetVector<Operation *> sunk;
  for (size_t i = 0; i < used.size(); ++i) {
    Operation *op = used[i].getDefiningOp();
    if (!belongsInKernel(op) || !sunk.insert(op))
      continue;
    used.insert(op->operand_begin(), op->operand_end());
  }

  OpBuilder builder = OpBuilder::atBlockBegin(&body.front());
  IRMapping mapping;
  for (Operation *op : topologicalSort(sunk)) {
    Operation *copy = builder.clone(*op, mapping);
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      replaceAllUsesInRegionWith(from, to, body);
  }
}

/// `threads` or `cluster` as three extents.
template <typename T>
static SmallVector<T> padExtents(ArrayRef<int64_t> extents) {
  SmallVector<T> padded(extents.begin(), extents.end());
  padded.resize(3, 1);
  return padded;
}

/// Copies what is known of a host function's argument to the kernel's.
static void carryFacts(Value captured, gpu::GPUFuncOp kernel, unsigned index) {
  auto argument = dyn_cast<BlockArgument>(captured);
  if (!argument)
    return;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return;
  for (StringRef name : {kAlignAttr, kDtypeAttr})
    if (Attribute fact = function.getArgAttr(argument.getArgNumber(), name))
      kernel.setArgAttr(index, name, fact);
}

/// Whether `number` is an argument of the host function, of 32 bits and signed:
/// other types of the user's are in `tl.dtype`.
static bool isSignedArgument(Value number) {
  auto argument = dyn_cast<BlockArgument>(number);
  if (!argument || !argument.getType().isInteger(32))
    return false;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && !function.getArgAttr(argument.getArgNumber(), kDtypeAttr);
}

/// What a number of the host is at most, coarsely unless `isExact`; none if
/// that is not known. The host counts in 64 bits.
static std::optional<int64_t> getLimit(Value number, bool isExact) {
  APInt constant;
  if (matchPattern(number, m_ConstantInt(&constant))) {
    if (constant.isNegative() || !constant.isSignedIntN(32))
      return std::nullopt;
    if (isExact)
      return constant.getSExtValue();
    return std::max<int64_t>(1 << 16,
                             llvm::PowerOf2Ceil(constant.getZExtValue()));
  }
  Operation *op = number.getDefiningOp();
  if (isa_and_nonnull<memref::DimOp>(op) || isSignedArgument(number))
    return INT32_MAX;
  if (isa_and_nonnull<arith::IndexCastOp>(op))
    return getLimit(op->getOperand(0), isExact);
  if (!isa_and_nonnull<arith::CeilDivSIOp, arith::FloorDivSIOp>(op))
    return std::nullopt;
  std::optional<int64_t> limit = getLimit(op->getOperand(0), isExact);
  APInt divisor;
  if (!limit || !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive() || !divisor.isSignedIntN(32))
    return std::nullopt;
  return isa<arith::CeilDivSIOp>(op)
             ? llvm::divideCeil(*limit, divisor.getZExtValue())
             : *limit / divisor.getSExtValue();
}

/// What the three extents of a grid are at most.
static SmallVector<int64_t> getGridLimits(ValueRange grid,
                                          ArrayRef<Value> captured) {
  bool isExact = llvm::any_of(captured, [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type && llvm::any_of(type.getShape(), ShapedType::isStatic);
  });
  SmallVector<int64_t> limits;
  for (unsigned d : {0, 1, 2}) {
    int64_t most = getGridLimit(gpu::GPUFuncOp(), gpu::Dimension(d));
    if (d >= grid.size())
      limits.push_back(1);
    else
      limits.push_back(
          std::min(most, getLimit(grid[d], isExact).value_or(most)));
  }
  return limits;
}

static SmallVector<int64_t> getLaunchedThreads(KernelOp kernel) {
  if (auto extents = kernel->getAttrOfType<DenseI32ArrayAttr>(kLaunchedAttr))
    return SmallVector<int64_t>(
        extents.asArrayRef().take_front(kernel.getThreads().size()));
  return SmallVector<int64_t>(kernel.getThreads());
}

/// Builds the kernel function from the body of `kernel`.
static gpu::GPUFuncOp makeFunction(KernelOp kernel, StringRef name,
                                   ArrayRef<Value> captured,
                                   OpBuilder &builder) {
  Location loc = kernel.getLoc();
  auto type = builder.getFunctionType(TypeRange(ValueRange(captured)), {});
  auto function = gpu::GPUFuncOp::create(builder, loc, name, type);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr(padExtents<int32_t>(kernel.getThreads())));
  if (std::optional<ArrayRef<int64_t>> cluster = kernel.getCluster())
    function->setAttr(kClusterAttr, builder.getDenseI64ArrayAttr(
                                        padExtents<int64_t>(*cluster)));
  for (StringRef name : {kMinBlocksAttr, kLaunchedAttr})
    if (Attribute attribute = kernel->getAttr(name))
      function->setAttr(name, attribute);
  function->setAttr(kGridLimitAttr, builder.getDenseI64ArrayAttr(getGridLimits(
                                        kernel.getGrid(), captured)));
  for (auto [index, value] : llvm::enumerate(captured))
    carryFacts(value, function, index);

  Block &entry = function.getBody().front();
  for (auto [value, argument] : llvm::zip(captured, entry.getArguments()))
    argument.setLoc(withNameOf(value.getLoc(), loc));
  OpBuilder inside = OpBuilder::atBlockBegin(&entry);
  Block &body = kernel.getBody().front();
  static constexpr gpu::Dimension dimensions[] = {
      gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z};
  for (auto [coordinate, dimension] :
       llvm::zip(body.getArguments(), dimensions))
    coordinate.replaceAllUsesWith(gpu::BlockIdOp::create(
        inside, withNameOf(coordinate.getLoc(), loc), dimension));
  for (auto [value, argument] : llvm::zip(captured, entry.getArguments()))
    replaceAllUsesInRegionWith(value, argument, kernel.getBody());
  body.getTerminator()->erase();
  entry.getOperations().splice(entry.end(), body.getOperations());
  inside.setInsertionPointToEnd(&entry);
  gpu::ReturnOp::create(inside, loc);
  return function;
}

/// A name that PTX takes: characters that it has not become `_`.
static std::string makeSymbol(StringRef name) {
  std::string symbol = name.str();
  for (char &c : symbol)
    if (!llvm::isAlnum(c) && c != '_' && c != '$')
      c = '_';
  return symbol;
}

static void outline(KernelOp kernel, StringRef name, SymbolTable &symbols) {
  sinkComputations(kernel);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(kernel.getBody(), captured);

  Location loc = kernel.getLoc();
  OpBuilder builder(kernel.getContext());
  auto module = gpu::GPUModuleOp::create(builder, loc, name);
  StringAttr symbol = symbols.insert(module);
  builder.setInsertionPointToStart(module.getBody());
  makeFunction(kernel, symbol, captured.getArrayRef(), builder);

  builder.setInsertionPoint(kernel);
  auto reference = SymbolRefAttr::get(
      symbol, {FlatSymbolRefAttr::get(kernel.getContext(), symbol)});
  LaunchOp::create(builder, loc, reference, kernel.getGrid(),
                   getLaunchedThreads(kernel), kernel.getClusterAttr(),
                   /*shared=*/Value(), kernel.getCooperative(),
                   /*dependent=*/false, captured.getArrayRef(),
                   /*symbols=*/nullptr, /*symbol_args=*/ValueRange());
  kernel.erase();
}

//===----------------------------------------------------------------------===//
// Source kernels
//===----------------------------------------------------------------------===//

/// A word that can be a symbol, made of an entry's name: `scale` of
/// `ns::scale<float>`.
static std::string getIdentifier(StringRef expression) {
  StringRef name = expression.take_until([](char c) { return c == '<'; });
  if (size_t at = name.rfind("::"); at != StringRef::npos)
    name = name.drop_front(at + 2);
  name = name.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  return name.empty() ? "kernel" : name.str();
}

/// How each parameter is made of the launch's arguments.
static ArrayAttr getParameters(SourceKernelOp kernel) {
  if (ArrayAttr given = kernel.getParamsAttr())
    return given;
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> parameters;
  for (auto [i, argument] : llvm::enumerate(kernel.getArgs())) {
    bool isBuffer = isa<MemRefType>(argument.getType());
    parameters.push_back(ParamAttr::get(
        context, isBuffer ? ParamKind::Base : ParamKind::Scalar, i, /*index=*/0,
        /*box=*/{}, /*swizzle=*/0, isBuffer ? Type() : argument.getType()));
  }
  return ArrayAttr::get(context, parameters);
}

namespace {

/// Makes modules of source kernels. Those of the same units are one module,
/// launches of one entry with the same parameters are of one `tl.cuda_entry`;
/// equal names in different texts are different modules.
class SourceOutliner {
public:
  explicit SourceOutliner(SymbolTable &symbols) : symbols(symbols) {}

  /// Keeps a name that a tile kernel has.
  void reserve(StringRef name) { names.insert(name); }

  LogicalResult outline(SourceKernelOp kernel) {
    if (!kernel.getEntry())
      return kernel.emitError("the source kernel has no entry name; give it "
                              "with `entry_name`");
    gpu::GPUModuleOp module = getModule(kernel);
    CudaEntryOp entry = getEntry(kernel, module);
    OpBuilder builder(kernel);
    auto reference = SymbolRefAttr::get(
        module.getNameAttr(), {FlatSymbolRefAttr::get(entry.getSymNameAttr())});
    LaunchOp::create(builder, kernel.getLoc(), reference, kernel.getGrid(),
                     kernel.getBlock(), kernel.getClusterAttr(),
                     kernel.getShared(), kernel.getCooperative(),
                     kernel.getDependent(), kernel.getArgs(),
                     kernel.getSymbolsAttr(), kernel.getSymbolArgs());
    kernel.erase();
    return success();
  }

private:
  gpu::GPUModuleOp getModule(SourceKernelOp kernel) {
    Builder b(kernel.getContext());
    auto orUnit = [&](Attribute attribute) {
      return attribute ? attribute : Attribute(b.getUnitAttr());
    };
    // The file that a text was read from changes nothing but messages.
    SmallVector<Attribute> identity;
    for (auto source : kernel.getSources().getAsRange<CudaSourceAttr>())
      identity.push_back(CudaSourceAttr::get(
          kernel.getContext(), source.getText(), /*file=*/nullptr, /*line=*/0,
          source.getLanguage(), source.getName()));
    for (Attribute attribute :
         {Attribute(kernel.getPreludeAttr()), Attribute(kernel.getFlagsAttr()),
          Attribute(kernel.getIncludePathsAttr()),
          Attribute(kernel.getHeadersAttr()),
          Attribute(kernel.getToolkitAttr()),
          Attribute(kernel.getUncachedAttr())})
      identity.push_back(orUnit(attribute));
    gpu::GPUModuleOp &module = modules[b.getArrayAttr(identity)];
    if (!module)
      module = makeModule(kernel);
    return module;
  }

  gpu::GPUModuleOp makeModule(SourceKernelOp kernel) {
    MLIRContext *context = kernel.getContext();
    OpBuilder builder(context);
    std::string name = getIdentifier(*kernel.getEntry());
    auto module = gpu::GPUModuleOp::create(builder, kernel.getLoc(), name);
    symbols.insert(module);
    if (StringAttr why = kernel.getUncachedAttr())
      module->setAttr(kUncachedAttr, why);
    builder.setInsertionPointToStart(module.getBody());
    for (auto source : kernel.getSources().getAsRange<CudaSourceAttr>())
      makeUnit(kernel, source, name, builder);
    return module;
  }

  static void makeUnit(SourceKernelOp kernel, CudaSourceAttr source,
                       StringRef name, OpBuilder &builder) {
    bool isCuda = source.getLanguage() == SourceLanguage::Cuda;
    StringAttr file = source.getFile();
    StringAttr called = source.getName();
    if (!called && file && source.getLine() == 0)
      called = builder.getStringAttr(llvm::sys::path::filename(file));
    if (!called)
      called = builder.getStringAttr(
          name + "." +
          (isCuda ? "cu" : stringifySourceLanguage(source.getLanguage())));
    Location location =
        file ? makeUnitLocation(kernel.getContext(), file,
                                std::max<int64_t>(source.getLine(), 1))
             : kernel.getLoc();
    auto ifCuda = [&](auto attribute) {
      return isCuda ? attribute : decltype(attribute)();
    };
    CudaUnitOp::create(
        builder, location, called, builder.getStringAttr(source.getText()),
        SourceLanguageAttr::get(kernel.getContext(), source.getLanguage()),
        ifCuda(kernel.getPreludeAttr()), ifCuda(kernel.getFlagsAttr()),
        ifCuda(kernel.getHeadersAttr()), ifCuda(kernel.getIncludePathsAttr()),
        ifCuda(kernel.getToolkitAttr()));
  }

  /// The entry that `kernel` launches, made if it is the first to do so.
  CudaEntryOp getEntry(SourceKernelOp kernel, gpu::GPUModuleOp module) {
    ArrayAttr parameters = getParameters(kernel);
    Attribute passed = kernel->getAttr(kPassedAttr), cluster;
    if (std::optional<ArrayRef<int64_t>> extents = kernel.getCluster())
      cluster = DenseI64ArrayAttr::get(kernel.getContext(),
                                       padExtents<int64_t>(*extents));
    for (auto known : module.getOps<CudaEntryOp>())
      if (known.getEntryExpression() == kernel.getEntry() &&
          known.getParamsAttr() == parameters &&
          known.getBlock() == kernel.getBlock() &&
          known.getSymbolsAttr() == kernel.getSymbolsAttr() &&
          known->getAttr(kPassedAttr) == passed &&
          known->getAttr(kClusterAttr) == cluster)
        return known;
    // Launch plans name kernels without their modules.
    std::string wanted = getIdentifier(*kernel.getEntry()), name = wanted;
    for (unsigned i = 0; !names.insert(name).second; ++i)
      name = wanted + "_" + std::to_string(i);
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    bool isOwnName = name == *kernel.getEntry();
    auto entry = CudaEntryOp::create(
        builder, kernel.getLoc(), name,
        isOwnName ? StringAttr() : kernel.getEntryAttr(), parameters,
        kernel.getBlock(), /*shared=*/0, kernel.getSymbolsAttr());
    // What the compiled entry is held against.
    for (StringRef name : {kPassedAttr, kSourceAttr})
      if (Attribute known = kernel->getAttr(name))
        entry->setAttr(name, known);
    if (cluster)
      entry->setAttr(kClusterAttr, cluster);
    return entry;
  }

  SymbolTable &symbols;
  /// By all that makes a module what it is.
  DenseMap<Attribute, gpu::GPUModuleOp> modules;
  llvm::StringSet<> names;
};

struct OutlineKernelsPass
    : tl::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<SourceKernelOp> sources;
    for (auto function : module.getOps<func::FuncOp>()) {
      SmallVector<KernelOp> kernels(function.getOps<KernelOp>());
      for (KernelOp kernel : kernels) {
        std::string name = kernel.getName()
                               ? kernel.getName()->str()
                               : (function.getName() + "_kernel").str();
        outline(kernel, makeSymbol(name), symbols);
      }
      llvm::append_range(sources, function.getOps<SourceKernelOp>());
    }
    SourceOutliner outliner(symbols);
    for (auto taken : module.getOps<gpu::GPUModuleOp>())
      outliner.reserve(taken.getName());
    for (SourceKernelOp kernel : sources)
      if (failed(outliner.outline(kernel)))
        return signalPassFailure();
  }
};
} // namespace
