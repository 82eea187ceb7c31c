"""Pipelines that programs write by hand with barriers and groups (semantics S10), and what NumPy makes of them.

The tests run them on the CPU and the simulator and compile them for GPUs; those of `test/integration` run them there.
"""

import numpy as np

import tilec.language as T

M, N, K = 128, 128, 256
BM, BN, BK = 64, 128, 32


def random(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype("float16")


def multiplied(A, B):
    return A.astype("float64") @ B.astype("float64")


def product(body, stages, threads=256, inner=K):
    """A product of two matrices; `body` does what the groups do, given the tensors, tiles and where the block is."""

    @T.prim_func
    def program(A: T.Tensor((M, inner), "float16"), B: T.Tensor((inner, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(N // BN, M // BM, threads=threads) as (bx, by):
            a = T.alloc_shared((stages, BM, BK), "float16")
            b = T.alloc_shared((stages, BK, BN), "float16")
            c = T.alloc_fragment((BM, BN), "float32")
            body(A, B, C, a, b, c, bx, by, T.ceildiv(inner, BK))

    return program, (random((M, K), 0), random((K, N), 1)), np.full((M, N), np.nan, np.float32), multiplied


@T.macro
def in_one_loop(A, B, C, a, b, c, bx, by, steps):
    """The groups stand in one loop: those who fill come first, also in the text."""
    full = T.alloc_barrier([128, 128])
    empty = T.alloc_barrier([128] * 2)
    with T.ws(0):
        T.clear(c)
    for k in T.serial(steps):
        with T.ws(1):
            T.mbarrier_wait_parity(empty[k % 2], k // 2 % 2 ^ 1)
            T.tma_copy(A[by * BM, k * BK], a[k % 2, :, :], barrier=full[k % 2])
            T.tma_copy(B[k * BK, bx * BN], b[k % 2, :, :], barrier=full[k % 2])
            T.mbarrier_arrive(full[k % 2])
        with T.ws(0):
            T.mbarrier_wait_parity(mbarrier=full[k % 2], parity=k // 2 % 2)
            T.wgmma_gemm(a[k % 2, :, :], b[k % 2, :, :], c)
            T.wait_wgmma(0)
            T.mbarrier_arrive(empty[k % 2])
    with T.ws(0):
        T.copy(c, C[by * BM, bx * BN])


@T.macro
def in_loops_of_their_own(A, B, C, a, b, c, bx, by, steps):
    """Each group has its loop, and one thread starts the copies; the one that computes comes first in the text."""
    full = T.alloc_barrier([1] * 3)
    empty = T.alloc_barrier([128] * 3)
    t = T.get_thread_binding()
    if t < 128:
        T.clear(c)
        for k in T.serial(steps):
            T.barrier_wait(full[k % 3], k // 3 % 2)
            T.gemm(a[k % 3, :, :], b[k % 3, :, :], c)
            T.barrier_arrive(empty[k % 3])
        T.copy(c, C[by * BM, bx * BN])
    else:
        for k in T.serial(steps):
            T.barrier_wait(empty[k % 3], k // 3 % 2 ^ 1)
            if T.shuffle_elect(128):
                T.tma_copy(A[by * BM, k * BK], a[k % 3, :, :], barrier=full[k % 3])
                T.tma_copy(B[k * BK, bx * BN], b[k % 3, :, :], barrier=full[k % 3])
                T.mbarrier_arrive_expect_tx(full[k % 3], (BM + BN) * BK * 2)


@T.macro
def in_loops_up_to_a_variable(A, B, C, a, b, c, bx, by, steps):
    """Each group reads how often its loop runs, from a variable that was assigned before."""
    count = T.alloc_var("int32", 0)
    count = T.cast(steps, "int32")
    in_loops_of_their_own(A, B, C, a, b, c, bx, by, count)


@T.macro
def with_phases_in_variables(A, B, C, a, b, c, bx, by, steps):
    """Parities are kept in variables, and a slot is released one iteration later than it is read."""
    full = T.alloc_barrier([128] * 2)
    empty = T.alloc_barrier([128] * 2)
    with T.ws(1):
        phase = T.alloc_var("int32", 1)
        for k in T.serial(steps):
            T.barrier_wait(empty[k % 2], phase)
            T.copy(A[by * BM, k * BK], a[k % 2, :, :])
            T.copy(B[k * BK, bx * BN], b[k % 2, :, :])
            T.barrier_arrive(full[k % 2])
            if k % 2 == 1:
                phase = phase ^ 1
    with T.ws(0):
        T.clear(c)
        for k in T.serial(steps):
            T.barrier_wait(full[k % 2], k // 2 & 1)
            T.gemm(a[k % 2, :, :], b[k % 2, :, :], c)
            if k > 0:
                T.barrier_arrive(empty[(k + 1) % 2])
            if k == steps - 1:
                T.barrier_arrive(empty[k % 2])
        T.copy(c, C[by * BM, bx * BN])


@T.macro
def copied_by_threads(A, B, C, a, b, c, bx, by, steps):
    """Each thread of a group copies pieces of the tiles, and the loops are written out for both slots."""
    full = T.alloc_barrier([128] * 2)
    empty = T.alloc_barrier([128] * 2)
    t = T.get_thread_binding()
    if t < 128:
        T.clear(c)
        for k in T.serial(T.ceildiv(steps, 2)):
            for stage in T.unroll(2):
                T.barrier_wait(full[stage], k & 1)
                T.wgmma_gemm(a[stage, :, :], b[stage, :, :], c)
                T.wait_wgmma(0)
                T.barrier_arrive(empty[stage])
        T.copy(c, C[by * BM, bx * BN])
    elif t >= 128:
        for k in T.serial(T.ceildiv(steps, 2)):
            for stage in T.unroll(2):
                T.barrier_wait(empty[stage], (k & 1) ^ 1)
                for r in T.serial(2):
                    row, column = r * 32 + (t - 128) // 4, (t - 128) % 4 * 8
                    T.ptx_cp_async(
                        T.access_ptr(a[stage, row, column], "w", 8),
                        T.access_ptr(A[by * BM + row, (k * 2 + stage) * BK + column], "r", 8),
                        8,
                    )
                for r in T.serial(4):
                    for u in T.serial(2):
                        row, column = r * 8 + (t - 128) // 16, u * 64 + (t - 128) % 16 * 4
                        for v in T.vectorized(4):
                            b[stage, row, column + v] = B[(k * 2 + stage) * BK + row, bx * BN + column + v]
                T.cp_async_barrier_noinc(full[stage])


ROWS, COLUMNS, ROUNDS = 128, 64, 6


@T.prim_func
def back_and_forth(A: T.Tensor((ROUNDS, ROWS, COLUMNS), "float32"), B: T.Tensor((2, ROWS, COLUMNS), "float32")):
    """Two groups that wait for each other in the middle of each round, but for the last one."""
    with T.Kernel(1, threads=256):
        x = T.alloc_fragment((ROWS, COLUMNS), "float32")
        y = T.alloc_fragment((ROWS, COLUMNS), "float32")
        left = T.alloc_shared((ROWS, COLUMNS), "float32")
        right = T.alloc_shared((ROWS, COLUMNS), "float32")
        sent = T.alloc_barrier(128)
        answered = T.alloc_barrier(128)
        t = T.get_thread_binding()
        if t < 128:
            T.clear(x)
            for k in T.serial(ROUNDS):
                for i, j in T.Parallel(ROWS, COLUMNS):
                    x[i, j] = x[i, j] + A[k, i, j]
                T.copy(x, left)
                T.barrier_arrive(sent)
                if k < ROUNDS - 1:
                    T.barrier_wait(answered, k % 2)
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        x[i, j] = x[i, j] - 0.5 * right[i, j]
            T.copy(x, B[0, 0, 0])
        else:
            T.clear(y)
            for k in T.serial(ROUNDS):
                T.barrier_wait(sent, k % 2)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    y[i, j] = y[i, j] + left[i, j]
                if k < ROUNDS - 1:
                    T.copy(y, right)
                    T.barrier_arrive(answered)
            T.copy(y, B[1, 0, 0])


def gone_back_and_forth(A):
    x, y = np.zeros((2, ROWS, COLUMNS))
    for k in range(ROUNDS):
        x = x + A[k]
        y = y + x
        if k < ROUNDS - 1:
            x = x - 0.5 * y
    return np.stack([x, y])


@T.prim_func
def threads_of_groups(A: T.Tensor((256,), "int32"), B: T.Tensor((4, 256), "int32")):
    """What threads of a group do for themselves, and how many arrive."""
    with T.Kernel(1, threads=256):
        t = T.get_thread_binding()
        s = T.alloc_shared((256,), "int32")
        n = T.alloc_shared((2,), "int32")
        ready = T.alloc_barrier([1, 128])
        T.clear(n)
        with T.ws(1):
            s[t] = A[t] * 2
            s[t - 128] = A[t - 128] + 1
            T.atomic_add(n[0], 1)
            T.atomic_add(n[t // 256], 1)
            T.barrier_arrive(ready[1])
            if t == 200:
                T.barrier_arrive(ready[0])
            T.named_barrier_arrive(3, 256)
        with T.ws(0):
            T.barrier_wait(ready[1], 0)
            T.barrier_wait(ready[0], 0)
            T.sync_threads(3, 256)
            B[0, t] = s[255 - t]
            for i in T.Parallel(256):
                B[1, i] = s[i]
        B[2, t] = n[0]
        B[3, t] = T.get_warp_group_idx()


@T.prim_func
def three_groups(A: T.Tensor((8, 128), "int32"), B: T.Tensor((2, 128), "int32")):
    """One group fills, and two read, each its own way; all three are branches of one chain."""
    with T.Kernel(1, threads=384):
        t = T.get_thread_binding()
        s = T.alloc_shared((2, 128), "int32")
        x = T.alloc_fragment((128,), "int32")
        y = T.alloc_fragment((128,), "int32")
        full = T.alloc_barrier([128] * 2)
        empty = T.alloc_barrier([256] * 2)
        if t < 128:
            T.clear(x)
            for k in T.serial(8):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                for i in T.Parallel(128):
                    x[i] = x[i] + s[k % 2, i]
                T.barrier_arrive(empty[k % 2])
            T.copy(x, B[0, 0:128])
        elif t >= 128 and t < 256:
            T.clear(y)
            for k in T.serial(8):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                for i in T.Parallel(128):
                    y[i] = T.max(y[i], s[k % 2, i])
                T.barrier_arrive(empty[k % 2])
            T.copy(y, B[1, 0:128])
        elif t >= 256:
            for k in T.serial(8):
                T.barrier_wait(empty[k % 2], k // 2 % 2 ^ 1)
                s[k % 2, t - 256] = A[k, t - 256]
                T.cp_async_barrier_noinc(full[k % 2])


@T.prim_func
def two_of_three_multiply(
    A: T.Tensor((2, 64, 64), "float16"), B: T.Tensor((64, 256), "float16"), C: T.Tensor((64, 256), "float32")
):
    """Two groups have half of a product each, and the threads of a third one copy, row by row."""
    with T.Kernel(1, threads=384):
        t = T.get_thread_binding()
        a = T.alloc_shared((2, 64, 64), "float16")
        b = T.alloc_shared((64, 256), "float16")
        left, right = T.alloc_fragment((64, 128), "float32"), T.alloc_fragment((64, 128), "float32")
        row = T.alloc_var("int32")
        full = T.alloc_barrier([128] * 2)
        T.copy(B, b)
        if t < 128:
            T.clear(left)
            for k in T.serial(2):
                T.barrier_wait(full[k], 0)
                T.gemm(a[k, :, :], b[:, :128], left)
            T.copy(left, C[:, :128])
        elif t < 256:
            T.clear(right)
            for k in T.serial(2):
                T.barrier_wait(full[k], 0)
                T.gemm(a[k, :, :], b[:, 128:], right)
            T.copy(right, C[:, 128:])
        else:
            for k in T.serial(2):
                row = (t - 256) // 2
                for j in T.serial(32):
                    a[k, row, t % 2 * 32 + j] = A[k, row, t % 2 * 32 + j]
                T.barrier_arrive(full[k])


@T.prim_func
def as_long_as_a_tensor_says(
    A: T.Tensor((8, 128), "int32"), lengths: T.Tensor((3,), "int32"), B: T.Tensor((3, 128), "int32")
):
    """Each group reads for itself how often its loop runs, from a tensor that nothing here writes."""
    with T.Kernel(3, threads=256) as b:
        t = T.get_thread_binding()
        s = T.alloc_shared((2, 128), "int32")
        x = T.alloc_fragment((128,), "int32")
        full = T.alloc_barrier([128] * 2)
        empty = T.alloc_barrier([128] * 2)
        if t < 128:
            for k in T.serial(T.min(lengths[b], 8)):
                T.barrier_wait(empty[k % 2], k // 2 % 2 ^ 1)
                T.copy(A[k, 0:128], s[k % 2, :])
                T.barrier_arrive(full[k % 2])
        else:
            T.clear(x)
            for k in T.serial(T.min(lengths[b], 8)):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                for i in T.Parallel(128):
                    x[i] = x[i] + s[k % 2, i]
                T.barrier_arrive(empty[k % 2])
            T.copy(x, B[b, 0:128])


def added_up_to(A, lengths):
    return np.stack([A[:length].sum(0) for length in np.clip(lengths, 0, 8)])


@T.prim_func
def groups_in_parts(A: T.Tensor((6, 128), "int32"), B: T.Tensor((2, 128), "int32")):
    """What a group does stands in several branches, with those of other groups between them."""
    with T.Kernel(1, threads=384):
        t = T.get_thread_binding()
        s = T.alloc_shared((2, 128), "int32")
        x = T.alloc_fragment((128,), "int32")
        y = T.alloc_fragment((128,), "int32")
        full = T.alloc_barrier([128] * 2)
        empty = T.alloc_barrier([256] * 2)
        with T.ws(0):
            T.clear(x)
        with T.ws(1):
            T.clear(y)
        with T.ws(2):
            for k in T.serial(6):
                T.barrier_wait(empty[k % 2], k // 2 % 2 ^ 1)
                s[k % 2, t - 256] = A[k, t - 256]
                T.barrier_arrive(full[k % 2])
        with T.ws(0):
            for k in T.serial(6):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                for i in T.Parallel(128):
                    x[i] = x[i] + s[k % 2, i]
                T.barrier_arrive(empty[k % 2])
        with T.ws(1):
            for k in T.serial(6):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                for i in T.Parallel(128):
                    y[i] = T.max(y[i], s[k % 2, i])
                T.barrier_arrive(empty[k % 2])
        with T.ws(0):
            T.copy(x, B[0, 0:128])
        with T.ws(1):
            T.copy(y, B[1, 0:128])


@T.prim_func
def loops_in_loops(A: T.Tensor((3, 4, 128), "int32"), B: T.Tensor((3, 128), "int32")):
    """Each group goes through all tiles, and for each through steps that are more for later ones."""
    with T.Kernel(1, threads=256):
        t = T.get_thread_binding()
        s = T.alloc_shared((2, 128), "int32")
        x = T.alloc_fragment((128,), "int32")
        full = T.alloc_barrier([128] * 2)
        empty = T.alloc_barrier([128] * 2)
        if t < 128:
            filled = T.alloc_var("int32", 0)
            for tile in T.serial(3):
                for k in T.serial(tile + 2):
                    T.barrier_wait(empty[filled % 2], filled // 2 % 2 ^ 1)
                    T.copy(A[tile, k, :], s[filled % 2, :])
                    T.barrier_arrive(full[filled % 2])
                    filled = filled + 1
        else:
            used = T.alloc_var("int32", 0)
            for tile in T.serial(3):
                T.clear(x)
                for k in T.serial(tile + 2):
                    T.barrier_wait(full[used % 2], used // 2 % 2)
                    for i in T.Parallel(128):
                        x[i] = x[i] + s[used % 2, i]
                    T.barrier_arrive(empty[used % 2])
                    used = used + 1
                T.copy(x, B[tile, :])


@T.prim_func
def loops_of_one_group(A: T.Tensor((6, 128), "int32"), B: T.Tensor((4, 128), "int32")):
    """One of the groups has loops of its own, before and behind that in which it waits for the other."""
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((2, 128), "int32")
        x = T.alloc_fragment((128,), "int32")
        full = T.alloc_barrier([128] * 2)
        empty = T.alloc_barrier([128] * 2)
        with T.ws(1):
            for k in T.serial(6):
                T.barrier_wait(empty[k % 2], k // 2 % 2 ^ 1)
                T.copy(A[k, :], s[k % 2, :])
                T.barrier_arrive(full[k % 2])
        with T.ws(0):
            T.clear(x)
            for n in T.serial(3):
                for i in T.Parallel(128):
                    x[i] = x[i] + n
            for k in T.serial(6):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                for i in T.Parallel(128):
                    x[i] = x[i] + s[k % 2, i]
                T.barrier_arrive(empty[k % 2])
            for n in T.serial(4):
                T.copy(x, B[n, :])


def added_up(A, B):
    return A.astype("float64").sum(0) @ B.astype("float64")


def done_by_groups(A):
    t = np.arange(256)
    s = np.where(t < 128, A + 1, 2 * A)
    first = np.where(t < 128, s[255 - t], 0)
    return np.stack([first, s, 0 * t + 129, t // 128]).astype("int32")


CASES = {
    "in_one_loop": product(in_one_loop, 2),
    "in_loops_of_their_own": product(in_loops_of_their_own, 3),
    "in_loops_of_any_length": product(in_loops_of_their_own, 3, inner=T.dynamic("inner")),
    "in_loops_up_to_a_variable": product(in_loops_up_to_a_variable, 3, inner=T.dynamic("inner")),
    "copied_by_threads": product(copied_by_threads, 2),
    "with_phases_in_variables": product(with_phases_in_variables, 2),
    "back_and_forth": (
        back_and_forth,
        (np.random.default_rng(2).standard_normal((ROUNDS, ROWS, COLUMNS)).astype("float32"),),
        np.zeros((2, ROWS, COLUMNS), np.float32), gone_back_and_forth,
    ),
    "three_groups": (
        three_groups, (np.random.default_rng(3).integers(0, 99, (8, 128)).astype("int32"),),
        np.zeros((2, 128), np.int32), lambda A: np.stack([A.sum(0), A.max(0)]),
    ),
    "as_long_as_a_tensor_says": (
        as_long_as_a_tensor_says,
        (np.random.default_rng(6).integers(0, 99, (8, 128)).astype("int32"), np.array([5, -1, 9], np.int32)),
        np.full((3, 128), -1, np.int32), added_up_to,
    ),
    "groups_in_parts": (
        groups_in_parts, (np.random.default_rng(7).integers(0, 99, (6, 128)).astype("int32"),),
        np.zeros((2, 128), np.int32), lambda A: np.stack([A.sum(0), A.max(0)]),
    ),
    "loops_in_loops": (
        loops_in_loops, (np.random.default_rng(8).integers(0, 99, (3, 4, 128)).astype("int32"),),
        np.zeros((3, 128), np.int32), lambda A: np.stack([A[tile, : tile + 2].sum(0) for tile in range(3)]),
    ),
    "loops_of_one_group": (
        loops_of_one_group, (np.random.default_rng(9).integers(0, 99, (6, 128)).astype("int32"),),
        np.zeros((4, 128), np.int32), lambda A: np.tile(A.sum(0) + 3, (4, 1)),
    ),
    "two_of_three_multiply": (
        two_of_three_multiply, (random((2, 64, 64), 4), random((64, 256), 5)),
        np.full((64, 256), np.nan, np.float32), added_up,
    ),
    "threads_of_groups": (
        threads_of_groups, (np.arange(256, dtype="int32") * 3,), np.zeros((4, 256), np.int32), done_by_groups,
    ),
}  # fmt: skip
"""For each program its inputs, its result as it is before, and what that is after."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, inputs, result, reference = CASES[name]
    found = result.copy()
    run(program, *inputs, found)
    tolerance = 0 if found.dtype == np.int32 else 2e-3
    np.testing.assert_allclose(found, reference(*inputs), rtol=tolerance, atol=tolerance)
