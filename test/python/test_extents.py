"""Extents that are computed of symbols: what calls are asked, what results and workspaces have, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, ShapeError, TargetError, TLSyntaxError

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


k = T.dynamic("k")


@T.prim_func
def told_by_others(
    A: T.Tensor((n * 4,), "int32"),
    B: T.Tensor((m * 3 + n,), "int32"),
    C: T.Tensor((k * m,), "int32"),
    D: T.Tensor((20 - (k + 2),), "int32"),
    E: T.Tensor((T.ceildiv(n, 2), 4), "int32"),
):
    with T.Kernel(T.ceildiv(n, 2), threads=32) as b:
        E[b, 0] = n
        E[b, 1] = m
        E[b, 2] = k
        E[b, 3] = A[n * 4 - 1] + B[m] + C[0] + D[17 - k]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t["target"])
def test_symbols_follow_from_them(target: dict[str, str]) -> None:
    kernel = tilec.compile(told_by_others, **target)
    shapes: dict[str, Any] = {"A": 16, "B": 10, "C": 10, "D": 13, "E": (2, 4)}

    def call(**other: Any) -> Any:
        values = {name: np.ones(other.get(name, shape), "int32") for name, shape in shapes.items()}
        kernel(*values.values())
        return values["E"]

    np.testing.assert_array_equal(call(), [[4, 2, 5, 4]] * 2)
    for other, message in (
        ({"A": 15}, r"dimension 0 of `A` is 15, and `n \* 4` is 12, where `n` is 3"),
        ({"B": 11}, r"dimension 0 of `B` is 11, and `\(m \* 3\) \+ n` is 10, where `m` is 2, where `n` is 4"),
        ({"B": 3}, r"`m` is -1 for tensors of these shapes, which no extent is"),
        ({"C": 11}, r"dimension 0 of `C` is 11, and `k \* m` is 10, where `k` is 5, where `m` is 2"),
        ({"D": 12}, r"dimension 0 of `D` is 12, and `20 - \(k \+ 2\)` is 13, where `k` is 5"),
        ({"E": (3, 4)}, r"dimension 0 of `E` is 3, and `ceildiv\(n, 2\)` is 2, where `n` is 4"),
    ):
        with pytest.raises(ShapeError, match=message):
            call(**other)


def test_of_nothing_a_symbol_is_zero() -> None:
    @T.prim_func
    def f(A: T.Tensor((m, 2), "int32"), B: T.Tensor((m * n,), "int32"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            C[0] = n + B.shape[0]

    kernel = tilec.compile(f, target="cpu", out_idx=-1)
    assert kernel(np.zeros((0, 2), "int32"), np.zeros(0, "int32"))[0] == 0
    assert kernel(np.zeros((2, 2), "int32"), np.zeros(6, "int32"))[0] == 9


def test_results_and_workspaces_have_symbols_that_follow() -> None:
    @T.prim_func
    def f(A: T.Tensor((n * 4 + 1,), "int32"), B: T.Tensor((n,), "int32"), C: T.Tensor((m, n + 1), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                B[i] = A[4 * i] + C[0, i]

    @T.prim_func
    def g(A: T.Tensor((n * 2,), "int32"), B: T.Tensor((n * 3,), "int32")):
        sums = T.alloc_global((n,), "int32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                sums[i] = A[2 * i] + A[2 * i + 1]
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n * 3):
                B[i] = sums[i // 3]

    kernel = tilec.compile(f, target="cpu", out_idx=1)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(np.arange(9, dtype="int32"), np.ones((1, 3), "int32")), [1, 5])
    with pytest.raises(ShapeError, match="dimension 1 of `C` is 4, and `n \\+ 1` is 3"):
        kernel(np.arange(9, dtype="int32"), np.ones((1, 4), "int32"))
    with pytest.raises(ShapeError, match="the extent `n` of a result is -1"):
        kernel(np.arange(0, dtype="int32"), np.ones((1, 4), "int32"))
    kernel = tilec.compile(g, target="cpu", out_idx=-1)
    np.testing.assert_array_equal(kernel(np.arange(4, dtype="int32")), [1, 1, 1, 5, 5, 5])


def test_annotations_of_eager_functions_have_them() -> None:
    @tilec.jit(target="cpu")
    def f(A: Any, B: Any, C: Any):
        size = T.dynamic("size")
        A: T.Tensor[(size * 2,), T.int32]
        B: T.Tensor[(size,), T.int32]
        C: T.Tensor((T.ceildiv(size, 2),), "int32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(size):
                B[i] = A[2 * i + 1] + size

    A, B, C = np.arange(10, dtype="int32"), np.zeros(5, "int32"), np.zeros(3, "int32")
    f(A, B, C)
    np.testing.assert_array_equal(B, A[1::2] + 5)
    with pytest.raises(ShapeError, match="dimension 0 of `C` is 5, and `ceildiv\\(size, 2\\)` is 3"):
        f(A, B, np.zeros(5, "int32"))


@pytest.mark.parametrize("extent", [m // 2, m % 7, m + m, m * 0, m * -2, T.max(m, 3), (n + 1) * m])
def test_what_tells_no_symbol(extent: Any) -> None:
    with pytest.raises(TLSyntaxError, match="the value of `m` is unknown.*, and `.*` of `A` does not tell it: pass it"):

        @T.prim_func
        def f(A: T.Tensor((extent,), "int32")):
            with T.Kernel(1, threads=32):
                A[0] = m


def test_a_stride_is_told_by_no_extent() -> None:
    with pytest.raises(ShapeError, match="the extent `m \\* 2` of `A` follows from `m`, which is no extent"):

        @T.prim_func
        def f(A: T.Tensor((m * 2,), "int32"), B: T.StridedTensor((2, 2), (m, 1), "int32")):
            with T.Kernel(1, threads=32):
                A[0] = B[0, 0] + m


def test_a_stride_is_not_computed() -> None:
    """Nobody would compare it with that of the tensor."""
    with pytest.raises(ShapeError, match=r"a stride must be .*, and `m \* 4` is computed: give it a symbol of its own"):

        @T.prim_func
        def f(A: T.StridedTensor((m, 4), (m * 4, 1), "int32")):
            with T.Kernel(1, threads=32):
                A[0, 0] = 0


def test_they_need_a_symbol_that_a_tensor_tells() -> None:
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


def test_they_may_be_written_before_a_tensor_tells_the_symbol() -> None:
    @T.prim_func
    def f(a: T.ptr, b: T.ptr):
        A = T.match_buffer(a, (k * 2 + 1,), "int32")
        B = T.match_buffer(b, (k,), "int32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(k):
                B[i] = A[2 * i + 1]

    A, B = np.arange(9, dtype="int32"), np.zeros(4, "int32")
    tilec.compile(f, target="cpu")(A, B)
    np.testing.assert_array_equal(B, A[1::2])
    with pytest.raises(ShapeError, match=r"dimension 0 of `a` is 9, and `\(k \* 2\) \+ 1` is 7"):
        tilec.compile(f, target="cpu")(A, B[:3])

    with pytest.raises(
        TLSyntaxError, match=r"the value of `k \* 2` is unknown.*: compute it below the tensors that te"
    ):

        @T.prim_func
        def g(a: T.ptr):
            count = k * 2
            A = T.match_buffer(a, (k,), "int32")
            with T.Kernel(count, threads=32):
                A[0] = 0


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t["target"])
def test_results_have_extents_that_are_computed_in_the_function(target: dict[str, str]) -> None:
    @tilec.jit(**target)
    def repeated(A):
        length = T.dynamic("length")
        A: T.Tensor[[length], T.int32]
        count = 2 * length
        B = T.empty((count + 1,), T.int32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                if i < count + 1:
                    B[i] = A[i % length]
        return B

    for size in (3, 8):
        np.testing.assert_array_equal(repeated(np.arange(size, dtype=np.int32)), np.arange(2 * size + 1) % size)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t["target"])
def test_results_have_extents_that_are_given(target: dict[str, str]) -> None:
    @tilec.jit(**target)
    def counted(size: T.int32):
        A = T.empty((size,), T.int32)
        B = T.empty((2, size * 2), T.int4)
        with T.Kernel(1, threads=32):
            for i in T.serial(A.shape[0]):
                A[i] = size - i
        return A, B

    for size in (5, 2):
        a, b = counted(size)
        np.testing.assert_array_equal(np.asarray(a), np.arange(size, 0, -1))
        assert b.shape == (2, size)
    with pytest.raises(ShapeError, match=r"the result `out0` would have the shape \(-1,\)"):
        counted(-1)
    with pytest.raises(ArgumentError, match="`size` must be an integer, of which `out0` is made, not `0.5`"):
        counted(0.5)


def test_a_stored_result_follows_what_is_given_again() -> None:
    """A call like the one before does not keep its extents."""
    torch = pytest.importorskip("torch")

    @tilec.jit(target="cpu")
    def taken(A, size: T.int32):
        length = T.dynamic("length")
        A: T.Tensor[[length], T.int32]
        B = T.empty((size,), T.int32)
        with T.Kernel(1, threads=32):
            for i in T.serial(size):
                B[i] = A[i]
        return B

    a = torch.arange(10, dtype=torch.int32)
    for size in (3, 3, 7, 1, 7):
        assert torch.equal(taken(a, size), a[:size])


def test_a_tensor_that_is_passed_has_no_extent_that_is_given() -> None:
    with pytest.raises(ShapeError, match="an extent must be an integer or a `T.dynamic` symbol"):

        @tilec.jit(target="cpu")
        def f(A, size: T.int32):
            A: T.Tensor[[size], T.int32]
            with T.Kernel(1, threads=32):
                A[0] = 1

        f(np.zeros(4, np.int32), 4)
