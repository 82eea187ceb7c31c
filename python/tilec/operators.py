"""Python's operators for everything that stands for a number in a kernel.

Symbols and element types are made of nothing but names, and yet take part in arithmetic. What an operator does is said
far above them, in `tilec.arithmetic`, which sees both operands, chooses the type, folds constants and emits operations;
`tilec.values` provides it here, so that nothing below has to know it.
"""

from __future__ import annotations

import sys

from .errors import AbsentNameError
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, Protocol

    class Arithmetic(Protocol):
        """What operators do."""

        def operate(self, op: str, left: Any, right: Any, /) -> Any: ...
        def binary(self, op: str, left: Any, right: Any, /) -> Any: ...
        def negative(self, value: Any, /) -> Any: ...
        def absolute(self, value: Any, /) -> Any: ...
        def cast(self, value: Any, dtype: Any, /) -> Any: ...
        def truth(self, value: Any, /) -> bool: ...
        def is_for_tilelang(self) -> bool: ...
        def refuse(self, value: Any, what: str, instead: str, /) -> NoReturn: ...

        def select(self, chosen: Any, a: Any, b: Any, /) -> Any: ...


class _Absent:
    """What operators do before anything was provided: they say what is missing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("numbers of a kernel are computed with once `tilec.language` is imported")


arithmetic = cast("Arithmetic", _Absent())


def provide(implementation: Arithmetic) -> None:
    """Says what operators do from now on."""
    global arithmetic
    arithmetic = implementation


def _no_variable(dtype: Any, /) -> Any:
    raise RuntimeError("variables of types are made once `tilec.compat.tilelang` is imported")


make_variable: Callable[[Any], Any] = _no_variable
"""What `T.int32()` makes in a program that means what TileLang's do."""


def provide_variables(make: Callable[[Any], Any]) -> None:
    """Says what makes variables of types from now on."""
    global make_variable
    make_variable = make


_NUMPY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "floor_divide": "floordiv", "remainder": "mod", "power": "pow", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "left_shift": "shl", "right_shift": "shr", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne", "maximum": "max", "minimum": "min",
}  # fmt: skip
"""The operators that NumPy's functions are."""


_INSTEAD = {
    "to": "use `.astype(dtype)`",
    "float": 'use `.astype("float32")`',
    "half": 'use `.astype("float16")`',
    "int": 'use `.astype("int32")`',
    "item": "it is a number only when the kernel runs",
    "relu": "use `T.max(x, 0)`",
}
"""What to write in place of methods that numbers of other libraries have."""


def _instead(name: str) -> str:
    language = sys.modules.get("tilec.language")
    if name in _INSTEAD or language is None or not callable(vars(language).get(name)):
        return _INSTEAD.get(name, "it has `dtype` and `astype`")
    return f"use `T.{name}(x)`"


class Operators:
    """Mixin: arithmetic, comparison and bit operators that build operations."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> NoReturn:
        raise AbsentNameError(lambda: f"a value of the kernel has no `{name}`: {_instead(name)}")

    def __add__(self, other: Any) -> Any:
        return arithmetic.operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return arithmetic.operate("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return arithmetic.operate("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return arithmetic.operate("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return arithmetic.operate("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return arithmetic.operate("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return arithmetic.operate("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return arithmetic.operate("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return arithmetic.operate("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return arithmetic.operate("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return arithmetic.operate("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return arithmetic.operate("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return arithmetic.operate("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return arithmetic.operate("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return arithmetic.operate("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return arithmetic.operate("and", other, self)

    def __or__(self, other: Any) -> Any:
        return arithmetic.operate("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return arithmetic.operate("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return arithmetic.operate("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return arithmetic.operate("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return arithmetic.operate("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return arithmetic.operate("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return arithmetic.operate("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return arithmetic.operate("shr", other, self)

    def __neg__(self) -> Any:
        return arithmetic.negative(self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return arithmetic.binary("xor", self, -1)

    def __abs__(self) -> Any:
        return arithmetic.absolute(self)

    def __lt__(self, other: Any) -> Any:
        return arithmetic.operate("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return arithmetic.operate("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return arithmetic.operate("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return arithmetic.operate("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return arithmetic.operate("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return arithmetic.operate("ne", self, other)

    def astype(self, dtype: Any) -> Any:
        """Returns the value converted to `dtype`."""
        return arithmetic.cast(self, dtype)

    def __bool__(self) -> bool:
        return arithmetic.truth(self)

    # What Python asks for now, and is known only when the kernel runs.

    def __float__(self) -> NoReturn:
        arithmetic.refuse(
            self,
            "`float(...)`, or a function of `math`,",
            'convert it with `.astype("float32")`, or use `T.exp` and the like',
        )

    def __int__(self) -> NoReturn:
        arithmetic.refuse(self, "`int(...)`", 'convert it with `.astype("int32")`')

    def __index__(self) -> int:
        arithmetic.refuse(
            self,
            "an index of Python's lists and arrays, or a bound of `range`",
            "take elements of a tensor or of `T.alloc_local`, and write `T.serial(...)` for the loop",
        )

    def __round__(self, digits: Any = None) -> NoReturn:
        arithmetic.refuse(self, "`round(...)`", "use `T.round`")

    def __iter__(self) -> Any:
        arithmetic.refuse(self, "several names, or a loop", "one number is here: give it one name")

    def __format__(self, form: str) -> str:
        if not form:
            return str(self)
        arithmetic.refuse(self, f"a text by `:{form}`", "write it to a tensor and look at it after the call")

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """Leaves the operators of NumPy's scalars to us, and refuses NumPy's functions."""
        op = _NUMPY.get(function.__name__)
        if (
            method == "__call__"
            and op is not None
            and len(inputs) == 2
            and not any(getattr(i, "ndim", 0) for i in inputs)
        ):
            return arithmetic.operate(op, *(i.item() if hasattr(i, "item") else i for i in inputs))
        arithmetic.refuse(
            self, f"NumPy's `{function.__name__}`", "use functions of the language, such as `T.exp`, on each element"
        )
