//===- Mistakes.cpp - Programs that cannot be what was meant --------------===//
//
// Each warning is given only where it is certain, or where the exception is
// rare: what some paths leave unwritten is the program's affair, and so are
// indices of which only the data says whether they differ, unless an element is
// read, changed and written back.
//
//===----------------------------------------------------------------------===//

#include "Mistakes.h"

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Scans.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

/// What the user calls a buffer.
static std::string getName(Value buffer, StringRef otherwise) {
  StringAttr given = getGivenName(buffer.getLoc());
  return given ? ("`" + given.getValue() + "`").str() : otherwise.str();
}

//===----------------------------------------------------------------------===//
// Reads of what was not written
//===----------------------------------------------------------------------===//

/// True if `call` gets the argument behind a pointer, to which it may only
/// write.
static bool isBehindPointer(CallSourceOp call, unsigned argument) {
  int64_t end = 0;
  for (int64_t count : call.getCounts()) {
    end += std::max<int64_t>(count, 1);
    if (argument < end)
      return count != 0;
  }
  return false;
}

/// True if what `op` reads only goes to where functions of sources may write.
static bool goesBehindPointers(Operation *op) {
  return isa<LoadOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUses(), [](OpOperand &use) {
           auto call = dyn_cast<CallSourceOp>(use.getOwner());
           return call && isBehindPointer(call, use.getOperandNumber());
         });
}

namespace {
/// Follows the first execution of each op of a kernel, in order.
class WriteFlow {
public:
  void visit(Block &block) {
    for (Operation &op : block) {
      visitEffects(&op);
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        visitBranches(branch);
        continue;
      }
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          visit(nested);
    }
  }

private:
  /// What either side writes may be written.
  void visitBranches(scf::IfOp branch) {
    llvm::DenseSet<Value> before = written, after;
    for (Region &region : branch->getRegions())
      for (Block &block : region) {
        written = before;
        visit(block);
        after.insert_range(written);
      }
    after.insert_range(before);
    written = std::move(after);
  }

  void visitEffects(Operation *op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects || op->getNumRegions() != 0 || goesBehindPointers(op))
      return;
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    auto reduce = dyn_cast<ReduceOp>(op);
    auto atomic = dyn_cast<AtomicOp>(op);
    for (const MemoryEffects::EffectInstance &effect : instances) {
      Value view = effect.getValue();
      // The target of a reduction takes part in it only with `accumulate`.
      if (!view || !isa<MemoryEffects::Read>(effect.getEffect()) ||
          (reduce && view == reduce.getTarget() && !reduce.getAccumulate()) ||
          (atomic && atomic.isStore()))
        continue;
      auto buffer = getBuffer(view).getDefiningOp<AllocOp>();
      if (buffer && written.insert(buffer).second)
        warn(op, buffer);
    }
    for (const MemoryEffects::EffectInstance &effect : instances)
      if (effect.getValue() && isa<MemoryEffects::Write>(effect.getEffect()))
        written.insert(getBuffer(effect.getValue()));
  }

  static bool isWritten(Value view) {
    return llvm::any_of(view.getUsers(), [&](Operation *user) {
      if (auto slot = dyn_cast<SlotOp>(user))
        return isWritten(slot);
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      SmallVector<MemoryEffects::EffectInstance> instances;
      if (effects)
        effects.getEffectsOnValue(view, instances);
      return llvm::any_of(instances, [](const auto &effect) {
        return isa<MemoryEffects::Write>(effect.getEffect());
      });
    });
  }

  static void warn(Operation *read, AllocOp buffer) {
    InFlightDiagnostic diag = read->emitWarning("reads ")
                              << getName(buffer, "a buffer");
    if (isWritten(buffer))
      diag << " before anything is written to it; fill it first, as with "
              "`T.clear`";
    else
      diag << ", but nothing writes it";
    diag << " [uninitialized-read]";
    diag.attachNote(buffer.getLoc()) << "it is allocated here";
  }

  /// Buffers that were written, or warned of.
  llvm::DenseSet<Value> written;
};
} // namespace

void tl::warnOfUnwritten(Region &kernel) {
  for (Block &block : kernel)
    WriteFlow().visit(block);
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

namespace {
/// What a value in the body of a parallel loop is computed from.
struct Origin {
  /// The loop's dimensions.
  llvm::SmallBitVector dims;
  /// Buffers that elements are read of.
  llvm::SmallSetVector<Value, 4> reads;

  void add(const Origin &other) {
    dims |= other.dims;
    reads.insert_range(other.reads);
  }
};

class OriginFinder {
public:
  explicit OriginFinder(ParallelOp loop) : loop(loop) {}

  /// What `values` are computed from, not looking behind what `stops` says.
  Origin find(
      ValueRange values, llvm::function_ref<bool(Value)> stops = [](Value) {
        return false;
      }) const {
    Origin origin{llvm::SmallBitVector(loop.getExtents().size()), {}};
    SmallVector<Value> worklist(values);
    llvm::SmallDenseSet<Value> seen;
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (!loop.getBody().isAncestor(value.getParentRegion()) ||
          !seen.insert(value).second || stops(value))
        continue;
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == &loop.getBody().front()) {
        origin.dims.set(argument.getArgNumber());
        continue;
      }
      Operation *op =
          argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
      llvm::append_range(worklist, op->getOperands());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::append_range(worklist, block.getTerminator()->getOperands());
      auto load = dyn_cast<LoadOp>(op);
      if (!load)
        continue;
      Value buffer = getBuffer(load.getSource());
      origin.reads.insert(buffer);
      // What a variable holds was assigned in the body, somewhere.
      if (isInSpace(buffer, Space::Private))
        for (Operation *user : buffer.getUsers())
          if (getAssignedVariable(user) == buffer && loop->isAncestor(user)) {
            llvm::append_range(worklist, user->getOperands());
            llvm::append_range(worklist, getConditions(user));
          }
    }
    return origin;
  }

  /// What decides whether `op` is executed.
  SmallVector<Value> getConditions(Operation *op) const {
    SmallVector<Value> conditions;
    for (op = op->getParentOp(); op != loop; op = op->getParentOp())
      llvm::append_range(conditions, getDeciders(op));
    return conditions;
  }

private:
  mutable ParallelOp loop;
};
} // namespace

/// Whether `index` is the loop's variable of dimension `dim`, and something
/// that is the same for all iterations.
static bool counts(Value index, unsigned dim, ParallelOp loop) {
  auto isOutside = [&](Value value) {
    return !loop.getBody().isAncestor(value.getParentRegion()) ||
           matchPattern(value, m_Constant());
  };
  while (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    if (isOutside(sum.getLhs()))
      index = sum.getRhs();
    else if (isOutside(sum.getRhs()))
      index = sum.getLhs();
    else
      return false;
  }
  return index == loop.getBody().front().getArgument(dim);
}

/// Whether an index of the element tells all iterations apart, whatever the
/// others are.
static bool isOwn(StoreOp store, ParallelOp loop) {
  return llvm::all_of(llvm::enumerate(loop.getExtents()), [&](auto each) {
    auto [dim, extent] = each;
    return extent == 1 || llvm::any_of(store.getIndices(), [&](Value index) {
             return counts(index, dim, loop);
           });
  });
}

namespace {
/// A quotient or remainder of a loop's variable that several iterations share,
/// as in `S[i // 2]`.
struct Folded {
  OperationName name;
  Value of;
  APInt by;

  static std::optional<Folded> get(Value value) {
    Operation *op = value.getDefiningOp();
    APInt by;
    if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
                         arith::RemUIOp, arith::RemSIOp>(op) ||
        !matchPattern(op->getOperand(1), m_ConstantInt(&by)))
      return std::nullopt;
    return Folded{op->getName(), op->getOperand(0), by};
  }

  /// Whether two of `extent` numbers that follow each other become one.
  bool isShared(int64_t extent) const {
    bool isRemainder = name.getStringRef().contains("rem");
    return by.sgt(1) && (isRemainder ? by.slt(extent) : extent > 2);
  }

  bool operator==(const Folded &) const = default;
};
} // namespace

/// Whether iterations that differ along `dim` alone write one element, and not
/// the same value: all that the element's place has of `dim` is one quotient or
/// remainder, and the value depends on it in another way too.
static bool folds(StoreOp store, ParallelOp loop, unsigned dim,
                  const OriginFinder &finder, bool changes) {
  std::optional<Folded> folded;
  for (Value index : store.getIndices()) {
    if (!finder.find(index).dims.test(dim))
      continue;
    std::optional<Folded> other = Folded::get(index);
    if (folded || !other || !other->isShared(loop.getExtents()[dim]) ||
        !counts(other->of, dim, loop))
      return false;
    folded = other;
  }
  auto isSame = [&](Value value) { return Folded::get(value) == folded; };
  return folded &&
         (changes || finder.find(store.getValue(), isSame).dims.test(dim));
}

static InFlightDiagnostic warnOfRace(StoreOp store, const Twine &who) {
  InFlightDiagnostic diag = store.emitWarning(who);
  diag << getName(getBuffer(store.getTarget()), "the buffer")
       << " at the same time, and one of them is what is left; to combine what "
          "they compute, use `T.atomic_add` or its kin, write it to a fragment "
          "and use `T.reduce_sum` or its kin, or use `T.serial` "
          "[racing-write]";
  return diag;
}

static void warnOfRace(StoreOp store, ParallelOp loop) {
  Value buffer = getBuffer(store.getTarget());
  if (!isInSpace(buffer, Space::Shared) && !isInSpace(buffer, Space::Global))
    return;
  OriginFinder finder(loop);
  Origin index = finder.find(store.getIndices());
  Origin value = finder.find(store.getValue());
  Origin reached = finder.find(finder.getConditions(store));
  bool changes = value.reads.contains(buffer);
  llvm::SmallBitVector told = index.dims;
  told |= reached.dims;
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (extent > 1 && !told.test(dim) && (changes || value.dims.test(dim))) {
      warnOfRace(store, Twine(extent) +
                            " iterations of the parallel loop write the same "
                            "element of ");
      return;
    }
  for (auto [dim, extent] : llvm::enumerate(loop.getExtents()))
    if (!reached.dims.test(dim) && folds(store, loop, dim, finder, changes)) {
      warnOfRace(store,
                 "several iterations of the parallel loop write the same "
                 "element of ");
      return;
    }
  auto isData = [](Value read) { return !isInSpace(read, Space::Private); };
  if (changes && llvm::any_of(index.reads, isData) && !isOwn(store, loop))
    warnOfRace(store,
               "iterations of the parallel loop that find the same index "
               "read, change and write the same element of ");
}

/// Threads that write what they know to one place.
static void warnOfRace(StoreOp store, const ThreadDependence &dependence) {
  if (isInSpace(store.getTarget(), Space::Private) ||
      !dependence.depends(store.getValue()) ||
      llvm::any_of(store->getOperands().drop_front(),
                   [&](Value it) { return dependence.depends(it); }))
    return;
  for (Operation *op = store->getParentOp();
       op && !isa<KernelOp, gpu::GPUFuncOp>(op); op = op->getParentOp())
    if (dependence.isDivergent(op))
      return;
  warnOfRace(store, "all threads of the block write the same element of ");
}

void tl::warnOfRaces(Region &kernel) {
  ThreadDependence dependence(kernel);
  kernel.walk([&](StoreOp store) {
    if (auto loop = store->getParentOfType<ParallelOp>())
      warnOfRace(store, loop);
    else
      warnOfRace(store, dependence);
  });
}

//===----------------------------------------------------------------------===//
// Threads without work
//===----------------------------------------------------------------------===//

/// The elements that threads can share, or none for ops that they do not.
static std::optional<int64_t> getWork(Operation *op) {
  using Work = std::optional<int64_t>;
  auto count = [](Value buffer) -> Work {
    return cast<MemRefType>(buffer.getType()).getNumElements();
  };
  if (isScalarTileOp(op))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Work>(op)
      .Case([](ParallelOp op) { return llvm::product_of(op.getExtents()); })
      .Case([](CopyOp op) { return llvm::product_of(op.getTile()); })
      .Case([&](FillOp op) { return count(op.getTarget()); })
      .Case([&](GemmOp op) { return count(op.getAcc()); })
      .Case([&](ReduceOp op) { return count(op.getSource()); })
      .Case([&](ScanOp op) { return count(op.getSource()); })
      .Default(std::nullopt);
}

void tl::warnOfIdleThreads(Region &kernel, int64_t numThreads) {
  constexpr int64_t warp = 32;
  int64_t most = 0;
  bool asksForThreads = false;
  kernel.walk([&](Operation *op) {
    asksForThreads |= isa<gpu::ThreadIdOp>(op);
    most = std::max(most, getWork(op).value_or(0));
  });
  int64_t enough = llvm::alignTo(most, warp);
  if (most == 0 || asksForThreads || enough >= numThreads)
    return;
  kernel.getParentOp()->emitWarning()
      << "the kernel has " << numThreads
      << " threads, and no operation in it has more than " << most
      << " elements for them; use `threads=" << enough << "` [idle-threads]";
}
