"""Arithmetic that says how it rounds: `T.ieee_add(x, y, "rz")`.

Modes are "rn", to nearest even, "rz", towards zero, "ru", upwards, and "rd", downwards. To nearest they are the
operators, correctly rounded as those are, and as those joined or loosened: a product that is added may become an `fma`,
and `fast_math` loosens `/` and `sqrt`. In a direction a result is computed in `float64`, where what is lost is known
exactly, and rounded once; one of `float64` itself by `directed`.
"""

from __future__ import annotations

from .. import dtypes
from ..errors import ArgumentError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..values import Expr, binary, expr, negative, select
from . import directed
from .bits import reinterpret
from .conversions import cast
from .functions import float_operands, fma
from .scalar import rsqrt, sqrt

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "fmul", "ieee_add", "ieee_fdiv", "ieee_fmaf", "ieee_frcp", "ieee_frsqrt", "ieee_fsqrt", "ieee_mul", "ieee_sub",
]  # fmt: skip

_MODES = ("rn", "rz", "ru", "rd")


def _to_odd(nearest: Any, rest: Any) -> Any:
    """Returns a `float64` whose last bit says that something is lost: a later rounding is then as that of all.

    - `nearest`: the number, rounded.
    - `rest`: of the sign of what was lost, and zero or NaN if nothing was.
    """
    word = dtypes.uint64
    bits = expr(reinterpret(nearest, word), word)
    is_lost = binary("or", binary("lt", rest, 0.0), binary("gt", rest, 0.0))
    is_larger = binary("eq", binary("gt", rest, 0.0), binary("gt", nearest, 0.0))
    moved = select(is_larger, binary("add", bits, 1), binary("sub", bits, 1))
    is_even = binary("eq", binary("and", bits, 1), 0)
    return reinterpret(expr(select(binary("and", is_lost, is_even), moved, bits), word), dtypes.float64)


def _sum(a: Any, b: Any) -> Any:
    """Returns the sum of two `float64`, rounded to odd."""
    total = binary("add", a, b)
    part = binary("sub", total, a)
    rest = binary("add", binary("sub", a, binary("sub", total, part)), binary("sub", b, part))
    # A sum of zero is exact, and its sign is that of the direction: see `_signed_zero`.
    return _to_odd(total, rest)


def _quotient(a: Any, b: Any) -> Any:
    found = binary("div", a, b)
    rest = fma(negative(found), b, a)
    return _to_odd(found, select(binary("lt", b, 0.0), negative(rest), rest))


def _root(a: Any) -> Any:
    found = sqrt(a)
    return _to_odd(found, fma(negative(found), found, a))


def _rounded(
    name: str,
    mode: str,
    numbers: tuple[Any, ...],
    plain: Callable[..., Any],
    exact: Callable[..., Any],
    in_double: Callable[..., Any],
) -> Any:
    if mode not in _MODES:
        raise ArgumentError(
            f'`rounding_mode` of `T.{name}` is "rn", "rz", "ru" or "rd", not `{mode!r}`', location=place()
        )
    operands = float_operands(name, *numbers)
    if mode == "rn":
        return plain(*operands)
    if not isinstance(operands[0], Expr):
        operands = [expr(number, dtypes.float32) for number in operands]
    dtype = operands[0].dtype
    if dtype is dtypes.float64:
        return in_double(*operands, mode)
    wide = [expr(number, dtypes.float64) for number in operands]
    found = exact(*wide)
    if mode == "rd" and name in ("ieee_add", "ieee_sub", "ieee_fmaf"):
        found = _signed_zero(found, wide)
    return cast(found, dtype, round=mode)


def _signed_zero(found: Any, terms: list[Any]) -> Any:
    """Returns a sum that is rounded downwards: what cancels is -0 then, unless both terms are +0."""
    first = binary("mul", terms[0], terms[1]) if len(terms) == 3 else terms[0]
    is_positive = [binary("eq", reinterpret(term, dtypes.uint64), 0) for term in (first, terms[-1])]
    both = binary("and", *is_positive)
    zero = select(both, expr(0.0, dtypes.float64), expr(-0.0, dtypes.float64))
    return select(binary("eq", found, 0.0), zero, found)


def _add(a: Any, b: Any) -> Any:
    return binary("add", a, b)


def _multiply(a: Any, b: Any) -> Any:
    return binary("mul", a, b)


def _divide(a: Any, b: Any) -> Any:
    return binary("div", a, b)


def _invert(a: Any) -> Any:
    return binary("div", 1.0, a)


def _exact_inverse(a: Any) -> Any:
    return _quotient(expr(1.0, dtypes.float64), a)


def _inverse_in_double(a: Any, mode: str) -> Any:
    return directed.divide(expr(1.0, dtypes.float64), a, mode)


def _exact_fma(a: Any, b: Any, c: Any) -> Any:
    return _sum(binary("mul", a, b), c)


def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """Returns `x + y`, rounded as `rounding_mode` says: "rn", "rz", "ru" or "rd".

    >>> C[0, 0] = T.ieee_add(A[0, 0], B[0, 0], "rz")
    """
    return _rounded("ieee_add", rounding_mode, (x, y), _add, _sum, directed.add)


def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """Returns `x - y`, rounded as `T.ieee_add` does.

    >>> C[0, 0] = T.ieee_sub(A[0, 0], B[0, 0], "rz")
    """
    first, second = float_operands("ieee_sub", x, y)
    return _rounded("ieee_sub", rounding_mode, (first, negative(second)), _add, _sum, directed.add)


def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """Returns `x * y`, rounded as `T.ieee_add` does.

    >>> C[0, 0] = T.ieee_mul(A[0, 0], B[0, 0], "rz")
    """
    return _rounded("ieee_mul", rounding_mode, (x, y), _multiply, _multiply, directed.multiply)


def fmul(x: Any, y: Any) -> Any:
    """Returns `x * y` of floats, rounded to nearest: the same as `T.ieee_mul(x, y)`.

    >>> C[0, 0] = T.fmul(A[0, 0], B[0, 0])
    """
    return ieee_mul(x, y)


def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Any:
    """Returns `x * y + z`, rounded once, as `T.ieee_add` does.

    >>> C[0, 0] = T.ieee_fmaf(A[0, 0], B[0, 0], C[0, 0], "ru")
    """
    return _rounded("ieee_fmaf", rounding_mode, (x, y, z), fma, _exact_fma, directed.multiply_add)


def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """Returns `x / y`, rounded as `T.ieee_add` does. To nearest `fast_math` loosens it as it does `/`.

    >>> C[0, 0] = T.ieee_fdiv(A[0, 0], B[0, 0], "rz")
    """
    return _rounded("ieee_fdiv", rounding_mode, (x, y), _divide, _quotient, directed.divide)


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Any:
    """Returns `1 / x`, rounded as `T.ieee_add` does. To nearest `fast_math` loosens it as it does `/`.

    >>> C[0, 0] = T.ieee_frcp(A[0, 0], "rd")
    """
    return _rounded("ieee_frcp", rounding_mode, (x,), _invert, _exact_inverse, _inverse_in_double)


def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Any:
    """Returns the root, rounded as `T.ieee_add` does. To nearest `fast_math` loosens it as `T.sqrt`.

    >>> C[0, 0] = T.ieee_fsqrt(A[0, 0], "ru")
    """
    return _rounded("ieee_fsqrt", rounding_mode, (x,), sqrt, _root, directed.root)


def ieee_frsqrt(x: Any) -> Any:
    """Returns one over the root, rounded to nearest; of `float64` it is `T.rsqrt`.

    >>> C[0, 0] = T.ieee_frsqrt(A[0, 0])
    """
    (number,) = float_operands("ieee_frsqrt", x)
    if not isinstance(number, Expr) or number.dtype is dtypes.float64:
        return rsqrt(number)
    wide = expr(number, dtypes.float64)
    found = binary("div", 1.0, sqrt(wide))
    return cast(found, number.dtype)
