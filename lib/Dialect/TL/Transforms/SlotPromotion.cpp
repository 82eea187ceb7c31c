//===- SlotPromotion.cpp - Memory of one value becomes values -------------===//
//
// See SlotPromotion.h.
//
//===----------------------------------------------------------------------===//

#include "SlotPromotion.h"

#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

SlotAccess SlotAccess::of(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return {load.getMemRef(), Value()};
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return {store.getMemRef(), store.getValueToStore()};
  if (auto load = dyn_cast<LoadOp>(op))
    return {load.getSource(), Value()};
  if (auto store = dyn_cast<StoreOp>(op))
    return {store.getTarget(), store.getValue()};
  return {};
}

bool tl::isPromotable(Value slot) {
  Operation *home = slot.getParentBlock()->getParentOp();
  return llvm::all_of(slot.getUsers(), [&](Operation *user) {
    SlotAccess access = SlotAccess::of(user);
    if (access.slot != slot || access.stored == slot)
      return false;
    for (Operation *parent = user->getParentOp(); parent != home;
         parent = parent->getParentOp())
      if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp>(parent))
        return false;
    return true;
  });
}

/// Gives `value` the name of the slot that it is stored to, unless it has one.
static void nameAfter(Value slot, Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !getGivenName(op->getLoc()))
    op->setLoc(withNameOf(slot.getLoc(), op->getLoc()));
}

namespace {

/// Replaces slots by values, block by block.
class Promoter {
public:
  Promoter(SetVector<Value> slots, MLIRContext *context)
      : slots(std::move(slots)), rewriter(context) {}

  using State = llvm::MapVector<Value, Value>;

  void run(Block &block) {
    State state;
    process(block, state);
    for (Value slot : slots)
      slot.getDefiningOp()->erase();
  }

private:
  /// The slot's value; zero if nothing was stored.
  Value read(Value slot, State &state, Operation *before) {
    Value &value = state[slot];
    if (!value) {
      OpBuilder builder(slot.getDefiningOp());
      Type type = cast<MemRefType>(slot.getType()).getElementType();
      value = arith::ConstantOp::create(builder, before->getLoc(),
                                        builder.getZeroAttr(type));
    }
    return value;
  }

  /// The slots that are stored to somewhere in `op`, in a fixed order.
  SmallVector<Value> getStored(Operation *op) {
    SetVector<Value> stored;
    op->walk([&](Operation *nested) {
      SlotAccess access = SlotAccess::of(nested);
      if (access.isStore() && slots.contains(access.slot))
        stored.insert(access.slot);
    });
    return stored.takeVector();
  }

  void process(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      SlotAccess access = SlotAccess::of(&op);
      if (access.slot && slots.contains(access.slot)) {
        if (access.isStore()) {
          nameAfter(access.slot, access.stored);
          state[access.slot] = access.stored;
          rewriter.eraseOp(&op);
        } else {
          rewriter.replaceOp(&op, read(access.slot, state, &op));
        }
      } else if (op.getNumRegions() != 0 && getStored(&op).empty()) {
        // Nothing goes around: what is in it reads what is there before it.
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            process(inner, state);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        processLoop(loop, state);
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        processWhile(loop, state);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        processBranch(branch, state);
      }
    }
  }

  /// What `slots` hold before `op`.
  SmallVector<Value> readAll(ArrayRef<Value> slots, State &state,
                             Operation *op) {
    return llvm::map_to_vector(
        slots, [&](Value slot) { return read(slot, state, op); });
  }

  void processLoop(scf::ForOp loop, State &state) {
    SmallVector<Value> stored = getStored(loop);
    SmallVector<Value> inits = readAll(stored, state, loop);
    unsigned numOld = loop.getNumResults();
    rewriter.setInsertionPoint(loop);
    // The loop is rebuilt before its body is read: the arguments stand in for
    // the values yielded, which are known, and take their place, afterwards.
    auto yieldArguments = [](OpBuilder &, Location,
                             ArrayRef<BlockArgument> arguments) {
      return SmallVector<Value>(arguments.begin(), arguments.end());
    };
    auto places = llvm::map_to_vector(
        loop.getBody()->getArguments(),
        [](BlockArgument argument) { return argument.getLoc(); });
    auto grown = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, inits,
        /*replaceInitOperandUsesInLoop=*/false, yieldArguments));
    for (auto [argument, place] :
         llvm::zip(grown.getBody()->getArguments(), places))
      argument.setLoc(place);
    State inside = state;
    for (auto [index, slot] : llvm::enumerate(stored)) {
      BlockArgument argument = grown.getRegionIterArg(numOld + index);
      argument.setLoc(slot.getLoc());
      inside[slot] = argument;
    }
    process(*grown.getBody(), inside);
    Operation *yield = grown.getBody()->getTerminator();
    for (auto [index, slot] : llvm::enumerate(stored)) {
      yield->setOperand(numOld + index, inside[slot]);
      state[slot] = grown.getResult(numOld + index);
    }
  }

  /// The slots go around after the loop's own values: into the condition, from
  /// there into the body or out of the loop, and from the body back.
  void processWhile(scf::WhileOp loop, State &state) {
    SmallVector<Value> stored = getStored(loop);
    SmallVector<Value> inits(loop.getInits());
    SmallVector<Type> types(loop.getResultTypes());
    for (Value value : readAll(stored, state, loop)) {
      inits.push_back(value);
      types.push_back(value.getType());
    }

    rewriter.setInsertionPoint(loop);
    auto grown = scf::WhileOp::create(rewriter, loop.getLoc(), types, inits);
    for (auto [from, to] : llvm::zip(loop->getRegions(), grown->getRegions())) {
      to.takeBody(from);
      processPart(to.front(), stored, state);
    }
    for (auto [slot, value] :
         llvm::zip(stored, grown.getResults().take_back(stored.size())))
      state[slot] = value;
    rewriter.replaceOp(loop, grown.getResults().drop_back(stored.size()));
  }

  /// Lets one of a loop's two blocks take the slots as further arguments and
  /// pass them on.
  void processPart(Block &block, ArrayRef<Value> stored, State state) {
    for (Value slot : stored)
      state[slot] = block.addArgument(state[slot].getType(), slot.getLoc());
    process(block, state);
    Operation *terminator = block.getTerminator();
    for (Value slot : stored)
      terminator->insertOperands(terminator->getNumOperands(), state[slot]);
  }

  void processBranch(scf::IfOp branch, State &state) {
    SmallVector<Value> stored = getStored(branch);
    SmallVector<Type> types(branch.getResultTypes());
    for (Value value : readAll(stored, state, branch))
      types.push_back(value.getType());
    rewriter.setInsertionPoint(branch);
    bool needsElse = !stored.empty() || branch.elseBlock();
    auto grown = scf::IfOp::create(rewriter, branch.getLoc(), types,
                                   branch.getCondition(), needsElse);
    takeBranch(branch.getThenRegion(), grown.getThenRegion(), stored, state);
    if (needsElse)
      takeBranch(branch.getElseRegion(), grown.getElseRegion(), stored, state);
    unsigned numOld = branch.getNumResults();
    rewriter.replaceOp(branch, grown.getResults().take_front(numOld));
    for (auto [index, slot] : llvm::enumerate(stored))
      state[slot] = grown.getResult(numOld + index);
  }

  /// Moves a branch's body over and yields the slots' values at its end.
  void takeBranch(Region &from, Region &to, ArrayRef<Value> stored,
                  State state) {
    if (!from.empty()) {
      to.getBlocks().clear();
      to.takeBody(from);
    }
    Block &block = to.front();
    process(block, state);
    SmallVector<Value> yields;
    if (!block.empty() && isa<scf::YieldOp>(block.back())) {
      yields.append(block.back().operand_begin(), block.back().operand_end());
      rewriter.eraseOp(&block.back());
    }
    for (Value slot : stored)
      yields.push_back(state[slot]);
    rewriter.setInsertionPointToEnd(&block);
    scf::YieldOp::create(rewriter, to.getLoc(), yields);
  }

  SetVector<Value> slots;
  IRRewriter rewriter;
};

} // namespace

void tl::promoteSlots(SetVector<Value> slots, Block &block) {
  MLIRContext *context = block.getParentOp()->getContext();
  Promoter(std::move(slots), context).run(block);
}
