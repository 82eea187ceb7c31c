"""The language of tile kernels: `import tilec.language as T`.

A kernel is built by running Python: in a `@T.prim_func`, whose loops, branches and conditions become the kernel's, or
op by op with `T.Module`.
"""

from ..builder import PrimFunc as PrimFunc
from ..dtypes import (
    DType as DType,
)
from ..dtypes import (
    bfloat16 as bfloat16,
)
from ..dtypes import (
    bool_ as bool_,
)
from ..dtypes import (
    dtype as dtype,
)
from ..dtypes import (
    float8_e4m3 as float8_e4m3,
)
from ..dtypes import (
    float8_e5m2 as float8_e5m2,
)
from ..dtypes import (
    float16 as float16,
)
from ..dtypes import (
    float32 as float32,
)
from ..dtypes import (
    float64 as float64,
)
from ..dtypes import (
    int8 as int8,
)
from ..dtypes import (
    int16 as int16,
)
from ..dtypes import (
    int32 as int32,
)
from ..dtypes import (
    int64 as int64,
)
from ..dtypes import (
    tfloat32 as tfloat32,
)
from ..dtypes import (
    uint8 as uint8,
)
from ..dtypes import (
    uint16 as uint16,
)
from ..dtypes import (
    uint32 as uint32,
)
from ..dtypes import (
    uint64 as uint64,
)
from ..frontend.eager import const as const
from ..frontend.eager import empty as empty
from ..frontend.functions import macro as macro
from ..frontend.functions import prim_func as prim_func
from ..module import Module as Module
from ..types import (
    StridedTensorType as StridedTensorType,
)
from ..types import (
    TensorType as TensorType,
)
from ..types import (
    dynamic as dynamic,
)
from .annotations import *
from .atomics import *
from .barriers import *
from .bits import *
from .conversions import *
from .functions import *
from .hints import *
from .ieee import *
from .kernel import (
    ClusterKernel as ClusterKernel,
)
from .kernel import (
    Kernel as Kernel,
)
from .kernel import (
    get_block_binding as get_block_binding,
)
from .kernel import (
    get_block_bindings as get_block_bindings,
)
from .kernel import (
    get_block_extent as get_block_extent,
)
from .kernel import (
    get_block_extents as get_block_extents,
)
from .kernel import (
    get_thread_binding as get_thread_binding,
)
from .kernel import (
    get_thread_bindings as get_thread_bindings,
)
from .kernel import (
    get_thread_extent as get_thread_extent,
)
from .kernel import (
    get_thread_extents as get_thread_extents,
)
from .kernel import (
    thread_binding as thread_binding,
)
from .kernel import (
    use_swizzle as use_swizzle,
)
from .loops import (
    Else as Else,
)
from .loops import (
    If as If,
)
from .loops import (
    Parallel as Parallel,
)
from .loops import (
    Persistent as Persistent,
)
from .loops import (
    Pipelined as Pipelined,
)
from .loops import (
    While as While,
)
from .loops import (
    grid as grid,
)
from .loops import (
    loop_break as loop_break,
)
from .loops import (
    serial as serial,
)
from .loops import (
    unroll as unroll,
)
from .loops import (
    vectorized as vectorized,
)
from .pointers import *
from .prints import *
from .reducers import *
from .reductions import *
from .scalar import (
    Select as Select,
)
from .scalar import (
    abs as abs,
)
from .scalar import (
    ceil as ceil,
)
from .scalar import (
    ceildiv as ceildiv,
)
from .scalar import (
    cos as cos,
)
from .scalar import (
    erf as erf,
)
from .scalar import (
    exp as exp,
)
from .scalar import (
    exp2 as exp2,
)
from .scalar import (
    floor as floor,
)
from .scalar import (
    floordiv as floordiv,
)
from .scalar import (
    floormod as floormod,
)
from .scalar import (
    if_then_else as if_then_else,
)
from .scalar import (
    infinity as infinity,
)
from .scalar import (
    log as log,
)
from .scalar import (
    log2 as log2,
)
from .scalar import (
    max as max,
)
from .scalar import (
    max_value as max_value,
)
from .scalar import (
    min as min,
)
from .scalar import (
    min_value as min_value,
)
from .scalar import (
    pow as pow,
)
from .scalar import (
    round as round,
)
from .scalar import (
    rsqrt as rsqrt,
)
from .scalar import (
    sigmoid as sigmoid,
)
from .scalar import (
    sin as sin,
)
from .scalar import (
    sqrt as sqrt,
)
from .scalar import (
    tanh as tanh,
)
from .schedules import *
from .source import CUDASourceCodeKernel as CUDASourceCodeKernel
from .source import Struct as Struct
from .source import TensorMap as TensorMap
from .tile import (
    GemmWarpPolicy as GemmWarpPolicy,
)
from .tile import (
    alloc_buffer as alloc_buffer,
)
from .tile import (
    alloc_fragment as alloc_fragment,
)
from .tile import (
    alloc_local as alloc_local,
)
from .tile import (
    alloc_shared as alloc_shared,
)
from .tile import (
    alloc_var as alloc_var,
)
from .tile import (
    clear as clear,
)
from .tile import (
    copy as copy,
)
from .tile import (
    dp4a as dp4a,
)
from .tile import (
    fill as fill,
)
from .tile import (
    gemm as gemm,
)
from .tile import (
    im2col as im2col,
)
from .tile import (
    transpose as transpose,
)
from .views import *
from .waits import *
from .warps import *

bool = bool_
half, float, double = float16, float32, float64
char, short, int, long = int8, int16, int32, int64
uchar, ushort, uint, ulong = uint8, uint16, uint32, uint64
float8_e4m3fn = float8_e4m3
StridedTensor = StridedTensorType
symbolic = dynamic
KernelLaunchFrame = Kernel
allocate = alloc_buffer
c2d_im2col = im2col
Serial = serial
Unroll = unroll
Vectorized = vectorized


# Modules of this package are no names of the language: `T.kernel` is `T.Kernel` misspelt.
for _name in [n for n, v in globals().items() if getattr(v, "__name__", "") == f"{__name__}.{n}"]:
    del globals()[_name]


def __getattr__(name: str) -> object:
    """Says of a name that is not there what is known of it."""
    from .missing import message

    raise AttributeError(message(name, globals()))
