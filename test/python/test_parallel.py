"""Bodies of `T.Parallel` on the CPU."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from parallel_bodies import CASES
from tilec.backends import sim
from tilec.errors import RangeError, TLSyntaxError


@pytest.mark.parametrize("name", CASES)
def test_body(name):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target="cpu")(*case.arguments)
    arrays = [a for a in case.arguments if isinstance(a, np.ndarray)]
    for found, expected in zip(arrays, case.expected, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_what_the_cpu_takes_a_gpu_takes(name, chip):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target=chip, assembler="none")


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_body_on_the_simulator(name, chip):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target=chip, backend="sim")(*case.arguments)
    for found, expected in zip([a for a in case.arguments if isinstance(a, np.ndarray)], case.expected, strict=True):
        np.testing.assert_array_equal(found, expected)


def _before(A, B):
    for i in T.Parallel(4):
        B[i, 0] = 0
        for j in T.Parallel(8):
            B[i, j] = A[i, j]


def _behind(A, B):
    for i in T.Parallel(4):
        for j in T.Parallel(8):
            B[i, j] = A[i, j]
        B[i, 0] = 0


def _two(A, B):
    for i in T.Parallel(4):
        for j in T.Parallel(8):
            B[i, j] = A[i, j]
        for j in T.Parallel(8):
            B[i, j] += A[i, j]


def _beside_an_empty_one(A, B):
    for i in T.Parallel(4):
        for _ in T.Parallel(8):
            pass
        for j in T.Parallel(8):
            B[i, j] = A[i, j]


def _in_the_middle(A, B):
    for i in T.Parallel(4):
        for j in T.Parallel(2):
            B[i, j] = 0
            for k in T.Parallel(4):
                B[i, j * 4 + k] = A[i, j * 4 + k]


def _in_either_branch(A, B):
    for i in T.Parallel(4):
        if i > 2:
            for j in T.Parallel(8):
                B[i, j] = A[i, j]
        else:
            for j in T.Parallel(4):
                B[i, j] = 0


def _what_it_reads_is_written(A, B):
    for i in T.Parallel(4):
        first = B[i, 0]
        for j in T.Parallel(8):
            B[i, j] = A[i, j] + first


def _what_it_reads_is_added_to(A, B):
    for i in T.Parallel(4):
        if B[i, 0] < 0:
            continue
        for j in T.Parallel(8):
            T.atomic_add(B[i, 0], A[i, j])


def _drawn_before(A, B):
    T.rng_init(1)
    for i in T.Parallel(4):
        x = T.rng_rand_float()
        for j in T.Parallel(8):
            B[i, j] = A[i, j] + x


def _in_a_loop(A, B):
    for i in T.Parallel(4):
        for _ in T.serial(2):
            for j in T.Parallel(8):
                B[i, j] += A[i, j]


def _beside_one_in_a_loop_of_a_call(A, B):
    for i in T.Parallel(T.cast(A[0, 0], "int32")):
        for j in T.Parallel(8):
            B[i, j] = A[i, j]
        B[i, 0] = 0


def _of_an_extent_that_an_iteration_knows(A, B):
    for i in T.Parallel(4):
        for j in T.Parallel(T.cast(A[i, 0], "int32")):
            B[i, j] = A[i, j]


@pytest.mark.parametrize(
    "body",
    [
        _before,
        _behind,
        _two,
        _beside_an_empty_one,
        _in_the_middle,
        _in_either_branch,
        _in_a_loop,
        _beside_one_in_a_loop_of_a_call,
        _of_an_extent_that_an_iteration_knows,
        _what_it_reads_is_written,
        _what_it_reads_is_added_to,
        _drawn_before,
    ],
)
def test_loops_with_something_between_them_are_refused(body):
    written = T.macro(body)
    with pytest.raises(TLSyntaxError, match=r"stands in a `T.Parallel`.*give all extents to one loop"):

        @T.prim_func
        def main(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 8), "float32")):
            with T.Kernel(1, threads=32):
                written(A, B)


@pytest.mark.parametrize("allocate", [T.alloc_fragment, T.alloc_shared])
def test_a_loop_that_is_longer_than_the_tile_it_assigns_to_is_refused(allocate):
    with pytest.raises(RangeError, match=r"`T.Parallel` has 64 iterations that assign to `S`, whose extent .* 0 is 8:"):

        @T.prim_func
        def main(A: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=32):
                S = allocate((8,), "float32")
                for i in T.Parallel(64):
                    S[i] = A[i]


def test_a_condition_keeps_a_longer_loop_inside_of_its_tile(run):
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((8,), "float32")
            for i in T.Parallel(64):
                if i < 8:
                    S[i] = A[i]
            T.copy(S, B)

    a, b = np.arange(64, dtype=np.float32), np.zeros(8, np.float32)
    run(main, a, b)
    np.testing.assert_array_equal(b, a[:8])


def test_packed_numbers_are_unpacked_in_vectors():
    @T.prim_func
    def main(W: T.Tensor((64, 32), "uint8"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=64):
            packed, unpacked = T.alloc_shared((64, 32), "uint8"), T.alloc_shared((64, 64), "float16")
            T.copy(W, packed)
            for i, j in T.Parallel(64, 64):
                bits = T.cast(packed[i, j // 2] >> T.cast(j % 2 * 4, "uint8"), "uint16") & 15
                unpacked[i, j] = T.reinterpret(bits | 0x6400, "float16") - 1032
            T.copy(unpacked, B)

    ptx = tilec.compile(main, target="sm_90a", assembler="none").get_ptx()
    assert "ld.shared.b32" in ptx
    assert "st.shared.v4" in ptx
    assert "ld.shared.b8" not in ptx


def _count_rows(program, *args):
    counts = sim.count(tilec.compile(program, target="sm_90a", backend="sim"), *args)
    return counts.device["load"].requests, counts.device["store"].requests


def test_rows_behind_a_condition_are_accessed_by_vectors():
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32"), n: T.int32):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 64):
                if i < n:
                    B[i, j] = A[i, j]

    a = np.ones((32, 64), np.float32)
    vectors = 32 * 64 // (32 * 4)  # of 16 bytes in each lane of a warp
    assert _count_rows(main, a, np.zeros_like(a), 32) == (vectors, vectors)


@pytest.mark.parametrize(("length", "width"), [(1024, 4), (1000, 4), (1001, 1)])
def test_elements_behind_the_guard_of_other_languages_are_accessed_by_vectors(length, width):
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 512), threads=128) as b:
            for i in T.Parallel(512):
                if b * 512 + i < n:
                    B[b * 512 + i] = 2 * A[b * 512 + i]

    a, b = np.arange(length, dtype=np.float32), np.zeros(length, np.float32)
    requests = -(-length // (32 * width))
    assert _count_rows(main, a, b) == (requests, requests)
    tilec.compile(main, target="sm_90a", backend="sim")(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_the_number_of_a_row_is_loaded_once_by_each_thread():
    @T.prim_func
    def main(ids: T.Tensor((32,), "int32"), A: T.Tensor((99, 256), "float32"), B: T.Tensor((32, 256), "float32")):
        with T.Kernel(1, threads=64):
            for i, j in T.Parallel(32, 256):
                B[i, j] = A[ids[i], j]

    a, b = np.ones((99, 256), np.float32), np.zeros((32, 256), np.float32)
    vectors = 32 * 256 // (32 * 4)  # of 16 bytes in each lane of a warp
    numbers = 32 * 2 // 4  # two warps have a row, and four rows that follow each other
    assert _count_rows(main, np.arange(32, dtype=np.int32), a, b) == (vectors + numbers, vectors)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_transposition_has_no_bank_conflicts(dtype):
    @T.prim_func
    def main(A: T.Tensor((64, 64), dtype), B: T.Tensor((64, 64), dtype)):
        with T.Kernel(1, threads=256):
            rows, columns = T.alloc_shared((64, 64), dtype), T.alloc_shared((64, 64), dtype)
            T.copy(A, rows)
            T.transpose(rows, columns)
            T.copy(columns, B)

    a = np.arange(64 * 64).reshape(64, 64).astype(dtype)
    b = np.zeros_like(a)
    kernel = tilec.compile(main, target="sm_90a", backend="sim")
    kernel(a, b)
    np.testing.assert_array_equal(b, a.T)
    assert sim.count(kernel, a, b).conflicts == 0
