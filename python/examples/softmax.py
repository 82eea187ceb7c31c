"""Softmax over the rows of a matrix: each block holds its rows in registers, and reads them once."""

import math

import numpy as np
from cases import Case, check, normal, rows_and_threads

import tilec.language as T

LOG2_E = math.log2(math.e)


def softmax(columns: int, dtype: str, rows: int, threads: int):
    m = T.dynamic("m")

    @T.prim_func
    def softmax_rows(X: T.Tensor((m, columns), dtype), Y: T.Tensor((m, columns), dtype)):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as block:
            T.annotate_min_blocks_per_sm(1024 // threads)  # while some reduce, others load
            x = T.alloc_fragment((rows, columns), "float32")
            greatest = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[block * rows, 0], x)
            T.reduce_max(x, greatest, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] = T.exp2((x[i, j] - greatest[i]) * LOG2_E)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] = x[i, j] * (1 / total[i])  # one division a row
            T.copy(x, Y[block * rows, 0])

    return softmax_rows


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def case(m, columns, dtype="float32"):
    def program(held):
        return lambda: softmax(columns, dtype, *rows_and_threads(columns, held))

    return Case(
        name=f"softmax {m}x{columns} {dtype}",
        programs=[program(32), program(16)],
        inputs=lambda random: [normal(random, (m, columns), dtype)],
        outputs=[((m, columns), dtype)],
        reference=reference,
        peers={"torch": lambda x: x.softmax(dim=1)},
        bytes=2 * m * columns * (4 if dtype == "float32" else 2),
        rtol=1e-5 if dtype == "float32" else 1e-2,
        atol=1e-7 if dtype == "float32" else 1e-4,
    )


CHECKED = [case(101, 512), case(5, 8192, "bfloat16")]
CASES = [case(m, columns, "bfloat16") for m, columns in ((65536, 1024), (16384, 4096), (16384, 8192), (4096, 16384))]

if __name__ == "__main__":
    check(CHECKED)
