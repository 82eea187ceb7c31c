"""A line on the terminal that says how far tuning is; nothing where nobody watches."""

from __future__ import annotations

import sys
import threading
import time


class Progress:
    """Counts the steps of a phase: "tuning gemm: measuring 37/96, best 0.123 ms"."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = sys.stderr.isatty()
        self._phase, self._done, self._total = "", 0, 0
        self._best = ""
        self._drawn = 0.0
        self._lock = threading.Lock()

    def begin(self, phase: str, total: int) -> None:
        self._phase, self._done, self._total = phase, 0, total
        self._draw(now=True)

    def step(self, best: float | None = None) -> None:
        with self._lock:
            self._done += 1
            if best is not None:
                self._best = f", best {best:.4g} ms"
            self._draw(now=self._done == self._total)

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self, *, now: bool) -> None:
        if not self._shown or (not now and time.monotonic() - self._drawn < 0.1):
            return
        self._drawn = time.monotonic()
        text = f"tuning {self._name}: {self._phase} {self._done}/{self._total}{self._best}"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
