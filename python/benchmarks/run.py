"""The examples beside their peers, in one process: `python python/benchmarks/run.py [NAME …] [--json F] [--plot F]`.

An example declares what is measured (`CASES`, see `python/examples/cases.py`). For each case all that computes it,
our program by each backend and the peers, takes turns, so that clocks and temperature are the same for all; what is
compared are pairs of one round. Short calls are launched by CUDA graphs, for all contenders of a race or for none. With
a cold L2 cache each call has arguments of its own, outputs among them, of more bytes in all than twice the cache; a
peer's outputs are where its allocator puts them while those of the other calls are kept. With a warm one all have the
same.

Before ours is timed it is compared: with a peer, if that agrees with the reference on the small cases, or with the
reference. What is wrong is not timed, and makes the exit code 1. What is refused, or runs out of memory, is noted. The
JSON is written after each row, so that a run that is stopped loses one row at most.

Without a GPU it measures the small cases of `CHECKED` beside NumPy, which says something of the runner and little of
anything else.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import report
from cases import Case
from devices import Device, find
from subjects import Subject, check
from timing import Calls, brief, fastest, race, runnable, timers

Found = TypeVar("Found")
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def modules() -> list[str]:
    """Returns the examples that declare cases."""
    return sorted(file.stem for file in EXAMPLES.glob("*.py") if "\nCASES = " in file.read_text())


def sets_for(bytes_of_one: int, cache: int, is_cold: bool) -> int:
    """Returns how many sets of arguments keep a call from finding any of its own in a cache.

    >>> sets_for(10, 100, True), sets_for(300, 100, True), sets_for(10, 100, False)
    (21, 2, 1)
    """
    return max(2, 2 * cache // max(bytes_of_one, 1) + 1) if is_cold else 1


def measure(subject: Subject, is_cold: bool, rounds: int, pause: float) -> report.Row:
    """Races ours, the fastest program of each backend, with the peers."""
    case, device, notes = subject.case, subject.device, list(subject.notes)
    size = sum(array.nbytes for array in (*subject.arrays, *subject.poison))
    sets = [
        (device.place(subject.arrays), device.place(subject.poison))
        for _ in range(sets_for(size, device.cache, is_cold))
    ]

    def calls(function: Callable[..., Any], has_outputs: bool) -> Calls:
        return [functools.partial(function, *given, *(outputs if has_outputs else ())) for given, outputs in sets]

    with device.watch() as watch:
        contenders: dict[str, Calls] = {}
        chosen: dict[str, int] = {}
        for backend, kernels in subject.kernels.items():
            named = {f"{backend}: program {number}": calls(kernel, True) for number, kernel in kernels.items()}
            choices, _ = timers(device, named, runnable(device, named, notes))
            if choices:
                best = fastest(choices)
                chosen[backend], contenders[backend] = int(best.rpartition(" ")[2]), named[best]
        ours = list(contenders)
        contenders |= {name: calls(peer, False) for name, peer in subject.peers.items()}
        racers, graph = timers(device, contenders, runnable(device, contenders, notes))
        begin = time.perf_counter()
        times = race(racers, rounds, pause)
        clocks = watch.medians(begin, time.perf_counter())
    return report.Row(
        case=case.name,
        l2="cold" if is_cold else "warm",
        times=times,
        ours=[name for name in ours if name in times],
        chosen=chosen,
        differs=subject.differs,
        bytes=case.bytes,
        flop=case.flop,
        clocks=clocks,
        against=subject.against,
        graph=graph,
        notes=notes,
        wrong=subject.wrong,
    )


class Run:
    """What was measured so far, what went wrong, and what was left out; `options` are those of `main`."""

    def __init__(self, options: argparse.Namespace, device: Device) -> None:
        self.options, self.device = options, device
        self.rows: list[report.Row] = []
        self.problems: list[str] = []
        self.left_out: list[str] = []
        self.end = time.monotonic() + options.seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.end

    def example(self, name: str) -> None:
        """Checks the small cases of an example, and measures those for the device."""
        module = importlib.import_module(name)
        cases = [case for case in getattr(module, self.device.cases) if (self.options.cases or "") in case.name]
        if not cases or self.is_over:
            self.left_out += [case.name for case in cases]
            return
        checked = self.attempt(name, lambda: check(module.CHECKED, self.device, self.options.backend))
        problems, believed = checked or ([], set[str]())
        self.problems += problems
        for problem in problems:
            print(problem, file=sys.stderr, flush=True)
        for case in cases:
            self.case(case, believed)

    def case(self, case: Case, believed: set[str]) -> None:
        """Measures a case with each state of the cache."""
        states = {"cold": [True], "warm": [False], "both": [True, False]}
        make = functools.partial(Subject, case, self.device, self.options.backend, believed)
        subject = self.attempt(case.name, make)
        for is_cold in states[self.options.l2 if self.device.cache else "warm"]:
            name = f"{case.name}, L2 {'cold' if is_cold else 'warm'}"
            row = None
            if subject:
                row = self.attempt(
                    name, functools.partial(measure, subject, is_cold, self.options.rounds, self.options.pause)
                )
            if row:
                self.add(row)
            else:
                self.left_out.append(name)
            self.recover()

    def attempt(self, name: str, step: Callable[[], Found]) -> Found | None:
        """Returns what a step finds; None if it fails, or the run is over: the other cases do not depend on it."""
        if self.is_over:
            return None
        try:
            return step()
        except Exception as error:
            self.problems.append(f"{name}: {brief(error)}")
            print(self.problems[-1], file=sys.stderr, flush=True)
            return None

    def recover(self) -> None:
        """Frees the memory that nothing uses, and ends the run if the device does not answer any more."""
        try:
            self.device.free()
        except RuntimeError as error:
            self.problems.append(f"the device is lost: {brief(error)}")
            self.end = 0.0

    def add(self, row: report.Row) -> None:
        self.rows.append(row)
        found = row.wrong if row.ours else [*row.wrong, "nothing of ours could be timed"]
        self.problems += [f"{row.case}, L2 {row.l2}: {what}" for what in found]
        print(report.line(row), flush=True)
        self.write()

    def write(self) -> None:
        if self.options.json:
            report.write(self.options.json, self.device.name, self.rows, self.problems, self.left_out)


def main(arguments: Sequence[str] | None = None) -> Run:
    """Measures, prints a table, and writes what is asked for; see the head of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="examples; all of them by default")
    parser.add_argument("--target", default="auto", help="a chip, such as sm_90 on a GPU that is an sm_90a")
    parser.add_argument("--backend", nargs="+", default=["auto"], help="such as nvptx and nvrtc, to compare them")
    parser.add_argument("--l2", choices=["cold", "warm", "both"], default="both")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to be idle before each sample")
    parser.add_argument("--cases", help="only those whose name contains this")
    parser.add_argument("--seconds", type=float, default=math.inf, help="when to end, after the row at hand")
    parser.add_argument("--json", type=Path, help="where to write all samples, after each row")
    parser.add_argument("--plot", type=Path, help="where to draw the ratios, as .png or .svg")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(modules())
    if unknown:
        parser.error(f"no examples with cases are {', '.join(sorted(unknown))}; there are {', '.join(modules())}")

    run = Run(options, find(options.target))
    for name in options.names or modules():
        run.example(name)
    run.write()
    print(f"\n{run.device.name}\n\n{report.table(run.rows)}")
    for what, names in (("Went wrong", run.problems), ("Left out", run.left_out)):
        if names:
            print("\n".join([f"\n{what}:", *(f"- {name}" for name in names)]))
    if options.plot:
        report.plot(run.rows, options.plot)
    return run


if __name__ == "__main__":
    sys.exit(bool(main().problems))
