"""Programs with element types that are only stored, each with its arguments and what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import ml_dtypes
import numpy as np

import tilec.language as T

FLOATS = ("float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn")
PACKED = ("int4", "uint4", "float4_e2m1fn")


def decoded(codes, name):
    """Returns what bytes stand for, one number in each."""
    if name == "int4":
        return (codes.astype(np.int32) ^ 8) - 8
    return codes.astype(np.int32) if name == "uint4" else codes.view(getattr(ml_dtypes, name)).astype(np.float32)


def encoded(values, name):
    """Returns the nearest numbers of a type, as bytes; what is too large is cut."""
    if "int" in name:
        low, high = (-8, 7) if name == "int4" else (0, 15)
        return np.clip(np.trunc(np.nan_to_num(values, nan=0.0)), low, high).astype(np.int32).astype(np.uint8) & 15
    every = decoded(np.arange(16 if name == "float4_e2m1fn" else 256, dtype=np.uint8), name)
    finite = every[np.isfinite(every)].astype(np.float64)
    codes = np.clip(values, finite.min(), finite.max()).astype(getattr(ml_dtypes, name)).view(np.uint8)
    nan = 7 if name == "float4_e2m1fn" else int(np.flatnonzero(np.isnan(every))[0])
    return np.where(np.isnan(values), nan, codes).astype(np.uint8)


def pairs(codes):
    """Puts two numbers of 4 bits into a byte, the first one lowest."""
    return codes[..., ::2] | codes[..., 1::2] << 4


def taken_apart(bytes_):
    return np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(*bytes_.shape[:-1], -1)


def near(name):
    """Numbers around all those that are half way between two of a type, and special ones."""
    every = decoded(np.arange(16 if name == "float4_e2m1fn" else 256, dtype=np.uint8), name).astype(np.float64)
    finite = np.unique(every[np.isfinite(every)])
    middles = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    around = [np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf)]
    # A number below 2^-126 that ml_dtypes rounds up, though 2^-127 is nearer, stays out.
    around = [side[np.abs(side) >= 2.0**-126] if name == "float8_e8m0fnu" else side for side in around]
    special = np.array([0, -0.0, 1e-40, -1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
    found = np.concatenate([special, middles, -middles, *around, finite.astype(np.float32)])
    return np.resize(found, -(-found.size // 128) * 128)


def conversions(name):
    x = near(name) if name in FLOATS else np.resize(np.float32([0, -1, 3.7, -3.7, 7.9, 16, -9, 1e9, np.nan]), 128)
    n = x.size

    @T.prim_func
    def f(X: T.Tensor((n,), "float32"), Y: T.Tensor((2, n), "float32"), Z: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=128):
            tile, copied = T.alloc_shared((n,), name), T.alloc_fragment((n,), name)
            for i in T.Parallel(n):
                tile[i] = X[i]
            T.copy(tile, copied)
            T.copy(copied, Y[0, 0:n])
            for i in T.Parallel(n):
                Y[1, i] = T.cast(T.cast(X[i], "float64"), name).astype("float32")
                Z[i] = T.cast(T.reinterpret(copied[i], "uint4" if T.dtype(name).bits == 4 else "uint8"), "int32")

    codes = encoded(x, name)
    numbers = decoded(codes, name).astype(np.float32)
    return f, (x,), (np.zeros((2, n), np.float32), np.zeros(n, np.int32)), (np.stack([numbers, numbers]), codes)


def integers(name):
    """Integers wrap; floats of few bits take the nearest."""
    x = np.resize(np.int32([0, 1, -1, 7, 8, 15, 16, -8, -9, 100, 2**31 - 1, -(2**31)]), 128)

    @T.prim_func
    def f(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(128):
                Y[i] = T.cast(T.cast(X[i], name), "float32")

    codes = (x & 15).astype(np.uint8) if "int" in name else encoded(x.astype(np.float32), name)
    return f, (x,), (np.zeros(128, np.float32),), (decoded(codes, name),)


def products(name):
    M, N, K = 64, 96, 128
    sums = "float32" if "float" in name else "int32"

    @T.prim_func
    def f(A: T.Tensor((M, K), name), B: T.Tensor((N, K), name), C: T.Tensor((M, N), sums)):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            As, Bs = T.alloc_shared((32, 64), name), T.alloc_shared((32, 64), name)
            acc = T.alloc_fragment((32, 32), sums)
            T.clear(acc)
            for k in T.serial(T.ceildiv(K, 64)):
                T.copy(A[by * 32, k * 64], As)
                T.copy(B[bx * 32, k * 64], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C[by * 32, bx * 32])

    a, b = (np.random.default_rng(i).integers(0, 256, (rows, K // 2)).astype(np.uint8) for i, rows in ((0, M), (1, N)))
    c = decoded(taken_apart(a), name) @ decoded(taken_apart(b), name).T
    return f, (a, b), (np.zeros((M, N), c.dtype),), (c,)


def stored(name):
    """Tiles are stored in bytes of two; what is outside of the tensor is left out."""
    M, N = 10, 24

    @T.prim_func
    def f(X: T.Tensor((M, N), "float32"), Q: T.Tensor((M, N), name), R: T.Tensor((M, N), name)):
        with T.Kernel(2, threads=64) as b:
            tile, narrow = T.alloc_shared((8, 16), "float32"), T.alloc_fragment((8, 16), name)
            T.copy(X[0, b * 16], tile)
            T.copy(tile, narrow)
            T.copy(narrow, Q[0, b * 16])
            T.copy(tile[6:8, 0:16], R[8, b * 16])

    x = (np.random.default_rng(0).standard_normal((M, N)) * 5).astype(np.float32)
    codes, others = encoded(x, name), np.zeros((M, N), np.uint8)
    codes[8:] = 0
    others[8:] = codes[6:8]
    return f, (x,), (np.zeros((M, N // 2), np.uint8),) * 2, (pairs(codes), pairs(others))


def read(name):
    """Elements are read at any place; outside of the tensor they are zero."""
    M, N = 8, 32

    @T.prim_func
    def f(Q: T.Tensor((M, N), name), Y: T.Tensor((3, M, N), "float32")):
        with T.Kernel(1, threads=64):
            tile, local = T.alloc_shared((M, N), name), T.alloc_local((2,), name)
            T.copy(Q[-1, 3], tile)
            for i, j in T.Parallel(M, N):
                Y[0, i, j] = T.cast(Q[i, N - 1 - j], "float32")
                Y[1, i, j] = T.cast(tile[i, j], "float32")
                local[0] = Q[i, j // 2]
                local[1] = Q[j // 8, i]
                Y[2, i, j] = T.cast(local[j % 2], "float32")

    q = np.random.default_rng(0).integers(0, 256, (M, N // 2)).astype(np.uint8)
    x = decoded(taken_apart(q), name).astype(np.float32)
    moved = np.zeros_like(x)
    moved[1:, : N - 3] = x[:-1, 3:]
    i, j = np.indices(x.shape)
    mixed = np.where(j % 2, x[j // 8, i], x[i, j // 2])
    return f, (q,), (np.zeros((3, M, N), np.float32),), (np.stack([x[:, ::-1], moved, mixed]),)


def strided(name):
    """Rows whose planes lie one behind the other, read element by element and as tiles."""
    rows, planes, columns = 8, 3, 128

    @T.prim_func
    def f(
        X: T.StridedTensor((rows, planes, columns), (columns, rows * columns, 1), name),
        Y: T.Tensor((2, rows, planes, columns), "float32"),
    ):
        with T.Kernel(rows, threads=64) as b:
            tile = T.alloc_shared((planes, columns), name)
            T.copy(X[b, 0:planes, 0:columns], tile)
            for i, j in T.Parallel(planes, columns):
                Y[0, b, i, j] = T.cast(tile[i, j], "float32")
                Y[1, b, i, j] = T.cast(X[b, i, columns - 1 - j], "float32")

    q = np.random.default_rng(4).integers(0, 256, (planes, rows, columns // 2)).astype(np.uint8).transpose(1, 0, 2)
    x = decoded(taken_apart(q), name).astype(np.float32)
    return f, (q,), (np.zeros((2, *x.shape), np.float32),), (np.stack([x, x[..., ::-1]]),)


def symbolic(name):
    """Extents and strides that a call tells, computed ones too, of tensors whose elements share bytes."""
    rows, columns = 4, 24

    @T.prim_func
    def f(
        X: T.Tensor((rows, T.dynamic("n")), name),
        Y: T.StridedTensor((T.dynamic("m"), T.dynamic("n") * 2), (T.dynamic("s"), 1), name),
        Z: T.Tensor((2, rows, T.dynamic("n")), "float32"),
        W: T.Tensor((rows, 4), "int64"),
    ):
        n, s = X.shape[1], T.dynamic("s")
        with T.Kernel(rows, threads=32) as b:
            tile = T.alloc_shared((1, 16), name)
            T.copy(X[b, 16], tile)
            for i in T.serial(n):
                Z[0, b, i] = T.cast(X[b, i], "float32") + T.cast(Y[2 * b, n + i], "float32")
            for i in T.Parallel(16):
                Z[1, b, i] = T.cast(tile[0, i], "float32")
            W[b, 0] = n
            W[b, 1] = Y.shape[0]
            W[b, 2] = Y.shape[1]
            W[b, 3] = s

    random = np.random.default_rng(5)
    q = random.integers(0, 256, (rows, columns // 2)).astype(np.uint8)
    wide = random.integers(0, 256, (2 * rows, columns + 6)).astype(np.uint8)[:, :columns]
    x, y = (decoded(taken_apart(codes), name).astype(np.float32) for codes in (q, wide))
    z = np.zeros((2, rows, columns), np.float32)
    exact = np.stack([x + y[::2, columns:], z[0]])
    exact[1, :, : columns - 16] = x[:, 16:]
    told = np.tile(np.int64([columns, 2 * rows, 2 * columns, 2 * columns + 12]), (rows, 1))
    return f, (q, wide), (z, np.zeros((rows, 4), np.int64)), (exact, told)


def assigned(name):
    """Elements are assigned at any place, and leave their neighbours alone, which other iterations, threads and blocks
    assign to at the same time."""
    M, N = 6, 64

    @T.prim_func
    def f(
        X: T.Tensor((M, N), name),
        places: T.Tensor((N,), "int32"),
        Y: T.Tensor((M, N), name),
        Z: T.Tensor((M, N), name),
        W: T.Tensor((M, N), name),
        V: T.Tensor((2, N), name),
        E: T.Tensor((M, 10), name),
    ):
        with T.Kernel(M, threads=64) as b:
            for i in T.Parallel(N):
                Y[b, N - 1 - i] = X[b, i]
            for i in T.serial(N):
                Z[b, places[i]] = X[b, i]
            t = T.get_thread_binding()
            W[b, t] = X[b, t]
            W[b, 3] = X[b, 4]
            for i in T.Parallel(N // 2):
                if i % 3 == 0:
                    V[0, 2 * i + 1] = X[0, i]
            for i in T.Parallel(24):
                E[b, i - 7] = T.cast(2, name)
        with T.Kernel(N, threads=32) as b:
            V[1, b] = X[1, b]

    random = np.random.default_rng(6)
    q, v, e = (random.integers(0, 256, s).astype(np.uint8) for s in ((M, N // 2), (2, N // 2), (M, 5)))
    order = random.permutation(N).astype(np.int32)
    x, there = taken_apart(q), taken_apart(v)
    z, w = np.zeros_like(x), x.copy()
    z[:, order] = x
    w[:, 3] = x[:, 4]
    there[0, 1::6] = x[0, : N // 2 : 3]
    there[1] = x[1]
    two = int(encoded(np.float32([2]), name)[0])
    exact = (pairs(x[:, ::-1]), pairs(z), pairs(w), pairs(there), np.full_like(e, two * 17))
    return f, (q, order), (np.zeros_like(q), np.full_like(q, 255), np.zeros_like(q), v, e), exact


def changed(name):
    """Elements become others, by what other iterations, threads and blocks do to their neighbours at the same time."""
    M, N = 4, 64

    @T.prim_func
    def f(X: T.Tensor((M, N), name), Y: T.Tensor((M, N), name), Z: T.Tensor((M, N), name)):
        with T.Kernel(M, threads=32) as b:
            for i in T.Parallel(N):
                X[b, i] = T.cast(T.min(T.cast(X[b, i], "float32"), 1), name)
            t = T.get_thread_binding()
            Y[b, t] = T.cast(T.min(T.cast(Y[b, t], "float32"), 1), name)
        with T.Kernel(N, threads=32) as b:
            for i in T.Parallel(M):
                Z[i, b] = T.cast(T.min(T.cast(Z[i, b], "float32"), 1), name)

    random = np.random.default_rng(7)
    before = tuple(random.integers(0, 256, (M, N // 2)).astype(np.uint8) for _ in range(3))
    after = [encoded(np.minimum(decoded(taken_apart(q), name), 1).astype(np.float32), name) for q in before]
    after[1][:, 32:] = taken_apart(before[1])[:, 32:]
    return f, (), before, tuple(pairs(codes) for codes in after)


CASES = {
    **{f"conversions_{name}": conversions(name) for name in (*FLOATS, "int4", "uint4")},
    **{f"integers_{name}": integers(name) for name in ("float8_e4m3fnuz", *PACKED)},
    **{f"products_{name}": products(name) for name in PACKED},
    **{f"stored_{name}": stored(name) for name in PACKED},
    **{f"strided_{name}": strided(name) for name in PACKED},
    **{f"assigned_{name}": assigned(name) for name in PACKED},
    **{f"changed_{name}": changed(name) for name in PACKED},
    **{f"symbolic_{name}": symbolic(name) for name in PACKED},
    **{f"read_{name}": read(name) for name in PACKED},
}
"""For each program its arguments, its results as they are before, and what they are after."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, arguments, results, expected = CASES[name]
    results = [result.copy() for result in results]
    run(program, *arguments, *results)
    for result, exact in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, exact)
