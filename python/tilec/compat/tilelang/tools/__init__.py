"""`tilelang.tools`: what looks at programs from outside. Others are elsewhere here; names say where."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing
from .analyzer import AnalysisResult as AnalysisResult
from .analyzer import Analyzer as Analyzer
from .picture import plot_layout as plot_layout

if TYPE_CHECKING:
    from typing import Any

__all__ = ["AnalysisResult", "Analyzer", "plot_layout"]


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.tools.{name}", __all__)
