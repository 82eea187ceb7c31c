"""Places of elements, as programs name them that read, write or copy a few neighbours at a time by hand."""

from __future__ import annotations

from ..buffers import Buffer, Element, Outside, Region
from ..builder import current
from ..errors import ArgumentError, DTypeError, TLSyntaxError
from ..expr import shortened
from ..typed import TYPE_CHECKING
from ..values import Expr, binary, bounded_index, known, static_int
from .choices import choose

if TYPE_CHECKING:
    from typing import Any

__all__ = ["access_ptr", "address_of", "ptx_cp_async"]

_MOST_BYTES = 16


class Pointer:
    """Where neighbours of the last dimension begin.

    - `count`: how many there are; None for all that follow.
    - `is_written`: whether they may be written there, for who cannot see it.
    """

    def __init__(self, buffer: Buffer, place: list[Any], count: int | None = None, is_written: bool = True) -> None:
        self.buffer = buffer
        self.place = place
        self.count = count
        self.is_written = is_written

    def at(self, number: int) -> tuple[Any, ...]:
        """Returns the index of a neighbour."""
        *outer, last = self.place
        return (*outer, binary("add", bounded_index(last), number) if number else last)


def access_ptr(
    base: Any,
    access_type: str | int = "r",
    *extents: Any,
    offset: Any = 0,
    extent: Any = None,
    ignore_last_ndim: int = 0,
) -> Pointer:
    """Returns where elements begin, for `T.ptx_cp_async`, `T.ldg32` and their kin, and for `T.call_extern`.

    - `base`: an element, such as `A[i, j]`; the first one of a region; or a buffer, from its first element on.
    - `access_type`: "r", "w" or "rw": what is done there, for `T.call_extern`; else the compiler sees that by itself.
    - `extents`, `extent`: how many elements there are, along the last dimension; all that follow if nothing is said.
    - `offset`: how many elements of the last dimension further it is.
    - `ignore_last_ndim`: dimensions that do not count; not there.

    >>> for i in T.Parallel(64):
    ...     T.ptx_cp_async(T.access_ptr(As[i, 0], "w", 4), T.access_ptr(A[i, 0], "r", 4), 4)
    """
    if access_type not in ("r", "w", "rw", 1, 2, 3):
        raise ArgumentError(
            f'`access_type` of `T.access_ptr` is "r", "w" or "rw", not `{access_type!r}`', location=current().here()
        )
    if ignore_last_ndim:
        raise ArgumentError("`ignore_last_ndim` of `T.access_ptr` is missing", location=current().here())
    found = pointer(base, "T.access_ptr")
    place = found.place
    if known(offset) != 0:
        *outer, last = place
        place = [*outer, binary("add", bounded_index(last), offset)]
    numbers = [static_int(e, "`extents` of `T.access_ptr`") for e in (*extents, *(() if extent is None else (extent,)))]
    if any(number != 1 for number in numbers[:-1]):
        raise ArgumentError(
            f"`T.access_ptr` points to neighbours along the last dimension, not to a tile of {numbers}",
            location=current().here(),
        )
    return Pointer(found.buffer, place, numbers[-1] if numbers else None, access_type not in ("r", 1))


def address_of(obj: Any) -> Pointer:
    """Returns where elements begin, for `T.ptx_cp_async`, `T.ldg32` and their kin; it is no number.

    - `obj`: as `base` of `T.access_ptr`.

    >>> T.stg32(T.address_of(C[0, 0]), T.ldg32(T.address_of(A[0, 0])))
    """
    return pointer(obj, "T.address_of")


def pointer(base: Any, function: str) -> Pointer:
    """Returns where an element, a region or a buffer begins; `function` is who asks."""
    if isinstance(base, Pointer):
        return base
    if isinstance(base, Outside):
        base.fail()
    if isinstance(base, Element):
        return Pointer(base.buffer, base.as_place())
    if isinstance(base, Region):
        return Pointer(base.buffer, list(base.offsets))
    if isinstance(base, Buffer):
        return Pointer(base, [0] * base.rank)
    raise TLSyntaxError(
        f"`{function}` needs an element, such as `A[i, j]`, not `{shortened(base)}`", location=current().here()
    )


def ptx_cp_async(dst_access_ptr: Any, src_access_ptr: Any, num_elems: Any, predicate: Any = None) -> None:
    """Copies neighbours from a tensor to shared memory; what comes next finds them there.

    - `dst_access_ptr`, `src_access_ptr`: where they begin, of `T.access_ptr`.
    - `num_elems`: how many they are; up to 16 bytes in all.
    - `predicate`: whether to copy; where it does not hold zeros are written.

    >>> for i in T.Parallel(64):
    ...     T.ptx_cp_async(T.access_ptr(As[i, 0], "w", 4), T.access_ptr(A[i, 0], "r", 4), 4)
    """
    for side in (dst_access_ptr, src_access_ptr):
        if not isinstance(side, Pointer):
            raise TLSyntaxError(
                f"`T.ptx_cp_async` needs places of `T.access_ptr`, not `{shortened(side)}`", location=current().here()
            )
    target, source = dst_access_ptr.buffer, src_access_ptr.buffer
    count = static_int(num_elems, "`num_elems` of `T.ptx_cp_async`")
    if target.dtype is not source.dtype:
        raise DTypeError(
            f"`T.ptx_cp_async` copies elements as they are, and `{source.name}` holds `{source.dtype}`, and "
            f"`{target.name}` `{target.dtype}`",
            location=current().here(),
        )
    if target.space != "shared" or source.space != "global" or not 0 < count * target.dtype.bits <= 8 * _MOST_BYTES:
        raise ArgumentError(
            f"`T.ptx_cp_async` copies up to {_MOST_BYTES} bytes from a tensor to shared memory, not {count} elements "
            f"of `{target.dtype}` from {source.space} to {target.space} memory",
            location=current().here(),
        )
    # All are read before the first is written: nobody waits for one after the other.
    elements = [source[src_access_ptr.at(number)] for number in range(count)]
    for number, element in enumerate(elements):
        if predicate is not None:
            element = choose(predicate, lambda element=element: element, lambda: _zero(target))
        target[dst_access_ptr.at(number)] = element


def _zero(buffer: Buffer) -> Expr:
    from ..values import typed_constant

    return typed_constant(0, buffer.dtype)
