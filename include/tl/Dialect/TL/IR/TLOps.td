//===- TLOps.td - Operations of the tl dialect -------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_TLOPS_TD
#define TL_DIALECT_TL_IR_TLOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "tl/Dialect/TL/IR/TLAttrs.td"
include "tl/Dialect/TL/IR/TLInterfaces.td"
include "tl/Dialect/TL/IR/TLTypes.td"

class TL_Op<string mnemonic, list<Trait> traits = []>
    : Op<TL_Dialect, mnemonic, traits>;

/// An op that a whole thread block executes together on tiles.
class TL_TileOp<string mnemonic, list<Trait> traits = []>
    : TL_Op<mnemonic, traits # [DeclareOpInterfaceMethods<TL_TileOpInterface>,
                                DeclareOpInterfaceMethods<TL_EventOpInterface>]>;

def TL_SharedPointer : LLVM_PointerInAddressSpace<3>;

//===----------------------------------------------------------------------===//
// Kernels and launches
//===----------------------------------------------------------------------===//

def TL_YieldOp : TL_Op<"yield", [Pure, Terminator,
    ParentOneOf<["KernelOp", "ParallelOp", "PipelinedOp"]>]> {
  let summary = "end of a `tl` region";
  let description = [{
    Ends the body of `tl.kernel`, `tl.parallel` or `tl.pipelined`. It has no
    operands and is not printed.
  }];
  let assemblyFormat = "attr-dict";
}

def TL_KernelOp : TL_Op<"kernel", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a tile kernel and its launch, inside a host function";
  let description = [{
    The body is executed by every thread block of a grid. Values of the host
    function may be used in it; `tl-outline-kernels` makes them explicit.

    - `grid`: one to three extents, in blocks. A zero launches nothing.
    - `threads`: one to three extents of a block, each positive.
    - `cluster`: extents of a thread block cluster, in blocks.
    - `cooperative`: blocks wait for each other, so that all of them have to run at once.
    - `name`: the kernel's symbol; by default `<function>_kernel`, numbered.

    The block arguments are the block's coordinates, one for each grid extent.

    Constraints: (C1) one to three grid extents; (C2) one to three positive
    thread extents, at most 1024 threads in all; (C3) a cluster has as many
    extents as the grid and at most 16 blocks, each positive; (C4) one block
    argument of type `index` for each grid extent; (C5) inside a function.

    ```mlir
    func.func @zero(%A: memref<1024xf32>) attributes {tl.entry} {
      %g = arith.constant 8 : index
      tl.kernel @zero_all blocks(%b) in (%g) threads(128) {
        %z = arith.constant 0.0 : f32
        tl.parallel (%i) in (128) {
          %c = arith.constant 128 : index
          %o = arith.muli %b, %c : index
          %x = arith.addi %o, %i : index
          tl.store %z, %A[%x] : memref<1024xf32>
        }
      }
      return
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$grid, DenseI64ArrayAttr:$threads,
    OptionalAttr<DenseI64ArrayAttr>:$cluster, OptionalAttr<StrAttr>:$name,
    UnitAttr:$cooperative);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class TL_LaunchLikeOp<string mnemonic, list<Trait> traits = []>
    : TL_Op<mnemonic, traits # [AttrSizedOperandSegments]>;

def TL_LaunchOp : TL_LaunchLikeOp<"launch"> {
  let summary = "launch a kernel with a grid, a block shape and arguments";
  let description = [{
    Launches the kernel that `kernel` names (`@module::@function`) on the
    current stream, after everything launched before it.

    - `grid`: one to three extents, in blocks.
    - `block`: one to three extents, in threads.
    - `cluster`: blocks that are scheduled together (compute capability 9.0 and up).
    - `shared`: bytes of dynamic shared memory beyond what the kernel itself asks for.
    - `cooperative`: all blocks are resident at once, so that the grid can synchronise.
    - `dependent`: programmatic dependent launch: may start before the previous
      kernel of the stream has finished; the kernel waits for it by itself.
    - `symbols`: variables of the kernel's module that receive the contents of
      `symbol_args` before the launch, on the same stream.

    Constraints: (C1) one to three grid extents; (C2) one to three positive
    block extents, at most 1024 threads; (C3) a cluster has one to three
    positive extents, no more than the grid has, and at most 16 blocks;
    (C4) `kernel` is `@module::@function`; (C5) if the kernel is a `gpu.func`,
    it has as many arguments, of the same types; (C6) as many symbols as
    `symbol_args`.

    ```mlir
    tl.launch @k::@k blocks(%g) threads(256) args(%A, %n : memref<?xf32>, i32)
    tl.launch @k::@k blocks(%g, %g) threads(128) cluster(2, 1) shared(%bytes) cooperative dependent args()
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Index>:$grid,
    DenseI64ArrayAttr:$block, OptionalAttr<DenseI64ArrayAttr>:$cluster,
    Optional<Index>:$shared, UnitAttr:$cooperative, UnitAttr:$dependent,
    Variadic<AnyType>:$args,
    OptionalAttr<StrArrayAttr>:$symbols, Variadic<AnyMemRef>:$symbol_args);
  let assemblyFormat = [{
    $kernel `blocks` `(` $grid `)` `threads` `` custom<Extents>($block)
    (`cluster` `` custom<Extents>($cluster)^)? (`shared` `(` $shared^ `)`)?
    (`cooperative` $cooperative^)? (`dependent` $dependent^)?
    `args` `(` ($args^ `:` type($args))? `)`
    (`symbols` $symbols^ `(` $symbol_args `:` type($symbol_args) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def TL_SourceKernelOp : TL_LaunchLikeOp<"source_kernel"> {
  let summary = "launch an entry of external device code";
  let description = [{
    Launches the `__global__` function `entry` of `sources` as a kernel. Grid,
    block, cluster and shared memory are as for `tl.launch`. Several sources are
    linked together.

    - `prelude`: text that is compiled before each source.
    - `flags`: options for the compiler, such as `-DN=4`.
    - `include_paths`: where `#include` looks.
    - `params`: how each parameter is made from `args`; by default a buffer's
      address and a scalar itself, in order.
    - `symbols`: variables of the module (`__constant__`, `__device__`) that
      receive the contents of `symbol_args` before the launch.

    `tl-resolve-sources` adds `headers` and `toolkit`, as in `tl.cuda_unit`, and
    says in `uncached` why it cannot know all headers, if so.

    Constraints: (C1) one to three grid extents; (C2) one to three positive
    block extents, at most 1024 threads; (C3) a cluster has one to three
    positive extents, no more than the grid has, and at most 16 blocks;
    (C4) one source at least, and each has text or names a file; (C5) a given
    entry name is not empty; (C6) parameters are made of `args`, and members of
    structs are neither structs nor tensor maps; (C7) as many symbols as `symbol_args`, which are buffers.

    ```mlir
    tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x, int n) {}">]) entry("f")
      blocks(%g) threads(256) args(%x, %n : memref<?xf32>, i32)
    ```
  }];
  let arguments = (ins TypedArrayAttrBase<TL_CudaSourceAttr, "sources">:$sources,
    OptionalAttr<StrAttr>:$entry,
    OptionalAttr<StrAttr>:$prelude, OptionalAttr<StrArrayAttr>:$flags,
    OptionalAttr<StrArrayAttr>:$include_paths, OptionalAttr<DictionaryAttr>:$headers,
    OptionalAttr<StrAttr>:$toolkit, OptionalAttr<StrAttr>:$uncached,
    Variadic<Index>:$grid, DenseI64ArrayAttr:$block,
    OptionalAttr<DenseI64ArrayAttr>:$cluster, Optional<Index>:$shared,
    UnitAttr:$cooperative, UnitAttr:$dependent,
    OptionalAttr<TypedArrayAttrBase<TL_ParamAttr, "parameters">>:$params,
    Variadic<AnyType>:$args,
    OptionalAttr<StrArrayAttr>:$symbols, Variadic<AnyMemRef>:$symbol_args);
  let assemblyFormat = [{
    `sources` `(` $sources `)` (`entry` `(` $entry^ `)`)?
    (`prelude` $prelude^)? (`flags` $flags^)? (`include_paths` $include_paths^)?
    (`headers` $headers^)? (`toolkit` $toolkit^)? (`uncached` $uncached^)?
    `blocks` `(` $grid `)` `threads` `` custom<Extents>($block)
    (`cluster` `` custom<Extents>($cluster)^)? (`shared` `(` $shared^ `)`)?
    (`cooperative` $cooperative^)? (`dependent` $dependent^)?
    `args` `(` ($args^ `:` type($args))? `)` (`params` $params^)?
    (`symbols` $symbols^ `(` $symbol_args `:` type($symbol_args) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def TL_AllocOp : TL_Op<"alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "allocate an on-chip buffer for the whole kernel";
  let description = [{
    Makes a buffer in workgroup memory (`#gpu.address_space<workgroup>`), in the
    registers of the block (`#tl.fragment`) or in the private memory of each
    thread (`#gpu.address_space<private>`). Its contents are undefined. `layout`
    says where the elements lie; `tl-infer-layouts` fills it in. `offset` is the
    byte offset in shared memory that `tl-plan-shared-memory` chose.

    Constraints: (C1) a static shape without zeros and the identity memref
    layout; (C2) one of the three memory spaces; (C3) a `#tl.fragment_layout` on
    fragments, a `#tl.shared_layout` on workgroup memory.

    ```mlir
    %As = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    ```
  }];
  let arguments = (ins OptionalAttr<AnyAttr>:$layout, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "(`layout` `(` $layout^ `)`)? (`offset` `(` $offset^ `)`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def TL_SlotOp : TL_Op<"slot", [Pure, ViewLikeOpInterface]> {
  let summary = "one buffer of a multi-buffered tile";
  let description = [{
    A view of `source` at position `index` of its first dimension. The index
    must be in bounds. In shared memory `source` is a ring of tiles, each laid out
    and aligned as a buffer of its own, also for whoever reaches into all of it.

    Constraints: (C1) the result has the source's type without its first dimension.

    ```mlir
    %As = tl.alloc : memref<4x128x64xf16, #gpu.address_space<workgroup>>
    %A2 = tl.slot %As[%s] : memref<4x128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Index:$index);
  let results = (outs AnyMemRef:$view);
  let assemblyFormat = "$source `[` $index `]` attr-dict `:` type($source) `to` type($view)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::Value getViewSource() { return getSource(); }
    mlir::Value getViewDest() { return getView(); }
  }];
}

def TL_LoadOp : TL_Op<"load", [DeclareOpInterfaceMethods<TL_EventOpInterface>, TypesMatchWith<"result is the buffer's element type",
    "source", "result", "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "read one element of a buffer";
  let description = [{
    Reads the element of `source` at `indices`. Outside `tl.parallel` every
    thread reads it; `tl-normalize-statements` hands an element of a fragment,
    which one of them holds, to all. In device memory a position out of bounds
    reads as zero.

    Constraints: (C1) one index for each dimension.

    ```mlir
    %x = tl.load %A[%i, %j] : memref<?x?xf16>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "the buffer read", [MemRead]>:$source, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def TL_StoreOp : TL_Op<"store", [DeclareOpInterfaceMethods<TL_EventOpInterface>, TypesMatchWith<"value has the buffer's element type",
    "target", "value", "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "write one element of a buffer";
  let description = [{
    Writes `value` to the element of `target` at `indices`. In device memory a
    position out of bounds is not written.

    Constraints: (C1) one index for each dimension.

    ```mlir
    tl.store %x, %A[%i, %j] : memref<?x?xf16>
    ```
  }];
  let arguments = (ins AnyType:$value, Arg<AnyMemRef, "the buffer written", [MemWrite]>:$target,
    Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $target `[` $indices `]` attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def TL_CutOp : TL_Op<"cut", [Pure]> {
  let summary = "how long a part of a buffer is that a copy takes";
  let description = [{
    A copy or fill takes a part of `buffer` that is `length` elements long in
    dimension `dimension`, as only the running kernel knows, of which it has
    `extent`. A length below zero is one of zero. The dimension is the program's,
    which may see the buffer in another shape.

    - `kind`: what that is. `inside`: as many of the elements are in the buffer;
      `at_most`: the other side has room for so many; `equal`: the other side has
      as many, or it is a mistake.

    The op does nothing, and a program that is not checked loses it as one without
    a use. `tl-add-checks` makes a question of it.

    Constraints: (C1) `dimension` is not negative, and below 16.

    ```mlir
    tl.cut at_most %A[0] length(%n) extent(%c64) : memref<?x64xf16>
    ```
  }];
  let arguments = (ins TL_CutAttr:$kind, AnyMemRef:$buffer, I64Attr:$dimension, Index:$length, Index:$extent);
  let assemblyFormat = [{
    $kind $buffer `[` $dimension `]` `length` `(` $length `)` `extent` `(` $extent `)` attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def TL_AtomicOp : TL_Op<"atomic", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<TL_EventOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "read and change one element of a buffer, in one step";
  let description = [{
    Combines the element of `target` at `indices` with `value`, and gives what it
    was before. Nothing that another thread or block does atomically to the element
    happens in between.

    - `kind`: `add`, `min` and `max` (`umin` and `umax` of unsigned integers),
      `and`, `or`, `xor`; `exchange` writes `value`; `compare_exchange` writes
      it if the element is `expected`; `load` writes nothing.
    - `order`: what the op orders besides its own element: `relaxed` nothing,
      `release` the accesses before it, `acquire` those after it, `acq_rel` both;
      `seq_cst` is part of one order of all such ops too. Other than `relaxed`, the
      op counts as one that reads and writes every tensor of the kernel.
    - `scope`: the threads among which the op is atomic, those of the block, of the
      device, or of the whole system.

    It is executed once where `tl.store` would be, however many threads have a
    copy of an iteration; as a statement of the block with `each_thread`, which
    `tl-mark-thread-statements` sets, once by each thread. In device memory a position out of bounds reads as zero
    and is not written.

    Constraints: (C1) one index for each dimension; (C2) `target` is in device or
    workgroup memory; (C3) `load` has no `value`, all other kinds have one, and
    `compare_exchange` alone has `expected`; (C4) elements are i32, i64, or, but
    for `umin`, `umax`, `and`, `or`, `xor` and `compare_exchange`, f16, bf16, f32,
    f64, or, for `and` and `or`, i8; (C5) a `load` releases nothing.

    ```mlir
    %old = tl.atomic add %x, %A[%i, %j] : memref<?x?xf32>
    %was = tl.atomic compare_exchange %new, %L[%i] expected(%free) order(acquire) : memref<?xi32>
    %now = tl.atomic load %L[%i] order(acquire) scope(system) : memref<?xi32>
    ```
  }];
  let arguments = (ins TL_AtomicKindAttr:$kind, Optional<AnyType>:$value, AnyMemRef:$target,
    Variadic<Index>:$indices, Optional<AnyType>:$expected,
    DefaultValuedAttr<TL_MemoryOrderAttr, "::tl::MemoryOrder::Relaxed">:$order,
    DefaultValuedAttr<TL_MemoryScopeAttr, "::tl::MemoryScope::Device">:$scope,
    UnitAttr:$eachThread);
  let results = (outs AnyType:$old);
  let assemblyFormat = [{
    $kind custom<AtomicPlace>($value, $target, $indices) (`expected` `(` $expected^ `)`)?
    (`order` `` custom<Order>($order)^)? (`scope` `` custom<Scope>($scope)^)?
    (`each_thread` $eachThread^)? attr-dict
    `:` custom<AtomicTypes>(ref($kind), type($value), type($target), type($expected), type($old))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if it does not matter what the element was.
    bool isStore() { return getKind() == ::tl::AtomicKind::Exchange && getOld().use_empty(); }
  }];
}

//===----------------------------------------------------------------------===//
// Tile ops
//===----------------------------------------------------------------------===//

def TL_PlacesOp : TL_Op<"places", [Pure, Terminator, HasParent<"CopyOp">, AttrSizedOperandSegments]> {
  let summary = "where a row that a copy gathers begins";
  let description = [{
    Ends the region of a `tl.copy` that gathers rows: `place` is the element of the source with which
    the row begins, and with `if` there is a row where `exists` holds. Where there is none the tile's row
    is zero, or with `else keep` what it was.

    ```mlir
    tl.places %batch, %row, %c0 if %valid
    ```
  }];
  let arguments = (ins Variadic<Index>:$place, Optional<I1>:$exists, UnitAttr:$keep);
  let assemblyFormat = "$place (`if` $exists^ (`else` `keep` $keep^)?)? attr-dict";
}

def TL_CopyOp : TL_TileOp<"copy", [AttrSizedOperandSegments]> {
  let summary = "copy a tile between memory spaces";
  let description = [{
    Copies a tile of shape `tile` from `source`, starting at `source_offsets`,
    to `target`, starting at `target_offsets`, element by element. Element types
    that differ are converted: floats round to nearest even, and become integers
    towards zero and as near as the type allows (`Convert.h`). A side without offsets
    starts at zero. The tile's dimensions are the last ones of each side; the
    ones before have extent one. A side that has fewer leaves out extents of
    one, the innermost first, but never the last dimension: the tile (1, 64, 1,
    128) of a tensor is one of (64, 128) for a side of two dimensions
    (`CopyTile.h`). What lies outside of a buffer in device memory reads as zero
    and is not written.

    With `async` the copy may still be under way after the op:

    - by `cp.async`, until the `tl.wait_copies` of the group that the next
      `tl.commit_copies` closes;
    - a bulk load, until a `tl.wait_barrier` for the phase of `barrier` on which
      it completes: the op arrives there once, and announces its bytes;
    - a bulk store, which is a group of its own, until its `tl.wait_stores`.

    With `bulk` the copy engine of compute capability 9.0 carries it out
    (`cp.async.bulk.tensor`): one thread starts it, and what ordinary instructions
    wrote to the tile must have been made visible to the engine by `tl.fence_async`
    and a barrier, which `tl-insert-sync` sees to. A bulk store that is not `async` has read its tile when the op ends.

    A bulk store with `accumulate` adds the tile to what device memory holds
    (`cp.reduce.async.bulk.tensor`), element by element, each as a relaxed `tl.atomic`
    of the device's scope does.

    A load with `multicast`, whose target are slots and whose kernel has `tl.cluster`, is
    one that the blocks of a cluster, which all execute it with equal offsets, do
    together. The engine writes what each of them has fetched, a part of the tile,
    to the same bytes of every block; and the load completes in each block on its
    own barrier, which announces the whole tile.

    A bulk load with `round_tf32` rounds each f32 on its way to the nearest number
    that tf32 has, as `wgmma` needs it: nothing but factors of `tl.gemm` by `wgmma`
    is read of such a tile, which `tl-verify-sync` proves.

    With `places` the copy gathers rows: the region computes, for all indices of the
    tile but the last, where in the source the row begins (`tl.places`), and whether
    there is one; without one the row is zero, or stays as it is. It may read tensors. With `bulk` the rows are
    a box of the tensor (`RowBox.h`).

    `tl-find-gathers` makes such copies.
    `tl-assign-stages` marks the copies of a `tl.pipelined` that run ahead,
    `tl-mark-bulk-stores` makes stores `bulk`, `tl-expand-pipeline` makes the
    copies of a `tl.pipe` `async`, and `tl-round-factors` decides on `round_tf32`.

    Constraints: (C1) offsets are none or one for each dimension; (C2) the tile
    has positive extents, no more dimensions than the side that has most, and no
    more but those of extent one than the other, nor than either of two
    fragments; (C3) the tile fits into an on-chip side; (C4) a barrier needs `async bulk`, a source in
    device memory and a target in workgroup memory of the same element type;
    (C5) element types are both numbers; (C6) `accumulate` needs `bulk`, a source in
    workgroup memory and a target in device memory of the same element type,
    one that the engine adds: f32, f16, bf16 or i32; (C7) `multicast` needs a source in device
    memory and a target in workgroup memory of the same element type; (C8) `round_tf32`
    needs `bulk`, a source in device memory and a target in workgroup memory, both of f32;
    (C9) `places` needs a source in device memory and a target in workgroup memory of the
    same element type, both without offsets, a tile of all dimensions of the target, and
    neither `multicast` nor `accumulate`; its block has an index for each dimension of the tile
    but the last, and ends in `tl.places`, with a place for each dimension of the source;
    what it does beside is arithmetic and `tl.load` of device memory.

    ```mlir
    tl.copy %A[%r, %c] to %As tile(128, 64) : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "the buffer read", [MemRead]>:$source, Variadic<Index>:$sourceOffsets,
    Arg<AnyMemRef, "the buffer written", [MemWrite]>:$target, Variadic<Index>:$targetOffsets,
    DenseI64ArrayAttr:$tile, UnitAttr:$async, UnitAttr:$bulk,
    Optional<AnyMemRef>:$barrier, Optional<Index>:$barrierIndex,
    UnitAttr:$accumulate, UnitAttr:$multicast, UnitAttr:$roundTF32);
  let regions = (region VariadicRegion<SizedRegion<1>>:$places);
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$sourceOffsets,
    "::mlir::Value":$target, "::mlir::ValueRange":$targetOffsets,
    "::mlir::DenseI64ArrayAttr":$tile, "bool":$async, "bool":$bulk, "::mlir::Value":$barrier,
    "::mlir::Value":$barrierIndex, CArg<"bool", "false">:$accumulate,
    CArg<"bool", "false">:$multicast), [{
      build($_builder, $_state, source, sourceOffsets, target, targetOffsets, tile, async,
            bulk, barrier, barrierIndex, accumulate, multicast, /*roundTF32=*/false,
            /*placesCount=*/0);
    }]>];
  let extraClassDeclaration = [{
    /// Whether it gathers rows.
    bool isGather() { return !getPlaces().empty(); }
    /// Where the rows of a gather begin.
    PlacesOp getRows();
    /// Whether it gathers rows, and leaves those alone that do not exist.
    bool keepsRows();
    /// The tensors that a gather reads to find its rows.
    ::llvm::SmallVector<::mlir::Value> getTables();
  }];
  let assemblyFormat = [{
    $source (`[` $sourceOffsets^ `]`)? `to` $target (`[` $targetOffsets^ `]`)?
    `tile` `` custom<Extents>($tile) (`places` $places^)? (`async` $async^)? (`bulk` $bulk^)?
    (`accumulate` $accumulate^)? (`multicast` $multicast^)? (`round_tf32` $roundTF32^)? (`barrier` `(` $barrier^ `[` $barrierIndex `]` `:` type($barrier) `)`)?
    attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def TL_FillOp : TL_TileOp<"fill", [TypesMatchWith<"value has the buffer's element type",
    "target", "value", "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "set every element of a tile";
  let description = [{
    Writes `value` to every element of `target`.

    Constraints: (C1) `target` is an on-chip buffer; (C2) `value` has its
    element type.

    ```mlir
    tl.fill %acc, %zero : memref<128x128xf32, #tl.fragment>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "the buffer written", [MemWrite]>:$target, AnyType:$value);
  let assemblyFormat = "$target `,` $value attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def TL_GemmOp : TL_TileOp<"gemm"> {
  let summary = "multiply two tiles and add to a third";
  let description = [{
    `acc += A * B`, with A of shape M x K (K x M with `transpose_a`) and B of
    shape K x N (N x K with `transpose_b`). Products are accumulated in the
    accumulator's type.

    A may be a fragment: matrix instructions take it from registers, if it lies
    as they have their operands (that is how an accumulator of 16-bit elements
    lies, so that the result of one gemm can be an operand of the next);
    `tl-stage-fragments` moves what lies otherwise.

    With `async` the product may still be running after the op: a
    `tl.wait_gemm` that names the accumulator, and A if that is a fragment,
    completes it. `plan` is chosen by
    `tl-plan-gemms`; a gemm whose plan is `wgmma` is made `async` by
    `tl-overlap-gemms`, and no other one is.

    With `a_at` and `b_at` an operand is a window of its tile that begins at this row
    and column, and `depth` is the K of the product; M and N are the accumulator's.
    What is outside of the window is not read. `tl-plan-gemms` takes an instruction
    only if it can begin there.

    `narrow_a` and `narrow_b` say that all of A or B are numbers of tf32 already,
    which need not be rounded. `tl-round-factors` sets them, and `tl-verify-sync`
    proves them.

    Constraints: (C1) all three have rank 2; (C2) shapes agree; (C3) A and B
    have the same element type, or each of them one of f8E4M3FN and f8E5M2; (C4)
    element types are one of f16, bf16, f32, f8E4M3FN and f8E5M2 with an f32
    accumulator, f16 with f16, i8 with i32, f64 with f64; (C5) A is in workgroup
    memory or a fragment, B is in workgroup memory, the accumulator is a fragment
    and not A; (C6) a window is inside of its tile, and of a tile in workgroup memory,
    and there is a `depth` if and only if there is a window; (C7) what is narrow is of f32.

    ```mlir
    tl.gemm %As, %Bs, %acc transpose_b : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    tl.gemm %p, %Vs, %o : memref<128x128xf16, #tl.fragment>, memref<128x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf32, #tl.fragment>
    tl.gemm %As, %Bs, %acc transpose_b a_at [0, 64] b_at [0, 64] depth(32) : memref<128x96xf16, #gpu.address_space<workgroup>>, memref<128x96xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "the left tile", [MemRead]>:$a, Arg<AnyMemRef, "the right tile", [MemRead]>:$b,
    Arg<AnyMemRef, "the accumulator", [MemRead, MemWrite]>:$acc,
    UnitAttr:$transposeA, UnitAttr:$transposeB,
    DefaultValuedAttr<TL_GemmPolicyAttr, "::tl::GemmPolicy::Square">:$policy,
    UnitAttr:$async, OptionalAttr<TL_GemmPlanAttr>:$plan,
    OptionalAttr<DenseI64ArrayAttr>:$aAt, OptionalAttr<DenseI64ArrayAttr>:$bAt,
    OptionalAttr<I64Attr>:$depth, UnitAttr:$narrowA, UnitAttr:$narrowB);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`transpose_a` $transposeA^)? (`transpose_b` $transposeB^)?
    (`a_at` $aAt^)? (`b_at` $bAt^)? (`depth` `(` $depth^ `)`)?
    (`narrow_a` $narrowA^)? (`narrow_b` $narrowB^)?
    (`policy` `(` custom<Policy>($policy)^ `)`)? (`async` $async^)? (`plan` `(` $plan^ `)`)?
    attr-dict `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getM(); int64_t getN(); int64_t getK();

    /// The row and column of its tile at which A or B begins.
    ::std::array<int64_t, 2> getPlace(bool ofB);
    bool hasWindow(bool ofB) { return (ofB ? getBAt() : getAAt()).has_value(); }
    bool isNarrow(bool ofB) { return ofB ? getNarrowB() : getNarrowA(); }
    void setNarrow(bool ofB) { ofB ? setNarrowB(true) : setNarrowA(true); }
    /// The rows and columns of A or B as they lie in its tile.
    ::std::array<int64_t, 2> getOperandShape(bool ofB);
    /// The type of a tile that holds A or B and nothing else.
    ::mlir::MemRefType getOperandType(bool ofB);
    /// Has the gemm read A or B from `tile`, which holds nothing else.
    void setOperand(bool ofB, ::mlir::Value tile);
  }];
}

def TL_ReduceOp : TL_TileOp<"reduce"> {
  let summary = "reduce a tile along one dimension";
  let description = [{
    Combines the elements of `source` along dimension `dim` into `target`, whose
    shape is the source's without that dimension; that of a source of one
    dimension is a tile of one element, or of no dimension. `umax` and `umin` read
    integers as unsigned, and `i1` as 0 and 1. With `accumulate` the value
    that `target` held takes part. `workspace` is shared memory through which
    groups of threads exchange partial results; `tl-add-workspaces` adds it where
    needed.

    Constraints: (C1) `dim` is a dimension of the source; (C2) the target has
    the source's shape without it, or one element if nothing is left; (C3) the same element type, a float or a
    signless integer; (C4) both are fragments; (C5) `umax` and `umin` are of integers,
    and nothing else is done with `i1`.

    ```mlir
    tl.reduce max %S to %m dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
    ```
  }];
  let arguments = (ins TL_ReduceKindAttr:$kind, Arg<AnyMemRef, "the tile read", [MemRead]>:$source,
    Arg<AnyMemRef, "the tile written", [MemRead, MemWrite]>:$target, I64Attr:$dim, UnitAttr:$accumulate,
    Arg<Optional<AnyMemRef>, "shared memory for partial results", [MemRead, MemWrite]>:$workspace);
  let assemblyFormat = [{
    $kind $source `to` $target `dim` `(` $dim `)` (`accumulate` $accumulate^)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def TL_ParallelOp : TL_TileOp<"parallel", [SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects]> {
  let summary = "element-wise loop nest whose iterations are spread over a block";
  let description = [{
    Executes the body once for each point of a box, in any order, on any thread.
    Iterations must not depend on each other. Fragments are read and written
    here with `tl.load` and `tl.store`. At the loop's own indices, or at some of
    them, they stay in registers if layouts allow; at others
    `tl-stage-fragments` takes them through shared memory. `layout` says which thread runs which iteration.

    Constraints: (C1) positive extents; (C2) one index argument for each.

    ```mlir
    tl.parallel (%i, %j) in (128, 64) {
      %x = tl.load %acc[%i, %j] : memref<128x64xf32, #tl.fragment>
      %y = arith.maximumf %x, %zero : f32
      tl.store %y, %acc[%i, %j] : memref<128x64xf32, #tl.fragment>
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$extents, OptionalAttr<TL_FragmentLayoutAttr>:$layout);
  let regions = (region SizedRegion<1>:$body);
  // A body with an index for each extent, and nothing in it yet.
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<int64_t>":$extents,
                                 CArg<"::tl::FragmentLayoutAttr", "{}">:$layout)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def TL_PipelinedOp : TL_Op<"pipelined", [SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  let summary = "loop whose copies run ahead of its arithmetic";
  let description = [{
    A loop from `lower` to `upper` (exclusive) in steps of one. It means what the
    loop without stages means. Its copies from device memory to workgroup memory
    may be started up to `stages` - 1 iterations early where no statement can tell:
    `tl-assign-stages` finds those copies, marks them `tl.ahead`, and says by
    which `tl.engine` they go. `tl-expand-pipeline` then makes a `scf.for` of the
    loop, with a `tl.pipe` whose rings have `stages` slots in the place of each
    buffer that they fill.

    Constraints: (C1) `stages` is at least 1; (C2) one index argument.

    ```mlir
    tl.pipelined %k = %c0 to %n stages(3) {
    }
    ```
  }];
  let arguments = (ins Index:$lower, Index:$upper, I64Attr:$stages);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Synchronisation at tile level
//===----------------------------------------------------------------------===//

def TL_AllocBarriersOp : TL_Op<"alloc_barriers", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "allocate and initialise mbarriers";
  let description = [{
    Makes an array of `mbarrier` objects, each of which completes a phase after
    `arrivals` arrivals and the bytes they announce. They are initialised at the
    start of the kernel, before any thread uses them, by one thread for which the
    block then waits. `offset` is the byte offset in shared memory.

    ```mlir
    %full = tl.alloc_barriers arrivals(2) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins I64Attr:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<MemRefRankOf<[TL_MBarrierType], [1]>, "", [MemAlloc]>:$barriers);
  let assemblyFormat = "`arrivals` `(` $arrivals `)` (`offset` `(` $offset^ `)`)? attr-dict `:` type($barriers)";
}

def TL_WaitBarrierOp : TL_Op<"wait_barrier", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until a phase of an mbarrier has completed";
  let description = [{
    Blocks until the phase of `barriers[index]` with the given parity (0 or 1)
    has completed. The copies that complete on it are then visible.

    ```mlir
    tl.wait_barrier %full[%s] parity(%p) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins MemRefRankOf<[TL_MBarrierType], [1]>:$barriers, Index:$index, I32:$parity);
  let assemblyFormat = "$barriers `[` $index `]` `parity` `(` $parity `)` attr-dict `:` type($barriers)";
}

def TL_CommitCopiesOp : TL_Op<"commit_copies", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "close the group of asynchronous copies started so far";
  let description = [{
    The `async` copies without a barrier since the last one form a group
    (`cp.async.commit_group`).
  }];
  let assemblyFormat = "attr-dict";
}

def TL_WaitCopiesOp : TL_Op<"wait_copies", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups of copies are under way";
  let description = [{
    Each thread waits for its own groups (`cp.async.wait_group`); a
    `gpu.barrier` then makes them visible to the block.

    ```mlir
    tl.wait_copies 2
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def TL_WaitGemmOp : TL_Op<"wait_gemm", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` asynchronous gemms are under way";
  let description = [{
    The `async` gemms of a kernel run and complete in the order of the program.
    All of them but the last `pending` are complete after it: their operands may
    be overwritten, and the accumulators among them that are named may be read
    and written. An accumulator is in registers, which the wait has to name
    (`wgmma.wait_group`); one that is not named stays under way, whatever
    `pending` is. The same holds of an operand that is a fragment. A fragment
    that no gemm is using may be named as well: what is computed from it behind
    the wait is not computed before it.

    `tl-overlap-gemms` puts one before the first op that touches an accumulator in
    another way than by the same kind of gemm, writes an operand, or releases a
    slot that holds one.

    ```mlir
    tl.wait_gemm 1
    tl.wait_gemm 1 (%first : memref<128x128xf32, #tl.fragment>)
    tl.wait_gemm 0 (%acc : memref<128x128xf32, #tl.fragment>)
    ```
  }];
  let arguments = (ins I64Attr:$pending, Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$fragments);
  let assemblyFormat = "$pending (` ` `(` $fragments^ `:` type($fragments) `)`)? attr-dict";
}

def TL_WaitStoresOp : TL_Op<"wait_stores", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` bulk stores are under way";
  let description = [{
    The thread that starts bulk copies waits for its own stores
    (`cp.async.bulk.wait_group`): until device memory holds what they wrote, or,
    with `read`, only until the tiles in shared memory have been read. A
    `gpu.barrier` then lets the block know.

    ```mlir
    tl.wait_stores 0
    tl.wait_stores 1 read
    ```
  }];
  let arguments = (ins I64Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def TL_FenceAsyncOp : TL_Op<"fence_async", [DeclareOpInterfaceMethods<TL_EventOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "order a thread's writes before accesses through the async proxy";
  let description = [{
    Shared memory that was written by ordinary stores is touched next by `wgmma`
    or the bulk copy engine: each writing thread executes this before the barrier
    (PTX ISA, "Async proxy": `fence.proxy.async.shared::cta`). With `device` the
    same holds of device memory (`fence.proxy.async`).

    ```mlir
    tl.fence_async
    tl.fence_async device
    ```
  }];
  let arguments = (ins UnitAttr:$device);
  let assemblyFormat = "(`device` $device^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Thread level
//===----------------------------------------------------------------------===//

def TL_SharedBaseOp : TL_Op<"shared_base", [Pure]> {
  let summary = "address of the block's dynamic shared memory";
  let description = [{
    The address is a multiple of 1024 bytes.

    ```mlir
    %smem = tl.shared_base : !llvm.ptr<3>
    ```
  }];
  let results = (outs TL_SharedPointer:$address);
  let assemblyFormat = "attr-dict `:` type($address)";
}

def TL_AtomOp : TL_Op<"atom", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "read and change a word of memory in one step";
  let description = [{
    `atom`, `red`, and `ld` and `st` with an order, of the PTX ISA, by each thread for itself;
    operands are as for `tl.atomic`. What no instruction does is made of
    `compare_exchange`s by `tl-lower-tile-ops`. A byte is changed in the word of 32
    bits that it is a part of, which keeps its other bytes.

    Constraints: (C1) `load` has no `value`, all other kinds have one, and
    `compare_exchange` alone has `expected`; (C2) there is an instruction for the type:
    i32 and i64 for all kinds; f16, bf16, f32 and f64 for `add` and `load`; f32 and f64
    for `exchange`; i16 for `compare_exchange` and `load`; i8 for `and` and `or`; vectors of 2 or 4 f32, and of
    2, 4 or 8 f16 or bf16, for `add` from compute capability 9.0 on, each element in a step of its own; (C3) the pointer is generic,
    or to device or shared memory; (C4) a `load` releases nothing; (C5) that of a vector is to device memory,
    the order is `relaxed`, and nobody uses the result.

    ```mlir
    %old = tl.atom add %p, %x : !llvm.ptr<1>, f32
    %was = tl.atom compare_exchange %p, %new expected(%free) order(acquire) scope(block) : !llvm.ptr<3>, i32
    ```
  }];
  let arguments = (ins TL_AtomicKindAttr:$kind, LLVM_AnyPointer:$address, Optional<AnyType>:$value,
    Optional<AnyType>:$expected,
    DefaultValuedAttr<TL_MemoryOrderAttr, "::tl::MemoryOrder::Relaxed">:$order,
    DefaultValuedAttr<TL_MemoryScopeAttr, "::tl::MemoryScope::Device">:$scope);
  let results = (outs AnyType:$old);
  let assemblyFormat = [{
    $kind $address (`,` $value^)? (`expected` `(` $expected^ `)`)?
    (`order` `` custom<Order>($order)^)? (`scope` `` custom<Scope>($scope)^)? attr-dict
    `:` type($address) `,` custom<AtomTypes>(ref($kind), type($value), type($expected), type($old))
  }];
  let hasVerifier = 1;
}

def TL_LdmatrixOp : TL_Op<"ldmatrix", [MemoryEffects<[MemRead]>]> {
  let summary = "load 8x8 matrices of 16-bit elements by a warp";
  let description = [{
    `ldmatrix.sync.aligned.m8n8.xN.shared.b16` of the PTX ISA, N being the
    length of the result (1, 2 or 4). Lane l gives the address of row l mod 8 of
    matrix l / 8.

    ```mlir
    %r = tl.ldmatrix %p transpose : !llvm.ptr<3> -> vector<4xi32>
    ```
  }];
  let arguments = (ins TL_SharedPointer:$address, UnitAttr:$transpose);
  let results = (outs VectorOfLengthAndType<[1, 2, 4], [I32]>:$result);
  let assemblyFormat = "$address (`transpose` $transpose^)? attr-dict `:` type($address) `->` type($result)";
}

def TL_StmatrixOp : TL_Op<"stmatrix", [MemoryEffects<[MemWrite]>]> {
  let summary = "store 8x8 matrices of 16-bit elements by a warp";
  let description = [{
    `stmatrix.sync.aligned.m8n8.xN.shared.b16` (compute capability 9.0), N being
    the length of `value` (1, 2 or 4).

    ```mlir
    tl.stmatrix %v, %p : vector<4xi32>, !llvm.ptr<3>
    ```
  }];
  let arguments = (ins VectorOfLengthAndType<[1, 2, 4], [I32]>:$value, TL_SharedPointer:$address, UnitAttr:$transpose);
  let assemblyFormat = "$value `,` $address (`transpose` $transpose^)? attr-dict `:` type($value) `,` type($address)";
}

def TL_MmaOp : TL_Op<"mma", [Pure, AllTypesMatch<["c", "d"]>]> {
  let summary = "warp matrix multiply-accumulate";
  let description = [{
    `mma.sync.aligned.m16n8kK.row.col` of the PTX ISA on the registers of one
    warp: `d = a * b + c`. Each thread's part of `a` and `b` is given as 32-bit
    registers in the order of the PTX ISA; `c` and `d` as 4 elements. K is 16
    for f16 and bf16, 8 for tf32, 32 for 8-bit types. `kind` is the type of both
    operands' elements, or of those of `a`, and those of `b` are `by`.

    Constraints: (C1) `a` has 4 registers and `b` 2; (C2) `c` has 4 elements of
    f32, f16 (kinds f16, e4m3 and e5m2 only) or i32 (kinds s8, u8 only, which have no
    other); (C3) `by` is another kind than `kind`, and both are 8-bit floats or
    both 8-bit integers.

    ```mlir
    %d = tl.mma bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    %e = tl.mma e4m3 by e5m2 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    ```
  }];
  let arguments = (ins TL_MmaKindAttr:$kind, OptionalAttr<TL_MmaKindAttr>:$by,
    VectorOfLengthAndType<[4], [I32]>:$a,
    VectorOfLengthAndType<[2], [I32]>:$b, VectorOfLengthAndType<[4], [F32, F16, I32]>:$c);
  let results = (outs VectorOfLengthAndType<[4], [F32, F16, I32]>:$d);
  let assemblyFormat = "$kind (`by` $by^)? $a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::tl::MmaKind getKindOfB() { return getBy().value_or(getKind()); }
  }];
}

def TL_WgmmaOp : TL_Op<"wgmma", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "one group of warp-group matrix multiply-accumulates, from fence to commit";
  let description = [{
    `wgmma.fence`, a series of `wgmma.mma_async.m64nNkK` and
    `wgmma.commit_group`, executed by the four warps of a warp group (compute
    capability 9.0a). Instruction i multiplies the tile at descriptor `a` +
    `a_offsets`[i] with the one at `b` + `b_offsets`[i] (offsets in the
    descriptors' unit of 16 bytes) and adds it to the N / 2 elements of the
    accumulator that start at `acc_offsets`[i]. `kind` is the type of both
    operands' elements, or of those of A, and those of B are `by`.

    A may be in registers instead: `a` is then a vector of 32-bit registers, of
    which instruction i takes the four from number `a_offsets`[i] on, in the order
    of the PTX ISA.

    The result is not complete: it may only be the accumulator of a further
    `tl.wgmma`, be carried by a loop, or go into a `tl.wgmma_wait`, because LLVM
    would move arithmetic over a wait that does not carry it. The wait also
    carries what registers of A were made of, which lives until then.

    Constraints: (C1) the three offset lists have one entry for each
    instruction; (C2) n is a multiple of 8 from 8 to 256; (C3) each part of the
    accumulator lies inside it; (C4) accumulator elements are f32, f16 (kinds
    f16, e4m3 and e5m2 only) or i32 (kinds s8, u8 only, which have no other); (C5) MN-major
    operands are in shared memory, and of 16-bit types; (C6) `by` is another kind
    than `kind`, and both are 8-bit floats or both 8-bit integers; (C7) the registers
    of each instruction lie inside those of A.

    ```mlir
    %r = tl.wgmma bf16 n(128) %da, %db, %acc acc_offsets([0, 0]) a_offsets([0, 2]) b_offsets([0, 2]) : vector<64xf32>
    %o = tl.wgmma f16 n(64) %p, %db, %acc acc_offsets([0, 0]) a_offsets([0, 4]) b_offsets([0, 128]) : vector<8xi32>, vector<32xf32>
    ```
  }];
  let arguments = (ins TL_MmaKindAttr:$kind, OptionalAttr<TL_MmaKindAttr>:$by, I64Attr:$n,
    AnyTypeOf<[I64, VectorOfRankAndType<[1], [I32]>]>:$a, I64:$b, AnyVectorOfNonZeroRank:$acc,
    DenseI64ArrayAttr:$accOffsets, DenseI64ArrayAttr:$aOffsets, DenseI64ArrayAttr:$bOffsets,
    UnitAttr:$aMNMajor, UnitAttr:$bMNMajor);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $kind (`by` $by^)? `n` `(` $n `)` $a `,` $b `,` $acc (`a_mn_major` $aMNMajor^)? (`b_mn_major` $bMNMajor^)?
    `acc_offsets` `(` $accOffsets `)` `a_offsets` `(` $aOffsets `)` `b_offsets` `(` $bOffsets `)`
    attr-dict `:` custom<WgmmaTypes>(type($a), type($acc))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::tl::MmaKind getKindOfB() { return getBy().value_or(getKind()); }
    /// True if A is in registers.
    bool hasRegisterA() { return ::mlir::isa<::mlir::VectorType>(getA().getType()); }
  }];
}

def TL_WgmmaWaitOp : TL_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>, InferTypeOpInterface]> {
  let summary = "wait until at most `pending` wgmma groups are under way";
  let description = [{
    `wgmma.wait_group.sync.aligned`. The results are the operands: accumulators
    complete, the registers of A free to be used again, anything else as it was. The
    registers pass through the instruction so that nothing that uses them can
    move before it.

    Constraints: (C1) results have the operands' types.

    ```mlir
    tl.wgmma_wait 1
    %done = tl.wgmma_wait 0 (%acc : vector<64xf32>)
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<AnyVectorOfNonZeroRank>:$values);
  let results = (outs Variadic<AnyVectorOfNonZeroRank>:$results);
  let assemblyFormat = "$pending (` ` `(` $values^ `:` type($values) `)`)? attr-dict";
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(::mlir::MLIRContext *context,
      ::std::optional<::mlir::Location> location, ::mlir::ValueRange operands,
      ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties,
      ::mlir::RegionRange regions, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      llvm::append_range(types, operands.getTypes());
      return ::llvm::success();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Target level
//===----------------------------------------------------------------------===//

def TL_CudaUnitOp : TL_Op<"cuda_unit", [IsolatedFromAbove, HasParent<"::mlir::gpu::GPUModuleOp">]> {
  let summary = "one translation unit of device code";
  let description = [{
    Source text that `tl-compile-cuda` compiles, of an external source kernel or
    from `tl-emit-cuda`. All units of a `gpu.module` are linked together; the
    kernels in them that are launched are the module's `tl.cuda_entry`s. The text
    is what the user wrote, verbatim.

    - `name`: the name of the text in messages, such as `saxpy.cu`; its folder
      part is the place of the text among `headers`.
    - `prelude`: text that is compiled before it and has lines of its own.
    - `flags`: options for the compiler, such as `-DN=4`.
    - `headers`: the text of every header that the unit can reach, by path.
    - `include_paths`: where `#include <…>` looks, after the folder of the
      including file for `#include "…"`: folders of `headers`, or absolute paths.
    - `toolkit`: the digest of the toolkit's headers that the unit can reach.

    Everything that can change what comes out of the compiler, other than the
    compiler, is thus in the op.

    Constraints: (C1) the text is not empty; (C2) prelude, flags, headers and
    include paths are for CUDA C++ only; (C3) headers are text.

    ```mlir
    gpu.module @saxpy {
      tl.cuda_unit "saxpy.cu" "__global__ void saxpy(float *x) { x[0] = TWO; }"
        flags ["-DTWO=2.0f"]
      tl.cuda_entry @saxpy params([#tl.param<base, 0>]) block(128) shared(0)
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$text,
    DefaultValuedAttr<TL_SourceLanguageAttr, "::tl::SourceLanguage::Cuda">:$language,
    OptionalAttr<StrAttr>:$prelude, OptionalAttr<StrArrayAttr>:$flags,
    OptionalAttr<DictionaryAttr>:$headers, OptionalAttr<StrArrayAttr>:$include_paths,
    OptionalAttr<StrAttr>:$toolkit);
  let assemblyFormat = [{
    $name $text (`language` $language^)? (`prelude` $prelude^)? (`flags` $flags^)?
    (`headers` $headers^)? (`include_paths` $include_paths^)? (`toolkit` $toolkit^)? attr-dict
  }];
  let hasVerifier = 1;
}

def TL_CudaEntryOp : TL_Op<"cuda_entry", [Symbol, IsolatedFromAbove, HasParent<"::mlir::gpu::GPUModuleOp">]> {
  let summary = "a kernel in the units of its module";
  let description = [{
    Stands for a `__global__` function of the module's `tl.cuda_unit`s, which
    launches call by `sym_name`. `entry` is the function's name in the text, or a
    C++ expression that names it (`ns::scale<float, 4>`); it is `sym_name` if it
    is not given. `symbols` are the names or expressions of the variables that
    launches set. Parameters, block and dynamic shared memory are as for
    `tl.compiled_kernel`, which `tl-compile-cuda` makes of it.

    Constraints: (C1) the entry is not empty; (C2) one to three positive block
    extents, at most 1024 threads.

    ```mlir
    gpu.module @scale {
      tl.cuda_unit "scale.cu" "template <typename T> __global__ void scale(T *x) {}"
      tl.cuda_entry @scale entry("scale<float>") params([#tl.param<base, 0>]) block(128) shared(0)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$entry,
    TypedArrayAttrBase<TL_ParamAttr, "parameters">:$params,
    DenseI64ArrayAttr:$block, I64Attr:$shared, OptionalAttr<StrArrayAttr>:$symbols);
  let assemblyFormat = [{
    $sym_name (`entry` `(` $entry^ `)`)? `params` `(` $params `)` `block` `` custom<Extents>($block)
    `shared` `(` $shared `)` (`symbols` $symbols^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The name of the function, or the expression that names it, in the text.
    ::llvm::StringRef getEntryExpression() { return getEntry().value_or(getSymName()); }
  }];
}

def TL_CompiledKernelOp : TL_Op<"compiled_kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "a kernel as its artifacts";
  let description = [{
    What code generation leaves of a kernel: the files made (`kernel.ptx`,
    `kernel.cubin`, `kernel.o` …, by name), how the host makes each parameter,
    the block shape it was compiled for, and the dynamic shared memory it needs
    in bytes. `entry` is the kernel's symbol in the files if it is not
    `sym_name`, `symbols` are those of the variables that launches set. Kernels
    of one module have the same files.

    ```mlir
    tl.compiled_kernel @k params([#tl.param<base, 0>]) block(128) shared(0) files({kernel.ptx = "…"})
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$entry,
    TypedArrayAttrBase<TL_ParamAttr, "parameters">:$params,
    DenseI64ArrayAttr:$block, I64Attr:$shared, DictionaryAttr:$files,
    OptionalAttr<StrArrayAttr>:$symbols);
  let assemblyFormat = [{
    $sym_name (`entry` `(` $entry^ `)`)? `params` `(` $params `)` `block` `` custom<Extents>($block)
    `shared` `(` $shared `)` (`symbols` $symbols^)? `files` `(` $files `)` attr-dict
  }];
}

def TL_LaunchPlanOp : TL_Op<"launch_plan", [Symbol, IsolatedFromAbove]> {
  let summary = "what the host does to run an entry function";
  let description = [{
    The argument checks and launches of one entry function as data, in the
    structure of the launch plan's JSON form (docs/LaunchPlan.md).

    ```mlir
    tl.launch_plan @f {args = [], launches = []}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$plan);
  let assemblyFormat = "$sym_name $plan attr-dict";
}

#endif // TL_DIALECT_TL_IR_TLOPS_TD
