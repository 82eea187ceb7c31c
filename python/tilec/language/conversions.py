"""Conversions that say how they round."""

from __future__ import annotations

from .. import dtypes, values
from ..builder import current_or_none
from ..errors import ArgumentError, DTypeError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..values import Expr, absolute, binary, expr, select, simplify
from .bits import reinterpret
from .functions import trunc
from .scalar import ceil, floor
from .scalar import round as nearest

if TYPE_CHECKING:
    from typing import Any

    from ..dtypes import DType

__all__ = ["Cast", "cast"]

_MODES = {"": "rn", "rn": "rn", "rz": "rz", "rp": "rp", "ru": "rp", "rm": "rm", "rd": "rm"}


def Cast(dtype: Any, value: Any) -> Any:
    """Returns a number converted to a type; the same as `T.cast(value, dtype)`.

    >>> C[0, 0] = T.Cast("float32", n[0])
    """
    return values.cast(value, dtype)


def cast(value: Any, dtype: Any, round: str = "", sat: bool = True, rbits: Any = None, span: Any = None) -> Any:
    """Converts a number to a type.

    Integers wrap, and are true unless zero; floats round to nearest even, and what is too large for 8 bits becomes the
    greatest number; floats become integers towards zero, as far as the type reaches, and NaN becomes 0.

    - `round`: how floats round that become floats of 16 or 32 bits, or integers: "rn" to nearest even, "rz" towards
      zero, "rp" upwards, "rm" downwards; "" is "rn" for floats and "rz" for integers.
    - `sat`: floats of 8 bits that are too large become the greatest number, which they always do; others never do.
    - `rbits`: stochastic rounding; not there.
    - `span`: a place in a program, which is known here by itself.

    >>> n[0] = T.cast(A[0, 0], "int32", round="rn")
    """
    if rbits is not None or round == "rs":
        raise ArgumentError('`T.cast` has no round="rs" and `rbits`: stochastic rounding', location=place())
    if not sat and dtypes.dtype(dtype).is_float and dtypes.dtype(dtype).bits <= 8:
        raise ArgumentError(
            f"`{dtypes.dtype(dtype)}` always saturates, and has no `sat=False` of `T.cast`: compare with its greatest "
            "number before",
            location=place(),
        )
    if round not in _MODES:
        raise ArgumentError(f'`round` of `T.cast` is "rn", "rz", "rp" or "rm", not `{round!r}`', location=place())
    if round == "":
        return values.cast(value, dtype)
    target, mode, number = dtypes.dtype(dtype), _MODES[round], simplify(value)
    if not isinstance(number, Expr):
        if current_or_none() is None or not isinstance(number, float):
            return values.cast(number, target)
        number = expr(number, dtypes.float64)
    if not number.dtype.is_float:
        return _cast_integer(number, target, mode)
    if not target.is_float:
        rounded = {"rn": nearest, "rz": trunc, "rp": ceil, "rm": floor}[mode]
        return values.cast(rounded(number), target)
    if mode != "rn" and number.dtype.bits < 32:
        number = expr(number, dtypes.float32)  # exact; neither of two types of 16 bits holds the other
    if mode == "rn" or target.bits >= number.dtype.bits:
        return values.cast(number, target)
    if target.bits < 16:
        raise DTypeError(f'`round="{round}"` does not work on `{target}`: only "rn" does', location=place())
    return _round_directed(number, target, mode)


def _cast_integer(number: Expr, target: DType, mode: str) -> Any:
    if target.is_float and mode != "rn":
        raise DTypeError(
            f"integers become floats to nearest only: convert `{number.dtype}` to `float64` first", location=place()
        )
    return values.cast(number, target)


def _round_directed(number: Expr, target: DType, mode: str) -> Expr:
    """Emits a conversion to fewer bits that rounds in a direction: the nearest number, or its neighbour.

    The bits of a float grow with its size, so that a neighbour is one more or less; below the infinities are the
    greatest numbers, and zeros of both signs have neighbours of their own sign.
    """
    nearest = expr(number, target)
    back = expr(nearest, number.dtype)
    size, nearest_size = absolute(number), absolute(back)
    word = dtypes.dtype(f"uint{target.bits}")
    bits = expr(reinterpret(nearest, word), word)
    sign = binary("ge", bits, 1 << (target.bits - 1))
    too_large = binary("gt", nearest_size, size)
    too_small = binary("lt", nearest_size, size)
    shrink, grow = binary("sub", bits, 1), binary("add", bits, 1)
    toward_zero = {"rz": None, "rp": sign, "rm": binary("xor", sign, True)}[mode]
    moved = select(too_large, shrink, bits)
    if toward_zero is not None:
        moved = select(toward_zero, moved, select(too_small, grow, bits))
    return expr(reinterpret(expr(moved, word), target), target)
