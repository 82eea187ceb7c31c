"""Softmax over the rows of a matrix: each block holds its rows in registers, and reads them once."""

import math

import numpy as np

import tilec
import tilec.language as T

LOG2_E = math.log2(math.e)


@tilec.jit(out_idx=-1)
def softmax(columns: int, rows_per_block: int = 4, dtype: str = "float32"):
    m = T.dynamic("m")

    @T.prim_func
    def softmax_rows(X: T.Tensor((m, columns), dtype), Y: T.Tensor((m, columns), dtype)):
        with T.Kernel(T.ceildiv(m, rows_per_block), threads=128) as block:
            x = T.alloc_fragment((rows_per_block, columns), "float32")
            greatest = T.alloc_fragment((rows_per_block,), "float32")
            total = T.alloc_fragment((rows_per_block,), "float32")
            T.copy(X[block * rows_per_block, 0], x)
            T.reduce_max(x, greatest, dim=1)
            for i, j in T.Parallel(rows_per_block, columns):
                x[i, j] = T.exp2((x[i, j] - greatest[i]) * LOG2_E)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows_per_block, columns):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[block * rows_per_block, 0])

    return softmax_rows


x = np.random.standard_normal((1001, 512)).astype(np.float32)
y = softmax(512)(x)
e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)
print("softmax: correct,", y.shape)
