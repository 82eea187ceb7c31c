//===- Events.cpp - What ops do to memory, and what orders it -------------===//
//
// The events of every op of the tile level. What an op declares here must hold
// of each way in which it is lowered (`Conversion/TLToThreads`), on every
// target: a copy that may become `stmatrix` does not say which thread writes
// which element, for instance.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Footprints
//===----------------------------------------------------------------------===//

/// A sum with more parts than this is not taken apart.
static constexpr int kMaxParts = 32;
/// Factors beyond the range of `index` would wrap.
static constexpr int64_t kMaxFactor = int64_t(1) << 31;

/// Adds `factor` times `index` to `form`, whose coordinates are the arguments
/// of `box` (if not null). Fails if a part is computed inside of `box` in
/// another way than by sums and products with constants.
static LogicalResult addIndex(IndexForm &form, Value index, int64_t factor,
                              Block *box) {
  SmallVector<std::pair<Value, int64_t>> worklist = {{index, factor}};
  for (int parts = 0; !worklist.empty(); ++parts) {
    auto [value, scale] = worklist.pop_back_val();
    if (parts == kMaxParts || std::abs(scale) >= kMaxFactor)
      return failure();
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      form.constant += scale * constant.getSExtValue();
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (box && argument.getOwner() == box) {
        form.coordinates[argument.getArgNumber()] += scale;
        continue;
      }
    Operation *op = value.getDefiningOp();
    if (auto add = dyn_cast_or_null<arith::AddIOp>(op)) {
      worklist.push_back({add.getLhs(), scale});
      worklist.push_back({add.getRhs(), scale});
      continue;
    }
    if (auto sub = dyn_cast_or_null<arith::SubIOp>(op)) {
      worklist.push_back({sub.getLhs(), scale});
      worklist.push_back({sub.getRhs(), -scale});
      continue;
    }
    if (auto product = dyn_cast_or_null<arith::MulIOp>(op))
      if (matchPattern(product.getRhs(), m_ConstantInt(&constant)) &&
          std::abs(constant.getSExtValue()) < kMaxFactor) {
        worklist.push_back({product.getLhs(), scale * constant.getSExtValue()});
        continue;
      }
    // Anything else is a term, if it is the same for all iterations.
    if (box && box->getParent()->isAncestor(value.getParentRegion()))
      return failure();
    auto *term = llvm::find_if(form.terms, [&](const auto &candidate) {
      return candidate.first == value;
    });
    if (term == form.terms.end())
      form.terms.push_back({value, scale});
    else
      term->second += scale;
  }
  // In one order, so that equal forms compare equal.
  llvm::erase_if(form.terms, [](const auto &term) { return term.second == 0; });
  llvm::sort(form.terms, [](const auto &a, const auto &b) {
    return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
  });
  return success();
}

/// The elements at `indices`, over the iterations of `box`.
static Footprint getFootprint(ValueRange indices, ArrayRef<int64_t> extents,
                              Block *box) {
  Footprint footprint;
  footprint.extents.assign(extents.begin(), extents.end());
  for (Value index : indices) {
    IndexForm form;
    form.coordinates.assign(extents.size(), 0);
    bool known = succeeded(addIndex(form, index, 1, box));
    footprint.indices.push_back(known ? std::optional(form) : std::nullopt);
  }
  return footprint;
}

/// A tile of `extents` along dimensions `dims` of a buffer of `rank` dimensions
/// that starts at `offsets`, or at zero.
static Footprint getTileFootprint(int64_t rank, ValueRange offsets,
                                  ArrayRef<int64_t> extents,
                                  ArrayRef<int64_t> dims) {
  Footprint footprint;
  footprint.extents.assign(extents.begin(), extents.end());
  footprint.everyPoint = true;
  for (int64_t d = 0; d < rank; ++d) {
    IndexForm form;
    form.coordinates.assign(extents.size(), 0);
    if (const int64_t *found = llvm::find(dims, d); found != dims.end())
      form.coordinates[found - dims.begin()] = 1;
    bool known =
        offsets.empty() || succeeded(addIndex(form, offsets[d], 1, nullptr));
    footprint.indices.push_back(known ? std::optional(form) : std::nullopt);
  }
  return footprint;
}

/// All of a buffer of `type`.
static Footprint getWholeFootprint(MemRefType type) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return getTileFootprint(type.getRank(), {}, type.getShape(), dims);
}

/// `layout` if it gives each element to one thread only: of the threads that
/// hold copies of an element any one may be the one that touches memory.
static Attribute getOwners(Attribute layout) {
  auto fragment = dyn_cast_or_null<FragmentLayoutAttr>(layout);
  return fragment && toLayout(fragment).numCopies() == 1 ? fragment
                                                         : Attribute();
}

//===----------------------------------------------------------------------===//
// Any op
//===----------------------------------------------------------------------===//

Value tl::getSlot(Value view) {
  Value index;
  view = getUnmapped(view);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    index = slot.getIndex();
    view = slot.getSource();
  }
  return index;
}

/// Accesses of whole buffers by ordinary instructions, from memory effects.
static void addEffects(Operation *op, SmallVectorImpl<Event> &events) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  for (const MemoryEffects::EffectInstance &instance : instances) {
    Value value = instance.getValue();
    if (value && isa<MemRefType>(value.getType()) &&
        isa<MemoryEffects::Read, MemoryEffects::Write>(instance.getEffect()))
      events.push_back(
          Access{.buffer = value,
                 .writes = isa<MemoryEffects::Write>(instance.getEffect())});
  }
}

SmallVector<Event, 4> tl::getEvents(Operation *op) {
  SmallVector<Event, 4> events;
  if (auto declared = dyn_cast<EventOpInterface>(op))
    declared.getEvents(events);
  else
    addEffects(op, events);
  return events;
}

namespace {
/// The block barrier belongs to another dialect.
struct BarrierEvents
    : EventOpInterface::ExternalModel<BarrierEvents, gpu::BarrierOp> {
  void getEvents(Operation *, SmallVectorImpl<Event> &events) const {
    events.push_back(Sync{.kind = Sync::Kind::Barrier});
  }
};
} // namespace

void tl::attachEvents(MLIRContext &context) {
  gpu::BarrierOp::attachInterface<BarrierEvents>(context);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void LoadOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(
      Access{.buffer = getSource(),
             .participants = Participants::Each,
             .footprint = getFootprint(getIndices(), {}, nullptr)});
}

void StoreOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(
      Access{.buffer = getTarget(),
             .writes = true,
             .participants = Participants::Each,
             .footprint = getFootprint(getIndices(), {}, nullptr)});
}

bool tl::commute(const Access &a, const Access &b) {
  return a.combines && a.combines == b.combines &&
         getBuffer(a.buffer) == getBuffer(b.buffer);
}

/// The kind of `atomic` and the type of its element, if it changes integers in
/// a way for which order does not matter, orders nothing itself, and nobody
/// asks what was there before; else null. Sums of floats show their order in
/// their last bits, and a sum of 64 bits carries into what views of 32 bits add
/// to. Other blocks may look at any time, and see whether what a first
/// statement does is there when what a second one does is: of memory that they
/// reach, the order stays.
static Attribute getCombines(AtomicOp atomic) {
  switch (atomic.getKind()) {
  case AtomicKind::Add:
  case AtomicKind::Min:
  case AtomicKind::Max:
  case AtomicKind::UMin:
  case AtomicKind::UMax:
  case AtomicKind::And:
  case AtomicKind::Or:
  case AtomicKind::Xor:
    break;
  default:
    return {};
  }
  Value target = atomic.getTarget();
  Type type = cast<MemRefType>(target.getType()).getElementType();
  bool isOfBlock = isInSpace(target, Space::Shared) && !isMapped(target) &&
                   !isReachedByOthers(getBuffer(target));
  if (!isOfBlock || atomic.getOrder() != MemoryOrder::Relaxed ||
      !atomic.getOld().use_empty() || !isa<IntegerType>(type))
    return {};
  return ArrayAttr::get(atomic.getContext(),
                        {atomic.getKindAttr(), TypeAttr::get(type)});
}

/// The element is read and written; with an order, so is every tensor, by
/// everyone who sees it: what came before must be done, and what comes after
/// must wait.
static void addAtomic(AtomicOp atomic, const Footprint &footprint,
                      SmallVectorImpl<Event> &events) {
  for (bool writes : {false, true})
    events.push_back(Access{.buffer = atomic.getTarget(),
                            .writes = writes,
                            .footprint = footprint,
                            .combines = getCombines(atomic)});
  if (atomic.getOrder() == MemoryOrder::Relaxed)
    return;
  SmallVector<MemoryEffects::EffectInstance> effects;
  atomic.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (effect.getValue() != atomic.getTarget() &&
        isa<MemoryEffects::Write>(effect.getEffect()))
      events.push_back(Access{.buffer = effect.getValue(), .writes = true});
}

void AtomicOp::getEvents(SmallVectorImpl<Event> &events) {
  addAtomic(*this, getFootprint(getIndices(), {}, nullptr), events);
}

void ParallelOp::getEvents(SmallVectorImpl<Event> &events) {
  Block *body = &getBody().front();
  Attribute owners = getOwners(getLayoutAttr());
  auto add = [&](Operation *op, Value buffer, ValueRange indices, bool writes) {
    Footprint footprint = getFootprint(indices, getExtents(), body);
    footprint.owners = owners;
    footprint.everyPoint = op->getBlock() == body;
    events.push_back(Access{
        .buffer = buffer, .writes = writes, .footprint = std::move(footprint)});
  };
  getBody().walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      add(load, load.getSource(), load.getIndices(), /*writes=*/false);
    else if (auto store = dyn_cast<StoreOp>(op))
      add(store, store.getTarget(), store.getIndices(), /*writes=*/true);
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      addAtomic(atomic, getFootprint(atomic.getIndices(), getExtents(), body),
                events);
    else
      addEffects(op, events);
  });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// True if the tile may leave the registers by `stmatrix`, where the lane that
/// names an address is not the one that holds the elements. Whether a part of a
/// tile does shows only when its offsets are folded.
static bool maySpreadOverWarp(CopyOp copy) {
  auto target = cast<MemRefType>(copy.getTarget().getType());
  return getSpace(target) == Space::Shared &&
         target.getElementTypeBitWidth() == 16;
}

/// Which thread copies which element; known where a fragment says it.
static Attribute getCopyOwners(CopyOp copy, const CopyLoops &loops) {
  for (Value side : {copy.getSource(), copy.getTarget()})
    if (isInSpace(side, Space::Fragment) &&
        cast<MemRefType>(side.getType()).getRank() ==
            static_cast<int64_t>(loops.extents.size()))
      if (auto alloc = getBuffer(side).getDefiningOp<AllocOp>())
        return maySpreadOverWarp(copy) ? Attribute()
                                       : getOwners(alloc.getLayoutAttr());
  return {};
}

void CopyOp::getEvents(SmallVectorImpl<Event> &events) {
  Access read{.buffer = getSource()},
      write{.buffer = getTarget(), .writes = true};
  CopyLoops loops = CopyLoops::of(*this);
  auto footprint = [&](Value side, ValueRange offsets, ArrayRef<int64_t> dims) {
    Footprint tile =
        getTileFootprint(cast<MemRefType>(side.getType()).getRank(), offsets,
                         loops.extents, dims);
    tile.owners = getCopyOwners(*this, loops);
    return tile;
  };
  read.footprint =
      isGather() ? getWholeFootprint(cast<MemRefType>(getSource().getType()))
                 : footprint(getSource(), getSourceOffsets(), loops.source);
  if (!keepsRows())
    write.footprint = footprint(getTarget(), getTargetOffsets(), loops.target);
  for (Value table : getTables())
    events.push_back(Access{
        .buffer = table,
        .footprint = getWholeFootprint(cast<MemRefType>(table.getType()))});
  bool isStore = getBulk() && isInSpace(getSource(), Space::Shared);
  for (Access *access : {&read, &write}) {
    if (getBulk()) {
      access->proxy = Proxy::Async;
      access->participants = Participants::One;
      access->completion = isStore ? Completion::StoreGroup : Completion::Phase;
      access->barrier = getBarrier();
      access->barrierIndex = getBarrierIndex();
    } else if (getAsync()) {
      access->completion = Completion::CopyGroup;
    }
    events.push_back(*access);
  }
  if (isStore) {
    events.push_back(
        Sync{.kind = Sync::Kind::Commit, .group = Completion::StoreGroup});
    // Else the thread that starts the store waits, within the op, until the
    // tile has been read.
    if (!getAsync())
      events.push_back(Sync{.kind = Sync::Kind::WaitGroups,
                            .group = Completion::StoreGroup,
                            .readsOnly = true});
  } else if (getBarrier()) {
    events.push_back(Sync{.kind = Sync::Kind::Arrive,
                          .participants = Participants::One,
                          .barrier = getBarrier(),
                          .index = getBarrierIndex()});
  }
}

void FillOp::getEvents(SmallVectorImpl<Event> &events) {
  auto type = cast<MemRefType>(getTarget().getType());
  events.push_back(Access{.buffer = getTarget(),
                          .writes = true,
                          .footprint = getWholeFootprint(type)});
}

void GemmOp::getEvents(SmallVectorImpl<Event> &events) {
  bool isWgmma = getPlan() && getPlan()->getInstruction() == Instruction::WGMMA;
  Access access;
  if (isWgmma) {
    access.proxy = Proxy::Async;
    access.completion = Completion::GemmGroup;
  }
  bool hasRegisterA = isInSpace(getA(), Space::Fragment);
  for (Value operand : {getA(), getB(), getAcc()}) {
    access.buffer = operand;
    events.push_back(access);
    // Registers of A are read as they are, and not in turn with the sums.
    if (operand == getA() && hasRegisterA)
      events.back() =
          Access{.buffer = operand, .completion = access.completion};
  }
  access.writes = true;
  events.push_back(access);
  if (!isWgmma)
    return;
  events.push_back(
      Sync{.kind = Sync::Kind::Commit, .group = Completion::GemmGroup});
  if (getAsync())
    return;
  Sync wait{.kind = Sync::Kind::WaitGroups,
            .group = Completion::GemmGroup,
            .fragments = {getAcc()}};
  if (hasRegisterA)
    wait.fragments.push_back(getA());
  events.push_back(std::move(wait));
}

/// Groups of threads write their parts of a result to `workspace` (may be
/// null), meet, and read those of the others.
static void meetIn(Value workspace, SmallVectorImpl<Event> &events) {
  if (!workspace)
    return;
  Footprint whole = getWholeFootprint(cast<MemRefType>(workspace.getType()));
  events.push_back(
      Access{.buffer = workspace, .writes = true, .footprint = whole});
  events.push_back(Sync{.kind = Sync::Kind::Barrier});
  events.push_back(Access{.buffer = workspace, .footprint = whole});
}

void ReduceOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Access{.buffer = getSource()});
  if (getAccumulate())
    events.push_back(Access{.buffer = getTarget()});
  events.push_back(Access{.buffer = getTarget(), .writes = true});
  meetIn(getWorkspace(), events);
}

void ScanOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Access{.buffer = getSource()});
  events.push_back(Access{.buffer = getTarget(), .writes = true});
  meetIn(getWorkspace(), events);
}

//===----------------------------------------------------------------------===//
// What orders them
//===----------------------------------------------------------------------===//

void AllocBarriersOp::getEvents(SmallVectorImpl<Event> &events) {
  // One thread initialises them, and the block waits for that.
  events.push_back(Access{.buffer = getBarriers(),
                          .writes = true,
                          .participants = Participants::One});
  events.push_back(Sync{.kind = Sync::Kind::Barrier});
}

void WaitBarrierOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Sync{.kind = Sync::Kind::WaitPhase,
                        .barrier = getBarriers(),
                        .index = getIndex(),
                        .parity = getParity()});
}

void CommitCopiesOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(
      Sync{.kind = Sync::Kind::Commit, .group = Completion::CopyGroup});
}

void WaitCopiesOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Sync{.kind = Sync::Kind::WaitGroups,
                        .group = Completion::CopyGroup,
                        .pending = static_cast<int64_t>(getPending())});
}

void WaitGemmOp::getEvents(SmallVectorImpl<Event> &events) {
  Sync wait{.kind = Sync::Kind::WaitGroups,
            .group = Completion::GemmGroup,
            .pending = static_cast<int64_t>(getPending())};
  llvm::append_range(wait.fragments, getFragments());
  events.push_back(std::move(wait));
}

void WaitStoresOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Sync{.kind = Sync::Kind::WaitGroups,
                        .group = Completion::StoreGroup,
                        .pending = static_cast<int64_t>(getPending()),
                        .readsOnly = getRead()});
}

void FenceAsyncOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Sync{.kind = Sync::Kind::Fence, .device = getDevice()});
}
