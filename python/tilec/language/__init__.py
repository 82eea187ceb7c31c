"""The language of tile kernels: `import tilec.language as T`.

A kernel is built by running Python: in a `@T.prim_func`, whose loops, branches and conditions become the kernel's, or op by
op with `T.Module`.
"""

from ..builder import Module as Module, PrimFunc as PrimFunc
from ..buffers import Buffer as Buffer
from ..dtypes import (
    DType as DType,
    bfloat16 as bfloat16,
    bool_ as bool,  # noqa: F401
    dtype as dtype,
    float8_e4m3 as float8_e4m3,
    float8_e5m2 as float8_e5m2,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    tfloat32 as tfloat32,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from ..frontend.functions import macro as macro, prim_func as prim_func
from ..frontend.eager import empty as empty
from ..types import (
    StridedTensorType as StridedTensor,
    TensorType as Tensor,
    const as const,
    dynamic as dynamic,
)
from .kernel import (
    Kernel as Kernel,
    get_block_binding as get_block_binding,
    get_block_bindings as get_block_bindings,
    get_thread_binding as get_thread_binding,
    get_thread_extent as get_thread_extent,
    use_swizzle as use_swizzle,
)
from .loops import (
    Else as Else,
    If as If,
    Parallel as Parallel,
    Pipelined as Pipelined,
    While as While,
    serial as serial,
    unroll as unroll,
    vectorized as vectorized,
)
from .scalar import (
    Select as Select,
    abs as abs,
    cast as cast,
    ceil as ceil,
    ceildiv as ceildiv,
    cos as cos,
    erf as erf,
    exp as exp,
    exp2 as exp2,
    floor as floor,
    floordiv as floordiv,
    floormod as floormod,
    if_then_else as if_then_else,
    infinity as infinity,
    log as log,
    log2 as log2,
    max as max,
    max_value as max_value,
    min as min,
    min_value as min_value,
    pow as pow,
    round as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sin as sin,
    sqrt as sqrt,
    sync_threads as sync_threads,
    tanh as tanh,
)
from .source import CUDASourceCodeKernel as CUDASourceCodeKernel
from .tile import (
    GemmWarpPolicy as GemmWarpPolicy,
    alloc_fragment as alloc_fragment,
    alloc_local as alloc_local,
    alloc_shared as alloc_shared,
    alloc_var as alloc_var,
    clear as clear,
    copy as copy,
    fill as fill,
    gemm as gemm,
    reduce as reduce,
    reduce_absmax as reduce_absmax,
    reduce_abssum as reduce_abssum,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_sum as reduce_sum,
)

symbolic = dynamic
Serial = serial
Unroll = unroll
Vectorized = vectorized
