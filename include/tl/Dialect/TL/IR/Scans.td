//===- Scans.td - Running sums and extremes ----------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_SCANS_TD
#define TL_DIALECT_TL_IR_SCANS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLAttrs.td"
include "tl/Dialect/TL/IR/TLBase.td"
include "tl/Dialect/TL/IR/TLInterfaces.td"

def TL_ScanOp : Op<TL_Dialect, "scan", [
    AllTypesMatch<["source", "target"]>, DeclareOpInterfaceMethods<TL_TileOpInterface>,
    DeclareOpInterfaceMethods<TL_EventOpInterface>]> {
  let summary = "combine each element with all before it along one dimension";
  let description = [{
    Each element of `target` becomes what `source` has there and at all places
    before it along dimension `dim`, combined as `tl.reduce` combines; with
    `reverse`, at all places behind it. `target` may be `source`. `umax` and
    `umin` read integers as unsigned. In which order sums of floats are made is
    not said. `workspace` is shared memory through which groups of threads
    exchange what they have in all; `tl-add-workspaces` adds it where needed.

    Constraints: (C1) `dim` is a dimension; (C2) both are fragments; (C3) of
    floats or signless integers wider than `i1`; (C4) no absolute values are
    combined, and `umax` and `umin` are of integers.

    ```mlir
    tl.scan sum %x to %sums dim(1) reverse : memref<64x32xf32, #tl.fragment>
    ```
  }];
  let arguments = (ins TL_ReduceKindAttr:$kind, Arg<AnyMemRef, "the tile read", [MemRead]>:$source,
    Arg<AnyMemRef, "the tile written", [MemWrite]>:$target, I64Attr:$dim, UnitAttr:$reverse,
    Arg<Optional<AnyMemRef>, "shared memory for what groups have in all", [MemRead, MemWrite]>:$workspace);
  let assemblyFormat = [{
    $kind $source `to` $target `dim` `(` $dim `)` (`reverse` $reverse^)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict `:` type($source)
  }];
  let hasVerifier = 1;
}

#endif // TL_DIALECT_TL_IR_SCANS_TD
