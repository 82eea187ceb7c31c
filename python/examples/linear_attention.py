"""Causal linear attention, O[i] = sum over j <= i of (Q[i] . K[j]) V[j], by chunks.

What a chunk adds to itself is computed as attention is, and what came before it is in a state. The state, the sum of
K[j] V[j].T so far, stays in registers; a block has all of one head's K and a tile of V's columns. The product with
the state reads it from shared memory, in the type of the inputs.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def linear_attention(
    batch: int, heads: int, length: int, dim: int, dim_v: int, dtype: str,
    chunk: int = 64, block_V: int = 64, stages: int = 2, threads: int = 128,
):  # fmt: skip
    k_shape, v_shape = (batch, heads, length, dim), (batch, heads, length, dim_v)
    scale = dim**-0.5
    rows = T.GemmWarpPolicy.FullRow

    @T.prim_func
    def attend(
        Q: T.Tensor(k_shape, dtype), K: T.Tensor(k_shape, dtype), V: T.Tensor(v_shape, dtype),
        Out: T.Tensor(v_shape, dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(dim_v, block_V), heads, batch, threads=threads) as (bx, head, b):
            Qs = T.alloc_shared((chunk, dim), dtype)
            Ks = T.alloc_shared((chunk, dim), dtype)
            Vs = T.alloc_shared((chunk, block_V), dtype)
            state_half = T.alloc_shared((dim, block_V), dtype)
            state = T.alloc_fragment((dim, block_V), "float32")
            s = T.alloc_fragment((chunk, chunk), "float32")
            s_half = T.alloc_fragment((chunk, chunk), dtype)
            o = T.alloc_fragment((chunk, block_V), "float32")
            column = bx * block_V
            T.clear(state)
            for k in T.Pipelined(T.ceildiv(length, chunk), num_stages=stages):
                T.copy(Q[b, head, k * chunk : (k + 1) * chunk, :], Qs)
                T.copy(K[b, head, k * chunk : (k + 1) * chunk, :], Ks)
                T.copy(V[b, head, k * chunk : (k + 1) * chunk, column : column + block_V], Vs)
                T.copy(state, state_half)
                T.gemm(Qs, Ks, s, transpose_B=True, policy=rows, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    s[i, j] = T.if_then_else(i >= j, s[i, j], 0)
                T.copy(s, s_half)
                T.gemm(Qs, state_half, o, policy=rows, clear_accum=True)
                T.gemm(s_half, Vs, o, policy=rows)
                T.gemm(Ks, Vs, state, transpose_A=True, policy=rows)
                for i, j in T.Parallel(chunk, block_V):
                    o[i, j] *= scale
                T.copy(o, Out[b, head, k * chunk : (k + 1) * chunk, column : column + block_V])

    return attend


def reference(q, k, v):
    return np.tril(q @ k.swapaxes(2, 3)) @ v / np.sqrt(q.shape[3])


def by_torch(q, k, v):
    """All pairs of positions: what linear attention spares."""
    return (q @ k.mT).tril() @ v / q.shape[3] ** 0.5


def case(batch, heads, length, dim, dim_v, dtype="bfloat16", widths=(64, 32)):
    """`widths` are the tiles of V to choose from; without wgmma 32 leaves enough registers."""

    def program(width):
        return lambda: linear_attention(batch, heads, length, dim, dim_v, dtype, block_V=width)

    k_shape, v_shape = (batch, heads, length, dim), (batch, heads, length, dim_v)
    return Case(
        name=f"linear_attention {batch}x{length} {heads} heads of {dim} and {dim_v} {dtype}",
        programs=[program(width) for width in widths],
        # K is small, so that states of long sequences have the size of one product.
        inputs=lambda random: [
            normal(random, k_shape, dtype),
            normal(random, k_shape, dtype, length**-0.5),
            normal(random, v_shape, dtype),
        ],
        outputs=[(v_shape, dtype)],
        reference=reference,
        peers={"torch, all pairs": by_torch},
        bytes=4 * batch * heads * length * (dim + dim_v),
        flop=4 * batch * heads * length * dim * dim_v,
        rtol=2e-2,
        atol=2e-2,
    )


CHECKED = [case(1, 2, 200, 64, 64, widths=[64]), case(1, 1, 130, 128, 96, widths=[32])]
CASES = [case(8, 32, 4096, 128, 128), case(1, 32, 32768, 64, 64)]

if __name__ == "__main__":
    check(CHECKED)
