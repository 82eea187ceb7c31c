"""How contenders are timed: in turns, for long enough, and all of a race in the same way."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

SPAN = 5e-3
"""Seconds that each sample takes at least, for events and the first launch not to show."""

CAPTURED = 5e-3
"""Seconds of a call below which graphs launch it: what the host needs for its launches could show."""


class Clock(Protocol):
    """What timing needs of a device."""

    def between(self, run: Callable[[], Any]) -> float: ...
    def capture(self, run: Callable[[], Any]) -> Callable[[], Any]: ...


Calls = Sequence[Callable[[], Any]]
Timer = Callable[[], float]


def race(contenders: Mapping[str, Timer], rounds: int, pause: float = 0.0) -> dict[str, list[float]]:
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


def fastest(timers: Mapping[str, Timer], rounds: int = 5) -> str:
    """Returns the name of the timer with the least median, measured in turn."""
    times = race(timers, rounds)
    return min(timers, key=lambda name: float(np.median(times[name])))


def runnable(clock: Clock, contenders: Mapping[str, Calls], notes: list[str]) -> dict[str, float]:
    """Returns the seconds of a call of each contender that works, launched by the host; notes the others.

    They are the least of five samples, as the first may load code, and any may wait for the host.
    """
    seconds: dict[str, float] = {}
    for name, calls in contenders.items():
        try:
            _all(calls)()
            seconds[name] = min(clock.between(_all(calls)) for _ in range(5)) / len(calls)
        except RuntimeError as error:
            notes.append(f"{name}: {brief(error)}")
    return seconds


def timers(
    clock: Clock,
    contenders: Mapping[str, Calls],
    seconds: Mapping[str, float],
    *,
    span: float = SPAN,
    most: int | None = None,
    refused: str = "",
) -> tuple[dict[str, Timer], str]:
    """Returns a function for each contender that returns the seconds of a call, and whether graphs launch them.

    Either graphs launch all contenders or none, so that what the host needs counts for all or for none. None do where
    every call is long, or where one cannot be captured, for instance as it waits for the GPU.

    - `contenders`: calls that make one sample together, each with arguments of its own.
    - `seconds`: what `runnable` said.
    - `span`: seconds that each sample takes at least, unless that took more than `most` repetitions.
    - `refused`: why graphs must not launch them, if they must not: what is compared elsewhere cannot be captured.
    """
    if not seconds:
        return {}, "no"
    chosen: dict[str, Timer] = {}
    graph = f"no: {refused}" if refused else "yes"
    if min(seconds.values()) >= CAPTURED:
        graph = "no: every call is long"
    for name in seconds if graph == "yes" else ():
        try:
            chosen[name] = _captured(clock, contenders[name], span, most)
        except RuntimeError as error:
            graph = f"no: {name}: {brief(error)}"
            break
    if graph != "yes":
        chosen = {name: _launched(clock, contenders[name], each, span, most) for name, each in seconds.items()}
    return chosen, graph


def brief(error: BaseException) -> str:
    """Returns the first line of an error and its kind.

    >>> brief(RuntimeError("out of memory\\nat x"))
    'RuntimeError: out of memory'
    """
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def _all(calls: Calls) -> Callable[[], Any]:
    # Results are kept until all calls are made, so that an allocator cannot give all of them the same memory.
    return lambda: [call() for call in calls]


def _captured(clock: Clock, calls: Calls, span: float, most: int | None) -> Timer:
    """Returns the timer of a graph, of as many calls as a sample takes: between two graphs the device is idle."""
    once = clock.capture(_all(calls))
    once()
    seconds = min(clock.between(once) for _ in range(5))
    repeat = _repeats(seconds, span, most)
    run = clock.capture(_again(_all(calls), repeat))
    run()
    return lambda: clock.between(run) / (repeat * len(calls))


def _launched(clock: Clock, calls: Calls, seconds: float, span: float, most: int | None) -> Timer:
    """Returns the timer of calls that take so many seconds each, launched by the host."""
    repeat = _repeats(seconds * len(calls), span, most)
    run = _again(_all(calls), repeat)
    return lambda: clock.between(run) / (repeat * len(calls))


def _repeats(seconds: float, span: float, most: int | None) -> int:
    enough = max(1, math.ceil(span / max(seconds, 1e-7)))
    return enough if most is None else min(enough, most)


def _again(run: Callable[[], Any], repeat: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(repeat):
            run()

    return repeated
