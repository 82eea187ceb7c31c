"""Programs whose blocks reach into each other's shared memory, each with its arguments and what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import numpy as np

import tilec.language as T


@T.prim_func
def softmax(A: T.Tensor((6, 1024), "float32"), B: T.Tensor((6, 1024), "float32")):
    """A row is of four blocks, each of which tells all what it has found."""
    with T.ClusterKernel(4, 6, cluster_dims=4, threads=64) as (part, row):
        x, most, total = (T.alloc_fragment((n,), "float32") for n in (256, 1, 1))
        mine, all_parts = T.alloc_shared((2,), "float32"), T.alloc_shared((4, 2), "float32")
        T.copy(A[row, part * 256], x)
        T.reduce_max(x, most, dim=0)
        for i in T.Parallel(256):
            x[i] = T.exp(x[i] - most[0])
        T.reduce_sum(x, total, dim=0)
        mine[0] = most[0]
        mine[1] = total[0]
        for block in T.serial(4):
            T.copy_cluster(mine, all_parts[T.block_rank_in_cluster(), 0], dst_block=block)
        T.cluster_sync()
        greatest, everything = T.alloc_var("float32", all_parts[0, 0]), T.alloc_var("float32", 0.0)
        for block in T.serial(4):
            greatest = T.max(greatest, all_parts[block, 0])
        for block in T.serial(4):
            everything += all_parts[block, 1] * T.exp(all_parts[block, 0] - greatest)
        for i in T.Parallel(256):
            B[row, part * 256 + i] = x[i] * T.exp(most[0] - greatest) / everything


def softmaxed(A):
    powers = np.exp(A - A.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@T.prim_func
def split_k(A: T.Tensor((128, 256), "float16"), B: T.Tensor((256, 64), "float16"), C: T.Tensor((128, 64), "float32")):
    """Each block of a cluster multiplies a part of K, and adds up a part of the rows of all."""
    with T.ClusterKernel(4, 2, cluster_dims=(4, 1), threads=128) as (part, row):
        As, Bs = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
        acc, total = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((16, 64), "float32")
        products, other = T.alloc_shared((64, 64), "float32"), T.alloc_shared((16, 64), "float32")
        rank = T.block_rank_in_cluster()
        T.clear(acc)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[row * 64, part * 64 + k * 32], As)
            T.copy(B[part * 64 + k * 32, 0], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, products)
        T.cluster_sync()
        T.clear(total)
        for block in T.serial(4):
            T.copy_cluster(products[rank * 16 : rank * 16 + 16, :], other, src_block=block)
            for i, j in T.Parallel(16, 64):
                total[i, j] += other[i, j]
        T.copy(total, C[row * 64 + rank * 16, 0])


@T.prim_func
def rotated(A: T.Tensor((2, 6, 40), "int32"), B: T.Tensor((2, 6, 40), "int32"), n: T.int32):
    """As many rounds as a call asks for: each block gives its tile to the next one of a cluster of two dimensions."""
    with T.ClusterKernel(2, 6, cluster_dims=(2, 3), threads=32) as (x, y):
        tile, came = T.alloc_shared((40,), "int32"), T.alloc_shared((40,), "int32")
        moves = T.alloc_var("int32", 0)
        T.copy(A[x, y, 0], tile)
        for i in T.serial(n):
            T.copy_cluster(tile, came, dst_block=(T.block_rank_in_cluster() + 1) % 6)
            T.cluster_sync()
            for j in T.Parallel(40):
                tile[j] = came[j] + i
            moves += 1
            T.cluster_sync()
        for j in T.Parallel(40):
            B[x, y, j] = tile[j] * 100 + moves


@T.prim_func
def for_several(A: T.Tensor((8, 3, 64), "float32"), B: T.Tensor((8, 3, 64), "float32")):
    """In each round blocks 1 and 3 of a cluster of four get what block 1 copies, then each its own."""
    with T.ClusterKernel(8, cluster_dims=4, threads=64) as b:
        tile = T.alloc_shared((64,), "float32")
        for k in T.serial(2):
            T.copy_cluster(A[b, k, 0], tile, cluster_mask=0b1010)
            T.copy(tile, B[b, k, 0])
        T.copy_cluster(A[b, 2, 0], tile, cluster_mask=0b100)
        T.copy(tile, B[b, 2, 0])


def got_by_several(A):
    B = A.copy()
    B[[3, 7], :2] = A[[1, 5], :2]
    return B


def rotate(A, n):
    tiles = A.reshape(2, 2, 3, 40).transpose(1, 2, 0, 3).reshape(2, 6, 40)
    for i in range(n):
        tiles = np.roll(tiles, 1, 1) + i
    return tiles.reshape(2, 3, 2, 40).transpose(2, 0, 1, 3).reshape(2, 6, 40) * 100 + n


@T.prim_func
def in_halves(A: T.Tensor((8, 96), "float16"), B: T.Tensor((2, 8, 96), "float16")):
    """A block goes on between its arrival and its wait; fragments are sent and received."""
    with T.ClusterKernel(8, cluster_dims=2, threads=64) as b:
        came = T.alloc_shared((96,), "float16")
        x, y = T.alloc_fragment((96,), "float16"), T.alloc_fragment((96,), "float16")
        T.cluster_arrive_relaxed()
        T.copy(A[b, 0], x)
        T.cluster_wait()
        T.copy_cluster(x, came, dst_block=1 - T.block_rank_in_cluster())
        T.cluster_arrive()
        for i in T.Parallel(96):
            B[0, b, i] = x[i] + x[i]
        T.cluster_wait()
        T.copy_cluster(came, y, src_block=1 - b % 2)
        T.copy(y, B[1, b, 0])


@T.prim_func
def between_halves(A: T.Tensor((4, 64), "int32"), B: T.Tensor((4, 64), "int32"), n: T.int32):
    """A block sends between its arrival, which is in one of two branches, and its wait."""
    with T.ClusterKernel(4, cluster_dims=2, threads=64) as b:
        tile, other = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        T.copy(A[b, 0], tile)
        if n > 0:
            T.cluster_arrive()
            for i in T.Parallel(64):
                tile[i] = tile[i] + n
        else:
            T.cluster_arrive()
        T.copy_cluster(tile, other, dst_block=1 - T.block_rank_in_cluster())
        T.cluster_wait()
        T.cluster_sync()
        T.copy(other, B[b, 0])


@T.prim_func
def first_of_each(A: T.Tensor((12, 64), "int8"), B: T.Tensor((4, 3, 64), "int8"), wide: T.int32):
    """Only some blocks send, and only one of a cluster stores; a branch is the same for all of a cluster."""
    with T.ClusterKernel(12, cluster_dims=3, threads=32) as b:
        tiles, mine = T.alloc_shared((3, 64), "int8"), T.alloc_shared((64,), "int8")
        rank = T.block_rank_in_cluster()
        T.copy(A[b, 0], mine)
        T.clear(tiles)
        T.cluster_sync()
        if wide > 0:
            if rank != 1:
                T.copy_cluster(mine, tiles[rank, :], dst_block=0)
            T.cluster_sync()
        if rank == 0:
            T.copy(tiles, B[b // 3, 0:3, 0:64])


def firsts(A, wide):
    kept = np.zeros((4, 3, 64), np.int8)
    if wide > 0:
        kept[:, [0, 2]] = A.reshape(4, 3, 64)[:, [0, 2]]
    return kept


@T.prim_func
def without_clusters(A: T.Tensor((2, 64), "int32"), B: T.Tensor((2, 64), "int32")):
    """A block without others is its own cluster."""
    with T.Kernel(2, threads=32) as b:
        tile, other = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        T.copy(A[b, 0], tile)
        T.copy_cluster(tile, other, dst_block=0)
        T.cluster_sync()
        T.cluster_arrive()
        T.cluster_wait()
        T.copy(other, B[b, 0])


@T.prim_func
def told_by_a_copy(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8, 128), "float32")):
    """A block copies to another one, which waits for the copy at its own barrier."""
    with T.Kernel(8, threads=128, cluster_dims=(2, 1, 1)) as b:
        mine, came = T.alloc_shared((128,), "float32"), T.alloc_shared((128,), "float32")
        there = T.alloc_cluster_barrier([1])
        rank = T.block_rank_in_cluster()
        T.fill(came, 0.0)
        T.cluster_sync()
        if rank == 0:
            for i in T.Parallel(128):
                mine[i] = A[b, i] * 2
            T.copy_cluster(mine, came, dst_block=1, remote_barrier=there[0])
        if rank == 1:
            T.mbarrier_wait_parity(there[0], 0)
            for i in T.Parallel(128):
                B[b, i] = came[i]


def copied_to_the_next(A):
    B = np.full_like(A, 77)
    B[1::2] = A[::2] * 2
    return B


@T.prim_func
def to_and_fro(A: T.Tensor((4, 64, 32), "int32"), B: T.Tensor((4, 64, 32), "int32"), n: T.int32):
    """A block fills the slots of the other one as often as a call asks for, and waits until they are empty."""
    with T.ClusterKernel(4, cluster_dims=2, threads=64) as b:
        mine, ring = T.alloc_shared((32,), "int32"), T.alloc_shared((2, 32), "int32")
        full, empty = T.alloc_cluster_barrier([1] * 2), T.alloc_cluster_barrier([32] * 2)
        rank, t = T.block_rank_in_cluster(), T.get_thread_binding()
        for k in T.serial(n):
            if rank == 0:
                T.mbarrier_wait_parity(empty[k % 2], (k // 2 + 1) % 2)
                T.copy(A[b, k, 0], mine)
                T.copy_cluster(mine, ring[k % 2, :], dst_block=1, remote_barrier=full[k % 2])
            else:
                T.mbarrier_wait_parity(full[k % 2], k // 2 % 2)
                for i in T.Parallel(32):
                    B[b, k, i] = ring[k % 2, i] + k
                if t < 32:
                    T.ptx_arrive_cluster_barrier(empty[k % 2], 0)


def gone_to_and_fro(A, n):
    B = np.full_like(A, 77)
    B[1::2, :n] = A[::2, :n] + np.arange(n, dtype=A.dtype)[:, None]
    return B


@T.prim_func
def in_loops_of_their_own(A: T.Tensor((6, 64, 32), "int32"), B: T.Tensor((6, 64, 32), "int32"), n: T.int32):
    """The first block sends to the second, and that one to the third, each in a loop of its own."""
    with T.ClusterKernel(6, cluster_dims=3, threads=32) as b:
        mine, came = T.alloc_shared((32,), "int32"), T.alloc_shared((32,), "int32")
        full, empty = T.alloc_cluster_barrier(1), T.alloc_cluster_barrier(32)
        rank = T.block_rank_in_cluster()
        if rank == 0:
            for k in T.serial(n):
                T.copy(A[b, k, 0], mine)
                T.mbarrier_wait_parity(empty, (k + 1) % 2)
                T.copy_cluster(mine, came, dst_block=1, remote_barrier=full)
        elif rank == 1:
            for k in T.serial(n):
                T.mbarrier_wait_parity(full, k % 2)
                for i in T.Parallel(32):
                    mine[i] = came[i] * 2
                T.mbarrier_arrive(empty, cta_id=0)
                T.mbarrier_wait_parity(empty, (k + 1) % 2)
                T.copy_cluster(mine, came, dst_block=2, remote_barrier=full)
        if rank == 2:
            for k in T.serial(n):
                T.mbarrier_wait_parity(full, k % 2)
                T.copy(came, B[b, k, 0])
                T.ptx_arrive_cluster_barrier(empty, 1)


def gone_through(A, n):
    B = np.full_like(A, 77)
    B[2::3, :n] = A[::3, :n] * 2
    return B


@T.prim_func
def to_all_others(A: T.Tensor((8, 64), "int32"), B: T.Tensor((8, 64), "int32"), n: T.int32):
    """The first block sends to three others in a loop of its own, and waits until all of them have read."""
    with T.ClusterKernel(8, cluster_dims=4, threads=64) as b:
        mine, slot = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        full, done = T.alloc_cluster_barrier(1), T.alloc_cluster_barrier(3)
        rank, t = T.block_rank_in_cluster(), T.get_thread_binding()
        if rank == 0:
            for k in T.serial(n):
                T.mbarrier_wait_parity(done, (k + 1) % 2)
                T.copy(A[b + k % 4, 0], mine)
                for other in T.serial(1, 4):
                    T.copy_cluster(mine, slot, dst_block=other, remote_barrier=full)
        else:
            for k in T.serial(n):
                T.mbarrier_wait_parity(full, k % 2)
                for i in T.Parallel(64):
                    B[b, i] = B[b, i] + slot[i]
                if t == 0:
                    T.mbarrier_arrive(done, cta_id=0)


def sent_to_all(A, n):
    sums = A.reshape(2, 4, 64)[:, np.arange(n) % 4].sum(1)
    B = np.full_like(A, 77)
    for rank in (1, 2, 3):
        B[rank::4] += sums
    return B


@T.prim_func
def of_any_grid(A: T.Tensor((T.dynamic("blocks"), 64), "int32"), B: T.Tensor((T.dynamic("blocks"), 64), "int32")):
    """The block's number in the grid says to whom it sends."""
    with T.ClusterKernel(T.dynamic("blocks"), cluster_dims=2, threads=64) as b:
        mine, came = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        there = T.alloc_cluster_barrier(64)
        T.copy(A[b, 0], mine)
        T.copy_cluster(mine, came, dst_block=(b + 1) % 2)
        T.mbarrier_arrive(there, (b + 1) % 2)
        T.barrier_wait(there, 0)
        T.copy(came, B[b, 0])


@T.prim_func
def met_in_both_branches(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
    """The blocks meet in branches of their own, of which each takes one."""
    with T.ClusterKernel(4, cluster_dims=2, threads=64) as b:
        mine, came = T.alloc_shared((64,), "float32"), T.alloc_shared((64,), "float32")
        there = T.alloc_cluster_barrier([1])
        T.clear(came)
        if T.block_rank_in_cluster() == 0:
            T.copy(A[b, 0], mine)
            T.cluster_sync()
            T.copy_cluster(mine, came, dst_block=1, remote_barrier=there[0])
        else:
            T.cluster_sync()
            T.mbarrier_wait_parity(there[0], 0)
            T.copy(came, B[b, 0])


def handed_on(A):
    B = np.full_like(A, 77)
    B[1::2] = A[::2]
    return B


@T.prim_func
def both_before_they_wait(A: T.Tensor((4, 64), "int32"), B: T.Tensor((4, 64), "int32")):
    """Two blocks send, and then wait, each in a branch of its own."""
    with T.ClusterKernel(4, cluster_dims=2, threads=64) as b:
        mine, came = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        bars = T.alloc_cluster_barrier([1, 1])
        T.copy(A[b, 0], mine)
        if b % 2 == 0:
            T.copy_cluster(mine, came, dst_block=1, remote_barrier=bars[0])
            first = T.alloc_var("int32", mine[0])
            T.mbarrier_wait_parity(bars[0], 0)
            for i in T.Parallel(64):
                mine[i] = came[i] + 1 + (first + 2) * 0
        else:
            T.copy_cluster(mine, came, dst_block=0, remote_barrier=bars[0])
            T.mbarrier_wait_parity(bars[0], 0)
            for i in T.Parallel(64):
                mine[i] = came[i] + 2
        T.copy(mine, B[b, 0])


@T.prim_func
def waits_before_it_is_sent_to(A: T.Tensor((4, 64), "int32"), B: T.Tensor((4, 64), "int32")):
    """The block that waits stands before the one that sends."""
    with T.ClusterKernel(4, cluster_dims=2, threads=64) as b:
        mine, came = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        there = T.alloc_cluster_barrier(64)
        T.copy(A[b, 0], mine)
        if b % 2 == 0:
            T.barrier_wait(there, 0)
            T.copy(came, B[b, 0])
        else:
            T.copy_cluster(mine, came, dst_block=0)
            T.mbarrier_arrive(there, 0)


def sent_back(A):
    B = np.full_like(A, 77)
    B[::2] = A[1::2]
    return B


@T.prim_func
def in_a_ring(A: T.Tensor((6, 64), "float16"), B: T.Tensor((6, 64), "float16")):
    """All of a cluster of three pass tiles around; each thread of the first ones tells a block of its own."""
    with T.ClusterKernel(3, 2, cluster_dims=(3, 1), threads=64) as (x, y):
        total, sent = T.alloc_fragment((64,), "float16"), T.alloc_shared((64,), "float16")
        came = T.alloc_shared((2, 64), "float16")
        bars = T.alloc_cluster_barrier([1, 1])
        done = T.alloc_cluster_barrier(1)
        T.ptx_init_barrier_thread_count(done, 3)
        t = T.get_thread_binding()
        T.copy(A[y * 3 + x, 0], sent)
        T.copy(sent, total)
        for hop in T.unroll(2):
            T.copy_cluster(sent, came[hop, :], dst_block=(x + 1) % 3, remote_barrier=bars[hop])
            T.mbarrier_wait_parity(bars[hop], 0)
            for i in T.Parallel(64):
                total[i] += came[hop, i]
                sent[i] = came[hop, i]
            if t < 3:
                T.mbarrier_arrive(done, t)
            else:
                sent[t] = sent[t] * 1
            T.mbarrier_wait_parity(done, hop % 2)
        T.copy(total, B[y * 3 + x, 0])


def summed_around(A):
    return np.repeat(A.reshape(2, 3, 64).astype(np.float32).sum(1), 3, 0)


def in_panels(order, clusters):
    """Clusters come in panels, and blocks ask for their numbers in them."""

    @T.prim_func
    def program(A: T.Tensor((4, 6, 64), "int32"), B: T.Tensor((4, 6, 64), "int32")):
        with T.ClusterKernel(6, 4, cluster_dims=clusters, threads=64) as (x, y):
            T.use_swizzle(2, order)
            sent, came = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
            rank = T.block_rank_in_cluster()
            T.copy(A[y, x, :], sent)
            T.copy_cluster(sent, came, dst_block=(rank + 1) % T.get_cluster_size())
            T.cluster_sync()
            for i in T.Parallel(64):
                B[y, x, i] = came[i] + 1000 * rank + 10000 * T.get_cluster_id(0) + 100000 * T.get_cluster_id(1)

    return program


def sent_in_panels(clusters):
    """Returns what `in_panels` computes."""
    width, height = clusters

    def expected(A):
        result = np.empty_like(A)
        for y, x in np.ndindex(4, 6):
            rank, size = y % height * width + x % width, width * height
            down, across = divmod((rank - 1) % size, width)
            result[y, x] = A[y - y % height + down, x - x % width + across] + 1000 * rank
            result[y, x] += 10000 * (x // width) + 100000 * (y // height)
        return result

    return expected


def random(shape, dtype="int32"):
    numbers = np.random.default_rng(5).standard_normal(shape)
    return (numbers * 20).astype(dtype) if np.dtype(dtype).kind == "i" else numbers.astype(dtype)


@T.prim_func
def sums_on_the_way(A: T.Tensor((4, 128, 16), "float32"), B: T.Tensor((4, 2, 128), "float32")):
    """Each block reads what the other one has added up so far, also before the loop that adds."""
    with T.ClusterKernel(2, cluster_dims=2, threads=128) as b:
        R, there = T.alloc_reducer((128,), "float32", op="sum"), T.alloc_shared((128,), "float32")
        T.fill(R, 0.0)
        T.cluster_sync()
        T.copy_cluster(R, there, src_block=1 - b)
        T.cluster_sync()
        for k in T.serial(4):
            for i, j in T.Parallel(128, 16):
                R[i] += A[k, i, j]
            T.cluster_sync()
            T.copy_cluster(R, there, src_block=1 - b)
            T.copy(there, B[k, b, 0])
            T.cluster_sync()


def summed_on_the_way(A):
    return np.repeat(np.cumsum(A.sum(2), 0)[:, None], 2, 1)


CASES = {
    "sums_on_the_way": (
        sums_on_the_way, (random((4, 128, 16), "float32"),), (), ((4, 2, 128), "float32"), summed_on_the_way,
    ),
    "softmax": (softmax, (random((6, 1024), "float32"),), (), ((6, 1024), "float32"), softmaxed),
    "split_k": (
        split_k, (random((128, 256), "float16"), random((256, 64), "float16")), (), ((128, 64), "float32"),
        lambda A, B: A.astype(np.float32) @ B.astype(np.float32),
    ),
    "rotated": (rotated, (random((2, 6, 40)),), (4,), ((2, 6, 40), "int32"), rotate),
    "for_several": (for_several, (random((8, 3, 64), "float32"),), (), ((8, 3, 64), "float32"), got_by_several),
    "in_halves": (in_halves, (random((8, 96), "float16"),), (), ((2, 8, 96), "float16"), lambda A: [A + A, A]),
    "between_halves": (
        between_halves, (random((4, 64)),), (3,), ((4, 64), "int32"), lambda A, n: A[[1, 0, 3, 2]] + n,
    ),
    "first_of_each": (first_of_each, (random((12, 64), "int8"),), (1,), ((4, 3, 64), "int8"), firsts),
    "first_of_none": (first_of_each, (random((12, 64), "int8"),), (0,), ((4, 3, 64), "int8"), firsts),
    "told_by_a_copy": (
        told_by_a_copy, (random((8, 128), "float32"),), (), ((8, 128), "float32"), copied_to_the_next,
    ),
    "to_and_fro": (to_and_fro, (random((4, 64, 32)),), (5,), ((4, 64, 32), "int32"), gone_to_and_fro),
    "to_and_fro_no_time": (to_and_fro, (random((4, 64, 32)),), (0,), ((4, 64, 32), "int32"), gone_to_and_fro),
    "in_loops_of_their_own": (
        in_loops_of_their_own, (random((6, 64, 32)),), (3,), ((6, 64, 32), "int32"), gone_through,
    ),
    "to_all_others": (to_all_others, (random((8, 64)),), (5,), ((8, 64), "int32"), sent_to_all),
    "of_any_grid": (of_any_grid, (random((6, 64)),), (), ((6, 64), "int32"), lambda A: A[[1, 0, 3, 2, 5, 4]]),
    "met_in_both_branches": (
        met_in_both_branches, (random((4, 64), "float32"),), (), ((4, 64), "float32"), handed_on,
    ),
    "both_before_they_wait": (
        both_before_they_wait, (random((4, 64)),), (), ((4, 64), "int32"),
        lambda A: A[[1, 0, 3, 2]] + np.array([1, 2, 1, 2], A.dtype)[:, None],
    ),
    "waits_before_it_is_sent_to": (
        waits_before_it_is_sent_to, (random((4, 64)),), (), ((4, 64), "int32"), sent_back,
    ),
    **{
        f"in_panels_of_{order}s_{width}_{height}": (
            in_panels(order, (width, height)), (random((4, 6, 64)),), (), ((4, 6, 64), "int32"),
            sent_in_panels((width, height)),
        )
        for order, width, height in (("row", 2, 1), ("column", 2, 2), ("row", 3, 2), ("column", 1, 4))
    },
    "in_a_ring": (in_a_ring, (random((6, 64)).astype("float16"),), (), ((6, 64), "float16"), summed_around),
    "without_clusters": (without_clusters, (random((2, 64)),), (), ((2, 64), "int32"), lambda A: A),
}  # fmt: skip
"""For each program its tensors, its scalars, the shape and type of what it writes, and what that is."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, inputs, scalars, (shape, dtype), expected = CASES[name]
    found = np.full(shape, 77, dtype)
    run(program, *inputs, found, *scalars)
    wanted = expected(*inputs, *scalars)
    if dtype == "float32":
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_array_equal(found, wanted)
