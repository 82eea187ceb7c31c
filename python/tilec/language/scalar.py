"""Functions of scalars. Given Python's numbers they compute at once, and give a number."""

from __future__ import annotations

import math

from .. import dtypes
from ..builder import current
from ..errors import ArgumentError
from ..location import here
from ..typed import TYPE_CHECKING
from ..values import (
    Expr,
    absolute,
    as_chosen,
    binary,
    condition,
    exactly,
    float_function,
    greatest,
    has_few_bits,
    least,
    negative,
    operate,
    select,
    simplify,
    typed,
    typed_constant,
)
from ..values import cast as cast
from .choices import either

if TYPE_CHECKING:
    from typing import Any


def ceildiv(a: Any, b: Any) -> Any:
    """Returns the quotient of two integers, rounded up.

    >>> T.ceildiv(10, 4)
    3
    """
    return operate("ceildiv", a, b)


def floordiv(a: Any, b: Any) -> Any:
    """Returns `a // b`, rounded down.

    >>> T.floordiv(-7, 2)
    -4
    """
    return operate("floordiv", a, b)


def floormod(a: Any, b: Any) -> Any:
    """Returns `a % b`, which has the sign of `b`.

    >>> T.floormod(-7, 2)
    1
    """
    return operate("mod", a, b)


def max(a: Any, b: Any, *more: Any) -> Any:
    """Returns the greatest of its arguments; a NaN among floats is the result.

    >>> T.max(3, 5, 4)
    5
    """
    for item in (b, *more):
        a = operate("max", a, item)
    return a


def min(a: Any, b: Any, *more: Any) -> Any:
    """Returns the least of its arguments; a NaN among floats is the result.

    >>> T.min(3, 5, 4)
    3
    """
    for item in (b, *more):
        a = operate("min", a, item)
    return a


def abs(x: Any) -> Any:
    """Returns the absolute value.

    >>> T.abs(-2.0)
    2.0
    """
    return absolute(x)


def pow(x: Any, y: Any) -> Any:
    """Returns `x` to the power of `y`.

    >>> T.pow(2.0, 3.0)
    8.0
    """
    return operate("pow", x, y)


def exp(x: Any) -> Any:
    """Returns e to the power of `x`.

    >>> T.exp(0.0)
    1.0
    """
    return float_function("exp", x, math.exp)


def exp2(x: Any) -> Any:
    """Returns 2 to the power of `x`.

    >>> T.exp2(3.0)
    8.0
    """
    return float_function("exp2", x, math.exp2)


def log(x: Any) -> Any:
    """Returns the natural logarithm.

    >>> T.log(1.0)
    0.0
    """
    return float_function("log", x, math.log)


def log2(x: Any) -> Any:
    """Returns the logarithm to base 2.

    >>> T.log2(8.0)
    3.0
    """
    return float_function("log2", x, math.log2)


def sqrt(x: Any) -> Any:
    """Returns the square root.

    >>> T.sqrt(4.0)
    2.0
    """
    return float_function("sqrt", x, math.sqrt)


def rsqrt(x: Any) -> Any:
    """Returns one over the square root.

    >>> T.rsqrt(4.0)
    0.5
    """
    return float_function("rsqrt", x, lambda v: 1 / math.sqrt(v))


def tanh(x: Any) -> Any:
    """Returns the hyperbolic tangent.

    >>> T.tanh(0.0)
    0.0
    """
    return float_function("tanh", x, math.tanh)


def erf(x: Any) -> Any:
    """Returns the error function.

    >>> T.erf(0.0)
    0.0
    """
    return float_function("erf", x, math.erf)


def sin(x: Any) -> Any:
    """Returns the sine.

    >>> T.sin(0.0)
    0.0
    """
    return float_function("sin", x, math.sin)


def cos(x: Any) -> Any:
    """Returns the cosine.

    >>> T.cos(0.0)
    1.0
    """
    return float_function("cos", x, math.cos)


def floor(x: Any) -> Any:
    """Returns the greatest integer that is not above `x`, as a float.

    >>> T.floor(-1.5)
    -2.0
    """
    return float_function("floor", x, lambda v: float(math.floor(v)))


def ceil(x: Any) -> Any:
    """Returns the least integer that is not below `x`, as a float.

    >>> T.ceil(1.5)
    2.0
    """
    return float_function("ceil", x, lambda v: float(math.ceil(v)))


def round(x: Any, rounding_mode: str = "ties-to-even") -> Any:
    """Returns the nearest integer, as a float.

    - `rounding_mode`: of two that are as near, "ties-to-even" takes the even one, "ties-away-from-zero" the greater
      magnitude.

    >>> T.round(2.5)
    2.0
    """
    from builtins import round as python_round

    if rounding_mode == "ties-away-from-zero":
        return _round_away(x)
    if rounding_mode != "ties-to-even":
        raise ArgumentError(
            f'`rounding_mode` of `T.round` is "ties-to-even" or "ties-away-from-zero", not `{rounding_mode!r}`',
            location=here(),
        )
    return float_function("roundeven", x, lambda v: float(python_round(v)))


def _round_away(x: Any) -> Any:
    """Returns the nearest integer, the one of greater magnitude of two. Halves that went to the even one are moved."""
    number = simplify(x)
    if isinstance(number, Expr) and has_few_bits(number.dtype):
        return exactly(_round_away, number)
    even = round(x)
    difference = binary("sub", number, even)
    is_short = binary(
        "and", binary("eq", absolute(difference), 0.5), binary("gt", binary("mul", difference, number), 0)
    )
    step: Any = select(binary("gt", difference, 0), 1.0, -1.0)
    if isinstance(number, Expr):
        step = cast(step, number.dtype)  # numbers of Python's alone would be of `float32`
    return select(is_short, binary("add", even, step), even)


def sigmoid(x: Any) -> Any:
    """Returns `1 / (1 + exp(-x))`.

    >>> T.sigmoid(0.0)
    0.5
    """
    number = simplify(x)
    if not isinstance(number, Expr):
        return 1 / (1 + math.exp(-number)) if number >= 0 else math.exp(number) / (1 + math.exp(number))
    if not number.dtype.is_float or number.dtype.bits >= 32:
        return _sigmoid(number, is_exact=True)
    return cast(_sigmoid(cast(number, dtypes.float32), is_exact=False), number.dtype)


def _sigmoid(x: Expr, *, is_exact: bool) -> Expr:
    # With e = exp(-|x|) it is 1 - e / (1 + e), or e - e e / (1 + e) for negative x: neither overflows, and the rounding
    # of 1 + e hardly counts. Near powers of two the error of e is doubled, so that both operations are told apart. What
    # is rounded on to 16 bits needs no such care: there an approximate quotient will do.
    attributes = {"tl.sigmoid": ""} if is_exact else {}
    fast = {} if is_exact else {"fastmath": "#arith.fastmath<afn>"}
    argument = negative(absolute(x))
    if not argument.dtype.is_float:
        return exp(argument)  # which says what it needs

    def apply(name: str, properties: dict[str, str], *operands: Expr) -> Expr:
        values = [operand.value for operand in operands]
        op = current().emit(name, values, [argument.dtype.mlir], properties, attributes=attributes)
        return Expr(op.results[0], argument.dtype)

    e = apply("math.exp", {}, argument)
    minuend = select(binary("lt", x, 0), e, 1.0)
    # The divisor is between one and two, where a quotient needs no exceptions.
    quotient = apply("arith.divf", fast, e, binary("add", e, 1.0))
    return binary("sub", minuend, binary("mul", minuend, quotient))


def infinity(dtype: Any) -> Expr:
    """Returns a float type's infinity.

    >>> T.fill(acc, -T.infinity("float32"))
    """
    element = dtypes.dtype(dtype)
    if not element.is_float:
        raise ArgumentError(f"`{element}` has no infinity; use `T.max_value`")
    return typed_constant(math.inf, element)


def max_value(dtype: Any) -> Expr:
    """Returns a type's greatest finite number.

    >>> T.fill(acc, T.max_value("float32"))
    """
    element = dtypes.dtype(dtype)
    return typed_constant(greatest(element), element)


def min_value(dtype: Any) -> Expr:
    """Returns a type's least finite number.

    >>> T.fill(acc, T.min_value("float32"))
    """
    element = dtypes.dtype(dtype)
    return typed_constant(least(element), element)


def if_then_else(chosen: Any, a: Any, b: Any) -> Any:
    """Returns `a` where the condition holds and `b` elsewhere.

    The two may be functions without arguments; what they read is then read only where it is needed. In a
    `@T.prim_func` or `@T.macro` this is so for plain expressions.

    >>> for i, j in T.Parallel(64, 64):
    ...     C[i, j] = T.if_then_else(i >= j, A[i, j], 0.0)
    """
    if callable(a) or callable(b):
        return either(chosen, a if callable(a) else lambda: a, b if callable(b) else lambda: b)
    return _chosen(chosen, *typed(a, b))


def Select(condition: Any, true_value: Any, false_value: Any, span: Any = None) -> Any:
    """Returns `true_value` where the condition holds and `false_value` elsewhere; both are computed.

    - `span`: a place in a program, which is known here by itself.

    >>> C[0, 0] = T.Select(n[0] > 0, A[0, 0], B[0, 0])
    """
    return _chosen(condition, *typed(true_value, false_value))


def _chosen(chosen: Any, a: Any, b: Any) -> Any:
    """Returns one of two numbers in the type of both, whether the condition is known or not (P4)."""
    where = condition(chosen)
    if isinstance(where, bool):
        return as_chosen(a, b) if where else as_chosen(b, a)
    return select(where, a, b)
