"""Tile kernels that the tests on a GPU compile: plain programs, no hints."""

import numpy as np

import tilec.language as T


def gemm(M, N, K, dtype, *, nt=False, relu=True, tile=(128, 128, 64), stages=3, threads=128, out=None, acc=None):
    """`C = A @ B` (or `A @ B.T` with `nt`), with a ReLU."""
    bm, bn, bk = tile
    out_dtype = dtype if out is None else out
    acc_dtype = T.float32 if acc is None else acc
    b_shape = (N, K) if nt else (K, N)
    b_tile = (bn, bk) if nt else (bk, bn)

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), out_dtype)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            As = T.alloc_shared((bm, bk), dtype)
            Bs = T.alloc_shared(b_tile, dtype)
            acc = T.alloc_fragment((bm, bn), acc_dtype)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], As)
                if nt:
                    T.copy(B[bx * bn, k * bk], Bs)
                else:
                    T.copy(B[k * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc, transpose_B=nt)
            if relu:
                for i, j in T.Parallel(bm, bn):
                    acc[i, j] = T.max(acc[i, j], 0)
            T.copy(acc, C[by * bm, bx * bn])

    return main


def axpy(n, dtype, block=1024, threads=128):
    """`C = 2 A + B` on vectors of any length."""

    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] * 2 + B[bx * block + i]

    return main


def softmax(M, N, dtype, rows=4, threads=128):
    """Softmax of each row."""

    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, rows), threads=threads) as bx:
            x = T.alloc_fragment((rows, N), T.float32)
            top = T.alloc_fragment((rows,), T.float32)
            total = T.alloc_fragment((rows,), T.float32)
            T.copy(A[bx * rows, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, C[bx * rows, 0])

    return main


def rms_norm(M, N, dtype, rows=2, threads=128):
    """`C = A / sqrt(mean(A^2) + 1e-5)` of each row."""

    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, rows), threads=threads) as bx:
            x = T.alloc_fragment((rows, N), T.float32)
            square = T.alloc_fragment((rows, N), T.float32)
            total = T.alloc_fragment((rows,), T.float32)
            T.copy(A[bx * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(rows):
                total[i] = T.rsqrt(total[i] / N + 1e-5)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * total[i]
            T.copy(x, C[bx * rows, 0])

    return main


def transpose(M, N, dtype, tile=64, threads=128):
    """`C = A.T`, by way of shared memory."""

    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), C: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, tile), T.ceildiv(M, tile), threads=threads) as (bx, by):
            As = T.alloc_shared((tile, tile), dtype)
            Ct = T.alloc_fragment((tile, tile), dtype)
            T.copy(A[by * tile, bx * tile], As)
            for i, j in T.Parallel(tile, tile):
                Ct[i, j] = As[j, i]
            T.copy(Ct, C[bx * tile, by * tile])

    return main


def integers(n, block=512, threads=128):
    """Quotients, remainders, shifts and sums that wrap."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32"), C: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            for i in T.Parallel(block):
                a, b = A[bx * block + i], B[bx * block + i]
                d = T.max(T.abs(b) & 1023, 1)
                C[bx * block + i] = (a // d) * 31 + (a % d) + ((a >> 3) ^ (b << 5)) + T.min(a, b) * b

    return main


def row_sums(M, N, rows=4, threads=128):
    """The sum and the largest absolute value of each row of integers."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "int32"), C: T.Tensor((M,), "int32"), D: T.Tensor((M,), "int32")):
        with T.Kernel(T.ceildiv(M, rows), threads=threads) as bx:
            x = T.alloc_fragment((rows, N), "int32")
            total = T.alloc_fragment((rows,), "int32")
            top = T.alloc_fragment((rows,), "int32")
            T.copy(A[bx * rows, 0], x)
            T.reduce_sum(x, total, dim=1)
            T.reduce_absmax(x, top, dim=1)
            T.copy(total, C[bx * rows])
            T.copy(top, D[bx * rows])

    return main


def gemm_of_float32(written):
    """`C = A @ B.T` of tiles that come to shared memory in several ways, and `D = A`."""
    tile, stages = (64, 32), 3 if written == "ahead" else 0

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((64, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            As, Bs = T.alloc_shared(tile, "float32"), T.alloc_shared(tile, "float32")
            b, acc = T.alloc_fragment(tile, "float32"), T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(A[0, k * 32], As)
                if written == "by_a_loop":
                    for i, j in T.Parallel(64, 32):
                        Bs[i, j] = B[i, k * 32 + j]
                    T.gemm(As, Bs, acc, transpose_B=True)
                elif written == "from_a_fragment":
                    T.copy(B[0, k * 32], b)
                    T.gemm(As, b, acc, transpose_B=True)
                else:
                    T.copy(B[0, k * 32], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True)
                T.copy(As, D[0, k * 32])
            T.copy(acc, C)

    return main


def tf32_ends():
    """A tile whose first column has `float32` numbers at the ends of `tfloat32`, and what they are rounded to (F5)."""
    pairs = [
        (0x7F7FFFFF, 0x7F800000),  # beyond the greatest: infinite
        (0x7F7FF000, 0x7F800000),  # half way
        (0x7F7FEFFF, 0x7F7FE000),
        (0xFF7FFFFF, 0xFF800000),
        (0x7F800000, 0x7F800000),
        (0x7F800001, 0x7FFFFFFF),  # NaN
        (0x7FFFFFFF, 0x7FFFFFFF),
        (0x3F800FFF, 0x3F800000),
        (0x3F801001, 0x3F802000),
    ]
    numbers, expected = np.array(pairs, np.uint32).view(np.float32).T
    a = np.zeros((64, 64), np.float32)
    a[: numbers.size, 0] = numbers
    return a, expected
