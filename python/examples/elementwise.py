"""Y = gelu(a * X + b), the element-wise pattern: one block for each piece, a guard for nothing.

Positions outside of a tensor read as zero and are not written, so the extent need not be a multiple of the block.
"""

import math

import numpy as np

import tilec
import tilec.language as T

n = T.dynamic("n")
BLOCK = 1024


@T.macro
def gelu(x):
    return 0.5 * x * (1.0 + T.erf(x * math.sqrt(0.5)))


@T.prim_func
def scaled_gelu(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), a: T.float32, b: T.float32):
    with T.Kernel(T.ceildiv(n, BLOCK), threads=256) as block:
        for i in T.Parallel(BLOCK):
            Y[block * BLOCK + i] = gelu(a * X[block * BLOCK + i] + b)


kernel = tilec.compile(scaled_gelu)
x = np.random.standard_normal(10_007).astype(np.float32)
y = np.full_like(x, np.nan)
kernel(x, y, 1.5, -0.25)
z = 1.5 * x.astype(np.float64) - 0.25
expected = 0.5 * z * (1 + np.vectorize(math.erf)(z * math.sqrt(0.5)))
np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
print("elementwise: correct,", y.shape)
