"""Programs as they are written for TileLang, each with what it must compute.

They import `tilelang`, and nothing of ours: `install()` below is all that makes them run here. `CASES` holds for each
idiom a function that runs the program and compares its results with NumPy's; docs/from-tilelang.md lists them.
"""

import ml_dtypes
import numpy as np

import philox
import tilec.compat.tilelang

tilec.compat.tilelang.install()

import tilelang  # noqa: E402
import tilelang.language as T  # noqa: E402

tilec.compat.tilelang.uninstall()  # other tests want to install it themselves

CASES = {}
"""What is done, and what runs and checks it."""


def case(what):
    def decorate(function):
        CASES[what] = function
        return function

    return decorate


def random(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(actual, expected, tolerance=1e-3):
    np.testing.assert_allclose(np.asarray(actual, np.float32), expected, rtol=tolerance, atol=tolerance)


@tilelang.jit(out_idx=[-1])
def matmul_of_half_bytes(M, N, K, block, dtype):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), T.int32)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_shared, B_shared = T.alloc_shared((block, 64), dtype), T.alloc_shared((block, 64), dtype)
            C_local = T.alloc_fragment((block, block), T.int32)
            T.clear(C_local)
            for k in T.serial(T.ceildiv(K, 64)):
                T.copy(A[by * block, k * 64], A_shared)
                T.copy(B[bx * block, k * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * block, bx * block])

    return main


@case("integers of 4 bits, two to a byte: `T.int4` tensors and tiles, and their GEMM")
def half_bytes():
    a, b = (random(64, 128, seed=seed) * 4 for seed in (0, 1))
    a, b = (np.clip(np.trunc(x), -8, 7).astype(np.int32) for x in (a, b))
    packed = [((x[:, ::2] & 15) | (x[:, 1::2] & 15) << 4).astype(np.uint8).view(np.int8) for x in (a, b)]
    close(matmul_of_half_bytes(64, 64, 128, 32, T.int4)(*packed), a @ b.T, 0)


@tilelang.jit(out_idx=[-1])
def by_their_sum(N, block):
    @T.prim_func
    def main(A: T.Tensor((N,), T.float32), Part: T.Tensor((N // block,), T.float32), B: T.Tensor((N,), T.float32)):
        with T.Kernel(N // block, threads=block) as bx:
            x = T.alloc_fragment((block,), T.float32)
            s = T.alloc_fragment((1,), T.float32)
            T.copy(A[bx * block], x)
            T.reduce_sum(x, s, dim=0)
            Part[bx] = s[0]
            T.sync_grid()
            total = T.alloc_var(T.float32, 0.0)
            for i in T.serial(N // block):
                total += Part[i]
            for i in T.Parallel(block):
                B[bx * block + i] = T.call_extern("float32", "fminf", x[i] / total, T.float32(1))

    return main


@case("blocks that wait for each other: `T.sync_grid`; functions of CUDA's library: `T.call_extern`")
def grid():
    a = np.abs(random(256))
    close(by_their_sum(256, 64)(a, np.zeros(4, np.float32)), a / a.sum())


@tilelang.jit(out_idx=[-1])
def scaled_by_powers(M, N):
    @T.prim_func
    def main(X: T.Tensor((M, N), T.float32), Y: T.Tensor((M, N), T.float32)):
        with T.Kernel(M, threads=64) as bx:
            x = T.alloc_fragment((N,), T.float32)
            amax = T.alloc_fragment((1,), T.float32)
            scale = T.alloc_shared((1,), T.float8_e8m0fnu)
            T.copy(X[bx, 0], x)
            T.reduce_absmax(x, amax, dim=0)
            scale[0] = T.cast(T.exp2(T.ceil(T.log2(T.max(amax[0], 1e-4)))), T.float8_e8m0fnu)
            for i in T.Parallel(N):
                Y[bx, i] = x[i] / T.cast(scale[0], T.float32)

    return main


@case("scales that are powers of two: `T.float8_e8m0fnu`")
def powers():
    x = random(8, 64)
    close(scaled_by_powers(8, 64)(x), x / np.exp2(np.ceil(np.log2(np.abs(x).max(1, keepdims=True)))), 0)


@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, block_M=32, block_N=32, block_K=32, dtype=T.float16, accum_dtype=T.float32):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.use_swizzle(panel_size=10)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, ko * block_K], A_shared)
                T.copy(B[ko * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] = T.max(C_local[i, j], 0)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


@case("GEMM with an epilogue, a function that returns its program, `out_idx`")
def lazy_gemm():
    kernel = matmul(64, 96, 80)
    a, b = random(64, 80, dtype="float16"), random(80, 96, dtype="float16", seed=1)
    close(kernel(a, b), np.maximum(a.astype("f4") @ b.astype("f4"), 0), 2e-2)
    assert matmul(64, 96, K=80) is kernel


@tilelang.jit(pass_configs={"tl.enable_fast_math": True})
def eager_matmul(A, B, block: int = 32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float16]
    B: T.Tensor[[K, N], T.float16]
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block, block), T.float16)
        B_shared = T.alloc_shared((block, block), T.float16)
        C_local = T.alloc_fragment((block, block), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
            T.copy(A[by * block, k * block], A_shared)
            T.copy(B[k * block, bx * block], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block, bx * block])
    return C


@case("GEMM as a function that is its own program, with `T.const` and `T.empty`")
def eager_gemm():
    a, b = random(64, 32, dtype="float16"), random(32, 64, dtype="float16", seed=1)
    close(eager_matmul(a, b), a.astype("f4") @ b.astype("f4"), 2e-2)
    assert eager_matmul.compile(M=64, N=64, K=32).config is None


@case("a program compiled by `tilelang.compile`, all tensors given")
def compiled_directly():
    @T.prim_func
    def add(A: T.Tensor((1000,), "float32"), B: T.Tensor((1000,), "float32"), C: T.Tensor((1000,), "float32")):
        with T.Kernel(T.ceildiv(1000, 256), threads=128) as bx:
            for i in T.Parallel(256):
                if bx * 256 + i < 1000:
                    C[bx * 256 + i] = A[bx * 256 + i] + B[bx * 256 + i]

    a, b, c = random(1000), random(1000, seed=1), np.zeros(1000, np.float32)
    kernel = tilelang.compile(add, execution_backend="tvm_ffi")
    kernel(a, b, c)
    close(c, a + b)


@case("extents known when the kernel is called: `T.dynamic`, `T.symbolic`")
def dynamic_shapes():
    @tilelang.jit(out_idx=-1)
    def scaled(dtype="float32"):
        m = T.dynamic("m")
        n = T.symbolic("n", dtype="int32")

        @T.prim_func
        def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype)):
            with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 8), threads=64) as (bx, by):
                tile = T.alloc_fragment((8, 64), dtype)
                T.copy(A[by * 8, bx * 64], tile)
                for i, j in T.Parallel(8, 64):
                    tile[i, j] *= 2
                T.copy(tile, B[by * 8, bx * 64])

        return main

    for shape in ((5, 70), (16, 64)):
        a = random(*shape)
        close(scaled()(a), 2 * a)


@case("extremes: `T.reduce_max` and its kin leave NaN of 16-bit floats out, unless `nan_propagate` is given")
def extremes():
    def kernel(dtype, **options):
        @T.prim_func
        def main(A: T.Tensor((8, 64), dtype), B: T.Tensor((4, 8), dtype)):
            with T.Kernel(1, threads=64):
                tile, row = T.alloc_fragment((8, 64), dtype), T.alloc_fragment((8,), dtype)
                T.copy(A, tile)
                T.reduce_max(tile, row, **options)
                T.copy(row, B[0, :])
                T.reduce_min(tile, row, **options)
                T.copy(row, B[1, :])
                T.reduce_absmax(tile, row, **options)
                T.copy(row, B[2, :])
                T.reduce(tile, row, "max", 1, True, **options)
                T.copy(row, B[3, :])

        return tilelang.compile(main, out_idx=-1)

    a = random(8, 64, dtype="float16")
    a[3, 5] = np.nan
    least, most, size = np.nanmin(a, 1), np.nanmax(a, 1), np.nanmax(abs(a), 1)
    close(kernel("float16")(a), [most, least, size, most])
    close(kernel("float16", nan_propagate=True)(a), [a.max(1), a.min(1), abs(a).max(1), a.max(1)])
    close(kernel("float32")(a.astype("float32")), [a.max(1), a.min(1), abs(a).max(1), a.max(1)])


@case("macros: `T.macro`, nested, with tiles and constants as arguments")
def macros():
    @T.macro
    def clip(tile, low, high):
        for i in T.Parallel(128):
            tile[i] = T.min(T.max(tile[i], low), high)

    @T.macro
    def load_and_clip(source, tile):
        T.copy(source, tile)
        clip(tile, -0.5, 0.5)

    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=32) as (bx,):
            tile = T.alloc_fragment((128,), "float32")
            load_and_clip(A, tile)
            T.copy(tile, B)

    a = random(128)
    close(tilelang.compile(main, out_idx=1)(a), np.clip(a, -0.5, 0.5))


@case("reductions: sum, max, absmax; softmax of rows")
def softmax():
    @tilelang.jit(out_idx=[1, 2])
    def rows(M, N, threads=64):
        @T.prim_func
        def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32"), A: T.Tensor((M,), "float32")):
            with T.Kernel(M, threads=threads) as bx:
                row = T.alloc_fragment((1, N), "float32")
                top = T.alloc_fragment((1,), "float32")
                total = T.alloc_fragment((1,), "float32")
                T.copy(X[bx, 0], row)
                T.reduce_absmax(row, total, dim=1)
                A[bx] = total[0]
                T.reduce_max(row, top, dim=1, clear=True)
                for i, j in T.Parallel(1, N):
                    row[i, j] = T.exp2((row[i, j] - top[i]) * 1.44269504)
                T.reduce_sum(row, total, dim=-1)
                for i, j in T.Parallel(1, N):
                    row[i, j] = row[i, j] / total[i]
                T.copy(row, Y[bx, 0])

        return main

    x = random(6, 200)
    y, a = rows(6, 200)(x)
    e = np.exp(x - x.max(1, keepdims=True))
    close(y, e / e.sum(1, keepdims=True))
    close(a, np.abs(x).max(1))


@case("layer norm and RMS norm")
def norms():
    @tilelang.jit(out_idx=[-2, -1])
    def norm(M, N, eps=1e-5):
        @T.prim_func
        def main(
            X: T.Tensor((M, N), "float16"), W: T.Tensor((N,), "float16"),
            L: T.Tensor((M, N), "float16"), R: T.Tensor((M, N), "float16"),
        ):  # fmt: skip
            with T.Kernel(T.ceildiv(M, 4), threads=128) as bx:
                x = T.alloc_fragment((4, N), "float32")
                square = T.alloc_fragment((4, N), "float32")
                mean = T.alloc_fragment((4,), "float32")
                power = T.alloc_fragment((4,), "float32")
                T.copy(X[bx * 4 : bx * 4 + 4, :], x)
                for i, j in T.Parallel(4, N):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(x, mean, dim=1)
                T.reduce_sum(square, power, dim=1)
                for i, j in T.Parallel(4, N):
                    square[i, j] = x[i, j] * T.rsqrt(power[i] / N + eps) * W[j]
                T.copy(square, R[bx * 4, 0])
                for i in T.Parallel(4):
                    mean[i] /= N
                    power[i] = T.rsqrt(power[i] / N - mean[i] * mean[i] + eps)
                for i, j in T.Parallel(4, N):
                    x[i, j] = (x[i, j] - mean[i]) * power[i] * W[j]
                T.copy(x, L[bx * 4, 0])

        return main

    x, w = random(8, 128, dtype="float16"), random(128, dtype="float16", seed=1)
    left, right = norm(8, 128)(x, w)
    f = x.astype("f4")
    close(left, (f - f.mean(1, keepdims=True)) / np.sqrt(f.var(1, keepdims=True) + 1e-5) * w, 1e-2)
    close(right, f / np.sqrt((f * f).mean(1, keepdims=True) + 1e-5) * w, 1e-2)


@case("persistent kernels: `T.Persistent`")
def persistent():
    @T.prim_func
    def main(A: T.Tensor((128, 128), "float32"), B: T.Tensor((128, 128), "float32")):
        with T.Kernel(3, threads=128) as block_id:
            tile = T.alloc_shared((32, 32), "float32")
            for bx, by in T.Persistent([4, 4], 3, block_id):
                T.copy(A[bx * 32, by * 32], tile)
                for i, j in T.Parallel(32, 32):
                    B[bx * 32 + i, by * 32 + j] = tile[i, j] + 1

    a = random(128, 128)
    close(tilelang.compile(main, out_idx=[-1])(a), a + 1)


@case("atomics: histograms, `T.atomic_add` of elements and tiles, `T.atomic_max`")
def atomics():
    @T.prim_func
    def main(X: T.Tensor((512,), "int32"), H: T.Tensor((16,), "int32"), S: T.Tensor((64,), "float32"),
             V: T.Tensor((512,), "float32"), M: T.Tensor((1,), "int32")):  # fmt: skip
        with T.Kernel(8, threads=64) as bx:
            tile = T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                T.atomic_add(H[X[bx * 64 + i]], 1)
                T.atomic_max(M[0], X[bx * 64 + i])
            T.copy(V[bx * 64], tile)
            T.atomic_add(S[0:64], tile)

    x = np.random.default_rng(0).integers(0, 16, 512).astype(np.int32)
    h, s, v, m = np.zeros(16, np.int32), np.zeros(64, np.float32), random(512), np.zeros(1, np.int32)
    tilelang.compile(main)(x, h, s, v, m)
    np.testing.assert_array_equal(h, np.bincount(x, minlength=16))
    close(s, v.reshape(8, 64).sum(0))
    assert m[0] == x.max()


@case("dequantising 4-bit weights, and a GEMM of the result")
def dequantise():
    N, K, block = 64, 64, 32

    @tilelang.jit(out_idx=[2])
    def kernel():
        @T.prim_func
        def main(A: T.Tensor((32, K), "float16"), Q: T.Tensor((N, K // 2), "uint8"), C: T.Tensor((32, N), "float32")):
            with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
                A_shared = T.alloc_shared((32, block), "float16")
                Q_shared = T.alloc_shared((block, block // 2), "uint8")
                Q_local = T.alloc_fragment((block, block // 2), "uint8")
                W_local = T.alloc_fragment((block, block), "float16")
                W_shared = T.alloc_shared((block, block), "float16")
                C_local = T.alloc_fragment((32, block), "float32")
                T.clear(C_local)
                for k in T.Pipelined(K // block, num_stages=2):
                    T.copy(A[0, k * block], A_shared)
                    T.copy(Q[bx * block, k * block // 2], Q_shared)
                    T.copy(Q_shared, Q_local)
                    for i, j in T.Parallel(block, block):
                        W_local[i, j] = ((Q_shared[i, j // 2] >> ((j % 2) * 4)) & 0xF).astype("float16") - 8
                    T.copy(W_local, W_shared)
                    T.gemm(A_shared, W_shared, C_local, transpose_B=True)
                T.copy(C_local, C[0, bx * block])

        return main

    a, q = random(32, K, dtype="float16"), np.random.default_rng(1).integers(0, 256, (N, K // 2)).astype(np.uint8)
    w = np.stack([q & 15, q >> 4], -1).reshape(N, K).astype("f4") - 8
    close(kernel()(a, q), a.astype("f4") @ w.T, 2e-2)


@case("convolution through `T.im2col`-style indices")
def convolution():
    H = W = 8
    C, F, KH = 16, 32, 3

    @T.prim_func
    def main(X: T.Tensor((1, H, W, C), "float16"), K: T.Tensor((KH, KH, C, F), "float16"),
             Y: T.Tensor((1, H, W, F), "float32")):  # fmt: skip
        with T.Kernel(H * W // 32, threads=128) as by:
            data = T.alloc_shared((32, C), "float16")
            weight = T.alloc_shared((C, F), "float16")
            out = T.alloc_fragment((32, F), "float32")
            T.clear(out)
            for k in T.Pipelined(KH * KH, num_stages=2):
                for i, j in T.Parallel(32, C):
                    m = by * 32 + i
                    h = m // W + k // KH - 1
                    w = m % W + k % KH - 1
                    inside = (h >= 0) and (w >= 0) and (h < H) and (w < W)
                    data[i, j] = T.if_then_else(inside, X[0, h, w, j], 0)
                T.copy(K[k // KH, k % KH, 0, 0], weight)
                T.gemm(data, weight, out)
            for i, j in T.Parallel(32, F):
                Y[0, (by * 32 + i) // W, (by * 32 + i) % W, j] = out[i, j]

    x, k = random(1, H, W, C, dtype="float16"), random(KH, KH, C, F, dtype="float16", seed=1)
    padded = np.pad(x.astype("f4"), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(padded[:, i : i + H, j : j + W] @ k[i, j].astype("f4") for i in range(KH) for j in range(KH))
    close(tilelang.compile(main, out_idx=2)(x, k), expected, 2e-2)


@case("split-K GEMM with atomic addition of tiles")
def split_k():
    @tilelang.jit
    def kernel(M, N, K, split, block=32):
        @T.prim_func
        def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float32")):
            with T.Kernel(N // block, M // block, split, threads=128) as (bx, by, bz):
                A_shared = T.alloc_shared((block, block), "float16")
                B_shared = T.alloc_shared((block, block), "float16")
                C_local = T.alloc_fragment((block, block), "float32")
                C_shared = T.alloc_shared((block, block), "float32")
                T.clear(C_local)
                for k in T.Pipelined(K // split // block, num_stages=0):
                    T.copy(A[by * block, bz * (K // split) + k * block], A_shared)
                    T.copy(B[bx * block, bz * (K // split) + k * block], B_shared)
                    T.gemm(A_shared, B_shared, C_local, transpose_B=True, policy=T.GemmWarpPolicy.Square)
                T.copy(C_local, C_shared)
                T.atomic_add(C[by * block, bx * block], C_shared)

        return main

    a, b, c = random(64, 128, dtype="float16"), random(32, 128, dtype="float16", seed=1), np.zeros((64, 32), np.float32)
    kernel(64, 32, 128, 2)(a, b, c)
    close(c, a.astype("f4") @ b.astype("f4").T, 2e-2)


@case("the largest k of rows with their places")
def top_k():
    M, N, K = 4, 64, 3

    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), V: T.Tensor((M, K), "float32"), I: T.Tensor((M, K), "int32")):  # noqa: E741
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((M, N), "float32")
            top = T.alloc_fragment((M,), "float32")
            place = T.alloc_fragment((M, N), "int32")
            best = T.alloc_fragment((M,), "int32")
            T.copy(X, x)
            for k in T.serial(K):
                T.fill(place, -1)
                T.reduce_max(x, top, dim=1, clear=True)
                for i, j in T.Parallel(M, N):
                    place[i, j] = T.if_then_else(top[i] == x[i, j], j, place[i, j])
                T.reduce_max(place, best, dim=1, clear=True)
                for i, j in T.Parallel(M, N):
                    x[i, j] = T.if_then_else(top[i] == x[i, j], -10000.0, x[i, j])
                for i in T.Parallel(M):
                    V[i, k] = top[i]
                    I[i, k] = best[i]

    x = random(M, N)
    values, places = tilelang.compile(main, out_idx=[1, 2])(x)
    order = np.argsort(-x, axis=1)[:, :K]
    np.testing.assert_array_equal(places, order)
    close(values, np.take_along_axis(x, order, 1))


@case("scans: `T.cumsum`, forwards and backwards")
def scan():
    @tilelang.jit(out_idx=1)
    def kernel(n, reverse):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=64):
                tile = T.alloc_shared((n,), "float32")
                T.copy(A, tile)
                T.cumsum(src=tile, dim=0, reverse=reverse)
                T.copy(tile, B)

        return main

    a = random(64)
    close(kernel(64, False)(a), np.cumsum(a))
    close(kernel(64, reverse=True)(a), np.cumsum(a[::-1])[::-1])


@case("attention in one pass over the keys")
def attention():
    S, D, block = 64, 32, 32

    @tilelang.jit(out_idx=[3])
    def kernel(scale):
        @T.prim_func
        def main(Q: T.Tensor((S, D), "float16"), K: T.Tensor((S, D), "float16"), V: T.Tensor((S, D), "float16"),
                 O: T.Tensor((S, D), "float32")):  # fmt: skip  # noqa: E741
            with T.Kernel(S // block, threads=128) as bx:
                q = T.alloc_shared((block, D), "float16")
                k = T.alloc_shared((block, D), "float16")
                v = T.alloc_shared((block, D), "float16")
                s = T.alloc_fragment((block, block), "float32")
                p = T.alloc_fragment((block, block), "float16")
                o = T.alloc_fragment((block, D), "float32")
                top, before = T.alloc_fragment((block,), "float32"), T.alloc_fragment((block,), "float32")
                factor, total = T.alloc_fragment((block,), "float32"), T.alloc_fragment((block,), "float32")
                row = T.alloc_fragment((block,), "float32")
                T.copy(Q[bx * block, 0], q)
                T.fill(o, 0)
                T.fill(total, 0)
                T.fill(top, -T.infinity("float32"))
                for n in T.Pipelined(bx + 1, num_stages=1):
                    T.copy(K[n * block, 0], k)
                    for i, j in T.Parallel(block, block):
                        s[i, j] = T.if_then_else(bx * block + i >= n * block + j, 0, -T.infinity("float32"))
                    T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(top, before)
                    T.reduce_max(s, top, dim=1, clear=False)
                    for i in T.Parallel(block):
                        factor[i] = T.exp2((before[i] - top[i]) * scale)
                    for i, j in T.Parallel(block, block):
                        s[i, j] = T.exp2((s[i, j] - top[i]) * scale)
                    T.reduce_sum(s, row, dim=1)
                    for i in T.Parallel(block):
                        total[i] = total[i] * factor[i] + row[i]
                    T.copy(s, p)
                    for i, j in T.Parallel(block, D):
                        o[i, j] *= factor[i]
                    T.copy(V[n * block, 0], v)
                    T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(block, D):
                    o[i, j] /= total[i]
                T.copy(o, O[bx * block, 0])

        return main

    q, k, v = (random(S, D, dtype="float16", seed=i) for i in range(3))
    found = kernel(D**-0.5 * 1.44269504)(q, k, v)
    scores = q.astype("f4") @ k.astype("f4").T * D**-0.5
    scores[np.triu_indices(S, 1)] = -np.inf
    weights = np.exp(scores - scores.max(1, keepdims=True))
    close(found, weights / weights.sum(1, keepdims=True) @ v.astype("f4"), 2e-2)


@case("scalars: `T.alloc_var`, `while`, `T.serial` with a step, negative indices")
def scalars():
    @T.prim_func
    def main(A: T.Tensor((16,), "int32"), B: T.Tensor((4,), "int32"), limit: T.int32):
        with T.Kernel(1, threads=32):
            n = T.alloc_var(T.int32, init=0)
            total = T.alloc_var("int32", 0)
            while total < limit and n < 16:
                total += A[n]
                n += 1
            B[0] = n
            total = 0
            for i in T.serial(0, 16, 4):
                total += A[i]
            B[1] = total
            B[-1] = A[-1]
            B[2] = T.Select(limit > 3, 1, 0)

    a, b = np.arange(16, dtype=np.int32), np.zeros(4, np.int32)
    tilelang.compile(main)(a, b, 20)
    np.testing.assert_array_equal(b, [7, 24, 1, 15])


@case("GEMV with a fragment of partial sums")
def gemv():
    @tilelang.jit(out_idx=[-1])
    def kernel(N, K, block_N=16, block_K=32):
        @T.prim_func
        def main(A: T.Tensor((K,), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((N,), "float32")):
            with T.Kernel(T.ceildiv(N, block_N), threads=128) as bn:
                part = T.alloc_fragment((block_N, block_K), "float32")
                out = T.alloc_fragment((block_N,), "float32")
                T.clear(part)
                for bk in T.serial(T.ceildiv(K, block_K)):
                    for i, j in T.Parallel(block_N, block_K):
                        part[i, j] += T.cast(A[bk * block_K + j], "float32") * B[bn * block_N + i, bk * block_K + j]
                T.reduce_sum(part, out, dim=1)
                T.copy(out, C[bn * block_N])

        return main

    a, b = random(96, dtype="float16"), random(48, 96, dtype="float16", seed=1)
    close(kernel(48, 96)(a, b), b.astype("f4") @ a.astype("f4"), 1e-2)


@case("reductions and rounding: a narrow tile summed in a wide one, per-token scales")
def quantise():
    M, N = 8, 64

    @T.prim_func
    def main(X: T.Tensor((M, N), "float16"), S: T.Tensor((M,), "float32"), Q: T.Tensor((M, N), "int8")):
        with T.Kernel(1, threads=64):
            x = T.alloc_fragment((M, N), "float16")
            top = T.alloc_fragment((M,), "float32")
            T.copy(X, x)
            T.reduce_absmax(x, top, dim=1)
            for i in T.Parallel(M):
                top[i] = T.max(top[i], 1e-4) / 127
                S[i] = top[i]
            for i, j in T.Parallel(M, N):
                Q[i, j] = T.clamp(T.round(T.cast(x[i, j], "float32") / top[i]), -128.0, 127.0)

    x = random(M, N, dtype="float16")
    scale, q = tilelang.compile(main, out_idx=[1, 2])(x)
    f = x.astype("f4")
    close(scale, np.abs(f).max(1) / 127)
    np.testing.assert_allclose(q, np.rint(f / scale[:, None]), atol=1)


@case("functions of `tvm.tirx` in macros that take values apart: `tirx.const`, `tirx.Select`, `tirx.reinterpret`")
def expressions():
    tirx = tilelang.tvm.tirx

    def sign_and_magnitude(value: tirx.PrimExpr) -> tirx.PrimExpr:
        magnitude = value & tirx.const(0x7, "uint8")
        return tirx.Select((value & tirx.const(8, "uint8")) != 0, -magnitude.astype("int32"), magnitude.astype("int32"))

    @T.prim_func
    def main(A: T.Tensor((64,), "uint8"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = sign_and_magnitude(A[i])
                C[i] = tirx.reinterpret("int32", B[i])

    a = np.arange(64, dtype=np.uint8)
    b, c = tilelang.compile(main, out_idx=[1, 2])(a)
    np.testing.assert_array_equal(b, np.where(a & 8, -1.0, 1.0) * (a & 7))
    np.testing.assert_array_equal(c, b.view(np.int32))


@case("looking inside: `T.print` of values, tiles and messages, `T.device_assert`, `assert` of a kernel's values")
def looking_inside():
    import contextlib
    import io

    @T.prim_func
    def main(A: T.Tensor((4, 8), "float16"), B: T.Tensor((4, 8), "float16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            tile = T.alloc_shared((2, 4), "float16")
            local = T.alloc_fragment((2, 4), "float16")
            T.copy(A[by * 2, bx * 4], tile)
            T.copy(tile, local)
            tid = T.get_thread_binding()
            if tid == 0:
                T.print(bx + by, msg="hello world")
            if bx == 1 and by == 0:
                T.print(tile, msg="tile")
            for i, j in T.Parallel(2, 4):
                T.device_assert(local[i, j] < 100, "too large")
                assert local[i, j] > -100
                local[i, j] = local[i, j] + 1
            T.copy(local, B[by * 2, bx * 4])

    a, b = np.arange(32, dtype=np.float16).reshape(4, 8), np.zeros((4, 8), np.float16)
    kernel = tilelang.compile(main)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        kernel(a, b)
    close(b, a + 1.0)
    assert out.getvalue().splitlines() == [
        "block (0, 0), thread 0: hello world: bx + by = 0",
        "block (0, 1), thread 0: hello world: bx + by = 1",
        "block (1, 0), thread 0: hello world: bx + by = 1",
        "block (1, 0): tile: tile, float16 (2, 4) in shared memory:",
        "  [[ 4.0,  5.0,  6.0,  7.0],",
        "   [12.0, 13.0, 14.0, 15.0]]",
        "block (1, 1), thread 0: hello world: bx + by = 2",
    ]


@tilelang.jit
def moved_by_words(X, Y, Z):
    N = T.const("N")
    X: T.Tensor[[N], T.float32]
    Y: T.Tensor[[N], T.float32]
    Z: T.Tensor[[N], T.float32]

    with T.Kernel(N // 4, threads=32) as pid:
        S = T.alloc_shared((N,), T.float32)
        value = T.ldg128(X[pid * 4 : pid * 4 + 4])
        T.sts128(S[pid * 4 : pid * 4 + 4], value)
        T.sync_threads()
        T.stg128(Y[pid * 4 : pid * 4 + 4], T.lds128(S[pid * 4 : pid * 4 + 4]))
        Z[pid * 4 : pid * 4 + 4] = T.reinterpret(T.float32x4, value)


@case("loads and stores of 4, 8 and 16 bytes: `T.ldg128`, `T.sts128`, `T.reinterpret` of vectors")
def words():
    x, y, z = random(128), np.zeros(128, np.float32), np.zeros(128, np.float32)
    moved_by_words(x, y, z)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, x)


@case("workspaces of a call: `T.alloc_global` between two kernels, as split decoding has it")
def workspaces():
    rows, width, parts = 8, 256, 4

    @tilelang.jit(out_idx=[-1])
    def normalised(dtype="float32"):
        @T.prim_func
        def main(A: T.Tensor([rows, width], dtype), B: T.Tensor([rows, width], dtype)):
            partial = T.alloc_global([rows, parts], dtype)
            with T.Kernel(rows, parts, threads=64) as (row, part):
                tile = T.alloc_fragment([width // parts], dtype)
                total = T.alloc_fragment([1], dtype)
                T.copy(A[row, part * (width // parts)], tile)
                T.reduce_sum(tile, total)
                partial[row, part] = total[0]
            with T.Kernel(rows, threads=64) as row:
                total = T.alloc_var(dtype, init=0.0)
                for part in T.serial(parts):
                    total += partial[row, part]
                for i in T.Parallel(width):
                    B[row, i] = A[row, i] / total

        return main

    a = np.abs(random(rows, width)) + 1
    close(normalised()(a), a / a.sum(1, keepdims=True))


@case("kernels that overlap there, and follow each other here: `T.pdl_trigger`, `T.pdl_sync`")
def dependent_kernels():
    import warnings

    n, block = 64, 256

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")

        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=block) as (bx,):
                for i in T.Parallel(block):
                    index = bx * block + i
                    if index < n:
                        B[index] = A[index] + 1.0
                T.pdl_trigger()
            with T.Kernel(T.ceildiv(n, block), threads=block) as (bx,):
                T.pdl_sync()
                for i in T.Parallel(block):
                    index = bx * block + i
                    if index < n:
                        C[index] = B[index] * 2.0

    assert sum("kernels run one after the other" in str(w.message) for w in said) == 2
    a, b, c = random(n), np.zeros(n, np.float32), np.zeros(n, np.float32)
    tilelang.compile(main, execution_backend="cython")(a, b, c)
    close(c, (a + 1) * 2)


@case("random numbers: `T.rng_init` with a place for each block, `T.rng_rand`, uniform and normal floats")
def random_numbers():
    m, seed, per_block = 1000, 42, 128

    @tilelang.jit
    def drawn(M=m, seed=seed, generator="curandStatePhilox4_32_10_t"):
        @T.prim_func
        def main(A: T.Tensor((M,), "uint32"), B: T.Tensor((M,), "float32"), C: T.Tensor((M,), "float32")):
            with T.Kernel(T.ceildiv(M, per_block), threads=1) as bx:
                tx = T.get_thread_binding()
                T.rng_init(seed, 0, bx * per_block + tx * per_block, generator=generator)
                for i, j in T.Parallel(1, per_block):
                    index = (bx + i) * per_block + j
                    if index < M:
                        A[index] = T.rng_rand()
                T.rng_init(seed, bx, 0, generator=generator)
                for i in T.Parallel(per_block):
                    if bx * per_block + i < M:
                        B[bx * per_block + i] = T.rng_rand_float()
                for i in T.Parallel(per_block):
                    if bx * per_block + i < M:
                        C[bx * per_block + i] = T.rng_rand_float(dist="normal")

        return main

    a, b, c = np.zeros(m, np.uint32), np.zeros(m, np.float32), np.zeros(m, np.float32)
    drawn()(a, b, c)
    np.testing.assert_array_equal(a, philox.numbers(m, seed))
    words = [philox.numbers(3 * per_block, seed, block) for block in range(-(-m // per_block))]
    close(b, np.concatenate([philox.uniform(w[:per_block]) for w in words])[:m], 1e-7)
    pairs = np.concatenate([philox.uniform(w[per_block:]) for w in words]).reshape(-1, 2)[:m]
    close(c, np.sqrt(-2 * np.log(pairs[:, 0])) * np.sin(2 * np.pi * pairs[:, 1]), 1e-6)


@case("pairs of floats: `T.fma2` of what `T.Ramp` reads, `T.float16x2` and its bits")
def pairs_of_floats():
    m = 64

    @tilelang.jit(out_idx=[-2, -1])
    def multiplied(M=m):
        @T.prim_func
        def main(
            A: T.Tensor((M * 2,), T.float32),
            B: T.Tensor((M * 2,), T.float32),
            C: T.Tensor((M * 2,), T.float32),
            D: T.Tensor((M * 2,), T.float16),
        ):
            with T.Kernel(1, 1, threads=M) as (bx, by):
                tid = T.get_thread_binding()
                idx = T.Ramp(tid * 2, 1, 2)
                C[idx] = T.fma2(A[idx], B[idx], A[idx])
                half = T.float16x2(A[tid * 2], A[tid * 2 + 1])
                bits = T.reinterpret(T.mul2(half, T.float16x2(0.5, 0.5)), T.uint32)
                D[tid * 2] = T.reinterpret(T.cast(bits & T.uint32(0xFFFF), T.uint16), T.float16)
                D[tid * 2 + 1] = T.reinterpret(T.cast(bits >> 16, T.uint16), T.float16)

        return main

    a, b = random(2 * m), random(2 * m, seed=1)
    c, d = multiplied()(a, b)
    close(c, a * b + a, 1e-6)
    close(d, a.astype(np.float16) * np.float16(0.5))


@case("remainders and neighbours: `T.fmod`, `T.nextafter`")
def remainders():
    n = 256

    @tilelang.jit(out_idx=[-1])
    def left(dtype="float32"):
        @T.prim_func
        def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((2, n), dtype)):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(n):
                    C[0, i] = T.fmod(A[i], B[i])
                    C[1, i] = T.nextafter(A[i], B[i])

        return main

    a, b = random(n) * 1000, random(n, seed=1)
    np.testing.assert_array_equal(left()(a, b), [np.fmod(a, b), np.nextafter(a, b)])


@case("another number than zero outside of a tensor: `T.annotate_safe_value`")
def numbers_outside():
    m, n, block = 70, 75, 32

    @tilelang.jit(out_idx=[1, 2, 3])
    def padded(value):
        @T.prim_func
        def main(
            A: T.Tensor((m, n), "float32"),
            B: T.Tensor((96, 96), "float16"),
            C: T.Tensor((96, 96), "float32"),
            D: T.Tensor((m, n), "float32"),
        ):
            with T.Kernel(3, 3, threads=128) as (bx, by):
                S = T.alloc_shared((block, block), "float32")
                T.annotate_safe_value({A: value})
                T.copy(A[by * block : (by + 1) * block, bx * block : (bx + 1) * block], B[by * block, bx * block])
                T.copy(A[by * block, bx * block], S)
                T.copy(S, C[by * block, bx * block])
                for i, j in T.Parallel(block, block):
                    D[by * block + i, bx * block + j] = A[by * block + i - 10, bx * block + j] * 2

        return main

    a = random(m, n)
    for value in (-99, 0, float("inf")):
        b, c, d = padded(value)(a)
        expected = np.full((96, 96), value, np.float32)
        expected[:m, :n] = a
        np.testing.assert_array_equal(b, expected.astype(np.float16))
        np.testing.assert_array_equal(c, expected)
        shifted = np.full((m, n), value * 2, np.float32)
        shifted[10:] = a[:-10] * 2
        np.testing.assert_array_equal(d, shifted)


@case("a tile as another type of another width: `T.view(tile, shape, dtype)`")
def tiles_as_other_types():
    @tilelang.jit(out_idx=[-2, -1])
    def reinterpreted(m=64, n=64):
        @T.prim_func
        def main(A: T.Tensor((m, n), T.float32), B: T.Tensor((m, n * 2), T.int16), C: T.Tensor((m // 2, n), T.float32)):
            with T.Kernel(1, threads=128):
                stored, shared = T.alloc_shared((m, n), T.float32), T.alloc_shared((m, n), T.int16)
                T.copy(A, stored)
                T.copy(T.view(stored, (m, n * 2), dtype=T.int16), B)
                sums = T.view(shared, shape=[m // 2, n], dtype=T.float32)
                for i, j in T.Parallel(m // 2, n):
                    sums[i, j] = stored[i, j] + stored[i + m // 2, j]
                T.copy(sums, C)

        return main

    a = random(64, 64)
    b, c = reinterpreted()(a)
    np.testing.assert_array_equal(b, a.view(np.int16))
    close(c, a[:32] + a[32:], 1e-6)


@case("the greater and the smaller of floats of 8 bits: `T.max`, `T.min`, `T.clamp`")
def extremes_of_bytes():
    n = 256

    @tilelang.jit(out_idx=[-1])
    def extremes(dtype):
        @T.prim_func
        def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((3, n), dtype)):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(n):
                    C[0, i] = T.max(A[i], B[i])
                    C[1, i] = T.min(A[i], T.cast(0.5, dtype))
                    C[2, i] = T.clamp(A[i], T.cast(-1.0, dtype), T.cast(1.0, dtype))

        return main

    for dtype in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        kind = getattr(ml_dtypes, dtype)
        a = np.arange(n).astype(np.uint8).view(kind)
        b = np.random.default_rng(0).permutation(a.view(np.uint8)).view(kind)
        x, y = a.astype(np.float32), b.astype(np.float32)
        expected = np.stack([np.maximum(x, y), np.minimum(x, 0.5), np.clip(x, -1, 1)])
        np.testing.assert_array_equal(np.asarray(extremes(dtype)(a, b)).astype(np.float32), expected)


@case("tiles that some threads copy: `if T.get_thread_binding() < 128:` around `T.copy` and `T.Parallel`")
def tiles_of_some_threads():
    m = n = 128

    @tilelang.jit(out_idx=[-1])
    def copied(by_hand, block=64):
        @T.prim_func
        def main(A: T.Tensor((m, n), "float16"), B: T.Tensor((m, n), "float16")):
            with T.Kernel(n // block, m // block, threads=256) as (bx, by):
                S = T.alloc_shared((block, block), "float16")
                tx = T.get_thread_binding(0)
                if by_hand:
                    if tx < 128:
                        for i, k in T.Parallel(block, block):
                            S[i, k] = A[by * block + i, bx * block + k]
                elif tx >= 128 and tx < 160:
                    T.copy(A[by * block, bx * block], S)
                T.copy(S, B[by * block, bx * block])

        return main

    a = random(m, n, dtype="float16")
    for by_hand in (True, False):
        np.testing.assert_array_equal(copied(by_hand)(a), a)


@case("an extent under two names, computed with before a tensor tells it: `KH, KW = K, K`")
def extents_of_two_names():
    @tilelang.jit
    def shifted(A, W, block=32):
        N, K = T.const("N, K")
        KH, KW = K, K
        M = N - K + 1
        A: T.Tensor((N, N), T.float32)
        W: T.Tensor((KH, KW), T.float32)
        B = T.empty((M, M), T.float32)
        with T.Kernel(T.ceildiv(M, block), T.ceildiv(M, block), threads=128) as (bx, by):
            total = T.alloc_fragment((block, block), T.float32)
            T.clear(total)
            for i, j in T.Parallel(block, block):
                for y, x in T.grid(KH, KW):
                    total[i, j] += A[by * block + i + y, bx * block + j + x] * W[y, x]
            T.copy(total, B[by * block, bx * block])
        return B

    a, w = random(70, 70), random(3, 3, seed=1)
    windows = np.lib.stride_tricks.sliding_window_view(a, w.shape)
    close(shifted(a, w), (windows * w).sum((-1, -2)), 1e-4)


def number_types(C, X, Y, Z, i):
    """What numbers of Python are beside narrower ones, each in a row of its own."""
    C[0, i] = X[i] - 8
    C[1, i] = T.Cast("int32", X[i] << 4) + T.if_then_else(X[i] > 100, X[i], -1)
    C[2, i] = 1 if X[i] == -1 else T.max(X[i] - 100, -3)
    C[3, i] = T.Cast("int32", 0.1 * Y[i] * 65536)
    C[4, i] = T.min(Y[i], 0.1) < T.Cast("float32", T.Cast("float16", 0.1))
    C[5, i] = (Z[i] * 0x9E3779B1) >> 32
    C[6, i] = ~X[i] // 2
    C[7, i] = (Y[i] + 2048) - Y[i]
    C[8, i] = T.shift_left(X[i], 4) + T.shift_right(1000, X[i])
    C[9, i] = T.bitwise_or(X[i], 256) + T.bitwise_and(X[i], -1) * T.bitwise_xor(X[i], -1)
    C[10, i] = T.floordiv(X[i], -3) + T.ceildiv(X[i], 300) + T.cdiv(1000, X[i] + 1)
    C[11, i] = T.floormod(X[i], -7) + T.truncdiv(X[i], -3) + T.truncmod(1000, X[i])
    C[12, i] = T.align_up(X[i], 100)
    places = T.index_to_coordinates(X[i], (3, 300))
    C[13, i] = places[0] * 1000 + places[1]


@case("Python's numbers, which are `int32` and `float32` beside narrower ones: `x - 8` of a `uint8`")
def numbers_of_python():
    n = 64

    @tilelang.jit
    def eager(X, Y, Z):
        X: T.Tensor((n,), T.uint8)
        Y: T.Tensor((n,), T.float16)
        Z: T.Tensor((n,), T.uint32)
        C = T.empty((14, n), T.int32)
        with T.Kernel(1, threads=n):
            for i in T.Parallel(n):
                T.macro(number_types)(C, X, Y, Z, i)
        return C

    @tilelang.jit(out_idx=[-1])
    def lazy():
        @T.prim_func
        def main(
            X: T.Tensor((n,), T.uint8),
            Y: T.Tensor((n,), T.float16),
            Z: T.Tensor((n,), T.uint32),
            C: T.Tensor((14, n), T.int32),
        ):
            with T.Kernel(1, threads=n):
                for i in T.Parallel(n):
                    T.macro(number_types)(C, X, Y, Z, i)

        return main

    x = np.arange(n).astype(np.uint8) * 4
    y = random(n, dtype="float16")
    z = np.arange(n).astype(np.uint32) * 123456789
    x_wide, single, tenth = x.astype(np.int32), y.astype(np.float32), np.float32(0.1)
    expected = np.stack(
        [
            x_wide - 8,
            (x_wide << 4) + np.where(x > 100, x_wide, -1),
            np.maximum(x_wide - 100, -3),
            single * tenth * 65536,
            np.minimum(single, tenth) < np.float32(np.float16(0.1)),
            (z.astype(np.int64) * 0x9E3779B1) >> 32,
            ~x // 2,
            (y + np.float16(2048)) - y,
            (x_wide << 4) + np.where(x < 32, 1000 >> np.minimum(x_wide, 31), 0),
            (x_wide | 256) + x_wide * ~x_wide,
            x_wide // -3 - (-x_wide // 300) - (-1000 // (x_wide + 1)),
            x_wide % -7 - x_wide // 3 + np.where(x == 0, 0, 1000 % np.maximum(x_wide, 1)),
            -(-x_wide // 100) * 100,
            x_wide,
        ]
    ).astype(np.int32)
    for found in (eager(x, y, z), lazy()(x, y, z)):
        np.testing.assert_array_equal(found, expected)


def functions_of_numbers(C, R, X, Y, i):
    """What functions take numbers of Python for beside narrower values: integers and floats, each in a row."""
    C[0, i] = T.floormod(X[i], 1000) - T.floordiv(X[i], -7)
    C[1, i] = T.truncdiv(X[i], -7) + T.truncmod(X[i], 300)
    C[2, i] = T.shift_left(X[i], 4) + T.ceildiv(X[i], 1000)
    C[3, i] = T.bitwise_xor(X[i], 0x1FF)
    R[0, i] = T.fma(Y[i], 0.1, 0.3)
    R[1, i] = T.fma(0.1, Y[i], Y[i])
    R[2, i] = T.fmod(Y[i], 0.1)
    R[3, i] = T.fmod(0.7, Y[i])
    R[4, i] = T.atan2(Y[i], 0.1)
    R[5, i] = T.hypot(0.1, Y[i])


@case("Python's numbers as arguments of functions: `T.fma(x, 0.1, 0.3)` of a `float16`")
def numbers_of_python_in_functions():
    n = 64

    @tilelang.jit(out_idx=[-2, -1])
    def lazy():
        @T.prim_func
        def main(
            X: T.Tensor((n,), T.uint8),
            Y: T.Tensor((n,), T.float16),
            C: T.Tensor((4, n), T.int32),
            R: T.Tensor((6, n), T.float32),
        ):
            with T.Kernel(1, threads=n):
                for i in T.Parallel(n):
                    T.macro(functions_of_numbers)(C, R, X, Y, i)

        return main

    x = np.arange(n).astype(np.uint8) * 4
    y = random(n, dtype="float16")
    integers, floats = lazy()(x, y)
    wide, single, tenth = x.astype(np.int32), y.astype(np.float32), np.float32(0.1)
    np.testing.assert_array_equal(
        integers,
        [
            wide % 1000 - wide // -7,
            -(wide // 7) + wide % 300,
            (wide << 4) + (wide + 999) // 1000,
            wide ^ 0x1FF,
        ],
    )
    # Products of 11 and of 24 digits are exact in double.
    product = single.astype(np.float64) * tenth
    exact = [product + np.float32(0.3), product + single, np.fmod(single, tenth), np.fmod(np.float32(0.7), single)]
    np.testing.assert_array_equal(floats[:4], np.array(exact).astype(np.float32))
    np.testing.assert_allclose(floats[4:], [np.arctan2(single, tenth), np.hypot(single, tenth)], 1e-6)


@case("vectors of indices that begin before a tensor and go on at its end: `A[T.Ramp(i - 2, 1, 4)]`")
def vectors_of_negative_indices():
    n = 64

    @tilelang.jit(out_idx=[-2, -1])
    def windows():
        m = T.dynamic("m")

        @T.prim_func
        def main(
            A: T.Tensor((m,), T.float32),
            First: T.Tensor((2,), T.int32),
            B: T.Tensor((8, 4), T.float32),
            C: T.Tensor((n,), T.float32),
        ):
            with T.Kernel(1, threads=32):
                T.clear(C)
                for i in T.serial(4):
                    B[i, T.Ramp(0, 1, 4)] = A[T.Ramp(i - 2, 1, 4)]
                B[4, T.Ramp(0, 1, 4)] = A[T.Ramp(-2, 1, 4)]
                B[T.Ramp(5, 0, 4), T.Ramp(-4, 1, 4)] = A[T.Ramp(First[0], -1, 4)]
                B[6, T.Ramp(0, 1, 4)] = A[T.Ramp(First[1], 1, 4)]  # more than once around is outside
                B[7, T.Ramp(0, 1, 4)] = A[T.Broadcast(-1, 4)]
                for i in T.serial(4):
                    C[T.Ramp(i - 2, 1, 4)] = A[T.Ramp(4 * i, 1, 4)]

        return main

    a = random(n)
    rows, scattered = windows()(a, np.array([1, -n - 2], dtype=np.int32))
    near = np.concatenate([a[-4:], a])
    np.testing.assert_array_equal(rows[:4], [near[i + 2 : i + 6] for i in range(4)])
    np.testing.assert_array_equal(rows[4:], [near[2:6], near[5:1:-1], [0, 0, *a[:2]], [a[-1]] * 4])
    expected = np.zeros(n, np.float32)
    for i in range(4):
        expected[[k % n for k in range(i - 2, i + 2)]] = a[4 * i : 4 * i + 4]
    np.testing.assert_array_equal(scattered, expected)


@case("statements outside of `T.Kernel`, which are a kernel of one thread")
def statements_without_a_kernel():
    n = 40

    @tilelang.jit(out_idx=[-2, -1])
    def scans():
        m = T.dynamic("m")

        @T.prim_func
        def main(
            A: T.Tensor((m,), T.int32),
            Four: T.Tensor((4,), T.int8),
            B: T.Tensor((m,), T.int32),
            C: T.Tensor((3,), T.int32),
        ):
            half = T.ceildiv(m, 16)
            first = A[0]
            C[0] = first * 2
            C[1] = 7
            T.dp4a(Four, Four, C[1])
            if m > 8:
                C[2] = 5
            total = T.alloc_var("int32", 0)
            for i in T.serial(m):
                total += A[i]
                B[i] = total
            with T.Kernel(half, threads=32) as b:
                for i in T.Parallel(16):
                    if b * 16 + i < m:
                        B[b * 16 + i] += A[b * 16 + i]
            T.atomic_add(C[0], 1)

        return main

    a = np.arange(n, dtype=np.int32) * 3 - 50
    four = np.array([1, 2, -3, 4], dtype=np.int8)
    sums, few = scans()(a, four)
    np.testing.assert_array_equal(sums, np.cumsum(a) + a)
    np.testing.assert_array_equal(few, [a[0] * 2 + 1, 7 + 30, 5])


@case("variables without a first value, which is zero there; `T.let`; loops by `with T.While(n < m):`")
def variables_that_begin_with_zero():
    n = 64

    @tilelang.jit
    def sums(A, Limit):
        A: T.Tensor[[n], T.int32]
        Limit: T.Tensor[[n], T.int32]
        B = T.empty([5, n], T.int32)
        with T.Kernel(1, threads=n):
            t = T.get_thread_binding()
            print(t)  # says what it is, when the kernel is built
            total = T.alloc_var(T.int32)
            i = T.alloc_var("int32", "local.var")
            while i < Limit[t]:
                total += A[i]
                i += 1
            B[0, t] = total
            k = T.alloc_var(T.int32)
            with T.While((k < n) and A[k] > 0):
                k += 2
            B[1, t] = k
            left = T.alloc_fragment((1,), T.int32)
            left[0] = 0
            with T.While(left[0] < Limit[0]):
                left[0] += 3
            B[2, t] = left[0]
            for j in T.serial(2):
                place = T.int32()
                T.let(place, j * 8)
                half: T.let[T.int32] = t // 2  # an annotation as well
                B[3 + j, t] = A[place + half]
        return B

    a = np.arange(40, 40 - n, -1, dtype=np.int32)
    limit = np.arange(n, dtype=np.int32)[::-1] % 50
    found = sums(a, np.ascontiguousarray(limit))
    before = np.concatenate([[0], np.cumsum(a)])
    np.testing.assert_array_equal(found[0], before[limit])
    np.testing.assert_array_equal(found[1], np.full(n, 40))
    np.testing.assert_array_equal(found[2], np.full(n, -(-int(limit[0]) // 3) * 3))
    np.testing.assert_array_equal(found[3:], [a[np.arange(n) // 2], a[np.arange(n) // 2 + 8]])


@case("fragments that the first loop assigns to beyond their extent, as sinks of attention")
def fragments_that_grow():
    rows, heads = 64, 8

    @tilelang.jit(out_idx=[2])
    def sinks():
        @T.prim_func
        def main(
            A: T.Tensor((rows, heads), "float32"), Sinks: T.Tensor((heads,), "float16"), B: T.Tensor((rows,), "float32")
        ):
            with T.Kernel(heads, threads=128) as h:
                first = T.alloc_fragment([heads], "float16")
                row = T.alloc_fragment([rows], "float32")
                for i in T.Parallel(rows):
                    first[i] = Sinks[h]
                T.copy(A[:, h], row)
                for i in T.Parallel(rows):
                    row[i] += T.exp2(first[i])
                if h == 5:
                    T.copy(row, B)

        return main

    random = np.random.default_rng()
    a = random.standard_normal((rows, heads), dtype=np.float32)
    s = random.integers(-3, 4, heads).astype(np.float16)
    np.testing.assert_allclose(sinks()(a, s), a[:, 5] + 2.0 ** s.astype(np.float64)[5], rtol=1e-6)
