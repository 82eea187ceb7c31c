"""Vectors, as programs write them that compute with two or more neighbours at once.

Here a vector is as many numbers, which are computed one by one: the compiler joins neighbouring accesses and arithmetic
by itself. `T.float16x2(a, b)` makes one of numbers, and `A[i, T.Ramp(0, 1, 2)]` reads one.
"""

from __future__ import annotations

from functools import partial

from .. import dtypes
from ..errors import ArgumentError, DTypeError, ShapeError
from ..expr import place, static_int
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import absolute, binary, expr
from ..vectors import Vector
from .functions import fma

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..values import Expr

__all__ = [
    "Broadcast", "Ramp", "Shuffle", "abs2", "add2", "extract_lane", "fma2", "max2", "min2", "mul2", "sub2",
    "vectorcombine", "vectorhigh", "vectorlow",
]  # fmt: skip

_PACKED = (dtypes.float16, dtypes.bfloat16, dtypes.float32)


# Making vectors, and taking them apart -------------------------------------------------------------------------------


def _count(lanes: Any, what: str) -> int:
    count = static_int(lanes, what)
    if count < 1:
        raise ShapeError(f"{what} must be positive, and {count} is not", location=place())
    return count


def Ramp(base: Any, stride: Any, lanes: Any) -> Vector:
    """Returns the vector `base`, `base + stride` and so on, which is an index of as many elements.

    - `base`, `stride`: integers.
    - `lanes`: how many numbers, known when the kernel is built.

    >>> four = T.Ramp(by * 4, 1, 4)
    >>> C[bx, four] = A[bx, four]
    """
    count = _count(lanes, "`lanes` of `T.Ramp`")
    return Vector([expr(binary("add", base, binary("mul", stride, i))) for i in range(count)])


def Broadcast(value: Any, lanes: Any) -> Vector:
    """Returns a vector of one number, as often as asked for.

    - `value`: a number.
    - `lanes`: how many, known when the kernel is built.

    >>> C[bx, T.Ramp(0, 1, 4)] = T.Broadcast(A[bx, 0], 4)
    """
    return Vector([expr(value)] * _count(lanes, "`lanes` of `T.Broadcast`"))


def _vector(name: str, value: Any) -> Vector:
    if not isinstance(value, Vector):
        raise DTypeError(
            f"`T.{name}` needs a vector, such as `A[i, T.Ramp(0, 1, 2)]` or `T.float16x2(a, b)`, not `{value!r}`",
            location=place(),
        )
    return value


def Shuffle(vectors: Any, indices: Any) -> Any:
    """Returns numbers of several vectors, counted through: a vector, or one number if one index is given.

    - `vectors`: vectors and numbers of one type.
    - `indices`: which numbers, in this order, known when the kernel is built.

    >>> two = T.Shuffle([A[bx, T.Ramp(0, 1, 2)], B[bx, T.Ramp(0, 1, 2)]], [3, 0])
    >>> C[bx, T.Ramp(0, 1, 2)] = two
    """
    if not as_tuple(vectors) or not as_tuple(indices):
        raise ArgumentError("`T.Shuffle` needs vectors, and which of their numbers it gives", location=place())
    parts = [part if isinstance(part, Vector) else Vector([expr(part)]) for part in as_tuple(vectors)]
    others = [part.dtype for part in parts if part.dtype is not parts[0].dtype]
    if others:
        raise DTypeError(
            f"`T.Shuffle` needs vectors of one type, not of `{parts[0].dtype}` and `{others[0]}`", location=place()
        )
    numbers = Vector([number for part in parts for number in part])
    chosen = [numbers[static_int(index, "an index of `T.Shuffle`")] for index in as_tuple(indices)]
    return chosen[0] if len(chosen) == 1 else Vector(chosen)


def extract_lane(vector: Any, lane: Any) -> Expr:
    """Returns one number of a vector.

    - `lane`: which one, known when the kernel is built; 0 is the one that lies lowest.

    >>> C[bx, 0] = T.extract_lane(A[bx, T.Ramp(0, 1, 2)], 1)
    """
    return _vector("extract_lane", vector)[static_int(lane, "`lane` of `T.extract_lane`")]


def _half(name: str, vec: Any, dtype: Any) -> tuple[Vector, int]:
    """Returns a vector and how many numbers half of it has, which `dtype` says again; the two may be exchanged."""
    if isinstance(dtype, Vector):
        vec, dtype = dtype, vec
    vector = _vector(name, vec)
    half, odd = divmod(len(vector), 2)
    if odd:
        raise ShapeError(f"`T.{name}` needs a vector with two halves, and {vector!r} has none", location=place())
    if half > 1:
        _require_type(name, dtype, vector.dtype, half)
    return vector, half


def _require_type(name: str, dtype: Any, element: dtypes.DType, lanes: int) -> None:
    """Raises if a program says that a vector has another type than it has."""
    if dtype is not None and dtypes.vector(dtype) != (element, lanes):
        raise DTypeError(f"`T.{name}` gives a `{element}x{lanes}` here, not `{dtype}`", location=place())


def vectorlow(vec: Any, dtype: Any = None) -> Any:
    """Returns the half of a vector that lies lower, which is a number if the vector has two.

    - `dtype`: the type of the result, "float16x2", which is known anyway. The two may come the other way round.

    >>> C[bx, T.Ramp(0, 1, 2)] = T.vectorlow(A[bx, T.Ramp(0, 1, 4)])
    """
    vector, half = _half("vectorlow", vec, dtype)
    return Shuffle(vector, [*range(half)])


def vectorhigh(vec: Any, dtype: Any = None) -> Any:
    """Returns the half of a vector that lies higher; see `T.vectorlow`.

    >>> C[bx, T.Ramp(0, 1, 2)] = T.vectorhigh(A[bx, T.Ramp(0, 1, 4)])
    """
    vector, half = _half("vectorhigh", vec, dtype)
    return Shuffle(vector, [*range(half, 2 * half)])


def vectorcombine(vec1: Any, vec2: Any, dtype: Any = None) -> Vector:
    """Returns the numbers of two vectors of one type in one, those of the first one lower.

    - `dtype`: the type of the result, "float16x4", which is known anyway; it may also come first.

    >>> C[bx, T.Ramp(0, 1, 4)] = T.vectorcombine(A[bx, T.Ramp(0, 1, 2)], B[bx, T.Ramp(0, 1, 2)])
    """
    if isinstance(dtype, Vector):
        vec1, vec2, dtype = vec2, dtype, vec1
    first, second = (_vector("vectorcombine", vec) for vec in (vec1, vec2))
    if first.dtype is not second.dtype:
        raise DTypeError(
            f"`T.vectorcombine` needs vectors of one type, not of `{first.dtype}` and `{second.dtype}`",
            location=place(),
        )
    _require_type("vectorcombine", dtype, first.dtype, len(first) + len(second))
    return Vector([*first, *second])


# Two at once ---------------------------------------------------------------------------------------------------------


def _packed(name: str, compute: Callable[..., Any], *operands: Any) -> Vector:
    """Returns a vector of two floats, computed of those of others."""
    vectors = [_vector(name, operand) for operand in operands]
    odd = [v for v in vectors if len(v) != 2 or v.dtype not in _PACKED]
    if odd:
        raise DTypeError(
            f"`T.{name}` needs vectors of two numbers of `float16`, `bfloat16` or `float32`, not {odd[0]!r}",
            location=place(),
        )
    others = [v.dtype for v in vectors if v.dtype is not vectors[0].dtype]
    if others:
        raise DTypeError(
            f"`T.{name}` needs vectors of the same dtype, not of `{vectors[0].dtype}` and `{others[0]}`",
            location=place(),
        )
    return Vector([compute(*numbers) for numbers in zip(*vectors, strict=True)])


def add2(x: Any, y: Any) -> Vector:
    """Returns the sums of two pairs of floats.

    - `x`, `y`: vectors of two numbers of one type: `float16`, `bfloat16` or `float32`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.add2(A[bx, two], B[bx, two])
    """
    return _packed("add2", partial(binary, "add"), x, y)


def sub2(x: Any, y: Any) -> Vector:
    """Returns the differences of two pairs of floats; see `T.add2`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.sub2(A[bx, two], B[bx, two])
    """
    return _packed("sub2", partial(binary, "sub"), x, y)


def mul2(x: Any, y: Any) -> Vector:
    """Returns the products of two pairs of floats; see `T.add2`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.mul2(A[bx, two], B[bx, two])
    """
    return _packed("mul2", partial(binary, "mul"), x, y)


def fma2(x: Any, y: Any, z: Any) -> Vector:
    """Returns `x * y + z` of pairs of floats, each rounded once; see `T.add2`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.fma2(A[bx, two], B[bx, two], C[bx, two])
    """
    return _packed("fma2", fma, x, y, z)


def max2(x: Any, y: Any) -> Vector:
    """Returns the greater numbers of two pairs of floats, NaN if there is one, as `T.max` does; see `T.add2`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.max2(A[bx, two], B[bx, two])
    """
    return _packed("max2", partial(binary, "max"), x, y)


def min2(x: Any, y: Any) -> Vector:
    """Returns the lesser numbers of two pairs of floats, NaN if there is one, as `T.min` does; see `T.add2`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.min2(A[bx, two], B[bx, two])
    """
    return _packed("min2", partial(binary, "min"), x, y)


def abs2(x: Any) -> Vector:
    """Returns the absolute values of a pair of floats; see `T.add2`.

    >>> two = T.Ramp(0, 1, 2)
    >>> C[bx, two] = T.abs2(A[bx, two])
    """
    return _packed("abs2", absolute, x)
