//===- Roles.td - Parts of a block that go their own ways ---*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_ROLES_TD
#define TL_DIALECT_TL_IR_ROLES_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "tl/Dialect/TL/IR/TLBase.td"
include "tl/Dialect/TL/IR/TLInterfaces.td"

def TL_RoleOp : Op<TL_Dialect, "role", [RecursiveMemoryEffects, HasParent<"::mlir::gpu::GPUFuncOp">,
    SingleBlockImplicitTerminator<"RoleEndOp">, NoRegionArguments,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "what some threads of the block do while others do something else";
  let description = [{
    The region is executed by `count` threads of the block, those from number
    `first` on; all others pass by. So two roles of different threads that
    follow each other run at the same time, and nothing but mbarriers orders
    what they do. Where the threads of a role meet, they do so at the barrier
    of the hardware with the number `barrier`.

    A block begins with as many registers for each thread as a multiprocessor
    has for so many. With `registers` each warp group of a role has its own
    number: first those give some back that have less, then others get them.

    Constraints: (C1) `first` is the first thread of a warp; (C2) a role is one
    thread, or whole warps; (C3) its threads are threads of the block; (C4)
    `barrier` is from 1 to 15, because 0 is that of the whole block; (C5) no two
    roles of a kernel have a thread or a barrier in common; (C6) `registers` is
    a multiple of 8 from 24 to 240; (C7) a role with `registers` begins with a
    warp group, in a block of whole ones, and no other role has threads of its
    warp groups; (C8) all warp groups together have no more registers than at the
    beginning: those without `registers` keep what they have; (C9) a role in which
    turns are taken opens them before, and closes them behind all of them, at one
    barrier.

    ```mlir
    tl.role threads(256, 1) barrier(1) registers(24) {
    }
    tl.role threads(0, 256) barrier(2) registers(240) {
    }
    ```
  }];
  let arguments = (ins I64Attr:$first, I64Attr:$count, I64Attr:$barrier,
    OptionalAttr<I64Attr>:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `threads` `(` $first `,` $count `)` `barrier` `(` $barrier `)`
    (`registers` `(` $registers^ `)`)? $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def TL_RoleEndOp : Op<TL_Dialect, "role_end", [Pure, Terminator, ReturnLike, HasParent<"RoleOp">]> {
  let summary = "end of a role";
  let description = [{
    Ends the region of a `tl.role`. It is not printed.
  }];
  let assemblyFormat = "attr-dict";
}

def TL_ArriveBarrierOp : Op<TL_Dialect, "arrive_barrier", [
    DeclareOpInterfaceMethods<TL_EventOpInterface>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "say at an mbarrier that what came before is done";
  let description = [{
    One arrival on the current phase of `barriers[index]` by each warp that
    executes it, or by the one thread of a role of one. Whoever waits for the
    phase sees what all threads of these warps did before.

    With `cluster` each warp arrives in every block of the cluster, at the barrier
    of the same name. All reads that it speaks for have gone through the async
    proxy, and are complete: it orders no ordinary ones for other blocks.

    ```mlir
    tl.arrive_barrier %empty[%s] : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.arrive_barrier %empty[%s] cluster : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$barriers, Index:$index, UnitAttr:$cluster);
  let assemblyFormat = "$barriers `[` $index `]` (`cluster` $cluster^)? attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

class TL_ClusterOp<string mnemonic> : Op<TL_Dialect, mnemonic, [
    DeclareOpInterfaceMethods<TL_EventOpInterface>, MemoryEffects<[MemRead, MemWrite]>]> {
  let assemblyFormat = "attr-dict";
}

def TL_ClusterBarrierOp : TL_ClusterOp<"cluster_barrier"> {
  let summary = "wait until all threads of the cluster have come";
  let description = [{
    All threads of all blocks of the cluster wait for each other. What they did
    before is visible to all of them behind it. Before the first one a block must
    not touch shared memory of another one, which may not run yet, and behind the
    last one it must not either, since the other one may have ended.

    ```mlir
    tl.cluster_barrier
    ```
  }];
}

def TL_ClusterArriveOp : TL_ClusterOp<"cluster_arrive"> {
  let summary = "say that all threads of the block have come to the cluster's barrier";
  let description = [{
    The first half of a `tl.cluster_barrier`, whose other one is the next
    `tl.cluster_wait`. What the block does between the two is in no order with
    what other blocks of the cluster do.

    ```mlir
    tl.cluster_arrive
    ```
  }];
}

def TL_ClusterWaitOp : TL_ClusterOp<"cluster_wait"> {
  let summary = "wait until all threads of the cluster have arrived";
  let description = [{
    What any thread of the cluster did before the `tl.cluster_arrive` that
    belongs to this wait is visible behind it.

    ```mlir
    tl.cluster_wait
    ```
  }];
}

def TL_MapSharedRankOp : Op<TL_Dialect, "map_shared_rank", [Pure, ViewLikeOpInterface,
    AllTypesMatch<["source", "view"]>]> {
  let summary = "a shared tile in another block of the cluster";
  let description = [{
    The buffer, or slot of one, that `source` is in this block, in the block of
    the cluster with the number `rank`, x fastest. A number that no block has
    means one that some block has. The block itself is one of them.

    Constraints: (C1) `source` is in workgroup memory, and not such a view
    itself; (C2) the view is used by `tl.load`, by `tl.store`, and by a `tl.copy`
    that the threads carry out.

    ```mlir
    %there = tl.map_shared_rank %part[%r] : memref<64xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Index:$rank);
  let results = (outs AnyMemRef:$view);
  let assemblyFormat = "$source `[` $rank `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::Value getViewSource() { return getSource(); }
    mlir::Value getViewDest() { return getView(); }
  }];
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

class TL_TurnOp<string mnemonic> : Op<TL_Dialect, mnemonic, [
    DeclareOpInterfaceMethods<TL_EventOpInterface>, MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins I64Attr:$barrier);
  let assemblyFormat = "`barrier` `(` $barrier `)` attr-dict";
  let hasVerifier = 1;
}

def TL_OpenTurnsOp : TL_TurnOp<"open_turns"> {
  let summary = "let the warp groups of a role take turns";
  let description = [{
    The first warp group of the role has the first turn. Turns order nothing but
    what the tensor cores are given first, so that warp groups compute at
    different times; nothing else may rely on them. They take one barrier of the
    hardware for each warp group, from number `barrier` on.

    Nobody waits for ever: a role goes through its loops and branches together,
    so that each warp group takes as many turns as the others, and who has the
    turn comes to its end. What he waits for was done before the turn, or is done
    by another role, which waits for nothing that is done in it.

    Constraints, also of the three ops below: (C1) they stand in a role of two
    whole warp groups or more; (C2) its barriers are from 1 to 15, and none of
    them is that of a role; (C3) each turn begins and ends in one block; (C4) in a
    turn the threads of the role do not meet, arrive at no mbarrier, and take no
    other turn.

    ```mlir
    tl.open_turns barrier(3)
    ```
  }];
}

def TL_TakeTurnOp : TL_TurnOp<"take_turn"> {
  let summary = "wait until it is the warp group's turn";
  let description = [{
    Warp group g + 1 has its turn when warp group g has passed its own, and the
    first one when the last one has.

    ```mlir
    tl.take_turn barrier(3)
    ```
  }];
}

def TL_PassTurnOp : TL_TurnOp<"pass_turn"> {
  let summary = "let the next warp group have its turn";
  let description = [{
    Ends the turn that the `tl.take_turn` before it in its block has begun.

    ```mlir
    tl.pass_turn barrier(3)
    ```
  }];
}

def TL_CloseTurnsOp : TL_TurnOp<"close_turns"> {
  let summary = "end the taking of turns";
  let description = [{
    The first warp group waits for what would be its next turn, so that nothing
    is left at the barriers.

    ```mlir
    tl.close_turns barrier(3)
    ```
  }];
}

#endif // TL_DIALECT_TL_IR_ROLES_TD
