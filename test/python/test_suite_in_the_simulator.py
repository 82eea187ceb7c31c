"""Kernels of the suite for GPUs, in the simulator under several seeds: right, and nothing to report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atomic_programs
import format_programs
import grid_programs
import pipelines_by_hand
import statement_programs
import tilec
import warp_programs
from tilec.backends import sim

sys.path.append(str(Path(__file__).parents[1] / "integration"))
import pipelined_kernels as programs

RANDOM = np.random.default_rng(7)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return RANDOM.integers(-2, 3, shape).astype(dtype)


def product(a: Any, b: Any) -> Any:
    return a.astype("float32") @ b.astype("float32")


def halves(a: Any) -> Any:
    return np.concatenate([a[:, :64], a[::-1, 64:]], axis=1)


def in_a_branch(a: Any, skipped: int) -> Any:
    kept = a.reshape(8, 64, 64)[[k for k in range(8) if k % 3 != skipped]]
    return product(kept.transpose(0, 2, 1), kept).sum(0)


# A program for a number of stages, what it takes, and what it computes of that; the result comes last.
CASES: dict[str, tuple[Callable[[int], Any], Callable[[], list[Any]], Callable[..., Any]]] = {
    "row_by_row": (programs.row_by_row, lambda: [numbers(4, 128)], lambda a: np.repeat(a[:1], 4, axis=0)),
    "used_after": (programs.used_after, lambda: [numbers(8, 128), 5], lambda a, n: a[n - 1]),
    "doubled": (programs.doubled, lambda: [numbers(8, 128), 8], lambda a, n: a * 2),
    "two_copies": (programs.two_copies, lambda: [numbers(8, 128)], halves),
    "every_other": (programs.every_other, lambda: [numbers(8, 128)], lambda a: a[::2].repeat(2, axis=0)),
    "nested": (programs.nested, lambda: [numbers(8, 128)], lambda a: a.cumsum(0) - a),
    "used_after_gemm": (
        programs.used_after_gemm,
        lambda: [numbers(64, 128, dtype="float16"), numbers(1024, 128, dtype="float16")],
        lambda q, b: product(q, b.astype("float32").reshape(8, 128, 128).sum(0)).astype("float16"),
    ),
    "persistent_gemm": (
        lambda stages: programs.persistent_gemm(stages, M=256, N=256, K=128),
        lambda: [numbers(256, 128, dtype="float16"), numbers(128, 256, dtype="float16")],
        product,
    ),
    "sometimes": (programs.sometimes, lambda: [numbers(512, 64, dtype="float16"), 1], in_a_branch),
    "any_number_of_products": (
        programs.any_number_of_products,
        lambda: [numbers(64, 225, dtype="float16")[:, :224], numbers(224, 64, dtype="float16"), 3],
        lambda a, b, n: product(a[:, : n * 32], b[: n * 32]),
    ),
}


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    yield
    sim.set_options()


@pytest.mark.parametrize("stages", [0, 3])
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_that_runs_ahead_is_seen(name: str, chip: str, stages: int, sim_seeds: Sequence[int]) -> None:
    program, inputs, reference = CASES[name]
    kernel = tilec.compile(program(stages), target=chip, backend="sim")
    for seed in sim_seeds:
        sim.set_options(seed=seed)
        arguments = inputs()
        expected = reference(*arguments)
        result = np.full(expected.shape, np.nan, expected.dtype)
        kernel(*arguments, result)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_each_iteration_copies_what_the_one_before_wrote(chip: str, sim_seeds: Sequence[int]) -> None:
    kernel = tilec.compile(programs.feeds_itself(3), target=chip, backend="sim")
    for seed in sim_seeds:
        sim.set_options(seed=seed)
        a = numbers(8, 128)
        expected = a[0] + np.arange(8, dtype="float32")[:, None]
        kernel(a)
        np.testing.assert_array_equal(a, expected)


def simulated(chip: str, seeds: Sequence[int]) -> Callable[..., None]:
    """Runs a program under several seeds, each from the same arguments, and leaves what the last one computed.

    The others have to compute the same: these programs leave nothing open.
    """

    def run(program: tilec.PrimFunc, *arguments: Any) -> None:
        kernel = tilec.compile(program, target=chip, backend="sim")
        before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        results = []
        for seed in seeds:
            sim.set_options(seed=seed)
            for now, then in zip(arguments, before, strict=True):
                if isinstance(now, np.ndarray):
                    now[...] = then
            kernel(*arguments)
            results.append([a.tobytes() for a in arguments if isinstance(a, np.ndarray)])
        assert all(result == results[0] for result in results)

    return run


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", atomic_programs.CASES)
def test_atomic_operations(name: str, chip: str, sim_seeds: Sequence[int]) -> None:
    case = atomic_programs.CASES[name]
    kernel = tilec.compile(case.program, target=chip, backend="sim")
    for seed in sim_seeds:
        sim.set_options(seed=seed)
        arrays = case.inputs(np.random.default_rng(seed))
        found = [array.copy() for array in arrays]
        kernel(*found)
        atomic_programs.check(name, arrays, found)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", statement_programs.CASES)
def test_statements(name: str, chip: str, sim_seeds: Sequence[int]) -> None:
    program, reference = statement_programs.CASES[name]
    a, b = RANDOM.integers(0, 100, 1024).astype(np.int32), np.zeros(1024, np.int32)
    simulated(chip, sim_seeds)(program, a, b)
    np.testing.assert_array_equal(b, reference(a))


TABLES = {"formats": format_programs, "grids": grid_programs, "turns": pipelines_by_hand, "warps": warp_programs}


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in TABLES for name in TABLES[table].CASES])
def test_programs_that_others_run_under_one_seed(table: str, name: str, sim_seeds: Sequence[int]) -> None:
    TABLES[table].check(name, simulated("sm_90a", sim_seeds[1:] or sim_seeds))
