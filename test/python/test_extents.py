"""Extents that are computed of symbols: what calls are asked, what results and workspaces have, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ShapeError, TargetError

m, n = T.dynamic("m, n")
half = m // 2


@T.prim_func
def pairs(A: T.Tensor((m, 4), "int32"), B: T.Tensor((m // 2, 4), "int32")):
    with T.Kernel(B.shape[0], threads=32) as b:
        for j in T.Parallel(4):
            B[b, j] = A[2 * b, j] - A[2 * b + 1, j]


@T.prim_func
def ranks(
    A: T.Tensor((n * 2 + 1,), "int32"),
    B: T.Tensor((T.ceildiv(n, 4) - 1, T.max(m, 3), (m + 5) % T.min(n, 4)), "int32"),
    C: T.Tensor((m, n), "int32"),
):
    with T.Kernel(m, threads=32) as b:
        for j in T.Parallel(n):
            C[b, j] = A[2 * j + 1] + B[0, b, 0]


@T.prim_func
def through_a_workspace(A: T.Tensor((m,), "int32"), B: T.Tensor((half,), "int32")):
    sums = T.alloc_global((half,), "int32")
    with T.Kernel(1, threads=32):
        for i in T.Parallel(sums.shape[0]):
            sums[i] = A[2 * i] + A[2 * i + 1]
    with T.Kernel(1, threads=32):
        for i in T.Parallel(B.shape[0]):
            B[i] = sums[B.shape[0] - 1 - i]


TARGETS: list[dict[str, str]] = [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t["target"])
@pytest.mark.parametrize("rows", [0, 1, 6, 7])
def test_they_are_what_tensors_have(rows: int, target: dict[str, str]) -> None:
    A = np.arange(4 * rows, dtype="int32").reshape(rows, 4) ** 2
    kernel = tilec.compile(pairs, **target)
    B = np.full((rows // 2, 4), -1, "int32")
    kernel(A, B)
    np.testing.assert_array_equal(B, A[0 : rows // 2 * 2 : 2] - A[1::2])
    for wrong in (rows // 2 + 1, rows):
        if wrong != rows // 2:
            C = np.full((wrong, 4), -1, "int32")
            with pytest.raises(ShapeError, match=rf"dimension 0 of `B` is {wrong}, and `m // 2` is {rows // 2}"):
                kernel(A, C)
            assert (C == -1).all()


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t["target"])
def test_all_operators(target: dict[str, str]) -> None:
    kernel = tilec.compile(ranks, **target)
    A, B, C = np.arange(19, dtype="int32"), np.ones((2, 3, 3), "int32"), np.empty((2, 9), "int32")
    kernel(A, B, C)
    np.testing.assert_array_equal(C, np.broadcast_to(A[1::2] + 1, (2, 9)))
    for wrong, message in (
        ((A[:-1], B, C), r"dimension 0 of `A` is 18, and `\(n \* 2\) \+ 1` is 19"),
        ((A, B[1:], C), r"dimension 0 of `B` is 1, and `ceildiv\(n, 4\) - 1` is 2"),
        ((A, B[:, 1:], C), r"dimension 1 of `B` is 2, and `max\(m, 3\)` is 3"),
        ((A, B[..., 1:], C), r"dimension 2 of `B` is 2, and `\(m \+ 5\) % min\(n, 4\)` is 3"),
    ):
        with pytest.raises(ShapeError, match=message):
            kernel(*(np.ascontiguousarray(w) for w in wrong))


def test_results_have_them() -> None:
    kernel = tilec.compile(pairs, target="cpu", out_idx=-1)
    A = np.arange(28, dtype="int32").reshape(7, 4)
    for _ in range(3):
        np.testing.assert_array_equal(kernel(A), np.full((3, 4), -4))


def test_results_of_pytorch_have_them() -> None:
    torch = pytest.importorskip("torch")
    kernel = tilec.compile(pairs, target="cpu", out_idx=-1)
    A = torch.arange(28, dtype=torch.int32).reshape(7, 4)
    for _ in range(3):
        assert torch.equal(kernel(A), torch.full((3, 4), -4, dtype=torch.int32))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t["target"])
def test_workspaces_have_them(target: dict[str, str]) -> None:
    A, B = np.arange(11, dtype="int32"), np.empty(5, "int32")
    tilec.compile(through_a_workspace, **target)(A, B)
    np.testing.assert_array_equal(B, (A[:10:2] + A[1::2])[::-1])


def test_a_result_has_no_negative_extent() -> None:
    @T.prim_func
    def shorter(A: T.Tensor((m,), "int32"), B: T.Tensor((m - 3,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(B.shape[0]):
                B[i] = A[i + 3]

    kernel = tilec.compile(shorter, target="cpu", out_idx=-1)
    np.testing.assert_array_equal(kernel(np.arange(5, dtype="int32")), [3, 4])
    with pytest.raises(ShapeError, match="the extent `m - 3` of a result is -1"):
        kernel(np.zeros(2, "int32"))


def test_a_division_by_zero_is_told() -> None:
    @T.prim_func
    def rest(A: T.Tensor((m, n), "int32"), B: T.Tensor((m % n,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(B.shape[0]):
                B[i] = A[i, 0]

    with pytest.raises(ShapeError, match="`m % n` divides by zero"):
        tilec.compile(rest, target="cpu")(np.zeros((3, 0), "int32"), np.zeros(1, "int32"))


def test_other_programs_have_other_keys() -> None:
    def made(extent: Any) -> str:
        @T.prim_func
        def f(A: T.Tensor((m,), "int32"), B: T.Tensor((extent,), "int32")):
            with T.Kernel(1, threads=32):
                B[0] = A[0]

        return f.text

    assert len({made(e) for e in (m // 2, m // 3, m * 2 + 1, (m + 1) * 2, m - 2)}) == 5


def test_they_need_a_symbol_that_a_tensor_has() -> None:
    with pytest.raises(ShapeError, match="the extent `m // 2` of `A` follows from `m`, which is no extent of a param"):

        @T.prim_func
        def f(A: T.Tensor((m // 2,), "int32")):
            with T.Kernel(1, threads=32):
                A[0] = 0


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda: m / 2, "`m` and `2` make no extent here by `div`: divide with `//`"),
        (lambda: m > 2, "make no extent here by `gt`; extents are computed by add, sub, mul"),
        (lambda: m * 1.5, "extents are computed of integers and symbols, not of `1.5`"),
        (lambda: m + "n", "extents are computed of integers and symbols, not of `'n'`"),
        (lambda: abs(m), "`m` has no value before a kernel is called: outside of a function symbols take part in ext"),
        (lambda: T.exp(m), "`m` has no value before a kernel is called: outside of a function symbols take part in e"),
    ],
)
def test_what_makes_no_extent(compute: Callable[[], Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        compute()


def test_what_is_exported_asks_for_none(tmp_path: Any) -> None:
    with pytest.raises(TargetError, match="has an extent that is computed of others, and only calls from Python ask"):
        tilec.compile(pairs, target="cpu").export_library(tmp_path)
