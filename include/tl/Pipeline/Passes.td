//===- Passes.td - The caching pass ------------------------*- tablegen -*-===//

#ifndef TL_PIPELINE_PASSES_TD
#define TL_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CachedPass : Pass<"tl-cached", "::mlir::ModuleOp"> {
  let summary = "run a pipeline on each kernel, or take its result from the cache";
  let description = [{
    For each `gpu.module`: serialises it canonically (bytecode without source
    locations and SSA names), and makes a key of these bytes, the nested
    pipeline's text, this compiler's build id and the identity of each external
    tool that the pipeline runs. If the cache has an entry for the key, the
    stored result takes the kernel's place and no nested pass runs. Otherwise
    the pipeline runs on those same bytes in a fresh context, so that nothing
    outside of the key can reach the result, and what comes out is stored. A hit
    repeats the warnings of the miss, at today's locations.

    Remarks of category `tl-cached` say for each kernel whether it was a hit.
    Kernels with `tl.line_info` keep their locations, which are then part of the
    key.
  }];
  let options = [
    Option<"pipeline", "pipeline", "std::string", "\"\"",
      "passes to run on each `gpu.module`, such as `gpu.module(tl-infer-layouts)`">,
    Option<"dir", "dir", "std::string", "\"\"",
      "cache directory; empty for memory alone">
  ];
}

#endif // TL_PIPELINE_PASSES_TD
