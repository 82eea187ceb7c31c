"""Products of floats of 8 bits: programs for test_small_float_gemms.py and the tests on a GPU."""

import numpy as np

import tilec.language as T

TYPES = ("float8_e4m3", "float8_e5m2")


def product(M, N, K, a, b, *, tile=(64, 64, 64), stages=2, threads=128, turn_a=False, turn_b=True, repeat=1):
    """`C = A @ B`, of matrices that may be stored as their transposes; the accumulator is added up `repeat` times."""
    bm, bn, bk = tile

    @T.prim_func
    def main(
        A: T.Tensor((K, M) if turn_a else (M, K), a),
        B: T.Tensor((N, K) if turn_b else (K, N), b),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            As = T.alloc_shared((bk, bm) if turn_a else (bm, bk), a)
            Bs = T.alloc_shared((bn, bk) if turn_b else (bk, bn), b)
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                if turn_a:
                    T.copy(A[k * bk, by * bm], As)
                else:
                    T.copy(A[by * bm, k * bk], As)
                if turn_b:
                    T.copy(B[bx * bn, k * bk], Bs)
                else:
                    T.copy(B[k * bk, bx * bn], Bs)
                for _ in T.serial(repeat):
                    T.gemm(As, Bs, acc, transpose_A=turn_a, transpose_B=turn_b)
            T.copy(acc, C[by * bm, bx * bn])

    return main


def promoted(M, N, K, a, b, *, tile=(64, 64, 128), stages=3, threads=128):
    """`C = A @ B.T`, of which the products of each step are added up in a second accumulator."""
    bm, bn, bk = tile

    @T.prim_func
    def main(A: T.Tensor((M, K), a), B: T.Tensor((N, K), b), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            As, Bs = T.alloc_shared((bm, bk), a), T.alloc_shared((bn, bk), b)
            step, acc = T.alloc_fragment((bm, bn), "float32"), T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], As)
                T.copy(B[bx * bn, k * bk], Bs)
                T.gemm(As, Bs, step, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(bm, bn):
                    acc[i, j] += step[i, j]
            T.copy(acc, C[by * bm, bx * bn])

    return main


def added_to(a, b):
    """`C = D + A @ B.T`, one instruction of `wgmma` deep."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 32), a),
        B: T.Tensor((16, 32), b),
        D: T.Tensor((64, 16), "float32"),
        C: T.Tensor((64, 16), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As, Bs = T.alloc_shared((64, 32), a), T.alloc_shared((16, 32), b)
            acc = T.alloc_fragment((64, 16), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.copy(D, acc)
            T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C)

    return main


def least_sums():
    """Sums of every size, denormal ones included, and what of them `wgmma` keeps beside products that are zero."""
    D = np.ldexp(np.array([1, 1.5, 1 + 2**-12, -1.5])[:, None], -(np.arange(256) % 150)).astype(np.float32)
    kept = np.trunc(D.astype(np.float64) * 2.0**139) * 2.0**-139
    return D.reshape(64, 16), kept.astype(np.float32).reshape(64, 16)
