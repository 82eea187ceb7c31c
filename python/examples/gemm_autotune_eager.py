"""C = A @ B, with the tile sizes found by trying: an eager function, which is tuned when it is first called."""

import numpy as np

import tilec
import tilec.language as T


@tilec.autotune(
    configs=[{"block_M": m, "block_N": n} for m in (32, 64) for n in (64, 128)],
    ref_prog=lambda A, B: A.astype("float32") @ B.astype("float32"),
    rep=10,
    warmup=2,
)
@tilec.jit
def matmul(A, B, block_M: int = 64, block_N: int = 64):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float16]
    B: T.Tensor[[K, N], T.float16]
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        As = T.alloc_shared((block_M, 32), T.float16)
        Bs = T.alloc_shared((32, block_N), T.float16)
        acc = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            T.copy(A[by * block_M, k * 32], As)
            T.copy(B[k * 32, bx * block_N], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * block_M, bx * block_N])
    return C


a, b = (np.random.standard_normal((256, 256)).astype(np.float16) for _ in range(2))
c = np.asarray(matmul(a, b))
np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)
print("matmul: correct,", matmul.tune(a, b))
