"""What tuning found out, and where it is kept.

A `Record` says how one configuration did; a choice says which was best. Both are entries of the cache, which shares
them and knows when they are damaged; one that lacks something is as good as none. A journal holds what a race has
measured so far, so that a process that is killed takes nothing with it.
"""

from __future__ import annotations

import contextlib
import json
import time

from .. import _tl, cache, log
from ..errors import CacheError
from ..typed import TYPE_CHECKING, cast
from ..untrusted import MAX_BYTES, read_json, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import Any

FORMAT = 1
"""Part of every key: records of another format are not found."""

FAILURES = ("invalid", "uncompilable", "timeout", "crashed", "failed", "wrong")
"""What can become of a configuration, besides "ok": no program; no kernel; too slow to wait for; its process died; an
error at a run; wrong results."""


MAX_SAMPLES = 100_000
MAX_NAME = 4096
MAX_VERSIONS = 64
"""How often a record is replaced at most: who looks for the last asks for each. All are no longer than one may be."""
MAX_SECONDS = 5.0
"""How long all versions of a record are looked for: each may take long to read."""
MAX_LINES = 100_000
"""Of a journal. A race of a thousand configurations has a fifth of that."""


class Record:
    """How one configuration did."""

    def __init__(
        self,
        config: dict[str, Any],
        status: str,
        reason: str = "",
        *,
        checked: bool = False,
        samples: list[float] | None = None,
        kernels: list[str] | None = None,
        device: dict[str, Any] | None = None,
        patience: float | None = None,
        key: str = "",
    ) -> None:
        from ..profiler import interval, median

        self.config = config
        self.status = status
        self.reason = reason
        self.checked = checked
        """Whether its results were compared with a reference's."""
        self.samples = samples or []
        """Milliseconds."""
        self.latency = median(self.samples) if self.samples else float("inf")
        self.low, self.high = interval(self.samples)
        """Where the median is, with a probability of 95 %."""
        self.kernels = kernels or []
        """The keys of its kernels in the cache."""
        self.device = device or {}
        self.patience = patience
        """For a timeout, the seconds that it was waited for."""
        self.key = key

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"

    def to_json(self) -> dict[str, Any]:
        kept = ("status", "reason", "checked", "samples", "kernels", "device", "patience")
        return {"config": jsonable(self.config), **{name: getattr(self, name) for name in kept}}

    @staticmethod
    def from_json(data: Any, config: dict[str, Any] | None, key: str) -> Record | None:
        """Returns the record, of its own configuration unless one is given, or None if something is missing or makes no
        sense."""
        if not isinstance(data, dict):
            return None
        found = cast("dict[str, Any]", data)
        if found.get("status") not in ("ok", *FAILURES) or not isinstance(found.get("samples"), list):
            return None
        samples: list[Any] = found["samples"]
        if len(samples) > MAX_SAMPLES or not all(_is_latency(s) for s in samples):
            return None
        if (found["status"] == "ok") != bool(samples):
            return None
        fields: dict[str, Any] = {
            "reason": str,
            "checked": bool,
            "kernels": list,
            "device": dict,
            "patience": float if found["status"] == "timeout" else None,
        }
        if any(not isinstance(found.get(n), t or type(None)) for n, t in fields.items()):
            return None
        if config is None:
            own = found.get("config")
            if not isinstance(own, dict):
                return None
            config = cast("dict[str, Any]", own)
        found["reason"] = shown(found["reason"], keep_lines=True)
        if not all(isinstance(k, str) and len(k) <= MAX_NAME for k in found["kernels"]):
            return None
        taken: list[float] = [float(s) for s in samples]
        return Record(config, found["status"], samples=taken, key=key, **{name: found[name] for name in fields})

    def __repr__(self) -> str:
        outcome = (
            f"{self.latency:.4g} ms [{self.low:.4g}, {self.high:.4g}]"
            if self.is_ok
            else f"{self.status}: {self.reason}"
        )
        return f"<{self.config}: {outcome}>"


def _is_latency(value: object) -> bool:
    """Whether a number of JSON is one of milliseconds that somebody can have measured."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12


def jsonable(value: Any) -> Any:
    """Returns a configuration as JSON has it; what JSON lacks becomes text."""
    return json.loads(json.dumps(value, default=str))


class Store:
    """Records among the entries of the cache, in all its tiers; nowhere if the cache is off.

    Entries never change, since others may have them already. What replaces a record is another entry of the same key,
    its next version.
    """

    FILE = "tuning.json"

    def __init__(self) -> None:
        self._directory = cache.prepare() if cache.is_enabled() else None

    def load(self, key: str) -> Any:
        """Returns what was saved last, or None."""
        return next(iter(self.versions(key)), None)

    def versions(self, key: str) -> list[Any]:
        """Returns all that was saved for a key, the last first."""
        return [read_json(text) for text in reversed(self._texts(key))]

    def _texts(self, key: str) -> list[bytes]:
        """Returns the same as text, the first first."""
        found: list[bytes] = []
        if self._directory is None:
            return found

        def read(file: Callable[[str], bytes | None]) -> None:
            try:
                read_json(file(self.FILE) or b"")
            except ValueError as error:
                raise CacheError(f"is no result of tuning: {error}") from None

        # All of them are one lookup to who waits, and one record to who holds them.
        end, left = time.monotonic() + MAX_SECONDS, MAX_BYTES
        with contextlib.suppress(CacheError), _tl.CacheLookups():
            while len(found) < MAX_VERSIONS and time.monotonic() < end:
                entry = cache.lookup(_components(key, len(found)), read)
                text = b"" if entry is None else entry.file(self.FILE) or b""
                left -= len(text)
                if entry is None or left < 0:
                    break
                found.append(text)
        return found

    def save(self, key: str, body: Any) -> None:
        """Saves, in place of what was there; failing to costs time later, and no more."""
        if self._directory is None:
            return
        data = json.dumps(body, sort_keys=True, indent=1).encode()
        known = self._texts(key)
        if len(known) == MAX_VERSIONS or sum(map(len, known)) + len(data) > MAX_BYTES:
            log.warning(
                f"tuning results cannot be kept: they were replaced {len(known)} times; "
                f"`tilec.cache.clear(tuning=True)` makes room"
            )
            return
        try:
            cache.fetch(
                _components(key, len(known)), lambda: ({self.FILE: data}, {"kind": cache.TUNING, "tuning": key})
            )
        except CacheError as error:
            log.warning(f"tuning results cannot be kept: {shown(error)}")

    def bodies(self) -> Iterator[dict[str, Any]]:
        """Yields what was saved last for each key on this machine, if it is whole."""
        if self._directory is None:
            return
        listed = (json.loads(text) for text in _tl.cache_tunings(self._directory))
        end = time.monotonic() + MAX_SECONDS
        with _tl.CacheLookups():  # however many there are, they have the time of one lookup
            for key in {entry["tuning"] for entry in listed if entry["kind"] == cache.TUNING}:
                if time.monotonic() > end:
                    return
                if isinstance(body := self.load(key), dict):
                    yield cast("dict[str, Any]", body)

    @contextlib.contextmanager
    def lock(self, name: str, what: str) -> Generator[None]:
        """Lets one thread of one process at a time do what it says; the lock goes with the process.

        Where members of a group can hold it for ever, it is waited for in vain once, and not for long.
        """
        global _has_warned
        if self._directory is None:
            yield
            return
        lock = None
        try:
            lock = _tl.cache_lock_race(self._directory, name, 0)
            if lock is None:
                log.info(f"somebody else {what}; waiting for that")
                lock = _tl.cache_lock_race(self._directory, name, _DAY)
                if lock is None and not _has_warned:
                    _has_warned = True
                    log.warning(
                        f"another process has held a lock of the tuner's in `{self._directory}` for too long; what it "
                        f"does is done here too, and measurements may disturb each other"
                    )
        except CacheError:
            pass  # a place without locks: both do it
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def journal(self, key: str) -> Journal:
        return Journal(self._directory, key)


_DAY = 86_400_000
"""Milliseconds."""

_has_warned = False


def _components(key: str, version: int) -> dict[str, str | bytes]:
    return {"kind": cache.TUNING, "format": str(FORMAT), "tuning": key, "version": str(version)}


class Journal:
    """Samples of a race that is not over, one line each time."""

    def __init__(self, directory: str | None, name: str) -> None:
        self._directory = directory
        self._name = name
        self._known = self._read()

    def _read(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        if self._directory is None:
            return found
        try:
            lines = _tl.cache_read_journal(self._directory, self._name).split(b"\n", MAX_LINES)[:MAX_LINES]
        except CacheError:
            return found
        for line in lines:
            with contextlib.suppress(ValueError, TypeError):  # the last may be torn
                key, samples = read_json(line)
                if isinstance(samples, list) and all(_is_latency(s) for s in cast("list[Any]", samples)):
                    kept = found.setdefault(str(key), [])
                    kept += map(float, cast("list[Any]", samples)[: MAX_SAMPLES - len(kept)])
        return found

    def samples(self, key: str) -> list[float]:
        """Returns what an earlier process measured for a record."""
        return self._known.get(key, [])

    def add(self, key: str, samples: list[float]) -> None:
        if self._directory is None:
            return
        with contextlib.suppress(CacheError):
            _tl.cache_append_journal(self._directory, self._name, json.dumps([key, samples]) + "\n")

    def remove(self) -> None:
        if self._directory is not None:
            _tl.cache_remove_journal(self._directory, self._name)
