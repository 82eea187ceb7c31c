"""A line on the terminal that says how far tuning is; nothing where nobody watches."""

from __future__ import annotations

import sys
import threading
import time


class Progress:
    """Counts what is done: "tuning gemm: 96 of 96 compiled, 37 measured, best 0.123 ms"."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = sys.stderr.isatty()
        self._compiled, self._measured, self._total = 0, 0, 0
        self._best = ""
        self._drawn = 0.0
        self._lock = threading.Lock()

    def begin(self, count: int) -> None:
        """There are so many configurations more."""
        with self._lock:
            self._total += count
            self._draw(now=True)

    def compiled(self) -> None:
        with self._lock:
            self._compiled += 1
            self._draw(now=self._compiled == self._total)

    def measured(self, best: float | None) -> None:
        with self._lock:
            self._measured += 1
            if best is not None:
                self._best = f", best {best:.4g} ms"
            self._draw(now=self._measured == self._total)

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self, *, now: bool) -> None:
        if not self._shown or (not now and time.monotonic() - self._drawn < 0.1):
            return
        self._drawn = time.monotonic()
        text = f"tuning {self._name}: {self._compiled} of {self._total} compiled, {self._measured} measured{self._best}"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
