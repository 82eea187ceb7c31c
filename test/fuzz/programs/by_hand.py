"""Draws pipelines by hand: kernels in which one group of threads fills slots of rings, and others use them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .elements import bits, is_float
from .expressions import Index, Scope, const
from .features import Features
from .fillings import MOST_STEPS, Fillings, Outer, whole
from .loops import Target
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
    Feed,
    Fill,
    Gemm,
    Groups,
    Handed,
    If,
    Kernel,
    Load,
    Loop,
    Name,
    Parallel,
    Part,
    Pieces,
    Pipeline,
    Reduce,
    Ring,
    Side,
    Space,
    Stmt,
    Sync,
)
from .turns import FILLING

RING_BYTES = 48_000
"""How much shared memory the slots of all rings take, at most."""

_COUNTED = ("counter", "state")
"""Forms of loops whose slots go on whatever came before."""

_PRODUCTS = (("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), ("int8", "int32"))
_TYPES = ("float16", "float32", "bfloat16", "int32", "int8", "int16")


@dataclass
class _Work:
    """What groups do with tiles of rings: before the loops, in each step, and what tiles are left to be seen."""

    tiles: list[Buffer]
    before: dict[int, list[Stmt]] = field(default_factory=dict)
    uses: Callable[[int, Scope], list[Stmt]] = lambda group, scope: []
    left: dict[int, list[Buffer]] = field(default_factory=dict)


def draw_groups(rng: random.Random, features: Features) -> Groups:
    """Returns which threads the groups are, and how they are written."""
    count = rng.choice((1, 1, 2))
    head = rng.choice(("ws", "ws", "chain", "branches", "quotient", "second"))
    are_whole = head in ("ws", "quotient", "second")
    sizes = [128] * count if count > 1 or rng.random() < 0.6 or are_whole else [rng.choice((64, 128, 256))]
    if head == "ws" and count == 1 and rng.random() < 0.3:
        sizes = [256]
    filling = 128 if are_whole or rng.random() < 0.6 else rng.choice((32, 64, 128, 256))
    is_before = rng.random() < 0.3  # those who fill have the first threads
    starts = [filling * is_before + sum(sizes[:g]) for g in range(count)]
    order = [FILLING, *range(count)]
    if rng.random() < 0.5:
        order = [*range(count), FILLING]
    elif rng.random() < 0.2:
        rng.shuffle(order)
    is_one_loop = rng.random() < 0.25
    return Groups(
        (0 if is_before else sum(sizes), filling), tuple(zip(starts, sizes, strict=True)), tuple(order),
        head, rng.choice(("copy", "copy", "tma_copy", "elected", "first")), is_one_loop,
        is_one_loop or rng.random() < 0.2, rng.random() < 0.25, rng.random() < 0.15,
        rng.choice(("all", "all", "all", "group", "warps")), rng.randrange(210), rng.random() < 0.2,
    )  # type: ignore[arg-type]  # fmt: skip


class ByHand:
    """One kernel while it is drawn."""

    def __init__(self, outer: Outer, rng: random.Random, features: Features) -> None:
        self._outer = outer
        self._rng = rng
        self._features = features
        self._e = outer.expressions
        self._allocs: list[Stmt] = []
        self._rings: list[Ring] = []
        self._block = Name("index", outer.fresh("b"))
        self._blocks = rng.choice((1, 2, 3))
        self._groups = draw_groups(rng, features)
        self._users = range(len(self._groups.using))
        self._slots = rng.choice((1, 2, 2, 2, 3, 3, 4))
        self._form = rng.choice(("modulo", "modulo", "modulo", "unroll", "written", "counter", "state"))
        if self._groups.is_one_loop and self._form in ("unroll", "written"):
            self._form = "modulo"
        self._round: Index | None = None
        """What a loop around the loops over steps counts, if there is one."""
        if self._form in _COUNTED and not self._groups.is_by_feeds and rng.random() < 0.4:
            self._round = Index(Name("index", outer.fresh("k")), 0, rng.randint(1, 2))
        self._fillings = Fillings(
            outer, rng, features, self._groups, self._around(), self._allocs, self._is_filled_before
        )
        self._are_apart = self._form == "written" and rng.random() < 0.4

    def kernel(self) -> Kernel:
        works = self._works()
        feeds = self._feeds(works)
        pipeline = Pipeline(
            self._slots, tuple(r.buffer.name for r in self._rings), self._parts([w.before for w in works]), feeds,
            self._after(works), self._groups, self._round.name.name if self._round else "",
            self._round.high + 1 if self._round else 1,
        )  # fmt: skip
        threads = sum(count for _, count in (self._groups.filling, *self._groups.using))
        body: list[Stmt] = [*self._allocs, *self._rings]
        if any(ring.value is not None for ring in self._rings):
            body.append(Sync())
        extents = (128, threads // 128) if self._groups.head == "second" else (threads,)
        return Kernel((const(self._blocks),), (self._block.name,), extents, [*body, pipeline, *self._behind()])

    @property
    def may_cut(self) -> bool:
        """Whether copies may be shorter: of others it is said how many bytes they are."""
        return self._groups.copies in ("copy", "tma_copy") and not self._groups.is_by_tile

    @staticmethod
    def _parts(bodies: list[dict[int, list[Stmt]]]) -> list[Part]:
        return [Part(group, body) for found in bodies for group, body in found.items() if body]

    # Tiles ------------------------------------------------------------------------------------------------------------

    def _alloc(self, shape: tuple[int, ...], dtype: str, space: Space) -> Buffer:
        buffer = Buffer(self._outer.fresh({"shared": "S", "fragment": "F", "var": "w"}[space]), dtype, shape, space)
        self._allocs.append(Alloc(buffer))
        return buffer

    def _ring(self, shape: tuple[int, int], dtype: str) -> Buffer | None:
        """Adds a ring, if there is room for it."""
        size = math.prod(shape) * bits(dtype) // 8 * self._slots
        taken = sum(math.prod(r.buffer.shape) * bits(r.buffer.dtype) // 8 * self._slots for r in self._rings)
        if taken + size > RING_BYTES:
            return None
        name = self._outer.fresh("R") + ("p" if self._are_apart else "")
        buffer = Buffer(name, dtype, shape, "shared")
        value = self._e.constant(dtype) if self._rng.random() < 0.25 else None
        self._rings.append(Ring(buffer, self._slots, self._are_apart, value))
        return buffer

    def _is_filled_before(self, tile: Buffer) -> bool:
        return any(ring.buffer == tile and ring.value is not None for ring in self._rings)

    # Works ------------------------------------------------------------------------------------------------------------

    def _works(self) -> list[_Work]:
        draws = [
            self._sum_of_some,
            self._sum_of_some,
            self._reduction,
            self._element,
            self._copied_on,
            self._done_by_threads,
        ]
        if len(self._users) == 1:
            draws.append(self._changed)
        elif self._form not in _COUNTED:
            draws += [self._handed_on] * 2
        if self._features.gemms:
            draws += [self._product] * 4
        works: list[_Work] = []
        for _ in range(self._rng.choice((1, 1, 2, 3))):
            work = self._rng.choice(draws)()
            if work is not None:
                works.append(work)
        if works:
            return works
        self._rings.clear()  # of works for which there was no room
        tile = self._ring((16, 32), "int32")
        assert tile is not None, "there is room for it"
        return [self._sum(tile)]

    def _tile(self) -> Buffer | None:
        """Returns a tile of a ring, one that there is or a new one."""
        if self._rings and self._rng.random() < 0.5:
            return self._rng.choice(self._rings).buffer
        rows, columns = self._rng.choice((1, 4, 8, 16, 32, 64)), self._rng.choice((8, 16, 32, 64, 128, 24))
        dtype = self._rng.choice([d for d in _TYPES if self._features.floats or not is_float(d)])
        return self._ring((rows, columns), dtype)

    def _some_groups(self) -> list[int]:
        """Returns all groups that use tiles, or some of them."""
        return list(self._users) if self._rng.random() < 0.6 else [self._rng.choice(self._users)]

    def _product(self) -> _Work | None:
        rng = self._rng
        dtype, result = rng.choice([p for p in _PRODUCTS if self._features.floats or not is_float(p[0])])
        m, n, k = rng.choice((16, 32, 64, 64, 128)), rng.choice((16, 32, 64, 128)), rng.choice((16, 32, 32, 64))
        turned_a, turned_b = rng.random() < 0.15, rng.random() < 0.35
        groups = self._some_groups()
        split = rng.choice(("rows", "columns", "none")) if len(groups) > 1 else "none"
        rows, columns = m * (2 if split == "rows" else 1), n * (2 if split == "columns" else 1)
        a = self._ring((k, rows) if turned_a else (rows, k), dtype)
        b_shape = (columns, k) if turned_b else (k, columns)
        is_fixed = rng.random() < 0.15
        b = self._alloc(b_shape, dtype, "shared") if is_fixed else self._ring(b_shape, dtype)
        if a is None or b is None:
            return None
        if is_fixed:
            tensor = self._outer.tensor(dtype, b_shape)
            self._allocs.append(Copy(whole(tensor), whole(b)))
        sums = {group: self._alloc((m, n), result, "fragment") for group in groups}
        self._e.fuzzy |= {c.name for c in sums.values() if is_float(dtype)}
        is_own = self._features.register_operands and split == "none" and not turned_a and rng.random() < 0.2
        own = {group: self._alloc((m, k), dtype, "fragment") for group in groups} if is_own else {}

        def uses(group: int, scope: Scope) -> list[Stmt]:
            if group not in sums:
                return []
            row, column = m * group * (split == "rows"), n * group * (split == "columns")
            a_at = ((0, row) if turned_a else (row, 0)) if split == "rows" else None
            b_at = ((column, 0) if turned_b else (0, column)) if split == "columns" else None
            depth = k if split != "none" else 0
            if own:
                copied = Copy(whole(a), whole(own[group]))
                return [copied, Gemm(own[group], b, sums[group], False, turned_b)]
            return [Gemm(a, b, sums[group], turned_a, turned_b, "Square", False, a_at, b_at, depth)]

        before: dict[int, list[Stmt]] = {group: [Fill(c)] for group, c in sums.items()}
        return _Work([a] if is_fixed else [a, b], before, uses, {group: [c] for group, c in sums.items()})

    def _sum_of_some(self) -> _Work | None:
        tile = self._tile()
        return None if tile is None else self._sum(tile)

    def _sum(self, tile: Buffer) -> _Work:
        """Adds the elements of tiles up, each with others of the step."""
        sums = {group: self._alloc(tile.shape, self._wide(tile.dtype), "fragment") for group in self._some_groups()}
        self._e.fuzzy |= {c.name for c in sums.values() if is_float(tile.dtype)}

        def uses(group: int, scope: Scope) -> list[Stmt]:
            if group not in sums:
                return []
            target = sums[group]
            if self._rng.random() < 0.5:
                inner = scope.inner(tiles=[tile, target], tensors=[])
                zero = (const(0),) * 2
                return [self._outer.bodies.parallel([Target(target, zero, target.shape)], inner, True)]
            i, j = (Name("index", self._outer.fresh("i")) for _ in range(2))
            value: Expr = Load(tile, (i, j))
            if target.dtype != tile.dtype:
                value = Cast(target.dtype, value)
            return [Parallel((i.name, j.name), tile.shape, [Assign(target, (i, j), value, "+")])]

        before = {group: self._cleared(c) for group, c in sums.items()}
        return _Work([tile], before, uses, {group: [c] for group, c in sums.items()})

    def _cleared(self, sums: Buffer) -> list[Stmt]:
        """Returns what a group does before its loops, in a loop of its own perhaps."""
        if self._rng.random() < 0.8:
            return [Fill(sums)]
        name, i, j = (Name("index", self._outer.fresh(letter)) for letter in "kii")
        one = Const(sums.dtype, 1.0 if is_float(sums.dtype) else 1)
        loop = Parallel((i.name, j.name), sums.shape, [Assign(sums, (i, j), one, "+")])
        return [Fill(sums), Loop("serial", name.name, const(0), const(self._rng.randint(1, 3)), [loop])]

    @staticmethod
    def _wide(dtype: str) -> str:
        return "float32" if is_float(dtype) else "int32"

    def _reduction(self) -> _Work | None:
        """Reduces tiles, and combines what is found in all steps."""
        tile = self._tile()
        if tile is None:
            return None
        dim, kind = self._rng.choice((0, 1)), self._rng.choice(("sum", "max", "min", "absmax"))
        group = self._rng.choice(self._users)
        own = self._alloc(tile.shape, self._wide(tile.dtype), "fragment")
        found = self._alloc((tile.shape[1 - dim],), own.dtype, "fragment")
        self._e.fuzzy |= {b.name for b in (own, found) if is_float(tile.dtype)}

        def uses(number: int, scope: Scope) -> list[Stmt]:
            if number != group:
                return []
            return [Copy(whole(tile), whole(own)), Reduce(own, found, kind, dim, clear=False)]

        return _Work([tile], {group: [Fill(found)]}, uses, {group: [found]})

    def _changed(self) -> _Work | None:
        """Changes tiles where they are: only one group may use them."""
        tile = self._tile()
        if tile is None or tile.dtype == "bool":
            return None
        self._e.fuzzy |= {tile.name} if is_float(tile.dtype) else set()

        def uses(number: int, scope: Scope) -> list[Stmt]:
            inner = scope.inner(tiles=[tile], tensors=[])
            return [self._outer.bodies.parallel([Target(tile, (const(0),) * 2, tile.shape)], inner, True)]

        return _Work([tile], {}, uses)

    def _handed_on(self) -> _Work | None:
        """Has a group give each tile to another one by way of another tile."""
        tile = self._tile()
        if tile is None:
            return None
        giving, taking = self._rng.choice(((0, 1), (1, 0)))
        if giving > taking:  # who gives comes first in the reference
            giving, taking = taking, giving
        given = self._alloc(tile.shape, self._wide(tile.dtype), "shared")
        total = self._alloc(tile.shape, given.dtype, "fragment")
        self._e.fuzzy |= {b.name for b in (given, total) if is_float(tile.dtype)}

        def uses(number: int, scope: Scope) -> list[Stmt]:
            i, j = (Name("index", self._outer.fresh("i")) for _ in range(2))
            if number == giving:
                value: Expr = Cast(given.dtype, Load(tile, (i, j))) if given.dtype != tile.dtype else Load(tile, (i, j))
                loop = Parallel((i.name, j.name), tile.shape, [Assign(given, (i, j), Binary("+", value, value))])
                return [Handed(given, True, [loop])]
            loop = Parallel((i.name, j.name), tile.shape, [Assign(total, (i, j), Load(given, (i, j)), "+")])
            return [Handed(given, False, [loop])]

        return _Work([tile], {taking: [Fill(total)]}, uses, {taking: [total]})

    def _element(self) -> _Work | None:
        """Keeps one element of each tile."""
        tile = self._tile()
        if tile is None:
            return None
        group = self._rng.choice(self._users)
        place = tuple(const(self._rng.randrange(x)) for x in tile.shape)

        def uses(number: int, scope: Scope) -> list[Stmt]:
            if number != group:
                return []
            target = self._output((1,), tile.dtype, scope)
            return [Assign(target.buffer, target.base, Load(tile, place))]

        return _Work([tile], {}, uses)

    def _copied_on(self) -> _Work | None:
        """Copies each tile to a tensor."""
        tile = self._tile()
        if tile is None:
            return None
        group = self._rng.choice(self._users)

        def uses(number: int, scope: Scope) -> list[Stmt]:
            if number != group:
                return []
            target = self._output(tile.shape, tile.dtype, scope)
            return [Copy(whole(tile), Side(target.buffer, target.base, target.extents, "position"))]

        return _Work([tile], {}, uses)

    def _done_by_threads(self) -> _Work | None:
        """Has each thread of a group do some elements of each tile."""
        tile = self._tile()
        if tile is None:
            return None
        group = self._rng.choice(self._users)

        def uses(number: int, scope: Scope) -> list[Stmt]:
            if number != group:
                return []
            target = self._output(tile.shape, tile.dtype, scope)
            i, j = (Name("index", self._outer.fresh("i")) for _ in range(2))
            rows = tile.shape[0]
            row = self._rng.choice((i, Binary("-", const(rows - 1), i)))
            value: Expr = Load(tile, (row, j))
            if self._rng.random() < 0.5:
                value = Binary("+", value, Load(tile, (i, j)))
            store = Assign(target.buffer, (*target.base[:-2], i, j), value)
            return [self._fillings.pieces(Parallel((i.name, j.name), tile.shape, [store]), group, "serial")]

        return _Work([tile], {}, uses)

    def _output(self, extents: tuple[int, ...], dtype: str, scope: Scope) -> Target:
        """Adds a tensor of which each block, and each step of the loop around, has a part of its own."""
        own = [index.name for index in scope.indices]
        buffer = self._outer.tensor(dtype, (*(x.high + 1 for x in scope.indices), *extents), is_output=True)
        return Target(buffer, (*own, *(const(0) for _ in extents)), (*(1 for _ in own), *extents))

    def _scope(self) -> Scope:
        """Returns what is known around the loops over steps."""
        return Scope(self._around(), in_loop=True)

    def _around(self) -> list[Index]:
        """Returns the block's coordinate, and the number of the round, if there are several."""
        return [Index(self._block, 0, self._blocks - 1), *([self._round] if self._round else [])]

    # Loops ------------------------------------------------------------------------------------------------------------

    def _feeds(self, works: list[_Work]) -> list[Feed]:
        feeds: list[Feed] = []
        count = self._rng.choice((1, 1, 1, 2, 2, 3))
        for number in range(count):
            feeds.append(self._feed(works, feeds, is_last=number == count - 1))
        if self._needs_no_release(feeds) and self._rng.random() < 0.5:
            feeds[0].frees = False
        return feeds

    def _needs_no_release(self, feeds: list[Feed]) -> bool:
        """Whether each slot is filled but once."""
        return len(feeds) == 1 and isinstance(feeds[0].stop, Const) and feeds[0].stop.value <= self._slots

    def _feed(self, works: list[_Work], before: list[Feed], *, is_last: bool) -> Feed:
        """Returns a loop. Only those who count know how many steps came before, if the kernel tells that."""
        rng = self._rng
        name = Name("index", self._outer.fresh("k"))
        stop = self._stop() if is_last or self._form in _COUNTED else self._number_of_steps()
        is_new = bool(before) and self._groups.is_by_feeds and rng.random() < 0.5
        past = -1 if is_new else self._past(before)
        is_in_rounds = self._form in ("unroll", "written") and max(past, 0) % self._slots == 0
        form = self._form if is_in_rounds or self._form in _COUNTED else "modulo"
        is_known = isinstance(stop, Const)
        phase = rng.choice(("and", "modulo", "remainder", "variable")) if not before else before[0].phase
        has_to = not is_known or self._are_apart or (phase == "variable" and not is_last)
        is_rounded = is_in_rounds and (has_to or rng.random() < 0.4)
        is_peeled = form == "modulo" and not self._groups.is_one_loop and is_known and stop.value > 0
        is_peeled = is_peeled and rng.random() < 0.15
        is_late = form == "modulo" and is_known and self._slots > 1 and rng.random() < 0.15
        scope = self._scope()
        scope.indices.append(Index(name, 0, MOST_STEPS + 3))
        fills, uses = self._fills(works, scope), self._uses(works, scope)
        return Feed(name.name, stop, fills, uses, form, phase, past, is_peeled, is_rounded, is_late)  # type: ignore[arg-type]

    def _past(self, before: list[Feed]) -> int:
        """Returns how many steps came before at the barriers of the last loop."""
        if not before:
            return 0
        last = before[-1]
        steps = int(last.stop.value) if isinstance(last.stop, Const) else 0
        steps += -steps % self._slots if last.is_rounded else 0
        return max(last.before, 0) + steps

    def _stop(self) -> Expr:
        """Returns how many steps a loop has: a number, or what a call or a tensor tells."""
        rng = self._rng
        kind = rng.choice(("number", "number", "number", "tensor", "element"))
        if self._round is not None and rng.random() < 0.3:
            return Binary("+", self._round.name, const(rng.randint(1, 3)))
        if kind == "element":
            lengths = self._outer.tensor("int32", (self._blocks,))
            self._outer.tensors[-1].kind = "small"
            return Binary("min", Cast("index", Load(lengths, (self._block,)), implicit=True), const(MOST_STEPS))
        if kind == "tensor" and self._features.dynamic:
            extent, divisor = rng.randint(1, 3 * MOST_STEPS), 3
            tensor = self._outer.tensor("int32", (extent,))
            symbol = f"m_{tensor.name}_0"
            self._outer.tensors[-1].symbols, self._outer.tensors[-1].forms = (symbol,), ()
            self._outer.tensors[-1].buffer = replace(tensor, shape=(extent,))
            return Binary("ceildiv", Name("index", symbol), const(divisor))
        return self._number_of_steps()

    def _number_of_steps(self) -> Const:
        some = (1, 2, 3, 4, 5, 6, 7, self._slots, 2 * self._slots, self._slots + 1)
        return const(self._rng.choice(some) % (MOST_STEPS + 1))

    def _uses(self, works: list[_Work], scope: Scope) -> list[Part]:
        parts: list[Part] = []
        for group in self._users:
            bodies = [work.uses(group, scope) for work in works]
            self._rng.shuffle(bodies)
            parts.append(Part(group, [s for body in bodies for s in body]))
        return parts

    def _fills(self, works: list[_Work], scope: Scope) -> list[Stmt]:
        tiles = list(dict.fromkeys(tile for work in works for tile in work.tiles))
        self._rng.shuffle(tiles)
        fills = [self._fillings.filled(tile, scope) for tile in tiles]
        is_one = self._groups.copies in ("elected", "first")
        if is_one and not any(isinstance(s, Copy) for s in fills):
            fills[0] = self._fillings.copied(tiles[0], scope)
        return [self._sometimes(fill, tile, scope) for fill, tile in zip(fills, tiles, strict=True)]

    def _sometimes(self, fill: Stmt, tile: Buffer, scope: Scope) -> Stmt:
        """Has some steps leave what a slot held before."""
        is_by_threads = isinstance(fill, Pieces) or self._groups.copies == "copy"
        if not is_by_threads or not self._is_filled_before(tile) or self._rng.random() < 0.8:
            return fill
        step = scope.indices[-1].name
        conditions = (
            Compare("<", step, const(self._rng.randint(1, 4))),
            Compare("==", Binary("%", step, const(2)), const(self._rng.randint(0, 1))),
        )
        return If(self._rng.choice(conditions), [fill])

    # What is after ----------------------------------------------------------------------------------------------------

    def _after(self, works: list[_Work]) -> list[Part]:
        self._seen_by_all: list[Stmt] = []
        parts: dict[int, list[Stmt]] = {group: [] for group in self._users}
        for work in works:
            for group, tiles in work.left.items():
                for tile in tiles:
                    parts[group] += self._written_out(tile, group)
        return self._parts([parts])

    def _written_out(self, tile: Buffer, group: int) -> list[Stmt]:
        """Returns what writes a fragment of a group to a tensor, perhaps by way of shared memory."""
        rng = self._rng
        scope = self._scope()
        target = self._output(tile.shape, tile.dtype, scope)
        side = Side(target.buffer, target.base, target.extents, "position")
        way = rng.choice(("copy", "copy", "parallel", "shared", "block"))
        if way == "copy" or len(tile.shape) == 1 or math.prod(tile.shape) * bits(tile.dtype) > 1 << 17:
            return [Copy(whole(tile), side)]
        if way == "parallel":
            return [self._outer.bodies.parallel([target], scope.inner(tiles=[tile]), False)]
        staged = self._staged(tile)
        first: list[Stmt] = [Copy(whole(tile), whole(staged))]
        last: list[Stmt] = [Copy(whole(staged), side)]
        if way == "block" and staged.name[0] == "S" and self._round is None:
            self._seen_by_all += last
            return first
        count = self._groups.using[group][1]
        meets: list[Stmt] = [Sync((group + 1, count))] if rng.random() < 0.5 else []
        return [*first, *meets, *last]

    def _staged(self, tile: Buffer) -> Buffer:
        """Returns a shared tile, which may be a slot that is not used any more."""
        same = [r.buffer for r in self._rings if (r.buffer.shape, r.buffer.dtype) == (tile.shape, tile.dtype)]
        if same and len(self._users) == 1:
            return self._rng.choice(same)
        return self._alloc(tile.shape, tile.dtype, "shared")

    def _behind(self) -> list[Stmt]:
        """Returns what the whole block does with what groups left."""
        return [Sync(), *self._seen_by_all] if self._seen_by_all else []
