"""`tilelang.tools`: what looks at programs from outside. Ours are elsewhere; names say where."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.tools.{name}")
