"""`tilelang.cuda`: layouts of `tilelang.cuda.intrinsics`. What writes instructions by hand is not there."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.cuda.{name}")
