"""Time an f32 matrix product on the CPU against NumPy's: `python cpu_gemm.py [size]`."""

import sys
import time
from collections.abc import Callable

import numpy as np

import tilec
import tilec.language as T


@tilec.jit(target="cpu")
def gemm(A, B, block_M: int = 128, block_N: int = 128, block_K: int = 32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float32]
    B: T.Tensor[[K, N], T.float32]
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        As = T.alloc_shared((block_M, block_K), T.float32)
        Bs = T.alloc_shared((block_K, block_N), T.float32)
        acc = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], As)
            T.copy(B[k * block_K, bx * block_N], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * block_M, bx * block_N])
    return C


def best_seconds(function: Callable[[], object], repeats: int = 20) -> float:
    """The shortest of some calls: what other programs on the machine disturb least."""
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    np.testing.assert_allclose(gemm(a, b), a @ b, rtol=1e-4, atol=1e-3)

    flops = 2 * size**3
    ours, theirs = best_seconds(lambda: gemm(a, b)), best_seconds(lambda: a @ b)
    print(f"{size} x {size} x {size}, f32")
    print(f"tilec {ours * 1e3:8.2f} ms  {flops / ours / 1e9:7.1f} GFLOP/s")
    print(f"numpy {theirs * 1e3:8.2f} ms  {flops / theirs / 1e9:7.1f} GFLOP/s")
    print(f"ratio {theirs / ours:8.2f}")


if __name__ == "__main__":
    main()
