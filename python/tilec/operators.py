"""Python's operators for everything that stands for a number in a kernel.

The operators forward to functions of `tilec.values`, which see both operands, choose the type and fold constants.
"""

from __future__ import annotations

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Operators:
    """Mixin: arithmetic, comparison and bit operators that build operations."""

    __slots__ = ()
    __hash__ = object.__hash__
    __array_ufunc__ = None  # NumPy scalars on the left hand side leave the operation to us

    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return _binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return _binary("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _binary("and", other, self)

    def __or__(self, other: Any) -> Any:
        return _binary("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _binary("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return _binary("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _binary("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return _binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary("shr", other, self)

    def __neg__(self) -> Any:
        from .values import negative

        return negative(self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return _binary("xor", self, -1)

    def __abs__(self) -> Any:
        from .values import absolute

        return absolute(self)

    def __lt__(self, other: Any) -> Any:
        return _binary("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return _binary("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return _binary("ne", self, other)

    def astype(self, dtype: Any) -> Any:
        """Returns the value converted to `dtype`."""
        from .values import cast

        return cast(self, dtype)

    def __bool__(self) -> bool:
        from .values import truth

        return truth(self)


def _binary(op: str, a: Any, b: Any) -> Any:
    from .values import binary

    return binary(op, a, b)
