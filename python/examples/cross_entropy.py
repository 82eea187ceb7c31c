"""The loss -log softmax(X)[label] of each row of logits, which are too many to hold: a block goes through them once.

Each thread has a greatest and a sum of its own, scaled by the greatest so far as attention does; the block puts them
together once a row. A label outside of the row, such as the usual -100, is one that does not count: its loss is zero.
"""

import math

import numpy as np
from cases import Case, check, normal

import tilec.language as T

LOG2_E = math.log2(math.e)


def cross_entropy(columns: int, dtype: str, threads: int = 256, width: int = 8, ahead: int = 4):
    m = T.dynamic("m")
    part = threads * width

    @T.prim_func
    def losses(
        X: T.Tensor((m, columns), dtype), labels: T.Tensor((m,), "int32", align=4), loss: T.Tensor((m,), "float32")
    ):
        with T.Kernel(m, threads=threads) as row:
            loaded = [T.alloc_fragment((threads, width), dtype) for _ in range(ahead)]
            x = T.alloc_fragment((threads, width), "float32")
            greatest = T.alloc_fragment((threads,), "float32")
            before = T.alloc_fragment((threads,), "float32")
            total = T.alloc_fragment((threads,), "float32")
            sums = T.alloc_fragment((threads,), "float32")
            most = T.alloc_fragment((1,), "float32")
            whole = T.alloc_fragment((1,), "float32")
            T.fill(greatest, T.min_value("float32"))  # of a thread without an element it is subtracted from itself
            T.clear(total)
            for k in T.serial(T.ceildiv(columns, part * ahead)):
                for p in T.unroll(ahead):
                    for i, j in T.Parallel(threads, width):
                        loaded[p][i, j] = X[row, (k * ahead + p) * part + i * width + j]
                for p in T.unroll(ahead):
                    for i, j in T.Parallel(threads, width):
                        x[i, j] = T.if_then_else(
                            (k * ahead + p) * part + i * width + j < columns, loaded[p][i, j], -T.infinity("float32")
                        )
                    T.copy(greatest, before)
                    T.reduce_max(x, greatest, dim=1, clear=False)
                    for i, j in T.Parallel(threads, width):
                        x[i, j] = T.exp2((x[i, j] - greatest[i]) * LOG2_E)
                    T.reduce_sum(x, sums, dim=1)
                    for i in T.Parallel(threads):
                        total[i] = total[i] * T.exp2((before[i] - greatest[i]) * LOG2_E) + sums[i]
            T.reduce_max(greatest, most, dim=0)
            for i in T.Parallel(threads):
                total[i] = total[i] * T.exp2((greatest[i] - most[0]) * LOG2_E)
            T.reduce_sum(total, whole, dim=0)
            for i in T.Parallel(1):
                label = labels[row]
                if (label >= 0) & (label < columns):
                    loss[row] = T.log(whole[i]) + most[i] - X[row, label]
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
