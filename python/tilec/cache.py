"""The cache of compiled kernels: where it is, what it holds, what it has done.

Its format and its guarantees are the compiler's; `tl-cache` is the tool for more.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from . import env

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


def stats() -> dict[str, Any]:
    """Returns this process's counters (hits, misses, compiled, …), and the files and bytes on disk."""
    from . import _tl

    files, size = disk_usage()
    return {**json.loads(_tl.cache_counters()), "files_on_disk": files, "bytes_on_disk": size}


def disk_usage() -> tuple[int, int]:
    """Returns the number of files in the directory, and their bytes."""
    files = size = 0
    for folder, _, names in os.walk(directory()):
        for name in names:
            try:
                size += os.stat(os.path.join(folder, name)).st_size
                files += 1
            except OSError:
                continue  # another process removed it
    return files, size


def clear() -> None:
    """Forgets all compiled kernels, on disk and in this process."""
    from . import compiler

    compiler.forget()
    root = directory()
    for name in os.listdir(root) if os.path.isdir(root) else ():
        if name.startswith("v") and name[1:].isdigit():  # a format version; whatever else lies there is not ours
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)
