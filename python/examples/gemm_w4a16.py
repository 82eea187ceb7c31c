"""C = A @ W.T with weights of 4 bits: two to a byte, the even one in the lower half, a scale for each group of 128.

A tile of weights is unpacked to one of `float16` that tensor cores read. No conversion takes part: the bits 0x6400 are
those of 1024, and what is added in the lowest bits is added to the number.
"""

import importlib.util

import numpy as np

import tilec
import tilec.language as T
from tilec import targets

GROUP = 128
ZERO = 8
"""The number that stands for zero."""


@tilec.jit(out_idx=-1)
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
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            As = T.alloc_shared((block_M, block_K), "float16")
            Ws = T.alloc_shared((block_N, block_K // 2), "uint8")
            Bs = T.alloc_shared((block_N, block_K), "float16")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(acc)
            for k in T.Pipelined(K // block_K, num_stages=4):
                T.copy(A[by * block_M, k * block_K], As)
                T.copy(W[bx * block_N, k * (block_K // 2)], Ws)
                for n, j in T.Parallel(block_N, block_K):
                    weight = (Ws[n, j // 2] >> T.cast(j % 2 * 4, "uint8")) & 15
                    number = T.reinterpret(T.cast(weight, "uint16") | 0x6400, "float16") - (1024 + ZERO)
                    Bs[n, j] = number * scales[k * block_K // GROUP, bx * block_N + n]
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C[by * block_M, bx * block_N])

    return unpack_and_multiply


def packed(weights):
    """Returns numbers from -8 to 7, two to a byte."""
    codes = (weights + ZERO).astype(np.uint8)
    return codes[:, ::2] | codes[:, 1::2] << 4


def main():
    random = np.random.default_rng(0)
    M, N, K = 96, 256, 512
    a = random.standard_normal((M, K)).astype(np.float16)
    weights = random.integers(-8, 8, (N, K))
    scales = random.uniform(0.01, 0.02, (K // GROUP, N)).astype(np.float16)
    c = np.asarray(gemm_w4a16(M, N, K)(a, packed(weights), scales)).astype(np.float64)

    exact = weights * scales.astype(np.float64).T.repeat(GROUP, axis=1)
    error = np.abs(c - a.astype(np.float64) @ exact.T)
    # Weights and results are rounded to 11 bits.
    assert (error <= 2**-10 * (np.abs(a.astype(np.float64)) @ np.abs(exact).T)).all(), error.max()
    print("gemm_w4a16: correct")
    if targets.gpu_chip() is not None and importlib.util.find_spec("torch"):
        benchmark()


def benchmark():
    for M in (16, 64, 1024, 4096):
        compare(M, 8192, 8192)


def compare(M, N, K):
    import torch

    from tilec.profiler import do_bench

    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    w = torch.randint(0, 256, (N, K // 2), device="cuda", dtype=torch.uint8)
    scales = torch.rand(K // GROUP, N, device="cuda", dtype=torch.float16) * 0.02
    wide = torch.randn(N, K, device="cuda", dtype=torch.float16)
    # Each block unpacks what it multiplies: more rows share that.
    tiles = (128, 128, 64, 256) if M > 64 else (64, 64, 128, 128)
    kernel = gemm_w4a16(M, N, K, *tiles)
    for name, run in {"4 bits": lambda: kernel(a, w, scales), "float16": lambda: a @ wide.t()}.items():
        time = do_bench(run)
        print(f"{M}: {name} {2 * M * N * K / time * 1e-9:.0f} TFLOP/s, {time * 1e3:.1f} us")


main()
