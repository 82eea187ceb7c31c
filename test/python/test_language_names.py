"""What there is of the names that programs for tile compilers use: each works, or says what is known of it."""

import inspect

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import DTypeError
from tilec.language import missing

_NAMES = """
    annotate_consumer_reg_alloc annotate_producer_reg_dealloc async_copy dec_max_nreg disable_warp_group_reg_alloc
    fence_proxy_async inc_max_nreg no_set_max_nreg ptx_commit_group ptx_wait_group set_max_nreg wait_wgmma
    warpgroup_arrive warpgroup_commit_batch warpgroup_fence_operand warpgroup_wait wgmma_gemm wgmma_mma __ldg
    FragmentBuffer SharedBuffer LocalBuffer Ref Var inline meta_class PersistentTileScheduler BaseTileScheduler
    prim_func macro Kernel ClusterKernel KernelLaunchFrame CUDASourceCodeKernel get_thread_binding
    get_thread_bindings get_block_binding get_block_bindings get_thread_extent get_thread_extents
    get_block_extent get_block_extents thread_binding grid alloc_shared alloc_fragment alloc_local alloc_var
    alloc_buffer allocate empty Tensor StridedTensor Buffer dynamic symbolic const Parallel Pipelined Persistent
    serial Serial unroll Unroll vectorized Vectorized loop_break copy im2col c2d_im2col transpose gemm
    GemmWarpPolicy fill clear reduce reduce_sum reduce_max reduce_min reduce_abssum reduce_absmax reduce_bitand
    reduce_bitor reduce_bitxor cumsum cummax any_of all_of clamp reshape view index_to_coordinates sync_threads
    use_swizzle annotate_layout annotate_safe_value annotate_l2_hit_ratio annotate_restrict_buffers
    annotate_min_blocks_per_sm annotate_compile_flags annotate_pass_configs Layout Fragment make_swizzled_layout
    assume likely If Else While abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or
    bitwise_xor ceil ceildiv cdiv align_up clz copysign cos cosh erf exp exp2 exp10 floor floordiv floormod
    hypot if_then_else infinity isfinite isinf isnan ldexp log log2 log10 log1p max max_value min min_value
    nearbyint popcount pow reinterpret round rsqrt Select shift_left shift_right sigmoid sin sinh sqrt tan tanh
    trunc truncdiv truncmod cast Cast And Or Not Min Max all any __log __log2 __log10 __exp __exp10 __sin __cos
    __tan fast_rcp ieee_fmaf ieee_frcp ieee_fsqrt ieee_fdiv bool int8 int16 int32 int64 uint8 uint16 uint32
    uint64 float16 float32 float64 bfloat16 tfloat32 float8_e4m3 float8_e4m3fn float8_e5m2 half float double
    short int long uint char uchar ushort ulong dtype atomic_add atomic_addx2 atomic_addx4 atomic_max atomic_min
    atomic_and atomic_or atomic_xor atomic_exchange atomic_cas atomic_load atomic_store
"""
WORKS = _NAMES.split()


@pytest.mark.parametrize("name", WORKS)
def test_names_that_work(name):
    assert name in vars(T)
    found = getattr(T, name)
    if callable(found) and not isinstance(found, T.DType):
        assert (inspect.getdoc(found) or "").strip(), f"`T.{name}` is not described"


def test_every_other_name_says_why_it_is_not_there():
    for name in missing.REASONS:
        if name in vars(T):
            continue
        with pytest.raises(AttributeError, match="`T.") as caught:
            getattr(T, name)
        assert str(caught.value) == f"`T.{name}` {missing.REASONS[name]}"
    assert not set(WORKS) & set(missing.REASONS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Paralel", "there is no `T.Paralel`; did you mean `T.Parallel`?"),
        ("alloc_fragmnt", "there is no `T.alloc_fragmnt`; did you mean `T.alloc_fragment`?"),
        ("Clamp", "there is no `T.Clamp`; did you mean `T.clamp`?"),
        ("no_such_thing_at_all", "there is no `T.no_such_thing_at_all`"),
        ("tvm_mfma", "`T.tvm_mfma` is for GPUs of AMD, and kernels here are for GPUs of NVIDIA and for CPUs"),
        ("alloc_tmem", "needs a chip of `sm_100` or later"),
        ("float32x4", "`T.float32x4` is a type of vectors: elements are scalars here, such as `T.float32`"),
        ("int4", "`T.int4` is missing: there are no elements of this type"),
    ],
)
def test_what_is_said_of_names(name, message):
    with pytest.raises(AttributeError) as caught:
        getattr(T, name)
    assert message in str(caught.value)


def test_names_of_types():
    assert T.half is T.float16
    assert T.long is T.int64
    assert T.float8_e4m3fn is T.float8_e4m3
    assert T.dtype("short") is T.int16
    assert T.dtype(np.uint8) is T.uint8
    assert T.dtype(np.dtype("float64")) is T.float64
    assert T.float16 == "float16"
    assert T.float16 == "half"
    assert T.float16 != "float32"
    assert T.float16 != T.bfloat16
    assert T.bfloat16.itemsize == 2
    with pytest.raises(DTypeError, match=r"`float16x4` is a type of vectors, and elements are scalars: use `float16`"):
        T.dtype("float16x4")


SIGNATURES = {
    "copy": "src dst *coalesced_width *disable_tma *eviction_policy *prefer_instruction *annotations *loop_layout",
    "gemm": "A B C transpose_A transpose_B policy clear_accum k_pack mbar annotations",
    "reduce_max": "buffer out dim clear batch nan_propagate annotations",
    "reduce_sum": "buffer out dim clear batch annotations",
    "cumsum": "src dst dim reverse annotations",
    "Pipelined": "start stop num_stages order stage sync group *annotations",
    "serial": "start stop step *annotations",
    "unroll": "start stop step *explicit *unroll_factor *annotations",
    "vectorized": "start stop *annotations",
    "Persistent": "domain wave_size index group_size num_stages *annotations",
    "thread_binding": "start stop thread *annotations",
    "alloc_shared": "shape dtype scope",
    "clamp": "dst min_val max_val",
    "reshape": "src shape",
    "view": "src shape dtype",
    "im2col": "img col nhw_step c_step kernel stride dilation pad eviction_policy",
    "transpose": "src dst",
    "fill": "buffer value",
    "use_swizzle": "panel_size order enable",
    "ieee_fdiv": "x y rounding_mode",
    "atan2": "x1 x2",
    "cast": "value dtype round sat rbits",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_are_called_as_programs_call_them(name):
    parameters = inspect.signature(getattr(T, name)).parameters.values()
    assert " ".join("*" * (p.kind is p.KEYWORD_ONLY) + p.name for p in parameters) == SIGNATURES[name]


@pytest.mark.parametrize(("source", "mode"), [(s, m) for s in ("float32", "float64") for m in ("rn", "rz", "rp", "rm")])
def test_conversions_round_as_they_say(source, mode):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    generator = np.random.default_rng(0)
    x = np.concatenate([generator.uniform(-7e4, 7e4, 500), generator.standard_normal(500) * 1e-7]).astype(source)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 65519.9, 65504.0, -1e-30]
    n = x.size

    @T.prim_func
    def f(
        X: T.Tensor((n,), source),
        H: T.Tensor((n,), "float16"),
        B: T.Tensor((n,), "bfloat16"),
        I: T.Tensor((n,), "int32"),  # noqa: E741
    ):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                H[i] = T.cast(X[i], "float16", round=mode)
                B[i] = T.cast(X[i], "bfloat16", round=mode)
                I[i] = T.cast(X[i], "int32", round=mode)

    half, brain, integer = np.zeros(n, np.float16), np.zeros(n, ml_dtypes.bfloat16), np.zeros(n, np.int32)
    tilec.compile(f, target="cpu")(x, half, brain, integer)
    exact = x.astype(np.float64)
    for found in (half, brain):
        value = found.astype(np.float64)
        with np.errstate(all="ignore"):
            neighbours = [np.nextafter(found, found.dtype.type(s * np.inf)).astype(np.float64) for s in (1, -1)]
        for v, e, up, down in zip(value, exact, *neighbours, strict=True):
            if np.isnan(e):
                assert np.isnan(v)
            elif mode == "rn":
                finite = np.isfinite(v) and np.isfinite([up, down]).all()
                assert not finite or abs(v - e) <= min(abs(up - e), abs(down - e))
            else:
                downwards = mode == "rm" or (mode == "rz" and not np.signbit(e))
                assert (v <= e and (up > e or v == e)) if downwards else (v >= e and (down < e or v == e)), (e, v)
            assert np.isnan(e) or np.signbit(v) == np.signbit(e)
    rounded = {"rn": np.rint, "rz": np.trunc, "rp": np.ceil, "rm": np.floor}[mode](exact)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(integer[finite], rounded[finite].astype(np.int32))
