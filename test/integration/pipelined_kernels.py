"""Pipelined loops of every kind, each written so that a copy or a product at the wrong time shows."""

import itertools

import tilec.language as T


def row_by_row(stages):
    """Each iteration fills another row of the tile, and reads the first one."""

    @T.prim_func
    def main(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((4, 128), "float32")
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k : k + 1, 0:128], S[k : k + 1, 0:128])
                for j in T.Parallel(128):
                    B[k, j] = S[0, j]

    return main


def used_after(stages):
    """The tile is filled before the loop, by the loop, if it runs at all, and read after it."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), n: T.int32, B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            T.fill(S, 7)
            for k in T.Pipelined(n, num_stages=stages):
                T.copy(A[k, 0], S)
            T.copy(S, B)

    return main


def doubled(stages, allocate_inside=False):
    """Copies tiles in, and out again times two."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), n: T.int32, B: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=128):
            outside = T.alloc_shared((128,), "float32")
            for k in T.Pipelined(n, num_stages=stages):
                S = T.alloc_shared((128,), "float32") if allocate_inside else outside
                T.copy(A[k, 0], S)
                for j in T.Parallel(128):
                    B[k, j] = S[j] * 2

    return main


def feeds_itself(stages):
    """Each iteration copies the row that the one before wrote."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            for k in T.Pipelined(7, num_stages=stages):
                T.copy(A[k, 0], S)
                for j in T.Parallel(128):
                    A[k + 1, j] = S[j] + 1

    return main


def two_copies(stages):
    """Two copies fill one tile."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(A[k, 0:64], S[0:64])
                T.copy(A[7 - k, 64:128], S[64:128])
                for j in T.Parallel(128):
                    B[k, j] = S[j]

    return main


def every_other(stages):
    """A copy under a condition: the tile keeps what the iteration before copied."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            for k in T.Pipelined(8, num_stages=stages):
                if k % 2 == 0:
                    T.copy(A[k, 0], S)
                for j in T.Parallel(128):
                    B[k, j] = S[j]

    return main


def nested(stages):
    """A pipelined loop in a loop, of another length each time."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            F = T.alloc_fragment((128,), "float32")
            for i in T.serial(8):
                T.clear(F)
                for k in T.Pipelined(i, num_stages=stages):
                    T.copy(A[k, 0], S)
                    for j in T.Parallel(128):
                        F[j] = F[j] + S[j]
                T.copy(F, B[i, 0])

    return main


def used_after_gemm(stages):
    """The operands of a loop's products are read and changed right after it."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 128), "float16"),
        B: T.Tensor((1024, 128), "float16"),
        C: T.Tensor((64, 128), "float16"),
    ):
        with T.Kernel(1, threads=256):
            Qs = T.alloc_shared((64, 128), "float16")
            Bs = T.alloc_shared((128, 128), "float16")
            acc = T.alloc_fragment((64, 128), "float32")
            T.clear(acc)
            T.copy(Q, Qs)
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(B[k * 128, 0], Bs)
                T.gemm(Qs, Bs, acc, policy=T.GemmWarpPolicy.FullCol)
            T.copy(acc, Qs)
            T.copy(Qs, C)

    return main


def persistent_gemm(stages, blocks=4, M=512, N=512, K=512):
    """A few blocks do all tiles of a product, one after the other."""
    tiles = (M // 128) * (N // 128)

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(blocks, threads=128) as bx:
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            for t in T.serial(tiles // blocks):
                row = (t * blocks + bx) // (N // 128)
                column = (t * blocks + bx) % (N // 128)
                T.clear(acc)
                for k in T.Pipelined(K // 64, num_stages=stages):
                    T.copy(A[row * 128, k * 64], As)
                    T.copy(B[k * 64, column * 128], Bs)
                    T.gemm(As, Bs, acc)
                T.copy(acc, C[row * 128, column * 128])

    return main


def tiles_in_turn(stages, blocks=3, M=256, N=512, K=200):
    """As above with tiles so large that a thread of its own starts the copies; some steps and tiles are left out."""
    rows, columns = -(-M // 128), -(-N // 256)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K), "float16"),
        steps: T.Tensor((rows * columns,), "int32"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(blocks, threads=256) as bx:
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((256, 64), "float16")
            acc = T.alloc_fragment((128, 256), "float32")
            for t in T.serial(T.ceildiv(rows * columns, blocks)):
                tile = t * blocks + bx
                if tile < rows * columns:
                    row, column = tile // columns, tile % columns
                    T.clear(acc)
                    for k in T.Pipelined(steps[tile], num_stages=stages):
                        T.copy(A[row * 128, k * 64], As)
                        T.copy(B[column * 256, k * 64], Bs)
                        T.gemm(As, Bs, acc, transpose_B=True)
                    T.copy(acc, C[row * 128, column * 256])

    return main


def rescaled(stages):
    """As in attention: one product feeds the other, whose sums each iteration scales."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 64), "float16"),
        A: T.Tensor((512, 64), "float16"),
        B: T.Tensor((512, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            Qs = T.alloc_shared((64, 64), "float16")
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            Ps = T.alloc_shared((64, 64), "float16")
            p = T.alloc_fragment((64, 64), "float32")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(Q, Qs)
            T.clear(total)
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(A[k * 64, 0], As)
                T.copy(B[k * 64, 0], Bs)
                T.clear(p)
                T.gemm(Qs, As, p, transpose_B=True)
                for i, j in T.Parallel(64, 64):
                    total[i, j] = total[i, j] * 0.5
                T.copy(p, Ps)
                T.gemm(Ps, Bs, total)
            T.copy(total, C)

    return main


def rescaled_in_registers(stages, runs=1, dtype="float16", rows=64, threads=128):
    """Like `rescaled`, by way of registers, any number of times in a row: the last product may be done late."""

    @T.prim_func
    def main(
        Q: T.Tensor((rows, 64), dtype),
        A: T.Tensor((512, 64), dtype),
        B: T.Tensor((512, 64), dtype),
        n: T.int32,
        C: T.Tensor((rows, 64), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            Qs = T.alloc_shared((rows, 64), dtype)
            As = T.alloc_shared((64, 64), dtype)
            Bs = T.alloc_shared((64, 64), dtype)
            s = T.alloc_fragment((rows, 64), "float32")
            p = T.alloc_fragment((rows, 64), dtype)
            total = T.alloc_fragment((rows, 64), "float32")
            T.copy(Q, Qs)
            T.clear(total)
            for _ in T.serial(runs):
                for k in T.Pipelined(n, num_stages=stages):
                    T.copy(A[k * 64, 0], As)
                    T.clear(s)
                    T.gemm(Qs, As, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(rows, 64):
                        s[i, j] = s[i, j] * 0.25
                    T.copy(s, p)
                    for i, j in T.Parallel(rows, 64):
                        total[i, j] = total[i, j] * 0.5
                    T.copy(B[k * 64, 0], Bs)
                    T.gemm(p, Bs, total, policy=T.GemmWarpPolicy.FullRow)
            T.copy(total, C)

    return main


def through_parts(stages):
    """Like `rescaled`, by way of a part of a shared tile that each iteration chooses."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 64), "float16"),
        A: T.Tensor((256, 64), "float16"),
        B: T.Tensor((256, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            Qs = T.alloc_shared((64, 64), "float16")
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            parts = T.alloc_shared((2, 64, 64), "float16")
            s = T.alloc_fragment((64, 64), "float32")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(Q, Qs)
            T.clear(total)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k * 64, 0], As)
                T.clear(s)
                T.gemm(Qs, As, s, transpose_B=True)
                T.copy(s, parts[k % 2, :, :])
                T.copy(B[k * 64, 0], Bs)
                T.gemm(parts[k % 2, :, :], Bs, total)
            T.copy(total, C)

    return main


def four_in_a_loop(stages):
    """Four pipelines, one after the other, in a loop that none of them knows the bounds of."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), n: T.int32, C: T.Tensor((16, 64), "float32")):
        with T.Kernel(1, threads=128):
            tiles = [T.alloc_shared((16, 64), "float16") for _ in range(4)]
            total = T.alloc_fragment((16, 64), "float32")
            T.clear(total)
            for _ in T.serial(n):
                for i in T.unroll(4):
                    for k in T.Pipelined(n + i, num_stages=stages):
                        T.copy(A[k * 16, 0], tiles[i])
                        for r, j in T.Parallel(16, 64):
                            total[r, j] += tiles[i][r, j]
            T.copy(total, C)

    return main


def loops_in_turn(stages, trips=None, own=False):
    """Four loops behind each other, whose tiles shared memory does not hold four times; each may have tiles of its own.

    They run `trips` times, or as often as `counts` says.
    """

    @T.prim_func
    def main(
        A: T.Tensor((512, 512), "float16"),
        B: T.Tensor((512, 512), "float16"),
        counts: T.Tensor((4,), "int32"),
        C: T.Tensor((128, 128), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = [T.alloc_shared((128, 64), "float16") for _ in range(4 if own else 1)]
            Bs = [T.alloc_shared((64, 128), "float16") for _ in range(4 if own else 1)]
            total = T.alloc_fragment((128, 128), "float32")
            T.clear(total)
            for loop in T.unroll(4):
                for k in T.Pipelined(counts[loop] if trips is None else trips, num_stages=stages):
                    T.copy(A[loop * 128, k * 64], As[loop if own else 0])
                    T.copy(B[k * 64, loop * 128], Bs[loop if own else 0])
                    T.gemm(As[loop if own else 0], Bs[loop if own else 0], total)
            T.copy(total, C)

    return main


def loops_of_roles(stages, trips=None):
    """Loops behind each other in a loop, with tiles so large that a thread of its own starts the copies of both."""

    @T.prim_func
    def main(
        A: T.Tensor((256, 512), "float16"),
        B: T.Tensor((512, 512), "float16"),
        counts: T.Tensor((4,), "int32"),
        C: T.Tensor((256, 512), "float16"),
    ):
        with T.Kernel(2, threads=256) as bx:
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 256), "float16")
            total = T.alloc_fragment((128, 256), "float32")
            for row in T.serial(2):
                T.clear(total)
                for loop in T.unroll(2):
                    for k in T.Pipelined(counts[2 * row + loop] if trips is None else trips, num_stages=stages):
                        T.copy(A[row * 128, (loop * 4 + k) * 64], As)
                        T.copy(B[(loop * 4 + k) * 64, bx * 256], Bs)
                        T.gemm(As, Bs, total)
                if counts[row] > 1:
                    for k in T.Pipelined(counts[row], num_stages=stages):
                        T.copy(B[k * 64, bx * 256], Bs)
                        T.copy(A[row * 128, k * 64], As)
                        T.gemm(As, Bs, total)
                T.copy(total, C[row * 128, bx * 256])

    return main


def beside_tiles_that_stay(runs=2):
    """Each iteration multiplies what a thread of its own has copied, and then what stays, into one accumulator."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 256), "float16"),
        B: T.Tensor((256, 256), "float16"),
        n: T.int32,
        C: T.Tensor((128, 256), "float32"),
    ):
        with T.Kernel(1, threads=256):
            As, first = (T.alloc_shared((128, 64), "float16") for _ in range(2))
            Bs, second = (T.alloc_shared((64, 256), "float16") for _ in range(2))
            total = T.alloc_fragment((128, 256), "float32")
            T.copy(A[0, 0], first)
            T.copy(B[0, 0], second)
            T.clear(total)
            for _ in T.serial(runs):
                for k in T.Pipelined(n, num_stages=3):
                    T.copy(A[0, k * 64], As)
                    T.copy(B[k * 64, 0], Bs)
                    T.gemm(As, Bs, total)
                    T.gemm(first, second, total)
            for i, j in T.Parallel(128, 256):
                C[i, j] = total[i, j]

    return main


def beside_tiles_that_stay_reference(a, b, n, runs=2):
    """What `beside_tiles_that_stay` computes, of arrays or tensors of float32."""
    return runs * (a[:, : n * 64] @ b[: n * 64] + n * (a[:, :64] @ b[:64]))


def loops_in_turn_reference(a, b, counts):
    """What `loops_in_turn` computes, of arrays or tensors of float32."""
    total = a[:128, :128] * 0
    for loop, n in enumerate(counts):
        columns = slice(loop * 128, loop * 128 + 128)
        total = total + a[columns, : n * 64] @ b[: n * 64, columns]
    return total


def loops_of_roles_reference(a, b, counts, trips=None):
    """What `loops_of_roles` computes, of arrays or tensors of float32."""
    total = a @ b * 0
    for row in range(2):
        rows = slice(row * 128, row * 128 + 128)
        begins = [(256 * loop, counts[2 * row + loop] if trips is None else trips) for loop in range(2)]
        for begin, n in [*begins, (0, counts[row] if counts[row] > 1 else 0)]:
            steps = slice(begin, begin + n * 64)
            total[rows] += a[rows, steps] @ b[steps]
    return total


def rows_from(runs):
    """Adds the rows from 0 on, whatever number the loop begins with."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), low: T.int32, high: T.int32, B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            for _ in T.serial(runs):
                for k in T.Pipelined(low, high, num_stages=3):
                    T.copy(A[k - low, 0], S)
                    for j in T.Parallel(128):
                        B[j] += S[j]

    return main


def rescaled_reference(q, a, b, n, runs=1):
    """What `rescaled_in_registers` computes, of arrays of float32."""
    total = q[:, :64] * 0
    for k in [*range(n)] * runs:
        tile = slice(k * 64, k * 64 + 64)
        total = total * 0.5 + (q @ a[tile].T * 0.25) @ b[tile]
    return total


def sometimes(stages):
    """A product in a branch of the loop."""

    @T.prim_func
    def main(A: T.Tensor((512, 64), "float16"), n: T.int32, C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(A[k * 64, 0], As)
                if k % 3 != n:
                    T.gemm(As, As, total, transpose_A=True)
            T.copy(total, C)

    return main


def masked_products(stages):
    """Copies and product of an iteration stand behind a mask; the loop is run again on the same tiles."""

    @T.prim_func
    def main(
        A: T.Tensor((256, 512), "float16"),
        B: T.Tensor((512, 256), "float16"),
        M: T.Tensor((2, 2, 2, 8), "bool"),
        C: T.Tensor((256, 256), "float32"),
    ):
        with T.Kernel(2, 2, threads=128) as (x, y):
            As, Bs = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
            total = T.alloc_fragment((128, 128), "float32")
            T.clear(total)
            for run in T.serial(2):
                for k in T.Pipelined(8, num_stages=stages):
                    if M[run, y, x, k]:
                        T.copy(A[y * 128, k * 64], As)
                        T.copy(B[k * 64, x * 128], Bs)
                        T.gemm(As, Bs, total)
            T.copy(total, C[y * 128, x * 128])

    return main


def masked_products_reference(a, b, mask):
    total = a @ b * 0
    for run, y, x, k in itertools.product(range(2), range(2), range(2), range(8)):
        rows, columns, depth = (slice(i * n, i * n + n) for i, n in ((y, 128), (x, 128), (k, 64)))
        if mask[run, y, x, k]:
            total[rows, columns] += a[rows, depth] @ b[depth, columns]
    return total


def any_number_of_products(stages):
    """A loop of products that may not run at all; `ptxas` is not to see it write sums that are under way."""
    k, row = T.dynamic("k, row")

    @T.prim_func
    def main(
        A: T.StridedTensor((64, k), (row, 1), "float16"),
        B: T.Tensor((k, 64), "float16"),
        n: T.int32,
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 32), "float16")
            Bs = T.alloc_shared((32, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for i in T.Pipelined(n, num_stages=stages):
                T.copy(A[0, i * 32], As)
                T.copy(B[i * 32, 0], Bs)
                T.gemm(As, Bs, total)
            T.copy(total, C)

    return main


def late_products(stages, groups, tiles=4, loops=1, more=0):
    """The second product of an iteration needs arithmetic on the first one, which the next iteration hides.

    As many loops behind each other do the same, each with `more` stages than the one before.
    """
    rows = 64 * groups

    @T.prim_func
    def main(
        Q: T.Tensor((tiles * rows, 64), "float16"),
        K: T.Tensor((1024, 64), "float16"),
        V: T.Tensor((1024, 64), "float16"),
        counts: T.Tensor((tiles,), "int32"),
        Out: T.Tensor((tiles * rows, 64), "float32"),
    ):
        with T.Kernel(tiles, threads=2 * rows) as tile:
            Qs = T.alloc_shared((rows, 64), "float16")
            Ks = T.alloc_shared((128, 64), "float16")
            Vs = T.alloc_shared((128, 64), "float16")
            s = T.alloc_fragment((rows, 128), "float32")
            p = T.alloc_fragment((rows, 128), "float16")
            o = T.alloc_fragment((rows, 64), "float32")
            T.copy(Q[tile * rows, 0], Qs)
            T.clear(o)
            for loop in T.unroll(loops):
                for k in T.Pipelined(counts[tile], num_stages=stages + more * loop):
                    T.copy(K[k * 128, 0], Ks)
                    T.clear(s)
                    T.gemm(Qs, Ks, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(rows, 128):
                        s[i, j] = T.min(T.max(s[i, j], -2), 2)
                    T.copy(s, p)
                    T.copy(V[k * 128, 0], Vs)
                    T.gemm(p, Vs, o, policy=T.GemmWarpPolicy.FullRow)
            T.copy(o, Out[tile * rows, 0])

    return main


def in_clusters(
    cluster=(2, 1), stages=3, M=256, N=512, K=320, tile=(128, 128, 64), threads=128, transposed=False, panel=0
):
    """A product whose blocks along x need the same tiles of A, and those along y the same of B."""
    block_M, block_N, block_K = tile
    b_tile = (block_N, block_K) if transposed else (block_K, block_N)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K) if transposed else (K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads, cluster_dims=cluster) as (bx, by):
            if panel:
                T.use_swizzle(panel)
            As = T.alloc_shared((block_M, block_K), "float16")
            Bs = T.alloc_shared(b_tile, "float16")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], As)
                T.copy(B[bx * block_N, k * block_K] if transposed else B[k * block_K, bx * block_N], Bs)
                T.gemm(As, Bs, acc, transpose_B=transposed)
            T.copy(acc, C[by * block_M, bx * block_N])

    return main


def tiles_in_clusters(stages=3, clusters=2, M=256, N=1024, K=200):
    """A few clusters of two blocks do all tiles of a product, one pair beside the other after the other."""
    columns = N // 256

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        steps: T.Tensor((M // 128 * columns,), "int32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(2 * clusters, threads=128, cluster_dims=2):
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            for t in T.serial(T.ceildiv(M // 128 * columns, clusters)):
                tile = t * clusters + T.get_cluster_id()
                if tile < M // 128 * columns:
                    row = tile // columns * 128
                    column = tile % columns * 256 + T.block_rank_in_cluster() * 128
                    T.clear(acc)
                    for k in T.Pipelined(steps[tile], num_stages=stages):
                        T.copy(A[row, k * 64], As)
                        T.copy(B[k * 64, column], Bs)
                        T.gemm(As, Bs, acc)
                    T.copy(acc, C[row, column])

    return main


def scores_in_clusters(stages=2, groups=1, tiles=4):
    """Blocks of a cluster have other rows of Q, and the same K and V."""
    rows = 64 * groups

    @T.prim_func
    def main(
        Q: T.Tensor((2 * rows, 64), "float16"),
        A: T.Tensor((tiles * 64, 64), "float16"),
        B: T.Tensor((tiles * 64, 64), "float16"),
        C: T.Tensor((2 * rows, 64), "float32"),
    ):
        with T.Kernel(2, threads=128 * groups, cluster_dims=2) as bx:
            q = T.alloc_shared((rows, 64), "float16")
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            scores = T.alloc_fragment((rows, 64), "float32")
            weights = T.alloc_fragment((rows, 64), "float16")
            acc = T.alloc_fragment((rows, 64), "float32")
            T.copy(Q[bx * rows, 0], q)
            T.clear(acc)
            for k in T.Pipelined(tiles, num_stages=stages):
                T.copy(A[k * 64, 0], a)
                T.copy(B[k * 64, 0], b)
                T.clear(scores)
                T.gemm(q, a, scores, transpose_B=True)
                for i, j in T.Parallel(rows, 64):
                    weights[i, j] = T.cast(scores[i, j] * 0.125, "float16")
                T.gemm(weights, b, acc)
            T.copy(acc, C[bx * rows, 0])

    return main
