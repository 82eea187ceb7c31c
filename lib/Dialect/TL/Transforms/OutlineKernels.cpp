//===- OutlineKernels.cpp - Make each tile kernel a function of its own ---===//
//
// After this pass every kernel is a `gpu.module` of its own that names all it
// knows of the host: that is the unit that later passes work on and the cache
// keys. A changed grid expression stays on the host side.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

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
  for (auto [index, value] : llvm::enumerate(captured))
    carryFacts(value, function, index);

  Block &entry = function.getBody().front();
  OpBuilder inside = OpBuilder::atBlockBegin(&entry);
  Block &body = kernel.getBody().front();
  static constexpr gpu::Dimension dimensions[] = {
      gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z};
  for (auto [coordinate, dimension] :
       llvm::zip(body.getArguments(), dimensions))
    coordinate.replaceAllUsesWith(
        gpu::BlockIdOp::create(inside, loc, dimension));
  for (auto [value, argument] : llvm::zip(captured, entry.getArguments()))
    replaceAllUsesInRegionWith(value, argument, kernel.getBody());
  body.getTerminator()->erase();
  entry.getOperations().splice(entry.end(), body.getOperations());
  inside.setInsertionPointToEnd(&entry);
  gpu::ReturnOp::create(inside, loc);
  return function;
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
  LaunchOp::create(
      builder, loc, reference, kernel.getGrid(), kernel.getThreads(),
      kernel.getClusterAttr(), /*shared=*/Value(),
      /*cooperative=*/false, /*dependent=*/false, captured.getArrayRef(),
      /*symbols=*/nullptr, /*symbol_args=*/ValueRange());
  kernel.erase();
}

namespace {
struct OutlineKernelsPass
    : tl::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      SmallVector<KernelOp> kernels(function.getOps<KernelOp>());
      for (KernelOp kernel : kernels) {
        std::string name = kernel.getName()
                               ? kernel.getName()->str()
                               : (function.getName() + "_kernel").str();
        outline(kernel, name, symbols);
      }
    }
  }
};
} // namespace
