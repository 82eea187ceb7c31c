"""Y = (X - mean) / sqrt(variance + eps) * W + B over rows, which a block holds in registers and reads once.

The variance is that of what is left when the mean is subtracted, so that a large mean costs no digits.
"""

import numpy as np
from cases import Case, check, normal, rows_and_threads

import tilec.language as T

EPS = 1e-5


def layernorm(columns: int, dtype: str, rows: int, threads: int):
    m = T.dynamic("m")

    @T.prim_func
    def normalize(
        X: T.Tensor((m, columns), dtype), W: T.Tensor((columns,), dtype), B: T.Tensor((columns,), dtype),
        Y: T.Tensor((m, columns), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as block:
            # While some reduce, others load; several rows need more registers.
            T.annotate_min_blocks_per_sm(1024 // threads // min(rows, 2))
            x = T.alloc_fragment((rows, columns), "float32")
            squares = T.alloc_fragment((rows, columns), "float32")
            mean = T.alloc_fragment((rows,), "float32")
            variance = T.alloc_fragment((rows,), "float32")
            T.copy(X[block * rows, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] -= mean[i] / columns
            for i, j in T.Parallel(rows, columns):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, variance, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] = x[i, j] * T.rsqrt(variance[i] / columns + EPS) * W[j] + B[j]
            T.copy(x, Y[block * rows, 0])

    return normalize


def reference(x, w, b):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPS) * w + b


def by_torch(x, w, b):
    from torch.nn.functional import layer_norm

    return layer_norm(x, w.shape, w, b, EPS)


def case(m, columns, dtype="bfloat16"):
    def program(held):
        return lambda: layernorm(columns, dtype, *rows_and_threads(columns, held))

    return Case(
        name=f"layernorm {m}x{columns} {dtype}",
        programs=[program(32), program(16)],
        inputs=lambda random: [normal(random, shape, dtype) for shape in ((m, columns), (columns,), (columns,))],
        outputs=[((m, columns), dtype)],
        reference=reference,
        peers={"torch": by_torch},
        bytes=2 * (2 * m + 2) * columns,
        options={"fast_math": True},
    )


CHECKED = [case(77, 1024), case(5, 8192, "float16")]
CASES = [case(m, columns) for m, columns in ((65536, 1024), (16384, 4096), (16384, 8192), (4096, 16384))]

if __name__ == "__main__":
    check(CHECKED)
