//===- Pipes.td - Slots between copies and their users -----*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_PIPES_TD
#define TL_DIALECT_TL_IR_PIPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"

def TL_CopyEngineEnum : I32EnumAttr<"CopyEngine", "what carries out copies that run ahead", [
    I32EnumAttrCase<"Bulk", 0, "bulk">,
    I32EnumAttrCase<"Groups", 1, "groups">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}

def TL_PipeType : TypeDef<TL_Dialect, "Pipe"> {
  let mnemonic = "pipe";
  let summary = "slots through which copies hand tiles to the ops that use them";
  let description = [{
    A pipe of `stages` slots, made by `tl.pipe`. The engine that fills them is
    `bulk`, the bulk copy engine of compute capability 9.0, where a tile is
    complete when a phase of its `mbarrier` is; or `groups`, the threads, by
    `cp.async`, where it is complete when its group of copies is.

    ```mlir
    !tl.pipe<bulk, 3>
    ```
  }];
  let parameters = (ins EnumParameter<TL_CopyEngineEnum>:$engine, "int64_t":$stages);
  let assemblyFormat = "`<` $engine `,` $stages `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

def TL_PipeOp : Op<TL_Dialect, "pipe", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "slots that copies fill and other ops empty, in turn";
  let description = [{
    Makes a pipe of the `rings`, buffers whose first dimension numbers the slots:
    slot s of the pipe is `tl.slot` s of each ring. All slots are empty at the
    start of the kernel. A slot goes through four steps, in order, again and
    again, and slots take turns: after slot s comes `tl.rotate` s by 1.

    1. `tl.pipe_acquire`: its last contents have been read by all threads.
    2. Asynchronous `tl.copy`s into it are started, or none, then
       `tl.pipe_commit`.
    3. `tl.pipe_wait`: what was copied is there for all threads.
    4. The block reads it, then `tl.pipe_release`.

    Nobody writes a ring but the copies of step 2, and nobody reads it but in
    step 4. `tl-lower-pipes` makes barriers and waits of the steps.

    Constraints: (C1) one ring at least; (C2) each ring is a `tl.alloc` in
    workgroup memory with as many slots as the pipe has; (C3) the pipe does not
    stand in a loop.

    ```mlir
    %As = tl.alloc : memref<3x128x64xf16, #gpu.address_space<workgroup>>
    %pipe = tl.pipe rings(%As : memref<3x128x64xf16, #gpu.address_space<workgroup>>) : !tl.pipe<bulk, 3>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$rings);
  let results = (outs Res<TL_PipeType, "", [MemAlloc]>:$pipe);
  let assemblyFormat = "`rings` `(` $rings `:` type($rings) `)` attr-dict `:` type($pipe)";
  let hasVerifier = 1;
}

class TL_PipeStepOp<string mnemonic> : Op<TL_Dialect, mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def TL_PipeAcquireOp : TL_PipeStepOp<"pipe_acquire"> {
  let summary = "wait until slots of a pipe may be filled";
  let description = [{
    After it no thread reads the `count` slots from `slot` on: their last
    `tl.pipe_release` has been passed by all threads, if there was one.

    Where one role fills the slots that another one empties, releases complete
    phases as bulk copies do, and `phase` is that of the filling that begins.

    Constraints: (C1) `count` is from 1 to the number of slots; (C2) a phase for
    one slot, and only with the engine `bulk`.

    ```mlir
    tl.pipe_acquire %pipe[%slot] : <bulk, 3>
    tl.pipe_acquire %pipe[%slot] count(2) : <bulk, 3>
    tl.pipe_acquire %pipe[%slot] phase(%phase) : <bulk, 3>
    ```
  }];
  let arguments = (ins TL_PipeType:$pipe, Index:$slot, DefaultValuedAttr<I64Attr, "1">:$count,
    Optional<I32>:$phase);
  let assemblyFormat = [{
    $pipe `[` $slot `]` (`count` `(` $count^ `)`)? (`phase` `(` $phase^ `)`)? attr-dict `:` type($pipe)
  }];
  let hasVerifier = 1;
}

def TL_PipeCommitOp : TL_PipeStepOp<"pipe_commit"> {
  let summary = "say that all copies into a slot have been started";
  let description = [{
    Closes the filling of `slot`, also if no copy was started.

    ```mlir
    tl.pipe_commit %pipe[%slot] : <groups, 3>
    ```
  }];
  let arguments = (ins TL_PipeType:$pipe, Index:$slot);
  let assemblyFormat = "$pipe `[` $slot `]` attr-dict `:` type($pipe)";
}

def TL_PipeWaitOp : TL_PipeStepOp<"pipe_wait"> {
  let summary = "wait until a slot of a pipe is filled";
  let description = [{
    After it the copies into `slot` that were committed last are complete, and
    visible to all threads. Bulk copies complete phases, which take turns: `phase`
    is 0 for the first filling of a slot, 1 for the second, and so on.
    `ahead` is the number of later slots that may still be under way.

    Constraints: (C1) a phase for the engine `bulk`, and for no other; (C2)
    `ahead` is less than the number of slots.

    ```mlir
    tl.pipe_wait %pipe[%slot] ahead(1) phase(%phase) : <bulk, 3>
    tl.pipe_wait %pipe[%slot] ahead(1) : <groups, 3>
    ```
  }];
  let arguments = (ins TL_PipeType:$pipe, Index:$slot, I64Attr:$ahead, Optional<I32>:$phase);
  let assemblyFormat = [{
    $pipe `[` $slot `]` `ahead` `(` $ahead `)` (`phase` `(` $phase^ `)`)? attr-dict `:` type($pipe)
  }];
  let hasVerifier = 1;
}

def TL_PipeReleaseOp : TL_PipeStepOp<"pipe_release"> {
  let summary = "give a slot of a pipe back";
  let description = [{
    The executing thread reads `slot` no more before it has been filled again;
    asynchronous gemms that read it are complete. Releasing an empty slot does
    nothing.

    ```mlir
    tl.pipe_release %pipe[%slot] : <bulk, 3>
    ```
  }];
  let arguments = (ins TL_PipeType:$pipe, Index:$slot);
  let assemblyFormat = "$pipe `[` $slot `]` attr-dict `:` type($pipe)";
}

def TL_PipeDrainOp : TL_PipeStepOp<"pipe_drain"> {
  let summary = "say that no copy into a pipe is under way";
  let description = [{
    Every slot for which a copy was started has been waited for since. The memory
    of the rings may be put to other uses.

    ```mlir
    tl.pipe_drain %pipe : <bulk, 3>
    ```
  }];
  let arguments = (ins TL_PipeType:$pipe);
  let assemblyFormat = "$pipe attr-dict `:` type($pipe)";
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

def TL_RotateOp : Op<TL_Dialect, "rotate", [Pure]> {
  let summary = "a slot some places further on in a ring";
  let description = [{
    `(slot + by) mod of`, for a `slot` from 0 to `of` - 1. Two slots of one ring
    that are the same one rotated by different amounts are different slots.

    Constraints: (C1) `of` is positive, and `by` from 0 to `of` - 1.

    ```mlir
    %next = tl.rotate %slot by 1 of 3
    ```
  }];
  let arguments = (ins Index:$slot, I64Attr:$by, I64Attr:$of);
  let results = (outs Index:$result);
  let assemblyFormat = "$slot `by` $by `of` $of attr-dict";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TL_NextPhaseOp : Op<TL_Dialect, "next_phase", [Pure]> {
  let summary = "the phase of the slot after a slot";
  let description = [{
    `phase`, which is 0 or 1, if `slot` is not the last of `of` slots; else the
    other one, because the slots start again.

    Constraints: (C1) `of` is positive.

    ```mlir
    %next = tl.next_phase %phase after %slot of 3
    ```
  }];
  let arguments = (ins I32:$phase, Index:$slot, I64Attr:$of);
  let results = (outs I32:$result);
  let assemblyFormat = "$phase `after` $slot `of` $of attr-dict";
  let hasVerifier = 1;
}

#endif // TL_DIALECT_TL_IR_PIPES_TD
