"""Functions of floats that are exact everywhere: they compute with the bits, which are integers.

The bits of a float without its sign grow with its size, and are an exponent above a fraction. So what comes next is one
more or less, and a remainder is that of the two significands, shifted by how far the exponents are apart. `fast_math`
changes nothing of it.
"""

from __future__ import annotations

import math

from .. import dtypes
from ..typed import TYPE_CHECKING
from ..values import Expr, binary, expr, select, typed, unify
from .bits import clz, reinterpret
from .functions import float_operands
from .loops import serial
from .tile import alloc_var

if TYPE_CHECKING:
    from typing import Any

    from ..dtypes import DType

__all__ = ["fmod", "nextafter"]

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Binary digits of a significand, the first one included, which bits leave out."""


class _Parts:
    """The bits of a float, in integers without a sign that may be wider."""

    __slots__ = ("bits", "sign", "size")

    def __init__(self, number: Expr, word: DType) -> None:
        top = 1 << (number.dtype.bits - 1)
        self.bits = expr(reinterpret(number, f"uint{number.dtype.bits}"), word)
        self.size = binary("and", self.bits, top - 1)
        """All but the sign."""
        self.sign = binary("and", self.bits, top)


def _infinity(dtype: DType) -> int:
    """Returns the bits of the infinity of a type; those of NaN are more."""
    fraction = _DIGITS[dtype.name] - 1
    return ((1 << (dtype.bits - 1 - fraction)) - 1) << fraction


def _nan(dtype: DType) -> int:
    """Returns the bits of a quiet NaN."""
    return _infinity(dtype) | 1 << (_DIGITS[dtype.name] - 2)


def _of_bits(bits: Any, dtype: DType) -> Any:
    return reinterpret(expr(bits, dtypes.dtype(f"uint{dtype.bits}")), dtype)


# The remainder -------------------------------------------------------------------------------------------------------


def fmod(x: Any, y: Any) -> Any:
    """Returns the rest of `x` divided by `y`, rounded towards zero: `x - n * y` for the integer `n`, exactly.

    It has the sign of `x`, a zero too. Of an infinite `x`, a `y` of zero, and NaN it is NaN; `y` may be infinite. How
    long it takes depends on how large the quotient is: a division of integers for every 8 binary digits of it in
    `float32`, 11 in `float64`, and 21 or more in floats of 16 bits.

    - `x`, `y`: floats of one type, of 16 bits or more.

    >>> T.fmod(-7.5, 2.0)
    -1.5
    """
    numbers = float_operands("fmod", *typed(x, y))
    if not isinstance(numbers[0], Expr):
        return _python_fmod(*numbers)
    dividend, divisor = unify(*numbers)
    dtype = dividend.dtype
    word = dtypes.uint64 if dtype.bits == 64 else dtypes.uint32
    a, b = _Parts(dividend, word), _Parts(divisor, word)
    infinity = _infinity(dtype)
    is_nan = binary("or", binary("ge", a.size, infinity), binary("gt", b.size, infinity))
    is_nan = binary("or", is_nan, binary("eq", b.size, 0))
    found = binary("or", _remainder(a.size, b.size, dtype, word), a.sign)
    return _of_bits(select(is_nan, _nan(dtype), found), dtype)


def _python_fmod(x: float, y: float) -> float:
    is_number = math.isfinite(x) and y != 0
    return math.fmod(x, y) if is_number else math.nan


def _remainder(a: Any, b: Any, dtype: DType, word: DType) -> Any:
    """Returns the bits of a remainder of two positive floats, given theirs; of others, anything."""
    fraction = _DIGITS[dtype.name] - 1
    exponents, significands = [], []
    for size in (a, b):
        # Denormal numbers have the least exponent, and no digit before the point.
        exponents.append(binary("max", binary("shr", size, fraction), 1))
        significands.append(binary("sub", size, binary("shl", binary("sub", exponents[-1], 1), fraction)))
    # By zero it is NaN, which is no mistake. The one comes first, as checks take `max(n, 1)` for the guard of a `%`.
    divisor = binary("max", 1, significands[1])
    is_less = binary("lt", exponents[0], exponents[1])
    # The first significand is worth 2^left of the second; so many digits are brought down as a word has room for.
    left = alloc_var(word, select(is_less, 0, binary("sub", *exponents)))
    rest = alloc_var(word, binary("mod", significands[0], divisor))
    room = word.bits - fraction - 1
    with serial(expr(binary("ceildiv", left, room), dtypes.int32)):
        digits = binary("min", left, room)
        rest.set(binary("mod", binary("shl", rest, digits), divisor))
        left.set(binary("sub", left, digits))
    found = rest.load()
    shift = binary("sub", expr(clz(found), word), room)
    shift = binary("min", shift, binary("sub", exponents[1], 1))
    # A significand with a digit before the point adds one to the exponent below it.
    below = binary("sub", binary("sub", exponents[1], 1), shift)
    bits = binary("add", binary("shl", found, shift), binary("shl", below, fraction))
    return select(is_less, a, select(binary("eq", found, 0), 0, bits))


# The neighbour -------------------------------------------------------------------------------------------------------


def nextafter(x1: Any, x2: Any) -> Any:
    """Returns the float that comes after `x1` on the way to `x2`: `x2` if the two are equal, NaN if one is NaN.

    Beyond the greatest number is the infinity, and beside a zero the least denormal number.

    - `x1`, `x2`: floats of one type, of 16 bits or more. Python's numbers are `float64`.

    >>> T.nextafter(1.0, 2.0)
    1.0000000000000002
    """
    numbers = float_operands("nextafter", x1, x2)
    if not isinstance(numbers[0], Expr):
        return math.nextafter(*numbers)
    start, goal = unify(*numbers)
    dtype = start.dtype
    word = dtypes.dtype(f"uint{dtype.bits}")
    a, b = _Parts(start, word), _Parts(goal, word)
    first, last = (_ordered(parts, dtype) for parts in (a, b))
    grows = binary("eq", binary("lt", first, last), binary("gt", first, 0))
    found = select(grows, binary("add", a.bits, 1), binary("sub", a.bits, 1))
    found = select(binary("eq", first, 0), binary("or", b.sign, 1), found)
    found = select(binary("eq", first, last), b.bits, found)
    is_nan = binary("gt", binary("max", a.size, b.size), _infinity(dtype))
    return _of_bits(select(is_nan, _nan(dtype), found), dtype)


def _ordered(parts: _Parts, dtype: DType) -> Any:
    """Returns a signed integer for a float, in the same order; both zeros are 0."""
    size = expr(parts.size, dtypes.dtype(f"int{dtype.bits}"))
    return select(binary("ne", parts.sign, 0), binary("sub", 0, size), size)
