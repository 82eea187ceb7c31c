"""Operations on whole tiles, and the buffers they work on."""

from __future__ import annotations

import contextlib
import enum
import itertools
import math

from .. import _ops
from ..buffers import Buffer, Element, Outside, Region, Var, alloc, require_same_space, whole
from ..builder import current
from ..errors import ArgumentError, DTypeError, RankError, ShapeError, TLSyntaxError
from ..typed import TYPE_CHECKING
from ..types import Symbol, as_tuple
from ..values import Expr, binary, condition, expr, index_value, to_index
from .loops import If, Parallel, serial

if TYPE_CHECKING:
    from typing import Any

    from .._ops import ReduceKind
    from ..dtypes import DType
    from ..ir import Value

# Buffers -------------------------------------------------------------------------------------------------------------


def alloc_shared(shape: Any, dtype: Any) -> Buffer:
    """Allocates a tile in the block's shared memory.

    >>> As = T.alloc_shared((128, 64), "float16")  # doctest: +SKIP
    """
    return alloc(shape, dtype, "shared")


def alloc_fragment(shape: Any, dtype: Any) -> Buffer:
    """Allocates a tile that is spread over the registers of the block's threads.

    Tile operations work on it as a whole; its elements are at hand inside `T.Parallel`.
    """
    return alloc(shape, dtype, "fragment")


def alloc_local(shape: Any, dtype: Any) -> Buffer:
    """Allocates an array: the block's, or each iteration's own if a `T.Parallel` assigns it."""
    return alloc(shape, dtype, "local")


def alloc_var(dtype: Any, init: Any = None) -> Var:
    """Makes a scalar that can be assigned to, in loops and branches too.

    It is the block's. One that a `T.Parallel` assigns is each iteration's own there, and begins with the value from
    before the loop.

    - `init`: its first value; undefined if not given, and a warning if nothing else sets it and it is read.
    """
    variable = Var(alloc(1, dtype, "local"))
    if init is not None:
        variable.set(init)
    return variable


# Copies --------------------------------------------------------------------------------------------------------------


def copy(source: Any, target: Any) -> None:
    """Copies a tile, converting the element type if the two differ.

    Each side is a buffer, a region `A[i0:i1, j0:j1]`, or a position `A[i, j]`, whose tile has the other side's extents.
    What lies outside of a tensor reads as zero and is not written.

    Constraints: the sides have the same extents, leaving out indexed dimensions.
    """
    from_, to = _side(source), _side(target)
    tile = _tile(from_, to)
    to.buffer.mark_written()
    source_tile, target_tile = (_trailing(side, tile) for side in (from_, to))
    if source_tile is None or target_tile is None or source_tile != target_tile:
        _copy_elements(from_, to, tile)
        return
    if _is_scalar_conversion(from_.buffer.dtype, to.buffer.dtype):
        if "local" in (from_.buffer.space, to.buffer.space):
            _copy_elements(from_, to, tile)
        else:
            _convert_elements(from_, to, source_tile)
        return
    _ops.copy(from_.buffer.value, _offsets(from_), to.buffer.value, _offsets(to), tile=source_tile)


def _side(side: Any) -> Region:
    if isinstance(side, Element | Outside):
        return side.as_region()
    if isinstance(side, Var):
        side = side.buffer
    if isinstance(side, Buffer):
        extents = tuple(None if isinstance(e, Symbol) else e for e in side.shape)
        return Region(side, (0,) * side.rank, extents)
    if isinstance(side, Region):
        return side
    raise TLSyntaxError(f"`T.copy` copies between buffers, and `{side!r}` is none", location=current().here())


def _is_scalar_conversion(source: DType, target: DType) -> bool:
    """Returns whether a conversion is not the IR's: integers have no sign there, and two roundings are not one."""
    has_signs = any(d.kind in ("uint", "bool") for d in (source, target))
    rounds_twice = source.is_float and target.is_float and source.bits == 64 and target.bits < 32
    return source.mlir != target.mlir and (has_signs or rounds_twice)


def _tile(source: Region, target: Region) -> tuple[int, ...]:
    """Returns the extents of the tile that is copied, without indexed dimensions."""
    known = [side for side in (source, target) if None not in side.extents]
    if not known:
        if all(set(side.extents) == {None} for side in (source, target)):
            raise ShapeError(
                "the extents of this copy are unknown: give one side as a region, such as `A[i : i + 64]`",
                location=current().here(),
            )
        raise ShapeError("the extents of this copy are not known when the kernel is built", location=current().here())
    tile = tuple(e for e in known[0].extents if e)
    other = target if known[0] is source else source
    if _matches(other, tile) is None:
        raise ShapeError(
            f"`T.copy` from `{_describe(source)}` to `{_describe(target)}`: the extents differ; where a tile lies over "
            f"the edge of a tensor give the place where it begins, such as `A[i, j]`: what is outside is left out",
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
        with Parallel(*sizes) as loop:
            copy_at(as_tuple(loop))
    elif math.prod(sizes) <= _MAX_UNROLLED and all(_is_inside(side, tile) for side in (source, target)):
        for variables in itertools.product(*map(range, sizes)):
            copy_at(variables)
    else:
        with contextlib.ExitStack() as nest:
            copy_at(tuple(nest.enter_context(serial(size)) for size in sizes))


def _is_inside(side: Region, tile: tuple[int, ...]) -> bool:
    """Returns whether no index of the tile that is known now is out of bounds."""
    extents = _matches(side, tile)
    assert extents is not None, "the extents were compared before"
    return all(
        not isinstance(offset, int) or isinstance(size, Symbol) or 0 <= offset <= size - extent
        for offset, extent, size in zip(side.offsets, extents, side.buffer.shape, strict=True)
    )


def _convert_elements(source: Region, target: Region, tile: tuple[int, ...]) -> None:
    """Copies a tile of the last dimensions of both sides, converting each element."""
    with Parallel(*tile) as loop:
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
        to_index(offset) if extent == 1 else binary("add", to_index(offset), next(remaining))
        for offset, extent in zip(side.offsets, extents, strict=True)
    )


# Fills ---------------------------------------------------------------------------------------------------------------


def fill(buffer: Any, value: Any) -> None:
    """Sets every element of an on-chip tile to `value`."""
    target = whole(buffer)
    require_same_space(target, "shared", "fragment", "local")
    _ops.fill(target.value, expr(value, target.dtype).value)


def clear(buffer: Any) -> None:
    """Sets every element of an on-chip tile to zero."""
    fill(buffer, 0)


# Matrix products -----------------------------------------------------------------------------------------------------


class GemmWarpPolicy(enum.Enum):
    """How the warps of a block share the tile of a `T.gemm`."""

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
) -> None:
    """Multiplies two tiles and adds the product to a third: `C += A @ B`.

    - `A`: M x K, or K x M with `transpose_A`; in shared memory.
    - `B`: K x N, or N x K with `transpose_B`; in shared memory.
    - `C`: M x N, a fragment.
    - `policy`: how warps share the tile.
    - `clear_accum`: whether `C` is set to zero before; may depend on a loop, as in `k == 0`.
    """
    a, b, c = (whole(tile) for tile in (A, B, C))
    for name, tile, space in (("A", a, "shared"), ("B", b, "shared"), ("C", c, "fragment")):
        if tile.space != space:
            raise DTypeError(
                f"`{name}` of `T.gemm` is {tile!r}: `A` and `B` are tiles of `T.alloc_shared`, and `C` one of "
                f"`T.alloc_fragment`; `T.copy` it to such a tile",
                location=current().here(),
            )
        if tile.rank != 2:
            raise RankError(f"`{name}` of `T.gemm` needs two dimensions, not {tile.rank}", location=current().here())
        if tile.dtype.kind in ("uint", "bool"):
            raise DTypeError(f"`T.gemm` does not work on `{tile.dtype}`", location=current().here())
    _check_gemm(a.shape[::-1] if transpose_A else a.shape, b.shape[::-1] if transpose_B else b.shape, c.shape)
    if not isinstance(policy, GemmWarpPolicy):
        raise ArgumentError(f"`policy` is a `T.GemmWarpPolicy`, not `{policy!r}`", location=current().here())
    _clear_if(clear_accum, c)
    _ops.gemm(
        a.value, b.value, c.value, policy=policy.value, transpose_a=bool(transpose_A), transpose_b=bool(transpose_B)
    )


def _check_gemm(a: tuple[Any, ...], b: tuple[Any, ...], c: tuple[Any, ...]) -> None:
    if a[1] != b[0] or (a[0], b[1]) != tuple(c):
        raise ShapeError(
            f"`T.gemm`: `A` is {a[0]} x {a[1]}, `B` is {b[0]} x {b[1]} and `C` is {c[0]} x {c[1]} (after "
            f"transposition); they do not fit together",
            location=current().here(),
        )


def _clear_if(chosen: Any, target: Buffer) -> None:
    found = condition(chosen)
    if isinstance(found, Expr):
        with If(found):
            clear(target)
    elif found:
        clear(target)


# Reductions ----------------------------------------------------------------------------------------------------------


def reduce(buffer: Any, out: Any, reduce_type: ReduceKind, dim: int = -1, clear: bool = True) -> None:
    """Combines the elements of a fragment along one dimension.

    - `out`: a fragment of the buffer's shape without `dim`; for a buffer of one dimension of shape `(1,)`, or `()`.
    - `reduce_type`: "sum", "max", "min", "abssum" or "absmax".
    - `clear`: whether `out` starts anew; otherwise the value it has takes part.
    """
    source, target = whole(buffer), whole(out)
    for tile in (source, target):
        if tile.space != "fragment":
            raise DTypeError(
                f"`T.reduce` works on tiles of `T.alloc_fragment`, and this is {tile!r}: `T.copy` it to one",
                location=current().here(),
            )
    if source.dtype != target.dtype:
        raise DTypeError(
            f"`T.reduce` of `{source.dtype}` to `{target.dtype}`: `T.copy` the tile to a fragment of `{target.dtype}` "
            f"first",
            location=current().here(),
        )
    if reduce_type not in ("sum", "max", "min", "abssum", "absmax"):
        raise ArgumentError(f"there is no reduction `{reduce_type}`", location=current().here())
    if not -source.rank <= dim < source.rank:
        raise RankError(f"`dim` is {dim}, and the buffer has {source.rank} dimensions", location=current().here())
    dim %= source.rank
    kept = tuple(e for d, e in enumerate(source.shape) if d != dim)
    expected = kept or (1,)
    if tuple(target.shape) not in (kept, expected):
        raise ShapeError(
            f"`T.reduce` along dimension {dim} of {_extents(source)} gives ({', '.join(map(str, expected))}), "
            f"and `out` is {_extents(target)}",
            location=current().here(),
        )
    if source.dtype.kind == "bool" and reduce_type in ("sum", "abssum"):
        raise DTypeError("`bool` holds no sums: copy it to a tile of `int32` first", location=current().here())
    attributes = {"tl.unsigned": ""} if source.dtype.kind in ("uint", "bool") else {}
    _ops.reduce(source.value, target.value, kind=reduce_type, dim=dim, accumulate=not clear, attributes=attributes)


def _extents(buffer: Buffer) -> str:
    return f"({', '.join(map(str, buffer.shape))})"


def reduce_sum(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Adds up the elements of a fragment along one dimension; see `reduce`."""
    reduce(buffer, out, "sum", dim, clear)


def reduce_max(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Finds the greatest elements of a fragment along one dimension; see `reduce`."""
    reduce(buffer, out, "max", dim, clear)


def reduce_min(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Finds the least elements of a fragment along one dimension; see `reduce`."""
    reduce(buffer, out, "min", dim, clear)


def reduce_abssum(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Adds up the absolute values of a fragment along one dimension; see `reduce`."""
    reduce(buffer, out, "abssum", dim, clear)


def reduce_absmax(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Finds the greatest absolute values of a fragment along one dimension; see `reduce`."""
    reduce(buffer, out, "absmax", dim, clear)


__all__ = [
    "GemmWarpPolicy", "alloc_fragment", "alloc_local", "alloc_shared", "alloc_var", "clear", "copy", "fill", "gemm",
    "reduce", "reduce_absmax", "reduce_abssum", "reduce_max", "reduce_min", "reduce_sum",
]  # fmt: skip
