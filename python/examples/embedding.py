"""Y[t] = Table[ids[t]], the rows of a table that tokens name. Ids outside of the table give zeros.

A row is copied as a whole, by way of registers: its place is one number for all threads, so that they load 16 bytes
each. Rows of a block are on their way at the same time.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def embedding(columns: int, dtype: str, tokens: int = 4, threads: int = 256):
    n, rows = T.dynamic("n"), T.dynamic("rows")

    @T.prim_func
    def gather(ids: T.Tensor((n,), "int32"), Table: T.Tensor((rows, columns), dtype), Y: T.Tensor((n, columns), dtype)):
        with T.Kernel(T.ceildiv(n, tokens), threads=threads) as block:
            rows_read = [T.alloc_fragment((1, columns), dtype) for _ in range(tokens)]
            for i in T.unroll(tokens):
                T.copy(Table[ids[block * tokens + i], 0], rows_read[i])
            for i in T.unroll(tokens):
                T.copy(rows_read[i], Y[block * tokens + i, 0])

    return gather


def reference(ids, table):
    known = (ids >= 0) & (ids < len(table))
    return np.where(known[:, None], table[np.where(known, ids, 0)], 0)


def by_torch(ids, table):
    from torch.nn.functional import embedding

    return embedding(ids, table)


def case(n, rows, columns, dtype="bfloat16", unknown=0):
    """`unknown` of the ids name no row."""

    def inputs(random):
        ids = random.integers(0, rows, n, dtype=np.int32)
        ids[:unknown] = (rows, -1)[:unknown]
        return ids, normal(random, (rows, columns), dtype)

    return Case(
        name=f"embedding {n} of {rows}x{columns} {dtype}",
        programs=[lambda: embedding(columns, dtype)],
        inputs=inputs,
        outputs=[((n, columns), dtype)],
        reference=reference,
        peers={"torch": by_torch},
        bytes=n * (4 * columns + 4),
        rtol=0,
        atol=0,
    )


CHECKED = [case(33, 100, 256, unknown=2), case(9, 7, 1000, "float16")]
CASES = [case(16384, 32000, 4096), case(8192, 128256, 8192)]

if __name__ == "__main__":
    check(CHECKED)
