"""The examples beside their peers, in one process: `python python/benchmarks/run.py [NAME …] [--json F] [--plot F]`.

An example declares what is measured (`CASES`, see `python/examples/cases.py`). For each case all that computes it,
our program by each backend and the peers, takes turns, so that clocks and temperature are the same for all; what is
compared are pairs of one round. Calls of less than 200 us are launched by CUDA graphs. With a cold L2 cache each call
has arguments of its own, of more bytes in all than twice the cache; with a warm one all have the same.

Without a GPU it measures the small cases of `CHECKED` beside NumPy, which says something of the runner and little of
anything else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import report
from cases import Case, poisoned
from devices import Device, find

import tilec
from tilec.errors import CompileError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def modules() -> list[str]:
    """Returns the examples that declare cases."""
    return sorted(file.stem for file in EXAMPLES.glob("*.py") if "\nCASES = " in file.read_text())


def kernels(case: Case, target: str, backend: str) -> list[Callable[..., Any]]:
    """Returns the programs of a case that fit the target, compiled."""
    found: list[Callable[..., Any]] = []
    for program in case.programs:
        try:
            found.append(tilec.compile(program(), target=target, backend=backend, **case.options))
        except CompileError as error:
            print(f"{case.name}: {error}", file=sys.stderr)
    return found


def sets_for(bytes_of_one: int, cache: int, is_cold: bool) -> int:
    """Returns how many sets of arguments keep a call from finding any of its own in a cache.

    >>> sets_for(10, 100, True), sets_for(300, 100, True), sets_for(10, 100, False)
    (21, 2, 1)
    """
    return max(2, 2 * cache // max(bytes_of_one, 1) + 1) if is_cold else 1


def race(contenders: dict[str, Callable[[], float]], rounds: int, pause: float = 0.0) -> dict[str, list[float]]:
    """Returns a time of each contender for each round; the order within a round is drawn anew.

    - `contenders`: functions that run something, and return how long it took.
    - `pause`: seconds to be idle before each, for power and temperature to settle.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = random.Random(0)
    for _ in range(rounds):
        for name in order.sample(list(contenders), len(contenders)):
            time.sleep(pause)
            times[name].append(contenders[name]())
    return times


def fastest(timers: Sequence[Callable[[], float]], rounds: int = 5) -> int:
    """Returns the number of the timer with the least median, measured in turn."""
    times = race({str(i): timer for i, timer in enumerate(timers)}, rounds)
    return min(range(len(timers)), key=lambda i: float(np.median(times[str(i)])))


def measure(
    case: Case, device: Device, backends: Sequence[str], is_cold: bool, rounds: int, pause: float
) -> report.Row:
    """Measures one case: ours by each backend, and its peers."""
    arrays = case.inputs(np.random.default_rng())
    size = sum(array.nbytes for array in arrays)
    sets = [device.place(arrays) for _ in range(sets_for(size, device.cache, is_cold))]
    outputs = device.place([poisoned(*output) for output in case.outputs])
    timers: dict[str, Callable[[], float]] = {}
    chosen: dict[str, int] = {}
    for backend in backends:
        choices = [
            device.timer([lambda given=given, kernel=kernel: kernel(*given, *outputs) for given in sets])
            for kernel in kernels(case, device.target, backend)
        ]
        if choices:
            chosen[backend] = fastest(choices)
            timers[backend] = choices[chosen[backend]]
    differs: dict[str, float] = {}
    for name, peer in device.peers(case).items():
        found = peer(*sets[0])
        differs[name] = device.difference(outputs, found if isinstance(found, tuple) else (found,))
        timers[name] = device.timer([lambda given=given, peer=peer: peer(*given) for given in sets])
    times = race(timers, rounds, pause)
    return report.Row(
        case=case.name,
        l2="cold" if is_cold else "warm",
        times=times,
        ours=[backend for backend in backends if backend in timers],
        chosen=chosen,
        differs=differs,
        bytes=case.bytes,
        flop=case.flop,
        clocks=device.clocks(),
    )


def main(arguments: Sequence[str] | None = None) -> list[report.Row]:
    """Measures, prints a table, and writes what is asked for; see the head of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="examples; all of them by default")
    parser.add_argument("--target", default="auto", help="a chip, such as sm_90 on a GPU that is an sm_90a")
    parser.add_argument("--backend", nargs="+", default=["auto"], help="such as nvptx and nvrtc, to compare them")
    parser.add_argument("--l2", choices=["cold", "warm", "both"], default="both")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to be idle before each sample")
    parser.add_argument("--cases", help="only those whose name contains this")
    parser.add_argument("--json", type=Path, help="where to write all samples")
    parser.add_argument("--plot", type=Path, help="where to draw the ratios, as .png or .svg")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(modules())
    if unknown:
        parser.error(f"no examples with cases are {', '.join(sorted(unknown))}; there are {', '.join(modules())}")

    device = find(options.target)
    rows: list[report.Row] = []
    for name in options.names or modules():
        module = importlib.import_module(name)
        for case in module.CHECKED:
            case.check(target=device.target)
        for case in getattr(module, device.cases):
            if options.cases and options.cases not in case.name:
                continue
            for is_cold in {"cold": [True], "warm": [False], "both": [True, False]}[
                options.l2 if device.cache else "warm"
            ]:
                rows.append(measure(case, device, options.backend, is_cold, options.rounds, options.pause))
                print(report.line(rows[-1]), flush=True)
    print(f"\n{device.name}\n\n{report.table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(report.as_json(device.name, rows), indent=1))
    if options.plot:
        report.plot(rows, options.plot)
    return rows


if __name__ == "__main__":
    main()
