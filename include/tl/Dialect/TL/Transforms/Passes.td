//===- Passes.td - Passes on the tile level ----------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_TRANSFORMS_PASSES_TD
#define TL_DIALECT_TL_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyKernelsPass : Pass<"tl-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check what concerns more than one op of a kernel";
  let description = [{
    Checks that kernel names are unique in the module, that a kernel does not
    contain another one, that tile ops stand inside a kernel, and that host
    functions have no control flow around launches. Warns of a buffer of a kernel
    that is read and that nothing in the kernel writes. Changes nothing.
  }];
}

def VerifyStatementsPass : Pass<"tl-verify-statements", "::mlir::ModuleOp"> {
  let summary = "check which statements of a kernel have a meaning";
  let description = [{
    Refuses, on all targets alike, what the language gives no meaning
    (docs/language/semantics.md): tile ops and barriers in control flow that
    depends on the thread, or with operands that do (S4); tile ops in
    `tl.parallel`, and iterations that ask which thread runs them (P1, S4);
    variables that are read after a parallel loop that assigned them (P3);
    barriers of a cluster that not all of its blocks come to equally often, and
    accesses of each other's tiles that no such barrier orders (S11). Every error
    shows the cause. Changes nothing.
  }];
}

def MarkThreadStatementsPass : Pass<"tl-mark-thread-statements", "::mlir::ModuleOp"> {
  let summary = "mark the atomic operations that each thread carries out";
  let description = [{
    Marks each `tl.atomic` outside of `tl.parallel` that depends on the thread as
    `each_thread` (docs/language/semantics.md, S4), before simplification may
    remove what shows it: `t - t` depends on the thread as `t` does.
  }];
}

def LowerPrintsPass : Pass<"tl-lower-prints", "::mlir::ModuleOp"> {
  let summary = "let kernels write what they print to a record";
  let description = [{
    Makes statements of `tl.print` and `tl.assert`, which write entries to a record,
    a new last parameter of the function (docs/rationale/prints.md). `tl.prints` on
    the module describes the places that print. A function that prints nothing
    stays as it is, and so does a module without any.

    Requires what `tl-verify-kernels` and `tl-verify-statements` check, before
    anything is rewritten. Guarantees a program that a user could have written.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::gpu::GPUDialect"];
}

def AddChecksPass : Pass<"tl-add-checks", "::mlir::ModuleOp"> {
  let summary = "report what has no meaning, at run time";
  let description = [{
    Makes entry functions checked programs (docs/language/checks.md): they mean the
    same, and note in a record, their new last parameter, if they divide an
    integer by zero, touch an element outside of a buffer, read an on-chip element
    that nothing has written, or copy a part whose length is no right one, as
    `tl.cut` says it. Tiles that copies, and loops
    marked `tl.copied`, take from or to device memory may leave a tensor. What is
    reported goes on harmlessly: on-chip reads out of bounds take the element at
    zero, writes are dropped. `tl.checks` on the module describes the places that report. Loops run nothing ahead.

    Requires what `tl-verify-kernels` and `tl-verify-statements` check, before
    anything is rewritten. Guarantees a program that a user could have written.
  }];
  let options = [
    Option<"sharedMemory", "shared-memory", "int64_t", "INT64_MAX", "bytes of shared memory that a block may use">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::gpu::GPUDialect"];
}

def VerifyEntriesPass : Pass<"tl-verify-entries", "::mlir::ModuleOp"> {
  let summary = "check what source kernels launch and pass, and bind what they do not";
  let description = [{
    Requires sources with their text, as `tl-resolve-sources` leaves them, and
    scans those of CUDA C++ for their `__global__` functions.

    Every `tl.source_kernel` gets the name of its entry: the one given, or the only
    one there is; an overloaded function becomes a cast to the type that takes the
    arguments. Its arguments fit the entry's parameters in number, kind and width
    as far as the text says these; buffers point to their elements, an unsigned
    integer or integer vector being bits of any type of its size, and `void`
    anything. `index` values become integers of their parameters' widths.

    With `tl.bind_by_name` the arguments are found first: a parameter takes the
    buffer, scalar or shape symbol of the host function that has its name; one
    that no name matches takes the only value without a parameter that fits it. What
    no parameter takes is not passed. Declarations in branches of `#if` that the
    text does not decide must bind alike.

    What the text does not explain is let through: types of the toolkit's headers,
    instances of templates, kernels that macros make by pasting, if they are named
    and given `args`. `tl.passed` hands on what each parameter must be, for
    `tl-compile-cuda` to ask the compiler. Sources that are PTX or cubins are left
    alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def OutlineKernelsPass : Pass<"tl-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "make each kernel a module of its own";
  let description = [{
    Turns each `tl.kernel` into a `gpu.func` in a `gpu.module` of its own and a
    `tl.launch` in its place. What the body uses of the host function becomes an
    argument; constants and extents of arguments are computed inside instead.
    Arguments keep their `tl.align`. The kernel's name is the one given, or
    `<function>_kernel`, numbered.

    Each `tl.source_kernel` becomes a `tl.launch` of a `tl.cuda_entry`. Source
    kernels with the same text, headers and flags share a `gpu.module`; other
    texts are modules of their own, even if entries have equal names. A source
    kernel must have an entry name.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect"];
}

def FitBlocksPass : Pass<"tl-fit-blocks", "::mlir::ModuleOp"> {
  let summary = "launch blocks of as many threads as they have use for";
  let description = [{
    Requires kernels that are not outlined. A block of one row of threads whose
    fragments, as many as hold something at once, take more registers than its threads
    have gets as many threads as have them, 256 at most, if no statement in it depends
    on the thread. One of a number of warp groups that no product can be shared by, such
    as three, gets the power of two below. `tl.launched` says so; the kernel's own
    `threads` stay what the program counts.

    Not for kernels in which anything depends on the threads that there are:
    operations of warps, barriers of some threads, layouts of the program's own, calls
    of CUDA C++; nor for cooperative ones.
  }];
}

def VersionKernelsPass : Pass<"tl-version-kernels", "::mlir::ModuleOp"> {
  let summary = "make a kernel for aligned rows beside the one for any";
  let description = [{
    Requires outlined kernels. A kernel that moves rows of tensors whose extents or
    strides are dynamic, so that 16 bytes at a time may be too many, is made twice:
    as `<kernel>`, whose tensors say `tl.row_align`, and as `<kernel>_unaligned`. The
    host multiplies the grids of their two launches by one and zero, or by zero and
    one: whether all such extents and strides are multiples of 16 bytes. A launch
    of a grid without blocks launches nothing.

    Not for kernels that are launched more than once, nor for those whose rows are
    known to be aligned or not to be, nor for rows of which a thread has one element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def AttachTargetPass : Pass<"tl-attach-target", "::mlir::ModuleOp"> {
  let summary = "say which chip the kernels are for";
  let description = [{
    Sets `tl.target` on every `gpu.module` that has none, and `tl.line_info` and
    `tl.fast_math` where asked for. An unknown chip is an error that lists the
    known ones, and so is a launch of clusters for a chip that has none.

    `tl.line_info` names the folder that all files of the kernel's locations
    share. Artifacts hold paths relative to it, so that they are the same
    wherever a project lies.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "the chip, such as sm_80, sm_90a or cpu">,
    Option<"lineInfo", "line-info", "bool", "false", "keep source lines in the artifacts">,
    Option<"fastMath", "fast-math", "bool", "false", "approximate division, square root and exponential">
  ];
}

def SpeculateChoicesPass : Pass<"tl-speculate-choices", "::mlir::ModuleOp"> {
  let summary = "compute both numbers of a choice where that is cheaper";
  let description = [{
    Requires outlined kernels. A `scf.if` that is marked `tl.total`, whose arithmetic
    means something for all operands, becomes a `select` if all else in it is reads
    that may be done where nobody needs them: of tensors that the kernel does not
    write, and of known elements of private memory. A read that another block's
    write could meet stays in its branch (docs/language/semantics.md, P4). No mark
    is left.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def UnrollArrayLoopsPass : Pass<"tl-unroll-array-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "write out short loops over the elements of local arrays";
  let description = [{
    An `scf.for` with constant bounds and at most 64 iterations, outside of
    `tl.parallel`, is replaced by them, one after the other, if its index is part
    of one of an array in private memory whose indices all are numbers then. Loops
    with more than 1024 operations in all iterations, but for those that become
    numbers, stay as they are; of scalars and `tl.shuffle` alone at most 256
    iterations and 8192 operations are written out, if those of the kernel are then
    no more than 16384. A loop of at most 16 iterations on whose index the bounds
    of such loops depend is written out first. A `tl.pipelined` with such an array
    that reads no tensor and holds nothing else becomes an `scf.for`.

    Requires nothing, and guarantees nothing: it is `tl-normalize-statements` that
    sees to where arrays lie.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def GuardArraysPass : Pass<"tl-guard-arrays", "::mlir::gpu::GPUModuleOp"> {
  let summary = "keep accesses inside of local arrays";
  let description = [{
    An index of a `tl.load` or `tl.store` of private memory that is not seen to
    be inside becomes the last one where it is outside, and a store that is
    outside leaves what is there. Guarantees that no such access leaves its
    buffer.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PrivatizeVariablesPass : Pass<"tl-privatize-variables", "::mlir::gpu::GPUModuleOp"> {
  let summary = "give each iteration of a parallel loop its own variables";
  let description = [{
    A buffer in private memory that is allocated outside of a `tl.parallel` and
    written in it is allocated in the body instead, with the contents that it had
    before the loop where an iteration may read them; the outer one keeps these.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NormalizeStatementsPass : Pass<"tl-normalize-statements", "::mlir::gpu::GPUModuleOp"> {
  let summary = "say who executes each statement outside of tile ops";
  let description = [{
    Requires what `tl-verify-statements` checks, and variables as
    `tl-privatize-variables` leaves them. A store to shared or device memory
    outside of `tl.parallel` becomes a parallel loop of one iteration, so that
    it is executed once for each block. Statements that depend on `gpu.thread_id`
    become parallel loops over the threads of the block. Reads move into the loop
    that uses them if nothing writes in between; otherwise, and where a variable
    holds what differs between threads, a fragment with one element for each
    thread keeps the value, or one of which each thread holds a row for an array
    with computed indices; with `shared-arrays` that is in shared memory.

    Statements that follow each other, loops and branches that all threads go
    through alike included, are one parallel loop if threads have variables in
    them, and if no thread touches an element of shared or device memory that
    another one writes in a different statement, or in another iteration of such
    a loop.

    Guarantees: no `gpu.thread_id` is left; outside of `tl.parallel` only private
    memory is stored to, and all threads compute the same; control flow outside
    of `tl.parallel` goes the same way for all threads; fills and copies in
    `tl.parallel` and copies to private memory are loads and stores.
  }];
  let options = [
    Option<"sharedArrays", "shared-arrays", "bool", "false", "keep arrays with computed indices in shared memory">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PromoteVariablesPass : Pass<"tl-promote-variables", "::mlir::gpu::GPUModuleOp"> {
  let summary = "turn variables into SSA values";
  let description = [{
    Replaces buffers in private memory that are allocated in a `tl.parallel` by
    the values stored to them, carried through `scf.for`, `scf.while` and
    `scf.if`: variables, and arrays that are accessed at constant indices only.
    So it does variables elsewhere, if the loops and branches around their
    stores work with numbers alone: no tile is touched in them. What is read
    before it is written reads as zero.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def StageStoresPass : Pass<"tl-stage-stores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "pass accumulators through shared memory on their way out";
  let description = [{
    A copy to device memory of a gemm's accumulator, or of a fragment that is
    computed of one element by element, becomes a copy to a buffer in shared
    memory, in the element type of the destination, and one from there, so that
    device memory is written in whole lines. A loop that adds an accumulator to
    device memory by atomic operations goes the same way where the target has a
    bulk copy engine, which can add, unless it is known that each multiprocessor has
    many rounds of such blocks. Requires a target. Left alone: tiles of one
    dimension, and rows of less than 32 bytes.
  }];
}

def PlanGemmsPass : Pass<"tl-plan-gemms", "::mlir::gpu::GPUModuleOp"> {
  let summary = "choose the matrix instruction of each gemm";
  let description = [{
    Requires a target. Chooses the instruction of each `tl.gemm` and how warps
    share the accumulator; a plan that is there already is kept. Gemms on one
    accumulator take one plan where they can. Where the tile has fewer parts than
    there are warps, several warps compute the same part; a block that is not
    made of whole warps has no matrix instructions. A remark says why a gemm does
    not use the fastest instruction.

    Guarantees: every `tl.gemm` has a plan.
  }];
}

def JoinContributionsPass : Pass<"tl-join-contributions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "sum what iterations add to one element of a reducer";
  let description = [{
    A `tl.atomic` of kind `add` marked `tl.contribution` that stands in the body of
    a `tl.parallel`, at some of the loop's indices, of an element in workgroup
    memory becomes a store to a fragment of the loop's shape, reductions of that
    behind the loop, and a loop that adds what comes of them. Loops of more than
    128 iterations for each thread stay as they are.

    What a loop of at most 64 iterations for each thread adds, in each iteration of
    loops of the block that hold nothing else of the reducer, is summed in the
    fragment, and added behind them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NarrowTilesPass : Pass<"tl-narrow-tiles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "keep shared tiles in the type that they come in";
  let description = [{
    A tile of f32 in workgroup memory that copies fill from tensors of f16 or of
    bf16, and that copies to fragments of f32 alone read, gets the tensors' type:
    what is copied to it is converted where it is read. Then the copies that fill
    it may run ahead.

    Left alone: tiles with a layout of the program's, and those that anything else
    touches.
  }];
}

def FindGathersPass : Pass<"tl-find-gathers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "make copies of loops that copy rows";
  let description = [{
    A `tl.parallel` that stores elements of a tensor to all of a shared tile, or of the
    part that begins at zero, becomes a `tl.copy` with `places`: if its last index goes
    along the rows of the tensor, and the kernel writes nothing of what the loop reads.
    Where a condition does not hold the loop may store zero. One that copies a box of the
    tensor to a part that begins elsewhere becomes a plain `tl.copy` of the box. Not if
    pieces of rows would be smaller than 4 bytes.

    Requires a target, and does nothing on one without `cp.async`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def UnrollFragmentLoopsPass : Pass<"tl-unroll-fragment-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "write out short loops whose index picks a part of a fragment";
  let description = [{
    An `scf.for` with constant bounds and at most 8 iterations is replaced by
    them, one after the other, if a `tl.parallel` in it reads a fragment at one of
    its own indices and a number that grows by a multiple of 8 from iteration to
    iteration. What is read then is at a constant, and may stay in registers. Loops
    with more than 1024 operations in all iterations stay as they are.

    Requires nothing, and guarantees nothing: it is `tl-stage-fragments` that sees
    to what does not lie as it is read.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def InferLayoutsPass : Pass<"tl-infer-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "give every buffer and parallel loop its layout";
  let description = [{
    Requires plans of gemms, which fix their accumulators' layouts. Propagates
    layouts through `tl.parallel`, `tl.reduce`, `tl.scan` and copies between
    fragments, in both directions: a loop lies as a fragment that its indices pick, a fragment
    as its loop; where a fragment has fewer dimensions than the loop, threads hold
    copies. What scans go over, if it is still free, lies so that
    threads meet once at most; the rest, the largest first, gets a blocked layout
    with wide vectors along the last dimension. Shared buffers get the widest swizzle that
    their rows allow. A fragment that has a layout keeps it, and loops that touch
    rows of it at computed indices lie as its rows do.

    Guarantees: every `tl.alloc` in shared memory or fragments, and every
    `tl.parallel`, has a layout. Ops may still need a fragment in another layout
    than it has; `tl-stage-fragments` sees to them.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def StageFragmentsPass : Pass<"tl-stage-fragments", "::mlir::gpu::GPUModuleOp"> {
  let summary = "move elements of fragments to the threads that need them";
  let description = [{
    Requires layouts. An op that cannot do what it does in the registers of a
    fragment gets the elements through a tile in shared memory, to which the
    fragment is copied before the op, and from which it is copied back if the op
    writes it. A `tl.parallel`, and a `tl.copy` of a part of a fragment, use the
    tile itself; a `tl.gemm`, a `tl.reduce` and a `tl.scan` a second fragment.
    A remark says which.

    Guarantees: what `tl-verify-layouts` checks, but for workspaces.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def AddWorkspacesPass : Pass<"tl-add-workspaces", "::mlir::gpu::GPUModuleOp"> {
  let summary = "give reductions and scans the shared memory they need";
  let description = [{
    Requires layouts. A `tl.reduce` or `tl.scan` along a dimension that is spread
    over threads that shuffles do not reach (other warps, or lanes of a warp that
    is not whole) gets a workspace, through which they exchange their parts.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def ForwardFragmentsPass : Pass<"tl-forward-fragments", "::mlir::gpu::GPUModuleOp"> {
  let summary = "store fragments straight that lie as their tensor does";
  let description = [{
    Where a fragment is copied to a shared tile, and that to a tensor, and neither is
    used otherwise between or the tile at all, the fragment is copied to the tensor, if
    its layout has each warp hold whole sectors of 32 bytes in pieces of 16, and if the
    tensor's rows and the tile's place are known to be multiples of 16 bytes. Requires
    layouts. Left alone: accumulators of tensor cores, which lie otherwise.
  }];
}

def MarkBulkStoresPass : Pass<"tl-mark-bulk-stores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "hand stores of whole tiles to the bulk copy engine";
  let description = [{
    Requires layouts and a target. Copies of whole tiles from shared to device
    memory become `bulk` where the target has a bulk copy engine and it can do
    them; a remark says why it cannot. So do parallel loops that add a tile in
    shared memory to device memory by relaxed atomic operations: as copies that
    `accumulate`. In loops both are `async`, and a `tl.wait_stores` stands behind the
    loops; another one where threads meet before they write the tile again, if it is
    seen that they do.
  }];
}

def VerifyLayoutsPass : Pass<"tl-verify-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "prove that threads hold the elements that they touch";
  let description = [{
    Checks, for every op that touches a fragment, that each thread finds in its
    own registers what its part of the op reads, and that all copies of what it
    writes are written alike; that layouts cover their tiles and name every thread
    of the block; that accumulators lie as their instructions have them, and
    reductions and scans have the workspaces they need. Changes nothing. An error is a
    defect of the compiler.
  }];
}

def EnterGuardsPass : Pass<"tl-enter-guards", "::mlir::gpu::GPUModuleOp"> {
  let summary = "make pipelined loops of one iteration behind guards";
  let description = [{
    A pipelined loop all of whose copies into shared memory stand behind a guard
    becomes a plain loop, and what is behind the guard a `tl.pipelined` of one
    iteration, which is marked `tl.guarded`: a role that fills runs ahead from one of
    these to the next. Only for chips that have the bulk copy engine.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AssignStagesPass : Pass<"tl-assign-stages", "::mlir::gpu::GPUModuleOp"> {
  let summary = "decide which copies of pipelined loops run ahead, and by which engine";
  let description = [{
    Requires layouts. In each `tl.pipelined` of two stages or more the copies
    from device memory to shared memory that may be started in an earlier
    iteration, without that any statement can tell, are marked `tl.ahead`, and the
    loop gets their `tl.engine`: `bulk` where the target has a bulk copy engine that
    can do all of them, else `groups` of `cp.async`.

    A plain loop over tiles, a `scf.for` in steps of one that carries nothing and has such
    copies, becomes a `tl.pipelined` of two stages, if what shared memory it takes more
    leaves three of four blocks on a multiprocessor, of those that its part of the grid
    is at most, in kernels that use neither barriers of their own nor clusters.

    Where the loop's gemms depend on each other by way of other arithmetic, the
    last one is marked `tl.delayed` if it may be done in the next iteration, beside
    that arithmetic, without that any statement can tell.

    Guarantees nothing but that: a loop without an engine, and a copy that is not marked,
    stay as they are. When a loop gets no engine, a copy of a
    loop that has one is not marked, or the bulk engine cannot be used, a remark
    says why.

    A kernel whose bulk copies are to have a thread of their own, because that
    pays, is marked `tl.specialize`. Where the others need more registers than a
    block of so many begins with, it holds those of both roles; with
    `registers=false` that is not done, for assemblers that ignore it.

    In a kernel with `tl.cluster`, copies that run ahead by the bulk engine are marked
    `multicast`, if their tile is the same in all blocks of a cluster, has as many
    equal parts as there are, and is read by `wgmma` alone. The kernel gets
    `tl.specialize` then. A remark says why a copy is not marked.
  }];
  let options = [
    Option<"registers", "registers", "bool", "true", "whether roles may change how many registers their threads have">];
}

def SplitLoopsPass : Pass<"tl-split-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "split pipelined loops where their masks begin";
  let description = [{
    In kernels that are to have a role for their copies (`tl.specialize`), a
    pipelined loop with a guarded `tl.parallel` whose condition is false up to
    some iteration, a comparison of a sum of the loop's index, becomes two: one
    without it, up to that iteration, and one with it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandPipelinePass : Pass<"tl-expand-pipeline", "::mlir::gpu::GPUModuleOp"> {
  let summary = "turn pipelined loops into loops on a pipe";
  let description = [{
    Rewrites each `tl.pipelined` into a `scf.for`. One with an engine gets a
    `tl.pipe` at the start of the kernel, with a ring of `stages` slots in the
    place of each buffer that a copy marked `tl.ahead` fills, a prologue that fills
    all slots but one, and in each iteration the steps of `tl.pipe` around what
    the loop computes. The slot and, for bulk copies, its phase are carried by
    the loop, and through all loops around it, so that the next run of the loop
    goes on where the last one stopped. Loops that fill the same buffers by the
    same engine, with as many stages, have their pipe and its rings in common,
    and go on where the loop before stopped. A gemm marked `tl.delayed` is done
    an iteration late, and what is copied for it has a pipe of its own.

    Guarantees: no `tl.pipelined` is left, and no copy marked `tl.ahead`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def RoundFactorsPass : Pass<"tl-round-factors", "::mlir::gpu::GPUModuleOp"> {
  let summary = "round to tf32 what is multiplied as such";
  let description = [{
    Copies tiles of `f32` in shared memory to ones of their own, rounded to
    nearest, in front of each `tl.gemm` by `wgmma` that reads them, which would
    leave out their lower bits. What the bulk copy engine alone writes, and gemms
    by `wgmma` and `mma` alone read, stays: its copies are marked `round_tf32`, so
    that the engine rounds it on the way. So does what was extended from narrower
    floats. Gemms are marked `narrow_a` and `narrow_b` where they need not round
    in registers either.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def OverlapGemmsPass : Pass<"tl-overlap-gemms", "::mlir::gpu::GPUModuleOp"> {
  let summary = "wait for products where they are needed";
  let description = [{
    Makes every `tl.gemm` that is planned for `wgmma` asynchronous, and inserts
    a `tl.wait_gemm` in front of the first op that touches its accumulator in
    another way than by the same kind of gemm, writes one of its operands, or
    releases a slot of a pipe that holds one; it lets younger products run on.
    A product outlives an iteration of a `scf.for` if only such gemms touch its
    accumulator in the loop. It never outlives a branch, a `scf.while`, or the
    kernel.

    Other gemms are left alone.
  }];
}

def PlaceRefillsPass : Pass<"tl-place-refills", "::mlir::gpu::GPUModuleOp"> {
  let summary = "refill slots where they are free and nobody waits for it";
  let description = [{
    Where a loop leaves no product under way at the end of an iteration, the slot
    that the iteration before has read is free when the next one begins, and is
    best refilled behind the first products of that:

    - bulk copies, with `tl.pipe_release`, `tl.pipe_acquire` and
      `tl.pipe_commit`, move up to there from the end of the iteration, or to
      behind its `tl.pipe_wait`, and have the time of a whole iteration;
    - groups of `cp.async` move down to there, so that the products do not wait
      until all threads have found and started their copies. So they do too
      where products are under way at the end of an iteration and are waited for
      at the beginning of the next one.

    Other loops with products under way at their end, those with two pipes, and
    kernels that are to have roles are left alone.
  }];
}

def SpecializeWarpsPass : Pass<"tl-specialize-warps", "::mlir::gpu::GPUModuleOp"> {
  let summary = "give the bulk copies of a kernel a thread of their own";
  let description = [{
    Takes each kernel with `tl.specialize` apart into two `tl.role`s: the first
    thread of a further warp acquires the slots of its pipes and starts the
    copies into them, and the threads of the program do the rest. Loops,
    branches and scalars that both need are in both. Buffers, pipes and values
    that need nothing but arithmetic stand before the roles. Where warp groups
    compute beside several products of an iteration, they take turns in starting
    these. A tile that is copied once, before it is read, is copied by that
    thread too, and waited for at an mbarrier.

    Guarantees: no kernel has `tl.specialize`; `known_block_size` is what is to be
    launched, a warp more than the program has threads, or a warp group if the
    roles have registers of their own, and then one block is to fit on a
    multiprocessor (`tl.min_blocks`).

    Other kernels are left alone.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def LowerPipesPass : Pass<"tl-lower-pipes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "make barriers and waits of pipes";
  let description = [{
    Replaces each `tl.pipe` and its steps: with the engine `bulk`, copies into a
    slot complete on its `mbarrier`; with `groups`, each filling is a group of
    `cp.async`, and a block barrier behind the wait shows it to all threads.
    Where a slot is acquired stands a block barrier, unless there is one on all
    ways from its release. What threads copied is fenced if `wgmma` or a bulk
    store reads it.

    Guarantees: no `tl.pipe` and no step of one is left. Slots are still chosen
    by `tl.rotate`, which says which of them differ.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def PlanSharedMemoryPass : Pass<"tl-plan-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "place shared buffers in one arena";
  let description = [{
    Requires the layouts of buffers in shared memory, and no `tl.pipelined`.
    Gives every shared `tl.alloc` and `tl.alloc_barriers` an offset; buffers
    that never hold something at the same time share memory, within a loop only
    if they would not fit otherwise. Sets `tl.shared` on the kernel, and
    `tl.shared_tiles` where buffers have names, for readers of source text. More
    than the target has is an error that lists the buffers.
  }];
}

def StartCopiesPass : Pass<"tl-start-copies", "::mlir::gpu::GPUModuleOp"> {
  let summary = "let loads of tiles go on behind their ops";
  let description = [{
    Requires a target and layouts of buffers in shared memory. Copies from device
    memory to tiles in shared memory that
    threads would do by ordinary instructions become `async` (`cp.async`), and
    move up to the copy before them where nobody can tell; the first one, and what
    fills the first slots of loops by the bulk copy engine, move up in front of
    loads that threads wait for. Not where the kernel has
    loops that run ahead by groups of copies, mbarriers of its own, or other order
    that is the program's. `tl-insert-sync` sees to it that they are waited for.
  }];
}

def InsertSyncPass : Pass<"tl-insert-sync", "::mlir::gpu::GPUModuleOp"> {
  let summary = "order conflicting accesses of memory";
  let description = [{
    Requires offsets of buffers in shared memory. Inserts `gpu.barrier` between
    two accesses of which one writes bytes of shared memory or of a tensor that
    the other may touch in another thread, also around loops and between buffers
    that share memory; `tl.fence_async` before a barrier where ordinary
    instructions wrote and the second access goes through the async proxy
    (`wgmma`, bulk copies); and waits for asynchronous copies, gemms and bulk
    stores that nothing has waited for. Accesses that complete with a phase of
    an mbarrier are left to the pass that made the barrier.
  }];
  let dependentDialects = ["::tl::TLDialect"];
}

def VerifySyncPass : Pass<"tl-verify-sync", "::mlir::gpu::GPUModuleOp"> {
  let summary = "prove that conflicting accesses of memory are ordered";
  let description = [{
    Requires offsets of buffers in shared memory. Executes each kernel over
    abstract states, with the slots of rings, the phases of mbarriers and the
    iterations that are left of a loop as numbers, until no new state comes up;
    and proves in each of them that two accesses of which one writes bytes that
    the other touches are ordered: by a barrier, the phase of an mbarrier or the
    wait for a group, and a fence where the first one writes by ordinary
    instructions and the second one goes through the async proxy. That nothing
    in shared memory is under way when the block ends, that no barrier
    stands where only some threads come by, and that a tile which copies round
    to tf32 is read by `wgmma` alone, is proven too.

    An error names both ops. It is a defect of an earlier pass. Changes nothing.
  }];
  let dependentDialects = ["::tl::TLDialect"];
}

def PromoteFragmentsPass : Pass<"tl-promote-fragments", "::mlir::gpu::GPUModuleOp"> {
  let summary = "turn register slots into SSA values";
  let description = [{
    `tl-lower-tile-ops` keeps each fragment in a `memref.alloca` of one vector
    that is only loaded and stored as a whole. This pass replaces these slots by
    the values stored, carried through `scf.for`, `scf.while` and `scf.if`. A slot
    that is read before it is written reads as zero.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PrefetchOperandsPass : Pass<"tl-prefetch-operands", "::mlir::gpu::GPUModuleOp"> {
  let summary = "load operands of the next step before the products of this one end";
  let description = [{
    A loop that waits for a group of copies, passes the block's barrier, loads
    operands into registers and multiplies (`tl.mma`) does the wait, the barrier
    and the loads of its first products one step ahead, before the last products
    of the step before. Its last step follows the loop. Loops whose registers
    would not be enough for two steps' operands stay as they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def KeepBranchesPass : Pass<"tl-keep-branches", "::mlir::gpu::GPUModuleOp"> {
  let summary = "choose between values of many registers by branches";
  let description = [{
    An `arith.select` by one condition between vectors of 16 registers or more becomes
    an `scf.if`, or a result of the one behind it on the same condition. Every `scf.if`
    that leaves such a vector gets `tl.branch`, by which LLVM leaves it one: to pass by costs
    less than a selection for each register.

    Comes behind the last canonicalization of `scf`, which makes selections of branches
    whose sides only name values.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def JoinLoadsPass : Pass<"tl-join-loads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "load neighbouring scalars as one vector";
  let description = [{
    Loads of scalars of device or shared memory that stand in one block, and whose
    addresses are seen to follow each other, are one load of a vector, of 16 bytes at
    most, at the first of them: if its address is seen to be a multiple of its size, and
    nothing between them may write what they read, or waits. Needs `tl.align` of bases
    to hold. Other loads stay as they are.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def JoinStoresPass : Pass<"tl-join-stores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "store neighbouring scalars as one vector";
  let description = [{
    Stores of scalars to device or shared memory that stand in one block, and whose
    addresses are seen to follow each other, are one store of a vector, of 16 bytes at
    most, at the last of them: if its address is seen to be a multiple of its size, and
    nothing between them may read or write what they write, or waits. Needs `tl.align`
    of bases to hold. Other stores stay as they are.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def ShareAddressesPass : Pass<"tl-share-addresses", "::mlir::gpu::GPUModuleOp"> {
  let summary = "compute what addresses have in common once";
  let description = [{
    Addresses in device memory that differ by numbers alone, and that stand in one block
    or behind guards in it, are one sum in front of the first of them, and a
    `llvm.getelementptr` by a number for each. So the rows that a thread copies share a
    register, also where each has a guard. Other addresses stay as they are, those of a
    loop's body and of what is around it apart from each other.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def UnrollLoadsPass : Pass<"tl-unroll-loads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "ask for several steps of a loop at once";
  let description = [{
    An `scf.for` with a known number of steps that loads from device memory, computes,
    loads and stores shared memory, and does nothing else gets a `llvm.loop_annotation`:
    so many steps one after the other as have 128 bytes of loads between them, eight at
    most, if they divide the number. So does one that computes for long what it stores to
    device memory, where the block has at most four warps and no loop is around it,
    whatever its annotation was: all steps if what they store are numbers then. Loops
    that load keep theirs.

    A loop of eight steps at most that loads from device memory, and does relaxed
    atomic operations on shared memory by that, is written out: the loads of all
    steps come first. So is one with barriers and stores to device memory, if it
    loads an argument that the kernel writes nowhere.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def VerifyThreadLevelPass : Pass<"tl-verify-thread-level", "::mlir::gpu::GPUModuleOp"> {
  let summary = "check that a kernel is at thread level";
  let description = [{
    Thread level is a closed list of ops and types, because every code generator
    for NVIDIA GPUs must know each one. The ops are those of the
    [table](ThreadOps.md). Changes nothing, and fails with one error, which names the
    op, the type or the attribute that does not belong.

    A module at thread level has a `tl.target`; each of its kernels has a
    `known_block_size`, a `tl.shared` and a `tl.param` on every argument, and no
    memory attributions. An op that threads must execute together stands where
    they come together, and one that goes through the async proxy is on a chip
    that has one.
  }];
}

def SplitHostDevicePass : Pass<"tl-split-host-device", "::mlir::ModuleOp"> {
  let summary = "turn entry functions into launch plans";
  let description = [{
    Runs last. Each function with `tl.entry` becomes a `tl.launch_plan`: what
    must hold of its arguments, and its launches with grid, block, shared memory
    and parameters, as the compiled kernels ask for them. Host control flow is
    an error.
  }];
}

#endif // TL_DIALECT_TL_TRANSFORMS_PASSES_TD
