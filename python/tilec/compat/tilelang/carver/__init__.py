"""`tilelang.carver`: what it knows of chips. Its templates schedule TVM's programs, and are not here."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.carver.{name}")
