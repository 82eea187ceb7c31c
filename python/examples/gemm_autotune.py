"""C = A @ B, with tiles that are left open: chosen by the cost model, or found by trying those that it puts first."""

import numpy as np

import tilec
import tilec.language as T
from tilec import targets


@tilec.jit(out_idx=-1)
def gemm(
    M: int, N: int, K: int,
    tile: tuple[int, int] = T.auto((64, 64), (64, 128), (128, 64), (128, 128), (128, 256)),
    block_K: int = T.auto(32, 64), stages: int = T.auto(3, 4), threads: int = T.auto(128, 256),
):  # fmt: skip
    block_M, block_N = tile

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
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


tuned = tilec.autotune(
    ref_prog=lambda A, B: A.astype("float32") @ B.astype("float32"), rep=20, warmup=5, prune_configs_by={"top_k": 6}
)(gemm)

size = 256 if targets.gpu_chip() is None else 2048
a, b = (np.random.standard_normal((size, size)).astype(np.float16) for _ in range(2))
expected = a.astype(np.float32) @ b.astype(np.float32)

chosen = gemm(size, size, size)
np.testing.assert_allclose(np.asarray(chosen(a, b)), expected, rtol=2e-3, atol=2e-2)
print(f"chosen: correct; {chosen.choice}")

best = tuned(size, size, size)
np.testing.assert_allclose(np.asarray(best(a, b)), expected, rtol=2e-3, atol=2e-2)
result = best.tuning
print(result.table())
print(f"best: {result.config}, {2 * size**3 / result.latency * 1e-9:.2f} TFLOP/s, checked: {result.checked}")
