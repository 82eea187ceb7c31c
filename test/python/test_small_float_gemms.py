"""`T.gemm` of floats of 8 bits: in any mix, on every target (docs/language/semantics.md, F5)."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from small_float_gemms import TYPES, added_to, least_sums, product, promoted
from tilec.errors import DTypeError

NUMPY = {"float8_e4m3": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
MIXES = list(itertools.product(TYPES, TYPES))


def factor(shape, dtype, seed):
    """Small multiples of a power of two, denormal numbers among them: every sum of products is exact in `float32`."""
    quanta = np.random.default_rng(seed).integers(-3, 4, shape)
    return (quanta * 2.0 ** (-9 if dtype == "float8_e4m3" else -16)).astype(NUMPY[dtype])


def check(kernel, M, N, K, a, b, turn_a=False, turn_b=True):
    A, B = factor((M, K), a, 0), factor((N, K), b, 1)
    C = np.full((M, N), np.nan, np.float32)
    kernel(np.ascontiguousarray(A.T) if turn_a else A, B if turn_b else np.ascontiguousarray(B.T), C)
    np.testing.assert_array_equal(C, A.astype(np.float64) @ B.astype(np.float64).T)


@pytest.mark.parametrize(("a", "b"), MIXES)
@pytest.mark.parametrize("turns", itertools.product((False, True), repeat=2))
def test_products_on_the_cpu(a, b, turns):
    check(tilec.compile(product(70, 72, 96, a, b, turn_a=turns[0], turn_b=turns[1]), target="cpu"), 70, 72, 96, a, b,
          *turns)  # fmt: skip


@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_89", "sm_90a"])
@pytest.mark.parametrize(("a", "b"), MIXES)
def test_products_on_the_simulator(a, b, chip):
    M, N, K = 72, 64, 160
    check(tilec.compile(product(M, N, K, a, b), target=chip, backend="sim"), M, N, K, a, b)


@pytest.mark.parametrize("target", ["cpu", "sm_80", "sm_90a"])
@pytest.mark.parametrize(("a", "b"), MIXES)
def test_the_least_sums(a, b, target):
    """What `wgmma` loses of them is what it loses on an H200; others lose nothing."""
    D, kept = least_sums()
    A, B, C = np.zeros((64, 32), NUMPY[a]), np.ones((16, 32), NUMPY[b]), np.full((64, 16), np.nan, np.float32)
    options = {} if target == "cpu" else {"backend": "sim"}
    tilec.compile(added_to(a, b), target=target, **options)(A, B, D, C)
    np.testing.assert_array_equal(C, kept if target == "sm_90a" else D)


@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_89", "sm_90a"])
@pytest.mark.parametrize("turns", [(True, False), (False, False), (True, True)])
def test_tiles_that_no_instruction_reads_as_they_lie(chip, turns):
    M, N, K = 64, 64, 96
    kernel = tilec.compile(
        product(M, N, K, *TYPES, turn_a=turns[0], turn_b=turns[1]), target=chip, backend="sim"
    )  # fmt: skip
    check(kernel, M, N, K, *TYPES, *turns)


@pytest.mark.parametrize("chip", ["cpu", "sm_80", "sm_89", "sm_90a"])
def test_blocks_without_whole_warps(chip):
    M, N, K = 24, 24, 40
    program = product(M, N, K, *TYPES, tile=(16, 8, 8), threads=24)
    check(tilec.compile(program, target=chip, backend="sim" if chip != "cpu" else None), M, N, K, *TYPES)


@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_89", "sm_90a"])
def test_sums_in_a_second_accumulator(chip):
    M, N, K = 64, 64, 384
    check(tilec.compile(promoted(M, N, K, *TYPES), target=chip, backend="sim"), M, N, K, *TYPES)


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("chip", ["sm_80", "sm_89", "sm_90", "sm_90a"])
@pytest.mark.parametrize(("a", "b"), MIXES)
def test_instructions_of_chips(monkeypatch, a, b, chip, backend):
    monkeypatch.setenv("TL_EXECUTION_BACKEND", backend)
    kernel = tilec.compile(product(128, 128, 256, a, b, tile=(64, 64, 128)), target=chip)
    source = kernel.get_kernel_source()
    kinds = ".".join(t.removeprefix("float8_") for t in (a, b))
    halves = "m16n8k16.row.col.f32.f16.f16.f32"
    name = {
        "sm_80": halves if backend == "nvptx" else "tl::mma_f16(",
        "sm_90": halves,
        "sm_90a": f"m64n64k32.f32.{kinds}",
    }.get(chip, f"m16n8k32.row.col.f32.{kinds}.f32")
    if backend == "nvrtc" and chip in ("sm_89", "sm_90"):
        name = "tl::mma_" + (kinds if a != b else kinds.partition(".")[0]).replace(".", "_") + "("
    assert name in source


def mixed(a, b, c):
    @T.prim_func
    def main(A: T.Tensor((64, 64), a)):
        with T.Kernel(1, threads=128):
            As, Bs = T.alloc_shared((64, 64), a), T.alloc_shared((64, 64), b)
            acc = T.alloc_fragment((64, 64), c)
            T.gemm(As, Bs, acc)

    return main


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (("float8_e4m3", "float16", "float32"), "they are the same, or both floats of 8 bits; `T.copy` one"),
        (("float8_e4m3", "float8_e5m2", "float16"), "`T.gemm` of `float8_e4m3fn` accumulates in `float32`"),
    ],
)
def test_other_types_are_refused(types, message):
    with pytest.raises(DTypeError, match=message):
        mixed(*types)
