"""Functions of `float32` by formulas in `float32` (docs/language/accuracy.md).

An argument is reduced to an interval on which a polynomial is as good as the type. Polynomials are minimax fits, by
Remez' exchange, of what is left of the function after its leading terms, weighted so that the relative error is least;
their coefficients were rounded one by one, the lowest power first. Where a rounding would show, what it lost is carried
along.

Sound for all arguments of the type: what no formula reaches is selected at the end, and what becomes infinite or NaN on
the way is not selected. It does not matter whether products are joined with sums (F3 of the semantics): each is a
factor, or added to by `fma`, or exact, or has zero added to it; none is the result, which the program may add to. There
is no division: the approximate root of the hardware, which may be off by two units, is made right by a step of
Newton's. The errors of accuracy.md are the worst ones over all arguments.
"""

from __future__ import annotations

import math
from itertools import pairwise

from .. import _ops, dtypes
from ..builder import current
from ..casts import emit
from ..typed import TYPE_CHECKING
from ..values import Expr, absolute, binary, cast, expr, negative, select
from .bits import reinterpret
from .choices import trace
from .scalar import rsqrt

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..ir import Block

__all__: list[str] = []

_FRACTION = 23
"""How many bits there are below the exponent."""
_SIGN = -(1 << 31)

_LEAST_NORMAL = 2.0**-126


def _fma(a: Any, b: Any, c: Any) -> Any:
    values = [expr(number, dtypes.float32).value for number in (a, b, c)]
    return Expr(emit("math.fma", values, dtypes.float32.mlir), dtypes.float32)


def _product(a: Any, b: Any) -> Any:
    """Returns `a * b`, also to a sum as rounded."""
    return _fma(a, b, 0.0)


def _polynomial(x: Any, *terms: float) -> Any:
    """Returns a polynomial, given its coefficients, that of the highest power first."""
    out: Any = terms[0]
    for term in terms[1:]:
        out = _fma(out, x, term)
    return out


def _bits(x: Any) -> Any:
    return reinterpret(expr(x, dtypes.float32), dtypes.int32)


def _float(bits: Any) -> Any:
    return reinterpret(bits, dtypes.float32)


def _with_sign(size: Any, x: Any) -> Any:
    """Returns a number that is not negative, with the sign of `x`, which may be that of a zero."""
    return _float(binary("or", _bits(size), binary("and", _bits(x), _SIGN)))


def _nearest(x: Any, factor: float) -> tuple[Any, Any]:
    """Returns the integer nearest to `x * factor`, of at most 22 bits, as a float and as an integer."""
    # The sum is rounded to an integer, which is in the low bits of it.
    shift, bits_of_shift = 12582912.0, 0x4B400000
    shifted = _fma(x, factor, shift)
    return binary("sub", shifted, shift), binary("sub", _bits(shifted), bits_of_shift)


def _power(exponent: Any) -> Any:
    """Returns 2 to the power of an integer from -126 to 127."""
    return _float(binary("shl", binary("add", exponent, 127), _FRACTION))


def _near_one(greater: Any, less: Any) -> tuple[Any, Any, Any]:
    """Returns two positive numbers divided by a power of two, and the bits of that: the greater one is below four, and
    not below one if it is normal."""
    exponent = binary("and", _bits(greater), 0xFF << _FRACTION)
    exponent = binary("min", binary("max", exponent, 1 << _FRACTION), 253 << _FRACTION)
    scale = _float(binary("sub", 254 << _FRACTION, exponent))
    return binary("mul", greater, scale), binary("mul", less, scale), exponent


def _reciprocal(x: Any) -> Any:
    """Returns one over a number from 2^-60 to 2^60, within 0.51 units."""
    root = rsqrt(x)
    guess = binary("mul", root, root)
    return _fma(guess, _fma(negative(guess), x, 1.0), guess)


def _root(x: Any) -> tuple[Any, Any]:
    """Returns about the root of `x`, zero of zero, and what its square lacks is to be multiplied by."""
    inverse = rsqrt(binary("max", x, 2.0**-100))
    return _product(x, inverse), binary("mul", inverse, 0.5)


def _lost(root: Any, square: Any) -> Any:
    """Returns what the square of a root lacks."""
    return _fma(negative(root), root, square)


# Logarithms ----------------------------------------------------------------------------------------------------------

_LN2, _LN2_REST = 0.693145751953125, 1.428606765330187e-06
"""ln 2 in two parts; the first times any exponent is exact."""


def _split(x: Any, least: float = 0.75) -> tuple[Any, Any, Any]:
    """Returns `exponent`, `offset` and `scale` of a normal number: 2^exponent by a number from `least` to its double.

    The exponent is a float, `offset` what it is in the bits of a number, and `scale` is 4 / 2^exponent.
    """
    offset = binary("and", binary("sub", _bits(x), _bits(least)), -1 << _FRACTION)
    exponent = binary("mul", cast(offset, dtypes.float32), 2.0**-_FRACTION)
    return exponent, offset, _float(binary("sub", _bits(4.0), offset))


def _scaled(x: Any, offset: Any) -> Any:
    """Returns `x` less the exponent that `offset` stands for; both are normal, or `offset` is zero."""
    return _float(binary("sub", _bits(x), offset))


def _log_rest(f: Any, square: Any, rest: Any) -> Any:
    """Returns log(1 + f) - f + f^2 / 2 + rest / (1 + f), for f from sqrt(1/2) - 1 to 1/2 and a rest that is tiny."""
    p = _polynomial(
        f, 0.04783584550023079, -0.10437992215156555, 0.12130808085203171, -0.12640444934368134, 0.1421630084514618,
        -0.16653798520565033, 0.20001767575740814, -0.25000274181365967, 0.33333319425582886,
    )  # fmt: skip
    product = binary("mul", p, f)
    if rest is None:
        return binary("mul", product, square)
    # 1 / (1 + f) is about 1 - f + f^2, which is enough for the rest.
    return _fma(product, square, _fma(rest, _fma(f, f, negative(f)), rest))


def _log(exponent: Any, f: Any, rest: Any = None) -> Any:
    """Returns exponent ln 2 + log(1 + f + rest)."""
    square = binary("mul", f, f)
    low = _fma(exponent, _LN2_REST, _log_rest(f, square, rest))
    low = _fma(square, -0.5, low)
    return _fma(exponent, _LN2, binary("add", low, f))


def log1p(x: Any) -> Any:
    exponent, offset, scale = _split(binary("add", x, 1.0))
    # (1 + x) / 2^exponent - 1, which is exact wherever it matters.
    f = binary("add", _scaled(x, offset), _fma(scale, 0.25, -1.0))
    special = select(binary("lt", x, -1.0), math.nan, x)
    special = select(binary("eq", x, -1.0), -math.inf, special)
    is_number = binary("and", binary("gt", x, -1.0), binary("lt", x, math.inf))
    return select(binary("and", is_number, binary("ne", x, 0.0)), _log(exponent, f), special)


def log10(x: Any) -> Any:
    is_tiny = binary("lt", x, _LEAST_NORMAL)
    normal = select(is_tiny, binary("mul", x, 2.0**_FRACTION), x)
    # From the root on: log10(3/2) is more than half of log10(2), which would be taken from it.
    exponent, offset, _ = _split(normal, math.sqrt(0.5))
    exponent = binary("add", exponent, select(is_tiny, -float(_FRACTION), 0.0))
    f = binary("sub", _scaled(normal, offset), 1.0)
    square = binary("mul", f, f)
    rest = _fma(square, -0.5, _log_rest(f, square, None))
    # log10(e) in two parts, and log10(2), whose first part times any exponent is exact.
    high, low = 0.4342944920063019, -1.0103049952192578e-08
    rest = _fma(rest, high, binary("mul", f, low))
    rest = _fma(exponent, 4.605039066518657e-06, rest)
    found = _fma(exponent, 0.301025390625, _fma(f, high, rest))
    special = select(binary("lt", x, 0.0), math.nan, x)
    special = select(binary("eq", x, 0.0), -math.inf, special)
    return select(binary("and", binary("gt", x, 0.0), binary("lt", x, math.inf)), found, special)


# Exponentials --------------------------------------------------------------------------------------------------------


def exp10(x: Any) -> Any:
    # Beyond, the result is infinite, or zero.
    x = binary("max", binary("min", x, 39.0), -46.0)
    j, exponent = _nearest(x, 3.321928024291992)
    j = negative(j)
    r = _fma(j, -1.432098883924482e-08, _fma(j, 0.3010300099849701, x))
    q = _polynomial(
        r, 0.20721644163131714, 0.5421150922775269, 1.171274185180664, 2.0346503257751465, 2.6509487628936768,
        2.3025851249694824,
    )  # fmt: skip
    # By two powers, so that what is denormal is rounded once, by the last one.
    half = binary("shr", exponent, 1)
    result = binary("mul", _fma(r, q, 1.0), _power(half))
    return _product(result, _power(binary("sub", exponent, half)))


def _reduced_exponential(size: Any) -> tuple[Any, Any, Any, Any]:
    """Returns the sine and the cosine of r, the latter less one, and fourths of 2^j and 2^-j; `size` is j ln 2 + r."""
    j, exponent = _nearest(size, 1.4426950216293335)
    j = negative(j)
    r = _fma(j, _LN2_REST, _fma(j, _LN2, size))
    z = binary("mul", r, r)
    s = _fma(binary("mul", z, r), _polynomial(z, 0.00836897175759077, 0.166665181517601), r)
    c = _product(_polynomial(z, 0.0013935441384091973, 0.041666459292173386, 0.5), z)
    power = _power(binary("sub", exponent, 2))
    # What is below the normal numbers is far below the last digit of the sum.
    inverse = _float(binary("shl", binary("max", binary("sub", 125, exponent), 0), _FRACTION))
    return s, c, power, inverse


_BEYOND = 89.5
"""Where the hyperbolic functions are infinite."""


def sinh(x: Any) -> Any:
    size = absolute(x)
    z = binary("mul", size, size)
    p = _polynomial(z, 2.7822131869470468e-06, 0.00019842895562760532, 0.00833331048488617, 0.1666666716337204)
    small = _fma(binary("mul", z, size), p, size)
    # (e^size - 1 / e^size) / 2, what is small first.
    s, c, power, inverse = _reduced_exponential(binary("min", size, _BEYOND))
    rest = negative(_fma(inverse, binary("sub", c, s), inverse))
    half = binary("add", _fma(power, s, _fma(power, c, rest)), power)
    return _with_sign(select(binary("lt", size, 1.0), small, binary("add", half, half)), x)


def cosh(x: Any) -> Any:
    s, c, power, inverse = _reduced_exponential(binary("min", absolute(x), _BEYOND))
    rest = _fma(inverse, binary("sub", c, s), inverse)
    half = binary("add", _fma(power, s, _fma(power, c, rest)), power)
    return binary("add", half, half)


# Inverse hyperbolic functions ----------------------------------------------------------------------------------------

_LARGE = 2.0**25
"""From here on the root of the square and one is the number itself."""


def asinh(x: Any) -> Any:
    size = absolute(x)
    z = binary("mul", size, size)
    p = _polynomial(
        z, -0.013222123496234417, 0.02816065587103367, -0.04438292980194092, 0.07498640567064285, -0.1666664332151413
    )
    small = _fma(binary("mul", z, size), p, size)
    # log(size + root), with what both lack.
    square = _fma(size, size, 1.0)
    root, half = _root(square)
    lost = binary("add", _lost(root, square), _fma(size, size, binary("sub", 1.0, square)))
    total = binary("add", root, size)
    rest = _fma(lost, half, binary("add", binary("sub", root, total), size))
    is_large = binary("gt", size, _LARGE)
    total, rest = select(is_large, size, total), select(is_large, 0.0, rest)
    exponent, offset, scale = _split(total)
    f = binary("sub", _scaled(total, offset), 1.0)
    exponent = binary("add", exponent, select(is_large, 1.0, 0.0))
    large = _log(exponent, f, binary("mul", binary("mul", rest, 0.25), scale))
    large = select(binary("lt", size, math.inf), large, size)
    return _with_sign(select(binary("lt", size, 0.5), small, large), x)


def acosh(x: Any) -> Any:
    # log(1 + above + root), where the root is that of above (above + 2), with what both lack.
    above = binary("sub", x, 1.0)
    twice = binary("add", above, above)
    square = _fma(above, above, twice)
    root, half = _root(square)
    lost = binary("add", _lost(root, square), _fma(above, above, binary("sub", twice, square)))
    total = binary("add", root, above)
    rest = _fma(lost, half, binary("add", binary("sub", root, total), above))
    is_large = binary("gt", x, _LARGE)
    total, rest = select(is_large, x, total), select(is_large, 0.0, rest)
    exponent, offset, scale = _split(binary("add", total, 1.0))
    f = binary("add", _scaled(total, offset), _fma(scale, 0.25, -1.0))
    exponent = binary("add", exponent, select(is_large, 1.0, 0.0))
    found = _log(exponent, f, binary("mul", binary("mul", rest, 0.25), scale))
    found = select(binary("lt", x, math.inf), found, x)
    return select(binary("lt", x, 1.0), math.nan, found)


def atanh(x: Any) -> Any:
    size = absolute(x)
    z = binary("mul", size, size)
    p = _polynomial(
        z, 0.1764066070318222, 0.0515858493745327, 0.11816822737455368, 0.14223742485046387, 0.2000245451927185,
        0.33333301544189453,
    )  # fmt: skip
    small = _fma(binary("mul", z, size), p, size)
    # log((1 + size) / (1 - size)) / 2, with what the sum and the quotient lack; the difference is exact.
    above, below = binary("add", 1.0, size), binary("sub", 1.0, size)
    inverse = _reciprocal(below)
    quotient = binary("mul", above, inverse)
    lost = binary("add", binary("sub", 1.0, above), size)
    lost = binary("add", _fma(negative(quotient), below, above), lost)
    exponent, offset, scale = _split(quotient)
    f = binary("sub", _scaled(quotient, offset), 1.0)
    rest = binary("mul", lost, inverse)
    large = _log(exponent, f, binary("mul", binary("mul", rest, 0.25), scale))
    large = binary("mul", large, 0.5)
    special = select(binary("eq", size, 1.0), math.inf, math.nan)
    found = select(binary("lt", size, 0.5), small, large)
    return _with_sign(select(binary("lt", size, 1.0), found, special), x)


# The tangent ---------------------------------------------------------------------------------------------------------

_TWO_OVER_PI = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)
"""The bits of 2 / pi behind the point, in words; the first one stands before it."""

_HALF_PI, _HALF_PI_REST = 1.5707963705062866, -4.371138828673793e-08


def _reduce(size: Any) -> tuple[Any, Any, Any]:
    """Returns a number below 2^17 as n pi / 2 + high + low, with the integer n last; pi / 2 is in three parts.

    (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions".)
    """
    j, quarters = _nearest(size, 0.6366197466850281)
    j = negative(j)
    # Exact, being a multiple of 2^-24. So is what its sum with the second part lost, whichever is greater.
    first = _fma(j, _HALF_PI, size)
    second = _product(j, _HALF_PI_REST)
    third = _fma(j, -1.7151245100058819e-15, _fma(j, _HALF_PI_REST, negative(second)))
    high = binary("add", first, second)
    return high, binary("add", binary("add", binary("sub", first, high), second), third), quarters


def _reduce_large(size: Any) -> tuple[Any, Any, Any]:
    """Returns the same of a number from 2^17 on, by those bits of 2 / pi whose product with it matters.

    (M. H. Payne and R. N. Hanek, "Radian Reduction for Trigonometric Functions".)
    """
    word, wide = dtypes.uint32, dtypes.uint64
    bits = reinterpret(size, word)
    # The number is the significand times 2^(exponent - 150). Bits from 2^1 of the product on are of interest: those of
    # 2 / pi that are 24 less than the true exponent behind the point, and after.
    significand = expr(binary("or", binary("and", bits, (1 << _FRACTION) - 1), 1 << _FRACTION), wide)
    start = binary("sub", binary("shr", bits, _FRACTION), 127 - 7)
    words: list[Any] = [expr(number, word) for number in _TWO_OVER_PI]
    for distance in (4, 2, 1):
        is_higher = binary("ne", binary("and", start, 32 * distance), 0)
        kept = min(len(words), distance + 3)
        words = [
            select(is_higher, words[i + distance], words[i]) if i + distance < len(words) else words[i]
            for i in range(kept)
        ]
    by = binary("and", start, 31)
    opposite = binary("sub", 31, by)
    factors = [
        binary("or", binary("shl", a, by), binary("shr", binary("shr", b, 1), opposite)) for a, b in pairwise(words)
    ]
    first, second, third = (binary("mul", significand, expr(factor, wide)) for factor in factors)
    product = binary("add", binary("add", binary("shl", first, 32), second), binary("shr", third, 32))
    # The two highest bits are the quadrant, rounded to nearest.
    quarters = binary("shr", binary("add", product, 1 << 61), 62)
    rest = reinterpret(binary("sub", product, binary("shl", quarters, 62)), dtypes.int64)
    a = cast(rest, dtypes.float32)
    b = cast(binary("sub", rest, cast(a, dtypes.int64)), dtypes.float32)
    scale = 2.0**-62
    high = _product(a, _HALF_PI * scale)
    low = _fma(a, _HALF_PI_REST * scale, _fma(a, _HALF_PI * scale, negative(high)))
    low = _fma(b, _HALF_PI * scale, low)
    total = binary("add", high, low)
    return total, binary("add", binary("sub", high, total), low), cast(quarters, dtypes.int32)


def _branch(reduce: Callable[[Any], tuple[Any, Any, Any]], size: Any) -> Block:
    """Returns a block that computes the three numbers of a reduction."""
    builder = current()
    block, numbers = trace(builder, lambda: reduce(size), "a branch")
    with builder.inside(block):
        _ops.scf_yield([number.value for number in numbers])
    return block


def _reduced(size: Any) -> tuple[Any, Any, Any]:
    """Returns a number reduced; those that are large, which is rare, by a branch."""
    types = [dtypes.float32, dtypes.float32, dtypes.int32]
    op = _ops.scf_if(
        binary("gt", size, 2.0**17).value,
        then_region=_branch(_reduce_large, size),
        else_region=_branch(_reduce, size),
        result_types=[dtype.mlir for dtype in types],
    )
    high, low, quarters = (Expr(result, dtype) for result, dtype in zip(op.results, types, strict=True))
    return high, low, quarters


def tan(x: Any) -> Any:
    size = absolute(x)
    high, low, quarters = _reduced(size)
    sign = binary("and", _bits(high), _SIGN)
    high, low = absolute(high), _float(binary("xor", _bits(low), sign))
    z = binary("mul", high, high)
    p = _polynomial(
        z, 0.004465140402317047, -8.784615783952177e-05, 0.010973501950502396, 0.02122994139790535,
        0.05406986549496651, 0.13332577049732208, 0.3333335220813751,
    )  # fmt: skip
    rest = _fma(binary("mul", z, high), p, _fma(low, z, low))
    tangent = binary("add", high, rest)
    lost = binary("add", binary("sub", high, tangent), rest)
    # Its inverse, by a step of Newton's, which sees what the tangent lacks.
    root = rsqrt(tangent)
    guess = binary("mul", root, root)
    error = _fma(negative(guess), lost, _fma(negative(guess), tangent, 1.0))
    inverse = _fma(guess, error, guess)
    is_odd = binary("ne", binary("and", quarters, 1), 0)
    found = select(is_odd, inverse, tangent)
    # Of an odd quadrant it is the opposite.
    sign = binary("xor", binary("xor", sign, binary("and", _bits(x), _SIGN)), binary("shl", quarters, 31))
    found = _float(binary("xor", _bits(found), sign))
    return select(binary("lt", size, math.inf), found, binary("sub", x, x))


# Arcs ----------------------------------------------------------------------------------------------------------------


def _arc(t: Any, low: Any, right: Any, sign: Any) -> Any:
    """Returns `right`, a right angle or two or none, and `sign` times the arc whose tangent is `t + low`, up to one."""
    z = binary("mul", t, t)
    p = _polynomial(
        z, -0.0017821674700826406, 0.010866343043744564, -0.031093616038560867, 0.05787891149520874,
        -0.08399208635091782, 0.10950861126184464, -0.1426401436328888, 0.1999852955341339, -0.33333298563957214,
    )  # fmt: skip
    rest = _fma(binary("mul", z, t), p, low)
    total = _fma(t, sign, right)
    lost = _fma(right, _HALF_PI_REST / _HALF_PI, _fma(t, sign, binary("sub", right, total)))
    return binary("add", total, _fma(rest, sign, lost))


def atan(x: Any) -> Any:
    size = absolute(x)
    is_steep = binary("gt", size, 1.0)
    t = select(is_steep, _reciprocal(binary("min", size, 2.0**40)), size)
    return _with_sign(_arc(t, 0.0, select(is_steep, _HALF_PI, 0.0), select(is_steep, -1.0, 1.0)), x)


def atan2(y: Any, x: Any) -> Any:
    height, width = absolute(y), absolute(x)
    greater, less = binary("max", height, width), binary("min", height, width)
    a, b, _ = _near_one(greater, less)
    a = binary("max", a, 2.0**-24)  # less only if both are zero
    inverse = _reciprocal(a)
    guess = _product(b, inverse)
    lost = _fma(negative(guess), a, b)
    t = _fma(lost, inverse, guess)
    low = _fma(lost, inverse, binary("sub", guess, t))
    is_far = binary("eq", greater, math.inf)
    t = select(is_far, select(binary("eq", less, math.inf), 1.0, 0.0), t)
    low = select(is_far, 0.0, low)
    is_steep, is_left = binary("gt", height, width), binary("lt", _bits(x), 0)
    right = select(is_steep, _HALF_PI, select(is_left, 2 * _HALF_PI, 0.0))
    return _with_sign(_arc(t, low, right, select(binary("xor", is_steep, is_left), -1.0, 1.0)), y)


def _sine_arc(size: Any) -> tuple[Any, Any, Any]:
    """Returns the arc whose sine is `size` in two parts; beyond a half, that whose sine is the root of
    `(1 - size) / 2`. Last comes which.
    """
    is_far = binary("gt", size, 0.5)
    square = _fma(size, -0.5, 0.5)
    root, half = _root(square)
    # A multiple of 2^-24 twice of which is taken from a right angle exactly.
    root = binary("sub", binary("add", root, 0.5), 0.5)
    low = binary("mul", _lost(root, square), half)
    high, low = select(is_far, root, size), select(is_far, low, 0.0)
    z = select(is_far, square, binary("mul", size, size))
    p = _polynomial(
        z, 0.03763122856616974, 0.014350987039506435, 0.03183264285326004, 0.04451374337077141, 0.07500521838665009,
        0.16666659712791443,
    )  # fmt: skip
    return high, _fma(binary("mul", z, high), p, low), is_far


def asin(x: Any) -> Any:
    size = absolute(x)
    high, low, is_far = _sine_arc(size)
    # The right angle less two arcs, or one arc.
    high = select(is_far, _fma(high, -2.0, _HALF_PI), high)
    low = select(is_far, _fma(low, -2.0, _HALF_PI_REST), low)
    return _with_sign(select(binary("le", size, 1.0), binary("add", high, low), math.nan), x)


def acos(x: Any) -> Any:
    size = absolute(x)
    high, low, is_far = _sine_arc(size)
    # Two arcs from zero or from two right angles, or one from the right angle, to the side where `x` lies.
    is_left = binary("lt", x, 0.0)
    sign = select(is_left, 1.0, -1.0)
    factor = select(is_far, binary("mul", sign, -2.0), sign)
    right = select(is_far, select(is_left, 2 * _HALF_PI, 0.0), _HALF_PI)
    found = binary("add", _fma(high, factor, right), _fma(low, factor, binary("mul", right, _HALF_PI_REST / _HALF_PI)))
    return select(binary("le", size, 1.0), found, math.nan)


# Others --------------------------------------------------------------------------------------------------------------


def hypot(x: Any, y: Any) -> Any:
    x, y = absolute(x), absolute(y)
    a, b, exponent = _near_one(binary("max", x, y), binary("min", x, y))
    square = _fma(a, a, binary("mul", b, b))
    root, half = _root(square)
    found = binary("mul", _fma(_lost(root, square), half, root), _float(exponent))
    is_infinite = binary("or", binary("eq", x, math.inf), binary("eq", y, math.inf))
    return select(is_infinite, math.inf, found)


def ldexp(x: Any, power: Any) -> Any:
    # Beyond three times 126 all results are zero or infinite. Of three powers of two the last one is the greatest or
    # the least, so that what is rounded before it becomes zero.
    if isinstance(power, Expr) and power.dtype is dtypes.uint64:
        power = binary("min", power, 3 * 126)  # of a larger one int64 would make a negative number
    near = binary("max", binary("min", expr(power, dtypes.int64), 3 * 126), -3 * 126)
    rest = cast(near, dtypes.int32)
    steps: list[Any] = []
    for _ in range(2):
        steps.append(binary("max", binary("min", rest, 126), -126))
        rest = binary("sub", rest, steps[-1])
    found = x
    for step in (rest, *reversed(steps)):
        found = binary("mul", found, _power(step))
    # Bits are no product that a sum could be joined with: what is infinite stays so.
    return _with_sign(found, x)
