"""Attention, softmax(Q K^T / sqrt(d)) V: causal or not, several heads of Q for each one of K and V.

A block keeps its rows of Q, and what it adds up for them, on the chip, and goes over K and V tile by tile: the greatest
score so far scales what has been added up. P is a fragment, which the second product reads from registers.
With a GPU at hand it is measured beside cuDNN, through torch.
"""

import math

import numpy as np

import tilec
import tilec.language as T

LOG2_E = math.log2(math.e)


@tilec.jit(out_idx=-1, fast_math=True)
def flash_attention(batch: int, heads: int, kv_heads: int, length: int, dim: int, causal: bool, block_N: int = 128):
    # As many warp groups as registers allow take turns at the tensor cores.
    block_M = 192 if dim <= 64 and not causal else 128
    scale = dim**-0.5 * LOG2_E
    q_shape, kv_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim)
    dtype, rows = T.float16, T.GemmWarpPolicy.FullRow

    @T.prim_func
    def attend(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        Out: T.Tensor(q_shape, dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=2 * block_M) as (bx, head, b):
            # The longest rows first: what is left for the end is short.
            first = (T.ceildiv(length, block_M) - 1 - bx) * block_M if causal else bx * block_M
            Qs = T.alloc_shared((block_M, dim), dtype)
            Ks = T.alloc_shared((block_N, dim), dtype)
            Vs = T.alloc_shared((block_N, dim), dtype)
            s = T.alloc_fragment((block_M, block_N), T.float32)
            p = T.alloc_fragment((block_M, block_N), dtype)
            o = T.alloc_fragment((block_M, dim), T.float32)
            greatest = T.alloc_fragment((block_M,), T.float32)
            before = T.alloc_fragment((block_M,), T.float32)
            rescale = T.alloc_fragment((block_M,), T.float32)
            part = T.alloc_fragment((block_M,), T.float32)
            total = T.alloc_fragment((block_M,), T.float32)
            T.copy(Q[b, head, first : first + block_M, :], Qs)
            T.clear(o)
            T.clear(total)
            T.fill(greatest, -T.infinity(T.float32))
            steps = T.ceildiv(T.min(first + block_M, length) if causal else length, block_N)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(K[b, head // (heads // kv_heads), k * block_N : (k + 1) * block_N, :], Ks)
                T.clear(s)
                T.gemm(Qs, Ks, s, transpose_B=True, policy=rows)
                if (causal and (k + 1) * block_N > first + 1) or (k + 1) * block_N > length:
                    for i, j in T.Parallel(block_M, block_N):
                        last = T.min(first + i, length - 1) if causal else length - 1
                        s[i, j] = T.if_then_else(k * block_N + j <= last, s[i, j], -T.infinity(T.float32))
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
            T.copy(o, Out[b, head, first : first + block_M, :])

    return attend


def reference(q, k, v, causal):
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.astype(np.float64) for x in (q, np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)))
    s = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3])
    if causal:
        s = np.where(np.tri(s.shape[2], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(axis=3, keepdims=True))
    return p @ v / p.sum(axis=3, keepdims=True)


def check(batch, heads, kv_heads, length, dim, causal):
    shapes = ((batch, heads, length, dim), *[(batch, kv_heads, length, dim)] * 2)
    q, k, v = (np.random.standard_normal(shape).astype(np.float16) for shape in shapes)
    o = flash_attention(batch, heads, kv_heads, length, dim, causal)(q, k, v)
    np.testing.assert_allclose(o, reference(q, k, v, causal), rtol=5e-3, atol=5e-3)


def measure(batch, heads, length, dim, causal):
    """TFLOP/s of the kernel and of cuDNN."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(batch, heads, length, dim, device="cuda").half() for _ in range(3))
    kernel = flash_attention(batch, heads, heads, length, dim, causal)

    def time(call):
        times = []
        for _ in range(12):
            torch.cuda._sleep(10_000_000)
            start, end = torch.cuda.Event(True), torch.cuda.Event(True)
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        return sorted(times)[6]

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        theirs = time(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))
    work = 4e-9 * batch * heads * length * length * dim * (0.5 if causal else 1)
    return work / time(lambda: kernel(q, k, v)), work / theirs


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 9


for causal in (False, True):
    check(1, 4, 2, 200, 64, causal)
    check(1, 1, 1, 256, 128, causal)
print("flash_attention: correct")
if __name__ == "__main__" and has_gpu():
    for shape in ((4, 32, 4096, 64), (4, 16, 4096, 128)):
        for causal in (False, True):
            ours, theirs = measure(*shape, causal)
            print(f"{shape} {'causal' if causal else 'full'}: {ours:.0f} TFLOP/s, cuDNN {theirs:.0f}")
