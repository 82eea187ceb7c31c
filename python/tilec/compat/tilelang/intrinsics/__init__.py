"""`tilelang.intrinsics`: what older programs call `tilelang.cuda.intrinsics`."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing
from ..cuda.intrinsics import get_swizzle_layout as get_swizzle_layout
from ..cuda.intrinsics import make_mma_swizzle_layout as make_mma_swizzle_layout

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.intrinsics.{name}", ("get_swizzle_layout", "make_mma_swizzle_layout"))
