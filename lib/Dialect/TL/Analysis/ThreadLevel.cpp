//===- ThreadLevel.cpp - Whether a kernel is at thread level --------------===//
//
// Ops are those of the table in ThreadOps.def; types, attributes and arguments
// are those below. What the table says of an op holds where it stands:
//
//  - Threads that must execute it together come there together: nothing that
//    differs between them decides on the way (`ThreadGroups`). That barriers
//    and tile ops stand so is a rule of the tile level, where
//    `tl-verify-statements` and `tl-verify-sync` prove it; here it is found
//    from the code alone.
//  - What goes through the async proxy is on a chip that has one.
//  - How many registers a thread has is changed in no loop, and not again
//    behind that: it must be known what there is to take or to give back.
//  - A kernel whose module is `tl.dependent` waits for those before it, with
//    all of its threads, in front of all that may touch device memory.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ThreadLevel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Dialect/TL/Analysis/ThreadGroups.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/IR/Warps.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

/// What decides whether, or how often, the body of `op` is executed.
static SmallVector<Value> getDecisions(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.getCondition()};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getCondition()};
  return {};
}

/// How many threads go together, and what to call them.
static std::pair<int64_t, StringRef> getGroup(Together together) {
  switch (together) {
  case Together::Thread:
    return {1, "thread"};
  case Together::Warp:
    return {32, "warp"};
  case Together::WarpGroup:
    return {128, "warp group"};
  case Together::Block:
    return {0, "block"};
  }
  llvm_unreachable("all groups are handled");
}

/// Fails if not all threads that must execute `op` together come there.
static LogicalResult verifyTogether(Operation *op, Together together,
                                    const ThreadGroups &groups,
                                    int64_t numThreads) {
  auto [needed, name] = getGroup(together);
  if (needed == 1)
    return success();
  for (Operation *parent = op->getParentOp(); !isa<gpu::GPUFuncOp>(parent);
       parent = parent->getParentOp())
    for (Value decision : getDecisions(parent)) {
      int64_t size = groups.getSize(decision);
      if (size == 0 || size >= numThreads ||
          (needed != 0 && size % needed == 0))
        continue;
      InFlightDiagnostic diag = op->emitError("`")
                                << op->getName() << "` needs all threads of a "
                                << name << ", and not all of them come here";
      diag.attachNote(decision.getLoc())
          << "this decides, and differs between threads";
      return diag;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static bool isThreadLevelScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return isa<IndexType, Float8E4M3FNType, Float8E5M2Type, Float16Type,
             BFloat16Type, Float32Type, Float64Type>(type);
}

/// Generic, device and shared memory, and shared memory of a cluster.
static bool isThreadLevelPointer(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && llvm::is_contained({0, 1, 3, 7}, pointer.getAddressSpace());
}

static bool isThreadLevelType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable() &&
           isThreadLevelScalar(vector.getElementType());
  return isThreadLevelScalar(type) || isThreadLevelPointer(type);
}

//===----------------------------------------------------------------------===//
// Kernels and their ops
//===----------------------------------------------------------------------===//

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

static LogicalResult verifyTypes(Operation *op) {
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

static StringRef getName(Generator generator) {
  switch (generator) {
  case Generator::PTX:
    return "PTX";
  case Generator::CUDA:
    return "CUDA C++";
  case Generator::CuTeDSL:
    return "CuTe DSL";
  }
  llvm_unreachable("all generators are handled");
}

/// True if `op` is an asynchronous copy, an mbarrier or a product that came
/// with 8.0, for a chip before that.
static bool isNewerThan(Operation *op, const Target &target) {
  if (target.isCPU() || target.hasAsyncCopy())
    return false;
  StringRef name = op->getName().getStringRef();
  auto mma = dyn_cast<MmaOp>(op);
  return name.starts_with("nvvm.cp.async") ||
         name.starts_with("nvvm.mbarrier") || isa<MmaF64Op>(op) ||
         (mma && mma.getKind() != MmaKind::F16 &&
          mma.getKind() != MmaKind::S8 && mma.getKind() != MmaKind::U8);
}

/// Fails if the table does not have `op`, or not for this generator or chip.
static LogicalResult verifyKnown(Operation *op, const Target &target,
                                 std::optional<Generator> generator) {
  const ThreadOp *known = getThreadOp(op->getName().getStringRef());
  if (!known)
    return op->emitError("`") << op->getName() << "` is not a thread-level op";
  if (generator && known->category == ThreadOp::Category::Iterations)
    return op->emitOpError("is for the simulator alone; `tl-lower-tile-ops` "
                           "leaves it out unless it is told `iterations`");
  if (generator && !known->isTakenBy(*generator))
    return op->emitOpError("has no form in ")
           << getName(*generator)
           << " here; the backends `nvptx` and `nvrtc` have one";
  if (known->proxy == Proxy::Async && target.getCapability() < 90)
    return op->emitError("`")
           << op->getName() << "` goes through the async proxy, which `"
           << target.getChip() << "` does not have";
  if (isNewerThan(op, target))
    return op->emitOpError("needs an instruction that `")
           << target.getChip() << "` does not have";
  return success();
}

/// Fails if registers are changed in a loop, or where they have been changed in
/// the same block or one around.
static LogicalResult verifyRegisters(NVVM::SetMaxRegisterOp set) {
  for (Operation *op = set; !isa<gpu::GPUFuncOp>(op); op = op->getParentOp()) {
    if (isa<LoopLikeOpInterface>(op))
      return set.emitError("registers are changed in a loop");
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode()) {
      if (isa<NVVM::SetMaxRegisterOp>(before))
        return set.emitError("registers are changed a second time");
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels that are launched early
//===----------------------------------------------------------------------===//

static bool isInSharedMemory(Value address) {
  return cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == 3;
}

bool tl::mayTouchDeviceMemory(Operation *root) {
  using Category = ThreadOp::Category;
  WalkResult result = root->walk([](Operation *op) {
    auto answer = [](bool may) {
      return may ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      return answer(!isInSharedMemory(load.getAddr()));
    if (auto store = dyn_cast<LLVM::StoreOp>(op))
      return answer(!isInSharedMemory(store.getAddr()));
    const ThreadOp *known = getThreadOp(op->getName().getStringRef());
    return answer(!isMemoryEffectFree(op) &&
                  (!known || known->category == Category::Memory ||
                   known->category == Category::Copy ||
                   known->category == Category::Matrix));
  });
  return result.wasInterrupted();
}

static bool isWait(Operation &op) {
  auto control = dyn_cast<NVVM::GriddepcontrolOp>(op);
  return control && control.getKind() == NVVM::GridDepActionKind::wait;
}

/// Fails if a kernel that is launched early may touch device memory before it
/// has waited for the kernels before it. All threads execute the ops of the
/// body's own block.
static LogicalResult verifyDependent(gpu::GPUFuncOp kernel) {
  if (!kernel->getParentOp()->hasAttr(kDependentAttr))
    return success();
  for (Operation &op : kernel.getBody().front()) {
    if (isWait(op))
      return success();
    if (mayTouchDeviceMemory(&op))
      return op.emitError("may touch device memory before the kernel has "
                          "waited for those before it");
  }
  return kernel.emitError("kernel `")
         << kernel.getName() << "` is launched before others are done, and "
         << "does not wait for them";
}

/// Fails if an op stands where not all threads come that it needs.
static LogicalResult verifyWays(gpu::GPUFuncOp kernel) {
  ThreadGroups groups(kernel);
  int64_t numThreads = getNumThreads(kernel);
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    if (auto set = dyn_cast<NVVM::SetMaxRegisterOp>(op);
        set && failed(verifyRegisters(set)))
      return WalkResult::interrupt();
    Together together = getThreadOp(op->getName().getStringRef())->together;
    return WalkResult(verifyTogether(op, together, groups, numThreads));
  });
  return failure(result.wasInterrupted());
}

LogicalResult tl::verifyThreadLevel(gpu::GPUModuleOp module,
                                    std::optional<Generator> generator) {
  if (!module->hasAttrOfType<TargetAttr>(kTargetAttr))
    return module.emitError("module `")
           << module.getName() << "` has no `" << kTargetAttr << "`";
  FailureOr<Target> target = Target::of(module);
  if (failed(target))
    return failure();
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (failed(verifyKnown(op, *target, generator)))
      return WalkResult::interrupt();
    if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
      if (failed(verifyKernel(kernel)))
        return WalkResult::interrupt();
    return WalkResult(verifyTypes(op));
  });
  if (result.wasInterrupted())
    return failure();
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    if (failed(verifyWays(kernel)) || failed(verifyDependent(kernel)))
      return failure();
  return success();
}
