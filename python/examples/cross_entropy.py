"""The loss -log softmax(X)[label] of each row of logits, which are too many to hold: a block goes through them once.

The greatest so far scales what has been added up, as attention does. A label outside of the row, such as the usual
-100, is one that does not count: its loss is zero.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def cross_entropy(columns: int, dtype: str, chunk: int = 8192, threads: int = 512, stages: int = 3):
    m = T.dynamic("m")

    @T.prim_func
    def losses(
        X: T.Tensor((m, columns), dtype), labels: T.Tensor((m,), "int32", align=4), loss: T.Tensor((m,), "float32")
    ):
        with T.Kernel(m, threads=threads) as row:
            part = T.alloc_shared((1, chunk), dtype)
            x = T.alloc_fragment((1, chunk), "float32")
            greatest = T.alloc_fragment((1,), "float32")
            before = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            sums = T.alloc_fragment((1,), "float32")
            T.fill(greatest, -T.infinity("float32"))
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(columns, chunk), num_stages=stages):
                T.copy(X[row, k * chunk], part)
                T.copy(part, x)
                if (k + 1) * chunk > columns:
                    for i, j in T.Parallel(1, chunk):
                        x[i, j] = T.if_then_else(k * chunk + j < columns, x[i, j], -T.infinity("float32"))
                T.copy(greatest, before)
                T.reduce_max(x, greatest, dim=1, clear=False)
                for i, j in T.Parallel(1, chunk):
                    x[i, j] = T.exp2((x[i, j] - greatest[i]) * LOG2_E)
                T.reduce_sum(x, sums, dim=1)
                for i in T.Parallel(1):
                    total[i] = total[i] * T.exp2((before[i] - greatest[i]) * LOG2_E) + sums[i]
            for i in T.Parallel(1):
                label = labels[row]
                if (label >= 0) & (label < columns):
                    loss[row] = T.log(total[i]) + greatest[i] - X[row, label]
                else:
                    loss[row] = 0

    return losses


def reference(x, labels):
    greatest = x.max(axis=1)
    logs = np.log(np.exp(x - greatest[:, None]).sum(axis=1)) + greatest
    counts = (labels >= 0) & (labels < x.shape[1])
    return np.where(counts, logs - x[np.arange(len(x)), np.where(counts, labels, 0)], 0)


def by_torch(x, labels):
    from torch.nn.functional import cross_entropy

    return cross_entropy(x.float(), labels.long(), reduction="none", ignore_index=-100)


def inputs(random, m, columns, dtype):
    labels = random.integers(0, columns, m, dtype=np.int32)
    labels[:: max(m // 8, 2)] = -100
    return normal(random, (m, columns), dtype, scale=4), labels


def case(m, columns, dtype="bfloat16"):
    return Case(
        name=f"cross_entropy {m}x{columns} {dtype}",
        programs=[lambda: cross_entropy(columns, dtype)],
        inputs=lambda random: inputs(random, m, columns, dtype),
        outputs=[((m,), "float32")],
        reference=reference,
        peers={"torch": by_torch},
        bytes=m * (2 * columns + 8),
        rtol=1e-4,
        atol=1e-4,
        options={"fast_math": True},
    )


CHECKED = [case(5, 32000), case(3, 777, "float16")]
CASES = [case(8192, 32000), case(8192, 128256), case(16384, 16384)]

if __name__ == "__main__":
    check(CHECKED)
