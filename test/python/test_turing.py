"""Kernels for chips before `sm_80`: products of half the depth, and what they have no instruction for."""

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import CompileError, ScalarGemmWarning, UnpipelinedLoopWarning

CHIP = "sm_75"
SUMS = {"float16": "float32", "int8": "int32", "uint8": "int32", "bfloat16": "float32", "float8_e4m3": "float32"}
NUMPY = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3": ml_dtypes.float8_e4m3fn}


def product(dtype, total=None, stages=1, transposed=False):
    total = total or SUMS[dtype]
    M, N, K, step = 64, 96, 128, 32

    @T.prim_func
    def multiply(
        A: T.Tensor((M, K), dtype), B: T.Tensor((N, K) if transposed else (K, N), dtype), C: T.Tensor((M, N), total)
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, step), dtype)
            b = T.alloc_shared((N, step) if transposed else (step, N), dtype)
            acc = T.alloc_fragment((M, N), total)
            T.clear(acc)
            for k in T.Pipelined(K // step, num_stages=stages):
                T.copy(A[0, k * step], a)
                if transposed:
                    T.copy(B[0, k * step], b)
                else:
                    T.copy(B[k * step, 0], b)
                T.gemm(a, b, acc, transpose_B=transposed)
            T.copy(acc, C)

    return multiply


def small_numbers(shape, dtype, seed):
    low = 0 if dtype == "uint8" else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(NUMPY.get(dtype, dtype))


@pytest.mark.filterwarnings("ignore::tilec.errors.ScalarGemmWarning")
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("dtype", "total"), [*SUMS.items(), ("float16", "float16")])
def test_products(dtype, total, transposed):
    A, B = small_numbers((64, 128), dtype, 0), small_numbers((128, 96), dtype, 1)
    C = np.zeros((64, 96), total)
    kernel = tilec.compile(product(dtype, total, transposed=transposed), target=CHIP, backend="sim")
    kernel(A, np.ascontiguousarray(B.T) if transposed else B, C)
    np.testing.assert_array_equal(C, A.astype(np.float64) @ B.astype(np.float64))


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize(
    ("dtype", "total", "instruction"),
    [
        ("float16", "float32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
        ("float16", "float16", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"),
        ("float8_e4m3", "float32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
        ("int8", "int32", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"),
        ("uint8", "int32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
    ],
)
def test_instructions(backend, dtype, total, instruction):
    """Both generators assemble for the chip; the text of one is a function of the header."""
    text = tilec.compile(product(dtype, total), target=CHIP, backend=backend).get_kernel_source()
    assert (instruction if backend == "nvptx" else "tl::mma_") in text


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_products_without_an_instruction(backend, dtype):
    with pytest.warns(ScalarGemmWarning, match="use operands of `float16` or `int8`, or compile for `sm_80` or later"):
        text = tilec.compile(product(dtype, SUMS.get(dtype, dtype)), target=CHIP, backend=backend).get_kernel_source()
    assert "mma" not in text


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_loops_are_not_pipelined(backend):
    with pytest.warns(UnpipelinedLoopWarning, match="the chip has no asynchronous copies; use `T.serial`, or compile"):
        kernel = tilec.compile(product("float16", stages=3), target=CHIP, backend=backend)
    assert "cp.async" not in kernel.get_kernel_source()
    assert "cp_async" not in kernel.get_kernel_source()


def test_shared_memory_of_a_block():
    @T.prim_func
    def large(X: T.Tensor((1, 32768), "float32"), Y: T.Tensor((1, 32768), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((1, 16385), "float32")
            T.copy(X[0, 0], tile)
            for i in T.Parallel(16385):
                Y[0, i] = tile[0, 16384 - i]

    with pytest.raises(CompileError, match="`sm_75` has at most 65536 for a block"):
        tilec.compile(large, target=CHIP, backend="sim")


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_what_came_with_later_chips_is_computed(backend):
    """Sums, extremes and conversions of `bfloat16`, extremes with NaN, pairs of halves, atomic sums."""

    @T.prim_func
    def mixed(X: T.Tensor((1024,), "float32"), Y: T.Tensor((1024,), "bfloat16"), Z: T.Tensor((1024,), "float16")):
        with T.Kernel(1, threads=128):
            greatest = T.alloc_fragment((1,), "float32")
            x = T.alloc_fragment((1024,), "float32")
            T.copy(X, x)
            T.reduce_max(x, greatest, dim=0)
            for i in T.Parallel(1024):
                Z[i] = T.min(X[i], greatest[0])
                Y[i] = T.ieee_fmaf(T.cast(X[i], "bfloat16"), Y[i], Y[i]) * T.max(Y[i], T.cast(i, "bfloat16"))
                T.atomic_add(Y[i // 2], Y[i])

    assert tilec.compile(mixed, target=CHIP, backend=backend).get_kernel_source()


@pytest.mark.parametrize(
    "options", [{"target": "cpu"}, {"target": "sm_80", "backend": "sim"}, {"target": CHIP, "backend": "sim"}]
)
def test_fused_sums_of_bfloat16_are_rounded_once(options):
    """261 is half way between 260 and 262: what is added decides, however small it is. So with 3 and a tiny product."""

    @T.prim_func
    def fused(A: T.Tensor((4, 64), "bfloat16"), D: T.Tensor((64,), "bfloat16")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                D[i] = T.fma(A[0, i], A[1, i], A[2, i])

    A = np.zeros((4, 64), np.float32)
    A[0], A[1], A[2] = 3, 87, 2.0**-100
    A[2, 1::4], A[2, 2::4] = -(2.0**-100), 0
    A[:3, 3::4] = np.array([np.inf, 1, 1])[:, None]
    D = np.zeros(64, ml_dtypes.bfloat16)
    tilec.compile(fused, **options)(A.astype(ml_dtypes.bfloat16), D)
    np.testing.assert_array_equal(D.astype(np.float32), np.tile(np.float32([262, 260, 260, np.inf]), 16))
