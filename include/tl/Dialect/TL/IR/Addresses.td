//===- Addresses.td - Tensors at addresses ------------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_ADDRESSES_TD
#define TL_DIALECT_TL_IR_ADDRESSES_TD

include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tl/Dialect/TL/IR/TLBase.td"

def TL_TensorAtOp : Op<TL_Dialect, "tensor_at", [Pure, AttrSizedOperandSegments]> {
  let summary = "a tensor in device memory at an address that the kernel knows";
  let description = [{
    The tensor whose first element is at `address`, in the memory that all kernels of the
    device reach (rule M13). Nothing tells what else is there: it may share memory with any
    other tensor of the kernel. The host knows nothing of it, so that no tensor map is made
    for it.

    - `extents`: those that the type does not say, none negative.
    - `strides`: those that the layout of the type does not say, in elements, none negative.
    - `alignment`: a number of bytes that the address is a multiple of.

    Constraints: (C1) the result is in device memory; (C2) as many `extents` as the type has
    dynamic dimensions; (C3) its layout has strides alone, as many dynamic ones as there are
    `strides`, and none for a tensor that lies row by row; (C4) `alignment` is a power of
    two, and the bytes of an element at least.

    ```mlir
    %A = tl.tensor_at %address[%m] align(16) : memref<?x64xf16>
    %B = tl.tensor_at %address strides[%ld] align(16) : memref<64x64xf16, strided<[?, 1]>>
    ```
  }];
  let arguments = (ins I64:$address, Variadic<Index>:$extents, Variadic<I64>:$strides, I64Attr:$alignment);
  let results = (outs AnyMemRef:$tensor);
  let assemblyFormat = [{
    $address (`[` $extents^ `]`)? (`strides` `[` $strides^ `]`)? `align` `(` $alignment `)` attr-dict
    `:` type($tensor)
  }];
  let hasVerifier = 1;
}

def TL_DevicePointerOp : Op<TL_Dialect, "device_pointer", [Pure]> {
  let summary = "pointer to device memory at an address";
  let description = [{
    The pointer is to `bytes` bytes from `address` on, which is all that is reached by way of
    it. What generates code for a GPU does not ask how many they are.

    ```mlir
    %p = tl.device_pointer %address bytes(%n) : !llvm.ptr<1>
    ```
  }];
  let arguments = (ins I64:$address, I64:$bytes);
  let results = (outs LLVM_PointerInAddressSpace<1>:$pointer);
  let assemblyFormat = "$address `bytes` `(` $bytes `)` attr-dict `:` type($pointer)";
}

#endif // TL_DIALECT_TL_IR_ADDRESSES_TD
