"""Tables whose entries are made once, however many threads ask for them at the same time."""

from __future__ import annotations

import os
import threading
import weakref

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any


class Lock:
    """A lock that a thread may take several times, and that a forked child finds free unless its one thread has it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def after_fork(self) -> None:
        """Forgets a thread that did not come along."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_locks):
        lock.after_fork()


os.register_at_fork(after_in_child=_after_fork)


class OnceTable:
    """A table of things that are costly to make. Threads that want the same one wait for the first of them.

    - `is_current`: whether something that was made would be made the same again; what would not is forgotten.
    """

    def __init__(self, is_current: Callable[[Any], bool] | None = None) -> None:
        self._is_current = is_current
        self.reused = 0
        """How often the table had what was asked for."""
        self._made: dict[Hashable, Any] = {}
        self._pending: dict[Hashable, Lock] = {}
        self._guard = Lock()

    def __len__(self) -> int:
        return len(self._made)

    def find(self, key: Hashable) -> Any:
        """Returns what was made for a key, or None."""
        found = self._made.get(key)
        if found is None or self._is_current is None or self._is_current(found):
            return found
        with self._guard:
            if self._made.get(key) is found:
                del self._made[key]
        return None

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Returns what was made for a key, made now if it was not. Failures are not kept."""
        found = self.find(key)
        if found is not None:
            self.reused += 1
            return found
        with self._guard:
            pending = self._pending.setdefault(key, Lock())
        with pending:
            found = self.find(key)
            if found is None:
                found = self._made[key] = make()
            else:
                self.reused += 1
        with self._guard:
            self._pending.pop(key, None)
        return found

    def add(self, key: Hashable, made: Any) -> None:
        """Keeps something for another key too."""
        with self._guard:
            self._made.setdefault(key, made)

    def clear(self) -> None:
        """Forgets everything that was made."""
        with self._guard:
            self._made.clear()
            self.reused = 0
