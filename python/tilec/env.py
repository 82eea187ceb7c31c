"""The environment variables, all of them, read when they are needed.

A flag is off if it is empty, `0`, `false`, `no` or `off`, in whatever case, and on otherwise.

| variable               | meaning                                                                        |
|------------------------|--------------------------------------------------------------------------------|
| `CUDA_LAUNCH_BLOCKING` | CUDA's own: with `1` calls of kernels that assert wait for the GPU               |
| `TL_AUTOTUNE_FROZEN`   | a flag: tuned kernels run from results, and nothing is measured                |
| `TL_CACHE_DIR`         | where compiled kernels are kept; default `$XDG_CACHE_HOME/tilec`               |
| `TL_CHECKS`            | a flag: programs are compiled with `checks=True`                               |
| `TL_CLEAR_CACHE`       | a flag: the first use removes what the cache held before                       |
| `TL_DISABLE_CACHE`     | a flag: compile everything, store nothing                                      |
| `TL_EXECUTION_BACKEND` | the backend that `"auto"` stands for                                           |
| `TL_NEVER_COMPILE`     | a flag: what is not in the cache is an error; nothing is tuned                 |
| `TL_PRINT_BYTES`       | how many bytes a call has at first for what it prints, such as `64M`; 16 MiB by default |
| `TL_SIM_CHECKS`        | a flag, on unless it is off: the simulator looks for races and other mistakes  |
| `TL_SIM_SEED`          | what decides the order of things in the simulator; default 0                   |
| `TL_TARGET`            | the target that `"auto"` stands for                                            |
| `TL_VERBOSE`           | a flag: say what is compiled, and show remarks                                 |

Servers that share the cache; the compiler's library reads these, once, before it first uses the cache:

| variable                     | meaning                                                                  |
|------------------------------|--------------------------------------------------------------------------|
| `TL_CACHE_REMOTE`            | URLs, nearest first, separated by commas: `http://`, `https://`,         |
|                              | `redis://`, `rediss://`; with `?mode=ro` they are only read              |
| `TL_CACHE_TOKEN`             | a bearer token for HTTP; for several hosts `host=token …`                |
| `TL_CACHE_USER`              | a user of HTTP or Redis                                                  |
| `TL_CACHE_PASSWORD`          | the user's password                                                      |
| `TL_CACHE_ALLOW_PLAINTEXT`   | a flag: send these over `http://` and `redis://` too      |
| `TL_CACHE_CA_FILE`           | certificates of whom to trust, instead of the system's                   |
| `TL_CACHE_KEY_FILE`          | the secret that signs entries; only signed ones are then loaded          |
| `TL_CACHE_ALLOW_UNSIGNED`    | a flag: use device code of unsigned entries               |
| `TL_CACHE_REQUIRE_SIGNATURE` | a flag: it is an error to have no key                     |
"""

from __future__ import annotations

import os

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .reads import Guard


_OFF = frozenset(("", "0", "false", "no", "off"))
SECRETS = ("TL_CACHE_TOKEN", "TL_CACHE_USER", "TL_CACHE_PASSWORD", "TL_CACHE_KEY_FILE")
"""What no other program gets to see."""

_PASSED_ON = frozenset(
    [
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_VISIBLE_DEVICES",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "NVIDIA_VISIBLE_DEVICES",
        "PATH",
        "PYTHONHOME",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
    ]
)
"""Not what adds options to a compiler's own (`CUTE_DSL_…`, `CPATH`): no key says so. `lib/Support/RunProgram.cpp` has
the same for programs of the compiler's library."""


def for_program() -> dict[str, str]:
    """Returns what another program needs of this process's environment: where things are, and the language."""
    return {name: value for name, value in os.environ.items() if name in _PASSED_ON}


def for_worker() -> tuple[dict[str, str], dict[str, str]]:
    """Returns the environment of a process that runs the user's own code, and the secrets that are taken out of it."""
    secrets = {name: os.environ[name] for name in SECRETS if name in os.environ}
    return {name: value for name, value in os.environ.items() if name not in secrets}, secrets


_other_names: dict[str, str] = {}
"""What variables are called by programs that were written for something else; they count where ours are not set."""


def add_names(names: Mapping[str, str]) -> None:
    """Gives variables of ours other names, too, from now on."""
    _other_names.update(names)


def _value(name: str) -> str:
    """Returns what a variable holds; empty if it is not set. `os.environ` takes many times as long to say the latter,
    and each compilation asks for several."""
    environment: Any = os.environ
    held = environment._data.get(name.encode())
    if held is None and name in _other_names:
        held = environment._data.get(_other_names[name].encode())
    return os.fsdecode(held) if held else ""


def _flag(name: str) -> bool:
    value = _value(name)
    return bool(value) and value.strip().lower() not in _OFF


def cache_directory() -> str:
    """Returns where compiled kernels are kept."""
    if found := _value("TL_CACHE_DIR"):
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
    return _value("TL_TARGET") or None


def execution_backend() -> str | None:
    """Returns the backend that `TL_EXECUTION_BACKEND` names, if any."""
    return _value("TL_EXECUTION_BACKEND") or None


def sim_seed() -> int:
    """Returns the number in `TL_SIM_SEED`, or 0."""
    text = os.environ.get("TL_SIM_SEED") or "0"
    if not text.isdecimal():
        from .errors import ConfigError

        raise ConfigError(f"`TL_SIM_SEED` is `{text}`, and is to be a number from 0 on")
    return int(text) % 2**64


def are_sim_checks_on() -> bool:
    """Whether `TL_SIM_CHECKS` is not off."""
    return "TL_SIM_CHECKS" not in os.environ or _flag("TL_SIM_CHECKS")


def do_launches_wait() -> bool:
    """Whether `CUDA_LAUNCH_BLOCKING` has the driver wait for each kernel."""
    return _flag("CUDA_LAUNCH_BLOCKING")


def print_bytes() -> int:
    """Returns how many bytes a call has at first for what it prints: the number in `TL_PRINT_BYTES`, or 16 MiB."""
    text = _value("TL_PRINT_BYTES") or "16MiB"
    from . import _tl

    if (size := _tl.parse_byte_count(text)) is None:
        from .errors import ConfigError

        raise ConfigError(f"`TL_PRINT_BYTES` is `{text}`, and is to be a number of bytes such as `64M`")
    return min(size, 1 << 33)


def guards() -> tuple[Guard, ...]:
    """Returns the places that say what `tilec.compile` does where it is not told, and what they hold."""
    from .reads import guard

    environment: Any = os.environ
    names = ("TL_TARGET", "TL_EXECUTION_BACKEND", "TL_CHECKS")
    return tuple(guard(environment._data, environment.encodekey(name)) for name in names)


def are_checks_on() -> bool:
    """Whether `TL_CHECKS` is set."""
    return _flag("TL_CHECKS")


def is_verbose() -> bool:
    """Whether `TL_VERBOSE` is set."""
    return _flag("TL_VERBOSE")
