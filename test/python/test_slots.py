"""Slots of shared tiles that have more dimensions: the same elements, reached through a slot and through all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T

TARGETS = [{"target": "cpu"}, {"target": "sm_80", "backend": "sim"}, {"target": "sm_90a", "backend": "sim"}]
IDS = ["cpu", "sm_80", "sm_90a"]
RANDOM = np.random.default_rng(0)


def small(*shape: int, dtype: str = "float16") -> np.ndarray[Any, Any]:
    return RANDOM.integers(-3, 4, shape).astype(dtype)


def double_buffered(columns: int, steps: int = 3) -> Any:
    """Tiles are copied to slots in turn, and multiplied."""

    @T.prim_func
    def main(
        A: T.Tensor((64, steps * 64), "float16"),
        B: T.Tensor((steps * 64, columns), "float16"),
        C: T.Tensor((64, columns), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((2, 64, 64), "float16")
            Bs = T.alloc_shared((2, 64, columns), "float16")
            c = T.alloc_fragment((64, columns), "float32")
            T.clear(c)
            for k in T.serial(steps):
                T.copy(A[0:64, k * 64 : k * 64 + 64], As[k % 2, 0:64, 0:64])
                T.copy(B[k * 64 : k * 64 + 64, 0:columns], Bs[k % 2, 0:64, 0:columns])
                T.gemm(As[k % 2, 0:64, 0:64], Bs[k % 2, 0:64, 0:columns], c)
            T.copy(c, C)

    return main


@pytest.mark.parametrize("options", TARGETS, ids=IDS)
@pytest.mark.parametrize("columns", [64, 128])
def test_tiles_that_are_copied_to_slots_in_turn(columns: int, options: dict[str, str]) -> None:
    a, b, c = small(64, 192), small(192, columns), np.zeros((64, columns), "float32")
    tilec.compile(double_buffered(columns), **options)(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


@pytest.mark.parametrize("options", TARGETS, ids=IDS)
@pytest.mark.parametrize(("dtype", "k"), [("float16", 128), ("float32", 64)])
def test_elements_are_written_and_a_slot_is_multiplied(dtype: str, k: int, options: dict[str, str]) -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 64, k), dtype), B: T.Tensor((64, k), dtype), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            S, W = T.alloc_shared((2, 64, k), dtype), T.alloc_shared((64, k), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            for q, i, j in T.Parallel(2, 64, k):
                S[q, i, j] = A[q, i, j]
            T.copy(B, W)
            T.gemm(S[1, 0:64, 0:k], W, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    a, b, c = small(2, 64, k, dtype=dtype), small(64, k, dtype=dtype), np.zeros((64, 64), "float32")
    tilec.compile(main, **options)(a, b, c)
    np.testing.assert_array_equal(c, a[1].astype("float32") @ b.astype("float32").T)


@pytest.mark.parametrize("options", TARGETS, ids=IDS)
@pytest.mark.parametrize("shape", [(2, 64, 64), (3, 5, 7), (2, 4, 96)])
def test_a_slot_is_cleared_and_all_is_copied(shape: tuple[int, int, int], options: dict[str, str]) -> None:
    n, r, c = shape

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared(shape, "float32")
            T.copy(A, S)
            T.clear(S[1, 0:r, 0:c])
            T.copy(S, B)

    a = RANDOM.integers(1, 4, shape).astype("float32")
    b = np.zeros(shape, "float32")
    tilec.compile(main, **options)(a, b)
    a[1] = 0
    np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("options", TARGETS, ids=IDS)
def test_rows_of_a_tile_that_is_multiplied(options: dict[str, str]) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((2, 64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b[1, 0:64, 0:64])
            T.fill(a[3], 2)
            T.fill(b[1, 5], 1)
            T.gemm(a, b[1], c, clear_accum=True)
            T.copy(c, C)

    a, b, c = small(64, 64), small(64, 64), np.zeros((64, 64), "float32")
    tilec.compile(main, **options)(a, b, c)
    a[3], b[5] = 2, 1
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


@pytest.mark.parametrize("options", TARGETS, ids=IDS)
def test_slots_of_slots(options: dict[str, str]) -> None:
    """What is written through a slot of a slot is read through the slot, and through all."""

    @T.prim_func
    def main(A: T.Tensor((5, 7), "float32"), B: T.Tensor((2, 3, 5, 7), "float32"), C: T.Tensor((3, 5, 7), "float32")):
        with T.Kernel(1, threads=64):
            S, U = T.alloc_shared((2, 3, 5, 7), "float32"), T.alloc_shared((3, 5, 7), "float32")
            T.clear(S)
            T.fill(S[1], 4)
            T.fill(S[1, 0], 5)
            T.copy(A, S[1, 2, 0:5, 0:7])
            T.copy(S[1, 0:3, 0:5, 0:7], U)
            T.copy(U, C)
            T.copy(S, B)

    a, b, c = small(5, 7, dtype="float32"), np.ones((2, 3, 5, 7), "float32"), np.ones((3, 5, 7), "float32")
    tilec.compile(main, **options)(a, b, c)
    expected = np.zeros_like(b)
    expected[1], expected[1, 0], expected[1, 2] = 4, 5, a
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(c, expected[1])


@pytest.mark.parametrize("chip", ["sm_90", "sm_90a"])
def test_an_accumulator_goes_to_the_first_slot(chip: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c, s = T.alloc_fragment((64, 64), "float32"), T.alloc_shared((2, 64, 64), "float16")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, s[0, 0:64, 0:64])
            T.copy(s[0, 0:64, 0:64], C)

    a, b, c = small(64, 64), small(64, 64), np.zeros((64, 64), "float16")
    tilec.compile(main, target=chip, backend="sim")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    assert "stmatrix" in tilec.compile(main, target=chip).get_ptx()
