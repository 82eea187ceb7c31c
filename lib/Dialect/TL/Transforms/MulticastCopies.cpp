//===- MulticastCopies.cpp - Fetch tiles once for a cluster ---------------===//
//
// In a kernel whose blocks form clusters, marks copies of pipelined loops whose
// tile is the same in all blocks of a cluster: `multicast`. Each block then
// fetches a part of the tile, and the engine writes that to all of them, so
// that the tile comes out of the L2 cache once and not once for each block.
//
//     block 0: part 0 ──┬─> slot s of block 0      full[s] of each block:
//     block 1: part 1 ──┼─> slot s of block 1        its own arrival, all bytes
//                       │                          empty[s] of each block:
//                       └─> …                        arrivals of all blocks
//
// Sound because
//  - no place of such a copy, and nothing that decides how often the loop and
//    what is around it are executed, depends on the block's place in its
//    cluster or on memory that the kernel writes (ClusterDependence.cpp): all
//    blocks copy the same tile in the same iterations, in the same order;
//  - the kernel writes no tensor that it copies from (ProducerSlice.cpp), so
//    that it does not matter which block reads it, or when;
//  - a slot has the same offset and the same number in all blocks, which
//    execute one program;
//  - a part is written to a slot of another block only when all warps of that
//    block have released the slot, and they release it in every block: that is
//    what tl-lower-pipes makes of the mark, and tl-verify-sync proves;
//  - a slot is read by `wgmma` alone, and so through the async proxy: a read is
//    complete before the slot is released, and no order of ordinary reads has
//    to reach another block (the release is one of the block's scope, because
//    that of the cluster's makes `ptxas` wait for all of the thread's accesses,
//    and halves the speed of a product on an H200);
//  - who waits for a slot has bytes of all blocks, so that no block can be two
//    phases ahead of another one. That is why each block fetches a part.
//
// The mark needs a thread of its own for the copies, and so the kernel is
// marked `tl.specialize` if it is not yet: in a block whose threads refill
// slots themselves, all of them would wait for the other blocks in each
// iteration.
//
//===----------------------------------------------------------------------===//

#include "MulticastCopies.h"

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/ClusterDependence.h"
#include "tl/Dialect/TL/Analysis/ProducerSlice.h"
#include "tl/Dialect/TL/Analysis/Registers.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "tl-assign-stages"

using namespace mlir;
using namespace tl;

static remark::RemarkOpts remarkOptions() {
  return remark::RemarkOpts::name("multicast").category(DEBUG_TYPE);
}

static void refuse(Operation *op, const std::string &reason) {
  remark::missed(op->getLoc(), remarkOptions())
      << "the blocks of a cluster do not fetch the tile together: " + reason;
}

/// Those of the loop's copies that run ahead.
static SmallVector<CopyOp> getCopies(PipelinedOp loop) {
  return llvm::filter_to_vector(loop.getBody().getOps<CopyOp>(), runsAhead);
}

//===----------------------------------------------------------------------===//
// One copy
//===----------------------------------------------------------------------===//

/// True if `copy` and gemms by `wgmma` are all that touches its target.
static bool feedsOnlyWgmma(CopyOp copy) {
  return llvm::all_of(copy.getTarget().getUsers(), [&](Operation *user) {
    auto gemm = dyn_cast<GemmOp>(user);
    return user == copy ||
           (gemm && gemm.getPlan() &&
            gemm.getPlan()->getInstruction() == Instruction::WGMMA);
  });
}

/// Why the blocks of a cluster cannot fetch the tile of `copy`, which runs
/// ahead by the bulk engine, together; empty if they can.
static std::string whyNot(CopyOp copy, const ClusterDependence &dependence,
                          int64_t blocks) {
  if (llvm::any_of(copy.getSourceOffsets(),
                   [&](Value offset) { return dependence.depends(offset); }))
    return "where it lies depends on the block's place in its cluster";
  std::string reason;
  std::optional<BulkCopyShape> shape = getBulkCopyShape(copy, reason);
  if (shape)
    (void)getBulkCopyPart(copy, *shape, blocks, reason);
  return reason;
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

static constexpr int64_t kWarp = 32, kMaxThreads = 1024; // of a block
/// Those that a thread needs for addresses and the like.
static constexpr int64_t kOtherRegisters = 40;

/// Why the kernel cannot have roles; empty if it can, or has them.
static std::string whyNoRoles(gpu::GPUFuncOp kernel,
                              ArrayRef<PipelinedOp> loops) {
  if (kernel->hasAttr(kSpecializeAttr))
    return "";
  int64_t threads = getNumThreads(kernel);
  int64_t registers =
      getFirstRegisters(llvm::alignTo(threads + kWarp, kWarpGroup));
  if (threads % kWarp != 0 || threads + kWarp > kMaxThreads)
    return "the block has no room for a warp more";
  if (countFragmentRegisters(kernel) + kOtherRegisters > registers)
    return "with a warp more the block has too few registers";
  SmallVector<Operation *> copies;
  for (PipelinedOp loop : loops)
    llvm::append_range(copies, getCopies(loop));
  return ProducerSlice::of(kernel, copies).getReason().str();
}

/// Marks copies of `loop`; true if there are any.
static bool mark(PipelinedOp loop, const ClusterDependence &dependence,
                 int64_t blocks) {
  SmallVector<CopyOp> copies = getCopies(loop);
  bool isDivergent = dependence.findDivergence(copies.front()) != nullptr;
  bool isForWgmma = llvm::all_of(copies, feedsOnlyWgmma);
  bool any = false;
  for (CopyOp copy : copies) {
    std::string reason =
        isDivergent  ? "how often it is copied depends on the block's place in "
                       "its cluster"
        : isForWgmma ? whyNot(copy, dependence, blocks)
                     : "other operations than products of warp groups read "
                       "what the loop copies";
    if (!reason.empty()) {
      refuse(copy, reason);
      continue;
    }
    copy.setMulticast(true);
    any = true;
  }
  return any;
}

void tl::multicastCopies(gpu::GPUFuncOp kernel) {
  int64_t blocks = getClusterSize(kernel);
  if (blocks == 1 || !kernel.getKnownBlockSize())
    return;
  SmallVector<PipelinedOp> loops;
  kernel.walk([&](PipelinedOp loop) {
    if (getEngine(loop) == CopyEngine::Bulk)
      loops.push_back(loop);
  });
  if (loops.empty())
    return;
  if (std::string reason = whyNoRoles(kernel, loops); !reason.empty())
    return refuse(loops.front(), reason);
  ClusterDependence dependence(kernel);
  bool any = false;
  for (PipelinedOp loop : loops)
    any |= mark(loop, dependence, blocks);
  if (any && !kernel->hasAttr(kSpecializeAttr))
    kernel->setAttr(kSpecializeAttr, UnitAttr::get(kernel.getContext()));
}
