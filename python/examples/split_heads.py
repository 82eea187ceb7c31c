"""From the product of a layer with its weights for Q, K and V to the heads of each, Q and K rotated by their positions.

One kernel instead of a split, two rotations and three transpositions. The gradient is the same way back, with angles
of the other sign.
"""

import numpy as np
from cases import Case, check, normal
from rope import angles
from rope import reference as rotated

import tilec.language as T


def split_heads(
    heads: int, kv_heads: int, length: int, dim: int, dtype: str, is_backward: bool, positions: int = 4,
    threads: int = 256,
):  # fmt: skip
    batch, half, all_heads = T.dynamic("batch"), dim // 2, heads + 2 * kv_heads
    x_shape, table = (batch, length, all_heads, dim), (length, half)
    q_shape, kv_shape = (batch, heads, length, dim), (batch, kv_heads, length, dim)

    @T.macro
    def rotate(X, offset, cos, sin, Y, heads, b, first):
        for i, head, j in T.Parallel(positions, heads, half):
            x, y = X[b, first + i, offset + head, j], X[b, first + i, offset + head, j + half]
            Y[b, head, first + i, j] = x * cos[first + i, j] - y * sin[first + i, j]
            Y[b, head, first + i, j + half] = y * cos[first + i, j] + x * sin[first + i, j]

    @T.macro
    def rotate_back(X, offset, cos, sin, Y, heads, b, first):
        for i, head, j in T.Parallel(positions, heads, half):
            x, y = Y[b, head, first + i, j], Y[b, head, first + i, j + half]
            X[b, first + i, offset + head, j] = x * cos[first + i, j] + y * sin[first + i, j]
            X[b, first + i, offset + head, j + half] = y * cos[first + i, j] - x * sin[first + i, j]

    @T.prim_func
    def heads_of_product(
        X: T.Tensor(x_shape, dtype), cos: T.Tensor(table, "float32"), sin: T.Tensor(table, "float32"),
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, positions), batch, threads=threads) as (bx, b):
            rotate(X, 0, cos, sin, Q, heads, b, bx * positions)
            rotate(X, heads, cos, sin, K, kv_heads, b, bx * positions)
            for i, head, j in T.Parallel(positions, kv_heads, dim):
                V[b, head, bx * positions + i, j] = X[b, bx * positions + i, heads + kv_heads + head, j]

    @T.prim_func
    def product_of_heads(
        dQ: T.Tensor(q_shape, dtype), dK: T.Tensor(kv_shape, dtype), dV: T.Tensor(kv_shape, dtype),
        cos: T.Tensor(table, "float32"), sin: T.Tensor(table, "float32"), dX: T.Tensor(x_shape, dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, positions), batch, threads=threads) as (bx, b):
            rotate_back(dX, 0, cos, sin, dQ, heads, b, bx * positions)
            rotate_back(dX, heads, cos, sin, dK, kv_heads, b, bx * positions)
            for i, head, j in T.Parallel(positions, kv_heads, dim):
                dX[b, bx * positions + i, heads + kv_heads + head, j] = dV[b, head, bx * positions + i, j]

    return product_of_heads if is_backward else heads_of_product


def by_numpy(x, cos, sin, heads, kv_heads):
    q, k, v = np.split(x, [heads, heads + kv_heads], axis=2)
    return tuple(y.swapaxes(1, 2) for y in (*rotated(q, k, cos, sin), v))


def back_by_numpy(dq, dk, dv, cos, sin):
    dq, dk, dv = (y.swapaxes(1, 2) for y in (dq, dk, dv))
    return np.concatenate([*rotated(dq, dk, cos, -sin), dv], axis=2)


def by_torch(heads, kv_heads):
    def run(x, cos, sin):
        import torch

        c, s = cos[None, :, None, :], sin[None, :, None, :]

        def turned(x):
            first, second = x.chunk(2, dim=3)
            return torch.cat([first * c - second * s, second * c + first * s], dim=3).to(x.dtype)

        q, k, v = x.split([heads, kv_heads, kv_heads], dim=2)
        return tuple(y.transpose(1, 2).contiguous() for y in (turned(q), turned(k), v))

    return run


def case(batch, length, heads, kv_heads, dim, dtype="bfloat16", is_backward=False):
    x_shape = (batch, length, heads + 2 * kv_heads, dim)
    split_shapes = [(batch, h, length, dim) for h in (heads, kv_heads, kv_heads)]
    taken, given = (split_shapes, [x_shape]) if is_backward else ([x_shape], split_shapes)
    way = back_by_numpy if is_backward else lambda *arrays: by_numpy(*arrays, heads, kv_heads)
    return Case(
        name=f"split_heads{' back' * is_backward} {batch}x{length} {heads}/{kv_heads} heads of {dim} {dtype}",
        programs=[lambda: split_heads(heads, kv_heads, length, dim, dtype, is_backward)],
        inputs=lambda random: [*(normal(random, shape, dtype) for shape in taken), *angles(length, dim)],
        outputs=[(shape, dtype) for shape in given],
        reference=way,
        peers={} if is_backward else {"torch": by_torch(heads, kv_heads)},
        bytes=4 * batch * length * (heads + 2 * kv_heads) * dim + 4 * length * dim,
    )


CHECKED = [case(2, 33, 4, 2, 64, is_backward=back) for back in (False, True)]
CASES = [case(4, 4096, 32, 8, 128), case(4, 4096, 32, 8, 128, is_backward=True)]

if __name__ == "__main__":
    check(CHECKED)
