"""Programs for TileLang by TileLang and by ours: `python python/benchmarks/same_text.py --programs FOLDER [WORD …]`.

The programs are those of a checkout or a source package of TileLang: its examples, run as scripts, and its tests. Each
runs in two processes of its own, with TileLang and with `tilec.compat.tilelang`, and with the same seeds (see
`text_worker.py`). Kernels are matched by their names, the tensors that they are given, and their order
(`text_rows.py`), and both are timed in turns on the arguments of their first calls: CUDA graphs of as many calls as
take 2 ms, warm L2, medians. While two are timed all other programs are halted; else as many run at once as `--pairs`
says.

Whether results are right the programs say themselves: what they raise is noted, and what they called until then is
timed. Rows are written as they are measured, so that a run that is stopped loses one row at most; `--table` makes the
summary of any number of such files.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import json
import math
import os
import queue
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

import text_rows
from text_rows import Called, Row
from text_worker import Task
from texts import Unit, chosen, units
from timing import race

SIDES = {"theirs": "theirs", "ours": "ours"}
"""What each side of a pair is run by."""

PATIENCE = 60.0
"""Seconds that a worker may take for an answer."""

START = 120.0
"""Seconds in which it must have imported what it needs: many do at once, and the first find it in no cache."""

GRACE = 10.0
"""Seconds that a program has to stop when its time is over; it is told each second."""

DRAIN = 0.05
"""Seconds for the GPU to finish what halted programs have launched."""

ROUNDS, MORE_ROUNDS = 5, 5
"""Turns of each kernel, and how many more where the samples of the first differ much."""

LONG, FEW_ROUNDS = 0.02, 3
"""Seconds of a call above which so many turns have to do."""

NOISY = 1.2
"""The greatest sample over the least, above which more are taken."""


class LostError(Exception):
    """A worker has ended, or does not answer."""


class OverError(Exception):
    """The whole run is over."""


class Gate:
    """Lets one pair have the GPU while the programs of all others are halted."""

    def __init__(self) -> None:
        self._timing = threading.Lock()
        self._known = threading.Lock()
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._halted = 0.0
        self._since: float | None = None

    @property
    def halted(self) -> float:
        """The seconds that programs were halted so far, which do not count for their limit."""
        since = self._since
        return self._halted + (time.monotonic() - since if since is not None else 0.0)

    def start(self, make: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
        """Starts a process, once nothing is timed."""
        with self._timing, self._known:
            process = make()
            self._running[process.pid] = process
            return process

    def leave(self, process: subprocess.Popen[str]) -> None:
        """Forgets a process that runs no program any more, and lets it go on if it is halted."""
        with self._known:
            if self._running.pop(process.pid, None) and process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def quiet(self) -> Generator[None]:
        """Halts all programs meanwhile; waits until nobody else does."""
        with self._timing:
            self._since = time.monotonic()
            self._signal(signal.SIGSTOP)
            try:
                time.sleep(DRAIN)
                yield
            finally:
                self._signal(signal.SIGCONT)
                self._halted += time.monotonic() - self._since
                self._since = None

    def _signal(self, number: int) -> None:
        with self._known:
            for process in self._running.values():
                if process.poll() is None:
                    os.kill(process.pid, number)


class Worker:
    """A process that runs a program, and then answers; see `text_worker.py`."""

    def __init__(self, task: Task, environment: dict[str, str], gate: Gate, over: Callable[[], bool]) -> None:
        self.gate, self.over = gate, over
        self.rest = b""
        place = Path(task.log).parent / f"{Path(task.log).stem}.files"
        place.mkdir(exist_ok=True)
        command = [
            sys.executable,
            str(Path(__file__).with_name("text_worker.py")),
            json.dumps(dataclasses.asdict(task)),
        ]
        with open(task.log, "a") as log:
            self.process = gate.start(
                lambda: subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=environment,
                    cwd=place,
                    start_new_session=True,
                )
            )
        self.begin = time.monotonic() - gate.halted

    @property
    def age(self) -> float:
        """The seconds since its start in which it was not halted."""
        return time.monotonic() - self.gate.halted - self.begin

    def finished(self, limit: float) -> dict[str, Any]:
        """Returns what it says when its program has ended; after `limit` seconds of that it is told to end it."""
        try:
            first = self.receive(lambda: self.age > START)
        except TimeoutError:
            raise LostError("it did not start") from None
        if "kernels" in first:  # it lacks what it must import
            return first
        self.begin += self.age
        try:
            return self.receive(lambda: self.age > limit)
        except TimeoutError:
            return self._told_to_end(limit)
        finally:
            self.gate.leave(self.process)

    def _told_to_end(self, limit: float) -> dict[str, Any]:
        for second in range(round(GRACE)):
            self.process.send_signal(signal.SIGUSR1)
            with contextlib.suppress(TimeoutError):
                return self.receive(lambda second=second: self.age > limit + second + 1)
        raise LostError("it took too long, and did not stop")

    def ask(self, **message: Any) -> dict[str, Any]:
        """Returns the answer to a message."""
        assert self.process.stdin
        begin = time.monotonic()
        try:
            print(json.dumps(message), file=self.process.stdin, flush=True)
            return self.receive(lambda: time.monotonic() - begin > PATIENCE)
        except TimeoutError:
            raise LostError("it does not answer") from None
        except BrokenPipeError:
            raise LostError(f"it died: {ended(self.process.wait())}") from None

    def receive(self, is_late: Callable[[], bool]) -> dict[str, Any]:
        """Returns the next line; raises `TimeoutError` when it is late."""
        assert self.process.stdout
        out = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            if self.over():
                raise OverError
            if is_late():
                raise TimeoutError
            if not select.select([out], [], [], 0.1)[0]:
                continue
            found = os.read(out, 1 << 16)
            if not found:
                raise LostError(f"it died: {ended(self.process.wait())}")
            self.rest += found
        text, _, self.rest = self.rest.partition(b"\n")
        return json.loads(text)

    def end(self) -> None:
        """Ends it and all that it has started."""
        self.gate.leave(self.process)
        for number in (signal.SIGKILL, signal.SIGCONT):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()


def ended(code: int) -> str:
    """Returns how a process has ended.

    >>> ended(-11), ended(3)
    ('SIGSEGV', 'exit code 3')
    """
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def measure(theirs: Worker, ours: Worker, numbers: tuple[int, int]) -> tuple[float, float, float, str]:
    """Returns the seconds of a kernel of both, how much samples differ, and whether graphs launched them."""
    pair = dict(zip(SIDES, zip((theirs, ours), numbers, strict=True), strict=True))
    said = {name: prepared(name, worker, number) for name, (worker, number) in pair.items()}
    refused = next((f"{name}: {one['graph'][4:]}" for name, one in said.items() if one["graph"] != "yes"), "")
    if refused:
        said = {name: prepared(name, worker, number, refused) for name, (worker, number) in pair.items()}
    is_long = any(one["seconds"] > LONG for one in said.values())
    timers = {name: functools.partial(sample, name, worker) for name, (worker, _) in pair.items()}
    times = race(timers, FEW_ROUNDS if is_long else ROUNDS)
    if not is_long and spread(times.values()) > NOISY:
        for name, more in race(timers, MORE_ROUNDS).items():
            times[name] += more
    medians = [statistics.median(each) for each in times.values()]
    return medians[0], medians[1], spread(times.values()), f"no: {refused}" if refused else "yes"


def prepared(name: str, worker: Worker, number: int, refused: str = "") -> dict[str, Any]:
    """Returns how a side will time a kernel, and the seconds that it takes about."""
    return answered(name, worker.ask(prepare=number, refused=refused))


def sample(name: str, worker: Worker) -> float:
    """Returns the seconds of a call."""
    return answered(name, worker.ask(sample=True))["seconds"]


def answered(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Returns an answer that is none that it failed."""
    if "error" in answer:
        raise RuntimeError(f"{name}: {answer['error']}")
    return answer


def spread(times: Any) -> float:
    """Returns the greatest sample over the least, of whichever varies more.

    >>> spread([[1.0, 1.5], [2.0, 2.0]])
    1.5
    """
    return max(max(each) / min(each) for each in times)


class Output:
    """The files of a run: rows, what went wrong, what programs printed that went wrong, and the summary."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.rows: list[Row] = []
        self.outcomes: Counter[str] = Counter()
        self.about: dict[str, str] = {}
        self._lock = threading.Lock()
        self._rows, self._problems, self._log = (
            (folder / name).open("w") for name in ("rows.tsv", "problems.tsv", "programs.log")
        )
        self._write(self._rows, "\t".join(text_rows.HEADER))

    def add(self, row: Row) -> None:
        with self._lock:
            self.rows.append(row)
            self._write(self._rows, text_rows.line(row))

    def problem(self, unit: str, side: str, what: str) -> None:
        with self._lock:
            self._write(self._problems, f"{unit}\t{side}\t{' '.join(what.split())}")

    def log(self, unit: str, side: str, file: Path, lines: int = 40) -> None:
        """Keeps the end of what a program printed."""
        text = file.read_text(errors="replace").splitlines()[-lines:] if file.exists() else []
        with self._lock:
            self._write(self._log, "\n".join([f"=== {unit}, {side}", *(line[:300] for line in text)]))

    def outcome(self, unit: str, what: str, seconds: float) -> None:
        with self._lock:
            self.outcomes[what] += 1
            print(f"{unit}: {what}, {seconds:.0f} s", flush=True)

    def summary(self, left_out: int) -> str:
        with self._lock:
            outcomes = {**self.outcomes, **({"left out": left_out} if left_out else {})}
            about = "".join(f"{name}: {words}\n" for name, words in sorted(self.about.items()))
            text = about + text_rows.summary(self.rows, outcomes)
        (self.folder / "summary.md").write_text(text + "\n")
        return text

    def _write(self, file: TextIO, text: str) -> None:
        print(text, file=file, flush=True)


class Run:
    """All programs; `options` are those of `main`."""

    def __init__(self, options: argparse.Namespace, output: Output, scratch: Path) -> None:
        self.options, self.output, self.scratch = options, output, scratch
        self.gate = Gate()
        self.end = time.monotonic() + options.seconds
        self.numbers = iter(range(sys.maxsize))
        self.starting = threading.Lock()

    def is_over(self) -> bool:
        return time.monotonic() >= self.end

    def all(self, wanted: Sequence[Unit]) -> int:
        """Runs programs, several at once, and then those alone that lacked memory; returns how many are left out."""
        again = self.some(wanted, self.options.pairs, is_last=False)
        left = self.some(again, 1, is_last=True) if not self.is_over() else again
        return len(left) + self.not_begun

    def some(self, wanted: Sequence[Unit], pairs: int, is_last: bool) -> list[Unit]:
        """Runs programs, so many at once, and returns those that are to run again."""
        waiting: queue.SimpleQueue[Unit] = queue.SimpleQueue()
        again: list[Unit] = []
        for unit in wanted:
            waiting.put(unit)

        def work() -> None:
            while not self.is_over():
                try:
                    unit = waiting.get_nowait()
                except queue.Empty:
                    return
                if not self.unit(unit, is_last):
                    again.append(unit)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(pairs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.not_begun = waiting.qsize()
        return again

    def unit(self, unit: Unit, is_last: bool) -> bool:
        """Runs a program on both sides and times its kernels; returns whether that is all that can be had of it."""
        begin = time.monotonic()
        with self.starting:
            number = next(self.numbers)
        logs = {name: self.scratch / f"{number}.{name}.log" for name in SIDES}
        workers: dict[str, Worker] = {}
        try:
            for name, side in SIDES.items():
                task = Task(
                    side, str(self.options.programs), unit.file, unit.test, self.options.device, str(logs[name])
                )
                workers[name] = Worker(task, self.environment(name), self.gate, self.is_over)
            with ThreadPoolExecutor(len(workers)) as pool:
                found = dict(zip(workers, pool.map(self.finished, workers.values()), strict=True))
            self.output.about |= {name: one["about"] for name, one in found.items() if "about" in one}
            if not is_last and any(
                "out of memory" in words.lower() for one in found.values() for words in one["failed"]
            ):
                return False
            for name, one in found.items():
                for words in one["failed"]:
                    self.output.problem(unit.name, name, words)
                if one["failed"]:
                    self.output.log(unit.name, name, logs[name])
            outcome = self.pairs(unit, workers, found)
        except OverError:
            return False
        except Exception as error:
            outcome = "went wrong here"
            self.output.problem(unit.name, "both", f"{type(error).__name__}: {error}")
        finally:
            for worker in workers.values():
                worker.end()
        self.output.outcome(unit.name, outcome, time.monotonic() - begin)
        return True

    def finished(self, worker: Worker) -> dict[str, Any]:
        try:
            return worker.finished(self.options.limit)
        except LostError as error:
            return {"kernels": [], "failed": [str(error)]}
        finally:
            self.gate.leave(worker.process)

    def pairs(self, unit: Unit, workers: dict[str, Worker], found: dict[str, dict[str, Any]]) -> str:
        """Times the kernels that both called, and returns what became of the program."""
        theirs, ours = ([Called(**kernel) for kernel in found[name]["kernels"]] for name in SIDES)
        numbers, said = text_rows.matched(theirs, ours)
        for words in said:
            self.output.problem(unit.name, "kernels", words)
        failed = [name for name in SIDES if found[name]["failed"]]
        note = "; ".join(f"{name}: {found[name]['failed'][0][:160]}" for name in failed)
        timed = 0
        with self.gate.quiet() if numbers else contextlib.nullcontext():
            for pair in numbers:
                kernel = theirs[pair[0]]
                try:
                    row = measure(*workers.values(), pair)
                except (RuntimeError, LostError) as error:
                    self.output.problem(unit.name, "timing", f"{kernel.name} {kernel.tensors}: {error}")
                    if isinstance(error, LostError):
                        break
                    continue
                self.output.add(Row(unit.name, kernel.name, kernel.tensors, *row, note))
                timed += 1
        how = f"failed in {' and '.join(failed)}" if failed else "ran in both"
        return f"{how}, {'timed' if timed else 'nothing timed'}"

    def environment(self, name: str) -> dict[str, str]:
        """Returns the environment of a worker: caches of this run, and few threads of the host."""
        caches = {f"{one}_CACHE_DIR": str(self.scratch / f"cache-{name}") for one in ("TILELANG", "TL")}
        return {**os.environ, **caches, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "2"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is asked for; see the head of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("words", nargs="*", help="parts of the names of programs; the usual ones by default")
    parser.add_argument("--programs", type=Path, help="TileLang's source: the folder with its `examples` and `testing`")
    parser.add_argument("--list", action="store_true", help="print the names of the programs, and run none")
    parser.add_argument("--from", dest="start", type=int, default=0, metavar="N", help="the first of the list to run")
    parser.add_argument("--step", type=int, default=1, metavar="K", help="run each K-th of the list")
    parser.add_argument("--pairs", type=int, default=max(1, (os.cpu_count() or 1) * 3 // 4), help="programs at once")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a program may take")
    parser.add_argument("--seconds", type=float, default=math.inf, help="when to end, whatever is left")
    parser.add_argument("--out", type=Path, default=Path("same_text"), help="the folder for what is found")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="whose kernels are timed")
    parser.add_argument("--table", type=Path, nargs="+", help="print the summary of such files, and run nothing")
    options = parser.parse_args(arguments)
    if options.table:
        print(text_rows.summary(text_rows.read(options.table)))
        return
    if options.programs is None:
        parser.error("`--programs` must say where the programs are")
    options.programs = options.programs.resolve()
    wanted = chosen(units(options.programs), options.words, options.start, options.step)
    if options.list:
        print("\n".join(unit.name for unit in wanted))
        return
    output = Output(options.out)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        run = Run(options, output, Path(scratch))
        signal.signal(signal.SIGTERM, lambda *_: setattr(run, "end", 0.0))
        left_out = run.all(wanted)
    print(f"\n{output.summary(left_out)}", flush=True)


if __name__ == "__main__":
    main()
