"""Programs small enough to count by hand what they do."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilec.language as T


def zeros(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


def doubling(n: int) -> Any:
    @T.prim_func
    def double(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 512), threads=128) as b:
            for i in T.Parallel(512):
                B[b * 512 + i] = A[b * 512 + i] * 2

    return double


def transposing(width: int) -> Any:
    """32 x 32 floats by way of rows of `width` floats, of which each lane reads another one."""

    @T.prim_func
    def transpose(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            S = T.alloc_shared((32 * width,), "float32")
            for i in T.serial(32):
                S[i * width + t] = T.shfl_xor(A[i, t], 1)
            T.sync_threads()
            for i in T.serial(32):
                B[i, t] = T.shfl_xor(S[t * width + i], 1)

    return transpose


def gemm(M: int, N: int, K: int, dtype: str, accumulator: str, block: tuple[int, int, int]) -> Any:
    @T.prim_func
    def gemm(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), accumulator)):
        with T.Kernel(N // block[1], M // block[0], threads=128) as (bx, by):
            a, b = T.alloc_shared((block[0], block[2]), dtype), T.alloc_shared((block[1], block[2]), dtype)
            c = T.alloc_fragment((block[0], block[1]), accumulator)
            T.clear(c)
            for k in T.Pipelined(K // block[2], num_stages=2):
                T.copy(A[by * block[0], k * block[2]], a)
                T.copy(B[bx * block[1], k * block[2]], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * block[0], bx * block[1]])

    return gemm
