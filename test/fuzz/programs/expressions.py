"""Draws expressions: values of a type, and indices that stay where they may."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from .arithmetic import FUNCTIONS
from .elements import (
    FLOATS,
    INTEGERS,
    NARROW,
    NARROW_FLOATS,
    PACKED,
    bits,
    integer_range,
    is_float,
    is_integer,
    is_unsigned,
)
from .features import Features
from .program import (
    Binary,
    Buffer,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    Logic,
    Name,
    Rounded,
    Select,
    Unary,
    is_static,
)
from .rounding import FUNCTIONS as ROUNDINGS
from .rounding import MODES

_T = TypeVar("_T")


@dataclass(frozen=True)
class Index:
    """An integer that lies between two bounds, inclusive."""

    name: Name
    low: int
    high: int


@dataclass
class Scope:
    """What expressions may use where they stand."""

    indices: list[Index] = field(default_factory=list)
    values: list[Name] = field(default_factory=list)
    tensors: list[Buffer] = field(default_factory=list)
    """Device memory that the kernel only reads."""
    tiles: list[Buffer] = field(default_factory=list)
    """On-chip buffers and variables that have been written."""
    own: dict[str, tuple[Expr, ...]] = field(default_factory=dict)
    """Buffers that the iteration writes, and the element that is its own."""
    in_parallel: bool = False
    is_fuzzy: bool = True
    """Whether a value may be known within bounds only."""
    in_loop: bool = False
    """Whether a loop of the kernel is around: what is drawn before may be executed after."""

    def inner(self, **changes: object) -> Scope:
        copied = {
            "indices": list(self.indices),
            "values": list(self.values),
            "tensors": list(self.tensors),
            "tiles": list(self.tiles),
            "own": dict(self.own),
        }
        return replace(self, **{**copied, **changes})  # type: ignore[arg-type]


def const(value: int) -> Const:
    return Const("index", value)


def is_affine(a: Expr) -> bool:
    """Whether an index is a sum of multiples of names: the bounds of a slice must be, to have a known difference."""
    if isinstance(a, Binary):
        factors = isinstance(a.a, Const) or isinstance(a.b, Const)
        return (a.op in ("+", "-") or (a.op == "*" and factors)) and is_affine(a.a) and is_affine(a.b)
    return isinstance(a, Const | Name) and a.dtype == "index"


def added(a: Expr, value: int) -> Expr:
    """Returns `a + value`."""
    if value == 0:
        return a
    if isinstance(a, Const):
        return const(int(a.value) + value)
    return Binary("+", a, const(value)) if value > 0 else Binary("-", a, const(-value))


def scaled(a: Expr, factor: int) -> Expr:
    """Returns `a * factor`."""
    if factor == 1:
        return a
    return const(int(a.value) * factor) if isinstance(a, Const) else Binary("*", a, const(factor))


def _becomes(one: str, other: str) -> bool:
    """Whether an operand of a type is converted to the one of the operand beside it, which is another (I6)."""
    if any(dtype in NARROW for dtype in (one, other)) or other in ("bool", "index"):
        return False
    if one == "bool" or (is_float(other) and not is_float(one)):
        return True
    if is_float(one) != is_float(other):
        return False
    width = 32 if one == "index" else bits(one)
    if is_float(other) or one == "index":
        return width < bits(other)
    return width < bits(other) or (width == bits(other) and is_unsigned(other) and not is_unsigned(one))


class Expressions:
    """Draws expressions from a source of random numbers."""

    def __init__(self, rng: random.Random, features: Features) -> None:
        self.rng = rng
        self.features = features
        self.fuzzy: set[str] = set()
        """Buffers and names whose values may be known within bounds only."""
        self.spent: set[str] = set()
        """Variables that a parallel loop assigned: they are not read before they are assigned again (P3)."""
        self._words = random.Random()
        """Draws how elements are read, so that programs are otherwise what they would be without."""
        self._words.setstate(rng.getstate())
        self._mixtures = random.Random()
        """Draws which conversions are left to the operand beside them, in the same way."""
        self._mixtures.setstate(rng.getstate())

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, items: Sequence[_T]) -> _T:
        if not self.features.floats:  # of types, as far as there are others
            items = [item for item in items if not (isinstance(item, str) and is_float(item))] or items
        return items[self.rng.randrange(len(items))]

    # Indices ----------------------------------------------------------------------------------------------------------

    def inside(self, extent: int, scope: Scope, depth: int = 1) -> Expr:
        """Returns an index of a dimension that is never out of its bounds."""
        if extent == 1 and self.chance(0.6):
            return const(0)
        plain = [i for i in scope.indices if 0 <= i.low and i.high < extent]
        if plain and self.chance(0.55):
            return self.pick(plain).name
        draws: list[Callable[[], Expr | None]] = [
            lambda: const(self.rng.randrange(extent)),
            lambda: self._shifted(extent, scope),
            lambda: self._reversed(extent, scope),
        ]
        if self.features.computed_indices and depth > 0:
            draws += [
                lambda: Binary("%", self._coordinate(scope, depth), const(extent)),
                lambda: self._clamped(extent, scope, depth),
                lambda: self._looked_up(extent, scope, depth),
                lambda: self._divided(extent, scope),
            ]
        for _ in range(4):
            found = self.pick(draws)()
            if found is not None:
                return found
        return const(self.rng.randrange(extent))

    def _runtime(self, scope: Scope) -> list[Index]:
        return [i for i in scope.indices if not i.name.is_static]

    def _coordinate(self, scope: Scope, depth: int) -> Expr:
        """Returns any integer of type `index` that is known at run time."""
        known = self._runtime(scope)
        if not known:
            return self._as_index(self.value("int32", scope, depth - 1))
        a: Expr = self.pick(known).name
        if self.chance(0.5):
            large = self.features.wide_integers and self.chance(0.1)
            a = scaled(a, 100_000_007 if large else self.rng.randint(2, 9))  # coordinates wrap at 32 bits (I1)
        if len(known) > 1 and self.chance(0.4):
            a = Binary(self.pick("+-"), a, self.pick(known).name)
        if self.chance(0.1):  # an index of fewer bits is another one
            a = Binary("+", self._as_index(Cast(self.pick(("int8", "int16")), a)), self.pick(known).name)
        return added(a, self.rng.randint(-9, 9)) if self.chance(0.5) else a

    @staticmethod
    def _as_index(value: Expr) -> Expr:
        return Cast("index", value, implicit=True)

    def _shifted(self, extent: int, scope: Scope) -> Expr | None:
        fitting = [i for i in self._runtime(scope) if i.high - i.low < extent]
        if not fitting:
            return None
        index = self.pick(fitting)
        return added(index.name, self.rng.randint(-index.low, extent - 1 - index.high))

    def _reversed(self, extent: int, scope: Scope) -> Expr | None:
        fitting = [i for i in self._runtime(scope) if i.high - i.low < extent]
        if not fitting:
            return None
        index = self.pick(fitting)
        return Binary("-", const(self.rng.randint(index.high, extent - 1 + index.low)), index.name)

    def _clamped(self, extent: int, scope: Scope, depth: int) -> Expr:
        low = Binary("max", self._coordinate(scope, depth), const(0))
        return Binary("min", low, const(extent - 1))

    def _divided(self, extent: int, scope: Scope) -> Expr | None:
        fitting = [i for i in self._runtime(scope) if i.low >= 0 and i.high >= extent]
        if not fitting:
            return None
        index = self.pick(fitting)
        return Binary("//", index.name, const(-(-(index.high + 1) // extent)))

    def _looked_up(self, extent: int, scope: Scope, depth: int) -> Expr | None:
        """Returns an index that stands in memory."""
        dtypes = ["int32", "int16"] if extent < 1 << 15 else ["int32"]
        if self.features.unsigned:
            dtypes.append("uint32")
        if self.features.wide_indices:
            dtypes.append("int64")
        dtype = self.pick(dtypes)
        value = self.value(dtype, scope.inner(is_fuzzy=False), depth - 1)
        return None if is_static(value) else Binary("%", value, Const(dtype, extent))

    def anywhere(self, extent: int, scope: Scope, depth: int = 1) -> Expr:
        """Returns an index of a tensor's dimension, which may be out of bounds."""
        if extent > 0 and self.chance(0.5):
            return self.inside(extent, scope, depth)
        draws: list[Callable[[], Expr]] = [
            lambda: self._coordinate(scope, depth),
            lambda: self._tiled(extent, scope),
            lambda: self._tiled(extent, scope),
        ]
        if self.features.wide_indices and depth > 0:
            draws.append(lambda: self._wide(scope, depth))
        return self.pick(draws)()

    def _tiled(self, extent: int, scope: Scope) -> Expr:
        """Returns a sum of multiples of coordinates, as tiled kernels have."""
        known = self._runtime(scope)
        if not known:
            return const(self.rng.randrange(max(extent, 1)))
        index = self.pick(known)
        result: Expr = index.name
        for other in self.rng.sample(known, min(len(known), self.rng.randint(0, 2))):
            if other is not index:
                result = Binary("+", scaled(other.name, self.pick((1, 4, index.high + 1))), result)
        return added(result, self.pick((0, 0, 0, -1, 3, -4)))

    def _wide(self, scope: Scope, depth: int) -> Expr:
        dtype = self.pick(("int64", "uint64") if self.features.unsigned else ("int64",))
        value = self.value(dtype, scope.inner(is_fuzzy=False), depth - 1)
        if is_static(value):
            return const(0)
        if self.chance(0.3):
            return Binary("+", value, Const(dtype, 1 << 32))
        return value

    # Values -----------------------------------------------------------------------------------------------------------

    def value(self, dtype: str, scope: Scope, depth: int) -> Expr:
        """Returns a value of a type."""
        if depth <= 0 or dtype in NARROW or self.chance(0.15):
            return self._leaf(dtype, scope, depth)
        if dtype == "bool":
            return self.condition(scope, depth)
        draws: list[Callable[[], Expr | None]] = [
            lambda: self._binary(dtype, scope, depth),
            lambda: self._binary(dtype, scope, depth),
            lambda: self._unary(dtype, scope, depth),
            lambda: self._converted(dtype, scope, depth),
        ]
        if self.features.branches:
            draws.append(lambda: self._choice(dtype, scope, depth))
        found = self.pick(draws)()
        return self._leaf(dtype, scope, depth) if found is None else found

    def constant(self, dtype: str) -> Const:
        if dtype in NARROW and is_float(dtype):
            return Const(dtype, self.pick((0.0, 1.0, -2.0, 0.5)))
        if dtype == "bool":
            return Const(dtype, self.chance(0.5))
        if is_float(dtype):
            return Const(dtype, self.pick((0.0, 1.0, -1.0, 0.5, 2.0, -1.5, 3.0, 0.25)))
        value = self.rng.randint(-9, 9) if dtype not in PACKED else self.rng.randint(-8, 7)
        if dtype != "index" and self.features.wide_integers and self.chance(0.1):
            value = self.pick(integer_range(dtype))
        return Const(dtype, abs(value) if is_unsigned(dtype) else value)

    def _leaf(self, dtype: str, scope: Scope, depth: int) -> Expr:
        """Returns a load, a name or a constant, converted where its type is another."""
        loads = [b for b in (*scope.tensors, *scope.tiles) if self._is_readable(b, scope)]
        same = [b for b in loads if b.dtype == dtype]
        if loads and self.chance(0.7):
            buffer = self.pick(same if same and self.chance(0.75) else loads)
            return self.converted(self.load(buffer, scope, depth), dtype)
        names = [n for n in scope.values if scope.is_fuzzy or n.name not in self.fuzzy]
        if names and self.chance(0.5):
            return self.converted(self.pick(names), dtype)
        indices = self._runtime(scope)
        if indices and self.chance(0.5):
            return self.converted(self.pick(indices).name, dtype)
        return self.constant(dtype)

    def _is_readable(self, buffer: Buffer, scope: Scope) -> bool:
        if buffer.name in self.spent or (buffer.name in self.fuzzy and not scope.is_fuzzy):
            return False
        return buffer.space != "fragment" or scope.in_parallel

    def load(self, buffer: Buffer, scope: Scope, depth: int) -> Expr:
        """Returns an element of a buffer."""
        if buffer.space == "var":
            return Load(buffer)
        if buffer.name in scope.own:
            return Load(buffer, scope.own[buffer.name])
        if buffer.space == "fragment" and not self.features.fragments_anywhere:
            indices = self._plain(buffer, scope)
            if indices is None:
                return self.constant(buffer.dtype)
        elif buffer.space == "global":
            indices = tuple(self.anywhere(e, scope, depth - 1) for e in buffer.shape)
        else:
            indices = tuple(self._from_end(self.inside(e, scope, depth - 1), e) for e in buffer.shape)
        return self._as_word(Load(buffer, indices))

    def _as_word(self, load: Load) -> Load:
        """Returns the same element, which may be read with neighbours; those of a tile might be outside of it."""
        buffer, size = load.buffer, bits(load.dtype)
        most = buffer.shape[-1] if buffer.space == "global" else 1
        widths = [w for w in (32, 64, 128) if size <= w <= most * size]
        may_be = self.features.words and buffer.space in ("global", "shared")
        may_be = may_be and buffer.dtype not in ("bool", *PACKED)
        if not may_be or not widths or self._words.random() >= 0.1:
            return load
        word, last = self._words.choice(widths), load.indices[-1]
        is_computed = isinstance(last, Name) and last.dtype == "index" and not last.is_static
        return replace(load, word=word, number=self._words.randrange(word // size) if is_computed else 0)

    def _from_end(self, index: Expr, extent: int) -> Expr:
        """Returns the same index, which may be counted from the end if it is a constant (M4)."""
        return const(int(index.value) - extent) if isinstance(index, Const) and self.chance(0.1) else index

    def _plain(self, buffer: Buffer, scope: Scope) -> tuple[Expr, ...] | None:
        """Returns the loop's own indices, in order, if they fit a fragment, else None."""
        own = [i for i in scope.indices if i.name.name[0] == "i"]
        out: list[Expr] = []
        for extent in buffer.shape:
            while own and own[0].high != extent - 1:
                own.pop(0)
            if not own:
                return None
            out.append(own.pop(0).name)
        return tuple(out)

    def converted(self, value: Expr, dtype: str) -> Expr:
        """Returns a value in another type, by way of a third where there is no direct conversion."""
        if value.dtype == dtype:
            return value
        if {value.dtype, dtype} == {"float16", "bfloat16"} or (
            "bool" in (value.dtype, dtype) and self._is_small(value, dtype)
        ):
            value = Cast("float32" if is_float(value.dtype) or is_float(dtype) else "int32", value)
        elif value.dtype == "bool" and is_float(dtype):
            value = Cast("int32", value)
        return value if value.dtype == dtype else Cast(dtype, value)

    @staticmethod
    def _is_small(value: Expr, dtype: str) -> bool:
        return value.dtype in NARROW or dtype in NARROW

    def _converted(self, dtype: str, scope: Scope, depth: int) -> Expr | None:
        others = [d for d in ("int32", "float32", "int8", "int64", "uint8", "uint32", "float16", "int16") if d != dtype]
        if not self.features.unsigned:
            others = [d for d in others if not is_unsigned(d)]
        other = self.pick(others)
        exact = scope if is_float(dtype) or not is_float(other) else scope.inner(is_fuzzy=False)
        value = self.value(other, exact, depth - 1)
        return None if is_static(value) else self.converted(value, dtype)

    def _binary(self, dtype: str, scope: Scope, depth: int) -> Expr | None:
        found = (
            self._float_binary(dtype, scope, depth) if is_float(dtype) else self._integer_binary(dtype, scope, depth)
        )
        if not isinstance(found, Binary) or found.op in ("fmod", "nextafter"):
            return found
        return replace(found, a=self._mixed(found.a), b=self._mixed(found.b))

    def _mixed(self, value: Expr) -> Expr:
        """Returns a value that may leave its conversion to the operand beside it, if that one has its type."""
        is_one = isinstance(value, Cast) and _becomes(value.a.dtype, value.dtype) and not is_static(value)
        if not isinstance(value, Cast) or not is_one or not self.features.mixed_types:
            return value
        return replace(value, mixed=True) if self._mixtures.random() < 0.5 else value

    def _integer_binary(self, dtype: str, scope: Scope, depth: int) -> Expr | None:
        ops = ["+", "-", "*", "&", "|", "^", "min", "max"]
        a, b = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
        if is_static(a):
            a, b = b, a
        if is_static(a):
            return a
        if self.features.division and self.chance(0.3):
            op = self.pick(("//", "%", "ceildiv", "truncdiv", "truncmod"))
            if is_static(b):
                b = Const(dtype, self.pick((2, 3, 7, 10)))
                if not is_unsigned(dtype) and self.chance(0.3):
                    b = Const(dtype, -int(b.value))
            return Binary(op, a, b)
        if self.features.shifts and self.chance(0.2):
            if is_static(b) or self.chance(0.6):
                b = Const(dtype, self.pick((1, 2, 3, 7)))
            return Binary(self.pick(("<<", ">>")), a, b)
        op = self.pick(ops)
        if isinstance(b, Const) and b.value in (0, 1) and op == "*":
            b = Const(dtype, 3)
        return Binary(op, a, b)

    def _float_binary(self, dtype: str, scope: Scope, depth: int) -> Expr | None:
        if self.features.roundings and self.chance(0.05):
            exact = scope.inner(is_fuzzy=False)
            found = self.rounding(lambda: self.value(dtype, exact, depth - 1), 1)
            return found if any(not is_static(o) for o in found.operands) else None
        if self.features.functions and self.chance(0.05):
            exact = scope.inner(is_fuzzy=False)
            a, b = self.value(dtype, exact, depth - 1), self.value(dtype, exact, depth - 1)
            return a if is_static(a) else Binary(self.pick(("fmod", "nextafter")), a, b)
        a, b = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
        if is_static(a):
            a, b = b, a
        if is_static(a):
            return a
        if self.features.division and self.chance(0.08):
            return Binary("/", a, Const(dtype, self.pick((2.0, 4.0, -0.5, 3.0))))
        if self.chance(0.05) and not is_static(b):
            return Binary("/", a, Binary("+", Unary("abs", b), Const(dtype, 0.5)))
        return Binary(self.pick(("+", "-", "+", "-", "*", "min", "max")), a, b)

    def rounding(self, operand: Callable[[], Expr], depth: int) -> Rounded:
        """Returns arithmetic that says how it rounds, of operands that are drawn or such arithmetic."""
        function = self.pick(tuple(ROUNDINGS))
        operands = [
            self.rounding(operand, depth - 1) if depth > 1 and self.chance(0.4) else operand()
            for _ in range(ROUNDINGS[function])
        ]
        return Rounded(function, tuple(operands), self.pick(MODES))

    def _unary(self, dtype: str, scope: Scope, depth: int) -> Expr | None:
        a = self.value(dtype, scope, depth - 1)
        if is_static(a):
            return None
        if dtype == "int32" and self.features.functions and self.chance(0.15):
            return Unary(self.pick(("popcount", "clz")), a)
        if is_integer(dtype):
            return Unary(self.pick(("-", "~") if is_unsigned(dtype) else ("-", "~", "abs")), a)
        if self.features.functions and scope.is_fuzzy and self.chance(0.35):
            return self._function(dtype, a)
        return Unary(self.pick(("-", "abs", "floor", "ceil", "round", "round_away", "trunc")), a)

    def _function(self, dtype: str, a: Expr) -> Expr:
        op = self.pick(FUNCTIONS)
        if op in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
            a = Binary("+", Unary("abs", a), Const(dtype, 0.25))
        elif op.startswith("exp"):
            a = Binary("min", a, Const(dtype, 3.0))
        return Unary(op, a)

    def _choice(self, dtype: str, scope: Scope, depth: int) -> Expr | None:
        a, b = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
        if is_static(a) and is_static(b):
            return None
        how = self.pick(("then", "then", "python", "both"))
        return Select(self.condition(scope, depth - 1), a, b, how)

    def condition(self, scope: Scope, depth: int) -> Expr:
        """Returns a truth value that is known at run time, if there is anything to make it of."""
        scope = scope.inner(is_fuzzy=False)
        if depth > 1 and self.chance(0.25):
            a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return Logic(self.pick(("and", "or")), a, b)
        if depth > 0 and self.chance(0.1):
            return Logic("not", self.condition(scope, depth - 1))
        tiles = [b for b in (*scope.tensors, *scope.tiles) if b.dtype == "bool" and self._is_readable(b, scope)]
        if tiles and self.chance(0.3):
            return self.load(self.pick(tiles), scope, depth)
        indices = self._runtime(scope)
        if indices and self.chance(0.5):
            index = self.pick(indices)
            bound = const(self.rng.randint(index.low, index.high + 1))
            if self.chance(0.3):
                return Compare("==", Binary("%", index.name, const(self.pick((2, 3)))), const(self.pick((0, 1))))
            return Compare(self.pick(("<", "<=", ">", ">=", "==", "!=")), index.name, bound)
        dtype = self.pick(("int32", "float32", "int8", "float16", "int64"))
        a, b = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
        return Compare(self.pick(("<", "<=", ">", ">=", "==", "!=")), self._mixed(a), self._mixed(b))

    def dtype(self) -> str:
        """Returns a type for a tensor or a tile."""
        known = [d for d in (*FLOATS, *INTEGERS) if self.is_on(d)]
        weights = [3 if d in ("float32", "float16", "int32", "bfloat16") else 1 for d in known]
        if self.features.bools:
            known.append("bool")
            weights.append(1)
        if self.features.small_floats and self.features.floats:
            known += NARROW_FLOATS
            weights += [1] * len(NARROW_FLOATS)
        if self.features.four_bits:
            narrow = [d for d in PACKED if self.is_on(d)]
            known += narrow
            weights += [1] * len(narrow)
        return self.rng.choices(known, weights)[0]

    def is_on(self, dtype: str) -> bool:
        """Returns whether programs use a type of numbers."""
        if is_unsigned(dtype):
            return self.features.unsigned
        if not self.features.floats and is_float(dtype):
            return False
        return self.features.float64 or dtype != "float64"
