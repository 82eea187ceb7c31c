"""Rotary embedding: the pair (x[j], x[j + d/2]) of each head is turned by an angle that depends on position and j.

Q and K are rotated by one kernel; a block has a few positions, whose angles all heads share.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def rope(heads: int, kv_heads: int, length: int, dim: int, dtype: str, positions: int = 4, threads: int = 256):
    batch, half = T.dynamic("batch"), dim // 2
    q_shape, k_shape, table = (batch, length, heads, dim), (batch, length, kv_heads, dim), (length, half)

    @T.macro
    def rotate(X, Y, cos, sin, heads, b, first):
        for i, head, j in T.Parallel(positions, heads, half):
            x, y = X[b, first + i, head, j], X[b, first + i, head, j + half]
            Y[b, first + i, head, j] = x * cos[first + i, j] - y * sin[first + i, j]
            Y[b, first + i, head, j + half] = y * cos[first + i, j] + x * sin[first + i, j]

    @T.prim_func
    def rotate_both(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(k_shape, dtype),
        cos: T.Tensor(table, "float32"), sin: T.Tensor(table, "float32"),
        Q_out: T.Tensor(q_shape, dtype), K_out: T.Tensor(k_shape, dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, positions), batch, threads=threads) as (bx, b):
            rotate(Q, Q_out, cos, sin, heads, b, bx * positions)
            rotate(K, K_out, cos, sin, kv_heads, b, bx * positions)

    return rotate_both


def angles(length, dim, base=10000.0):
    """Returns cosine and sine of the angle of each position and pair, (length, dim / 2)."""
    angle = np.arange(length)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def reference(q, k, cos, sin):
    def rotated(x):
        first, second = np.split(x, 2, axis=3)
        c, s = cos[None, :, None, :], sin[None, :, None, :]
        return np.concatenate([first * c - second * s, second * c + first * s], axis=3)

    return rotated(q), rotated(k)


def by_torch(q, k, cos, sin):
    import torch

    def rotated(x):
        first, second = x.chunk(2, dim=3)
        c, s = cos[None, :, None, :], sin[None, :, None, :]
        return torch.cat([first * c - second * s, second * c + first * s], dim=3).to(x.dtype)

    return rotated(q), rotated(k)


def case(batch, length, heads, kv_heads, dim, dtype="bfloat16"):
    shapes = [(batch, length, heads, dim), (batch, length, kv_heads, dim)]
    return Case(
        name=f"rope {batch}x{length} {heads}/{kv_heads} heads of {dim} {dtype}",
        programs=[lambda: rope(heads, kv_heads, length, dim, dtype)],
        inputs=lambda random: [*(normal(random, shape, dtype) for shape in shapes), *angles(length, dim)],
        outputs=[(shape, dtype) for shape in shapes],
        reference=reference,
        peers={"torch": by_torch},
        bytes=4 * batch * length * (heads + kv_heads) * dim + 4 * length * dim,
    )


CHECKED = [case(2, 33, 4, 2, 64), case(1, 9, 3, 1, 128, "float16")]
CASES = [case(4, 4096, 32, 8, 128), case(1, 32768, 16, 16, 64)]

if __name__ == "__main__":
    check(CHECKED)
