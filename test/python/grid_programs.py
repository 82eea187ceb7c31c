"""Programs whose blocks wait for each other, each with its arguments and what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import numpy as np

import tilec.language as T


@T.prim_func
def normalized(A: T.Tensor((512,), "float32"), parts: T.Tensor((8,), "float32"), B: T.Tensor((512,), "float32")):
    """A fragment lives through the wait."""
    with T.Kernel(8, threads=64) as b:
        x, total = T.alloc_fragment((64,), "float32"), T.alloc_fragment((1,), "float32")
        T.copy(A[b * 64], x)
        T.reduce_sum(x, total, dim=0)
        parts[b] = total[0]
        T.sync_grid()
        everything = T.alloc_var("float32", 0.0)
        for i in T.serial(8):
            everything += parts[i]
        for i in T.Parallel(64):
            B[b * 64 + i] = x[i] / everything


@T.prim_func
def rotated(A: T.Tensor((6, 32), "int32"), n: T.int32):
    """As many waits as a call asks for: each block reads what the next one wrote in the round before."""
    with T.Kernel(2, 3, threads=32) as (x, y):
        row = T.alloc_shared((32,), "int32")
        for _ in T.serial(n):
            T.copy(A[(x * 3 + y + 1) % 6, 0], row)
            T.sync_grid()
            T.copy(row, A[x * 3 + y, 0])
            T.sync_grid()


@T.prim_func
def products_in_turn(
    A: T.Tensor((128, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    H: T.Tensor((128, 64), "float16"),
    C: T.Tensor((128, 64), "float32"),
):
    """The second product reads tiles that other blocks have stored."""
    with T.Kernel(2, threads=128) as b:
        As, Bs = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.copy(B, Bs)
        T.copy(A[b * 64, 0], As)
        T.clear(acc)
        T.gemm(As, Bs, acc)
        T.copy(acc, H[b * 64, 0])
        T.sync_global()
        T.copy(H[(1 - b) * 64, 0], As)
        T.clear(acc)
        T.gemm(As, Bs, acc)
        T.copy(acc, C[b * 64, 0])


@T.prim_func
def twice(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
    """Two kernels, of any grid, each with waits of its own."""
    with T.Kernel(A.shape[0], threads=32) as b:
        B[b] = A[b]
        T.sync_grid()
        A[b] = B[3 - b]
    with T.Kernel(A.shape[0], threads=32) as b:
        B[b] = A[b] * 10
        T.sync_grid()
        A[b] = B[(b + 1) % 4]


@T.prim_func
def beside_an_edge(A: T.Tensor((4,), "int32"), B: T.Tensor((4, 2), "int32"), C: T.Tensor((4, 2), "int32")):
    """What stands for elements outside does so behind a wait too."""
    with T.Kernel(4, threads=32) as b:
        T.annotate_safe_value({A: -7})
        F = T.alloc_fragment((2,), "int32")
        T.copy(A[b - 1], F)
        T.copy(F, B[b, 0])
        T.sync_grid()
        T.copy(A[b - 1], F)
        T.copy(F, C[b, 0])


def rotation(rounds):
    before = np.arange(6 * 32, dtype=np.int32).reshape(6, 32)
    return (), (before,), (np.roll(before, -rounds, axis=0),), (rounds,)


def chained():
    a, b = (
        (np.random.default_rng(i).integers(-2, 3, s)).astype(np.float16) for i, s in ((0, (128, 64)), (1, (64, 64)))
    )
    h = a.astype(np.float32) @ b.astype(np.float32)
    c = np.roll(h, 64, axis=0) @ b.astype(np.float32)
    return (a, b), (np.zeros((128, 64), np.float16), np.zeros((128, 64), np.float32)), (h.astype(np.float16), c), ()


ONES = np.arange(512, dtype=np.float32)
EDGES = np.array([[-7, 5], [5, 6], [6, 7], [7, 8]], np.int32)
CASES = {
    "normalized": (
        normalized, (ONES,), (np.zeros(8, np.float32), np.zeros(512, np.float32)),
        (ONES.reshape(8, 64).sum(1), ONES / ONES.sum()), (),
    ),
    "rotated": (rotated, *rotation(5)),
    "rotated_not_at_all": (rotated, *rotation(0)),
    "products_in_turn": (products_in_turn, *chained()),
    "beside_an_edge": (
        beside_an_edge, (np.arange(5, 9, dtype=np.int32),), (np.zeros((4, 2), np.int32), np.zeros((4, 2), np.int32)),
        (EDGES, EDGES), (),
    ),
    "twice": (
        twice, (), (np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)),
        (np.array([30, 20, 10, 40], np.int32), np.array([40, 30, 20, 10], np.int32)), (),
    ),
}  # fmt: skip
"""For each program its inputs, its results as they are before, what they are after, and the scalars behind them."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, inputs, results, expected, scalars = CASES[name]
    results = [result.copy() for result in results]
    run(program, *inputs, *results, *scalars)
    for result, exact in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, exact, rtol=1e-6 if result.dtype == np.float32 else 0)
