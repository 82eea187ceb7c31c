"""Measuring configurations against one another.

They take turns of a few samples, in another order each round, so that a GPU that warms up or throttles treats all
alike. After every round those whose 95 % interval lies above that of the fastest are out (successive halving, by
evidence instead of by half).
"""

from __future__ import annotations

import random

from ..errors import TuningError
from ..profiler import interval, median
from ..typed import TYPE_CHECKING
from .processes import Failure, Worker
from .worker import Job, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

TURN = 5
"""Samples that a program takes at a time, and that a decision needs: five of one lie all above five of an equal one
once in 252 times. More at a time would share the clock that the GPU has then (docs/rationale/tuning-by-racing.md)."""

MOST_SAMPLES = 100


class Rules:
    """How long and how strictly to measure."""

    def __init__(
        self,
        *,
        warmup: float,
        rep: float,
        timeout: float,
        early_stop: bool,
        early_stop_factor: float,
        manual_check: Callable[[list[Any], list[Any]], Any] | None = None,
    ) -> None:
        self.warmup = warmup
        self.rep = rep
        self.timeout = timeout
        self.early_stop = early_stop
        self.early_stop_factor = early_stop_factor
        self.manual_check = manual_check


class Entry:
    """A configuration in a race."""

    def __init__(self, job: Job, samples: Sequence[float] = ()) -> None:
        self.job = job
        self.samples = list(samples)
        self.estimate = 0.0
        self.failure: Failure | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        return interval(self.samples)

    def goal(self, rules: Rules) -> int:
        """Returns how many samples are enough."""
        return max(TURN, min(MOST_SAMPLES, int(rules.rep / max(self.estimate, 1e-4))))


class Device:
    """Where programs run: a process that is replaced when a program broke it."""

    def __init__(self, settings: Settings, rules: Rules, environment: Mapping[str, str]) -> None:
        self._worker = Worker(environment)
        self._settings = settings
        self._rules = rules

    def check(self, job: Job) -> float:
        """Returns about how many milliseconds a program takes, once it has computed the right thing."""
        milliseconds, outputs = self._call("check", job)
        if self._rules.manual_check is not None and outputs is not None:
            self._check_by_hand(job, outputs)
        return milliseconds

    def samples(self, job: Job, warmup: int, count: int) -> list[float]:
        return self._call("samples", job, warmup, count)

    def _call(self, command: str, *arguments: Any) -> Any:
        if not self._worker.is_running:
            self._configure()
        return self._worker.call(command, *arguments, timeout=self._rules.timeout)

    def _configure(self) -> None:
        """Starts a process. If none can be had, no configuration is to blame."""
        try:
            self._worker.call("configure", self._settings, timeout=max(self._rules.timeout, 60.0))
        except Failure as failure:
            where = "the CPU" if self._settings.device is None else f"cuda:{self._settings.device}"
            self.close()
            raise TuningError(f"there is no process to measure in on {where}: {failure.reason}") from None

    def _check_by_hand(self, job: Job, outputs: list[Any]) -> None:
        from ..supply import from_storage

        assert self._rules.manual_check is not None, "there is a check"
        assert job.arguments is not None, "the job was given arguments"
        tensors = [
            [from_storage(f.read(), f.dtype, cuda=self._settings.device) for f in files]
            for files in (outputs, job.arguments.expected or [])
        ]
        try:
            verdict = self._rules.manual_check(*tensors)
        except AssertionError as error:
            raise Failure("wrong", f"`manual_check_prog` objects: {error}") from None
        if verdict is not None and not verdict:
            raise Failure("wrong", "`manual_check_prog` returns False")

    def close(self) -> None:
        self._worker.kill()


def race(
    entries: Iterable[Entry],
    device: Device,
    rules: Rules,
    *,
    measured: Callable[[Entry, list[float]], None],
    finished: Callable[[Entry], None],
) -> None:
    """Fills the entries' samples, or says why one has none.

    - `entries`: may take their time; each is checked as it comes, and the race begins with the last.
    - `measured` hears of new samples, `finished` of each entry that gets no more.
    """
    running = [entry for entry in entries if _passes(entry, device, finished)]
    order = random.Random(0)
    while running:
        for entry in order.sample(running, len(running)):
            if not _advance(entry, device, rules, measured):
                running.remove(entry)
                finished(entry)
        for entry in _out(running, rules):
            running.remove(entry)
            finished(entry)


def _passes(entry: Entry, device: Device, finished: Callable[[Entry], None]) -> bool:
    try:
        entry.estimate = device.check(entry.job)
    except Failure as failure:
        entry.failure = failure
        finished(entry)
        return False
    return True


def _advance(entry: Entry, device: Device, rules: Rules, measured: Callable[[Entry, list[float]], None]) -> bool:
    """Takes an entry's samples of one round; returns whether all went well."""
    count = min(TURN, entry.goal(rules) - len(entry.samples))
    if count <= 0:
        return True
    rounds = max(1, entry.goal(rules) // TURN)
    warmup = max(1, min(count, int(rules.warmup / max(entry.estimate, 1e-4) / rounds)))
    try:
        samples = device.samples(entry.job, warmup, count)
    except Failure as failure:
        entry.failure = failure
        entry.samples.clear()
        return False
    entry.samples += samples
    measured(entry, samples)
    return True


def _is_hopeless(entry: Entry, best: Entry, factor: float) -> bool:
    """Whether an entry takes `factor` times as long as the best, and that is no accident."""
    fastest = median(best.samples)
    return median(entry.samples) > factor * fastest and entry.bounds[0] > fastest


def _out(running: Sequence[Entry], rules: Rules) -> list[Entry]:
    """Returns the entries that need no more samples."""
    if not running:
        return []
    full = [entry for entry in running if len(entry.samples) >= entry.goal(rules)]
    if not rules.early_stop:
        return full
    best = min(running, key=lambda entry: median(entry.samples))
    limit = best.bounds[1]
    slow = [
        entry
        for entry in running
        if entry is not best and (entry.bounds[0] > limit or _is_hopeless(entry, best, rules.early_stop_factor))
    ]
    if len(slow) == len(running) - 1 and len(best.samples) >= 2 * TURN:
        return list(running)  # one is left, and nobody to compare it with
    return full if len(full) == len(running) else [entry for entry in running if entry in slow or entry in full]
