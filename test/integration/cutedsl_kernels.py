"""Tile kernels that CuTe DSL expresses, with what they compute.

    python cutedsl_kernels.py DIRECTORY [CHIP]

compiles them and writes launch plans and cubins, for `TL_CUTEDSL_PREBUILT=DIRECTORY` on a machine with a GPU and
without CuTe DSL. It needs no GPU.
"""

import math
import sys
from pathlib import Path

import numpy as np

import tilec
import tilec.language as T

N, M = T.dynamic("n, m")


@T.prim_func
def saxpy(a: T.float32, X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 256), threads=256) as b:
        for i in T.Parallel(256):
            Y[b * 256 + i] = a * X[b * 256 + i] + Y[b * 256 + i]


@T.prim_func
def gelu(X: T.Tensor((N,), "float16"), Y: T.Tensor((N,), "float16")):
    with T.Kernel(T.ceildiv(N, 1024), threads=128) as b:
        for i in T.Parallel(1024):
            x = T.float32(X[b * 1024 + i])
            Y[b * 1024 + i] = 0.5 * x * (1.0 + T.erf(x * math.sqrt(0.5)))


@T.prim_func
def transpose(X: T.Tensor((M, N), "int32"), Y: T.Tensor((N, M), "int32")):
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
        tile = T.alloc_shared((32, 32), "int32")
        T.copy(X[by * 32, bx * 32], tile)
        for i, j in T.Parallel(32, 32):
            Y[bx * 32 + i, by * 32 + j] = tile[j, i]


@T.prim_func
def softmax(X: T.Tensor((M, 512), "float16"), Y: T.Tensor((M, 512), "float16")):
    with T.Kernel(T.ceildiv(M, 4), threads=128) as b:
        shared = T.alloc_shared((4, 512), "float16")
        x = T.alloc_fragment((4, 512), "float32")
        top = T.alloc_fragment((4,), "float32")
        total = T.alloc_fragment((4,), "float32")
        T.copy(X[b * 4, 0], shared)
        T.copy(shared, x)
        T.reduce_max(x, top, dim=1)
        for i, j in T.Parallel(4, 512):
            x[i, j] = T.exp(x[i, j] - top[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(4, 512):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[b * 4, 0])


@T.prim_func
def rmsnorm(X: T.Tensor((M, 1024), "bfloat16"), W: T.Tensor((1024,), "float32"), Y: T.Tensor((M, 1024), "float32")):
    with T.Kernel(T.ceildiv(M, 2), threads=128) as b:
        x = T.alloc_fragment((2, 1024), "float32")
        squares = T.alloc_fragment((2, 1024), "float32")
        total = T.alloc_fragment((2,), "float32")
        T.copy(X[b * 2, 0], x)
        for i, j in T.Parallel(2, 1024):
            squares[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(squares, total, dim=1)
        for i, j in T.Parallel(2, 1024):
            x[i, j] = x[i, j] * T.rsqrt(total[i] / 1024 + 1e-5) * W[j]
        T.copy(x, Y[b * 2, 0])


@T.prim_func
def column_sums(X: T.Tensor((M, 256), "int32"), Y: T.Tensor((256,), "int32")):
    with T.Kernel(2, threads=128) as b:
        total = T.alloc_fragment((128,), "int32")
        T.clear(total)
        for row in T.serial(M):
            for i in T.Parallel(128):
                total[i] = total[i] + X[row, b * 128 + i]
        T.copy(total, Y[b * 128])


@T.prim_func
def integers(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32"), d: T.int32):
    with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
        for i in T.Parallel(128):
            x = X[b * 128 + i]
            Y[b * 128 + i] = T.if_then_else(x > 0, (x // d) * 3 + x % d, (x >> 2) ^ (x << 1)) + T.max(x, d)


KERNELS = (saxpy, gelu, transpose, softmax, rmsnorm, column_sums, integers)


def bfloat16(values):
    """Returns the nearest numbers with 16 bits."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def problem(name, random):
    """Returns arguments as NumPy arrays and numbers, their places, the results' values by place, and a tolerance."""
    if name == "saxpy":
        x, y = (random.standard_normal(10_007, dtype=np.float32) for _ in range(2))
        return [1.5, x, y], {2: 1.5 * x.astype(np.float64) + y}, 1e-6
    if name == "gelu":
        x = random.standard_normal(5000).astype(np.float16)
        wide = x.astype(np.float64)
        return [x, np.empty_like(x)], {1: 0.5 * wide * (1 + np.vectorize(math.erf)(wide * math.sqrt(0.5)))}, 1e-3
    if name == "transpose":
        x = random.integers(-(2**31), 2**31, (77, 130), np.int32)
        return [x, np.empty((130, 77), np.int32)], {1: x.T}, 0
    if name == "softmax":
        x = random.standard_normal((37, 512)).astype(np.float16)
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        return [x, np.empty_like(x)], {1: e / e.sum(axis=1, keepdims=True)}, 1e-3
    if name == "rmsnorm":
        x = bfloat16(random.standard_normal((13, 1024)))
        w = random.standard_normal(1024, dtype=np.float32)
        wide = x.astype(np.float64)
        norm = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5)
        return [x, w, np.empty((13, 1024), np.float32)], {2: norm * w}, 1e-5
    if name == "column_sums":
        x = random.integers(-1000, 1000, (99, 256), np.int32)
        return [x, np.empty(256, np.int32)], {1: x.sum(axis=0)}, 0
    x = random.integers(-100_000, 100_000, 1000, np.int32)
    positive = (x // 7) * 3 + x % 7
    return [x, np.empty_like(x), 7], {1: np.where(x > 0, positive, (x >> 2) ^ (x << 1)) + np.maximum(x, 7)}, 0


def main(directory, chip="sm_90a"):
    for function in KERNELS:
        kernel = tilec.compile(function, target=chip, backend="cutedsl")
        folder = Path(directory) / function.name
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("plan.json", "kernels.zip"):
            (folder / name).write_bytes(kernel.artifact[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
