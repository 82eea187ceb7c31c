"""The gradients of attention, from Q, K, V, the result, its gradient, and the logarithm of each row's sum.

P is computed again, tile by tile. One kernel goes along the rows for a tile of K and V, with scores that lie
transposed, so that P and dS are factors in registers; another goes along K for a tile of Q. Adding dQ up from the
first one would save two products of seven, and needs atomic operations in no certain order: here equal inputs give
equal bits.
"""

import math

import numpy as np
from cases import Case, check, normal
from flash_attention import LOG2_E, forward, scores

import tilec.language as T


def attention_backward(
    batch: int, heads: int, kv_heads: int, length: int, dim: int, is_causal: bool, dtype: str,
    block: int = 128, step: int = 64, stages: int = 2, threads: int = 256,
):  # fmt: skip
    group, scale = heads // kv_heads, dim**-0.5
    tiles, steps = -(-length // block), -(-length // step)
    q_shape, kv_shape, row_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim), (batch, heads, length)
    rows = T.GemmWarpPolicy.FullRow

    @T.prim_func
    def differentiate(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        Out: T.Tensor(q_shape, dtype), dOut: T.Tensor(q_shape, dtype), logs: T.Tensor(row_shape, "float32"),
        dQ: T.Tensor(q_shape, dtype), dK: T.Tensor(kv_shape, dtype), dV: T.Tensor(kv_shape, dtype),
        deltas: T.Tensor(row_shape, "float32"),
    ):  # fmt: skip
        with T.Kernel(tiles, heads, batch, threads=threads) as (bx, head, b):
            product = T.alloc_fragment((block, dim), "float32")
            delta = T.alloc_fragment((block,), "float32")
            for i, j in T.Parallel(block, dim):
                product[i, j] = T.cast(Out[b, head, bx * block + i, j], "float32") * dOut[b, head, bx * block + i, j]
            T.reduce_sum(product, delta, dim=1)
            T.copy(delta, deltas[b, head, bx * block : (bx + 1) * block])

        with T.Kernel(tiles, kv_heads, batch, threads=threads) as (bx, kv_head, b):
            Ks = T.alloc_shared((block, dim), dtype)
            Vs = T.alloc_shared((block, dim), dtype)
            Qs = T.alloc_shared((step, dim), dtype)
            dOs = T.alloc_shared((step, dim), dtype)
            log = T.alloc_shared((step,), "float32")
            delta = T.alloc_shared((step,), "float32")
            s = T.alloc_fragment((block, step), "float32")
            ds = T.alloc_fragment((block, step), "float32")
            p_half = T.alloc_fragment((block, step), dtype)
            ds_half = T.alloc_fragment((block, step), dtype)
            dk = T.alloc_fragment((block, dim), "float32")
            dv = T.alloc_fragment((block, dim), "float32")
            first = bx * block
            T.copy(K[b, kv_head, first : first + block, :], Ks)
            T.copy(V[b, kv_head, first : first + block, :], Vs)
            T.clear(dk)
            T.clear(dv)
            skipped = first // step if is_causal else 0
            for k in T.Pipelined((steps - skipped) * group, num_stages=stages):
                head = kv_head * group + k % group
                row = (skipped + k // group) * step
                T.copy(Q[b, head, row : row + step, :], Qs)
                T.copy(dOut[b, head, row : row + step, :], dOs)
                T.copy(logs[b, head, row : row + step], log)
                T.copy(deltas[b, head, row : row + step], delta)
                T.gemm(Ks, Qs, s, transpose_B=True, policy=rows, clear_accum=True)
                T.gemm(Vs, dOs, ds, transpose_B=True, policy=rows, clear_accum=True)
                for i, j in T.Parallel(block, step):
                    s[i, j] = T.exp2(s[i, j] * (scale * LOG2_E) - log[j] * LOG2_E)
                if is_causal and row < first + block:
                    for i, j in T.Parallel(block, step):
                        s[i, j] = T.if_then_else(first + i <= row + j, s[i, j], 0)
                for i, j in T.Parallel(block, step):
                    ds[i, j] = s[i, j] * (ds[i, j] - delta[j])
                T.copy(s, p_half)
                T.copy(ds, ds_half)
                T.gemm(p_half, dOs, dv, policy=rows)
                T.gemm(ds_half, Qs, dk, policy=rows)
            for i, j in T.Parallel(block, dim):
                dk[i, j] *= scale
            T.copy(dk, dK[b, kv_head, first : first + block, :])
            T.copy(dv, dV[b, kv_head, first : first + block, :])

        with T.Kernel(tiles, heads, batch, threads=threads) as (bx, head, b):
            Qs = T.alloc_shared((block, dim), dtype)
            dOs = T.alloc_shared((block, dim), dtype)
            Ks = T.alloc_shared((step, dim), dtype)
            Vs = T.alloc_shared((step, dim), dtype)
            s = T.alloc_fragment((block, step), "float32")
            ds = T.alloc_fragment((block, step), "float32")
            ds_half = T.alloc_fragment((block, step), dtype)
            dq = T.alloc_fragment((block, dim), "float32")
            log = T.alloc_fragment((block,), "float32")
            delta = T.alloc_fragment((block,), "float32")
            # The longest rows first: what is left for the end is short.
            first = (tiles - 1 - bx) * block
            T.copy(Q[b, head, first : first + block, :], Qs)
            T.copy(dOut[b, head, first : first + block, :], dOs)
            T.copy(logs[b, head, first : first + block], log)
            T.copy(deltas[b, head, first : first + block], delta)
            T.clear(dq)
            for k in T.Pipelined(T.min((first + block) // step, steps) if is_causal else steps, num_stages=stages):
                T.copy(K[b, head // group, k * step : (k + 1) * step, :], Ks)
                T.copy(V[b, head // group, k * step : (k + 1) * step, :], Vs)
                T.gemm(Qs, Ks, s, transpose_B=True, policy=rows, clear_accum=True)
                T.gemm(dOs, Vs, ds, transpose_B=True, policy=rows, clear_accum=True)
                for i, j in T.Parallel(block, step):
                    s[i, j] = T.exp2(s[i, j] * (scale * LOG2_E) - log[i] * LOG2_E)
                if is_causal and (k + 1) * step > first + 1:
                    for i, j in T.Parallel(block, step):
                        s[i, j] = T.if_then_else(k * step + j <= first + i, s[i, j], 0)
                if not is_causal and length % step and (k + 1) * step > length:
                    # Where no column is, the score is 0, which may be far above those that the row's sum is of.
                    for i, j in T.Parallel(block, step):
                        s[i, j] = T.if_then_else(k * step + j < length, s[i, j], 0)
                for i, j in T.Parallel(block, step):
                    ds[i, j] = s[i, j] * (ds[i, j] - delta[i])
                T.copy(ds, ds_half)
                T.gemm(ds_half, Ks, dq, policy=rows)
            for i, j in T.Parallel(block, dim):
                dq[i, j] *= scale
            T.copy(dq, dQ[b, head, first : first + block, :])

    return differentiate


def reference(q, k, v, out, d_out, logs, is_causal):
    def shared(x):
        """Sums over the heads that have one K and V."""
        return x.reshape(x.shape[0], k.shape[1], -1, *x.shape[2:]).sum(axis=2)

    group = q.shape[1] // k.shape[1]
    k_each, v_each = (np.repeat(x, group, axis=1) for x in (k, v))
    p = np.exp(scores(q, k_each, is_causal) - logs[..., None])
    ds = p * (d_out @ v_each.swapaxes(2, 3) - (out * d_out).sum(axis=3, keepdims=True)) / math.sqrt(q.shape[3])
    return ds @ k_each, shared(ds.swapaxes(2, 3) @ q), shared(p.swapaxes(2, 3) @ d_out), None


def by_torch(is_causal):
    def run(q, k, v, out, d_out, logs):
        import torch

        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        attention = torch.nn.functional.scaled_dot_product_attention
        return torch.autograd.grad(attention(q, k, v, is_causal=is_causal, enable_gqa=True), (q, k, v), d_out)

    return run


def case(batch, heads, kv_heads, length, dim, is_causal, dtype="bfloat16", step_choices=(64, 32)):
    """`step_choices` are the tiles to go along by; without wgmma 32 leaves enough registers."""
    q_shape, kv_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim)

    def program(step):
        return lambda: attention_backward(batch, heads, kv_heads, length, dim, is_causal, dtype, step=step)

    def inputs(random):
        q, k, v, d_out = (normal(random, shape, dtype) for shape in (q_shape, kv_shape, kv_shape, q_shape))
        out, logs = forward(*(x.astype(np.float32) for x in (q, k, v)), is_causal)
        return q, k, v, out.astype(q.dtype), d_out, logs

    return Case(
        name=f"attention_backward {batch}x{length} {heads}/{kv_heads} heads of {dim}{' causal' * is_causal} {dtype}",
        programs=[program(step) for step in step_choices],
        inputs=inputs,
        outputs=[(q_shape, dtype), (kv_shape, dtype), (kv_shape, dtype), ((batch, heads, length), "float32")],
        reference=lambda *arrays: reference(*arrays, is_causal),
        peers={"torch, forward too": by_torch(is_causal)},
        bytes=2 * batch * length * dim * (4 * heads + 4 * kv_heads),
        # Of five products, as it is usually counted.
        flop=10 * batch * heads * length * length * dim // (2 if is_causal else 1),
        rtol=2e-2,
        atol=4e-2,
        options={"fast_math": True},
    )


CHECKED = [case(1, 2, 1, 200, 64, False, step_choices=[64]), case(1, 2, 2, 140, 64, True, step_choices=[64])]
CASES = [case(4, 16, 16, 4096, 128, is_causal) for is_causal in (False, True)]

if __name__ == "__main__":
    check(CHECKED)
