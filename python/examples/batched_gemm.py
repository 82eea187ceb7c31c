"""C[b] = activation(A[b] @ B[b] + bias) + R[b]: a batch of products, and what is done to a tile before it is written.

Bias, activation and residual are computed on the accumulator, in single precision, and rounded once.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T


@T.macro
def relu(x):
    return T.max(x, 0.0)


@T.macro
def gelu(x):
    """The usual approximation, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    return x * T.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


@T.macro
def silu(x):
    return x * T.sigmoid(x)


ACTIVATIONS = {"relu": relu, "gelu": gelu, "silu": silu}


def batched_gemm(
    batch: int, M: int, N: int, K: int, dtype: str, activation: str,
    block_M: int = 128, block_N: int = 128, block_K: int = 64, stages: int = 4, threads: int = 256,
):  # fmt: skip
    activate = ACTIVATIONS[activation]

    @T.prim_func
    def multiply(
        A: T.Tensor((batch, M, K), dtype), B: T.Tensor((batch, K, N), dtype), bias: T.Tensor((N,), dtype),
        R: T.Tensor((batch, M, N), dtype), C: T.Tensor((batch, M, N), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), batch, threads=threads) as (bx, by, b):
            As = T.alloc_shared((block_M, block_K), dtype)
            Bs = T.alloc_shared((block_K, block_N), dtype)
            acc = T.alloc_fragment((block_M, block_N), "float32")
            row, column = by * block_M, bx * block_N
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[b, row : row + block_M, k * block_K : (k + 1) * block_K], As)
                T.copy(B[b, k * block_K : (k + 1) * block_K, column : column + block_N], Bs)
                T.gemm(As, Bs, acc)
            for i, j in T.Parallel(block_M, block_N):
                acc[i, j] = activate(acc[i, j] + bias[column + j]) + R[b, row + i, column + j]
            T.copy(acc, C[b, row : row + block_M, column : column + block_N])

    return multiply


def reference_activation(x, activation):
    if activation == "relu":
        return np.maximum(x, 0)
    inner = x if activation == "silu" else 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x / (1 + np.exp(-inner))


def by_torch(activation):
    def run(a, b, bias, r):
        from torch.nn import functional

        activations = {
            "relu": functional.relu,
            "silu": functional.silu,
            "gelu": lambda x: functional.gelu(x, approximate="tanh"),
        }
        return activations[activation](a @ b + bias) + r

    return run


def case(batch, M, N, K, activation, dtype="bfloat16"):
    shapes = ((batch, M, K), (batch, K, N), (N,), (batch, M, N))
    return Case(
        name=f"batched_gemm {batch}x{M}x{N}x{K} {activation} {dtype}",
        programs=[lambda: batched_gemm(batch, M, N, K, dtype, activation)],
        inputs=lambda random: [
            normal(random, shape, dtype, scale) for shape, scale in zip(shapes, (1, K**-0.5, 1, 1), strict=True)
        ],
        outputs=[((batch, M, N), dtype)],
        reference=lambda a, b, bias, r: reference_activation(a @ b + bias, activation) + r,
        peers={"torch": by_torch(activation)},
        bytes=2 * (batch * (M * K + K * N + 2 * M * N) + N),
        flop=2 * batch * M * N * K,
        atol=2e-2,
        options={"fast_math": True},
    )


CHECKED = [case(2, 100, 136, 72, activation) for activation in ACTIVATIONS]
CASES = [case(8, 1024, 1024, 1024, "gelu"), case(16, 2048, 2048, 2048, "silu"), case(1, 4096, 14336, 4096, "relu")]

if __name__ == "__main__":
    check(CHECKED)
