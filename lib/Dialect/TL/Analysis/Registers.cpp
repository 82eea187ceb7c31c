//===- Registers.cpp - How many registers a kernel takes ------------------===//

#include "tl/Dialect/TL/Analysis/Registers.h"

#include "tl/Dialect/TL/Analysis/KernelEvents.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

static int64_t countRegisters(AllocOp alloc) {
  auto layout = dyn_cast_or_null<FragmentLayoutAttr>(alloc.getLayoutAttr());
  return layout ? llvm::divideCeil(toLayout(layout).numValues() *
                                       alloc.getType().getElementTypeBitWidth(),
                                   32)
                : 0;
}

int64_t tl::countFragmentRegisters(gpu::GPUFuncOp kernel) {
  int64_t registers = 0;
  kernel.walk([&](AllocOp alloc) { registers += countRegisters(alloc); });
  return registers;
}

namespace {

/// Walks a kernel backwards, with the set of fragments that will be read.
class LiveRegisters {
public:
  explicit LiveRegisters(gpu::GPUFuncOp kernel) {
    kernel.walk([&](AllocOp alloc) {
      if (int64_t count = countRegisters(alloc)) {
        indices[alloc] = registers.size();
        registers.push_back(count);
      }
    });
  }

  BitVector none() const { return BitVector(registers.size()); }

  void walk(Block &block, BitVector &needed) {
    for (Operation &op : llvm::reverse(block)) {
      if (isStep(&op))
        step(&op, needed);
      else
        flow(&op, needed);
    }
  }

  int64_t most = 0;

private:
  void step(Operation *op, BitVector &needed) {
    BitVector reads = none(), writes = none();
    op->walk([&](Operation *inner) { addAccesses(inner, reads, writes); });
    BitVector held = needed;
    held |= reads;
    held |= writes;
    int64_t sum = 0;
    for (unsigned index : held.set_bits())
      sum += registers[index];
    most = std::max(most, sum);
    needed.reset(writes);
    needed |= reads;
  }

  void addAccesses(Operation *op, BitVector &reads, BitVector &writes) const {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    for (Value operand : op->getOperands()) {
      auto it = isa<MemRefType>(operand.getType())
                    ? indices.find(getBuffer(operand))
                    : indices.end();
      if (it == indices.end())
        continue;
      if (!effects || effects.getEffectOnValue<MemoryEffects::Read>(operand))
        reads.set(it->second);
      if (!effects || effects.getEffectOnValue<MemoryEffects::Write>(operand))
        writes.set(it->second);
    }
  }

  /// Any region may follow any other, or none.
  void flow(Operation *op, BitVector &needed) {
    BitVector before;
    do {
      before = needed;
      for (Region &region : op->getRegions())
        for (Block &block : region) {
          BitVector inside = before;
          walk(block, inside);
          needed |= inside;
        }
    } while (needed != before);
  }

  DenseMap<Value, unsigned> indices;
  SmallVector<int64_t> registers;
};

} // namespace

int64_t tl::countLiveFragmentRegisters(gpu::GPUFuncOp kernel) {
  LiveRegisters live(kernel);
  BitVector needed = live.none();
  live.walk(kernel.getBody().front(), needed);
  return live.most;
}
