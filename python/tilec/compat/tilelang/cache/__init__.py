"""`tilelang.cache`: whether compiled kernels are kept, and dropping them."""

from __future__ import annotations

from .... import cache as _cache
from ..env import disable_cache as disable_cache
from ..env import enable_cache as enable_cache
from ..env import is_cache_enabled as is_cache_enabled
from ..jit import compile as cached

__all__ = ["cached", "clear_cache", "disable_cache", "enable_cache", "is_cache_enabled"]


def clear_cache() -> None:
    """Removes all kernels that are kept."""
    _cache.clear()
