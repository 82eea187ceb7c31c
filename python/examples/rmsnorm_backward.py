"""The gradients of Y = X / rms(X) * W, from X, W and that of Y.

A block goes over rows and adds its part of dW up in registers; a second kernel adds up the parts. So equal inputs give
equal bits, which atomic additions would not.
"""

import numpy as np
from cases import Case, check, normal
from rmsnorm import EPS

import tilec.language as T


def rmsnorm_backward(columns: int, dtype: str, parts: int, threads: int):
    m = T.dynamic("m")

    @T.prim_func
    def rmsnorm_gradients(
        X: T.Tensor((m, columns), dtype), W: T.Tensor((columns,), dtype), dY: T.Tensor((m, columns), dtype),
        dX: T.Tensor((m, columns), dtype), dW: T.Tensor((columns,), "float32"),
        sums: T.Tensor((parts, columns), "float32"),
    ):  # fmt: skip
        with T.Kernel(parts, threads=threads) as part:
            x = T.alloc_fragment((columns,), "float32")
            dy = T.alloc_fragment((columns,), "float32")
            product = T.alloc_fragment((columns,), "float32")
            dw = T.alloc_fragment((columns,), "float32")
            squared = T.alloc_fragment((1,), "float32")
            along = T.alloc_fragment((1,), "float32")
            T.clear(dw)
            for step in T.serial(T.ceildiv(m, parts)):
                # Behind the last row X and dY are zero, and dX is dropped.
                row = step * parts + part
                T.copy(X[row, 0], x)
                T.copy(dY[row, 0], dy)
                for j in T.Parallel(columns):
                    product[j] = x[j] * x[j]
                T.reduce_sum(product, squared)
                for j in T.Parallel(columns):
                    product[j] = dy[j] * W[j] * x[j]
                T.reduce_sum(product, along)
                for j in T.Parallel(columns):
                    scale = T.rsqrt(squared[0] / columns + EPS)
                    dw[j] += dy[j] * x[j] * scale
                    x[j] = (dy[j] * W[j] - x[j] * (scale * scale * along[0] / columns)) * scale
                T.copy(x, dX[row, 0])
            T.copy(dw, sums[part, 0])

        with T.Kernel(T.ceildiv(columns, 128), threads=128) as block:
            total = T.alloc_fragment((128,), "float32")
            T.clear(total)
            for part in T.serial(parts):
                for j in T.Parallel(128):
                    total[j] += sums[part, block * 128 + j]
            T.copy(total, dW[block * 128])

    return rmsnorm_gradients


def reference(x, w, dy):
    scale = 1 / np.sqrt((x**2).mean(axis=1, keepdims=True) + EPS)
    along = (dy * w * x).mean(axis=1, keepdims=True)
    return (dy * w - x * scale**2 * along) * scale, (dy * x * scale).sum(axis=0), None


def by_torch(x, w, dy):
    import torch

    x, w = (t.detach().requires_grad_() for t in (x, w))
    return torch.autograd.grad(torch.nn.functional.rms_norm(x, w.shape, w, EPS), (x, w), dy)


def threads_for(columns):
    """Returns how many threads have a row: one for 16 numbers."""
    return min(max(columns // 16, 128), 1024)


def case(m, columns, dtype="bfloat16", parts=264):
    return Case(
        name=f"rmsnorm_backward {m}x{columns} {dtype}",
        programs=[lambda: rmsnorm_backward(columns, dtype, parts, threads_for(columns))],
        inputs=lambda random: [normal(random, shape, dtype) for shape in ((m, columns), (columns,), (m, columns))],
        outputs=[((m, columns), dtype), ((columns,), "float32"), ((parts, columns), "float32")],
        reference=reference,
        peers={"torch, forward too": by_torch},
        bytes=2 * (3 * m + 1) * columns,
        atol=2e-2,
    )


CHECKED = [case(77, 1024, "float16", parts=4), case(3, 8192, parts=4), case(9, 200, parts=2)]
CASES = [case(m, columns) for m, columns in ((65536, 1024), (16384, 4096), (16384, 8192))]

if __name__ == "__main__":
    check(CHECKED)
