"""Which copies the bulk copy engine may do; found by random programs on a GPU."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from atomic_programs import tiles_added, tiles_added_up


def uses_bulk_copies(program):
    return "cp.async.bulk" in tilec.compile(program, target="sm_90a", assembler="none").get_ptx()


def store(extent):
    @T.prim_func
    def program(C: T.Tensor((extent,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4,), "float32")
            T.fill(S, 1.0)
            T.copy(S, C[0])

    return program


def test_a_row_that_ends_within_16_bytes_is_not_written_by_the_engine():
    """It would be written over its end."""
    assert uses_bulk_copies(store(4))
    assert not uses_bulk_copies(store(1))
    assert not uses_bulk_copies(store(T.dynamic("n")))


@pytest.mark.parametrize("rows", [128, T.dynamic("rows")])
def test_rows_with_an_index_between_them_and_their_elements_are_boxes(rows):
    """Their copies run ahead as well."""

    @T.prim_func
    def program(A: T.Tensor((2, rows, 3, 64), "float16"), C: T.Tensor((2, rows, 3, 64), "float16")):
        with T.Kernel(3, 2, threads=128) as (h, b):
            S = T.alloc_shared((64, 64), "float16")
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[b, k * 64 : k * 64 + 64, h, :], S)
                T.copy(S, C[b, k * 64 : k * 64 + 64, h, :])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ptx = tilec.compile(program, target="sm_90a", assembler="none").get_ptx()
        assert "cp.async.bulk.tensor.4d.shared" in ptx
        assert "cp.async.bulk.tensor.4d.global" in ptx
        assert "ld.global" not in ptx
        assert "cp.async.cg" in tilec.compile(program, target="sm_80", assembler="none").get_ptx()


@pytest.mark.parametrize(
    ("rows", "columns", "order"),
    [
        (4096, 4096, "row"), (4096, 4096, "column"), (1000, 1048, "row"), (64, 4096, "row"), (64, 4096, "column"),
        (T.dynamic("rows"), 4096, "row"),
    ],
)  # fmt: skip
def test_tiles_of_blocks_in_panels_are_written_by_the_engine(rows, columns, order):
    """The place of a block in a panel is told in a way that leaves no doubt of where it is."""

    @T.prim_func
    def program(C: T.Tensor((rows, columns), "bfloat16")):
        with T.Kernel(T.ceildiv(columns, 64), T.ceildiv(rows, 64), threads=128) as (bx, by):
            T.use_swizzle(10, order)
            S = T.alloc_shared((64, 64), "bfloat16")
            T.fill(S, 1.0)
            T.copy(S, C[by * 64, bx * 64])

    assert uses_bulk_copies(program)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint32"])
def test_tiles_are_added_by_the_engine(dtype):
    """Several at a time, each as often as the program says, and none beyond the tensor."""
    program = tiles_added(dtype, step=12)
    for backend in ("nvptx", "nvrtc"):
        ptx = tilec.compile(program, target="sm_90a", assembler="none", backend=backend).get_ptx()
        assert "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group" in ptx
        assert "red.global" not in ptx
        assert "atom." not in ptx
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a, c = (np.random.default_rng().integers(0, 4, shape).astype(kind) for shape in ((5, 16, 32), (40, 64)))
    expected = tiles_added_up(a, c.copy(), step=12)[1]
    tilec.compile(program, target="sm_90a", backend="sim")(a, c)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_tiles_of_wide_numbers_are_added_by_threads(dtype):
    assert not uses_bulk_copies(tiles_added(dtype))


def test_bytes_of_bool_are_read_one_by_one():
    @T.prim_func
    def program(A: T.Tensor((3, 64), "bool"), C: T.Tensor((64,), "bool")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), "bool")
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[k, 0], S)
                T.copy(S, C)

    assert not uses_bulk_copies(program)


def test_the_place_of_a_box_in_a_row_is_a_multiple_of_16_bytes():
    """The engine stops with an illegal instruction at any other."""

    def load(column):
        @T.prim_func
        def program(A: T.Tensor((40, 64), "float32"), n: T.int32, C: T.Tensor((3, 16, 16), "float32")):
            with T.Kernel(1, threads=64):
                S = T.alloc_shared((16, 16), "float32")
                for k in T.Pipelined(3, num_stages=2):
                    T.copy(A[k, column(k, n)], S)
                    for i, j in T.Parallel(16, 16):
                        C[k, i, j] = S[i, j] + 1.0

        return program

    assert uses_bulk_copies(load(lambda k, n: 4))
    assert uses_bulk_copies(load(lambda k, n: n * 4 - 8))
    assert uses_bulk_copies(load(lambda k, n: T.min(k * 16, n % 4 * 4)))
    assert not uses_bulk_copies(load(lambda k, n: -1))
    assert not uses_bulk_copies(load(lambda k, n: 2))
    assert not uses_bulk_copies(load(lambda k, n: k))
    assert not uses_bulk_copies(load(lambda k, n: n))


def test_the_engine_writes_no_box_that_begins_before_its_tensor():
    """It stops with an illegal instruction there, where it reads zeros."""

    def store(place):
        @T.prim_func
        def program(n: T.int32, C: T.Tensor((128, 64), "float32")):
            with T.Kernel(4, 2, threads=64) as (bx, by):
                S = T.alloc_shared((16, 16), "float32")
                T.fill(S, 1.0)
                row, column = place(bx, by, n)
                T.copy(S, C[row, column])

        return program

    assert uses_bulk_copies(store(lambda bx, by, n: (by * 16, bx * 16)))
    assert uses_bulk_copies(store(lambda bx, by, n: ((by * 4 + bx) // 2 * 16, T.min(T.max(n, 0), 99) * 16)))
    assert uses_bulk_copies(store(lambda bx, by, n: (T.min(by * 16, 100), bx % 2 * 16)))
    assert not uses_bulk_copies(store(lambda bx, by, n: (by * 16 - 1, bx * 16)))
    assert not uses_bulk_copies(store(lambda bx, by, n: (by * 16, bx * 16 - 16)))
    assert not uses_bulk_copies(store(lambda bx, by, n: (n, bx * 16)))


def test_the_engine_writes_no_box_whose_place_may_wrap():
    """A place that passes 2^31 - 1 is a negative one."""

    def store(place, grid=lambda m: m):
        m = T.dynamic("m")

        @T.prim_func
        def program(n: T.int32, C: T.Tensor((m, 64), "float32")):
            with T.Kernel(grid(m), 2, threads=64) as (bx, by):
                S = T.alloc_shared((16, 16), "float32")
                T.fill(S, 1.0)
                T.copy(S, C[place(bx, by, n), 0])

        return program

    assert uses_bulk_copies(store(lambda bx, by, n: bx))
    assert uses_bulk_copies(store(lambda bx, by, n: bx * 16, lambda m: T.ceildiv(m, 16)))
    assert uses_bulk_copies(store(lambda bx, by, n: bx * 96, lambda m: T.ceildiv(m, 96)))
    assert uses_bulk_copies(store(lambda bx, by, n: bx * 256, lambda m: 40))
    assert uses_bulk_copies(store(lambda bx, by, n: by * 256))
    assert not uses_bulk_copies(store(lambda bx, by, n: bx * 16))
    assert not uses_bulk_copies(store(lambda bx, by, n: bx * 32, lambda m: T.ceildiv(m, 16)))
    assert not uses_bulk_copies(store(lambda bx, by, n: bx * 1_000_000_000, lambda m: 40))
    assert not uses_bulk_copies(store(lambda bx, by, n: T.max(n, 0) * 16))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_a_tile_whose_place_wrapped_is_not_written(chip):
    """Three times 10^9 is negative, and a tile before its tensor leaves nothing in it."""

    @T.prim_func
    def program(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(4, threads=128) as b:
            S = T.alloc_shared((64, 64), "float32")
            T.copy(A, S)
            T.copy(S, C[b * 1_000_000_000, 0])

    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    c = np.full_like(a, -1)
    tilec.compile(program, target=chip, backend="sim")(a, c)
    np.testing.assert_array_equal(c, a)
