"""Arithmetic that says how it rounds, by exact fractions (C4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .arithmetic import Active, Invalid, binary, require
from .elements import Array, Number, format_of, rounded

MODES = ("rn", "rz", "ru", "rd")
"""To nearest, of two the even one; towards zero; upwards; downwards."""

FUNCTIONS = {"add": 2, "sub": 2, "mul": 2, "fmaf": 3, "fdiv": 2, "frcp": 1, "fsqrt": 1}
"""The names without `ieee_`, and how many operands each takes."""

_OPERATORS = {"add": "+", "sub": "-", "mul": "*"}

_EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fmaf": lambda a, b, c: a * b + c,
    "fdiv": lambda a, b: a / b,
    "frcp": lambda a: 1 / a,
}
"""Of fractions; of arrays too."""

_PLAIN: dict[str, Callable[..., Array]] = {**_EXACT, "fsqrt": np.sqrt}
"""What infinities and NaN give, which no mode changes."""


def as_rounded(product: Number) -> Number:
    """Returns the product of two exact numbers as it is where no sum takes it before it is rounded."""
    return Number(product.dtype, rounded(product.low, product.dtype))


def apply(function: str, mode: str, operands: list[Number], active: Active) -> Number:
    """Returns `T.ieee_add` and its kin of numbers; to nearest sums and products are those of the operators."""
    if mode == "rn" and function in _OPERATORS:
        return binary(_OPERATORS[function], operands[0], operands[1], active)
    require(np.asarray(all(o.is_exact for o in operands)), active, "rounds what is known within bounds only")
    dtype = operands[0].dtype
    needed = np.ones((), bool) if active is None else active
    *values, needed = np.broadcast_arrays(*(o.low for o in operands), needed)
    lists = zip(*(v.ravel().tolist() for v in values), needed.ravel().tolist(), strict=True)
    found = [_one(function, mode, dtype, numbers) if is_needed else 0.0 for *numbers, is_needed in lists]
    return Number(dtype, np.array(found).reshape(needed.shape))


def _one(function: str, mode: str, dtype: str, numbers: list[float]) -> float:
    if function in ("fdiv", "frcp") and numbers[-1] == 0:
        raise Invalid("divides by zero, of which there are two")
    if not all(map(math.isfinite, numbers)) or (function == "fsqrt" and numbers[0] < 0):
        finite_product = function == "fmaf" and all(map(math.isfinite, numbers[:2]))
        return numbers[2] if finite_product else float(_PLAIN[function](*map(np.float64, numbers)))
    if function == "fsqrt":
        numerator, denominator = numbers[0].as_integer_ratio()
        square = numerator * denominator << 160
        root = math.isqrt(square)  # and half of its last bit, if there is more
        exact = Fraction(2 * root + (root * root != square), denominator << 81)
    else:
        exact = _EXACT[function](*map(Fraction, numbers))
    return nearest_in(exact, mode, dtype) if exact else 0.0


def nearest_in(exact: Fraction, mode: str, dtype: str) -> float:
    """Returns the number of a type that an exact one, which is not zero, is rounded to."""
    precision, least, greatest = format_of(dtype)
    size, divisor = abs(exact.numerator), exact.denominator
    exponent = size.bit_length() - divisor.bit_length()
    if size << max(-exponent, 0) < divisor << max(exponent, 0):
        exponent -= 1
    last = max(exponent, least) - (precision - 1)  # of the last bit that is kept
    divisor <<= max(last, 0)
    whole, rest = divmod(size << max(-last, 0), divisor)
    is_away = mode == ("ru" if exact > 0 else "rd")
    if is_away:
        whole += rest > 0
    elif mode == "rn":
        whole += 2 * rest > divisor or (2 * rest == divisor and whole % 2 == 1)
    value = Fraction(whole) * Fraction(2) ** last
    beyond = math.inf if is_away or mode == "rn" else greatest
    found = float(value) if value <= Fraction(greatest) else beyond
    return found if exact > 0 else -found
