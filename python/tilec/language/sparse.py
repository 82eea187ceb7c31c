"""Products of tiles of which one holds two of every four elements."""

from __future__ import annotations

from ..buffers import Buffer, Region, alloc
from ..builder import current
from ..errors import ArgumentError, DTypeError, ShapeError
from ..typed import TYPE_CHECKING
from ..values import binary, select
from .hints import ignored_options
from .loops import Parallel
from .tile import GemmWarpPolicy, gemm, region_element, region_extents

if TYPE_CHECKING:
    from typing import Any

__all__ = ["gemm_sp", "wgmma_gemm_sp"]


def gemm_sp(
    A_sparse: Any,
    E: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_E: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    wg_wait: int = 0,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Multiplies a tile of which two of every four elements are kept with another one: `C += A @ B`.

    The elements that are kept are written to a tile of shared memory, with zeros between them, and that is multiplied:
    the product is `T.gemm`'s, and so is the instruction.

    - `A_sparse`: M x K / 2, or K / 2 x M with `transpose_A`: the elements of A that are kept, in their order.
    - `E`: where they were, M x K / n, or K / n x M with `transpose_E`, of integers of n bits; of elements of 32 bits
      2 * K / n. The lowest four bits are of the first four elements of a row, the next four of the next: the place of
      the first one that is kept in the lower two, that of the second one in the upper two. Of 32 bits one of every two
      elements is kept, and four bits are 0b0100 for the first of two, 0b1110 for the second.
    - `B`, `C`, `transpose_B`, `policy`, `clear_accum`, `k_pack`, `annotations`: as of `T.gemm`.
    - `wg_wait`: nothing is to be waited for: the product is there when this is done.

    >>> kept = T.alloc_shared((64, 32), "float16")
    >>> where = T.alloc_shared((64, 4), "int16")
    >>> dense = T.alloc_shared((64, 64), "float16")
    >>> T.fill(kept, 1.0)
    >>> T.fill(where, 0x4444)
    >>> T.fill(dense, 1.0)
    >>> product = T.alloc_fragment((64, 64), "float32")
    >>> T.clear(product)
    >>> T.gemm_sp(kept, where, dense, product)
    """
    ignored_options("T.gemm_sp", "the product is there for the next statement", wg_wait=wg_wait or None)
    kept, where = (_region("A_sparse", A_sparse), _region("E", E))
    rows, width = _sides(kept, transpose_A)
    metadata_rows, words = _sides(where, transpose_E)
    if not where.buffer.dtype.is_integer:
        raise DTypeError(
            f"`E` of `T.gemm_sp` holds integers, and `{where.name}` holds `{where.buffer.dtype}`",
            location=current().here(),
        )
    group = 2 if kept.buffer.dtype.bits == 32 else 4  # elements that four bits tell of
    groups = where.buffer.dtype.bits // 4  # of which an integer tells
    if metadata_rows != rows or words * groups * group != 2 * width:
        raise ShapeError(
            f"`E` of `T.gemm_sp` is {rows} x {2 * width // (groups * group)} for {rows} x {width} elements that are "
            f"kept and `{where.buffer.dtype}`, and `{where.name}` is {metadata_rows} x {words}",
            location=current().here(),
        )
    dense = alloc((rows, 2 * width), kept.buffer.dtype, "shared")
    with Parallel(rows, 2 * width) as (i, k):
        number = binary("floordiv", k, group)
        word = _element(where, transpose_E, i, binary("floordiv", number, groups))
        places = binary("and", binary("shr", word, binary("mul", binary("mod", number, groups), 4)), 15)
        _expand(dense, kept, places, transpose_A, i, k)
    gemm(dense, B, C, False, transpose_B, policy, clear_accum, k_pack, annotations=annotations)


wgmma_gemm_sp = gemm_sp


def _expand(dense: Buffer, kept: Region, places: Any, transpose_a: bool, i: Any, k: Any) -> None:
    """Writes an element of the tile: one that is kept, or zero."""
    first, second = binary("and", places, 3), binary("and", binary("shr", places, 2), 3)
    if dense.dtype.bits == 32:
        # Halves of elements are kept: 0b0100 are the halves 0 and 1, 0b1110 the halves 2 and 3.
        half = binary("mul", binary("mod", k, 2), 2)
        number = _element(kept, transpose_a, i, binary("floordiv", k, 2))
        dense[i, k] = select(binary("eq", first, half), number, 0)
        return
    place = binary("mod", k, 4)
    pair = binary("mul", binary("floordiv", k, 4), 2)
    numbers = [_element(kept, transpose_a, i, binary("add", pair, n)) for n in range(2)]
    is_first, is_second = binary("eq", first, place), binary("eq", second, place)
    dense[i, k] = select(is_first, numbers[0], select(is_second, numbers[1], 0))


def _region(name: str, operand: Any) -> Region:
    if isinstance(operand, Buffer):
        operand = Region(operand, (0,) * operand.rank, operand.static_shape() or ())
    if not isinstance(operand, Region) or operand.buffer.space not in ("shared", "fragment"):
        raise ArgumentError(
            f"`{name}` of `T.gemm_sp` is a tile of `T.alloc_shared`, or a region of one, not `{operand!r}`",
            location=current().here(),
        )
    return operand


def _sides(operand: Region, is_transposed: bool) -> tuple[int, int]:
    """Returns the rows and columns of an operand, as if it was not transposed."""
    extents = region_extents(operand, "T.gemm_sp")
    if len(extents) != 2:
        raise ShapeError(
            f"operands of `T.gemm_sp` have two dimensions, and `{operand.name}` {len(extents)}",
            location=current().here(),
        )
    return (extents[1], extents[0]) if is_transposed else (extents[0], extents[1])


def _element(operand: Region, is_transposed: bool, row: Any, column: Any) -> Any:
    return operand.buffer[region_element(operand, (column, row) if is_transposed else (row, column))]
