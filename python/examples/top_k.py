"""The k greatest of each row, in falling order, and their places: few of a short row, as a router of experts needs.

A row stays in registers. The greatest is found, and taken out, k times; of equal ones the first comes first, and NaN
is greater than all numbers, as for PyTorch.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def top_k(columns: int, k: int, rows: int, threads: int = 128):
    m = T.dynamic("m")

    @T.prim_func
    def select(
        X: T.Tensor((m, columns), "float32"), values: T.Tensor((m, k), "float32"), places: T.Tensor((m, k), "int32")
    ):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as block:
            x = T.alloc_fragment((rows, columns), "float32")
            left = T.alloc_fragment((rows, columns), "int32")
            place = T.alloc_fragment((rows, columns), "int32")
            greatest = T.alloc_fragment((rows,), "float32")
            first = T.alloc_fragment((rows,), "int32")
            T.copy(X[block * rows, 0], x)
            for i, j in T.Parallel(rows, columns):
                left[i, j] = j
            for n in T.serial(k):
                T.reduce_max(x, greatest, dim=1)
                for i, j in T.Parallel(rows, columns):
                    place[i, j] = T.if_then_else((x[i, j] == greatest[i]) | T.isnan(x[i, j]), left[i, j], columns)
                T.reduce_min(place, first, dim=1)
                for i, j in T.Parallel(rows, columns):
                    # Its place goes too: minus infinity may be a number of the row.
                    x[i, j] = T.if_then_else(j == first[i], -T.infinity("float32"), x[i, j])
                    left[i, j] = T.if_then_else(j == first[i], columns, left[i, j])
                for i in T.Parallel(rows):
                    values[block * rows + i, n] = greatest[i]
                    places[block * rows + i, n] = first[i]

    return select


def reference(x, k):
    places = np.lexsort((-x, ~np.isnan(x)), axis=1)[:, :k]
    return np.take_along_axis(x, places, axis=1), places


def case(m, columns, k):
    # A thread holds 16 numbers.
    rows = max(128 * 16 // columns, 1)
    return Case(
        name=f"top_k {k} of {m}x{columns}",
        programs=[lambda: top_k(columns, k, rows)],
        inputs=lambda random: [normal(random, (m, columns), "float32")],
        outputs=[((m, k), "float32"), ((m, k), "int32")],
        reference=lambda x: reference(x, k),
        peers={"torch": lambda x: tuple(x.topk(k, dim=1))},
        bytes=m * (4 * columns + 8 * k),
        rtol=0,
        atol=0,
    )


CHECKED = [case(21, 256, 8), case(3, 100, 4)]
CASES = [case(65536, 256, 8), case(65536, 64, 6), case(16384, 1024, 16)]

if __name__ == "__main__":
    check(CHECKED)
