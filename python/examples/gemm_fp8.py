"""C = A @ B.T of floats of 8 bits: with a scale for each matrix, and with one for each block of 128 elements.

Tensor cores add up products of 8 bits with some 14 bits. The second kernel therefore adds the sums of 128 products up
in `float32`, with their scales: 1 x 128 for A, 128 x 128 for B. Of 8192 products the error is then 16 times less.
"""

import ml_dtypes
import numpy as np
from cases import Case, check

import tilec.language as T

BLOCK = 128


def gemm_scaled(
    M: int, N: int, K: int, block_M: int = 128, block_N: int = 256, stages: int = 4, blocks: int | None = None
):
    """One scale for A and one for B. Of `blocks` blocks each goes from tile to tile; without them each tile has one."""
    tiles = [T.ceildiv(M, block_M), T.ceildiv(N, block_N)]

    @T.macro
    def multiply(A, B, scale_A, scale_B, C, x, y):
        As = T.alloc_shared((block_M, BLOCK), "float8_e4m3")
        Bs = T.alloc_shared((block_N, BLOCK), "float8_e4m3")
        acc = T.alloc_fragment((block_M, block_N), "float32")
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, BLOCK), num_stages=stages):
            T.copy(A[x * block_M, k * BLOCK], As)
            T.copy(B[y * block_N, k * BLOCK], Bs)
            T.gemm(As, Bs, acc, transpose_B=True)
        for i, j in T.Parallel(block_M, block_N):
            acc[i, j] = acc[i, j] * (scale_A[0] * scale_B[0])
        T.copy(acc, C[x * block_M, y * block_N])

    @T.prim_func
    def scaled(
        A: T.Tensor((M, K), "float8_e4m3"),
        B: T.Tensor((N, K), "float8_e4m3"),
        scale_A: T.Tensor((1,), "float32"),
        scale_B: T.Tensor((1,), "float32"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        if blocks is None:
            with T.Kernel(tiles[1], tiles[0], threads=256) as (by, bx):
                T.use_swizzle(panel_size=8)
                multiply(A, B, scale_A, scale_B, C, bx, by)
        else:
            with T.Kernel(blocks, threads=256) as block:
                for x, y in T.Persistent(tiles, blocks, block):
                    multiply(A, B, scale_A, scale_B, C, x, y)

    return scaled


def gemm_block_scaled(
    M: int, N: int, K: int, block_M: int = 128, stages: int = 3, blocks: int | None = None, ahead: int = 2
):
    """A scale for each 128 elements of a row of A, and for each 128 x 128 of B.

    `ahead` products are under way at a time: while the second one is computed, the first one is added up. Scales of A
    are copied with its tiles, long before they are needed.
    """
    tiles = [T.ceildiv(M, block_M), T.ceildiv(N, BLOCK)]

    @T.macro
    def multiply(A, B, scales_A, scales_B, C, x, y):
        As = [T.alloc_shared((block_M, BLOCK), "float8_e4m3") for _ in range(ahead)]
        Bs = [T.alloc_shared((BLOCK, BLOCK), "float8_e4m3") for _ in range(ahead)]
        of_A = [T.alloc_shared((block_M,), "float32") for _ in range(ahead)]
        of_B = T.alloc_shared((T.ceildiv(K, BLOCK),), "float32")
        step = [T.alloc_fragment((block_M, BLOCK), "float32") for _ in range(ahead)]
        rows = [T.alloc_fragment((block_M,), "float32") for _ in range(ahead)]
        acc = T.alloc_fragment((block_M, BLOCK), "float32")
        T.clear(acc)
        T.copy(scales_B[y, :], of_B)
        for k in T.Pipelined(T.ceildiv(K, ahead * BLOCK), num_stages=stages):
            for h in T.unroll(ahead):
                T.copy(A[x * block_M, (ahead * k + h) * BLOCK], As[h])
                T.copy(B[y * BLOCK, (ahead * k + h) * BLOCK], Bs[h])
                T.copy(scales_A[ahead * k + h, x * block_M], of_A[h])
            for h in T.unroll(ahead):
                T.gemm(As[h], Bs[h], step[h], transpose_B=True, policy=T.GemmWarpPolicy.FullRow, clear_accum=True)
            for h in T.unroll(ahead):
                for i in T.Parallel(block_M):
                    rows[h][i] = of_A[h][i] * of_B[ahead * k + h]
            for h in T.unroll(ahead):
                for i, j in T.Parallel(block_M, BLOCK):
                    acc[i, j] += step[h][i, j] * rows[h][i]
        T.copy(acc, C[x * block_M, y * BLOCK])

    @T.prim_func
    def block_scaled(
        A: T.Tensor((M, K), "float8_e4m3"),
        B: T.Tensor((N, K), "float8_e4m3"),
        scales_A: T.Tensor((T.ceildiv(K, BLOCK), M), "float32"),
        scales_B: T.Tensor((T.ceildiv(N, BLOCK), T.ceildiv(K, BLOCK)), "float32"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        if blocks is None:
            with T.Kernel(tiles[1], tiles[0], threads=2 * block_M) as (by, bx):
                T.use_swizzle(panel_size=8)
                multiply(A, B, scales_A, scales_B, C, bx, by)
        else:
            with T.Kernel(blocks, threads=2 * block_M) as block:
                for x, y in T.Persistent(tiles, blocks, block):
                    multiply(A, B, scales_A, scales_B, C, x, y)

    return block_scaled


MULTIPROCESSORS = 132
"""Of an H100 or H200."""
SCALED = [(128, 256, 4), (128, 256, 3, MULTIPROCESSORS), (128, 192, 4, MULTIPROCESSORS), (128, 128, 4, MULTIPROCESSORS)]
"""Rows and columns of tiles, stages and perhaps blocks."""
BLOCK_SCALED = [(128, 3, MULTIPROCESSORS), (128, 3), (192, 5, MULTIPROCESSORS, 1)]
"""The same, but columns are 128; and how many products are under way."""


def quantized(x, rows, columns):
    """Returns a matrix in 8 bits, and the scale of each block of it."""
    m, n = x.shape
    blocks = x.reshape(m // rows, rows, n // columns, columns)
    scales = np.abs(blocks).max(axis=(1, 3), keepdims=True) / np.float32(ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).max)
    return (blocks / scales).astype(ml_dtypes.float8_e4m3fn).reshape(m, n), scales[:, 0, :, 0]


def reference(a, b, scales_a, scales_b):
    """Multiplies matrices with a scale for each block of them, in any sizes that divide theirs."""

    def exact(x, scales):
        return x * np.kron(scales, np.ones((x.shape[0] // scales.shape[0], x.shape[1] // scales.shape[1])))

    return exact(a, scales_a) @ exact(b, scales_b).T


def scaled_by_torch(a, b, scale_a, scale_b):
    import torch

    return torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True)


def block_scaled_by_torch(a, b, scales_a, scales_b):
    import torch

    return torch._scaled_mm(a, b.t(), scales_a.t(), scales_b.t(), out_dtype=torch.bfloat16)


def scaled_case(M, N, K, tried=SCALED):
    def program(*tile):
        return lambda: gemm_scaled(M, N, K, *tile)

    def inputs(random):
        a, scale_a = quantized(random.standard_normal((M, K), np.float32), M, K)
        b, scale_b = quantized(random.standard_normal((N, K), np.float32), N, K)
        return a, b, scale_a[0], scale_b[0]

    return Case(
        name=f"gemm_scaled {M}x{N}x{K} float8_e4m3",
        programs=[program(*tile) for tile in tried],
        inputs=inputs,
        outputs=[((M, N), "bfloat16")],
        reference=lambda a, b, scale_a, scale_b: reference(a, b, scale_a[:, None], scale_b[:, None]),
        peers={"torch": scaled_by_torch},
        bytes=M * K + N * K + 2 * M * N,
        flop=2 * M * N * K,
        # What is rounded to `bfloat16`, and sums of some 14 bits.
        rtol=2**-8,
        atol=2**-10 * K,
    )


def block_scaled_case(M, N, K, tried=BLOCK_SCALED):
    def program(*tile):
        return lambda: gemm_block_scaled(M, N, K, *tile)

    def inputs(random):
        a, scales_a = quantized(random.standard_normal((M, K), np.float32), 1, BLOCK)
        b, scales_b = quantized(random.standard_normal((N, K), np.float32), BLOCK, BLOCK)
        return a, b, np.ascontiguousarray(scales_a.T), scales_b

    return Case(
        name=f"gemm_block_scaled {M}x{N}x{K} float8_e4m3",
        programs=[program(*tile) for tile in tried],
        inputs=inputs,
        outputs=[((M, N), "bfloat16")],
        reference=lambda a, b, scales_a, scales_b: reference(a, b, scales_a.T, scales_b),
        peers={"torch": block_scaled_by_torch},
        bytes=M * K + N * K + 2 * M * N,
        flop=2 * M * N * K,
        rtol=2**-8,
        atol=2**-10 * K,
    )


CHECKED = [
    scaled_case(256, 256, 512, [(128, 256, 4), (128, 128, 3, 3)]),
    block_scaled_case(256, 256, 512, [(128, 3), (128, 2, 3), (192, 2, 3, 1)]),
]
CASES = [kind(size, size, size) for size in (4096, 8192) for kind in (scaled_case, block_scaled_case)]

if __name__ == "__main__":
    check(CHECKED)
