"""Programs whose statements hand data to each other in shared and in device memory, for tests of what orders them.

The tests look at what was compiled, those of `test/integration` run it on a GPU, many times.
"""

import tilec.language as T

BLOCKS, ROWS, K, COLUMNS, STEPS = 132, 64, 128, 128, 4
"""One block for each multiprocessor of a large GPU, and the extents of its tiles."""


@T.prim_func
def transposed(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        S1 = T.alloc_shared((64, 64), "float32")
        S2 = T.alloc_shared((64, 64), "float32")
        T.copy(A, S1)
        for i, j in T.Parallel(64, 64):
            S2[j, i] = S1[i, j]
        T.copy(S2, B)


@T.prim_func
def flipped(X: T.Tensor((4096,), "float32"), A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
    with T.Kernel(1, threads=1024):
        for i in T.Parallel(4096):
            A[i] = X[i] + 1
        for i in T.Parallel(4096):
            B[i] = A[4095 - i]


@T.prim_func
def counted(C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=1024):
        for _ in T.serial(100):
            C[0] = C[0] + 1.0


@T.prim_func
def operand_after_loop(
    Q: T.Tensor((BLOCKS * ROWS, K), "float16"),
    B: T.Tensor((STEPS * K, COLUMNS), "float16"),
    C: T.Tensor((BLOCKS * ROWS, COLUMNS), "float16"),
):
    with T.Kernel(BLOCKS, threads=256) as bx:
        Qs = T.alloc_shared((ROWS, K), "float16")
        Bs = T.alloc_shared((K, COLUMNS), "float16")
        acc = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.clear(acc)
        T.copy(Q[bx * ROWS, 0], Qs)
        for k in T.Pipelined(STEPS, num_stages=2):
            T.copy(B[k * K, 0], Bs)
            T.gemm(Qs, Bs, acc, policy=T.GemmWarpPolicy.FullCol)
        T.copy(acc, Qs)
        T.copy(Qs, C[bx * ROWS, 0])


@T.prim_func
def read_before_store(
    A: T.Tensor((BLOCKS * 128, 64), "float16"),
    R: T.Tensor((BLOCKS * 128,), "float32"),
    C: T.Tensor((BLOCKS * 128, 64), "float16"),
):
    with T.Kernel(BLOCKS, threads=128) as bx:
        S = T.alloc_shared((128, 64), "float16")
        x = T.alloc_fragment((128, 64), "float32")
        r = T.alloc_fragment((128,), "float32")
        for i, j in T.Parallel(128, 64):
            S[i, j] = A[bx * 128 + i, j] * 2
        for i, j in T.Parallel(128, 64):
            x[i, j] = S[i, j]
        T.reduce_sum(x, r, dim=1)
        T.copy(r, R[bx * 128])
        T.copy(S, C[bx * 128, 0])
