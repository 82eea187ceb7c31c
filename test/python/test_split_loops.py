"""Loops that are split where a guard in them begins (tl-split-loops), beside NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T

M, N, TRIPS = 128, 128, 4
GREATEST = 2**31 - 1

GUARDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a mask": lambda k, n, flag: (k + 1) * N > n,
    "the other way round": lambda k, n, flag: n - 3 <= k * N + 5,
    "of a difference": lambda k, n, flag: k * 7 - n >= 0,
    "or always": lambda k, n, flag: T.Or(k * N > n, flag > 0),
    "and not always": lambda k, n, flag: T.And(k > n, flag > 0),
    "that wraps": lambda k, n, flag: k * 1000000000 > n,
    "at first": lambda k, n, flag: k * N < n,
    "at first, and it wraps": lambda k, n, flag: k * 1000000000 <= n,
    "a window": lambda k, n, flag: T.Or(k * 32 < n - 64, k * 32 + 31 >= n),
    "below zero": lambda k, n, flag: k * N + n > n + 100,
    "that descends": lambda k, n, flag: n - k > 0,
}
NUMBERS = (0, 1, 2, 127, 128, 129, 3 * N, -1, -200, GREATEST, GREATEST - 100, -GREATEST - 1)


def masked(guard: Callable[[Any, Any, Any], Any]) -> Any:
    """Adds up the products of the tiles of A with themselves, or 1 and twice them where a guard holds."""

    @T.prim_func
    def run(
        A: T.Tensor((M, TRIPS * N), "float16"),
        n: T.int32,
        flag: T.int32,
        trips: T.int32,
        Sums: T.Tensor((M, M), "float32"),
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((M, N), "float16")
            s = T.alloc_fragment((M, M), "float32")
            o = T.alloc_fragment((M, M), "float32")
            T.clear(o)
            for k in T.Pipelined(trips, num_stages=2):
                T.copy(A[:, k * N : (k + 1) * N], a)
                T.gemm(a, a, s, transpose_B=True, clear_accum=True)
                if guard(k, n, flag):
                    for i, j in T.Parallel(M, M):
                        s[i, j] = T.if_then_else(i > j, s[i, j] * 2, 1.0)
                for i, j in T.Parallel(M, M):
                    o[i, j] += s[i, j]
            T.copy(o, Sums)

    return run


def holds(name: str, k: int, n: int, flag: int) -> bool:
    """The guard on numbers of 32 bits, which wrap."""
    with np.errstate(over="ignore"):
        k32, n32 = np.int32(k), np.int32(n)
        return bool(
            {
                "a mask": (k32 + np.int32(1)) * np.int32(N) > n32,
                "the other way round": n32 - np.int32(3) <= k32 * np.int32(N) + np.int32(5),
                "of a difference": k32 * np.int32(7) - n32 >= 0,
                "or always": k32 * np.int32(N) > n32 or flag > 0,
                "and not always": k32 > n32 and flag > 0,
                "that wraps": k32 * np.int32(1000000000) > n32,
                "at first": k32 * np.int32(N) < n32,
                "at first, and it wraps": k32 * np.int32(1000000000) <= n32,
                "a window": k32 * np.int32(32) < n32 - np.int32(64) or k32 * np.int32(32) + np.int32(31) >= n32,
                "below zero": k32 * np.int32(N) + n32 > n32 + np.int32(100),
                "that descends": n32 - k32 > 0,
            }[name]
        )


def reference(name: str, a: np.ndarray, n: int, flag: int, trips: int) -> np.ndarray:
    total = np.zeros((M, M))
    below = np.tri(M, k=-1, dtype=bool)
    for k in range(trips):
        tile = a[:, k * N : (k + 1) * N].astype(np.float64)
        product = tile @ tile.T
        total += np.where(below, 2 * product, 1) if holds(name, k, n, flag) else product
    return total


@pytest.mark.parametrize(("target", "options"), [("cpu", {}), ("sm_90a", {"backend": "sim"})])
@pytest.mark.parametrize("name", GUARDS)
def test_the_sum_is_that_of_the_loop(name: str, target: str, options: dict[str, str]) -> None:
    kernel = tilec.compile(masked(GUARDS[name]), target=target, **options)
    random = np.random.default_rng()
    a = random.integers(-2, 3, (M, TRIPS * N)).astype(np.float16)
    for n in NUMBERS:
        flag, trips = int(random.integers(0, 2)), int(random.integers(0, TRIPS + 1))
        found = np.full((M, M), np.nan, np.float32)
        kernel(a, n, flag, trips, found)
        np.testing.assert_array_equal(
            found, reference(name, a, n, flag, trips), f"n = {n}, flag = {flag}, {trips} trips"
        )


def test_the_first_loop_has_no_mask() -> None:
    def count(name: str) -> int:
        return tilec.compile(masked(GUARDS[name]), target="sm_90a").get_ptx().count("wgmma.mma_async")

    assert count("a mask") == count("at first") == 2 * count("that descends")
    assert count("a window") == 3 * count("that descends")


@T.prim_func
def shared_by_a_cluster(
    A: T.Tensor((2 * M, N), "float16"), B: T.Tensor((TRIPS * N, N), "float16"), Sums: T.Tensor((2 * M, N), "float32")
):  # fmt: skip
    """Both blocks fetch each tile of B together, and their masks begin at different ones."""
    with T.ClusterKernel(2, cluster_dims=2, threads=256) as bx:
        a = T.alloc_shared((M, N), "float16")
        b = T.alloc_shared((N, N), "float16")
        s = T.alloc_fragment((M, N), "float32")
        o = T.alloc_fragment((M, N), "float32")
        T.copy(A[bx * M, 0], a)
        T.clear(o)
        for k in T.Pipelined(TRIPS, num_stages=2):
            T.copy(B[k * N, 0], b)
            T.gemm(a, b, s, transpose_B=True, clear_accum=True)
            if (k + 1) * N > bx * M + 1:
                for i, j in T.Parallel(M, N):
                    s[i, j] = T.if_then_else(bx * M + i >= k * N + j, s[i, j], 0)
            for i, j in T.Parallel(M, N):
                o[i, j] += s[i, j]
        T.copy(o, Sums[bx * M, 0])


@pytest.mark.parametrize(("target", "options"), [("cpu", {}), ("sm_90a", {"backend": "sim"})])
def test_blocks_of_a_cluster_stay_in_step(target: str, options: dict[str, str]) -> None:
    random = np.random.default_rng()
    a, b = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((2 * M, N), (TRIPS * N, N)))
    found = np.full((2 * M, N), np.nan, np.float32)
    tilec.compile(shared_by_a_cluster, target=target, **options)(a, b, found)
    product = np.tril(a.astype(np.float64) @ b.astype(np.float64).T)
    np.testing.assert_array_equal(found, product.reshape(2 * M, TRIPS, N).sum(axis=1))
