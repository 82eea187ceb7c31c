"""Which functions of `@tilec.jit` are programs, and which make one. Annotations are strings here."""

from __future__ import annotations

import numpy as np

import tilec
import tilec.language as T


def filled(n):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            T.clear(A)

    return main


@T.macro
def doubled(A, B):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            B[i] = A[i] * 2


def test_a_program_whose_kernel_is_in_a_macro():
    @tilec.jit(target="cpu")
    def program(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        doubled(A, B)

    @tilec.jit(target="cpu")
    def of_consts(A, B):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B: T.Buffer((N,), T.float32)
        doubled(A, B)

    for function in (program, of_consts):
        assert function.is_eager
        a, b = np.ones(64, np.float32), np.zeros(64, np.float32)
        function(a, b)
        assert (b == 2).all()


def test_constants_that_are_annotated_in_the_body():
    @tilec.jit(target="cpu")
    def makes_one(n, m: int = 3):
        n: int
        m: "int"  # noqa: UP037
        return filled(n)

    assert not makes_one.is_eager
    a = np.ones(64, np.float32)
    makes_one(64)(a)
    assert (a == 0).all()


class Device:
    asked = 0

    @property
    def make(self):
        Device.asked += 1
        raise RuntimeError("no GPU is here")


device = Device()


def test_decorating_runs_nothing_of_the_users():
    @tilec.jit(target="cpu")
    def makes_one(n):
        return device.make(n) if n > 64 else filled(n)

    assert not makes_one.is_eager
    assert Device.asked == 0
    makes_one(64)
    assert Device.asked == 0
