"""Where races are held: on this machine's processors, or on the machines of a Ray cluster."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading

from ..errors import ConfigError, MissingPackageError
from ..typed import TYPE_CHECKING, cast
from .processes import Failure
from .race import Device, Entry, Rules, race
from .supplier import Arguments
from .tensors import StoredTensor, TensorFile
from .worker import Job, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    class Executor(Protocol):
        """Holds a race among entries, which it fills; they come as they are compiled."""

        def run(self, entries: Iterable[Entry], finished: Callable[[Entry], None]) -> None: ...


class LocalExecutor:
    """Races on the GPUs of this machine at once, or on its CPU.

    The best of several GPUs meet once more on the first of them, since two GPUs are never quite equally fast.
    """

    FINALISTS = 8

    def __init__(
        self,
        devices: Sequence[int | None],
        settings: Callable[[int | None], Settings],
        rules: Rules,
        environment: Mapping[str, str],
        measured: Callable[[Entry, list[float]], None],
        alone_on: Callable[[int | None], AbstractContextManager[None]],
    ) -> None:
        self._devices = list(devices)
        self._settings = settings
        self._rules = rules
        self._environment = environment
        self._measured = measured
        self._alone_on = alone_on

    def run(self, entries: Iterable[Entry], finished: Callable[[Entry], None]) -> None:
        if len(self._devices) == 1:
            self._race(entries, self._devices[0], finished)
            return
        guard = threading.Lock()
        late: list[Entry] = []

        def note(entry: Entry) -> None:
            with guard:
                late.append(entry)

        queues: list[queue.SimpleQueue[Entry | None]] = [queue.SimpleQueue() for _ in self._devices]
        ending = _in_threads(lambda i: self._race(iter(queues[i].get, None), self._devices[i], note), len(queues))
        try:
            for entry, own in zip(entries, itertools.cycle(queues)):
                own.put(entry)
        finally:
            for own in queues:
                own.put(None)
            ending()
        finalists = _leaders(late)[: self.FINALISTS]
        if len(finalists) > 1:
            for entry in finalists:
                entry.samples.clear()
            self._race(finalists, self._devices[0], lambda entry: None)
        for entry in late:
            finished(entry)

    def _race(self, entries: Iterable[Entry], number: int | None, finished: Callable[[Entry], None]) -> None:
        device = Device(self._settings(number), self._rules, self._environment)
        with self._alone_on(number), contextlib.closing(device):
            race(entries, device, self._rules, measured=self._measured, finished=finished)


def _leaders(entries: Sequence[Entry]) -> list[Entry]:
    """Returns the entries that may be the fastest, fastest first."""
    from ..profiler import median

    timed = sorted((e for e in entries if e.samples), key=lambda e: median(e.samples))
    return [e for e in timed if e.bounds[0] <= 1.02 * timed[0].bounds[1]]


def _in_threads(body: Callable[[int], None], count: int) -> Callable[[], None]:
    """Starts a function for 0 … count - 1; returns what waits for all, and raises what the first to fail raised."""
    errors: list[BaseException] = []

    def run(i: int) -> None:
        try:
            body(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()

    def wait() -> None:
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    return wait


class RayExecutor:
    """Races on the GPUs of a Ray cluster, as many at once as it has; on its CPUs for kernels of the CPU.

    Each machine compiles what it measures, or finds it in a cache that it shares with this one.
    """

    def __init__(self, settings: Callable[[int | None], Settings], rules: Rules, *, is_cuda: bool) -> None:
        try:
            import ray  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MissingPackageError('`executor="ray"` needs the package `ray`: `pip install ray`') from None
        self._ray: Any = ray
        self._settings = settings
        self._rules = rules
        self._is_cuda = is_cuda
        if not self._ray.is_initialized():
            self._ray.init(log_to_driver=False)
        resources = cast("dict[str, float]", self._ray.cluster_resources())
        self._count = int(resources.get("GPU", 0) if is_cuda else len(self._ray.nodes()))
        if self._count < 1:
            raise ConfigError("the Ray cluster has no GPU to measure on")

    def run(self, entries: Iterable[Entry], finished: Callable[[Entry], None]) -> None:
        entries = list(entries)
        if not entries:
            return
        remote = self._ray.remote(num_gpus=1 if self._is_cuda else 0, num_cpus=1)(_race_elsewhere)
        shards = [list(entries[i :: self._count]) for i in range(self._count)]
        settings = self._settings(0 if self._is_cuda else None)
        self._race(remote, settings, [shard for shard in shards if shard])
        finalists = _leaders(entries)[: LocalExecutor.FINALISTS]
        if len(finalists) > 1 and self._count > 1:
            for entry in finalists:
                entry.samples.clear()
            self._race(remote, settings, [finalists])
        for entry in entries:
            finished(entry)

    def _race(self, remote: Any, settings: Settings, shards: list[list[Entry]]) -> None:
        calls = [remote.remote([_packed(e) for e in shard], settings, self._rules) for shard in shards]
        for shard, outcomes in zip(shards, self._ray.get(calls), strict=True):
            for entry, (samples, failure) in zip(shard, outcomes, strict=True):
                entry.samples = samples
                entry.failure = Failure(*failure) if failure else None


def _packed(entry: Entry) -> Any:
    """Returns an entry with the contents of its tensors."""
    assert entry.job.arguments is not None, "the job was given arguments"
    a = entry.job.arguments
    tensors = [v for v in (*a.values, *(a.expected or ())) if isinstance(v, StoredTensor)]
    return entry.job, {t.place: (t.read().copy(), t.dtype, t.strides) for t in tensors}, entry.samples


def _race_elsewhere(packed: Sequence[Any], settings: Settings, rules: Rules) -> list[Any]:
    with contextlib.closing(TensorFile()) as file:
        stored: dict[Any, StoredTensor] = {}
        entries: list[Entry] = []
        for job, tensors, samples in packed:
            for place, tensor in tensors.items():
                if place not in stored:
                    stored[place] = file.add(*tensor)
            entries.append(Entry(_with_tensors(job, stored), samples))
        with contextlib.closing(Device(settings, rules, {})) as device:
            race(entries, device, rules, measured=lambda entry, samples: None, finished=lambda entry: None)
    return [(e.samples, (e.failure.status, e.failure.reason) if e.failure else None) for e in entries]


def _with_tensors(job: Job, stored: Mapping[Any, StoredTensor]) -> Job:
    assert job.arguments is not None, "the job was given arguments"
    old = job.arguments
    values = [stored[v.place] if isinstance(v, StoredTensor) else v for v in old.values]
    job.arguments = Arguments(values, [stored[t.place] for t in old.expected] if old.expected is not None else None)
    return job
