"""Parts of buffers whose lengths only the running kernel knows: `A[i, 0:n]` in a copy or a fill.

The loop is over the box of the other side, or of the tile on the chip that the part is in, so that it is spread over
the threads as any tile is, and what is behind the end of a part is left out, element by element. Where it is seen that
nothing is left out but what the tensor lacks anyway, the part is one of known extents, which instructions for tiles
copy.

What lengths have to be, `tl.cut` says: it is asked in programs that are checked, and is nothing in others.
"""

from __future__ import annotations

import contextlib
from functools import reduce

from .. import _ops, dtypes
from ..buffers import Region
from ..builder import current
from ..errors import ShapeError
from ..expr import type_range
from ..typed import TYPE_CHECKING
from ..types import Symbol, as_tuple
from ..values import Expr, binary, bounded_index, cast, difference, expr, index_value, is_as_far, to_index
from .loops import Else, If, Parallel, copying, nearest_index, serial

if TYPE_CHECKING:
    from typing import Any

    from .._ops import Cut
    from ..buffers import Buffer
    from .loops import Loop

    Pair = tuple[int, int]
    """A dimension of each side that one variable of the loop runs along."""


def is_cut(*sides: Region) -> bool:
    """Returns whether it takes the running kernel to know the extents of what is copied."""
    if any(side.ends for side in sides):
        return True
    return all(None in side.extents for side in sides) and not all(side.is_position for side in sides)


def expect_lengths(source: Region, target: Region) -> None:
    """Says that parts lie in their tiles, and are as long as each other; and of a tile on the chip no longer than an
    extent that is known. Of a tensor that is no mistake: `A[first:last]` is the rest, at most a tile."""
    sides = (source, target)
    for pair in _pairs(source, target):
        _reject_unknown(sides, pair)
        cuts = [n for n, d in enumerate(pair) if d in sides[n].ends and not _ends_with_tensor(sides[n], d)]
        for n in cuts:
            side, d, other, e = sides[n], pair[n], sides[1 - n], pair[1 - n]
            first, last = side.offsets[d], side.ends[d]
            _expect_inside(side, d, first, last)
            if other.is_position:
                origin = cast(other.offsets[e], dtypes.int64)
                _expect_inside(other, e, origin, binary("add", origin, _distance(first, last)))
            elif (extent := other.static_extents[e]) and side.buffer.space != "global":
                _expect(side, d, "at_most", _distance(first, last), extent)
        if len(cuts) == 2 and not _are_as_long(source, pair[0], target, pair[1]):
            lengths = [_distance(side.offsets[d], side.ends[d]) for side, d in zip(sides, pair, strict=True)]
            _expect(source, pair[0], "equal", *lengths)


def _reject_unknown(sides: tuple[Region, Region], pair: Pair) -> None:
    """Raises if a tile on the chip is given by its place, and would have as much as is left of a tensor."""
    for n, m in ((0, 1), (1, 0)):
        side, other = sides[n], sides[m]
        if side.is_position and side.buffer.space != "global" and _ends_with_tensor(other, pair[m]):
            raise ShapeError(
                f"the extents of this `T.copy` are unknown: `{side.name or 'a tile'}` is given by its place, and what "
                f"is left of `{other.name}` has no length of its own: give the part of the tile, such as "
                f"`{side.name or 'tile'}[i : i + n]`",
                location=current().here(),
            )


def _expect_inside(side: Region, d: int, first: Any, last: Any) -> None:
    """Says that a part of a tile on the chip lies in it."""
    if side.buffer.space == "global":
        return
    inside = _distance(binary("max", cast(first, dtypes.int64), 0), binary("min", last, side.buffer.shape[d]))
    _expect(side, d, "inside", _distance(first, last), inside)


def _expect(side: Region, d: int, kind: Cut, length: Any, extent: Any) -> None:
    _ops.cut(side.buffer.value, index_value(length), index_value(extent), kind=kind, dimension=d)


def part_for(source: Region, target: Region, made: Buffer) -> Region:
    """Returns a tile that has the box of a copy, or the part of it that is as long as the source where that says how
    much is written."""
    pairs = _pairs(source, target)
    ends = {
        k: _length(source, pair[0])
        for k, pair in enumerate(pairs)
        if pair[0] in source.ends and _that_says_length(source, target, pair)[0] is source
    }
    extents = [None if k in ends else extent for k, extent in enumerate(made.static_shape() or ())]
    return Region(made, (0,) * made.rank, tuple(extents), dict(ends))


def without_needless_cuts(source: Region, target: Region) -> tuple[Region, Region]:
    """Returns the sides with known extents where a part ends with its tensor, or is seen to be as long as the other."""
    extents = [list(side.static_extents) for side in (source, target)]
    ends = [dict(side.ends) for side in (source, target)]
    for pair in _pairs(source, target):
        for n, m in ((0, 1), (1, 0)):
            side, d, other = (source, target)[n], pair[n], pair[m]
            extent = extents[m][other]
            if d in ends[n] and extent and (_ends_with_tensor(side, d) or _length(side, d).range.low >= extent):
                extents[n][d] = extent
                del ends[n][d]
    made = [
        side if side.ends == left else Region(side.buffer, side.offsets, tuple(sizes), left)
        for side, sizes, left in zip((source, target), extents, ends, strict=True)
    ]
    return made[0], made[1]


def copy_cut(source: Region, target: Region) -> None:
    """Copies a tile of which parts are left out: they are not written, and read as what is outside of a tensor."""
    pairs = _pairs(source, target)
    box = [_extent(source, target, pair) for pair in pairs]
    limits = _limits(source, target, pairs, box)
    holes = {
        k: _length(source, d)
        for k, (d, e) in enumerate(pairs)
        if d in source.ends
        and not _ends_with_tensor(source, d)
        and _that_says_length(source, target, (d, e))[0] is target
        and not _is_as_long(source, d, target, e, box[k])
    }
    instead = expr(current().outside.get(source.buffer.value, 0), source.buffer.dtype)
    with contextlib.ExitStack() as nest:
        in_parallel = "local" not in (source.buffer.space, target.buffer.space)
        variables = _begin(nest, box, in_parallel=in_parallel, is_copy=True)
        if limits:
            nest.enter_context(If(_all_below(variables, limits)))
        from_, to = (_place(side, pairs, variables, n) for n, side in enumerate((source, target)))
        if not holes:
            target.buffer[to] = source.buffer[from_]
            return
        with If(_all_below(variables, holes)):
            target.buffer[to] = source.buffer[from_]
        with Else():
            target.buffer[to] = instead


def fill_cut(target: Region, value: Expr) -> None:
    """Sets the elements of a part to a value."""
    for d, end in target.ends.items():
        _expect_inside(target, d, target.offsets[d], end)
    offsets = [
        binary("max", to_index(nearest_index(offset)), 0) if d in target.ends else offset
        for d, offset in enumerate(target.offsets)
    ]  # what is before the buffer is none of it, and without that an extent of the buffer is far enough
    target = Region(target.buffer, tuple(offsets), target.static_extents, target.ends)
    pairs = [(d, d) for d, extent in enumerate(target.static_extents) if extent != 0]
    box = [_extent(target, target, pair) for pair in pairs]
    limits = _limits(target, target, pairs, box)
    with contextlib.ExitStack() as nest:
        variables = _begin(nest, box, in_parallel=target.buffer.space != "local", is_copy=False)
        if limits:
            nest.enter_context(If(_all_below(variables, limits)))
        target.buffer[_place(target, pairs, variables, 1)] = value


def largest_box(source: Region, target: Region) -> tuple[int, ...] | None:
    """Returns the extents that a copy has at most; None if only the running kernel knows."""
    box = [_extent(source, target, pair) for pair in _pairs(source, target)]
    known = tuple(extent for extent in box if isinstance(extent, int))
    return known if len(known) == len(box) else None


# Dimensions ----------------------------------------------------------------------------------------------------------


def _pairs(source: Region, target: Region) -> list[Pair]:
    """Returns which dimensions of the two sides belong together: one after the other, but for extents of one."""
    sides = (source, target)
    dims = _last_of_positions(
        sides, [[d for d, extent in enumerate(side.static_extents) if extent != 0] for side in sides]
    )
    if len(dims[0]) != len(dims[1]):
        dims = [[d for d in kept if side.static_extents[d] != 1] for side, kept in zip(sides, dims, strict=True)]
        dims = _last_of_positions(sides, dims)
    extents = [[side.static_extents[d] for d in kept] for side, kept in zip((source, target), dims, strict=True)]
    fits = len(dims[0]) == len(dims[1]) and all(a is None or b is None or a == b for a, b in zip(*extents, strict=True))
    if not fits:
        raise ShapeError(
            f"`T.copy` from `{_describe(source)}` to `{_describe(target)}`: the extents differ; give both sides as "
            f"many slices, each as long as the other side's, or of a length that only the running kernel knows",
            location=current().here(),
        )
    return list(zip(*dims, strict=True))


def _last_of_positions(sides: tuple[Region, Region], dims: list[list[int]]) -> list[list[int]]:
    """Returns dimensions of two sides, where of a position those are left that the other side's tile lies along."""
    counts = [len(dims[1]), len(dims[0])]
    return [
        kept[len(kept) - count :] if side.is_position and len(kept) > count else kept
        for side, kept, count in zip(sides, dims, counts, strict=True)
    ]


def _describe(side: Region) -> str:
    extents = ", ".join("?" if e is None else str(e or 1) for e in side.static_extents)
    return f"{side.name or 'buffer'}({extents})"


def _extent(source: Region, target: Region, pair: Pair) -> int | Expr:
    """Returns how far the loop runs along a dimension, at least: a number where one is seen to be enough."""
    sides = list(zip((source, target), pair, strict=True))
    for side, d in sides:
        if extent := side.static_extents[d]:
            return extent
    bounds = [bound for side, d in sides if (bound := _bound(side, d, is_read=side is not target)) is not None]
    if bounds:
        return min(bounds)
    return _length(*_that_says_length(source, target, pair))


def _bound(side: Region, d: int, *, is_read: bool) -> int | None:
    """Returns the distance behind which nothing is copied because of a side; None if something may be.

    No more is copied than a tile on the chip has, wherever in it a part begins. What is read behind the end of a tensor
    is something.
    """
    extent = side.buffer.shape[d]
    if side.buffer.space == "global" and (is_read or to_index(side.offsets[d]).range.low < 0):
        return None
    return None if isinstance(extent, Symbol) else extent


def _that_says_length(source: Region, target: Region, pair: Pair) -> tuple[Region, int]:
    """Returns the side that says how many elements are written along a dimension if no extent is known, and its own.

    That is the target, but for a position, or a slice that ends with its tensor: they have the other side's extents.
    """
    d, e = pair
    has_length = d in source.ends and not _ends_with_tensor(source, d)
    return (source, d) if target.is_position or (has_length and _ends_with_tensor(target, e)) else (target, e)


def _limits(source: Region, target: Region, pairs: list[Pair], box: list[int | Expr]) -> dict[int, Expr]:
    """Returns behind which of the loop's variables nothing is written, as a side says; by number of the variable."""
    limits: dict[int, Expr] = {}
    for k, pair in enumerate(pairs):
        side, d = _that_says_length(source, target, pair)
        is_open = side is target and _ends_with_tensor(target, d)
        if isinstance(box[k], int) and side.static_extents[d] is None and not is_open:
            limits[k] = _length(side, d)
    return limits


def _length(side: Region, d: int) -> Expr:
    """Returns how long a part is, as an index; what is not positive is nothing. A tile on the chip ends it."""
    size = side.buffer.shape[d]
    last = to_index(nearest_index(side.ends.get(d, size)))
    if side.buffer.space != "global":
        last = to_index(binary("min", last, size))
    return _distance(side.offsets[d], last)


def _distance(first: Any, last: Any) -> Expr:
    """Returns how far it is from a place to another, as an index; of what is no index the nearest is meant."""
    first, last = (to_index(nearest_index(bound)) for bound in (first, last))
    indices = type_range(dtypes.index)
    if not indices.low <= last.range.low - first.range.high <= last.range.high - first.range.low <= indices.high:
        first, last = (cast(bound, dtypes.int64) for bound in (first, last))
    return to_index(nearest_index(binary("sub", last, first)))


def _ends_with_tensor(side: Region, d: int) -> bool:
    """Returns whether what is behind the end of a side is outside of the tensor."""
    extent = side.buffer.shape[d]
    is_slice = side.buffer.space == "global" and not side.is_position and side.static_extents[d] is None
    return is_slice and difference(side.ends.get(d, extent), extent) == 0


def _is_as_long(side: Region, d: int, other: Region, e: int, box: int | Expr) -> bool:
    """Returns whether a part is seen to be as long as the other side, which may have the part's extents anyway."""
    if other.is_position:
        return True
    if other.static_extents[e] is not None:
        return False
    if side.buffer.space != "global":  # the end of the tile may make it shorter
        size = side.buffer.shape[d]
        assert isinstance(size, int), "on-chip buffers have static shapes"
        if not isinstance(box, int) or to_index(side.offsets[d]).range.high > size - box:
            return False
    return _are_as_long(side, d, other, e)


def _are_as_long(side: Region, d: int, other: Region, e: int) -> bool:
    """Returns whether the ends of two parts are seen to be as far from where the parts begin."""
    other_end = other.ends.get(e, other.buffer.shape[e])
    return is_as_far(side.offsets[d], side.ends[d], other.offsets[e], other_end)


# Loops ---------------------------------------------------------------------------------------------------------------


def _begin(nest: contextlib.ExitStack, box: list[int | Expr], *, in_parallel: bool, is_copy: bool) -> tuple[Any, ...]:
    """Begins the loops over a box, and returns their variables."""

    def begin(loop: Loop) -> Any:
        return nest.enter_context(copying(loop, is_cut=True) if is_copy else loop)

    if in_parallel:
        return as_tuple(begin(Parallel(*(box or [1]))))
    return tuple(begin(serial(extent)) for extent in box)


def _all_below(variables: tuple[Any, ...], limits: dict[int, Expr]) -> Any:
    below = [binary("lt", variables[k], limit) for k, limit in limits.items()]
    return reduce(lambda a, b: binary("and", a, b), below)


def _place(side: Region, pairs: list[Pair], variables: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Returns the index of an element; a tile begins at a position, so that no part of it counts from the end."""
    along = {pair[n]: variables[k] for k, pair in enumerate(pairs)}
    places = [bounded_index(offset) for offset in side.offsets]
    return tuple(binary("add", place, along[d]) if d in along else place for d, place in enumerate(places))
