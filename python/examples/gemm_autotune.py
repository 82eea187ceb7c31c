"""C = A @ B, with the tile sizes found by trying: a lazy function, which returns the best kernel."""

import numpy as np

import tilec
import tilec.language as T
from tilec import targets

CONFIGS = {"block_M": [64, 128], "block_N": [64, 128], "block_K": [32, 64], "stages": [2, 3]}


@tilec.autotune(
    configs=CONFIGS,
    ref_prog=lambda A, B: A.astype("float32") @ B.astype("float32"),
    rep=20,
    warmup=5,
    # Large tiles first; the model is a rough one.
    prune_configs_by={"perf_model": lambda M, N, K, block_M, block_N, **_: -block_M * block_N, "top_k": 8},
)
@tilec.jit(out_idx=-1)
def gemm(M: int, N: int, K: int, block_M: int = 64, block_N: int = 64, block_K: int = 32, stages: int = 2):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            As = T.alloc_shared((block_M, block_K), "float16")
            Bs = T.alloc_shared((block_K, block_N), "float16")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], As)
                T.copy(B[k * block_K, bx * block_N], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * block_M, bx * block_N])

    return kernel


size = 256 if targets.gpu_chip() is None else 2048
best = gemm(size, size, size)

a, b = (np.random.standard_normal((size, size)).astype(np.float16) for _ in range(2))
c = np.asarray(best(a, b))
np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)
print("correct")

result = gemm.tune(size, size, size)
print(result.table())
print(f"best: {result.config}, {2 * size**3 / result.latency * 1e-9:.2f} TFLOP/s, checked: {result.checked}")
