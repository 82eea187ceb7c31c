//===- Tiles.cpp - C API: where the tiles of a kernel lie -----------------===//
//
// See `tlModuleDescribeTiles` in tl-c/Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "TlModule.h"
#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/SharedLives.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"

using namespace mlir;
using namespace tl;
using llvm::json::Array;
using llvm::json::Object;

static std::string toText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The numbers of the set bits, as [first, last] of each run.
static Array toRuns(const llvm::BitVector &bits) {
  Array runs;
  for (int begin = bits.find_first(); begin >= 0;) {
    int end = bits.find_next_unset(begin);
    int last = end < 0 ? static_cast<int>(bits.size()) - 1 : end - 1;
    runs.push_back(Array{begin, last});
    begin = end < 0 ? -1 : bits.find_next(end);
  }
  return runs;
}

/// What is said of every buffer.
static Object describeBuffer(Operation *alloc, MemRefType type) {
  Object object{{"shape", Array(type.getShape())},
                {"type", toText(type.getElementType())}};
  addPlace(object, alloc->getLoc());
  StringAttr name = getGivenName(alloc->getLoc());
  object["name"] = name ? llvm::json::Value(name.getValue().str()) : nullptr;
  return object;
}

static Object describeFragment(AllocOp alloc) {
  Object object = describeBuffer(alloc, alloc.getType());
  object["space"] = "fragment";
  object["bits"] = alloc.getType().getElementTypeBitWidth();
  object["layout"] = toText(alloc.getLayoutAttr());
  return object;
}

/// `shape` is that of one tile, of which there are `slots`, one every
/// `slot_bytes`.
static Object describeTile(AllocOp alloc) {
  MemRefType type = alloc.getType();
  layout::SharedLayout layout = getSharedLayout(alloc);
  // The dimensions that count slots are the first ones.
  ArrayRef<int64_t> shape = type.getShape();
  int64_t slots = 1;
  while (slots * layout.getRows() * layout.getColumns() <
         type.getNumElements()) {
    slots *= shape.front();
    shape = shape.drop_front();
  }
  int64_t elementBytes = getElementBytes(type);
  layout::SharedLayout tile(shape, elementBytes, layout.getSwizzle(),
                            layout.getChunk());
  Object object = describeBuffer(alloc, type);
  object["space"] = "shared";
  object["bits"] = elementBytes * 8;
  object["shape"] = Array(shape);
  object["slots"] = slots;
  object["slot_bytes"] = tile.getSlotBytes();
  object["bytes"] = getSharedBytes(alloc);
  object["layout"] = toText(alloc.getLayoutAttr());
  return object;
}

static Object describeBarriers(AllocBarriersOp barriers) {
  Object object = describeBuffer(barriers, barriers.getType());
  object["space"] = "barriers";
  object["bytes"] = barriers.getType().getDimSize(0) * kBarrierBytes;
  return object;
}

static Object describeShared(const SharedLife &life) {
  auto alloc = dyn_cast<AllocOp>(life.alloc);
  Object object = alloc ? describeTile(alloc)
                        : describeBarriers(cast<AllocBarriersOp>(life.alloc));
  object["offset"] = life.alloc->getAttrOfType<IntegerAttr>("offset").getInt();
  object["holds"] = toRuns(life.exact);
  object["keeps"] = toRuns(life.widened);
  return object;
}

/// The shared tiles that `gemm` has its warps load, as they then lie.
static void describeOperands(GemmOp gemm, Array &operands) {
  GemmPlanAttr plan = *gemm.getPlan();
  if (plan.getInstruction() != Instruction::MMA)
    return;
  for (bool ofB : {false, true}) {
    Value operand = ofB ? gemm.getB() : gemm.getA();
    if (!isInSpace(operand, Space::Shared))
      continue;
    MemRefType type = gemm.getOperandType(ofB);
    Object object = describeBuffer(getBuffer(operand).getDefiningOp(), type);
    object["space"] = "operand";
    object["bits"] = type.getElementTypeBitWidth();
    object["layout"] = toText(
        toAttr(gemm.getContext(),
               getLoadedLayout(gemm, plan, ofB, getThreads(gemm).count)));
    operands.push_back(std::move(object));
  }
}

static Object describeKernel(gpu::GPUFuncOp kernel) {
  SharedLives lives = findSharedLives(kernel);
  Array steps, shared, fragments, operands;
  for (Operation *op : lives.steps) {
    Object step{{"op", op->getName().getStringRef()},
                {"acts", !getEvents(op).empty()}};
    addPlace(step, op->getLoc());
    steps.push_back(std::move(step));
  }
  for (const SharedLife &life : lives.buffers)
    shared.push_back(describeShared(life));
  kernel.walk([&](AllocOp alloc) {
    if (isInSpace(alloc.getBuffer(), Space::Fragment))
      fragments.push_back(describeFragment(alloc));
  });
  kernel.walk([&](GemmOp gemm) { describeOperands(gemm, operands); });
  return Object{
      {"name", kernel.getName()},
      {"bytes", kernel->getAttrOfType<IntegerAttr>(kSharedAttr).getInt()},
      {"steps", std::move(steps)},
      {"shared", std::move(shared)},
      {"fragments", std::move(fragments)},
      {"operands", std::move(operands)}};
}

char *tlModuleDescribeTiles(TlModule *module) {
  Array kernels;
  module->module->walk([&](gpu::GPUFuncOp kernel) {
    if (kernel->hasAttr(kSharedAttr))
      kernels.push_back(describeKernel(kernel));
  });
  return copyString(toText(std::move(kernels)));
}
