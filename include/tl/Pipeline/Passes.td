//===- Passes.td - The caching pass ------------------------*- tablegen -*-===//

#ifndef TL_PIPELINE_PASSES_TD
#define TL_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CachedPass : Pass<"tl-cached", "::mlir::ModuleOp"> {
  let summary = "run a pipeline on each kernel, or take its result from the cache";
  let description = [{
    The pipeline is a list of groups such as
    `gpu.module(tl-emit-ptx),gpu.module(tl-assemble)`. Each group is a stage.

    For each `gpu.module`: serialises it canonically (bytecode without source
    locations and SSA names), and makes a key of these bytes, the text of all
    stages, this compiler's build id and the identity of each external tool that
    they run. If the cache has an entry for the key, the stored result takes the
    kernel's place and no pass runs. Otherwise each stage is looked up by the
    canonical bytes at its start, its own text and its own tools; if it is not
    there its passes run on those same bytes in a fresh context, so that nothing
    outside of the key can reach the result, and what comes out is stored. A
    failed stage stores nothing. A hit repeats the messages of the miss, at
    today's locations.

    Modules with a `tl.cuda_unit` are left to a `tl-cached{of-sources}`, which
    leaves the others, because what they are compiled by differs.

    Remarks of category `tl-cached` say for each kernel whether it was a hit, of
    a miss which stages were, and in the end how many and how much.

    Kernels with `tl.line_info` keep their locations, relative to the folder
    that it names, which are then part of the key; pipelines with a pass that
    prints names of values keep those. A kernel with `tl.uncached` is compiled
    and not stored; a remark repeats the reason that the attribute gives.

    With `require-cached` no pass of the pipeline runs: a kernel whose whole
    record is missing is an error, and a note says in what the nearest record
    differs. The option is no part of a key.
  }];
  let options = [
    Option<"pipeline", "pipeline", "std::string", "\"\"",
      "stages to run on each `gpu.module`, such as `gpu.module(tl-infer-layouts)`">,
    Option<"dir", "dir", "std::string", "\"\"",
      "cache directory; empty for memory alone">,
    Option<"ofSources", "of-sources", "bool", "false",
      "take the modules with a `tl.cuda_unit`, not those without">,
    Option<"requireCached", "require-cached", "bool", "false",
      "compile nothing: a kernel that is not in the cache is an error">
  ];
}

def PostProcessPass : Pass<"tl-post-process", "::mlir::gpu::GPUModuleOp"> {
  let summary = "let a user's program edit a kernel's source";
  let description = [{
    Gives the generated source, and the chip, to the post-processor `id` of this
    process, and puts what that returns in its place. It stands between the pass
    that generates the source and the one that compiles it further: the source
    is `kernel.ptx` of each `tl.compiled_kernel`, or the text of a
    `tl.cuda_unit` that `tl-emit-cuda` made. What a user wrote is left alone.

    The identifier says everything that the post-processor does: it is part of
    the pipeline's text, and therefore of the cache's key. Without a
    post-processor of this name, or without a source, the pass fails.
  }];
  let options = [
    Option<"id", "id", "std::string", "\"\"",
      "which post-processor, as the embedding program named it">
  ];
}

#endif // TL_PIPELINE_PASSES_TD
