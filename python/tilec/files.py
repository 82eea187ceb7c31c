"""Files that a kernel was made from, and whether they are still what they were.

Sources and headers of CUDA C++ are read when a kernel is compiled. What is read then is looked at again whenever the
same kernel is asked for: by size and time, and by contents where those moved.
"""

from __future__ import annotations

import os
import time

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Stamp = tuple[int, int, int] | None

_TICK = 100_000_000
"""Nanoseconds within which a file may change again and keep its time."""

_MISSING = ""
"""The digest of a file that is not there."""


class FilesRead:
    """The files that one compilation looked at.

    - `digests`: the SHA-256 of each by its path, empty for one that was not there; None if not all are known.
    """

    def __init__(self, digests: Mapping[str, str] | None) -> None:
        self._digests = digests
        self._stamps: dict[str, Stamp] = {}
        """The stamps under which files were found unchanged."""

    def __bool__(self) -> bool:
        return self._digests is None or bool(self._digests)

    def is_current(self) -> bool:
        """Whether all files are what they were."""
        if not self._digests:
            return self._digests is not None
        return all(self._is_current(file, was) for file, was in self._digests.items())

    def _is_current(self, file: str, was: str) -> bool:
        stamp = _stamp(file)
        if file in self._stamps and self._stamps[file] == stamp:
            return True
        if _digest(file) != was:
            return False
        if stamp is None or time.time_ns() - stamp[1] > _TICK:
            self._stamps[file] = stamp
        return True


def _stamp(file: str) -> Stamp:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _digest(file: str) -> str:
    import hashlib

    try:
        with open(file, "rb") as contents:
            return hashlib.sha256(contents.read()).hexdigest()
    except OSError:
        return _MISSING
