"""C = A @ B.T of floats of 8 bits: with a scale for each matrix, and with one for each block of 128 elements.

Tensor cores add up products of 8 bits with some 14 bits. The second kernel therefore adds the sums of 128 products up
in `float32`, with their scales: 1 x 128 for A, 128 x 128 for B. Of 8192 products the error is then 16 times less.
"""

import importlib.util

import ml_dtypes
import numpy as np

import tilec
import tilec.language as T
from tilec import targets

BLOCK = 128


@tilec.jit(out_idx=-1)
def gemm_scaled(M: int, N: int, K: int, block_M: int = 128, block_N: int = 256, threads: int = 256, stages: int = 4):
    """One scale for A and one for B."""

    @T.prim_func
    def scaled(
        A: T.Tensor((M, K), "float8_e4m3"),
        B: T.Tensor((N, K), "float8_e4m3"),
        scales: T.Tensor((2,), "float32"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            As = T.alloc_shared((block_M, BLOCK), "float8_e4m3")
            Bs = T.alloc_shared((block_N, BLOCK), "float8_e4m3")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, BLOCK), num_stages=stages):
                T.copy(A[by * block_M, k * BLOCK], As)
                T.copy(B[bx * block_N, k * BLOCK], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            for i, j in T.Parallel(block_M, block_N):
                acc[i, j] = acc[i, j] * (scales[0] * scales[1])
            T.copy(acc, C[by * block_M, bx * block_N])

    return scaled


@tilec.jit(out_idx=-1)
def gemm_block_scaled(M: int, N: int, K: int, block_M: int = 128, threads: int = 256, stages: int = 3):
    """A scale for each 128 elements of a row of A, and for each 128 x 128 of B.

    Two products are under way at a time: while the second one is computed, the first one is added up.
    """

    @T.prim_func
    def block_scaled(
        A: T.Tensor((M, K), "float8_e4m3"),
        B: T.Tensor((N, K), "float8_e4m3"),
        scales_A: T.Tensor((T.ceildiv(K, BLOCK), M), "float32"),
        scales_B: T.Tensor((T.ceildiv(N, BLOCK), T.ceildiv(K, BLOCK)), "float32"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(N, BLOCK), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            As = [T.alloc_shared((block_M, BLOCK), "float8_e4m3") for _ in range(2)]
            Bs = [T.alloc_shared((BLOCK, BLOCK), "float8_e4m3") for _ in range(2)]
            rows = [T.alloc_fragment((block_M,), "float32") for _ in range(2)]
            step = [T.alloc_fragment((block_M, BLOCK), "float32") for _ in range(2)]
            acc = T.alloc_fragment((block_M, BLOCK), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, 2 * BLOCK), num_stages=stages):
                for h in T.unroll(2):
                    T.copy(A[by * block_M, (2 * k + h) * BLOCK], As[h])
                    T.copy(B[bx * BLOCK, (2 * k + h) * BLOCK], Bs[h])
                for h in T.unroll(2):
                    for i in T.Parallel(block_M):
                        rows[h][i] = scales_A[2 * k + h, by * block_M + i] * scales_B[bx, 2 * k + h]
                for h in T.unroll(2):
                    T.gemm(As[h], Bs[h], step[h], transpose_B=True, clear_accum=True)
                for h in T.unroll(2):
                    for i, j in T.Parallel(block_M, BLOCK):
                        acc[i, j] += step[h][i, j] * rows[h][i]
            T.copy(acc, C[by * block_M, bx * BLOCK])

    return block_scaled


def quantized(x, rows, columns):
    """Returns a matrix in 8 bits, and the scale of each block of it."""
    m, n = x.shape
    blocks = x.reshape(m // rows, rows, n // columns, columns)
    scales = np.abs(blocks).max(axis=(1, 3), keepdims=True) / float(ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).max)
    numbers = (blocks / scales).astype(ml_dtypes.float8_e4m3fn)
    exact = (numbers.astype(np.float64) * scales).reshape(m, n)
    return numbers.reshape(m, n), scales[:, 0, :, 0].astype(np.float32), exact


def check(found, a, b):
    """The sums are as exact as `bfloat16` and 14 bits allow; what quantizing cost is not looked at."""
    error = np.abs(np.asarray(found).astype(np.float64) - a @ b.T)
    assert (error <= 2**-8 * np.abs(a @ b.T) + 2**-10 * (np.abs(a) @ np.abs(b).T)).all(), error.max()


def main():
    random = np.random.default_rng(0)
    M, N, K = 256, 256, 512
    x, y = random.standard_normal((M, K)), random.standard_normal((N, K))

    (a, scale_a, exact_a), (b, scale_b, exact_b) = quantized(x, M, K), quantized(y, N, K)
    scales = np.array([scale_a[0, 0], scale_b[0, 0]])
    check(gemm_scaled(M, N, K)(a, b, scales), exact_a, exact_b)

    (a, scale_a, exact_a), (b, scale_b, exact_b) = quantized(x, 1, BLOCK), quantized(y, BLOCK, BLOCK)
    check(gemm_block_scaled(M, N, K)(a, b, np.ascontiguousarray(scale_a.T), scale_b), exact_a, exact_b)
    print("gemm_fp8: correct")
    if targets.gpu_chip() is not None and importlib.util.find_spec("torch"):
        benchmark()


def benchmark():
    for size in (4096, 8192):
        compare(size)


def compare(size):
    import torch

    from tilec.profiler import do_bench

    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    scales, rows = torch.ones(2, device="cuda"), torch.ones(size // BLOCK, size, device="cuda")
    blocks = torch.ones(size // BLOCK, size // BLOCK, device="cuda")
    scaled, block_scaled = gemm_scaled(size, size, size), gemm_block_scaled(size, size, size)
    runs = {
        "one scale": lambda: scaled(a, b, scales),
        "blocks": lambda: block_scaled(a, b, rows, blocks),
        "torch._scaled_mm": lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16),
    }
    for name, run in runs.items():
        print(f"{size}: {name} {2 * size**3 / do_bench(run) * 1e-9:.0f} TFLOP/s")


main()
