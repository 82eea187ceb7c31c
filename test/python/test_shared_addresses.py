"""Rows that a thread copies one by one, and what runs beside them."""

import re

import numpy as np
import pytest

import tilec
import tilec.language as T

TILE, DEPTH = 64, 32
TARGETS = [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}, {"target": "sm_80", "backend": "sim"}]


def product(m: int, n: int, k: int, stages: int):
    """A GEMM whose rows begin anywhere, so that threads copy elements, and whose last tiles go over all ends."""

    @T.prim_func
    def program(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, TILE), T.ceildiv(m, TILE), threads=128) as (bx, by):
            a = T.alloc_shared((TILE, DEPTH), "float16")
            b = T.alloc_shared((DEPTH, TILE), "float16")
            c = T.alloc_fragment((TILE, TILE), "float32")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, DEPTH), num_stages=stages):
                T.copy(A[by * TILE, i * DEPTH], a)
                T.copy(B[i * DEPTH, bx * TILE], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * TILE, bx * TILE])

    return program


def run(program, target: dict[str, str], a, b, shape):
    c = np.zeros(shape, np.float32)
    tilec.compile(program, **target)(a, b, c)
    return c


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stages", [0, 1, 2, 3])
@pytest.mark.parametrize(("m", "n", "k"), [(83, 81, 79), (64, 131, 97)])
def test_products_of_odd_rows(target: dict[str, str], stages: int, m: int, n: int, k: int):
    """On sm_90a products start ahead of the copies of the next tiles."""
    rng = np.random.default_rng(m)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = run(product(m, n, k, stages), target, a, b, (m, n))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_rows_share_a_register():
    """The rows of a tile were two registers each: 245 in all, 43 µs for 531 x 1041 x 783 where TileLang has 21."""
    ptx = tilec.compile(product(531, 1041, 783, 0), target="sm_90a", assembler="none").get_ptx()
    places = re.findall(r"ld\.global\.b16\s+%rs\d+, \[(%rd\d+)", ptx)
    assert len(places) > 60
    assert len(set(places)) <= 6


def staged(stages: int):
    """A tile that threads load, and one that the engine copies: both factors of a product."""

    @T.prim_func
    def program(
        A: T.Tensor((TILE, 128), "float16"), B: T.Tensor((128, TILE), "float16"), C: T.Tensor((TILE, TILE), "float32")
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((TILE, DEPTH * 2), "float16")
            b = T.alloc_shared((DEPTH, TILE), "float16")
            c = T.alloc_fragment((TILE, TILE), "float32")
            T.clear(a)
            T.clear(c)
            for o in T.Pipelined(128 // DEPTH, num_stages=stages):
                for i, j in T.Parallel(TILE, DEPTH):
                    a[i, j + DEPTH] = A[i, o * DEPTH + j] * T.float16(2)
                T.copy(B[o * DEPTH, 0], b)
                T.gemm(a[:, DEPTH:], b, c)
            T.copy(c, C)

    return program


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stages", [0, 1])
def test_copies_start_ahead_of_loads(target: dict[str, str], stages: int):
    """A copy goes in front of the loop in which threads wait for the other tile."""
    rng = np.random.default_rng(stages)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((TILE, 128), (128, TILE)))
    c = run(staged(stages), target, a, b, (TILE, TILE))
    np.testing.assert_array_equal(c, 2 * a.astype(np.float32) @ b.astype(np.float32))
