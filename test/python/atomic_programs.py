"""Programs of atomic operations, each with what it computes in NumPy.

What they compute does not depend on the order in which iterations, threads and blocks come. The tests run them on the
CPU, those of `test/integration` on a GPU, many times: what is wrong there is a race.
"""

from dataclasses import dataclass

import numpy as np

import tilec.language as T


@dataclass
class Case:
    """`inputs` makes the arrays that a program is called with; `right` what they hold then, which it may change."""

    program: object
    inputs: object
    right: object


def integers(random, low, high, shape, dtype="int32"):
    return random.integers(low, high, shape).astype(dtype)


# Many blocks -------------------------------------------------------------------------------------------------------


@T.prim_func
def histogram(X: T.Tensor((16384,), "int32"), H: T.Tensor((64,), "int32")):
    with T.Kernel(16, threads=128) as b:
        bins = T.alloc_shared((64,), "int32")
        T.clear(bins)
        for i in T.Parallel(1024):
            T.atomic_add(bins[X[b * 1024 + i]], 1)
        for i in T.Parallel(64):
            T.atomic_add(H[i], bins[i])


def counted(x, h):
    return x, np.bincount(x, minlength=64).astype(np.int32)


@T.prim_func
def counted_in_turns(X: T.Tensor((4096,), "int32"), H: T.Tensor((16,), "int32"), M: T.Tensor((16,), "int32")):
    """Statements of one kind need no order among themselves, and those of another, or of who reads, do."""
    with T.Kernel(4, threads=128) as b:
        bins = T.alloc_shared((16,), "int32")
        most = T.alloc_shared((16,), "int32")
        T.clear(bins)
        T.clear(most)
        for k in T.serial(8):
            for i in T.Parallel(128):
                T.atomic_add(bins[X[b * 1024 + k * 128 + i]], 1)
            for i in T.Parallel(64):
                T.atomic_max(most[i % 16], bins[(i + 1) % 16])
            for i in T.Parallel(128):
                T.atomic_add(bins[(X[b * 1024 + k * 128 + i] + 1) % 16], 2)
        for i in T.Parallel(16):
            T.atomic_add(bins[15 - i], i)
            T.atomic_max(most[i], 3)
        for i in T.Parallel(16):
            T.atomic_xor(bins[i], 5)
        for i in T.Parallel(16):
            T.atomic_add(H[i], bins[i])
            T.atomic_max(M[i], most[i])


def counts_in_turns(x, h, m):
    for block in x.reshape(4, 8, 128):
        bins, most = np.zeros(16, np.int32), np.zeros(16, np.int32)
        for part in block:
            bins += np.bincount(part, minlength=16).astype(np.int32)
            most = np.maximum(most, np.roll(bins, -1))
            bins += 2 * np.bincount((part + 1) % 16, minlength=16).astype(np.int32)
        h += (bins + np.arange(15, -1, -1, dtype=np.int32)) ^ 5
        m[:] = np.maximum(m, np.maximum(most, 3))
    return x, h, m


@T.prim_func
def chosen_in_turns(
    X: T.Tensor((4096,), "int32"),
    Places: T.Tensor((4, 1024), "int32"),
    Sums: T.Tensor((4, 3), "int32"),
):
    """Each thread reads neighbours one after the other, and says by what it reads where something goes."""
    with T.Kernel(4, threads=64) as b:
        t = T.get_thread_binding()
        count = T.alloc_shared((1,), "int32")
        sums = T.alloc_shared((2,), "int32")
        last = T.alloc_var("int32")
        T.clear(count)
        T.clear(sums)
        last = 0
        for k in T.serial(4):
            for j in T.serial(4):
                at = k * 256 + t * 4 + j
                if at >= 5 and X[b * 1024 + at] % 3 != 0:
                    place = T.atomic_add(count[0], 1, return_prev=True)
                    Places[b, place] = 1
                    T.atomic_add(sums[0], X[b * 1024 + at])
                elif at >= 5:
                    last = X[b * 1024 + at]
                    T.atomic_add(sums[1], at)
        T.atomic_add(Sums[b, 0], sums[0])
        T.atomic_add(Sums[b, 1], sums[1])
        T.atomic_add(Sums[b, 2], last)


def chooses_in_turns(x, places, sums):
    for b, part in enumerate(x.reshape(4, 1024)):
        at = np.arange(1024)
        chosen = (at >= 5) & (part % 3 != 0)
        others = (at >= 5) & (part % 3 == 0)
        places[b, : chosen.sum()] = 1
        sums[b, :2] += [part[chosen].sum(), at[others].sum()]
        # What each thread has read last.
        for t in range(64):
            own = (at // 4 % 64 == t) & others
            sums[b, 2] += part[own][-1] if own.any() else 0
    return x, places, sums


@T.prim_func
def split_k(A: T.Tensor((128, 512), "float16"), B: T.Tensor((512, 128), "float16"), C: T.Tensor((128, 128), "float32")):
    with T.Kernel(2, 2, 4, threads=128) as (bx, by, bk):
        As = T.alloc_shared((64, 32), "float16")
        Bs = T.alloc_shared((32, 64), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[by * 64, bk * 128 + k * 32], As)
            T.copy(B[bk * 128 + k * 32, bx * 64], Bs)
            T.gemm(As, Bs, acc)
        T.atomic_add(C[by * 64, bx * 64], acc)


def tiles_added(dtype, step=8):
    """Shared tiles that all blocks add to the same rows in turn, over the tensor's end if steps are greater."""

    @T.prim_func
    def program(A: T.Tensor((5, 16, 32), dtype), C: T.Tensor((40, 64), dtype)):
        with T.Kernel(5, threads=64) as b:
            S = T.alloc_shared((16, 32), dtype)
            for k in T.serial(4):
                for i, j in T.Parallel(16, 32):
                    S[i, j] = A[b, i, j] + T.cast(k, dtype)
                T.atomic_add(C[k * step, 32], S)

    return program


def tiles_added_up(a, c, step=8):
    for k in range(4):
        rows = c[k * step : k * step + 16, 32:]
        rows += sum(part[: len(rows)] + np.array(k, c.dtype) for part in a)
    return a, c


def least_numbers(dtype, shared):
    """All of a block add denormal numbers to one: of `float32`, device memory may take them for zero (A3)."""

    @T.prim_func
    def program(A: T.Tensor((96,), dtype), B: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=96):
            S = T.alloc_shared((2,), dtype)
            T.copy(B, S)
            for i in T.Parallel(96):
                T.atomic_add((S if shared else B)[1], A[i])
            if shared:
                T.copy(S, B)

    return program


@T.prim_func
def tiles_of_least_numbers(A: T.Tensor((16, 32), "float16"), C: T.Tensor((16, 32), "float16")):
    with T.Kernel(4, threads=64):
        S = T.alloc_shared((16, 32), "float16")
        T.copy(A, S)
        T.atomic_add(C[0, 0], S)


def multiplied(a, b, c):
    return a, b, c + a.astype(np.float32) @ b.astype(np.float32)


@T.prim_func
def last_block(X: T.Tensor((32, 128), "int32"), P: T.Tensor((32,), "int32"), N: T.Tensor((2,), "int32")):
    with T.Kernel(32, threads=128) as b:
        row = T.alloc_fragment((128,), "int32")
        total = T.alloc_fragment((1,), "int32")
        T.copy(X[b, 0], row)
        T.reduce_sum(row, total)
        for i in T.Parallel(1):
            P[b] = total[i]
        done = T.atomic_add(N[0], 1, memory_order="acq_rel", return_prev=True)
        if done == 31:
            part = T.alloc_fragment((32,), "int32")
            T.copy(P, part)
            T.reduce_sum(part, total)
            N[1] = total[0]


def summed_by_the_last(x, p, n):
    return x, x.sum(1).astype(np.int32), np.array([32, x.sum()], np.int32)


@T.prim_func
def tickets(B: T.Tensor((64,), "int32"), N: T.Tensor((2,), "int32")):
    with T.Kernel(64, threads=64) as b:
        mine = T.atomic_add(N[0], 1, return_prev=True)
        B[mine] = 1
        T.atomic_max(N[1], b)


# Threads and iterations --------------------------------------------------------------------------------------------


@T.prim_func
def compact(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32"), N: T.Tensor((1,), "int32")):
    with T.Kernel(4, threads=256) as b:
        tx = T.get_thread_binding()
        x = A[b * 256 + tx]
        if x % 3 == 0:
            place = T.atomic_add(N[0], 1, return_prev=True)
            T.atomic_add(B[place], x + 1)


@T.prim_func
def per_thread(A: T.Tensor((7,), "int32"), B: T.Tensor((200,), "int32")):
    with T.Kernel(2, threads=200) as b:
        tx = T.get_thread_binding()
        S = T.alloc_shared((200,), "int32")
        S[tx] = tx
        old = T.atomic_xor(S[199 - tx], tx * 8, return_prev=True)
        T.atomic_add(A[tx % 7], tx)
        T.atomic_add(B[tx], old + S[tx])


def done_by_threads(a, b):
    t = np.arange(200)
    a = a + 2 * np.bincount(t % 7, t).astype(np.int32)
    return a, b + 2 * ((199 - t) + (t ^ ((199 - t) * 8))).astype(np.int32)


@T.prim_func
def simplified(N: T.Tensor((3,), "int32")):
    with T.Kernel(2, threads=40):
        tx = T.get_thread_binding()
        T.atomic_add(N[tx - tx], 1)
        if tx >= 0:
            T.atomic_add(N[1], 1)
        T.atomic_add(N[2], 1)


@T.prim_func
def few_iterations(A: T.Tensor((3,), "int32"), B: T.Tensor((3, 2), "int32"), N: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((3,), "int32")
        F = T.alloc_fragment((3,), "int32")
        G = T.alloc_fragment((3,), "int32")
        T.clear(S)
        for i in T.Parallel(3):
            T.atomic_add(A[i], 1)
            F[i] = T.atomic_add(S[i], 5, return_prev=True)
        for i in T.Parallel(3):
            G[i] = F[i] + T.atomic_add(S[i], 2, return_prev=True) * 10
        for i in T.Parallel(3):
            B[i, 0] = G[i]
            B[i, 1] = S[i]
        for k in T.serial(5):
            T.atomic_add(N[0], k)
        first = T.atomic_add(N[1], 1, return_prev=True)
        second = T.atomic_add(N[1], 1, return_prev=True)
        N[2] = first * 10 + second


def done_once(a, b, n):
    return a + 1, np.array([[50, 7]] * 3, np.int32), np.array([10, 2, 1, 0], np.int32)


@T.prim_func
def element_by_element(A: T.Tensor((500,), "int32"), B: T.Tensor((16,), "int32"), M: T.Tensor((2,), "int32")):
    with T.Kernel(2, threads=64) as b:
        S = T.alloc_shared((16,), "int32")
        T.clear(S)
        for i in T.Parallel(250):
            n = T.alloc_var("int32", A[b * 250 + i])
            while n > 0:
                T.atomic_add(S[n % 16], 1)
                n = n // 2
            seen = T.alloc_var("int32", T.atomic_load(M[0], "relaxed"))
            ours = T.alloc_var("int32", 0)
            while ours == 0:
                found = T.atomic_cas(M[0], seen, T.max(seen, A[b * 250 + i]))
                if found == seen:
                    ours = 1
                seen = found
        T.atomic_add(B, S)


def found_one_by_one(a, b, m):
    b = b.copy()
    for n in a:
        while n > 0:
            b[n % 16] += 1
            n //= 2
    return a, b, np.array([max(a.max(), m[0]), m[1]], np.int32)


@T.prim_func
def guarded(A: T.Tensor((100,), "int32"), N: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(300):
            if i % 2 == 0:
                found = T.atomic_add(A[i - 50], i, return_prev=True)
                T.atomic_or(N[0], found)
                if i >= 150:
                    T.atomic_max(N[1], T.if_then_else(found == 0, i, 0))


def kept_inside(a, n):
    i = np.arange(50, 150, 2)
    found = a[i - 50].copy()
    a[i - 50] += i.astype(np.int32)
    return a, np.array([n[0] | np.bitwise_or.reduce(found), 298, 0, 0], np.int32)


# Kinds and types ---------------------------------------------------------------------------------------------------


@T.prim_func
def kinds(A: T.Tensor((8,), "int32"), U: T.Tensor((8,), "uint32"), L: T.Tensor((8,), "int64")):
    with T.Kernel(3, threads=32) as b:
        for i in T.Parallel(96):
            T.atomic_min(A[0], i - 40 * b)
            T.atomic_max(A[1], i - 40 * b)
            T.atomic_and(A[2], ~(1 << (i % 8)))
            T.atomic_or(A[3], 1 << (i % 20))
            T.atomic_xor(A[4], i * (b + 1))
            T.atomic_add(A[5], -i)
            T.atomic_min(U[0], T.cast(i, "uint32") - T.uint32(50))
            T.atomic_max(U[1], T.cast(i, "uint32") - T.uint32(50))
            T.atomic_add(U[2], 3000000000)
            T.atomic_add(L[0], 1 << 40)
            T.atomic_max(L[1], T.cast(i, "int64") << 33)
            T.atomic_xor(L[2], T.cast(i, "int64") << 33)
        if b == 1:
            T.atomic_store(A[6], 77)
            A[7] = T.atomic_exchange(L[4], 5)
            L[5] = T.atomic_load(L[4]) + T.atomic_cas(L[4], 5, 6) + T.atomic_cas(L[4], 9, 7) * 10
            T.atomic_store(L[6], 1 << 50, memory_order="release")


def of_all_kinds(a, u, long):
    i, b = np.arange(96, dtype=np.int64)[None, :], np.arange(3, dtype=np.int64)[:, None]
    a[0], a[1] = min(a[0], (i - 40 * b).min()), max(a[1], (i - 40 * b).max())
    a[2], a[3] = a[2] & ~0xFF, a[3] | 0xFFFFF
    a[4] ^= np.bitwise_xor.reduce((i * (b + 1)).reshape(-1))
    a[5] -= 3 * i.sum()
    a[6], a[7] = 77, long[4]
    wrapped = (i - 50) % (1 << 32)
    u[0], u[1] = min(u[0], wrapped.min()), max(u[1], wrapped.max())
    u[2] = (int(u[2]) + 288 * 3000000000) % (1 << 32)
    long[0] += 288 << 40
    long[1] = max(long[1], 95 << 33)
    long[2] ^= np.bitwise_xor.reduce(np.repeat(np.arange(96) << 33, 3))
    long[4], long[5], long[6] = 6, 5 + 5 + 60, 1 << 50
    return a, u, long


def floats(dtype):
    @T.prim_func
    def float_kinds(X: T.Tensor((256,), dtype), A: T.Tensor((8,), dtype), S: T.Tensor((4,), dtype)):
        with T.Kernel(2, threads=64) as b:
            tile = T.alloc_shared((4,), dtype)
            T.clear(tile)
            for i in T.Parallel(128):
                T.atomic_add(A[i % 2], X[b * 128 + i])
                T.atomic_max(A[2], X[b * 128 + i])
                T.atomic_min(A[3], X[b * 128 + i])
                T.atomic_add(tile[0], X[i])
                T.atomic_max(tile[1], X[i])
                T.atomic_min(tile[2], X[i])
            if b == 0:
                S[3] = T.atomic_exchange(tile[0], X[0])
                tile[3] = T.atomic_load(tile[0])
                for i in T.Parallel(4):
                    S[(i + 3) % 4] = tile[i] + S[(i + 3) % 4]
            T.atomic_max(A[4], T.infinity(dtype) - T.infinity(dtype))
            T.atomic_max(A[5], 0.0)
            T.atomic_min(A[6], -0.0)

    return float_kinds


def of_floats(x, a, s):
    x32 = x.astype(np.float64)
    half = x32[:128]
    a[0] += a.dtype.type(x32[0::2].sum())
    a[1] += a.dtype.type(x32[1::2].sum())
    a[2], a[3] = max(a[2], x.max()), min(a[3], x.min())
    a[4], a[5], a[6] = np.nan, 0.0, -0.0
    # The tile is [the first element, the greatest, the least, the first element].
    s[:] = [max(half.max(), 0), min(half.min(), 0), x[0], half.sum() + x32[0]]
    return x, a, s


def float_inputs(dtype):
    def make(random):
        x = random.integers(-8, 9, 256).astype(dtype)
        return [x, np.array([1, 2, -100, 100, 0, -0.0, 0.0, 3], dtype), np.zeros(4, dtype)]

    return make


@T.prim_func
def neighbours(A: T.Tensor((64, 4), "int32"), B: T.Tensor((8, 4), "float32"), P: T.Tensor((2, 64, 4), "int32")):
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        P[0, tx, 0:2] = T.atomic_addx2(A[tx, T.Ramp(2, 1, 2)], A[tx, T.Ramp(0, 1, 2)], return_prev=True)
        four = A[tx, 0:4]
        P[1, tx, 0:4] = T.atomic_addx4(four, four, return_prev=True)
        x, y = T.atomic_addx2(B[tx % 8, 0], T.float32x2(1, 2), return_prev=True)
        P[0, tx, 2] = x >= 0
        P[0, tx, 3] = y.astype("int32") % 2


def of_neighbours(a, b, p):
    p[0, :, :2] = a[:, 2:]
    a[:, 2:] += a[:, :2]
    p[1] = a
    a *= 2
    b[:, :2] += [8, 16]
    p[0, :, 2:] = 1, 0
    return a, b, p


# Tiles -------------------------------------------------------------------------------------------------------------


@T.prim_func
def tiles(A: T.Tensor((40, 70), "float32"), B: T.Tensor((20, 40), "int32"), C: T.Tensor((40, 70), "float32")):
    with T.Kernel(3, 2, threads=96) as (bx, by):
        S = T.alloc_shared((24, 32), "float32")
        T.copy(A[by * 24, bx * 32], S)
        T.atomic_add(C[by * 24, bx * 32], S)
        T.atomic_max(C[0:8, 0:16], A[8:16, 16:32])
        T.atomic_add(B[3, 4:20], 2)
        T.atomic_or(B, 64)
        for i in T.Parallel(8):
            T.atomic_addx2(C[39, 2 * i], A[38, 2 * i])
            T.atomic_addx4(C[37, 4 * i], A[36, 4 * i])


def of_tiles(a, b, c):
    c += a
    # Sums and maxima of one element do not mix; the maxima here are as great as anything.
    c[39, :16] += 6 * a[38, :16]
    c[37, :32] += 6 * a[36, :32]
    b[3, 4:20] += 12
    b |= 64
    return a, b, c


def tile_inputs(random):
    a = random.integers(0, 9, (40, 70)).astype(np.float32)
    a[8:16, 16:32] = -1
    return [a, random.integers(0, 2, (20, 40)).astype(np.int32), np.zeros((40, 70), np.float32)]


# Arrays that nobody else reaches ------------------------------------------------------------------------------------


@T.prim_func
def alone(
    A: T.Tensor((4, 8), "float32"),
    B: T.Tensor((4, 8), "float32"),
    X: T.Tensor((64, 4), "int32"),
    N: T.Tensor((2, 64, 5), "int32"),
):
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        most = T.alloc_local((4, 8), "float32")
        for i, j in T.grid(4, 8):
            most[i, j] = B[i, j]
        T.atomic_max(most, A)
        T.atomic_add(most[1:3, 0:4], 2)
        for i, j in T.grid(4, 8):
            B[i, j] = most[i, j]
        own = T.alloc_local((4,), "int32")
        for i in T.serial(4):
            own[i] = X[tx, i]
        N[0, tx, 0] = T.atomic_add(own[0], tx, return_prev=True)
        N[0, tx, 1] = T.atomic_cas(own[1], 3, 100)
        T.atomic_min(own[2], T.atomic_exchange(own[3], 7))
        T.atomic_store(own[1], T.atomic_load(own[1]) ^ 1)
        for i in T.serial(4):
            X[tx, i] = own[i]
        for i in T.Parallel(64):
            count = T.alloc_local((2,), "int32")
            total = T.alloc_var("int32", 5)
            count[0] = i
            for k in T.serial(3):
                T.atomic_or(count[0], 64)
                T.atomic_add(total, k)
            T.atomic_xor(count[0], 1)
            N[1, i, 0] = count[0]
            N[1, i, 1] = total


def done_alone(a, b, x, n):
    b = np.maximum(a, b)
    b[1:3, :4] += 2
    n[0, :, :2] = x[:, :2]
    x[:, 0] += np.arange(64, dtype=np.int32)
    x[:, 2] = np.minimum(x[:, 2], x[:, 3])
    x[:, 1] = np.where(x[:, 1] == 3, 100, x[:, 1]) ^ 1
    x[:, 3] = 7
    n[1, :, 0] = (np.arange(64) | 64) ^ 1
    n[1, :, 1] = 8
    return a, b, x, n


def zeros(*arrays):
    return [np.zeros(shape, dtype) for shape, dtype in arrays]


CASES = {
    "chosen_in_turns": Case(
        chosen_in_turns,
        lambda r: [integers(r, 0, 100, 4096), *zeros(((4, 1024), "int32"), ((4, 3), "int32"))],
        chooses_in_turns,
    ),
    "counted_in_turns": Case(
        counted_in_turns,
        lambda r: [integers(r, 0, 16, 4096), *zeros((16, "int32"), (16, "int32"))],
        counts_in_turns,
    ),
    "a_histogram_of_shared_bins": Case(
        histogram, lambda r: [integers(r, 0, 64, 16384), *zeros((64, "int32"))], counted
    ),
    "a_product_split_along_k": Case(
        split_k,
        lambda r: [
            integers(r, -3, 4, (128, 512), "float16"),
            integers(r, -3, 4, (512, 128), "float16"),
            integers(r, -3, 4, (128, 128), "float32"),
        ],
        multiplied,
    ),
    **{
        f"tiles_of_{dtype}_added_in_turn": Case(
            tiles_added(dtype),
            lambda r, dtype=dtype: [integers(r, -3, 4, shape, dtype) for shape in ((5, 16, 32), (40, 64))],
            tiles_added_up,
        )
        for dtype in ("float32", "float16", "int32")
    },
    **{
        f"least_numbers_of_{dtype}-{'shared' if shared else 'device'}": Case(
            least_numbers(dtype, shared),
            lambda r, dtype=dtype: [integers(r, -3, 4, n, dtype) * np.finfo(dtype).smallest_subnormal for n in (96, 2)],
            lambda a, b: (a, b + np.array([0, a.sum()], b.dtype)),
        )
        for dtype, shared in (("float32", True), *((d, s) for d in ("float16", "float64") for s in (True, False)))
    },
    "tiles_of_least_numbers": Case(
        tiles_of_least_numbers,
        lambda r: [integers(r, -3, 4, (16, 32), "float16") * np.finfo("float16").smallest_subnormal for _ in range(2)],
        lambda a, c: (a, c + 4 * a),
    ),
    "the_last_block_reads_what_others_wrote": Case(
        last_block, lambda r: [integers(r, 0, 99, (32, 128)), *zeros((32, "int32"), (2, "int32"))], summed_by_the_last
    ),
    "each_block_finds_a_number_of_its_own": Case(
        tickets,
        lambda r: zeros((64, "int32"), (2, "int32")),
        lambda b, n: (np.ones(64, np.int32), np.array([64, 63], np.int32)),
    ),
    "each_thread_does_what_could_be_written_without_it": Case(
        simplified, lambda r: zeros((3, "int32")), lambda n: (np.array([80, 80, 2], np.int32),)
    ),
    "threads_of_a_branch_find_places": Case(
        compact,
        lambda r: [integers(r, 0, 99, 1024), *zeros((1024, "int32"), (1, "int32"))],
        None,
    ),
    "threads_change_what_others_have": Case(per_thread, lambda r: zeros((7, "int32"), (200, "int32")), done_by_threads),
    "neighbours_are_slices_and_vectors": Case(
        neighbours,
        lambda r: [integers(r, 0, 99, (64, 4)), *zeros(((8, 4), "float32"), ((2, 64, 4), "int32"))],
        of_neighbours,
    ),
    "an_iteration_is_done_once_by_any_number_of_threads": Case(
        few_iterations, lambda r: zeros((3, "int32"), ((3, 2), "int32"), (4, "int32")), done_once
    ),
    "iterations_with_loops_of_their_own": Case(
        element_by_element,
        lambda r: [integers(r, 0, 9999, 500), *zeros((16, "int32"), (2, "int32"))],
        found_one_by_one,
    ),
    "what_is_outside_or_left_out_is_not_changed": Case(
        guarded, lambda r: [integers(r, 1, 99, 100), *zeros((4, "int32"))], kept_inside
    ),
    "all_kinds_of_integers": Case(
        kinds,
        lambda r: [integers(r, -9, 9, 8), integers(r, 40, 99, 8, "uint32"), integers(r, -9, 9, 8, "int64")],
        of_all_kinds,
    ),
    "tiles_and_numbers": Case(tiles, tile_inputs, of_tiles),
    "arrays_that_nobody_else_reaches": Case(
        alone,
        lambda r: [
            integers(r, -9, 9, (4, 8), "float32"),
            integers(r, -9, 9, (4, 8), "float32"),
            integers(r, 0, 6, (64, 4)),
            *zeros(((2, 64, 5), "int32")),
        ],
        done_alone,
    ),
    **{
        f"all_kinds_of_{dtype}": Case(floats(dtype), float_inputs(dtype), of_floats)
        for dtype in ("float16", "float32", "float64")
    },
}
"""By what they show (semantics A1 to A4). `compact` leaves its result in any order: `check` sorts it."""


def compacted(a, b, n):
    chosen = np.sort(a[a % 3 == 0]) + 1
    return a, np.concatenate([chosen, np.zeros(1024 - len(chosen), np.int32)]), np.array([len(chosen)], np.int32)


def check(name, arrays, found):
    """Compares what a program left in its arrays with what is right."""
    case = CASES[name]
    if case.program is compact:
        count = int(found[2][0])
        found[1][:count].sort()
        right = compacted(*arrays)
    else:
        right = case.right(*arrays)
    for ours, theirs in zip(found, right, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        if ours.dtype.kind == "f":
            known = ~np.isnan(ours)
            np.testing.assert_array_equal(np.signbit(ours)[known], np.signbit(theirs)[known])
