"""`tilelang.rocm.target`: whether kernels are for a GPU of AMD, which they never are here."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any

__all__ = ["check_hip_availability"]


def check_hip_availability() -> bool:
    """Returns False: there is no code here for GPUs of AMD, whatever the machine has."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.rocm.target.{name}", __all__)
