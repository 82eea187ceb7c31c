"""`tilelang.carver.arch.cdna`: GPUs of AMD, whose name programs import beside that of NVIDIA's."""

from __future__ import annotations

from .....errors import TargetError
from .....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class CDNA:
    """A GPU of AMD: none can be made."""

    platform = "CDNA"

    def __init__(self, target: Any = "hip") -> None:
        raise TargetError(f"`{target}` is for GPUs of AMD, and kernels here are for GPUs of NVIDIA and for CPUs")


def is_cdna_arch(arch: Any) -> bool:
    """Whether a chip is of AMD."""
    return isinstance(arch, CDNA)
