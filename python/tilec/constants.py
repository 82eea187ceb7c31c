"""Numbers of each element type: what a type can hold, and how the IR writes it."""

from __future__ import annotations

import bisect
import functools
import math

from .dtypes import Format
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from .dtypes import DType

Number = int | float | bool

# The greatest finite number, and the bits of infinity and of a NaN.
_FLOATS: dict[str, tuple[float, str, str]] = {
    "f8E4M3FN": (448.0, "", "0x7F"),
    "f8E5M2": (57344.0, "0x7C", "0x7E"),
    "f16": (65504.0, "0x7C00", "0x7E00"),
    "bf16": (3.3895313892515355e38, "0x7F80", "0x7FC0"),
    "f32": (3.4028234663852886e38, "0x7F800000", "0x7FC00000"),
    "f64": (1.7976931348623157e308, "0x7FF0000000000000", "0x7FF8000000000000"),
}

# The bits of a significand, and the exponent of the least number above zero.
_PRECISION = {
    "f8E4M3FN": (4, -9), "f8E5M2": (3, -16), "f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074),
}  # fmt: skip


@functools.cache
def numbers_of(dtype: Format) -> tuple[float, ...]:
    """Returns the number that each code of a float type stands for."""
    width = dtype.exponent_bits + dtype.mantissa_bits
    return tuple(_number_of(code, dtype, width) for code in range(1 << dtype.bits))


def _number_of(code: int, dtype: Format, width: int) -> float:
    if code == dtype.nan:
        return math.nan
    exponent = code % (1 << width) >> dtype.mantissa_bits
    fraction = code % (1 << dtype.mantissa_bits)
    has_subnormals = dtype.mantissa_bits > 0
    if exponent or not has_subnormals:
        fraction += 1 << dtype.mantissa_bits
    size = math.ldexp(fraction, max(exponent, int(has_subnormals)) - dtype.bias - dtype.mantissa_bits)
    return -size if code >> width else size


def code_of(number: float, dtype: Format) -> int:
    """Returns the code of the nearest number of a float type, the even one of two; what is too large becomes the
    greatest, and a NaN too where there is none. Without a mantissa the greater of two is taken."""
    sizes = [size for size in numbers_of(dtype)[: 1 << (dtype.exponent_bits + dtype.mantissa_bits)] if size == size]
    if math.isnan(number):
        return len(sizes) - 1 if dtype.nan is None else dtype.nan
    if not dtype.has_sign_bit:
        number = max(number, sizes[0])
    size = min(abs(number), sizes[-1])
    above = min(max(bisect.bisect_left(sizes, size), 1), len(sizes) - 1)
    middle = (sizes[above - 1] + sizes[above]) / 2
    goes_up = size > middle or (size == middle and (above % 2 == 0 or not dtype.mantissa_bits))
    code = above if goes_up else above - 1
    is_negative = math.copysign(1, number) < 0 and (code > 0 or dtype.has_negative_zero)
    return code | (1 << (dtype.bits - 1) if is_negative else 0)


def rounded(number: float, dtype: DType) -> float:
    """Returns the nearest number of a float type, the even one of two; infinity beyond the greatest."""
    if isinstance(dtype, Format):
        return numbers_of(dtype)[code_of(number, dtype)]
    if not math.isfinite(number) or number == 0:
        return number
    precision, least_exponent = _PRECISION[dtype.mlir]
    exponent = max(math.frexp(number)[1] - precision, least_exponent)
    nearest = math.ldexp(round(math.ldexp(number, -exponent)), exponent)
    if abs(nearest) > _FLOATS[dtype.mlir][0]:
        return math.copysign(math.inf, number)
    return math.copysign(nearest, number)


def fits_float(number: float, dtype: DType) -> bool:
    """Returns whether a float type can hold a number, rounded."""
    if isinstance(dtype, Format):
        return math.isnan(number) or abs(number) <= greatest(dtype)
    limit, infinity, _ = _FLOATS[dtype.mlir]
    if math.isinf(number):
        return bool(infinity)
    return math.isnan(number) or abs(rounded(number, dtype)) <= limit


def greatest(dtype: DType) -> Number:
    """Returns the greatest finite number of a type."""
    if isinstance(dtype, Format) and dtype.is_float:
        return max(number for number in numbers_of(dtype) if number == number)
    return _FLOATS[dtype.mlir][0] if dtype.is_float else dtype.range[1]


def least(dtype: DType) -> Number:
    """Returns the least finite number of a type."""
    if isinstance(dtype, Format) and dtype.is_float:
        return min(number for number in numbers_of(dtype) if number == number)
    return -_FLOATS[dtype.mlir][0] if dtype.is_float else dtype.range[0]


def wrap(number: int, dtype: DType) -> int:
    """Returns an integer cut to an integer type."""
    low, _ = dtype.range
    return (number - low) % (1 << dtype.bits) + low


def truncate(number: float, dtype: DType) -> int:
    """Returns a float rounded towards zero; what is too large becomes the nearest integer of the type, NaN zero."""
    low, high = dtype.range
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return high if number > 0 else low
    return min(max(int(number), low), high)


def literal(number: Number, dtype: DType) -> str:
    """Returns a number as the IR writes it."""
    if dtype.kind == "bool":
        return "true" if number else "false"
    if dtype.is_float and not isinstance(dtype, Format):
        return _float_literal(float(number), dtype)
    # Attributes of signless integers are read as signed.
    integer = code_of(float(number), dtype) if isinstance(dtype, Format) and dtype.is_float else int(number)
    width = 8 * dtype.bytes
    return str(integer - (1 << width) if integer >= 1 << (width - 1) else integer)


def _float_literal(number: float, dtype: DType) -> str:
    _, infinity, nan = _FLOATS[dtype.mlir]
    if math.isfinite(number):
        text = repr(number)
        return text if "." in text else f"{number:.17e}"
    bits = nan if math.isnan(number) else infinity
    if number < 0:
        bits = f"0x{int(bits, 16) | 1 << (dtype.bits - 1):0{dtype.bits // 4}X}"
    return bits
