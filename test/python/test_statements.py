"""Who executes a statement, whose a variable is, and what is refused: the same on every target (semantics S3, S4, P1,
P3, M4, O2)."""

import re
import warnings

import numpy as np
import pytest

import statement_programs
import tilec
import tilec.language as T
from tilec.errors import (
    CompileError,
    IdleThreadsWarning,
    LostBitsWarning,
    RacingWriteWarning,
    RegisterSpillWarning,
    ScalarGemmWarning,
    TLSyntaxError,
    UninitializedReadWarning,
    UnpipelinedLoopWarning,
)

TARGETS = ["cpu", "sm_80", "sm_90a"]


def run(function, *arrays):
    """Runs a function on the CPU, after every target has compiled it."""
    for target in TARGETS[1:]:
        tilec.compile(function, target=target, assembler="none")
    tilec.compile(function, target="cpu")(*arrays)


def refusals(function):
    """Returns what each target says of a program that none takes, without the places."""
    said = []
    for target in TARGETS:
        with pytest.raises(CompileError) as caught:
            tilec.compile(function, target=target)
        said.append(tuple(d.message for d in caught.value.diagnostics if d.severity == "error"))
    assert len(set(said)) == 1, said
    return said[0], caught.value.diagnostics


@pytest.mark.parametrize("name", statement_programs.CASES)
def test_statements(name):
    program, reference = statement_programs.CASES[name]
    a, b = np.random.default_rng(0).integers(0, 100, 1024).astype(np.int32), np.zeros(1024, np.int32)
    run(program, a, b)
    np.testing.assert_array_equal(b, reference(a))


# Statements of the block.


def test_a_variable_of_the_block_is_seen_by_all_of_it():
    @T.prim_func
    def scan(A: T.Tensor((8,), "int32"), B: T.Tensor((8, 64), "int32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_var("int32", 0)
            for k in T.serial(8):
                total += A[k]
                for i in T.Parallel(64):
                    B[k, i] = total + i

    a, b = np.arange(8, dtype=np.int32), np.zeros((8, 64), np.int32)
    run(scan, a, b)
    assert np.array_equal(b, np.cumsum(a)[:, None] + np.arange(64))


def test_a_name_of_a_variable_is_another_thing_in_the_next_kernel():
    @T.prim_func
    def steps(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            t = T.alloc_var("int32", 1)
            pair = T.alloc_var("float16x2")
            pair = T.float16x2(1, 2)
            t = t + A[0]
            for i in T.Parallel(64):
                B[i] = A[i] + t + T.cast(pair[1], "int32")
        with T.Kernel(2, threads=32) as block:
            t = block * 32
            pair = t + 1
            for i in T.Parallel(32):
                C[t + i] = A[t + i] + pair
        with T.Kernel(1, threads=64):
            t = T.alloc_var("int32", 5)
            for i in T.Parallel(64):
                C[i] = C[i] + t

    a, b, c = np.arange(64, dtype=np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32)
    run(steps, a, b, c)
    assert np.array_equal(b, a + 3)
    assert np.array_equal(c, a + np.arange(64) // 32 * 32 + 6)


# Statements of threads.


def test_no_barrier_is_in_a_branch():
    @T.prim_func
    def first(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            S = T.alloc_shared((1024,), "float32")
            T.copy(A, S)
            if tx < 100:
                S[tx] = S[1000 - tx]
            T.copy(S, B)

    text = tilec.compile(first, target="sm_90a", assembler="none").get_kernel_source()
    depth = {"barrier": 0}
    for line in text.splitlines():
        # A barrier that only some threads reach would be predicated, or skipped by a branch on the thread's number.
        assert not (line.lstrip().startswith("@") and "bar.sync" in line)
        depth["barrier"] += "bar.sync" in line or "barrier.sync" in line
    assert depth["barrier"] >= 1
    a, b = np.random.default_rng(0).random(1024, np.float32), np.zeros(1024, np.float32)
    run(first, a, b)
    right = a.copy()
    right[:100] = a[1000 - np.arange(100)]
    assert np.array_equal(b, right)


def test_values_and_variables_of_threads():
    @T.prim_func
    def rows(A: T.Tensor((16, 64), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total = T.alloc_var("float32", 0.0)
            first = A[0, tx]
            for k in T.serial(16):
                total += A[k, tx]
            B[tx] = total
            A[0, tx] = 0.0
            C[tx] = first
            if tx >= 32:
                total = -1.0
            B[63 - tx] = B[63 - tx] + total

    a = np.random.default_rng(0).integers(0, 9, (16, 64)).astype(np.float32)
    b, c = np.zeros(64, np.float32), np.zeros(64, np.float32)
    before = a.copy()
    run(rows, a, b, c)
    sums = before.sum(0)
    assert np.array_equal(c, before[0])
    last = np.where(np.arange(64) >= 32, -1.0, sums)
    assert np.array_equal(b, sums + last[::-1])
    assert not a[0].any()


def test_an_array_of_a_thread():
    @T.prim_func
    def rotate(A: T.Tensor((64, 4), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            computed, known = T.alloc_local((4,), "int32"), T.alloc_local((4,), "int32")
            T.clear(computed)
            for k in T.serial(4):
                computed[(k + tx) % 4] = A[tx, k]
            for k in T.unroll(4):
                known[k] = A[tx, k]
            T.sync_threads()
            B[tx] = computed[2]
            if tx < 32:
                C[tx] = known[2]
            else:
                C[tx] = known[1]

    a = np.random.default_rng(0).integers(0, 99, (64, 4)).astype(np.int32)
    b, c, t = np.zeros(64, np.int32), np.zeros(64, np.int32), np.arange(64)
    run(rotate, a, b, c)
    assert np.array_equal(b, a[t, (2 - t) % 4])
    assert np.array_equal(c, np.where(t < 32, a[:, 2], a[:, 1]))


def test_copies_of_an_array_of_an_iteration():
    @T.prim_func
    def double(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                row = T.alloc_local((4,), "float32")
                T.copy(A[i, 0:4], row)
                for k in T.unroll(4):
                    row[k] = row[k] * 2
                T.copy(row, B[i, 0:4])

    a = np.random.default_rng(0).random((64, 4), np.float32)
    b = np.zeros_like(a)
    run(double, a, b)
    assert np.array_equal(b, a * 2)


@pytest.mark.parametrize("size", [6, 40], ids=["few", "many"])
def test_a_copy_to_an_array_of_the_block(size):
    @T.prim_func
    def second(A: T.Tensor((2, size), "float32"), B: T.Tensor((size, 2), "float32")):
        with T.Kernel(1, threads=32):
            row = T.alloc_local((size,), "float32")
            T.copy(A[1:2, 0:size], row)
            row[0] = row[1] + row[size - 1]
            T.copy(row, B[0:size, 1:2])

    a = np.arange(2 * size, dtype=np.float32).reshape(2, size)
    b = np.zeros((size, 2), np.float32)
    run(second, a, b)
    right = a[1].copy()
    right[0] = right[1] + right[-1]
    assert np.array_equal(b[:, 1], right)
    assert not b[:, 0].any()


def test_blocks_of_two_dimensions():
    @T.prim_func
    def index(B: T.Tensor((4, 32), "int32")):
        with T.Kernel(1, threads=(32, 4)):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            B[ty, tx] = ty * 100 + tx

    b = np.zeros((4, 32), np.int32)
    run(index, b)
    assert np.array_equal(b, np.arange(4)[:, None] * 100 + np.arange(32))


def test_waiting_for_all_threads_is_for_every_target():
    @T.prim_func
    def wait(B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                S[i] = i
            T.sync_threads()
            for i in T.Parallel(64):
                B[i] = S[63 - i]

    b = np.zeros(64, np.float32)
    run(wait, b)
    assert np.array_equal(b, np.arange(64)[::-1])


def test_loops_of_a_thread():
    @T.prim_func
    def loops(A: T.Tensor((64, 64), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total, steps, n = T.alloc_var("int32", 0), T.alloc_var("int32", 0), T.alloc_var("int32", tx + 1)
            for k in T.serial(tx):
                total += A[tx, k]
            B[tx] = total
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
            C[tx] = steps

    def collatz(n):
        return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)

    a = np.random.default_rng(0).integers(0, 9, (64, 64)).astype(np.int32)
    b, c = np.zeros(64, np.int32), np.zeros(64, np.int32)
    run(loops, a, b, c)
    assert b.tolist() == [a[t, :t].sum() for t in range(64)]
    assert c.tolist() == [collatz(t + 1) for t in range(64)]


# Variables of iterations.


def test_a_variable_that_is_assigned_in_a_parallel_loop_is_the_iterations():
    @T.prim_func
    def branches(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32"), C: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=128):
            v = T.alloc_var("float32", 7.0)
            for i in T.Parallel(1024):
                if A[i] > 0:
                    v = A[i] * 2
                else:
                    v = A[i] * 3
                B[i] = v
            v = 5.0
            for i in T.Parallel(1024):
                if A[i] > 0:
                    v = v + A[i]
                C[i] = v

    a = np.random.default_rng(0).standard_normal(1024).astype(np.float32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    run(branches, a, b, c)
    assert np.array_equal(b, np.where(a > 0, a * 2, a * 3))
    assert np.array_equal(c, np.where(a > 0, np.float32(5) + a, np.float32(5)))


def test_a_variable_that_loops_of_an_iteration_carry():
    @T.prim_func
    def rows(A: T.Tensor((64, 8), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            v = T.alloc_var("int32", 5)
            for i in T.Parallel(64):
                for k in T.serial(8):
                    if A[i, k] > 20:
                        v += A[i, k]
                B[i] = v

    a = np.random.default_rng(0).integers(0, 50, (64, 8)).astype(np.int32)
    b = np.zeros(64, np.int32)
    run(rows, a, b)
    assert np.array_equal(b, 5 + np.where(a > 20, a, 0).sum(1))


def test_an_array_of_an_iteration():
    @T.prim_func
    def swap(A: T.Tensor((128, 4), "float32"), B: T.Tensor((128, 4), "float32")):
        with T.Kernel(1, threads=128):
            row = T.alloc_local((4,), "float32")
            for i in T.Parallel(128):
                for j in T.unroll(4):
                    row[j] = A[i, j]
                for j in T.unroll(4):
                    B[i, j] = row[3 - j]

    a = np.random.default_rng(0).standard_normal((128, 4)).astype(np.float32)
    b = np.zeros_like(a)
    run(swap, a, b)
    assert np.array_equal(b, a[:, ::-1])


def test_a_variable_of_iterations_is_not_read_after_the_loop():
    @T.prim_func
    def total(A: T.Tensor((128,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_var("float32", 0.0)
            for i in T.Parallel(128):
                s += A[i]
            B[0] = s

    (message,), diagnostics = refusals(total)
    assert message.startswith("reads `s`, which a parallel loop before has assigned")
    assert "T.reduce_sum" in message
    assert "B[0] = s" in diagnostics[0].render()


def test_advice_for_values_of_iterations_is_a_reduction():
    with pytest.raises(TLSyntaxError, match=r"each iteration of `T.Parallel` has variables of its own.*T.reduce_sum"):

        @T.prim_func
        def last(A: T.Tensor((128,), "float32"), B: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(128):
                    x = A[i]
                B[0] = x


# What no target takes.


def test_a_tile_op_in_a_branch_on_what_a_thread_reads():
    with pytest.raises(TLSyntaxError, match="which threads go here is not known when the kernel is built"):

        @T.prim_func
        def branch(A: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                S = T.alloc_shared((128,), "float32")
                if A[T.get_thread_binding()] > 0:
                    T.copy(A, S)
                T.copy(S, A)


def test_a_tile_op_at_the_threads_place():
    @T.prim_func
    def place(A: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            T.copy(A[T.get_thread_binding()], S)
            T.copy(S, A[0:128])

    (message,), _ = refusals(place)
    assert "is given a value that differs between threads" in message


def test_a_tile_op_in_a_parallel_loop():
    @T.prim_func
    def inside(A: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            for _ in T.Parallel(4):
                T.copy(A, S)
            T.copy(S, A)

    (message,), _ = refusals(inside)
    assert "cannot stand in `T.Parallel`" in message


def test_the_thread_in_a_parallel_loop():
    @T.prim_func
    def inside(A: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            for i in T.Parallel(128):
                A[i] = tx

    (message,), _ = refusals(inside)
    assert "use the loop's index instead" in message


# Where tiles begin.


@pytest.mark.parametrize("loop", [T.serial, T.unroll], ids=["serial", "unroll"])
def test_a_tile_begins_at_a_position_that_may_be_negative(loop):
    @T.prim_func
    def halo(A: T.Tensor((96, 64), "float32"), B: T.Tensor((3, 48, 64), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((48, 64), "float32")
            for k in loop(3):
                T.copy(A[k * 48 - 4, 0], S)
                T.copy(S, B[k, 0, 0])

    a = np.random.default_rng(0).random((96, 64), np.float32)
    b = np.full((3, 48, 64), np.nan, np.float32)
    run(halo, a, b)
    padded = np.zeros((148, 64), np.float32)
    padded[4:100] = a
    assert np.array_equal(b, np.stack([padded[k * 48 : k * 48 + 48] for k in range(3)]))


def test_negative_constants_count_from_an_end_that_a_call_knows():
    n = T.dynamic("n")

    @T.prim_func
    def last(A: T.Tensor((n,), "int32"), B: T.Tensor((6,), "int32")):
        with T.Kernel(1, threads=32):
            B[0] = A[-1]
            B[1] = T.ldg32(A[-2]).astype("int32")
            T.copy(A[-4:-1], B[2:5])
            A[-3] = 77
            B[5] = A[-9]

    for size in (5, 9):
        a, b = np.arange(1, size + 1, dtype=np.int32), np.full(6, -1, np.int32)
        before = a.copy()
        run(last, a, b)
        assert a[-3] == 77
        assert b.tolist() == [*before[[-1, -2]], *before[-4:-1], before[0] if size == 9 else 0]


@pytest.mark.parametrize("row", [-1, 3, 2])
@pytest.mark.parametrize("element", ["int16", "uint8"])
def test_a_tile_that_is_converted_begins_at_a_position_too(element, row):
    @T.prim_func
    def convert(A: T.Tensor((3, 4), element), B: T.Tensor((3, 4), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4,), "int16")
            T.copy(A[row, 0], S)
            T.copy(S, B[row, 0])

    b = np.full((3, 4), 77, np.int32)
    run(convert, np.arange(1, 13).reshape(3, 4).astype(element), b)
    assert b.tolist() == [[77] * 4, [77] * 4, [9, 10, 11, 12] if row == 2 else [77] * 4]


# Warnings.


def warned(function, target, category):
    """Returns the one warning of a compilation, and sees that its name silences it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", category)
        tilec.compile(function, target=target, line_info=True)
    with pytest.warns(category) as found:
        tilec.compile(function, target=target)
    (warning,) = found
    assert warning.filename == __file__
    assert "statements.py" in str(warning.message)
    return " ".join(str(warning.message).split())


@pytest.mark.parametrize("target", TARGETS)
def test_a_gemm_into_what_was_not_cleared(target):
    @T.prim_func
    def gemm(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(A, S)
            T.gemm(S, S, acc)
            T.copy(acc, C)

    text = warned(gemm, target, UninitializedReadWarning)
    assert "reads `acc`, but nothing writes it" in text or "reads `acc` before anything is written to it" in text
    assert "T.gemm(S, S, acc) ^" in text


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (lambda x: x << 8, r"`<< 8` of `uint8`, which has 8 bits, leaves 0: .* `.astype\(.uint32.\)` \[lost-bits\]$"),
        (lambda x: x.astype("int32") >> 40, r"`>> 40` of `int32`, which has 32 bits, leaves 0 or -1: .*int64"),
        (lambda x: x << 99, r"leaves 0: shift by 0 to 7 \[lost-bits\]$"),
        (lambda x: x << 7, ""),
        (lambda x: x.astype("int32") << 8, ""),
        (lambda x: T.uint8(1) << x, ""),
    ],
)
def test_a_shift_that_leaves_no_bit(shift, said):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")

        @T.prim_func
        def f(A: T.Tensor((64,), "uint8"), B: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64):
                for i in T.Parallel(64):
                    B[i] = shift(A[i])

    assert [w.category for w in found] == [LostBitsWarning] * bool(said)
    for warning in found:
        assert re.search(said, str(warning.message))
        assert warning.filename == __file__


def test_a_sum_in_a_parallel_loop():
    @T.prim_func
    def add_up(A: T.Tensor((128,), "float32"), H: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                H[0] += A[i]

    assert "128 iterations of the parallel loop write the same element of `H`" in warned(
        add_up, "cpu", RacingWriteWarning
    )


def test_more_threads_than_work():
    @T.prim_func
    def small(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=256):
            for i in T.Parallel(64):
                A[i] = 1.0

    assert "use `threads=64`" in warned(small, "sm_90a", IdleThreadsWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilec.compile(small, target="cpu")


def test_a_gemm_without_matrix_instructions():
    @T.prim_func
    def gemm(A: T.Tensor((50, 50), "float16"), C: T.Tensor((50, 50), "float32")):
        with T.Kernel(1, threads=96):
            S = T.alloc_shared((50, 50), "float16")
            acc = T.alloc_fragment((50, 50), "float32")
            T.copy(A, S)
            T.clear(acc)
            T.gemm(S, S, acc)
            T.copy(acc, C)

    text = warned(gemm, "sm_80", ScalarGemmWarning)
    assert "gemm uses fma: no matrix instruction fits" in text
    assert "use `threads`" in text


def test_a_loop_that_is_not_pipelined():
    @T.prim_func
    def loop(A: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=128):
            for k in T.Pipelined(8, num_stages=3):
                for i in T.Parallel(128):
                    A[k * 128 + i] = 1.0

    assert "loop is not pipelined" in warned(loop, "sm_90a", UnpipelinedLoopWarning)


def test_a_loop_whose_copy_is_one_of_single_elements():
    @T.prim_func
    def loop(K: T.Tensor((256, 64, 8), "float16"), Y: T.Tensor((64, 64), "float16")):
        with T.Kernel(8, threads=128) as h:
            keys = T.alloc_shared((64, 64), "float16")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(K[k * 64 : k * 64 + 64, :, h], keys)
                T.copy(keys, Y)

    assert "is one of single elements" in warned(loop, "sm_90a", UnpipelinedLoopWarning)


def test_a_kernel_whose_local_array_is_indexed_by_a_value():
    @T.prim_func
    def sort(A: T.Tensor((64, 8), "float32"), P: T.Tensor((64, 8), "int32"), B: T.Tensor((64, 8), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                m = T.alloc_local((8,), "float32")
                for j in T.serial(8):
                    m[P[i, j]] = A[i, j]
                for j in T.serial(8):
                    B[i, j] = m[P[i, 7 - j]]

    text = warned(sort, "sm_90a", RegisterSpillWarning)
    assert "for arrays whose indices are computed" in text
    assert "use `T.unroll` for loops over such arrays" in text


def test_a_kernel_whose_fragment_is_gone_through_in_a_loop():
    """It has no array, and nothing to unroll."""

    @T.prim_func
    def formulas(A: T.Tensor((64, 128), "float64"), B: T.Tensor((64, 128), "float64")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((64, 128), "float64")
            T.copy(A, x)
            for i, j in T.Parallel(64, 128):
                x[i, j] = T.exp(x[i, j]) + T.sin(x[i, j])
            T.copy(x, B)

    text = warned(formulas, "sm_90a", RegisterSpillWarning)
    assert "or fragments whose elements are gone through in loops" in text
    assert "smaller tiles or more threads for such fragments" in text


def wide_copy(threads):
    @T.prim_func
    def wide(A: T.Tensor((256, 256), "float32"), B: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=threads):
            a = T.alloc_fragment((256, 256 if threads == 128 else 64), "float32")
            T.copy(A[0, 0], a)
            if threads == 128:
                B[255, T.get_thread_binding()] = 0.0
            T.copy(a, B[0, 0])

    return wide


@pytest.mark.parametrize("target", TARGETS[1:])
def test_fragments_of_few_threads_get_more(target):
    """Nothing in the program depends on them, so that nothing is spilled."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilec.compile(wide_copy(32), target=target)
    (launch,) = kernel.compile_info["functions"][kernel.name]["launches"]
    assert launch["block"] == [128, 1, 1]


def test_a_kernel_that_spills():
    wide = wide_copy(128)
    text = warned(wide, "sm_80", RegisterSpillWarning)
    assert "bytes of each thread in local memory, because it needs more than its 255 registers" in text
