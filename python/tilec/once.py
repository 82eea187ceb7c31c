"""Tables whose entries are made once, however many threads ask for them at the same time."""

from __future__ import annotations

import threading

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any


class OnceTable:
    """A table of things that are costly to make. Threads that want the same one wait for the first of them."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._pending: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._made)

    def find(self, key: Hashable) -> Any:
        """Returns what was made for a key, or None."""
        return self._made.get(key)

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Returns what was made for a key, made now if it was not. Failures are not kept."""
        found = self._made.get(key)
        if found is not None:
            return found
        with self._guard:
            pending = self._pending.setdefault(key, threading.Lock())
        with pending:
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = make()
        with self._guard:
            self._pending.pop(key, None)
        return found

    def clear(self) -> None:
        """Forgets everything that was made."""
        with self._guard:
            self._made.clear()
