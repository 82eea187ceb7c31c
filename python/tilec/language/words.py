"""Loads and stores of 1, 2 or 4 words of 32 bits, as programs write them that choose how wide an access is.

Here they are reads and writes of as many elements as fill the words: neighbours along the last dimension, the first of
which lies lowest. The compiler makes wide accesses of them, as it does of others, where it knows that they are aligned.
"""

from __future__ import annotations

from .. import dtypes
from ..buffers import Region
from ..builder import current
from ..errors import ArgumentError, DTypeError, RangeError
from ..typed import TYPE_CHECKING
from ..values import Expr, expr, typed_constant
from ..vectors import Vector
from .bits import repacked
from .choices import choose
from .loops import If
from .pointers import Pointer, pointer

if TYPE_CHECKING:
    from typing import Any

    from ..buffers import Buffer

__all__ = [
    "ldg32", "ldg64", "ldg128", "lds32", "lds64", "lds128", "stg32", "stg64", "stg128", "sts32", "sts64", "sts128",
]  # fmt: skip

_WORD = 32


# Tensors -------------------------------------------------------------------------------------------------------------


def ldg32(src: Any, pred: Any = None) -> Expr:
    """Returns 4 bytes of a tensor as a `uint32`.

    - `src`: where they begin: an element, such as `A[i, j]`; or the region of elements that they are.
    - `pred`: whether to read; where it does not hold the result is zero.

    >>> C[bx, by] = T.cast(T.ldg32(A[bx, by]) >> 31, dtype)
    """
    return _load("ldg32", src, pred)[0]


def ldg64(src: Any, pred: Any = None) -> Vector:
    """Returns 8 bytes of a tensor as a vector of 2 `uint32`.

    - `src`, `pred`: as of `T.ldg32`.

    >>> T.stg64(C[0, 0], T.ldg64(A[bx, 8]))
    """
    return _load("ldg64", src, pred)


def ldg128(src: Any, pred: Any = None) -> Vector:
    """Returns 16 bytes of a tensor as a vector of 4 `uint32`.

    `vector[0]` is the lowest of them, `T.reinterpret(vector, "float32x4")` their bits as other numbers, and
    `values[0:4] = vector` writes them to elements.

    - `src`, `pred`: as of `T.ldg32`.

    >>> for i in T.Parallel(64):
    ...     T.stg128(C[i, 16], T.ldg128(A[i, 0], pred=i < 32))
    """
    return _load("ldg128", src, pred)


def stg32(dst: Any, value: Any, pred: Any = None) -> None:
    """Writes the bits of a number to 4 bytes of a tensor.

    - `dst`: where they begin: an element, such as `C[i, j]`; or the region of elements that they are.
    - `value`: a number, or a vector, of 32 bits in all.
    - `pred`: whether to write.

    >>> T.stg32(C[bx, by], T.ldg32(A[bx, by]))
    """
    _store("stg32", dst, value, pred)


def stg64(dst: Any, value: Any, pred: Any = None) -> None:
    """Writes the bits of numbers to 8 bytes of a tensor.

    - `dst`, `pred`: as of `T.stg32`.
    - `value`: a number, or a vector, of 64 bits in all.

    >>> T.stg64(C[0, 0], T.ldg64(A[bx, 8]))
    """
    _store("stg64", dst, value, pred)


def stg128(dst: Any, value: Any, pred: Any = None) -> None:
    """Writes the bits of numbers to 16 bytes of a tensor.

    - `dst`, `pred`: as of `T.stg32`.
    - `value`: a vector of 128 bits in all.

    >>> for i in T.Parallel(64):
    ...     T.stg128(C[i, 16], T.ldg128(A[i, 0]), pred=i < 32)
    """
    _store("stg128", dst, value, pred)


# Shared memory -------------------------------------------------------------------------------------------------------


def lds32(src: Any) -> Expr:
    """Returns 4 bytes of a tile in shared memory as a `uint32`.

    - `src`: where they begin: an element, such as `S[i, j]`; or the region of elements that they are.

    >>> C[bx, by] = T.cast(T.lds32(As[0, 0]) >> 31, dtype)
    """
    return _load("lds32", src)[0]


def lds64(src: Any) -> Vector:
    """Returns 8 bytes of a tile in shared memory as a vector of 2 `uint32`.

    - `src`: as of `T.lds32`.

    >>> T.sts64(Bs[0, 0], T.lds64(As[0, 0]))
    """
    return _load("lds64", src)


def lds128(src: Any) -> Vector:
    """Returns 16 bytes of a tile in shared memory as a vector of 4 `uint32`; see `T.ldg128`.

    - `src`: as of `T.lds32`.

    >>> for i in T.Parallel(64):
    ...     T.stg128(C[i, 16], T.lds128(As[i, 0]))
    """
    return _load("lds128", src)


def sts32(dst: Any, value: Any) -> None:
    """Writes the bits of a number to 4 bytes of a tile in shared memory.

    - `dst`: where they begin: an element, such as `S[i, j]`; or the region of elements that they are.
    - `value`: a number, or a vector, of 32 bits in all.

    >>> T.sts32(Bs[0, 0], T.lds32(As[0, 0]))
    """
    _store("sts32", dst, value)


def sts64(dst: Any, value: Any) -> None:
    """Writes the bits of numbers to 8 bytes of a tile in shared memory.

    - `dst`: as of `T.sts32`.
    - `value`: a number, or a vector, of 64 bits in all.

    >>> T.sts64(Bs[0, 0], T.lds64(As[0, 0]))
    """
    _store("sts64", dst, value)


def sts128(dst: Any, value: Any) -> None:
    """Writes the bits of numbers to 16 bytes of a tile in shared memory.

    - `dst`: as of `T.sts32`.
    - `value`: a vector of 128 bits in all.

    >>> for i in T.Parallel(64):
    ...     T.sts128(Bs[i, 16], T.ldg128(A[i, 0]))
    """
    _store("sts128", dst, value)


# Both ----------------------------------------------------------------------------------------------------------------


def _load(name: str, source: Any, predicate: Any = None) -> Vector:
    place, count = _place(name, source)
    zero = typed_constant(0, place.buffer.dtype)
    numbers: list[Expr] = []
    for number in range(count):
        at = place.at(number)
        read = (
            place.buffer[at] if predicate is None else choose(predicate, lambda at=at: place.buffer[at], lambda: zero)
        )
        numbers.append(expr(read))
    return Vector(repacked(numbers, dtypes.uint32))


def _store(name: str, target: Any, value: Any, predicate: Any = None) -> None:
    place, count = _place(name, target)
    numbers = list(value) if isinstance(value, Vector) else [_number(value)]
    given = len(numbers) * numbers[0].dtype.bits
    if given != count * place.buffer.dtype.bits:
        raise ArgumentError(
            f"`T.{name}` writes {_bits(name) // 8} bytes, and `value` is of {given} bits: "
            f"{len(numbers)} of `{numbers[0].dtype}`",
            location=current().here(),
        )
    stored = repacked(numbers, place.buffer.dtype)
    if predicate is None:
        _assign(place, stored)
        return
    with If(predicate):
        _assign(place, stored)


def _assign(place: Pointer, numbers: list[Expr]) -> None:
    for number, value in enumerate(numbers):
        place.buffer[place.at(number)] = value


def _number(value: Any) -> Expr:
    """Returns a number whose bits are written; Python's integers, and indices of loops, are of 32 bits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return expr(value, dtypes.uint32 if value >= 0 else dtypes.int32)
    number = expr(value)
    return expr(number, dtypes.int32) if number.dtype is dtypes.index else number


def _bits(name: str) -> int:
    """Returns how many bits a function reads or writes, which its name ends in."""
    return int(name[3:])


def _place(name: str, given: Any) -> tuple[Pointer, int]:
    """Returns where the words begin, and how many elements they are."""
    place = pointer(given, f"T.{name}")
    buffer = place.buffer
    called = buffer.name or "buffer"
    _check_space(name, buffer)
    if buffer.dtype.kind == "bool" or buffer.dtype.bits > _bits(name):
        raise DTypeError(
            f"`T.{name}` is of {_bits(name)} bits, and an element of `{called}` is a `{buffer.dtype}`",
            location=current().here(),
        )
    count = _bits(name) // buffer.dtype.bits
    last = buffer.shape[-1] if buffer.rank else 1
    if isinstance(last, int) and last < count:
        raise RangeError(
            f"`T.{name}` is of {count} neighbours along the last dimension, and `{called}` has {last} there",
            location=current().here(),
        )
    if isinstance(given, Region):
        _check_region(name, given, count)
    return place, count


def _check_space(name: str, buffer: Buffer) -> None:
    is_shared = name[2] == "s"
    if buffer.space != ("shared" if is_shared else "global"):
        right = {"global": f"{name[:2]}g", "shared": f"{name[:2]}s"}.get(buffer.space)
        remedy = f"use `T.{right}{name[3:]}`" if right else "take its elements"
        kind = {"global": "a tensor", "shared": "a tile in shared memory"}
        raise ArgumentError(
            f"`T.{name}` is for {kind['shared' if is_shared else 'global']}, and `{buffer.name or 'buffer'}` is "
            f"{kind.get(buffer.space, f'in {buffer.space} memory')}: {remedy}",
            location=current().here(),
        )


def _check_region(name: str, region: Region, count: int) -> None:
    *outer, last = region.extents
    if any(e not in (0, 1) for e in outer) or last not in (0, count):
        taken = " x ".join(str(e) if e is not None else "all" for e in region.extents if e != 0)
        raise ArgumentError(
            f"`T.{name}` is of {count} neighbours along the last dimension, and the region of "
            f"`{region.name or 'buffer'}` has {taken} elements",
            location=current().here(),
        )
