"""C = A @ B.T with few rows of A: what takes time is reading B, once, from memory that no cache holds.

Rows of B make those of a tile that tensor cores multiply, and rows of A its columns, of which 8 are enough: it is C.T
that is computed. A ring of many slots keeps as many bytes on their way as it takes to keep memory busy. Where there are
too few tiles for that, several blocks share the sum along K, and a second kernel adds up what they have, in an order
that does not change, so that equal inputs give equal bits. Which tiles to try say formulas (`tilec.analysis.tiles`).
"""

from cases import Case, check, normal

import tilec.language as T
from tilec.analysis.tiles import Tile, thin_tiles


def thin_gemm(M: int, N: int, K: int, dtype: str, tile: Tile):
    rows, columns, depth, splits = tile.rows, tile.columns, tile.depth, tile.splits
    tiles_N, tiles_M = -(-N // rows), -(-M // columns)
    steps = -(-K // (splits * depth))

    @T.macro
    def multiply(A, B, turned, n, m, first):
        """Leaves a tile of C in `turned`, of the steps from `first` on."""
        Bs = T.alloc_shared((rows, depth), dtype)
        As = T.alloc_shared((columns, depth), dtype)
        acc = T.alloc_fragment((rows, columns), "float32")
        T.clear(acc)
        for k in T.Pipelined(steps, num_stages=tile.stages):
            T.copy(B[n, (first + k) * depth], Bs)
            T.copy(A[m, (first + k) * depth], As)
            T.gemm(Bs, As, acc, transpose_B=True)
        for i, j in T.Parallel(rows, columns):
            turned[j, i] = acc[i, j]

    @T.prim_func
    def whole(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(tiles_N, tiles_M, threads=tile.threads) as (bx, by):
            Cs = T.alloc_shared((columns, rows), dtype)
            multiply(A, B, Cs, bx * rows, by * columns, 0)
            T.copy(Cs, C[by * columns, bx * rows])

    @T.prim_func
    def split(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), dtype)):
        parts = T.alloc_global((splits, tiles_M * columns, tiles_N * rows), "float32")
        with T.Kernel(tiles_N, tiles_M, splits, threads=tile.threads) as (bx, by, part):
            sums = T.alloc_shared((columns, rows), "float32")
            multiply(A, B, sums, bx * rows, by * columns, part * steps)
            T.copy(sums, parts[part, by * columns, bx * rows])
        with T.Kernel(T.ceildiv(N, 1024), M, threads=256) as (bx, row):
            total = T.alloc_fragment((1024,), "float32")
            T.clear(total)
            for part in T.unroll(splits):
                for j in T.Parallel(1024):
                    total[j] += parts[part, row, bx * 1024 + j]
            T.copy(total, C[row, bx * 1024])

    return whole if splits == 1 else split


def problem(name, programs, M, N, K, dtype):
    """The case of a product of M rows by programs of any kind; `gemv.py` has another one."""
    return Case(
        name=f"{name} {M}x{N}x{K} {dtype}",
        programs=programs,
        inputs=lambda random: [normal(random, (M, K), dtype), normal(random, (N, K), dtype)],
        outputs=[((M, N), dtype)],
        reference=lambda a, b: a @ b.T,
        peers={"torch": lambda a, b: a @ b.t()},
        bytes=2 * (M * K + N * K + M * N),
        flop=2 * M * N * K,
        atol=K**0.5 * 2e-2,
    )


def case(M, N, K, tiles=None, dtype="bfloat16"):
    programs = [lambda tile=tile: thin_gemm(M, N, K, dtype, tile) for tile in tiles or thin_tiles(M, N, K)]
    return problem("thin_gemm", programs, M, N, K, dtype)


CHECKED = [
    case(20, 136, 1024, [Tile(64, 32, 64, 4), Tile(32, 24, 128, 3)]),
    case(70, 200, 600, [Tile(64, 64, 64, 3, splits=3)]),
    case(1, 136, 600, [Tile(64, 8, 64, 3, splits=2)], "float16"),
]
CASES = [
    case(M, N, K)
    for M in (16, 64, 128)
    for N, K in ((8192, 8192), (4096, 14336), (4096, 4096))
] + [case(64, 7168, 2048), case(128, 2112, 7168)]  # fmt: skip

if __name__ == "__main__":
    check(CHECKED)
