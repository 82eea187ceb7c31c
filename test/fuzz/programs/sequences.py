"""Draws what threads do one statement after another: loops over arrays of their own, and what they give each other.

Each statement is executed by all threads before the next one is (S3, S4), so that a thread may read what another one
has written in a statement before. Arrays of the kernel keep what a thread has in them from one sequence to the next.
"""

from __future__ import annotations

from collections.abc import Callable

from .elements import is_float
from .expressions import Expressions, Index, Scope, const
from .program import Alloc, Assign, Binary, Buffer, Compare, Expr, If, Load, Loop, Name, Stmt, is_static

DTYPES = ("int32", "float32", "float16", "int8", "int64")
EXTENTS = (1, 2, 3, 4, 4, 8, 8, 17, 70)


class Sequence:
    """One sequence of statements of `count` threads; `statements` is what was drawn, `kept` arrays for later ones."""

    def __init__(self, e: Expressions, fresh: Callable[[str], str], scope: Scope, count: int) -> None:
        self._e, self._rng, self._fresh = e, e.rng, fresh
        self._count = count
        self.thread = Name("index", fresh("t"))
        self.scope = scope.inner(in_parallel=False)
        self.scope.indices.append(Index(self.thread, 0, count - 1))
        self.statements: list[Stmt] = []
        self._arrays: list[Buffer] = []

    def add_array(self, array: Buffer, *, is_known: bool) -> None:
        """Fills an array, if it is not known from an earlier sequence."""
        self._e.fuzzy.add(array.name)
        if not is_known:
            self._each(array.shape[0], lambda k, scope: Assign(array, (k,), self._e.value(array.dtype, scope, 1)))
        self.scope.tiles.append(array)
        self._arrays.append(array)

    def declare(self) -> None:
        """Adds an array of the sequence alone."""
        array = self.new_array()
        self.statements.append(Alloc(array))
        self.add_array(array, is_known=False)

    def new_array(self) -> Buffer:
        return Buffer(self._fresh("L"), self._e.pick(DTYPES), (self._rng.choice(EXTENTS),), "local")

    def change(self) -> None:
        """Adds to elements of an array, or assigns to one that may be outside."""
        e = self._e
        array = e.pick(self._arrays)
        draw = self._rng.random()
        if draw < 0.5:
            op = e.pick(("+", "-")) if is_float(array.dtype) else e.pick(("+", "-", "^"))
            first = const(0)
            self._each(
                self._rng.randint(1, 9),
                lambda k, scope: Assign(array, (first,), e.value(array.dtype, scope, 2), op),
            )
        elif draw < 0.75:
            self._each(
                array.shape[0],
                lambda k, scope: Assign(array, (k,), e.value(array.dtype, scope, 2)),
            )
        else:
            place = e.anywhere(array.shape[0], self.scope)
            if not is_static(place):
                store = Assign(array, (place,), e.value(array.dtype, self.scope, 1))
                limit = const(self._rng.randint(1, self._count))
                self.statements.append(If(Compare("<", self.thread, limit), [store]) if e.chance(0.3) else store)

    def exchange(self, tile: Buffer) -> None:
        """Writes a row of a tile by each thread, and has it read by others, or by itself."""
        e = self._e
        e.fuzzy.add(tile.name)
        rows, columns = tile.shape
        self._each(columns, lambda k, scope: Assign(tile, (self.thread, k), e.value(tile.dtype, scope, 1)))
        shift = self._rng.choice((0, 0, 1, rows - 1, self._rng.randrange(rows)))
        row: Expr = self.thread if shift == 0 else Binary("%", Binary("+", self.thread, const(shift)), const(rows))
        array = Buffer(self._fresh("L"), tile.dtype, (columns,), "local")
        self.statements.append(Alloc(array))
        e.fuzzy.add(array.name)
        self._each(columns, lambda k, scope: Assign(array, (k,), Load(tile, (row, k))))
        self.scope.tiles.append(array)
        self._arrays.append(array)
        if e.chance(0.4):
            self._each(columns, lambda k, scope: Assign(tile, (self.thread, k), e.value(tile.dtype, scope, 1)))

    def store(self, buffer: Buffer, base: tuple[Expr, ...]) -> None:
        """Writes an element of a tensor by each thread."""
        place = (*base[:-1], Binary("+", base[-1], self.thread) if base[-1] != const(0) else self.thread)
        array = self._e.pick(self._arrays)
        index = self._e.inside(array.shape[0], self.scope)
        value: Expr = Load(array, (index,))
        self._e.fuzzy.add(buffer.name)
        self.statements.append(Assign(buffer, place, value))

    def result_type(self) -> str:
        """Returns the type of what `store` would store, whose arrays have one type."""
        self._arrays = [a for a in self._arrays if a.dtype == self._arrays[0].dtype]
        return self._arrays[0].dtype

    def _each(self, extent: int, statement: Callable[[Expr, Scope], Stmt]) -> None:
        """Adds a loop of statements."""
        kind = self._e.pick(("serial", "serial", "unroll") if self._e.features.unrolled else ("serial",))
        name = self._fresh("k")
        index = Name("index", name, kind == "unroll")
        inner = self.scope.inner()
        inner.indices.append(Index(index, 0, extent - 1))
        self.statements.append(Loop(kind, name, const(0), const(extent), [statement(index, inner)]))
