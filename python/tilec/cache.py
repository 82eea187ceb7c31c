"""The cache of compiled kernels: where it is, what it holds, what it has done.

Its format and its guarantees are the compiler's; `tl-cache` is the tool for more.
"""

from __future__ import annotations

import os
import time
from contextvars import ContextVar

from . import env, log
from .errors import CacheError, Diagnostic, NotCachedError
from .once import Lock
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextvars import Token
    from typing import Any

    from . import _tl

_disabled = False
_is_configured = False
_guard = Lock()
_imported = time.time()


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
    """Makes this process compile everything and store nothing. What it compiled before stays in use."""
    global _disabled
    _disabled = True


_required = ContextVar("tilec.never_compile", default=False)


class never_compile:
    """Forbids to compile: `with tilec.never_compile(): ...`. What is not in the cache is a `NotCachedError` at once,
    which names the kernel and what differs from the nearest one that is there.

    It holds for this thread, and for what it starts meanwhile with `compile_async` and `par_compile`.
    `TL_NEVER_COMPILE` forbids it to a process and its children. Kernels that the process has are used; tuned functions
    run from results, as if `frozen`.
    """

    def __init__(self) -> None:
        self._before: list[Token[bool]] = []

    def __enter__(self) -> None:
        self._before.append(_required.set(True))

    def __exit__(self, *_: object) -> None:
        _required.reset(self._before.pop())


def is_required() -> bool:
    """Whether what is not in the cache is an error."""
    return _required.get() or env.is_compiling_forbidden()


def missing(name: str, why: str | Sequence[Diagnostic]) -> NotCachedError:
    """Returns the error that a function is not in the cache."""
    return NotCachedError(
        f"`{name}` is not in the cache, and `never_compile` forbids to compile it; compile it beforehand, as "
        f"`python -m tilec.warm` does",
        [Diagnostic("note", why)] if isinstance(why, str) else why,
    )


def prepare() -> str:
    """Returns the directory, to look up and store in, with the servers that share it.

    The first time it does what `TL_CLEAR_CACHE` asks for.
    """
    place = _place()
    if "TL_CLEAR_CACHE" in os.environ:
        with _guard:
            if env.take_clear_cache():
                _clear_as_asked()
    return place


def configure() -> None:
    """Has the compiler's library read the bounds and servers of the environment, which count when a cache is first
    opened."""
    global _is_configured
    from . import _tl

    if not _is_configured:
        with _guard:
            if not _is_configured and (trouble := _tl.cache_use_environment()):
                log.warning(trouble)
            _is_configured = True


def _place() -> str:
    """Returns the directory, to look up in."""
    configure()
    return directory()


def _clear_as_asked() -> None:
    """Removes what was stored before this process started; what its siblings have made since is theirs too."""
    from . import _tl

    try:
        _tl.cache_remove_where(_place(), None, False, _process_start())
    except (CacheError, OSError) as error:
        log.warning(f"`TL_CLEAR_CACHE`: the cache `{directory()}` is not cleared: {error}")
    else:
        log.info(f"cleared the cache `{directory()}`, because `TL_CLEAR_CACHE` is set")


def _process_start() -> str:
    """Returns when this process started, in the form of the entries' times; at the latest, when we were imported."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])  # field 22 of proc(5)
        started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        started = _imported
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(started))}.{int(started % 1 * 1e6):06}Z"


def fetch(
    components: Mapping[str, str | bytes],
    make: Callable[[], tuple[dict[str, bytes], dict[str, Any]]],
    read: Callable[[Callable[[str], bytes | None]], object] | None = None,
) -> _tl.Entry:
    """Returns the entry of a key: the stored one, or what `make` makes, which is then stored.

    Of all threads and processes that ask at once one makes it. What `make` raises is raised here.

    - `components`: what the entry depends on, by name. All of it is in the key, and `tl-cache explain` names what
      differs between two keys. `use` says that a GPU executes the files ("device"), `host_code` that the host
      does, and so who may have made them (docs/security.md); without these they are data.
    - `make`: returns the files and the metadata, an object of JSON.
    - `read`: reads an entry that was found, by a function that returns the bytes of a file, all that will be used of
      it; anyone may have made it. What it raises an exception for is a miss, and is kept nowhere.
    """
    import json

    from . import _tl

    def checked() -> tuple[dict[str, bytes], str]:
        files, metadata = make()
        return files, json.dumps(metadata)

    entry = _tl.cache_fetch(prepare(), dict(components), checked, read)
    assert entry is not None, "it was made, or an error was raised"
    return entry


def lookup(
    components: Mapping[str, str | bytes], read: Callable[[Callable[[str], bytes | None]], object] | None = None
) -> _tl.Entry | None:
    """Returns the entry of a key, or None if there is none that can be read."""
    from . import _tl

    return _tl.cache_fetch(prepare(), dict(components), None, read)


def explain_miss(components: Mapping[str, str | bytes]) -> str:
    """Says why there is no entry of a key: in what the nearest differs."""
    from . import _tl

    return _tl.cache_explain_miss(prepare(), dict(components))


def entries() -> list[dict[str, Any]]:
    """Returns what is on disk: for each entry its key, directory, size, files, and what the key was made of."""
    import json

    from . import _tl

    return json.loads(_tl.cache_list(_place())) if os.path.isdir(directory()) else []


def stats() -> dict[str, Any]:
    """Returns what this process did with the cache, and what is on disk.

    - `hits`, `misses`: kernels that the cache had and had not.
    - `compiled`, `failed`: of the misses, those for which a pass ran (the others were there by stages), and those that
      have errors.
    - `bytes`: what was read; `seconds_saved`: how long it took to make, once, what was found.
    - `lookup_seconds`: how long it took to find it.
    - `stages`: the same by stages of the pipeline, which are looked up for misses.
    - `functions`, `reused`: functions that this process holds ready, and how often it was asked for one of them again.
    - `entries_on_disk`, `bytes_on_disk`: None if the directory cannot be read.
    """
    import json

    from . import _tl, backends

    on_disk: dict[str, Any] = {"entries": 0, "bytes": 0}
    if os.path.isdir(directory()):
        try:
            on_disk = json.loads(_tl.cache_totals(_place()))
        except CacheError:
            on_disk = {"entries": None, "bytes": None}
    caches = [backend.kernels for backend in backends.known()]
    return {
        **json.loads(_tl.cache_counters()),
        "functions": sum(map(len, caches)),
        "reused": sum(c.reused for c in caches),
        "entries_on_disk": on_disk["entries"],
        "bytes_on_disk": on_disk["bytes"],
    }


TUNING = "tuning"
"""The `kind` in the metadata of a tuner's record; other entries have another, or none."""


def clear(*, memory: bool = True, kernels: bool = True, tuning: bool = True) -> None:
    """Forgets what was compiled and tuned. By default all of it, but never what other machines share.

    - `memory`: what this process keeps; functions in use live on.
    - `kernels`: the kernels in the directory, and what backends built of them.
    - `tuning`: the tuner's records in the directory.

    Other processes may use the directory meanwhile: each has all of an entry, or compiles it again.
    """
    from . import _tl, backends

    if memory:
        for backend in backends.known():
            backend.kernels.forget()
        _tl.cache_forget()
    if not os.path.isdir(directory()):
        return
    if tuning:
        _tl.cache_clear_races(_place())
    if kernels and tuning:
        _tl.cache_clear(_place())
    elif kernels or tuning:
        _tl.cache_remove_where(_place(), TUNING, tuning, None)
