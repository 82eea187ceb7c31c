//===- Pipes.cpp - Slots between copies and their users -------------------===//
//
// Verifiers and folders of the ops of Pipes.td, whose constraints the labels
// (C1) … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/CopyTile.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

#include "tl/Dialect/TL/IR/PipeEnums.cpp.inc"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Pipes.cpp.inc"

//===----------------------------------------------------------------------===//
// Copies that run ahead
//===----------------------------------------------------------------------===//

std::optional<CopyEngine> tl::getEngine(PipelinedOp loop) {
  auto name = loop->getAttrOfType<StringAttr>(kEngineAttr);
  return name ? symbolizeCopyEngine(name.getValue()) : std::nullopt;
}

bool tl::runsAhead(CopyOp copy) { return copy->hasAttr(kAheadAttr); }

bool tl::fillsTarget(CopyOp copy) {
  ArrayRef<int64_t> shape =
      cast<MemRefType>(copy.getTarget().getType()).getShape();
  SmallVector<int64_t> tile = getTargetTile(copy);
  return !copy.keepsRows() &&
         llvm::all_of(
             copy.getTargetOffsets(),
             [](Value offset) { return matchPattern(offset, m_Zero()); }) &&
         shape.take_back(tile.size()) == ArrayRef(tile) &&
         llvm::all_of(shape.drop_back(tile.size()),
                      [](int64_t extent) { return extent == 1; });
}

//===----------------------------------------------------------------------===//
// Ops and types
//===----------------------------------------------------------------------===//

LogicalResult PipeType::verify(function_ref<InFlightDiagnostic()> emitError,
                               CopyEngine, int64_t stages) {
  if (stages < 2)
    return emitError() << "expects two slots at least, got " << stages;
  return success();
}

void PipeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "pipe");
}

LogicalResult PipeOp::verify() {
  if (getRings().empty()) // C1
    return emitOpError("expects one ring at least");
  int64_t stages = getType().getStages();
  for (Value ring : getRings()) { // C2
    auto type = cast<MemRefType>(ring.getType());
    if (!ring.getDefiningOp<AllocOp>() || !isInSpace(ring, Space::Shared) ||
        type.getRank() == 0 || type.getDimSize(0) != stages)
      return emitOpError("expects rings made by `tl.alloc` in workgroup "
                         "memory, each with ")
             << stages << " slots, got `" << type << "`";
  }
  if ((*this)->getParentOfType<LoopLikeOpInterface>()) // C3
    return emitOpError("stands in a loop; its slots are empty at the start of "
                       "the kernel only");
  return success();
}

LogicalResult PipeAcquireOp::verify() {
  int64_t count = getCount(), stages = getPipe().getType().getStages();
  if (count < 1 || count > stages) // C1
    return emitOpError("expects to acquire 1 to ")
           << stages << " slots, got " << count;
  bool isBulk = getPipe().getType().getEngine() == CopyEngine::Bulk;
  if (getPhase() && (count != 1 || !isBulk)) // C2
    return emitOpError("expects a phase for one slot of bulk copies only");
  return success();
}

LogicalResult PipeWaitOp::verify() {
  PipeType pipe = getPipe().getType();
  bool isBulk = pipe.getEngine() == CopyEngine::Bulk;
  if (isBulk != static_cast<bool>(getPhase())) // C1
    return emitOpError(isBulk ? "expects a phase: bulk copies complete phases"
                              : "expects no phase: only bulk copies complete "
                                "phases");
  int64_t ahead = getAhead();
  if (ahead < 0 || ahead >= pipe.getStages()) // C2
    return emitOpError("expects less than ")
           << pipe.getStages() << " slots to be under way, got " << ahead;
  return success();
}

LogicalResult RotateOp::verify() {
  int64_t by = getBy(), of = getOf();
  if (of < 1 || by < 0 || by >= of) // C1
    return emitOpError("expects to rotate by less than the number of slots, "
                       "got ")
           << by << " of " << of;
  return success();
}

OpFoldResult RotateOp::fold(FoldAdaptor adaptor) {
  if (getBy() == 0)
    return getSlot();
  auto slot = dyn_cast_or_null<IntegerAttr>(adaptor.getSlot());
  if (!slot)
    return {};
  return IntegerAttr::get(slot.getType(), (slot.getInt() + getBy()) % getOf());
}

LogicalResult NextPhaseOp::verify() {
  if (getOf() < 1) // C1
    return emitOpError("expects a positive number of slots, got ") << getOf();
  return success();
}
