"""C = A B.T for each of a group of problems that lie anywhere in memory: tables say where, and how many rows there are.

A block loads the addresses of its problem and makes tensors of them. So the matrices need not be put into one tensor
first, and each may have rows of its own number; N and K are those of all.
"""

import numpy as np

import tilec
import tilec.language as T


def grouped_gemm(
    groups: int, N: int, K: int, dtype: str,
    block_M: int = 64, block_N: int = 64, block_K: int = 64, stages: int = 3, threads: int = 128,
):  # fmt: skip
    @T.prim_func
    def multiply(
        As: T.Tensor((groups,), T.ptr), Bs: T.Tensor((groups,), T.ptr), Cs: T.Tensor((groups,), T.ptr),
        rows_of: T.Tensor((groups,), "int32"), most_rows: T.int32,
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(most_rows, block_M), groups, threads=threads) as (bx, by, g):
            rows = rows_of[g]
            A = T.make_tensor(As[g], (rows, K), dtype)
            B = T.make_tensor(Bs[g], (N, K), dtype)
            C = T.make_tensor(Cs[g], (rows, N), dtype)
            A_tile = T.alloc_shared((block_M, block_K), dtype)
            B_tile = T.alloc_shared((block_N, block_K), dtype)
            acc = T.alloc_fragment((block_M, block_N), "float32")
            if by * block_M < rows:
                T.clear(acc)
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                    T.copy(A[by * block_M, k * block_K], A_tile)
                    T.copy(B[bx * block_N, k * block_K], B_tile)
                    T.gemm(A_tile, B_tile, acc, transpose_B=True)
                T.copy(acc, C[by * block_M, bx * block_N])

    return multiply


def check(rows, N, K, **options):
    """Compares the products of problems of so many rows each with NumPy's."""
    random = np.random.default_rng(0)
    kernel = tilec.compile(grouped_gemm(len(rows), N, K, "float16"), **options)

    def on_device(array):
        return tilec.Array.from_numpy(array, T.dtype(array.dtype.name), cuda=0 if kernel.is_cuda else None)

    a = [random.standard_normal((m, K)).astype(np.float16) for m in rows]
    b = [random.standard_normal((N, K)).astype(np.float16) for _ in rows]
    problems = [[on_device(x) for x in arrays] for arrays in (a, b, [np.zeros((m, N), np.float16) for m in rows])]
    tables = [on_device(np.array([x.address for x in arrays], np.int64)) for arrays in problems]
    kernel(*tables, on_device(np.array(rows, np.int32)), max(rows))
    for x, y, found in zip(a, b, problems[2], strict=True):
        wanted = x.astype(np.float32) @ y.astype(np.float32).T
        np.testing.assert_allclose(found.numpy().astype(np.float32), wanted, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    for shape in (((100, 64, 7), 136, 128), ((1, 250), 64, 72)):
        check(*shape)
        print("grouped_gemm_pointers", *shape, "correct")
