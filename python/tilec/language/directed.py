"""Results of `float64` that are rounded in a direction.

Nothing is wider to compute them in. So a result is computed to nearest, then the sign of what was lost, and the result
is moved to its neighbour where that sign says so. The sign is exact for every operand: products are compared after
their factors were scaled to between one and two, so that nothing is too large or too small on the way.

What must hold: the result is the nearest number, or a neighbour of the exact one, and a product is not joined with the
sum that takes it unless it is exact (semantics F3 allows that). Operands go through integers for this, products are
those of `fma`, and all others are by powers of two.
"""

from __future__ import annotations

from .. import dtypes
from ..typed import TYPE_CHECKING
from ..values import binary, expr, negative, select
from .bits import reinterpret
from .functions import fma
from .scalar import sqrt

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

_SIGN = 1 << 63
_INFINITY = 0x7FF << 52
_FRACTION = (1 << 52) - 1


def _bits(x: Any) -> Any:
    return expr(reinterpret(x, dtypes.uint64), dtypes.uint64)


def _number(bits: Any) -> Any:
    return reinterpret(expr(bits, dtypes.uint64), dtypes.float64)


def _size(x: Any) -> Any:
    """Returns the bits of a number without those of its sign; their order is that of the sizes."""
    return binary("and", _bits(x), _SIGN - 1)


def as_rounded(x: Any) -> Any:
    """Returns a number; if it is a product, as rounded, also for a sum. Of a NaN it sets a bit that says nothing."""
    is_nan = binary("gt", _size(x), _INFINITY)
    return _number(binary("or", _bits(x), select(is_nan, expr(1, dtypes.uint64), expr(0, dtypes.uint64))))


def _is_regular(x: Any) -> Any:
    """Whether a number is finite and not zero."""
    size = _size(x)
    return binary("and", binary("gt", size, 0), binary("lt", size, _INFINITY))


def _parts(x: Any) -> tuple[Any, Any]:
    """Returns a regular number as one of a size from one to two, and the exponent of two that it was scaled by."""
    is_small = binary("lt", _size(x), 1 << 52)
    scaled = select(is_small, binary("mul", x, 2.0**54), x)
    exponent = expr(binary("shr", _size(scaled), 52), dtypes.int64)
    fraction = binary("and", _bits(scaled), _SIGN | _FRACTION)
    return _number(binary("or", fraction, 1023 << 52)), binary("sub", exponent, select(is_small, 1077, 1023))


def _scaled(x: Any, exponent: Any) -> Any:
    """Returns a number times two to an exponent from -3000 to 3000: exactly, if the result can be."""
    for _ in range(3):
        step = binary("max", binary("min", exponent, 1000), -1000)
        x = binary("mul", x, _number(binary("shl", expr(binary("add", step, 1023), dtypes.uint64), 52)))
        exponent = binary("sub", exponent, step)
    return x


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns the sum of two numbers and what is lost of it, exactly: Knuth's, for what does not overflow."""
    total = binary("add", a, b)
    part = binary("sub", total, a)
    return total, binary("add", binary("sub", a, binary("sub", total, part)), binary("sub", b, part))


def _is_zero(x: Any) -> Any:
    return binary("eq", x, 0.0)


def _leading(*terms: Any) -> Any:
    """Returns the first number that is not zero, if there is one."""
    *before, found = terms
    for term in reversed(before):
        found = select(_is_zero(term), found, term)
    return found


def _rest_of_sum(a: Any, b: Any, found: Any) -> Any:
    """Returns what is lost of a sum; it has the sign if the sum overflows, and is NaN if a term is infinite or NaN."""
    is_ordered = binary("ge", _size(a), _size(b))
    larger, smaller = select(is_ordered, a, b), select(is_ordered, b, a)
    return binary("sub", smaller, binary("sub", found, larger))


def _rest_of_product(a: Any, b: Any, c: Any, found: Any) -> Any:
    """Returns a number of the sign of what is lost of `a * b + c`."""
    zero = expr(0.0, dtypes.float64)
    (m, e), (n, f), (p, g) = _parts(a), _parts(b), _parts(c)
    exponent = binary("add", e, f)
    distance = binary("sub", g, exponent)
    # A term far above the product is the sum to nearest, and the product is what is lost. Of one far below it only the
    # sign matters, and that it is less than the last bit of the product.
    is_far = binary("and", _is_regular(c), binary("gt", distance, 120))
    term = _scaled(p, binary("max", binary("min", distance, 120), -120))
    term = select(binary("or", _is_zero(c), is_far), zero, term)
    result = select(is_far, zero, _scaled(found, binary("sub", 0, exponent)))
    high = fma(m, n, zero)
    low = fma(m, n, negative(high))
    # The exact sum of four numbers, as numbers of which none reaches into another: Shewchuk's expansions.
    rest, third = _sum(term, low)
    first, second = _sum(rest, high)
    rest, fourth = _sum(negative(result), third)
    rest, third = _sum(rest, second)
    first, second = _sum(rest, first)
    is_finite = binary("lt", _size(c), _INFINITY)
    is_rounded = binary("and", binary("and", _is_regular(a), _is_regular(b)), is_finite)
    return select(is_rounded, _leading(first, second, third, fourth), zero)


def _moved(found: Any, rest: Any, mode: str) -> Any:
    """Returns the nearest number moved in a direction, if what is lost has its sign."""
    bits, is_below = _bits(found), binary("ge", _bits(found), _SIGN)
    if mode == "rz":
        moves = select(is_below, binary("gt", rest, 0.0), binary("lt", rest, 0.0))
        return _number(select(moves, binary("sub", bits, 1), bits))
    is_up = mode == "ru"
    moves = binary("gt" if is_up else "lt", rest, 0.0)
    outwards, inwards = binary("add", bits, 1), binary("sub", bits, 1)
    moved = select(is_below, *((inwards, outwards) if is_up else (outwards, inwards)))
    return _number(select(moves, moved, bits))


def _with_sign_of_zero(found: Any, rest: Any, terms: tuple[Any, Any], mode: str) -> Any:
    """Returns a sum; what cancels is -0 if it is rounded downwards, unless both terms are +0."""
    if mode != "rd":
        return found
    is_exact = binary("and", _is_zero(found), _is_zero(rest))
    are_positive = binary("eq", binary("or", _bits(terms[0]), _bits(terms[1])), 0)
    zero = select(are_positive, expr(0.0, dtypes.float64), expr(-0.0, dtypes.float64))
    return select(is_exact, zero, found)


def add(a: Any, b: Any, mode: str) -> Any:
    """Returns `a + b` of `float64`, rounded as `mode` says: "rz", "ru" or "rd"."""
    a, b = as_rounded(a), as_rounded(b)
    found = binary("add", a, b)
    rest = _rest_of_sum(a, b, found)
    return _with_sign_of_zero(_moved(found, rest, mode), rest, (a, b), mode)


def multiply(a: Any, b: Any, mode: str) -> Any:
    """Returns `a * b` of `float64`, rounded as `add` does."""
    found = binary("mul", a, b)
    return _moved(found, _rest_of_product(a, b, expr(0.0, dtypes.float64), found), mode)


def multiply_add(a: Any, b: Any, c: Any, mode: str) -> Any:
    """Returns `a * b + c` of `float64`, rounded once, as `add` does."""
    c = as_rounded(c)
    found = fma(a, b, c)
    rest = _rest_of_product(a, b, c, found)
    return _with_sign_of_zero(_moved(found, rest, mode), rest, (binary("mul", a, b), c), mode)


def divide(a: Any, b: Any, mode: str) -> Any:
    """Returns `a / b` of `float64`, rounded as `add` does."""
    found = binary("div", a, b)
    (m, e), (n, f) = _parts(a), _parts(b)
    rest = fma(negative(_scaled(found, binary("sub", f, e))), n, m)
    rest = select(binary("lt", n, 0.0), negative(rest), rest)
    is_rounded = binary("and", _is_regular(a), _is_regular(b))
    return _moved(found, select(is_rounded, rest, expr(0.0, dtypes.float64)), mode)


def root(a: Any, mode: str) -> Any:
    """Returns the root of a `float64`, rounded as `add` does."""
    found = sqrt(a)
    # The square of the root of a small number has bits below the least number.
    is_small = binary("lt", a, 2.0**-500)
    scaled = binary("mul", found, select(is_small, expr(2.0**300, dtypes.float64), expr(1.0, dtypes.float64)))
    square = binary("mul", a, select(is_small, expr(2.0**600, dtypes.float64), expr(1.0, dtypes.float64)))
    return _moved(found, fma(negative(scaled), scaled, square), mode)
