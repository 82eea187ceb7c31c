"""Y = silu(X Wg.T) * (X Wu.T), the first half of a gated layer, and what its gradient needs.

Gate and up are computed in one loop: a tile of X is read once for both. W has the rows of Wg and then those of Wu; both
products are also written, side by side, for the gradient, which leaves with them what two plain products take.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def gate_up(
    N: int, K: int, dtype: str, block_M: int = 128, block_N: int = 128, block_K: int = 64, stages: int = 3,
    threads: int = 256,
):  # fmt: skip
    if N % block_N:
        raise ValueError(f"`N` is {N}, and no multiple of `block_N`, {block_N}")
    m = T.dynamic("m")

    @T.prim_func
    def gate_and_up(
        X: T.Tensor((m, K), dtype), W: T.Tensor((2 * N, K), dtype), Y: T.Tensor((m, N), dtype),
        both: T.Tensor((m, 2 * N), dtype),
    ):  # fmt: skip
        with T.Kernel(N // block_N, T.ceildiv(m, block_M), threads=threads) as (bx, by):
            T.use_swizzle(panel_size=8)
            Xs = T.alloc_shared((block_M, block_K), dtype)
            Gs = T.alloc_shared((block_N, block_K), dtype)
            Us = T.alloc_shared((block_N, block_K), dtype)
            gate = T.alloc_fragment((block_M, block_N), "float32")
            up = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(gate)
            T.clear(up)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(X[by * block_M, k * block_K], Xs)
                T.copy(W[bx * block_N, k * block_K], Gs)
                T.copy(W[N + bx * block_N, k * block_K], Us)
                T.gemm(Xs, Gs, gate, transpose_B=True)
                T.gemm(Xs, Us, up, transpose_B=True)
            T.copy(gate, both[by * block_M, bx * block_N])
            T.copy(up, both[by * block_M, N + bx * block_N])
            for i, j in T.Parallel(block_M, block_N):
                gate[i, j] = gate[i, j] * T.sigmoid(gate[i, j]) * up[i, j]
            T.copy(gate, Y[by * block_M, bx * block_N])

    return gate_and_up


def gate_up_backward(N: int, dtype: str, block: int = 1024, threads: int = 128):
    """Returns what makes the gradient of both products from that of Y."""
    m = T.dynamic("m")

    @T.prim_func
    def gate_up_gradients(
        dY: T.Tensor((m, N), dtype), both: T.Tensor((m, 2 * N), dtype), d_both: T.Tensor((m, 2 * N), dtype)
    ):
        with T.Kernel(T.ceildiv(N, block), m, threads=threads) as (bx, row):
            for i in T.Parallel(block):
                j = bx * block + i
                if j < N:
                    dy = T.cast(dY[row, j], "float32")
                    gate, up = T.cast(both[row, j], "float32"), T.cast(both[row, N + j], "float32")
                    s = T.sigmoid(gate)
                    d_both[row, j] = dy * up * s * (1 + gate * (1 - s))
                    d_both[row, N + j] = dy * gate * s

    return gate_up_gradients


def silu(x):
    return x / (1 + np.exp(-x))


def reference(x, w):
    both = x @ w.T
    gate, up = np.split(both, 2, axis=1)
    return silu(gate) * up, both


def reference_backward(dy, both):
    gate, up = np.split(both, 2, axis=1)
    s = 1 / (1 + np.exp(-gate))
    return np.concatenate([dy * up * s * (1 + gate * (1 - s)), dy * gate * s], axis=1)


def by_torch(x, w):
    import torch

    both = x @ w.t()
    gate, up = both.chunk(2, dim=1)
    return torch.nn.functional.silu(gate) * up, both


def case(m, N, K, dtype="bfloat16"):
    return Case(
        name=f"gate_up {m}x{N}x{K} {dtype}",
        programs=[lambda: gate_up(N, K, dtype)],
        inputs=lambda random: [normal(random, (m, K), dtype), normal(random, (2 * N, K), dtype, K**-0.5)],
        outputs=[((m, N), dtype), ((m, 2 * N), dtype)],
        reference=reference,
        peers={"torch": by_torch},
        bytes=2 * (m * K + 2 * N * K + 3 * m * N),
        flop=4 * m * N * K,
        atol=2e-2,
    )


def case_backward(m, N, dtype="bfloat16"):
    return Case(
        name=f"gate_up_backward {m}x{N} {dtype}",
        programs=[lambda: gate_up_backward(N, dtype)],
        inputs=lambda random: [normal(random, (m, N), dtype), normal(random, (m, 2 * N), dtype)],
        outputs=[((m, 2 * N), dtype)],
        reference=reference_backward,
        bytes=10 * m * N,
    )


CHECKED = [case(77, 256, 200), case_backward(5, 1100)]
CASES = [case(8192, 14336, 4096), case_backward(8192, 14336)]

if __name__ == "__main__":
    check(CHECKED)
