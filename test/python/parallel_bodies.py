"""Bodies of `T.Parallel` as authors of kernels write them, each with what it means in NumPy.

The tests run them on the CPU, those of `test/integration` on a GPU: a body means the same on all targets.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import tilec.language as T

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Case:
    """A program, its arguments, and the arguments that it leaves behind."""

    program: Any
    arguments: list[Any]
    expected: list[np.ndarray]


CASES: "dict[str, Callable[[np.random.Generator], Case]]" = {}


def case(make):
    CASES[make.__name__] = make
    return make


@case
def quotients_behind_a_condition(random):
    @T.prim_func
    def main(A: T.Tensor((256,), "int32"), D: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(256):
                if D[i] != 0:
                    B[i] = A[i] // D[i]
                else:
                    B[i] = 7

    a, d = random.integers(0, 1000, 256, np.int32), random.integers(0, 3, 256, np.int32)
    return Case(main, [a, d, np.zeros_like(a)], [a, d, np.where(d != 0, a // np.maximum(d, 1), 7)])


@case
def remainders_of_a_choice(random):
    @T.prim_func
    def main(A: T.Tensor((200,), "int32"), D: T.Tensor((200,), "int32"), B: T.Tensor((200,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(200):
                B[i] = T.if_then_else(D[i] != 0, A[i] % D[i], -5)

    a, d = random.integers(0, 1000, 200, np.int32), random.integers(0, 3, 200, np.int32)
    return Case(main, [a, d, np.zeros_like(a)], [a, d, np.where(d != 0, a % np.maximum(d, 1), -5)])


@case
def a_read_of_a_tile_of_one_row_behind_a_condition(random):
    @T.prim_func
    def main(J: T.Tensor((128,), "int32"), A: T.Tensor((1, 64), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((1, 64), "float32")
            T.copy(A, S)
            for i in T.Parallel(128):
                j = J[i]
                B[i] = T.if_then_else(j < 64, S[0, j], 0.0)

    j = random.choice(np.array([3, 17, 63, 2**26, 2**28], np.int32), 128)
    a = random.standard_normal((1, 64)).astype(np.float32)
    b = np.where(j < 64, a[0, np.minimum(j, 63)], 0).astype(np.float32)
    return Case(main, [j, a, np.full(128, np.nan, np.float32)], [j, a, b])


def _scaled_in_place(random, shape, threads):
    m, n = shape

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=threads):
            S = T.alloc_shared(shape, "float32")
            T.copy(A, S)
            for i, j in T.Parallel(m, n):
                S[i, j] = S[i, j] * -1.5
            T.copy(S, B)

    a = random.standard_normal(shape).astype(np.float32)
    return Case(main, [a, np.zeros_like(a)], [a, a * np.float32(-1.5)])


@case
def a_tile_smaller_than_the_block_scaled_in_place(random):
    return _scaled_in_place(random, (1, 16), 160)


@case
def a_tile_of_odd_extents_scaled_in_place(random):
    return _scaled_in_place(random, (5, 13), 96)


@case
def a_tile_read_back_and_kept_in_a_fragment(random):
    @T.prim_func
    def main(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), C: T.Tensor((4, 16), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((16,), "float32")
            f = T.alloc_fragment((16,), "float32")
            x = T.alloc_fragment((4, 16), "float32")
            T.copy(A, S)
            for i in T.Parallel(16):
                S[i] = S[i] * 3 + 1
                f[i] = S[i]
            for i, j in T.Parallel(4, 16):
                x[i, j] = f[j] + i
            T.copy(S, B)
            T.copy(x, C)

    a = random.integers(-9, 9, 16).astype(np.float32)
    b = a * np.float32(3) + np.float32(1)
    c = b[None, :] + np.arange(4, dtype=np.float32)[:, None]
    return Case(main, [a, np.zeros_like(a), np.zeros((4, 16), np.float32)], [a, b, c])


@case
def sums_of_16_bits(random):
    @T.prim_func
    def main(A: T.Tensor((33, 7), "int64"), D: T.Tensor((7,), "int64"), B: T.Tensor((33, 7), "int16")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((33, 7), "int16")
            S = T.alloc_shared((7,), "int64")
            T.copy(D, S)
            for i, j in T.Parallel(33, 7):
                x[i, j] = T.cast(A[i, j], "int16") - T.cast(T.cast(i, "int32"), "int16") + T.cast(S[j], "int16")
            T.copy(x, B)

    a, d = random.integers(-99, 99, (33, 7), np.int64), random.integers(-99, 99, 7, np.int64)
    expected = (a - np.arange(33)[:, None] + d[None, :]).astype(np.int16)
    return Case(main, [a, d, np.zeros((33, 7), np.int16)], [a, d, expected])


@case
def clamped_numbers_that_are_compared(random):
    """The places of blocks, which are clamped where they are swizzled, and numbers."""

    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((3, 3, 64), "int32"), L: T.int32):
        with T.Kernel(3, 3, threads=64) as (x, y):
            T.use_swizzle(2)
            for i in T.Parallel(64):
                v = T.alloc_var("int32", 0)
                if x == 2:
                    v = 1
                if T.clamp(A[i], 0, 2) == 2:
                    v += 10
                if T.max(T.min(A[i], L), 0) == L:
                    v += 100
                if T.max(T.max(A[i], 7), 0) == 7:
                    v += 1000
                B[y, x, i] = v

    a = random.integers(-9, 12, 64).astype(np.int32)
    each = 10 * (a >= 2) + 100 * (np.maximum(np.minimum(a, 3), 0) == 3) + 1000 * (a <= 7)
    expected = np.broadcast_to(each, (3, 3, 64)) + (np.arange(3) == 2)[None, :, None]
    return Case(main, [a, np.zeros((3, 3, 64), np.int32), 3], [a, expected.astype(np.int32)])


@case
def parts_of_floats(random):
    """What is stored of a sum or a conversion is its bits, and no number."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), N: T.Tensor((64,), "int32"), D: T.Tensor((64, 2), "int32"),
             W: T.Tensor((64,), "int16"), H: T.Tensor((64,), "int8")):  # fmt: skip
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                wide = T.reinterpret(T.cast(N[i], "float64"), "int64")
                D[i, 0] = T.cast(wide, "int32")
                D[i, 1] = T.cast(wide >> 32, "int32")
                W[i] = T.cast(T.reinterpret(A[i] + A[i], "int32"), "int16")
                H[i] = T.cast(T.reinterpret(T.cast(A[i], "float16"), "int16"), "int8")

    a, n = random.standard_normal(64, np.float32), random.integers(-99, 99, 64).astype(np.int32)
    d = n.astype(np.float64).view(np.int32).reshape(64, 2)
    w, h = (a + a).view(np.int16)[::2], a.astype(np.float16).view(np.int8)[::2]
    out = [np.zeros((64, 2), np.int32), np.zeros(64, np.int16), np.zeros(64, np.int8)]
    return Case(main, [a, n, *out], [a, n, d, w, h])


@case
def a_loop_of_known_trips(random):
    @T.prim_func
    def main(A: T.Tensor((256, 8), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(256):
                total = T.alloc_var("float32", 0.0)
                for k in T.serial(8):
                    total += A[i, k] * k
                B[i] = total

    a = random.integers(-9, 9, (256, 8)).astype(np.float32)
    return Case(main, [a, np.zeros(256, np.float32)], [a, a @ np.arange(8, dtype=np.float32)])


@case
def a_loop_whose_trips_an_argument_says(random):
    @T.prim_func
    def main(A: T.Tensor((100, 8), "float32"), B: T.Tensor((100,), "float32"), n: T.int32):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(100):
                total = T.alloc_var("float32", 0.0)
                for k in T.serial(n):
                    if A[i, k] > 0:
                        total += A[i, k]
                B[i] = total

    a = random.integers(-9, 9, (100, 8)).astype(np.float32)
    expected = np.maximum(a[:, :5], 0).sum(axis=1)
    return Case(main, [a, np.zeros(100, np.float32), 5], [a, expected])


@case
def a_loop_whose_trips_each_iteration_knows(random):
    @T.prim_func
    def main(N: T.Tensor((100,), "int32"), A: T.Tensor((64,), "float32"), B: T.Tensor((100,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(100):
                total = T.alloc_var("float32", 0.0)
                for k in T.serial(N[i]):
                    total += A[k]
                B[i] = total

    n = random.integers(0, 64, 100, np.int32)
    a = random.integers(-9, 9, 64).astype(np.float32)
    expected = np.array([a[:count].sum() for count in n], np.float32)
    return Case(main, [n, a, np.full(100, np.nan, np.float32)], [n, a, expected])


@case
def a_while_loop(_):
    @T.prim_func
    def main(B: T.Tensor((300,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(300):
                n = T.alloc_var("int32", i + 1)
                steps = T.alloc_var("int32", 0)
                while n != 1:
                    if n % 2 == 0:
                        n = n // 2
                    else:
                        n = 3 * n + 1
                    steps += 1
                B[i] = steps

    def collatz(n):
        steps = 0
        while n != 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    return Case(main, [np.zeros(300, np.int32)], [np.array([collatz(i + 1) for i in range(300)], np.int32)])


@case
def a_while_loop_on_a_fragment(random):
    @T.prim_func
    def main(A: T.Tensor((16, 32), "int32"), B: T.Tensor((16, 32), "int32")):
        with T.Kernel(1, threads=64):
            x = T.alloc_fragment((16, 32), "int32")
            T.copy(A, x)
            for i, j in T.Parallel(16, 32):
                while x[i, j] > 10:
                    x[i, j] = x[i, j] - 7
            T.copy(x, B)

    a = random.integers(-50, 200, (16, 32), np.int32)
    return Case(main, [a, np.zeros_like(a)], [a, np.where(a > 10, (a - 11) % 7 + 4, a)])


@case
def an_array_of_each_iteration(random):
    @T.prim_func
    def main(A: T.Tensor((90, 8), "float32"), B: T.Tensor((90, 8), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(90):
                row = T.alloc_local((8,), "float32")
                for k in T.serial(8):
                    row[k] = A[i, k]
                for k in T.serial(8):
                    B[i, k] = row[7 - k]

    a = random.standard_normal((90, 8)).astype(np.float32)
    return Case(main, [a, np.zeros_like(a)], [a, a[:, ::-1]])


@case
def a_variable_of_each_iteration(random):
    @T.prim_func
    def main(A: T.Tensor((1000,), "float32"), B: T.Tensor((1000,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(1000):
                v = T.alloc_var("float32", 1.0)
                if A[i] > 0:
                    v = A[i] * 2
                B[i] = v

    a = random.standard_normal(1000).astype(np.float32)
    return Case(main, [a, np.zeros_like(a)], [a, np.where(a > 0, a * 2, 1).astype(np.float32)])


@case
def a_branch_that_all_iterations_take(random):
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32"), n: T.int32):
        with T.Kernel(2, threads=64) as b:
            x = T.alloc_fragment((16, 64), "float32")
            T.copy(A[b * 16, 0], x)
            for i, j in T.Parallel(16, 64):
                if b == n:
                    x[i, j] = x[i, j] * 2
                else:
                    x[i, j] = x[i, j] + A[i, j]
            T.copy(x, B[b * 16, 0])

    a = random.standard_normal((32, 64)).astype(np.float32)
    return Case(main, [a, np.zeros_like(a), 1], [a, np.concatenate([a[:16] + a[:16], a[16:] * 2])])


def _chunked(random, count):
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                B[i] = A[i] * 2

    a = random.standard_normal(count).astype(np.float32)
    return Case(main, [a, np.zeros_like(a)], [a, a * 2])


@case
def an_extent_known_when_it_runs(random):
    return _chunked(random, 5000)


@case
def an_extent_below_a_chunk(random):
    return _chunked(random, 7)


@case
def extents_of_which_some_are_known_when_it_runs(random):
    @T.prim_func
    def main(B: T.Tensor((40, 12, 300), "int32"), m: T.int32, n: T.int32):
        with T.Kernel(1, threads=128):
            for i, j, k in T.Parallel(m, 12, n):
                B[i, j, k] = i * 10000 + j * 1000 + k

    i, j, k = np.indices((40, 12, 300), np.int32)
    expected = np.where((i < 33) & (k < 211), i * 10000 + j * 1000 + k, -1).astype(np.int32)
    return Case(main, [np.full((40, 12, 300), -1, np.int32), 33, 211], [expected])


@case
def an_extent_of_nothing(_):
    @T.prim_func
    def main(B: T.Tensor((40,), "int32"), n: T.int32):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                B[i] = 1

    return Case(main, [np.full(40, 7, np.int32), -3], [np.full(40, 7, np.int32)])


def _quotients(random, divisor, extent, rows=24, dtype="uint8"):
    """Several neighbours read one element, in device memory and in a tile, and a scale of more of them."""
    width = -(-extent // divisor)

    @T.prim_func
    def main(
        A: T.Tensor((rows, width), dtype),
        S: T.Tensor((rows, -(-extent // 32)), "float32"),
        B: T.Tensor((rows, extent), "float32"),
        C: T.Tensor((rows, extent), dtype),
    ):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((rows, width), dtype)
            T.copy(A, tile)
            for i, j in T.Parallel(rows, extent):
                B[i, j] = T.cast(tile[i, j // divisor], "float32") * S[i, j // 32] + j % divisor
            for i, j in T.Parallel(rows, extent):
                C[i, j] = A[i, j // divisor]

    a = random.integers(0, 100, (rows, width)).astype(dtype)
    s = (random.integers(-8, 9, (rows, -(-extent // 32))) / 8).astype(np.float32)
    j = np.arange(extent)
    c = np.ascontiguousarray(a[:, j // divisor])
    b = np.ascontiguousarray(c.astype(np.float64) * s[:, j // 32] + j % divisor, np.float32)
    return Case(main, [a, s, np.zeros_like(b), np.zeros_like(c)], [a, s, b, c])


@case
def two_neighbours_read_one_element(random):
    return _quotients(random, 2, 64)


@case
def eight_neighbours_read_one_element(random):
    return _quotients(random, 8, 128, dtype="int32")


@case
def thirty_two_neighbours_read_one_element(random):
    return _quotients(random, 32, 64)


@case
def three_neighbours_read_one_element(random):
    return _quotients(random, 3, 96)


@case
def neighbours_read_one_element_up_to_an_odd_extent(random):
    return _quotients(random, 2, 75)


@case
def neighbours_read_one_element_of_a_dimension_before_the_last(random):
    @T.prim_func
    def main(A: T.Tensor((16, 8), "float32"), B: T.Tensor((8, 64), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(8, 64):
                if j < n:
                    B[i, j] = A[j // 4, i] + A[1 + j // 8, 7]

    a = random.standard_normal((16, 8)).astype(np.float32)
    i, j = np.indices((8, 64))
    inside = np.where(1 + j // 8 < 16, a[np.minimum(1 + j // 8, 15), 7], 0)
    return Case(main, [a, np.zeros((8, 64), np.float32), 41], [a, np.where(j < 41, a[j // 4, i] + inside, 0)])


def _rows_up_to_a_number(random, shape, threads, n):
    rows, columns = shape

    @T.prim_func
    def main(A: T.Tensor(shape, "int32"), B: T.Tensor(shape, "int32"), n: T.int32):
        with T.Kernel(1, threads=threads):
            for i, j in T.Parallel(rows, columns):
                if i + 1 < n:
                    B[i, j] = A[i, j] * 3
                else:
                    B[i, j] = -A[i, j]

    a = random.integers(-99, 99, shape, np.int32)
    below = np.arange(rows)[:, None] + 1 < n
    return Case(main, [a, np.zeros_like(a), n], [a, np.where(below, a * 3, -a)])


@case
def rows_up_to_a_number(random):
    return _rows_up_to_a_number(random, (16, 64), 64, 11)


@case
def rows_of_odd_extents_up_to_a_number(random):
    return _rows_up_to_a_number(random, (5, 52), 96, 4)


@case
def rows_that_a_table_names(random):
    """Numbers outside of the table give zeros, and those behind the last row of the result go nowhere."""

    @T.prim_func
    def main(
        ids: T.Tensor((T.dynamic("m"),), "int32"), A: T.Tensor((30, 48), "float16"), B: T.Tensor((20, 48), "float16")
    ):
        with T.Kernel(2, threads=64) as b:
            for i, j in T.Parallel(16, 48):
                B[b * 16 + i, j] = A[ids[b * 16 + i] + 1, j]

    ids = random.integers(-3, 33, 19, np.int32)
    a = random.standard_normal((30, 48)).astype(np.float16)
    rows = np.append(ids, 0) + 1
    inside = (rows >= 0) & (rows < 30)
    return Case(main, [ids, a, np.ones((20, 48), np.float16)], [ids, a, np.where(inside[:, None], a[rows % 30], 0)])


@case
def rows_that_a_table_names_behind_conditions_of_row_and_column(random):
    @T.prim_func
    def main(ids: T.Tensor((16,), "int32"), A: T.Tensor((16, 64), "int32"), B: T.Tensor((16, 64), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            for i, j in T.Parallel(16, 64):
                if ids[i] != 3:
                    B[i, j] = A[ids[i], j] + 1
                    if j >= n:
                        row = ids[15 - i]
                        B[i, j] = A[row, 63 - j] * ids[i]

    ids = random.integers(0, 16, 16, np.int32)
    ids[[2, 9]] = 3
    a = random.integers(-99, 99, (16, 64), np.int32)
    n, j = 21, np.arange(64)
    inner = a[ids[::-1]][:, ::-1] * ids[:, None]
    b = np.where(ids[:, None] != 3, np.where(j >= n, inner, a[ids] + 1), 0).astype(np.int32)
    return Case(main, [ids, a, np.zeros_like(a), n], [ids, a, b])


@case
def quotients_of_a_row_behind_a_condition_of_it(random):
    @T.prim_func
    def main(D: T.Tensor((24,), "int32"), A: T.Tensor((24, 33), "int32"), B: T.Tensor((24, 33), "int32")):
        with T.Kernel(1, threads=96):
            for i, j in T.Parallel(24, 33):
                if D[i] != 0:
                    B[i, j] = A[i, j] + 1000 // D[i]
                    if j < 7:
                        B[i, j] = A[i, j] - 500 // D[i]

    d = random.integers(0, 3, 24, np.int32)
    a = random.integers(0, 99, (24, 33), np.int32)
    e = np.maximum(d, 1)[:, None]
    b = np.where(d[:, None] != 0, np.where(np.arange(33) < 7, a - 500 // e, a + 1000 // e), 0).astype(np.int32)
    return Case(main, [d, a, np.zeros_like(a)], [d, a, b])


@case
def numbers_of_rows_in_a_fragment(random):
    """Each thread has several rows, of which some numbers are computed and one is a choice."""

    @T.prim_func
    def main(D: T.Tensor((32,), "int32"), A: T.Tensor((32, 16), "int32"), B: T.Tensor((32, 16), "int32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((32, 16), "int32")
            d = T.alloc_fragment((32,), "int32")
            T.copy(A, x)
            T.copy(D, d)
            for i, j in T.Parallel(32, 16):
                x[i, j] = x[i, j] * (d[i] * d[i] + i) - T.if_then_else(d[i] > 4, d[i], 100 // (d[i] + 1))
            T.copy(x, B)

    d = random.integers(0, 9, 32, np.int32)
    a = random.integers(-99, 99, (32, 16), np.int32)
    row = np.where(d > 4, d, 100 // (d + 1))
    b = (a * (d * d + np.arange(32))[:, None] - row[:, None]).astype(np.int32)
    return Case(main, [d, a, np.zeros_like(a)], [d, a, b])


@case
def what_a_row_computes_of_what_only_it_loads(random):
    """Each thread has several rows, of which one loads."""

    @T.prim_func
    def main(A: T.Tensor((3,), "int32"), B: T.Tensor((9, 9), "int32"), C: T.Tensor((9, 9), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((3,), "int32")
            f = T.alloc_fragment((9, 9), "int32")
            T.copy(A, S)
            T.fill(f, 1)
            for i, j in T.Parallel(9, 9):
                if i >= 7:
                    f[i, j] = A[1] * 2 + 1
            T.copy(f, B)
            for k, i, j in T.Parallel(1, 9, 9):
                if i == 8:
                    C[k, j] = -S[2]

    a = random.integers(1, 99, 3, np.int32)
    b = np.where(np.arange(9)[:, None] >= 7, a[1] * 2 + 1, np.ones((9, 9))).astype(np.int32)
    c = np.zeros((9, 9), np.int32)
    c[0] = -a[2]
    return Case(main, [a, np.zeros_like(b), np.zeros_like(c)], [a, b, c])


@case
def loops_with_nothing_between_them(random):
    @T.prim_func
    def main(A: T.Tensor((4, 8, 16), "int32"), B: T.Tensor((512,), "int32"), C: T.Tensor((4, 128), "int32")):
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((4, 8, 16), "int32")
            for i in T.Parallel(4):
                for j, k in T.Parallel(8, 16):
                    F[i, j, k] = A[i, j, k] + 1
            for i in T.Parallel(4):
                for j in T.Parallel(8):
                    for k in T.Parallel(16):
                        x = T.alloc_var("int32", F[i, j, k] * 2)
                        if j > 0:
                            x -= A[i, j - 1, k]
                        B[(i * 8 + j) * 16 + k] = x
            for i in T.Parallel(4):
                for j in T.Parallel(128):
                    for _ in T.serial(2):
                        C[i, j] += B[i * 128 + j]

    a = random.integers(-99, 99, (4, 8, 16), np.int32)
    b = (a + 1) * 2
    b[:, 1:] -= a[:, :-1]
    arguments = [a, np.zeros(512, np.int32), np.zeros((4, 128), np.int32)]
    return Case(main, arguments, [a, b.reshape(-1), b.reshape(4, 128) * 2])


@case
def loops_with_jumps_and_names_between_them(random):
    """What stands beside the inner loop has no effect, so that both are one."""

    @T.prim_func
    def main(A: T.Tensor((8, 40), "int32"), B: T.Tensor((5, 8, 40), "int32")):
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((8, 40), "int32")
            T.copy(A, F)
            for i in T.Parallel(8):
                for j in T.Parallel(40):
                    if F[i, j] < 0:
                        continue
                    B[0, i, j] = F[i, j]
            for i in T.Parallel(8):
                if A[i, 0] < 0:
                    continue
                twice = A[i, 1] * 2
                for j in T.parallel(3, 40):
                    if j % 5 == i % 5:
                        continue
                    B[1, i, j] = F[i, j] - twice
            for i in T.parallel(1, 8):
                own = T.alloc_var("int32", 0)
                for k in T.serial(i):
                    if A[k, 0] < 0:
                        continue
                    own += A[k, 0]
                if own % 2 == 0:
                    for j in T.Parallel(10):
                        for k in T.Parallel(4):
                            if k == 2:
                                continue
                            own += k
                            B[2, i, j * 4 + k] = own
            for i in T.Parallel(8):
                for j in T.Parallel(40):
                    B[3, i, j] = 7
                continue
            for i in T.Parallel(8):
                for j in T.Parallel(40):
                    if True:
                        continue
                    B[4, i, j] = 7

    a = random.integers(-99, 99, (8, 40), np.int32)
    b = np.zeros((5, 8, 40), np.int32)
    b[0] = np.maximum(a, 0)
    b[3] = 7
    for i, j in np.ndindex(8, 40):
        if a[i, 0] >= 0 and j >= 3 and j % 5 != i % 5:
            b[1, i, j] = a[i, j] - a[i, 1] * 2
        total = np.maximum(a[:i, 0], 0).sum()
        if i >= 1 and total % 2 == 0 and j % 4 != 2:
            b[2, i, j] = total + j % 4
    return Case(main, [a, np.zeros_like(b)], [a, b])


def _mixed(x, times):
    """Returns a number that takes five operations a time to compute."""
    for _ in range(times):
        x = x ^ (x << 13)
        x = (x >> 7) * 0x9E3779B1
    return x


@case
def long_bodies(random):
    """Rounds of long bodies have few lanes, and the same accesses, registers and guards."""

    @T.prim_func
    def main(
        A: T.Tensor((6, 160), "uint32"),
        Halves: T.Tensor((6, 80), "uint32"),
        B: T.Tensor((3, 6, 160), "uint32"),
        C: T.Tensor((6, 160), "uint8"),
    ):
        with T.Kernel(2, threads=4) as block:
            rows = T.alloc_fragment((6,), "uint32")
            for i in T.Parallel(6):
                rows[i] = A[i, 1]
            for i, j in T.Parallel(6, 80):
                B[0, i, block * 80 + j] = _mixed(A[i, block * 80 + j] + rows[i], 40)
            for i, j in T.Parallel(6, 79):
                at = block * 80 + j
                if at % 3 != 1:
                    B[1, i, at] = _mixed(A[i, at] + Halves[i, at // 2], 20)
                else:
                    B[1, i, at] = _mixed(A[i, at + 1], 30) // 3
            for i, j in T.Parallel(6, 80):
                at = block * 80 + j
                C[i, at] = T.cast(_mixed(A[i, at], 16) >> 24, "uint8")
                B[2, i, at] = A[i, at] * 2
                B[2, i, at] += _mixed(B[2, i, at], 9)

    a = random.integers(0, 2**32, (6, 160), np.uint32)
    halves = random.integers(0, 2**32, (6, 80), np.uint32)
    b, c = np.zeros((3, 6, 160), np.uint32), np.zeros((6, 160), np.uint8)
    b[0] = _mixed(a + a[:, 1:2], 40)
    for at in (at for at in range(160) if at % 80 != 79):
        if at % 3 != 1:
            b[1, :, at] = _mixed(a[:, at] + halves[:, at // 2], 20)
        else:
            b[1, :, at] = _mixed(a[:, at + 1], 30) // 3
    c[:] = _mixed(a, 16) >> 24
    b[2] = a * 2 + _mixed(a * 2, 9)
    return Case(main, [a, halves, np.zeros_like(b), np.zeros_like(c)], [a, halves, b, c])


@case
def nests_whose_outer_extent_only_a_call_knows(random):
    """The inner loop becomes dimensions of each chunk."""

    @T.prim_func
    def main(
        n: T.int32,
        m: T.int32,
        A: T.Tensor((1100, 8), "int32"),
        B: T.Tensor((1100, 8), "int32"),
        C: T.Tensor((3, 5, 2, 4), "int32"),
        D: T.Tensor((32,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((32,), "int32")
            T.fill(F, 3)
            for i in T.Parallel(n):
                if A[i, 0] < 0:
                    continue
                twice = A[i, 1] * 2
                for j in T.parallel(2, 8):
                    if j == 5:
                        continue
                    B[i, j] = A[i, j] - twice
            for i, k in T.Parallel(m, 5):
                for j in T.Parallel(2):
                    own = T.alloc_var("int32", i)
                    for e in T.Parallel(4):
                        own += e
                        C[i, k, j, e] = own * 100 + k * 10 + j
            for _ in T.Parallel(n):
                for j in T.Parallel(16):
                    F[j] = 7
            for _ in T.Parallel(m - 9):
                for j in T.Parallel(16):
                    F[j + 16] = 8
            T.copy(F, D)

    n, m = 1070, 3
    a = random.integers(-99, 99, (1100, 8), np.int32)
    b, c = np.zeros_like(a), np.zeros((3, 5, 2, 4), np.int32)
    columns = np.array([2, 3, 4, 6, 7])
    b[:n, columns] = np.where(a[:n, :1] >= 0, a[:n, columns] - a[:n, 1:2] * 2, 0)
    for i, k, j, e in np.ndindex(c.shape):
        c[i, k, j, e] = (i + e) * 100 + k * 10 + j
    d = np.repeat(np.array([7, 3], np.int32), 16)
    return Case(main, [n, m, a, np.zeros_like(b), np.zeros_like(c), np.zeros_like(d)], [a, b, c, d])


@case
def extents_of_zero(random):
    """Known when the kernel is built or not, a loop without elements runs nothing."""

    @T.prim_func
    def main(A: T.Tensor((T.dynamic("n"), 16), "int32"), B: T.Tensor((4, 16), "int32"), m: T.int32):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((4, 16), "int32")
            F = T.alloc_fragment((4, 16), "int32")
            n = T.dynamic("n")
            T.fill(F, 3)
            for i in T.Parallel(0):
                F[i, i] = 5
                B[i, 0] = 5
            for i, j in T.Parallel(4, -2):
                B[i, j] = 6
            for i, j in T.Parallel(m, 0):
                B[i, j] = 7
            for i, j in T.Parallel(0, m):
                B[i, j] = 7
            for i, j in T.Parallel(-m, 16):
                B[i, j] = 8
            for i in T.parallel(5, 3):
                B[i - 5, 0] = 9
            for i in T.Parallel(4):
                for j in T.Parallel(0):
                    F[i, j] = 10
            for i in T.Parallel(0):
                if B[i, 0] == 0:
                    continue
                for j in T.Parallel(16):
                    F[i, j] = 11
            for k in T.Pipelined(m, num_stages=2):
                T.copy(A[k * 4, 0], S)
                for i, j in T.Parallel(0, 16):
                    F[i, j] += S[i, j]
                for i, j in T.Parallel(n - n, 16):
                    B[i, j] = S[i, j]
                for i, j in T.Parallel(4, 16):
                    F[i, j] += S[i, j]
            T.copy(F, B)

    a = random.integers(-99, 99, (12, 16), np.int32)
    return Case(main, [a, np.zeros((4, 16), np.int32), 3], [a, a.reshape(3, 4, 16).sum(0) + 3])


@case
def an_accumulator_of_another_shape(random):
    """Two indices of the loop are a column of the product: all of it stays in registers."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), "float16"), B: T.Tensor((128, 64), "float16"), W: T.Tensor((4, 32), "float32"),
             C: T.Tensor((128, 4), "float32")):  # fmt: skip
        with T.Kernel(1, threads=256):
            As, Bs = T.alloc_shared((128, 64), "float16"), T.alloc_shared((128, 64), "float16")
            S, F = T.alloc_fragment((128, 128), "float32"), T.alloc_fragment((4, 32), "float32")
            R = T.reshape(S, (128, 4, 32))
            sums = T.alloc_fragment((128, 4), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.copy(W, F)
            T.clear(S)
            T.gemm(As, Bs, S, transpose_B=True)
            for i, q, h in T.Parallel(128, 4, 32):
                R[i, q, h] = T.max(R[i, q, h], 0) * F[q, h]
            T.reduce_sum(R, sums, dim=2)
            T.copy(sums, C)

    a, b = (random.integers(-3, 4, (128, 64)).astype(np.float16) for _ in range(2))
    w = random.integers(-3, 4, (4, 32)).astype(np.float32)
    product = np.maximum(a.astype(np.float32) @ b.astype(np.float32).T, 0).reshape(128, 4, 32)
    return Case(main, [a, b, w, np.zeros((128, 4), np.float32)], [a, b, w, (product * w).sum(2)])


@case
def places_from_a_variable_of_the_block(random):
    """What a loop of numbers found is where a pipelined loop begins, and how often it goes."""

    @T.prim_func
    def main(N: T.Tensor((4,), "int32"), A: T.Tensor((512, 32), "int32"), B: T.Tensor((64, 32), "int32")):
        with T.Kernel(1, threads=64):
            first, last = T.alloc_var("int32", 511), T.alloc_var("int32", 0)
            for k in T.serial(4):
                first = T.min(first, N[k])
                last = T.max(last, N[k])
            S, F = T.alloc_shared((64, 32), "int32"), T.alloc_fragment((64, 32), "int32")
            T.clear(F)
            for k in T.Pipelined(T.ceildiv(last - first, 64), num_stages=3):
                T.copy(A[first + k * 64, 0], S)
                for i, j in T.Parallel(64, 32):
                    if first + k * 64 + i < last:
                        F[i, j] += S[i, j] * (k + 1)
            T.copy(F, B)

    n, a = np.array([70, 9, 211, 33], np.int32), random.integers(-99, 99, (512, 32)).astype(np.int32)
    b = np.zeros((64, 32), np.int32)
    for i in range(9, 211):
        b[(i - 9) % 64] += a[i] * ((i - 9) // 64 + 1)
    return Case(main, [n, a, np.zeros_like(b)], [n, a, b])


@case
def sums_of_neighbours(random):
    """Some rows are added to twice, others not at all, and the row's end is not a whole vector."""

    @T.prim_func
    def main(P: T.Tensor((32,), "int32"), A: T.Tensor((32, 48), "float32"), B: T.Tensor((16, 64), "float32"),
             H: T.Tensor((16, 64), "float16"), D: T.Tensor((16, 44), "float32")):  # fmt: skip
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((32, 48), "float32")
            T.copy(A, F)
            for i, j in T.Parallel(32, 48):
                if P[i] >= 0 and P[i] < 16:
                    T.atomic_add(B[P[i], j + 4], F[i, j])
                    T.atomic_add(H[P[i], j + 8], T.cast(F[i, j], "float16"))
                    T.atomic_add(D[P[i], j], F[i, j])
            for i, k in T.Parallel(32, 12):
                if P[i] >= 0 and P[i] < 16:
                    T.atomic_addx4(B[P[i], k * 4 + 8], A[i, k * 4])

    p = random.integers(-4, 20, 32).astype(np.int32)
    a = random.integers(-9, 10, (32, 48)).astype(np.float32)
    b, h, d = np.zeros((16, 64), np.float32), np.zeros((16, 64), np.float16), np.zeros((16, 44), np.float32)
    for i in range(32):
        if 0 <= p[i] < 16:
            b[p[i], 4:52] += a[i]
            b[p[i], 8:56] += a[i]
            h[p[i], 8:56] += a[i].astype(np.float16)
            d[p[i]] += a[i, :44]
    zeros = [np.zeros_like(x) for x in (b, h, d)]
    return Case(main, [p, a, *zeros], [p, a, b, h, d])
