//===- JoinContributions.cpp - Sum what iterations add to one element -----===//
//
// A reducer is a shared tile to which iterations add atomically:
//
//     for i, j in T.Parallel(128, 128):
//         total[i] += A[i, j] * x[j]
//
// Atomic operations on one element are one after the other, and here 128 of
// them are. They are summed first, as a reduction does it in registers and
// between the lanes of a warp, and one for each element of the reducer adds the
// sum.
//
// In a loop of the block, a thread keeps its sums from iteration to iteration,
// and they are added behind it: nobody asks for the reducer meanwhile.
//
// Sound where `tl.contribution` says that it does not matter in which order,
// and in which groups, contributions are added (docs/language/semantics.md,
// T5); and only for an operation that each iteration executes once, at an
// element that is told by some of the loop's own indices: all iterations that
// differ in the other ones alone, and no others, add to it. Behind a loop, if
// each iteration executes the operation, whatever it is, and if nothing in the
// loop touches the reducer but such operations. A loop without iterations adds
// zero.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_JOINCONTRIBUTIONSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// On a `tl.atomic`: in which order, and in which groups, it is combined with
/// others that say so does not matter.
static constexpr StringLiteral kContributionAttr = "tl.contribution";
/// The most contributions that a thread holds at once, in registers.
static constexpr int64_t kMostOfThread = 128;
/// The same for those that it holds beside what else is in a loop.
static constexpr int64_t kMostOfLoop = 64;

/// The dimensions of `loop` that the indices of `atomic` are; none if these are
/// anything else, or if nothing is left to sum.
static SmallVector<unsigned> getPlace(ParallelOp loop, AtomicOp atomic) {
  SmallVector<unsigned> place;
  for (Value index : atomic.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != &loop.getBody().front() ||
        llvm::is_contained(place, argument.getArgNumber()))
      return {};
    place.push_back(argument.getArgNumber());
  }
  if (place.size() == loop.getExtents().size())
    return {};
  return place;
}

static bool isJoined(ParallelOp loop, AtomicOp atomic) {
  return atomic->hasAttr(kContributionAttr) &&
         atomic.getKind() == AtomicKind::Add &&
         atomic.getOrder() == MemoryOrder::Relaxed &&
         atomic.getOld().use_empty() &&
         isInSpace(atomic.getTarget(), Space::Shared) &&
         atomic->getParentOp() == loop &&
         llvm::product_of(loop.getExtents()) <=
             kMostOfThread * getThreads(loop).count &&
         !getPlace(loop, atomic).empty();
}

static Value makeFragment(OpBuilder &builder, Location loc,
                          ArrayRef<int64_t> shape, Type element) {
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              FragmentAttr::get(builder.getContext()));
  return AllocOp::create(builder, loc, type, /*layout=*/nullptr,
                         /*offset=*/nullptr);
}

/// True for what adds to a reducer, in any order with others.
static bool isContribution(Operation *op, Value reducer) {
  auto atomic = dyn_cast<AtomicOp>(op);
  return atomic && atomic->hasAttr(kContributionAttr) &&
         atomic.getKind() == AtomicKind::Add &&
         atomic.getOrder() == MemoryOrder::Relaxed &&
         atomic.getOld().use_empty() && atomic.getTarget() == reducer;
}

/// The outermost loop of the block in which nothing asks for the reducer of
/// `atomic`, which each of its iterations executes; `loop` if there is none.
static Operation *findSumLoop(ParallelOp loop, AtomicOp atomic) {
  Value reducer = atomic.getTarget();
  Operation *found = loop;
  // Who reads through a view need not stand in the loop that makes it.
  bool hasViews = llvm::any_of(reducer.getUsers(), [](Operation *user) {
    return llvm::any_of(user->getResultTypes(), llvm::IsaPred<MemRefType>);
  });
  if (!reducer.getDefiningOp<AllocOp>() || hasViews ||
      llvm::product_of(loop.getExtents()) >
          kMostOfLoop * getThreads(loop).count)
    return found;
  for (Operation *outer = loop->getParentOp();
       isa<scf::ForOp, PipelinedOp>(outer); outer = outer->getParentOp()) {
    bool isAskedFor =
        outer->isAncestor(reducer.getDefiningOp()) ||
        llvm::any_of(reducer.getUsers(), [&](Operation *user) {
          return outer->isAncestor(user) && !isContribution(user, reducer);
        });
    if (isAskedFor)
      break;
    found = outer;
  }
  return found;
}

/// Has the contributions of all iterations of `outer` summed in `sums`.
static void sumOver(Operation *outer, ParallelOp loop, AtomicOp atomic,
                    Value sums) {
  Location loc = atomic.getLoc();
  OpBuilder builder(outer);
  Type element = atomic.getValue().getType();
  // A sum of -0.0 and of anything is that, also of another -0.0.
  TypedAttr nothing = builder.getZeroAttr(element);
  if (isa<FloatType>(element))
    nothing = builder.getFloatAttr(element, -0.0);
  FillOp::create(builder, loc, sums,
                 arith::ConstantOp::create(builder, loc, nothing));
  builder.setInsertionPoint(atomic);
  Value sum = LoadOp::create(builder, loc, sums, loop.getBody().getArguments());
  sum = isa<FloatType>(element)
            ? arith::AddFOp::create(builder, loc, sum, atomic.getValue())
                  .getResult()
            : arith::AddIOp::create(builder, loc, sum, atomic.getValue());
  atomic.getValueMutable().assign(sum);
}

/// Keeps what `atomic` adds in a fragment, and adds sums behind the loop.
static void join(ParallelOp loop, AtomicOp atomic) {
  Location loc = atomic.getLoc();
  SmallVector<unsigned> place = getPlace(loop, atomic);
  SmallVector<int64_t> shape(loop.getExtents());
  Type element = atomic.getValue().getType();
  Operation *outer = findSumLoop(loop, atomic);
  OpBuilder builder(outer);
  Value sums = makeFragment(builder, loc, shape, element);
  if (outer != loop)
    sumOver(outer, loop, atomic, sums);
  builder.setInsertionPoint(atomic);
  StoreOp::create(builder, loc, atomic.getValue(), sums,
                  loop.getBody().getArguments());

  builder.setInsertionPointAfter(outer);
  for (unsigned dim = shape.size(); dim-- > 0;) {
    if (llvm::is_contained(place, dim))
      continue;
    shape.erase(shape.begin() + dim);
    Value target = makeFragment(builder, loc, shape, element);
    ReduceOp::create(builder, loc, ReduceKind::Sum, sums, target, dim,
                     /*accumulate=*/false, /*workspace=*/Value());
    sums = target;
  }
  auto adds = ParallelOp::create(builder, loc, shape);
  builder.setInsertionPointToStart(&adds.getBody().front());
  // Dimensions that are left keep their order.
  SmallVector<Value> indices = llvm::map_to_vector(place, [&](unsigned dim) {
    auto before = llvm::count_if(place, [&](unsigned d) { return d < dim; });
    return Value(adds.getBody().getArgument(before));
  });
  Value sum = LoadOp::create(builder, loc, sums, adds.getBody().getArguments());
  auto added = cast<AtomicOp>(builder.clone(*atomic));
  added.getValueMutable().assign(sum);
  added.getIndicesMutable().assign(indices);
  atomic.erase();
}

namespace {
struct JoinContributionsPass
    : tl::impl::JoinContributionsPassBase<JoinContributionsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<ParallelOp, AtomicOp>> joined;
    getOperation().walk([&](AtomicOp atomic) {
      auto loop = dyn_cast<ParallelOp>(atomic->getParentOp());
      if (loop && isJoined(loop, atomic))
        joined.push_back({loop, atomic});
    });
    for (auto [loop, atomic] : joined)
      join(loop, atomic);
  }
};
} // namespace
