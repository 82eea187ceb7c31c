"""C = A @ B.T with one row of A, or a few: a matrix times a vector, which is reading the matrix.

A warp has rows of B of its own. Its threads load words of 16 bytes side by side, several pieces of a row before any of
them is used, so that enough bytes are on their way, and add products up in registers; only then the threads' sums meet.
"""

from cases import check
from thin_gemm import problem

import tilec.language as T


def gemv(M: int, N: int, K: int, dtype: str, rows: int, width: int, pieces: int, threads: int):
    """`width` columns of a row are a piece of it, of which `pieces` are loaded ahead."""

    @T.prim_func
    def multiply(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, rows), threads=threads) as block:
            loaded = [T.alloc_fragment((rows, width), dtype) for _ in range(pieces)]
            sums = [T.alloc_fragment((rows, width), "float32") for _ in range(M)]
            total = T.alloc_fragment((rows,), "float32")
            for m in T.unroll(M):
                T.clear(sums[m])
            for k in T.serial(T.ceildiv(K, width * pieces)):
                for p in T.unroll(pieces):
                    T.copy(B[block * rows, (k * pieces + p) * width], loaded[p])
                for p in T.unroll(pieces):
                    for m in T.unroll(M):
                        for i, j in T.Parallel(rows, width):
                            x = T.cast(A[m, (k * pieces + p) * width + j], "float32")
                            sums[m][i, j] += T.cast(loaded[p][i, j], "float32") * x
            for m in T.unroll(M):
                T.reduce_sum(sums[m], total, dim=1)
                for i in T.Parallel(rows):
                    C[m, block * rows + i] = total[i]

    return multiply


CHOICES = [(8, 256, 8, 256), (4, 512, 4, 256), (2, 1024, 2, 256), (4, 256, 8, 128)]
"""Rows of a block, columns and number of pieces, and threads: a thread has 8 columns of a piece, and of one row."""


def case(M, N, K, dtype="bfloat16"):
    return problem("gemv", [lambda choice=choice: gemv(M, N, K, dtype, *choice) for choice in CHOICES], M, N, K, dtype)


CHECKED = [case(1, 70, 2200), case(3, 33, 520, "float16")]
CASES = [case(1, N, K) for N, K in ((8192, 8192), (4096, 14336), (4096, 4096))]

if __name__ == "__main__":
    check(CHECKED)
