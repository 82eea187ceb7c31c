"""`tilelang.env`: the environment variables that programs read and set, and what they mean here."""

from __future__ import annotations

import os

from ... import cache as _cache
from ... import env as _env
from ...typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["CacheState", "Environment", "disable_cache", "enable_cache", "env", "is_cache_enabled"]

VARIABLES = {
    "TL_CACHE_DIR": "TILELANG_CACHE_DIR",
    "TL_DISABLE_CACHE": "TILELANG_DISABLE_CACHE",
    "TL_VERBOSE": "TILELANG_VERBOSE",
}
"""Variables of ours, and what TileLang calls them. `target()` and `backend()` of `options.py` read two more."""

KNOWN = frozenset({*VARIABLES.values(), "TILELANG_DEFAULT_TARGET", "TILELANG_EXECUTION_BACKEND"})
"""The variables that have a meaning here."""

_env.add_names(VARIABLES)

enable_cache, disable_cache, is_cache_enabled = _cache.enable, _cache.disable, _cache.is_enabled


def without_effect() -> list[str]:
    """Returns the variables of TileLang's that are set and have no counterpart."""
    return sorted(n for n in os.environ if n.startswith("TILELANG_") and n not in KNOWN)


class CacheState:
    """Whether compiled kernels are kept, for the process."""

    enable, disable, is_enabled = map(staticmethod, (enable_cache, disable_cache, is_cache_enabled))


class Environment:
    """The variables as attributes: `env.TILELANG_CACHE_DIR`. Those that were not set have TileLang's defaults."""

    _DEFAULTS = {  # noqa: RUF012
        "TILELANG_PRINT_ON_COMPILATION": "1",
        "TILELANG_CLEANUP_TEMP_FILES": "1",
        "TILELANG_DEFAULT_TARGET": "auto",
        "TILELANG_EXECUTION_BACKEND": "auto",
    }

    enable_cache, disable_cache, is_cache_enabled = map(staticmethod, (enable_cache, disable_cache, is_cache_enabled))

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
        os.environ[name] = str(value)
        for ours in [ours for ours, theirs in VARIABLES.items() if theirs == name]:
            os.environ.pop(ours, None)  # which would go before it

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
