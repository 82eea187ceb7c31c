"""The elements of a buffer under other indices, or as another type of the same width."""

from __future__ import annotations

import math

from .. import dtypes
from ..buffers import Buffer, and_inside
from ..builder import current
from ..errors import DTypeError, ShapeError, TLSyntaxError
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import Expr, binary, select, simplify, static_int
from .bits import index_to_coordinates, reinterpret

if TYPE_CHECKING:
    from typing import Any

    from ..dtypes import DType
    from ..ir import Op
    from ..values import Number

__all__ = ["reshape", "view"]


def reshape(src: Any, shape: Any) -> Buffer:
    """Returns the elements of a buffer, in row-major order, under the indices of another shape.

    Elements are read and written in place. As an operand of a tile operation it is copied to a tile first.

    - `src`: a tensor or a tile, with extents that are known when the kernel is built.
    - `shape`: the new extents; their product is that of the old ones.

    >>> flat = T.reshape(As, (4096,))
    >>> for i in T.Parallel(4096):
    ...     flat[i] = 0.0
    """
    return _view("T.reshape", src, shape, None)


def view(src: Any, shape: Any = None, dtype: Any = None) -> Buffer:
    """Returns the elements of a buffer under other indices, and their bits as another type of the same width.

    - `src`, `shape`: as of `T.reshape`; the shape stays if none is given.
    - `dtype`: the new type; it stays if none is given.

    >>> bits = T.view(As, dtype="int32")
    >>> for i, j in T.Parallel(64, 64):
    ...     bits[i, j] = bits[i, j] & 0x7FFFFFFF
    """
    return _view("T.view", src, shape, dtype)


def _view(function: str, src: Any, shape: Any, dtype: Any) -> Buffer:
    if not isinstance(src, Buffer):
        raise TLSyntaxError(f"`{function}` needs a whole tensor or tile, not `{src!r}`", location=current().here())
    known = src.static_shape()
    if known is None:
        raise ShapeError(
            f"`{function}` needs extents that are known when the kernel is built, and those of `{src.name}` are not",
            location=current().here(),
        )
    extents = known if shape is None else tuple(static_int(e, f"an extent of `{function}`") for e in as_tuple(shape))
    if math.prod(extents) != math.prod(known) or any(e < 0 for e in extents):
        raise ShapeError(
            f"`{function}` keeps the elements: `{src.name}` has {math.prod(known)} of them, and ({_list(extents)}) is "
            f"{math.prod(extents)}",
            location=current().here(),
        )
    element = src.dtype if dtype is None else dtypes.dtype(dtype)
    if element.bits != src.dtype.bits or (element.kind == "bool") != (src.dtype.kind == "bool"):
        raise DTypeError(
            f"`{function}` keeps the width of elements: `{src.dtype}` has {src.dtype.bits} bits, and `{element}` "
            f"{element.bits}",
            location=current().here(),
        )
    if element != src.dtype and element.bits == 4:
        raise DTypeError(
            f"`{function}` gives numbers of 4 bits no other type: use `T.reinterpret` of elements of `{src.name}`",
            location=current().here(),
        )
    return View(src, extents, element)


def _list(extents: tuple[int, ...]) -> str:
    return ", ".join(map(str, extents))


class View(Buffer):
    """A buffer whose elements are those of another one."""

    is_view = True

    def __init__(self, source: Buffer, shape: tuple[int, ...], dtype: DType) -> None:
        super().__init__(source.value, shape, dtype, source.space, parameter=source.parameter)
        self.source = source
        self._extents = shape

    def load_element(self, indices: list[Number | Expr]) -> Op:
        place = self._there(indices)
        if self.source.dtype.mlir == self.dtype.mlir:
            return self.source.load_element(place)
        loaded = Expr(self.source.load_element(place).results[0], self.source.dtype)
        return current().emit("arith.bitcast", [loaded.value], [self.dtype.mlir])

    def locate(self, indices: list[Number | Expr]) -> tuple[Buffer, list[Number | Expr]]:
        return self.source.locate(self._there(indices))

    def store_element(self, value: Expr, indices: list[Number | Expr]) -> None:
        if self.dtype is not self.source.dtype:
            value = reinterpret(value, self.source.dtype)
        self.source.store_element(value, self._there(indices))

    def _there(self, indices: list[Number | Expr]) -> list[Number | Expr]:
        """Returns the place of an element in the source; what is outside here is outside there."""
        number: Any = 0
        is_inside: Any = True
        for index, extent in zip(indices, self._extents, strict=True):
            number = binary("add", binary("mul", number, extent), index)
            if self.space == "global":  # what is outside of a tensor is zero
                is_inside = and_inside(is_inside, index, extent)
        if is_inside is not True:
            number = select(is_inside, number, -1)
        return [simplify(place) for place in index_to_coordinates(number, self.source.shape)]
