"""Programs for the CPU that do all that a program should not, with checks and without: the process must live."""

import sys
import warnings

import numpy as np

import tilec
import tilec.language as T

warnings.simplefilter("ignore")
n, m = T.dynamic("n"), T.dynamic("m")
checks = sys.argv[1] == "checked"


def call(function, *arguments):
    try:
        tilec.compile(function, target="cpu", checks=checks)(*arguments)
    except tilec.errors.CheckError:
        assert checks


FAR = [
    -1,
    -2,
    64,
    65,
    127,
    2**31 - 1,
    -(2**31),
    2**31,
    2**32,
    2**32 + 5,
    -(2**32),
    2**40,
    -(2**40),
    2**62,
    2**63 - 1,
    -(2**63),
]


@T.prim_func
def spaces(At: T.Tensor((1,), "int64"), A: T.Tensor((n,), "float32"), D: T.Tensor((n, 8), "int8")):
    with T.Kernel(2, threads=64) as bx:
        S = T.alloc_shared((64,), "float32")
        F = T.alloc_fragment((64,), "float32")
        L = T.alloc_local((64,), "float32")
        R = T.alloc_shared((4, 64), "float32")
        at = T.alloc_var("int64")
        at = At[0]
        L[at] = 1.0
        L[3] = L[at]
        A[at] = L[at]
        S[at] = A[at]
        D[at, at] = D[at + 1, at - 1]
        for i in T.Parallel(64):
            P = T.alloc_local((3,), "float32")
            P[at] = 2.0
            F[at + i] = S[at - i] + P[at * i]
            S[at * i] = F[at * 3]
            R[at, at] = R[at, i] + R[i, at]
            A[at * at] = F[i]
            A[i] = P[at]
        T.copy(A[at], S)
        T.copy(S, A[at])
        T.copy(A[at * 65536], F)
        T.copy(F, A[at * 65537])
        T.fill(R[at], 1.0)
        T.copy(R[at, 0:64], S)
        T.copy(R[at, at], A[0:16])
        T.copy(A[0:16], R[at, at])
        for k in T.Pipelined(3, num_stages=2):
            T.copy(A[at + k * 64], S)
            T.copy(S, F)
        tx = T.get_thread_binding()
        S[tx + at] = 3.0
        A[tx - at] = S[tx + at]


for at in FAR:
    for length in (0, 1, 64, 1000):
        call(spaces, np.array([at]), np.zeros(length, np.float32), np.zeros((length, 8), np.int8))

for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):

    @T.prim_func
    def divide(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((8, n), dtype)):
        with T.Kernel(1, threads=32):
            v = T.alloc_var(dtype)
            v = A[0] // B[0]
            v = v % B[1]
            for i in T.Parallel(256):
                if i < A.shape[0]:
                    C[0, i] = A[i] // B[i]
                    C[1, i] = A[i] % B[i]
                    C[2, i] = T.ceildiv(A[i], B[i])
                    C[3, i] = T.if_then_else(B[i] != 0, A[i] // B[i], 3)
                    C[4, i] = v // (A[i] - A[i])
                    C[5, i] = 1 << A[i]
                    C[6, i] = A[i] >> B[i]
                    C[7, i] = A[i] * B[i]

    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 0, 1, 2, info.max - 1] + ([-1, -2] if info.min else []), dtype)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    call(divide, a.copy(), b.copy(), np.zeros((8, a.size), dtype))
    call(divide, a[:0].copy(), b[:0].copy(), np.zeros((8, 0), dtype))


@T.prim_func
def loops(count: T.int32, A: T.Tensor((m,), "float32")):
    with T.Kernel(1, threads=32):
        S = T.alloc_shared((32,), "float32")
        for i in T.serial(count):
            S[i * 1000003] = A[i * 1000003]
        for k in T.Pipelined(count, num_stages=3):
            T.copy(A[k * 2000000011 - 7], S)
            T.copy(S, A[k * 1000000007 - 33])
        for j in T.Parallel(32):
            x = T.alloc_var("int32")
            x = j
            while x < count:
                S[x * x] = A[x * x * x]
                x = x * 2 + 1
            for q in T.serial(count % 100):
                A[q - j * count] = S[q * j]


for times in (-(2**31), -1, 0, 1, 100, 5000):
    call(loops, times, np.zeros(0, np.float32))
    call(loops, times, np.zeros(100, np.float32))


@T.prim_func
def empty(A: T.Tensor((n, m), "float16"), B: T.Tensor((n, m), "float16")):
    with T.Kernel(T.ceildiv(A.shape[0], 16) + 1, T.ceildiv(A.shape[1], 16) + 1, threads=64) as (bx, by):
        S = T.alloc_shared((16, 16), "float16")
        acc = T.alloc_fragment((16, 16), "float32")
        T.clear(acc)
        T.copy(A[bx * 16, by * 16], S)
        T.gemm(S, S, acc)
        T.copy(acc, B[bx * 16, by * 16])
        for i, j in T.Parallel(16, 16):
            B[bx * 16 + i, by * 16 + j] = A[by * 16 + j, bx * 16 + i]


for shape in ((0, 0), (0, 5), (5, 0), (1, 1), (17, 33)):
    call(empty, np.zeros(shape, np.float16), np.zeros(shape, np.float16))
print("alive")
