"""Reductions and scans of tiles.

Sums, maxima and minima of fragments, and scans of them, are operations of the compiler. Everything else is made of
those and of loops: operands that are no whole fragments are copied to fragments and back; combinations of bits, places
of extremes, and scans of what does not fit in registers, are loops over elements.
"""

from __future__ import annotations

import contextlib
import itertools
import math

from .. import _ops, dtypes
from ..buffers import Buffer, Element, Outside, Region, Var, alloc, require_same_space
from ..builder import current
from ..errors import ArgumentError, DTypeError, RankError, ShapeError, TLSyntaxError, quoted, suggestion
from ..typed import TYPE_CHECKING
from ..types import Symbol, as_tuple
from ..values import Expr, binary, cast, expr, index_value, least, narrowed, select, static_int, to_index
from . import tile
from .functions import isnan
from .hints import ignored_options
from .kernel import opened_kernel
from .loops import Parallel, serial

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from ..dtypes import DType

    ReduceType = Literal["sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor", "argmax", "argmin"]

__all__ = [
    "all_of", "any_of", "cummax", "cumsum", "reduce", "reduce_absmax", "reduce_abssum", "reduce_argmax",
    "reduce_argmin", "reduce_bitand", "reduce_bitor", "reduce_bitxor", "reduce_max", "reduce_min", "reduce_sum",
]  # fmt: skip

_BITS = {"bitand": "and", "bitor": "or", "bitxor": "xor"}
_PLACES = ("argmax", "argmin")
_EXTREMES = {"max": -math.inf, "min": math.inf, "absmax": 0.0}
"""What a NaN that is left out counts as."""
_OF_UNSIGNED = {"max": "umax", "min": "umin", "abssum": "sum", "absmax": "umax"}


class _Box:
    """A box of a buffer with extents that are known: what reductions read and write."""

    def __init__(self, operand: Any, function: str) -> None:
        if isinstance(operand, Var):
            operand = operand.buffer
        if isinstance(operand, Element | Outside):
            raise TLSyntaxError(
                f"`{function}` works on tiles, and this is an element of `{operand.buffer.name}`: give a region, such "
                f"as `{operand.buffer.name}[i, 0:64]`",
                location=current().here(),
            )
        if isinstance(operand, Buffer):
            extents = tuple(None if isinstance(e, Symbol) else e for e in operand.shape)
            operand = Region(operand, (0,) * operand.rank, extents)
        if not isinstance(operand, Region):
            raise TLSyntaxError(f"`{function}` works on tiles, and `{operand!r}` is none", location=current().here())
        if None in operand.extents:
            raise ShapeError(
                f"`{function}` needs extents that are known when the kernel is built: give a region of "
                f"`{operand.name}`, such as `{operand.name}[0:64]`",
                location=current().here(),
            )
        self.buffer = operand.buffer
        self.region = operand
        self.shape = tuple(e for e in operand.extents if isinstance(e, int) and e)
        """The extents, without indexed dimensions."""

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the buffer."""
        return self.shape == tuple(self.buffer.shape) and all(o == 0 for o in self.region.offsets if isinstance(o, int))

    def index(self, position: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the index in the buffer of a position in the box, which counts from nothing's end."""
        left = list(position)
        out: list[Any] = []
        for offset, extent in zip(self.region.offsets, self.region.extents, strict=True):
            place = offset if extent == 0 else binary("add", to_index(offset), left.pop(0))
            out.append(Expr(index_value(place)) if extent != 0 and self.buffer.space == "global" else place)
        return tuple(out)

    def get(self, position: tuple[Any, ...]) -> Any:
        return self.buffer[self.index(position)]

    def set(self, position: tuple[Any, ...], value: Any) -> None:
        self.buffer[self.index(position)] = value

    def describe(self) -> str:
        return f"({', '.join(map(str, self.shape))})"


def _dimension(dim: Any, box: _Box, function: str) -> int:
    number = static_int(dim, f"`dim` of `{function}`")
    rank = len(box.shape)
    if not -rank <= number < rank:
        raise RankError(
            f"`dim` of `{function}` is {number}, and those of `{box.buffer.name or 'the buffer'}` are 0 to {rank - 1}",
            location=current().here(),
        )
    return number % rank


# Reductions ----------------------------------------------------------------------------------------------------------


def reduce(
    buffer: Any,
    out: Any,
    reduce_type: ReduceType,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = True,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Combines the elements of a tile along one dimension.

    - `buffer`: a tile, or a region of one; in a fragment, or copied to one.
    - `out`: a tile of the buffer's shape without `dim`, or with an extent of 1 there; for a buffer of one dimension of
      shape `(1,)`, or `()`. It is of the buffer's type, of a wider one that has every element, in which they are then
      combined (a float of floats, an integer of integers and of `bool`, whose sum counts), or of `int32` or `int64` for
      places.
    - `reduce_type`: "sum", "max", "min", "abssum", "absmax", for integers "bitand", "bitor", "bitxor", and "argmax" or
      "argmin": the first place of the greatest or least element along `dim`, or of the first NaN.
    - `dim`: the dimension, which may count from the end.
    - `clear`: whether `out` starts anew; otherwise the value it has takes part.
    - `batch`, `annotations`: hints for other compilers, without effect.
    - `nan_propagate`: whether a NaN is the result of "max", "min" and "absmax", be it `out`'s that takes part.
      Otherwise NaNs are left out, and of nothing else the result is -inf, +inf of "min", and 0 of "absmax".

    >>> T.reduce(acc, row, "sum", dim=1)
    """
    ignored_options("T.reduce", "the compiler chooses how threads exchange values", annotations=annotations)
    if batch < 1:
        raise ArgumentError(f"`batch` of `T.reduce` must be positive, and {batch} is not", location=current().here())
    source, target = _Box(buffer, "T.reduce"), _Box(out, "T.reduce")
    is_stored = isinstance(target.dtype, dtypes.Format) or (target.dtype.is_only_stored and not nan_propagate)
    if is_stored and source.dtype == target.dtype:
        require_same_space(target.buffer, "shared", "fragment", "local")
        wide = _converted(target, target.dtype.value if isinstance(target.dtype, dtypes.Format) else dtypes.float32)
        reduce(buffer, wide, reduce_type, dim, clear, nan_propagate=nan_propagate)
        if reduce_type in _EXTREMES and not isinstance(target.dtype, dtypes.Format):
            _assign_extremes(target, wide)
        else:
            tile.copy(wide, target.region)
        return
    if target.buffer.space == "local" and source.buffer.space != "local":
        made = alloc(target.shape or (1,), target.dtype, "fragment")
        if not clear:
            tile.copy(target.region, made)
        reduce(buffer, made, reduce_type, dim, clear, nan_propagate=nan_propagate)
        tile.copy(made, target.region)
        return
    if isinstance(source.dtype, dtypes.Format):
        source = _Box(_converted(source, _computed(source.dtype, target.dtype)), "T.reduce")
    if reduce_type not in _PLACES and _is_widening(source.dtype, target.dtype):
        source = _Box(_converted(source, target.dtype), "T.reduce")
    dim = _check_reduction(source, target, reduce_type, dim)
    skips_nan = not nan_propagate and source.dtype.is_float and reduce_type in _EXTREMES
    if reduce_type in _PLACES:
        _reduce_to_places(source, target, reduce_type, dim)
    elif source.buffer.space == "local" and target.buffer.space == "local":
        _reduce_array(source, target, reduce_type, dim, clear, skips_nan)
    elif reduce_type in _BITS:
        _reduce_bits(source, target, reduce_type, dim, clear)
    else:
        _reduce_fragment(source, target, reduce_type, dim, clear, skips_nan)


def _computed(dtype: dtypes.Format, result: DType) -> DType:
    """Returns the type in which elements that are only stored are combined: the result's, if it holds them."""
    return result if result.kind == dtype.kind and result.bits >= dtype.value.bits else dtype.value


def _is_widening(source: DType, target: DType) -> bool:
    """Returns whether every element of one type is one of the other, of the same kind and with room to spare."""
    if source.is_float and target.is_float:
        return source.bits < target.bits
    if source.kind == "bool":  # one bit of a number, whatever it takes in memory
        return target.is_integer and not isinstance(target, dtypes.Format)
    has_room = source.bits < target.bits and (target.is_signed or not source.is_signed)
    return source.is_integer and target.is_integer and has_room


def _converted(box: _Box, dtype: DType) -> Buffer:
    """Returns a copy of a box, of another type."""
    made = alloc(box.shape or (1,), dtype, "local" if box.buffer.space == "local" else "fragment")
    tile.copy(box.region, made)
    return made


def _assign_extremes(target: _Box, wide: Buffer) -> None:
    """Assigns numbers of `float32` that are some of the type of `target`, of which a copy would lose infinity."""
    with contextlib.ExitStack() as nest:
        if wide.space == "local":
            position = tuple(nest.enter_context(serial(extent)) for extent in wide.static_shape() or ())
        else:
            position = as_tuple(nest.enter_context(Parallel(*wide.shape)))
        there = position if target.shape else ()
        target.set(there, narrowed(expr(wide[position]), target.dtype))


_KINDS = ("sum", "max", "min", "abssum", "absmax", *_BITS, *_PLACES)


def _check_reduction(source: _Box, target: _Box, kind: str, dim: int) -> int:
    """Returns the dimension, counted from the first one."""
    if kind not in _KINDS:
        guess = suggestion(str(kind), _KINDS) or f"; there are {quoted(_KINDS)}"
        raise ArgumentError(f"there is no reduction `{kind}`{guess}", location=current().here())
    for box in (source, target):
        if box.buffer.space == "global":
            raise DTypeError(
                f"`T.reduce_{kind}` works on tiles on the chip, and this is {box.buffer!r}: `T.copy` it to a tile of "
                f"`T.alloc_fragment`",
                location=current().here(),
            )
    if kind in _PLACES:
        if target.dtype not in (dtypes.int32, dtypes.int64):
            raise DTypeError(f"places are `int32` or `int64`, not `{target.dtype}`", location=current().here())
    elif source.dtype != target.dtype:
        raise DTypeError(
            f"`T.reduce_{kind}` of `{source.dtype}` to `{target.dtype}`: `T.copy` the tile to a fragment of "
            f"`{target.dtype}` first; else `out` is of the elements' type, or of a wider one of their kind that has "
            f"them all",
            location=current().here(),
        )
    if kind in _BITS and source.dtype.is_float:
        raise DTypeError(f"`T.reduce_{kind}` needs integers, not `{source.dtype}`", location=current().here())
    if source.dtype.kind == "bool" and kind in ("sum", "abssum"):
        raise DTypeError("`bool` holds no sums: let `out` be of `int32`", location=current().here())
    dim = _dimension(dim, source, f"T.reduce_{kind}")
    kept = tuple(e for d, e in enumerate(source.shape) if d != dim)
    with_one = (*source.shape[:dim], 1, *source.shape[dim + 1 :])
    shape = tuple(target.buffer.shape) if target.is_whole else target.shape
    if shape not in (kept, kept or (1,), with_one):
        raise ShapeError(
            f"`T.reduce_{kind}` along dimension {dim} of {source.describe()} gives {tuple(kept or (1,))}, and `out` is "
            f"{target.describe()}: allocate it so, or give another `dim`",
            location=current().here(),
        )
    return dim


def _is_fragment(box: _Box) -> bool:
    """Returns whether a box is a whole fragment."""
    return box.buffer.space == "fragment" and box.is_whole and not box.buffer.is_view


def _as_fragment(box: _Box) -> Buffer:
    """Returns the whole fragment that a box is, or a copy of it in one."""
    if _is_fragment(box):
        return box.buffer
    made = alloc(box.shape or (1,), box.dtype, "fragment")
    tile.copy(box.region, made)
    return made


def _reduce_fragment(source: _Box, target: _Box, kind: Any, dim: int, clear: bool, skips_nan: bool) -> None:
    tile_read = _as_fragment(source)
    if skips_nan:
        tile_read = _numbers(tile_read, kind, alloc(tile_read.shape, tile_read.dtype, "fragment"))
    kept = tuple(e for d, e in enumerate(source.shape) if d != dim)
    is_direct = _is_fragment(target) and tuple(target.buffer.shape) in (kept, kept or (1,))
    written = target.buffer if is_direct else alloc(kept or (1,), target.dtype, "fragment")
    if not is_direct and not clear:
        _move(target, written, dim, outward=False)
    if skips_nan and not clear:
        _numbers(written, kind, written)
    if source.dtype.kind in ("uint", "bool"):
        kind = _OF_UNSIGNED.get(kind, kind)
    _ops.reduce(tile_read.value, written.value, kind=kind, dim=dim, accumulate=not clear)
    if not is_direct:
        _move(target, written, dim, outward=True)


def _number(value: Any, kind: str) -> Expr:
    """Returns a value, or in the place of a NaN what changes no extreme."""
    return select(isnan(value), _EXTREMES[kind], value)


def _numbers(tile_read: Buffer, kind: str, written: Buffer) -> Buffer:
    """Copies a tile without its NaNs, and returns the copy."""
    with Parallel(*tile_read.shape) as loop:
        position = as_tuple(loop)
        written[position] = _number(tile_read[position], kind)
    return written


def _move(target: _Box, fragment: Buffer, dim: int, *, outward: bool) -> None:
    """Copies between a fragment without a dimension and a tile that may have it with an extent of 1."""
    with Parallel(*fragment.shape) as loop:
        position = as_tuple(loop)
        there = _place_in(target, position, dim)
        if outward:
            target.set(there, fragment[position])
        else:
            fragment[position] = target.get(there)


def _place_in(target: _Box, position: tuple[Any, ...], dim: int) -> tuple[Any, ...]:
    """Returns the position in a result of what is at a position of the dimensions that are kept."""
    if len(target.shape) == len(position):
        return position
    if not target.shape:
        return ()
    return (*position[:dim], 0, *position[dim:])


def _each_result(source: _Box, dim: int) -> Parallel:
    kept = [e for d, e in enumerate(source.shape) if d != dim]
    return Parallel(*(kept or [1]))


def _position(source: _Box, kept: tuple[Any, ...], dim: int, k: Any) -> tuple[Any, ...]:
    return (k,) if len(source.shape) == 1 else (*kept[:dim], k, *kept[dim:])


def _reduce_bits(source: _Box, target: _Box, kind: str, dim: int, clear: bool) -> None:
    with _each_result(source, dim) as loop:
        kept = as_tuple(loop)
        there = _place_in(target, kept if len(source.shape) > 1 else (0,), dim)
        result = alloc(1, source.dtype, "local")
        neutral = source.dtype.range[1] if source.dtype.kind in ("uint", "bool") else -1
        result[0] = (neutral if kind == "bitand" else 0) if clear else target.get(there)
        with serial(source.shape[dim]) as k:
            result[0] = binary(_BITS[kind], result[0], source.get(_position(source, kept, dim, k)))
        target.set(there, result[0])


def _reduce_to_places(source: _Box, target: _Box, kind: str, dim: int) -> None:
    """Finds the extreme values, and then the least place of one, where a NaN's counts as less than any other."""
    values = _as_fragment(source)
    if source.dtype.is_only_stored:
        narrow, values = values, alloc(source.shape, dtypes.float32, "fragment")
        tile.copy(narrow, values)
    kept = tuple(e for d, e in enumerate(source.shape) if d != dim) or (1,)
    extremes = alloc(kept, values.dtype, "fragment")
    places, found = alloc(source.shape, dtypes.int32, "fragment"), alloc(kept, dtypes.int32, "fragment")
    reduce(values, extremes, "max" if kind == "argmax" else "min", dim)
    extent = source.shape[dim]
    with Parallel(*source.shape) as loop:
        position = as_tuple(loop)
        value = values[position]
        extreme = extremes[(*position[:dim], *position[dim + 1 :]) or (0,)]
        place = select(binary("eq", value, extreme), cast(position[dim], dtypes.int32), extent)
        if values.dtype.is_float:
            place = select(isnan(value), binary("sub", cast(position[dim], dtypes.int32), extent), place)
        places[position] = place
    reduce(places, found, "min", dim)
    with Parallel(*kept) as loop:
        position = as_tuple(loop)
        place = found[position]
        if values.dtype.is_float:
            place = select(binary("lt", place, 0), binary("add", place, extent), place)
        target.set(_place_in(target, position, dim), place)


def _reduce_array(source: _Box, target: _Box, kind: str, dim: int, clear: bool, skips_nan: bool) -> None:
    """Reduces local arrays, which are each iteration's own."""
    wide = _wide(source.dtype)
    combine = _combiner(kind)

    def read(box: _Box, position: tuple[Any, ...]) -> Any:
        value = expr(box.get(position), wide)
        return _number(value, kind) if skips_nan else value

    for kept in itertools.product(*(range(e) for d, e in enumerate(source.shape) if d != dim)):
        there = _place_in(target, kept if len(source.shape) > 1 else (0,), dim)
        result: Any = None if clear else read(target, there)
        for k in range(source.shape[dim]):
            element = read(source, _position(source, kept, dim, k))
            element = abs(element) if kind.startswith("abs") else element
            result = element if result is None else combine(result, element)
        if kind == "absmax" and not clear:
            result = abs(result)
        convert = narrowed if kind in _EXTREMES else cast
        target.set(there, convert(result, target.dtype))


def _wide(dtype: DType) -> DType:
    """Returns the type in which elements of a type are combined."""
    return dtypes.float32 if dtype.is_float and dtype.bits < 32 else dtype


def _combiner(kind: str) -> Callable[[Any, Any], Any]:
    op = {"sum": "add", "abssum": "add", "max": "max", "absmax": "max", "min": "min", **_BITS}[kind]
    return lambda a, b: binary(op, a, b)


def reduce_sum(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, annotations: dict[str, Any] | None = None
) -> None:
    """Adds up the elements of a tile along one dimension; see `reduce`.

    >>> T.reduce_sum(acc, row, dim=1)
    """
    reduce(buffer, out, "sum", dim, clear, batch, annotations=annotations)


def reduce_max(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = True,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Finds the greatest elements of a tile along one dimension; see `reduce`.

    >>> T.reduce_max(acc, row, dim=1)
    """
    reduce(buffer, out, "max", dim, clear, batch, nan_propagate, annotations)


def reduce_min(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = True,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Finds the least elements of a tile along one dimension; see `reduce`.

    >>> T.reduce_min(acc, row, dim=1)
    """
    reduce(buffer, out, "min", dim, clear, batch, nan_propagate, annotations)


def reduce_abssum(
    buffer: Any,
    out: Any,
    dim: int = -1,
    batch: int = 1,
    annotations: dict[str, Any] | None = None,
    *,
    clear: bool = True,
) -> None:
    """Adds up the absolute values of a tile along one dimension; see `reduce`.

    >>> T.reduce_abssum(acc, row, dim=1)
    """
    reduce(buffer, out, "abssum", dim, clear, batch, annotations=annotations)


def reduce_absmax(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = True,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Finds the greatest absolute values of a tile along one dimension; see `reduce`.

    >>> T.reduce_absmax(acc, row, dim=1)
    """
    reduce(buffer, out, "absmax", dim, clear, batch, nan_propagate, annotations)


def reduce_bitand(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, annotations: dict[str, Any] | None = None
) -> None:
    """Combines integers along one dimension by `&`; see `reduce`.

    >>> numbers, out = T.alloc_fragment((64, 1), "int32"), T.alloc_fragment((1,), "int32")
    >>> T.copy(n, numbers[:, 0])
    >>> T.reduce_bitand(numbers, out, dim=0)
    """
    reduce(buffer, out, "bitand", dim, clear, batch, annotations=annotations)


def reduce_bitor(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, annotations: dict[str, Any] | None = None
) -> None:
    """Combines integers along one dimension by `|`; see `reduce`.

    >>> numbers, out = T.alloc_fragment((64, 1), "int32"), T.alloc_fragment((1,), "int32")
    >>> T.copy(n, numbers[:, 0])
    >>> T.reduce_bitor(numbers, out, dim=0)
    """
    reduce(buffer, out, "bitor", dim, clear, batch, annotations=annotations)


def reduce_bitxor(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, annotations: dict[str, Any] | None = None
) -> None:
    """Combines integers along one dimension by `^`; see `reduce`.

    >>> numbers, out = T.alloc_fragment((64, 1), "int32"), T.alloc_fragment((1,), "int32")
    >>> T.copy(n, numbers[:, 0])
    >>> T.reduce_bitxor(numbers, out, dim=0)
    """
    reduce(buffer, out, "bitxor", dim, clear, batch, annotations=annotations)


def reduce_argmax(buffer: Any, out: Any, dim: int = -1) -> None:
    """Finds the first place of the greatest element along one dimension, as `int32` or `int64`; see `reduce`.

    >>> places = T.alloc_fragment((64,), "int32")
    >>> T.reduce_argmax(acc, places, dim=1)
    """
    reduce(buffer, out, "argmax", dim)


def reduce_argmin(buffer: Any, out: Any, dim: int = -1) -> None:
    """Finds the first place of the least element along one dimension, as `int32` or `int64`; see `reduce`.

    >>> places = T.alloc_fragment((64,), "int32")
    >>> T.reduce_argmin(acc, places, dim=1)
    """
    reduce(buffer, out, "argmin", dim)


def any_of(buffer: Any) -> Any:
    """Returns whether some element of a tile, a tensor or a region is not zero; one after the other is looked at.

    >>> if T.any_of(n[0:16]):
    ...     C[0, 0] = 1.0
    """
    return _quantify(_Box(buffer, "T.any_of"), "or", False)


def all_of(buffer: Any) -> Any:
    """Returns whether no element of a tile, a tensor or a region is zero; one after the other is looked at.

    >>> if T.all_of(n[0:16]):
    ...     C[0, 0] = 1.0
    """
    return _quantify(_Box(buffer, "T.all_of"), "and", True)


def _quantify(box: _Box, op: str, start: bool) -> Any:
    found = alloc(1, dtypes.bool_, "local")
    found[0] = start
    with contextlib.ExitStack() as nest:
        position = tuple(nest.enter_context(serial(extent)) for extent in box.shape)
        found[0] = binary(op, found[0], cast(box.get(position), dtypes.bool_))
    return found[0]


# Scans ---------------------------------------------------------------------------------------------------------------

_MOST_REGISTERS = {"shared": 128, "fragment": 512}
"""A tile of which a thread has more is scanned where it is, each row by one thread."""


def cumsum(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: dict[str, Any] | None = None
) -> None:
    """Sets each element to the sum of all up to it along one dimension.

    - `src`: a tile on the chip, or a region of one.
    - `dst`: a tile of the same shape and type; `src` itself if it is not given.
    - `dim`: the dimension, which may count from the end.
    - `reverse`: whether sums begin at the end.
    - `annotations`: hints for other compilers, without effect.

    Floats of 16 bits are added in `float32`, and each sum is rounded once; the order of additions is not said.

    >>> T.copy(A, acc)
    >>> T.cumsum(acc, dim=1)
    """
    _scan("T.cumsum", "add", src, dst, dim, reverse, annotations)


def cummax(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: dict[str, Any] | None = None
) -> None:
    """Sets each element to the greatest of all up to it along one dimension; a NaN is the greatest. See `cumsum`.

    >>> T.copy(A, acc)
    >>> T.cummax(acc, dim=1)
    """
    _scan("T.cummax", "max", src, dst, dim, reverse, annotations)


def _scan(name: str, op: str, src: Any, dst: Any, dim: int, reverse: bool, annotations: Any) -> None:
    ignored_options(name, "the compiler chooses how threads share the work", annotations=annotations)
    source = _Box(src, name)
    target = source if dst is None else _Box(dst, name)
    for box in (source, target):
        require_same_space(box.buffer, "shared", "fragment", "local")
    if source.shape != target.shape or source.dtype != target.dtype:
        raise ShapeError(
            f"`dst` of `{name}` is {target.describe()} of `{target.dtype}`, and `src` {source.describe()} of "
            f"`{source.dtype}`: they are the same",
            location=current().here(),
        )
    if source.dtype.kind == "bool" or source.dtype.is_only_stored:
        raise DTypeError(
            f"`{name}` does not work on `{source.dtype}`: copy it to another type", location=current().here()
        )
    dim = _dimension(dim, source, name)
    spaces = {source.buffer.space, target.buffer.space}
    threads = opened_kernel(f"`{name}`").num_threads
    sharing = threads & -threads  # a tile of powers of two is not divided by what else is in their number
    registers = math.prod(source.shape) * max(1, source.dtype.bits // 32) / sharing
    if "local" in spaces:
        _scan_rows(op, source, target, dim, reverse, in_parallel=False)
    elif registers > min(_MOST_REGISTERS[space] for space in spaces):
        _scan_rows(op, source, target, dim, reverse, in_parallel=True)
    else:
        _scan_fragment(op, source, target, dim, reverse)


def _scan_fragment(op: str, source: _Box, target: _Box, dim: int, reverse: bool) -> None:
    kind: Any = "sum" if op == "add" else "umax" if source.dtype.kind == "uint" else "max"
    read = _as_fragment(source)
    is_own = read is not source.buffer
    if _is_fragment(target):
        written = target.buffer
    else:
        written = read if is_own else alloc(target.shape, target.dtype, "fragment")
    _ops.scan(read.value, written.value, kind=kind, dim=dim, reverse=reverse)
    if written is not target.buffer:
        tile.copy(written, target.region)


def _scan_rows(op: str, source: _Box, target: _Box, dim: int, reverse: bool, *, in_parallel: bool) -> None:
    """Each row is one iteration's."""
    kept_extents = [e for d, e in enumerate(source.shape) if d != dim]
    length = source.shape[dim]
    with contextlib.ExitStack() as nest:
        if in_parallel:
            kept = as_tuple(nest.enter_context(Parallel(*(kept_extents or [1]))))
        else:
            kept = tuple(nest.enter_context(serial(extent)) for extent in kept_extents)
        wide = _wide(source.dtype)
        result = alloc(1, wide, "local")
        result[0] = _neutral(op, wide)
        with serial(length) as k:
            along = binary("sub", length - 1, k) if reverse else k
            position = _position(source, kept, dim, along)
            result[0] = binary(op, result[0], expr(source.get(position), wide))
            target.set(position, cast(result[0], target.dtype))


def _neutral(op: str, dtype: DType) -> Any:
    if op == "add":
        return -0.0 if dtype.is_float else 0
    if dtype.is_float:
        return -math.inf
    return least(dtype)
