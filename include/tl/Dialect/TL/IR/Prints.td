//===- Prints.td - What a kernel tells its caller ----------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_PRINTS_TD
#define TL_DIALECT_TL_IR_PRINTS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"

def TL_PrintOp : Op<TL_Dialect, "print", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "tell the caller a value, a tile, or only a message";
  let description = [{
    What is printed reaches whoever called the function, in the order that
    docs/language/semantics.md says (D1). `value` is a number or a buffer; of a
    buffer it is the tile of extents `tile` that begins at `offsets`, or at zero
    if there are none. It is called `name`, and its elements are of the type
    `dtype`, as the user names it; `shown` are the extents without those of single
    indices; all three are for whoever reads it. With `stop` it is part of a
    breakpoint, and with `last` the end of one. With `layout` the compiler says in a
    remark where the elements of the buffer lie, once that is decided.

    A tile is printed by the whole block, what is a number or an array in private
    memory by whoever executes the op. `tl-lower-prints` makes statements of it
    that write to a record.

    Constraints: (C1) a number has neither offsets nor a tile; (C2) a buffer has a
    tile of positive extents, one for each dimension, and as many offsets, or
    none; (C3) a tile has at most 65536 elements.

    ```mlir
    tl.print "so far" %x named "x" as "float32" : f32
    tl.print "" %acc[%i, %j] tile [4, 8] named "acc" as "float32" : memref<64x64xf32, #tl.fragment>
    tl.print "here"
    ```
  }];
  let arguments = (ins Optional<AnyType>:$value, Variadic<Index>:$offsets, StrAttr:$message,
    OptionalAttr<StrAttr>:$name, OptionalAttr<StrAttr>:$dtype, OptionalAttr<DenseI64ArrayAttr>:$tile,
    OptionalAttr<DenseI64ArrayAttr>:$shown, UnitAttr:$stop, UnitAttr:$last,
    UnitAttr:$layout);
  let assemblyFormat = [{
    $message ($value^)? (`[` $offsets^ `]`)? (`tile` $tile^)? (`shown` $shown^)? (`named` $name^)? (`as` $dtype^)?
    (`stop` $stop^)? (`last` $last^)?
    (`layout` $layout^)? attr-dict (`:` type($value)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True for a buffer that is the block's and not that of a thread.
    bool isOfBlock();
  }];
}

def TL_AssertOp : Op<TL_Dialect, "assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "tell the caller if a condition does not hold";
  let description = [{
    Where `condition` does not hold, the call ends with an error, after it has run
    to its end (docs/language/semantics.md, D3). `text` is the condition as the user
    wrote it.

    ```mlir
    tl.assert %c, "x > 0", "no logarithm"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$text, StrAttr:$message);
  let assemblyFormat = "$condition `,` $text `,` $message attr-dict";
}

#endif // TL_DIALECT_TL_IR_PRINTS_TD
