"""Scalar values: numbers that are known when the kernel runs.

Python's own numbers are known when the kernel is built: they are computed at once, and take the type of the `Expr` that
they meet. Coordinates, loop variables and extents have the type `index`; as data they are 32-bit integers.
"""

from __future__ import annotations

import math

from . import dtypes
from .builder import advice, current, current_or_none
from .constants import Number, fits_float, literal, rounded
from .errors import DTypeError, RangeError, ShapeError, TLSyntaxError
from .location import here
from .operators import Operators
from .ranges import Range
from .typed import TYPE_CHECKING
from .typed import cast as _typed
from .types import Const, Symbol

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .dtypes import DType
    from .ir import Value
    from .location import Location


class Expr(Operators):
    """A scalar of a known type: a value of the kernel, or a constant that has been given a type.

    `range` is what is known of an integer; its type's range if nothing is. `is_found` says of a constant that it came
    of a value of the kernel, as that of `x * 0` does, and that the program does not write it.
    """

    __slots__ = ("_linear", "_range", "_value", "const", "dtype", "extent", "is_found")

    def __init__(
        self,
        value: Value | None,
        dtype: DType = dtypes.index,
        *,
        const: Number | None = None,
        bounds: Range | None = None,
        linear: Linear | None = None,
        is_found: bool = False,
    ) -> None:
        self._value = value
        self.dtype = dtype
        self.const = const
        self._range = bounds
        self._linear = linear
        self.is_found = is_found
        self.extent: Symbol | None = None
        """What it is to calls that allocate a tensor of this extent, for what is known before a kernel begins."""

    @property
    def value(self) -> Value:
        """The value in the IR; constants are made when they are asked for."""
        if self.const is not None:
            return current().constant(literal(self.const, self.dtype), self.dtype.mlir)
        return _typed("Value", self._value)

    @property
    def range(self) -> Range:
        """Bounds of the value of an integer."""
        if self.const is not None:
            return Range.of(int(self.const))
        return self._range or type_range(self.dtype)

    @property
    def linear(self) -> Linear:
        """The value as a sum of multiples of other values."""
        if self.const is not None:
            return Linear(int(self.const), {})
        if self._linear is None:
            return Linear(0, {self.value: 1})
        return self._linear

    def replace(self, other: Expr) -> None:
        """Makes this the same value as `other`, for everybody who holds it."""
        self._value, self._linear, self._range = other._value, other._linear, other._range

    def assume(self, bounds: Range) -> Expr:
        """Returns the same value, of which the caller knows more."""
        if self.const is not None:
            return self
        return Expr(self._value, self.dtype, bounds=self.range.clamped(bounds), linear=self._linear)

    @property
    def is_of_kernel(self) -> bool:
        """Whether it is a value of the kernel, or came of one."""
        return self.const is None or self.is_found

    def __repr__(self) -> str:
        if self.const is not None:
            return f"{self.dtype!r}({self.const})"
        hint = self.value.hint
        return f"<{self.dtype} value{f' {hint}' if hint else ''}>"


def type_range(dtype: DType) -> Range:
    """Returns all that an integer type holds."""
    return Range(*dtype.range)


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


class Scalar(Operators):
    """Something that is not a value but can be read as one."""

    __slots__ = ()

    if TYPE_CHECKING:

        def load(self) -> Expr:
            """Returns its present value; what inherits says how."""
            ...


class Lost(Operators):
    """What a name is after a construct of the kernel in which it was assigned: nothing that can be used."""

    def __init__(self, name: str, construct: str, location: Location | None) -> None:
        self._name = name
        self._construct = construct
        self._location = location

    def __repr__(self) -> str:
        return f"{self._name}, assigned inside {self._construct}"

    def fail(self) -> NoReturn:
        """Raises the error that any use is."""
        where = f" (line {self._location.line})" if self._location else ""
        remedy = f"make it before with `{self._name} = T.alloc_var(dtype, value)` to carry a value out"
        raise TLSyntaxError(
            f"`{self._name}` was assigned inside {self._construct} of the kernel{where} and has no single value here; "
            f"{advice(self._construct, remedy)}",
            location=current().here(),
        )

    def __getitem__(self, item: Any) -> NoReturn:
        self.fail()

    def __setitem__(self, item: Any, value: Any) -> NoReturn:
        self.fail()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.fail()

    def __iter__(self) -> Any:
        self.fail()

    def __enter__(self) -> NoReturn:
        self.fail()

    def __exit__(self, *_: object) -> None:
        pass


def shortened(value: object) -> str:
    """Returns what a value looks like, in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def place() -> Any:
    """Returns the place in the user's program that is being executed."""
    builder = current_or_none()
    return builder.here() if builder else here()


_NOT_NUMBERS: dict[type[object], str] = {
    type(Ellipsis): "; write `:` for each dimension that is taken whole",
    tuple: "; where one name holds several numbers give each a name of its own, as in "
    "`for i, j in T.Parallel(m, n)` and `with T.Kernel(m, n) as (bx, by)`",
}
"""What to write for what is no number."""


def simplify(value: Any) -> Number | Expr:
    """Returns `value` as a Python number if it is known now, else as an `Expr`; raises if it is not a number at all."""
    if isinstance(value, Expr | bool | int | float):
        return value
    if isinstance(value, Symbol):
        return _symbol(value)
    if isinstance(value, Const):
        return _symbol(value.value) if isinstance(value.value, Symbol) else value.__index__()
    if isinstance(value, Lost):
        value.fail()
    if isinstance(value, Scalar):
        return value.load()
    if hasattr(value, "__index__"):
        return int(value.__index__())
    if hasattr(value, "__float__") and not isinstance(value, str):
        return float(value)
    remedy = next((text for kind, text in _NOT_NUMBERS.items() if issubclass(type(_typed("object", value)), kind)), "")
    remedy = getattr(value, "number_instead", remedy)
    raise DTypeError(f"a number is needed here, not `{shortened(value)}`{remedy}", location=place())


def _symbol(symbol: Symbol) -> Expr:
    builder = current_or_none()
    if builder is None:
        raise ShapeError(
            f"`{symbol}` has no value before a kernel is called: outside of a function symbols take part in extents, "
            f"by `+`, `-`, `*`, `//`, `%`, `T.ceildiv`, `T.min` and `T.max`, and in nothing else",
            location=here(),
        )
    value, bounds = builder.dim(symbol)
    found = Expr(value, bounds=bounds)
    if builder.kernel_block is None:
        found.extent = symbol
    return found


def static_int(value: Any, what: str) -> int:
    """Returns an integer that must be known when the kernel is built."""
    if value is None or isinstance(value, str | list | tuple | dict):
        raise ShapeError(
            f"{what} must be an integer that is known when the kernel is built, not `{value!r}`", location=place()
        )
    number = known(value)
    if isinstance(number, bool) or not isinstance(number, int):
        said = f"{what} must be an integer that is known when the kernel is built, and `{shortened(value)}` is not"
        is_known = isinstance(number, int | float)
        remedy = "divide with `//`" if is_known else "take a fixed size, and a loop or the grid for the rest"
        raise ShapeError(f"{said}: {remedy}", location=place())
    return number


def known(value: Any) -> Number | None:
    """Returns the number that `value` is known to be, or None."""
    number = simplify(value)
    return number.const if isinstance(number, Expr) else number


def usual_type(number: Number) -> DType:
    """Returns the type that a Python number takes if nothing else says."""
    if isinstance(number, bool):
        return dtypes.bool_
    if isinstance(number, int):
        return dtypes.int32 if -(1 << 31) <= number < 1 << 31 else dtypes.int64
    return dtypes.float32


def typed_constant(number: Number, dtype: DType) -> Expr:
    """Returns a Python number as a constant of a type, or raises if the type cannot hold it."""
    if dtype.is_float:
        if not _fits(number, dtype):
            raise RangeError(f"{number!r} is too large for `{dtype}`", location=place())
        return Expr(None, dtype, const=rounded(float(number), dtype))
    if isinstance(number, float):
        if not math.isfinite(number) or not number.is_integer():
            raise RangeError(f"{number!r} is not an integer, and `{dtype}` holds integers only", location=place())
        number = int(number)
    low, high = dtype.range
    if not low <= number <= high:
        raise RangeError(f"{number} does not fit into `{dtype}`", location=place())
    return Expr(None, dtype, const=bool(number) if dtype.kind == "bool" else int(number))


def _fits(number: Number, dtype: DType) -> bool:
    try:
        return fits_float(float(number), dtype)
    except OverflowError:
        return False
