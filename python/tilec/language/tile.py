"""Operations on whole tiles, and the buffers they work on. Reductions are in `reductions`."""

from __future__ import annotations

import contextlib
import enum
import itertools
import math

from .. import _ops, dtypes
from ..buffers import (
    Buffer,
    Element,
    Outside,
    Reference,
    Region,
    Var,
    VectorVar,
    alloc,
    require_same_space,
    vector_instead,
    whole,
)
from ..builder import current
from ..errors import ArgumentError, DTypeError, RangeError, RankError, ShapeError, TLSyntaxError, quoted
from ..expr import shortened
from ..packed import Packed
from ..typed import TYPE_CHECKING
from ..types import Symbol, as_tuple
from ..values import (
    Expr,
    Range,
    binary,
    bounded_index,
    cast,
    condition,
    difference,
    expr,
    index_value,
    known,
    simplify,
    to_index,
)
from .cuts import copy_cut, expect_lengths, fill_cut, is_cut, largest_box, part_for, without_needless_cuts
from .hints import ignored_options
from .loops import Else, If, Parallel, copying, serial
from .views import View
from .workspaces import alloc_global

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..buffers import Space
    from ..dtypes import DType
    from ..ir import Value
    from ..types import Extent
    from ..values import Number
    from .loops import Loop

    _Factor = tuple[Buffer, "_Window | None"]
    """A tile, and the part of it that is multiplied if that is not all of it."""

# Buffers -------------------------------------------------------------------------------------------------------------

_SCOPES: dict[str, Space] = {
    "shared": "shared",
    "shared.dyn": "shared",
    "local.fragment": "fragment",
    "local": "local",
    "local.var": "local",
}
"""The memory spaces, by the names that programs know them by."""


def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Buffer:
    """Allocates a tile in the block's shared memory.

    - `scope`: "shared.dyn" or "shared", which are the same; another scope makes what `T.alloc_buffer` makes of it.

    >>> As = T.alloc_shared((128, 64), "float16")
    """
    return _alloc("alloc_shared", shape, dtype, scope)


def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Buffer:
    """Allocates a tile that is spread over the registers of the block's threads.

    Tile operations work on it as a whole; its elements are at hand inside `T.Parallel`.

    - `scope`: "local.fragment"; another scope makes what `T.alloc_buffer` makes of it.

    >>> acc = T.alloc_fragment((64, 64), "float32")
    >>> T.clear(acc)
    """
    return _alloc("alloc_fragment", shape, dtype, scope)


def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> Buffer:
    """Allocates an array: the block's, or each iteration's own if a `T.Parallel` assigns it.

    - `scope`: "local"; another scope makes what `T.alloc_buffer` makes of it.

    >>> array = T.alloc_local((4,), "float32")
    >>> array[0] = A[0, 0]
    """
    return _alloc("alloc_local", shape, dtype, scope)


def alloc_buffer(shape: Any, dtype: Any = "float32", scope: str = "shared.dyn") -> Buffer:
    """Allocates a buffer in the memory that `scope` names: "shared", "shared.dyn", "local.fragment", "local", "global".

    In front of the kernels, and with "global", it is what `T.alloc_global` makes: memory of the call.

    >>> tile = T.alloc_buffer((64, 64), "float32", "shared")
    """
    if scope == "global" or (scope == "shared.dyn" and current().kernel_block is None):
        return alloc_global(shape, dtype)
    return alloc(shape, dtype, _space("alloc_buffer", scope))


def _alloc(function: str, shape: Any, dtype: Any, scope: str) -> Buffer:
    if isinstance(dtype, int) and not isinstance(shape, tuple | list):
        extents = (shape, dtype, *([scope] if isinstance(scope, int) else []))
        raise ArgumentError(
            f"the extents of `T.{function}` are one argument: `T.{function}(({', '.join(map(str, extents))}), dtype)`",
            location=current().here(),
        )
    return alloc(shape, dtype, _space(function, scope))


def _space(function: str, scope: str, wanted: Space | None = None) -> Space:
    """Returns the memory that a scope names; `wanted` is the only one that is taken, if there is one."""
    found = _SCOPES.get(scope) if isinstance(scope, str) else None
    if found is None or (wanted is not None and found != wanted):
        names = [name for name, space in _SCOPES.items() if wanted is None or space == wanted]
        raise ArgumentError(
            f"`scope` of `T.{function}` is {quoted(names)}, not `{scope}`"
            + ("; tensors are parameters of the function" if scope == "global" else ""),
            location=current().here(),
        )
    return found


def alloc_var(dtype: Any, *args: Any, scope: str = "local.var", init: Any = None) -> Any:
    """Makes a scalar that can be assigned to, in loops and branches too; of a type such as `T.float16x2` a vector.

    It is the block's. One that a `T.Parallel` assigns is each iteration's own there, and begins with the value from
    before the loop.

    - `dtype`: its type. Of a vector's, what is assigned is a vector of as many numbers, or a number for all of them;
      `pair[0] = x` assigns to one.
    - `init`: its first value, which may also stand behind the type; undefined if not given, and a warning if nothing
      else sets it and it is read.
    - `scope`: "local.var", which may also stand last.

    >>> count = T.alloc_var("int32", 0)
    >>> for k in T.serial(64):
    ...     if A[0, k] > 0:
    ...         count = count + 1
    """
    if isinstance(dtype, tuple | list):
        raise ArgumentError(
            "`T.alloc_var` makes one number, and has no shape: write `T.alloc_var(dtype, value)`, or "
            "`T.alloc_local(shape, dtype)` for an array",
            location=current().here(),
        )
    if len(args) > 2:
        raise ArgumentError("`T.alloc_var` takes a type, a first value and a scope", location=current().here())
    for value in args:
        if isinstance(value, str):
            scope = value
        elif init is not None:
            raise ArgumentError("`T.alloc_var` has one first value, and two are given", location=current().here())
        else:
            init = value
    _space("alloc_var", scope, "local")
    if found := dtypes.vector(dtype):
        element, lanes = found
        variable: Var | VectorVar = VectorVar([Var(alloc(1, element, "local")) for _ in range(lanes)])
    else:
        variable = Var(alloc(1, dtype, "local"))
    if init is not None:
        variable.set(init)
    return variable


# Copies --------------------------------------------------------------------------------------------------------------


def copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: int | None = None,
    disable_tma: bool = False,
    eviction_policy: str | None = None,
    prefer_instruction: str | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """Copies a tile, converting the element type if the two differ.

    Each side is a buffer, a region `A[i0:i1, j0:j1]`, or a position `A[i, j]`, whose tile has the other side's extents.
    Of two positions the one element is copied. What lies outside of a tensor reads as zero and is not written. Within
    one buffer all of the source is read before anything is written. A slice may end where only the running kernel
    knows, `A[first:last, :]`: behind it nothing is written, and what is read is zero. Such a tile is copied element by
    element, and not ahead of a `T.Pipelined` loop.

    - `src`, `dst`: the two sides.
    - `coalesced_width`, `disable_tma`, `eviction_policy`, `prefer_instruction`, `annotations`, `loop_layout`: hints for
      other compilers, without effect.

    Constraints: the sides have the same extents, leaving out indexed dimensions. Lengths that only the running kernel
    knows are not compared, but where the program is checked.

    >>> T.copy(A[by * 64, bx * 64], As)
    >>> T.copy(A[by * 64 : by * 64 + n[by], :], As[0 : n[by], :])
    """
    ignored_options(
        "T.copy",
        "the compiler chooses the instruction",
        coalesced_width=coalesced_width,
        disable_tma=disable_tma,
        eviction_policy=eviction_policy,
        prefer_instruction=prefer_instruction,
        annotations=annotations,
        loop_layout=loop_layout,
    )
    src, dst = (side.load() if isinstance(side, Reference) else side for side in (src, dst))
    if isinstance(src, Element) and isinstance(dst, Element) and dst.buffer.rank == len(dst.position):
        dst.as_region()  # it is not read
        dst.buffer[dst.position] = src
        return
    from_, to = _side(src), _side(dst)
    if is_cut(from_, to):
        expect_lengths(from_, to)
        from_, to = without_needless_cuts(from_, to)
    if is_cut(from_, to):
        _copy_cut(from_, to)
        return
    tile = _tile(from_, to)
    if _may_overlap(from_, to, tile):
        _copy_by_way_of_a_tile(from_, to, tile)
        return
    if rows := _rows_of_a_part(from_, to, tile):
        _copy_in_parts(from_, to, tile, rows)
        return
    from_, to = (_as_slot(_in_source(side, tile)) for side in (from_, to))
    to.buffer.mark_written()
    if isinstance(to.buffer, Packed):
        _copy_to_pairs(from_, to, to.buffer, tile)
        return
    is_trailing = all(_trailing(side, tile) == tile for side in (from_, to))
    joint = tile if is_trailing else _joint_tile(from_, to, tile)
    spaces = (from_.buffer.space, to.buffer.space)
    is_view = from_.buffer.is_view or to.buffer.is_view
    if is_view or joint is None or from_.buffer.value in current().outside:
        _copy_elements(from_, to, tile)
    elif _is_scalar_conversion(from_.buffer.dtype, to.buffer.dtype):
        if "local" in spaces or not is_trailing:
            _copy_elements(from_, to, tile)
        else:
            _convert_elements(from_, to, tile)
    elif any(_may_leave_array(side, tile) for side in (from_, to)) or (
        not is_trailing and ("local" in spaces or spaces == ("fragment", "fragment"))
    ):
        _copy_elements(from_, to, tile)
    else:
        _ops.copy(from_.buffer.value, _offsets(from_), to.buffer.value, _offsets(to), tile=joint)


def copy_in_cluster(src: Any, dst: Any, rank: Any, *, to_other: bool) -> None:
    """Copies a tile from or to another block of the cluster: see `T.copy_cluster`.

    - `rank`: the number of the other block, whose tile `dst` is if `to_other`, else `src`.
    """
    from_, to = _side(src), _side(dst)
    tile = _tile(from_, to, "copy_cluster")
    there, here = (to, from_) if to_other else (from_, to)
    if there.buffer.space != "shared" or there.buffer.is_view:
        raise TLSyntaxError(
            f"`T.copy_cluster` reaches shared memory of another block, and `{there.name or 'the buffer'}` is no tile "
            f"that `T.alloc_shared` made",
            location=current().here(),
        )
    if from_.buffer.dtype != to.buffer.dtype:
        raise DTypeError(
            f"`T.copy_cluster` copies between tiles of one element type, and `{from_.name or 'the source'}` holds "
            f"`{from_.buffer.dtype}`, `{to.name or 'the target'}` `{to.buffer.dtype}`: convert it by `T.copy`",
            location=current().here(),
        )
    if here.buffer.space != "shared" or here.buffer.is_view:
        made = alloc(tile or (1,), here.buffer.dtype, "shared")
        if to_other:
            copy(src, made)
        copy_in_cluster(*((made, dst) if to_other else (src, made)), rank, to_other=to_other)
        if not to_other:
            copy(made, dst)
        return
    from_, to = _as_slot(from_), _as_slot(to)
    is_trailing = all(_trailing(side, tile) == tile for side in (from_, to))
    joint = tile if is_trailing else _joint_tile(from_, to, tile)
    if joint is None:
        raise ShapeError(
            f"`T.copy_cluster` from `{_describe(from_)}` to `{_describe(to)}`: the tile must lie along the last "
            f"dimensions of both",
            location=current().here(),
        )
    there = to if to_other else from_
    view = _ops.map_shared_rank(there.buffer.value, index_value(rank)).results[0]
    source, target = (from_.buffer.value, view) if to_other else (view, to.buffer.value)
    _ops.copy(source, _offsets(from_), target, _offsets(to), tile=joint)


def shared_like(side: Any, function: str) -> Buffer:
    """Returns a new shared tile of the extents and elements of a side of a copy."""
    region = _side(side)
    return alloc(region_extents(region, function) or (1,), region.buffer.dtype, "shared")


def _side(side: Any) -> Region:
    if isinstance(side, Reference):
        side = side.load()
    if isinstance(side, Element | Outside):
        return side.as_region()
    if isinstance(side, Var):
        side = side.buffer
    if isinstance(side, Buffer):
        extents = tuple(None if isinstance(e, Symbol) else e for e in side.shape)
        return Region(side, (0,) * side.rank, extents)
    if isinstance(side, Region):
        return side
    raise TLSyntaxError(
        f"`T.copy` copies between buffers, and `{shortened(side)}` is none"
        + (
            "; pass it to the kernel as a tensor"
            if hasattr(side, "__array__") or isinstance(side, list | tuple)
            else vector_instead(side)
        ),
        location=current().here(),
    )


def _as_slot(side: Region) -> Region:
    """Returns a whole tile of several in shared memory, `S[i, :, :]`, as that tile, as other tile operations see it."""
    buffer = side.buffer
    leading = next((d for d, extent in enumerate(side.extents) if extent != 0), buffer.rank)
    if buffer.space != "shared" or buffer.is_view or leading == 0 or buffer.rank - leading < 2:
        return side
    rest = zip(side.offsets[leading:], side.extents[leading:], buffer.shape[leading:], strict=True)
    if any(known(offset) != 0 or extent != size for offset, extent, size in rest):
        return side
    slot = whole(side)
    return Region(slot, (0,) * slot.rank, side.extents[leading:])


def _box_in_source(side: Region, tile: tuple[int, ...]) -> Region | None:
    """Returns the same elements of a view as a region of its source; None if they are not seen to be a box there."""
    if not isinstance(side.buffer, View):
        return None
    extents = _matches(side, tile)
    assert extents is not None, "the extents were compared before"
    box = side.buffer.box_of(side.offsets, extents)
    return Region(side.buffer.source, box.offsets, box.extents) if box is not None else None


def _in_source(side: Region, tile: tuple[int, ...]) -> Region:
    """Returns the same elements of a view as a tile of its source, which all know to copy, or the side as it is."""
    found = _box_in_source(side, tile)
    if found is None or _matches(found, tile) is None:
        return side
    return _in_source(found, tile)


_MOST_PARTS = 8
"""Into so many copies at most one is divided."""


def _rows_of_a_part(source: Region, target: Region, tile: tuple[int, ...]) -> int:
    """Returns how many rows of a tile of a view go to a row of its source, if it is stored there in parts; else 0.

    A tile that is loaded is one copy, as others may run ahead only as wholes.
    """
    if source.buffer.space != "shared" or source.buffer.is_view or len(tile) != 2 or target.buffer.rank != 2:
        return 0
    box = _box_in_source(target, tile)
    if box is None or len(box.static_extents) < 2 or _matches(box, tile) is not None:
        return 0
    rows, width = box.static_extents[-2:]
    if rows is None or width != tile[1] or tile[0] % rows != 0:
        return 0
    return rows if rows < tile[0] <= rows * _MOST_PARTS else 0


def _copy_in_parts(source: Region, target: Region, tile: tuple[int, ...], rows: int) -> None:
    """Copies a tile as several of fewer rows each."""
    extents = [_matches(side, tile) for side in (source, target)]
    for first in range(0, tile[0], rows):
        parts: list[Region] = []
        for side, own in zip((source, target), extents, strict=True):
            assert own is not None, "the extents were compared before"
            along = next(d for d, extent in enumerate(own) if extent == tile[0])
            offsets = [binary("add", o, first) if d == along else o for d, o in enumerate(side.offsets)]
            parts.append(
                Region(
                    side.buffer,
                    tuple(map(simplify, offsets)),
                    tuple(rows if d == along else e for d, e in enumerate(own)),
                )
            )
        copy(*parts)


def _may_overlap(source: Region, target: Region, tile: tuple[int, ...]) -> bool:
    """Returns whether the tile may have elements in common at both places."""
    if source.buffer.value is not target.buffer.value:
        return False
    extents, others = _matches(source, tile), _matches(target, tile)
    if source.buffer is not target.buffer or extents is None or others is None:
        return True  # two views of one buffer
    distances = [difference(a, b) for a, b in zip(target.offsets, source.offsets, strict=True)]
    pairs = zip(distances, extents, others, strict=True)
    return not any(d is not None and (d >= extent or -d >= other) for d, extent, other in pairs)


def _copy_by_way_of_a_tile(source: Region, target: Region, tile: tuple[int, ...]) -> None:
    """Copies within one buffer: all of the source is read before anything is written."""
    made = alloc(tile or (1,), source.buffer.dtype, "local" if source.buffer.space == "local" else "fragment")
    copy(source, made)
    copy(made, target)


def _copy_cut(source: Region, target: Region) -> None:
    """Copies a tile whose extents only the running kernel knows."""
    if isinstance(target.buffer, Packed):
        _ = target.extents  # which raises an error
    if source.buffer.value is not target.buffer.value:
        copy_cut(source, target)
        return
    box = largest_box(source, target)
    if box is None:
        raise ShapeError(
            f"`T.copy` within `{source.name or 'a tensor'}` of a slice whose length is not known when the kernel is "
            f"built: copy it to a tile on the chip, and that back",
            location=current().here(),
        )
    made = alloc(box, source.buffer.dtype, "local" if source.buffer.space == "local" else "fragment")
    copy_cut(source, _side(made))
    copy_cut(part_for(source, target, made), target)


def _is_scalar_conversion(source: DType, target: DType) -> bool:
    """Returns whether a conversion is not the IR's: integers have no sign there, and two roundings are not one."""
    if source != target and (isinstance(source, dtypes.Format) or isinstance(target, dtypes.Format)):
        return True
    has_signs = any(d.kind in ("uint", "bool") for d in (source, target))
    rounds_twice = source.is_float and target.is_float and source.bits == 64 and target.bits < 32
    return source.mlir != target.mlir and (has_signs or rounds_twice)


def _other_extents(source: Region, target: Region) -> str:
    """Returns what to do about extents that differ."""
    ranks = [sum(extent != 1 for extent in side.extents) for side in (source, target)]
    if ranks[0] != ranks[1] and None not in (*source.extents, *target.extents):
        less, greater = sorted((source.buffer, target.buffer), key=lambda buffer: buffer.rank)
        kept = min(less.rank, greater.rank - 1)
        part = ", ".join([*"ijkl"[: greater.rank - kept], *":" * kept])
        name = greater.name or "buffer"
        return (
            f"take a part of as many dimensions, such as `{name}[{part}]`, or the place where a tile begins, with an "
            f"index for each dimension, `{name}[{', '.join('ijklmn'[: greater.rank])}]`"
        )
    return (
        "where a tile lies over the edge of a tensor give the place where it begins, such as `A[i, j]`: what is "
        "outside is left out"
    )


def _tile(source: Region, target: Region, what: str = "copy") -> tuple[int, ...]:
    """Returns the extents of the tile that is copied, without indexed dimensions."""
    known = [side for side in (source, target) if None not in side.extents]
    if not known:
        if all(set(side.extents) == {None} for side in (source, target)):
            raise ShapeError(
                f"the extents of this {what} are unknown: give one side as a region, such as `A[i : i + 64]`",
                location=current().here(),
            )
        raise ShapeError(
            f"the extents of this {what} are not known when the kernel is built", location=current().here()
        )
    tile = tuple(e for e in known[0].extents if e)
    other = target if known[0] is source else source
    if _matches(other, tile) is None:
        raise ShapeError(
            f"`T.{what}` from `{_describe(source)}` to `{_describe(target)}`: the extents differ; "
            f"{_other_extents(source, target)}",
            location=current().here(),
        )
    return tile


def _matches(side: Region, tile: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns each dimension's extent in the tile, 1 for those that the tile lacks; None if the two differ."""
    if None in side.extents and not any(side.extents):  # a position: the last dimensions are the tile's
        missing = len(side.extents) - len(tile)
        tile = tile if missing >= 0 else tuple(e for e in tile if e != 1)
        missing = len(side.extents) - len(tile)
        return (1,) * missing + tile if missing >= 0 else None
    extents = tuple(e or 1 for e in side.extents) if None not in side.extents else None
    if extents is None:
        if len(side.extents) != len(tile):
            return None
        return tile if all(e is None or e == t for e, t in zip(side.extents, tile, strict=True)) else None
    return extents if [e for e in extents if e != 1] == [e for e in tile if e != 1] else None


def _trailing(side: Region, tile: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the tile's extents if they are the side's last dimensions and 1 before, else None."""
    extents = _matches(side, tile)
    if extents is None:
        return None
    shortest = extents
    while len(shortest) > 1 and shortest[0] == 1 and len(shortest) > len(tile):
        shortest = shortest[1:]
    return shortest if shortest == tile else None


def _joint_tile(source: Region, target: Region, tile: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the tile of which each side has the last dimensions, but for extents of one; None if there is none."""
    sides = [extents for side in (source, target) if (extents := _matches(side, tile)) is not None]
    longest = max(sides, key=len)
    for first in reversed(range(len(longest))):
        joint = longest[first:]
        if all(_seen_by_side(joint, len(extents)) == extents for extents in sides):
            return joint
    return None


def _seen_by_side(joint: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Returns the extents of a tile of `tl.copy` in each dimension of a side, as the operation is defined."""
    kept = list(joint)
    for dim in reversed(range(len(joint) - 1)):
        if len(kept) > rank and kept[dim] == 1:
            del kept[dim]
    return (1,) * (rank - len(kept)) + tuple(kept)


def _describe(side: Region) -> str:
    extents = ", ".join("?" if e is None else str(e or 1) for e in side.extents)
    return f"{side.name or 'buffer'}({extents})"


def _offsets(side: Region) -> list[Value]:
    if all(isinstance(o, int) and o == 0 for o in side.offsets):
        return []
    return [index_value(o) for o in side.offsets]


_MAX_UNROLLED = 32
"""Copies of so many elements to or from a local array have no loop, so that the elements are at known indices."""


def _copy_elements(source: Region, target: Region, tile: tuple[int, ...]) -> None:
    """Copies a tile whose dimensions are not the last ones of both sides, element by element."""
    sizes = [e for e in tile if e != 1] or [1]

    def copy_at(variables: tuple[Any, ...]) -> None:
        target.buffer[_element(target, tile, variables)] = source.buffer[_element(source, tile, variables)]

    if "local" not in (source.buffer.space, target.buffer.space):
        with copying(Parallel(*sizes)) as loop:
            copy_at(as_tuple(loop))
    elif math.prod(sizes) <= _MAX_UNROLLED and all(_is_inside(side, tile) for side in (source, target)):
        for variables in itertools.product(*map(range, sizes)):
            copy_at(variables)
    else:
        with contextlib.ExitStack() as nest:
            copy_at(tuple(nest.enter_context(copying(serial(size))) for size in sizes))


def _copy_to_pairs(source: Region, target: Region, tensor: Packed, tile: tuple[int, ...]) -> None:
    """Copies a tile to a tensor of which two elements share a byte, byte by byte."""
    *sizes, last = [e for e in tile if e != 1] or [1]
    extents = _matches(target, tile)
    assert extents is not None, "the extents were compared before"
    place = to_index(target.offsets[-1]).linear
    if extents[-1] != last or last % 2 or place.const % 2 or any(factor % 2 for factor in place.terms.values()):
        raise ShapeError(
            f"two `{tensor.dtype}` of `{tensor.name}` share a byte, and so a tile is copied there that has an even "
            f"extent along the last dimension, at an even place, such as `{last + last % 2} * i`",
            location=current().here(),
        )

    def copy_at(variables: tuple[Any, ...]) -> None:
        *outer, pair = variables
        first, second = (binary("add", binary("mul", pair, 2), n) for n in (0, 1))
        numbers = [
            expr(cast(source.buffer[_element(source, tile, (*outer, i))], tensor.dtype)) for i in (first, second)
        ]
        place = [simplify(i) for i in _element(target, tile, (*outer, first))]
        tensor.store_pair(numbers[0], numbers[1], place)

    _for_each([*sizes, last // 2], copy_at, in_parallel=source.buffer.space != "local")


def for_each_pair(
    source: Any,
    target: Any,
    what: str,
    body: Callable[[tuple[Any, ...], tuple[Any, ...]], None],
    over: type[Loop] = Parallel,
) -> None:
    """Calls `body` in a loop over two tiles, with where an element is in each; sides are as for `copy`."""
    from_, to = _side(source), _side(target)
    tile = _tile(from_, to, what)
    with over(*([e for e in tile if e != 1] or [1])) as loop:
        variables = as_tuple(loop)
        body(_element(from_, tile, variables), _element(to, tile, variables))


def _is_inside(side: Region, tile: tuple[int, ...]) -> bool:
    """Returns whether no index of the tile that is known now is out of bounds."""
    extents = _matches(side, tile)
    assert extents is not None, "the extents were compared before"
    return all(
        not isinstance(offset, int) or isinstance(size, Symbol) or 0 <= offset <= size - extent
        for offset, extent, size in zip(side.offsets, extents, side.buffer.shape, strict=True)
    )


def _may_leave_array(side: Region, tile: tuple[int, ...]) -> bool:
    """Returns whether a tile of a local array is not seen to be inside: only of single elements the compiler keeps
    those that are not from being written."""
    extents = _matches(side, tile)
    assert extents is not None, "the extents were compared before"
    return side.buffer.space == "local" and not all(
        _is_seen_inside(offset, extent, size)
        for offset, extent, size in zip(side.offsets, extents, side.buffer.shape, strict=True)
    )


def _is_seen_inside(offset: Number | Expr, extent: int, size: Extent) -> bool:
    """Returns whether so many elements from an offset on are seen to be inside of a dimension."""
    if isinstance(size, Symbol):
        return False
    places = offset.range if isinstance(offset, Expr) else Range.of(int(offset))
    return places.within(Range(0, size - extent))


def _convert_elements(source: Region, target: Region, tile: tuple[int, ...]) -> None:
    """Copies a tile of the last dimensions of both sides, converting each element."""
    with copying(Parallel(*tile)) as loop:
        variables = as_tuple(loop)

        def position(side: Region) -> tuple[Any, ...]:
            offsets = [to_index(offset) for offset in side.offsets]
            leading = len(offsets) - len(tile)
            moved = zip(offsets[leading:], variables, strict=True)
            return (*offsets[:leading], *(binary("add", offset, index) for offset, index in moved))

        target.buffer[position(target)] = source.buffer[position(source)]


def _element(side: Region, tile: tuple[int, ...], variables: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the index of an element; a tile begins at a position, so that no part of it counts from the end."""
    extents = _matches(side, tile)
    assert extents is not None, "the extents were compared before"
    remaining = iter(variables)
    return tuple(
        bounded_index(offset) if extent == 1 else binary("add", bounded_index(offset), next(remaining))
        for offset, extent in zip(side.offsets, extents, strict=True)
    )


def dp4a(A: Any, B: Any, C: Any) -> None:
    """Adds the product of four neighbours in two buffers to an element: `C[0] += A[0] * B[0] + ... + A[3] * B[3]`.

    - `A`, `B`: a buffer of int8, from its first element on, or the element or the slice where the four begin, such as
      `A[i, 4 * j]`.
    - `C`: a buffer of int32, whose first element it is, or the element. The sum wraps.

    >>> a = T.alloc_local((4,), "int8")
    >>> b = T.alloc_local((4,), "int8")
    >>> total = T.alloc_local((1,), "int32")
    >>> for k in T.serial(4):
    ...     a[k] = k
    ...     b[k] = 1
    >>> total[0] = 0
    >>> T.dp4a(a, b, total)
    """
    sides = [(side.buffer, side.as_place()) if isinstance(side, Element) else _first(side) for side in (A, B, C)]
    for (buffer, _), wanted in zip(sides, (dtypes.int8, dtypes.int8, dtypes.int32), strict=True):
        if buffer.dtype is not wanted:
            raise DTypeError(
                f"`T.dp4a` adds products of `int8` to an `int32`, and `{buffer.name}` holds `{buffer.dtype}`",
                location=current().here(),
            )
    (left, i), (right, j), (target, place) = sides
    total: Any = target[tuple(place)]
    for n in range(4):
        pair = [b[(*p[:-1], binary("add", p[-1], n))] for b, p in ((left, i), (right, j))]
        total = binary("add", total, binary("mul", *(cast(element, dtypes.int32) for element in pair)))
    target[tuple(place)] = total


def _first(side: Any) -> tuple[Buffer, list[Any]]:
    if isinstance(side, Region) and side.is_short_row():
        return side.buffer, [*side.offsets]
    if not isinstance(side, Buffer):
        raise TLSyntaxError(f"`T.dp4a` needs buffers or elements of them, not `{side!r}`", location=current().here())
    return side, [0] * side.rank


def transpose(src: Any, dst: Any, annotations: dict[str, Any] | None = None) -> None:
    """Copies a tile with its last two dimensions exchanged: `dst[..., j, i] = src[..., i, j]`.

    - `src`, `dst`: tiles or regions with two dimensions or more, of M x N and N x M at the end.
    - `annotations`: hints for other compilers, without effect.

    >>> T.transpose(As, Bs)
    """
    ignored_options("T.transpose", "the compiler chooses who moves what", annotations=annotations or None)
    from_, to = _side(src), _side(dst)
    tile, other = (region_extents(side, "T.transpose") for side in (from_, to))
    if len(tile) < 2 or other != (*tile[:-2], tile[-1], tile[-2]):
        raise ShapeError(
            f"`T.transpose` from `{_describe(from_)}` to `{_describe(to)}`: the second has the dimensions of the "
            f"first, the last two exchanged",
            location=current().here(),
        )
    if from_.buffer.value is to.buffer.value:
        made = alloc(tile, from_.buffer.dtype, "fragment")
        copy(from_, made)
        from_ = _side(made)
    if to.buffer.space == "local":
        made = alloc(other, to.buffer.dtype, "fragment")
        transpose(from_, made)
        copy(made, to)
        return
    to.buffer.mark_written()
    with Parallel(*tile) as (*outer, i, j):
        to.buffer[region_element(to, (*outer, j, i))] = from_.buffer[region_element(from_, (*outer, i, j))]


def region_element(side: Region, indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the index of an element of a region, whose dimensions are those that are not indexed."""
    remaining = iter(indices)
    return tuple(
        binary("add", to_index(offset), next(remaining)) if extent else to_index(offset)
        for offset, extent in zip(side.offsets, side.extents, strict=True)
    )


def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    eviction_policy: str | None = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Copies what a tile of a convolution's matrix of patches holds: row m is a position, column k a weight.

    Position m is image `m // (OH * OW)`, row and column of the result in it; weight k is row, column and channel of the
    kernel, the channel fastest. What lies outside of the image is zero.

    - `img`: a tensor of N x H x W x C.
    - `col`: a tile on the chip, of two dimensions.
    - `nhw_step`, `c_step`: which tile it is: it begins at row `nhw_step * rows` and column `c_step * columns`.
    - `kernel`, `stride`, `dilation`, `pad`: of the convolution, the same in both directions.
    - `eviction_policy`, `annotations`: hints for other compilers, without effect.

    >>> patches = T.alloc_shared((64, 32), "float32")
    >>> T.im2col(image, patches, by, bx, kernel=3, stride=1, dilation=1, pad=1)
    """
    ignored_options(
        "T.im2col",
        "the compiler chooses the instruction",
        eviction_policy=eviction_policy,
        annotations=annotations or None,
    )
    if not isinstance(img, Buffer) or img.rank != 4 or img.space != "global":
        raise RankError("`img` of `T.im2col` is a tensor of four dimensions, N x H x W x C", location=current().here())
    to = _side(col)
    shape = region_extents(to, "T.im2col")
    if len(shape) != 2:
        raise RankError(f"`col` of `T.im2col` has two dimensions, not {len(shape)}", location=current().here())
    images, height, width, channels = img.shape
    rows, columns = shape

    def results(extent: Any) -> Any:
        span = binary("sub", binary("add", extent, 2 * pad), dilation * (kernel - 1) + 1)
        return binary("add", binary("floordiv", span, stride), 1)

    high, wide = results(height), results(width)
    with Parallel(rows, columns) as (i, j):
        position = binary("add", binary("mul", nhw_step, rows), i)
        area = binary("mul", high, wide)
        inside = binary("mod", position, area)
        first = binary("mul", c_step, columns)
        if isinstance(channels, int) and channels % columns == 0:  # a tile has one tap, and its channels are in a row
            tap = binary("floordiv", first, channels)
            channel = binary("add", binary("mod", first, channels), j)
        else:
            weight = binary("add", first, j)
            tap, channel = binary("floordiv", weight, channels), binary("mod", weight, channels)

        def along(place: Any, step: Any) -> Any:
            moved = binary("add", binary("mul", place, stride), binary("mul", step, dilation))
            return binary("sub", moved, pad)

        y = along(binary("floordiv", inside, wide), binary("floordiv", tap, kernel))
        x = along(binary("mod", inside, wide), binary("mod", tap, kernel))
        image = binary("floordiv", position, area)
        # A weight behind the last one is none, though its row of the kernel may be in the image.
        inside_image = binary("lt", tap, kernel * kernel)
        for place, extent in ((image, images), (y, height), (x, width)):
            within = binary("and", binary("ge", place, 0), binary("lt", place, extent))
            inside_image = binary("and", inside_image, within)
        target = _element(to, shape, (i, j))
        with If(inside_image):
            index = (image, y, x, channel)
            to.buffer[target] = img[tuple(Expr(index_value(n)) for n in index)]
        with Else():
            to.buffer[target] = 0


def region_extents(side: Region, function: str) -> tuple[int, ...]:
    """Returns the extents of a region, without indexed dimensions."""
    if None in side.extents:
        raise ShapeError(
            f"`{function}` needs extents that are known when the kernel is built: give a region of `{side.name}`, such "
            f"as `{side.name}[0:64, 0:64]`",
            location=current().here(),
        )
    return tuple(e for e in side.extents if e)


# Fills ---------------------------------------------------------------------------------------------------------------


def fill(buffer: Any, value: Any, annotations: dict[str, Any] | None = None) -> None:
    """Sets every element of a tile, or of a region, to `value`.

    - `buffer`: a tile on the chip, or a region of a tile or a tensor; of a position the one element.
    - `annotations`: hints for other compilers, without effect.

    >>> T.fill(acc, 1.0)
    """
    ignored_options("T.fill", "the compiler chooses who writes what", annotations=annotations or None)
    if isinstance(buffer, Reference):
        buffer = buffer.load()
    if isinstance(buffer, Element):
        buffer.as_region()
        buffer.buffer[buffer.position] = value
        return
    if _is_whole_tile(buffer):
        target = whole(buffer)
        require_same_space(target, "shared", "fragment", "local")
        _ops.fill(target.value, expr(value, target.dtype).value)
        return
    side = _side(buffer)
    stored = expr(value, side.buffer.dtype)
    if None in side.static_extents and not side.is_position:
        if isinstance(side.buffer, Packed):
            region_extents(side, "T.fill")  # which raises an error
        fill_cut(side, stored)
        return
    extents = region_extents(side, "T.fill")

    def set_at(variables: tuple[Any, ...]) -> None:
        side.buffer[_element(side, extents, variables)] = stored

    _for_each([e for e in extents if e != 1] or [1], set_at, in_parallel=side.buffer.space != "local")


def _is_whole_tile(buffer: Any) -> bool:
    """Returns whether an operand is a tile on the chip, or a slot of one."""
    if isinstance(buffer, Var):
        return True
    if isinstance(buffer, Region):
        if buffer.buffer.space == "global":
            return False
        slots = list(itertools.takewhile(lambda e: e == 0, buffer.static_extents))
        rest = range(len(slots), buffer.buffer.rank)
        is_whole = all(
            buffer.static_extents[d] == buffer.buffer.shape[d] and known(buffer.offsets[d]) == 0 for d in rest
        )
        # As of an array's elements, of its slots one outside is not written.
        places = zip(buffer.offsets, buffer.buffer.shape, strict=True)
        are_inside = all(_is_seen_inside(offset, 1, size) for offset, size in itertools.islice(places, len(slots)))
        has_slots = not slots or buffer.buffer.space == "shared" or (buffer.buffer.space == "local" and are_inside)
        return is_whole and has_slots and not buffer.buffer.is_view
    return not isinstance(buffer, Buffer) or (buffer.space != "global" and not buffer.is_view)


def _for_each(extents: list[int], body: Callable[[tuple[Any, ...]], None], *, in_parallel: bool) -> None:
    """Builds a loop nest over a box."""
    with contextlib.ExitStack() as nest:
        if in_parallel:
            body(as_tuple(nest.enter_context(Parallel(*extents))))
        else:
            body(tuple(nest.enter_context(serial(extent)) for extent in extents))


def clear(buffer: Any, annotations: dict[str, Any] | None = None) -> None:
    """Sets every element of a tile, or of a region, to zero; see `fill`.

    - `annotations`: hints for other compilers, without effect.

    >>> T.clear(acc)
    """
    current().reach_kernel("`T.clear`")
    fill(buffer, 0, annotations)


# Matrix products -----------------------------------------------------------------------------------------------------


class GemmWarpPolicy(enum.Enum):
    """How the warps of a block share the tile of a `T.gemm`.

    >>> T.clear(acc)
    >>> T.gemm(As, Bs, acc, policy=T.GemmWarpPolicy.FullRow)
    """

    Square = "square"
    FullRow = "full_row"
    FullCol = "full_col"


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    mbar: Any = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Multiplies two tiles and adds the product to a third: `C += A @ B`.

    - `A`: M x K, or K x M with `transpose_A`; in shared memory or a fragment, whose registers the tensor cores read if
      they can. A slice of a shared tile that begins and ends where all instructions can is read in place: at
      multiples of 8 rows, and of 32 bytes along K, where that is the last dimension, else of 128. Others, and slices of
      fragments, are copied to shared memory.
    - `B`: K x N, or N x K with `transpose_B`; in shared memory, and slices as for `A`. A fragment is copied there.
    - `C`: M x N, a fragment. A region of one is copied to a fragment and back. `A`, `B` and `C` may be whole local
      arrays instead, but only all three.
    - Types: `A` and `B` of one of `float16`, `bfloat16`, `float32` and `float64`, each of `int8`, `int4` or `uint4`, or
      each of `float8_e4m3`, `float8_e5m2` or `float4_e2m1fn`; those of `fnuz` are multiplied as `float16`, and so are
      integers of 8 bits where one is `uint8`, with a K of 256 at most. `C` of `float32` for floats of 32 bits and fewer
      (`float16` too for `float16`), else of `float64` or `int32`.
    - `policy`: how warps share the tile.
    - `clear_accum`: whether `C` is set to zero before; may depend on a loop, as in `k == 0`.
    - `k_pack`, `annotations`: hints for other compilers, without effect; `k_pack` is 1 or 2.
    - `mbar`: a barrier that tells when the product is there, which only chips of `sm_100` have.

    >>> T.clear(acc)
    >>> T.gemm(As, Bs, acc)
    """
    if mbar is not None:
        raise ArgumentError(
            "`mbar` of `T.gemm` needs a chip of `sm_100` or later, for whose instructions there is no code here; leave "
            "it out: the product is there when `T.gemm` is done",
            location=current().here(),
        )
    if type(k_pack) is not int or k_pack not in (1, 2):
        raise RangeError(f"T.gemm k_pack must be an int equal to 1 or 2, got {k_pack!r}", location=current().here())
    ignored_options(
        "T.gemm",
        "the compiler chooses the instruction",
        k_pack=None if k_pack == 1 else k_pack,
        annotations=annotations,
    )
    is_register = isinstance(A, Buffer) and A.space == "fragment" and A is not C and _is_whole_tile(A)
    are_local = all(isinstance(tile, Buffer) and tile.space == "local" for tile in (A, B, C))
    a_window = _window(A, is_k_last=not transpose_A)
    b_window = _window(B, is_k_last=bool(transpose_B))
    a = a_window.tile if a_window else A if is_register or are_local else _operand("A", A, "shared")
    b = b_window.tile if b_window else B if are_local else _operand("B", B, "shared")
    c = C if are_local else _operand("C", C, "fragment")
    a, b = _as_factor(a), _as_factor(b)
    for name, tile in (("A", a), ("B", b), ("C", c)):
        if tile.rank != 2:
            raise RankError(f"`{name}` of `T.gemm` needs two dimensions, not {tile.rank}", location=current().here())
        is_known = tile.dtype.kind in ("int", "float") or (tile.dtype is dtypes.uint8 and tile is not c)
        if not is_known or isinstance(tile.dtype, dtypes.Format):
            raise DTypeError(f"`T.gemm` does not work on `{tile.dtype}`", location=current().here())
    _check_gemm_types(a.dtype, b.dtype, c.dtype)
    left = a_window.shape if a_window else a.shape
    right = b_window.shape if b_window else b.shape
    _check_gemm({"A": left, "B": right, "C": c.shape}, {"A": bool(transpose_A), "B": bool(transpose_B)})
    if not isinstance(policy, GemmWarpPolicy):
        raise ArgumentError(f"`policy` is a `T.GemmWarpPolicy`, not `{policy!r}`", location=current().here())
    _clear_if(clear_accum, c)
    if are_local:
        _multiply_arrays(a, b, c, transpose_A, transpose_B)
        return
    if dtypes.uint8 in (a.dtype, b.dtype):
        _multiply_bytes((a, a_window), (b, b_window), c, transpose_A, transpose_B, policy)
        if not _is_whole_tile(C):
            copy(c, C)
        return
    depth = None
    if b_window:
        depth = b_window.shape[1 if transpose_B else 0]
    elif a_window:
        depth = a_window.shape[0 if transpose_A else 1]
    _ops.gemm(
        a.value,
        b.value,
        c.value,
        policy=policy.value,
        transpose_a=bool(transpose_A),
        transpose_b=bool(transpose_B),
        a_at=a_window and a_window.place,
        b_at=b_window and b_window.place,
        depth=depth,
    )
    if not _is_whole_tile(C):
        copy(c, C)


def _multiply_arrays(a: Buffer, b: Buffer, c: Buffer, transpose_a: bool, transpose_b: bool) -> None:
    """Multiplies local arrays, one product after another."""
    extents = a.static_shape()
    assert extents is not None, "local arrays have static shapes"
    with serial(c.shape[0]) as i, serial(c.shape[1]) as j, serial(extents[0 if transpose_a else 1]) as k:
        pair = (a[(k, i) if transpose_a else (i, k)], b[(j, k) if transpose_b else (k, j)])
        product = binary("mul", *(cast(element, c.dtype) for element in pair))
        c[i, j] = binary("add", c[i, j], product)


_MOST_BYTES = 256
"""The products of two bytes of which a `float32` holds every sum: 256 * 255 * 255 is less than 2^24."""


def _multiply_bytes(
    a: _Factor, b: _Factor, c: Buffer, transpose_a: bool, transpose_b: bool, policy: GemmWarpPolicy
) -> None:
    """Multiplies bytes without a sign as `float16`, which holds them; the sums are exact too, and become integers."""
    shapes = [window.shape if window else tile.static_shape() for tile, window in (a, b, (c, None))]
    shape, _, result = shapes
    assert shape is not None, "on-chip buffers have static shapes"
    assert result is not None, "on-chip buffers have static shapes"
    depth = shape[0 if transpose_a else 1]
    if depth > _MOST_BYTES:
        raise ShapeError(
            f"`T.gemm` of `uint8` has at most {_MOST_BYTES} columns of `A`, not {depth}: multiply a part at a time",
            location=current().here(),
        )
    factors = [
        alloc(extents, dtypes.float16, tile.space) for (tile, _), extents in zip((a, b), shapes[:2], strict=True)
    ]
    for (tile, window), factor in zip((a, b), factors, strict=True):
        copy(window.region if window else tile, factor)
    sums = alloc(result, dtypes.float32, "fragment")
    gemm(factors[0], factors[1], sums, transpose_a, transpose_b, policy, clear_accum=True)
    with Parallel(*as_tuple(result)) as (i, j):
        c[i, j] = binary("add", c[i, j], cast(sums[i, j], c.dtype))


class _Window:
    """A part of a shared tile that instructions read in place: where it begins, and its extents."""

    def __init__(self, tile: Buffer, place: tuple[int, int], shape: tuple[int, int]) -> None:
        self.tile, self.place, self.shape = tile, place, shape

    @property
    def region(self) -> Region:
        """The part as an operand of a copy."""
        return Region(self.tile, self.place, self.shape)


def _window(operand: Any, *, is_k_last: bool) -> _Window | None:
    """Returns a factor of a gemm that is read where it lies in its tile; None for what is a whole tile, or copied.

    The places are those at which instructions of every chip can begin, whatever the swizzle of the tile is: a copy
    would be read no faster, and takes time and memory. Lines of a tile are whole steps of 32 bytes, since `ldmatrix`
    and descriptors begin at such.
    """
    if not isinstance(operand, Region) or _is_whole_tile(operand):
        return None
    buffer = operand.buffer
    if buffer.space != "shared" or buffer.is_view or buffer.dtype is dtypes.uint8:
        return None
    if isinstance(buffer.dtype, dtypes.Format) or buffer.rank < 2:
        return None
    rows, columns = operand.static_extents[-2:]
    row, column = (known(offset) for offset in operand.offsets[-2:])
    if any(extent != 0 for extent in operand.static_extents[:-2]) or not rows or not columns:
        return None
    if type(row) is not int or type(column) is not int:
        return None
    unit = (32 if is_k_last else 128) * 8 // buffer.dtype.bits
    shape = buffer.static_shape()
    assert shape is not None, "on-chip buffers have static shapes"
    height, width = shape[-2:]
    if row % 8 or rows % 8 or height % 8 or column % unit or columns % unit or width * buffer.dtype.bits % 256:
        return None
    tile = whole(Region(buffer, (*operand.offsets[:-2], 0, 0), (*operand.static_extents[:-2], height, width)))
    return _Window(tile, (row, column), (rows, columns))


def _operand(name: str, operand: Any, space: Space) -> Buffer:
    """Returns an operand of a gemm as a tile where instructions read it: itself, or a copy."""
    buffer = operand.buffer if isinstance(operand, Region) else operand
    if not isinstance(buffer, Buffer) or buffer.space not in ((space,) if space == "fragment" else (space, "fragment")):
        what = "fragments" if space == "fragment" else "tiles of `T.alloc_shared`"
        if isinstance(buffer, Buffer) and buffer.space == "local":
            raise DTypeError(
                f"`{name}` of `T.gemm` is {operand!r}: it takes local arrays only where `A`, `B` and `C` all are whole "
                f"ones; `T.copy` it to one of the {what}",
                location=current().here(),
            )
        raise DTypeError(
            f"`{name}` of `T.gemm` is {operand!r}: `A` and `B` are tiles of `T.alloc_shared`, or fragments, and `C` "
            f"one of `T.alloc_fragment`; `T.copy` it to one of the {what}",
            location=current().here(),
        )
    if buffer.space == space and _is_whole_tile(operand):
        return whole(operand)
    side = _side(operand)
    made = alloc(region_extents(side, "T.gemm"), buffer.dtype, space)
    copy(side, made)
    return made


_FACTORS = {
    "int4": dtypes.int8, "uint4": dtypes.int8, "float4_e2m1fn": dtypes.float8_e4m3, "float8_e4m3fnuz": dtypes.float16,
    "float8_e5m2fnuz": dtypes.float16,
}  # fmt: skip
"""The types that hold all numbers of a format, and that are multiplied."""


def _as_factor(tile: Buffer) -> Buffer:
    """Returns a factor of a gemm in a type that is multiplied; integers of 4 bits are integers of 8 on the chip."""
    factor = _FACTORS.get(tile.dtype)
    if factor is None or not isinstance(tile.dtype, dtypes.Format):
        return tile
    extents = tile.static_shape()
    assert extents is not None, "on-chip buffers have static shapes"
    if factor is dtypes.int8:
        return Buffer(tile.value, extents, factor, tile.space)
    made = alloc(extents, factor, tile.space)
    copy(tile, made)
    return made


_ACCUMULATORS = {
    "f16": ("f32", "f16"), "bf16": ("f32",), "f32": ("f32",), "i8": ("i32",), "f64": ("f64",), "f8E4M3FN": ("f32",),
    "f8E5M2": ("f32",),
}  # fmt: skip
"""The types that products of a type are accumulated in."""


def _check_gemm_types(a: DType, b: DType, c: DType) -> None:
    are_small = [t.is_float and t.bits == 8 for t in (a, b)]
    if a.mlir != b.mlir and not all(are_small):
        other = ", or both floats of 8 bits" if any(are_small) else ""
        raise DTypeError(
            f"`A` of `T.gemm` is of `{a}` and `B` of `{b}`: they are the same{other}; `T.copy` one to a tile of the "
            f"other's type",
            location=current().here(),
        )
    if c.mlir not in _ACCUMULATORS.get(a.mlir, (c.mlir,)):
        accumulators = {"f32": "float32", "f16": "float16", "i32": "int32", "f64": "float64"}
        raise DTypeError(
            f"`T.gemm` of `{a}` accumulates in {quoted(accumulators[n] for n in _ACCUMULATORS[a.mlir])}, and `C` is of "
            f"`{c}`: allocate it so",
            location=current().here(),
        )


def _check_gemm(shapes: dict[str, tuple[Any, ...]], transposed: dict[str, bool]) -> None:
    a, b, c = _turned(shapes, transposed)
    if a[1] != b[0]:
        wrong = f"the columns of `A`, {a[1]}, are to be as many as the rows of `B`, {b[0]}"
    elif (a[0], b[1]) != c:
        wrong = f"`C` is to be {a[0]} x {b[1]}"
    else:
        return
    for names in ("B", "A", "AB"):
        x, y, _ = _turned(shapes, {name: transposed[name] != (name in names) for name in transposed})
        if x[1] == y[0] and (x[0], y[1]) == c:
            wrong += f"; with {' and '.join(f'`transpose_{name}={not transposed[name]}`' for name in names)} they do"
            break
    how = " (after transposition)" if any(transposed.values()) else ""
    raise ShapeError(
        f"`T.gemm`: `A` is {a[0]} x {a[1]}, `B` is {b[0]} x {b[1]} and `C` is {c[0]} x {c[1]}{how}; they do not fit "
        f"together: {wrong}",
        location=current().here(),
    )


def _turned(shapes: dict[str, tuple[Any, ...]], transposed: dict[str, bool]) -> list[tuple[Any, ...]]:
    """Returns shapes, in the order of their names, those backwards that are transposed."""
    return [tuple(shape[::-1] if transposed.get(name) else shape) for name, shape in shapes.items()]


def _clear_if(chosen: Any, target: Buffer) -> None:
    found = condition(chosen)
    if isinstance(found, Expr):
        with If(found):
            clear(target)
    elif found:
        clear(target)


__all__ = [
    "GemmWarpPolicy", "alloc_buffer", "alloc_fragment", "alloc_local", "alloc_shared", "alloc_var", "clear", "copy",
    "fill", "gemm", "im2col", "transpose",
]  # fmt: skip
