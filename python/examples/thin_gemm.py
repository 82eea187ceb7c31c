"""C = A @ B.T with few rows of A: what takes time is reading B, once, from memory that no cache holds.

Rows of B make those of a tile that tensor cores multiply, 64 at a time, and rows of A its columns, of which 8 are
enough: it is C.T that is computed. A ring of many slots keeps as many bytes on their way as it takes to keep memory
busy. Where there are too few tiles for all multiprocessors, several blocks share the sum along K, and their sums are
added up in an order that does not change, so that equal inputs give equal bits: by the block that comes last, which
also sets the tile's counter back to zero for the next call, or, where there are many columns, by a kernel of its own.
"""

from dataclasses import dataclass

import numpy as np
from cases import Case, check, normal

import tilec.language as T


@dataclass(frozen=True)
class Choice:
    """A tile of `rows` of B and `columns` of C.T, `depth` of K at a time in `stages` slots.

    `splits` blocks share a tile; what they have is added up by the last of them or, if `apart`, by another kernel.
    """

    rows: int
    columns: int
    depth: int
    stages: int
    splits: int = 1
    threads: int = 128
    apart: bool = False


def thin_gemm(M: int, N: int, K: int, dtype: str, choice: Choice):
    rows, columns, depth, splits = choice.rows, choice.columns, choice.depth, choice.splits
    tiles_N, tiles_M = -(-N // rows), -(-M // columns)
    steps = -(-K // (splits * depth))

    @T.macro
    def multiply(A, B, acc, n, m, first):
        Bs = T.alloc_shared((rows, depth), dtype)
        As = T.alloc_shared((columns, depth), dtype)
        T.clear(acc)
        for k in T.Pipelined(steps, num_stages=choice.stages):
            T.copy(B[n, (first + k) * depth], Bs)
            T.copy(A[m, (first + k) * depth], As)
            T.gemm(Bs, As, acc, transpose_B=True)

    @T.macro
    def turn(acc, turned):
        for i, j in T.Parallel(rows, columns):
            turned[j, i] = acc[i, j]

    @T.prim_func
    def whole(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(tiles_N, tiles_M, threads=choice.threads) as (bx, by):
            acc = T.alloc_fragment((rows, columns), "float32")
            Cs = T.alloc_shared((columns, rows), dtype)
            multiply(A, B, acc, bx * rows, by * columns, 0)
            turn(acc, Cs)
            T.copy(Cs, C[by * columns, bx * rows])

    @T.prim_func
    def shared_by_blocks(
        A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype),
        counters: T.Tensor((tiles_M, tiles_N), "int32"), C: T.Tensor((M, N), dtype),
    ):  # fmt: skip
        parts = T.alloc_global((splits, tiles_M * columns, tiles_N * rows), "float32")
        with T.Kernel(tiles_N, tiles_M, splits, threads=choice.threads) as (bx, by, part):
            acc = T.alloc_fragment((rows, columns), "float32")
            sums = T.alloc_shared((columns, rows), "float32")
            total = T.alloc_fragment((columns, rows), "float32")
            row, column = by * columns, bx * rows
            multiply(A, B, acc, column, row, part * steps)
            turn(acc, sums)
            for i, j in T.Parallel(columns, rows):
                parts[part, row + i, column + j] = sums[i, j]
            before = T.atomic_add(counters[by, bx], 1, memory_order="acq_rel", return_prev=True)
            if before == splits - 1:
                counters[by, bx] = 0
                T.clear(total)
                for other in T.serial(splits):
                    for i, j in T.Parallel(columns, rows):
                        total[i, j] += parts[other, row + i, column + j]
                T.copy(total, C[row, column])

    @T.prim_func
    def added_apart(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), dtype)):
        parts = T.alloc_global((splits, tiles_M * columns, tiles_N * rows), "float32")
        with T.Kernel(tiles_N, tiles_M, splits, threads=choice.threads) as (bx, by, part):
            acc = T.alloc_fragment((rows, columns), "float32")
            sums = T.alloc_shared((columns, rows), "float32")
            row, column = by * columns, bx * rows
            multiply(A, B, acc, column, row, part * steps)
            turn(acc, sums)
            T.copy(sums, parts[part, row, column])
        with T.Kernel(T.ceildiv(N, 1024), M, threads=256) as (bx, row):
            total = T.alloc_fragment((1024,), "float32")
            T.clear(total)
            for part in T.unroll(splits):
                for j in T.Parallel(1024):
                    total[j] += parts[part, row, bx * 1024 + j]
            T.copy(total, C[row, bx * 1024])

    return whole if splits == 1 else added_apart if choice.apart else shared_by_blocks


def case(M, N, K, choices, dtype="bfloat16"):
    """All `choices` share a tile among blocks and count these, or none does."""
    counts = [choice.splits > 1 and not choice.apart for choice in choices]
    assert all(counts) or not any(counts)
    tiles = (-(-M // choices[0].columns), -(-N // choices[0].rows))

    def inputs(random):
        counters = [np.zeros(tiles, np.int32)] if counts[0] else []
        return [normal(random, (M, K), dtype), normal(random, (N, K), dtype), *counters]

    return Case(
        name=f"thin_gemm {M}x{N}x{K} {dtype}",
        programs=[lambda choice=choice: thin_gemm(M, N, K, dtype, choice) for choice in choices],
        inputs=inputs,
        outputs=[((M, N), dtype)],
        reference=lambda a, b, *_: a @ b.T,
        peers={"torch": lambda a, b, *_: a @ b.t()},
        bytes=2 * (M * K + N * K + M * N),
        flop=2 * M * N * K,
        atol=K**0.5 * 2e-2,
    )


CHECKED = [
    case(20, 136, 1024, [Choice(64, 32, 64, 4), Choice(32, 24, 128, 3)]),
    case(70, 200, 600, [Choice(64, 64, 64, 3, splits=3)]),
    case(1, 136, 600, [Choice(64, 8, 64, 3, splits=3, apart=True)], "float16"),
]


def choices(M, N):
    """Returns what to try on a GPU of 132 multiprocessors: mostly 128 blocks, which all run at the same time.

    Some 27 KB on their way keep the memory of each multiprocessor of an H200 busy. A ring of less than half of its
    shared memory lets blocks of the next kernel come while this one's are at work.
    """
    columns = min(-(-M // 8) * 8, 128)
    if M > 32:
        few = [Choice(64, 64, 128, 6), Choice(64, 64, 128, 3), Choice(64, 64, 64, 6)]
    else:
        few = [Choice(64, columns, 128, 10), Choice(64, columns, 128, 5), Choice(64, columns, 256, 5)]
    if N < 8192:
        few.append(Choice(64, columns, 64, 8, splits=2, apart=True))
        if M <= 64:
            few.append(Choice(32, columns, 256, 5 if M <= 16 else 3))
    elif M > 64:
        few += [Choice(64, columns, 128, 4), Choice(64, columns, 64, 4)]
    return few


SHAPES = ((8192, 8192), (4096, 14336), (4096, 4096))
CASES = [case(M, N, K, choices(M, N)) for M in (16, 64, 128) for N, K in SHAPES]

if __name__ == "__main__":
    check(CHECKED)
