"""Attention of which a tile of 128 rows sees some tiles of 64 columns, which a table names; the others cost nothing."""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)
BLOCK_M, BLOCK_N = 128, 64


def block_sparse_attention(
    batch: int, heads: int, length: int, dim: int, most: int, dtype: str, stages: int = 3, threads: int = 256
):
    """`most` is how many tiles of columns a tile of rows may see; rows that see none are zero."""
    if length % BLOCK_M:
        raise ValueError(
            f"`length` is {length}, and no multiple of {BLOCK_M}: choose one, as nothing masks a part of a tile"
        )
    scale = dim**-0.5 * LOG2_E
    shape, tiles = (batch, heads, length, dim), length // BLOCK_M
    rows = T.GemmWarpPolicy.FullRow

    @T.prim_func
    def attend(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype),
        counts: T.Tensor((heads, tiles), "int32"), seen: T.Tensor((heads, tiles, most), "int32"),
        Out: T.Tensor(shape, dtype),
    ):  # fmt: skip
        with T.Kernel(tiles, heads, batch, threads=threads) as (bx, head, b):
            Qs = T.alloc_shared((BLOCK_M, dim), dtype)
            Ks = T.alloc_shared((BLOCK_N, dim), dtype)
            Vs = T.alloc_shared((BLOCK_N, dim), dtype)
            s = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            p = T.alloc_fragment((BLOCK_M, BLOCK_N), dtype)
            o = T.alloc_fragment((BLOCK_M, dim), "float32")
            greatest = T.alloc_fragment((BLOCK_M,), "float32")
            before = T.alloc_fragment((BLOCK_M,), "float32")
            rescale = T.alloc_fragment((BLOCK_M,), "float32")
            part = T.alloc_fragment((BLOCK_M,), "float32")
            total = T.alloc_fragment((BLOCK_M,), "float32")
            T.copy(Q[b, head, bx * BLOCK_M : (bx + 1) * BLOCK_M, :], Qs)
            T.clear(o)
            T.clear(total)
            T.fill(greatest, -T.infinity("float32"))
            for k in T.Pipelined(counts[head, bx], num_stages=stages):
                column = seen[head, bx, k] * BLOCK_N
                T.copy(K[b, head, column : column + BLOCK_N, :], Ks)
                T.copy(V[b, head, column : column + BLOCK_N, :], Vs)
                T.clear(s)
                T.gemm(Qs, Ks, s, transpose_B=True, policy=rows)
                T.copy(greatest, before)
                T.reduce_max(s, greatest, dim=1, clear=False)
                for i in T.Parallel(BLOCK_M):
                    rescale[i] = T.exp2(before[i] * scale - greatest[i] * scale)
                for i, j in T.Parallel(BLOCK_M, BLOCK_N):
                    s[i, j] = T.exp2(s[i, j] * scale - greatest[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BLOCK_M):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(BLOCK_M, dim):
                    o[i, j] *= rescale[i]
                T.gemm(p, Vs, o, policy=rows)
            for i, j in T.Parallel(BLOCK_M, dim):
                o[i, j] /= T.max(total[i], 1e-30)
            T.copy(o, Out[b, head, bx * BLOCK_M : (bx + 1) * BLOCK_M, :])

    return attend


def mask_of(counts, seen, length):
    """Returns for each head, row and column whether the row sees the column."""
    mask = np.zeros((*counts.shape, length // BLOCK_N), bool)
    for place in np.ndindex(*counts.shape):
        mask[place][seen[place][: counts[place]]] = True
    return mask.repeat(BLOCK_M, axis=1).repeat(BLOCK_N, axis=2)


def reference(q, k, v, counts, seen):
    s = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3])
    p = np.where(mask_of(counts, seen, q.shape[2]), np.exp(s - s.max(axis=3, keepdims=True)), 0)
    return p @ v / np.maximum(p.sum(axis=3, keepdims=True), 1e-30)


def by_torch(q, k, v, counts, seen):
    """Not sparse: what it costs to look at everything."""
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v)


def case(batch, heads, length, dim, most, dtype="bfloat16"):
    shape, tiles = (batch, heads, length, dim), length // BLOCK_M

    def inputs(random):
        counts = random.integers(1, most + 1, (heads, tiles), dtype=np.int32)
        # A tile of rows may see nothing.
        counts[0, 0] = 0
        columns = random.permuted(np.tile(np.arange(length // BLOCK_N, dtype=np.int32), (heads, tiles, 1)), axis=2)
        return [*(normal(random, shape, dtype) for _ in range(3)), counts, np.ascontiguousarray(columns[..., :most])]

    return Case(
        name=f"block_sparse_attention {batch}x{length} {heads} heads of {dim} at most {most} tiles {dtype}",
        programs=[lambda: block_sparse_attention(batch, heads, length, dim, most, dtype)],
        inputs=inputs,
        outputs=[(shape, dtype)],
        reference=reference,
        peers={"torch, all of it": by_torch},
        bytes=8 * batch * heads * length * dim,
        # The counts are half of the most on average.
        flop=2 * batch * heads * length * (most + 1) * BLOCK_N * dim,
        options={"fast_math": True},
    )


CHECKED = [case(1, 2, 256, 64, 3)]
CASES = [case(1, 16, 16384, 128, most) for most in (32, 128)]

if __name__ == "__main__":
    check(CHECKED)
