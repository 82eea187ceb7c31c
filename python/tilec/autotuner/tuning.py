"""Tuning: from a list of configurations to the best of them.

Every configuration is traced here and compiled elsewhere. Those whose kernels have a record are done; the others race,
and get one. The choice among all is kept too, so that the next process looks up one thing and traces one program.
"""

from __future__ import annotations

import json
import queue
import threading

from .. import cache, log, parallel
from ..errors import ArgumentError, DTypeError, RankError, ShapeError, TLError, TuningError
from ..typed import TYPE_CHECKING, cast
from . import choice
from . import configs as configurations
from .identity import canonical, digest, fingerprint, key_of, place
from .records import FORMAT, Record, Store, jsonable
from .result import AutotuneResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from .configs import Config
    from .executors import Executor
    from .problem import Problem
    from .processes import Failure
    from .race import Entry
    from .supplier import Supplier
    from .worker import Job, Settings


def tune(problem: Problem) -> AutotuneResult:
    """Returns the best configuration: from the records if they say, else by measuring."""
    store = Store()
    if found := choice.known(problem, store):
        return found
    if problem.profile.is_frozen:
        raise TuningError(choice.missing(problem, store))
    with store.lock(problem.key, "tunes the same kernel"):
        return choice.known(problem, store) or Tuning(problem, store).run()


_PASSING = ("OUT_OF_MEMORY", "SIGKILL", "SIGTERM")
"""What a failure that may not happen another time says: memory was short, or somebody ended the process."""


class Candidate:
    """A configuration on its way to a record."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.job: Job | None = None
        self.fallback_key = ""
        """Of its record if there are no kernels."""
        self.compiled: dict[str, Any] | None = None
        self.record: Record | None = None
        self.mistake: Exception | None = None
        """Why it makes no program."""


class Tuning:
    """One run: traces, compiles, looks up, races, chooses."""

    def __init__(self, problem: Problem, store: Store) -> None:
        from .progress import Progress

        self._problem = problem
        self._store = store
        self._profile = problem.profile
        self._journal = store.journal(problem.key)
        self._progress = Progress(problem.name)
        self._records: dict[str, Record] = {}
        self._best: float | None = None
        self._stopped = False
        """Whether what is not compiled yet shall not be."""

    def run(self) -> AutotuneResult:
        import tempfile

        from .search import make
        from .supplier import Supplier
        from .tensors import TensorFile

        candidates = configurations.prune(
            self._problem.candidates,
            self._profile.prune_configs_by,
            self._problem.named,
            self._problem.name,
            self._problem.estimate,
        )
        search = make(self._profile.search, candidates, self._profile.trials)
        file = TensorFile()
        scratch = None if cache.is_enabled() else tempfile.TemporaryDirectory(prefix="tilec-cache-")
        environment = {
            "TL_CACHE_DIR": cache.directory() if scratch is None else scratch.name,
            "TL_DISABLE_CACHE": "",
        }
        profile = self._profile
        supplier = Supplier(
            file,
            self._problem.given,
            profile.supply_type,
            profile.supply_prog,
            profile.ref_prog,
            device=self._problem.devices[0],
            share=profile.cache_input_tensors,
        )
        done: list[Candidate] = []
        try:
            while batch := search.ask():
                tried = [Candidate(config) for config in batch]
                self._evaluate(tried, supplier, environment, len(done))
                search.tell([cast("Record", c.record) for c in tried])
                done += tried
        finally:
            self._progress.end()
            file.close()
            if scratch is not None:
                scratch.cleanup()
        result = self._choose(done, supplier.ref_latency)
        self._journal.remove()
        return result

    # Candidates ------------------------------------------------------------------------------------------------------

    def _evaluate(
        self, candidates: list[Candidate], supplier: Supplier, environment: Mapping[str, str], first: int
    ) -> None:
        """Gives every candidate a record. What is compiled is checked while others are; what is right then races."""
        self._progress.begin(len(candidates))
        jobs: queue.SimpleQueue[Candidate | None] = queue.SimpleQueue()
        compiled: queue.SimpleQueue[Candidate | None] = queue.SimpleQueue()
        count = min(self._profile.workers or parallel.processors(), len(candidates))
        threads = [
            threading.Thread(target=self._compile_all, args=(jobs, compiled, environment), daemon=True)
            for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        try:
            for number, candidate in enumerate(candidates, first):
                if self._trace(candidate, number):
                    jobs.put(candidate)
                else:
                    self._progress.compiled()
            for _ in threads:
                jobs.put(None)
            self._measure(_until_all_end(compiled, count), supplier, environment)
        finally:
            self._stopped = True
            for _ in threads:
                jobs.put(None)
            for thread in threads:
                thread.join()
            self._stopped = False

    def _trace(self, candidate: Candidate, number: int) -> bool:
        """Makes a candidate's program; returns whether it has to be compiled."""
        from ..compiler import output_indices
        from .processes import pickled
        from .worker import Job

        try:
            function, out_idx = self._problem.trace(candidate.config)
            outputs = output_indices(function, out_idx)
        except Exception as error:
            reason = error.message if isinstance(error, TLError) else f"{type(error).__name__}: {error}"
            candidate.record = Record(candidate.config, "invalid", reason)
            candidate.mistake = error
            log.info(f"`{self._problem.name}` with {candidate.config} makes no program: {reason}")
            return False
        options = configurations.options(candidate.config, self._problem.options)
        hook = candidate.config.get(configurations.RESERVED, {}).get("postproc") or self._problem.postproc
        candidate.job = Job(number, function, outputs, {**options, "verbose": False, "postproc": None})
        written = ", ".join(f"{name}={value}" for name, value in candidate.config.items())
        candidate.job.label = f"{self._problem.name}: {written}"
        candidate.job.postproc = pickled(hook, "postproc", self._problem.name) if hook else None
        named = canonical({n: v for n, v in options.items() if n != "postproc"})
        parts = [function.whole_text(), named, fingerprint(hook), self._problem.components["compiler"]]
        candidate.fallback_key = digest(json.dumps(parts))
        candidate.record = self._load(candidate.fallback_key, candidate.config)
        return candidate.record is None

    def _compile_all(
        self,
        jobs: queue.SimpleQueue[Candidate | None],
        compiled: queue.SimpleQueue[Candidate | None],
        environment: Mapping[str, str],
    ) -> None:
        """Compiles candidates in a process of this thread's, until there are no more; says so with None."""
        from .processes import Failure, Worker

        worker = Worker(environment)
        try:
            while (candidate := jobs.get()) is not None and not self._stopped:
                try:
                    candidate.compiled = worker.call("compile", candidate.job, timeout=self._profile.timeout)
                    compiled.put(candidate)
                except Failure as failure:
                    candidate.record = self._failed(candidate, failure, candidate.fallback_key)
                except Exception as error:  # no process could be had, or the program cannot be sent to one
                    failure = Failure("failed", f"it cannot be compiled in another process: {error}")
                    candidate.record = self._failed(candidate, failure, "")
                self._progress.compiled()
        finally:
            compiled.put(None)
            worker.kill()

    def _failed(self, candidate: Candidate, failure: Failure, key: str) -> Record:
        record = Record(
            candidate.config,
            failure.status,
            failure.reason,
            device=self._problem.device_identity,
            patience=float(self._profile.timeout) if failure.status == "timeout" else None,
            key=key,
        )
        log.info(f"`{self._problem.name}` with {candidate.config} is out, {record.status}: {record.reason}")
        is_lasting = self._problem.is_certain or record.status != "wrong"
        if key and is_lasting and not any(cause in record.reason for cause in _PASSING):
            self._store.save(key, record.to_json())
        return record

    def _load(self, key: str, config: Config) -> Record | None:
        """Returns a record as that of a configuration, which may be another's that has the same kernels."""
        known = self._records.get(key)
        found = Record.from_json(known.to_json() if known else self._store.load(key), config, key)
        if found is not None and found.patience is not None and found.patience < self._profile.timeout:
            return None  # what took too long then may be waited for now
        return found

    # Races -----------------------------------------------------------------------------------------------------------

    def _record_key(self, candidate: Candidate, supplier: Supplier) -> str:
        """Returns what a measurement depends on: the kernels, how they are launched and with what, where, how long."""
        assert candidate.job is not None, "it was traced"
        assert candidate.compiled is not None, "it was compiled"
        components = {
            "format": FORMAT,
            "kernels": candidate.compiled["kernels"],
            "plan": candidate.compiled["plan"],
            "inputs": supplier.describe(candidate.job.function, candidate.job.outputs),
            "device": self._problem.device_identity,
            "profile": self._profile.identity(),
        }
        return key_of(components)

    def _measure(self, candidates: Iterable[Candidate], supplier: Supplier, environment: Mapping[str, str]) -> None:
        """Measures candidates as they are compiled; of those with the same kernels, one."""
        waiting: list[tuple[Candidate, str]] = []
        racing: dict[int, tuple[Candidate, str]] = {}
        keys: set[str] = set()

        def entries() -> Iterator[Entry]:
            from .race import Entry

            for candidate in candidates:
                key = self._record_key(candidate, supplier)
                known = self._load(key, candidate.config)
                if known is not None and self._holds(known, key):
                    candidate.record = known
                    self._progress.measured(self._best)
                elif key in keys:
                    waiting.append((candidate, key))
                else:
                    job = cast("Job", candidate.job)
                    job.arguments = supplier.arguments(job.function, job.outputs, job.number)
                    racing[job.number] = candidate, key
                    keys.add(key)
                    yield Entry(job, known.samples if known is not None else self._journal.samples(key))

        def finished(entry: Entry) -> None:
            candidate, key = racing[entry.job.number]
            candidate.record = self._records[key] = self._finish(candidate, entry, key)
            self._progress.measured(self._best)

        def measured(entry: Entry, samples: list[float]) -> None:
            self._journal.add(racing[entry.job.number][1], samples)

        self._executor(environment, measured).run(entries(), finished)
        for candidate, key in waiting:
            candidate.record = self._load(key, candidate.config)

    def _holds(self, record: Record, key: str) -> bool:
        """Whether what a record says of results holds for this reference; that of how long they took does."""
        return key in self._records or self._problem.is_certain or record.status not in ("ok", "wrong")

    def _finish(self, candidate: Candidate, entry: Entry, key: str) -> Record:
        if entry.failure is not None:
            return self._failed(candidate, entry.failure, key)
        record = Record(
            candidate.config,
            "ok",
            checked=self._profile.is_checked,
            samples=entry.samples,
            kernels=cast("dict[str, Any]", candidate.compiled)["kernels"],
            device=self._problem.device_identity,
            key=key,
        )
        if self._problem.is_certain or self._store.load(key) is None:
            self._store.save(key, {**record.to_json(), "checked": record.checked and self._problem.is_certain})
        self._best = min(record.latency, self._best or record.latency)
        log.info(f"`{self._problem.name}` with {candidate.config} takes {record.latency:.4g} ms")
        return record

    def _executor(self, environment: Mapping[str, str], measured: Callable[[Entry, list[float]], None]) -> Executor:
        from .executors import LocalExecutor, RayExecutor
        from .race import Rules

        p = self._profile
        rules = Rules(
            warmup=p.warmup,
            rep=p.rep,
            timeout=p.timeout,
            early_stop=p.early_stop,
            early_stop_factor=p.early_stop_factor,
            manual_check=p.manual_check_prog,
        )
        if p.executor == "ray":
            return RayExecutor(self._settings, rules, is_cuda=self._problem.is_cuda)
        return LocalExecutor(self._problem.devices, self._settings, rules, environment, measured, self._alone_on)

    def _alone_on(self, number: int | None) -> AbstractContextManager[None]:
        """Keeps other tunings, of this process and others, from measuring on a device at the same time."""
        return self._store.lock(place(number), f"measures on {place(number)}")

    def _settings(self, number: int | None) -> Settings:
        import sys

        from .processes import pickled
        from .worker import Settings

        p = self._profile
        by_hand = p.manual_check_prog is not None
        return Settings(
            number,
            rtol=p.rtol,
            atol=p.atol,
            max_mismatched_ratio=1.0 if by_hand else p.max_mismatched_ratio,
            reset_to_zero=p.reset_to_zero,
            restore_value=p.restore_value,
            pre_hook=pickled(p.pre_hook, "pre_hook", self._problem.name) if p.pre_hook else None,
            use_torch="torch" in sys.modules,
            keep_outputs=by_hand,
        )

    # The choice ------------------------------------------------------------------------------------------------------

    def _choose(self, candidates: Sequence[Candidate], ref_latency: float | None) -> AutotuneResult:
        records = [cast("Record", candidate.record) for candidate in candidates]
        timed = [record for record in records if record.is_ok]
        if not timed:
            self._raise_common_mistake(candidates)
            reasons = "\n".join(f"  {r.config}: {r.status}: {r.reason}" for r in records[:10])
            more = f"\n  and {len(records) - 10} more" if len(records) > 10 else ""
            raise TuningError(f"no configuration of `{self._problem.name}` works:\n{reasons}{more}")
        best = min(timed, key=lambda record: record.latency)
        kernel = self._problem.build(best.config)
        if ref_latency is None:
            ref_latency = self._old_reference(records)
        checked = best.checked
        body = {
            "components": self._problem.components,
            "config": jsonable(best.config),
            "latency": best.latency,
            "ref_latency": ref_latency,
            "out_idx": list(kernel.outputs) if kernel.outputs is not None else None,
            "checked": checked and self._problem.is_certain,
            "shared": self._problem.shared,
            "patience": min((r.patience for r in records if r.patience is not None), default=None),
            "kernels": choice.kernel_keys(kernel),
            "records": [choice.listed(record) for record in records],
        }
        if self._problem.is_certain or self._store.load(self._problem.key) is None:
            self._store.save(self._problem.key, body)
        if self._problem.inputs is not None and self._store.load(self._problem.key_without_inputs) is None:
            self._store.save(self._problem.key_without_inputs, body)
        remark = "" if checked else ", unchecked"
        log.info(f"`{self._problem.name}` is fastest with {best.config}: {best.latency:.4g} ms{remark}")
        return AutotuneResult(
            self._problem.name,
            best.config,
            best.latency,
            ref_latency,
            kernel,
            lambda: records,
            choice=body,
            checked=checked,
            key=self._problem.key,
            from_cache=False,
        )

    @staticmethod
    def _raise_common_mistake(candidates: Sequence[Candidate]) -> None:
        """Raises what is wrong with the call, if that is why no configuration makes a program."""
        mistakes = [candidate.mistake for candidate in candidates]
        first = mistakes[0]
        if isinstance(first, ArgumentError | DTypeError | RankError | ShapeError) and all(
            type(mistake) is type(first) and str(mistake) == str(first) for mistake in mistakes
        ):
            raise first

    def _old_reference(self, records: Sequence[Record]) -> float | None:
        """Returns what an earlier choice among the same records says of the reference."""
        if self._profile.ref_prog is None:
            return None
        keys = {record.key for record in records if record.key}
        for body in self._store.bodies():
            latency = body.get("ref_latency")
            if isinstance(latency, float) and keys & choice.listed_keys(body):
                return latency
        return None


def _until_all_end(compiled: queue.SimpleQueue[Candidate | None], count: int) -> Iterator[Candidate]:
    """Yields what `count` threads put, each of which puts None when it ends."""
    while count > 0:
        candidate = compiled.get()
        if candidate is None:
            count -= 1
        else:
            yield candidate
