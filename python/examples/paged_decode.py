"""Attention of one new token of each sequence over K and V in pages, which a block table names: the decoding step.

All heads that share K and V make the rows of a tile, so that a page is read once for them. As one sequence and head
give little to do, `splits` blocks share its pages, and a second kernel of the program combines what they have, by the
greatest score and the sum of each.

V must be finite in all of a sequence's pages: rows of the last one that have no position yet are weighed with zero,
which leaves a NaN or an infinity a NaN, so clear pages of V once before they are used. K may be anything there.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def paged_decode(
    batch: int, heads: int, kv_heads: int, dim: int, pages: int, page: int, most_pages: int, splits: int, dtype: str,
    stages: int = 3, threads: int = 128,
):  # fmt: skip
    group = heads // kv_heads
    block_M = max(group, 64)
    scale = dim**-0.5 * LOG2_E
    rows = T.GemmWarpPolicy.FullRow
    cache = (pages, page, kv_heads, dim)

    @T.prim_func
    def decode(
        Q: T.Tensor((batch, heads, dim), dtype), K: T.Tensor(cache, dtype), V: T.Tensor(cache, dtype),
        table: T.Tensor((batch, most_pages), "int32"), lengths: T.Tensor((batch,), "int32"),
        Out: T.Tensor((batch, heads, dim), dtype), parts: T.Tensor((batch, splits, heads, dim), "float32"),
        logs: T.Tensor((batch, splits, heads), "float32"),
    ):  # fmt: skip
        with T.Kernel(kv_heads, splits, batch, threads=threads) as (kv_head, split, b):
            Qs = T.alloc_shared((block_M, dim), dtype)
            Ks = T.alloc_shared((page, dim), dtype)
            Vs = T.alloc_shared((page, dim), dtype)
            s = T.alloc_fragment((block_M, page), "float32")
            p = T.alloc_fragment((block_M, page), dtype)
            o = T.alloc_fragment((block_M, dim), "float32")
            greatest = T.alloc_fragment((block_M,), "float32")
            before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            length = lengths[b]
            each = T.ceildiv(T.ceildiv(length, page), splits)
            first_page = split * each
            end_page = T.min(first_page + each, T.ceildiv(length, page))
            T.copy(Q[b, kv_head * group : kv_head * group + block_M, :], Qs)
            T.clear(o)
            T.clear(total)
            # Less than any score, and finite: a split without pages has a weight of zero.
            T.fill(greatest, -1e30)
            for k in T.Pipelined(T.max(end_page - first_page, 0), num_stages=stages):
                place = table[b, first_page + k]
                T.copy(K[place, :, kv_head, :], Ks)
                T.copy(V[place, :, kv_head, :], Vs)
                T.clear(s)
                T.gemm(Qs, Ks, s, transpose_B=True, policy=rows)
                for i, j in T.Parallel(block_M, page):
                    is_there = (first_page + k) * page + j < length
                    s[i, j] = T.if_then_else(is_there, s[i, j] * scale, -T.infinity("float32"))
                T.copy(greatest, before)
                T.reduce_max(s, greatest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2(before[i] - greatest[i])
                for i, j in T.Parallel(block_M, page):
                    s[i, j] = T.exp2(s[i, j] - greatest[i])
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(block_M, dim):
                    o[i, j] *= rescale[i]
                T.gemm(p, Vs, o, policy=rows)
            for i, j in T.Parallel(block_M, dim):
                if i < group:
                    parts[b, split, kv_head * group + i, j] = o[i, j] / T.max(total[i], 1e-30)
            for i in T.Parallel(block_M):
                if i < group:
                    logs[b, split, kv_head * group + i] = T.log2(T.max(total[i], 1e-30)) + greatest[i]
        with T.Kernel(heads, batch, threads=dim) as (head, b):
            weights = T.alloc_fragment((splits,), "float32")
            greatest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            shares = T.alloc_shared((splits,), "float32")
            out = T.alloc_fragment((dim,), "float32")
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
                for j in T.Parallel(dim):
                    out[j] += shares[i] * parts[b, i, head, j]
            T.copy(out, Out[b, head, :])

    return decode


def reference(q, k, v, table, lengths):
    out = np.empty_like(q)
    group = q.shape[1] // k.shape[2]
    for b, length in enumerate(lengths):
        keys, values = (np.repeat(x[table[b]].reshape(-1, *x.shape[2:])[:length], group, axis=1) for x in (k, v))
        s = np.einsum("hd,jhd->hj", q[b], keys) / math.sqrt(q.shape[2])
        p = np.exp(s - s.max(axis=1, keepdims=True))
        out[b] = np.einsum("hj,jhd->hd", p / p.sum(axis=1, keepdims=True), values)
    return out, None, None


def case(batch, heads, kv_heads, dim, longest, splits, page=64, dtype="bfloat16"):
    most_pages = -(-longest // page)
    pages = batch * most_pages
    # The case's own, so that all data sets are equally much work.
    lengths = np.random.default_rng(longest).integers(-(-longest // 2), longest + 1, batch, dtype=np.int32)
    lengths[0] = longest

    def inputs(random):
        table = random.permutation(pages).astype(np.int32).reshape(batch, most_pages)
        q = normal(random, (batch, heads, dim), dtype)
        k, v = (normal(random, (pages, page, kv_heads, dim), dtype) for _ in range(2))
        for own, length in zip(table, lengths, strict=True):
            # K may be anything where no position is.
            k[own[(length - 1) // page], (length - 1) % page + 1 :] = np.nan
        return [q, k, v, table, lengths]

    return Case(
        name=f"paged_decode {batch}x{longest} {heads}/{kv_heads} heads of {dim} in {splits} {dtype}",
        programs=[lambda: paged_decode(batch, heads, kv_heads, dim, pages, page, most_pages, splits, dtype)],
        inputs=inputs,
        outputs=[
            ((batch, heads, dim), dtype),
            ((batch, splits, heads, dim), "float32"),
            ((batch, splits, heads), "float32"),
        ],
        reference=reference,
        bytes=4 * int(lengths.sum()) * kv_heads * dim,
        flop=4 * int(lengths.sum()) * heads * dim,
        options={"fast_math": True},
    )


CHECKED = [case(2, 8, 2, 64, 300, 3), case(1, 4, 1, 128, 70, 4, dtype="float16")]
CASES = [case(1, 32, 8, 128, 16384, 16), case(32, 32, 8, 128, 8192, 2), case(128, 64, 8, 128, 4096, 1)]

if __name__ == "__main__":
    check(CHECKED)
