"""C = relu(A @ B), for any number of rows."""

import numpy as np

import tilec
import tilec.language as T


@tilec.jit
def gemm_relu(A, B, block_M: int = 128, block_N: int = 128, block_K: int = 64):
    N, K = T.const("N, K")
    A: T.Tensor[[T.dynamic("m"), K], T.float16]
    B: T.Tensor[[K, N], T.float16]
    C = T.empty((T.dynamic("m"), N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(T.dynamic("m"), block_M), threads=128) as (bx, by):
        As = T.alloc_shared((block_M, block_K), T.float16)
        Bs = T.alloc_shared((block_K, block_N), T.float16)
        acc = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], As)
            T.copy(B[k * block_K, bx * block_N], Bs)
            T.gemm(As, Bs, acc)
        for i, j in T.Parallel(block_M, block_N):
            acc[i, j] = T.max(acc[i, j], 0)
        T.copy(acc, C[by * block_M, bx * block_N])
    return C


a, b = (np.random.standard_normal(s).astype(np.float16) for s in ((300, 256), (256, 384)))
c = gemm_relu(a, b)
np.testing.assert_allclose(c, np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0), rtol=2e-3, atol=2e-3)
print("gemm_relu: correct,", c.shape, c.dtype)
