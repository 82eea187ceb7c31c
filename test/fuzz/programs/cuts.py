"""Lets slices end where only the running kernel knows: in copies that a program has, and in fills beside others.

A copy of a part does less than the copy that was drawn, or writes zeros: what is then read that nothing has written,
`reference` finds. How long a part is, an element of a tensor says, so that it is never known when the kernel is built.
"""

from __future__ import annotations

import copy
import random
from dataclasses import replace

from .elements import PACKED
from .expressions import const, is_affine
from .program import (
    Binary,
    Buffer,
    Cast,
    Const,
    Copy,
    Expr,
    Fill,
    Kernel,
    Let,
    Load,
    Name,
    Parallel,
    Program,
    Side,
    Stmt,
    Tensor,
    Threads,
    bodies,
    walk,
)

SHARE = 0.4
"""How many copies of a program that has such slices have one."""


def draw_cuts(program: Program, rng: random.Random) -> None:
    """Changes some of a program's copies to copies of parts, and adds fills of parts."""
    _Cuts(program, rng).draw()


class _Cuts:
    def __init__(self, program: Program, rng: random.Random) -> None:
        self._program = program
        self._rng = rng
        self._count = 0

    def draw(self) -> None:
        for kernel in self._program.kernels:
            kernel.body = self._body(kernel.body, kernel)

    def _body(self, body: list[Stmt], kernel: Kernel) -> list[Stmt]:
        changed: list[Stmt] = []
        for statement in body:
            if not isinstance(statement, Parallel | Threads):
                for inner in bodies(statement):
                    inner[:] = self._body(inner, kernel)
            if isinstance(statement, Copy) and self._rng.random() < SHARE:
                changed += self._copies(statement, kernel)
                continue
            changed.append(statement)
            if isinstance(statement, Fill) and self._rng.random() < SHARE:
                changed.append(self._fill(statement, kernel))
        return changed

    # Lengths ----------------------------------------------------------------------------------------------------------

    def _length(self, most: int, kernel: Kernel) -> Expr:
        """Returns a number that a tensor says, of at most `most`."""
        self._count += 1
        is_remainder = self._rng.random() < 0.7
        lengths = Buffer(f"X{self._count}", "int32", (self._rng.randint(1, 4),), "global")
        kind = "wide" if is_remainder else "small"
        self._program.tensors.append(Tensor(lengths, kind, self._rng.randrange(1 << 30)))
        place = Name("index", self._rng.choice(kernel.names)) if self._rng.random() < 0.7 else const(0)
        said = Cast("index", Load(lengths, (place,)), implicit=True)
        if is_remainder:
            return Binary("%", said, const(most + 1))
        return Binary("min", said, const(most))  # none at all if it is negative

    # Statements -------------------------------------------------------------------------------------------------------

    def _fill(self, fill: Fill, kernel: Kernel) -> Fill:
        """Returns a fill of a part of what was filled."""
        rng, shape = self._rng, fill.buffer.shape
        offsets = tuple(const(rng.randrange(x)) if rng.random() < 0.5 else const(0) for x in shape)
        d = rng.randrange(len(shape))
        lengths = tuple(
            self._length(x - int(o.value), kernel) if k == d or rng.random() < 0.3 else None
            for k, (x, o) in enumerate(zip(shape, offsets, strict=True))
        )
        extents = tuple(x - int(o.value) for x, o in zip(shape, offsets, strict=True))
        value = rng.choice((fill.value, None))
        return Fill(fill.buffer, value, Side(fill.buffer, offsets, extents, "region", (), lengths))

    def _copies(self, whole: Copy, kernel: Kernel) -> list[Stmt]:
        """Returns a copy of a part, behind what computes its length perhaps; the copy itself if no side can be cut."""
        rng = self._rng
        sides = (whole.source, whole.target)
        dims = [[d for d, x in enumerate(side.extents) if x != 1] for side in sides]
        if not dims[0] or any(side.buffer.space == "global" and side.buffer.dtype in PACKED for side in sides):
            return [whole]
        which = rng.choice((("source",), ("target",), ("source", "target"), ("source", "position")))
        chosen = {k for k in range(len(dims[0])) if rng.random() < 0.3} or {rng.randrange(len(dims[0]))}
        before: list[Stmt] = []
        lengths: dict[int, Expr] = {}
        for k in sorted(chosen):
            most = sides[0].extents[dims[0][k]]
            if self._may_be_rest(sides, which) and rng.random() < 0.4:
                most += rng.randint(1, 2 * most)
            length = self._length(most, kernel)
            if rng.random() < 0.5:
                before.append(Let(f"{self._program.tensors[-1].buffer.name}n", length))
                length = Name("index", f"{self._program.tensors[-1].buffer.name}n")
            lengths[k] = length
        source, target = copy.copy(sides[0]), copy.copy(sides[1])
        cut = [self._cut(side, {own[k]: n for k, n in lengths.items()}) for side, own in zip(sides, dims, strict=True)]
        if "source" in which:
            source = cut[0]
        if "target" in which:
            target = cut[1]
        elif "position" in which:
            target = self._at_position(target)
        if source is None or target is None:
            self._program.tensors = self._program.tensors[: -len(lengths)]
            return [whole]
        return [*before, Copy(source, target)]

    @staticmethod
    def _may_be_rest(sides: tuple[Side, Side], which: tuple[str, ...]) -> bool:
        """Returns whether the side that is cut may be longer than the other: the rest of a tensor."""
        cut, other = sides if which == ("source",) else sides[::-1]
        return len(which) == 1 and cut.buffer.space == "global" and other.style != "position"

    @staticmethod
    def _cut(side: Side, lengths: dict[int, Expr]) -> Side | None:
        """Returns a side as a region with lengths in some dimensions; None where others would have no known extent."""
        extents = side.extents
        lead = len(extents) - len([x for x in extents if x != 1])
        is_index = side.is_index or tuple(
            side.style == "position" and d < lead and x == 1 for d, x in enumerate(extents)
        )
        for d, (offset, extent, size) in enumerate(zip(side.offsets, extents, side.buffer.shape, strict=True)):
            if is_index[d] or d in lengths:
                if any(isinstance(n, Cast) and n.dtype == "uint32" for n in walk(offset)):
                    return None  # its sum with the length has no type that is obvious
                continue
            if not is_affine(offset) or (isinstance(offset, Const) and int(offset.value) + extent > size):
                return None
        ends = tuple(lengths.get(d) for d in range(len(extents)))
        return replace(side, style="region", is_index=is_index, lengths=ends)

    @staticmethod
    def _at_position(side: Side) -> Side | None:
        """Returns a side as the place where it begins; None if the last dimensions are not all of the tile's."""
        rank = len([x for x in side.extents if x != 1])
        if any(x == 1 for x in side.extents[-rank:]):
            return None
        return replace(side, style="position", is_index=())
