"""Arrays of a thread that go to and from shared memory as vectors."""

import re

import numpy as np
import pytest

import tilec
import tilec.language as T

ROWS, COLUMNS, THREADS = 64, 128, 64
EACH = 8  # elements that a thread moves at once


def unpack(first: int, step: int):
    """`B` = twice `A`, by the elements of arrays, and the product of both with `A`'s rows.

    A thread has elements `first` + `step` t to `first` + `step` t + 7 of the tile, counted along its rows.
    """

    @T.prim_func
    def program(
        A: T.Tensor((ROWS, COLUMNS), "float16"),
        B: T.Tensor((ROWS, COLUMNS), "float16"),
        C: T.Tensor((ROWS, ROWS), "float32"),
    ):
        with T.Kernel(1, threads=THREADS * 2):
            given = T.alloc_shared((ROWS, COLUMNS), "float16")
            made = T.alloc_shared((ROWS, COLUMNS), "float16")
            product = T.alloc_fragment((ROWS, ROWS), "float32")
            T.copy(A, given)
            T.copy(A, made)
            t = T.get_thread_binding()
            row = T.alloc_local((EACH,), "float16")
            for i in T.serial(4):
                for v in T.vectorized(EACH):
                    index = first + (i * THREADS * 2 + t) * step + v
                    row[v] = given[index // COLUMNS, index % COLUMNS]
                for v in T.vectorized(EACH):
                    index = first + (i * THREADS * 2 + t) * step + v
                    made[index // COLUMNS, index % COLUMNS] = row[v] * T.float16(2)
            T.clear(product)
            T.gemm(given, made, product, transpose_B=True)
            T.copy(made, B)
            T.copy(product, C)

    return program


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize(("first", "step"), [(0, 8), (8, 8), (4, 12), (3, 9), (1, 8)])
def test_elements_side_by_side(target: str, first: int, step: int):
    """Aligned, at half of a vector, and at any place; each is written once."""
    rng = np.random.default_rng(7)
    a = rng.integers(-4, 5, (ROWS, COLUMNS)).astype(np.float16)
    expected = a.copy().reshape(-1)
    for t in range(4 * THREADS * 2):
        at = first + t * step
        expected[at : at + EACH] = 2 * a.reshape(-1)[at : at + EACH]
    expected = expected.reshape(a.shape)
    b, c = np.zeros_like(a), np.zeros((ROWS, ROWS), np.float32)
    tilec.compile(unpack(first, step), target=target, backend="sim")(a, b, c)
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ expected.astype(np.float32).T)


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_machine_code_has_vectors(backend: str):
    """A thread's eight elements are one access, on either way to the machine."""
    text = tilec.compile(unpack(0, 8), target="sm_90a", backend=backend).get_ptx()
    narrow = re.compile(r"\b(ld|st)\.shared\.[bu]?(8|16)\b")
    assert not narrow.search(text)
    assert re.search(r"\bst\.shared\.v[24]", text)
