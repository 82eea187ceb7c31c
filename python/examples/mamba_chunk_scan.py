"""The scan of Mamba-2 inside of chunks: what a chunk gets from the state before it, and from its own positions.

Y[i] = exp(a[i]) C[i] . S + sum over j <= i of (C[i] . B[j]) exp(a[i] - a[j]) dt[j] X[j] + D X[i], where a is the
running sum of the decay's logarithms in the chunk, and S the state before it. C . B is given, as all heads of a group
share it.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def chunk_scan(
    batch: int, length: int, chunk: int, groups: int, heads: int, dim: int, states: int, dtype: str,
    block_M: int = 64, block_K: int = 64, stages: int = 2, threads: int = 128,
):  # fmt: skip
    if length % chunk:
        raise ValueError(f"`length` is {length}, and no multiple of `chunk`, {chunk}: pad the sequences")
    if chunk % block_M:
        raise ValueError(
            f"`chunk` is {chunk}, and no multiple of `block_M`, {block_M}: choose a `block_M` that divides it"
        )
    chunks, per_group = length // chunk, heads // groups
    rows = T.GemmWarpPolicy.FullRow

    @T.prim_func
    def scan(
        CB: T.Tensor((batch, chunks, groups, chunk, chunk), dtype), X: T.Tensor((batch, length, heads, dim), dtype),
        dt: T.Tensor((batch, heads, length), "float32"), a: T.Tensor((batch, heads, length), "float32"),
        C: T.Tensor((batch, length, groups, states), dtype), S: T.Tensor((batch, chunks, heads, dim, states), dtype),
        D: T.Tensor((heads,), "float32"), Y: T.Tensor((batch, length, heads, dim), dtype),
    ):  # fmt: skip
        with T.Kernel(chunk // block_M, chunks * heads, batch, threads=threads) as (bx, place, b):
            Cs = T.alloc_shared((block_M, states), dtype)
            Ss = T.alloc_shared((dim, states), dtype)
            CBs = T.alloc_shared((block_M, block_K), dtype)
            Xs = T.alloc_shared((block_K, dim), dtype)
            a_k = T.alloc_shared((block_K,), "float32")
            dt_k = T.alloc_shared((block_K,), "float32")
            a_m = T.alloc_fragment((block_M,), "float32")
            weights = T.alloc_fragment((block_M, block_K), "float32")
            factor = T.alloc_fragment((block_M, block_K), dtype)
            y = T.alloc_fragment((block_M, dim), "float32")
            head, c = place % heads, place // heads
            group, start = head // per_group, c * chunk
            first = start + bx * block_M
            T.copy(a[b, head, first : first + block_M], a_m)
            T.copy(C[b, first : first + block_M, group, :], Cs)
            T.copy(S[b, c, head, :, :], Ss)
            T.gemm(Cs, Ss, y, transpose_B=True, policy=rows, clear_accum=True)
            for i, j in T.Parallel(block_M, dim):
                y[i, j] *= T.exp2(a_m[i] * LOG2_E)
            for k in T.Pipelined(T.ceildiv((bx + 1) * block_M, block_K), num_stages=stages):
                column = k * block_K
                T.copy(CB[b, c, group, bx * block_M : (bx + 1) * block_M, column : column + block_K], CBs)
                T.copy(X[b, start + column : start + column + block_K, head, :], Xs)
                T.copy(a[b, head, start + column : start + column + block_K], a_k)
                T.copy(dt[b, head, start + column : start + column + block_K], dt_k)
                T.copy(CBs, weights)
                for i, j in T.Parallel(block_M, block_K):
                    # What comes later has no part; its exponent would be positive, and might overflow.
                    is_before = bx * block_M + i >= column + j
                    decay = T.exp2(T.min(a_m[i] - a_k[j], 0.0) * LOG2_E) * dt_k[j]
                    weights[i, j] = T.if_then_else(is_before, weights[i, j] * decay, 0)
                T.copy(weights, factor)
                T.gemm(factor, Xs, y, policy=rows)
            for i, j in T.Parallel(block_M, dim):
                y[i, j] += D[head] * X[b, first + i, head, j]
            T.copy(y, Y[b, first : first + block_M, head, :])

    return scan


def reference(cb, x, dt, a, c, s, d):
    batch, _, heads, _ = x.shape
    chunks, groups, chunk = cb.shape[1:4]
    per_group = heads // groups

    def by_chunk(array):
        """Returns (batch, chunks, heads, chunk, ...) of what has its positions second, or last."""
        return array.reshape(batch, chunks, chunk, *array.shape[2:]).swapaxes(2, 3)

    a, dt = (z.reshape(batch, heads, chunks, chunk).swapaxes(1, 2) for z in (a, dt))
    cb = np.repeat(cb, per_group, axis=2)
    c = np.repeat(by_chunk(c), per_group, axis=2)
    decay = np.exp(np.minimum(a[..., :, None] - a[..., None, :], 0)) * dt[..., None, :]
    y = np.exp(a)[..., None] * (c @ s.swapaxes(3, 4)) + np.tril(cb * decay) @ by_chunk(x)
    return y.swapaxes(2, 3).reshape(x.shape) + d[:, None] * x


def case(batch, length, chunk, groups, heads, dim, states, dtype="bfloat16"):
    chunks = length // chunk

    def inputs(random):
        dt = random.uniform(0.01, 0.1, (batch, heads, chunks, chunk)).astype(np.float32)
        rate = -random.uniform(0.5, 2, (heads, 1, 1)).astype(np.float32)
        return [
            normal(random, (batch, chunks, groups, chunk, chunk), dtype),
            normal(random, (batch, length, heads, dim), dtype),
            dt.reshape(batch, heads, length),
            (dt * rate).cumsum(axis=3, dtype=np.float32).reshape(batch, heads, length),
            normal(random, (batch, length, groups, states), dtype),
            normal(random, (batch, chunks, heads, dim, states), dtype, states**-0.5),
            normal(random, (heads,), "float32"),
        ]

    positions = batch * length
    return Case(
        name=f"mamba_chunk_scan {batch}x{length} chunks of {chunk} {heads} heads of {dim} {states} states {dtype}",
        programs=[lambda: chunk_scan(batch, length, chunk, groups, heads, dim, states, dtype)],
        inputs=inputs,
        outputs=[((batch, length, heads, dim), dtype)],
        reference=reference,
        bytes=2 * positions * (groups * (chunk + states) + 2 * heads * dim + 4 * heads)
        + 2 * batch * chunks * heads * dim * states,
        flop=positions * heads * dim * (2 * states + chunk),
        rtol=2e-2,
        atol=4e-2,
        options={"fast_math": True},
    )


CHECKED = [case(1, 256, 128, 1, 2, 64, 32)]
CASES = [case(8, 4096, 256, 1, 80, 64, 128), case(1, 32768, 256, 1, 80, 64, 128)]

if __name__ == "__main__":
    check(CHECKED)
