//===- FitBlocks.cpp - As many threads as a block has use for -------------===//
//
// What a block holds in fragments is spread over its threads, and a thread has
// at most 255 registers. Two accumulators of 128x128 floats fill those of 128
// threads, and the rest is spilled. A multiprocessor has registers for twice as
// many threads of that size, so such a block gets them, if that is enough.
//
// Three warp groups cannot share a product: no tile of powers of two has three
// equal parts, so that each of them holds and computes all of it. Programs have
// so many threads where a third group copies what two multiply; put in order
// (python/tilec/turns.py), all do everything. Such a block gets two groups.
//
// Sound because the threads of a program are not those of a launch: a statement
// is executed by the block, and which thread holds an element of a fragment is
// the compiler's choice (docs/language/semantics.md). A kernel is left as it is
// if it holds anything but what is known here to be of that kind
// (`isOfTheBlock`): statements of warps, named barriers, sources in CUDA C++,
// layouts of the program's own. So is a cooperative kernel, whose blocks have
// to be resident at once. Where statements depend on the thread,
// `tl-normalize-statements` makes loops over the program's threads of them;
// `tl.launched` says how many threads execute these.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "tl-fit-blocks"

namespace tl {
#define GEN_PASS_DEF_FITBLOCKSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// What a thread has (CUDA C++ Programming Guide, compute capabilities), and
/// what it needs beside fragments: addresses, loop indices, operands.
static constexpr int64_t kRegisters = 255, kOtherRegisters = 24;
/// As many threads as have so many registers, on one multiprocessor.
static constexpr int64_t kMaxThreads = 256;
static constexpr int64_t kWarp = 32, kWarpGroup = 128;

/// True if what `op` does is the same however many threads execute it.
static bool isOfTheBlock(Operation *op) {
  if (auto alloc = dyn_cast<AllocOp>(op))
    return !alloc.getLayoutAttr() || !isInSpace(alloc, Space::Fragment);
  if (auto atomic = dyn_cast<AtomicOp>(op))
    return !atomic.getEachThread();
  if (isa<arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
          scf::SCFDialect>(op->getDialect()))
    return true;
  return isa<CopyOp, FillOp, GemmOp, LoadOp, ParallelOp, PipelinedOp, ReduceOp,
             ScanOp, SlotOp, StoreOp, YieldOp, gpu::BarrierOp, gpu::BlockIdOp,
             gpu::GridDimOp, gpu::ThreadIdOp>(op);
}

namespace {
/// The fragments of a kernel, and where in the order of its ops each is in use.
class FragmentLives {
public:
  explicit FragmentLives(KernelOp kernel) {
    number(kernel.getBody());
    for (auto &[fragment, life] : lives)
      widen(fragment, life);
  }

  /// The most bits that fragments hold at once.
  int64_t countBits() const {
    int64_t most = 0;
    for (auto &[fragment, life] : lives) {
      int64_t bits = 0;
      // It is never more than where one of them begins.
      for (auto &[other, otherLife] : lives)
        if (otherLife.first <= life.first && life.first <= otherLife.last)
          bits += getBits(other);
      most = std::max(most, bits);
    }
    return most;
  }

private:
  /// Numbers of ops, in program order.
  struct Span {
    int64_t first = 0, last = 0;
  };
  struct Life : Span {
    SmallVector<Operation *> uses;
  };

  static int64_t getBits(Value fragment) {
    auto type = cast<MemRefType>(fragment.getType());
    return type.getNumElements() * type.getElementTypeBitWidth();
  }

  /// Numbers the ops; an op's last number is that of the last one in it.
  void number(Region &region) {
    for (Operation &op : region.getOps()) {
      int64_t first = numOps++;
      note(&op, first);
      for (Region &nested : op.getRegions())
        number(nested);
      spans[&op] = {first, numOps - 1};
    }
  }

  void note(Operation *op, int64_t at) {
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      Value buffer = getBuffer(operand);
      if (!isInSpace(buffer, Space::Fragment))
        continue;
      Life &life = lives.try_emplace(buffer, Life{{at, at}, {}}).first->second;
      life.last = at;
      life.uses.push_back(op);
    }
  }

  /// True if the op, or the parallel loop around it, only writes the fragment.
  static bool onlyWrites(Operation *op, Value fragment) {
    if (auto loop = op->getParentOfType<ParallelOp>()) {
      bool reads = false;
      loop.walk([&](LoadOp load) {
        reads |= getBuffer(load.getSource()) == fragment;
      });
      return !reads;
    }
    return hasOnlyEffect<MemoryEffects::Write>(op, fragment);
  }

  /// What a loop finds in a fragment that it does not write first is held for
  /// the whole loop.
  void widen(Value fragment, Life &life) {
    llvm::SmallPtrSet<Operation *, 8> seen;
    for (Operation *use : life.uses)
      for (Operation *loop = use->getParentOp();
           !loop->isAncestor(fragment.getDefiningOp());
           loop = loop->getParentOp()) {
        bool isFirst =
            isa<LoopLikeOpInterface>(loop) && seen.insert(loop).second;
        if (!isFirst || onlyWrites(use, fragment))
          continue;
        Span span = spans.lookup(loop);
        life.first = std::min(life.first, span.first);
        life.last = std::max(life.last, span.last);
      }
  }

  int64_t numOps = 0;
  llvm::DenseMap<Operation *, Span> spans;
  llvm::MapVector<Value, Life> lives;
};
} // namespace

/// True if some statement asks for the number of its thread.
static bool asksForThread(KernelOp kernel) {
  return kernel.getBody()
      .walk([](gpu::ThreadIdOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// True if all elements of `variable` that are accessed are named by numbers.
static bool isNamed(AllocOp variable) {
  return llvm::all_of(variable->getUsers(), [](Operation *user) {
    return llvm::all_of(user->getOperands(), [](Value operand) {
      return !operand.getType().isIndex() ||
             matchPattern(operand, m_Constant());
    });
  });
}

/// True if threads have arrays. Those that have to be in memory are rows of
/// fragments, one for each thread that executes the block.
static bool hasArrays(KernelOp kernel) {
  return kernel.getBody()
      .walk([](AllocOp alloc) {
        bool isArray =
            isInSpace(alloc, Space::Private) &&
            (alloc.getType().getNumElements() > 1 || !isNamed(alloc));
        return isArray ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// As many threads as have registers for the fragments, if that is more than
/// `threads` and not too many; else `threads`. What a program writes thread by
/// thread is made for as many as there are.
static int64_t widen(KernelOp kernel, int64_t threads) {
  if (threads % kWarp != 0 || 2 * threads > kMaxThreads ||
      asksForThread(kernel))
    return threads;
  int64_t room = kRegisters - kOtherRegisters;
  int64_t needed = llvm::divideCeil(FragmentLives(kernel).countBits(), 32);
  int64_t enough = threads;
  while (needed > room * enough)
    enough *= 2;
  return enough > kMaxThreads ? threads : enough;
}

/// As many warp groups as share some product, if `threads` are groups that
/// share none; else `threads`.
static int64_t narrow(KernelOp kernel, int64_t threads) {
  bool hasProducts = false, isShared = false;
  kernel.walk([&](GemmOp gemm) {
    hasProducts = true;
    auto type = cast<MemRefType>(gemm.getAcc().getType());
    isShared |= type.getNumElements() % threads == 0;
  });
  if (threads % kWarpGroup != 0 || !hasProducts || isShared ||
      (asksForThread(kernel) && hasArrays(kernel)))
    return threads;
  return llvm::bit_floor(static_cast<uint64_t>(threads / kWarpGroup)) *
         kWarpGroup;
}

static void fit(KernelOp kernel) {
  int64_t threads = llvm::product_of(kernel.getThreads());
  if (kernel->hasAttr(kMinBlocksAttr) || threads != kernel.getThreads()[0] ||
      kernel.getCooperative())
    return;
  int64_t fitting = narrow(kernel, threads);
  if (fitting == threads)
    fitting = widen(kernel, threads);
  if (fitting == threads)
    return;
  WalkResult walk = kernel.getBody().walk([](Operation *op) {
    return isOfTheBlock(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return;
  int32_t extents[] = {static_cast<int32_t>(fitting), 1, 1};
  kernel->setAttr(kLaunchedAttr,
                  DenseI32ArrayAttr::get(kernel.getContext(), extents));
  StringRef reason = fitting > threads
                         ? "threads, whose registers its fragments need"
                         : "threads, which can share its products";
  remark::passed(kernel.getLoc(),
                 remark::RemarkOpts::name("threads").category(DEBUG_TYPE))
      << "the block gets " + std::to_string(fitting) + " " + reason.str();
}

namespace {
struct FitBlocksPass : tl::impl::FitBlocksPassBase<FitBlocksPass> {
  void runOnOperation() override { getOperation().walk(fit); }
};
} // namespace
