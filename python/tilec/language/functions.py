"""More functions of floats: made of the few that every target computes (docs/language/accuracy.md).

Those of `float64` are made here of other functions of `float64`. Those of `float32` are formulas of their own, in
`singles`, by which narrower floats go as well.
"""

from __future__ import annotations

import math

from .. import dtypes
from ..casts import emit, emit_float_compare
from ..errors import DTypeError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..values import Expr, absolute, binary, cast, expr, float_function, select, simplify, typed, unify
from . import singles
from .bits import reinterpret
from .scalar import cos, exp, log, pow, round, sin, sqrt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


__all__ = [
    "__cos", "__exp", "__exp10", "__log", "__log2", "__log10", "__sin", "__tan", "acos", "acosh", "asin", "asinh",
    "atan", "atan2", "atanh", "copysign", "cosh", "exp10", "fast_rcp", "fma", "hypot", "isfinite",
    "isinf", "isnan", "ldexp", "log1p", "log10", "nearbyint", "sinh", "tan", "trunc",
]  # fmt: skip

_LN2 = 0.6931471805599453
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
_PI = 3.141592653589793


def float_operands(name: str, *values: Any) -> list[Any]:
    """Returns the operands of a function of floats: Python's numbers as they are, values of one float type."""
    numbers = [simplify(value) for value in values]
    staged = [number for number in numbers if isinstance(number, Expr)]
    if not staged:
        return [float(number) for number in numbers if not isinstance(number, Expr)]
    wanted = next((n.dtype for n in staged if n.dtype.is_float), None)
    odd = next((n.dtype for n in staged if not n.dtype.is_float), None)
    if wanted is None or odd is not None:
        raise DTypeError(
            f"`T.{name}` needs floats, and this is `{odd}`: convert it with `.astype(...)`", location=place()
        )
    if any(n.dtype.is_only_stored for n in staged):
        raise DTypeError(
            f'`T.{name}` does not work on `{wanted}`: convert it with `.astype("float32")`', location=place()
        )
    dtype = max((n.dtype for n in staged), key=lambda t: t.bits)
    dtype = dtypes.float32 if dtype is dtypes.tfloat32 else dtype
    return [expr(number, dtype) for number in numbers]


def _by_formula(name: str, python: Callable[[float], float], double: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function of a float: of `float64` by `double`, of others by that of `singles`, and of Python's numbers
    by `python`."""
    (operand,) = float_operands(name, x)
    if not isinstance(operand, Expr):
        return float_function(name, operand, python)  # says what is wrong with a number
    return _in_precision(name, double, operand)


def _of_two_by_formula(
    name: str, python: Callable[[float, float], float], double: Callable[[Any, Any], Any], x1: Any, x2: Any
) -> Any:
    """Returns a function of two floats; see `_by_formula`."""
    a, b = float_operands(name, *typed(x1, x2))
    if not isinstance(a, Expr):
        return python(a, b)
    return _in_precision(name, double, a, b)


def _in_precision(name: str, double: Callable[..., Any], *operands: Expr) -> Any:
    dtype = operands[0].dtype
    if dtype is dtypes.float64:
        return double(*operands)
    single: Callable[..., Any] = getattr(singles, name)
    return cast(single(*(cast(operand, dtypes.float32) for operand in operands)), dtype)


def _is_below(a: Any, b: Any) -> Any:
    return binary("lt", a, b)


def _with_zero(x: Any, result: Any) -> Any:
    """Returns the result of an odd function, which of a zero is that zero."""
    return select(binary("eq", x, 0.0), x, result)


def _odd(x: Any, positive: Any) -> Any:
    """Returns an odd function of `x`, given that of its absolute value."""
    return _with_zero(x, select(_is_below(x, 0.0), binary("sub", 0.0, positive), positive))


def _polynomial(terms: Sequence[float], x: Any) -> Any:
    """Returns a polynomial, given its coefficients, that of the highest power first."""
    out: Any = terms[0]
    for term in terms[1:]:
        out = binary("add", binary("mul", out, x), term)
    return out


# What kind of number ------------------------------------------------------------------------------------------------


def isnan(x: Any) -> Any:
    """Returns whether `x` is not a number. Integers always are.

    >>> T.isnan(float("nan"))
    True
    """
    number = simplify(x)
    if not isinstance(number, Expr):
        return math.isnan(number)
    if not number.dtype.is_float:
        return False
    wide = _wide_enough(number)
    return Expr(emit_float_compare("uno", wide.value, wide.value), dtypes.bool_)


def isinf(x: Any) -> Any:
    """Returns whether `x` is an infinity. Integers never are.

    >>> T.isinf(1.0)
    False
    """
    number = simplify(x)
    if not isinstance(number, Expr):
        return math.isinf(number)
    return binary("eq", absolute(_wide_enough(number)), math.inf) if number.dtype.is_float else False


def isfinite(x: Any) -> Any:
    """Returns whether `x` is a number and no infinity.

    >>> T.isfinite(1.0)
    True
    """
    number = simplify(x)
    if not isinstance(number, Expr):
        return math.isfinite(number)
    return binary("lt", absolute(_wide_enough(number)), math.inf) if number.dtype.is_float else True


def _wide_enough(number: Expr) -> Expr:
    """Returns a float that can be compared; those of 8 bits are only converted."""
    return expr(number, dtypes.float32) if number.dtype.bits < 16 else number


# Rounding and parts --------------------------------------------------------------------------------------------------


def trunc(x: Any) -> Any:
    """Returns `x` without what is behind the point, as a float.

    >>> T.trunc(-1.5)
    -1.0
    """
    return float_function("trunc", x, lambda v: float(math.trunc(v)))


def nearbyint(x: Any) -> Any:
    """Returns the nearest integer, as a float; the even one of two: the same as `T.round`.

    >>> T.nearbyint(2.5)
    2.0
    """
    return round(x)


def copysign(x1: Any, x2: Any) -> Any:
    """Returns a number of the size of `x1` and the sign of `x2`; both are of one float type.

    >>> T.copysign(2.0, -0.0)
    -2.0
    """
    a, b = float_operands("copysign", x1, x2)
    if not isinstance(a, Expr):
        return math.copysign(a, b)
    x, y = unify(a, b)
    word = dtypes.dtype(f"uint{x.dtype.bits}")
    sign = 1 << (x.dtype.bits - 1)
    size = binary("and", reinterpret(x, word), sign - 1)
    return reinterpret(binary("or", size, binary("and", reinterpret(y, word), sign)), x.dtype)


def ldexp(x1: Any, x2: Any) -> Any:
    """Returns `x1` times 2 to the power of the integer `x2`, rounded once; not of `float64`.

    >>> T.ldexp(3.0, 2)
    12.0
    """
    (x,) = float_operands("ldexp", x1)
    power = simplify(x2)
    if isinstance(power, float) or (isinstance(power, Expr) and not power.dtype.is_integer):
        raise DTypeError(f"the exponent of `T.ldexp` is an integer, not `{x2!r}`", location=place())
    if not isinstance(x, Expr):
        if not isinstance(power, Expr):
            return float_function("ldexp", x, lambda v: math.ldexp(v, int(power)))
        x = expr(x, dtypes.float32)
    if x.dtype is dtypes.float64:
        raise DTypeError("`T.ldexp` does not work on `float64`: multiply by `T.exp2`", location=place())
    return cast(singles.ldexp(cast(x, dtypes.float32), power), x.dtype)


def fma(x: Any, y: Any, z: Any) -> Any:
    """Returns `x * y + z`, rounded once.

    >>> C[0, 0] = T.fma(A[0, 0], B[0, 0], C[0, 0])
    """
    a, b, c = float_operands("fma", *typed(x, y, z))
    if not isinstance(a, Expr):
        a, b, c = (expr(number, dtypes.float32) for number in (a, b, c))
    return Expr(emit("math.fma", [a.value, b.value, c.value], a.dtype.mlir), a.dtype)


# Exponentials and logarithms -----------------------------------------------------------------------------------------


def exp10(x: Any) -> Any:
    """Returns 10 to the power of `x`.

    >>> T.exp10(2.0)
    100.0
    """
    return _by_formula("exp10", lambda v: math.pow(10.0, v), lambda v: pow(expr(10.0, dtypes.float64), v), x)


def log10(x: Any) -> Any:
    """Returns the logarithm to base 10.

    >>> T.log10(100.0)
    2.0
    """
    return _by_formula("log10", math.log10, lambda v: binary("mul", log(v), 0.4342944819032518), x)


def log1p(x: Any) -> Any:
    """Returns `log(1 + x)`, which is exact where `x` is small.

    >>> T.log1p(0.0)
    0.0
    """
    return _by_formula("log1p", math.log1p, _log1p, x)


def _log1p(x: Any) -> Any:
    # What 1 + x lost to rounding is made good by a factor.
    u = binary("add", x, 1.0)
    scaled = binary("mul", log(u), binary("div", x, binary("sub", u, 1.0)))
    finite = select(binary("eq", u, 1.0), x, scaled)
    return select(binary("eq", u, math.inf), u, finite)


# Hyperbolic functions ------------------------------------------------------------------------------------------------

_SINH = (1 / 6227020800, 1 / 39916800, 1 / 362880, 1 / 5040, 1 / 120, 1 / 6, 1.0)
"""The Taylor series of sinh(x) / x in the square of x, the last term first."""


def sinh(x: Any) -> Any:
    """Returns the hyperbolic sine.

    >>> T.sinh(0.0)
    0.0
    """

    def formula(v: Any) -> Any:
        size = absolute(v)
        e, half = exp(size), exp(binary("mul", size, 0.5))
        by_exp = binary("sub", binary("mul", e, 0.5), binary("div", 0.5, e))
        by_exp = select(_is_below(size, 700.0), by_exp, binary("mul", binary("mul", half, 0.5), half))
        square = binary("mul", v, v)
        series = _polynomial(_SINH, square)
        signed = select(_is_below(v, 0.0), binary("sub", 0.0, by_exp), by_exp)
        return select(_is_below(size, 0.5), binary("mul", v, series), signed)

    return _by_formula("sinh", math.sinh, formula, x)


def cosh(x: Any) -> Any:
    """Returns the hyperbolic cosine.

    >>> T.cosh(0.0)
    1.0
    """

    def formula(v: Any) -> Any:
        size = absolute(v)
        e, half = exp(size), exp(binary("mul", size, 0.5))
        near = binary("add", binary("mul", e, 0.5), binary("div", 0.5, e))
        return select(_is_below(size, 700.0), near, binary("mul", binary("mul", half, 0.5), half))

    return _by_formula("cosh", math.cosh, formula, x)


def asinh(x: Any) -> Any:
    """Returns the inverse of the hyperbolic sine.

    >>> T.asinh(0.0)
    0.0
    """

    def formula(v: Any) -> Any:
        size = absolute(v)
        square = binary("mul", size, size)
        root = sqrt(binary("add", square, 1.0))
        near = _log1p(binary("add", size, binary("div", square, binary("add", root, 1.0))))
        return _odd(v, select(_is_below(size, 1e100), near, binary("add", log(size), _LN2)))

    return _by_formula("asinh", math.asinh, formula, x)


def acosh(x: Any) -> Any:
    """Returns the inverse of the hyperbolic cosine; NaN below one.

    >>> T.acosh(1.0)
    0.0
    """

    def formula(v: Any) -> Any:
        above = binary("sub", v, 1.0)
        root = sqrt(binary("mul", above, binary("add", above, 2.0)))
        near = _log1p(binary("add", above, root))
        found = select(_is_below(v, 1e100), near, binary("add", log(v), _LN2))
        return select(_is_below(v, 1.0), math.nan, found)

    return _by_formula("acosh", math.acosh, formula, x)


def atanh(x: Any) -> Any:
    """Returns the inverse of the hyperbolic tangent; NaN beyond one.

    >>> T.atanh(0.0)
    0.0
    """

    def formula(v: Any) -> Any:
        size = absolute(v)
        quotient = binary("div", binary("mul", size, 2.0), binary("sub", 1.0, size))
        return _odd(v, binary("mul", _log1p(quotient), 0.5))

    return _by_formula("atanh", math.atanh, formula, x)


# Trigonometric functions ---------------------------------------------------------------------------------------------


def tan(x: Any) -> Any:
    """Returns the tangent.

    >>> T.tan(0.0)
    0.0
    """
    return _by_formula("tan", math.tan, lambda v: binary("div", sin(v), cos(v)), x)


_ARC = (
    0.0028662257, -0.0161657367, 0.0429096138, -0.0752896400, 0.1065626393, -0.1420889944, 0.1999355085,
    -0.3333314528, 1.0,
)  # fmt: skip
"""A polynomial for atan(x) / x in the square of x, the last term first (Abramowitz and Stegun 4.4.49)."""


def _small_arc(t: Any) -> Any:
    """Returns the arc whose tangent is `t`, from zero to one."""
    # A step of Newton's makes exact what the polynomial knows to 2e-8.
    guess = binary("mul", _polynomial(_ARC, binary("mul", t, t)), t)
    s, c = sin(guess), cos(guess)
    rest = binary("sub", binary("mul", t, c), s)
    return binary("add", guess, binary("div", rest, binary("add", c, binary("mul", t, s))))


def _from_quarter(arc: Any) -> Any:
    """Returns the right angle less an arc."""
    return binary("add", binary("sub", _HALF_PI, arc), _HALF_PI_REST)


def _atan(x: Any) -> Any:
    size = absolute(x)
    is_steep = binary("gt", size, 1.0)
    arc = _small_arc(select(is_steep, binary("div", 1.0, size), size))
    return _odd(x, select(is_steep, _from_quarter(arc), arc))


def _is_negative(x: Any) -> Any:
    """Returns whether the sign of a `float64` is set, that of zero too."""
    return binary("lt", reinterpret(x, dtypes.int64), 0)


def _atan2(y: Any, x: Any) -> Any:
    height, width = absolute(y), absolute(x)
    greater, less = binary("max", height, width), binary("min", height, width)
    quotient = binary("div", less, greater)
    quotient = select(binary("eq", greater, 0.0), 0.0, quotient)
    quotient = select(binary("eq", less, math.inf), 1.0, quotient)
    arc = _small_arc(quotient)
    arc = select(binary("gt", height, width), _from_quarter(arc), arc)
    arc = select(_is_negative(x), binary("add", binary("sub", _PI, arc), 2 * _HALF_PI_REST), arc)
    return copysign(arc, y)


def atan(x: Any) -> Any:
    """Returns the arc tangent.

    >>> T.atan(0.0)
    0.0
    """
    return _by_formula("atan", math.atan, _atan, x)


def atan2(x1: Any, x2: Any) -> Any:
    """Returns the angle of the point whose coordinates are `x2` and `x1`: the arc tangent of `x1 / x2`.

    >>> T.atan2(0.0, 1.0)
    0.0
    """
    return _of_two_by_formula("atan2", math.atan2, _atan2, x1, x2)


def _cathetus(x: Any) -> Any:
    return sqrt(binary("mul", binary("sub", 1.0, x), binary("add", x, 1.0)))


def asin(x: Any) -> Any:
    """Returns the arc sine; NaN beyond one.

    >>> T.asin(0.0)
    0.0
    """
    return _by_formula("asin", math.asin, lambda v: _atan2(v, _cathetus(v)), x)


def acos(x: Any) -> Any:
    """Returns the arc cosine; NaN beyond one.

    >>> T.acos(1.0)
    0.0
    """
    return _by_formula("acos", math.acos, lambda v: _atan2(_cathetus(v), v), x)


def hypot(x1: Any, x2: Any) -> Any:
    """Returns the root of the sum of two squares; infinite if one of the two is, whatever the other.

    >>> T.hypot(3.0, 4.0)
    5.0
    """

    def formula(a: Any, b: Any) -> Any:
        a, b = absolute(a), absolute(b)
        greater, less = binary("max", a, b), binary("min", a, b)
        quotient = select(binary("eq", greater, 0.0), 0.0, binary("div", less, greater))
        result = binary("mul", greater, sqrt(binary("add", binary("mul", quotient, quotient), 1.0)))
        is_infinite = binary("or", binary("eq", a, math.inf), binary("eq", b, math.inf))
        return select(is_infinite, math.inf, result)

    return _of_two_by_formula("hypot", math.hypot, formula, x1, x2)


# Names of functions that may be less exact: here they are the exact ones, which `fast_math` loosens all together.


def __exp(x: Any) -> Any:
    """The same as `T.exp`, which is never less exact.

    >>> T.__exp(0.0)
    1.0
    """
    return exp(x)


def __exp10(x: Any) -> Any:
    """The same as `T.exp10`, which is never less exact.

    >>> T.__exp10(2.0)
    100.0
    """
    return exp10(x)


def __log(x: Any) -> Any:
    """The same as `T.log`, which is never less exact.

    >>> T.__log(1.0)
    0.0
    """
    return log(x)


def __log2(x: Any) -> Any:
    """The same as `T.log2`, which is never less exact.

    >>> T.__log2(8.0)
    3.0
    """
    return float_function("log2", x, math.log2)


def __log10(x: Any) -> Any:
    """The same as `T.log10`, which is never less exact.

    >>> T.__log10(100.0)
    2.0
    """
    return log10(x)


def __sin(x: Any) -> Any:
    """The same as `T.sin`, which is never less exact.

    >>> T.__sin(0.0)
    0.0
    """
    return sin(x)


def __cos(x: Any) -> Any:
    """The same as `T.cos`, which is never less exact.

    >>> T.__cos(0.0)
    1.0
    """
    return cos(x)


def __tan(x: Any) -> Any:
    """The same as `T.tan`, which is never less exact.

    >>> T.__tan(0.0)
    0.0
    """
    return tan(x)


def fast_rcp(x: Any) -> Any:
    """The same as `1 / x`, which is never less exact.

    >>> T.fast_rcp(4.0)
    0.25
    """
    return binary("div", 1.0, *float_operands("fast_rcp", x))
