"""Forms: what numbers are, as sums of multiples of others.

`r * 16 + (t - 256) // 8` is 16 times the variable of a loop and once a *digit* of the thread's number. Of numbers that
are written so it can be said by how much two of them differ, and whether they count through a tile.

Sums and multiples hold for integers that wrap too. Digits are of the type `index` alone, which does not: an index that
needs more than 63 bits is none of memory.
"""

from __future__ import annotations

from typing import NamedTuple

from .groups import is_pure
from .ir import Op, Value
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from typing import Any

    from .groups import Facts
    from .ir import Block
    from .location import Location


class Counter(NamedTuple):
    """A number that takes `extent` values, from `first` on: the variable of a loop, or a thread's number."""

    origin: Any
    first: int
    extent: int


class Digit(NamedTuple):
    """A part of what a counter has counted: `counted // weight % extent`."""

    origin: Any
    weight: int
    extent: int


class Form(NamedTuple):
    """A constant and multiples: of digits, and of values by their keys (`Facts.key`)."""

    constant: int
    terms: dict[Any, int]

    @property
    def digits(self) -> dict[Digit, int]:
        return {term: factor for term, factor in self.terms.items() if isinstance(term, Digit)}

    @property
    def rest(self) -> Form:
        """What is left without digits."""
        return Form(self.constant, {term: f for term, f in self.terms.items() if not isinstance(term, Digit)})

    def __add__(self, other: Form) -> Form:  # pyright: ignore[reportIncompatibleMethodOverride]
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Form(self.constant + other.constant, {term: factor for term, factor in terms.items() if factor})

    def times(self, factor: int) -> Form:
        return Form(self.constant * factor, {term: f * factor for term, f in self.terms.items() if factor})


_INTEGERS = ("index", "i32", "i64")
_QUOTIENTS = ("arith.divui", "arith.divsi", "arith.floordivsi")
_REMAINDERS = ("arith.remui", "arith.remsi")
"""Of numbers that are not negative all of them give the same."""


class Forms:
    """Finds the forms of a kernel's values.

    - `counters`: what digits are of, by its value.
    - `inside`: values that are made where these count, and may be others each time.
    """

    def __init__(self, facts: Facts, counters: dict[Value, Counter], inside: Container[Value] = ()) -> None:
        self._facts = facts
        self._counters = counters
        self._inside = inside
        self.values: dict[Any, Value] = {}
        """A value for each key in the terms of forms."""

    def of(self, value: Value) -> Form | None:
        """Returns the form of an integer; None if counters are in it in another way than in digits."""
        counter = self._counters.get(value)
        if counter is not None:
            digits = {Digit(counter.origin, 1, counter.extent): 1} if counter.extent > 1 else {}
            return Form(counter.first, digits)
        op = self._facts.makers.get(value)
        if value.type in _INTEGERS and op is not None and is_pure(op):
            found = self._of_arithmetic(op)
            if found is not None:
                return found
        if self._counts(value):
            return None
        key = self._facts.key(value)
        self.values.setdefault(key, value)
        return Form(0, {key: 1})

    def _of_arithmetic(self, op: Op) -> Form | None:
        if op.name == "arith.constant":
            return Form(int(op.properties["value"].split(" ")[0]), {})
        sides = [self.of(v) for v in op.operands]
        if len(sides) != 2 or sides[0] is None or sides[1] is None:
            return None
        left, right = sides[0], sides[1]
        if op.name == "arith.addi":
            return left + right
        if op.name == "arith.subi":
            return left + right.times(-1)
        if op.name == "arith.muli" and not left.terms:
            left, right = right, left
        if right.terms:
            return None
        number = right.constant
        if op.name == "arith.muli":
            return left.times(number)
        if op.results[0].type != "index":
            return None
        if op.name == "arith.shli" and 0 <= number < 32:
            return left.times(1 << number)
        if op.name in ("arith.shrsi", "arith.shrui") and 0 <= number < 32:
            return _divided(left, 1 << number, is_quotient=True)
        if op.name in _QUOTIENTS and number > 0:
            return _divided(left, number, is_quotient=True)
        if op.name in _REMAINDERS and number > 0:
            return _divided(left, number, is_quotient=False)
        if op.name == "arith.andi" and number > 0 and number & (number + 1) == 0:
            return _divided(left, number + 1, is_quotient=False)
        return None

    def _counts(self, value: Value) -> bool:
        """Whether a value may be another one each time."""
        if value in self._counters:
            return True
        op = self._facts.makers.get(value)
        if op is None or not is_pure(op):
            return value in self._inside or value in self._facts.dependent
        return op.name == "gpu.thread_id" or any(map(self._counts, op.operands))


def _divided(number: Form, divisor: int, *, is_quotient: bool) -> Form | None:
    """Returns a quotient or remainder of what only consists of digits: the upper ones, or the lower ones."""
    if number.constant < 0 or number.constant % divisor or len(number.digits) != len(number.terms):
        return None
    upper: dict[Any, int] = {}
    lower: dict[Any, int] = {}
    for digit, factor in number.digits.items():
        if factor <= 0:
            return None
        if factor % divisor == 0:
            upper[digit] = factor // divisor
        elif factor * digit.extent <= divisor:
            lower[digit] = factor
        elif divisor % factor == 0 and digit.extent % (divisor // factor) == 0:
            cut = divisor // factor
            upper[Digit(digit.origin, digit.weight * cut, digit.extent // cut)] = 1
            lower[Digit(digit.origin, digit.weight, cut)] = factor
        else:
            return None
    if sum(factor * (digit.extent - 1) for digit, factor in lower.items()) >= divisor:
        return None
    return Form(number.constant // divisor, upper) if is_quotient else Form(0, lower)


def are_apart(digits: Sequence[Digit], counter: Counter) -> bool:
    """Whether digits of a counter take all their values, whatever the others are."""
    weight = 1
    for digit in sorted(digits, key=lambda d: d.weight):
        if digit.weight % weight != 0:
            return False
        weight = digit.weight * digit.extent
    return counter.extent % weight == 0


def extent(digits: dict[Digit, int]) -> int | None:
    """Returns to where digits count, from zero and by one, each with its factor; None if they do not."""
    count = 1
    for digit, factor in sorted(digits.items(), key=lambda d: d[1]):
        if factor != count:
            return None
        count *= digit.extent
    return count


class Maker:
    """Makes operations of a block, one after the other, in `made`."""

    def __init__(self, block: Block, location: Location) -> None:
        self.block = block
        self.location = location
        self.made: list[Op] = []

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[str] = ("index",),
        regions: tuple[Block, ...] = (),
        **properties: str,
    ) -> tuple[Value, ...]:
        """Makes an operation; returns its results."""
        for value in operands:
            value.uses += 1
        found = tuple(Value(result, self.block) for result in results)
        self.made.append(Op(name, tuple(operands), found, properties, {}, regions, self.location))
        return found

    def constant(self, number: int, integer: str = "index") -> Value:
        return self.op("arith.constant", (), (integer,), value=f"{number} : {integer}")[0]

    def form(self, form: Form, valued: Callable[[Any], Value]) -> Value:
        """Computes what a form without digits says; `valued` gives the value of a key."""
        summands: list[Value] = []
        for key, factor in form.terms.items():
            value = valued(key)
            summands.append(value if factor == 1 else self.op("arith.muli", (value, self.constant(factor)))[0])
        if form.constant or not summands:
            summands.append(self.constant(form.constant))
        total = summands[0]
        for summand in summands[1:]:
            total = self.op("arith.addi", (total, summand))[0]
        return total
