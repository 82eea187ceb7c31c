//===- TLTypes.td - Types of the tl dialect ----------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_TLTYPES_TD
#define TL_DIALECT_TL_IR_TLTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"

def TL_MBarrierType : TypeDef<TL_Dialect, "MBarrier", [
    DeclareTypeInterfaceMethods<MemRefElementTypeInterface>]> {
  let mnemonic = "mbarrier";
  let summary = "an mbarrier object in shared memory";
  let description = [{
    The opaque 64-bit `mbarrier` object of the PTX ISA (section "mbarrier").
    Buffers of it are made by `tl.alloc_barriers`.
  }];
}

#endif // TL_DIALECT_TL_IR_TLTYPES_TD
