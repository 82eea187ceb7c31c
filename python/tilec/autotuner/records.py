"""What tuning found out, and where it is kept.

A `Record` says how one configuration did; a choice says which was best. Both are entries of the cache, which shares
them and knows when they are damaged; one that lacks something is as good as none. A journal holds what a race has
measured so far, so that a process that is killed takes nothing with it.
"""

from __future__ import annotations

import contextlib
import json
import os

from .. import cache, log
from ..errors import CacheError
from ..typed import TYPE_CHECKING, cast

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
        if not all(isinstance(s, int | float) and 0 < s < float("inf") for s in samples):
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
        """Returns all that was saved for a key, the last first; None for what cannot be read."""
        found: list[Any] = []
        if self._directory is None:
            return found
        with contextlib.suppress(CacheError):
            while (entry := cache.lookup(_components(key, len(found)))) is not None:
                try:
                    found.append(json.loads(entry.file(self.FILE) or b"null"))
                except ValueError:
                    found.append(None)
        return found[::-1]

    def save(self, key: str, body: Any) -> None:
        """Saves, in place of what was there; failing to costs time later, and no more."""
        if self._directory is None:
            return
        data = json.dumps(body, sort_keys=True, indent=1).encode()
        components = _components(key, len(self.versions(key)))
        try:
            cache.fetch(components, lambda: ({self.FILE: data}, {"kind": cache.TUNING, "tuning": key}))
        except CacheError as error:
            log.warning(f"tuning results cannot be kept: {error}")

    def bodies(self) -> Iterator[dict[str, Any]]:
        """Yields what was saved last for each key on this machine, if it is whole."""
        if self._directory is None:
            return
        metadata = (entry["metadata"] for entry in cache.entries())
        for key in {m.get("tuning", "") for m in metadata if m.get("kind") == cache.TUNING}:
            if isinstance(body := self.load(key), dict):
                yield cast("dict[str, Any]", body)

    @contextlib.contextmanager
    def lock(self, name: str, what: str) -> Generator[None]:
        """Lets one thread of one process at a time do what it says; the lock goes with the process."""
        if self._directory is None:
            yield
            return
        import fcntl

        try:
            os.makedirs(self._races, exist_ok=True)
            handle = open(os.path.join(self._races, f"{name}.lock"), "w")  # noqa: SIM115
        except OSError:
            yield
            return
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                log.info(f"somebody else {what}; waiting for that")
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError:
                pass  # a file system without locks: both do it
            yield

    def journal(self, key: str) -> Journal:
        return Journal(os.path.join(self._races, f"{key}.journal") if self._directory is not None else None)

    @property
    def _races(self) -> str:
        """What belongs to races that are being held, on this machine alone."""
        return os.path.join(self._directory or "", "races")


def _components(key: str, version: int) -> dict[str, str | bytes]:
    return {"kind": cache.TUNING, "format": str(FORMAT), "tuning": key, "version": str(version)}


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
    """Removes what is left of races in a cache's directory."""
    import shutil

    shutil.rmtree(os.path.join(directory, "races"), ignore_errors=True)
