"""Softmax over the rows of a matrix: each block holds its rows in registers, and reads them once."""

import math

import numpy as np
from cases import Case, check, normal, rows_and_threads

import tilec.language as T

LOG2_E = math.log2(math.e)


def softmax(columns: int, dtype: str, rows: int, threads: int, blocks: int | None = None):
    """Of `blocks` blocks each goes from row to row, and fetches the next one; without them `rows` rows have a block."""
    m = T.dynamic("m")

    @T.macro
    def normalize(x, count):
        greatest = T.alloc_fragment((count,), "float32")
        total = T.alloc_fragment((count,), "float32")
        T.reduce_max(x, greatest, dim=1)
        for i, j in T.Parallel(count, columns):
            x[i, j] = T.exp2((x[i, j] - greatest[i]) * LOG2_E)
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(count, columns):
            x[i, j] = x[i, j] * (1 / total[i])  # one division a row

    @T.prim_func
    def softmax_rows(X: T.Tensor((m, columns), dtype), Y: T.Tensor((m, columns), dtype)):
        if blocks is None:
            with T.Kernel(T.ceildiv(m, rows), threads=threads) as block:
                T.annotate_min_blocks_per_sm(1024 // threads)  # while some reduce, others load
                x = T.alloc_fragment((rows, columns), "float32")
                T.copy(X[block * rows, 0], x)
                normalize(x, rows)
                T.copy(x, Y[block * rows, 0])
        else:
            with T.Kernel(blocks, threads=threads) as block:
                row = T.alloc_shared((1, columns), dtype)
                x = T.alloc_fragment((1, columns), "float32")
                for n in T.Pipelined(T.ceildiv(m - block, blocks), num_stages=2):
                    T.copy(X[n * blocks + block, 0], row)
                    T.copy(row, x)
                    normalize(x, 1)
                    T.copy(x, Y[n * blocks + block, 0])

    return softmax_rows


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


MULTIPROCESSORS = 132
"""Of an H100 or H200."""
WIDE = 32768
"""Columns from which on a row leaves no room for another block that would load while one reduces."""


def choices(columns):
    """Rows of a block, threads, and blocks that go from row to row."""
    held = [rows_and_threads(columns, count) for count in (32, 16)]
    return held if columns < WIDE else [(1, 512, MULTIPROCESSORS), *held]


def case(m, columns, dtype="float32", tried=None):
    def program(*choice):
        return lambda: softmax(columns, dtype, *choice)

    return Case(
        name=f"softmax {m}x{columns} {dtype}",
        programs=[program(*choice) for choice in tried or choices(columns)],
        inputs=lambda random: [normal(random, (m, columns), dtype)],
        outputs=[((m, columns), dtype)],
        reference=reference,
        peers={"torch": lambda x: x.softmax(dim=1)},
        bytes=2 * m * columns * (4 if dtype == "float32" else 2),
        rtol=1e-5 if dtype == "float32" else 1e-2,
        atol=1e-7 if dtype == "float32" else 1e-4,
    )


CHECKED = [case(101, 512), case(5, 8192, "bfloat16"), case(7, 4096, "bfloat16", [(1, 256, 3)])]
SHAPES = [(65536, 1024), (16384, 4096), (16384, 8192), (4096, 16384), (4096, 32768)]
CASES = [case(*shape, "bfloat16") for shape in SHAPES]

if __name__ == "__main__":
    check(CHECKED)
