"""Programs whose fragments do not lie as loops, copies, gemms and reductions would have them, with what they compute.

Each is a function that returns a program, the arrays that it is called with, and what one more holds afterwards.
Values are small integers, so that every order of adding them gives the same.
"""

import numpy as np

import tilec.language as T

RNG = np.random.default_rng(7)


def numbers(*shape, dtype="float32"):
    return RNG.integers(-8, 9, shape).astype(dtype)


def scale_rows():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), M: T.Tensor((64,), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            m = T.alloc_fragment((64,), "float32")
            T.copy(M, m)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = X[i, j] * m[i]

    x, m = numbers(64, 64), numbers(64)
    return main, (x, m), x * m[:, None]


def scale_columns():
    @T.prim_func
    def main(X: T.Tensor((48, 40), "float32"), M: T.Tensor((40,), "float32"), Y: T.Tensor((48, 40), "float32")):
        with T.Kernel(1, threads=96):
            m = T.alloc_fragment((40,), "float32")
            T.copy(M, m)
            for i, j in T.Parallel(48, 40):
                Y[i, j] = X[i, j] * m[j]

    x, m = numbers(48, 40), numbers(40)
    return main, (x, m), x * m


def subtract_row_max():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Z: T.Tensor((64, 32), "float32"), Y: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            m = T.alloc_fragment((64,), "float32")
            T.copy(X, x)
            T.reduce_max(x, m, dim=1)
            for i, j in T.Parallel(64, 32):
                Y[i, j] = Z[i, j] - m[i]

    x, z = numbers(64, 64), numbers(64, 32)
    return main, (x, z), z - x.max(axis=1, keepdims=True)


def add_transpose():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            y = T.alloc_fragment((64, 64), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(64, 64):
                y[i, j] = x[i, j] + 2 * x[j, i]
            T.copy(y, Y)

    x = numbers(64, 64)
    return main, (x,), x + 2 * x.T


def shift_and_gather():
    @T.prim_func
    def main(X: T.Tensor((32, 64), "float32"), N: T.Tensor((64,), "int32"), Y: T.Tensor((32, 60), "float32")):
        with T.Kernel(1, threads=64):
            x = T.alloc_fragment((32, 64), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(32, 60):
                Y[i, j] = x[i, j + 3] + 10 * x[i, N[j]] + 100 * x[5, 7]

    x, index = numbers(32, 64), RNG.integers(0, 64, 64).astype("int32")
    return main, (x, index), x[:, 3:63] + 10 * x[:, index[:60]] + 100 * x[5, 7]


def write_a_corner():
    @T.prim_func
    def main(X: T.Tensor((32, 64), "float32"), Y: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 64), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(16, 20):
                x[i, j] = x[i, j] * 2
            for i, j in T.Parallel(8, 8):
                x[i + 3, 63 - j] = -100
            T.copy(x, Y)

    x = numbers(32, 64)
    y = x.copy()
    y[:16, :20] *= 2
    y[3:11, 56:] = -100
    return main, (x,), y


def write_one_element_of_two():
    """All threads run the iteration, and each fragment is read behind what wrote the other one."""

    @T.prim_func
    def main(X: T.Tensor((64,), "float32"), Y: T.Tensor((65,), "float32")):
        with T.Kernel(1, threads=64):
            x, least = T.alloc_fragment((64,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(X, x)
            T.reduce_min(x, least, dim=0)
            for i in T.Parallel(1):
                least[i] = least[i] + x[i]
                x[i] = least[i] * 2
            T.copy(x, Y[0:64])
            T.copy(least, Y[64:65])

    x = numbers(64)
    y = np.append(x, x.min() + x[0])
    y[0] = 2 * y[64]
    return main, (x,), y


def copy_parts():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            y = T.alloc_fragment((64, 64), "float32")
            T.copy(X, x)
            T.clear(y)
            T.copy(x[16:48, 0:32], y[0:32, 32:64])
            T.copy(X[0:8, 0:64], y[40:48, 0:64])
            T.copy(y, Y)
            T.copy(x[0:4, 0:16], Y[60:64, 0:16])

    x = numbers(64, 64)
    y = np.zeros_like(x)
    y[:32, 32:] = x[16:48, :32]
    y[40:48] = x[:8]
    y[60:, :16] = x[:4, :16]
    return main, (x,), y


def rows_and_columns():
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            r = T.alloc_fragment((64,), "float32")
            T.copy(X, x)
            T.reduce_sum(x, r, dim=1)
            T.reduce_sum(x, r, dim=0, clear=False)
            T.copy(r, Y)

    x = numbers(64, 64)
    return main, (x,), x.sum(axis=1) + x.sum(axis=0)


def reduce_one_dimension(n=300, threads=128, dtype="float32"):
    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=threads):
            x = T.alloc_fragment((n,), dtype)
            total = T.alloc_fragment((1,), dtype)
            most = T.alloc_fragment((1,), dtype)
            T.copy(X, x)
            T.reduce_sum(x, total)
            T.reduce_max(x, most)
            for i in T.Parallel(1):
                Y[0] = total[i]
                Y[1] = most[i]

    x = RNG.integers(-1, 2, n).astype(dtype)
    return main, (x,), np.array([x.sum(), x.max()], dtype)


def normalise_a_vector(n=512, threads=128):
    """The one element of a total is read by every iteration."""

    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=threads):
            x = T.alloc_fragment((n,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X, x)
            T.reduce_sum(x, total, dim=0)
            for i in T.Parallel(n):
                x[i] = x[i] - total[0]
            T.copy(x, Y)

    x = numbers(n)
    return main, (x,), x - x.sum()


def reduce_every_dimension(threads=128):
    @T.prim_func
    def main(X: T.Tensor((6, 10, 14), "float32"), Y: T.Tensor((10, 14), "float32"), Z: T.Tensor((6, 14), "float32"),
             W: T.Tensor((6, 10), "float32")):  # fmt: skip
        with T.Kernel(1, threads=threads):
            x = T.alloc_fragment((6, 10, 14), "float32")
            y = T.alloc_fragment((10, 14), "float32")
            z = T.alloc_fragment((6, 14), "float32")
            w = T.alloc_fragment((6, 10), "float32")
            T.copy(X, x)
            T.reduce_sum(x, y, dim=0)
            T.reduce_sum(x, z, dim=1)
            T.reduce_sum(x, w, dim=2)
            for i, j in T.Parallel(6, 10):
                w[i, j] = w[i, j] + y[j, 0] + z[i, 0]
            T.copy(y, Y)
            T.copy(z, Z)
            T.copy(w, W)

    x = numbers(6, 10, 14)
    y, z, w = (x.sum(axis=d) for d in range(3))
    outputs = [np.zeros_like(a) for a in (y, z)]
    return main, (x, *outputs), w + y[:, 0] + z[:, :1]


def gemm_of_any_block(threads=96, m=64, n=64, k=32, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), "float32")):
        with T.Kernel(1, threads=threads):
            As = T.alloc_shared((m, k), dtype)
            Bs = T.alloc_shared((k, n), dtype)
            acc = T.alloc_fragment((m, n), "float32")
            top = T.alloc_fragment((m,), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.clear(acc)
            T.gemm(As, Bs, acc)
            T.reduce_max(acc, top, dim=1)
            for i, j in T.Parallel(m, n):
                acc[i, j] = acc[i, j] - top[i]
            T.copy(acc, C)

    a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    c = a.astype("float32") @ b.astype("float32")
    return main, (a, b), c - c.max(axis=1, keepdims=True)


def gemm_from_fragment(dtype="float16", m=64, n=64, k=64, transposed=False, threads=128, acc="float32"):
    """What the left operand holds was computed; it is read again after the product."""
    shape = (k, m) if transposed else (m, k)

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), B: T.Tensor((n, k), dtype), C: T.Tensor((m, n), acc)):
        with T.Kernel(1, threads=threads):
            a = T.alloc_fragment(shape, dtype)
            top = T.alloc_fragment((m,), dtype)
            Bs = T.alloc_shared((n, k), dtype)
            c = T.alloc_fragment((m, n), acc)
            T.copy(A, a)
            T.copy(B, Bs)
            for i, j in T.Parallel(*shape):
                a[i, j] = a[i, j] + 1
            T.clear(c)
            T.gemm(a, Bs, c, transpose_A=transposed, transpose_B=True)
            T.reduce_max(a, top, dim=0 if transposed else 1)
            for i, j in T.Parallel(*shape):
                a[i, j] = 1
            T.gemm(a, Bs, c, transpose_A=transposed, transpose_B=True)
            for i, j in T.Parallel(m, n):
                c[i, j] = c[i, j] + T.cast(top[i], acc)
            T.copy(c, C)

    a, b = numbers(*shape, dtype=dtype), numbers(n, k, dtype=dtype)
    left = (a.T if transposed else a).astype(acc) + 1
    right = b.astype(acc).T
    return main, (a, b), (left @ right + right.sum(axis=0) + left.max(axis=1, keepdims=True)).astype(acc)


BESIDE = [(8, 0), (16, 0), (-8, 0), (-16, 8), (0, -8), (1, 0), (0, 1), (24, -16), (48, 0), (64, 0), (-63, 0)]
"""How far from its own indices an iteration reads."""


def read_beside(threads=128, n=64, by_rows=False):
    """Elements beside those of the iteration: in its thread, in others, and outside, where nothing is read."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, n), "float16"),
        Y: T.Tensor((len(BESIDE) + 2, 64, n), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            As, Bs = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, n), "float16")
            acc = T.alloc_fragment((64, n), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.gemm(As, Bs, acc, clear_accum=True)
            if by_rows:
                for i in T.Parallel(64):
                    for j in range(n):
                        acc[i, j] = acc[i, j] + 1
            for number, (down, across) in enumerate(BESIDE):
                for i, j in T.Parallel(64, n):
                    Y[number, i, j] = -1
                    if i + down >= 0 and i + down < 64 and j + across >= 0 and j + across < n:
                        Y[number, i, j] = acc[i + down, j + across]
            for half in range(2):
                for i, j in T.Parallel(32, n):
                    Y[len(BESIDE) + half, i, j] = acc[i + 32 * half, j] * acc[i + 16, j]
                    Y[len(BESIDE) + half, i + 32, j] = acc[i + 32 * half, j] + acc[i, j]

    a, b = numbers(64, 32, dtype="float16"), numbers(32, n, dtype="float16")
    product = a.astype("float32") @ b.astype("float32") + int(by_rows)
    expected = np.full((len(BESIDE) + 2, 64, n), -1, "float32")
    for number, (down, across) in enumerate(BESIDE):
        rows = slice(max(0, -down), min(64, 64 - down))
        columns = slice(max(0, -across), min(n, n - across))
        moved = product[max(0, down) : 64 + min(0, down), max(0, across) : n + min(0, across)]
        expected[number, rows, columns] = moved
    for half in range(2):
        part = product[32 * half : 32 * half + 32]
        expected[len(BESIDE) + half] = np.concatenate([part * product[16:48], part + product[:32]])
    return main, (a, b), expected


def gemm_of_zeros(dtype="float16", acc="float32"):
    """Most of the left operand is zero, as half of the sums is before the product: nothing holds both zeros."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 32), dtype),
        B: T.Tensor((16, 128), dtype),
        D: T.Tensor((64, 8), acc),
        C: T.Tensor((64, 16), acc),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((64, 128), dtype)
            Bs = T.alloc_shared((16, 128), dtype)
            c = T.alloc_fragment((64, 16), acc)
            T.copy(A[0, 0], a)
            T.copy(B, Bs)
            T.copy(D[0, 0], c)
            T.gemm(a, Bs, c, transpose_B=True)
            T.copy(c, C)

    a, b, d = numbers(64, 32, dtype=dtype), numbers(16, 128, dtype=dtype), numbers(64, 8, dtype=acc)
    return main, (a, b, d), a.astype(acc) @ b.T[:32].astype(acc) + np.pad(d, ((0, 0), (0, 8)))


def gemm_of_equal_rows(of_a_constant=True):
    """Rows that are all alike, of which a thread has two sets: ptxas takes their products for one."""

    @T.prim_func
    def main(A: T.Tensor((16,), "float16"), B: T.Tensor((16, 64), "float16"), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((128, 16), "float16")
            Bs = T.alloc_shared((16, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            T.copy(B, Bs)
            if of_a_constant:
                T.fill(a, 2)
            else:
                for i, j in T.Parallel(128, 16):
                    a[i, j] = A[j]
            T.gemm(a, Bs, c, clear_accum=True)
            T.copy(c, C)

    a, b = numbers(16, dtype="float16"), numbers(16, 64, dtype="float16")
    row = (np.full_like(a, 2) if of_a_constant else a).astype(np.float32)
    return main, (a, b), np.tile(row @ b.astype(np.float32), (128, 1))


def gemm_of_a_product(dtype="float16", rows=64, threads=128, policy="FullRow"):
    """A product whose left operand is a product: nothing moves if warps share rows only."""

    @T.prim_func
    def main(A: T.Tensor((rows, 64), dtype), B: T.Tensor((64, 64), dtype), C: T.Tensor((rows, 64), "float32")):
        with T.Kernel(1, threads=threads):
            As = T.alloc_shared((rows, 64), dtype)
            Bs = T.alloc_shared((64, 64), dtype)
            s = T.alloc_fragment((rows, 64), "float32")
            p = T.alloc_fragment((rows, 64), dtype)
            c = T.alloc_fragment((rows, 64), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.clear(s)
            T.gemm(As, Bs, s, policy=T.GemmWarpPolicy[policy])
            T.copy(s, p)
            T.clear(c)
            T.gemm(p, Bs, c, policy=T.GemmWarpPolicy[policy])
            T.copy(c, C)

    a, b = numbers(rows, 64, dtype=dtype) % 2, numbers(64, 64, dtype=dtype) % 2
    f = np.float32
    return main, (a, b), (a.astype(f) @ b.astype(f)) @ b.astype(f)


def one_accumulator_of_two_gemms():
    """The second operand pair has too few columns for the instruction of the first."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), D: T.Tensor((64, 16), "float16"),
             C: T.Tensor((64, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            Ds = T.alloc_shared((64, 16), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.copy(D, Ds)
            T.clear(acc)
            T.gemm(As, Bs, acc, policy=T.GemmWarpPolicy.FullRow)
            T.gemm(Ds, Ds, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            T.copy(acc, C)

    a, b, d = numbers(64, 64, dtype="float16"), numbers(64, 64, dtype="float16"), numbers(64, 16, dtype="float16")
    f = np.float32
    return main, (a, b, d), a.astype(f) @ b.astype(f) + d.astype(f) @ d.astype(f).T


def load_tiles_of_three_dimensions():
    """Tiles of two panels and two matrices, which the bulk copy engine loads in a pipeline."""
    shape = (2, 64, 128)

    @T.prim_func
    def main(A: T.Tensor((8, 64, 128), "float16"), C: T.Tensor((8, 64, 128), "float16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared(shape, "float16")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[2 * k, 0, 0], S)
                for a, i, j in T.Parallel(*shape):
                    C[2 * k + a, i, j] = S[a, i, j]

    a = numbers(8, 64, 128, dtype="float16")
    return main, (a,), a


def store_tiles_of_three_dimensions(shape=(2, 64, 128)):
    @T.prim_func
    def main(A: T.Tensor(shape, "float16"), B: T.Tensor(shape, "float16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared(shape, "float16")
            for a, i, j in T.Parallel(*shape):
                S[a, i, j] = A[a, i, j]
            T.copy(S, B)

    a = numbers(*shape, dtype="float16")
    return main, (a,), a


def rings_of_odd_slots():
    """Slots of 288 bytes, which the bulk copy engine needs on multiples of 128."""

    @T.prim_func
    def main(A: T.Tensor((8, 72), "float32"), B: T.Tensor((8, 72), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((1, 72), "float32")
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[k, 0], S)
                for i, j in T.Parallel(1, 72):
                    B[k, j] = S[i, j]

    a = numbers(8, 72)
    return main, (a,), a


def many_guarded_elements(dtype, m=5, n=5001):
    """128 elements a thread, each with a guard: many enough that no branches are made of them."""

    @T.prim_func
    def main(
        X: T.Tensor((T.dynamic("m"), T.dynamic("n")), dtype),
        R: T.Tensor((T.dynamic("m"), 5008), dtype),
        k: T.int32,
        Y: T.Tensor((T.dynamic("m"), 5008), dtype),
    ):
        with T.Kernel(T.ceildiv(T.dynamic("m"), 2), threads=128) as b:
            F = T.alloc_fragment((2, 8192), dtype)
            G = T.alloc_fragment((2, 8192), dtype)
            T.copy(R[b * 2, 0], G)
            for i, j in T.Parallel(2, 8192):
                F[i, j] = T.if_then_else(j < T.dynamic("n"), X[b * 2 + i, j], 0)
            for i, j in T.Parallel(2, 8192):
                if j < k:
                    Y[b * 2 + i, j] = F[i, j] + G[i, j]

    x, r, k = numbers(m, n, dtype=dtype), numbers(m, 5008, dtype=dtype), 4990
    expected = np.full((m, 5008), 77, dtype)
    expected[:, :k] = x[:, :k] + r[:, :k]
    return main, (x, r, k), expected


def statistics_in_memory(rows, width, threads, dim=1, dtype="float32"):
    """Of fragments that no thread has the registers for, which loops go over."""
    kept = (rows, width)[1 - dim]

    @T.prim_func
    def main(
        X: T.Tensor((rows, width), dtype),
        R: T.Tensor((kept,), dtype),
        Y: T.Tensor((4, kept), dtype),
    ):
        with T.Kernel(1, threads=threads):
            x = T.alloc_fragment((rows, width), dtype)
            most, least, total, size = (T.alloc_fragment((kept,), dtype) for _ in range(4))
            T.copy(X, x)
            T.copy(R, total)
            T.reduce_max(x, most, dim=dim)
            T.reduce_min(x, least, dim=dim)
            T.reduce_sum(x, total, dim=dim, clear=False)
            for i, j in T.Parallel(rows, width):
                x[i, j] = x[i, j] - most[(i, j)[1 - dim]]
            T.reduce_abssum(x, size, dim=dim)
            T.copy(most, Y[0, 0])
            T.copy(least, Y[1, 0])
            T.copy(total, Y[2, 0])
            T.copy(size, Y[3, 0])

    x, r = numbers(rows, width, dtype=dtype), numbers(kept, dtype=dtype)
    x[np.arange(rows) % 7 == 3] = 8  # what padding would leave as zero
    most = x.max(axis=dim)
    size = (np.expand_dims(most, dim) - x).sum(axis=dim)
    return main, (x, r), np.stack([most, x.min(axis=dim), x.sum(axis=dim) + r, size]).astype(dtype)


CASES = {
    "scale_rows": scale_rows,
    "scale_columns": scale_columns,
    "subtract_row_max": subtract_row_max,
    "add_transpose": add_transpose,
    "shift_and_gather": shift_and_gather,
    "write_a_corner": write_a_corner,
    "write_one_element_of_two": write_one_element_of_two,
    "copy_parts": copy_parts,
    "rows_and_columns": rows_and_columns,
    "normalise_a_vector": normalise_a_vector,
    "read_beside": read_beside,
    "read_beside-one-warp": lambda: read_beside(threads=32, n=32),
    "read_beside-one-thread": lambda: read_beside(threads=1, n=8),
    "read_beside-by-rows": lambda: read_beside(threads=64, n=16, by_rows=True),
    "gemm_from_fragment": gemm_from_fragment,
    "gemm_from_fragment-tf32": lambda: gemm_from_fragment("float32", k=32),
    "gemm_from_fragment-int8": lambda: gemm_from_fragment("int8", acc="int32"),
    "gemm_from_fragment-transposed": lambda: gemm_from_fragment(transposed=True),
    "gemm_from_fragment-256": lambda: gemm_from_fragment(m=128, n=32, threads=256),
    "gemm_from_fragment-odd": lambda: gemm_from_fragment(m=24, n=20, k=12, threads=64),
    "gemm_of_zeros": gemm_of_zeros,
    "gemm_of_zeros-int8": lambda: gemm_of_zeros("int8", acc="int32"),
    "gemm_of_equal_rows": gemm_of_equal_rows,
    "gemm_of_equal_rows-loaded": lambda: gemm_of_equal_rows(of_a_constant=False),
    "gemm_of_a_product": gemm_of_a_product,
    "gemm_of_a_product-256": lambda: gemm_of_a_product(rows=128, threads=256),
    "gemm_of_a_product-square": lambda: gemm_of_a_product(policy="Square"),
    "gemm_of_a_product-full_col": lambda: gemm_of_a_product(policy="FullCol"),
    "one_accumulator_of_two_gemms": one_accumulator_of_two_gemms,
    "load_tiles_of_three_dimensions": load_tiles_of_three_dimensions,
    "store_tiles_of_three_dimensions": store_tiles_of_three_dimensions,
    "store_tiles_of_few_rows": lambda: store_tiles_of_three_dimensions((2, 4, 128)),
    "rings_of_odd_slots": rings_of_odd_slots,
    **{
        f"many_guarded_elements-{t}": lambda t=t: many_guarded_elements(t)
        for t in ("int8", "float16", "float32", "float64")
    },
    **{f"reduce_one_dimension-{t}": lambda t=t: reduce_one_dimension(threads=t) for t in (1, 24, 48, 100, 128, 160)},
    "reduce_one_dimension-f16": lambda: reduce_one_dimension(dtype="float16"),
    **{f"reduce_every_dimension-{t}": lambda t=t: reduce_every_dimension(t) for t in (32, 48, 100, 128, 192)},
    "statistics_in_memory-1": lambda: statistics_in_memory(3, 700, 1),
    "statistics_in_memory-odd": lambda: statistics_in_memory(33, 601, 33),
    "statistics_in_memory-rows": lambda: statistics_in_memory(32, 1024, 32),
    "statistics_in_memory-warps": lambda: statistics_in_memory(32, 1536, 64),
    "statistics_in_memory-columns": lambda: statistics_in_memory(301, 160, 64, dim=0, dtype="int32"),
    **{f"gemm_of_any_block-{t}": lambda t=t: gemm_of_any_block(t) for t in (24, 48, 80, 96, 128, 160, 192, 384)},
}  # fmt: skip
