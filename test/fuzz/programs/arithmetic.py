"""Arithmetic of `Number`s as docs/language/semantics.md defines it. Rules are named where they are applied.

`active` says of which elements a result is needed; it is None where it is of all. What the rules leave open for one of
them, such as a comparison of values known only within bounds, raises `Invalid`: the program says nothing certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .elements import (
    FLOAT4,
    SMALL_FLOATS,
    Array,
    Number,
    bits,
    carrier,
    integer_range,
    interval,
    is_float,
    is_unsigned,
    limited,
    neighbour,
    rounded,
    significand,
    spacing,
    widened,
    wrapped,
)


class Invalid(Exception):
    """The program does what the language leaves undefined, or what the reference cannot decide."""


Active = Array | None

_ULPS = 2
"""How far the functions of F2 may be off, in `float32`."""


def require(holds: Array, active: Active, message: str) -> None:
    """Raises unless something holds for every active element."""
    if not np.all(holds if active is None else holds | ~active):
        raise Invalid(message)


# Integers -------------------------------------------------------------------------------------------------------------


def _divided(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns quotient and remainder, rounded down (I3)."""
    one = np.ones((), b.dtype)
    divisor = np.where(b == 0, one, b)
    minus = divisor == -1 if a.dtype.kind == "i" else np.zeros(divisor.shape, bool)
    divisor = np.where(minus, one, divisor)
    quotient, remainder = np.floor_divide(a, divisor), np.mod(a, divisor)
    quotient = np.where(minus, np.zeros((), a.dtype) - a, quotient)
    zero = np.zeros((), a.dtype)
    return np.where(b == 0, zero, quotient), np.where((b == 0) | minus, zero, remainder)


def _ceil_divided(a: Array, b: Array) -> Array:
    quotient, remainder = _divided(a, b)
    return quotient + (remainder != 0).astype(a.dtype)


def _divided_towards_zero(a: Array, b: Array) -> tuple[Array, Array]:
    """Divides and rounds towards zero; by zero both are 0."""
    quotient, remainder = _divided(a, b)
    is_below = (remainder != 0) & ((a < 0) != (b < 0))
    return np.where(is_below, quotient + 1, quotient), np.where(is_below, remainder - b, remainder)


def _shifted(a: Array, b: Array, left: bool) -> Array:
    """Shifts by an amount that is read as unsigned (I4)."""
    size = a.dtype.itemsize * 8
    amount = b.astype(np.dtype(f"uint{size}"))
    inside = amount < size
    safe = np.where(inside, amount, 0).astype(a.dtype)
    if left:
        return np.where(inside, np.left_shift(a, safe), np.zeros((), a.dtype))
    fill = np.right_shift(a, np.asarray(size - 1, a.dtype)) if a.dtype.kind == "i" else np.zeros((), a.dtype)
    return np.where(inside, np.right_shift(a, safe), fill)


_INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": lambda a, b: _divided(a, b)[0],
    "%": lambda a, b: _divided(a, b)[1],
    "ceildiv": _ceil_divided,
    "truncdiv": lambda a, b: _divided_towards_zero(a, b)[0].astype(a.dtype),
    "truncmod": lambda a, b: _divided_towards_zero(a, b)[1].astype(a.dtype),
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": lambda a, b: _shifted(a, b, True),
    ">>": lambda a, b: _shifted(a, b, False),
    "min": np.minimum,
    "max": np.maximum,
}


def binary(op: str, a: Number, b: Number, active: Active = None) -> Number:
    """Returns `a op b`, of two numbers of one type."""
    with np.errstate(all="ignore"):
        if is_float(a.dtype):
            return _float_binary(op, a, b, active)
        result = np.asarray(_INTEGER[op](np.asarray(a.low), np.asarray(b.low)))
        return Number(a.dtype, result.astype(carrier(a.dtype)))


# Floats ---------------------------------------------------------------------------------------------------------------


def _float_binary(op: str, a: Number, b: Number, active: Active) -> Number:
    dtype = a.dtype
    if op == "+":
        return _between(dtype, _sum(a.low, b.low, dtype), _sum(a.top, b.top, dtype), active)
    if op == "-":
        return _between(dtype, _sum(a.low, -b.top, dtype), _sum(a.top, -b.low, dtype), active)
    if op in ("min", "max"):
        choose = np.minimum if op == "min" else np.maximum
        return _between(dtype, choose(a.low, b.low), choose(a.top, b.top), active)
    if op == "*":
        return _product(a, b, active)
    if op in ("fmod", "nextafter"):
        exact = np.asarray(a.is_exact and b.is_exact)
        require(exact, active, f"`T.{op}` of values that are known within bounds only")
        return Number(dtype, np.fmod(a.low, b.low) if op == "fmod" else neighbour(a.low, b.low, dtype))
    require((b.low > 0) | (b.top < 0) | np.isnan(b.low), active, "divides by what may be zero")
    if b.is_exact and np.ndim(b.low) == 0 and abs(np.frexp(b.low)[0]) == 0.5:  # which is a product (F3)
        return _product(a, Number(dtype, np.asarray(1 / b.low)), active)
    corners = [x / y for x in _ends(a) for y in _ends(b)]
    return _between(dtype, _least(corners), _greatest(corners), active)


def _sum(x: Array, y: Array, dtype: str) -> Array:
    """Adds two numbers. What is to be rounded to fewer bits is rounded to odd: one rounding, not two, in all.

    A product halfway between two numbers goes up if something tiny is added before it is rounded.
    """
    total = np.asarray(x + y)
    if dtype == "float64":
        return total
    part = total - x
    rest = (x - (total - part)) + (y - part)
    is_even = (total.view(np.int64) & 1) == 0
    other = np.nextafter(total, np.copysign(np.inf, rest))
    return np.where(np.isfinite(total) & (rest != 0) & is_even, other, total)


def _between(dtype: str, low: Array, high: Array, active: Active) -> Number:
    """Returns the number between two values after they are rounded."""
    low = np.asarray(rounded(np.asarray(low), dtype))
    high = low if high is low else np.asarray(rounded(np.asarray(high), dtype))
    require(np.isnan(low) == np.isnan(high), active, "may be NaN or not")
    return interval(dtype, low, high)


def _ends(a: Number) -> list[Array]:
    return [a.low] if a.high is None else [a.low, a.high]


def _least(values: list[Array]) -> Array:
    result = values[0]
    for value in values[1:]:
        result = np.minimum(result, value)
    return result


def _greatest(values: list[Array]) -> Array:
    result = values[0]
    for value in values[1:]:
        result = np.maximum(result, value)
    return result


def _product(a: Number, b: Number, active: Active) -> Number:
    """Multiplies. A sum may use the product before it is rounded (F3), so both are right."""
    for one, other in ((a, b), (b, a)):
        may_be_infinite = np.isinf(one.low) | np.isinf(one.top)
        may_be_zero = (other.low <= 0) & (other.top >= 0) & (other.low != other.top)
        require(~(may_be_infinite & may_be_zero), active, "multiplies what may be infinite by what may be zero")
    corners = [x * y for x in _ends(a) for y in _ends(b)]
    low, high = _least(corners), _greatest(corners)
    dtype = a.dtype
    if dtype == "float64":
        exact = _lowest_bit(a.low) * _lowest_bit(b.low) * 2.0**53 > np.abs(low)
        exact |= (low == 0) | ~np.isfinite(low)
        unit = np.where(exact, 0.0, spacing(low, dtype))
        below, above = low - unit, high + unit
    else:
        below, above = np.minimum(low, rounded(low, dtype)), np.maximum(high, rounded(high, dtype))
    require(np.isnan(below) == np.isnan(above), active, "may be NaN or not")
    return interval(dtype, np.asarray(below), np.asarray(above))


def _lowest_bit(values: Array) -> Array:
    """Returns the value of the lowest bit that is set; infinity for zero and for what is not finite."""
    finite = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(finite, values, 1.0))
    mantissa = np.abs(fraction * 2.0**53).astype(np.int64)
    lowest = np.ldexp((mantissa & -mantissa).astype(np.float64), exponent - 53)
    return np.where(finite, lowest, np.inf)


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


_erf = np.vectorize(math.erf, otypes=[np.float64])

# The functions of F2, and whether they rise, fall, or do neither.
_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "exp": (np.exp, 1),
    "exp2": (np.exp2, 1),
    "log": (np.log, 1),
    "log2": (np.log2, 1),
    "exp10": (lambda x: 10.0**x, 1),
    "log10": (np.log10, 1),
    "log1p": (np.log1p, 1),
    "asinh": (np.arcsinh, 1),
    "atan": (np.arctan, 1),
    "rsqrt": (lambda x: 1.0 / np.sqrt(x), -1),
    "tanh": (np.tanh, 1),
    "erf": (_erf, 1),
    "sigmoid": (_sigmoid, 1),
    "sin": (np.sin, 0),
    "cos": (np.cos, 0),
}


def _round_away(x: Array) -> Array:
    """Returns the nearest integer, of two the one of greater magnitude; an infinity as it is."""
    whole = np.trunc(x)
    away = np.abs(np.where(np.isfinite(x), x - whole, 0.0)) >= 0.5
    return np.copysign(np.where(away, np.abs(whole) + 1, np.abs(whole)), x)


_EXACT: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "round_away": _round_away,
    "nearbyint": np.rint,
    "trunc": np.trunc,
}

FUNCTIONS = (*_FUNCTIONS, *_EXACT)
OPEN_FUNCTIONS = tuple(_FUNCTIONS)
"""Those whose last bits the language leaves open."""


def unary(op: str, a: Number, active: Active = None) -> Number:
    """Returns `-a`, `~a`, `abs(a)`, or a function of a float."""
    with np.errstate(all="ignore"):
        if not is_float(a.dtype):
            return _integer_unary(op, a)
        if op == "-":
            return Number(a.dtype, -a.top, None if a.high is None else -a.low)
        if op == "abs":
            spans = (a.low < 0) & (a.top > 0)
            x, y = np.abs(a.low), np.abs(a.top)
            return interval(a.dtype, np.where(spans, 0.0, np.minimum(x, y)), np.maximum(x, y))
        if op in _EXACT:
            return _between(a.dtype, _EXACT[op](a.low), _EXACT[op](a.top), active)
        return _function(op, a, active)


def _integer_unary(op: str, a: Number) -> Number:
    if op == "-":
        return binary("-", Number(a.dtype, np.zeros((), a.low.dtype)), a)
    if op == "~":
        return Number(a.dtype, np.asarray(np.invert(a.low)))
    if op in ("popcount", "clz"):
        word = a.low.astype(np.int64) & 0xFFFFFFFF
        if op == "popcount":
            counted = sum((word >> k) & 1 for k in range(32))
        else:
            counted = 32 - sum((word >> k) != 0 for k in range(32))
        return Number(a.dtype, np.asarray(counted, a.low.dtype))
    return Number(a.dtype, np.asarray(np.abs(a.low)))


def _function(op: str, a: Number, active: Active) -> Number:
    function, direction = _FUNCTIONS[op]
    # Types of 16 bits are computed in single precision and rounded once.
    computed = "float64" if a.dtype == "float64" else "float32"
    low, high = function(a.low), function(a.top)
    if direction < 0:
        low, high = high, low
    if direction == 0:
        width = np.where(np.isfinite(a.top - a.low), a.top - a.low, 0.0)
        low, high = np.maximum(low - width, -1.0), np.minimum(high + width, 1.0)
    ulps = 2 * _ULPS if op == "sigmoid" or computed == "float64" else _ULPS
    low = rounded(low - ulps * spacing(low, computed), computed)
    high = rounded(high + ulps * spacing(high, computed), computed)
    if op == "sigmoid" and bits(a.dtype) == 16:  # made of three operations, each of which rounds
        low, high = low - 2 * spacing(low, a.dtype), high + 2 * spacing(high, a.dtype)
    return _between(a.dtype, low, high, active)


# Comparisons and choices ----------------------------------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def compare(op: str, a: Number, b: Number, active: Active = None) -> Number:
    """Returns a `bool`; both numbers have one type."""
    with np.errstate(all="ignore"):
        results = [np.asarray(_COMPARE[op](x, y)) for x in _ends(a) for y in _ends(b)]
        for other in results[1:]:
            require(other == results[0], active, f"`{op}` of values that are known within bounds only")
        if not (a.is_exact and b.is_exact):
            apart = (a.top < b.low) | (b.top < a.low) | np.isnan(a.low) | np.isnan(b.low) | (op not in ("==", "!="))
            require(apart, active, f"`{op}` of values that are known within bounds only")
        return Number("bool", results[0])


def select(condition: Array, a: Number, b: Number) -> Number:
    """Returns `a` where the condition holds, and `b` elsewhere."""
    low = np.where(condition, a.low, b.low)
    if a.is_exact and b.is_exact:
        return Number(a.dtype, low)
    return interval(a.dtype, low, np.where(condition, a.top, b.top))


# Conversions ----------------------------------------------------------------------------------------------------------


def cast(a: Number, dtype: str, active: Active = None) -> Number:
    """Converts to another type (C1 to C3)."""
    if a.dtype == dtype:
        return a
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return compare("!=", a, Number(a.dtype, np.zeros((), a.low.dtype)), active)
        if not is_float(a.dtype):
            if not is_float(dtype):
                return Number(dtype, np.asarray(wrapped(a.low, dtype)))
            whole = np.asarray(a.low)
            if dtype == "float64":
                return Number(dtype, whole.astype(np.float64))
            return Number(dtype, rounded(limited(widened(whole), dtype), dtype))
        if is_float(dtype):
            return _between(dtype, limited(a.low, dtype), limited(a.top, dtype), active)
        results = [_truncated(end, dtype) for end in _ends(a)]
        require(results[0] == results[-1], active, "converts a value that is known within bounds only")
        return Number(dtype, results[0])


def _truncated(values: Array, dtype: str) -> Array:
    """Rounds towards zero and saturates (C3)."""
    least, greatest = integer_range(dtype)
    whole = np.trunc(np.where(np.isnan(values), 0.0, values))
    above, below = whole >= float(greatest + 1), whole < float(least)
    inside = np.where(above | below, 0.0, whole)
    kind = np.uint64 if is_unsigned(dtype) else np.int64
    result = inside.astype(kind).astype(carrier(dtype))
    result = np.where(above, np.asarray(greatest, carrier(dtype)), result)
    return np.where(below, np.asarray(least, carrier(dtype)), result)


# Sums and products of tiles -------------------------------------------------------------------------------------------


def absolute(a: Number) -> Number:
    """Returns the absolute value for a reduction; that of the least integer has none."""
    if not is_float(a.dtype) and a.low.dtype.kind == "i":
        require(a.low != integer_range(a.dtype)[0], None, "takes the absolute value of the least integer")
    return unary("abs", a)


def total(a: Number, axis: int) -> Number:
    """Adds up along an axis, in an order that is not said (F4)."""
    with np.errstate(all="ignore"):
        if not is_float(a.dtype):
            return Number(a.dtype, wrapped(np.add.reduce(a.low, axis=axis, dtype=a.low.dtype), a.dtype))
        computed = "float64" if a.dtype == "float64" else "float32"
        size = np.maximum(_magnitude(a.low), _magnitude(a.top)).sum(axis=axis)
        quantum = np.minimum(_lowest_bit(a.low), _lowest_bit(a.top)).min(axis=axis)
        low, high = a.low.sum(axis=axis), a.top.sum(axis=axis)
        slack = _slack(low, size, quantum, computed, a.low.shape[axis])
        return _between(a.dtype, low - slack, high + slack, None)


def _magnitude(values: Array) -> Array:
    """Returns absolute values, and 0 for infinities and NaN: a sum with one of them is it, unless others overflow."""
    return np.where(np.isfinite(values), np.abs(values), 0.0)


def _slack(value: Array, size: Array, quantum: Array, dtype: str, count: int) -> Array:
    """Returns how far a sum of `count` terms may be off, whose finite ones have the absolute values `size` in all; not
    at all where every partial sum is exact.
    """
    precision = significand(dtype)
    finite = np.isfinite(value)
    greatest = 65504.0 if dtype == "float16" else 3e38
    require((size < greatest) | (dtype == "float64"), None, "a sum may overflow on the way")
    exact = (size < quantum * 2.0**precision) | (size == 0) | ~finite
    # Matrix units cut rather than round, hence one bit less.
    return np.where(exact, 0.0, (count + 2) * 2.0 ** (1 - precision) * size)


def matrix_product(a: Number, b: Number, c: Number) -> Number:
    """Returns `c + a @ b` (F5)."""
    with np.errstate(all="ignore"):
        if not is_float(a.dtype):
            product = a.low.astype(np.int64) @ b.low.astype(np.int64)
            return Number(c.dtype, (product + c.low).astype(c.low.dtype))
        for operand in (a, b, c):
            is_open = (operand.low != operand.top) & (np.isinf(operand.low) | np.isinf(operand.top))
            require(~is_open, None, "multiplies or adds what may be infinite or not")
        slacks = [c.top - c.low]
        values: list[Array] = []
        for operand in (a, b):
            middle = operand.low if operand.is_exact else (operand.low + operand.top) / 2
            values.append(middle)
        x, y = values
        doubtful = [(o.low != o.top) & (o.low <= 0) & (o.top >= 0) for o in (a, b)]
        infinite = np.isinf(x) * 1.0 @ doubtful[1] + doubtful[0] * 1.0 @ np.isinf(y)
        require(infinite == 0, None, "multiplies an infinity by what may be zero or not")
        size = _magnitude(x) @ _magnitude(y) + _magnitude(c.low)
        value = x @ y + c.low
        slacks += [(a.top - a.low) @ np.abs(y), np.abs(x) @ (b.top - b.low)]
        if a.dtype == "float32":
            short = [np.abs(v - _to_tf32(v)) for v in (x, y)]
            slacks += [2 * (short[0] @ np.abs(y)), 2 * (np.abs(x) @ short[1])]
        quantum = _lowest_bit(x).min(axis=1)[:, None] * _lowest_bit(y).min(axis=0)[None, :]
        quantum = np.minimum(quantum, np.minimum(_lowest_bit(c.low), _lowest_bit(c.top)))
        slack = _slack(value, size, quantum, c.dtype, x.shape[1])
        if a.dtype in (*SMALL_FLOATS, FLOAT4):
            # Each step of 32 products, and each loop around them, may lose what is below 2^-13 of the greatest.
            greatest = np.maximum(size, 2.0**-126)
            slacks.append(np.where(quantum * 2.0**13 < greatest, 2.0**-12 * (1 + x.shape[1] // 32) * greatest, 0.0))
        for extra in slacks:
            slack = slack + np.where(np.isfinite(extra), extra, 0.0)
        return _between(c.dtype, value - slack, value + slack, None)


def _to_tf32(values: Array) -> Array:
    single = values.astype(np.float32).view(np.uint32)
    return (single & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
