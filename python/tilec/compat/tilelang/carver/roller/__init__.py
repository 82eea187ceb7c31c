"""`tilelang.carver.roller`: what hints are made of."""

from __future__ import annotations

from .hint import Hint as Hint
from .rasterization import NoRasterization as NoRasterization
from .rasterization import Rasterization as Rasterization
from .rasterization import Rasterization2DColumn as Rasterization2DColumn
from .rasterization import Rasterization2DRow as Rasterization2DRow

__all__ = ["Hint", "NoRasterization", "Rasterization", "Rasterization2DColumn", "Rasterization2DRow"]
