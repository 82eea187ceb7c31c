"""What there is of the names that programs for tile compilers use: each works, or says what is known of it."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import (
    ArgumentError,
    DeviceAssertError,
    DTypeError,
    IgnoredHintWarning,
    LaunchError,
    ShapeError,
    TLSyntaxError,
)
from tilec.language import missing

_NAMES = """
    alloc_reducer reducer_init reducer_update finalize_reducer dp4a make_volta_swizzled_layout make_linear_layout
    make_wgmma_swizzled_layout make_full_bank_swizzled_layout make_half_bank_swizzled_layout
    make_quarter_bank_swizzled_layout make_gemm_fragment_8x8 make_gemm_fragment_8x8_transposed
    make_fully_replicated_layout_fragment
    annotate_consumer_reg_alloc annotate_producer_reg_dealloc async_copy dec_max_nreg disable_warp_group_reg_alloc
    fence_proxy_async inc_max_nreg no_set_max_nreg ptx_commit_group ptx_wait_group set_max_nreg wait_wgmma
    pdl_sync pdl_trigger warpgroup_arrive warpgroup_commit_batch warpgroup_fence_operand warpgroup_wait wgmma_gemm
    wgmma_mma __ldg
    FragmentBuffer SharedBuffer LocalBuffer Ref Var inline meta_class PersistentTileScheduler BaseTileScheduler
    prim_func macro Kernel ClusterKernel KernelLaunchFrame CUDASourceCodeKernel get_thread_binding
    get_thread_bindings get_block_binding get_block_bindings get_thread_extent get_thread_extents
    get_block_extent get_block_extents thread_binding grid alloc_shared alloc_fragment alloc_local alloc_var
    alloc_global alloc_buffer allocate empty Tensor StridedTensor Buffer dynamic symbolic const Parallel parallel
    Pipelined Persistent
    serial Serial unroll Unroll vectorized Vectorized loop_break copy im2col c2d_im2col transpose gemm
    GemmWarpPolicy fill clear reduce reduce_sum reduce_max reduce_min reduce_abssum reduce_absmax reduce_bitand
    reduce_bitor reduce_bitxor cumsum cummax any_of all_of clamp reshape view index_to_coordinates sync_threads
    use_swizzle annotate_layout annotate_safe_value annotate_l2_hit_ratio annotate_restrict_buffers
    annotate_min_blocks_per_sm annotate_compile_flags annotate_pass_configs Layout Fragment PartialFragment
    make_swizzled_layout
    assume likely If Then Else While abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or
    bitwise_xor ceil ceildiv cdiv align_up clz copysign cos cosh erf exp exp2 exp10 floor floordiv floormod
    hypot if_then_else infinity isfinite isinf isnan ldexp log log2 log10 log1p max max_value min min_value
    nearbyint popcount pow reinterpret round rsqrt Select shift_left shift_right sigmoid sin sinh sqrt tan tanh
    trunc truncdiv truncmod cast Cast And Or Not Min Max all any __log __log2 __log10 __exp __exp10 __sin __cos
    __tan fast_rcp ieee_fmaf ieee_frcp ieee_fsqrt ieee_fdiv bool int8 int16 int32 int64 uint8 uint16 uint32
    uint64 float16 float32 float64 bfloat16 tfloat32 float8_e4m3 float8_e4m3fn float8_e5m2 half float double
    short int long uint char uchar ushort ulong dtype atomic_add atomic_addx2 atomic_addx4 atomic_max atomic_min
    atomic_and atomic_or atomic_xor atomic_exchange atomic_cas atomic_load atomic_store
    shfl_sync shfl_xor shfl_up shfl_down tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down
    any_sync all_sync ballot_sync ballot activemask match_any_sync
    match_all_sync warp_reduce_sum warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor
    syncthreads_count syncthreads_and syncthreads_or sync_warp get_lane_idx get_warp_idx get_warp_idx_sync
    get_warp_group_idx shuffle_elect alloc_barrier create_barriers barrier_arrive barrier_wait mbarrier_arrive
    mbarrier_wait_parity mbarrier_expect_tx mbarrier_arrive_expect_tx ptx_arrive_barrier ptx_wait_barrier
    ptx_arrive_barrier_expect_tx ptx_fence_barrier_init alloc_cluster_barrier ptx_arrive_cluster_barrier
    ptx_init_barrier_thread_count cp_async_barrier_noinc named_barrier_arrive tma_copy
    tma_store_arrive tma_store_wait access_ptr address_of ptx_cp_async ldg32 ldg64 ldg128 stg32 stg64 stg128 lds32
    lds64 lds128 sts32 sts64 sts128 ws WarpSpecialize __ffs __fns ieee_add ieee_sub ieee_mul
    ieee_frsqrt fmod nextafter rng_init rng_rand rng_rand_float
    Ramp Broadcast Shuffle extract_lane vectorlow vectorhigh vectorcombine add2 sub2 mul2 fma2 max2 min2 abs2
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
        ("Paralel", "there is no `T.Paralel`; did you mean `T.parallel` or `T.Parallel`?"),
        ("alloc_fragmnt", "there is no `T.alloc_fragmnt`; did you mean `T.alloc_fragment`?"),
        ("Clamp", "there is no `T.Clamp`; did you mean `T.clamp`?"),
        ("no_such_thing_at_all", "there is no `T.no_such_thing_at_all`"),
        ("tvm_mfma", "`T.tvm_mfma` is for GPUs of AMD, and kernels here are for GPUs of NVIDIA and for CPUs"),
        ("alloc_tmem", "needs a chip of `sm_100` or later"),
        ("float8_e3m4x4", "`T.float8_e3m4x4` is missing: there are no elements of this type"),
        ("float6_e2m3fn", "`T.float6_e2m3fn` is missing: there are no elements of this type"),
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
    assert T.dtype("half") is T.dtype("torch.float16") is T.float16
    assert T.float16 != "float32"
    assert T.float16 != T.bfloat16
    assert T.float32x4 == "float32x4"
    assert T.bfloat16.itemsize == 2
    assert T.dtype("float8_e8m0fnu") is T.float8_e8m0fnu
    assert (T.int4.bits, T.int4.itemsize) == (4, 1)
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
    "alloc_global": "shape dtype scope",
    "clamp": "dst min_val max_val",
    "reshape": "src shape",
    "view": "src shape dtype",
    "im2col": "img col nhw_step c_step kernel stride dilation pad eviction_policy annotations",
    "transpose": "src dst annotations",
    "fill": "buffer value annotations",
    "ldg128": "src pred",
    "stg128": "dst value pred",
    "use_swizzle": "panel_size order enable",
    "ieee_fdiv": "x y rounding_mode",
    "ieee_fmaf": "x y z rounding_mode",
    "shfl_sync": "value srcLane width mask",
    "shfl_xor": "value delta width mask",
    "any_sync": "predicate mask",
    "match_any_sync": "value mask",
    "get_warp_group_idx": "warp_size warps_per_group",
    "shuffle_elect": "thread_extent",
    "alloc_barrier": "arrive_count",
    "mbarrier_wait_parity": "mbarrier parity",
    "mbarrier_arrive": "mbarrier cta_id",
    "alloc_cluster_barrier": "arrive_count",
    "ptx_arrive_cluster_barrier": "mbarrier cta_id",
    "ptx_init_barrier_thread_count": "mbarrier thread_count",
    "named_barrier_arrive": "barrier_id thread_count",
    "sync_threads": "barrier_id arrive_count",
    "tma_copy": "src dst *barrier *cluster_mask *leader_scope_threads *eviction_policy *annotations",
    "__fns": "mask base offset",
    "atan2": "x1 x2",
    "fmod": "x y",
    "Ramp": "base stride lanes",
    "Broadcast": "value lanes",
    "Shuffle": "vectors indices",
    "extract_lane": "vector lane",
    "fma2": "x y z",
    "rng_init": "seed seq off generator",
    "rng_rand": "",
    "rng_rand_float": "bit dist",
    "nextafter": "x1 x2",
    "cast": "value dtype round sat rbits span",
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


def test_one_number_can_be_taken_apart():
    @T.prim_func
    def f(B: T.Tensor((8,), "int32")):
        with T.Kernel(2, threads=32) as (bx,):
            for (i,) in T.Parallel(4):
                for (j,) in T.serial(1):
                    B[bx * 4 + i + j] = bx

    b = np.full(8, -1, np.int32)
    tilec.compile(f, target="cpu")(b)
    np.testing.assert_array_equal(b, [0, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounding_of_ties(dtype):
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.2, 8388609, np.inf, np.nan, -0.0]).astype(dtype)
    x[5] = np.nextafter(np.asarray(0.5, dtype), np.asarray(0, dtype))
    n = x.size

    @T.prim_func
    def f(X: T.Tensor((n,), dtype), E: T.Tensor((n,), dtype), A: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                E[i] = T.round(X[i])
                A[i] = T.round(X[i], "ties-away-from-zero")
                assert T.round(X[i], "ties-away-from-zero").dtype == dtype

    even, away = tilec.compile(f, out_idx=[1, 2], target="cpu")(x)
    np.testing.assert_array_equal(even, np.rint(x))
    wanted = np.trunc(x + np.copysign(x[5], x))
    np.testing.assert_array_equal(away, wanted)
    np.testing.assert_array_equal(np.signbit(away), np.signbit(x))
    assert (T.round(2.5), T.round(2.5, "ties-away-from-zero"), T.round(-0.5, "ties-away-from-zero")) == (2, 3, -1)
    with pytest.raises(TypeError, match='`rounding_mode` of `T.round` is "ties-to-even" or'):
        T.round(2.5, "up")


WIDER = [
    ("float16", "float32"), ("int8", "int32"), ("uint8", "int32"), ("bool", "int8"), ("bool", "uint8"),
    ("bool", "int32"), ("bool", "uint32"), ("bool", "int64"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim")])
@pytest.mark.parametrize(("narrow", "wide"), WIDER)
def test_reductions_to_a_wider_type_combine_in_it(narrow, wide, target, backend):
    @T.prim_func
    def f(A: T.Tensor((4, 64), narrow), S: T.Tensor((4,), wide), M: T.Tensor((4,), wide)):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((4, 64), narrow)
            s = T.alloc_fragment((4,), wide)
            m = T.alloc_shared((4, 1), wide)
            T.copy(A, a)
            T.reduce_sum(a, s, dim=1)
            T.reduce_max(a, m, dim=1)
            T.copy(s, S)
            T.copy(m[:, 0], M)

    a = np.random.default_rng(0).integers(0, 120, (4, 64)).astype(narrow)
    a[2] = 0
    s, m = tilec.compile(f, out_idx=[1, 2], target=target, backend=backend)(a)
    np.testing.assert_array_equal(s, a.astype(wide).sum(1))
    np.testing.assert_array_equal(m, a.max(1))


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_sums_of_bool_count_what_is_true(target, backend):
    """Whatever byte says so (semantics I5), in tiles of any kind, and beside what was there."""

    @T.prim_func
    def f(A: T.Tensor((4, 64), "bool"), N: T.Tensor((3, 64), "int32"), M: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((4, 64), "bool")
            n = T.alloc_fragment((64,), "int32")
            m = T.alloc_shared((4,), "int32")
            T.copy(A, S)
            T.reduce_sum(S, n, dim=0)
            T.copy(n, N[0, :])
            T.reduce_abssum(S[1:3, :], n, dim=0, clear=False)
            T.copy(n, N[1, :])
            T.reduce_bitxor(S, n, dim=0)
            T.copy(n, N[2, :])
            T.reduce_min(S, m, dim=1)
            T.copy(m, M)

    bytes_ = np.random.default_rng(3).integers(0, 3, (4, 64)).astype(np.uint8)
    bytes_[2] = 2
    flags = (bytes_ != 0).astype(np.int32)
    counts = flags.sum(0)
    n, m = np.zeros((3, 64), np.int32), np.zeros(4, np.int32)
    tilec.compile(f, target=target, backend=backend)(bytes_.view(bool), n, m)
    np.testing.assert_array_equal(n, [counts, counts + flags[1:3].sum(0), counts % 2])
    np.testing.assert_array_equal(m, flags.min(1))


@pytest.mark.parametrize(
    ("narrow", "wide"), [("int8", "uint32"), ("int32", "float64"), ("bool", "float32"), ("float32", "float16")]
)
def test_reductions_to_another_kind_of_type_are_refused(narrow, wide):
    with pytest.raises(
        DTypeError, match=rf"`{narrow}` to `{wide}`: `T.copy` the tile .* or of a wider one of their kind"
    ):

        @T.prim_func
        def f(S: T.Tensor((1,), wide)):
            with T.Kernel(1, threads=32):
                T.reduce_sum(T.alloc_fragment((64,), narrow), T.alloc_fragment((1,), wide))


def test_transpose_exchanges_the_last_two_dimensions():
    @T.prim_func
    def f(A: T.Tensor((2, 3, 4, 1), "int32"), B: T.Tensor((2, 3, 1, 4), "int32"), C: T.Tensor((4, 3), "int32")):
        with T.Kernel(1, threads=32):
            T.transpose(A, B)
            T.transpose(A[1, 0:3, 0:4, 0], C)

    a = np.arange(24, dtype=np.int32).reshape(2, 3, 4, 1)
    b, c = tilec.compile(f, out_idx=[1, 2], target="cpu")(a)
    np.testing.assert_array_equal(b, a.swapaxes(-1, -2))
    np.testing.assert_array_equal(c, a[1, :, :, 0].T)


def test_types_are_the_texts_of_their_names():
    assert isinstance(T.float16, str)
    assert getattr(np, T.int8) is np.int8
    assert np.zeros(2, T.float32).dtype == np.float32
    for kind in (T.float16, T.float8_e4m3, T.bool, T.tfloat32):
        texts = {
            str(kind),
            f"{kind}",
            f"{kind:>1}",
            "".join([kind]),
            kind.name,
            json.loads(json.dumps(kind)),
        }
        assert len(texts) == 1
        assert kind in texts
        assert {kind: 1}[kind.name] == {kind.name: 1}[kind] == 1
        assert T.dtype(kind.name) is copy.deepcopy(kind) is pickle.loads(pickle.dumps(kind)) is kind
        assert hash(kind) == hash(kind.name)
    assert T.float16 != "half", "one text; `T.dtype` knows the others"
    assert {"float16": 1}.get("half") is None
    assert T.float8_e4m3 == "float8_e4m3fn"
    assert "to_" + T.float16 + "_x" == "to_float16_x"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: T.bfloat16 < T.float16,
        lambda: max(T.float16, T.bfloat16),
        lambda: T.float16 >= "float16",
        lambda: T.float16 * 2,
        lambda: 2 * T.float16,
        lambda: T.float16 + T.float32,
        lambda: T.float16 + 1,
        lambda: 1 + T.float16,
    ],
)
def test_types_have_no_order_and_are_no_numbers(wrong):
    with pytest.raises(DTypeError, match=r"`T.b?float16` is an element type, which has no order and is no number"):
        wrong()


def test_types_in_other_places():
    for wrong in (lambda: T.Tensor(T.float32, T.float16), lambda: T.Tensor((4, T.float32))):
        with pytest.raises(ShapeError, match=r"not the element type `T.float32`: the shape comes first"):
            wrong()
    with pytest.raises(DTypeError, match=r"`T.float32` converts one value, as in `T.float32\(x\)`, and gets 0"):
        T.float32()
    with pytest.raises(DTypeError, match="unknown element type `foo.bar.float32`"):
        T.dtype("foo.bar.float32")


def test_symbols_know_what_they_are():
    n = T.dynamic("n", dtype="int64")
    assert isinstance(n, T.Var)
    assert not isinstance(3, T.Var)
    assert isinstance(T.Var("m"), T.Var)
    with pytest.raises(DTypeError, match="a symbol is an integer, not of `float32`"):
        T.dynamic("n", "float32")


def test_slices_between_two_reads_of_one_variable():
    @T.prim_func
    def f(A: T.Tensor[64, T.int32], B: T.Tensor((64,), "int32")):
        with T.Kernel(4, threads=32) as bx:
            at = T.alloc_var(T.int32, 0)
            at += 0
            T.copy(A[at + bx * 16 : at + (bx + 1) * 16], B[at + bx * 16 : at + (bx + 1) * 16])

    a = np.arange(64, dtype=np.int32)
    np.testing.assert_array_equal(tilec.compile(f, out_idx=1, target="cpu")(a), a)


def test_a_slice_may_begin_at_an_expression_that_is_written_twice():
    @T.prim_func
    def f(A: T.Tensor((6, 64), "int32"), order: T.Tensor((4,), "int32"), B: T.Tensor((6, 64), "int32")):
        with T.Kernel(6, threads=32) as bx:
            for k in T.serial(4):
                T.copy(
                    A[bx // 3 * 3 + bx % 3, k % 2 * 32 + k // 2 * 16 : k % 2 * 32 + k // 2 * 16 + 16],
                    B[bx, (k + 1) % 4 * 16 : ((k + 1) % 4 + 1) * 16],
                )
            T.copy(A[0, order[bx // 2] % 4 * 16 : order[bx // 2] % 4 * 16 + 16], B[bx, 0:16])

    a = np.arange(6 * 64, dtype=np.int32).reshape(6, 64)
    order = np.array([2, 5, -1, 0], np.int32)
    expected = a.copy()
    for k in range(4):
        expected[:, (k + 1) % 4 * 16 :][:, :16] = a[:, k % 2 * 32 + k // 2 * 16 :][:, :16]
    for b in range(6):
        expected[b, :16] = a[0, order[b // 2] % 4 * 16 :][:16]
    np.testing.assert_array_equal(tilec.compile(f, out_idx=2, target="cpu")(a, order), expected)


@pytest.mark.parametrize(
    ("shift", "advice"),
    [(-6, "it is -19, because -6 counts from the end: .* is given by the place where it begins"), (40, "let it end")],
)
def test_slices_without_elements_say_why(shift, advice):
    """An unrolled loop gives Python's integers, whose negative ones count from the end (semantics M4)."""
    with pytest.raises(ValueError, match=advice):

        @T.prim_func
        def f(A: T.Tensor((32,), "int32"), B: T.Tensor((13,), "int32")):
            with T.Kernel(1, threads=32):
                for k in T.unroll(1):
                    T.copy(A[k + shift : T.min(k + shift + 13, 32)], B)


def test_slices_that_only_small_tensors_have_are_refused():
    n = T.dynamic("n")
    with pytest.raises(ValueError, match="only if the extent `n` is small, because -1 counts .* where it begins, -1"):

        @T.prim_func
        def f(A: T.Tensor((n,), "int32"), B: T.Tensor((4,), "int32")):
            with T.Kernel(1, threads=32):
                for k in T.unroll(1):
                    T.copy(A[k * 4 - 1 : k * 4 + 3], B)


def test_slices_between_reads_of_what_changes_are_as_long_as_the_kernel_says():
    @T.prim_func
    def f(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            at = T.alloc_var(T.int32, 3)
            start = at + 0
            at -= 1
            T.copy(A[start : at + 16], B[0:16])

    a, b = np.arange(64, dtype=np.int32), np.full(64, -1, np.int32)
    tilec.compile(f, target="cpu")(a, b)
    np.testing.assert_array_equal(b, [*range(3, 18), 0, *[-1] * 48])


def test_a_swizzle_after_the_coordinates_is_a_hint():
    with pytest.warns(IgnoredHintWarning, match=r"`T.use_swizzle` has no counterpart here .* used before it"):

        @T.prim_func
        def f(A: T.Tensor((4, 4), "int32")):
            with T.Kernel(4, 4, threads=32) as (bx, by):
                place = bx * 4
                T.use_swizzle(4)
                A[by, bx] = place + by

    a = np.zeros((4, 4), np.int32)
    tilec.compile(f, target="cpu")(a)
    np.testing.assert_array_equal(a, np.arange(16).reshape(4, 4).T)


def reducers():
    @T.prim_func
    def f(
        A: T.Tensor((16, 64), "float32"),
        I: T.Tensor((16, 64), "int32"),  # noqa: E741
        S: T.Tensor((16,), "float32"),
        M: T.Tensor((16,), "float32"),
        X: T.Tensor((64,), "int32"),
        N: T.Tensor((1,), "int32"),
        B: T.Tensor((16,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer(16, "float32", replication="all")
            top = T.alloc_reducer((16,), T.float32, op="max")
            flips = T.alloc_reducer((64,), "int32", op="bitxor")
            least = T.alloc_reducer((1,), "int32", "min")
            common = T.alloc_reducer((16,), "int32", "bitand")
            a = T.alloc_fragment((16, 32), "float32")
            maxima = T.alloc_fragment((16,), "float32")
            T.clear(total)
            T.reducer_init(top)
            T.reducer_init(flips, 5)
            T.reducer_init(least)
            T.reducer_init(common)
            for k in T.serial(2):
                T.copy(A[0, k * 32], a)
                for i, j in T.Parallel(16, 32):
                    total[i] += a[i, j] * 2
                    top[i] = T.max(a[i, j], top[i])
                    T.reducer_update(flips[k * 32 + j], I[i, k * 32 + j])
                    least[0] = T.min(least[0], I[i, k * 32 + j])
                    T.reducer_update(common[i], I[i, k * 32 + j])
            T.finalize_reducer(total)
            T.copy(total, S)
            T.finalize_reducer(top, maxima, batch=2)
            T.copy(maxima, M)
            T.finalize_reducer(flips, X)
            T.finalize_reducer(least, N)
            T.finalize_reducer(common, B)

    return f


@pytest.mark.parametrize("target", [("cpu", "auto"), ("sm_90a", "sim")])
def test_reducers_combine_what_iterations_give(target):
    generator = np.random.default_rng(0)
    a = generator.standard_normal((16, 64)).astype(np.float32)
    i = generator.integers(3, 99, (16, 64)).astype(np.int32) | 64
    total, top, flips, least, common = tilec.compile(
        reducers(), out_idx=[2, 3, 4, 5, 6], target=target[0], backend=target[1]
    )(a, i)
    np.testing.assert_allclose(total, 2 * a.sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(top, a.max(1))
    np.testing.assert_array_equal(flips, np.bitwise_xor.reduce(i, axis=0) ^ 5)
    np.testing.assert_array_equal(least, [i.min()])
    np.testing.assert_array_equal(common, np.bitwise_and.reduce(i, axis=1))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda r: r.__setitem__(0, 1.0), "contributions go into it by `T.reducer_update"),
        (lambda r: r.__setitem__(0, r[0] * 2.0), "is a reducer that combines by `sum`"),
        (lambda r: T.reducer_update(r, 1), "`T.reducer_update` needs an element of a reducer"),
        (lambda r: T.finalize_reducer(r, batch=0), "`batch` of `T.finalize_reducer` must be positive"),
        (lambda r: T.reducer_init(3), "`T.reducer_init` needs what `T.alloc_reducer` returns"),
        (lambda r: T.alloc_reducer(4, "float32", "mean"), "`op` of `T.alloc_reducer` is `sum`, `max`"),
        (lambda r: T.alloc_reducer(4, "float32", "bitor"), "holds integers, not `float32`"),
        (lambda r: T.alloc_reducer(4, "float32", replication="some"), '`replication` of `T.alloc_reducer` is "all"'),
        (lambda r: T.dp4a(r, r, r), "`T.dp4a` adds products of `int8` to an `int32`"),
        (lambda r: T.dp4a(1, r, r), "`T.dp4a` needs buffers or elements of them"),
    ],
)
def test_what_reducers_refuse(write, message):
    with pytest.raises(tilec.TLError) as caught:

        @T.prim_func
        def f(A: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=32):
                total = T.alloc_reducer(4, "float32")
                write(total)

    assert message in str(caught.value)


def test_dot_products_of_four():
    @T.prim_func
    def f(
        A: T.Tensor((8, 8), "int8"), B: T.Tensor((8,), "int8"), C: T.Tensor((8,), "int32"), D: T.Tensor((1,), "int32")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                T.dp4a(A[i, 4], B[4], C[i])
            T.dp4a(B[0:4], A[0, 0:4], D[0:1])

    generator = np.random.default_rng(0)
    a, b = generator.integers(-128, 128, (8, 8)).astype(np.int8), generator.integers(-128, 128, 8).astype(np.int8)
    c, d = np.full(8, 7, np.int32), np.zeros(1, np.int32)
    tilec.compile(f, target="cpu")(a, b, c, d)
    np.testing.assert_array_equal(c, 7 + a[:, 4:].astype(np.int32) @ b[4:].astype(np.int32))
    assert d[0] == a[0, :4].astype(np.int32) @ b[:4].astype(np.int32)


def test_bits_of_local_arrays_are_reduced():
    @T.prim_func
    def f(A: T.Tensor((4, 8), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_local((4, 8), "int32")
            b = T.alloc_local((4,), "int32")
            for i, j in T.grid(4, 8):
                a[i, j] = A[i, j]
            T.reduce_bitxor(a, b, dim=1)
            for i in T.grid(4):
                B[i] = b[i]

    a = np.random.default_rng(0).integers(0, 99, (4, 8)).astype(np.int32)
    np.testing.assert_array_equal(tilec.compile(f, out_idx=1, target="cpu")(a), np.bitwise_xor.reduce(a, axis=1))


@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (True, True)])
def test_local_arrays_are_multiplied(transpose_a, transpose_b):
    shapes = [(8, 4) if transpose_a else (4, 8), (6, 8) if transpose_b else (8, 6)]

    @T.prim_func
    def f(A: T.Tensor(shapes[0], "float32"), B: T.Tensor(shapes[1], "float32"), C: T.Tensor((4, 6), "float32")):
        with T.Kernel(1):
            a = T.alloc_local(shapes[0], "float32")
            b = T.alloc_local(shapes[1], "float32")
            c = T.alloc_local((4, 6), "float32")
            T.clear(c)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_a, transpose_b)
            T.copy(c, C)

    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
    wanted = (a.T if transpose_a else a) @ (b.T if transpose_b else b)
    np.testing.assert_allclose(tilec.compile(f, out_idx=2, target="cpu")(a, b), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k_pack", [0, 3, True, "2"])
def test_packing_of_products(k_pack):
    with pytest.raises(ValueError, match=f"T.gemm k_pack must be an int equal to 1 or 2, got {k_pack!r}"):

        @T.prim_func
        def f(C: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                a = T.alloc_shared((32, 32), "float16")
                c = T.alloc_fragment((32, 32), "float32")
                T.gemm(a, a, c, k_pack=k_pack)


def test_neighbours_are_slices_and_rows():
    @T.prim_func
    def f(A: T.Tensor((2, 4), "float32"), B: T.Tensor((8,), "float32"), C: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=32):
            T.atomic_addx4(B[2:6], A[1, 0:4])
            T.atomic_addx2(C, A[0, 2])

    a, b, c = np.arange(8, dtype=np.float32).reshape(2, 4), np.ones(8, np.float32), np.ones(2, np.float32)
    tilec.compile(f, target="cpu")(a, b, c)
    np.testing.assert_array_equal(b, [1, 1, 5, 6, 7, 8, 1, 1])
    np.testing.assert_array_equal(c, [3, 4])


def test_all_threads_come_to_a_barrier():
    @T.prim_func
    def f(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            T.sync_threads()
            T.sync_threads(barrier_id=1, arrive_count=64)
            A[0] = 1

    assert f.script().count("gpu.barrier") == 2
    with pytest.raises(TLSyntaxError, match="64 threads arrive at `barrier 2`, of which 32 are missing"):

        @T.prim_func
        def g(A: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64):
                T.sync_threads(2, 32)


def test_a_pointer_whose_tensor_has_another_shape_than_the_program_says():
    @T.prim_func
    def clear(a: T.ptr, m: T.int32):
        A = T.make_tensor(a, (m, 4), "int32")
        with T.Kernel(m, threads=32) as b:
            for i in T.Parallel(4):
                A[b, i] = 0

    kernel = tilec.compile(clear, target="cpu")
    A = np.ones((6, 4), np.int32)
    kernel(A, 6)
    assert not A.any()
    with pytest.raises(DeviceAssertError, match="`a` has another shape than the program says"):
        kernel(A, 5)
    with pytest.raises(ShapeError, match="4"):
        kernel(np.ones((6, 5), np.int32), 6)


def test_a_pointer_whose_tensor_has_extents_of_symbols():
    m = T.dynamic("m")

    @T.prim_func
    def double(a: T.ptr, b: T.handle):
        A = T.make_tensor(a, (m, 4), "int32")
        B = T.match_buffer(b, (m, 4), "int32")
        with T.Kernel(m, threads=32) as row:
            for i in T.Parallel(4):
                B[row, i] = A[row, i] * 2

    kernel = tilec.compile(double, target="cpu")
    A, B = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((3, 4), np.int32)
    kernel(A, B)
    np.testing.assert_array_equal(B, A * 2)
    with pytest.raises(ShapeError, match="dimension 0 of `b` is 4, expected 3"):
        kernel(A, np.zeros((4, 4), np.int32))


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim")])
def test_truths_are_written_by_way_of_another_shape(target, backend):
    @T.prim_func
    def reverse(A: T.Tensor((16,), "bool"), B: T.Tensor((4, 4), "bool")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), "bool")
            square = T.reshape(tile, (4, 4))
            for i, j in T.Parallel(4, 4):
                square[i, j] = A[15 - 4 * i - j]
            T.copy(tile, T.reshape(B, (16,)))

    A, B = np.random.default_rng(0).random(16) < 0.5, np.zeros((4, 4), np.bool_)
    tilec.compile(reverse, target=target, backend=backend)(A, B)
    np.testing.assert_array_equal(B, A[::-1].reshape(4, 4))


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim"), ("sm_90a", "sim")])
def test_tiles_without_dimensions_are_copied(target, backend, space):
    @T.prim_func
    def spread(A: T.Tensor((), "float32"), B: T.Tensor((4,), "float32"), C: T.Tensor((), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((), "float32") if space == "shared" else T.alloc_fragment((), "float32")
            for _ in T.Pipelined(2, num_stages=2):
                T.copy(A, tile)
                for i in T.Parallel(4):
                    B[i] += tile[()]
            T.copy(tile, C)

    A, B, C = np.array(3, np.float32), np.zeros(4, np.float32), np.zeros((), np.float32)
    tilec.compile(spread, target=target, backend=backend)(A, B, C)
    np.testing.assert_array_equal(B, [6, 6, 6, 6])
    assert C == 3


def test_numbers_that_are_arrays_are_refused():
    @T.prim_func
    def store(A: T.Tensor((1,), "float32"), x: T.float32, n: T.int32):
        with T.Kernel(1):
            A[0] = x + T.cast(n, "float32")

    kernel = tilec.compile(store, target="cpu")
    A = np.zeros(1, np.float32)
    for wrong in (np.zeros(3), np.zeros(1), np.zeros(3, int)):
        with pytest.raises(ArgumentError, match="`x` must be a number, not `ndarray`: pass one of its elements"):
            kernel(A, wrong, 1)
        with pytest.raises(ArgumentError, match="`n` must be a number, not `ndarray`: pass one of its elements"):
            kernel(A, 1.0, wrong)
    kernel(A, np.float32(2), np.int64(3))
    assert A[0] == 5


def test_a_workspace_without_memory_is_said():
    @T.prim_func
    def store(A: T.Tensor((1,), "float32")):
        W = T.alloc_global((1 << 44,), "float32")
        with T.Kernel(1):
            W[0] = A[0]

    with pytest.raises(LaunchError, match=r"the workspace `workspace0` of \(17592186044416,\) `float32` is too large"):
        tilec.compile(store, target="cpu")(np.zeros(1, np.float32))


def test_decorators_have_brackets_or_not():
    @T.macro()
    def doubled(x):
        return 2 * x

    @T.prim_func()
    def double(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                A[i] = doubled(A[i])

    A = np.arange(4, dtype=np.int32)
    tilec.compile(double, target="cpu")(A)
    assert A.tolist() == [0, 2, 4, 6]


def test_scans_of_what_does_not_fit_in_registers_go_row_by_row(ir):

    def scan(threads):
        @T.prim_func
        def f(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16, 64), "float32")):
            with T.Kernel(1, threads=threads):
                x = T.alloc_fragment((16, 64), "float32")
                T.copy(A, x)
                T.cumsum(x, dim=1)
                T.copy(x, B)

        return f

    assert ir(scan(1)).count("tl.parallel") == 1
    assert ir(scan(1)).count("tl.scan") == 0
    assert ir(scan(1024)).count("tl.scan") == 1
    a = np.random.default_rng().standard_normal((16, 64)).astype(np.float32)
    b = np.zeros_like(a)
    for threads in (1, 1024):
        tilec.compile(scan(threads), target="cpu")(a, b)
        np.testing.assert_allclose(b, a.astype(np.float64).cumsum(axis=1), rtol=1e-4, atol=1e-4)
