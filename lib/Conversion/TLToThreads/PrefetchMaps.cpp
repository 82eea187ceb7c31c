//===- PrefetchMaps.cpp - Have tensor maps at hand for the first copy -----===//
//
// The copy engine reads a map from memory before it can begin, half a
// microsecond that the first copy of a kernel waits for. A thread asks for all
// maps while barriers are set up and the kernels before this one end.
//
// Sound because maps are arguments of the kernel, which nobody changes, and a
// prefetch reads and writes nothing that a program can see; so it may stand in
// front of the wait for other kernels.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace tl {
#define GEN_PASS_DEF_PREFETCHMAPSPASS
#include "tl/Conversion/TLToThreads/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static SmallVector<Value> getMaps(gpu::GPUFuncOp kernel) {
  SmallVector<Value> maps;
  for (BlockArgument argument : kernel.getArguments()) {
    auto param =
        kernel.getArgAttrOfType<ParamAttr>(argument.getArgNumber(), kParamAttr);
    if (param && param.getKind() == ParamKind::TensorMap)
      maps.push_back(argument);
  }
  return maps;
}

static void prefetchMaps(gpu::GPUFuncOp kernel) {
  SmallVector<Value> maps = getMaps(kernel);
  if (maps.empty())
    return;
  auto b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, thread, zero);
  scf::IfOp::create(b, loc, isFirst, [&](OpBuilder &inner, Location) {
    for (Value map : maps)
      NVVM::PrefetchOp::create(inner, loc, /*cacheLevel=*/nullptr,
                               /*evictPriority=*/nullptr, map,
                               /*predicate=*/nullptr,
                               /*tensormap=*/inner.getUnitAttr(),
                               /*uniform=*/nullptr,
                               /*in_param_space=*/inner.getUnitAttr());
    scf::YieldOp::create(inner, loc);
  });
}

namespace {
struct PrefetchMapsPass : tl::impl::PrefetchMapsPassBase<PrefetchMapsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      prefetchMaps(kernel);
  }
};
} // namespace
