"""The language of tile kernels: `import tilec.language as T`.

A kernel is built by running Python: in a `@T.prim_func`, whose loops, branches and conditions become the kernel's, or
op by op with `T.Module`. What there is, by group; `help(T.copy)` tells of one name, and the site of all of them.

Functions: prim_func, macro, inline, meta_class, const, auto, empty, Module, PrimFunc
Parameters: Tensor, StridedTensor, StridedTensorType, TensorType, Buffer, FragmentBuffer, SharedBuffer, LocalBuffer,
    Ref, ptr, handle, make_tensor, make_tensor_from_addr, match_buffer, dynamic, symbolic, Var
Element types: DType, dtype, bool, bool_, int8, char, int16, short, int32, int, int64, long, uint8, uchar, uint16,
    ushort, uint32, uint, uint64, ulong, float16, half, bfloat16, float32, float, float64, double, tfloat32,
    float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float8_e4m3fnuz, float8_e5m2fnuz, float4_e2m1fn, int4,
    uint4
Kernels: Kernel, KernelLaunchFrame, ClusterKernel, CUDASourceCodeKernel, Struct, TensorMap, get_block_binding,
    get_block_bindings, get_block_extent, get_block_extents, use_swizzle, get_cluster_dims, get_cluster_size,
    get_cluster_id, get_cluster_ids, get_cluster_extent, get_cluster_extents, block_rank_in_cluster, copy_cluster,
    cluster_sync, cluster_arrive, cluster_arrive_relaxed, cluster_wait
Tiles: alloc_shared, alloc_fragment, alloc_local, alloc_var, alloc_buffer, allocate, alloc_global, reshape,
    view
Tile operations: copy, gemm, gemm_sp, wgmma_gemm_sp, GemmWarpPolicy, fill, clear, transpose, im2col, c2d_im2col,
    dp4a, async_copy
Reductions and scans: reduce, reduce_sum, reduce_max, reduce_min, reduce_abssum, reduce_absmax, reduce_argmax,
    reduce_argmin, reduce_bitand, reduce_bitor, reduce_bitxor, cumsum, cummax, any_of, all_of, alloc_reducer,
    reducer_init, reducer_update, finalize_reducer
Loops and branches: Parallel, parallel, Pipelined, Persistent, serial, Serial, unroll, Unroll, vectorized, Vectorized,
    grid, If, Then, Else, While, loop_break, PersistentTileScheduler, BaseTileScheduler
Conditions: if_then_else, Select, And, Or, Not, all, any, likely, assume
Arithmetic: abs, max, min, Max, Min, clamp, ceildiv, cdiv, align_up, floordiv, floormod, truncdiv, truncmod, pow,
    fma, infinity, max_value, min_value, index_to_coordinates
Rounding and conversion: cast, Cast, reinterpret, round, nearbyint, floor, ceil, trunc
Functions of floats: exp, exp2, exp10, log, log2, log10, log1p, sqrt, rsqrt, sin, cos, tan, asin, acos, atan, atan2,
    sinh, cosh, tanh, asinh, acosh, atanh, erf, sigmoid, hypot, ldexp, copysign, fmod, nextafter, isnan, isinf,
    isfinite, import_source, call_extern, call_pure_extern, fast_rcp, __exp, __exp10, __log, __log2, __log10, __sin,
    __cos, __tan
Rounded as asked: fmul, ieee_add, ieee_sub, ieee_mul, ieee_fdiv, ieee_fmaf, ieee_frcp, ieee_fsqrt, ieee_frsqrt
Bits: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left, shift_right, popcount, clz, __ffs, __fns
Vectors: Ramp, Broadcast, Shuffle, extract_lane, vectorlow, vectorhigh, vectorcombine, add2, sub2, mul2, fma2, max2,
    min2, abs2
Atomic operations: atomic_add, atomic_addx2, atomic_addx4, atomic_max, atomic_min, atomic_and, atomic_or, atomic_xor,
    atomic_exchange, atomic_cas, atomic_load, atomic_store
Loads and stores of words: ldg32, ldg64, ldg128, stg32, stg64, stg128, lds32, lds64, lds128, sts32, sts64, sts128,
    address_of
Random numbers: rng_init, rng_rand, rng_rand_float
Threads: get_thread_binding, get_thread_bindings, get_thread_extent, get_thread_extents, thread_binding, sync_threads,
    syncthreads_count, syncthreads_and, syncthreads_or, sync_grid, sync_global, tvm_thread_allreduce, comm_reducer,
    attr, evaluate
Warps: get_lane_idx, get_warp_idx, get_warp_idx_sync, get_warp_group_idx, shuffle_elect, shfl_sync, shfl_xor, shfl_up,
    shfl_down, warp_reduce_sum, warp_reduce_max, warp_reduce_min, warp_reduce_bitand, warp_reduce_bitor, any_sync,
    all_sync, ballot, ballot_sync, activemask, match_any_sync, match_all_sync, sync_warp, tvm_warp_shuffle,
    tvm_warp_shuffle_up, tvm_warp_shuffle_down
Pipelines by hand: ws, WarpSpecialize, alloc_barrier, alloc_cluster_barrier, create_barriers, mbarrier_arrive,
    ptx_arrive_cluster_barrier, ptx_init_barrier_thread_count, mbarrier_wait_parity,
    mbarrier_expect_tx, mbarrier_arrive_expect_tx, barrier_arrive, barrier_wait, named_barrier_arrive,
    cp_async_barrier_noinc, ptx_arrive_barrier, ptx_arrive_barrier_expect_tx, ptx_wait_barrier,
    ptx_fence_barrier_init, tma_copy, tma_store_arrive, tma_store_wait, access_ptr, ptx_cp_async, ptx_commit_group,
    ptx_wait_group, wgmma_gemm, wgmma_mma, wait_wgmma, warpgroup_arrive, warpgroup_commit_batch, warpgroup_wait,
    warpgroup_fence_operand, fence_proxy_async, __ldg
Looking inside: print, device_assert, breakpoint
Hints: annotate_layout, Layout, Fragment, PartialFragment, make_swizzled_layout, make_linear_layout,
    make_full_bank_swizzled_layout, make_half_bank_swizzled_layout, make_quarter_bank_swizzled_layout,
    make_volta_swizzled_layout, make_wgmma_swizzled_layout, make_gemm_fragment_8x8, make_gemm_fragment_8x8_transposed,
    make_fully_replicated_layout_fragment, annotate_safe_value, annotate_l2_hit_ratio, annotate_restrict_buffers,
    annotate_min_blocks_per_sm, annotate_compile_flags, annotate_pass_configs, annotate_consumer_reg_alloc,
    annotate_producer_reg_dealloc, set_max_nreg, inc_max_nreg, dec_max_nreg, no_set_max_nreg,
    disable_warp_group_reg_alloc, pdl_trigger, pdl_sync, annotate_ws_schedule, ws_op, WSSchedule, WSRole, WSPipeline,
    WSScope, WSInstr, WSOpRef, WSSync, WSSyncKind, WSID
"""

from ..auto import auto as auto
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
    float4_e2m1fn as float4_e2m1fn,
)
from ..dtypes import (
    float8_e4m3 as float8_e4m3,
)
from ..dtypes import (
    float8_e4m3fnuz as float8_e4m3fnuz,
)
from ..dtypes import (
    float8_e5m2 as float8_e5m2,
)
from ..dtypes import (
    float8_e5m2fnuz as float8_e5m2fnuz,
)
from ..dtypes import (
    float8_e8m0fnu as float8_e8m0fnu,
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
    int4 as int4,
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
    uint4 as uint4,
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
from .allreduce import *
from .annotations import *
from .atomics import *
from .barriers import *
from .bits import *
from .clusters import *
from .conversions import *
from .externs import *
from .functions import *
from .grids import *
from .handles import *
from .hints import *
from .ieee import *
from .kernel import (
    ClusterKernel as ClusterKernel,
)
from .kernel import (
    Kernel as Kernel,
)
from .kernel import (
    annotate_min_blocks_per_sm as annotate_min_blocks_per_sm,
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
from .lanes import *
from .layouts import *
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
    Then as Then,
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
    parallel as parallel,
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
from .neighbours import *
from .pointers import *
from .prints import *
from .reducers import *
from .reductions import *
from .rng import *
from .role_schedules import *
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
from .sparse import *
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
from .words import *
from .workspaces import *

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
    """Returns `__all__`, for `help`, and types of vectors, such as `T.float32x4`; says of any other name that is not
    there what is known of it."""
    if name == "__all__":
        from ..contents import public_names

        return public_names(__doc__ or "")
    from ..dtypes import vector
    from ..vectors import VectorType

    if vector(name):
        return VectorType(name)
    from ..errors import AbsentNameError

    def say() -> str:
        from .missing import message

        return message(name, globals())

    raise AbsentNameError(say)
