"""Blocks that hand each other data by atomic operations, in the simulator: what orders them, and what does not.

Each mistake is reported at the line that is marked with its name, and right programs compute the same under all seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.backends import sim
from tilec.errors import SimulationError

SEEDS = range(9)
RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    yield
    sim.set_options()


def zeros(*shape: int) -> Any:
    return np.zeros(shape, "int32")


def numbers(*shape: int) -> Any:
    return RANDOM.integers(-9, 10, shape).astype("int32")


def counted(released: str) -> Any:
    """Blocks add to one number, one at a time."""

    @T.prim_func
    def f(lock: T.Tensor((1,), "int32"), C: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=32):
            if T.get_thread_binding() == 0:
                while T.atomic_cas(lock[0], 0, 1, memory_order="acquire") != 0:
                    T.device_assert(True)
                C[0] = C[0] + 1  # counted
                T.atomic_store(lock[0], 0, memory_order=released)

    return f


def looked_back(seen: str) -> Any:
    """Each block adds its row to the sum of those before it."""

    @T.prim_func
    def f(A: T.Tensor((8, 64), "int32"), P: T.Tensor((8, 64), "int32"), F: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=64) as b:
            x = T.alloc_fragment((64,), "int32")
            T.copy(A[b, 0], x)
            if b > 0:
                done = T.alloc_var("int32", 0)
                while done == 0:
                    done = T.atomic_load(F[b - 1], memory_order=seen)
                for i in T.Parallel(64):
                    x[i] = x[i] + P[b - 1, i]  # looked_back
            T.copy(x, P[b, 0])
            T.atomic_store(F[b], 1)

    return f


def exchanged(told: str) -> Any:
    """The two blocks of a cluster give each other a row."""

    @T.prim_func
    def f(F: T.Tensor((2,), "int32"), B: T.Tensor((2, 64), "int32"), C: T.Tensor((2, 64), "int32")):
        with T.Kernel(2, threads=64, cluster_dims=2) as b:
            for i in T.Parallel(64):
                B[b, i] = b + i
            T.atomic_store(F[b], 1, memory_order=told)
            done = T.alloc_var("int32", 0)
            while done == 0:
                done = T.atomic_load(F[1 - b])
            for i in T.Parallel(64):
                C[b, i] = B[1 - b, i]  # exchanged

    return f


def added_in_turn(seen: str) -> Any:
    """Blocks add their sums to one number, in the order of their own."""

    @T.prim_func
    def f(A: T.Tensor((8, 64), "int32"), B: T.Tensor((1,), "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(8, threads=64) as b:
            x, total = T.alloc_fragment((64,), "int32"), T.alloc_fragment((1,), "int32")
            T.copy(A[b, 0], x)
            T.reduce_sum(x, total)
            turn = T.alloc_var("int32", -1)
            while turn != b:
                turn = T.atomic_load(N[0], memory_order=seen)
            B[0] = B[0] + total[0]  # added_in_turn
            T.atomic_store(N[0], b + 1)

    return f


def written_too_late(order: str) -> Any:
    """What a block writes behind its operation is not what that lets others know."""

    @T.prim_func
    def f(A: T.Tensor((4,), "int32"), P: T.Tensor((16,), "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=64) as b:
            place = T.atomic_add(N[0], 1, memory_order=order, return_prev=True)
            if b < 3:
                P[b] = A[b]
            if place == 3:
                for i in T.Parallel(3):
                    P[8 + i] = P[i]  # written_too_late

    return f


CASES = {
    "counted": (counted, "release", "relaxed", lambda: [zeros(1), zeros(1)], lambda lock, C: C[0] == 4),
    "looked_back": (
        looked_back,
        "acquire",
        "relaxed",
        lambda: [numbers(8, 64), zeros(8, 64), zeros(8)],
        lambda A, P, F: (A.cumsum(0) == P).all(),
    ),
    "exchanged": (
        exchanged,
        "release",
        "relaxed",
        lambda: [zeros(2), zeros(2, 64), zeros(2, 64)],
        lambda F, B, C: (C == [np.arange(64) + 1, np.arange(64)]).all(),
    ),
    "added_in_turn": (
        added_in_turn,
        "acquire",
        "relaxed",
        lambda: [numbers(8, 64), zeros(1), zeros(1)],
        lambda A, B, N: B[0] == A.sum(),
    ),
    "written_too_late": (written_too_late, None, "acq_rel", lambda: [numbers(4), zeros(16), zeros(1)], None),
}


def simulated(name: str, order: str, chip: str) -> Any:
    if name == "exchanged" and chip == "sm_80":
        pytest.skip("it has no clusters")
    return tilec.compile(CASES[name][0](order), target=chip, backend="sim")


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][1]])
def test_what_a_release_and_an_acquire_order(name: str, chip: str) -> None:
    _, order, _, inputs, is_right = CASES[name]
    assert order
    assert is_right
    kernel = simulated(name, order, chip)
    for seed in SEEDS:
        sim.set_options(seed=seed)
        arguments = inputs()
        kernel(*arguments)
        assert is_right(*arguments)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_what_nothing_orders_is_reported(name: str, chip: str) -> None:
    _, _, order, inputs, _ = CASES[name]
    kernel = simulated(name, order, chip)
    with pytest.raises(SimulationError, match="nothing orders the two blocks") as caught:
        kernel(*inputs())
    text = Path(__file__).read_text().splitlines()
    line = next(i for i, words in enumerate(text, 1) if words.endswith(f"# {name}"))
    races = [report for report in caught.value.reports if report["kind"] == "race"]
    assert any(side["line"] == line for report in races for side in report["sides"])


def test_an_atomic_operation_that_nearly_orders_two_blocks_is_named() -> None:
    """The last block finds what others released, and does not acquire it; what is said of all reads is said once."""

    @T.prim_func
    def last_sums(A: T.Tensor((2, 4), "int32"), n: T.Tensor((1,), "int32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(4, threads=32) as b:
            A[0, b] = b
            A[1, b] = b
            if T.atomic_add(n[0], 1, "release", return_prev=True) == 3:  # no acquire
                B[0] = A[0, 0]
                B[1] = A[1, 0]

    kernel = tilec.compile(last_sums, target="sm_90a", backend="sim")
    arguments = [np.zeros(shape, "int32") for shape in ((2, 4), 1, 2)]
    with pytest.raises(SimulationError) as caught:
        kernel(*arguments)
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# no acquire"))
    assert len(caught.value.reports) == 2
    for report in caught.value.reports:
        assert report["message"].startswith("nothing orders the two blocks")
        assert report["sides"][2]["line"] == line
        assert "does not acquire it" in report["sides"][2]["text"]
