"""What kernels compute, on the CPU, against float64 NumPy: random data, poisoned outputs, ragged sizes."""

import math

import numpy as np
import pytest

import tilec
import tilec.language as T


@pytest.fixture
def random():
    return np.random.default_rng(0)


def poisoned(shape, dtype):
    """Returns an array in which everything that a kernel does not write shows."""
    array = np.empty(shape, dtype)
    array.fill(np.nan if np.issubdtype(dtype, np.floating) else 77)
    return array


def gemm_bound(a, b, dtype):
    """Returns the error that a GEMM may have: rounding of the result, and of K additions in single precision."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    unit = {np.float16: 2.0**-11, np.float32: 2.0**-24}[dtype]
    return unit * np.abs(x @ y) + a.shape[1] * 2.0**-23 * (np.abs(x) @ np.abs(y)) + 2.0**-24


@pytest.mark.parametrize("transpose", [False, True], ids=["nn", "nt"])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (1, 1, 1), (100, 130, 70), (65, 63, 33), (257, 96, 128)])
def test_gemm(random, m, n, k, transpose):
    shape = (n, k) if transpose else (k, n)
    bm, bn, bk = 64, 64, 32

    @T.prim_func
    def gemm(A: T.Tensor((m, k), "float16"), B: T.Tensor(shape, "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            As = T.alloc_shared((bm, bk), "float16")
            Bs = T.alloc_shared((bn, bk) if transpose else (bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, ko * bk], As)
                if transpose:
                    T.copy(B[bx * bn, ko * bk], Bs)
                else:
                    T.copy(B[ko * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc, transpose_B=transpose)
            T.copy(acc, C[by * bm, bx * bn])

    a = random.standard_normal((m, k)).astype(np.float16)
    b = random.standard_normal(shape).astype(np.float16)
    c = poisoned((m, n), np.float16)
    tilec.compile(gemm, target="cpu")(a, b, c)
    right = b.T if transpose else b
    error = np.abs(c.astype(np.float64) - a.astype(np.float64) @ right.astype(np.float64))
    assert np.all(error <= gemm_bound(a, right, np.float16))


def test_one_kernel_for_many_shapes(random):
    m, n, k = T.dynamic("m, n, k")

    @T.prim_func
    def gemm(A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32)) as (bx, by):
            As = T.alloc_shared((32, 16), "float32")
            Bs = T.alloc_shared((16, 32), "float32")
            acc = T.alloc_fragment((32, 32), "float32")
            for ko in T.Pipelined(T.ceildiv(k, 16), num_stages=2):
                T.copy(A[by * 32, ko * 16], As)
                T.copy(B[ko * 16, bx * 32], Bs)
                T.gemm(As, Bs, acc, clear_accum=ko == 0)
            T.copy(acc, C[by * 32, bx * 32])

    kernel = tilec.compile(gemm, target="cpu")
    for shape in [(32, 32, 16), (33, 31, 17), (1, 100, 5), (70, 2, 64)]:
        a = random.standard_normal((shape[0], shape[2])).astype(np.float32)
        b = random.standard_normal((shape[2], shape[1])).astype(np.float32)
        c = poisoned(shape[:2], np.float32)
        kernel(a, b, c)
        error = np.abs(c - a.astype(np.float64) @ b.astype(np.float64))
        assert np.all(error <= gemm_bound(a, b, np.float32)), shape


def test_elementwise(random):
    n = T.dynamic("n")

    @T.prim_func
    def f(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), a: T.float32):
        with T.Kernel(T.ceildiv(n, 128)) as b:
            for i in T.Parallel(128):
                x = X[b * 128 + i]
                Y[b * 128 + i] = T.sigmoid(a * x) if x > 0 else T.exp(x) - 1

    kernel = tilec.compile(f, target="cpu")
    for size in (1, 128, 1000):
        x = random.standard_normal(size).astype(np.float32)
        y = poisoned(size, np.float32)
        kernel(x, y, 1.5)
        wide = x.astype(np.float64)
        np.testing.assert_allclose(
            y, np.where(wide > 0, 1 / (1 + np.exp(-1.5 * wide)), np.exp(wide) - 1), rtol=1e-5, atol=1e-6
        )


def test_softmax(random):
    m = T.dynamic("m")

    @T.prim_func
    def softmax(X: T.Tensor((m, 96), "float32"), Y: T.Tensor((m, 96), "float32")):
        with T.Kernel(T.ceildiv(m, 4)) as b:
            x = T.alloc_fragment((4, 96), "float32")
            top = T.alloc_fragment((4,), "float32")
            total = T.alloc_fragment((4,), "float32")
            T.copy(X[b * 4, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(4, 96):
                x[i, j] = T.exp2((x[i, j] - top[i]) * math.log2(math.e))
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(4, 96):
                x[i, j] /= total[i]
            T.copy(x, Y[b * 4, 0])

    x = (5 * random.standard_normal((37, 96))).astype(np.float32)
    y = poisoned(x.shape, np.float32)
    tilec.compile(softmax, target="cpu")(x, y)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-8)


def test_rmsnorm(random):
    @T.prim_func
    def rmsnorm(X: T.Tensor(("m", 128), "float16"), W: T.Tensor((128,), "float16"), Y: T.Tensor(("m", 128), "float16")):
        with T.Kernel(T.ceildiv(T.dynamic("m"), 2)) as b:
            x = T.alloc_fragment((2, 128), "float32")
            squares = T.alloc_fragment((2, 128), "float32")
            total = T.alloc_fragment((2,), "float32")
            T.copy(X[b * 2, 0], x)
            for i, j in T.Parallel(2, 128):
                squares[i, j] = x[i, j] ** 2
            T.reduce_sum(squares, total, dim=1)
            for i, j in T.Parallel(2, 128):
                x[i, j] = x[i, j] * T.rsqrt(total[i] / 128 + 1e-5) * W[j]
            T.copy(x, Y[b * 2, 0])

    x = random.standard_normal((33, 128)).astype(np.float16)
    w = random.standard_normal(128).astype(np.float16)
    y = poisoned(x.shape, np.float16)
    tilec.compile(rmsnorm, target="cpu")(x, w, y)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5) * w
    np.testing.assert_allclose(y, expected, rtol=1.5e-3, atol=1e-6)


def test_reductions(random):
    kinds = ["sum", "max", "min", "abssum", "absmax"]

    @T.prim_func
    def reduce(X: T.Tensor((16, 32), "float32"), Y: T.Tensor((len(kinds), 16), "float32")):
        with T.Kernel(1):
            x = T.alloc_fragment((16, 32), "float32")
            y = T.alloc_fragment((16,), "float32")
            T.copy(X, x)
            for i, kind in enumerate(kinds):
                T.reduce(x, y, kind, dim=1)
                T.copy(y, Y[i, 0])

    x = random.standard_normal((16, 32)).astype(np.float32)
    y = poisoned((len(kinds), 16), np.float32)
    tilec.compile(reduce, target="cpu")(x, y)
    wide = x.astype(np.float64)
    expected = [wide.sum(1), wide.max(1), wide.min(1), np.abs(wide).sum(1), np.abs(wide).max(1)]
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("grid", [(4, 4), (5, 7), (7, 5), (1, 9), (9, 1)])
def test_swizzle_visits_every_block_once(grid, order):
    """Block coordinates are permuted, and a panel is as high as it should be."""
    width, height = grid

    @T.prim_func
    def visit(N: T.Tensor((height, width), "int32")):
        with T.Kernel(width, height, threads=1) as (bx, by):
            T.use_swizzle(3, order)
            for i in T.Parallel(1):
                N[by, bx] = N[by, bx] + T.get_block_binding(0) * 0 + 1

    visits = np.zeros((height, width), np.int32)
    tilec.compile(visit, target="cpu")(visits)
    np.testing.assert_array_equal(visits, 1)


def test_integer_division_is_pythons():
    @T.prim_func
    def divide(
        A: T.Tensor((64,), "int32"),
        B: T.Tensor((64,), "int32"),
        Q: T.Tensor((64,), "int32"),
        R: T.Tensor((64,), "int32"),
        C: T.Tensor((64,), "int32"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(64):
                Q[i] = A[i] // B[i]
                R[i] = A[i] % B[i]
                C[i] = T.ceildiv(A[i], B[i])

    a = np.repeat(np.arange(-8, 8, dtype=np.int32), 4)
    b = np.tile(np.array([-3, -1, 2, 5], np.int32), 16)
    q, r, c = (poisoned(64, np.int32) for _ in range(3))
    tilec.compile(divide, target="cpu")(a, b, q, r, c)
    np.testing.assert_array_equal(q, a // b)
    np.testing.assert_array_equal(r, a % b)
    np.testing.assert_array_equal(c, -(-a // b))


def test_signs_and_conversions():
    @T.prim_func
    def convert(
        A: T.Tensor((4,), "uint8"), B: T.Tensor((4,), "int8"), X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "int32")
    ):
        with T.Kernel(1):
            for i in T.Parallel(4):
                X[i] = A[i]
                Y[i] = B[i] + A[i].astype("int32")

    a, b = np.array([0, 1, 200, 255], np.uint8), np.array([-128, -1, 0, 127], np.int8)
    x, y = poisoned(4, np.float32), poisoned(4, np.int32)
    tilec.compile(convert, target="cpu")(a, b, x, y)
    np.testing.assert_array_equal(x, a.astype(np.float32))
    np.testing.assert_array_equal(y, b.astype(np.int32) + a)


def test_control_flow():
    """Variables, loops in both directions, `while`, macros, and values out of branches."""

    @T.macro
    def collatz(n, steps):
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1

    @T.prim_func
    def f(A: T.Tensor((16,), "int32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(16, threads=1) as b:
            n = T.alloc_var("int32", b + 1)
            steps = T.alloc_var("int32", 0)
            collatz(n, steps)
            A[b] = steps
            total = T.alloc_var("int32", 0)
            for i in range(10, b, -3):
                total = total * 2 + i
            B[b] = total

    def reference(b):
        n, steps, total = b + 1, 0, 0
        while n != 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        for i in range(10, b, -3):
            total = total * 2 + i
        return steps, total

    # Variables that stay in memory are an array of the thread there, which LLVM turns into registers.
    assert ".local" not in tilec.compile(f, target="sm_90a", assembler="none").get_kernel_source()
    a, b = poisoned(16, np.int32), poisoned(16, np.int32)
    tilec.compile(f, target="cpu")(a, b)
    expected = np.array([reference(i) for i in range(16)])
    np.testing.assert_array_equal(a, expected[:, 0])
    np.testing.assert_array_equal(b, expected[:, 1])


def test_a_guarded_read_is_not_executed():
    @T.prim_func
    def shift(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            S = T.alloc_shared((8,), "float32")
            T.copy(A, S)
            for i in T.Parallel(8):
                B[i] = S[i - 1] if i > 0 else -1.0

    a, b = np.arange(8, dtype=np.float32), poisoned(8, np.float32)
    tilec.compile(shift, target="cpu")(a, b)
    np.testing.assert_array_equal(b, [-1, 0, 1, 2, 3, 4, 5, 6])


def test_tiles_across_dimensions(random):
    """A tile whose dimensions are not the last ones of the tensor, as in batch, row, head, column."""

    @T.prim_func
    def heads(A: T.Tensor((2, 40, 3, 16), "float32"), B: T.Tensor((2, 3, 40, 16), "float32")):
        with T.Kernel(2, 3, 2) as (b, h, r):
            S = T.alloc_shared((32, 16), "float32")
            T.copy(A[b, r * 32 : r * 32 + 32, h, :], S)
            T.copy(S, B[b, h, r * 32, 0])

    a = random.standard_normal((2, 40, 3, 16)).astype(np.float32)
    b = poisoned((2, 3, 40, 16), np.float32)
    tilec.compile(heads, target="cpu")(a, b)
    np.testing.assert_array_equal(b, a.transpose(0, 2, 1, 3))


def test_strided_tensors(random):
    @T.prim_func
    def double(
        A: T.StridedTensor(("m", "n"), ("lda", 1), "float32", align=4),
        B: T.StridedTensor(("m", "n"), ("ldb", 1), "float32", align=4),
    ):
        with T.Kernel(T.ceildiv(T.dynamic("n"), 16), T.ceildiv(T.dynamic("m"), 16)) as (bx, by):
            for i, j in T.Parallel(16, 16):
                B[by * 16 + i, bx * 16 + j] = 2 * A[by * 16 + i, bx * 16 + j]

    a = random.standard_normal((40, 64)).astype(np.float32)[3:36, 5:50]
    whole = poisoned((40, 80), np.float32)
    b = whole[1:34, 7:52]
    tilec.compile(double, target="cpu")(a, b)
    np.testing.assert_array_equal(b, 2 * a)
    assert np.isnan(whole).sum() == whole.size - b.size


# LLVM 22 makes a scalar store of 8 bytes of a masked store of a truncated vector whose constant mask selects one lane.
@pytest.mark.parametrize("narrow", ["int8", "int16", "int32"])
@pytest.mark.parametrize("columns", [1, 3, 5, 9, 13])
def test_truncating_stores_of_ragged_rows_write_no_more(narrow, columns):
    @T.prim_func
    def f(A: T.Tensor((4, 142, columns), narrow)):
        with T.Kernel(2, 3, threads=64) as (b, c):
            x = T.alloc_fragment((2, 48, 16), "int64")
            T.fill(x, 1)
            for a, i, j in T.Parallel(2, 48, 16):
                A[b * 2 + a, c * 48 + i, j] = T.cast(x[a, i, j], narrow)

    memory = np.full(4 * 142 * columns + 8, 77, narrow)
    tilec.compile(f, target="cpu")(memory[:-8].reshape(4, 142, columns))
    assert (memory[:-8] == 1).all()
    assert (memory[-8:] == 77).all()


# LLVM 22 writes 16 bytes of a masked store of 8 whose lanes share one bit of the mask.
@pytest.mark.parametrize("width", [8, 16])
def test_guarded_stores_of_bytes_write_no_more(width):
    @T.prim_func
    def f(A: T.Tensor((4, 16), "float32"), B: T.Tensor((2, 3, width), "uint8"), n: T.int32):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((4, width), "uint8")
            for i, j in T.Parallel(4, width):
                x[i, j] = T.cast(T.min(T.max(A[i, j], 0.0), 100.0), "uint8")
            T.copy(x, B[1, n, 0])

    a = np.random.default_rng(0).uniform(0, 90, (4, 16)).astype(np.float32)
    memory = np.full(2 * 3 * width + 16, 77, np.uint8)
    expected = memory.copy()
    expected[: 6 * width].reshape(2, 3, width)[1, 1:] = a[:2, :width]
    tilec.compile(f, target="cpu")(a, memory[: 6 * width].reshape(2, 3, width), 1)
    np.testing.assert_array_equal(memory, expected)
