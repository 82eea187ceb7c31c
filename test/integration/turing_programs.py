"""Products as chips before `sm_80` make them, which later chips execute, too."""

import ml_dtypes
import numpy as np

import tilec
import tilec.language as T

SUMS = {"float16": "float32", "int8": "int32", "uint8": "int32", "float8_e4m3": "float32"}
NUMPY = {"float8_e4m3": ml_dtypes.float8_e4m3fn}
M, N, K = 64, 96, 128


def product(dtype, total, transposed):
    @T.prim_func
    def multiply(
        A: T.Tensor((M, K), dtype), B: T.Tensor((N, K) if transposed else (K, N), dtype), C: T.Tensor((M, N), total)
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, K), dtype)
            b = T.alloc_shared(B.shape, dtype)
            acc = T.alloc_fragment((M, N), total)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, acc, transpose_B=transposed, clear_accum=True)
            T.copy(acc, C)

    return multiply


def factor(shape, dtype, seed):
    low = 0 if dtype == "uint8" else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(NUMPY.get(dtype, dtype))


def compiled(program, chip):
    """Returns the kernel for `chip` with the PTX of `sm_75` in the place of its own."""
    text = tilec.compile(program, target="sm_75", backend="nvptx", assembler="none").get_kernel_source()
    assert ".target sm_75" in text
    assert "mma.sync" in text
    tilec.register_ptx_postproc(lambda source, target: text)
    try:
        return tilec.compile(program, target=chip, backend="nvptx")
    finally:
        tilec.register_ptx_postproc(None)
