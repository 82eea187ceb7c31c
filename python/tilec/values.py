"""Scalar values and their arithmetic.

An `Expr` is a number that is known when the kernel runs. Python's own numbers are known when the kernel is built: they
are computed at once, and take the type of the `Expr` that they meet. Coordinates, loop variables and extents have the
type `index`; as data they are 32-bit integers.
"""

from __future__ import annotations

import math
import operator

from . import dtypes
from .builder import current, current_or_none, unsupported
from .errors import DTypeError, RangeError, ShapeError
from .location import here
from .operators import Operators
from .typed import TYPE_CHECKING
from .typed import cast as _typed
from .types import Const, Lost, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .dtypes import DType
    from .ir import Value

Number = int | float | bool


class Expr(Operators):
    """A scalar of a known type: a value of the kernel, or a constant that has been given a type."""

    __slots__ = ("_linear", "_value", "const", "dtype", "nonnegative")

    def __init__(
        self,
        value: Value | None,
        dtype: DType = dtypes.index,
        *,
        const: Number | None = None,
        nonnegative: bool = False,
        linear: Linear | None = None,
    ) -> None:
        self._value = value
        self.dtype = dtype
        self.const = const
        self.nonnegative = nonnegative if const is None else const >= 0
        self._linear = linear

    @property
    def value(self) -> Value:
        """The value in the IR; constants are made when they are asked for."""
        if self.const is not None:
            return _constant(self.const, self.dtype)
        return _typed("Value", self._value)

    @property
    def linear(self) -> Linear:
        """The value as a sum of multiples of other values."""
        if self._linear is None:
            return Linear(0, {self.value: 1})
        return self._linear

    def replace(self, other: Expr) -> None:
        """Makes this the same value as `other`, for everybody who holds it."""
        self._value, self._linear = other._value, other._linear

    def __repr__(self) -> str:
        if self.const is not None:
            return f"{self.dtype!r}({self.const})"
        hint = self.value.hint
        return f"<{self.dtype} value{f' {hint}' if hint else ''}>"


class Linear:
    """A sum of multiples of values and a constant; finds the extents of slices such as `[i * 8 : (i + 1) * 8]`."""

    __slots__ = ("const", "terms")

    def __init__(self, const: int, terms: dict[Value, int]) -> None:
        self.const = const
        self.terms = terms

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for value, count in other.terms.items():
            terms[value] = terms.get(value, 0) + factor * count
        return Linear(self.const + factor * other.const, {v: n for v, n in terms.items() if n})

    def times(self, factor: int) -> Linear:
        return Linear(self.const * factor, {v: n * factor for v, n in self.terms.items()})


# Conversions between Python's numbers and values ---------------------------------------------------------------------


def simplify(value: Any) -> Number | Expr:
    """Returns `value` as a Python number if it is known now, else as an `Expr`; raises if it is not a number at all."""
    if isinstance(value, Expr | bool | int | float):
        return value
    if isinstance(value, Symbol):
        return current().dim(value)
    if isinstance(value, Const):
        return current().dim(value.value) if isinstance(value.value, Symbol) else value.__index__()
    if isinstance(value, Lost):
        value.fail()
    if isinstance(value, Scalar):
        return value.load()
    if hasattr(value, "__index__"):
        return int(value.__index__())
    if hasattr(value, "__float__") and not isinstance(value, str):
        return float(value)
    raise DTypeError(f"a number is needed here, not `{value!r}`", location=_here())


class Scalar(Operators):
    """Something that is not a value but can be read as one."""

    __slots__ = ()

    def load(self) -> Expr:
        raise NotImplementedError


def _here() -> Any:
    builder = current_or_none()
    return builder.here() if builder else here()


def static_int(value: Any, what: str) -> int:
    """Returns an integer that must be known when the kernel is built."""
    number = simplify(value)
    if isinstance(number, Expr):
        number = number.const if number.const is not None else number
    if isinstance(number, bool) or not isinstance(number, int):
        raise ShapeError(f"{what} must be an integer that is known when the kernel is built", location=_here())
    return number


def known(value: Any) -> Number | None:
    """Returns the number that `value` is known to be, or None."""
    number = simplify(value)
    return number.const if isinstance(number, Expr) else number


def expr(value: Any, dtype: DType | None = None) -> Expr:
    """Returns `value` as an `Expr`; Python's numbers get the type `dtype`, or their usual one."""
    number = simplify(value)
    if isinstance(number, Expr):
        return number if dtype is None else _typed("Expr", cast(number, dtype))
    return typed_constant(number, dtype or _usual_type(number))


def index_value(value: Any, what: str = "an index") -> Value:
    """Returns `value` as a value of type `index`."""
    number = simplify(value)
    if isinstance(number, float) or (isinstance(number, Expr) and not number.dtype.is_integer):
        raise DTypeError(f"{what} must be an integer, not `{number!r}`", location=_here())
    return to_index(number).value


def to_index(value: Any) -> Expr:
    """Returns an integer as an `Expr` of type `index`."""
    number = simplify(value)
    if not isinstance(number, Expr):
        return Expr(None, const=int(number))
    if number.dtype is dtypes.index:
        return number
    if number.const is not None:
        return Expr(None, const=int(number.const))
    name = "arith.index_cast" if number.dtype.is_signed else "arith.index_castui"
    value = current().emit(name, [number.value], ["index"]).results[0]
    return Expr(value, nonnegative=number.nonnegative or not number.dtype.is_signed, linear=number._linear)


def _usual_type(number: Number) -> DType:
    if isinstance(number, bool):
        return dtypes.bool_
    if isinstance(number, int):
        return dtypes.int32 if -(1 << 31) <= number < 1 << 31 else dtypes.int64
    return dtypes.float32


def typed_constant(number: Number, dtype: DType) -> Expr:
    """Returns a Python number as a constant of a type, or raises if the type cannot hold it."""
    if dtype.is_float:
        if not _fits_float(float(number), dtype):
            raise RangeError(f"{number!r} is too large for `{dtype}`", location=_here())
        return Expr(None, dtype, const=float(number))
    if isinstance(number, float):
        if not number.is_integer():
            raise RangeError(f"{number!r} is not an integer, and `{dtype}` holds integers only", location=_here())
        number = int(number)
    low, high = dtype.range
    if not low <= number <= high:
        raise RangeError(f"{number} does not fit into `{dtype}`", location=_here())
    return Expr(None, dtype, const=bool(number) if dtype.kind == "bool" else int(number))


# The greatest finite number, and the bits of infinity and of a NaN.
_FLOATS: dict[str, tuple[float, str, str]] = {
    "f8E4M3FN": (448.0, "", "0x7F"),
    "f8E5M2": (57344.0, "0x7C", "0x7E"),
    "f16": (65504.0, "0x7C00", "0x7E00"),
    "bf16": (3.3895313892515355e38, "0x7F80", "0x7FC0"),
    "f32": (3.4028234663852886e38, "0x7F800000", "0x7FC00000"),
    "f64": (1.7976931348623157e308, "0x7FF0000000000000", "0x7FF8000000000000"),
}


def _fits_float(number: float, dtype: DType) -> bool:
    greatest, infinity, _ = _FLOATS[dtype.mlir]
    if math.isinf(number):
        return bool(infinity)
    return math.isnan(number) or abs(number) <= greatest


def greatest(dtype: DType) -> Number:
    """Returns the greatest finite number of a type."""
    return _FLOATS[dtype.mlir][0] if dtype.is_float else dtype.range[1]


def least(dtype: DType) -> Number:
    """Returns the least finite number of a type."""
    return -_FLOATS[dtype.mlir][0] if dtype.is_float else dtype.range[0]


def _constant(number: Number, dtype: DType) -> Value:
    if dtype.kind == "bool":
        literal = "true" if number else "false"
    elif dtype.is_float:
        literal = _float_literal(float(number), dtype)
    else:
        # Attributes of signless integers are read as signed.
        integer = int(number)
        literal = str(integer - (1 << dtype.bits) if integer >= 1 << (dtype.bits - 1) else integer)
    return current().constant(literal, dtype.mlir)


def _float_literal(number: float, dtype: DType) -> str:
    _, infinity, nan = _FLOATS[dtype.mlir]
    if math.isfinite(number):
        text = repr(number)
        return text if "." in text else f"{number:.17e}"
    bits = nan if math.isnan(number) else infinity
    if number < 0:
        bits = f"0x{int(bits, 16) | 1 << (dtype.bits - 1):0{dtype.bits // 4}X}"
    return bits


# Conversion of types -------------------------------------------------------------------------------------------------


def cast(value: Any, dtype: Any) -> Any:
    """Converts a number to a type: integers wrap, floats round to nearest even, floats to integers towards zero."""
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
        return _cast_constant(number.const, target)
    if source.mlir == target.mlir:
        return Expr(number.value, target)
    if target is dtypes.index:
        return to_index(number)
    return _emit_cast(number, target)


def _cast_constant(number: Number, target: DType) -> Expr:
    if target.is_float:
        if target.mlir == "f32" and math.isfinite(number) and _fits_float(float(number), target):
            import struct

            number = struct.unpack("f", struct.pack("f", number))[0]
        return typed_constant(number, target)
    integer = int(number)
    if target.kind == "bool":
        return typed_constant(bool(number), target)
    low, _ = target.range
    return typed_constant((integer - low) % (1 << target.bits) + low, target)


def _emit_cast(number: Expr, target: DType) -> Expr:
    source = number.dtype
    if target.kind == "bool":
        return _typed("Expr", binary("ne", number, 0))
    if source is dtypes.index and not target.is_integer:
        number = _typed("Expr", cast(number, dtypes.int32))
        source = number.dtype
    name = _cast_name(source, target)
    result = current().emit(name, [number.value], [target.mlir]).results[0]
    same = source.is_integer and target.is_integer and target.bits >= 32
    return Expr(
        result,
        target,
        nonnegative=same and number.nonnegative,
        linear=number.linear if same and source.is_integer else None,
    )


def _cast_name(source: DType, target: DType) -> str:
    if source is dtypes.index:
        return "arith.index_cast"
    if source.is_float and target.is_float:
        if source.bits == target.bits:
            raise DTypeError(f"no conversion from `{source}` to `{target}`: go through `float32`", location=_here())
        return "arith.extf" if source.bits < target.bits else "arith.truncf"
    if source.is_float:
        return "arith.fptosi" if target.is_signed else "arith.fptoui"
    if target.is_float:
        return "arith.sitofp" if source.is_signed else "arith.uitofp"
    if source.bits > target.bits:
        return "arith.trunci"
    return "arith.extsi" if source.is_signed else "arith.extui"


# Arithmetic ----------------------------------------------------------------------------------------------------------

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
    "min": "min", "max": "max", "ceildiv": "ceildiv",
}  # fmt: skip

_COMPARE_INT = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_COMPARE_FLOAT = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
_FLOAT_OPS = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "min": "minimumf", "max": "maximumf"}
_INT_OPS = {"add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori", "shl": "shli"}
_SIGNED_OPS = {"min": "minsi", "max": "maxsi", "shr": "shrsi", "floordiv": "floordivsi", "ceildiv": "ceildivsi"}
_UNSIGNED_OPS = {
    "min": "minui", "max": "maxui", "shr": "shrui", "floordiv": "divui", "ceildiv": "ceildivui", "mod": "remui",
}  # fmt: skip


def binary(op: str, left: Any, right: Any) -> Any:
    """Returns `left op right`; both known numbers give a number."""
    a, b = simplify(left), simplify(right)
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return _fold(op, a, b)
    dtype = _common_type(op, a, b)
    x, y = (v.const if isinstance(v, Expr) else v for v in (a, b))
    if x is not None and y is not None and not (op == "div" and dtype.is_integer):
        result = _fold(op, x, y)
        return result if op in _COMPARE_INT else typed_constant(result, dtype)
    if (known_result := _identity(op, a, b, dtype)) is not None:
        return known_result
    if op == "pow":
        return _power(a, b, dtype)
    left_value, right_value = _operand(a, dtype), _operand(b, dtype)
    if op in _COMPARE_INT:
        return _compare(op, left_value, right_value, dtype)
    if dtype.is_float:
        return _float_binary(op, left_value, right_value, dtype)
    return _int_binary(op, left_value, right_value, dtype)


def _fold(op: str, a: Number, b: Number) -> Any:
    try:
        return _PYTHON[op](a, b)
    except ZeroDivisionError:
        raise RangeError(f"`{a} {_SYMBOL[op]} {b}` divides by zero", location=_here()) from None


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
        return dtypes.index
    if x.kind == "bool" or y.kind == "bool":
        return y if x.kind == "bool" else x
    if x.bits != y.bits:
        return _arithmetic_type(op, x if x.bits > y.bits else y)
    raise DTypeError(
        f"`{_SYMBOL[op]}` of `{x}` and `{y}` has no obvious type: convert one side with `.astype(...)`",
        location=_here(),
    )


def _arithmetic_type(op: str, dtype: DType) -> DType:
    if dtype is dtypes.tfloat32:
        return dtypes.float32
    if dtype.is_float and dtype.bits == 8:
        raise DTypeError(
            f'`{_SYMBOL[op]}` does not work on `{dtype}`: convert it with `.astype("float32")`', location=_here()
        )
    return dtype


def _operand(value: Number | Expr, dtype: DType) -> Expr:
    if not isinstance(value, Expr):
        if dtype.kind == "bool" and value == -1:  # what `~` makes
            value = True
        return typed_constant(value, dtype)
    return to_index(value) if dtype is dtypes.index else _typed("Expr", cast(value, dtype))


def _identity(op: str, a: Number | Expr, b: Number | Expr, dtype: DType) -> Expr | int | None:
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
    if (op == "mul" and (x == 0 or y == 0)) or (op == "mod" and y == 1):
        return 0
    if op in ("floordiv", "ceildiv", "mod") and y == 0:
        raise RangeError(f"`{_SYMBOL[op]}` divides by zero", location=_here())
    return None


def _compare(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    if dtype.is_float:
        name, predicate = "arith.cmpf", _COMPARE_FLOAT[op]
    else:
        name, predicate = "arith.cmpi", _COMPARE_INT[op]
        if not dtype.is_signed and predicate >= 2:
            predicate += 4
    value = current().emit(name, [x.value, y.value], ["i1"], {"predicate": f"{predicate} : i64"}).results[0]
    return Expr(value, dtypes.bool_)


def _float_binary(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    if op not in _FLOAT_OPS:
        raise DTypeError(f"`{_SYMBOL[op]}` does not work on `{dtype}`; convert to an integer first", location=_here())
    return Expr(current().emit(f"arith.{_FLOAT_OPS[op]}", [x.value, y.value], [dtype.mlir]).results[0], dtype)


def _int_binary(op: str, x: Expr, y: Expr, dtype: DType) -> Any:
    if op == "div":
        raise DTypeError(
            "`/` of two integers: use `//` for the integer quotient, or convert one side with `.astype(...)`",
            location=_here(),
        )
    if op in ("floordiv", "ceildiv", "mod", "shr") and dtype.is_signed:
        return _signed_division(op, x, y, dtype)
    name = _INT_OPS.get(op) or (_SIGNED_OPS if dtype.is_signed else _UNSIGNED_OPS)[op]
    value = current().emit(f"arith.{name}", [x.value, y.value], [dtype.mlir]).results[0]
    nonnegative = op in ("add", "mul", "min", "max", "and") and x.nonnegative and y.nonnegative
    return Expr(value, dtype, nonnegative=nonnegative, linear=_linear(op, x, y))


def _signed_division(op: str, x: Expr, y: Expr, dtype: DType) -> Expr:
    nonnegative = x.nonnegative and y.nonnegative
    in_kernel = current().kernel_block is not None
    if nonnegative and in_kernel:
        name = _UNSIGNED_OPS[op]  # the same result, and no corrections for signs
    elif op != "mod":
        name = _SIGNED_OPS[op]
    elif nonnegative:
        name = "remsi"
    else:
        return _floor_mod(x, y, dtype)
    value = current().emit(f"arith.{name}", [x.value, y.value], [dtype.mlir]).results[0]
    return Expr(value, dtype, nonnegative=nonnegative)


def _floor_mod(x: Expr, y: Expr, dtype: DType) -> Expr:
    """Emits Python's `%`, whose result has the sign of the divisor."""
    remainder = Expr(current().emit("arith.remsi", [x.value, y.value], [dtype.mlir]).results[0], dtype)
    differs = binary("xor", binary("lt", remainder, 0), binary("lt", y, 0))
    wrong = binary("and", binary("ne", remainder, 0), differs)
    result = select(wrong, binary("add", remainder, y), remainder)
    result.nonnegative = y.nonnegative
    return result


def _linear(op: str, x: Expr, y: Expr) -> Linear | None:
    def of(e: Expr) -> Linear:
        return Linear(int(e.const), {}) if e.const is not None else e.linear

    if op == "add":
        return of(x).plus(of(y))
    if op == "sub":
        return of(x).plus(of(y), -1)
    if op == "mul" and y.const is not None:
        return of(x).times(int(y.const))
    if op == "mul" and x.const is not None:
        return of(y).times(int(x.const))
    return None


def _power(a: Number | Expr, b: Number | Expr, dtype: DType) -> Any:
    exponent = b.const if isinstance(b, Expr) else b
    if isinstance(exponent, int) and 1 <= exponent <= 4:
        result: Any = a
        for _ in range(exponent - 1):
            result = binary("mul", result, a)
        return result
    if not dtype.is_float:
        raise DTypeError("`**` of integers needs a constant exponent from 1 to 4", location=_here())
    x, y = _operand(a, dtype), _operand(b, dtype)
    return Expr(current().emit("math.powf", [x.value, y.value], [dtype.mlir]).results[0], dtype)


def difference(a: Any, b: Any) -> int | None:
    """Returns `a - b` if it is the same whatever the values are, else None."""
    x, y = to_index(a), to_index(b)
    left = Linear(int(x.const), {}) if x.const is not None else x.linear
    right = Linear(int(y.const), {}) if y.const is not None else y.linear
    result = left.plus(right, -1)
    return None if result.terms else result.const


# Other functions of scalars ------------------------------------------------------------------------------------------


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


def select(chosen: Any, a: Any, b: Any) -> Any:
    """Returns `a` where the condition holds and `b` elsewhere; both are computed."""
    where = condition(chosen)
    if isinstance(where, bool):
        return a if where else b
    x, y = unify(a, b)
    value = current().emit("arith.select", [where.value, x.value, y.value], [x.dtype.mlir]).results[0]
    return Expr(value, x.dtype, nonnegative=x.nonnegative and y.nonnegative)


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
    return _usual_type(a + 0.0 if isinstance(b, float) else a)


_SYMBOL["select"] = "if else"


def negative(value: Any) -> Any:
    """Returns `-value`."""
    number = simplify(value)
    if not isinstance(number, Expr) or number.const is not None or not number.dtype.is_float:
        return binary("sub", 0, number)
    dtype = _arithmetic_type("sub", number.dtype)
    return Expr(current().emit("arith.negf", [expr(number, dtype).value], [dtype.mlir]).results[0], dtype)


def absolute(value: Any) -> Any:
    """Returns the absolute value."""
    number = simplify(value)
    if not isinstance(number, Expr):
        return abs(number)
    dtype = _arithmetic_type("sub", number.dtype)
    if dtype.kind in ("uint", "bool"):
        return number
    if dtype.is_float:
        return Expr(current().emit("math.absf", [number.value], [dtype.mlir]).results[0], dtype)
    result = binary("max", number, binary("sub", 0, number))
    result.nonnegative = True
    return result


def float_function(name: str, value: Any, python: Callable[[float], float]) -> Any:
    """Returns the `math` dialect's function `name` of a float."""
    number = simplify(value)
    if not isinstance(number, Expr):
        try:
            return python(float(number))
        except (ValueError, OverflowError) as error:
            raise RangeError(f"`T.{name}({number!r})`: {error}", location=_here()) from None
    if not number.dtype.is_float:
        raise DTypeError(
            f"`T.{name}` needs a float, and this is `{number.dtype}`: convert it with `.astype(...)`", location=_here()
        )
    dtype = _arithmetic_type("mul", number.dtype)
    return Expr(current().emit(f"math.{name}", [expr(number, dtype).value], [dtype.mlir]).results[0], dtype)
