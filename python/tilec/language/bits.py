"""Functions of bits, conditions that are both computed, and integers that round towards zero."""

from __future__ import annotations

from functools import reduce

from .. import dtypes, formats, values
from ..casts import emit
from ..errors import ArgumentError, DTypeError, ShapeError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import Expr, beside, binary, condition, expr, operate, select, simplify, typed
from ..vectors import Vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..dtypes import DType

__all__ = [
    "And", "Max", "Min", "Not", "Or", "align_up", "all", "any", "assume", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "cdiv", "clamp", "clz", "index_to_coordinates", "likely", "popcount", "reinterpret",
    "shift_left", "shift_right", "truncdiv", "truncmod",
]  # fmt: skip


# Bits ----------------------------------------------------------------------------------------------------------------


def reinterpret(value: Any, dtype: Any) -> Any:
    """Returns the bits of a number as a number of another type of as many bits.

    The two arguments may also come the other way round, as in `T.reinterpret("int32", x)`. Of a vector (`T.ldg128`) it
    is a vector of as many bits in all, whose type may be written with its length, `"float32x4"`, or one number of them.
    As a "handle" a number stays what it is.

    >>> bits = T.reinterpret(x, "int32") & 0x7FFFFFFF
    """
    if isinstance(value, str | dtypes.DType):
        value, dtype = dtype, value
    if dtype == "handle":
        return value
    if isinstance(value, Vector) or dtypes.vector(dtype):
        return _vector(value if isinstance(value, Vector) else Vector([expr(value)]), dtype)
    target = dtypes.dtype(dtype)
    number = expr(value)
    if number.dtype is dtypes.index:
        number = expr(number, dtypes.int32)
    source = number.dtype
    if "bool" in (source.kind, target.kind):
        raise DTypeError("`bool` has one bit that counts: compare with zero, or convert with `.astype(...)`")
    if source.bits != target.bits:
        raise DTypeError(
            f"`T.reinterpret` keeps the bits: `{source}` has {source.bits} of them and `{target}` {target.bits}",
            location=place(),
        )
    if source is target:
        return number
    if isinstance(source, dtypes.Format) or isinstance(target, dtypes.Format):
        return formats.with_bits_of(number, target)
    if source.mlir == target.mlir:
        return number if source.is_float else values.cast(number, target)
    return Expr(emit("arith.bitcast", [number.value], target.mlir), target)


def _vector(value: Vector, dtype: Any) -> Vector | Expr:
    element, lanes = dtypes.vector(dtype) or (dtypes.dtype(dtype), None)
    held = len(value) * value.dtype.bits
    if element.kind == "bool" or held != (lanes or held // element.bits) * element.bits:
        raise DTypeError(f"`T.reinterpret` keeps the {held} bits of {value!r}, not `{dtype}`", location=place())
    numbers = repacked(value.numbers, element)
    return numbers[0] if len(numbers) == 1 else Vector(numbers)


def repacked(numbers: Sequence[Expr], dtype: DType) -> list[Expr]:
    """Returns the bits of numbers that lie side by side as numbers of another type; lower bits lie lower."""
    source = numbers[0].dtype
    if source is dtype:
        return list(numbers)
    whole = dtypes.unsigned(max(source.bits, dtype.bits))
    parts = [values.cast(reinterpret(number, dtypes.unsigned(source.bits)), whole) for number in numbers]
    if source.bits < dtype.bits:
        count = dtype.bits // source.bits
        shifted = [binary("shl", part, i % count * source.bits) for i, part in enumerate(parts)]
        parts = [reduce(bitwise_or, shifted[i : i + count]) for i in range(0, len(parts), count)]
    else:
        steps = range(0, source.bits, dtype.bits)
        parts = [binary("shr", part, step) for part in parts for step in steps]
    return [reinterpret(values.cast(part, dtypes.unsigned(dtype.bits)), dtype) for part in parts]


def integer_operand(name: str, x: Any) -> Any:
    number = simplify(x)
    if isinstance(number, float) or (isinstance(number, Expr) and number.dtype.is_float):
        raise DTypeError(f"`T.{name}` needs an integer, not `{x!r}`", location=place())
    return expr(number, dtypes.int32) if isinstance(number, Expr) and number.dtype is dtypes.index else number


def popcount(x: Any) -> Any:
    """Returns the number of bits of an integer that are set, as an `int32`.

    >>> T.popcount(7)
    3
    """
    number = integer_operand("popcount", x)
    if not isinstance(number, Expr):
        return (int(number) & 0xFFFFFFFF).bit_count()
    return values.cast(Expr(emit("math.ctpop", [number.value], number.dtype.mlir), number.dtype), dtypes.int32)


def clz(x: Any) -> Any:
    """Returns the number of zeros above the highest bit of an integer that is set, as an `int32`.

    >>> T.clz(1)
    31
    """
    number = integer_operand("clz", x)
    if not isinstance(number, Expr):
        return 32 - (int(number) & 0xFFFFFFFF).bit_length()
    return values.cast(Expr(emit("math.ctlz", [number.value], number.dtype.mlir), number.dtype), dtypes.int32)


def bitwise_and(x: Any, y: Any) -> Any:
    """Returns `x & y`.

    >>> T.bitwise_and(6, 3)
    2
    """
    return operate("and", x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """Returns `x | y`.

    >>> T.bitwise_or(6, 3)
    7
    """
    return operate("or", x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """Returns `x ^ y`.

    >>> T.bitwise_xor(6, 3)
    5
    """
    return operate("xor", x, y)


def bitwise_not(x: Any) -> Any:
    """Returns `~x`.

    >>> T.bitwise_not(6)
    -7
    """
    return binary("xor", x, -1)


def shift_left(x: Any, y: Any) -> Any:
    """Returns `x << y`; the amount counts as unsigned, and one of the width or more gives 0.

    >>> T.shift_left(3, 2)
    12
    """
    return operate("shl", x, y)


def shift_right(x: Any, y: Any) -> Any:
    """Returns `x >> y`, with the sign if `x` has one; one of the width or more gives 0 or −1.

    >>> T.shift_right(-8, 1)
    -4
    """
    return operate("shr", x, y)


# Truth ---------------------------------------------------------------------------------------------------------------


def And(a: Any, b: Any) -> Any:
    """Returns whether both conditions hold; both are computed.

    >>> flag = T.And(n[0] > 0, n[1] > 0)
    """
    return _both("and", a, b)


def Or(a: Any, b: Any) -> Any:
    """Returns whether one of two conditions holds; both are computed.

    >>> flag = T.Or(n[0] > 0, n[1] > 0)
    """
    return _both("or", a, b)


def _both(op: str, a: Any, b: Any) -> Any:
    return binary(op, condition(a), condition(b))


def all(*args: Any) -> Any:
    """Returns whether all conditions hold; all are computed.

    >>> flag = T.all(n[0] > 0, n[1] > 0, n[2] > 0)
    """
    return reduce(And, args, True)


def any(*args: Any) -> Any:
    """Returns whether one of several conditions holds; all are computed.

    >>> flag = T.any(n[0] > 0, n[1] > 0, n[2] > 0)
    """
    return reduce(Or, args, False)


def Not(a: Any) -> Any:
    """Returns whether a condition does not hold.

    >>> flag = T.Not(n[0] > 0)
    """
    found = condition(a)
    return binary("xor", found, True) if isinstance(found, Expr) else not found


def likely(cond: Any) -> Any:
    """Returns the condition; that it mostly holds is not made use of.

    >>> if T.likely(n[0] > 0):
    ...     C[0, 0] = 1.0
    """
    return condition(cond)


def assume(cond: Any) -> None:
    """Says that a condition holds. Nothing is made of it: the program means the same without.

    A condition that is known to be false when the kernel is built is an error.

    >>> T.assume(n[0] >= 0)
    """
    if condition(cond) is False:
        raise ArgumentError("what `T.assume` is told does not hold", location=place())


# Integers ------------------------------------------------------------------------------------------------------------


def Min(a: Any, b: Any) -> Any:
    """Returns the lesser of two numbers; see `T.min`.

    >>> T.Min(3, 5)
    3
    """
    return operate("min", a, b)


def Max(a: Any, b: Any) -> Any:
    """Returns the greater of two numbers; see `T.max`.

    >>> T.Max(3, 5)
    5
    """
    return operate("max", a, b)


def clamp(dst: Any, min_val: Any, max_val: Any) -> Any:
    """Returns `dst`, or the nearer of two bounds if it is outside of them: `min(max(dst, min_val), max_val)`.

    >>> T.clamp(7, 0, 5)
    5
    """
    return operate("min", operate("max", dst, min_val), max_val)


def cdiv(a: Any, b: Any) -> Any:
    """Returns the quotient of two integers, rounded up: the same as `T.ceildiv`.

    >>> T.cdiv(10, 4)
    3
    """
    return operate("ceildiv", a, b)


def align_up(x: Any, y: Any) -> Any:
    """Returns the least multiple of `y` that is not below `x`.

    >>> T.align_up(10, 8)
    16
    """
    x, y = typed(x, y)
    return binary("mul", binary("ceildiv", x, y), y)


def truncdiv(a: Any, b: Any) -> Any:
    """Returns the quotient of two integers, rounded towards zero; by zero it is 0.

    >>> T.truncdiv(-7, 2)
    -3
    """
    a, b = _of_one_type(a, b)
    quotient = binary("floordiv", a, b)
    if _is_never_negative(a) and _is_never_negative(b):
        return quotient
    return select(_is_rounded_down(a, b), binary("add", quotient, 1), quotient)


def truncmod(a: Any, b: Any) -> Any:
    """Returns the remainder of a division that rounds towards zero; it has the sign of `a`, and by zero it is 0.

    >>> T.truncmod(-7, 2)
    -1
    """
    a, b = _of_one_type(a, b)
    rest = binary("mod", a, b)
    if _is_never_negative(a) and _is_never_negative(b):
        return rest
    return select(_is_rounded_down(a, b), binary("sub", rest, b), rest)


def _of_one_type(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns two numbers as they are divided: a negative one beside a wider unsigned one is not negative there."""
    a, b = typed(a, b)
    return beside(a, b), beside(b, a)


def _is_never_negative(number: Any) -> bool:
    found = simplify(number)
    return (found.range.low if isinstance(found, Expr) else found) >= 0


def _is_rounded_down(a: Any, b: Any) -> Any:
    """Returns whether a quotient that is rounded to zero is one above the one that is rounded down."""
    differs = binary("ne", binary("lt", a, 0), binary("lt", b, 0))
    return binary("and", binary("ne", binary("mod", a, b), 0), differs)


def index_to_coordinates(index: Any, shape: Any) -> list[Any]:
    """Returns the coordinates of the element of a row-major number.

    >>> T.index_to_coordinates(7, (2, 4))
    [1, 3]
    """
    extents = as_tuple(shape)
    if not extents:
        raise ShapeError("`T.index_to_coordinates` needs a shape of one dimension at least", location=place())
    out: list[Any] = []
    for extent in reversed(extents[1:]):
        out.append(operate("mod", index, extent))
        index = operate("floordiv", index, extent)
    return [index, *reversed(out)]
