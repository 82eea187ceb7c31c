"""A program that makes its results by `T.empty`; the tests of `test/integration` run it on a GPU."""

import tilec.language as T


@T.prim_func
def shifted(A: T.Tensor((T.dynamic("n"), 64), "float32"), x: T.float32):
    n = T.dynamic("n")
    B = T.empty((n, 64), "float32")
    C = T.empty((n,), T.int32)
    with T.Kernel(n, threads=64) as b:
        for i in T.parallel(4, 64):
            k: T.let[T.int32] = i - 4
            B[b, k] = A[b, i] + x
        for i in T.parallel(4):
            B[b, i + 60] = x
        for i in T.parallel(b, b + 1):
            C[i] = i * 3
    return C, B
