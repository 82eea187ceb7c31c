//===- Passes.td - Kernels run with no GPU -----------------*- tablegen -*-===//

#ifndef TL_SIMULATOR_PASSES_TD
#define TL_SIMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimulateLaunchesPass : Pass<"tl-simulate-launches", "::mlir::ModuleOp"> {
  let summary = "Run kernels of thread level and report what is wrong with them";
  let description = [{
    Runs each `tl.launch` of a `gpu.func` that `tl-verify-thread-level` accepts,
    under each of the seeds, with all checkers, and reports what they find as
    errors at the places of both sides, those of the first seed that finds
    something. Buffers are filled with small numbers that are the same in each
    run. Launches of one function run one after the other, and find in their
    buffers what those before them left there; the first that fails ends the run.
    The IR is not changed.

    Grid, scalars and shapes must be constants: this is for tests of kernels
    and of the checkers. Programs are run by `tilec.compile(…, backend="sim")`.
  }];
  let options = [
    Option<"seeds", "seeds", "unsigned", "1", "How many schedules to try">,
    Option<"firstSeed", "first-seed", "unsigned", "0", "The first of them">,
    Option<"digests", "digests", "bool", "false",
           "Say as remarks what the buffers hold in the end">,
    Option<"shrink", "shrink", "bool", "false",
           "Say as a note at the launch which decisions of the schedule it "
           "takes to fail">];
}

#endif // TL_SIMULATOR_PASSES_TD
