"""What ptxas 13.0 made wrong machine code of (`lib/Target/Cubin/AssemblerFaults.cpp`), on the CPU and on a GPU."""

import re

import numpy as np
import pytest

import tilec
import tilec.language as T

WIDE = {"int8": "int16", "int16": "int32", "int32": "int64", "int64": "int64"}


@pytest.mark.parametrize(("dtype", "wide"), WIDE.items())
def test_absolute_values(run, dtype, wide):
    """The least integer is its own absolute value, with a sign; without one it is a power of two."""

    @T.prim_func
    def program(
        A: T.Tensor((96,), dtype),
        signs: T.Tensor((96,), "bool"),
        floats: T.Tensor((96,), "float32"),
        sums: T.Tensor((96,), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(96):
                signs[i] = T.abs(A[i]) < 0
                floats[i] = T.cast(T.abs(A[i]), "float32")
                sums[i] = T.cast(T.abs(T.cast(A[i], wide)), "float32")

    info = np.iinfo(dtype)
    A = np.random.default_rng().integers(info.min, info.max, 96, dtype, endpoint=True)
    A[::7], A[3::7] = info.min, info.max
    signs, floats, sums = np.ones(96, bool), np.full(96, np.nan, np.float32), np.full(96, np.nan, np.float32)
    run(program, A, signs, floats, sums)
    np.testing.assert_array_equal(signs, np.abs(A) < 0)
    np.testing.assert_array_equal(floats, np.abs(A).astype(np.float32))
    np.testing.assert_array_equal(sums, np.abs(A.astype(wide)).astype(np.float32))


def test_selected_halves(run):
    """A number that one sum takes, and another takes or not, beside one that is converted for that alone."""

    @T.prim_func
    def program(A: T.Tensor((4, 32), "float32"), limit: T.int32, B: T.Tensor((32,), "float16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                a, b = T.cast(A[0, i], "float16"), T.cast(A[1, i], "float16")
                c, d = T.cast(A[2, i], "float16"), T.cast(A[3, i], "float16")
                B[i] = (a + b) * (T.if_then_else(i != 4, c, a) + T.if_then_else(limit > i, a, d))

    A = np.random.default_rng().integers(-8, 8, (4, 32)).astype(np.float32)
    B = np.full(32, np.nan, np.float16)
    run(program, A, 17, B)
    a, b, c, d = A
    lane = np.arange(32)
    np.testing.assert_array_equal(B, (a + b) * (np.where(lane != 4, c, a) + np.where(lane < 17, a, d)))


def _begins_with_atomics(dtype, sums):
    """A loop of which nothing but an atomic operation of all threads on one element is left."""

    @T.prim_func
    def program(A: T.Tensor((96,), dtype), trips: T.int32, B: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=96):
            F = T.alloc_fragment((96,), dtype)
            S = T.alloc_shared((2,), dtype)
            T.copy(A, F)
            T.clear(S)
            for _ in T.serial(trips):
                for i in T.Parallel(96):
                    if sums:
                        T.atomic_add(S[1], F[i])
                    else:
                        T.atomic_max(S[1], F[i])
            T.copy(S, B)

    return program


@pytest.mark.parametrize(
    ("dtype", "sums"), [("float32", True), ("float64", True), ("int64", True), ("int64", False), ("float16", True)]
)
def test_iterations_of_loops_that_begin_with_atomics(run, dtype, sums):
    """Threads that are through and threads that try again count them apart."""
    A = np.random.default_rng().integers(0, 3, 96).astype(dtype)
    for trips in (1, 2, 7):
        B = np.full(2, 99, dtype)
        run(_begins_with_atomics(dtype, sums), A, trips, B)
        np.testing.assert_array_equal(B, [0, A.sum() * trips if sums else A.max()])


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize(("dtype", "sums"), [("float32", True), ("int64", False)])
def test_threads_meet_before_iterations_are_counted(dtype, sums, chip):
    sass = tilec.compile(_begins_with_atomics(dtype, sums), target=chip, backend="nvptx").get_sass()
    after = sass[sass.index("ATOMS.CAST.SPIN") :]
    counted = after.find("UIADD3")
    assert counted == -1 or after.index("BSYNC") < counted


@T.prim_func
def _reads_by_two_conditions(
    A: T.Tensor((16, 17, 50), "uint8"), W: T.Tensor((16, 5, 50), "uint64"), B: T.Tensor((2, 12), "uint8")
):
    with T.Kernel(2, threads=64) as by:
        S = T.alloc_shared((12,), "uint8")
        T.clear(S)
        for _ in T.serial(3):
            for i in T.Parallel(12):
                j = by * 12 + i
                row = T.cast(A[j + 5, j - 1, j], "uint32") % 16
                if T.cast(W[i * 2 - 3, i, i + 1], "uint8") <= A[row, i, j - 1] and W[i, j - 1, i - 3] != 7:
                    S[i] += T.truncdiv(T.cast(i, "uint8"), 3) + 1
                else:
                    S[i] += 5
        T.copy(S, B[by, 0:12])


def test_zeros_are_there_before_they_are_read(run):
    """A row's number is zero where another element has none: 64 bits that a condition may leave at zero."""
    rng = np.random.default_rng()
    A, W = rng.integers(0, 256, (16, 17, 50), np.uint8), rng.integers(0, 99, (16, 5, 50), np.uint64)

    def at(X, *index):
        return X[index] if all(0 <= n < extent for n, extent in zip(index, X.shape, strict=True)) else X.dtype.type(0)

    def element(by, i):
        j = by * 12 + i
        row = int(at(A, j + 5, j - 1, j)) % 16
        is_less = at(W, i * 2 - 3, i, i + 1) <= at(A, row, i, j - 1) and at(W, i, j - 1, i - 3) != 7
        return 3 * (i // 3 + 1 if is_less else 5)

    B = np.full((2, 12), 99, np.uint8)
    run(_reads_by_two_conditions, A, W, B)
    np.testing.assert_array_equal(B, [[element(by, i) for i in range(12)] for by in range(2)])


def test_no_condition_hides_how_long_zeros_take():
    sass = tilec.compile(_reads_by_two_conditions, target="sm_90a", backend="nvptx").get_sass()
    assert not re.search(r"CS2R (R\d+), SRZ ;\s+/\*\w+\*/\s+@!?P\d \S+ \1,", sass)
