"""Assertions on a GPU that have failed and that nobody was told of (docs/Printing.md).

A call of a kernel does not wait for it. What fails is noted in memory of the host, and found by who waits for the GPU,
or calls the kernel again.
"""

from __future__ import annotations

import weakref

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    class Notes(Protocol):
        """What kernels of a function have noted."""

        def tell(self, device: int | None) -> None:
            """Raises the first assertion that failed on a GPU, which has nothing to do, or on any of them."""
            ...


noted: weakref.WeakSet[Notes] = weakref.WeakSet()
"""The functions with assertions that were called on a GPU."""


def tell_failures(device: int | None = None) -> None:
    """Raises the first assertion that failed on a GPU, which is known to have done its work, or on any of them.

    Others are raised by the next call.
    """
    for notes in tuple(noted):
        notes.tell(device)


def synchronize(device: int = 0) -> None:
    """Waits for a GPU, and raises a `DeviceAssertError` if an assertion failed there that nobody was told of."""
    from . import _tl

    _tl.cuda_synchronize(device)
    tell_failures(device)
