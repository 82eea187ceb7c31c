//===- Calls.td - Functions that users wrote in CUDA C++ ----*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_CALLS_TD
#define TL_DIALECT_TL_IR_CALLS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"

def TL_CallSourceOp : Op<TL_Dialect, "call_source", [
    AttrSizedOperandSegments, NoMemoryEffect] # ElementwiseMappable.traits> {
  let summary = "call a device function of CUDA C++ for a number";
  let description = [{
    Calls `function` of the texts `sources`, which are compiled one after the
    other in front of the kernel, and gives one of the numbers that it leaves. The
    function is one of its arguments alone: it is called as often as is
    convenient, by any thread, but for no element for which `guard` is false; the
    result is undefined there.

    Parameter i has elements of `params[i]`, in which integers have a sign. If
    `counts[i]` is 0 it is a number, the next of `args`. Else it is a pointer to
    as many elements, which are the next of `args`; the function may overwrite
    them. `place` says which number is the result: -1 is what the function
    returns, of type `returned`; n what it leaves in the element that `args[n]`
    was.

    `toolkit` is the digest of the toolkit's headers that the texts reach, which
    `tl-resolve-sources` adds. Operands may be vectors, of which each element is
    a call.

    Constraints: (C1) as many counts as params, none of them negative, and as
    many `args` as they say, of these types; (C2) `place` is -1, with a type that
    is `returned`, or the number of an element behind a pointer; (C3) the result
    has that type; (C4) the function has a name and one source at least.

    ```mlir
    %y = tl.call_source "scale" of ["__device__ float scale(float x) { return 2 * x; }"] (%x)
      {counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f32} : (f32) -> f32
    ```
  }];
  let arguments = (ins StrAttr:$function, StrArrayAttr:$sources, OptionalAttr<StrAttr>:$toolkit,
    TypeArrayAttr:$params, DenseI64ArrayAttr:$counts, I64Attr:$place, OptionalAttr<TypeAttr>:$returned,
    Variadic<AnyType>:$args, Optional<BoolLike>:$guard);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $function `of` $sources (`toolkit` $toolkit^)? `(` $args `)` (`where` $guard^ `:` type($guard))?
    attr-dict `:` functional-type($args, $result)
  }];
  let hasVerifier = 1;
}

#endif // TL_DIALECT_TL_IR_CALLS_TD
