"""`tilelang.cuda.intrinsics`: the layouts that programs give `T.annotate_layout`, or compute places by."""

from __future__ import annotations

from .....dtypes import dtype as _dtype
from .....errors import ShapeError
from .....language.layouts import Layout, make_linear_layout, make_swizzled_layout
from .....location import here
from .....typed import TYPE_CHECKING
from ...absent import missing

if TYPE_CHECKING:
    from typing import Any

__all__ = ["get_swizzle_layout", "make_mma_swizzle_layout"]

_UNIT = 128
"""Bits that change places together."""


def get_swizzle_layout(
    row_idx: Any, col_idx: Any, row_size: int, dtype: Any, swizzle_bytes: int | None = None
) -> tuple[Any, Any, Any]:
    """Returns where an element is in panels in which units of 16 bytes change places: the panel, the row, the column.

    - `row_idx`, `col_idx`: the element; integers, or numbers of a kernel.
    - `row_size`: elements of a row, which has a multiple of 32 bytes.
    - `dtype`: their type.
    - `swizzle_bytes`: bytes of a row of a panel, 32, 64 or 128; by default the most that a row fills.

    >>> get_swizzle_layout(1, 0, 64, "float16")
    (0, 1, 8)
    """
    bits = _dtype(dtype).bits
    size = row_size * bits // 8
    width = min(128, size) if swizzle_bytes is None else int(swizzle_bytes)
    if size % 32 or width not in (32, 64, 128):
        raise ShapeError(
            f"a swizzled row has a multiple of 32 bytes, and its panels 32, 64 or 128, not {size} and {width}",
            location=here(),
        )
    units, elements = width * 8 // _UNIT, _UNIT // bits
    unit = col_idx // elements
    moved = unit % units ^ row_idx % 8 // (8 // units)
    return unit // units, row_idx, moved * elements + col_idx % elements


def make_mma_swizzle_layout(shared_buf: Any, is_smooth: bool = False) -> Layout:
    """Returns a layout of a shared tile without bank conflicts; see `T.make_swizzled_layout`.

    - `is_smooth`: the plain layout instead.
    """
    return make_linear_layout(shared_buf) if is_smooth else make_swizzled_layout(shared_buf)


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.cuda.intrinsics.{name}", __all__)
