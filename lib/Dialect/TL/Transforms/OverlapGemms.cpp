//===- OverlapGemms.cpp - Wait for products where they are needed ---------===//
//
// Every gemm that `wgmma` carries out becomes asynchronous, and is waited for
// in front of the first op that it conflicts with:
//
//  - one that touches the accumulator, unless it is a gemm that adds to it by
//    the same plan: those follow each other in the tensor cores;
//  - one that writes an operand, or releases a slot of a pipe that holds one;
//  - the end of a branch or `scf.while` that the gemm stands in, and of the
//    kernel;
//  - the end of a loop, if anything else in the loop touches the accumulator,
//    or changes an operand in registers, or if the loop allocates one of them:
//    it can only go around a loop in place, in registers that nothing moves.
//
// A wait counts: it lets the youngest n products run on. So the pass walks the
// kernel in program order with the set of products that may be under way, each
// with the least number of products that were started after it on any path;
// `wait n` completes those whose number is n or more. At joins sets are united
// and the lesser number is kept, which errs on the side of waiting. A loop is
// walked until what its end passes back is known.
//
// A wait names the registers that it completes: accumulators, and operands that
// are fragments. It also names what such an operand is computed from next, so
// that this is not done before the wait, in registers that the product reads.
//
// Sound if an asynchronous gemm touches nothing but its operands and its
// accumulator, and if passes behind this one take its reads to be under way
// until the wait (`EventOpInterface`); tl-verify-sync and, for accumulators,
// tl-verify-thread-level check that.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_OVERLAPGEMMSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// A loop whose state does not settle in so many rounds gets waits at its end.
static constexpr int kMaxRounds = 16;

//===----------------------------------------------------------------------===//
// Places in shared memory
//===----------------------------------------------------------------------===//

namespace {

/// A buffer, or the slot of a ring that is `base` rotated by `by`; a null base
/// stands for any slot.
struct Place {
  Value buffer;
  Value base;
  int64_t by = 0;

  bool operator==(const Place &) const = default;
};

} // namespace

static Place getSlotPlace(Value ring, Value slot) {
  if (auto rotate = slot.getDefiningOp<RotateOp>())
    return {ring, rotate.getSlot(), static_cast<int64_t>(rotate.getBy())};
  return {ring, slot, 0};
}

static Place getPlace(Value view) {
  auto slot = view.getDefiningOp<SlotOp>();
  if (!slot)
    return {view, Value()};
  if (slot.getSource().getDefiningOp<SlotOp>())
    return {getBuffer(view), Value()};
  return getSlotPlace(slot.getSource(), slot.getIndex());
}

/// False if the two are known to be different slots or buffers.
static bool mayMeet(const Place &a, const Place &b) {
  if (a.buffer != b.buffer)
    return false;
  return !a.base || a.base != b.base || a.by == b.by;
}

//===----------------------------------------------------------------------===//
// Products under way
//===----------------------------------------------------------------------===//

namespace {

struct Product {
  GemmOp gemm;
  Place a, b;
  /// Products that were started after it, at least.
  int64_t younger = 0;

  Value accumulator() const { return GemmOp(gemm).getAcc(); }
  /// A, if it is a fragment.
  Value registerA() const {
    Value a = GemmOp(gemm).getA();
    return isInSpace(a, Space::Fragment) ? a : Value();
  }
  bool isSame(const Product &other) const {
    return gemm == other.gemm && a == other.a && b == other.b;
  }
  bool operator==(const Product &other) const {
    return isSame(other) && younger == other.younger;
  }
};

/// A set of products, in order of insertion so that output is deterministic.
class State {
public:
  void insert(const Product &product) {
    for (Product &known : products)
      if (known.isSame(product)) {
        known.younger = std::min(known.younger, product.younger);
        return;
      }
    products.push_back(product);
  }

  void join(const State &other) {
    for (const Product &product : other.products)
      insert(product);
  }

  /// A further product is started.
  void start(GemmOp gemm) {
    for (Product &product : products)
      ++product.younger;
    insert({gemm, getPlace(gemm.getA()), getPlace(gemm.getB())});
  }

  /// Removes what is complete after a wait that lets `pending` products run.
  void wait(int64_t pending) {
    llvm::erase_if(products, [&](const Product &product) {
      return product.younger >= pending;
    });
  }

  bool covers(const State &other) const {
    return llvm::all_of(other.products, [&](const Product &product) {
      return llvm::any_of(products, [&](const Product &known) {
        return known.isSame(product) && known.younger <= product.younger;
      });
    });
  }

  SmallVector<Product> products;
};

} // namespace

static bool isAsyncKind(GemmOp gemm) {
  return gemm.getPlan() &&
         gemm.getPlan()->getInstruction() == Instruction::WGMMA;
}

/// True if `op` is a gemm whose sums come after those of `gemm` in any case.
static bool continues(Operation *op, GemmOp gemm) {
  auto next = dyn_cast<GemmOp>(op);
  return next && next.getAcc() == gemm.getAcc() && isAsyncKind(next) &&
         next.getPlan() == gemm.getPlan();
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

/// True if `op`, without what is in its regions, must come after `product`.
static bool conflictsItself(Operation *op, Product product) {
  if (auto release = dyn_cast<PipeReleaseOp>(op)) {
    auto pipe = release.getPipe().getDefiningOp<PipeOp>();
    return llvm::any_of(pipe.getRings(), [&](Value ring) {
      Place place = getSlotPlace(ring, release.getSlot());
      return mayMeet(place, product.a) || mayMeet(place, product.b);
    });
  }
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  for (Value operand : op->getOperands()) {
    if (!isa<MemRefType>(operand.getType()) || isa<SlotOp, PipeOp>(op))
      continue;
    if (getBuffer(operand) == product.gemm.getAcc() &&
        !continues(op, product.gemm))
      return true;
    bool mayWrite =
        !effects || effects.getEffectOnValue<MemoryEffects::Write>(operand);
    Place place = getPlace(operand);
    if (mayWrite && (mayMeet(place, product.a) || mayMeet(place, product.b)))
      return true;
  }
  return false;
}

/// True if `op` or an op inside of it must come after `product`.
static bool conflicts(Operation *op, const Product &product) {
  return op
      ->walk([&](Operation *inner) {
        return conflictsItself(inner, product) ? WalkResult::interrupt()
                                               : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasRegisterA(GemmOp gemm) {
  return isInSpace(gemm.getA(), Space::Fragment);
}

/// True if `op` may write `fragment`; waits hand it on as it is.
static bool mayWrite(Operation *op, Value fragment) {
  if (isa<WaitGemmOp>(op))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects ||
         effects.getEffectOnValue<MemoryEffects::Write>(fragment).has_value();
}

/// True if `gemm` is the only kind of op in `loop` that touches its
/// accumulator, and nothing there changes its operand in registers. Both are
/// allocated outside: what an iteration allocates ends with it.
static bool staysInPlace(GemmOp gemm, scf::ForOp loop) {
  auto isInLoop = [&](Operation *user) { return loop->isProperAncestor(user); };
  auto isOfIteration = [&](Value fragment) {
    return loop->isAncestor(fragment.getParentBlock()->getParentOp());
  };
  if (isOfIteration(gemm.getAcc()) ||
      (hasRegisterA(gemm) && isOfIteration(gemm.getA())))
    return false;
  if (hasRegisterA(gemm) &&
      llvm::any_of(gemm.getA().getUsers(), [&](Operation *user) {
        return isInLoop(user) && mayWrite(user, gemm.getA());
      }))
    return false;
  return llvm::all_of(gemm.getAcc().getUsers(), [&](Operation *user) {
    return !isInLoop(user) || continues(user, gemm) || isa<WaitGemmOp>(user);
  });
}

/// True if a thread's elements are whole registers, which a wait can name.
static bool fillsRegisters(Value fragment) {
  auto alloc = fragment.getDefiningOp<AllocOp>();
  auto layout = dyn_cast_or_null<FragmentLayoutAttr>(alloc.getLayoutAttr());
  int64_t width = alloc.getType().getElementTypeBitWidth();
  return layout && width >= 8 && width <= 32 &&
         toLayout(layout).numValues() * width % 32 == 0;
}

/// Adds the fragments that `op`, or an op in it, reads.
static void collectReads(Operation *op, SetVector<Value> &fragments) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
      if (isa<MemRefType>(operand.getType()) &&
          isInSpace(operand, Space::Fragment) && fillsRegisters(operand) &&
          (!effects || effects.getEffectOnValue<MemoryEffects::Read>(operand)))
        fragments.insert(operand);
    }
  });
}

/// Adds what the fragment `a` is computed from by the first op from `wait` on,
/// in its block, that writes it. What is allocated behind `wait` is not in the
/// registers that the product reads.
static void collectSources(Operation *wait, Value a,
                           SetVector<Value> &fragments) {
  auto writes = [a](Operation *op) {
    return op
        ->walk([a](Operation *inner) {
          return llvm::is_contained(inner->getOperands(), a) &&
                         mayWrite(inner, a)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  Operation *op = wait;
  while (op && !writes(op))
    op = op->getNextNode();
  if (!op)
    return;
  SetVector<Value> reads;
  collectReads(op, reads);
  DominanceInfo dominance;
  for (Value fragment : reads)
    if (dominance.properlyDominates(fragment, wait))
      fragments.insert(fragment);
}

static bool containsProducts(Operation *op) {
  return op
      ->walk([](GemmOp gemm) {
        return isAsyncKind(gemm) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {

/// Walks blocks in program order. Only with `insert` is the IR changed: loops
/// are walked without first.
class Walker {
public:
  explicit Walker(bool insert) : insert(insert) {}

  void processBlock(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      processOp(&op, state);
  }

  /// Completes the products for which `mustEnd` holds, in front of `op`.
  void complete(Operation *op, State &state,
                function_ref<bool(const Product &)> mustEnd) {
    std::optional<int64_t> pending;
    for (const Product &product : state.products)
      if (mustEnd(product))
        pending = std::min(pending.value_or(INT64_MAX), product.younger);
    if (!pending)
      return;
    // What was started outside of the branch that this is in is waited for once
    // more behind it, on both ways: there it gets its name.
    auto branch = op->getParentOfType<scf::IfOp>();
    SetVector<Value> fragments, sources;
    auto forEachFragment = [&](function_ref<void(Value)> visit) {
      for (const Product &product : state.products) {
        visit(product.accumulator());
        if (Value a = product.registerA())
          visit(a);
      }
    };
    for (const Product &product : state.products)
      if (!branch || branch->isProperAncestor(product.gemm)) {
        fragments.insert(product.accumulator());
        if (Value a = product.registerA()) {
          fragments.insert(a);
          if (product.younger >= *pending)
            collectSources(op, a, sources);
        }
      }
    fragments.insert_range(sources);
    state.wait(*pending);
    forEachFragment([&](Value fragment) { fragments.remove(fragment); });
    if (!insert)
      return;
    OpBuilder builder(op);
    WaitGemmOp::create(builder, op->getLoc(), *pending,
                       fragments.getArrayRef());
  }

private:
  void processOp(Operation *op, State &state) {
    if (op->hasTrait<OpTrait::IsTerminator>() && isa<gpu::ReturnOp>(op))
      return complete(op, state, [](const Product &) { return true; });
    complete(op, state,
             [&](const Product &product) { return conflicts(op, product); });
    if (auto gemm = dyn_cast<GemmOp>(op)) {
      if (!isAsyncKind(gemm))
        return;
      if (insert)
        gemm.setAsync(true);
      return state.start(gemm);
    }
    if (isa<TileOpInterface>(op) || op->getNumRegions() == 0 ||
        !containsProducts(op))
      return;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      processLoop(loop, state);
    else
      processRegions(op, state);
  }

  /// One of the regions is executed, or none, or for `scf.while` one after the
  /// other. Their products end with them.
  void processRegions(Operation *op, State &state) {
    // A loop may come to its regions with anything that they leave.
    if (!isa<scf::IfOp>(op))
      complete(op, state, [](const Product &) { return true; });
    State after = state;
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        State inside = state;
        processBlock(block, inside);
        complete(block.getTerminator(), inside, [&](const Product &product) {
          return op->isAncestor(product.gemm);
        });
        after.join(inside);
      }
    state = after;
  }

  void processLoop(scf::ForOp loop, State &state) {
    State header = state;
    rename(header, loop.getInitArgs(), loop.getRegionIterArgs());
    bool settled = false;
    for (int round = 0; round < kMaxRounds && !settled; ++round) {
      State end = header;
      Walker(/*insert=*/false).processBody(loop, end, /*drain=*/false);
      advance(end, loop);
      settled = header.covers(end);
      header.join(end);
    }
    if (!settled) {
      header = state;
      rename(header, loop.getInitArgs(), loop.getRegionIterArgs());
    }
    State end = header;
    processBody(loop, end, /*drain=*/!settled);
    advance(end, loop);
    rename(end, ValueRange(loop.getRegionIterArgs()), loop.getResults());
    // It may not run at all.
    state.join(end);
  }

  void processBody(scf::ForOp loop, State &state, bool drain) {
    processBlock(*loop.getBody(), state);
    complete(loop.getBody()->getTerminator(), state,
             [&](const Product &product) {
               return loop->isProperAncestor(product.gemm) &&
                      (drain || !staysInPlace(product.gemm, loop));
             });
  }

  /// Expresses slots in terms of other values: those of `from` are now called
  /// by the names `to`.
  static void rename(State &state, ValueRange from, ValueRange to) {
    State renamed;
    for (Product product : state.products) {
      for (Place *place : {&product.a, &product.b})
        for (auto [old, now] : llvm::zip_equal(from, to))
          if (place->base && place->base == old) {
            place->base = now;
            break;
          }
      renamed.insert(product);
    }
    state = renamed;
  }

  /// From an iteration to the next: what is `slot` rotated by d there is the
  /// next slot rotated by d less what the loop adds to it. Slots of which that
  /// is not known may be any.
  static void advance(State &state, scf::ForOp loop) {
    State advanced;
    for (Product product : state.products) {
      for (Place *place : {&product.a, &product.b})
        advance(*place, loop);
      advanced.insert(product);
    }
    state = advanced;
  }

  static void advance(Place &place, scf::ForOp loop) {
    if (!place.base)
      return;
    auto argument = dyn_cast<BlockArgument>(place.base);
    if (argument && argument.getOwner() == loop.getBody() &&
        argument != loop.getInductionVar()) {
      Value next = loop.getTiedLoopYieldedValue(argument)->get();
      auto rotate = next.getDefiningOp<RotateOp>();
      if (rotate && rotate.getSlot() == argument) {
        int64_t of = rotate.getOf();
        place.by = (place.by + of - rotate.getBy()) % of;
        return;
      }
    }
    // Values from outside of the loop stay what they are.
    if (loop->isProperAncestor(place.base.getParentBlock()->getParentOp()) ||
        place.base.getParentBlock() == loop.getBody())
      place = {place.buffer, Value()};
  }

  bool insert;
};

struct OverlapGemmsPass : tl::impl::OverlapGemmsPassBase<OverlapGemmsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      State state;
      Walker(/*insert=*/true).processBlock(kernel.getBody().front(), state);
    }
  }
};

} // namespace
