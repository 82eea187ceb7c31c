"""Attention, softmax(Q K^T / sqrt(d)) V: causal or not, several heads of Q for each one of K and V.

Beside the result it leaves the logarithm of each row's sum: `attention_backward.py` takes that to compute the weights
again instead of keeping them.

A block keeps its rows of Q, and what it adds up for them, on the chip, and goes over K and V tile by tile: the greatest
score so far scales what has been added up. P is a fragment, which the second product reads from registers.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def heads_together(heads: int, length: int, dim: int) -> int:
    """Returns how many heads go through their rows at the same time: K and V of so many fit into the L2 cache."""
    fitting = 2**25 // (2 * length * dim * 2)
    return max(n for n in range(1, heads + 1) if heads % n == 0 and n <= max(fitting, 1))


def flash_attention(
    batch: int, heads: int, kv_heads: int, length: int, dim: int, causal: bool, block_N: int = 128,
    dtype: str = "float16", blocks: int | None = None, block_M: int = 128,
):  # fmt: skip
    """Of `blocks` blocks each goes from tile to tile; without them, each tile of rows has a block.

    Where it is causal, a block does the longest rows that are left and then the shortest ones, so that all blocks have
    as much to do. Of an odd number of tiles that are halved so, the one in the middle is computed twice.
    """
    together = heads_together(heads, length, dim)
    tiles, groups = T.ceildiv(length, block_M), batch * heads // together
    scale = dim**-0.5 * LOG2_E
    q_shape, kv_shape, row_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim), (batch, heads, length)
    rows = T.GemmWarpPolicy.FullRow

    @T.macro
    def attend_tile(Q, K, V, Out, logs, member, tile, group):
        b, head = group * together // heads, (group * together + member) % heads
        # The longest rows of all these heads first: what is left for the end is short.
        first = (tiles - 1 - tile) * block_M if causal else tile * block_M
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
        for i in T.Parallel(block_M):
            total[i] = T.log(total[i]) + greatest[i] * (scale / LOG2_E)
        T.copy(o, Out[b, head, first : first + block_M, :])
        T.copy(total, logs[b, head, first : first + block_M])

    halves = T.ceildiv(tiles, 2) if causal else tiles
    count = together * halves * groups

    def place(n, block):
        """Returns which head of its group, tile and group the block has in round n."""
        at = (n // 2 if causal else n) * blocks + block
        tile = at // together % halves
        if causal:
            tile = T.if_then_else(n % 2 == 0, tile, tiles - 1 - tile)
        return at % together, tile, at // together // halves

    if blocks is not None:

        @T.prim_func
        def attend(
            Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
            Out: T.Tensor(q_shape, dtype), logs: T.Tensor(row_shape, "float32"),
        ):  # fmt: skip
            with T.Kernel(blocks, threads=2 * block_M) as block:
                # Two stages: the next tile's rows of Q are fetched while this one is computed.
                for n in T.Pipelined(T.ceildiv(count - block, blocks) * (2 if causal else 1), num_stages=2):
                    attend_tile(Q, K, V, Out, logs, *place(n, block))

        return attend

    @T.prim_func
    def attend(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        Out: T.Tensor(q_shape, dtype), logs: T.Tensor(row_shape, "float32"),
    ):  # fmt: skip
        with T.Kernel(together, tiles, groups, threads=2 * block_M) as (member, tile, group):
            attend_tile(Q, K, V, Out, logs, member, tile, group)

    return attend


def scores(q, k, causal):
    s = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3])
    return np.where(np.tri(s.shape[2], dtype=bool), s, -np.inf) if causal else s


def forward(q, k, v, causal):
    """Returns attention and the logarithms of the rows' sums, in the types of the arguments."""
    group = q.shape[1] // k.shape[1]
    s = scores(q, np.repeat(k, group, axis=1), causal)
    greatest = s.max(axis=3, keepdims=True)
    logs = np.log(np.exp(s - greatest).sum(axis=3, keepdims=True)) + greatest
    return np.exp(s - logs) @ np.repeat(v, group, axis=1), logs[..., 0]


def by_cudnn(causal):
    def run(q, k, v):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])

    return run


MULTIPROCESSORS = 132
"""Of an H100 or H200."""


def choices(dim):
    """Rows of Q, rows of K and V, and blocks that go from tile to tile, if not each tile has one.

    As many warp groups as registers allow take turns at the tensor cores. Without wgmma 64 rows of K leave enough
    registers. Blocks that fetch the next rows of Q ahead pay where there are few steps.
    """
    if dim > 128:
        return [(128, 64, None), (128, 80, None)]
    block_M = 192 if dim <= 64 else 128
    return [(block_M, 128, None), (block_M, 128, MULTIPROCESSORS), (128, 64, None)]


def case(batch, heads, kv_heads, length, dim, causal, tried=None, dtype="float16"):
    def program(block_M, block_N, blocks):
        return lambda: flash_attention(batch, heads, kv_heads, length, dim, causal, block_N, dtype, blocks, block_M)

    q_shape, kv_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim)
    precision = 5e-3 if dtype == "float16" else 2e-2
    return Case(
        name=f"flash_attention {batch}x{length} {heads}/{kv_heads} heads of {dim}{' causal' * causal} {dtype}",
        programs=[program(*choice) for choice in tried or choices(dim)],
        inputs=lambda random: [normal(random, shape, dtype) for shape in (q_shape, kv_shape, kv_shape)],
        outputs=[(q_shape, dtype), ((batch, heads, length), "float32")],
        reference=lambda q, k, v: forward(q, k, v, causal),
        peers={"cuDNN": by_cudnn(causal)},
        bytes=4 * batch * length * dim * (heads + kv_heads),
        flop=4 * batch * heads * length * length * dim // (2 if causal else 1),
        rtol=precision,
        atol=precision,
        options={"fast_math": True},
    )


BOTH = (False, True)
CHECKED = [
    case(1, *shape, causal, [(128, 128, None)]) for causal in BOTH for shape in ((2, 1, 200, 64), (1, 1, 256, 128))
]
CHECKED += [
    case(1, 1, 1, 140, 128, True, [(128, 64, None)], "bfloat16"),
    *(case(2, 2, 1, 300, 64, causal, [(192, 128, 3)]) for causal in BOTH),
]
CASES = [
    case(batch, 2048 // dim, 2048 // dim // group, length, dim, causal)
    for dim in (64, 128, 256)
    for batch, length, group in ((16, 1024, 1), (4, 4096, 1), (1, 16384, 1), (4, 4096, 4))
    for causal in BOTH
]
CASES += [case(4, 16, 16, 4096, 128, causal, dtype="bfloat16") for causal in BOTH]

if __name__ == "__main__":
    check(CHECKED)
