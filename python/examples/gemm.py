"""C = A @ B in all transpositions: A of (M, K) or (K, M), B of (K, N) or (N, K).

Tiles are copied as they lie in memory, and the product reads them either way. Blocks whose tiles share rows or
columns of A and B follow each other, so that these come from the L2 cache; the last tile goes out by way of shared
memory, in whole rows. A kernel with a block for each multiprocessor, which goes from tile to tile, fetches the next one
while it writes a result.
"""

from cases import Case, check, normal

import tilec.language as T


def gemm(
    M: int, N: int, K: int, dtype: str, is_A_transposed: bool, is_B_transposed: bool,
    block_M: int, block_N: int, block_K: int, stages: int, threads: int, blocks: int | None = None,
):  # fmt: skip
    """Of `blocks` blocks each goes from tile to tile; without them, each tile has a block."""
    a_shape, a_tile = ((K, M), (block_K, block_M)) if is_A_transposed else ((M, K), (block_M, block_K))
    b_shape, b_tile = ((N, K), (block_N, block_K)) if is_B_transposed else ((K, N), (block_K, block_N))

    @T.macro
    def fetch(A, B, As, Bs, x, y, k):
        if is_A_transposed:
            T.copy(A[k * block_K, x * block_M], As)
        else:
            T.copy(A[x * block_M, k * block_K], As)
        if is_B_transposed:
            T.copy(B[y * block_N, k * block_K], Bs)
        else:
            T.copy(B[k * block_K, y * block_N], Bs)

    if blocks is not None:

        @T.prim_func
        def multiply(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), dtype)):
            with T.Kernel(blocks, threads=threads) as block:
                As = T.alloc_shared(a_tile, dtype)
                Bs = T.alloc_shared(b_tile, dtype)
                acc = T.alloc_fragment((block_M, block_N), "float32")
                for x, y in T.Persistent([T.ceildiv(M, block_M), T.ceildiv(N, block_N)], blocks, block):
                    T.clear(acc)
                    for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                        fetch(A, B, As, Bs, x, y, k)
                        T.gemm(As, Bs, acc, transpose_A=is_A_transposed, transpose_B=is_B_transposed)
                    T.copy(acc, C[x * block_M, y * block_N])

        return multiply

    @T.prim_func
    def multiply(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            As = T.alloc_shared(a_tile, dtype)
            Bs = T.alloc_shared(b_tile, dtype)
            Cs = T.alloc_shared((block_M, block_N), dtype)
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.use_swizzle(panel_size=8)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                fetch(A, B, As, Bs, by, bx, k)
                T.gemm(As, Bs, acc, transpose_A=is_A_transposed, transpose_B=is_B_transposed)
            T.copy(acc, Cs)
            T.copy(Cs, C[by * block_M, bx * block_N])

    return multiply


MULTIPROCESSORS = 132
"""Of an H100 or H200."""
LARGE = [
    (128, 256, 64, 3, 256, MULTIPROCESSORS),
    (256, 128, 64, 3, 256, MULTIPROCESSORS),
    (128, 192, 64, 4, 256, MULTIPROCESSORS),
    (128, 128, 64, 4, 256, MULTIPROCESSORS),
    (128, 256, 64, 3, 256),
    (128, 128, 64, 4, 128),
    (128, 128, 32, 4, 128),
    (128, 256, 32, 4, 256),
]
"""Tiles, stages, threads and perhaps blocks, for matrices that give every multiprocessor some tiles of 128 x 256."""
MEDIUM = [(64, 128, 128, 3, 128), (128, 64, 64, 6, 256), (64, 64, 128, 4, 128), (128, 128, 64, 5, 256)]
"""For those of which each multiprocessor has about one tile."""
SMALL = [(64, 64, 128, 4, 128), (64, 128, 64, 4, 128), (64, 32, 128, 5, 128)]
"""For those with few rows, where it is reading B that takes time."""
MANY_TILES = 2048 * 2048
"""Elements of C that make many tiles."""


def tiles_for(M, N):
    """Returns what to try for a product."""
    if M < 512:
        return SMALL
    return LARGE if M * N >= MANY_TILES else MEDIUM


def by_torch(is_A_transposed, is_B_transposed):
    return lambda a, b: (a.t() if is_A_transposed else a) @ (b.t() if is_B_transposed else b)


def case(M, N, K, kind="NN", dtype="bfloat16", tiles=None):
    """`kind` says of A and B whether they are transposed: "NN", "NT", "TN" or "TT"."""
    a, b = (letter == "T" for letter in kind)
    product = by_torch(a, b)

    def program(tile):
        return lambda: gemm(M, N, K, dtype, a, b, *tile)

    return Case(
        name=f"gemm {kind} {M}x{N}x{K} {dtype}",
        programs=[program(tile) for tile in tiles or tiles_for(M, N)],
        inputs=lambda random: [
            normal(random, (K, M) if a else (M, K), dtype),
            normal(random, (N, K) if b else (K, N), dtype),
        ],
        outputs=[((M, N), dtype)],
        reference=lambda x, y: (x.T if a else x) @ (y.T if b else y),
        peers={"torch": product},
        bytes=2 * (M * K + K * N + M * N),
        flop=2 * M * N * K,
        atol=K**0.5 * 2e-2,
    )


KINDS = ("NN", "NT", "TN", "TT")
CHECKED = [case(130, 264, 200, kind, tiles=[(128, 128, 64, 3, 128), (128, 128, 64, 3, 256, 2)]) for kind in KINDS]
SQUARES = [512, 1000, 1024, 2048, 3072, 6144, 8192]
MODELS = [
    (2048, 4096, 4096), (16384, 4096, 4096), (8192, 6144, 4096), (4096, 11008, 4096), (4096, 14336, 4096),
    (4096, 4096, 14336), (8192, 5120, 5120), (8192, 28672, 8192), (4096, 8192, 28672), (2048, 8192, 8192),
]  # fmt: skip
"""Layers of language models."""
CASES = [
    *(case(4096, 4096, 4096, kind) for kind in KINDS),
    *(case(*shape, kind) for shape in [(size,) * 3 for size in SQUARES] + MODELS for kind in ("NN", "NT")),
    *(case(M, 8192, 8192, "NT") for M in (1, 16, 64, 128)),
]

if __name__ == "__main__":
    check(CHECKED)
