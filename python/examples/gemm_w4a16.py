"""C = A @ W.T with weights of 4 bits: two to a byte, the even one in the lower half, a scale for each group of 128.

The weights are the left factor, W @ A.T: a left factor may be a fragment, so that what is unpacked goes from registers
to the tensor cores. No conversion takes part: the bits 0x6400 are those of 1024, and what is added in the lowest bits
is added to the number. Times 0x1001 a byte has its halves 16 bits apart, for two numbers at once.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T

GROUP = 128
ZERO = 8
"""The number that stands for zero."""


def gemm_w4a16(
    M: int,
    N: int,
    K: int,
    block_M: int = 64,
    block_N: int = 64,
    block_K: int = 128,
    threads: int = 128,
    stages: int = 4,
):
    @T.prim_func
    def unpack_and_multiply(
        A: T.Tensor((M, K), "float16"),
        W: T.Tensor((N, K // 2), "uint8"),
        scales: T.Tensor((K // GROUP, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(M, block_M), T.ceildiv(N, block_N), threads=threads) as (by, bx):
            As = T.alloc_shared((block_M, block_K), "float16")
            Ws = T.alloc_shared((block_N, block_K // 2), "uint8")
            weights = T.alloc_fragment((block_N, block_K), "float16")
            scale = T.alloc_shared((block_N,), "float16")
            acc = T.alloc_fragment((block_N, block_M), "float32")
            Cs = T.alloc_shared((block_M, block_N), "float16")
            T.clear(acc)
            for k in T.Pipelined(K // block_K, num_stages=stages):
                T.copy(A[by * block_M, k * block_K], As)
                T.copy(W[bx * block_N, k * (block_K // 2)], Ws)
                T.copy(scales[k * block_K // GROUP, bx * block_N], scale)
                for n, j in T.Parallel(block_N, block_K):
                    halves = T.cast(Ws[n, j // 2], "uint32") * 0x1001 & 0x000F000F | 0x64006400
                    half = T.cast(halves >> T.cast(j % 2 * 16, "uint32"), "uint16")
                    weights[n, j] = (T.reinterpret(half, "float16") - (1024 + ZERO)) * scale[n]
                T.gemm(weights, As, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
            for n, m in T.Parallel(block_N, block_M):
                Cs[m, n] = acc[n, m]
            T.copy(Cs, C[by * block_M, bx * block_N])

    return unpack_and_multiply


def unpacked(w):
    """Returns the numbers of bytes that hold two each."""
    return np.stack([w & 15, w >> 4], axis=2).reshape(w.shape[0], -1).astype(np.int64) - ZERO


def by_torch():
    """Weights of `float16`, unpacked by the first call: what there is to win by having them in 4 bits."""
    wide = []

    def run(a, w, scales):
        import torch

        if not wide:
            codes = torch.stack([w & 15, w >> 4], dim=2).flatten(1).half() - ZERO
            wide.append(codes * scales.t().repeat_interleave(GROUP, dim=1))
        return a @ wide[0].t()

    return run


TILES = ((16, 64, 128, 128, 8), (16, 128, 128, 256, 6), (64, 64, 128, 128), (128, 128, 128, 256), (256, 128, 64, 256))


def case(M, N, K, tiles=TILES):
    def inputs(random):
        a = normal(random, (M, K), "float16")
        return (
            a,
            random.integers(0, 256, (N, K // 2), np.uint8),
            random.uniform(0.01, 0.02, (K // GROUP, N)).astype(a.dtype),
        )

    def program(tile):
        return lambda: gemm_w4a16(M, N, K, *tile)

    return Case(
        name=f"gemm_w4a16 {M}x{N}x{K} float16",
        programs=[program(tile) for tile in tiles],
        inputs=inputs,
        outputs=[((M, N), "float16")],
        reference=lambda a, w, scales: a @ (unpacked(w) * scales.T.repeat(GROUP, axis=1)).T,
        peers={"torch of float16": by_torch()},
        bytes=2 * M * K + N * K // 2 + 2 * N * K // GROUP + 2 * M * N,
        flop=2 * M * N * K,
        # Weights and results are rounded to 11 bits.
        rtol=2**-10,
        atol=2**-10 * K**0.5,
    )


CHECKED = [case(96, 256, 512, [(64, 64, 128, 128)])]
CASES = [case(M, 8192, 8192) for M in (16, 64, 1024, 4096)]

if __name__ == "__main__":
    check(CHECKED)
