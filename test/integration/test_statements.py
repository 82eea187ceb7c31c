"""Who executes a statement and whose a variable is, on a GPU (semantics S3, S4, P3).

Every program runs many times: what is wrong here is a race, which seldom loses.
"""

import numpy as np
import pytest

import tilec
import tilec.language as T

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")
RUNS = 50


@T.prim_func
def count(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=1024):
        for _ in T.serial(100):
            B[0] = B[0] + A[0]
        B[1] = B[0]


def counted(a):
    b = np.zeros(1024, np.int32)
    b[:2] = 100 * a[0]
    return b


@T.prim_func
def branch(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=256):
        tx = T.get_thread_binding()
        S = T.alloc_shared((1024,), "int32")
        S2 = T.alloc_shared((4,), "int32")
        T.copy(A, S)
        if tx == 0:
            S2[0] = S[1000] * 2
        for i in T.Parallel(1024):
            B[i] = S2[0]


def branched(a):
    return np.full(1024, a[1000] * 2)


@T.prim_func
def scan(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=1024):
        tx = T.get_thread_binding()
        S = T.alloc_shared((1024,), "int32")
        S[tx] = A[tx]
        for step in T.unroll(10):
            other = T.if_then_else(tx >= 2**step, S[(tx + 1024 - 2**step) % 1024], 0)
            S[tx] = S[tx] + other
        B[tx] = S[tx]


@T.prim_func
def sums(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        total = T.alloc_var("int32", 0)
        parts = T.alloc_local((4,), "int32")
        T.clear(parts)
        for k in T.serial(8):
            total += A[k * 128 + tx]
            parts[(k + tx) % 4] = parts[(k + tx) % 4] + A[k * 128 + tx]
        B[tx] = total
        B[127 - tx + 128] = total
        B[256 + tx] = parts[1]
        B[tx] = B[(tx + 1) % 128]
        B[512 + tx] = B[tx]


def summed(a):
    rows, b = a.reshape(8, 128), np.zeros(1024, np.int32)
    t = np.arange(128)
    b[:128] = b[512:640] = np.roll(rows.sum(0), -1)
    b[128:256] = rows.sum(0)[::-1]
    b[256:384] = sum(np.where((k + t) % 4 == 1, rows[k], 0) for k in range(8))
    return b


@T.prim_func
def variable(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=128):
        v = T.alloc_var("int32", 7)
        for i in T.Parallel(1024):
            if A[i] > 50:
                v = v + A[i]
            B[i] = v


def varied(a):
    return np.where(a > 50, a + 7, 7)


@T.prim_func
def loops(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=256):
        tx = T.get_thread_binding()
        S = T.alloc_shared((1024,), "int32")
        T.copy(A, S)
        total = T.alloc_var("int32", 0)
        for k in T.serial(A[tx] % 7):
            total += S[tx + k * 100]
        while S[3] < 1000:
            S[3] = S[3] + 1
        S[tx] = total + S[3]
        T.copy(S, B)


def looped(a):
    b, t = a.copy(), np.arange(256)
    total = sum(np.where(k < a[t] % 7, a[t + k * 100], 0) for k in range(7))
    b[:256] = total + 1000
    return b


@pytest.mark.parametrize(
    ("program", "reference"),
    [(count, counted), (branch, branched), (scan, np.cumsum), (sums, summed), (variable, varied), (loops, looped)],
    ids=["count", "branch", "scan", "sums", "variable", "loops"],
)
def test_statements(program, reference):
    kernel = tilec.compile(program)
    random = np.random.default_rng(0)
    for _ in range(RUNS):
        a = random.integers(0, 100, 1024).astype(np.int32)
        b = torch.zeros(1024, dtype=torch.int32, device="cuda")
        kernel(torch.from_numpy(a).cuda(), b)
        np.testing.assert_array_equal(b.cpu().numpy(), reference(a))
