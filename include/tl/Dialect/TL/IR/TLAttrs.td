//===- TLAttrs.td - Attributes of the tl dialect -----------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_TLATTRS_TD
#define TL_DIALECT_TL_IR_TLATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "tl/Dialect/TL/IR/TLBase.td"

class TL_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TL_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Memory and layouts
//===----------------------------------------------------------------------===//

def TL_FragmentAttr : TL_Attr<"Fragment", "fragment"> {
  let summary = "memory space of a tile spread over the registers of a block";
  let description = [{
    A buffer in this space has no address: each thread holds the elements that
    the buffer's `#tl.fragment_layout` assigns to it.
  }];
}

def TL_FragmentLayoutAttr : TL_Attr<"FragmentLayout", "fragment_layout"> {
  let summary = "which thread holds which elements of a tile";
  let description = [{
    A CuTe layout with two modes, thread and value, whose codomain is the
    row-major linear index of the tile `shape`. Each mode is a flat list of
    extents and strides; the first thread mode varies fastest with the thread
    id. A thread mode of stride 0 replicates the tile over those threads. The
    `shape` may be larger than the buffer's: positions outside hold no element.

    ```mlir
    #tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    ArrayRefParameter<"int64_t">:$threadExtents,
    ArrayRefParameter<"int64_t">:$threadStrides,
    ArrayRefParameter<"int64_t">:$valueExtents,
    ArrayRefParameter<"int64_t">:$valueStrides);
  let assemblyFormat = [{
    `<` `shape` `=` custom<IntList>($shape)
    `,` `thread` `=` custom<IntList>($threadExtents) `:` custom<IntList>($threadStrides)
    `,` `value` `=` custom<IntList>($valueExtents) `:` custom<IntList>($valueStrides) `>`
  }];
  let genVerifyDecl = 1;
}

def TL_SharedLayoutAttr : TL_Attr<"SharedLayout", "shared_layout"> {
  let summary = "where the elements of a tile lie in shared memory";
  let description = [{
    A tile of C columns, its last dimension, and R rows, all others together, is
    stored as C / `chunk` panels of R rows by `chunk` columns, one after another; a panel is row-major, and within it the
    16-byte unit u of row r is stored at unit u XOR (r mod (`swizzle` / 16)),
    rows counted in units of 128 / `swizzle`: the 32-, 64- and 128-byte swizzles
    of the PTX ISA ("Tensor swizzling modes"). `swizzle = 0` is plain row-major
    with `chunk` = C.

    ```mlir
    #tl.shared_layout<swizzle = 128, chunk = 64>
    ```
  }];
  let parameters = (ins "int64_t":$swizzle, "int64_t":$chunk);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Targets and instructions
//===----------------------------------------------------------------------===//

def TL_TargetAttr : TL_Attr<"Target", "target"> {
  let summary = "the chip a kernel is compiled for";
  let description = [{
    Attached to the `gpu.module` of a kernel as `tl.target`. `chip` is a name
    such as `sm_90a`, or `cpu`. What the chip can do is asked from `tl::Target`.

    ```mlir
    #tl.target<chip = "sm_90a">
    ```
  }];
  let parameters = (ins StringRefParameter<>:$chip);
  let assemblyFormat = "`<` struct(params) `>`";
}

def TL_InstructionEnum : I32EnumAttr<"Instruction", "matrix instruction of a gemm", [
    I32EnumAttrCase<"WGMMA", 0, "wgmma">,
    I32EnumAttrCase<"MMA", 1, "mma">,
    I32EnumAttrCase<"FMA", 2, "fma">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}

def TL_GemmPlanAttr : TL_Attr<"GemmPlan", "gemm_plan"> {
  let summary = "the instruction of a gemm and how warps share the tile";
  let description = [{
    Chosen by `tl-plan-gemms`. The accumulator is cut into `warps_m` by
    `warps_n` equal parts; a part belongs to one warp, or for `wgmma` to one
    warp group of four warps. Warps beyond the last part compute the first ones
    again, and hold copies of them.

    ```mlir
    #tl.gemm_plan<wgmma, warps_m = 2, warps_n = 1>
    ```
  }];
  let parameters = (ins EnumParameter<TL_InstructionEnum>:$instruction,
    "int64_t":$warpsM, "int64_t":$warpsN);
  let assemblyFormat = "`<` $instruction `,` `warps_m` `=` $warpsM `,` `warps_n` `=` $warpsN `>`";
}

def TL_GemmPolicyEnum : I32EnumAttr<"GemmPolicy", "how warps share a gemm's tile", [
    I32EnumAttrCase<"Square", 0, "square">,
    I32EnumAttrCase<"FullRow", 1, "full_row">,
    I32EnumAttrCase<"FullCol", 2, "full_col">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_GemmPolicyAttr : EnumAttr<TL_Dialect, TL_GemmPolicyEnum, "gemm_policy">;

def TL_ReduceKindEnum : I32EnumAttr<"ReduceKind", "combining operation of a reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"AbsSum", 3, "abssum">,
    I32EnumAttrCase<"AbsMax", 4, "absmax">,
    I32EnumAttrCase<"UMax", 5, "umax">, I32EnumAttrCase<"UMin", 6, "umin">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_ReduceKindAttr : EnumAttr<TL_Dialect, TL_ReduceKindEnum, "reduce_kind">;

def TL_CutEnum : I32EnumAttr<"Cut", "what the length of a part of a buffer is compared with", [
    I32EnumAttrCase<"Inside", 0, "inside">, I32EnumAttrCase<"AtMost", 1, "at_most">,
    I32EnumAttrCase<"Equal", 2, "equal">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_CutAttr : EnumAttr<TL_Dialect, TL_CutEnum, "cut">;

def TL_AtomicKindEnum : I32EnumAttr<"AtomicKind", "what an atomic operation does to an element", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Min", 1, "min">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"UMin", 3, "umin">,
    I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">, I32EnumAttrCase<"Xor", 7, "xor">,
    I32EnumAttrCase<"Exchange", 8, "exchange">,
    I32EnumAttrCase<"CompareExchange", 9, "compare_exchange">,
    I32EnumAttrCase<"Load", 10, "load">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_AtomicKindAttr : EnumAttr<TL_Dialect, TL_AtomicKindEnum, "atomic_kind">;

def TL_MemoryOrderEnum : I32EnumAttr<"MemoryOrder", "which other accesses an atomic operation orders", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">,
    I32EnumAttrCase<"SeqCst", 4, "seq_cst">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_MemoryOrderAttr : EnumAttr<TL_Dialect, TL_MemoryOrderEnum, "memory_order">;

def TL_MemoryScopeEnum : I32EnumAttr<"MemoryScope", "the threads among which an operation is atomic", [
    I32EnumAttrCase<"Block", 0, "block">, I32EnumAttrCase<"Device", 1, "device">,
    I32EnumAttrCase<"System", 2, "system">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_MemoryScopeAttr : EnumAttr<TL_Dialect, TL_MemoryScopeEnum, "memory_scope">;

def TL_MmaKindEnum : I32EnumAttr<"MmaKind", "operand type of a matrix instruction", [
    I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"BF16", 1, "bf16">,
    I32EnumAttrCase<"TF32", 2, "tf32">, I32EnumAttrCase<"S8", 3, "s8">,
    I32EnumAttrCase<"U8", 4, "u8">, I32EnumAttrCase<"E4M3", 5, "e4m3">,
    I32EnumAttrCase<"E5M2", 6, "e5m2">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_MmaKindAttr : EnumAttr<TL_Dialect, TL_MmaKindEnum, "mma_kind">;

//===----------------------------------------------------------------------===//
// Kernel parameters and sources
//===----------------------------------------------------------------------===//

def TL_ParamKindEnum : I32EnumAttr<"ParamKind", "what a kernel parameter holds", [
    I32EnumAttrCase<"Base", 0, "base">, I32EnumAttrCase<"Dim", 1, "dim">,
    I32EnumAttrCase<"Stride", 2, "stride">, I32EnumAttrCase<"Scalar", 3, "scalar">,
    I32EnumAttrCase<"TensorMap", 4, "tensor_map">,
    I32EnumAttrCase<"Struct", 5, "struct">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}

def TL_ParamAttr : TL_Attr<"Param", "param"> {
  let summary = "how the host makes one parameter of a lowered kernel";
  let description = [{
    `operand` is the index of an argument of the kernel's `tl.launch`; `base` is
    that buffer's address, `dim` and `stride` its extent and stride (in
    elements, as i64) of dimension `index`, `scalar` the value itself, and
    `tensor_map` a `CUtensorMap` over the buffer with the given box (innermost
    dimension first) and swizzle in bytes. `type` is the element type of a
    tensor map, or the type of the parameter. A `struct` has `members`, laid out
    as C does; its `operand` is that of the first.

    ```mlir
    #tl.param<base, 0>
    #tl.param<dim, 0, index = 1>
    #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>
    #tl.param<struct, 1, members = [#tl.param<base, 1>, #tl.param<scalar, 2, type = i32>]>
    ```
  }];
  let parameters = (ins EnumParameter<TL_ParamKindEnum>:$kind, "int64_t":$operand,
    DefaultValuedParameter<"int64_t", "0">:$index,
    OptionalArrayRefParameter<"int64_t">:$box,
    DefaultValuedParameter<"int64_t", "0">:$swizzle,
    OptionalParameter<"::mlir::Type">:$type,
    OptionalParameter<"::mlir::ArrayAttr">:$members);
  let builders = [AttrBuilder<(ins "::tl::ParamKind":$kind, "int64_t":$operand,
    "int64_t":$index, "::llvm::ArrayRef<int64_t>":$box, "int64_t":$swizzle, "::mlir::Type":$type),
    "return $_get($_ctxt, kind, operand, index, box, swizzle, type, ::mlir::ArrayAttr());">];
  let assemblyFormat = [{
    `<` $kind `,` $operand
    (`,` struct($index, custom<IntList>($box), $swizzle, $type, $members)^)? `>`
  }];
}

def TL_SourceLanguageEnum : I32EnumAttr<"SourceLanguage", "what the text of a source kernel is", [
    I32EnumAttrCase<"Cuda", 0, "cuda">, I32EnumAttrCase<"PTX", 1, "ptx">,
    I32EnumAttrCase<"Cubin", 2, "cubin">]> {
  let cppNamespace = "::tl";
  let genSpecializedAttr = 0;
}
def TL_SourceLanguageAttr : EnumAttr<TL_Dialect, TL_SourceLanguageEnum, "source_language">;

def TL_CudaSourceAttr : TL_Attr<"CudaSource", "cuda_source"> {
  let summary = "the text of an external kernel, or a file that holds it";
  let description = [{
    `text` is CUDA C++, PTX or the bytes of a cubin, as `language` says. `file`,
    when given, names where it was read from, or where `tl-resolve-sources` is to
    read it if `text` is empty. With `line` the text is part of that file (such as a
    string of a Python program) and starts at that line; without it the text is
    all of the file. `name` is its name in the `tl.cuda_unit` that it becomes,
    which `tl-resolve-sources` gives it.

    ```mlir
    #tl.cuda_source<"extern \"C\" __global__ void f(float *x) {}">
    #tl.cuda_source<"", file = "scale.cu">
    #tl.cuda_source<"__global__ void g() {}", file = "model.py", line = 12>
    #tl.cuda_source<".version 8.0 …", language = ptx>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$text, OptionalParameter<"::mlir::StringAttr">:$file,
    DefaultValuedParameter<"int64_t", "0">:$line,
    DefaultValuedParameter<"::tl::SourceLanguage", "::tl::SourceLanguage::Cuda">:$language,
    OptionalParameter<"::mlir::StringAttr">:$name);
  let assemblyFormat = "`<` $text (`,` struct($file, $line, $language, $name)^)? `>`";
}

#endif // TL_DIALECT_TL_IR_TLATTRS_TD
