"""Draws what fills the tiles of pipelines by hand: copies, loops over elements, and pieces that threads copy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from .elements import bits, is_float
from .expressions import Expressions, Index, Scope, added, const, scaled
from .features import Features
from .loops import Bodies
from .program import (
    Alloc,
    Assign,
    Binary,
    Buffer,
    Cast,
    Compare,
    Const,
    Copy,
    Expr,
    Groups,
    If,
    Let,
    Load,
    Name,
    Parallel,
    Pieces,
    Scalar,
    Select,
    Side,
    Stmt,
    Tensor,
    walk,
)
from .turns import FILLING

MOST_STEPS = 7
"""How many steps a loop has, at most: as many as the tensors have room for that it writes."""


class Outer(Protocol):
    """The program while it is drawn."""

    tensors: list[Tensor]
    scalars: list[Scalar]
    expressions: Expressions
    bodies: Bodies

    def tensor(self, dtype: str, shape: tuple[int, ...], *, is_output: bool = False) -> Buffer: ...

    def fresh(self, letter: str) -> str: ...


def whole(buffer: Buffer) -> Side:
    """Returns all of a buffer as one side of a copy."""
    return Side(buffer, (const(0),) * len(buffer.shape), buffer.shape, "whole")


class Fillings:
    """Draws statements that fill tiles, each from a tensor of its own.

    - `around`: the coordinate of the block, and the number of the round if there are several.
    - `allocs`: gets what is allocated for them.
    - `is_filled_before`: says whether a tile holds something before anything fills it.
    """

    def __init__(
        self,
        outer: Outer,
        rng: random.Random,
        features: Features,
        groups: Groups,
        around: list[Index],
        allocs: list[Stmt],
        is_filled_before: Callable[[Buffer], bool],
    ) -> None:
        self._outer = outer
        self._rng = rng
        self._features = features
        self._groups = groups
        self._around = around
        self._allocs = allocs
        self._is_filled_before = is_filled_before

    def filled(self, tile: Buffer, scope: Scope) -> Stmt:
        kind = self._rng.choice(("copy", "copy", "pieces", "pieces", "parallel"))
        if kind == "copy":
            return self.copied(tile, scope)
        i, j = (Name("index", self._outer.fresh("i")) for _ in range(2))
        loop = Parallel((i.name, j.name), tile.shape, self._element_filled(tile, i, j, scope))
        if kind == "parallel":
            return loop
        form = self._rng.choice(("serial", "vectorized", "vectorized", "ptx_cp_async"))
        return self.pieces(loop, FILLING, form)

    def _source(self, tile: Buffer, scope: Scope) -> tuple[Buffer, tuple[Expr, ...]]:
        """Adds a tensor, and returns where in it the tile of a step begins."""
        rng, step = self._rng, scope.indices[-1].name
        along = rng.choice((0, 1))
        offsets: list[Expr] = [const(0), const(0)]
        block, *rounds = self._around
        if rounds and rng.random() < 0.5:
            offsets[1 - along] = scaled(rounds[0].name, tile.shape[1 - along])
        elif rng.random() < 0.7:
            offsets[1 - along] = scaled(block.name, tile.shape[1 - along])
        shape = [x * rng.choice((1, 2, 3)) for x in tile.shape]
        leading: list[tuple[Expr, int]] = []
        if rng.random() < 0.25:
            leading = [(step, rng.randint(1, MOST_STEPS))]
        else:
            offsets[along] = scaled(step, tile.shape[along])
            shape[along] = tile.shape[along] * rng.randint(1, MOST_STEPS)
        if rng.random() < 0.2:
            along = rng.choice((0, 1))
            shape[along] = max(1, shape[along] + rng.choice((-8, -3, 5, 8)))
        if rng.random() < 0.1:
            offsets[0] = added(offsets[0], rng.choice((-2, 3)))
        self._outer.tensor(tile.dtype, (*(x for _, x in leading), *shape))
        if rng.random() < 0.7:  # one that copy engines can move
            made = self._outer.tensors[-1]
            made.align, made.shift, made.gap = 16, 0, 0
            made.symbols = tuple("" for _ in made.buffer.shape)
        return self._outer.tensors[-1].buffer, (*(o for o, _ in leading), *offsets)

    def copied(self, tile: Buffer, scope: Scope) -> Copy:
        tensor, offsets = self._source(tile, scope)
        return Copy(Side(tensor, offsets, (*(1 for _ in offsets[2:]), *tile.shape), "position"), whole(tile))

    def _element_filled(self, tile: Buffer, i: Name, j: Name, scope: Scope) -> list[Stmt]:
        """Returns what fills an element of a tile, or leaves it as it is."""
        rng = self._rng
        tensor, (*lead, row_offset, column_offset) = self._source(tile, scope)
        to, row = self._rows(tile.shape[0], i)
        source_row: Expr = Binary("+", row_offset, row)
        body: list[Stmt] = []
        if self._features.gathers and rng.random() < 0.25:
            source_row = Load(self._table(tile), (self._table_place(tile, row, scope),))
            source_row = Cast("index", source_row, implicit=True)
            way = rng.choice(("direct", "named", "variable"))
            if way == "named":
                name = self._outer.fresh("x")
                body.append(Let(name, source_row))
                source_row = Name("index", name)
            elif way == "variable":
                variable = Buffer(self._outer.fresh("w"), "int32", (1,), "var")
                self._allocs.append(Alloc(variable))
                body.append(Assign(variable, (), source_row.a))
                source_row = Cast("index", Load(variable), implicit=True)
        value: Expr = Load(tensor, (*lead, source_row, Binary("+", column_offset, j)))
        store = Assign(tile, (to, j), value)
        if rng.random() < 0.7:
            return [*body, store]
        condition = self._condition(tile, i, row, scope)
        zero = Const(tile.dtype, 0.0 if is_float(tile.dtype) else 0)
        if rng.random() < 0.3:
            return [*body, replace(store, value=Select(condition, value, zero))]
        is_kept = self._is_filled_before(tile) and rng.random() < 0.7
        return [*body, If(condition, [store], [] if is_kept else [Assign(tile, (to, j), zero)])]

    def _rows(self, rows: int, i: Name) -> tuple[Expr, Expr]:
        """Returns which row a row of a loop is, and from which row of the source it comes."""
        turned = Binary("-", const(rows - 1), i)
        folded = Binary("+", scaled(Binary("%", i, const(2)), rows // 2), Binary("//", i, const(2)))
        other = self._rng.choice((turned, folded))
        return self._rng.choice(((i, i), (i, i), (i, i), (other, other), (i, other), (other, i)))

    def _table(self, tile: Buffer) -> Buffer:
        return self._outer.tensor("int32", (tile.shape[0] * self._rng.randint(1, MOST_STEPS),))

    def _table_place(self, tile: Buffer, row: Expr, scope: Scope) -> Expr:
        return Binary("+", scaled(scope.indices[-1].name, tile.shape[0]), row)

    def _condition(self, tile: Buffer, i: Name, row: Expr, scope: Scope) -> Expr:
        """Returns whether a row is copied."""
        if self._rng.random() < 0.5:
            return Compare("<", i, const(self._rng.randint(1, tile.shape[0])))
        mask = Load(self._table(tile), (self._table_place(tile, row, scope),))
        return Compare(self._rng.choice((">=", "!=")), mask, Const("int32", 0))

    def pieces(self, loop: Parallel, group: int, form: str) -> Pieces:
        """Returns a loop over a tile that threads of a group do."""
        rng, (rows, columns) = self._rng, loop.extents
        count = (self._groups.filling if group == FILLING else self._groups.using[group])[1]
        lanes = rng.choice([n for n in (1, 2, 4, 8) if columns % n == 0])
        if form == "ptx_cp_async":
            buffer = next(n.buffer for n in walk(loop) if isinstance(n, Assign))
            size = bits(buffer.dtype) // 8
            is_plain = not any(isinstance(n, Assign) and isinstance(n.value, Const | Select) for n in walk(loop))
            fitting = [n for n in (2, 4, 8) if columns % n == 0 and 4 <= n * size <= 16]
            form, lanes = ("ptx_cp_async", rng.choice(fitting)) if fitting and is_plain else ("vectorized", lanes)
        fitting = [n for n in (1, 2, 4, 8, 16, 32) if n * lanes <= columns and count % n == 0]
        whole = [n for n in fitting if columns % (n * lanes) == 0 and rows % (count // n) == 0]
        across = rng.choice(whole if whole and rng.random() < 0.85 else fitting)
        return Pieces(loop, across, lanes, rng.random() < 0.25, form)  # type: ignore[arg-type]
