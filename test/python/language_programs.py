"""Programs of the language's library and its loops, each with its arguments and what NumPy makes of them.

The tests run them on the CPU and compile them for GPUs; those of `test/integration` run them there.
"""

import numpy as np

import philox
import tilec.language as T


def random(shape, dtype="int32"):
    generator = np.random.default_rng(0)
    if dtype == "int32":
        return generator.integers(-20, 20, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


# Functions -----------------------------------------------------------------------------------------------------------

SPECIAL = np.array([0.0, -0.0, 1, -3, 0.3, -7.5, 1e10, 3e38, -1e-45, 1.2e-38, np.inf, -np.inf, np.nan], np.float32)
PAIRS = [a.ravel().copy() for a in np.meshgrid(SPECIAL, SPECIAL)]
ODDS = PAIRS[0].size


@T.prim_func
def remainders(X: T.Tensor((ODDS,), "float32"), Y: T.Tensor((ODDS,), "float32"), B: T.Tensor((2, ODDS), "int32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(ODDS):
            rest, neighbour = T.fmod(X[i], Y[i]), T.nextafter(X[i], Y[i])
            B[0, i] = T.if_then_else(T.isnan(rest), -1, T.reinterpret(rest, "int32"))
            B[1, i] = T.if_then_else(T.isnan(neighbour), -1, T.reinterpret(neighbour, "int32"))


def left_over(X, Y):
    with np.errstate(invalid="ignore"):
        found = np.fmod(X, Y), np.nextafter(X, Y)
    return np.stack([np.where(np.isnan(f), -1, f.view(np.int32)) for f in found])


@T.prim_func
def vectors(
    A: T.Tensor((32, 8), "int32"),
    B: T.Tensor((32, 12), "int32"),
    C: T.Tensor((64,), "float32"),
    D: T.Tensor((32, 8), "int32"),
):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            four = A[i, T.Ramp(7, -2, 4)]
            B[i, T.Ramp(0, 1, 4)] = four
            B[i, T.Ramp(4, 1, 2)] = T.vectorlow(four)
            B[i, T.Ramp(6, 1, 3)] = T.Shuffle([T.vectorhigh(four, dtype="int32x2"), A[i, 0]], [2, 0, 1])
            B[i, 9] = T.extract_lane(T.vectorcombine(four, four), -1)
            B[i, T.Ramp(10, 1, 2)] = T.Broadcast(A[i, 6], 2)
            two = T.Ramp(2 * i, 1, 2)
            C[two] = T.fma2(T.float32x2(four[0], four[1]), T.float32x2(0.5), T.abs2(T.float32x2(i, -1)))
            D[i, 1:5] = A[i, 4:8]
            D[i, 0:2] = D[i, 1:3]
            D[i, 5:8] = i


def as_vectors(A):
    four = A[:, [7, 5, 3, 1]]
    picked = [four, four[:, :2], A[:, :1], four[:, 2:], four[:, 3:], A[:, [6, 6]]]
    pairs = (four[:, :2] * 0.5 + np.stack([np.arange(32), np.ones(32)], 1)).astype(np.float32).ravel()
    return np.hstack(picked), pairs, np.hstack([A[:, [4, 5, 5, 6, 7]], np.arange(32).repeat(3).reshape(32, 3)])


@T.prim_func
def vectors_of_views(A: T.Tensor((32, 8), "int32"), B: T.Tensor((32, 4), "int64")):
    with T.Kernel(32, threads=32) as i:
        S = T.alloc_shared((8,), "int32")
        T.copy(A[i, 0], S)
        wide = T.view(S, (4,), "int64")
        B[i, T.Ramp(3, -1, 2)] = wide[T.Ramp(0, 2, 2)]
        wide[T.Ramp(0, 1, 2)] = wide[T.Ramp(1, 1, 2)]
        B[i, T.Ramp(0, 1, 2)] = wide[T.Ramp(0, 1, 2)]


def pairs_of_words(A):
    return A.view(np.int64)[:, [1, 2, 2, 0]]


@T.prim_func
def products_of_bytes(
    A: T.Tensor((64, 256), "uint8"),
    B: T.Tensor((64, 256), "uint8"),
    S: T.Tensor((64, 64), "int8"),
    C: T.Tensor((3, 64, 64), "int32"),
):
    with T.Kernel(1, threads=128):
        As, Bs, Ss = (T.alloc_shared(tile.shape, tile.dtype) for tile in (A, B, S))
        acc = T.alloc_fragment((64, 64), "int32")
        T.copy(A, As)
        T.copy(B, Bs)
        T.copy(S, Ss)
        T.clear(acc)
        T.gemm(As, Bs, acc, transpose_B=True)
        T.gemm(As, Bs, acc, transpose_B=True)
        T.copy(acc, C[0, 0, 0])
        T.gemm(Ss, As[0:64, 0:64], acc, clear_accum=True)
        T.copy(acc, C[1, 0, 0])
        T.gemm(Bs[0:64, 64:128], Ss, acc, transpose_A=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
        T.copy(acc, C[2, 0, 0])


def multiplied_bytes(A, B, S):
    A, B, S = (x.astype(np.int32) for x in (A, B, S))
    return np.stack([2 * (A @ B.T), S @ A[:, :64], B[:, 64:128].T @ S])


BYTES = np.random.default_rng(0).integers(0, 256, (2, 64, 256)).astype(np.uint8)
BYTES[:, 0] = 255  # the greatest sum


@T.prim_func
def external(X: T.Tensor((ODDS,), "float32"), Y: T.Tensor((ODDS,), "float32"), B: T.Tensor((4, ODDS), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(ODDS):
            B[0, i] = T.call_extern("float32", "fminf", X[i], Y[i])
            B[1, i] = T.call_extern("float32", "fmaxf", X[i], T.float32(0.5))
            B[2, i] = T.call_pure_extern("float32", "fabsf", X[i])
            B[3, i] = T.call_extern("int32", "__popc", T.reinterpret(X[i], "int32"))


def external_numbers(X, Y):
    ones = [bin(word).count("1") for word in X.view(np.uint32)]
    return np.stack([np.fmin(X, Y), np.fmax(X, np.float32(0.5)), np.abs(X), ones])


DRAWN = 100


@T.prim_func
def random_numbers(A: T.Tensor((2, DRAWN), "int32"), B: T.Tensor((2, DRAWN), "float32")):
    with T.Kernel(2, threads=64) as b:
        T.rng_init(42, off=3)
        for i in T.Parallel(DRAWN):
            A[b, i] = T.rng_rand().astype("int32")
        for i in T.Parallel(DRAWN):
            B[b, i] = T.rng_rand_float(dist="normal")


def randomly_drawn():
    words = np.stack([philox.numbers(3 * DRAWN, 42, block, 3) for block in range(2)])
    size, turn = (philox.uniform(words[:, first::2]) for first in (DRAWN, DRAWN + 1))
    return words[:, :DRAWN].astype(np.int32), np.sqrt(-2 * np.log(size)) * np.sin(2 * np.pi * turn)


# Loops ---------------------------------------------------------------------------------------------------------------


def left_sums(A):
    """Sums up to the first 7; of what is no multiple of 3; and where Python's and the kernel's loops are nested."""
    B = np.zeros((64, 5), np.int32)
    for r in range(64):
        for k in range(32):
            if A[r, k] == 7:
                break
            B[r, 0] += A[r, k]
        for k in range(32):
            if A[r, k] % 3 == 0:
                continue
            B[r, 1] += A[r, k]
            if A[r, k] == 5:
                continue
            B[r, 1] += 1
        for i in range(30, 2, -3):
            for j in range(i):
                if A[r, j] > 17:
                    break
                if A[r, j] < 3:
                    continue
                B[r, 2] += A[r, j]
            if B[r, 2] > 100:
                break
            B[r, 2] += 1
        for k in range(6):
            if k == 4:
                continue
            if A[r, k] > 15:
                break
            if A[r, k] < 4:
                continue
            B[r, 3] += A[r, k]
        n = 0
        while n < 32 and B[r, 4] < 80:
            n += 1
            if A[r, n - 1] == 3:
                continue
            if A[r, n - 1] == 4:
                B[r, 4] += 1000
                break
            B[r, 4] += A[r, n - 1]
    return B


@T.prim_func
def jumps(A: T.Tensor((64, 32), "int32"), B: T.Tensor((64, 5), "int32")):
    with T.Kernel(1, threads=64):
        for r in T.Parallel(64):
            s = T.alloc_var("int32", 0)
            n = T.alloc_var("int32", 0)
            for k in T.serial(32):
                v = A[r, k]
                if v == 7:
                    T.loop_break()
                s = s + v
            B[r, 0] = s
            s = 0
            for k in range(32):
                if A[r, k] % 3 == 0:
                    continue
                s = s + A[r, k]
                if A[r, k] == 5:
                    continue
                s = s + 1
            B[r, 1] = s
            s = 0
            for i in T.serial(30, 2, -3):
                for j in T.serial(i):
                    if A[r, j] > 17:
                        break
                    if A[r, j] < 3:
                        continue
                    s = s + A[r, j]
                if s > 100:
                    break
                s = s + 1
            B[r, 2] = s
            s = 0
            for k in T.unroll(6):
                if k == 4:
                    continue
                if A[r, k] > 15:
                    break
                if A[r, k] < 4:
                    continue
                s = s + A[r, k]
            B[r, 3] = s
            s = 0
            while n < 32 and s < 80:
                n = n + 1
                if A[r, n - 1] == 3:
                    continue
                if A[r, n - 1] == 4:
                    s = s + 1000
                    break
                s = s + A[r, n - 1]
            B[r, 4] = s


@T.prim_func
def jumps_of_the_block(A: T.Tensor((64, 32), "int32"), B: T.Tensor((64, 8), "int32")):
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((32,), "int32")
        for k in T.serial(64):
            T.copy(A[k, 0:32], S)
            if S[0] == 7:
                break
            if S[1] == 3:
                continue
            for i in T.Parallel(8):
                B[k, i] = S[i]
        n = T.alloc_var("int32", 0)
        while True:
            if A[n, 1] > 12:
                break
            n = n + 1
            if n == 64:
                break
        B[63, 7] = n


def jumped_of_the_block(A):
    B = np.zeros((64, 8), np.int32)
    for k in range(64):
        if A[k, 0] == 7:
            break
        if A[k, 1] == 3:
            continue
        B[k] = A[k, :8]
    B[63, 7] = next((n for n in range(64) if A[n, 1] > 12), 64)
    return B


@T.prim_func
def loops(A: T.Tensor((8, 6), "int32"), B: T.Tensor((8, 6), "int32"), n: T.int32):
    with T.Kernel(threads=32):
        for i, j in T.grid(n, 6):
            B[i, j] = A[i, j] + i * 10 + j
        for i in T.unroll(n):
            B[i, 0] = B[i, 0] + 1
        for i in T.unroll(4, unroll_factor=2):
            B[7, i] = i + 1
        for tx in T.thread_binding(0, 32, thread="threadIdx.x"):
            if tx < 6:
                B[6, tx] = tx
        lane = T.thread_binding(0, 32, thread="threadIdx.x")
        if lane < 6:
            B[7, lane] = B[7, lane] + lane * 2


def looped(A, n):
    B = np.zeros((8, 6), np.int32)
    B[:n] = A[:n] + np.arange(n)[:, None] * 10 + np.arange(6)
    B[:n, 0] += 1
    B[7, :4] = 1 + np.arange(4)
    B[6] = np.arange(6)
    B[7] += 2 * np.arange(6)
    return B


@T.prim_func
def sides_of_a_choice(A: T.Tensor((8, 6), "int32"), B: T.Tensor((8, 6), "int32")):
    with T.Kernel(8, threads=32) as b:
        for j in T.Parallel(6):
            with T.If(A[b, j] > 8):
                with T.Then():
                    B[b, j] = A[b, j]
                with T.Else():
                    B[b, j] = -A[b, j]
        with T.If(b == 3), T.Then():
            with T.If(A[3, 0] > A[3, 1]), T.Then():
                B[3, 0] = 100
            with T.Else():
                B[3, 0] = 200


def either_side(A):
    B = np.where(A > 8, A, -A)
    B[3, 0] = 100 if A[3, 0] > A[3, 1] else 200
    return B


@T.prim_func
def persistent(A: T.Tensor((7, 5), "int32"), B: T.Tensor((7, 5), "int32"), m: T.int32):
    with T.Kernel(3, threads=32) as b:
        for i, j in T.Persistent([m, 5], 3, b, group_size=3):
            B[i, j] = B[i, j] + A[i, j] * 4 + b


def persisted(A, m):
    order = [(g + r, c) for g in range(0, m, 3) for c in range(5) for r in range(min(3, m - g))]
    B = np.zeros((7, 5), np.int32)
    for number, place in enumerate(order):
        B[place] = A[place] * 4 + number % 3
    return B


@T.prim_func
def scheduled(A: T.Tensor((7, 6), "int32"), B: T.Tensor((7, 6), "int32"), n: T.int32):
    with T.Kernel(3, threads=32) as b:
        tiles = T.PersistentTileScheduler(7, n, swizzle_size=4)
        tiles.init(b)
        while tiles.valid():
            m = tiles.m_idx[0]
            B[m, tiles.n_idx] = A[m, tiles.n_idx] + 100 * tiles.current_iter + 10000 * b
            tiles.next_tile()


def schedule(A, n):
    order = [(m, g + r) for g in range(0, n, 4) for m in range(7) for r in range(min(4, n - g))]
    B = np.zeros((7, 6), np.int32)
    for number, place in enumerate(order):
        B[place] = A[place] + 100 * (number // 3) + 10000 * (number % 3)
    return B


@T.prim_func
def no_block(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(0, 2) as (x, y):
        B[0] = A[0]
    with T.Kernel(threads=32):
        B[1] = A[1]


# Tiles ---------------------------------------------------------------------------------------------------------------


@T.prim_func
def reductions(A: T.Tensor((32, 48), "int32"), B: T.Tensor((12, 32), "int32")):
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((32, 48), "int32")
        F = T.alloc_fragment((32, 48), "int32")
        row = T.alloc_fragment((32,), "int32")
        column = T.alloc_fragment((32, 1), "int32")
        shared = T.alloc_shared((32,), "int32")
        T.copy(A, S)
        T.copy(A, F)
        T.reduce_bitand(F, row, dim=1)
        T.copy(row, B[0, 0:32])
        T.reduce_bitor(S, row, dim=-1, batch=1)
        T.copy(row, B[1, 0:32])
        T.reduce_bitxor(F, column, dim=1)
        T.copy(column, B[2, 0:32])
        T.reduce_argmax(F, shared, dim=1)
        T.copy(shared, B[3, 0:32])
        T.reduce_argmin(S, row, dim=1)
        T.copy(row, B[4, 0:32])
        T.reduce_sum(S, shared, dim=1)
        T.copy(shared, B[5, 0:32])
        T.reduce_max(F[:, 8:24], row, dim=1, nan_propagate=True)
        T.copy(row, B[6, 0:32])
        T.fill(row, 7)
        T.reduce_sum(S[:, 0:4], row, dim=1, clear=False)
        T.copy(row, B[7, 0:32])
        T.fill(shared, 3)
        T.reduce_abssum(F, shared, dim=1, clear=False)
        T.copy(shared, B[8, 0:32])
        T.reduce_max(F, column, dim=1)
        T.copy(column, B[9, 0:32])
        T.reduce(S, row, "absmax", 1, True)
        T.copy(row, B[10, 0:32])
        T.reduce_bitxor(F, row, dim=1)
        T.reduce_bitxor(F, row, dim=1, clear=False)
        T.copy(row, B[11, 0:32])


def reduced(A):
    return np.array(
        [
            np.bitwise_and.reduce(A, 1), np.bitwise_or.reduce(A, 1), np.bitwise_xor.reduce(A, 1), A.argmax(1),
            A.argmin(1), A.sum(1), A[:, 8:24].max(1), 7 + A[:, :4].sum(1), 3 + abs(A).sum(1), A.max(1), abs(A).max(1),
            0 * A[:, 0],
        ]
    )  # fmt: skip


@T.prim_func
def reductions_of_the_least(A: T.Tensor((4, 48), "int32"), B: T.Tensor((2, 4), "int32")):
    with T.Kernel(1, threads=64):
        F, S = T.alloc_fragment((4, 48), "int32"), T.alloc_shared((4, 3), "int32")
        row = T.alloc_fragment((4,), "int32")
        T.copy(A, F)
        T.copy(A[:, 0:3], S)
        T.reduce_absmax(F, row, dim=1)
        T.copy(row, B[0, 0:4])
        T.reduce_absmax(S, row, dim=1)
        T.copy(row, B[1, 0:4])


@T.prim_func
def reductions_of_arrays(A: T.Tensor((64, 8), "int32"), B: T.Tensor((64, 3), "int32")):
    with T.Kernel(1, threads=64):
        for r in T.Parallel(64):
            row = T.alloc_local((8,), "int32")
            one = T.alloc_local((1,), "int32")
            for k in T.unroll(8):
                row[k] = A[r, k]
            T.reduce_sum(row, one)
            B[r, 0] = one[0]
            T.reduce_absmax(row, one)
            B[r, 1] = one[0]
            T.reduce_min(row, one, clear=False)
            B[r, 2] = one[0]


def reduced_of_arrays(A):
    return np.stack([A.sum(1), abs(A).max(1), np.minimum(A.min(1), abs(A).max(1))], 1)


@T.prim_func
def places_of_nan(A: T.Tensor((5, 12), "float32"), B: T.Tensor((2, 5), "int32")):
    with T.Kernel(1, threads=32):
        F = T.alloc_fragment((5, 12), "float32")
        row = T.alloc_fragment((5,), "int32")
        column = T.alloc_shared((5, 1), "int64")
        T.copy(A, F)
        T.reduce_argmax(F, row)
        T.copy(row, B[0, 0:5])
        T.reduce_argmin(F, column, dim=1)
        for i in T.Parallel(5):
            B[1, i] = column[i, 0]


NANS = random((5, 12), "float32")
NANS[1, [2, 5]] = NANS[2, 0] = NANS[3, 7] = np.nan
NANS[4] = [-0.0, 0.0, 0.0, -1, 2, 2, -1, *[0.0] * 5]


def reductions_without_nan(dtype):
    """Over a thread's values, lanes and groups of threads, of arrays, into what is there, and of NaN alone."""

    @T.prim_func
    def program(A: T.Tensor((5, 300), dtype), B: T.Tensor((7, 5), dtype)):
        with T.Kernel(1, threads=128):
            F = T.alloc_fragment((5, 300), dtype)
            row = T.alloc_fragment((5,), dtype)
            T.copy(A, F)
            T.reduce_max(F, row, dim=1, nan_propagate=False)
            T.copy(row, B[0, :])
            T.reduce_min(F, row, dim=1, nan_propagate=False)
            T.copy(row, B[1, :])
            T.reduce_absmax(F, row, dim=1, nan_propagate=False)
            T.copy(row, B[2, :])
            T.fill(row, 0.5)
            row[1] = A[1, 2]
            row[4] = A[1, 2]
            T.reduce(F, row, "max", clear=False, nan_propagate=False)
            T.copy(row, B[3, :])
            T.reduce_max(F[:, 0:6], row, dim=1, nan_propagate=True)
            T.copy(row, B[4, :])
            for i in T.Parallel(5):
                own, one = T.alloc_local((6,), dtype), T.alloc_local((1,), dtype)
                for k in T.unroll(6):
                    own[k] = A[i, k]
                T.reduce_min(own, one, nan_propagate=False)
                B[5, i] = one[0]
                one[0] = A[1, 2]
                T.reduce_absmax(own, one, clear=False, nan_propagate=False)
                B[6, i] = one[0]

    A = random((5, 300), "float32").astype(dtype)
    A[1, [2, 5, 299]] = A[2, 0:6] = A[3, 7] = A[4] = np.nan

    def expected(A):
        def found(combine, start, x):
            return combine.reduce(np.where(np.isnan(x), start, x), 1)

        A = A.astype(np.float32)
        old = np.array([0.5, -np.inf, 0.5, 0.5, -np.inf])
        few = A[:, :6]
        return np.stack(
            [
                found(np.maximum, -np.inf, A), found(np.minimum, np.inf, A), found(np.maximum, 0, abs(A)),
                np.maximum(found(np.maximum, -np.inf, A), old), few.max(1), found(np.minimum, np.inf, few),
                found(np.maximum, 0, abs(few)),
            ]
        )  # fmt: skip

    return program, (A,), np.zeros((7, 5), A.dtype), expected


def scans(shape, dim, space, reverse, dtype="float32", threads=128):
    @T.prim_func
    def program(A: T.Tensor(shape, dtype), B: T.Tensor((2, *shape), dtype)):
        with T.Kernel(1, threads=threads):
            S = (T.alloc_shared if space == "shared" else T.alloc_fragment)(shape, dtype)
            D = T.alloc_shared(shape, dtype)
            T.copy(A, S)
            T.cummax(S, D, dim=dim, reverse=reverse)
            everything = tuple(slice(0, e) for e in shape)
            T.copy(D, B[(0, *everything)])
            T.cumsum(src=S, dim=dim, reverse=reverse)
            T.copy(S, B[(1, *everything)])

    def turned(a):
        return np.flip(a, dim) if reverse else a

    def reference(A):
        wide = A.astype("float64") if A.dtype.kind == "f" else A
        sums = np.cumsum(turned(wide), axis=dim, dtype=wide.dtype)
        return np.stack([turned(np.maximum.accumulate(turned(A), axis=dim)), turned(sums).astype(dtype)])

    return program, (random(shape, dtype),), np.zeros((2, *shape), dtype), reference


@T.prim_func
def tiles(A: T.Tensor((32, 48), "int32"), B: T.Tensor((4, 48, 32), "int32"), Q: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((32, 48), "int32")
        turned = T.alloc_buffer((48, 32), "int32", scope="shared")
        F = T.alloc_fragment((32, 48), "int32")
        T.copy(src=A, dst=S)
        T.transpose(S, turned)
        T.copy(turned, B[0, 0:48, 0:32])
        W = T.reshape(A, (16, 96))
        for i, j in T.Parallel(16, 96):
            B[1, i * 3 + j // 32, j % 32] = W[i, j] + 1
        T.fill(S[4:8, 3:9], -1)
        T.clear(S[0, 0:5])
        T.fill(S[31, 47], 9)
        T.copy(S, F)
        T.fill(F[10:12, :], 5)
        bits = T.view(F, (48, 32), "uint32")
        for i, j in T.Parallel(48, 32):
            B[2, i, j] = (bits[i, j] >> 1).astype("int32")
        T.copy(T.reshape(F, (48, 32)), B[3, 0:48, 0:32])
        Q[0] = T.any_of(A[0, 0:48])
        Q[1] = T.all_of(S[0, 0:6])
        Q[2] = T.all_of(A)
        # Outside of the view, though not of the tensor.
        for k in T.serial(20, 21):
            Q[3] = W[k - 18, k + 80] + W[k, 0]
        T.copy(A[3, 4], Q[4])
        for i in T.Parallel(2):
            Q[5 + i] = T.if_then_else(T.any_of(S[i + 4, 3:9]), 1, 0)
        T.clear(Q[7])


ODD = random((32, 48))
ODD[5, 5] = 0


def tiled(A):
    E = A.copy()
    E[4:8, 3:9] = -1
    E[0, :5] = 0
    E[31, 47] = 9
    E[10:12] = 5
    flat = E.reshape(48, 32)
    B = np.stack([A.T, A.reshape(48, 32) + 1, (flat.view(np.uint32) >> 1).view(np.int32), flat])
    return B, np.array([1, 0, 0, 0, A[3, 4], 1, 1, 0], np.int32)


@T.prim_func
def views_of_other_widths(
    A: T.Tensor((32, 24), "int32"), B: T.Tensor((4, 48, 32), "int16"), C: T.Tensor((2, 32, 12), "int64"),
    D: T.Tensor((32, 24), "int32"),
):  # fmt: skip
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((32, 24), "int32")
        H = T.alloc_shared((32, 48), "int16")
        T.copy(A, S)
        T.copy(T.view(S, (48, 32), "int16"), B[0, :, :])
        T.copy(T.view(A, (48, 32), "int16"), B[1, :, :])
        T.copy(T.view(A, (32, 12), "int64"), C[0, :, :])
        # Outside of the view, though not of the tensor.
        halves = T.view(A, (48, 32), "int16")
        for i, j in T.Parallel(48, 32):
            B[2, i, j] = halves[i - 1, j + 1]
        # Written as wide elements, read as what they are made of.
        words = T.view(H, (32, 24), "int32")
        for i, j in T.Parallel(32, 24):
            words[i, j] = A[i, j] * 3
        T.copy(T.view(words, (48, 32), "int16"), B[3, :, :])
        T.copy(T.view(H, (32, 12), "int64"), C[1, :, :])
        pairs = T.view(D, (32, 12), "int64")
        for i, j in T.Parallel(32, 12):
            pairs[i, j] = T.view(A, (32, 12), "int64")[i, j]


def viewed_otherwise(A):
    halves = A.view(np.int16).reshape(48, 32)
    moved = np.zeros_like(halves)
    moved[1:, :-1] = halves[:-1, 1:]
    B = np.stack([halves, halves, moved, (A * 3).view(np.int16).reshape(48, 32)])
    return B, np.stack([A.view(np.int64), (A * 3).view(np.int64)]), A


def slices(rows, heads, outer):
    """Tiles of tensors that are indexed between the dimensions of the tile: inside, outside and over the edge."""

    @T.prim_func
    def program(
        A: T.Tensor((2, rows, heads, 64), "int32"),
        P: T.Tensor((2, 16, heads, 2, 64), "int32"),
        B: T.Tensor((2, rows, heads, 64), "int32"),
        C: T.Tensor((heads, 16, 2, 64), "int32"),
        D: T.Tensor((16, 2, heads, 64), "int32"),
        E: T.Tensor((16, 5, 64), "int32"),
        F: T.Tensor((2, 16, heads, 2, 64), "int32"),
    ):
        with T.Kernel(3, 2, threads=64) as (h, b):
            S = T.alloc_shared((16, 64), "int32")
            one = T.alloc_shared((1, 16, 64), "int32")
            between = T.alloc_shared((16, 1, 64), "int32")
            held = T.alloc_fragment((16, 64), "int32")
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[b, k * 16 : k * 16 + 16, h, :], S)
                T.copy(S, B[b, k * 16 : k * 16 + 16, h, :])
            T.copy(A[b, 5:21, h + 1, :], held)
            for i, j in T.Parallel(16, 64):
                held[i, j] = held[i, j] + 1
            T.copy(held, C[h, 0:16, b, :])
            T.copy(A[h - 1, 3:19, 1, :], one[0, :, :])
            T.copy(one[0, :, :], D[:, b, h, :])
            T.copy(S, E[0:16, b * 3 + h, :])
            for k in T.Pipelined(2, num_stages=2):
                T.copy(P[b, :, h, k, :], between[:, 0, :])
                T.copy(between[:, 0, :], F[b, :, h, 1 - k, :])

    return program, tuple(random(shape) for shape in outer)


def sliced(A, P):
    C = np.zeros((3, 16, 2, 64), np.int32)
    D = np.zeros((16, 2, 3, 64), np.int32)
    E = np.zeros((16, 5, 64), np.int32)
    for b in range(2):
        for h in range(3):
            C[h, :, b] = (A[b, 5:21, h + 1] if h < 2 else 0) + 1
            D[:, b, h] = A[h - 1, 3:19, 1] if h else 0
            if b * 3 + h < 5:
                E[: len(A[b]) - 32, b * 3 + h] = A[b, 32:, h]
    return A, C, D, E, P[:, :, :, ::-1]


def slices_case(rows, heads):
    outer = ((2, 40, 3, 64), (2, 16, 3, 2, 64))
    results = [np.zeros(shape, np.int32) for shape in (outer[0], (3, 16, 2, 64), (16, 2, 3, 64), (16, 5, 64), outer[1])]
    return *slices(rows, heads, outer), tuple(results), sliced


@T.prim_func
def within_one_buffer(A: T.Tensor((2, 16, 40), "int32"), B: T.Tensor((6, 16, 40), "int32")):
    """Tiles that are moved within the buffer in which they lie."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((16, 40), "int32")
        held = T.alloc_fragment((16, 40), "int32")
        slots = T.alloc_shared((2, 16, 40), "int32")
        window = T.alloc_local((40,), "int32")
        T.copy(A[0, 0, 0], S)
        T.copy(S[:, 3:40], S[:, 0:37])
        T.copy(S[0:10, 0:20], S[4:14, 11:31])
        T.copy(S, S)
        T.copy(S, B[0, 0, 0])
        T.copy(A[0, 0, 0], held)
        T.copy(held[1:16, :], held[0:15, :])
        T.copy(held, B[1, 0, 0])
        T.copy(A[0, 0, 0], S)
        T.transpose(S[:, 8:24], S[:, 8:24])
        T.copy(T.reshape(S, (40, 16))[0:39, :], T.reshape(S, (40, 16))[1:40, :])
        T.copy(S, B[2, 0, 0])
        T.copy(A[0, 0, 0], slots[0, :, :])
        T.copy(A[1, 0, 0], slots[1, :, :])
        for k in T.serial(3):
            for i, j in T.Parallel(16, 40):
                slots[k % 2, i, j] = slots[k % 2, i, j] + k
            T.copy(slots[k % 2, :, :], slots[(k + 1) % 2, :, :])
        T.copy(slots[0, :, :], B[3, 0, 0])
        T.copy(A[1, 0:16, 0:40], B[4, 0, 0])
        T.copy(B[4, 0:9, 0:30], B[4, 7:16, 10:40])
        for k in T.unroll(40):
            window[k] = A[1, 0, k]
        T.copy(window[0:39], window[1:40])
        for i in T.unroll(16):
            T.copy(window, B[5, i, :])


def moved_within(A):
    S = A[0].copy()
    S[:, :37] = S[:, 3:].copy()
    S[4:14, 11:31] = S[:10, :20].copy()
    held = A[0].copy()
    held[:15] = A[0, 1:]
    turned = A[0].copy()
    turned[:, 8:24] = A[0, :, 8:24].T
    lines = turned.reshape(40, 16)
    lines[1:] = lines[:39].copy()
    block = A[1].copy()
    block[7:, 10:] = A[1, :9, :30]
    window = A[1, 0].copy()
    window[1:] = A[1, 0, :39]
    return np.stack([S, held, turned, A[0] + 3, block, np.tile(window, (16, 1))])


@T.prim_func
def single_numbers(A: T.Tensor((64,), "int32"), B: T.Tensor((5,), "int32")):
    with T.Kernel(1, threads=32):
        F = T.alloc_fragment((64,), "int32")
        total = T.alloc_fragment((), "int32")
        shared = T.alloc_shared((), "int32")
        local = T.alloc_local((), "int32")
        one = T.alloc_fragment((1,), "int32")
        T.copy(A, F)
        T.reduce_sum(F, total)
        T.reduce_max(F, shared)
        T.reduce_min(F, one)
        T.fill(local, 4)
        for i in T.Parallel(1):
            B[0] = total[()]
            B[1] = shared[()]
            B[2] = one[0]
            B[3] = local[()]
        B[4] = shared[()] + 1


@T.prim_func
def products(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        a = T.alloc_fragment((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.clear(c)
        T.gemm(a, b, c, k_pack=1)
        T.gemm(a[:, 0:32], b[0:32, :], c)
        T.gemm(a[:, 32:64], b[32:64, :], c)
        T.gemm(a, b[:, 0:32], c[:, 0:32])
        with T.attr("default", "async_scope", 1):
            T.copy(c, C)


@T.prim_func
def waits(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.async_copy(A, a)
        T.async_copy(B, b)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        T.fence_proxy_async()
        T.warpgroup_arrive()
        T.wgmma_gemm(a, b, c, clear_accum=True)
        T.warpgroup_commit_batch()
        T.wait_wgmma(0)
        for i, j in T.Parallel(64, 64):
            c[i, j] = c[i, j] + T.__ldg(A, (i, j)) + T.__ldg(B[i, j])
        T.copy(c, C)


def multiplied(A, B):
    C = 2 * (A.astype("float32") @ B.astype("float32"))
    C[:, :32] *= 1.5
    return C


@T.prim_func
def words(
    A: T.Tensor((64, 32), "int32"),
    H: T.Tensor((64, 32), "float16"),
    B: T.Tensor((64, 32), "int32"),
    C: T.Tensor((64, 32), "float16"),
    D: T.Tensor((64, 8), "int32"),
):
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64, 32), "float16")
        t = T.get_thread_binding()
        for k in T.unroll(8):
            T.stg128(B[t, k * 4 : k * 4 + 4], T.ldg128(A[t, k * 4]), pred=t < 40)
        T.sts128(S[t, 8], T.ldg128(H[t, 0:8]))
        T.sts64(S[t, 16], T.ldg64(H[t, 16]))
        T.sts32(S[t, 20:22], T.ldg32(H[t, 30]))
        T.sync_threads()
        T.stg128(C[63 - t, 0], T.lds128(S[63 - t, 8:16]))
        T.stg64(C[t, 28], T.lds64(S[t, 16]))
        T.stg32(T.address_of(C[t, 26]), T.lds32(S[t, 20]))
        for i in T.Parallel(64):
            pair = T.ldg64(A[63 - i, 0], pred=i < 50)
            D[i, 0:2] = T.reinterpret(pair, "int32x2")
            T.stg64(D[i, 2], T.reinterpret(T.float16x4, T.ldg64(H[i, 4])))
            D[i, 4] = T.reinterpret(T.ldg32(T.access_ptr(A[i, 30], offset=1)), "int32") + T.cast(pair[1], "int32")
            T.stg32(D[i, 5], T.float32(1.5), pred=i > 2)
            D[i, 6] = T.popcount(T.ldg128(A[i, 28], pred=i != 5)[2])


def moved_words(A, H):
    B, C, D = np.where(np.arange(64)[:, None] < 40, A, 0), np.zeros_like(H), np.zeros((64, 8), np.int32)
    C[:, :8], C[:, 28:], C[:, 26:28] = H[:, :8], H[:, 16:20], H[:, 30:]
    D[:50, :2] = A[::-1][:50, :2]
    D[:, 2:4] = H[:, 4:8].copy().view(np.int32)
    D[:, 4] = A[:, 31] + D[:, 1]
    D[3:, 5] = np.float32(1.5).view(np.int32)
    D[:, 6] = [0 if i == 5 else (int(a) & 0xFFFFFFFF).bit_count() for i, a in enumerate(A[:, 30])]
    return B, C, D


@T.prim_func
def words_of_narrow_numbers(
    A: T.Tensor((16, 32), "uint8"), B: T.Tensor((16, 4), "float64"), C: T.Tensor((16, 8), "int32")
):
    with T.Kernel(1, threads=16):
        for i in T.Parallel(16):
            T.stg128(B[i, 2], T.ldg128(A[i, 16]))
            C[i, 0:4] = T.reinterpret(T.ldg128(A[i, 0:16]), "int32")
            C[i, 4] = T.reinterpret(T.ldg64(A[i, 8]), "uint8x8")[7]
        T.stg32(C[3, 5], -2)
        C[3, 6:8] = T.reinterpret(T.ldg64(A[2, 0]), "int32x2")


def moved_narrow_words(A):
    B, C = np.zeros((16, 4)), np.zeros((16, 8), np.int32)
    B[:, 2:] = A[:, 16:].copy().view(np.float64)
    C[:, :4] = A[:, :16].copy().view(np.int32)
    C[:, 4] = A[:, 15]
    C[3, 5:] = [-2, *C[2, :2]]
    return B, C


ROWS_OF_A_CALL = T.dynamic("m")


@T.prim_func
def workspaces(A: T.Tensor((ROWS_OF_A_CALL, 64), "int32"), B: T.Tensor((ROWS_OF_A_CALL, 64), "int32")):
    sums = T.alloc_global((ROWS_OF_A_CALL,), "int32")
    with T.Kernel(ROWS_OF_A_CALL, threads=64) as row:
        doubled = T.alloc_global((ROWS_OF_A_CALL, 64), dtype="int32")
        held, total = T.alloc_fragment((64,), "int32"), T.alloc_fragment((1,), "int32")
        T.copy(A[row, :], held)
        T.reduce_sum(held, total)
        sums[row] = total[0]
        for i in T.Parallel(64):
            doubled[row, i] = 2 * held[i]
    with T.Kernel(ROWS_OF_A_CALL, threads=64) as row:
        for i in T.Parallel(64):
            B[row, i] = doubled[A.shape[0] - 1 - row, 63 - i] + sums[row]


# Threads, clusters, pointers and sparse tiles ------------------------------------------------------------------------


@T.prim_func
def combined_by_threads(A: T.Tensor((4, 8, 4), "int32"), B: T.Tensor((2, 4, 8, 4), "int32")):
    with T.Kernel(1, threads=(4, 8, 4)):
        x, y, z = T.get_thread_bindings()
        value, total = T.alloc_local((1,), "int32"), T.alloc_local((1,), "int32")
        value[0] = A[x, y, z]
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.Cast("int32", 0)]), "reduce_scope", None):
            T.evaluate(T.tvm_thread_allreduce(T.uint32(1), value[0], True, total[0], y, dtype="handle"))
        B[0, x, y, z] = total[0]
        with T.attr(T.comm_reducer(lambda a, b: T.max(a, b), [T.min_value("int32")]), "reduce_scope", None):
            T.tvm_thread_allreduce(T.uint32(1), value[0] * 2, True, B[1, x, y, z], x, z)


def combined(A):
    sums, greatest = A.sum(1, keepdims=True), 2 * A.max((0, 2), keepdims=True)
    return np.stack([np.broadcast_to(sums, A.shape), np.broadcast_to(greatest, A.shape)])


@T.prim_func
def clusters(B: T.Tensor((4, 6, 6), "int32")):
    with T.ClusterKernel(4, 6, cluster_dims=(2, 3), threads=32) as (x, y):
        B[x, y, 0] = T.block_rank_in_cluster()
        B[x, y, 1] = T.get_cluster_size()
        B[x, y, 2], B[x, y, 3] = T.get_cluster_ids()
        B[x, y, 4], B[x, y, 5] = T.get_cluster_extents()


def clustered():
    x, y = np.meshgrid(np.arange(4), np.arange(6), indexing="ij")
    six, two = np.full_like(x, 6), np.full_like(x, 2)
    return np.stack([x % 2 + 2 * (y % 3), six, x // 2, y // 3, two, two], -1)


@T.prim_func
def pointers(a: T.ptr, b: T.handle, m: T.int32, n: T.int32):
    A = T.make_tensor(a, (m, n), "int32")
    B = T.match_buffer(b, (m, 40), "int32")
    with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), threads=64) as (x, y):
        tile = T.alloc_shared((32, 32), "int32")
        T.copy(A[y * 32, x * 32], tile)
        for i, j in T.Parallel(32, 32):
            tile[i, j] = tile[i, j] + m
        T.copy(tile, B[y * 32, x * 32])


@T.macro
def advance(number: T.Ref, by):
    number = number + by
    number *= 2


@T.prim_func
def assigned_by_macros(A: T.Tensor((4, 3), "int32")):
    with T.Kernel(1, threads=32):
        count = T.alloc_var("int32", 1)
        advance(count, 4)
        A[0, 0] = count
        for i in T.serial(3):
            advance(A[i + 1, 1], i)
        advance(A[0, -1], by=A[0, 0])


def assigned(A):
    B = A.copy()
    B[0, 0] = 10
    B[1:, 1] = 2 * (A[1:, 1] + np.arange(3))
    B[0, 2] = 2 * (A[0, 2] + 10)
    return B


def sparse_case(dtype, sums, bits, transpose_a, transpose_e, transpose_b):
    """A product with a tile of which two of four elements are kept, or of `float32` one of two."""
    M, N, K = 64, 32, 64
    generator = np.random.default_rng(bits)
    dense = generator.integers(-4, 5, (M, K // 4, 4)).astype(dtype)
    if dtype == "float32":
        halves = generator.integers(0, 2, (M, K // 2, 1)) == np.arange(2)
        is_kept = halves.reshape(dense.shape)
        words = np.where(halves[..., 1], 0b1110, 0b0100)
    else:
        places = np.sort(generator.permuted(np.tile(np.arange(4), (M, K // 4, 1)), axis=-1)[..., :2], axis=-1)
        is_kept = (places[..., None] == np.arange(4)).any(-2)
        words = places[..., 0] | places[..., 1] << 2
    kept = dense[is_kept].reshape(M, K // 2)
    shifts = 4 * np.arange(bits // 4, dtype=np.uint64)
    packed = (words.reshape(M, -1, bits // 4).astype(np.uint64) << shifts).sum(-1).astype(f"uint{bits}")
    E = packed.view(f"int{bits}")
    B = generator.integers(-4, 5, (K, N)).astype(dtype)
    given = [x.T.copy() if t else x for x, t in ((kept, transpose_a), (E, transpose_e), (B, transpose_b))]

    @T.prim_func
    def sparse(
        A: T.Tensor(given[0].shape, dtype), E: T.Tensor(given[1].shape, f"int{bits}"),
        B: T.Tensor(given[2].shape, dtype), C: T.Tensor((M, N), sums),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            As, Es = T.alloc_shared(A.shape, dtype), T.alloc_shared(E.shape, f"int{bits}")
            Bs, Cs = T.alloc_shared(B.shape, dtype), T.alloc_fragment((M, N), sums)
            T.copy(A, As)
            T.copy(E, Es)
            T.copy(B, Bs)
            T.gemm_sp(As, Es, Bs, Cs, transpose_a, transpose_e, transpose_b, clear_accum=True)
            T.copy(Cs, C)

    product = np.where(is_kept, dense, 0).reshape(M, K).astype(sums) @ B.astype(sums)
    return sparse, tuple(given), np.zeros((M, N), sums), lambda *_: product


# Patches of images ---------------------------------------------------------------------------------------------------

CONVOLUTION = (2, 9, 10, 4, 3, 2, 1, 1)
"""Images, height, width, channels, kernel, stride, dilation and padding."""
ROWS, COLUMNS = 32, 16
OUT_HEIGHT, OUT_WIDTH = 5, 5
GRID = (2, 3)


@T.prim_func
def patches(A: T.Tensor(CONVOLUTION[:4], "int32"), B: T.Tensor((64, 48), "int32")):
    with T.Kernel(*GRID, threads=64) as (x, y):
        S = T.alloc_shared((ROWS, COLUMNS), "int32")
        T.im2col(A, S, x, y, *CONVOLUTION[4:])
        T.copy(S, B[x * ROWS, y * COLUMNS])


def patched(A):
    images, height, width, channels, kernel, stride, dilation, pad = CONVOLUTION
    B = np.zeros((64, 48), np.int32)
    for m in range(images * OUT_HEIGHT * OUT_WIDTH):
        for k in range(kernel * kernel * channels):
            n, row, column = np.unravel_index(m, (images, OUT_HEIGHT, OUT_WIDTH))
            down, right, channel = np.unravel_index(k, (kernel, kernel, channels))
            y, x = row * stride + down * dilation - pad, column * stride + right * dilation - pad
            if 0 <= y < height and 0 <= x < width:
                B[m, k] = A[n, y, x, channel]
    return B


SCANS = [
    ((256,), 0, "shared", False),
    ((100,), -1, "fragment", True),
    ((64, 20), 1, "fragment", False),
    ((20, 64), 1, "shared", True),
    ((40, 12), 0, "shared", True, "float16"),
    ((33, 5, 7), 0, "fragment", False, "int64"),
    ((2, 900), 1, "shared", False, "int8"),
    ((3, 300), -1, "fragment", True, "float64"),
    ((16, 130), 0, "shared", False, "uint32"),
    ((1200,), 0, "shared", False, "int32", 96),
    ((700,), 0, "fragment", True, "int16", 48),
    ((60, 9), 0, "shared", False, "float32", 33),
    ((40, 400), 1, "shared", True, "int32", 32),
]

CASES = {
    "jumps": (jumps, (random((64, 32)),), np.zeros((64, 5), np.int32), left_sums),
    "jumps_of_the_block": (
        jumps_of_the_block, (random((64, 32)),), np.zeros((64, 8), np.int32), jumped_of_the_block,
    ),
    "remainders": (remainders, tuple(PAIRS), np.zeros((2, ODDS), np.int32), left_over),
    "products_of_bytes": (
        products_of_bytes, (BYTES[0], BYTES[1], random((64, 64)).astype("int8")), np.zeros((3, 64, 64), np.int32),
        multiplied_bytes,
    ),
    "external": (external, tuple(PAIRS), np.zeros((4, ODDS), np.float32), external_numbers),
    "vectors_of_views": (
        vectors_of_views, (random((32, 8)),), np.zeros((32, 4), np.int64), pairs_of_words,
    ),
    "vectors": (
        vectors, (random((32, 8)),),
        (np.zeros((32, 12), np.int32), np.zeros(64, np.float32), np.zeros((32, 8), np.int32)), as_vectors,
    ),
    "random_numbers": (
        random_numbers, (), (np.zeros((2, DRAWN), np.int32), np.zeros((2, DRAWN), np.float32)), randomly_drawn,
    ),
    "loops": (loops, (random((8, 6)), 5), np.zeros((8, 6), np.int32), looped),
    "sides_of_a_choice": (sides_of_a_choice, (random((8, 6)),), np.zeros((8, 6), np.int32), either_side),
    "persistent": (persistent, (random((7, 5)), 7), np.zeros((7, 5), np.int32), persisted),
    "scheduled": (scheduled, (random((7, 6)), 6), np.zeros((7, 6), np.int32), schedule),
    "no_block": (no_block, (random(4),), np.zeros(4, np.int32), lambda A: np.array([0, A[1], 0, 0])),
    "reductions": (reductions, (random((32, 48)),), np.zeros((12, 32), np.int32), reduced),
    "reductions_of_the_least": (
        reductions_of_the_least, (np.full((4, 48), -(2**31), np.int32),), np.zeros((2, 4), np.int32),
        lambda A: np.full((2, 4), -(2**31)),
    ),
    "reductions_of_arrays": (
        reductions_of_arrays, (random((64, 8)),), np.zeros((64, 3), np.int32), reduced_of_arrays,
    ),
    "places_of_nan": (
        places_of_nan, (NANS,), np.zeros((2, 5), np.int32), lambda A: np.stack([A.argmax(1), A.argmin(1)]),
    ),
    "reductions_without_nan": reductions_without_nan("float32"),
    "reductions_without_nan_of_half": reductions_without_nan("float16"),
    "reductions_without_nan_of_double": reductions_without_nan("float64"),
    "tiles": (tiles, (ODD,), (np.zeros((4, 48, 32), np.int32), np.full(8, 77, np.int32)), tiled),
    "slices": slices_case(40, 3),
    "slices_of_any_length": slices_case(T.dynamic("rows"), 3),
    "slices_of_any_width": slices_case(40, T.dynamic("heads")),
    "within_one_buffer": (within_one_buffer, (random((2, 16, 40)),), np.zeros((6, 16, 40), np.int32), moved_within),
    "single_numbers": (
        single_numbers, (random(64),), np.zeros(5, np.int32),
        lambda A: np.array([A.sum(), A.max(), A.min(), 4, A.max() + 1]),
    ),
    "products": (
        products, (random((64, 64), "float16"), random((64, 64), "float16")[::-1].copy()),
        np.zeros((64, 64), np.float32), multiplied,
    ),
    "waits": (
        waits, (random((64, 64), "float16"), random((64, 64), "float16")[::-1].copy()),
        np.zeros((64, 64), np.float32), lambda A, B: A.astype("f4") @ B.astype("f4") + A.astype("f4") + B.astype("f4"),
    ),
    "workspaces": (
        workspaces, (random((5, 64)),), np.zeros((5, 64), np.int32),
        lambda A: 2 * A[::-1, ::-1] + A.sum(1, keepdims=True, dtype=np.int32),
    ),
    "words": (
        words, (random((64, 32)), random((64, 32), "float16")),
        (np.zeros((64, 32), np.int32), np.zeros((64, 32), np.float16), np.zeros((64, 8), np.int32)), moved_words,
    ),
    "words_of_narrow_numbers": (
        words_of_narrow_numbers, (random((16, 32)).astype("uint8"),),
        (np.zeros((16, 4)), np.zeros((16, 8), np.int32)), moved_narrow_words,
    ),
    "combined_by_threads": (
        combined_by_threads, (random((4, 8, 4)),), np.zeros((2, 4, 8, 4), np.int32), combined,
    ),
    "clusters": (clusters, (), np.zeros((4, 6, 6), np.int32), clustered),
    "pointers": (
        pointers, (random((70, 40)), 70, 40), np.zeros((70, 40), np.int32), lambda A, m, n: A + m,
    ),
    "assigned_by_macros": (assigned_by_macros, (), random((4, 3)), lambda: assigned(random((4, 3)))),
    "sparse_products": sparse_case("float16", "float32", 16, False, False, False),
    "sparse_products_of_bytes": sparse_case("int8", "int32", 32, False, False, True),
    "sparse_products_of_transposed_tiles": sparse_case("float16", "float32", 8, True, True, True),
    "sparse_products_of_floats": sparse_case("float32", "float32", 16, False, False, True),
    "patches": (patches, (random(CONVOLUTION[:4]),), np.zeros((64, 48), np.int32), patched),
    "views_of_other_widths": (
        views_of_other_widths, (random((32, 24)) * 1234567,),
        (np.zeros((4, 48, 32), np.int16), np.zeros((2, 32, 12), np.int64), np.zeros((32, 24), np.int32)),
        viewed_otherwise,
    ),
    **{f"scans_{i}": scans(*case) for i, case in enumerate(SCANS)},
}  # fmt: skip
"""For each program its inputs, its results as they are before, and what they are after. Scalars follow the results."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, inputs, results, reference = CASES[name]
    results = tuple(r.copy() for r in (results if isinstance(results, tuple) else (results,)))
    arrays = [i for i in inputs if isinstance(i, np.ndarray)]
    scalars = [i for i in inputs if not isinstance(i, np.ndarray)]
    run(program, *arrays, *results, *scalars)
    expected = reference(*inputs)
    for result, exact in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
        tolerance = 0 if result.dtype == np.int32 else 1e-4
        np.testing.assert_allclose(result, exact, rtol=tolerance, atol=tolerance * 10)
