"""`tilelang.cuda.target`: whether there is a GPU of NVIDIA."""

from __future__ import annotations

from .... import targets
from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any

__all__ = ["check_cuda_availability"]


def check_cuda_availability() -> bool:
    """Returns whether this machine has a GPU that kernels can run on."""
    return targets.gpu_chip() is not None


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.cuda.target.{name}", __all__)
