"""Decoding with latent attention: all heads share one K of `latent + rope` columns, the first `latent` of which are V.

A block has 64 heads of one sequence, and a part of its positions, which a second kernel of the program puts together.
What a block adds up is 64 x 512, too much for one group of warps: two groups share the columns, and so read P by way
of shared memory. The columns lie in two tiles, of 256 each, as the widest matrix instruction has.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def mla_decode(
    batch: int, heads: int, latent: int, rope: int, length: int, splits: int, dtype: str,
    block_M: int = 64, block_N: int = 64, stages: int = 2, threads: int = 256,
):  # fmt: skip
    half = latent // 2
    scale = (latent + rope) ** -0.5 * LOG2_E
    steps = -(-length // (splits * block_N))
    columns = T.GemmWarpPolicy.FullCol

    @T.prim_func
    def decode(
        Q: T.Tensor((batch, heads, latent), dtype), Q_rope: T.Tensor((batch, heads, rope), dtype),
        KV: T.Tensor((batch, length, latent), dtype), K_rope: T.Tensor((batch, length, rope), dtype),
        Out: T.Tensor((batch, heads, latent), dtype), parts: T.Tensor((batch, splits, heads, latent), "float32"),
        logs: T.Tensor((batch, splits, heads), "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(heads, block_M), splits, batch, threads=threads) as (bx, split, b):
            Qs = [T.alloc_shared((block_M, half), dtype) for _ in range(2)]
            Rs = T.alloc_shared((block_M, rope), dtype)
            Ks = [T.alloc_shared((block_N, half), dtype) for _ in range(2)]
            Ps = T.alloc_shared((block_N, rope), dtype)
            p = T.alloc_shared((block_M, block_N), dtype)
            s = T.alloc_fragment((block_M, block_N), "float32")
            o = [T.alloc_fragment((block_M, half), "float32") for _ in range(2)]
            greatest = T.alloc_fragment((block_M,), "float32")
            before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            head = bx * block_M
            for h in T.unroll(2):
                T.copy(Q[b, head : head + block_M, h * half : (h + 1) * half], Qs[h])
                T.clear(o[h])
            T.copy(Q_rope[b, head : head + block_M, :], Rs)
            T.clear(total)
            T.fill(greatest, -1e30)
            for k in T.Pipelined(steps, num_stages=stages):
                position = (split * steps + k) * block_N
                for h in T.unroll(2):
                    T.copy(KV[b, position : position + block_N, h * half : (h + 1) * half], Ks[h])
                T.copy(K_rope[b, position : position + block_N, :], Ps)
                T.clear(s)
                for h in T.unroll(2):
                    T.gemm(Qs[h], Ks[h], s, transpose_B=True, policy=columns)
                T.gemm(Rs, Ps, s, transpose_B=True, policy=columns)
                for i, j in T.Parallel(block_M, block_N):
                    s[i, j] *= scale
                if position + block_N > length:
                    for i, j in T.Parallel(block_M, block_N):
                        s[i, j] = T.if_then_else(position + j < length, s[i, j], -T.infinity("float32"))
                T.copy(greatest, before)
                T.reduce_max(s, greatest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2(before[i] - greatest[i])
                for i, j in T.Parallel(block_M, block_N):
                    s[i, j] = T.exp2(s[i, j] - greatest[i])
                T.reduce_sum(s, part, dim=1)
                T.copy(s, p)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + part[i]
                for h in T.unroll(2):
                    for i, j in T.Parallel(block_M, half):
                        o[h][i, j] *= rescale[i]
                for h in T.unroll(2):
                    T.gemm(p, Ks[h], o[h], policy=columns)
            for i in T.Parallel(block_M):
                logs[b, split, head + i] = T.log2(T.max(total[i], 1e-30)) + greatest[i]
            for h in T.unroll(2):
                for i, j in T.Parallel(block_M, half):
                    parts[b, split, head + i, h * half + j] = o[h][i, j] / T.max(total[i], 1e-30)
        with T.Kernel(heads, batch, threads=128) as (head, b):
            weights = T.alloc_fragment((splits,), "float32")
            greatest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            shares = T.alloc_shared((splits,), "float32")
            out = T.alloc_fragment((latent,), "float32")
            for i in T.Parallel(splits):
                weights[i] = logs[b, i, head]
            T.reduce_max(weights, greatest, dim=0)
            for i in T.Parallel(splits):
                weights[i] = T.exp2(weights[i] - greatest[0])
            T.reduce_sum(weights, total, dim=0)
            for i in T.Parallel(splits):
                shares[i] = weights[i] / total[0]
            T.clear(out)
            for i in T.unroll(splits):
                for j in T.Parallel(latent):
                    out[j] += shares[i] * parts[b, i, head, j]
            T.copy(out, Out[b, head, :])

    return decode


def reference(q, q_rope, kv, k_rope):
    s = (q @ kv.swapaxes(1, 2) + q_rope @ k_rope.swapaxes(1, 2)) / math.sqrt(q.shape[2] + q_rope.shape[2])
    p = np.exp(s - s.max(axis=2, keepdims=True))
    return p / p.sum(axis=2, keepdims=True) @ kv, None, None


def by_torch(q, q_rope, kv, k_rope):
    import torch

    q, k = torch.cat([q, q_rope], dim=2), torch.cat([kv, k_rope], dim=2)
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[2]), dim=2) @ kv


def case(batch, heads, length, splits, latent=512, rope=64, dtype="bfloat16", widths=(64, 32)):
    """`widths` are the tiles of positions to choose from; 32 leaves room for two stages on an A100."""

    def program(width):
        return lambda: mla_decode(batch, heads, latent, rope, length, splits, dtype, block_N=width)

    shapes = ((batch, heads, latent), (batch, heads, rope), (batch, length, latent), (batch, length, rope))
    return Case(
        name=f"mla_decode {batch}x{length} {heads} heads of {latent}+{rope} in {splits} {dtype}",
        programs=[program(width) for width in widths],
        inputs=lambda random: [normal(random, shape, dtype) for shape in shapes],
        outputs=[
            ((batch, heads, latent), dtype),
            ((batch, splits, heads, latent), "float32"),
            ((batch, splits, heads), "float32"),
        ],
        reference=reference,
        peers={"torch": by_torch},
        bytes=2 * batch * (length * (latent + rope) + heads * (2 * latent + rope)),
        flop=2 * batch * heads * length * (2 * latent + rope),
        options={"fast_math": True},
    )


CHECKED = [case(2, 16, 150, 3, latent=128, widths=[64])]
CASES = [case(128, 128, 4096, 1), case(16, 128, 8192, 4), case(1, 128, 32768, 64)]

if __name__ == "__main__":
    check(CHECKED)
