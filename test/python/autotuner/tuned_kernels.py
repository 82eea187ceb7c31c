"""Kernels of the CPU that the tests tune."""

import tilec
import tilec.language as T

QUICK = {"warmup": 0, "rep": 0}
"""Five samples of each configuration."""


def scale(n, block=8, factor=2.0, fault=0):
    """A kernel that can go wrong in several ways."""

    @T.prim_func
    def multiply(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            if fault == 1:
                x = T.alloc_var("int32", 1)
                while x > 0:  # for ever, and seen by others
                    B[0] = T.float32(x)
                    x = x + A.shape[0] * 0
            if fault == 4:
                T.gemm(A, A, B)
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * (3 if fault == 3 else factor)

    return multiply


def tuned(configs, *, out_idx=1, do_not_specialize=None, results=None, target="cpu", **profile):
    jitted = tilec.jit(target=target, out_idx=out_idx)(scale)
    arguments = {**QUICK, **profile}
    return tilec.autotune(configs=configs, do_not_specialize=do_not_specialize, results=results, **arguments)(jitted)


def reference(a):
    return a * 2


@tilec.jit(target="cpu")
def increment(A, block: int = 8):
    N = T.const("N")
    A: T.Tensor[[N], T.float32]
    B = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        for i in T.Parallel(block):
            B[b * block + i] = A[b * block + i] + 1.0
    return B
