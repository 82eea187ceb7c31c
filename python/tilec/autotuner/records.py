"""What tuning found out, and where it is kept.

A `Record` says how one configuration did; a choice says which was best. Both are JSON in the cache's directory, each
with a digest of itself: one that is damaged, or lacks something, is as good as none. A journal holds what a race has
measured so far, so that a process that is killed takes nothing with it.
"""

from __future__ import annotations

import contextlib
import json
import os

from .. import cache
from ..typed import TYPE_CHECKING, cast
from .identity import digest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

FORMAT = 1
"""Part of every key: records of another format are not found."""

FAILURES = ("invalid", "uncompilable", "timeout", "crashed", "failed", "wrong")
"""What can become of a configuration, besides "ok": no program; no kernel; too slow to wait for; its process died; an
error at a run; wrong results."""


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
        self.key = key

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"

    def to_json(self) -> dict[str, Any]:
        kept = ("status", "reason", "checked", "samples", "kernels", "device")
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
        if not all(isinstance(s, int | float) and 0 < s < float("inf") for s in samples):
            return None
        if (found["status"] == "ok") != bool(samples):
            return None
        fields = ("reason", "checked", "kernels", "device")
        if any(not isinstance(found.get(n), t) for n, t in zip(fields, (str, bool, list, dict), strict=True)):
            return None
        if config is None:
            own = found.get("config")
            if not isinstance(own, dict):
                return None
            config = cast("dict[str, Any]", own)
        taken: list[float] = [float(s) for s in samples]
        return Record(config, found["status"], samples=taken, key=key, **{name: found[name] for name in fields})

    def __repr__(self) -> str:
        outcome = (
            f"{self.latency:.4g} ms [{self.low:.4g}, {self.high:.4g}]"
            if self.is_ok
            else f"{self.status}: {self.reason}"
        )
        return f"<{self.config}: {outcome}>"


def jsonable(value: Any) -> Any:
    """Returns a configuration as JSON has it; what JSON lacks becomes text."""
    return json.loads(json.dumps(value, default=str))


class Store:
    """Records on disk, or nowhere if the cache is off."""

    def __init__(self) -> None:
        self._directory = os.path.join(cache.directory(), "autotune", f"v{FORMAT}") if cache.is_enabled() else None

    def load(self, key: str) -> Any:
        """Returns what was saved, or None."""
        if self._directory is None:
            return None
        try:
            with open(self._path(key), encoding="utf-8") as file:
                found = json.load(file)
            body = found["body"]
            return body if found["digest"] == digest(_text(body)) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, key: str, body: Any) -> None:
        """Saves, in place of what was there; failing to costs time later, and no more."""
        if self._directory is None:
            return
        import tempfile

        text = json.dumps({"body": body, "digest": digest(_text(body))}, sort_keys=True, indent=1)
        try:
            os.makedirs(os.path.dirname(self._path(key)), exist_ok=True)
            handle, name = tempfile.mkstemp(dir=os.path.dirname(self._path(key)))
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, self._path(key))
        except OSError as error:
            _warn(f"tuning results cannot be kept: {error}")

    def bodies(self) -> Iterator[dict[str, Any]]:
        """Yields all that is saved and whole."""
        if self._directory is None or not os.path.isdir(self._directory):
            return
        for _, _, files in sorted(os.walk(self._directory)):
            for name in sorted(files):
                if name.endswith(".json") and isinstance(body := self.load(name.removesuffix(".json")), dict):
                    yield cast("dict[str, Any]", body)

    @contextlib.contextmanager
    def lock(self, key: str) -> Generator[None]:
        """Lets one process at a time tune for a key; the lock goes with the process."""
        if self._directory is None:
            yield
            return
        import fcntl

        try:
            os.makedirs(self._directory, exist_ok=True)
            handle = open(os.path.join(self._directory, f"{key}.lock"), "w")  # noqa: SIM115
        except OSError:
            yield
            return
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("another process tunes the same kernel; waiting for it")
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError:
                pass  # a file system without locks: both measure
            yield

    def journal(self, key: str) -> Journal:
        return Journal(os.path.join(self._directory, f"{key}.journal") if self._directory else None)

    def _path(self, key: str) -> str:
        assert self._directory is not None, "the store is on disk"
        return os.path.join(self._directory, key[:2], f"{key}.json")


class Journal:
    """Samples of a race that is not over, one line each time."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._known = self._read()

    def _read(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        try:
            with open(self._path or os.devnull, encoding="utf-8") as file:
                for line in file:
                    with contextlib.suppress(ValueError, TypeError):  # the last may be torn
                        key, samples = json.loads(line)
                        found.setdefault(str(key), []).extend(float(s) for s in samples)
        except OSError:
            pass
        return found

    def samples(self, key: str) -> list[float]:
        """Returns what an earlier process measured for a record."""
        return self._known.get(key, [])

    def add(self, key: str, samples: list[float]) -> None:
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps([key, samples]) + "\n")

    def remove(self) -> None:
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


def clear(directory: str) -> None:
    """Removes all records of a cache's directory."""
    import shutil

    shutil.rmtree(os.path.join(directory, "autotune"), ignore_errors=True)


def _text(body: Any) -> str:
    return json.dumps(body, sort_keys=True)


def _say(text: str) -> None:
    import logging

    logging.getLogger("tilec.autotuner").info(text)


def _warn(text: str) -> None:
    import logging

    logging.getLogger("tilec.autotuner").warning(text)
