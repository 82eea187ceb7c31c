"""Conversions between the types of scalars."""

from __future__ import annotations

import math
import struct

from . import _ops, dtypes, formats
from .builder import current
from .constants import fits_float, greatest, least, truncate, wrap
from .errors import DTypeError, RangeError
from .expr import Expr, place, simplify, type_range, typed_constant, usual_type
from .ranges import Range, wrapped
from .typed import TYPE_CHECKING
from .typed import cast as _typed

if TYPE_CHECKING:
    from typing import Any

    from ._ops import CmpFPredicate, CmpIPredicate
    from .constants import Number
    from .dtypes import DType
    from .ir import Value

_LEAST_INDEX, _GREATEST_INDEX = dtypes.index.range


def expr(value: Any, dtype: DType | None = None) -> Expr:
    """Returns `value` as an `Expr`; Python's numbers get the type `dtype`, or their usual one."""
    number = simplify(value)
    if isinstance(number, Expr):
        return number if dtype is None else _typed("Expr", cast(number, dtype))
    return typed_constant(number, dtype or usual_type(number))


def emit(name: str, operands: list[Value], result: str, properties: dict[str, str] | None = None) -> Value:
    """Emits an operation with one result."""
    return current().emit(name, operands, [result], properties).results[0]


def emit_compare(predicate: CmpIPredicate, left: Value, right: Value) -> Value:
    """Emits a comparison of integers."""
    return _ops.arith_cmpi(left, right, predicate=predicate).results[0]


def emit_float_compare(predicate: CmpFPredicate, left: Value, right: Value) -> Value:
    """Emits a comparison of floats."""
    return _ops.arith_cmpf(left, right, predicate=predicate).results[0]


def emit_select(chosen: Value, yes: Value, no: Value) -> Value:
    """Emits a choice between two values that are both there."""
    return _ops.arith_select(chosen, yes, no).results[0]


# Indices -------------------------------------------------------------------------------------------------------------


def index_value(value: Any, what: str = "an index") -> Value:
    """Returns `value` as a value of type `index`."""
    number = simplify(value)
    if isinstance(number, float) or (isinstance(number, Expr) and not number.dtype.is_integer):
        raise DTypeError(
            f"{what} must be an integer, not `{number!r}`: divide with `//`, or `T.cast` it to `int32`",
            location=place(),
        )
    constant = number.const if isinstance(number, Expr) else number
    if what != "an index" and constant is not None and not _LEAST_INDEX <= constant <= _GREATEST_INDEX:
        raise RangeError(f"{what} must fit into 32 bits, and {constant} does not", location=place())
    return bounded_index(number).value


def bounded_index(value: Any) -> Expr:
    """Returns an integer as an `Expr` of type `index`, as `to_index`; what does not fit of a `uint32` becomes the least
    index too, so that its neighbours are out of bounds as well."""
    number = simplify(value)
    if isinstance(number, Expr) and number.dtype is dtypes.uint32 and not number.range.within(type_range(dtypes.int32)):
        number = cast(number, dtypes.uint64)
    return to_index(number)


def to_index(value: Any) -> Expr:
    """Returns an integer as an `Expr` of type `index`; one of 32 bits keeps its bits.

    What has more and does not fit becomes the least index: added to the extent of any tile it stays out of bounds of
    every tensor, where the low bits alone would name an element.
    """
    number = simplify(value)
    constant = number.const if isinstance(number, Expr) else number
    if constant is not None:
        fits = _LEAST_INDEX <= constant <= _GREATEST_INDEX
        is_found = isinstance(number, Expr) and number.is_found
        return Expr(None, const=int(constant) if fits else _LEAST_INDEX, is_found=is_found)
    number = _typed("Expr", number)
    if number.dtype is dtypes.index:
        return number
    known = number.range
    if number.dtype.bits == 64 and not known.within(type_range(dtypes.index)) and current().kernel_block is not None:
        return Expr(_narrow(number), linear=number.linear)
    name = "arith.index_cast" if number.dtype.is_signed or number.dtype.bits >= 32 else "arith.index_castui"
    value = emit(name, [number.value], "index")
    return Expr(value, bounds=wrapped(known, type_range(dtypes.index)), linear=number.linear)


def _narrow(number: Expr) -> Value:
    """Emits the narrowing of a 64-bit integer to an index."""
    low = emit("arith.trunci", [number.value], "i32")
    if number.dtype.is_signed:
        fits = emit_compare("eq", emit("arith.extsi", [low], "i64"), number.value)
    else:
        greatest = current().constant(str(_GREATEST_INDEX), "i64")
        fits = emit_compare("ule", number.value, greatest)
    outside = current().constant(str(_LEAST_INDEX), "i32")
    return emit("arith.index_cast", [emit_select(fits, low, outside)], "index")


# Conversion of types -------------------------------------------------------------------------------------------------


def cast(value: Any, dtype: Any) -> Any:
    """Converts a number to a type.

    Integers wrap, and are true unless zero; floats round to nearest even, and what is too large for 8 bits becomes the
    greatest number; floats become integers towards zero, as far as the type reaches, and NaN becomes 0.
    """
    target = dtypes.dtype(dtype) if dtype is not dtypes.index else dtypes.index
    number = simplify(value)
    if not isinstance(number, Expr):
        if isinstance(number, float) and not target.is_float and math.isfinite(number):
            number = int(number)
        return typed_constant(number, target)
    source = number.dtype
    if source == target:
        return number
    if number.const is not None:
        converted = _cast_constant(number.const, target)
        converted.is_found = number.is_found
        return converted
    if isinstance(source, dtypes.Format):
        return cast(formats.decoded(number, source), target)
    if isinstance(target, dtypes.Format):
        is_double = target.is_float and number.dtype is dtypes.float64
        return formats.encoded(round_to_odd(number) if is_double else number, target)
    if source.mlir == target.mlir:
        linear = number.linear if source.is_integer else None
        known = wrapped(number.range, type_range(target)) if target.is_integer else None
        return Expr(number.value, target, bounds=known, linear=linear)
    if target is dtypes.index:
        return to_index(number)
    return _emit_cast(number, target)


def _cast_constant(number: Number, target: DType) -> Expr:
    """Returns a constant of a type in another one, as numbers that are not known are converted."""
    if target.is_float:
        number = _as_float(number, target)
        if target.bits <= 8 and not math.isnan(number):
            number = min(max(number, least(target)), greatest(target))
        if target.mlir == "f32" and math.isfinite(number) and fits_float(float(number), target):
            number = struct.unpack("f", struct.pack("f", number))[0]
        if not fits_float(number, target):
            number = math.copysign(math.inf, number)
        return typed_constant(number, target)
    if target.kind == "bool":
        return typed_constant(bool(number), target)
    integer = truncate(number, target) if isinstance(number, float) else wrap(number, target)
    return typed_constant(integer, target)


def _as_float(number: Number, target: DType) -> float:
    """Returns a number from which `target` is rounded as from itself.

    An integer of more bits than a `float64` has loses the lower ones, and its last bit says whether one of them was
    set: then no later rounding takes it for a tie.
    """
    if isinstance(number, float) or target is dtypes.float64:
        return float(number)
    lost = max(abs(number).bit_length() - 53, 0)
    size = abs(number) >> lost << lost
    return math.copysign(size if size == abs(number) else size | 1 << lost, number)


def _emit_cast(number: Expr, target: DType) -> Expr:
    source = number.dtype
    if target.kind == "bool":
        return _emit_truth(number)
    if source.is_float and target.is_integer:
        return Expr(_emit_truncation(number, target), target)
    if source.is_float and target.is_float and source.bits == 64 and target.bits < 32:
        return _typed("Expr", cast(round_to_odd(number), target))
    if target.is_float and target.bits == 8 and source.is_integer:
        # An integer that `float32` rounds is too large for 8 bits anyway.
        return _typed("Expr", cast(cast(number, dtypes.float32), target))
    if source.is_float and target.is_float and source.bits == target.bits:
        return _typed("Expr", cast(cast(number, dtypes.float32), target))  # which holds both
    if source is dtypes.index and (not target.is_integer or target.bits < 32):
        # MLIR takes an index that is cast to fewer bits and back for itself.
        number = _typed("Expr", cast(number, dtypes.int32))
        source = number.dtype
    if source.is_float and target.is_float and target.bits == 8:
        number = _limited(number, target)
    result = emit(_cast_name(source, target), [number.value], target.mlir)
    if not (source.is_integer and target.is_integer):
        return Expr(result, target, bounds=Range(0, 1) if source.kind == "bool" and target.is_integer else None)
    # A sum that wrapped is another one in a wider type.
    same = source.bits >= target.bits >= 32
    known = wrapped(number.range, type_range(target))
    return Expr(result, target, bounds=known, linear=number.linear if same else None)


def _limited(number: Expr, target: DType) -> Expr:
    """Emits what is left of a float between the least and the greatest number of a type."""
    value = number.value
    for op, bound in (("minimumf", greatest(target)), ("maximumf", least(target))):
        value = emit(f"arith.{op}", [value, typed_constant(bound, number.dtype).value], number.dtype.mlir)
    return Expr(value, number.dtype)


def _emit_truth(number: Expr) -> Expr:
    if number.dtype.is_only_stored:
        number = _typed("Expr", cast(number, dtypes.float32))
    zero = typed_constant(0, number.dtype).value
    if not number.dtype.is_float:
        return Expr(emit_compare("ne", number.value, zero), dtypes.bool_)
    return Expr(emit_float_compare("une", number.value, zero), dtypes.bool_)


def round_to_odd(number: Expr) -> Expr:
    """Emits the conversion of a `float64` to a `float32` that rounds as exactly as the number itself.

    What is between two numbers becomes the one whose last bit is set: then no later rounding takes it for a tie.
    """
    nearest = Expr(emit("arith.truncf", [number.value], "f32"), dtypes.float32)
    back = emit("arith.extf", [nearest.value], "f64")
    bits = emit("arith.bitcast", [nearest.value], "i32")
    one, minus_one, zero = (current().constant(text, "i32") for text in ("1", "-1", "0"))
    size, nearest_size = (emit("math.absf", [value], "f64") for value in (number.value, back))
    is_below = emit_float_compare("olt", size, nearest_size)
    moved = emit("arith.addi", [bits, emit_select(is_below, minus_one, one)], "i32")
    is_odd = emit_compare("ne", emit("arith.andi", [bits, one], "i32"), zero)
    is_inexact = emit_float_compare("one", size, nearest_size)
    result = emit_select(is_inexact, emit_select(is_odd, bits, moved), bits)
    return Expr(emit("arith.bitcast", [result], "f32"), dtypes.float32)


def _emit_truncation(number: Expr, target: DType) -> Value:
    """Emits the conversion of a float to an integer.

    `arith.fptosi` and `arith.fptoui` saturate on every target, and give 0 for a NaN in 32 bits. Integers of fewer bits
    are cut from those.
    """
    if number.dtype.bits < 32:
        number = _typed("Expr", cast(number, dtypes.float32))
    wide = target if target.bits >= 32 else dtypes.int32
    name = "arith.fptosi" if wide.is_signed else "arith.fptoui"
    result = emit(name, [number.value], wide.mlir)
    if number.dtype.bits == 64 or wide.bits == 64:
        is_number = emit_float_compare("ord", number.value, number.value)
        result = emit_select(is_number, result, typed_constant(0, wide).value)
    if wide is target:
        return result
    for op, bound in (("maxsi", target.range[0]), ("minsi", target.range[1])):
        result = emit(f"arith.{op}", [result, typed_constant(bound, wide).value], wide.mlir)
    return emit("arith.trunci", [result], target.mlir)


def _cast_name(source: DType, target: DType) -> str:
    if source is dtypes.index:
        return "arith.index_cast"
    if source.is_float and target.is_float:
        return "arith.extf" if source.bits < target.bits else "arith.truncf"
    if target.is_float:
        return "arith.sitofp" if source.is_signed else "arith.uitofp"
    if source.bits > target.bits:
        return "arith.trunci"
    return "arith.extsi" if source.is_signed else "arith.extui"
