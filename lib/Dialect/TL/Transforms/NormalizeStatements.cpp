//===- NormalizeStatements.cpp - Say who executes each statement ----------===//
//
// A block executes each statement of a kernel once (docs/language/semantics.md,
// S3), unless the statement depends on the thread: then once for each thread
// (S4). Backends have other habits: on a GPU every thread runs whatever stands
// outside of a tile op, on a CPU there are no threads to ask for. This pass
// writes both kinds of statements as parallel loops, which mean the same
// everywhere:
//
//   C[0] = C[0] + 1            tl.parallel (%i) in (1) { … }
//   if (tx < n) S[tx] = A[tx]  tl.parallel (%t) in (threads) { … }
//
// so that no effect is repeated, none is skipped, and no barrier that later
// passes put between tile ops is in a branch that only some threads take.
//
// A value that depends on the thread lives in such a loop. One that is computed
// from others is computed again where it is used. One that is read from memory
// must be read where the program reads it: the read moves into its only use if
// nothing writes what it reads in between, other threads in the same statement
// included; else what it gives is kept in a fragment with one element for each
// thread, as variables are.
//
// An element of a fragment is held by some thread. A statement that reads one
// gets it through a variable or shared memory, that all threads read, and so
// does a copy of several to an array. So it gets what an atomic operation of
// the block found, which one thread carried out.
//
// Requires what `tl-verify-statements` checks: nothing that the whole block
// executes depends on the thread.
//
//===----------------------------------------------------------------------===//

#include "ThreadSequence.h"

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Layout/FragmentRelations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_NORMALIZESTATEMENTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Arrays of up to so many elements are filled and copied without a loop, so
/// that their elements can become values.
static constexpr int64_t kMaxUnrolled = 32;

//===----------------------------------------------------------------------===//
// Fills and copies of arrays
//===----------------------------------------------------------------------===//

/// The position of element `number` of a tile of extents `tile` that begins at
/// `offsets`, or at zero if there are none, in a buffer.
static SmallVector<Value> getElement(OpBuilder &builder, Location loc,
                                     Value buffer, ValueRange offsets,
                                     ArrayRef<int64_t> tile, int64_t number) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<Value> position(type.getRank());
  int64_t lead = type.getRank() - static_cast<int64_t>(tile.size());
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    int64_t within = 0;
    if (d >= lead) {
      within = number % tile[d - lead];
      number /= tile[d - lead];
    }
    Value index = arith::ConstantIndexOp::create(builder, loc, within);
    position[d] = offsets.empty()
                      ? index
                      : arith::AddIOp::create(builder, loc, offsets[d], index);
  }
  return position;
}

/// Writes a fill or copy of a few elements without loops, so that elements of
/// arrays are at known indices.
static void unrollScalarTileOp(Operation *op, ArrayRef<int64_t> tile) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  for (int64_t i = 0, count = llvm::product_of(tile); i < count; ++i) {
    auto at = [&](Value buffer, ValueRange offsets) {
      int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
      return getElement(builder, loc, buffer, offsets, getSideTile(tile, rank),
                        i);
    };
    if (auto fill = dyn_cast<FillOp>(op)) {
      StoreOp::create(builder, loc, fill.getValue(), fill.getTarget(),
                      at(fill.getTarget(), {}));
      continue;
    }
    auto copy = cast<CopyOp>(op);
    auto type = cast<MemRefType>(copy.getTarget().getType());
    Value value = LoadOp::create(builder, loc, copy.getSource(),
                                 at(copy.getSource(), copy.getSourceOffsets()));
    StoreOp::create(builder, loc,
                    convertElement(builder, loc, value, type.getElementType()),
                    copy.getTarget(),
                    at(copy.getTarget(), copy.getTargetOffsets()));
  }
}

/// Writes a fill or copy of an array as loads and stores.
static void expandScalarTileOp(Operation *op) {
  ArrayRef<int64_t> tile =
      isa<FillOp>(op)
          ? cast<MemRefType>(cast<FillOp>(op).getTarget().getType()).getShape()
          : cast<CopyOp>(op).getTile();
  if (llvm::product_of(tile) <= kMaxUnrolled) {
    unrollScalarTileOp(op, tile);
  } else {
    OpBuilder builder(op);
    [[maybe_unused]] LogicalResult done =
        cast<TileOpInterface>(op).emitScalarLoops(builder);
    assert(succeeded(done) && "fills and copies can be written as loops");
  }
  op->erase();
}

/// `type` without offsets or strides, in another space.
static MemRefType withSpace(MemRefType type, gpu::AddressSpace space) {
  return MemRefType::get(type.getShape(), type.getElementType(),
                         MemRefLayoutAttrInterface(),
                         gpu::AddressSpaceAttr::get(type.getContext(), space));
}

static AllocOp createAlloc(OpBuilder &builder, Location loc, MemRefType type) {
  return AllocOp::create(builder, loc, type, /*layout=*/nullptr,
                         /*offset=*/nullptr);
}

/// Whether only the threads that hold the source's elements would have them in
/// their arrays: all have to, as the block has one (S3).
static bool spreadsElements(CopyOp copy) {
  return isInSpace(copy.getSource(), Space::Fragment) &&
         isInSpace(copy.getTarget(), Space::Private) &&
         cast<MemRefType>(copy.getSource().getType()).getNumElements() > 1;
}

/// Has all threads read from shared memory what a copy gives to an array.
static void shareSource(CopyOp copy) {
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  auto type = cast<MemRefType>(copy.getSource().getType());
  auto tile = createAlloc(
      builder, loc,
      withSpace(MemRefType::get(copy.getTile(), type.getElementType()),
                gpu::AddressSpace::Workgroup));
  CopyOp::create(builder, loc, copy.getSource(), copy.getSourceOffsets(), tile,
                 ValueRange(), copy.getTileAttr(), /*async=*/false,
                 /*bulk=*/false, /*barrier=*/Value(), /*barrierIndex=*/Value());
  copy.getSourceMutable().assign(tile);
  copy.getSourceOffsetsMutable().clear();
}

/// Leaves no tile op where only scalars may stand, and none that fills an array
/// in private memory from others: each thread has a whole copy of that.
static void expandScalarTileOps(gpu::GPUFuncOp kernel) {
  ThreadDependence dependence(kernel.getBody());
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<CopyOp>(op); copy && spreadsElements(copy)) {
      shareSource(copy);
      ops.push_back(copy);
      return;
    }
    if (!isScalarTileOp(op))
      return;
    bool isInScalars = false;
    for (Operation *at = op; at != kernel; at = at->getParentOp())
      isInScalars |= isa<ParallelOp>(at) || dependence.isDivergent(at);
    if (isInScalars || dependence.isPerThread(op) ||
        (isa<CopyOp>(op) && getAssignedVariable(op)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    expandScalarTileOp(op);
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

/// The buffers that `op` and what is inside of it read and write.
static void getAccesses(Operation *op, llvm::SmallDenseSet<Value> &reads,
                        llvm::SmallDenseSet<Value> &writes) {
  op->walk([&](MemoryEffectOpInterface effects) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &effect : instances) {
      Value value = effect.getValue();
      if (!value || !isa<MemRefType>(value.getType()))
        continue;
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        reads.insert(getBuffer(value));
      else if (isa<MemoryEffects::Write>(effect.getEffect()))
        writes.insert(getBuffer(value));
    }
  });
}

static bool touchesMemory(Operation *op) {
  llvm::SmallDenseSet<Value> reads, writes;
  getAccesses(op, reads, writes);
  return !reads.empty() || !writes.empty();
}

static bool writesMemory(Operation *op) {
  llvm::SmallDenseSet<Value> reads, writes;
  getAccesses(op, reads, writes);
  return !writes.empty();
}

/// True if what `reader` reads may be written between it and `place`, behind it
/// in the same block. Different arguments share no memory (M5).
static bool isWrittenBetween(Operation *reader, Operation *place) {
  llvm::SmallDenseSet<Value> read, ignored;
  getAccesses(reader, read, ignored);
  for (Operation *op = reader->getNextNode(); op != place;
       op = op->getNextNode()) {
    llvm::SmallDenseSet<Value> reads, writes;
    getAccesses(op, reads, writes);
    if (isa<gpu::BarrierOp>(op) || llvm::any_of(writes, [&](Value value) {
          return mayBeOneOf(value, read);
        }))
      return true;
  }
  return false;
}

/// True if a thread that executes `statement` may overwrite what another one
/// reads by `reader`, were that executed in the same loop. An element that is
/// read and written at the same index is the thread's own, or else a race.
static bool isOverwrittenBy(Operation *reader, Operation *statement) {
  llvm::SmallDenseSet<Value> read, ignored;
  getAccesses(reader, read, ignored);
  auto load = dyn_cast<LoadOp>(reader);
  auto overwrites = [&](Value target, ValueRange indices) {
    Value buffer = getBuffer(target);
    bool isOwn =
        isInSpace(buffer, Space::Private) ||
        (load && load.getSource() == target && load.getIndices() == indices);
    return mayBeOneOf(buffer, read) && !isOwn;
  };
  WalkResult result = statement->walk([&](Operation *op) {
    auto store = dyn_cast<StoreOp>(op);
    auto atomic = dyn_cast<AtomicOp>(op);
    bool does = (store && overwrites(store.getTarget(), store.getIndices())) ||
                (atomic && overwrites(atomic.getTarget(), atomic.getIndices()));
    return does ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

namespace {
class StatementRewriter {
public:
  StatementRewriter(gpu::GPUFuncOp kernel, bool sharedArrays)
      : kernel(kernel), dependence(kernel.getBody()),
        sharedArrays(sharedArrays) {
    findExtents();
    size_t place = 0;
    kernel.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { order[op] = place++; });
  }

  void run() {
    hoistAllocs();
    SmallVector<AllocOp> variables;
    kernel.walk([&](AllocOp alloc) {
      if (dependence.depends(alloc) && !isInScalars(alloc))
        variables.push_back(alloc);
    });
    for (Block &block : kernel.getBody())
      visit(block);
    // What is declared in a loop of a sequence is its own there.
    llvm::erase_if(variables, [&](AllocOp alloc) {
      return llvm::any_of(sequenced, [&](Operation *op) {
        return op->isProperAncestor(alloc);
      });
    });
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (AllocOp variable : variables)
      expandVariable(variable);
    SmallVector<LoadOp> elements;
    kernel.walk([&](LoadOp load) {
      if (isInSpace(load.getSource(), Space::Fragment) &&
          !load->getParentOfType<ParallelOp>())
        elements.push_back(load);
    });
    llvm::for_each(elements, shareElement);
  }

private:
  //===--------------------------------------------------------------------===//
  // Threads
  //===--------------------------------------------------------------------===//

  /// The extents of a loop over threads: those of the block, x last, without
  /// dimensions of one.
  void findExtents() {
    ArrayRef<int32_t> size = *kernel.getKnownBlockSize();
    for (unsigned d : {2, 1, 0})
      if (d < size.size() && size[d] > 1) {
        argumentOf[d] = extents.size();
        extents.push_back(size[d]);
      }
    if (extents.empty())
      extents.push_back(1);
  }

  /// The loop's index that is the thread's number along a dimension.
  Value getThread(OpBuilder &builder, gpu::ThreadIdOp thread, ParallelOp loop) {
    if (std::optional<unsigned> argument =
            argumentOf[static_cast<unsigned>(thread.getDimension())])
      return loop.getBody().getArgument(*argument);
    return arith::ConstantIndexOp::create(builder, thread.getLoc(), 0);
  }

  /// True if `op` is a part of a scalar program: of a parallel loop, or of what
  /// becomes one as a whole.
  bool isInScalars(Operation *op) const {
    for (Operation *at = op->getParentOp(); at != kernel;
         at = at->getParentOp())
      if (isa<ParallelOp>(at) || dependence.isPerThread(at))
        return true;
    return false;
  }

  /// Memory of the whole block is not allocated by some of its threads.
  void hoistAllocs() {
    kernel.walk([&](AllocOp alloc) {
      if (isInSpace(alloc, Space::Private) || !isInScalars(alloc))
        return;
      alloc->moveBefore(&kernel.getBody().front().front());
    });
  }

  //===--------------------------------------------------------------------===//
  // Once for each thread
  //===--------------------------------------------------------------------===//

  /// The values from outside of `op` that it and its regions use and that
  /// depend on the thread, but for variables.
  SmallVector<Value> getUses(Operation *op) const {
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    return llvm::filter_to_vector(used, [&](Value value) {
      return dependence.depends(value) && !value.getDefiningOp<AllocOp>();
    });
  }

  /// For each read of a block that depends on the thread, whether it moves into
  /// the one statement that uses it. Others are statements of their own.
  void planReads(Block &block) {
    // The statements that each value is computed in; null stands for one that
    // is in another block.
    DenseMap<Operation *, Homes> homes;
    for (Operation &op : llvm::reverse(block))
      if (dependence.isPerThread(&op) && !isa<AllocOp>(op))
        homes[&op] = findHomes(&op, homes);
  }

  using Homes = llvm::SmallSetVector<Operation *, 2>;

  Homes findHomes(Operation *op, const DenseMap<Operation *, Homes> &homes) {
    Homes own, itself;
    itself.insert(op);
    if (writesMemory(op))
      return itself;
    for (Operation *user : op->getUsers()) {
      Operation *at = op->getBlock()->findAncestorOpInBlock(*user);
      if (auto found = homes.find(at); found != homes.end())
        own.insert_range(found->second);
      else
        own.insert(nullptr);
    }
    if (own.empty() || !touchesMemory(op))
      return own;
    if (own.size() > 1 || !own.front() || isWrittenBetween(op, own.front()) ||
        isOverwrittenBy(op, own.front()))
      return itself;
    moved[op] = own.front();
    return own;
  }

  /// What has to be computed in the loop for `op`, in order: all that it uses
  /// and that is not in a fragment.
  SmallVector<Operation *> getSlice(Operation *op) {
    llvm::SetVector<Operation *> slice;
    SmallVector<Operation *> worklist = {op};
    while (!worklist.empty())
      for (Value value : getUses(worklist.pop_back_val()))
        if (!kept.contains(value) && slice.insert(value.getDefiningOp()))
          worklist.push_back(value.getDefiningOp());
    SmallVector<Operation *> sorted = slice.takeVector();
    llvm::sort(sorted, [&](Operation *a, Operation *b) {
      return order.lookup(a) < order.lookup(b);
    });
    sorted.push_back(op);
    return sorted;
  }

  /// Writes `op` as a loop over threads; results go to fragments.
  void rewritePerThread(Operation *op) {
    OpBuilder builder(op);
    auto loop = ParallelOp::create(builder, op->getLoc(), extents);
    builder.setInsertionPointToStart(&loop.getBody().front());
    IRMapping mapping;
    cloneInto(builder, op, mapping, loop);
    nameThreads(loop);
    for (Value result : op->getResults())
      if (!result.use_empty())
        keep(builder, result, mapping.lookup(result), loop);
    loops.insert(loop);
  }

  /// Copies `op` into a loop over threads, with all that it uses and that is
  /// not there yet.
  void cloneInto(OpBuilder &builder, Operation *op, IRMapping &mapping,
                 ParallelOp loop) {
    for (Operation *part : getSlice(op)) {
      if (part->getNumResults() != 0 && mapping.contains(part->getResult(0)))
        continue;
      if (auto thread = dyn_cast<gpu::ThreadIdOp>(part)) {
        mapping.map(thread.getResult(), getThread(builder, thread, loop));
        continue;
      }
      for (Value value : getUses(part))
        if (kept.contains(value) && !mapping.contains(value))
          mapping.map(value, readKept(builder, value, loop));
      builder.clone(*part, mapping);
    }
  }

  /// True if an op is not computed again where it is used.
  bool isExecuted(Operation *op) const {
    if (!dependence.isPerThread(op))
      return true;
    bool isNeeded = writesMemory(op) || !op->use_empty();
    return touchesMemory(op) && !moved.contains(op) && isNeeded;
  }

  /// True if a statement behind a sequence needs `value`, or what is computed
  /// of it.
  bool isUsedBehind(Value value, const DenseSet<Operation *> &executed) const {
    SetVector<Value> worklist;
    worklist.insert(value);
    for (size_t i = 0; i < worklist.size(); ++i)
      for (Operation *user : worklist[i].getUsers()) {
        Operation *at = value.getParentBlock()->findAncestorOpInBlock(*user);
        if (executed.contains(at))
          continue;
        if (isExecuted(at))
          return true;
        worklist.insert_range(at->getResults());
      }
    return false;
  }

  /// Writes statements that follow each other as one loop over threads.
  void rewriteSequence(ThreadSequence &sequence) {
    llvm::append_range(replaced, sequence.getStatements());
    sequence.markOnce();
    SmallVector<Operation *> parts =
        llvm::filter_to_vector(sequence.getStatements(),
                               [&](Operation *op) { return isExecuted(op); });
    if (parts.empty())
      return;
    DenseSet<Operation *> executed(parts.begin(), parts.end());
    // Values of the block that they use are computed by then.
    OpBuilder builder(parts.back());
    auto loop = ParallelOp::create(builder, parts.front()->getLoc(), extents);
    builder.setInsertionPointToStart(&loop.getBody().front());
    IRMapping mapping;
    for (Operation *op : parts)
      cloneInto(builder, op, mapping, loop);
    nameThreads(loop);
    for (Operation *op : parts)
      for (Value result : op->getResults())
        if (isUsedBehind(result, executed))
          keep(builder, result, mapping.lookup(result), loop);
    sequenced.insert_range(parts);
    loops.insert(loop);
    leaveToFirst(loop);
  }

  /// Loops and branches of the block that became part of a loop over threads
  /// may ask for the thread's number themselves.
  void nameThreads(ParallelOp loop) {
    SmallVector<gpu::ThreadIdOp> threads;
    loop.getBody().walk(
        [&](gpu::ThreadIdOp thread) { threads.push_back(thread); });
    for (gpu::ThreadIdOp thread : threads) {
      OpBuilder builder(thread);
      thread.replaceAllUsesWith(getThread(builder, thread, loop));
      thread.erase();
    }
  }

  /// Puts what one thread executes into branches.
  static void leaveToFirst(ParallelOp loop) {
    SmallVector<Operation *> once;
    loop.getBody().walk([&](Operation *op) {
      if (op->removeAttr(kOnceAttr))
        once.push_back(op);
    });
    if (once.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&loop.getBody().front());
    Location loc = loop.getLoc();
    Value isFirst;
    for (Value argument : loop.getBody().getArguments()) {
      Value isHere = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, argument,
          arith::ConstantIndexOp::create(builder, loc, 0));
      isFirst =
          isFirst
              ? arith::AndIOp::create(builder, loc, isFirst, isHere).getResult()
              : isHere;
    }
    for (Operation *op : once) {
      builder.setInsertionPoint(op);
      auto branch = scf::IfOp::create(builder, op->getLoc(), isFirst);
      op->moveBefore(branch.thenBlock()->getTerminator());
    }
  }

  /// The type that a fragment holds a value in; `index` is 32 bits wide (I1).
  static Type getKeptType(Type type) {
    Builder builder(type.getContext());
    return type.isIndex()      ? builder.getI32Type()
           : type.isInteger(1) ? builder.getI8Type()
                               : type;
  }

  MemRefType getFragmentType(Type element) {
    return MemRefType::get(extents, element, MemRefLayoutAttrInterface(),
                           FragmentAttr::get(kernel.getContext()));
  }

  /// Stores what `loop` computed for `value` to a fragment.
  void keep(OpBuilder &builder, Value value, Value computed, ParallelOp loop) {
    Location loc = value.getLoc();
    Type type = getKeptType(value.getType());
    OpBuilder outside(loop);
    auto fragment = createAlloc(outside, loc, getFragmentType(type));
    if (type != value.getType())
      computed = value.getType().isIndex()
                     ? arith::IndexCastOp::create(builder, loc, type, computed)
                           .getResult()
                     : arith::ExtUIOp::create(builder, loc, type, computed);
    StoreOp::create(builder, loc, computed, fragment,
                    loop.getBody().getArguments());
    kept[value] = fragment;
  }

  Value readKept(OpBuilder &builder, Value value, ParallelOp loop) {
    Location loc = value.getLoc();
    Value read = LoadOp::create(builder, loc, kept.lookup(value),
                                loop.getBody().getArguments());
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, value.getType(), read);
    if (value.getType().isInteger(1))
      return arith::TruncIOp::create(builder, loc, value.getType(), read);
    return read;
  }

  //===--------------------------------------------------------------------===//
  // Once for the block
  //===--------------------------------------------------------------------===//

  /// Lets all threads read what an atomic operation gives, from a cell that the
  /// one writes which carries it out. Returns that store.
  static StoreOp shareResult(AtomicOp atomic) {
    Location loc = atomic.getLoc();
    Value old = atomic.getOld();
    OpBuilder builder(atomic);
    auto cell = createAlloc(builder, loc,
                            withSpace(MemRefType::get({1}, old.getType()),
                                      gpu::AddressSpace::Workgroup));
    Value first = arith::ConstantIndexOp::create(builder, loc, 0);
    builder.setInsertionPointAfter(atomic);
    Value read = LoadOp::create(builder, loc, cell, first);
    old.replaceAllUsesWith(read);
    builder.setInsertionPointAfter(atomic);
    return StoreOp::create(builder, loc, old, cell, first);
  }

  /// Puts a store, or an atomic operation, into a loop of one iteration, with
  /// what only it needs, and joins it with one directly before: one thread does
  /// both, in order.
  void rewriteOnce(Operation *op) {
    auto atomic = dyn_cast<AtomicOp>(op);
    Operation *shared =
        atomic && !atomic.getOld().use_empty() ? shareResult(atomic) : nullptr;
    OpBuilder builder(op);
    auto loop = ParallelOp::create(builder, op->getLoc(), ArrayRef<int64_t>{1});
    Block &body = loop.getBody().front();
    op->moveBefore(body.getTerminator());
    if (shared)
      shared->moveBefore(body.getTerminator());
    once.insert(loop);

    bool readsBetween = false;
    Operation *before;
    for (op = loop->getPrevNode(); op; op = before) {
      before = op->getPrevNode();
      if (once.contains(op) && !readsBetween) {
        Block &other = cast<ParallelOp>(op).getBody().front();
        other.getTerminator()->erase();
        body.getOperations().splice(body.begin(), other.getOperations());
        once.erase(op);
        op->erase();
        continue;
      }
      if (isa<AllocOp>(op))
        continue;
      if (!isPure(op) && !isa<LoadOp>(op))
        return;
      if (!dependence.isPerThread(op) &&
          llvm::all_of(op->getUsers(),
                       [&](Operation *user) { return loop->isAncestor(user); }))
        op->moveBefore(&body, body.begin());
      else
        readsBetween |= isa<LoadOp>(op);
    }
  }

  //===--------------------------------------------------------------------===//
  // All statements
  //===--------------------------------------------------------------------===//

  /// Ops of a block, from `begin` to `end`, that are one loop over threads, or
  /// else are written one by one.
  struct Part {
    size_t begin, end;
    std::unique_ptr<ThreadSequence> sequence;
  };

  std::vector<Part> split(Block &block, ArrayRef<Operation *> ops) {
    std::vector<Part> parts;
    for (size_t i = 0; i < ops.size();) {
      auto sequence = std::make_unique<ThreadSequence>(
          block, *kernel.getKnownBlockSize(), dependence);
      size_t end = i;
      while (end < ops.size() && sequence->add(ops[end]))
        ++end;
      if (!sequence->pays())
        sequence.reset();
      end = std::max(end, i + 1);
      parts.push_back({i, end, std::move(sequence)});
      i = end;
    }
    return parts;
  }

  /// A read stays in its sequence, and comes into none from outside: of what it
  /// reads only the statements of its own sequence have been asked. Variables
  /// of a thread nobody else writes.
  void keepReadsApart(ArrayRef<Operation *> ops, ArrayRef<Part> parts) {
    DenseMap<Operation *, int64_t> numbers;
    SmallVector<int64_t> sequencesBefore = {0};
    for (auto [number, part] : llvm::enumerate(parts)) {
      for (Operation *op : ops.slice(part.begin, part.end - part.begin))
        numbers[op] = number;
      sequencesBefore.push_back(sequencesBefore.back() +
                                (part.sequence != nullptr));
    }
    for (Operation *op : ops) {
      auto home = moved.find(op);
      auto load = dyn_cast<LoadOp>(op);
      bool isOwn = load && isInSpace(load.getSource(), Space::Private);
      if (home == moved.end() || isOwn)
        continue;
      int64_t from = numbers.lookup(op), to = numbers.lookup(home->second);
      if (from != to && sequencesBefore[to + 1] != sequencesBefore[from])
        moved.erase(home);
    }
  }

  void visit(Block &block) {
    planReads(block);
    SmallVector<Operation *> ops =
        llvm::map_to_vector(block, [](Operation &op) { return &op; });
    std::vector<Part> parts = split(block, ops);
    keepReadsApart(ops, parts);
    for (Part &part : parts)
      if (part.sequence)
        rewriteSequence(*part.sequence);
      else
        for (Operation *op :
             ArrayRef(ops).slice(part.begin, part.end - part.begin))
          visit(op);
  }

  void visit(Operation *op) {
    if (isa<ParallelOp, AllocOp>(op))
      return;
    if (dependence.isPerThread(op)) {
      replaced.push_back(op);
      if (isExecuted(op))
        rewritePerThread(op);
      return;
    }
    auto store = dyn_cast<StoreOp>(op);
    if (isa<AtomicOp>(op) ||
        (store && !isInSpace(store.getTarget(), Space::Private))) {
      rewriteOnce(op);
      return;
    }
    for (Region &region : op->getRegions())
      for (Block &nested : region)
        visit(nested);
  }

  //===--------------------------------------------------------------------===//
  // Elements of fragments
  //===--------------------------------------------------------------------===//

  /// Hands an element of a fragment, which some thread holds, to all of them:
  /// the only one by a copy to a variable, others through shared memory.
  static void shareElement(LoadOp load) {
    Location loc = load.getLoc();
    Value fragment = load.getSource();
    auto type = cast<MemRefType>(fragment.getType());
    OpBuilder builder(load);
    SmallVector<Value> first(type.getRank(),
                             arith::ConstantIndexOp::create(builder, loc, 0));
    if (type.getNumElements() == 1) {
      auto variable = createAlloc(builder, loc,
                                  withSpace(type, gpu::AddressSpace::Private));
      CopyOp::create(builder, loc, fragment, ValueRange(), variable,
                     ValueRange(),
                     builder.getDenseI64ArrayAttr(type.getShape()),
                     /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                     /*barrierIndex=*/Value());
      load.getSourceMutable().assign(variable);
      load.getIndicesMutable().assign(first);
      return;
    }
    auto cell =
        createAlloc(builder, loc,
                    withSpace(MemRefType::get({1}, type.getElementType()),
                              gpu::AddressSpace::Workgroup));
    {
      OpBuilder::InsertionGuard saved(builder);
      auto loop = ParallelOp::create(builder, loc, ArrayRef<int64_t>{1});
      builder.setInsertionPointToStart(&loop.getBody().front());
      Value value = LoadOp::create(builder, loc, fragment, load.getIndices());
      StoreOp::create(builder, loc, value, cell, loop.getBody().getArguments());
    }
    load.getSourceMutable().assign(cell);
    load.getIndicesMutable().assign(first.front());
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  /// A load or store of an element of a variable.
  struct Access {
    Operation *op;
    SmallVector<Value> indices;
  };

  /// All accesses of a variable, also through slots; these go to `slots`.
  static SmallVector<Access> getAccesses(AllocOp variable,
                                         SmallVectorImpl<Operation *> &slots) {
    SmallVector<Access> accesses, views;
    views.push_back({variable, {}});
    while (!views.empty()) {
      Access view = views.pop_back_val();
      for (Operation *user : view.op->getUsers()) {
        Access access{user, view.indices};
        if (auto slot = dyn_cast<SlotOp>(user)) {
          access.indices.push_back(slot.getIndex());
          slots.push_back(user);
          views.push_back(std::move(access));
          continue;
        }
        llvm::append_range(access.indices, getElementIndices(user));
        accesses.push_back(std::move(access));
      }
    }
    return accesses;
  }

  /// Gives each thread its own copy of a variable, all accesses of which are in
  /// loops over threads by now: elements that are known become fragments, so
  /// that they are in registers; an array with others is a fragment of which
  /// each thread holds its row (FragmentAccess.h, R5).
  void expandVariable(AllocOp variable) {
    MemRefType type = variable.getType();
    SmallVector<Operation *> slots;
    SmallVector<Access> accesses = getAccesses(variable, slots);
    bool isKnown = llvm::all_of(accesses, [&](const Access &access) {
      return getElementNumber(type, access.indices).has_value();
    });
    OpBuilder builder(variable);
    llvm::SmallDenseMap<int64_t, Value> elements;
    Value array;
    if (!isKnown)
      array = createRows(builder, variable);
    for (const Access &access : accesses) {
      SmallVector<Value> at(getLoop(access.op).getBody().getArguments());
      Value buffer = array;
      if (isKnown) {
        Value &element = elements[*getElementNumber(type, access.indices)];
        if (!element)
          element = createAlloc(builder, variable.getLoc(),
                                getFragmentType(type.getElementType()));
        buffer = element;
      } else {
        at.push_back(linearize(access, type));
      }
      replaceAccess(access.op, buffer, at);
    }
    for (Operation *slot : llvm::reverse(slots))
      slot->erase();
    variable.erase();
  }

  ParallelOp getLoop(Operation *access) const {
    auto loop = access->getParentOfType<ParallelOp>();
    assert(loop && loops.contains(loop) &&
           "what differs between threads is used in loops over threads");
    return loop;
  }

  /// The number of the element that an access touches.
  static Value linearize(const Access &access, MemRefType type) {
    OpBuilder builder(access.op);
    Location loc = access.op->getLoc();
    Value number = access.indices.front();
    for (auto [index, extent] :
         llvm::drop_begin(llvm::zip_equal(access.indices, type.getShape()))) {
      number = arith::MulIOp::create(
          builder, loc, number,
          arith::ConstantIndexOp::create(builder, loc, extent));
      number = arith::AddIOp::create(builder, loc, number, index);
    }
    return number;
  }

  /// Memory in which each thread has its copy of `array`, as a row.
  AllocOp createRows(OpBuilder &builder, AllocOp array) {
    SmallVector<int64_t> shape(extents);
    shape.push_back(array.getType().getNumElements());
    Type element = array.getType().getElementType();
    if (sharedArrays)
      return createAlloc(builder, array.getLoc(),
                         withSpace(MemRefType::get(shape, element),
                                   gpu::AddressSpace::Workgroup));
    auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                                FragmentAttr::get(kernel.getContext()));
    return AllocOp::create(builder, array.getLoc(), type,
                           toAttr(kernel.getContext(), layout::getRows(shape)),
                           /*offset=*/nullptr);
  }

  gpu::GPUFuncOp kernel;
  ThreadDependence dependence;
  bool sharedArrays;
  SmallVector<int64_t> extents;
  std::array<std::optional<unsigned>, 3> argumentOf;
  /// The place of each op in the program.
  DenseMap<Operation *, size_t> order;
  /// Reads that move into the statement that uses them, and that statement.
  DenseMap<Operation *, Operation *> moved;
  /// The fragments of values that loops over threads computed.
  DenseMap<Value, Value> kept;
  /// What loops over threads stand for, in order.
  SmallVector<Operation *> replaced;
  /// Those of sequences.
  DenseSet<Operation *> sequenced;
  DenseSet<Operation *> loops, once;
};

/// From here on nothing is said of the program's threads.
void takeLaunchedThreads(gpu::GPUFuncOp kernel) {
  if (Attribute extents = kernel->removeAttr(kLaunchedAttr))
    kernel.setKnownBlockSizeAttr(cast<DenseI32ArrayAttr>(extents));
}

struct NormalizeStatementsPass
    : tl::impl::NormalizeStatementsPassBase<NormalizeStatementsPass> {
  using NormalizeStatementsPassBase::NormalizeStatementsPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel.getKnownBlockSize()) {
        kernel.emitOpError("does not say how many threads a block has; run "
                           "`tl-outline-kernels` first");
        return signalPassFailure();
      }
      expandScalarTileOps(kernel);
      StatementRewriter(kernel, sharedArrays).run();
      takeLaunchedThreads(kernel);
    }
  }
};
} // namespace
