//===- Warps.td - What threads of a warp do together --------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_WARPS_TD
#define TL_DIALECT_TL_IR_WARPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"
include "tl/Dialect/TL/IR/TLInterfaces.td"

def TL_ShuffleOp : Op<TL_Dialect, "shuffle", [
    AllTypesMatch<["source", "target"]>, DeclareOpInterfaceMethods<TL_TileOpInterface>,
    DeclareOpInterfaceMethods<TL_EventOpInterface>]> {
  let summary = "give each thread what another lane of its warp has";
  let description = [{
    All threads of the block take part. Element t of `source` belongs to thread
    t, and that of `target` becomes what the lane that `lanes` names for it has:
    `target[t] = source[t / 32 * 32 + lanes[t] mod 32]`. What a lane has that no
    thread is, is undefined.

    Each thread holds its own elements, so that the op is one `gpu.shuffle`;
    `tl-infer-layouts` makes it so. What a program writes to the three fragments
    and reads from them at its thread's number then stays in registers.

    Constraints: (C1) three fragments of one dimension and the same extent, that
    of the block's threads; (C2) `lanes` holds i32, the two others the same
    numbers of 8, 16, 32 or 64 bits.

    ```mlir
    tl.shuffle %mine, %lanes to %other : memref<128xf32, #tl.fragment>, memref<128xi32, #tl.fragment>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "what the threads have", [MemRead]>:$source,
    Arg<AnyMemRef, "whose value each gets", [MemRead]>:$lanes,
    Arg<AnyMemRef, "what the threads get", [MemWrite]>:$target);
  let assemblyFormat = "$source `,` $lanes `to` $target attr-dict `:` type($source) `,` type($lanes)";
  let hasVerifier = 1;
}

def TL_VoteOp : Op<TL_Dialect, "vote", [
    AllTypesMatch<["source", "target"]>, DeclareOpInterfaceMethods<TL_TileOpInterface>,
    DeclareOpInterfaceMethods<TL_EventOpInterface>]> {
  let summary = "tell each thread which lanes of its warp say yes";
  let description = [{
    All threads of the block take part. Element t of `source` belongs to thread
    t, which says yes if it is not zero. Element t of `target` becomes the lanes
    of the thread's warp that do, as bits; bit 0 is lane 0. The bit of a lane
    that no thread is, is zero.

    Each thread holds its own elements, so that the op is one `vote.sync`;
    `tl-infer-layouts` makes it so, as for `tl.shuffle`.

    Constraints: (C1) two fragments of one dimension and the same extent, that
    of the block's threads; (C2) both hold i32.

    ```mlir
    tl.vote %mine to %lanes : memref<128xi32, #tl.fragment>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "what the threads say", [MemRead]>:$source,
    Arg<AnyMemRef, "which lanes say yes", [MemWrite]>:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def TL_MmaF64Op : Op<TL_Dialect, "mma_f64", [Pure, AllTypesMatch<["c", "d"]>]> {
  let summary = "warp matrix multiply-accumulate of f64";
  let description = [{
    `mma.sync.aligned.m16n8k4.row.col.f64` of the PTX ISA on the registers of
    one warp: `d = a * b + c`, rounded after each product. Before sm_90 it is an
    `m8n8k4` for each eight rows, whose elements lie alike. Lane l has of A the
    rows l / 4 and l / 4 + 8 at l mod 4 of K, of B column l / 4 there, and of
    `c` and `d` what it has of those of `tl.mma`.

    ```mlir
    %d = tl.mma_f64 %a, %b, %c : vector<2xf64>, vector<4xf64>
    ```
  }];
  let arguments = (ins VectorOfLengthAndType<[2], [F64]>:$a, F64:$b, VectorOfLengthAndType<[4], [F64]>:$c);
  let results = (outs VectorOfLengthAndType<[4], [F64]>:$d);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($c)";
}

#endif // TL_DIALECT_TL_IR_WARPS_TD
