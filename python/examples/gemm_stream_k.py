"""C = A @ B by stream-K: no multiprocessor is idle while others compute the last tiles.

Each of `blocks` blocks goes from tile to tile. The tiles that are left over where their number is no multiple of that
of the blocks come first, and their steps along K are shared out evenly: a block has the end of one tile and the
beginning of the next, or steps from the middle of one. It leaves sums of these pieces in a workspace and goes on with
whole tiles. A second kernel adds up the pieces of each tile, in an order that does not change, so that equal inputs
give equal bits.
"""

from cases import Case, check, normal

import tilec.language as T


def gemm_stream_k(
    M: int, N: int, K: int, dtype: str, is_B_transposed: bool,
    block_M: int, block_N: int, block_K: int, stages: int, threads: int, blocks: int,
):  # fmt: skip
    b_shape, b_tile = ((N, K), (block_N, block_K)) if is_B_transposed else ((K, N), (block_K, block_N))
    tiles_M, tiles_N, steps = -(-M // block_M), -(-N // block_N), -(-K // block_K)
    tiles = tiles_M * tiles_N
    order = T.PersistentTileScheduler(tiles_M, tiles_N, blocks, swizzle_size=8, column_major=False, stateful=False)
    # Block `b` of the sharers has the units from `b * units // sharers` on: step `u % steps` of tile `u // steps`.
    waves, shared = divmod(tiles, blocks)
    units = shared * steps
    # More than 16 pieces of a tile would be a few steps each, and take longer to add up than they save.
    sharers = min(blocks, units, 16 * shared)
    rows = 8

    def place(tile):
        """Returns where the tile of a number begins in C."""
        # The same number: the compiler, which knows the count of blocks coarsely, sees that the tile is one of C.
        x, y = order.coord(tile % tiles)
        return x * block_M, y * block_N

    @T.macro
    def multiply(A, B, As, Bs, acc, row, column, first, end):
        """Leaves in `acc` the sums of the steps from `first` up to `end`."""
        T.clear(acc)
        for k in T.Pipelined(first, end, num_stages=stages):
            T.copy(A[row, k * block_K], As)
            if is_B_transposed:
                T.copy(B[column, k * block_K], Bs)
            else:
                T.copy(B[k * block_K, column], Bs)
            T.gemm(As, Bs, acc, transpose_B=is_B_transposed)

    @T.prim_func
    def multiply_and_add(A: T.Tensor((M, K), dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), dtype)):
        # Of each tile the piece with its first step, and of each block the one that begins at another step.
        pieces = T.alloc_global((shared + sharers, block_M, block_N), "float32")
        with T.Kernel(blocks, threads=threads) as block:
            As = T.alloc_shared((block_M, block_K), dtype)
            Bs = T.alloc_shared(b_tile, dtype)
            acc = T.alloc_fragment((block_M, block_N), "float32")
            if shared > 0:
                begin, end = [T.min(sharer, sharers) * units // sharers for sharer in (block, block + 1)]
                for tile in T.serial(begin // steps, T.ceildiv(end, steps)):
                    first = T.max(begin - tile * steps, 0)
                    multiply(A, B, As, Bs, acc, *place(tile), first, T.min(end - tile * steps, steps))
                    T.copy(acc, pieces[T.if_then_else(first == 0, tile, shared + block), 0, 0])
            for wave in T.serial(waves):
                row, column = place(shared + wave * blocks + block)
                multiply(A, B, As, Bs, acc, row, column, 0, steps)
                T.copy(acc, C[row, column])
        if shared > 0:
            with T.Kernel(block_M // rows, shared, threads=block_N) as (part, tile):
                total = T.alloc_fragment((rows, block_N), "float32")
                T.copy(pieces[tile, part * rows, 0], total)
                # Blocks that begin at another step of the tile than its first; what is behind the last piece is zero.
                first, end = T.ceildiv((tile * steps + 1) * sharers, units), T.ceildiv((tile + 1) * sharers, shared)
                for n in T.unroll(-(-sharers // shared)):
                    piece = T.if_then_else(first + n < end, shared + first + n, shared + sharers)
                    for i, j in T.Parallel(rows, block_N):
                        total[i, j] += pieces[piece, part * rows + i, j]
                row, column = place(tile)
                T.copy(total, C[row + part * rows, column])

    return multiply_and_add


MULTIPROCESSORS = 132
"""Of an H100 or H200."""
TILES = [(128, 256, 64, 3, 256, MULTIPROCESSORS), (256, 128, 64, 3, 256, MULTIPROCESSORS)]


def case(M, N, K, kind="NN", dtype="bfloat16", tiles=TILES):
    """`kind` says of B whether it is transposed: "NN" or "NT"."""
    transposed = kind == "NT"
    return Case(
        name=f"gemm_stream_k {kind} {M}x{N}x{K} {dtype}",
        programs=[lambda tile=tile: gemm_stream_k(M, N, K, dtype, transposed, *tile) for tile in tiles],
        inputs=lambda random: [
            normal(random, (M, K), dtype),
            normal(random, (N, K) if transposed else (K, N), dtype),
        ],
        outputs=[((M, N), dtype)],
        reference=lambda x, y: x @ (y.T if transposed else y),
        peers={"torch": lambda a, b: a @ (b.t() if transposed else b)},
        bytes=2 * (M * K + K * N + M * N),
        flop=2 * M * N * K,
        atol=K**0.5 * 2e-2,
    )


CHECKED = [
    # 15 tiles of 8 steps for 5 blocks (none is shared), 4, 14 (more than the shared tile has steps), and 20 (all are).
    case(130, 264, 456, tiles=[(64, 64, 64, 3, 128, blocks) for blocks in (5, 4, 14, 20)]),
    # One tile for more blocks than add up one.
    case(60, 64, 1300, tiles=[(64, 64, 64, 3, 128, 18)]),
    case(200, 136, 1000, "NT", "float16", tiles=[(128, 128, 64, 3, 256, 3)]),
]
SHAPES = [(4096, 11008, 4096), (8192, 5120, 5120), (8192, 6144, 4096), (2048, 5120, 8192), (3072, 3072, 3072)]
CASES = [case(*shape, kind) for shape in SHAPES for kind in ("NN", "NT")]

if __name__ == "__main__":
    check(CHECKED)
