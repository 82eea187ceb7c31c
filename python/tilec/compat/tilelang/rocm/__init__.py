"""`tilelang.rocm`: what programs ask before they choose for GPUs of AMD, of which there are none here."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.rocm.{name}")
