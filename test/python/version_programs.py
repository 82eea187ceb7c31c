"""Programs whose rows are aligned in some calls and not in others, which are kernels of two versions on a GPU.

Each has the shapes of its calls, whether rows are aligned then, and what NumPy makes of them. The tests run them on the
CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import numpy as np

import tilec.language as T

m, n, k, ld = T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), T.dynamic("ld")


@T.prim_func
def product(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
        As, Bs = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
            T.copy(A[by * 64, step * 32], As)
            T.copy(B[step * 32, bx * 64], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * 64, bx * 64])


@T.prim_func
def doubled(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
    with T.Kernel(T.ceildiv(n, 256), threads=64) as b:
        for i in T.Parallel(256):
            B[b * 256 + i] = A[b * 256 + i] * 2


@T.prim_func
def copied(A: T.Tensor((m, n), "float16"), B: T.Tensor((m, n), "float16")):
    """Rows may have no elements: no tensor map describes such."""
    with T.Kernel(T.ceildiv(m, 64), threads=128) as b:
        tile = T.alloc_shared((64, 64), "float16")
        T.copy(A[b * 64, 0], tile)
        T.copy(tile, B[b * 64, 0])


@T.prim_func
def widened(A: T.StridedTensor((m, 64), (ld, 1), "float16"), B: T.Tensor((m, n), "float32")):
    """Rows of numbers that begin where a call says."""
    with T.Kernel(T.ceildiv(m, 8), threads=64) as b:
        tile = T.alloc_fragment((8, 64), "float16")
        T.copy(A[b * 8, 0], tile)
        for i, j in T.Parallel(8, 64):
            B[b * 8 + i, j] = tile[i, j]


def _product(m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (k, n)))
    return (a, b, np.full((m, n), np.nan, np.float16)), (a.astype(np.float32) @ b).astype(np.float16)


def _doubled(n):
    a = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    return (a, np.full(n, np.nan, np.float32)), a * 2


def _copied(m, n):
    a = np.random.default_rng(m + n).standard_normal((m, n)).astype(np.float16)
    return (a, np.full((m, n), np.nan, np.float16)), a


def _widened(m, n, ld):
    a = np.random.default_rng(m).standard_normal((m, ld)).astype(np.float16)[:, :64]
    expected = np.zeros((m, n), np.float32)
    expected[:, :64] = a[:, :n]
    return (a, np.zeros((m, n), np.float32)), expected


CASES = {
    "product": (product, _product, {(96, 72, 40): True, (96, 72, 41): False, (1, 8, 8): True, (70, 71, 40): False}),
    "doubled": (doubled, _doubled, {(1000,): True, (1001,): False, (4,): True, (1,): False}),
    "copied": (copied, _copied, {(70, 40): True, (70, 41): False, (8, 0): False, (70, 64): True}),
    "widened": (widened, _widened, {(9, 64, 72): True, (9, 50, 72): False, (1, 4, 64): True}),
}
"""Programs, what makes arguments and results for a shape, and the shapes with whether rows are aligned."""


def check(name, run):
    """Calls a program with each of its shapes by `run(program, *arguments)`."""
    program, make, shapes = CASES[name]
    for shape in shapes:
        arguments, expected = make(*shape)
        run(program, *arguments)
        np.testing.assert_array_equal(arguments[-1], expected, err_msg=f"{name} of {shape}")
