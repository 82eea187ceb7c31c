"""Attention over sequences of different lengths: causal or with a sliding window, heads that share K and V, sinks.

Sequences lie one after another: that of number b has the rows from `starts[b]` to `starts[b + 1]`. A row sees the
`window` positions that end at its own; a window as long as the sequence is causal attention. A sink is a score of
each head that takes part in the sum of the softmax and has no value; without one it is minus infinity. Tiles that no
row of a block sees are not visited.

V must be finite: what a row does not see of a tile is weighed with zero, which leaves a NaN or an infinity a NaN, and
the tile at the end of a sequence has rows of the next one. K may be anything there.
"""

import itertools
import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def attention_varlen(
    batch: int, longest: int, heads: int, kv_heads: int, dim: int, window: int, dtype: str,
    block_M: int = 128, block_N: int = 128, stages: int = 2, threads: int = 256,
):  # fmt: skip
    scale = dim**-0.5 * LOG2_E
    tokens = T.dynamic("tokens")
    rows = T.GemmWarpPolicy.FullRow

    @T.prim_func
    def attend(
        Q: T.Tensor((tokens, heads, dim), dtype), K: T.Tensor((tokens, kv_heads, dim), dtype),
        V: T.Tensor((tokens, kv_heads, dim), dtype), sinks: T.Tensor((heads,), "float32"),
        starts: T.Tensor((batch + 1,), "int32"), Out: T.Tensor((tokens, heads, dim), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(longest, block_M), heads, batch, threads=threads) as (bx, head, b):
            Qs = T.alloc_shared((block_M, dim), dtype)
            Ks = T.alloc_shared((block_N, dim), dtype)
            Vs = T.alloc_shared((block_N, dim), dtype)
            s = T.alloc_fragment((block_M, block_N), "float32")
            p = T.alloc_fragment((block_M, block_N), dtype)
            o = T.alloc_fragment((block_M, dim), "float32")
            greatest = T.alloc_fragment((block_M,), "float32")
            before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            start, length = starts[b], starts[b + 1] - starts[b]
            first, kv_head = bx * block_M, head // (heads // kv_heads)
            if first < length:
                T.copy(Q[start + first : start + first + block_M, head, :], Qs)
                T.clear(o)
                # The sink is the first score; finite, as a first tile may have none that counts.
                T.fill(total, 1.0)
                T.fill(greatest, T.max(sinks[head] * (LOG2_E / scale), -1e30))
                first_tile = T.max(first - window + 1, 0) // block_N
                end_tile = T.ceildiv(T.min(first + block_M, length), block_N)
                for step in T.Pipelined(end_tile - first_tile, num_stages=stages):
                    column = (first_tile + step) * block_N
                    T.copy(K[start + column : start + column + block_N, kv_head, :], Ks)
                    T.clear(s)
                    T.gemm(Qs, Ks, s, transpose_B=True, policy=rows)
                    if column + block_N > first + 1 or column < first + block_M - window:
                        for i, j in T.Parallel(block_M, block_N):
                            behind = first + i - column - j
                            s[i, j] = T.if_then_else((behind >= 0) & (behind < window), s[i, j], -T.infinity("float32"))
                    T.copy(greatest, before)
                    T.reduce_max(s, greatest, dim=1, clear=False)
                    for i in T.Parallel(block_M):
                        # The difference first: equal ones give 1, however large and rounded they are.
                        rescale[i] = T.exp2((before[i] - greatest[i]) * scale)
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = T.exp2(s[i, j] * scale - greatest[i] * scale)
                    T.reduce_sum(s, part, dim=1)
                    for i in T.Parallel(block_M):
                        total[i] = total[i] * rescale[i] + part[i]
                    T.copy(s, p)
                    for i, j in T.Parallel(block_M, dim):
                        o[i, j] *= rescale[i]
                    T.copy(V[start + column : start + column + block_N, kv_head, :], Vs)
                    T.gemm(p, Vs, o, policy=rows)
                for i, j in T.Parallel(block_M, dim):
                    o[i, j] /= total[i]
                if first + block_M <= length:
                    T.copy(o, Out[start + first : start + first + block_M, head, :])
                else:
                    # The rows behind the last one are the next sequence's.
                    for i, j in T.Parallel(block_M, dim):
                        if first + i < length:
                            Out[start + first + i, head, j] = o[i, j]

    return attend


def reference(q, k, v, sinks, starts, window):
    out = np.empty_like(q)
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k, v))
    for start, end in itertools.pairwise(starts):
        behind = np.arange(end - start)[:, None] - np.arange(end - start)
        s = np.einsum("ihd,jhd->hij", q[start:end], k[start:end]) / math.sqrt(q.shape[2])
        s = np.where((behind >= 0) & (behind < window), s, -np.inf)
        s = np.concatenate([np.broadcast_to(sinks[:, None, None], (*s.shape[:2], 1)), s], axis=2)
        p = np.exp(s - s.max(axis=2, keepdims=True))
        p /= p.sum(axis=2, keepdims=True)
        out[start:end] = np.einsum("hij,jhd->ihd", p[:, :, 1:], v[start:end])
    return out


def case(lengths, heads, kv_heads, dim, window, dtype="bfloat16", widths=(128, 64)):
    """`widths` are the tiles of K and V to choose from; without wgmma 64 leaves enough registers."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    tokens = sum(lengths)
    seen = sum(min(row + 1, window) for length in lengths for row in range(length))
    shapes = ((tokens, heads, dim), (tokens, kv_heads, dim), (tokens, kv_heads, dim))

    def inputs(random):
        sinks = normal(random, (heads,), "float32")
        # A head without a sink.
        sinks[0] = -np.inf
        return [*(normal(random, shape, dtype) for shape in shapes), sinks, starts]

    def program(width):
        return lambda: attention_varlen(len(lengths), max(lengths), heads, kv_heads, dim, window, dtype, block_N=width)

    return Case(
        name=f"attention_varlen {len(lengths)}x{max(lengths)} {heads}/{kv_heads} heads of {dim} window {window}",
        programs=[program(width) for width in widths],
        inputs=inputs,
        outputs=[((tokens, heads, dim), dtype)],
        reference=lambda *arrays: reference(*arrays, window),
        bytes=4 * tokens * (heads + kv_heads) * dim,
        flop=4 * seen * heads * dim,
        options={"fast_math": True},
    )


CHECKED = [case((200, 1, 131), 4, 2, 128, 1000, widths=[64]), case((300,), 2, 1, 64, 70, "float16", [64])]
CASES = [
    case((4096,) * 4, 32, 8, 128, 4096),
    case((512, 1024, 2048, 8192), 32, 8, 128, 8192),
    case((16384,), 64, 8, 64, 128),
]

if __name__ == "__main__":
    check(CHECKED)
