"""Y[i, j] = X[i, 0] + ... + X[i, j], running sums of rows of any length.

A block goes along a row in pieces. In a piece each thread adds up neighbours of its own; the sums of threads are then
summed up to each, and what came before is added to all. Sums are made in single precision.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def cumsum(columns: int, dtype: str, lanes: int = 256, each: int = 16):
    """Rows are of a multiple of `each` columns, which are a thread's own."""
    m = T.dynamic("m")

    @T.prim_func
    def scan(X: T.Tensor((m, columns // each, each), dtype), Y: T.Tensor((m, columns // each, each), dtype)):
        with T.Kernel(m, threads=lanes) as row:
            # One more than a thread's own, so that equal places of neighbours are in different banks.
            x = T.alloc_shared((lanes, each + 1), "float32")
            sums = T.alloc_shared((lanes,), "float32")
            carry = T.alloc_shared((1,), "float32")
            before = T.alloc_fragment((lanes,), "float32")
            T.clear(carry)
            for k in T.serial(T.ceildiv(columns, lanes * each)):
                first = k * lanes
                for i, j in T.Parallel(lanes, each):
                    x[i, j] = X[row, first + i, j]
                for i in T.Parallel(lanes):
                    total = T.alloc_var("float32", 0.0)
                    for j in T.unroll(each):
                        total += x[i, j]
                        x[i, j] = total
                    sums[i] = total
                T.cumsum(sums)
                for i in T.Parallel(lanes):
                    before[i] = carry[0] + T.if_then_else(i > 0, sums[T.max(i - 1, 0)], 0)
                for i, j in T.Parallel(lanes, each):
                    Y[row, first + i, j] = x[i, j] + before[i]
                carry[0] = carry[0] + sums[lanes - 1]

    return scan


def case(m, columns, dtype="float32", each=16):
    shape = (m, columns // each, each)
    return Case(
        name=f"scan {m}x{columns} {dtype}",
        programs=[lambda: cumsum(columns, dtype, each=each)],
        inputs=lambda random: [normal(random, shape, dtype)],
        outputs=[(shape, dtype)],
        reference=lambda x: np.cumsum(x.reshape(m, columns), axis=1).reshape(shape),
        peers={"torch": lambda x: x.view(m, columns).cumsum(dim=1).view(shape)},
        bytes=2 * m * columns * (4 if dtype == "float32" else 2),
        rtol=1e-4 if dtype == "float32" else 1e-2,
        atol=1e-3 if dtype == "float32" else 5e-2,
    )


CHECKED = [case(3, 9008), case(5, 320, "bfloat16")]
CASES = [case(16384, 4096), case(4096, 32768), case(16384, 8192, "bfloat16")]

if __name__ == "__main__":
    check(CHECKED)
