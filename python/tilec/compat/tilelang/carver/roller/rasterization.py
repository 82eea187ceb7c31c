"""`tilelang.carver.roller.rasterization`: in which order blocks are to be started; `T.use_swizzle` does it."""

from __future__ import annotations


class Rasterization:
    """An order of blocks; `panel_width_` is how many rows or columns of the grid a panel has."""

    panel_width_: int | None = None

    def __init__(self, panel_width: int | None = None) -> None:
        self.panel_width_ = panel_width

    @property
    def panel_width(self) -> int | None:
        """How many rows or columns of the grid a panel has."""
        return self.panel_width_

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.panel_width_ or ''}>".replace(" >", ">")


class NoRasterization(Rasterization):
    """The order of the grid."""


class Rasterization2DRow(Rasterization):
    """Panels of rows."""


class Rasterization2DColumn(Rasterization):
    """Panels of columns."""
