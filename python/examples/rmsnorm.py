"""Y = X / rms(X) * W over rows, in half precision with single-precision sums."""

import numpy as np
from cases import Case, check, normal, rows_and_threads

import tilec.language as T

EPS = 1e-5


def rmsnorm(columns: int, dtype: str, rows: int, threads: int):
    m = T.dynamic("m")

    @T.prim_func
    def rmsnorm_rows(
        X: T.Tensor((m, columns), dtype), W: T.Tensor((columns,), dtype), Y: T.Tensor((m, columns), dtype)
    ):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as block:
            T.annotate_min_blocks_per_sm(1024 // threads)  # while some reduce, others load
            x = T.alloc_fragment((rows, columns), "float32")
            squares = T.alloc_fragment((rows, columns), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[block * rows, 0], x)
            for i, j in T.Parallel(rows, columns):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] = x[i, j] * T.rsqrt(total[i] / columns + EPS) * W[j]
            T.copy(x, Y[block * rows, 0])

    return rmsnorm_rows


def reference(x, w):
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + EPS) * w


def by_torch(x, w):
    from torch.nn.functional import rms_norm

    return rms_norm(x, w.shape, w, EPS)


def case(m, columns, dtype="bfloat16"):
    def program(held):
        return lambda: rmsnorm(columns, dtype, *rows_and_threads(columns, held))

    return Case(
        name=f"rmsnorm {m}x{columns} {dtype}",
        programs=[program(32), program(16)],
        inputs=lambda random: [normal(random, shape, dtype) for shape in ((m, columns), (columns,))],
        outputs=[((m, columns), dtype)],
        reference=reference,
        peers={"torch": by_torch},
        bytes=2 * (2 * m + 1) * columns,
    )


CHECKED = [case(77, 1024, "float16"), case(3, 8192)]
CASES = [case(m, columns) for m, columns in ((65536, 1024), (16384, 4096), (16384, 8192), (4096, 16384))]

if __name__ == "__main__":
    check(CHECKED)
