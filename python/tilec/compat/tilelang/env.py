"""`tilelang.env`: the environment variables that programs read and set, and what they mean here."""

from __future__ import annotations

import os
import warnings

from ... import cache as _cache
from ... import env as _env
from ...errors import IgnoredHintWarning, quoted
from ...typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["CacheState", "Environment", "disable_cache", "enable_cache", "env", "is_cache_enabled"]

VARIABLES = {
    "TILELANG_CACHE_DIR": "TL_CACHE_DIR",
    "TILELANG_DISABLE_CACHE": "TL_DISABLE_CACHE",
    "TILELANG_VERBOSE": "TL_VERBOSE",
}
"""The variables that are ours under other names. `target()` and `backend()` of `options.py` read two more."""

KNOWN = frozenset({*VARIABLES, "TILELANG_DEFAULT_TARGET", "TILELANG_EXECUTION_BACKEND"})
"""The variables that have a meaning here."""


def apply() -> None:
    """Gives our variables the values of TileLang's where they have none, and names those without a counterpart."""
    for theirs, ours in VARIABLES.items():
        if theirs in os.environ:
            os.environ.setdefault(ours, os.environ[theirs])
    others = sorted(n for n in os.environ if n.startswith("TILELANG_") and n not in KNOWN)
    if others:
        warnings.warn(f"no effect here has {quoted(others)} of the environment", IgnoredHintWarning, stacklevel=2)


class CacheState:
    """Whether compiled kernels are kept, for the process."""

    @classmethod
    def enable(cls) -> None:
        """Keeps them from now on."""
        _cache.enable()

    @classmethod
    def disable(cls) -> None:
        """Compiles every kernel from now on, and keeps none."""
        _cache.disable()

    @classmethod
    def is_enabled(cls) -> bool:
        """Whether they are kept."""
        return _cache.is_enabled()


class Environment:
    """The variables as attributes: `env.TILELANG_CACHE_DIR`. Those that were not set have TileLang's defaults."""

    _DEFAULTS = {  # noqa: RUF012
        "TILELANG_PRINT_ON_COMPILATION": "1",
        "TILELANG_CLEANUP_TEMP_FILES": "1",
        "TILELANG_DEFAULT_TARGET": "auto",
        "TILELANG_EXECUTION_BACKEND": "auto",
    }

    def __getattr__(self, name: str) -> Any:
        if name == "TILELANG_CACHE_DIR":
            return _env.cache_directory()
        if name == "CUDA_HOME":
            return os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
        if name.startswith("TILELANG_"):
            return os.environ.get(name, self._DEFAULTS.get(name, "0"))
        from .absent import missing

        raise missing(f"tilelang.env.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        os.environ[VARIABLES.get(name, name)] = str(value)

    def is_cache_enabled(self) -> bool:
        """Whether compiled kernels are kept."""
        return _cache.is_enabled()

    def enable_cache(self) -> None:
        """Keeps compiled kernels from now on."""
        _cache.enable()

    def disable_cache(self) -> None:
        """Compiles every kernel from now on, and keeps none."""
        _cache.disable()

    def is_cache_globally_disabled(self) -> bool:
        """Whether the environment forbids to keep kernels."""
        return _env.is_cache_disabled()

    def is_print_on_compilation_enabled(self) -> bool:
        """Whether compiling says so."""
        return self.TILELANG_PRINT_ON_COMPILATION.lower() in ("1", "true", "yes", "on")

    def get_default_target(self) -> str:
        """Returns the target of programs that name none."""
        return os.environ.get("TILELANG_DEFAULT_TARGET", "auto")

    def get_default_execution_backend(self) -> str:
        """Returns the execution backend of programs that name none."""
        return os.environ.get("TILELANG_EXECUTION_BACKEND", "auto")

    def get_default_verbose(self) -> bool:
        """Returns whether programs that say nothing of it want to be told what is done."""
        return _env.is_verbose()


env = Environment()


def enable_cache() -> None:
    """Keeps compiled kernels from now on."""
    _cache.enable()


def disable_cache() -> None:
    """Compiles every kernel from now on, and keeps none."""
    _cache.disable()


def is_cache_enabled() -> bool:
    """Whether compiled kernels are kept."""
    return _cache.is_enabled()
