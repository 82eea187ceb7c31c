"""Programs that copy rows from where a table or a formula says, each with its arguments and what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import numpy as np

import tilec.language as T


@T.prim_func
def attended(
    K: T.Tensor((500, 64), "float16"),
    table: T.Tensor((256,), "int32"),
    Q: T.Tensor((64, 64), "float16"),
    R: T.Tensor((64, 256), "float32"),
):
    """Rows of a table run ahead of products; some are outside of the tensor, and some are none."""
    with T.Kernel(1, threads=128):
        Ks, Qs = T.alloc_shared((32, 64), "float16"), T.alloc_shared((64, 64), "float16")
        acc = T.alloc_fragment((64, 32), "float32")
        T.copy(Q, Qs)
        for k in T.Pipelined(8, num_stages=3):
            for i, j in T.Parallel(32, 64):
                Ks[i, j] = T.if_then_else(table[k * 32 + i] >= 0, K[table[k * 32 + i], j], 0)
            T.gemm(Qs, Ks, acc, transpose_B=True, clear_accum=True)
            T.copy(acc, R[0, k * 32])


def _attended(rng):
    k, q = (rng.integers(-3, 4, s).astype(np.float16) for s in ((500, 64), (64, 64)))
    table = rng.integers(-60, 560, 256).astype(np.int32)
    rows = np.where(((table >= 0) & (table < 500))[:, None], k[np.clip(table, 0, 499)], 0)
    return (k, table, q, np.full((64, 256), np.nan, np.float32)), q.astype(np.float32) @ rows.astype(np.float32).T


@T.prim_func
def convolved(
    image: T.Tensor((2, 16, 16, 64), "float16"),
    kernel: T.Tensor((576, 64), "float16"),
    R: T.Tensor((512, 64), "float16"),
):
    with T.Kernel(8, threads=128) as b:
        patches, weights = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        for k in T.Pipelined(18, num_stages=3):
            T.im2col(image, patches, b, k, kernel=3, stride=1, dilation=1, pad=1)
            T.copy(kernel[k * 32, 0], weights)
            T.gemm(patches, weights, acc)
        T.copy(acc, R[b * 64, 0])


def _convolved(rng):
    image, kernel = (rng.integers(-2, 3, s).astype(np.float16) for s in ((2, 16, 16, 64), (576, 64)))
    padded = np.pad(image.astype(np.float32), ((0, 0), (1, 1), (1, 1), (0, 0)))
    patches = np.stack([padded[:, i : i + 16, j : j + 16] for i in range(3) for j in range(3)], 3).reshape(512, -1)
    return (image, kernel, np.zeros((512, 64), np.float16)), (patches @ kernel.astype(np.float32)).astype(np.float16)


@T.prim_func
def scattered(K: T.Tensor((64, 64), "float16"), table: T.Tensor((16,), "int32"), R: T.Tensor((16, 64), "float16")):
    """A zero that is stored elsewhere is none of the row."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((16, 64), "float16")
        T.fill(S, 5)
        for i, j in T.Parallel(16, 32):
            if table[i] < 0:
                S[i, j + 32] = 0
            else:
                S[i, j] = K[table[i], j]
        T.copy(S, R)


def _scattered(rng):
    k, table = rng.standard_normal((64, 64)).astype(np.float16), rng.integers(-40, 64, 16).astype(np.int32)
    expected = np.full((16, 64), 5, np.float16)
    for row, place in zip(expected, table, strict=True):
        if place < 0:
            row[32:] = 0
        else:
            row[:32] = k[place, :32]
    return (k, table, np.zeros((16, 64), np.float16)), expected


@T.prim_func
def parted(
    A: T.Tensor((60, 90), "float16"),
    B: T.Tensor((2, 96, 32), "float16"),
    R: T.Tensor((2, 2, 64, 64), "float32"),
):
    """Boxes, some over the tensor's edge, to parts of tiles that keep what is beside them."""
    with T.Kernel(2, threads=128) as b:
        As, Bs = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 32), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        T.fill(As, 3)
        T.fill(Bs, 2)
        for k in T.serial(3):
            for i, j in T.Parallel(40, 32):
                As[i + 24, j + 32] = A[b * 24 + i - 3, k * 32 + j]
            for i, j in T.Parallel(32, 32):
                Bs[32 + i, j] = B[b, k * 32 + i, j]
            for i, j in T.Parallel(64, 64):
                acc[i, j] += As[i, j] * Bs[i, j % 32]
        T.copy(acc, R[0, b, 0, 0])
        T.copy(As, R[1, b, 0, 0])


def _parted(rng):
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((60, 90), (2, 96, 32)))
    padded = np.zeros((80, 96), np.float32)
    padded[3:63, :90] = a
    x, y, result = np.full((2, 64, 64), 3.0), np.full((2, 64, 32), 2.0), np.zeros((2, 64, 64), np.float32)
    for k in range(3):
        for block in range(2):
            x[block, 24:, 32:] = padded[block * 24 : block * 24 + 40, k * 32 : k * 32 + 32]
            y[block, 32:] = b[block, k * 32 : k * 32 + 32]
            result[block] += x[block] * np.tile(y[block], 2)
    return (a, b, np.full((2, 2, 64, 64), np.nan, np.float32)), np.stack([result, x]).astype(np.float32)


@T.prim_func
def written(K: T.Tensor((64, 64), "float32"), table: T.Tensor((8,), "int32"), R: T.Tensor((4, 8, 64), "float32")):
    """The kernel writes the table between two copies of rows."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((8, 64), "float32")
        for k in T.Pipelined(4, num_stages=2):
            for i, j in T.Parallel(8, 64):
                S[i, j] = K[table[i], j]
            T.copy(S, R[k, 0, 0])
            for i in T.Parallel(8):
                table[i] = (table[i] * 5 + 3) % 64


def _written(rng):
    k, table = rng.standard_normal((64, 64)).astype(np.float32), rng.integers(0, 64, 8).astype(np.int32)
    tables = [table.astype(np.int64)]
    for _ in range(3):
        tables.append((tables[-1] * 5 + 3) % 64)
    return (k, table, np.zeros((4, 8, 64), np.float32)), k[np.stack(tables)]


CASES = {
    "rows of a table": (attended, _attended),
    "patches": (convolved, _convolved),
    "zeros elsewhere": (scattered, _scattered),
    "boxes to parts of tiles": (parted, _parted),
    "a table that is written": (written, _written),
}


def check(name, run):
    """Calls a program by `run(program, *arguments)`."""
    program, make = CASES[name]
    arguments, expected = make(np.random.default_rng(7))
    run(program, *arguments)
    np.testing.assert_array_equal(arguments[-1], expected)
