"""What is known of an integer before the kernel runs: its bounds, and a number that divides it.

Facts are about the exact result. Where that does not fit the type the arithmetic wraps, and all that is left is the
power of two that divides the result: `wrapped`. Nothing here is assumed; whoever knows more says so.
"""

from __future__ import annotations

import math

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Range:
    """The integers from `low` to `high`, both included, that are multiples of `step`; a step of 0 is zero itself."""

    __slots__ = ("high", "low", "step")

    def __init__(self, low: int, high: int, step: int = 1) -> None:
        self.low = low
        self.high = high
        self.step = step

    @staticmethod
    def of(number: int) -> Range:
        return Range(number, number, abs(number))

    def __contains__(self, number: int) -> bool:
        return self.low <= number <= self.high

    def __repr__(self) -> str:
        return f"[{self.low}, {self.high}]" + (f" by {self.step}" if self.step != 1 else "")

    def within(self, other: Range) -> bool:
        return other.low <= self.low and self.high <= other.high

    def union(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high), math.gcd(self.step, other.step))

    def clamped(self, other: Range) -> Range:
        """Returns the numbers of this range that lie in the other one, which are not none."""
        return Range(max(self.low, other.low), min(self.high, other.high), self.step)


EXTENTS = Range(0, (1 << 31) - 1)
"""What the compiler takes symbols of shapes for, and calls hold them to."""


def wrapped(exact: Range, type_range: Range) -> Range:
    """Returns what is known of a result after it was cut to a type."""
    if exact.within(type_range):
        return exact
    size = type_range.high - type_range.low + 1
    step = math.gcd(exact.step, size)
    low = -(-type_range.low // step) * step
    return Range(low, type_range.high // step * step, step)


def combine(op: str, a: Range, b: Range) -> Range | None:
    """Returns the range of `a op b` before it is cut to the type; None if nothing is known."""
    rule = _RULES.get(op)
    return rule(a, b) if rule else None


def _corners(a: Range, b: Range, function: Callable[[int, int], int]) -> tuple[int, int]:
    """Returns the least and the greatest result of a function that is monotonic in each operand."""
    found = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(found), max(found)


def _add(a: Range, b: Range) -> Range:
    return Range(a.low + b.low, a.high + b.high, math.gcd(a.step, b.step))


def _sub(a: Range, b: Range) -> Range:
    return Range(a.low - b.high, a.high - b.low, math.gcd(a.step, b.step))


def _mul(a: Range, b: Range) -> Range:
    return Range(*_corners(a, b, lambda x, y: x * y), a.step * b.step)


def _divide(a: Range, b: Range, function: Callable[[int, int], int]) -> Range:
    """Quotients shrink as the divisor grows, on either side of zero; by zero they are 0."""
    sides = [Range(max(b.low, 1), b.high)] if b.high > 0 else []
    if b.low < 0:
        sides.append(Range(b.low, min(b.high, -1)))
    bounds = [bound for side in sides for bound in _corners(a, side, function)]
    if 0 in b:
        bounds.append(0)
    return Range(min(bounds), max(bounds))


def _floordiv(a: Range, b: Range) -> Range:
    return _divide(a, b, lambda x, y: x // y)


def _ceildiv(a: Range, b: Range) -> Range:
    return _divide(a, b, lambda x, y: -(-x // y))


def _mod(a: Range, b: Range) -> Range:
    if b.low > 0 and a.low >= 0 and a.high < b.low:
        return a
    low, high = min(b.low + 1, 0), max(b.high - 1, 0)
    if a.low >= 0 and b.low >= 0:
        high = min(high, a.high)
    return Range(low, high, math.gcd(a.step, b.step))


def _min(a: Range, b: Range) -> Range:
    return Range(min(a.low, b.low), min(a.high, b.high), math.gcd(a.step, b.step))


def _max(a: Range, b: Range) -> Range:
    return Range(max(a.low, b.low), max(a.high, b.high), math.gcd(a.step, b.step))


def _and(a: Range, b: Range) -> Range | None:
    bounds = [r.high for r in (a, b) if r.low >= 0]
    return Range(0, min(bounds)) if bounds else None


def _or(a: Range, b: Range) -> Range | None:
    if a.low < 0 or b.low < 0:
        return None
    return Range(0, (1 << max(a.high.bit_length(), b.high.bit_length())) - 1)


def _shl(a: Range, b: Range) -> Range | None:
    return _mul(a, Range.of(1 << b.low)) if b.low == b.high and 0 <= b.low < 64 else None


def _shr(a: Range, b: Range) -> Range | None:
    if b.low < 0:
        return None
    clamped = Range(min(b.low, 64), min(b.high, 64))
    return Range(*_corners(a, clamped, lambda x, y: x >> y))


_RULES: dict[str, Callable[[Range, Range], Range | None]] = {
    "add": _add, "sub": _sub, "mul": _mul, "floordiv": _floordiv, "ceildiv": _ceildiv, "mod": _mod,
    "min": _min, "max": _max, "and": _and, "or": _or, "xor": _or, "shl": _shl, "shr": _shr,
}  # fmt: skip
