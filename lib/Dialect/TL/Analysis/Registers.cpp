//===- Registers.cpp - How many registers a kernel takes ------------------===//

#include "tl/Dialect/TL/Analysis/Registers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

int64_t tl::countFragmentRegisters(gpu::GPUFuncOp kernel) {
  int64_t registers = 0;
  kernel.walk([&](AllocOp alloc) {
    auto layout = dyn_cast_or_null<FragmentLayoutAttr>(alloc.getLayoutAttr());
    if (layout)
      registers +=
          llvm::divideCeil(toLayout(layout).numValues() *
                               alloc.getType().getElementTypeBitWidth(),
                           32);
  });
  return registers;
}
