"""The environment variables, all of them, read when they are needed.

A flag is off if it is empty, `0`, `false`, `no` or `off`, in whatever case, and on otherwise.

| variable               | meaning                                                                        |
|------------------------|--------------------------------------------------------------------------------|
| `TL_AUTOTUNE_FROZEN`   | a flag: tuned kernels run from results, and nothing is measured                |
| `TL_CACHE_DIR`         | where compiled kernels are kept; default `$XDG_CACHE_HOME/tilec`               |
| `TL_CLEAR_CACHE`       | a flag: the first use removes what the cache held before                       |
| `TL_DISABLE_CACHE`     | a flag: compile everything, store nothing                                      |
| `TL_EXECUTION_BACKEND` | the backend that `"auto"` stands for                                           |
| `TL_NEVER_COMPILE`     | a flag: what is not in the cache is an error; nothing is tuned                 |
| `TL_TARGET`            | the target that `"auto"` stands for                                            |
| `TL_VERBOSE`           | a flag: say what is compiled, and show remarks                                 |

Servers that share the cache; the compiler's library reads these, once, before it first uses the cache:

| variable                     | meaning                                                                  |
|------------------------------|--------------------------------------------------------------------------|
| `TL_CACHE_REMOTE`            | URLs, nearest first, separated by commas: `http://`, `https://`,         |
|                              | `redis://`, `rediss://`; with `?mode=ro` they are only read              |
| `TL_CACHE_TOKEN`             | a bearer token for HTTP                                                  |
| `TL_CACHE_USER`              | a user of HTTP or Redis                                                  |
| `TL_CACHE_PASSWORD`          | the user's password                                                      |
| `TL_CACHE_CA_FILE`           | certificates of whom to trust, instead of the system's                   |
| `TL_CACHE_KEY_FILE`          | the secret that signs entries                                            |
| `TL_CACHE_REQUIRE_SIGNATURE` | a flag: only signed entries are loaded                                   |
"""

from __future__ import annotations

import os

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from .reads import Guard


_OFF = frozenset(("", "0", "false", "no", "off"))


def _flag(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() not in _OFF


def cache_directory() -> str:
    """Returns where compiled kernels are kept."""
    if found := os.environ.get("TL_CACHE_DIR"):
        return os.path.abspath(os.path.expanduser(found))
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tilec")


def is_cache_disabled() -> bool:
    """Whether `TL_DISABLE_CACHE` is set."""
    return _flag("TL_DISABLE_CACHE")


def is_compiling_forbidden() -> bool:
    """Whether `TL_NEVER_COMPILE` is set."""
    return _flag("TL_NEVER_COMPILE")


def take_clear_cache() -> bool:
    """Whether `TL_CLEAR_CACHE` is set; unset by this, so that the processes that this one starts do not clear again."""
    wanted = _flag("TL_CLEAR_CACHE")
    os.environ.pop("TL_CLEAR_CACHE", None)
    return wanted


def is_autotune_frozen() -> bool:
    """Whether `TL_AUTOTUNE_FROZEN` is set."""
    return _flag("TL_AUTOTUNE_FROZEN")


def target() -> str | None:
    """Returns the target that `TL_TARGET` names, if any."""
    return os.environ.get("TL_TARGET") or None


def execution_backend() -> str | None:
    """Returns the backend that `TL_EXECUTION_BACKEND` names, if any."""
    return os.environ.get("TL_EXECUTION_BACKEND") or None


def guards() -> tuple[Guard, ...]:
    """Returns the places that say what "auto" stands for, and what they hold."""
    from .reads import guard

    environment: Any = os.environ
    names = ("TL_TARGET", "TL_EXECUTION_BACKEND")
    return tuple(guard(environment._data, environment.encodekey(name)) for name in names)


def is_verbose() -> bool:
    """Whether `TL_VERBOSE` is set."""
    return _flag("TL_VERBOSE")
