"""Y = silu(X Wg.T) * (X Wu.T) with weights of an expert for each row: the first half of a layer of experts.

Rows are sorted by expert, and each expert's begin at a multiple of the tile, so that a tile of rows has one expert,
which `experts_of` names; the rows between are zero. How many rows an expert has is known when the kernel runs. Gate
and up are computed in one loop: a tile of X is read once for both.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T

BLOCK_M = 128


def gate_and_up(
    experts: int, tiles: int, N: int, K: int, dtype: str,
    block_N: int = 128, block_K: int = 64, stages: int = 3, threads: int = 256,
):  # fmt: skip
    rows = tiles * BLOCK_M

    @T.prim_func
    def multiply(
        X: T.Tensor((rows, K), dtype), Wg: T.Tensor((experts, N, K), dtype), Wu: T.Tensor((experts, N, K), dtype),
        experts_of: T.Tensor((tiles,), "int32"), Y: T.Tensor((rows, N), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(N, block_N), tiles, threads=threads) as (bx, by):
            T.use_swizzle(panel_size=8)
            Xs = T.alloc_shared((BLOCK_M, block_K), dtype)
            Gs = T.alloc_shared((block_N, block_K), dtype)
            Us = T.alloc_shared((block_N, block_K), dtype)
            gate = T.alloc_fragment((BLOCK_M, block_N), "float32")
            up = T.alloc_fragment((BLOCK_M, block_N), "float32")
            expert, column = experts_of[by], bx * block_N
            T.clear(gate)
            T.clear(up)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(X[by * BLOCK_M, k * block_K], Xs)
                T.copy(Wg[expert, column : column + block_N, k * block_K : (k + 1) * block_K], Gs)
                T.copy(Wu[expert, column : column + block_N, k * block_K : (k + 1) * block_K], Us)
                T.gemm(Xs, Gs, gate, transpose_B=True)
                T.gemm(Xs, Us, up, transpose_B=True)
            for i, j in T.Parallel(BLOCK_M, block_N):
                gate[i, j] = gate[i, j] * T.sigmoid(gate[i, j]) * up[i, j]
            T.copy(gate, Y[by * BLOCK_M, column])

    return multiply


def routed(random, experts, tokens, tiles):
    """Returns the expert of each tile, and which rows are tokens, if experts are drawn with different odds."""
    counts = random.multinomial(tokens, random.dirichlet(np.full(experts, 4.0)))
    experts_of, used = np.zeros(tiles, np.int32), np.zeros(tiles * BLOCK_M, bool)
    tile = 0
    for expert, count in enumerate(counts):
        used[tile * BLOCK_M : tile * BLOCK_M + count] = True
        after = tile - (-count // BLOCK_M)
        experts_of[tile:after], tile = expert, after
    return experts_of, used


def reference(x, gate_weights, up_weights, experts_of):
    y = []
    for rows, expert in zip(np.split(x, len(experts_of)), experts_of, strict=True):
        gate, up = rows @ gate_weights[expert].T, rows @ up_weights[expert].T
        y.append(gate / (1 + np.exp(-gate)) * up)
    return np.concatenate(y)


def by_torch(x, gate_weights, up_weights, experts_of):
    """A product of full size for each expert that has rows, over the tiles that are its own."""
    import torch

    parts = []
    for expert, count in zip(*torch.unique_consecutive(experts_of, return_counts=True), strict=True):
        first = sum(len(part) for part in parts)
        rows = x[first : first + int(count) * BLOCK_M]
        parts.append(torch.nn.functional.silu(rows @ gate_weights[expert].t()) * (rows @ up_weights[expert].t()))
    return torch.cat(parts)


def case(experts, tokens, N, K, dtype="bfloat16"):
    # As many tiles as there can be: each expert may have one that is not full.
    tiles = tokens // BLOCK_M + experts

    def inputs(random):
        experts_of, used = routed(random, experts, tokens, tiles)
        x = normal(random, (tiles * BLOCK_M, K), dtype)
        x[~used] = 0
        weights = [normal(random, (experts, N, K), dtype, K**-0.5) for _ in range(2)]
        return [x, *weights, experts_of]

    return Case(
        name=f"grouped_gemm {experts} experts {tokens}x{N}x{K} {dtype}",
        programs=[lambda: gate_and_up(experts, tiles, N, K, dtype)],
        inputs=inputs,
        outputs=[((tiles * BLOCK_M, N), dtype)],
        reference=reference,
        peers={"torch": by_torch},
        bytes=2 * (tokens * K + 2 * experts * N * K + tokens * N),
        flop=4 * tokens * N * K,
        options={"fast_math": True},
    )


CHECKED = [case(3, 200, 136, 128), case(5, 90, 64, 72, "float16")]
CASES = [case(8, 8192, 14336, 4096), case(64, 16384, 2048, 4096)]

if __name__ == "__main__":
    check(CHECKED)
