"""Kernels whose matrix instructions and copies the simulator executes, for GPUs of two kinds: `mma`, `ldmatrix` and
`cp.async` on sm_80; `wgmma`, `stmatrix` and the bulk copy engine on sm_90a.

Numbers are small integers, so that products are exact and compared for equality. Each test has a seed of its own: what
is asynchronous happens early in some and late in others. Nothing is reported of any of them.
"""

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.backends import sim
from tilec.errors import ScalarGemmWarning

sys.path.append(str(Path(__file__).parents[1] / "integration"))
import pipelined_kernels
from kernels import gemm_of_float32, tf32_ends

CHIPS = ["sm_80", "sm_90a"]
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _seed(request: pytest.FixtureRequest) -> Iterator[None]:
    sim.set_options(seed=zlib.crc32(request.node.name.encode()), checks=True)
    yield
    sim.set_options()


def numbers(*shape, dtype="float16"):
    return RNG.integers(-3, 4, shape).astype(getattr(ml_dtypes, dtype, dtype))


def simulated(program, chip):
    return tilec.compile(program, target=chip, backend="sim")


def nothing(shape, dtype):
    """What an output holds before: no number that a program writes."""
    return np.full(shape, 77, getattr(ml_dtypes, dtype, dtype))


def gemm(M, N, K, dtype, tile, *, ta=False, tb=False, stages=2, threads=128, out="float32", acc="float32"):
    bm, bn, bk = tile
    a_tile, b_tile = (bk, bm) if ta else (bm, bk), (bn, bk) if tb else (bk, bn)

    @T.prim_func
    def main(
        A: T.Tensor((K, M) if ta else (M, K), dtype),
        B: T.Tensor((N, K) if tb else (K, N), dtype),
        C: T.Tensor((M, N), out),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            As = T.alloc_shared(a_tile, dtype)
            Bs = T.alloc_shared(b_tile, dtype)
            sums = T.alloc_fragment((bm, bn), acc)
            T.clear(sums)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                if ta:
                    T.copy(A[k * bk, by * bm], As)
                else:
                    T.copy(A[by * bm, k * bk], As)
                if tb:
                    T.copy(B[bx * bn, k * bk], Bs)
                else:
                    T.copy(B[k * bk, bx * bn], Bs)
                T.gemm(As, Bs, sums, transpose_A=ta, transpose_B=tb)
            T.copy(sums, C[by * bm, bx * bn])

    return main


def check_gemm(chip, M, N, K, dtype, tile, *, ta=False, tb=False, out="float32", **options):
    a, b = numbers(M, K, dtype=dtype), numbers(K, N, dtype=dtype)
    c = nothing((M, N), out)
    kernel = simulated(gemm(M, N, K, dtype, tile, ta=ta, tb=tb, out=out, **options), chip)
    kernel(np.ascontiguousarray(a.T) if ta else a, np.ascontiguousarray(b.T) if tb else b, c)
    np.testing.assert_array_equal(c.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8"])
@pytest.mark.parametrize(("ta", "tb"), [(False, True), (False, False), (True, True), (True, False)])
def test_operands_of_all_types_are_read_as_they_lie(chip, dtype, ta, tb):
    integer = dtype == "int8"
    sums = "int32" if integer else "float32"
    depth = 128 // np.dtype(getattr(ml_dtypes, dtype, dtype)).itemsize
    check_gemm(chip, 128, 64, 2 * depth, dtype, (64, 64, depth), ta=ta, tb=tb, out=sums, acc=sums)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("depth", [16, 32, 64, 128])
@pytest.mark.parametrize("columns", [8, 64, 192])
@pytest.mark.parametrize("tb", [False, True], ids=["NN", "NT"])
def test_tiles_of_each_width_and_swizzle(chip, depth, columns, tb):
    check_gemm(chip, 64, columns, 2 * depth, "float16", (64, columns, depth), tb=tb, out="float16")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("tile", "threads"),
    [((64, 64, 64), 96), ((128, 64, 64), 256), ((128, 128, 32), 384), ((64, 256, 32), 256)],
)
@pytest.mark.parametrize("ta", [False, True], ids=["N", "T"])
def test_blocks_of_several_warp_groups(chip, tile, threads, ta):
    check_gemm(chip, tile[0], tile[1], 96, "bfloat16", tile, ta=ta, tb=True, threads=threads, stages=3)


@pytest.mark.parametrize("chip", CHIPS)
def test_sums_of_half_precision(chip):
    check_gemm(chip, 64, 128, 128, "float16", (64, 64, 64), out="float16", acc="float16")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(100, 72, 40), (40, 200, 136), (7, 8, 24), (65, 130, 33)])
def test_tiles_over_the_edges(chip, shape):
    check_gemm(chip, *shape, "float16", (64, 64, 32), tb=True, stages=3)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("columns", [24, 40, 72, 80])
def test_integers_of_any_width(chip, columns):
    check_gemm(chip, 64, columns, 64, "int8", (64, columns, 64), tb=True, out="int32", acc="int32")


@pytest.mark.parametrize("chip", CHIPS)
def test_tf32_loses_the_last_bits_of_its_factors(chip):
    a, b = RNG.standard_normal((64, 64), np.float32), RNG.standard_normal((64, 64), np.float32)
    c = nothing((64, 64), "float32")
    simulated(gemm(64, 64, 64, "float32", (64, 64, 32), tb=True), chip)(a, b, c)
    scale = np.abs(a).astype(np.float64) @ np.abs(b.T)
    assert (np.abs(c - a.astype(np.float64) @ b.T) <= (2 * 2.0**-11 + 64 * 2.0**-23) * scale).all()
    # Both operands were rounded: nothing of what they lost is there.
    assert np.abs(c - a.astype(np.float64) @ b.T).max() > 2.0**-14


@pytest.mark.parametrize("chip", CHIPS)
def test_rounding_to_tf32_at_its_ends(chip):
    a, expected = tf32_ends()
    b, c = np.zeros((64, 64), np.float32), nothing((64, 64), "float32")
    b[:, 0] = 1
    simulated(gemm(64, 64, 64, "float32", (64, 64, 32), tb=True), chip)(a, b, c)
    np.testing.assert_array_equal(c[: expected.size, 5], expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("threads", [128, 256])
def test_every_tile_of_a_pipeline_is_rounded_to_tf32(chip, threads):
    """Also those that are fetched in the loop, behind the product that reads the tiles before them."""
    ends, expected = tf32_ends()
    a, b, c = np.zeros((64, 256), np.float32), np.zeros((64, 256), np.float32), nothing((64, 64), "float32")
    a[:, 224] = ends[:, 0]
    b[:, 224] = 1
    simulated(gemm(64, 64, 256, "float32", (64, 64, 32), tb=True, threads=threads), chip)(a, b, c)
    np.testing.assert_array_equal(c[: expected.size, 5], expected)


@pytest.mark.parametrize("chip", CHIPS)
def test_tiles_for_registers_are_rounded_to_tf32_on_the_way(chip):
    """`wgmma` does not take B with N along its rows: factors are in registers, and rounded there if not before."""
    ends, expected = tf32_ends()
    a, b, c = np.zeros((64, 256), np.float32), np.zeros((256, 64), np.float32), nothing((64, 64), "float32")
    a[:, 224] = ends[:, 0]
    b[224] = 1
    kernel = simulated(gemm(64, 64, 256, "float32", (64, 64, 32), threads=128), chip)
    kernel(a, b, c)
    np.testing.assert_array_equal(c[: expected.size, 5], expected)
    a[:], b[:] = 0, 0
    a[:, 224] = 1
    b[224] = ends[:, 0]
    kernel(a, b, c)
    np.testing.assert_array_equal(c[5, : expected.size], expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("transposed", [False, True])
def test_what_was_extended_is_multiplied_as_it_is(chip, dtype, transposed):
    """No bit of a narrower float is lost in `tfloat32`, at the ends of its range neither, and a NaN stays one."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 32), dtype), B: T.Tensor((64, 32) if transposed else (32, 64), "float32"),
        C: T.Tensor((64, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((64, 32), "float32")
            Bs = T.alloc_shared((64, 32) if transposed else (32, 64), "float32")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, Bs)
            T.clear(acc)
            T.gemm(a, Bs, acc, transpose_B=transposed)
            T.copy(acc, C)

    numpy = np.dtype(getattr(ml_dtypes, dtype, dtype))
    codes = np.linspace(0, 2 ** (8 * numpy.itemsize) - 1, 64).astype(f"uint{8 * numpy.itemsize}")
    a, b, c = np.zeros((64, 32), numpy), np.zeros((64, 32), np.float32), nothing((64, 64), "float32")
    a[:, 5], b[:, 5] = codes.view(numpy), 1
    simulated(main, chip)(a, b if transposed else np.ascontiguousarray(b.T), c)
    np.testing.assert_array_equal(c[:, 7], a[:, 5].astype(np.float32))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("left_of_it", [0.0, 0.1])
def test_what_was_extended_and_masked_is_multiplied_as_it_is(chip, left_of_it):
    """A mask leaves numbers that `tfloat32` holds, unless it puts another one in their place: that is rounded."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 32), "float32"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=32):
            a, b = T.alloc_shared((64, 64), "float32"), T.alloc_shared((64, 32), "float32")
            acc = T.alloc_fragment((64, 32), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = T.if_then_else(i >= j, a[i, j], left_of_it)
            T.copy(B, b)
            T.clear(acc)
            T.gemm(a, b, acc, transpose_A=True)
            T.copy(acc, C)

    a, b, c = numbers(64, 64, dtype="bfloat16"), numbers(64, 32, dtype="float32"), nothing((64, 32), "float32")
    b[:] = np.round(b * 64) / 64  # exact in `tfloat32`
    simulated(main, chip)(a, b, c)
    masked = np.where(np.tri(64, dtype=bool), a.astype(np.float32), np.float32(0.0999755859375 if left_of_it else 0))
    np.testing.assert_allclose(c, masked.T @ b, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("columns", [64, 512, 768])
@pytest.mark.parametrize("threads", [96, 128])
@pytest.mark.parametrize("stages", [0, 2, 3])
def test_tiles_of_wider_type_are_filled_ahead(chip, dtype, columns, threads, stages):
    """Tiles of float32 that are kept as their tensor is, in panels where they are wider than a box of the engine."""

    @T.prim_func
    def main(A: T.Tensor((11, 4, 5 * columns), dtype), B: T.Tensor((11, 5 * columns), "float32")):
        with T.Kernel(12, threads=threads) as i:
            for k in T.Pipelined(5, num_stages=stages):
                wide = T.alloc_shared((4, columns), "float32")
                x, total = T.alloc_fragment((4, columns), "float32"), T.alloc_fragment((columns,), "float32")
                T.copy(A[i, 0, k * columns], wide)
                T.copy(wide, x)
                T.clear(total)
                for r in T.serial(4):
                    for j in T.Parallel(columns):
                        total[j] += (r + 1) * x[r, j]
                T.copy(total, B[i, k * columns])

    a, b = numbers(11, 4, 5 * columns, dtype=dtype), nothing((11, 5 * columns), "float32")
    simulated(main, chip)(a, b)
    np.testing.assert_array_equal(b, np.einsum("irk,r->ik", a.astype(np.float32), np.arange(1, 5, dtype=np.float32)))


@pytest.mark.parametrize("chip", CHIPS)
def test_products_without_tensor_cores_keep_all_bits(chip):
    a, b, c = np.zeros((8, 256), np.float32), np.zeros((32, 256), np.float32), nothing((8, 32), "float32")
    a[:, ::32] = np.float32(1 + 2.0**-20)
    b[:] = 1
    with pytest.warns(ScalarGemmWarning):
        kernel = simulated(gemm(8, 32, 256, "float32", (8, 32, 32), tb=True), chip)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, 8 * np.float32(1 + 2.0**-20))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("written", ["ahead", "by_copies", "by_a_loop", "from_a_fragment"])
def test_factors_are_rounded_to_tf32_however_they_were_written(chip, written):
    a, expected = tf32_ends()
    kernel = simulated(gemm_of_float32(written), chip)
    ones, c, d = (np.zeros((64, 64), np.float32) for _ in range(3))
    ones[:, 0] = 1
    kernel(a, ones, c, d)
    np.testing.assert_array_equal(c[: expected.size, 5], expected)
    np.testing.assert_array_equal(d, a)
    kernel(ones, a, c, d)
    np.testing.assert_array_equal(c[5, : expected.size], expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("stages", [0, 1, 2, 4])
def test_products_in_pipelines(chip, stages):
    q, a, b = numbers(64, 64), numbers(512, 64), numbers(512, 64)
    c = nothing((64, 64), "float32")
    simulated(pipelined_kernels.rescaled(stages), chip)(q, a, b, c)
    total = np.zeros((64, 64), np.float32)
    for k in range(0, 512, 64):
        total = total * np.float32(0.5) + (q.astype(np.float32) @ a[k : k + 64].astype(np.float32).T) @ b[
            k : k + 64
        ].astype(np.float32)
    np.testing.assert_allclose(c, total, rtol=1e-6)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("stages", "runs", "rows"), [(1, 1, 64), (2, 1, 64), (3, 2, 64), (2, 3, 128)])
def test_products_in_pipelines_by_way_of_registers(chip, stages, runs, rows):
    q, a, b = numbers(rows, 64), numbers(512, 64), numbers(512, 64)
    program = pipelined_kernels.rescaled_in_registers(stages, runs, rows=rows, threads=2 * rows)
    kernel = simulated(program, chip)
    for n in (0, 1, 2, 3, 8):
        c = nothing((rows, 64), "float32")
        kernel(q, a, b, n, c)
        f = np.float32
        expected = pipelined_kernels.rescaled_reference(q.astype(f), a.astype(f), b.astype(f), n, runs)
        np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-3)


ROWS, COLUMNS, TILE = 40, 64, (16, 32)


def window(tensor, row, column):
    """A tile of a matrix, with zeros where there is none."""
    padded = np.zeros((ROWS + 200, COLUMNS + 200), tensor.dtype)
    padded[100 : 100 + ROWS, 100 : 100 + COLUMNS] = tensor
    return padded[100 + row : 100 + row + TILE[0], 100 + column : 100 + column + TILE[1]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "int8"])
@pytest.mark.parametrize("step", [1, 16])
def test_boxes_are_read_wherever_they_are(dtype, step):
    @T.prim_func
    def program(A: T.Tensor((ROWS, COLUMNS), dtype), r: T.int32, c: T.int32, C: T.Tensor((3, *TILE), dtype)):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared(TILE, dtype)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[r + k, c * step], S)
                for i, j in T.Parallel(*TILE):
                    C[k, i, j] = S[i, j]

    a = numbers(ROWS, COLUMNS, dtype=dtype)
    kernel = simulated(program, "sm_90a")
    for row in (0, 30, 60, -5, -70):
        for column in (0, 48, 64, -16, -48) if step == 16 else (1, 33, 63, -1, -40):
            c = nothing((3, *TILE), dtype)
            kernel(a, row, column // step, c)
            for k in range(3):
                np.testing.assert_array_equal(c[k], window(a, row + k, column), f"{row + k}, {column}")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "int8"])
def test_boxes_are_written_wherever_they_are(dtype):
    @T.prim_func
    def program(A: T.Tensor(TILE, dtype), r: T.int32, c: T.int32, C: T.Tensor((ROWS, COLUMNS), dtype)):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared(TILE, dtype)
            T.copy(A, S)
            T.copy(S, C[T.max(r, 0), T.max(c, 0) * 16])

    a = numbers(*TILE, dtype=dtype)
    kernel = simulated(program, "sm_90a")
    for row in (0, 3, 30, 60):
        for column in (0, 16, 48, 64):
            c = nothing((ROWS, COLUMNS), dtype)
            expected = nothing((ROWS + 100, COLUMNS + 100), dtype)
            expected[row : row + TILE[0], column : column + TILE[1]] = a
            kernel(a, row, column // 16, c)
            np.testing.assert_array_equal(c, expected[:ROWS, :COLUMNS], f"{row}, {column}")
