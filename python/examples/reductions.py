"""Sums of columns, and the place of the greatest number of each row.

A sum of columns reads along rows, so that several blocks share a column: each adds up some of the rows, and a second
kernel of the program adds up what they have, in an order that does not change. A row's greatest number is found in
registers; of equal ones the first counts.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def column_sums(
    m: int, n: int, dtype: str, splits: int,
    block_M: int = 32, block_N: int = 256, stages: int = 4, threads: int = 256,
):  # fmt: skip
    steps = -(-m // (splits * block_M))

    @T.prim_func
    def add_rows(X: T.Tensor((m, n), dtype), sums: T.Tensor((n,), "float32"), parts: T.Tensor((splits, n), "float32")):
        with T.Kernel(T.ceildiv(n, block_N), splits, threads=threads) as (bx, split):
            Xs = T.alloc_shared((block_M, block_N), dtype)
            total = T.alloc_fragment((block_M, block_N), "float32")
            columns = T.alloc_fragment((block_N,), "float32")
            T.clear(total)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(X[(split * steps + k) * block_M, bx * block_N], Xs)
                for i, j in T.Parallel(block_M, block_N):
                    total[i, j] += Xs[i, j]
            T.reduce_sum(total, columns, dim=0)
            T.copy(columns, parts[split, bx * block_N : (bx + 1) * block_N])
        with T.Kernel(T.ceildiv(n, 256), threads=256) as bx:
            columns = T.alloc_fragment((256,), "float32")
            T.clear(columns)
            for split in T.unroll(splits):
                for j in T.Parallel(256):
                    columns[j] += parts[split, bx * 256 + j]
            T.copy(columns, sums[bx * 256 : (bx + 1) * 256])

    return add_rows


def argmax(columns: int, dtype: str, rows: int, threads: int = 256):
    m = T.dynamic("m")

    @T.prim_func
    def find(X: T.Tensor((m, columns), dtype), places: T.Tensor((m,), "int32")):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as block:
            x = T.alloc_fragment((rows, columns), dtype)
            found = T.alloc_fragment((rows,), "int32")
            T.copy(X[block * rows, 0], x)
            T.reduce_argmax(x, found, dim=1)
            T.copy(found, places[block * rows : (block + 1) * rows])

    return find


def sum_by_torch(x):
    import torch

    return x.sum(dim=0, dtype=torch.float32)


def sums_case(m, n, dtype="bfloat16", splits=16):
    return Case(
        name=f"column_sums {m}x{n} {dtype}",
        programs=[lambda: column_sums(m, n, dtype, splits)],
        inputs=lambda random: [normal(random, (m, n), dtype)],
        outputs=[((n,), "float32"), ((splits, n), "float32")],
        reference=lambda x: (x.sum(axis=0), None),
        peers={"torch": sum_by_torch},
        bytes=2 * m * n + 4 * n,
        rtol=1e-4,
        atol=1e-3,
    )


def argmax_case(m, columns, dtype="bfloat16"):
    rows = max(4096 // columns, 1)
    return Case(
        name=f"argmax {m}x{columns} {dtype}",
        programs=[lambda: argmax(columns, dtype, rows)],
        inputs=lambda random: [normal(random, (m, columns), dtype)],
        outputs=[((m,), "int32")],
        reference=lambda x: np.argmax(x, axis=1),
        peers={"torch": lambda x: x.argmax(dim=1)},
        bytes=2 * m * columns + 4 * m,
        rtol=0,
        atol=0,
    )


CHECKED = [sums_case(300, 520, splits=3), argmax_case(7, 1024), argmax_case(3, 5000, "float32")]
CASES = [sums_case(16384, 4096), sums_case(65536, 1024), argmax_case(16384, 4096), argmax_case(8192, 16384)]

if __name__ == "__main__":
    check(CHECKED)
