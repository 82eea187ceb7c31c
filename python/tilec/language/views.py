"""The elements of a buffer under other indices, or their bits as another type.

There are no views in the IR: an element of one is an element of its source, at a place that is computed. So whoever
asks what shares memory sees one buffer, by whatever name the program calls it. A tile of a view that is a box of the
source too is copied as that box, by whatever copies tiles (`View.box_of`); others are copied element by element.
"""

from __future__ import annotations

import math

from .. import dtypes
from ..buffers import Buffer, and_inside
from ..builder import current
from ..errors import DTypeError, ShapeError, TLSyntaxError, UnsupportedError
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import Expr, Range, binary, bounded_index, cast, known, select, simplify, static_int
from .bits import index_to_coordinates, reinterpret

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from ..dtypes import DType
    from ..ir import Op
    from ..values import Number

__all__ = ["reshape", "view"]

_MOST_ELEMENTS = 2**31 - 1
"""So many are counted in an `index`."""


def reshape(src: Any, shape: Any) -> Buffer:
    """Returns the elements of a buffer, in row-major order, under the indices of another shape.

    Elements are read and written in place, and `T.copy` of a part of a tensor does what it does of the tensor, if the
    part is a box of both. As an operand of another tile operation a view is copied to a tile first.

    - `src`: a tensor or a tile, with extents that are known when the kernel is built.
    - `shape`: the new extents; their product is that of the old ones.

    >>> flat = T.reshape(As, (4096,))
    >>> for i in T.Parallel(4096):
    ...     flat[i] = 0.0
    """
    return _view("T.reshape", src, shape, None)


def view(src: Any, shape: Any = None, dtype: Any = None) -> Buffer:
    """Returns the elements of a buffer under other indices, and their bits as another type.

    - `src`, `shape`: as of `T.reshape`; the shape stays if none is given.
    - `dtype`: the new type; it stays if none is given. One of another width makes more elements or fewer, of as many
      bits in all; the first of those that share an element of the wider type is its low bits.

    Constraints: elements are assigned to where the new type is as wide as the old one, or wider. Narrower ones are only
    read: several share an element of `src`, and an assignment to one would write its neighbours too.

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
    element = src.dtype if dtype is None else dtypes.dtype(dtype)
    bits, wanted = math.prod(known) * src.dtype.bits, math.prod(extents) * element.bits
    if bits != wanted or any(e < 0 for e in extents):
        of = f" of {element.bits} bits, where {src.dtype.bits} were" if element.bits != src.dtype.bits else ""
        raise ShapeError(
            f"`{function}` keeps the elements: `{src.name}` has {math.prod(known)} of them, and ({_list(extents)}) is "
            f"{math.prod(extents)}{of}",
            location=current().here(),
        )
    if (element.kind == "bool") != (src.dtype.kind == "bool"):
        raise DTypeError(
            f"`{function}` makes no numbers of conditions, and no conditions of numbers: `{src.name}` holds "
            f"`{src.dtype}`, and `{element}` is asked for; compare or convert elements",
            location=current().here(),
        )
    if element != src.dtype and 4 in (element.bits, src.dtype.bits):
        raise DTypeError(
            f"`{function}` gives numbers of 4 bits no other type: use `T.reinterpret` of elements of `{src.name}`",
            location=current().here(),
        )
    if element.bits == src.dtype.bits:
        return View(src, extents, element)
    return (Parts if element.bits < src.dtype.bits else Joined)(src, extents, element)


def _list(extents: tuple[int, ...]) -> str:
    return ", ".join(map(str, extents))


class View(Buffer):
    """A buffer whose elements are those of another one."""

    is_view = True

    def __init__(self, source: Buffer, shape: tuple[int, ...], dtype: DType) -> None:
        super().__init__(source.value, shape, dtype, source.space, parameter=source.parameter)
        self.source = source
        self.extents = shape

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
        """Returns the place of an element in the source; what is outside here is outside there.

        Of a tensor the last dimensions that both have are the same in both. If one is left in front of them, no
        condition is needed: what lies before its elements or behind them does so along the source's first dimension.
        """
        own, others = leading_extents(self)
        if not own:
            return indices
        if self.space == "global" and len(own) == 1 and 0 not in others:
            first = bounded_index(indices[0]) if isinstance(indices[0], Expr) else indices[0]
            return [*map(simplify, index_to_coordinates(first, others)), *indices[1:]]
        number, is_inside = self._number(indices)
        if is_inside is not True:
            number = select(is_inside, number, -1)
        return self._place(number)

    def box_of(self, offsets: Sequence[Number | Expr], extents: Sequence[int]) -> Box | None:
        """Returns the elements of a box as a box of the source, in the same order; None if they are not seen to be one.

        Both boxes have the same elements outside of the tensor, each at its place. What makes it so:

        - The last dimensions that the two shapes have in common are the same in both boxes.
        - In front of them, the box is a run of numbers in row-major order: extents of one, one extent of any size, and
          whole dimensions. Places in dimensions other than the first are seen to be inside, as outside of one of them
          the run would go on with elements of another row.
        - The run begins at a multiple of what it is cut into along the source's dimensions, so that no part of it goes
          over the end of one. Only along the first may it leave the tensor, and so does the view's box.
        """
        own, others = leading_extents(self)
        if self.space != "global" or self.dtype is not self.source.dtype or self.dtype.bits < 8 or 0 in others:
            return None
        count = len(own)
        if not own:
            return Box(tuple(offsets), tuple(extents))
        run = _run(own, offsets[:count], extents[:count])
        parts = _cut(run[1], others, _range(run[0]).step) if run is not None else None
        if run is None or parts is None:
            return None
        start = index_to_coordinates(run[0], others)
        return Box((*map(simplify, start), *offsets[count:]), (*parts, *extents[count:]))

    def _number(self, indices: list[Number | Expr]) -> tuple[Any, Any]:
        """Returns how many elements stand before one, and whether it is inside."""
        number: Any = 0
        is_inside: Any = True
        # An index may be of a type that the number of no element further on fits into.
        is_large = max(math.prod(self.extents), math.prod(self.source.shape)) > _MOST_ELEMENTS
        for given, extent in zip(indices, self.extents, strict=True):
            index = bounded_index(given) if isinstance(given, Expr) else given
            # What is outside of a tensor is zero, and of a local array is not written.
            if self.space in ("global", "local"):
                is_inside = and_inside(is_inside, index, extent)
            if is_large and isinstance(index, Expr):
                index = cast(index, dtypes.int64)
            number = binary("add", binary("mul", number, extent), index)
        return number, is_inside

    def _place(self, number: Any) -> list[Number | Expr]:
        """Returns the place of the element in the source before which so many stand."""
        return [simplify(place) for place in index_to_coordinates(number, self.source.shape)]

    def _bits(self, place: list[Number | Expr]) -> Expr:
        """Emits the read of an element of the source as its bits."""
        dtype = self.source.dtype
        return reinterpret(Expr(self.source.load_element(place).results[0], dtype), _word(dtype))


class Box:
    """Where a part of a tensor begins, and its extents."""

    def __init__(self, offsets: tuple[Number | Expr, ...], extents: tuple[int, ...]) -> None:
        self.offsets, self.extents = offsets, extents


def leading_extents(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the extents of a view and of its source in front of the last dimensions that they have in common.

    There is one of each, or none at all.
    """
    own, others = view.extents, view.source.static_shape()
    assert others is not None, "views are of what has known extents"
    if own == others:
        return (), ()
    while len(own) > 1 and len(others) > 1 and own[-1] == others[-1]:
        own, others = own[:-1], others[:-1]
    return own, others


def _run(
    shape: tuple[int, ...], offsets: Sequence[Number | Expr], extents: Sequence[int]
) -> tuple[Number | Expr, int] | None:
    """Returns the number of a box's first element in row-major order, and how many follow in a row; None if not all."""
    first = next((d for d, extent in enumerate(extents) if extent != 1), len(extents) - 1)
    rest = range(first + 1, len(shape))
    if any(extents[d] != shape[d] or known(offsets[d]) != 0 for d in rest):
        return None
    places = [bounded_index(offset) if isinstance(offset, Expr) else offset for offset in offsets]
    for d in range(1, first + 1):
        if not _range(places[d]).within(Range(0, shape[d] - extents[d])):
            return None
    number: Any = 0
    for place, extent in zip(places, shape, strict=True):
        number = binary("add", binary("mul", number, extent), place)
    # A product that wraps could name an element.
    if len(shape) > 1 and not _range(number).within(Range(-_MOST_ELEMENTS, _MOST_ELEMENTS)):
        return None
    return simplify(number), math.prod(extents)


def _range(number: Number | Expr) -> Range:
    return number.range if isinstance(number, Expr) else Range.of(int(number))


def _cut(count: int, shape: tuple[int, ...], step: int) -> tuple[int, ...] | None:
    """Returns the extents along `shape` of a run of elements that begins at a multiple of `step`, 0 if at zero.

    None if the run is not seen to be a box.
    """
    *outer, last = shape
    if count == 1 or not outer:
        return (*(1 for _ in outer), count)
    if last % count == 0:
        return (*(1 for _ in outer), count) if step % count == 0 else None
    if count % last != 0 or step % last != 0:
        return None
    parts = _cut(count // last, tuple(outer), step // last)
    return None if parts is None else (*parts, last)


class Parts(View):
    """A buffer whose elements are parts of those of another one, the lowest bits first."""

    def load_element(self, indices: list[Number | Expr]) -> Op:
        number, is_inside = self._number(indices)
        parts = self.source.dtype.bits // self.dtype.bits
        word = binary("floordiv", number, parts)
        bits = self._bits(self._place(word if is_inside is True else select(is_inside, word, -1)))
        shift = cast(binary("mul", binary("mod", number, parts), self.dtype.bits), bits.dtype)
        return _made(reinterpret(cast(binary("shr", bits, shift), _word(self.dtype)), self.dtype))

    def store_element(self, value: Expr, indices: list[Number | Expr]) -> None:
        raise UnsupportedError(
            f"an assignment to an element of this view would write its neighbours too, since several `{self.dtype}` "
            f"share an element of `{self.source.name or 'the buffer'}`, of `{self.source.dtype}`: allocate the buffer "
            f"with the narrow type, and view it with the wide one",
            location=current().here(),
        )

    def locate(self, indices: list[Number | Expr]) -> NoReturn:
        _refuse_place(self)


class Joined(View):
    """A buffer whose elements are several of another one each, the first of them the lowest bits."""

    def load_element(self, indices: list[Number | Expr]) -> Op:
        word = _word(self.dtype)
        joined: Any = 0
        for k, place in enumerate(self._parts_of(indices)):
            part = cast(self._bits(place), word)
            joined = binary("or", joined, binary("shl", part, k * self.source.dtype.bits)) if k else part
        return _made(reinterpret(joined, self.dtype))

    def store_element(self, value: Expr, indices: list[Number | Expr]) -> None:
        bits = reinterpret(value, _word(self.dtype))
        source = self.source.dtype
        for k, place in enumerate(self._parts_of(indices)):
            part = cast(binary("shr", bits, k * source.bits), _word(source))
            self.source.store_element(reinterpret(part, source), place)

    def _parts_of(self, indices: list[Number | Expr]) -> list[list[Number | Expr]]:
        """Returns the places in the source of what an element is made of."""
        number, is_inside = self._number(indices)
        parts = self.dtype.bits // self.source.dtype.bits
        first = binary("mul", number if is_inside is True else select(is_inside, number, -1), parts)
        return [self._place(binary("add", first, k)) for k in range(parts)]

    def locate(self, indices: list[Number | Expr]) -> NoReturn:
        _refuse_place(self)


def _word(dtype: DType) -> DType:
    """Returns the type of the bits of a number."""
    return dtypes.dtype(f"uint{dtype.bits}")


def _made(value: Expr) -> Op:
    """Returns the operation that made a value in the current block."""
    return next(op for op in reversed(current().block.ops) if value.value in op.results)


def _refuse_place(view: View) -> NoReturn:
    raise DTypeError(
        f"an element of this view has no place of its own, since `{view.source.name or 'the buffer'}` holds "
        f"`{view.source.dtype}`, of another width than `{view.dtype}`: use elements of `{view.source.name}`",
        location=current().here(),
    )
