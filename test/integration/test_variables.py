"""Variables and arrays of a thread, on a GPU."""

import numpy as np
import pytest

import tilec
import tilec.language as T

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)


@T.prim_func
def collatz(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
    with T.Kernel(64, threads=1) as b:
        n = T.alloc_var("int32", b + 1)
        steps = T.alloc_var("int32", 0)
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        A[b] = steps
        B[b] = n


def steps(n):
    count = 0
    while n != 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


@T.prim_func
def reverse(A: T.Tensor((64, 8), "float32"), B: T.Tensor((64, 8), "float32")):
    with T.Kernel(64, threads=1) as b:
        row = T.alloc_local((8,), "float32")
        for i in T.serial(8):
            row[i] = A[b, i]
        for i in T.serial(8):
            B[b, i] = row[7 - i]


def test_variables():
    a, b = (torch.full((64,), -1, dtype=torch.int32, device="cuda") for _ in range(2))
    tilec.compile(collatz)(a, b)
    np.testing.assert_array_equal(a.cpu(), [steps(i + 1) for i in range(64)])
    assert (b == 1).all()


def test_arrays():
    a = torch.randn(64, 8, device="cuda")
    b = torch.full_like(a, float("nan"))
    tilec.compile(reverse)(a, b)
    assert torch.equal(b, a.flip(1))
