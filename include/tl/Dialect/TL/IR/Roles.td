//===- Roles.td - Parts of a block that go their own ways ---*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_ROLES_TD
#define TL_DIALECT_TL_IR_ROLES_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
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

    Constraints: (C1) `first` is the first thread of a warp; (C2) a role is one
    thread, or whole warps; (C3) its threads are threads of the block; (C4)
    `barrier` is from 1 to 15, because 0 is that of the whole block; (C5) no two
    roles of a kernel have a thread or a barrier in common.

    ```mlir
    tl.role threads(256, 1) barrier(1) {
    }
    tl.role threads(0, 256) barrier(2) {
    }
    ```
  }];
  let arguments = (ins I64Attr:$first, I64Attr:$count, I64Attr:$barrier);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `threads` `(` $first `,` $count `)` `barrier` `(` $barrier `)` $body attr-dict
  }];
  let hasVerifier = 1;
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

    ```mlir
    tl.arrive_barrier %empty[%s] : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyMemRef:$barriers, Index:$index);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}

#endif // TL_DIALECT_TL_IR_ROLES_TD
