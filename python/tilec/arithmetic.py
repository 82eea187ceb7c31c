"""Arithmetic of scalars: the type of a result, constants that are computed at once, and the operations.

Every operation here is total: division by zero, the least integer over -1 and shifts by too many bits have a result, so
that an operation can be executed where its result is not needed. What guards the operation itself is left out where
the ranges of the operands show that it is not needed. Arithmetic on indices whose result may not fit into 32 bits is
done on integers of 32 bits, because an `index` has 64 of them on some targets.
"""

from __future__ import annotations

import math
import operator

from . import dtypes
from .builder import current, current_or_none, unsupported
from .casts import cast, emit, emit_compare, emit_float_compare, emit_select, expr, to_index
from .constants import greatest, rounded, wrap
from .errors import DTypeError, LostBitsWarning, RangeError, warn_at
from .expr import Expr, Linear, place, simplify, type_range, typed_constant, usual_type
from .operators import Operators
from .ranges import Range, combine, wrapped
from .typed import TYPE_CHECKING
from .typed import cast as _typed
from .types import Symbol, computed, is_symbol, makes_extents

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from ._ops import CmpFPredicate, CmpIPredicate
    from .constants import Number
    from .dtypes import DType
    from .ir import Block, Op, Value

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne, "min": min, "max": max, "ceildiv": lambda a, b: -(-a // b),
}  # fmt: skip

_SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&", "or": "|",
    "xor": "^", "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "min": "min", "max": "max", "ceildiv": "ceildiv", "select": "if else",
}  # fmt: skip

_COMPARE_SIGNED: dict[str, CmpIPredicate] = {
    "eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge",
}  # fmt: skip
_COMPARE_UNSIGNED: dict[str, CmpIPredicate] = {
    "eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge",
}  # fmt: skip
_COMPARE_FLOAT: dict[str, CmpFPredicate] = {
    "eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
}  # fmt: skip
_FLOAT_OPS = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "min": "minimumf", "max": "maximumf"}
_INT_OPS = {"add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori"}
_SIGNED_OPS = {"min": "minsi", "max": "maxsi", "shr": "shrsi", "floordiv": "floordivsi", "ceildiv": "ceildivsi"}
_UNSIGNED_OPS = {
    "min": "minui", "max": "maxui", "shr": "shrui", "floordiv": "divui", "ceildiv": "ceildivui", "mod": "remui",
}  # fmt: skip
_DIVISIONS = ("floordiv", "ceildiv", "mod")
_SHIFTS = ("shl", "shr")


def binary(op: str, left: Any, right: Any) -> Any:
    """Returns `left op right`; both known numbers give a number."""
    if (is_symbol(left) or is_symbol(right)) and _makes_extents(left, right):
        return computed(op, left, right)
    if op in _COMPARE_FLOAT and is_symbol(left) and is_symbol(right) and repr(left) == repr(right):
        return op in ("eq", "le", "ge")  # symbols of one name are one
    a, b = simplify(left), simplify(right)
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return _fold(op, a, b)
    found = _of_values(op, a, b)
    if not isinstance(found, Expr) or found is a or found is b:
        return found
    found.is_found = found.const is not None and any(isinstance(v, Expr) and v.is_of_kernel for v in (a, b))
    if makes_extents(op):
        parts = [v.extent if isinstance(v, Expr) else v for v in (a, b)]
        if all(isinstance(part, int | Symbol) for part in parts):
            found.extent = computed(op, *parts)
    return found


def _of_values(op: str, a: Number | Expr, b: Number | Expr) -> Any:
    if op in ("min", "max") and (stored := _bytes_of_floats(a, b)) is not None:
        return narrowed(binary(op, *(cast(cast(v, stored), dtypes.float32) for v in (a, b))), stored)
    dtype = _common_type(op, a, b)
    if op == "xor" and not isinstance(b, Expr) and b == -1 and dtype.kind in ("uint", "bool"):
        b = dtype.range[1]  # what `~` makes
    if dtype.kind == "uint":  # a constant below zero is a large number there
        a, b = (cast(v, dtype) if isinstance(v, Expr) and v.const is not None else v for v in (a, b))
    x, y = (v.const if isinstance(v, Expr) else v for v in (a, b))
    if op in _DIVISIONS and y == 0 and dtype.is_integer and _is_total(b):
        return _int_binary(op, _operand(a, dtype), _operand(b, dtype), dtype)
    if x is not None and y is not None and not (op == "div" and dtype.is_integer):
        return _fold_typed(op, x, y, dtype)
    if (known_result := _identity(op, a, b, dtype)) is not None:
        return known_result
    if op == "pow":
        return _power(a, b, dtype)
    if op in _SHIFTS and isinstance(y, int) and not dtype.is_float:
        return _shift_by_constant(op, _operand(a, dtype), y, dtype)
    left_value, right_value = _operand(a, dtype), _operand(b, dtype)
    if op in _COMPARE_FLOAT:
        return _compare(op, left_value, right_value, dtype)
    if dtype.is_float:
        return _float_binary(op, left_value, right_value, dtype)
    return _int_binary(op, left_value, right_value, dtype)


def _is_total(divisor: Number | Expr) -> bool:
    """Whether to divide by it gives 0 if it is zero, and is no mistake that is seen: the program writes no constant."""
    return isinstance(divisor, Expr) and divisor.is_found and current().kernel_block is not None


def operate(op: str, left: Any, right: Any) -> Any:
    """Returns what an operator gives that stands in a program: `binary`, beside numbers as the program means them."""
    a, b = typed(left, right)
    if op in _SHIFTS and type(b) is int:
        _say_what_is_lost(op, a, b)
    return binary(op, a, b)


def _say_what_is_lost(op: str, value: Any, amount: int) -> None:
    """Warns of a shift by a Python number that leaves no bit of a value, as that of a byte by 8."""
    is_constant = isinstance(value, Expr) and value.const is not None
    dtype: DType | None = getattr(value, "dtype", None)
    if is_constant or dtype is None or dtype.kind not in ("int", "uint") or 0 <= amount < dtype.bits:
        return
    left = "0 or -1" if op == "shr" and dtype.is_signed else "0"
    remedy = f"shift by 0 to {dtype.bits - 1}"
    if 0 <= amount < 64:
        wide = f"{dtype.kind}{32 if amount < 32 else 64}"
        remedy = f'convert to a type that has room first, as by `.astype("{wide}")`'
    warn_at(
        place(),
        f"`{_SYMBOL[op]} {amount}` of `{dtype}`, which has {dtype.bits} bits, leaves {left}: {remedy}",
        LostBitsWarning,
    )


def typed(*operands: Any) -> tuple[Any, ...]:
    """Returns the operands of a program: of Python's numbers those that have a type of their own there get it."""
    builder = current_or_none()
    if builder is None or not builder.for_tilelang or any(is_symbol(operand) for operand in operands):
        return operands
    numbers = [simplify(operand) for operand in operands]
    widest = max((n for n in numbers if isinstance(n, Expr)), key=lambda n: n.dtype.bits, default=None)
    return tuple(_typed_beside(number, widest) for number in numbers)


def _typed_beside(number: Number | Expr, other: Expr | None) -> Number | Expr:
    """Returns a Python number in its usual type, if that is wider than the type of the other operand."""
    if isinstance(number, Expr | bool) or other is None:
        return number
    usual, dtype = usual_type(number), other.dtype
    is_same_kind = dtype.is_float if usual.is_float else dtype.is_integer
    return typed_constant(number, usual) if is_same_kind and dtype.bits < usual.bits else number


def _makes_extents(*operands: Any) -> bool:
    """Whether symbols are no values here: outside of a function, and in it where a tensor is still to tell them."""
    builder = current_or_none()
    return builder is None or builder.is_annotating or not all(builder.knows(s) for s in operands if is_symbol(s))


# Constants -----------------------------------------------------------------------------------------------------------


def _fold(op: str, a: Number, b: Number) -> Any:
    text = f"`{a} {_SYMBOL[op]} {b}`"
    try:
        result = _PYTHON[op](a, b)
    except ZeroDivisionError:
        raise RangeError(f"{text} divides by zero: give another divisor", location=place()) from None
    except OverflowError:
        raise RangeError(f"{text} is too large for a float: give smaller numbers", location=place()) from None
    if isinstance(result, complex):
        raise RangeError(f"{text} is no real number: of a negative one take whole powers", location=place())
    return result


def _fold_typed(op: str, a: Number, b: Number, dtype: DType) -> Any:
    """Computes what the kernel would with constants of a type."""
    if op in ("min", "max") and dtype.is_float:
        return typed_constant(_fold_extreme(op, float(a), float(b)), dtype)
    if op in _SHIFTS and not dtype.is_float:
        amount = min(int(b), dtype.bits) if b >= 0 else dtype.bits
        return typed_constant(wrap(_fold(op, int(a), amount), dtype), dtype)
    if dtype.is_float:
        a, b = (_typed("float", typed_constant(n, dtype).const) for n in (a, b))
        if op in ("add", "sub", "mul", "div"):
            return Expr(None, dtype, const=rounded(_fold_float(op, a, b), dtype))
        if op == "pow":
            return Expr(None, dtype, const=rounded(_fold_power(a, b), dtype))
    result = _fold(op, a, b)
    if op in _COMPARE_FLOAT:
        return result
    return typed_constant(wrap(result, dtype) if dtype.is_integer and isinstance(result, int) else result, dtype)


def _fold_float(op: str, a: float, b: float) -> float:
    """Computes what IEEE 754 says, where Python raises."""
    try:
        return _PYTHON[op](a, b)
    except ZeroDivisionError:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def _fold_power(a: float, b: float) -> float:
    """Computes what C99 says, where Python raises."""
    try:
        return math.pow(a, b)
    except (ValueError, OverflowError):
        if a != 0 and not b.is_integer():
            return math.nan if a < 0 else math.inf
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def _fold_extreme(op: str, a: float, b: float) -> float:
    """NaN wins, and +0 is greater than -0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    first, second = sorted((a, b), key=lambda v: (v, math.copysign(1, v)))
    return first if op == "min" else second


def _identity(op: str, a: Number | Expr, b: Number | Expr, dtype: DType) -> Expr | None:
    """Returns the result where a neutral or absorbing integer makes it known, else None."""
    if dtype.is_float or dtype.kind == "bool":
        return None
    x = a.const if isinstance(a, Expr) else a
    y = b.const if isinstance(b, Expr) else b
    if (y == 0 and op in ("add", "sub", "shl", "shr", "or", "xor")) or (
        y == 1 and op in ("mul", "floordiv", "ceildiv")
    ):
        return _operand(a, dtype)
    if (x == 0 and op == "add") or (x == 1 and op == "mul"):
        return _operand(b, dtype)
    if (op == "mul" and (x == 0 or y == 0)) or (op == "mod" and (y == 1 or (y == -1 and dtype.is_signed))):
        return typed_constant(0, dtype)
    if y == -1 and op in ("floordiv", "ceildiv") and dtype.is_signed:
        return _typed("Expr", binary("sub", 0, _operand(a, dtype)))
    if op in _DIVISIONS and y == 0:
        raise RangeError(
            f"`{_SYMBOL[op]}` divides by zero: its divisor is the constant 0; give another one",
            location=place(),
        )
    return None


# Types ---------------------------------------------------------------------------------------------------------------


def _common_type(op: str, a: Number | Expr, b: Number | Expr) -> DType:
    if not isinstance(a, Expr) or not isinstance(b, Expr):
        typed, number = (a, b) if isinstance(a, Expr) else (b, a)
        dtype = _typed("Expr", typed).dtype
        if isinstance(number, float) and not dtype.is_float:
            return dtypes.float32
        if dtype.kind == "bool" and not isinstance(number, bool) and op not in ("and", "or", "xor"):
            return dtypes.int32
        return _arithmetic_type(op, dtype)
    x, y = a.dtype, b.dtype
    if x == y:
        if x.kind == "bool" and op not in ("and", "or", "xor", "eq", "ne"):
            return dtypes.int32
        return _arithmetic_type(op, x)
    if x.is_float != y.is_float:
        return _arithmetic_type(op, x if x.is_float else y)
    if x is dtypes.index or y is dtypes.index:
        other = y if x is dtypes.index else x
        if other is dtypes.uint32:
            return dtypes.int64  # which holds both
        return other if other.bits == 64 else dtypes.index
    if x.kind == "bool" or y.kind == "bool":
        return y if x.kind == "bool" else x
    if x.bits != y.bits:
        return _arithmetic_type(op, x if x.bits > y.bits else y)
    if x.is_integer and y.is_integer:
        return y if x.is_signed else x
    raise DTypeError(
        f"`{_SYMBOL[op]}` of `{x}` and `{y}` has no obvious type: convert one side with `.astype(...)`",
        location=place(),
    )


def _bytes_of_floats(a: Number | Expr, b: Number | Expr) -> DType | None:
    """Returns the type of two floats of few bits, of which the greater is found in `float32`."""
    found = {v.dtype for v in (a, b) if isinstance(v, Expr)}
    dtype = found.pop()
    return dtype if has_few_bits(dtype) and not found else None


def has_few_bits(dtype: DType) -> bool:
    """Returns whether it is a float of 8 or 4 bits, all of whose numbers are normal ones of `float32`.

    Left out are the powers of two: the least of them is below what `fast_math` keeps in `float32`, and none is zero.
    """
    return dtype.is_float and dtype.is_only_stored and dtype is not dtypes.float8_e8m0fnu


def exactly(function: Callable[[Expr], Any], number: Expr) -> Any:
    """Returns a function of a float of few bits that gives one of the type's own numbers, found in `float32`."""
    return narrowed(function(_typed("Expr", cast(number, dtypes.float32))), number.dtype)


def narrowed(wide: Expr, dtype: DType) -> Any:
    """Returns a `float32` that is a number of another type in that type: of one of few bits infinity too, which a
    conversion makes the greatest number (semantics C2)."""
    narrow = _typed("Expr", cast(wide, dtype))
    if dtype is not dtypes.float8_e5m2:
        return narrow
    largest = greatest(dtype)
    plus, minus = (
        Expr(emit("arith.bitcast", [typed_constant(code, dtypes.uint8).value], dtype.mlir), dtype)
        for code in (0x7C, 0xFC)
    )
    bounded = select(binary("lt", wide, -largest), minus, narrow)
    return select(binary("gt", wide, largest), plus, bounded)


def _arithmetic_type(op: str, dtype: DType, what: str = "") -> DType:
    """Returns the type in which an operation computes; `what` is it as programs write it, if that is no operator."""
    if dtype is dtypes.tfloat32:
        return dtypes.float32
    # A choice computes nothing, and a comparison is that of wider numbers; but the least of the powers of two is below
    # what `fast_math` keeps in `float32`.
    is_compared = op in _COMPARE_SIGNED and dtype is not dtypes.float8_e8m0fnu
    if dtype.is_only_stored and op != "select" and not is_compared:
        wide = "float32" if dtype.is_float else "int32"
        raise DTypeError(
            f'`{what or _SYMBOL[op]}` does not work on `{dtype}`: convert it with `.astype("{wide}")`', location=place()
        )
    return dtype


def _operand(value: Number | Expr, dtype: DType) -> Expr:
    if not isinstance(value, Expr):
        return typed_constant(value, dtype)
    return to_index(value) if dtype is dtypes.index else _typed("Expr", cast(value, dtype))


# Operations ----------------------------------------------------------------------------------------------------------


def _compare(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    if dtype.is_only_stored:
        dtype = dtypes.float32 if dtype.is_float else dtypes.int32  # which hold them all
        x, y = _operand(x, dtype), _operand(y, dtype)
    if dtype.is_float:
        return Expr(emit_float_compare(_COMPARE_FLOAT[op], x.value, y.value), dtypes.bool_)
    predicates = _COMPARE_SIGNED if dtype.is_signed else _COMPARE_UNSIGNED
    return Expr(emit_compare(predicates[op], x.value, y.value), dtypes.bool_)


_IN_PARENTHESES = "write `and`, `or` between conditions, or put each in parentheses, as in `(a > 0) & (b < 1)`"
_INSTEAD_ON_FLOATS = {
    "and": _IN_PARENTHESES,
    "or": _IN_PARENTHESES,
    "mod": "use `T.fmod`, or convert to an integer first",
}
"""What programs that use an operator of integers on floats may have meant."""


def _float_binary(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    if op not in _FLOAT_OPS:
        remedy = _INSTEAD_ON_FLOATS.get(op, "convert to an integer first")
        raise DTypeError(f"`{_SYMBOL[op]}` does not work on `{dtype}`; {remedy}", location=place())
    return Expr(emit(f"arith.{_FLOAT_OPS[op]}", [x.value, y.value], dtype.mlir), dtype)


def _int_binary(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    if op == "div":
        raise DTypeError(
            "`/` of two integers: use `//` for the integer quotient, or convert one side with `.astype(...)`",
            location=place(),
        )
    if op in _DIVISIONS:
        return _division(op, x, y, dtype)
    if op in _SHIFTS:
        return _shift(op, x, y, dtype)
    exact = combine(op, x.range, y.range) or type_range(dtype)
    fits = exact.within(type_range(dtype)) or dtype is not dtypes.index or current().kernel_block is None
    name = _INT_OPS.get(op) or (_SIGNED_OPS if dtype.is_signed else _UNSIGNED_OPS)[op]
    if fits:
        value = emit(f"arith.{name}", [x.value, y.value], dtype.mlir)
    else:
        narrow = [emit("arith.index_cast", [v.value], "i32") for v in (x, y)]
        value = emit("arith.index_cast", [emit(f"arith.{name}", narrow, "i32")], "index")
    return Expr(value, dtype, bounds=wrapped(exact, type_range(dtype)), linear=_linear(op, x, y))


def _linear(op: str, x: Expr, y: Expr) -> Linear | None:
    if op == "add":
        return x.linear.plus(y.linear)
    if op == "sub":
        return x.linear.plus(y.linear, -1)
    if op == "mul" and y.const is not None:
        return x.linear.times(int(y.const))
    if op == "mul" and x.const is not None:
        return y.linear.times(int(x.const))
    return None


# Division ------------------------------------------------------------------------------------------------------------


def _division(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    """Emits `//`, `ceildiv` or `%`."""
    exact = combine(op, x.range, y.range) or type_range(dtype)
    if current().kernel_block is None:
        value = _host_division(op, x, y, dtype)
    elif dtype.is_integer and dtype.bits < 32:
        # The quotient of the least integer and -1 fits into 32 bits.
        wide = [_typed("Expr", cast(v, dtypes.int32)) for v in (x, y)]
        value = emit("arith.trunci", [_division(op, wide[0], wide[1], dtypes.int32).value], dtype.mlir)
    elif not dtype.is_signed or (x.range.low >= 0 and y.range.low >= 0):
        value = _unsigned_division(op, x, y, dtype)
    else:
        value = _signed_division(op, x, y, dtype)
    return Expr(value, dtype, bounds=wrapped(exact, type_range(dtype)))


def _host_division(op: str, x: Expr, y: Expr, dtype: DType) -> Value:
    """Outside of kernels the launch computes, which reports a division by zero."""
    if op == "mod":
        return emit("arith.remui", [x.value, y.value], dtype.mlir)
    return emit(f"arith.{(_SIGNED_OPS if dtype.is_signed else _UNSIGNED_OPS)[op]}", [x.value, y.value], dtype.mlir)


def _unsigned_division(op: str, x: Expr, y: Expr, dtype: DType) -> Value:
    name = f"arith.{_UNSIGNED_OPS[op]}"
    if 0 not in y.range:
        return emit(name, [x.value, y.value], dtype.mlir)
    one, zero = (typed_constant(n, dtype).value for n in (1, 0))
    result = emit(name, [x.value, emit("arith.maxui", [y.value, one], dtype.mlir)], dtype.mlir)
    if op == "mod":
        return result  # `x % 1` is 0
    return emit_select(emit_compare("eq", y.value, zero), zero, result)


def _signed_division(op: str, x: Expr, y: Expr, dtype: DType) -> Value:
    least, _ = dtype.range
    if op != "ceildiv" and y.const is not None and int(y.const) & (int(y.const) - 1) == 0 and y.const > 0:
        # Shifts and masks round down as they are.
        shift, mask = (typed_constant(n, dtype).value for n in (int(y.const).bit_length() - 1, int(y.const) - 1))
        if op == "mod":
            return emit("arith.andi", [x.value, mask], dtype.mlir)
        return emit("arith.shrsi", [x.value, shift], dtype.mlir)
    by_zero, overflows = 0 in y.range, -1 in y.range and least in x.range
    one, zero, minus_one = (typed_constant(n, dtype) for n in (1, 0, -1))
    divisor, special = y.value, None
    if by_zero and overflows:
        shifted = _int_binary("add", y, one, dtype)  # 0 and -1 become 1 and 0
        special = emit_compare("ule", shifted.value, one.value)
    elif by_zero or overflows:
        special = emit_compare("eq", y.value, (zero if by_zero else minus_one).value)
    if special is not None:
        divisor = emit_select(special, one.value, y.value)
    if op == "mod":
        return _floor_mod(x.value, divisor, y, dtype)  # by one it is 0
    result = emit(f"arith.{_SIGNED_OPS[op]}", [x.value, divisor], dtype.mlir)
    if special is None:
        return result
    if not overflows:
        return emit_select(special, zero.value, result)
    # Minus x where the divisor is -1, and 0 where it is 0.
    opposite = _int_binary("sub", zero, x, dtype)
    return emit_select(special, emit("arith.andi", [y.value, opposite.value], dtype.mlir), result)


def _floor_mod(x: Value, divisor: Value, y: Expr, dtype: DType) -> Value:
    """Emits Python's `%`, whose result has the sign of the divisor."""
    remainder = emit("arith.remsi", [x, divisor], dtype.mlir)
    zero = typed_constant(0, dtype).value
    is_wrong = emit_compare("slt", remainder, zero)
    if y.range.low < 0:
        differs = emit("arith.xori", [is_wrong, emit_compare("slt", divisor, zero)], "i1")
        is_wrong = emit("arith.andi", [differs, emit_compare("ne", remainder, zero)], "i1")
    return emit_select(is_wrong, emit("arith.addi", [remainder, divisor], dtype.mlir), remainder)


# Shifts --------------------------------------------------------------------------------------------------------------


def _shift_by_constant(op: str, x: Expr, amount: int, dtype: DType) -> Expr:
    """Emits a shift; a negative amount is a large one."""
    if not 0 <= amount < dtype.bits:
        if op == "shl" or not dtype.is_signed:
            return typed_constant(0, dtype)
        amount = dtype.bits - 1
    if op == "shl" and dtype is dtypes.index:
        return _typed("Expr", binary("mul", x, wrap(1 << amount, dtype)))
    return _emit_shift(op, x, typed_constant(amount, dtype), dtype)


def _shift(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    """Emits a shift by an amount that may be too large."""
    if dtype is dtypes.index:
        wide, amount = (_typed("Expr", cast(v, dtypes.int32)) for v in (x, y))
        return to_index(_shift(op, wide, amount, dtypes.int32))
    width = dtype.bits
    if y.range.within(Range(0, width - 1)):
        return _emit_shift(op, x, y, dtype)
    greatest, zero = (typed_constant(n, dtype) for n in (width - 1, 0))
    amount = Expr(emit("arith.minui", [y.value, greatest.value], dtype.mlir), dtype, bounds=Range(0, width - 1))
    shifted = _emit_shift(op, x, amount, dtype)
    if op == "shr" and dtype.is_signed:
        return shifted
    fits = emit_compare("ule", y.value, greatest.value)
    return Expr(emit_select(fits, shifted.value, zero.value), dtype, bounds=shifted.range.union(Range.of(0)))


def _emit_shift(op: str, x: Expr, amount: Expr, dtype: DType) -> Expr:
    name = "shli" if op == "shl" else (_SIGNED_OPS if dtype.is_signed else _UNSIGNED_OPS)[op]
    known = combine(op, x.range, amount.range) or type_range(dtype)
    value = emit(f"arith.{name}", [x.value, amount.value], dtype.mlir)
    return Expr(value, dtype, bounds=wrapped(known, type_range(dtype)))


# Other functions of scalars ------------------------------------------------------------------------------------------


def _power(a: Number | Expr, b: Number | Expr, dtype: DType) -> Any:
    exponent = b.const if isinstance(b, Expr) else b
    if isinstance(exponent, int) and 1 <= exponent <= 4:
        result: Any = a
        for _ in range(exponent - 1):
            result = binary("mul", result, a)
        return result
    if not dtype.is_float:
        raise DTypeError("`**` of integers needs a constant exponent from 1 to 4", location=place())
    x, y = _operand(a, dtype), _operand(b, dtype)
    return Expr(emit("math.powf", [x.value, y.value], dtype.mlir), dtype)


def difference(a: Any, b: Any) -> int | None:
    """Returns `a - b` if it is the same whatever the values are, else None."""
    return _constant_of(_linear_of(a).plus(_linear_of(b), -1))


def is_as_far(first: Any, last: Any, other_first: Any, other_last: Any) -> bool:
    """Returns whether two distances are seen to be the same one: from `first` to `last`, and from other to other."""
    distance, other = (_linear_of(b).plus(_linear_of(a), -1) for a, b in ((first, last), (other_first, other_last)))
    return _constant_of(distance.plus(other, -1)) == 0


def _constant_of(result: Linear) -> int | None:
    """Returns the number that a sum is if its values cancel out, else None."""
    if not result.terms:
        return result.const
    left: dict[Value, int] = {}
    for value, count in result.terms.items():
        same = next((other for other in left if _is_computed_again(other, value)), value)
        left[same] = left.get(same, 0) + count
    return None if any(left.values()) else result.const


def _is_computed_again(first: Value, second: Value) -> bool:
    """Returns whether two values are one expression of the same values, such as `k // 3`, written twice."""
    if first is second:
        return True
    made, again = _maker(first), _maker(second)
    if made is None or again is None or made.name != again.name or len(made.operands) != len(again.operands):
        return False
    if made.name == "tl.load":
        return _is_read_again(made, again, first.block)
    is_alike = made.properties == again.properties and made.attributes == again.attributes
    is_pure = made.name.startswith("arith.") and first.type == second.type
    return is_pure and is_alike and all(map(_is_computed_again, made.operands, again.operands))


def _maker(value: Value) -> Op | None:
    """Returns the operation whose only result a value is."""
    return next((op for op in value.block.ops if op.results == (value,)), None)


def _is_read_again(first: Op, second: Op, block: Block) -> bool:
    """Returns whether two reads are of one element, in one block, between which nothing is written."""
    if first not in block.ops or second not in block.ops:
        return False
    begin, end = sorted(map(block.ops.index, (first, second)))
    is_one_element = all(map(_is_computed_again, first.operands, second.operands))
    return is_one_element and all(op.name.startswith(("arith.", "tl.load")) for op in block.ops[begin:end])


def _linear_of(value: Any) -> Linear:
    number = simplify(value)
    return number.linear if isinstance(number, Expr) else Linear(int(number), {})


def condition(value: Any) -> bool | Expr:
    """Returns a truth value: Python's if it is known now, else an `Expr` of type `bool`."""
    if not isinstance(value, Operators):
        return bool(value)
    number = simplify(value)
    if not isinstance(number, Expr):
        return bool(number)
    if number.const is not None:
        return bool(number.const)
    if number.dtype.kind == "bool":
        return number
    return _typed("Expr", binary("ne", number, 0))


def truth(value: Any) -> bool:
    """Implements Python's `bool()` of a value, which is an error unless the value is known now."""
    found = condition(value)
    if isinstance(found, bool):
        return found
    raise unsupported(
        "this condition is known only when the kernel runs, and plain Python asks for it now: in a `@T.prim_func` or "
        "`@T.macro` use `if`, `and`, `or` and `not`; elsewhere use `with T.If(...)`, `T.if_then_else`, `&` and `|`"
    )


def refuse(value: Any, what: str, instead: str) -> NoReturn:
    """Raises the error that a number which is known only when the kernel runs is to Python."""
    simplify(value)  # what a construct lost says so itself
    raise unsupported(
        f"{what} needs a number that is known now, and `{value!r}` is known only when the kernel runs: {instead}"
    )


def select(chosen: Any, a: Any, b: Any) -> Any:
    """Returns `a` where the condition holds and `b` elsewhere; both are computed."""
    where = condition(chosen)
    if isinstance(where, bool):
        return beside(a, b) if where else beside(b, a)
    x, y = unify(a, b)
    value = emit_select(where.value, x.value, y.value)
    return Expr(value, x.dtype, bounds=x.range.union(y.range) if x.dtype.is_integer else None)


def beside(value: Any, other: Any) -> Any:
    """Returns a number in the type of two: what is known of a condition changes no type. Python's stay as they are."""
    x, y = simplify(value), simplify(other)
    return _operand(x, common_type(x, y)) if isinstance(x, Expr) or isinstance(y, Expr) else x


def as_chosen(value: Any, other: Any) -> Any:
    """Returns one of two numbers as a choice while the kernel runs would give it, also of two of Python's."""
    found = beside(value, other)
    builder = current_or_none()
    if isinstance(found, Expr) or builder is None or builder.kernel_block is None:
        return found
    dtype = common_type(value, other)
    if dtype.is_integer and not dtype.range[0] <= found <= dtype.range[1]:
        return found
    constant = typed_constant(found, dtype)
    constant.is_found = True
    return constant


def unify(left: Any, right: Any) -> tuple[Expr, Expr]:
    """Returns two numbers as values of one type."""
    a, b = simplify(left), simplify(right)
    dtype = common_type(a, b)
    return _operand(a, dtype), _operand(b, dtype)


def common_type(left: Any, right: Any) -> DType:
    """Returns the type that can stand for both of two numbers."""
    a, b = simplify(left), simplify(right)
    if isinstance(a, Expr) and isinstance(b, Expr) and a.dtype == b.dtype:
        return a.dtype
    if isinstance(a, Expr) or isinstance(b, Expr):
        return _common_type("select", a, b)
    return usual_type(a + 0.0 if isinstance(b, float) else a)


def negative(value: Any) -> Any:
    """Returns `-value`."""
    number = simplify(value)
    if not isinstance(number, Expr) or not number.dtype.is_float:
        return binary("sub", 0, number)
    if number.const is not None:
        return expr(-number.const, number.dtype)
    if has_few_bits(number.dtype):
        return exactly(negative, number)
    dtype = _arithmetic_type("sub", number.dtype)
    return Expr(emit("arith.negf", [expr(number, dtype).value], dtype.mlir), dtype)


def absolute(value: Any) -> Any:
    """Returns the absolute value."""
    number = simplify(value)
    if not isinstance(number, Expr):
        return abs(number)
    if has_few_bits(number.dtype):
        return exactly(absolute, number)
    dtype = _arithmetic_type("sub", number.dtype, "T.abs")
    if dtype.kind in ("uint", "bool"):
        return number
    if dtype.is_float:
        return Expr(emit("math.absf", [number.value], dtype.mlir), dtype)
    least, greatest = dtype.range
    result = _typed("Expr", binary("max", number, binary("sub", 0, number)))
    return result.assume(Range(0, greatest)) if least not in number.range else result


def is_for_tilelang() -> bool:
    """Returns whether a program is being built that means what TileLang's do."""
    builder = current_or_none()
    return builder is not None and builder.for_tilelang


_TO_INTEGERS = ("ceil", "floor", "roundeven", "trunc")
"""Functions that give an integer near a number: in types of few bits one of the type's own."""


def float_function(name: str, value: Any, python: Callable[[float], float]) -> Any:
    """Returns the `math` dialect's function `name` of a float."""
    number = simplify(value)
    if not isinstance(number, Expr):
        try:
            return python(float(number))
        except (ValueError, ArithmeticError) as error:
            raise RangeError(f"`T.{name}({number!r})`: {error}", location=place()) from None
    if not number.dtype.is_float:
        raise DTypeError(
            f"`T.{name}` needs a float, and this is `{number.dtype}`: convert it with `.astype(...)`", location=place()
        )
    if name in _TO_INTEGERS and has_few_bits(number.dtype):
        return exactly(lambda wide: float_function(name, wide, python), number)
    dtype = _arithmetic_type("mul", number.dtype, f"T.{'round' if name == 'roundeven' else name}")
    return Expr(emit(f"math.{name}", [expr(number, dtype).value], dtype.mlir), dtype)
