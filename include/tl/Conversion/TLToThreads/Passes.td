//===- Passes.td - From tiles to threads -------------------*- tablegen -*-===//

#ifndef TL_CONVERSION_TLTOTHREADS_PASSES_TD
#define TL_CONVERSION_TLTOTHREADS_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTileOpsPass : Pass<"tl-lower-tile-ops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "write tile ops as what each thread does";
  let description = [{
    Requires layouts on buffers and loops, offsets of shared buffers, and a
    target. Every tile op is replaced by thread-level ops through its
    `ThreadLoweringOpInterface`; afterwards no op of the tile level is left.

    Kernel arguments become what the host passes for them: a buffer its address,
    and, where the kernel needs them, extents, strides and tensor maps as further
    arguments. `tl.param` on each says which. Coordinates stay `index`; offsets
    into device memory are 64 bits wide.

    A fragment becomes a slot, a `memref.alloca` of one vector that holds the
    thread's values; `tl-promote-fragments` removes it. One that no thread has
    registers for, and no matrix instruction touches, becomes memory of the
    thread's own. Accesses of device memory are as wide as alignment and layout
    allow and are guarded where they may be out of bounds.

    With `reports`, which the simulator asks for, `tl.begin_iterations`,
    `tl.at_iterations` and `tl.iterations` say which iteration of a parallel loop
    an access is of, and `tl.touch_fragment` which one touches a register. What no
    other iteration can meet has none of it. `tl.tiles` on the kernel says how
    its shared buffers are called and laid out, and `tl.uses` on an op which of
    them the statement uses that it came from.
  }];
  let options = [
    Option<"reports", "reports", "bool", /*default=*/"false",
      "Say what the simulator's reports need: iterations of parallel loops, and names of shared memory">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::math::MathDialect"
  ];
}

def OverlapLaunchesPass : Pass<"tl-overlap-launches", "::mlir::ModuleOp"> {
  let summary = "let kernels begin while those before them end";
  let description = [{
    From compute capability 9.0 on a kernel may be launched before the one in
    front of it on the stream is done (programmatic dependent launch). Requires
    targets. Each launch of a kernel of tiles becomes `dependent`, and the module
    of the kernel is marked `tl.dependent`: `tl-wait-for-kernels` has it wait
    before it can see what others wrote, and `tl-verify-thread-level` holds it to
    that.
  }];
}

def PrefetchMapsPass : Pass<"tl-prefetch-maps", "::mlir::gpu::GPUModuleOp"> {
  let summary = "have tensor maps at hand for the first copy";
  let description = [{
    Requires thread level. The first thread of a block that is given tensor maps
    asks for them (`prefetch.tensormap`) first of all, so that the copy engine
    has them when barriers are set up and the kernels before this one are done.
    Not where a grid is known to have more blocks than a GPU holds at once.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def WaitForKernelsPass : Pass<"tl-wait-for-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "have kernels wait for those that are launched before them";
  let description = [{
    Requires thread level. A kernel whose module is marked `tl.dependent` waits
    for those before it in front of the first op that may touch device memory,
    and then lets the next one be launched. So it sets up its barriers, and
    places of its tiles are computed, while others end.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

#endif // TL_CONVERSION_TLTOTHREADS_PASSES_TD
