"""Y = X / rms(X) * W over rows, in half precision with single-precision sums."""

import numpy as np

import tilec
import tilec.language as T


@tilec.jit(out_idx=-1)
def rmsnorm(columns: int, eps: float = 1e-5, rows: int = 4):
    m = T.dynamic("m")

    @T.prim_func
    def rmsnorm_rows(
        X: T.Tensor((m, columns), "float16"), W: T.Tensor((columns,), "float16"), Y: T.Tensor((m, columns), "float16")
    ):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as block:
            x = T.alloc_fragment((rows, columns), "float32")
            squares = T.alloc_fragment((rows, columns), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[block * rows, 0], x)
            for i, j in T.Parallel(rows, columns):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] = x[i, j] * T.rsqrt(total[i] / columns + eps) * W[j]
            T.copy(x, Y[block * rows, 0])

    return rmsnorm_rows


x = np.random.standard_normal((777, 1024)).astype(np.float16)
w = np.random.standard_normal(1024).astype(np.float16)
y = rmsnorm(1024)(x, w)
wide = x.astype(np.float64)
expected = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5) * w.astype(np.float64)
np.testing.assert_allclose(y, expected, rtol=2e-3, atol=1e-4)
print("rmsnorm: correct,", y.shape)
