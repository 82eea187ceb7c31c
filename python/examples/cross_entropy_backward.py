"""The gradient of each row's loss -log softmax(X)[label], from X, the labels, the losses and what they are weighed by.

A loss and the logit of its label say the logarithm of the row's sum, so that each part of a row is a block's own, and
the row is read once. A label outside of the row is one that does not count: its gradient is zero.
"""

import numpy as np
from cases import Case, check, normal
from cross_entropy import LOG2_E, inputs
from cross_entropy import reference as losses

import tilec.language as T


def cross_entropy_backward(columns: int, dtype: str, block: int = 4096, threads: int = 256):
    m = T.dynamic("m")

    @T.prim_func
    def loss_gradients(
        X: T.Tensor((m, columns), dtype), labels: T.Tensor((m,), "int32", align=4), loss: T.Tensor((m,), "float32"),
        weights: T.Tensor((m,), "float32"), dX: T.Tensor((m, columns), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(columns, block), m, threads=threads) as (bx, row):
            x = T.alloc_fragment((block,), "float32")
            label = labels[row]
            T.copy(X[row, bx * block], x)
            if (label >= 0) & (label < columns):
                log = loss[row] + X[row, label]
                for i in T.Parallel(block):
                    one = T.if_then_else(bx * block + i == label, 1.0, 0.0)
                    x[i] = (T.exp2((x[i] - log) * LOG2_E) - one) * weights[row]
            else:
                T.clear(x)
            T.copy(x, dX[row, bx * block])

    return loss_gradients


def reference(x, labels, loss, weights):
    p = np.exp(x - x.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    counts = (labels >= 0) & (labels < x.shape[1])
    p[counts, labels[counts]] -= 1
    return p * (counts * weights)[:, None]


def with_losses(random, m, columns, dtype):
    x, labels = inputs(random, m, columns, dtype)
    return x, labels, losses(x.astype(np.float64), labels).astype(np.float32), normal(random, (m,), "float32")


def case(m, columns, dtype="bfloat16"):
    return Case(
        name=f"cross_entropy_backward {m}x{columns} {dtype}",
        programs=[lambda: cross_entropy_backward(columns, dtype)],
        inputs=lambda random: with_losses(random, m, columns, dtype),
        outputs=[((m, columns), dtype)],
        reference=reference,
        bytes=m * (4 * columns + 12),
        atol=1e-5,
        options={"fast_math": True},
    )


CHECKED = [case(5, 32000), case(3, 777, "float16")]
CASES = [case(8192, 32000), case(8192, 128256)]

if __name__ == "__main__":
    check(CHECKED)
