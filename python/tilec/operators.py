"""Python's operators for everything that stands for a number in a kernel.

Symbols and element types are made of nothing but names, and yet take part in arithmetic. What an operator does is said
far above them, in `tilec.arithmetic`, which sees both operands, chooses the type, folds constants and emits operations;
`tilec.values` provides it here, so that nothing below has to know it.
"""

from __future__ import annotations

from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Arithmetic(Protocol):
        """What operators do."""

        def binary(self, op: str, left: Any, right: Any, /) -> Any: ...
        def negative(self, value: Any, /) -> Any: ...
        def absolute(self, value: Any, /) -> Any: ...
        def cast(self, value: Any, dtype: Any, /) -> Any: ...
        def truth(self, value: Any, /) -> bool: ...


class _Absent:
    """What operators do before anything was provided: they say what is missing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("numbers of a kernel are computed with once `tilec.language` is imported")


arithmetic = cast("Arithmetic", _Absent())


def provide(implementation: Arithmetic) -> None:
    """Says what operators do from now on."""
    global arithmetic
    arithmetic = implementation


class Operators:
    """Mixin: arithmetic, comparison and bit operators that build operations."""

    __slots__ = ()
    __hash__ = object.__hash__
    __array_ufunc__ = None  # NumPy scalars on the left hand side leave the operation to us

    def __add__(self, other: Any) -> Any:
        return arithmetic.binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return arithmetic.binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return arithmetic.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return arithmetic.binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return arithmetic.binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return arithmetic.binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return arithmetic.binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return arithmetic.binary("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return arithmetic.binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return arithmetic.binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return arithmetic.binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return arithmetic.binary("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return arithmetic.binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return arithmetic.binary("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return arithmetic.binary("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return arithmetic.binary("and", other, self)

    def __or__(self, other: Any) -> Any:
        return arithmetic.binary("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return arithmetic.binary("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return arithmetic.binary("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return arithmetic.binary("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return arithmetic.binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return arithmetic.binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return arithmetic.binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return arithmetic.binary("shr", other, self)

    def __neg__(self) -> Any:
        return arithmetic.negative(self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return arithmetic.binary("xor", self, -1)

    def __abs__(self) -> Any:
        return arithmetic.absolute(self)

    def __lt__(self, other: Any) -> Any:
        return arithmetic.binary("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return arithmetic.binary("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return arithmetic.binary("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return arithmetic.binary("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return arithmetic.binary("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return arithmetic.binary("ne", self, other)

    def astype(self, dtype: Any) -> Any:
        """Returns the value converted to `dtype`."""
        return arithmetic.cast(self, dtype)

    def __bool__(self) -> bool:
        return arithmetic.truth(self)
