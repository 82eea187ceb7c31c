//===- Iterations.td - Which iteration does what -----------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_ITERATIONS_TD
#define TL_DIALECT_TL_IR_ITERATIONS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"

// What the two do not do is written, so that loads on both sides of them stay
// one load, as they are for a GPU.
def TL_BeginIterationsOp : Op<TL_Dialect, "begin_iterations", [MemoryEffects<[MemFree]>]> {
  let summary = "begin the iterations of a parallel loop";
  let description = [{
    What follows at thread level is done by iterations of one execution of a
    `tl.parallel` of these extents: accesses that bear `tl.iterations`, by the
    iterations that `tl.at_iterations` and they name. It is for the simulator,
    which reports two iterations of one execution that touch an element in no
    order; generators have no form of it.

    Constraints: (C1) there are extents, and they are positive.

    ```mlir
    tl.begin_iterations [64, 32]
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$extents);
  let assemblyFormat = "$extents attr-dict";
  let hasVerifier = 1;
}

def TL_AtIterationsOp : Op<TL_Dialect, "at_iterations", [MemoryEffects<[MemFree]>]> {
  let summary = "go to some of the iterations of a parallel loop";
  let description = [{
    What `tl.iterations` says of the accesses that follow is counted from the
    iteration with these indices, of the loop that `tl.begin_iterations` has begun.
    That attribute holds the distances, one for each index, of the iterations that
    the access is of, one iteration after another. An access of n elements has a
    multiple of n iterations, and those of one element stand side by side.

    Constraints: (C1) there are indices.

    ```mlir
    tl.at_iterations %i, %j
    llvm.store %x, %p {tl.iterations = array<i64: 0, 0>} : f32, !llvm.ptr<3>
    llvm.store %y, %q {tl.iterations = array<i64: 0, 1>} : f32, !llvm.ptr<3>
    ```
  }];
  let arguments = (ins Variadic<Index>:$indices);
  let assemblyFormat = "$indices attr-dict";
  let hasVerifier = 1;
}

def TL_TouchFragmentOp : Op<TL_Dialect, "touch_fragment", [MemoryEffects<[MemFree]>]> {
  let summary = "say that an iteration touches an element in a register";
  let description = [{
    An iteration reads, or with `write` writes, what the thread has in a register of
    a fragment: `position` is the register's number in the fragment, and `number`
    tells the fragments of a kernel apart. It moves nothing, since values in
    registers have no accesses that could say so. It bears `tl.iterations`, of one
    iteration.

    ```mlir
    tl.touch_fragment write "acc" 0[%v] {tl.iterations = array<i64: 0, 1>}
    ```
  }];
  let arguments = (ins Index:$position, StrAttr:$name, I64Attr:$number, UnitAttr:$write);
  let assemblyFormat = "(`write` $write^)? $name $number `[` $position `]` attr-dict";
}

#endif // TL_DIALECT_TL_IR_ITERATIONS_TD
