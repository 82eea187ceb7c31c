"""C = A @ B.T with few rows and many columns of A: several blocks share the sum along K of one tile.

There are too few tiles to keep a GPU busy, so that a block takes one of `splits` parts of K, and writes its sum in
single precision. A second kernel of the same program adds the parts up, in an order that does not change: equal
inputs give equal bits.
"""

from cases import Case, check, normal

import tilec.language as T


def split_k(
    M: int, N: int, K: int, splits: int, dtype: str,
    block_M: int = 64, block_N: int = 128, block_K: int = 64, stages: int = 6, threads: int = 128,
):  # fmt: skip
    steps = -(-K // (splits * block_K))

    @T.prim_func
    def multiply(
        A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype),
        C: T.Tensor((M, N), dtype), parts: T.Tensor((splits, M, N), "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), splits, threads=threads) as (bx, by, part):
            As = T.alloc_shared((block_M, block_K), dtype)
            Bs = T.alloc_shared((block_N, block_K), dtype)
            acc = T.alloc_fragment((block_M, block_N), "float32")
            row, column = by * block_M, bx * block_N
            T.clear(acc)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(A[row, (part * steps + k) * block_K], As)
                T.copy(B[column, (part * steps + k) * block_K], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, parts[part, row : row + block_M, column : column + block_N])
        with T.Kernel(T.ceildiv(N, 1024), M, threads=256) as (bx, row):
            total = T.alloc_fragment((1024,), "float32")
            T.clear(total)
            for part in T.unroll(splits):
                for j in T.Parallel(1024):
                    total[j] += parts[part, row, bx * 1024 + j]
            T.copy(total, C[row, bx * 1024])

    return multiply


def case(M, N, K, splits, dtype="bfloat16"):
    return Case(
        name=f"split_k {M}x{N}x{K} in {splits} {dtype}",
        programs=[lambda: split_k(M, N, K, splits, dtype)],
        inputs=lambda random: [normal(random, (M, K), dtype), normal(random, (N, K), dtype)],
        outputs=[((M, N), dtype), ((splits, M, N), "float32")],
        reference=lambda a, b: (a @ b.T, None),
        peers={"torch": lambda a, b: a @ b.t()},
        bytes=2 * (M * K + N * K + M * N),
        flop=2 * M * N * K,
        atol=K**0.5 * 2e-2,
    )


CHECKED = [case(20, 136, 1024, 4), case(70, 128, 600, 2, "float16")]
CASES = [case(16, 4096, 14336, 4), case(64, 7168, 2048, 2), case(64, 4096, 14336, 4), case(128, 2112, 7168, 8)]

if __name__ == "__main__":
    check(CHECKED)
