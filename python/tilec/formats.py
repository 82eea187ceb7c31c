"""Conversions of the types that are bits to the compiler: `dtypes.Format`.

What is emitted is integer arithmetic on the bits of a `float32`, which all targets have. A format of floats has a sign
bit or none, an exponent and a mantissa, whose subnormal numbers have the least exponent; without a mantissa there are
none, and no zero.
"""

from __future__ import annotations

from . import dtypes, operators
from .builder import current
from .constants import code_of, greatest, least
from .expr import Expr, typed_constant
from .ranges import Range
from .typed import TYPE_CHECKING
from .typed import cast as _typed

if TYPE_CHECKING:
    from typing import Any

    from .dtypes import DType, Format

_FLOAT_MANTISSA, _FLOAT_BIAS = 23, 127


def decoded(number: Expr, source: Format) -> Expr:
    """Returns a number as one of the type that it is computed in, `source.value`, which holds it exactly."""
    if not source.is_float:
        return Expr(number.value, source.value, bounds=Range(*source.range))
    code = bits(number)
    if source.mantissa_bits:
        word = _decoded_with_mantissa(code, source)
    else:  # the number of the code 0 is subnormal as a `float32`
        word = _select(_binary("eq", code, 0), 1 << (_FLOAT_MANTISSA - 1), _binary("shl", code, _FLOAT_MANTISSA))
    value = _as_float(word)
    return value if source.nan is None else _select(_binary("eq", code, source.nan), float("nan"), value)


def _decoded_with_mantissa(code: Expr, source: Format) -> Expr:
    width = source.exponent_bits + source.mantissa_bits
    size = _binary("and", code, (1 << width) - 1)
    moved = _binary("shl", size, _FLOAT_MANTISSA - source.mantissa_bits)
    normal = _binary("add", moved, (_FLOAT_BIAS - source.bias) << _FLOAT_MANTISSA)
    scale = 2.0 ** (1 - source.bias - source.mantissa_bits)
    subnormal = _as_word(_binary("mul", _cast(size, dtypes.float32), scale))
    word = _select(_binary("lt", size, 1 << source.mantissa_bits), subnormal, normal)
    return _binary("or", word, _binary("shl", _binary("shr", code, width), 31)) if source.has_sign_bit else word


def encoded(number: Expr, target: Format) -> Expr:
    """Returns a number rounded to a format: to the nearest, as `constants.code_of` says; integers wrap.

    A `float64` becomes a `float32` first, so that for a format of floats it is rounded to odd before.
    """
    if not target.is_float:
        return _encoded_integer(number, target)
    value = _cast(number, dtypes.float32)
    bounded = _binary("max", _binary("min", value, greatest(target)), least(target))
    code = _encoded_with_mantissa(bounded, target) if target.mantissa_bits else _encoded_exponent(bounded)
    nan = code_of(float("nan"), target)
    return Expr(_cast(_select(_binary("ne", value, value), nan, code), dtypes.uint8).value, target)


def _encoded_integer(number: Expr, target: Format) -> Expr:
    wide = _cast(number, dtypes.int32)
    if number.dtype.is_float:  # which is cut to the nearest that there is
        low, high = target.range
        wide = _binary("max", _binary("min", wide, high), low)
    return kept(_word(wide), target)


def _encoded_exponent(bounded: Expr) -> Expr:
    """Emits the nearest power of two, the greater of two."""
    word = _as_word(bounded)
    half = 1 << (_FLOAT_MANTISSA - 1)
    nearest = _binary("shr", _binary("add", word, half), _FLOAT_MANTISSA)
    return _select(_binary("lt", word, half + half // 2), 0, nearest)  # below 0.75 * 2^-126


def _encoded_with_mantissa(bounded: Expr, target: Format) -> Expr:
    word = _as_word(bounded)
    size = _binary("and", word, 0x7FFFFFFF)
    cut = _FLOAT_MANTISSA - target.mantissa_bits
    is_odd = _binary("and", _binary("shr", size, cut), 1)
    sum_ = _binary("add", _binary("add", size, (1 << (cut - 1)) - 1), is_odd)
    normal = _binary("sub", _binary("shr", sum_, cut), (_FLOAT_BIAS - target.bias) << target.mantissa_bits)
    # Adding 2^23 rounds to an integer, which then is the lowest bits.
    scaled = _binary("mul", _as_float(size), 2.0 ** (target.bias - 1 + target.mantissa_bits))
    subnormal = _binary("and", _as_word(_binary("add", scaled, 2.0**_FLOAT_MANTISSA)), (1 << _FLOAT_MANTISSA) - 1)
    least_normal = (_FLOAT_BIAS + 1 - target.bias) << _FLOAT_MANTISSA
    code = _select(_binary("lt", size, least_normal), subnormal, normal)
    sign = _binary("shl", _binary("shr", word, 31), target.exponent_bits + target.mantissa_bits)
    if not target.has_negative_zero:
        sign = _select(_binary("eq", code, 0), 0, sign)
    return _binary("or", code, sign)


def kept(word: Any, target: Format) -> Expr:
    """Returns the number whose bits are the low 4 of a `uint32`; on the chip a byte holds it, with its sign."""
    low = _cast(_binary("and", word, 15), dtypes.int32)
    if target.is_signed:
        low = _binary("sub", _binary("xor", low, 8), 8)
    return Expr(_cast(low, dtypes.int8).value, target)


def bits(number: Expr) -> Expr:
    """Returns the byte that a number is kept in, as a `uint32`."""
    return _word(Expr(number.value, dtypes.uint8))


def with_bits_of(number: Expr, target: DType) -> Expr:
    """Returns the number of the same bits, one of the two types being a format."""
    if target.bits == 8:
        return Expr(number.value, target)
    return kept(bits(number), _typed("Format", target))


# Values --------------------------------------------------------------------------------------------------------------


def _binary(op: str, a: Any, b: Any) -> Any:
    return operators.arithmetic.binary(op, a, b)


def _select(chosen: Any, a: Any, b: Any) -> Any:
    return operators.arithmetic.select(chosen, a, b)


def _cast(number: Any, dtype: DType) -> Expr:
    return _typed("Expr", operators.arithmetic.cast(number, dtype))


def _word(number: Expr) -> Expr:
    return _cast(number, dtypes.uint32)


def _as_word(number: Expr) -> Expr:
    return _bits(number, dtypes.uint32)


def _as_float(word: Any) -> Expr:
    return _bits(word if isinstance(word, Expr) else typed_constant(word, dtypes.uint32), dtypes.float32)


def _bits(number: Expr, dtype: DType) -> Expr:
    return Expr(current().emit("arith.bitcast", [number.value], [dtype.mlir]).results[0], dtype)
