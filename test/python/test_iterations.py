"""The simulator reports iterations of one `T.Parallel` that meet, whoever does them (semantics P2)."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
from tilec.backends import sim
from tilec.errors import SimulationError, TLWarning

sys.path.insert(0, str(Path(__file__).resolve().parent))
import iteration_programs
from iteration_programs import RACING, RIGHT, Program


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    sim.set_options()
    yield
    sim.set_options()


def compiled(program: Program, chip: str = "sm_90a", **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TLWarning)  # of what a few of them do, the compiler warns
        return tilec.compile(program(), target=chip, backend="sim", **options)


def arguments() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(256, dtype="int32") ^ 1, np.zeros(256, "int32")


def lines(program: Program, *marks: str) -> set[int]:
    text, first = inspect.getsourcelines(program)
    return {first + n for n, line in enumerate(text) if line.rstrip().endswith(tuple("# " + mark for mark in marks))}


def name(program: Program) -> str:
    return program.__name__


@pytest.mark.parametrize("program", RACING, ids=name)
def test_iterations_that_meet(program: Program) -> None:
    kernel = compiled(program)
    with pytest.raises(SimulationError, match="two iterations of one `T.Parallel`") as caught:
        kernel(*arguments())
    report = caught.value.reports[0]
    assert report["kind"] == "race"
    one, other = report["sides"]
    assert {one["line"]} == lines(program, "one", "both")
    assert {other["line"]} <= lines(program, "one", "other", "both")
    assert lines(program, "other") <= {other["line"]}
    assert "in iteration (" in one["text"]
    assert "in iteration (" in other["text"]
    assert one["text"].partition(" in ")[2] != other["text"].partition(" in ")[2]
    assert {Path(side["file"]).name for side in report["sides"]} == {Path(iteration_programs.__file__).name}


@pytest.mark.parametrize("program", RIGHT, ids=name)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_iterations_that_do_not_meet(program: Program, chip: str) -> None:
    assert sim.try_seeds(compiled(program, chip), *arguments(), seeds=3) is None


@pytest.mark.parametrize("program", RACING + RIGHT, ids=name)
@pytest.mark.parametrize("threads", [64, 256])
def test_it_does_not_matter_who_does_them(program: Program, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations of two warps are reported as threads, and those that do not meet not at all."""
    monkeypatch.setattr(iteration_programs, "THREADS", threads)
    kernel = compiled(program)
    if program in RIGHT:
        kernel(*arguments())
        return
    with pytest.raises(SimulationError) as caught:
        kernel(*arguments())
    assert {report["kind"] for report in caught.value.reports} == {"race"}


@pytest.mark.parametrize("program", RIGHT, ids=name)
def test_notes_of_a_checked_program_do_not_meet(program: Program) -> None:
    compiled(program, checks=True)(*arguments())


@pytest.mark.parametrize("program", RACING, ids=name)
def test_nothing_is_said_of_iterations_without_checkers(program: Program) -> None:
    sim.set_options(checks=False)
    compiled(program)(*arguments())
