"""C = A @ W.T with integers, A of 8 bits and W of 4: a scale for each row of A, and each 128 numbers of a row of W.

A tile of weights is unpacked to one of `int8`, which tensor cores multiply exactly; after each group of 128 the sum
is a whole number, which is scaled and added up in single precision.
"""

import numpy as np
from cases import Case, check

import tilec.language as T

GROUP = 128


def gemm_w4a8(M: int, N: int, K: int, block_M: int = 128, block_N: int = 128, threads: int = 256, stages: int = 4):
    @T.prim_func
    def unpack_and_multiply(
        A: T.Tensor((M, K), "int8"), W: T.Tensor((N, K // 2), "uint8"), scales_A: T.Tensor((M,), "float32"),
        scales_W: T.Tensor((K // GROUP, N), "float32"), C: T.Tensor((M, N), "bfloat16"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            As = T.alloc_shared((block_M, GROUP), "int8")
            Ws = T.alloc_shared((block_N, GROUP // 2), "uint8")
            Bs = T.alloc_shared((block_N, GROUP), "int8")
            step = T.alloc_fragment((block_M, block_N), "int32")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(acc)
            for k in T.Pipelined(K // GROUP, num_stages=stages):
                T.copy(A[by * block_M, k * GROUP], As)
                T.copy(W[bx * block_N, k * (GROUP // 2)], Ws)
                for n, j in T.Parallel(block_N, GROUP):
                    # The even one is in the lower half; a shift to the left and back extends its sign.
                    half = Ws[n, j // 2] >> T.cast(j % 2 * 4, "uint8")
                    Bs[n, j] = T.reinterpret(half << 4, "int8") >> 4
                T.gemm(As, Bs, step, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_M, block_N):
                    acc[i, j] += T.cast(step[i, j], "float32") * scales_W[k, bx * block_N + j]
            for i, j in T.Parallel(block_M, block_N):
                acc[i, j] *= scales_A[by * block_M + i]
            T.copy(acc, C[by * block_M, bx * block_N])

    return unpack_and_multiply


def unpacked(w):
    """Returns numbers from -8 to 7 of bytes that hold two each."""
    both = np.stack([w & 15, w >> 4], axis=2).reshape(w.shape[0], -1).astype(np.int64)
    return both - 16 * (both > 7)


def reference(a, w, scales_a, scales_w):
    return a * scales_a[:, None] @ (unpacked(w) * scales_w.T.repeat(GROUP, axis=1)).T


def case(M, N, K, tiles=((128, 128, 256),)):
    def inputs(random):
        return (
            random.integers(-127, 128, (M, K), dtype=np.int8),
            random.integers(0, 256, (N, K // 2), dtype=np.uint8),
            random.uniform(0.005, 0.01, M).astype(np.float32),
            random.uniform(0.01, 0.02, (K // GROUP, N)).astype(np.float32),
        )

    def program(tile):
        return lambda: gemm_w4a8(M, N, K, *tile)

    return Case(
        name=f"gemm_w4a8 {M}x{N}x{K}",
        programs=[program(tile) for tile in tiles],
        inputs=inputs,
        outputs=[((M, N), "bfloat16")],
        reference=reference,
        bytes=M * K + N * K // 2 + 2 * M * N,
        flop=2 * M * N * K,
        rtol=5e-3,
        atol=1e-3,
    )


CHECKED = [case(70, 136, 384)]
CASES = [case(4096, 8192, 8192), *(case(M, 8192, 8192, ((64, 64, 128), (64, 128, 128))) for M in (16, 64))]

if __name__ == "__main__":
    check(CHECKED)
