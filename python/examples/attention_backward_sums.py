"""The gradients of attention by five products: one kernel adds dQ up while it goes along the rows.

`attention_backward.py` has seven, and equal bits for equal inputs. Here blocks of K and V add their parts of dQ in
`float32`, by the copy engine (`T.atomic_add` of a tile), in no certain order, so that the last bits differ from run to
run, as those of other libraries' backward passes do.
"""

from attention_backward import by_torch, reference
from cases import Case, check, normal
from flash_attention import LOG2_E, forward

import tilec.language as T


def attention_backward_sums(
    batch: int, heads: int, length: int, dim: int, is_causal: bool, dtype: str,
    block: int = 128, step: int = 64, stages: int = 2, rounds_late: bool = False, multiplies_early: bool = False,
    threads: int = 256,
):  # fmt: skip
    """`rounds_late`: P becomes a factor when dS is one, so that fewer registers are held where steps are long.

    `multiplies_early`: P's product is started before dS is computed, and not behind it.
    """
    scale = dim**-0.5
    tiles, steps = -(-length // block), -(-length // step)
    shape, row_shape = (batch, heads, length, dim), (batch, heads, length)
    rows = T.GemmWarpPolicy.FullRow
    across = rows if step >= 64 * threads // 128 else T.GemmWarpPolicy.FullCol

    @T.prim_func
    def differentiate(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype),
        Out: T.Tensor(shape, dtype), dOut: T.Tensor(shape, dtype), logs: T.Tensor(row_shape, "float32"),
        dQ: T.Tensor(shape, dtype), dK: T.Tensor(shape, dtype), dV: T.Tensor(shape, dtype),
        deltas: T.Tensor(row_shape, "float32"), logs2: T.Tensor(row_shape, "float32"),
        sums: T.Tensor(shape, "float32"),
    ):  # fmt: skip
        with T.Kernel(tiles, heads, batch, threads=threads) as (bx, head, b):
            product = T.alloc_fragment((block, dim), "float32")
            delta = T.alloc_fragment((block,), "float32")
            log = T.alloc_fragment((block,), "float32")
            for i, j in T.Parallel(block, dim):
                product[i, j] = T.cast(Out[b, head, bx * block + i, j], "float32") * dOut[b, head, bx * block + i, j]
            T.reduce_sum(product, delta, dim=1)
            T.copy(delta, deltas[b, head, bx * block : (bx + 1) * block])
            T.copy(logs[b, head, bx * block : (bx + 1) * block], log)
            for i in T.Parallel(block):
                log[i] *= LOG2_E
            T.copy(log, logs2[b, head, bx * block : (bx + 1) * block])
            for i, j in T.Parallel(block, dim):
                sums[b, head, bx * block + i, j] = 0.0

        with T.Kernel(tiles, heads, batch, threads=threads) as (bx, head, b):
            Ks = T.alloc_shared((block, dim), dtype)
            Vs = T.alloc_shared((block, dim), dtype)
            Qs = T.alloc_shared((step, dim), dtype)
            dOs = T.alloc_shared((step, dim), dtype)
            log = T.alloc_shared((step,), "float32")
            delta = T.alloc_shared((step,), "float32")
            dSs = T.alloc_shared((block, step), dtype)
            s = T.alloc_fragment((block, step), "float32")
            ds = T.alloc_fragment((block, step), "float32")
            p_half = T.alloc_fragment((block, step), dtype)
            ds_half = T.alloc_fragment((block, step), dtype)
            dq = T.alloc_fragment((step, dim), "float32")
            dk = T.alloc_fragment((block, dim), "float32")
            dv = T.alloc_fragment((block, dim), "float32")
            first = bx * block
            T.copy(K[b, head, first : first + block, :], Ks)
            T.copy(V[b, head, first : first + block, :], Vs)
            T.clear(dk)
            T.clear(dv)
            skipped = first // step if is_causal else 0
            for k in T.Pipelined(steps - skipped, num_stages=stages):
                # Blocks of a head begin apart from each other, so that they do not add to the same rows at once.
                row = (skipped + k if is_causal else (k + bx) % steps) * step
                T.copy(Q[b, head, row : row + step, :], Qs)
                T.copy(dOut[b, head, row : row + step, :], dOs)
                T.copy(logs2[b, head, row : row + step], log)
                T.copy(deltas[b, head, row : row + step], delta)
                T.gemm(Ks, Qs, s, transpose_B=True, policy=rows, clear_accum=True)
                T.gemm(Vs, dOs, ds, transpose_B=True, policy=rows, clear_accum=True)
                for i, j in T.Parallel(block, step):
                    s[i, j] = T.exp2(s[i, j] * (scale * LOG2_E) - log[j])
                if is_causal and row < first + block:
                    for i, j in T.Parallel(block, step):
                        s[i, j] = T.if_then_else(first + i <= row + j, s[i, j], 0)
                if not is_causal and length % block and first + block > length:
                    # Where no row of K is, the score is 0, which may be far above those that the row's sum is of.
                    for i, j in T.Parallel(block, step):
                        s[i, j] = T.if_then_else(first + i < length, s[i, j], 0)
                if not rounds_late:
                    T.copy(s, p_half)
                if multiplies_early:
                    T.gemm(p_half, dOs, dv, policy=rows)
                for i, j in T.Parallel(block, step):
                    ds[i, j] = s[i, j] * (ds[i, j] - delta[j])
                T.copy(ds, ds_half)
                T.copy(ds_half, dSs)
                if rounds_late:
                    T.copy(s, p_half)
                if not multiplies_early:
                    T.gemm(p_half, dOs, dv, policy=rows)
                T.gemm(dSs, Ks, dq, transpose_A=True, policy=across, clear_accum=True)
                T.gemm(ds_half, Qs, dk, policy=rows)
                T.atomic_add(sums[b, head, row : row + step, :], dq)
            for i, j in T.Parallel(block, dim):
                dk[i, j] *= scale
            T.copy(dk, dK[b, head, first : first + block, :])
            T.copy(dv, dV[b, head, first : first + block, :])

        with T.Kernel(tiles, heads, batch, threads=threads) as (bx, head, b):
            for i, j in T.Parallel(block, dim):
                dQ[b, head, bx * block + i, j] = T.cast(sums[b, head, bx * block + i, j] * scale, dtype)

    return differentiate


CHOICES = {64: ((128, 2, True), (128, 2)), 128: ((64, 3), (64, 2), (64, 2, False, True))}
"""The steps that heads of so many columns have registers for, stages, and whether P is rounded late or used early."""


def case(batch, heads, length, dim, is_causal, dtype="bfloat16"):
    shape, row_shape = (batch, heads, length, dim), (batch, heads, length)

    def program(step, *choice):
        return lambda: attention_backward_sums(batch, heads, length, dim, is_causal, dtype, 128, step, *choice)

    def inputs(random):
        q, k, v, d_out = (normal(random, shape, dtype) for _ in range(4))
        out, logs = forward(*(x.astype("float32") for x in (q, k, v)), is_causal)
        return q, k, v, out.astype(q.dtype), d_out, logs

    return Case(
        name=f"attention_backward_sums {batch}x{length} {heads} heads of {dim}{' causal' * is_causal} {dtype}",
        programs=[program(*choice) for choice in CHOICES[dim]],
        inputs=inputs,
        outputs=[(shape, dtype)] * 3 + [(row_shape, "float32")] * 2 + [(shape, "float32")],
        reference=lambda *arrays: (*reference(*arrays, is_causal), None, None),
        peers={"torch, forward too": by_torch(is_causal)},
        bytes=2 * batch * heads * length * dim * 8,
        flop=10 * batch * heads * length * length * dim // (2 if is_causal else 1),
        rtol=2e-2,
        atol=4e-2,
        options={"fast_math": True},
    )


CHECKED = [case(1, 2, 200, 64, False), case(1, 2, 140, 64, True), case(1, 1, 200, 128, True)]
CASES = [case(4, 2048 // dim, 4096, dim, is_causal) for dim in (64, 128) for is_causal in (False, True)]

if __name__ == "__main__":
    check(CHECKED)
