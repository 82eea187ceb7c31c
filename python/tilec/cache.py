"""The cache of compiled kernels: where it is, what it holds, what it has done.

Its format and its guarantees are the compiler's; `tl-cache` is the tool for more.
"""

from __future__ import annotations

import os

from . import env
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_disabled = False


def directory() -> str:
    """Returns the directory; it may not exist yet."""
    return env.cache_directory()


def is_enabled() -> bool:
    """Whether compiling looks up and stores kernels."""
    return not _disabled and not env.is_cache_disabled()


def enable() -> None:
    """Undoes `disable`; `TL_DISABLE_CACHE` stays in force."""
    global _disabled
    _disabled = False


def disable() -> None:
    """Makes this process compile everything and store nothing."""
    global _disabled
    _disabled = True


def entries() -> list[dict[str, Any]]:
    """Returns what is on disk: for each entry its key, directory, size, files, and what the key was made of."""
    import json

    from . import _tl

    return json.loads(_tl.cache_list(directory())) if os.path.isdir(directory()) else []


def stats() -> dict[str, Any]:
    """Returns this process's counters (hits, misses, compiled, …), and the entries and bytes on disk."""
    import json

    from . import _tl

    found = entries()
    return {
        **json.loads(_tl.cache_counters()),
        "entries_on_disk": len(found),
        "bytes_on_disk": sum(entry["size"] for entry in found),
    }


def clear() -> None:
    """Forgets all compiled kernels, on disk and in this process; kernels in use live on."""
    from . import _tl, compiler

    compiler.forget()
    if os.path.isdir(directory()):
        _tl.cache_clear(directory())
