"""Several numbers of one type that lie side by side: what programs take for a vector, and its types."""

from __future__ import annotations

from . import dtypes
from .builder import current
from .casts import cast, expr
from .errors import AbsentNameError, RangeError, ShapeError, TLSyntaxError
from .expr import place
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from .dtypes import DType
    from .expr import Expr


_AXES = ("x", "y", "z", "w")
"""What CUDA calls the numbers of a vector."""


class Vector:
    """Numbers of one type, the first of which lies lowest in memory. `vector[0]` is that one."""

    def __init__(self, numbers: Sequence[Expr]) -> None:
        self.numbers = tuple(numbers)
        self.dtype: DType = self.numbers[0].dtype

    def __getattr__(self, name: str) -> NoReturn:
        instead = f"number {_AXES.index(name)} of it is `vector[{_AXES.index(name)}]`" if name in _AXES else ""
        raise AbsentNameError(lambda: f"a vector has no `{name}`: {instead or 'it has `dtype`, a length, and numbers'}")

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.numbers)

    def __getitem__(self, number: Any) -> Expr:
        return self.numbers[self._checked(number)]

    def __setitem__(self, number: Any, value: Any) -> None:
        element = f"{self.dtype}".removeprefix("T.")
        raise TLSyntaxError(
            f"{self!r} does not change: make another one of its numbers, or a variable, "
            f'`T.alloc_var("{element}x{len(self)}")`, whose numbers can be assigned to',
            location=current().here(),
        )

    def _checked(self, number: Any) -> int:
        """Returns which number of the vector is meant; negative ones count from the end."""
        if isinstance(number, bool) or not isinstance(number, int):
            raise TLSyntaxError(
                f"which number of {self!r} it is has to be an integer of Python, not `{number!r}`: put the vector into "
                f"a `T.alloc_local`, as in `values[0:{len(self)}] = vector`, and take elements of that",
                location=current().here(),
            )
        if not -len(self) <= number < len(self):
            raise RangeError(f"{self!r} has no number {number}", location=current().here())
        return number

    @property
    def number_instead(self) -> str:
        """What to write where a number is needed."""
        return ": take its numbers one by one, as in `vector[0]`"

    def __repr__(self) -> str:
        return f"a vector of {len(self)} numbers of `{self.dtype}`"

    def __bool__(self) -> bool:
        self._no_number()

    def _no_number(self, *_: Any) -> NoReturn:
        raise TLSyntaxError(
            f"{self!r} is not one number: take them one by one, as in `vector[0]`", location=current().here()
        )


class VectorType(str):
    """The type of a vector, "float16x2", which is the text of its name; calling it makes a vector of it.

    >>> two = T.float16x2(1, 2)
    """

    __slots__ = ()

    def __call__(self, *values: Any) -> Vector:
        """Returns a vector of numbers, or of those of a vector, converted; one number is put everywhere."""
        found = dtypes.vector(self)
        assert found is not None, "only names of vectors are made types of them"
        element, lanes = found
        numbers = list(values[0]) if len(values) == 1 and isinstance(values[0], Vector) else list(values)
        if len(numbers) == 1:
            numbers *= lanes
        if len(numbers) != lanes:
            raise ShapeError(f"`T.{self}` is made of {lanes} numbers, and gets {len(numbers)}", location=place())
        return Vector([expr(cast(number, element), element) for number in numbers])

    def __repr__(self) -> str:
        return f"T.{self}"


for _operator in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    setattr(Vector, f"__{_operator}__", Vector._no_number)
    setattr(Vector, f"__r{_operator}__", Vector._no_number)
for _operator in ("neg", "invert", "abs", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Vector, f"__{_operator}__", Vector._no_number)
