"""`tilelang.backend`: what stands behind names of targets."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.backend.{name}")
