"""Attention as a training step needs it: causal or not, and beside the result the logarithm of each row's sum.

`attention_backward.py` takes that to compute the weights again instead of keeping them. The kernel is otherwise that of
`flash_attention.py`.
"""

from attention_backward import LOG2_E, forward
from cases import Case, check, normal

import tilec.language as T


def attention_forward(
    batch: int, heads: int, kv_heads: int, length: int, dim: int, is_causal: bool, dtype: str, block_N: int = 128,
    block_M: int = 128, threads: int = 256,
):  # fmt: skip
    scale = dim**-0.5 * LOG2_E
    q_shape, kv_shape, row_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim), (batch, heads, length)
    rows = T.GemmWarpPolicy.FullRow

    @T.prim_func
    def attend(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        Out: T.Tensor(q_shape, dtype), logs: T.Tensor(row_shape, "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=threads) as (bx, head, b):
            # The longest rows first: what is left for the end is short.
            first = (T.ceildiv(length, block_M) - 1 - bx) * block_M if is_causal else bx * block_M
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
            T.copy(Q[b, head, first : first + block_M, :], Qs)
            T.clear(o)
            T.clear(total)
            T.fill(greatest, -T.infinity("float32"))
            steps = T.ceildiv(T.min(first + block_M, length) if is_causal else length, block_N)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(K[b, head // (heads // kv_heads), k * block_N : (k + 1) * block_N, :], Ks)
                T.clear(s)
                T.gemm(Qs, Ks, s, transpose_B=True, policy=rows)
                if (is_causal and (k + 1) * block_N > first + 1) or (k + 1) * block_N > length:
                    for i, j in T.Parallel(block_M, block_N):
                        last = T.min(first + i, length - 1) if is_causal else length - 1
                        s[i, j] = T.if_then_else(k * block_N + j <= last, s[i, j], -T.infinity("float32"))
                T.copy(greatest, before)
                T.reduce_max(s, greatest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2(before[i] * scale - greatest[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    s[i, j] = T.exp2(s[i, j] * scale - greatest[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(block_M, dim):
                    o[i, j] *= rescale[i]
                T.copy(V[b, head // (heads // kv_heads), k * block_N : (k + 1) * block_N, :], Vs)
                T.gemm(p, Vs, o, policy=rows)
            for i, j in T.Parallel(block_M, dim):
                o[i, j] /= total[i]
            for i in T.Parallel(block_M):
                total[i] = T.log(total[i]) + greatest[i] * (scale / LOG2_E)
            T.copy(o, Out[b, head, first : first + block_M, :])
            T.copy(total, logs[b, head, first : first + block_M])

    return attend


def by_torch(is_causal):
    def run(q, k, v):
        from torch.nn.functional import scaled_dot_product_attention

        return scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=q.shape[1] != k.shape[1])

    return run


def case(batch, heads, kv_heads, length, dim, is_causal, dtype="bfloat16", widths=(128, 64)):
    """`widths` are the tiles of K and V to choose from; without wgmma 64 leaves enough registers."""
    q_shape, kv_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim)

    def program(width):
        return lambda: attention_forward(batch, heads, kv_heads, length, dim, is_causal, dtype, width)

    return Case(
        name=f"attention_forward {batch}x{length} {heads}/{kv_heads} heads of {dim}{' causal' * is_causal} {dtype}",
        programs=[program(width) for width in widths],
        inputs=lambda random: [normal(random, shape, dtype) for shape in (q_shape, kv_shape, kv_shape)],
        outputs=[(q_shape, dtype), ((batch, heads, length), "float32")],
        reference=lambda q, k, v: forward(q, k, v, is_causal),
        peers={"torch": by_torch(is_causal)},
        bytes=4 * batch * length * dim * (heads + kv_heads),
        flop=4 * batch * heads * length * length * dim // (2 if is_causal else 1),
        rtol=2e-2,
        atol=2e-2,
        options={"fast_math": True},
    )


CHECKED = [case(1, 2, 1, 200, 64, False, widths=[128]), case(1, 1, 1, 140, 128, True, "float16", widths=[64])]
CASES = [case(4, 16, 16, 4096, 128, is_causal) for is_causal in (False, True)]

if __name__ == "__main__":
    check(CHECKED)
