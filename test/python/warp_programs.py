"""Programs of warps (semantics S9), each with what NumPy makes of it.

The tests run them on the CPU and the simulator and compile them for GPUs; those of `test/integration` run them there.
"""

import numpy as np

import tilec.language as T

WARP = 32


def lanes(threads):
    """Returns the number of each thread's lane, and that of the first thread of its warp."""
    t = np.arange(threads)
    return t % WARP, t // WARP * WARP


def read(x, source, valid):
    """Returns what the lane `source` has, or a thread's own value where there is none."""
    lane, first = lanes(len(x))
    exists = valid & (first + source < len(x))
    return np.where(exists, x[np.where(exists, first + source, 0)], x)


def by_warp(x, function):
    """Returns a function of the values of each warp, to each of its threads."""
    out = [np.broadcast_to(function(x[i : i + WARP]), x[i : i + WARP].shape) for i in range(0, len(x), WARP)]
    return np.concatenate(out)


def bits(x):
    """Returns for each warp the lanes where a condition holds."""
    return by_warp(x, lambda w: sum(1 << i for i, v in enumerate(w) if v))


SHUFFLES = 8


def shuffles(threads, dtype):
    """A value of each type goes from lane to lane, in segments of each width, and to lanes that are no threads."""

    @T.prim_func
    def program(A: T.Tensor((threads,), dtype), B: T.Tensor((SHUFFLES, threads), dtype)):
        with T.Kernel(1, threads=threads):
            t = T.get_thread_binding()
            B[0, t] = T.shfl_sync(A[t], 5)
            B[1, t] = T.tvm_warp_shuffle(0xFFFFFFFF, A[t], t * 3 + 1, 8, 32)
            B[2, t] = T.shfl_xor(A[t], 1)
            B[3, t] = T.shfl_xor(A[t], 12, width=8)
            B[4, t] = T.shfl_down(A[t], 3)
            B[5, t] = T.tvm_warp_shuffle_down(0xFFFFFFFF, A[t], t % 4, 16, 32)
            B[6, t] = T.shfl_up(A[t], 7, mask=0xFFFFFFFF)
            moved = T.tvm_warp_shuffle_up(0xFFFFFFFF, A[t], 2, 4, 32)
            B[7, t] = T.shfl_xor(moved, 16)

    def reference(A):
        t, (lane, _) = np.arange(threads), lanes(threads)
        yes = np.ones(threads, bool)
        other = lane ^ 12
        moved = read(A, lane - 2, lane % 4 >= 2)
        return np.stack([
            read(A, 5 + 0 * lane, yes), read(A, lane // 8 * 8 + (t * 3 + 1) % 8, yes), read(A, lane ^ 1, yes),
            read(A, other, other <= lane // 8 * 8 + 7), read(A, lane + 3, lane + 3 < WARP),
            read(A, lane + t % 4, lane % 16 + t % 4 < 16), read(A, lane - 7, lane >= 7), read(moved, lane ^ 16, yes),
        ])  # fmt: skip

    values = np.random.default_rng(1).integers(-60, 60, threads).astype(dtype)
    return program, values, np.zeros((SHUFFLES, threads), dtype), reference


def reductions(threads, dtype):
    """What all threads of a warp get: integers wrap, and a warp may have fewer threads."""
    is_float = np.dtype(dtype).kind == "f"
    count = 3 if is_float else 5

    @T.prim_func
    def program(A: T.Tensor((threads,), dtype), B: T.Tensor((count, threads), dtype)):
        with T.Kernel(1, threads=threads):
            t = T.get_thread_binding()
            B[0, t] = T.warp_reduce_sum(A[t])
            B[1, t] = T.warp_reduce_max(A[t])
            B[2, t] = T.warp_reduce_min(A[t])
            if not is_float:
                B[3, t] = T.warp_reduce_bitand(A[t])
                B[4, t] = T.warp_reduce_bitor(A[t])

    def reference(A):
        functions = [lambda w: w.sum(dtype=w.dtype), np.max, np.min, np.bitwise_and.reduce, np.bitwise_or.reduce]
        return np.stack([by_warp(A, f) for f in functions[:count]])

    generator = np.random.default_rng(2)
    if is_float:
        values = generator.integers(-30, 30, threads).astype(dtype)  # the sums are exact
    else:
        ends = np.iinfo(dtype)
        values = generator.integers(ends.min, ends.max, threads, dtype)
    return program, values, np.zeros((count, threads), dtype), reference


VOTES = 14


def votes(threads):
    """Conditions of warps and of the block; lanes that no thread is count for nothing."""

    @T.prim_func
    def program(A: T.Tensor((threads,), "int32"), B: T.Tensor((VOTES, threads), "int64")):
        with T.Kernel(1, threads=threads):
            t = T.get_thread_binding()
            x = A[t]
            B[0, t] = T.cast(T.ballot(x > 0), "int64")
            B[1, t] = T.cast(T.ballot_sync(x, 0xFFFF00), "int64")
            B[2, t] = T.any_sync(x > 50)
            B[3, t] = T.all_sync(x > -58)
            B[4, t] = T.any_sync(x > 0, mask=0x12)
            B[5, t] = T.all_sync(x != 7, 0xF0F)
            B[6, t] = T.cast(T.match_any_sync(x % 5), "int64")
            B[7, t] = T.cast(T.match_any_sync(T.cast(x % 3, "float16"), 0x7FFFFFFF), "int64")
            B[8, t] = T.cast(T.match_all_sync(t // 32), "int64")
            B[9, t] = T.cast(T.match_all_sync(t // 16, 0xFFFE), "int64")
            B[10, t] = T.cast(T.activemask(), "int64")
            B[11, t] = T.syncthreads_count(x > 0)
            B[12, t] = T.syncthreads_and(x > -61) + 2 * T.syncthreads_and(x)
            B[13, t] = T.syncthreads_or(x > 50) + 2 * T.syncthreads_or(False)

    def reference(A):
        here = bits(np.ones(threads, bool))
        same = np.stack([bits(np.zeros(threads, bool))] * 2)
        for t in range(threads):
            for row, key in enumerate((A % 5, A % 3)):
                first = t // WARP * WARP
                same[row, t] = sum(1 << i for i, k in enumerate(key[first : first + WARP]) if k == key[t])
        agree = by_warp(np.arange(threads) // 16, lambda w: len(set(w[1:16])) <= 1)
        inside = lambda mask: bits(A != 7) & mask == here & mask  # noqa: E731
        ones = np.ones(threads, np.int64)
        return np.stack([
            bits(A > 0), bits(A != 0) & 0xFFFF00, bits(A > 50) != 0, bits(A > -58) == here, bits(A > 0) & 0x12 != 0,
            inside(0xF0F), same[0], same[1] & 0x7FFFFFFF, here, np.where(agree, here & 0xFFFE, 0), here,
            ones * (A > 0).sum(), 1 + 2 * ones * (A != 0).all(), ones * (A > 50).any(),
        ])  # fmt: skip

    values = np.random.default_rng(3).integers(-60, 60, threads).astype("int32")
    return program, values, np.zeros((VOTES, threads), np.int64), reference


@T.prim_func
def numbers(A: T.Tensor((192,), "int32"), B: T.Tensor((10, 192), "int32")):
    with T.Kernel(1, threads=(16, 4, 3)):
        x, y, z = T.get_thread_bindings()
        t = (z * 4 + y) * 16 + x
        B[0, t] = T.get_lane_idx()
        B[1, t] = T.get_warp_idx()
        B[2, t] = T.get_warp_idx_sync(64)
        B[3, t] = T.get_warp_group_idx()
        B[4, t] = T.get_warp_group_idx(32, 2)
        B[5, t] = T.cast(T.shuffle_elect(64), "int32")
        B[6, t] = T.cast(T.shuffle_elect(0), "int32")
        B[7, t] = T.shfl_xor(A[t], 17)
        B[8, t] = T.__ffs(A[t])
        B[9, t] = T.cast(T.__fns(T.cast(A[t], "uint32"), 4, T.if_then_else(x % 2 == 0, 2, -1)), "int32")


def numbered(A):
    t = np.arange(192)
    word = A.astype("int64") & 0xFFFFFFFF
    lowest = [next((i + 1 for i in range(32) if w >> i & 1), 0) for w in word]
    found = []
    for thread, w in enumerate(word):
        ups = [i for i in range(4, 32) if w >> i & 1]
        downs = [i for i in range(4, -1, -1) if w >> i & 1]
        found.append((ups[1:] or [-1])[0] if thread % 2 == 0 else (downs or [-1])[0])
    return np.stack([
        t % 32, t // 32, t // 64, t // 128, t // 64, t % 64 == 0, t == 0, A[t // 32 * 32 + (t % 32 ^ 17)], lowest,
        found,
    ]).astype("int32")  # fmt: skip


@T.prim_func
def loops(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    """A sum over lanes in a loop, of an array; what a warp has found goes on through shared memory."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        x = T.alloc_local((2,), "float32")
        parts = T.alloc_shared((2,), "float32")
        x[0] = A[t]
        x[1] = 0
        for i in T.serial(5):
            x[0] = x[0] + T.shfl_down(x[0], 1 << i)
            x[1] = x[1] + T.shfl_xor(A[t], i)
        if T.get_lane_idx() == 0:
            parts[T.get_warp_idx()] = x[0]
        T.sync_warp()
        B[t] = parts[0] + parts[1] + x[1]


def looped(A):
    t = np.arange(64)
    return A.sum() + sum(A[t // 32 * 32 + (t % 32 ^ i)] for i in range(5))


TYPES = ("int8", "uint8", "float16", "int32", "float32", "int64", "float64")


def sums_of_signs(threads, each):
    """The Walsh-Hadamard transform of each warp's numbers, of which each thread has some in an array."""

    @T.prim_func
    def program(A: T.Tensor((threads * each,), "int32"), B: T.Tensor((threads * each,), "int32")):
        with T.Kernel(1, threads=threads):
            t = T.get_thread_binding()
            own = T.alloc_local((each,), "int32")
            other = T.alloc_local((each,), "int32")
            for i in T.vectorized(each):
                own[i] = A[t * each + i]
            for i in T.serial(each.bit_length() - 1):
                size = 1 << (i + 1)
                for j in T.serial(each // size):
                    for k in T.serial(size // 2):
                        own[j * size + k] = own[j * size + k] + own[j * size + k + size // 2]
                        own[j * size + k + size // 2] = own[j * size + k] - 2 * own[j * size + k + size // 2]
            for i in T.serial(5):
                for j in T.Pipelined(each, num_stages=1):
                    other[j] = T.tvm_warp_shuffle(0xFFFFFFFF, own[j], (t ^ (1 << i)) % 32, 32, 32)
                    own[j] = T.if_then_else((t >> i) & 1 == 0, own[j] + other[j], other[j] - own[j])
            for i in T.vectorized(each):
                B[t * each + i] = own[i]

    def reference(A):
        count = WARP * each
        signs = np.array([[1 - 2 * ((i & j).bit_count() % 2) for j in range(count)] for i in range(count)])
        return (A.reshape(-1, count) @ signs).reshape(-1).astype(np.int32)

    values = np.random.default_rng(5).integers(-60, 60, threads * each).astype("int32")
    return program, values, np.zeros(threads * each, np.int32), reference


CASES = {
    **{f"shuffles_of_{dtype}": shuffles(96, dtype) for dtype in TYPES},
    **{f"shuffles_of_{n}_threads": shuffles(n, "int32") for n in (1, 33, 75)},
    **{f"reductions_of_{dtype}": reductions(64, dtype) for dtype in ("int32", "uint32", "int64", "float16", "float32")},
    **{f"reductions_of_{n}_threads": reductions(n, "int32") for n in (20, 49)},
    **{f"votes_of_{n}_threads": votes(n) for n in (64, 53)},
    "numbers": (
        numbers, np.random.default_rng(4).integers(-(2**31), 2**31, 192).astype("int32"),
        np.zeros((10, 192), np.int32), numbered,
    ),
    **{f"sums_of_signs_{n}": sums_of_signs(64, n) for n in (4, 128)},
    "loops": (loops, np.arange(64, dtype="float32"), np.zeros(64, np.float32), looped),
}  # fmt: skip
"""For each program its input, its result as it is before, and what that is after."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, values, result, reference = CASES[name]
    found = result.copy()
    run(program, values.copy(), found)
    np.testing.assert_array_equal(found, reference(values))
