//===- VerifyThreadLevel.cpp - What thread level is -----------------------===//
//
// The definition of thread level: the ops, types and kernel attributes that
// code generators and the simulator know. Adding an op here obliges each of
// them.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToNVVM/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/StringSet.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYTHREADLEVELPASS
#include "tl/Conversion/TLToNVVM/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The ops of thread level.
static constexpr StringLiteral kOps[] = {
    // Kernels, and those that are text.
    "gpu.func", "gpu.module", "gpu.return", "tl.cuda_entry", "tl.cuda_unit",
    // Control flow.
    "scf.condition", "scf.for", "scf.if", "scf.while", "scf.yield",
    // Scalars and their vectors.
    "arith.addf", "arith.addi", "arith.addui_extended", "arith.andi",
    "arith.bitcast", "arith.ceildivsi", "arith.ceildivui", "arith.cmpf",
    "arith.cmpi", "arith.constant", "arith.divf", "arith.divsi", "arith.divui",
    "arith.extf", "arith.extsi", "arith.extui", "arith.floordivsi",
    "arith.fptosi", "arith.fptoui", "arith.index_cast", "arith.index_castui",
    "arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui",
    "arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui",
    "arith.mulf", "arith.muli", "arith.mulsi_extended", "arith.mului_extended",
    "arith.negf", "arith.ori", "arith.remf", "arith.remsi", "arith.remui",
    "arith.select", "arith.shli", "arith.shrsi", "arith.shrui", "arith.sitofp",
    "arith.subf", "arith.subi", "arith.truncf", "arith.trunci", "arith.uitofp",
    "arith.xori", "math.absf", "math.absi", "math.acos", "math.acosh",
    "math.asin", "math.asinh", "math.atan", "math.atan2", "math.atanh",
    "math.cbrt", "math.ceil", "math.copysign", "math.cos", "math.cosh",
    "math.ctlz", "math.ctpop", "math.cttz", "math.erf", "math.exp", "math.exp2",
    "math.expm1", "math.floor", "math.fma", "math.fpowi", "math.ipowi",
    "math.isfinite", "math.isinf", "math.isnan", "math.log", "math.log10",
    "math.log1p", "math.log2", "math.powf", "math.round", "math.roundeven",
    "math.rsqrt", "math.sin", "math.sinh", "math.sqrt", "math.tan", "math.tanh",
    "math.trunc", "vector.bitcast", "vector.broadcast", "vector.extract",
    "vector.extract_strided_slice", "vector.from_elements", "vector.insert",
    "vector.insert_strided_slice", "vector.reduction", "vector.shuffle",
    "vector.step", "vector.to_elements",
    // Memory.
    "llvm.addrspacecast", "llvm.alloca", "llvm.extractvalue",
    "llvm.getelementptr", "llvm.inttoptr", "llvm.load", "llvm.ptrtoint",
    "llvm.store", "tl.shared_base",
    // Threads, warps and blocks.
    "gpu.barrier", "gpu.block_dim", "gpu.block_id", "gpu.grid_dim",
    "gpu.shuffle", "gpu.thread_id", "nvvm.bar.warp.sync", "nvvm.barrier",
    "nvvm.barrier.arrive", "nvvm.cluster.arrive", "nvvm.cluster.wait",
    "nvvm.elect.sync", "nvvm.griddepcontrol", "nvvm.mapa",
    "nvvm.read.ptx.sreg.cluster.ctarank", "nvvm.setmaxregister",
    "nvvm.shfl.sync", "nvvm.vote.sync",
    // Asynchronous copies.
    "nvvm.cp.async.bulk.commit.group",
    "nvvm.cp.async.bulk.tensor.global.shared.cta",
    "nvvm.cp.async.bulk.tensor.shared.cluster.global",
    "nvvm.cp.async.bulk.wait_group", "nvvm.cp.async.commit.group",
    "nvvm.cp.async.mbarrier.arrive", "nvvm.cp.async.shared.global",
    "nvvm.cp.async.wait.group", "nvvm.fence.mbarrier.init", "nvvm.fence.proxy",
    "nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive.expect_tx",
    "nvvm.mbarrier.init", "nvvm.mbarrier.inval",
    "nvvm.mbarrier.try_wait.parity", "nvvm.prefetch",
    // Matrix instructions.
    "tl.ldmatrix", "tl.mma", "tl.stmatrix", "tl.wgmma", "tl.wgmma_wait"};

static bool isThreadLevelScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return isa<IndexType, Float8E4M3FNType, Float8E5M2Type, Float16Type,
             BFloat16Type, Float32Type, Float64Type>(type);
}

/// Generic, device, shared and shared-in-cluster memory.
static bool isThreadLevelPointer(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && llvm::is_contained({0, 1, 3, 7}, pointer.getAddressSpace());
}

static bool isThreadLevelType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable() &&
           isThreadLevelScalar(vector.getElementType());
  // Results of instructions that have several.
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type))
    return llvm::all_of(structure.getBody(), isThreadLevelType);
  return isThreadLevelScalar(type) || isThreadLevelPointer(type);
}

static LogicalResult verifyKernel(gpu::GPUFuncOp kernel) {
  if (!kernel.isKernel())
    return kernel.emitError("function `")
           << kernel.getName() << "` of a thread-level module is not a kernel";
  if (!kernel.getKnownBlockSizeAttr())
    return kernel.emitError("kernel `")
           << kernel.getName() << "` has no `known_block_size`";
  if (!kernel->hasAttrOfType<IntegerAttr>(kSharedAttr))
    return kernel.emitError("kernel `")
           << kernel.getName() << "` has no `" << kSharedAttr
           << "`, its bytes of shared memory";
  if (!kernel.getWorkgroupAttributions().empty() ||
      !kernel.getPrivateAttributions().empty())
    return kernel.emitError("kernel `")
           << kernel.getName()
           << "` has memory attributions; use `tl.shared_base`";
  for (unsigned i = 0, e = kernel.getNumArguments(); i < e; ++i)
    if (!kernel.getArgAttrOfType<ParamAttr>(i, kParamAttr))
      return kernel.emitError("argument ")
             << i << " of kernel `" << kernel.getName() << "` has no `"
             << kParamAttr << "`";
  return success();
}

static LogicalResult verifyOp(Operation *op, const llvm::StringSet<> &ops) {
  if (!ops.contains(op->getName().getStringRef()))
    return op->emitError("`") << op->getName() << "` is not a thread-level op";
  if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
    if (failed(verifyKernel(kernel)))
      return failure();
  for (Type type : op->getResultTypes())
    if (!isThreadLevelType(type))
      return op->emitError("`") << op->getName() << "` has a result of type "
                                << type << ", which is not a thread-level type";
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (!isThreadLevelType(argument.getType()))
        return op->emitError("`")
               << op->getName() << "` has an argument of type "
               << argument.getType() << ", which is not a thread-level type";
  return success();
}

LogicalResult tl::verifyThreadLevel(gpu::GPUModuleOp module) {
  if (!module->hasAttrOfType<TargetAttr>(kTargetAttr))
    return module.emitError("module `")
           << module.getName() << "` has no `" << kTargetAttr << "`";
  llvm::StringSet<> ops;
  for (StringRef name : kOps)
    ops.insert(name);
  return failure(module
                     .walk<WalkOrder::PreOrder>([&](Operation *op) {
                       return WalkResult(verifyOp(op, ops));
                     })
                     .wasInterrupted());
}

namespace {
struct VerifyThreadLevelPass
    : tl::impl::VerifyThreadLevelPassBase<VerifyThreadLevelPass> {
  void runOnOperation() override {
    if (failed(verifyThreadLevel(getOperation())))
      signalPassFailure();
  }
};
} // namespace
