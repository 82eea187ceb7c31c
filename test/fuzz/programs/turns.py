"""Writes pipelines by hand down: groups of threads that fill slots and use them, and wait for each other at barriers.

What a pipeline means, `reference` has from its loops alone. Here it gets its barriers: those who fill a slot wait for
that it is free, those who use it for that it is full.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from . import program as ir
from .elements import bits

Block = Callable[[list[ir.Stmt]], list[str]]
"""Returns the lines of statements."""

FILLING = -1
"""The number of the group that fills, in `Groups.order`."""

_WAITS = ("barrier_wait", "mbarrier_wait_parity", "ptx_wait_barrier")
_ARRIVALS = ("barrier_arrive", "mbarrier_arrive", "ptx_arrive_barrier")
_EXPECTING = ("mbarrier_arrive_expect_tx", "ptx_arrive_barrier_expect_tx")
_REGISTERS = ("T.set_max_nreg(40, 0)", "T.set_max_nreg(232, 1)"), ("T.dec_max_nreg(40)", "T.inc_max_nreg(232)")


def ring(made: ir.Ring, value: str) -> list[str]:
    """Returns the lines that allocate the slots of a tile, and fill them with a value, if there is one."""
    buffer = made.buffer
    names = [f"{buffer.name}_{slot}" for slot in range(made.slots)] if made.are_apart else [f"{buffer.name}_all"]
    shape = buffer.shape if made.are_apart else (made.slots, *buffer.shape)
    lines = [f'{name} = T.alloc_shared({_tuple(shape)}, "{buffer.dtype}")' for name in names]
    return [*lines, *(f"T.fill({name}, {value})" for name in names if value)]


def _tuple(extents: tuple[int, ...]) -> str:
    return f"({''.join(f'{e}, ' for e in extents)})"


def written(pipeline: ir.Pipeline, block: Block) -> list[str]:
    """Returns the lines of a pipeline."""
    return _Writer(pipeline, block).lines()


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


@dataclass(frozen=True)
class _Step:
    """One step of a loop as it is written: its number, the slot, and the parity of the phase that fills it."""

    number: str
    slot: str
    parity: str
    slot_of_last: str = ""


class _Writer:
    def __init__(self, pipeline: ir.Pipeline, block: Block) -> None:
        self._pipeline = pipeline
        self._groups = pipeline.groups
        self._block = block
        self._slots = pipeline.slots
        self._thread = f"t_{pipeline.feeds[0].name}"
        self._group = f"g_{pipeline.feeds[0].name}"
        self._words = pipeline.groups.words

    # The whole --------------------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        pipeline = self._pipeline
        lines = [f"{self._thread} = T.get_thread_binding()", *self._steps_read()]
        if self._groups.head == "second":
            lines.insert(1, f"{self._group} = T.get_thread_binding(1)")
        elif self._groups.head == "quotient":
            lines.insert(1, f"{self._group} = {self._thread} // 128")
        for number, feed in enumerate(pipeline.feeds):
            if feed.before < 0 or number == 0:
                lines += self._barriers(number)
        if not self._groups.is_by_feeds:
            return [*lines, *self._heads({g: self._role(g) for g in self._groups.order})]
        lines += [line for g in self._groups.order for line in self._variables(g)]
        lines += self._heads({g: self._named(pipeline.before, g) for g in self._groups.order})
        for number, feed in enumerate(pipeline.feeds):
            if number > 0 and feed.before < 0:
                lines.append("T.sync_threads()")
            lines += self._feed_of_all(feed, number)
        return [*lines, *self._heads({g: self._named(pipeline.after, g) for g in self._groups.order})]

    def _feed_of_all(self, feed: ir.Feed, number: int) -> list[str]:
        if not self._groups.is_one_loop:
            return self._heads({g: self._loop(feed, number, g) for g in self._groups.order})
        inside = self._heads({g: self._step_lines(feed, number, g, self._step(feed, g)) for g in self._groups.order})
        return [f"for {feed.name} in T.serial({self._stop(feed)}):", *_indented(inside)]

    def _role(self, group: int) -> list[str]:
        """Returns all that a group does."""
        lines = self._named(self._pipeline.before, group)
        for number, feed in enumerate(self._pipeline.feeds):
            lines += self._loop(feed, number, group)
        lines += self._named(self._pipeline.after, group)
        if self._pipeline.name:
            lines = [f"for {self._pipeline.name} in T.serial({self._pipeline.often}):", *_indented(lines)]
        return [*self._limits(group), *self._variables(group), *lines]

    def _limits(self, group: int) -> list[str]:
        names = _REGISTERS[self._words % 2]
        return [names[group != FILLING]] if self._groups.registers else []

    def _named(self, parts: list[ir.Part], group: int) -> list[str]:
        """Returns what a group does before or after the loops, where tiles are the first slots."""
        return [line for p in parts if p.group == group for line in self._in_slot(self._body(p.body, group), "0")]

    # Groups -----------------------------------------------------------------------------------------------------------

    def _heads(self, bodies: dict[int, list[str]]) -> list[str]:
        """Returns branches of groups that have something to do."""
        bodies = {group: body for group, body in bodies.items() if body}
        lines: list[str] = []
        for number, (group, body) in enumerate(bodies.items()):
            lines += [self._head(group, number, number == len(bodies) - 1 == len(self._groups.order) - 1)]
            lines += _indented(body)
        return lines

    def _head(self, group: int, number: int, is_rest: bool) -> str:
        first, count = self._threads(group)
        total = sum(n for _, n in (self._groups.filling, *self._groups.using))
        if self._groups.head == "ws":
            word = "T.WarpSpecialize" if self._words % 5 == 1 else "T.ws"
            return f"with {word}({', '.join(str(g) for g in range(first // 128, (first + count) // 128))}):"
        is_numbered = self._groups.head in ("quotient", "second")
        word = "elif" if number > 0 and (self._groups.head == "chain" or (is_numbered and self._words % 2)) else "if"
        if word == "elif" and is_rest and self._words % 3:
            return "else:"
        if is_numbered:
            return f"{word} {self._group} == {first // 128}:"
        low = f"{self._thread} >= {first}" if first else ""
        high = f"{self._thread} < {first + count}" if first + count < total or not first else ""
        return f"{word} {' and '.join(filter(None, (low, high)))}:"

    def _threads(self, group: int) -> tuple[int, int]:
        return self._groups.filling if group == FILLING else self._groups.using[group]

    # Barriers ---------------------------------------------------------------------------------------------------------

    def _barriers(self, number: int) -> list[str]:
        threads = sum(count for _, count in self._groups.using)
        of_users = {"all": threads, "group": len(self._groups.using), "warps": threads // 32}[self._groups.releases]
        lines: list[str] = []
        for tiles in self._sets:
            if self._groups.is_one_list and self._frees:
                counts = f"[{self._arriving(number, tiles)}] * {self._slots} + [{of_users}] * {self._slots}"
                lines.append(f"barriers{number}{tiles} = T.alloc_barrier({counts})")
                continue
            lines.append(f"full{number}{tiles} = {self._made(self._arriving(number, tiles))}")
            if self._frees:
                lines.append(f"empty{number}{tiles} = {self._made(of_users)}")
        for tile, (giving, taking) in self._handed().items():
            lines.append(f"given{number}_{tile} = T.alloc_barrier({self._threads(giving)[1]})")
            lines.append(f"taken{number}_{tile} = T.alloc_barrier({self._threads(taking)[1]})")
        return lines

    @property
    def _frees(self) -> bool:
        return any(feed.frees for feed in self._pipeline.feeds)

    @property
    def _sets(self) -> list[str]:
        """Returns the ends of names of barriers: each tile has its own, or all have the same."""
        return [f"_{name}" for name in self._pipeline.rings] if self._groups.is_by_tile else [""]

    def _handed(self) -> dict[str, tuple[int, int]]:
        """Returns the tiles that a group gives another one, with the numbers of both."""
        found: dict[str, dict[bool, int]] = {}
        for feed in self._pipeline.feeds:
            for part in feed.uses:
                for statement in part.body:
                    if isinstance(statement, ir.Handed):
                        found.setdefault(statement.tile.name, {})[statement.gives] = part.group
        return {tile: (ends[True], ends[False]) for tile, ends in found.items()}

    def _arriving(self, number: int, tiles: str) -> int:
        """Returns how many arrivals say that a slot is full."""
        is_of_one, is_of_all = self._who_fills(number, tiles)
        return is_of_one + self._groups.filling[1] * is_of_all

    def _who_fills(self, number: int, tiles: str) -> tuple[bool, bool]:
        """Returns whether one thread arrives when a slot is full, and whether all of the group do."""
        if not self._is_of_one:
            return False, True
        fills = [s for i, feed in enumerate(self._pipeline.feeds) if self._number(i) == self._number(number)
                 for s in self._fills(feed, tiles)]  # fmt: skip
        are_of_all = [_is_of_all(s) for s in fills]
        return not all(are_of_all), any(are_of_all) or not fills

    @property
    def _is_of_one(self) -> bool:
        """Whether one thread starts copies."""
        return self._groups.copies in ("elected", "first")

    @staticmethod
    def _fills(feed: ir.Feed, tiles: str) -> list[ir.Stmt]:
        """Returns what fills the tiles of some barriers."""
        return [s for s in feed.fills if not tiles or _uses(s, tiles[1:])]

    def _number(self, number: int) -> int:
        """Returns the number of the loop that has the barriers of a loop."""
        while number > 0 and self._pipeline.feeds[number].before >= 0:
            number -= 1
        return number

    def _made(self, count: int) -> str:
        """Returns what makes a barrier of so many arrivals for each slot."""
        if self._slots == 1 and self._words % 2:
            return f"T.alloc_barrier({count})"
        if count == 1 and self._words % 7 < 3:
            return f"T.create_barriers({self._slots})"
        counts = f"[{count}] * {self._slots}" if self._words % 3 else str([count] * self._slots)
        return f"T.alloc_barrier({counts})"

    def _barrier(self, name: str, number: int, tiles: str, slot: str) -> str:
        if self._groups.is_one_list and self._frees:
            at = slot if name == "full" else f"{self._slots} + {slot}"
            return f"barriers{self._number(number)}{tiles}[{at}]"
        is_one = self._slots == 1 and self._words % 2
        name = f"{name}{self._number(number)}{tiles}"
        return name if is_one else f"{name}[{slot}]"

    def _wait(self, barrier: str, parity: str) -> str:
        name = _WAITS[self._words % 3]
        if self._words % 5 == 0:
            return f"T.{name}(mbarrier={barrier}, parity={parity})"
        return f"T.{name}({barrier}, {parity})"

    def _arrive(self, barrier: str) -> str:
        return f"T.{_ARRIVALS[self._words % 3]}({barrier})"

    # Loops ------------------------------------------------------------------------------------------------------------

    def _steps_read(self) -> list[str]:
        """Returns what reads how many steps loops have, if that is done before them; else each group does it."""
        lines: list[str] = []
        for feed in filter(self._is_read, self._pipeline.feeds):
            name, value = f"n_{feed.name}", self._expr(feed.stop)
            if self._words % 4 == 3:
                lines += [f'{name} = T.alloc_var("int32", 0)', f'{name} = T.cast({value}, "int32")']
            else:
                lines.append(f"{name} = {value}")
        return lines

    def _stop(self, feed: ir.Feed) -> str:
        return f"n_{feed.name}" if self._is_read(feed) else self._expr(feed.stop)

    def _is_read(self, feed: ir.Feed) -> bool:
        """Whether it is read before all groups how many steps a loop has."""
        if self._words % 2 == 0 or isinstance(feed.stop, ir.Const):
            return False
        return not any(isinstance(n, ir.Name) and n.name == self._pipeline.name for n in ir.walk(feed.stop))

    def _expr(self, expr: ir.Expr) -> str:
        return self._block([ir.Let("x", expr)])[0].removeprefix("x = ")

    def _variables(self, group: int) -> list[str]:
        """Returns the variables of a group that say which phase it is, or which step."""
        names: list[str] = []
        for number, feed in enumerate(self._pipeline.feeds):
            if feed.phase == "variable" or feed.form == "state":
                names.append(self._variable("phase", number, group))
            if feed.form == "counter":
                names.append(self._variable("count", number, group))
            if feed.form == "state":
                names.append(self._variable("slot", number, group))
        return [f'{name} = T.alloc_var("int32", 0)' for name in dict.fromkeys(names)]

    def _variable(self, name: str, number: int, group: int) -> str:
        return f"{name}{self._number(number)}_{group + 1}"

    def _loop(self, feed: ir.Feed, number: int, group: int) -> list[str]:
        """Returns a group's own loop over the steps."""
        if feed.form in ("unroll", "written"):
            return self._rounds(feed, number, group)
        step = self._step(feed, group)
        inside = self._step_lines(feed, number, group, step)
        if not feed.is_peeled:
            return [f"for {feed.name} in T.serial({self._stop(feed)}):", *_indented(inside)]
        name = re.compile(rf"\b{feed.name}\b")
        first = [name.sub("0", line) for line in inside]
        return [*first, f"for {feed.name} in T.serial(1, {self._stop(feed)}):", *_indented(inside)]

    def _step(self, feed: ir.Feed, group: int) -> _Step:
        """Returns the step of a loop whose slot is named by the step's number, or by a variable."""
        number = next(i for i, f in enumerate(self._pipeline.feeds) if f is feed)
        counter = self._variable("count", number, group)
        total = counter if feed.form == "counter" else self._total(feed)
        slot = f"{total} % {self._slots}" if self._slots > 1 else "0"
        if feed.form == "state":
            slot = self._variable("slot", number, group)
        return _Step(
            feed.name, slot, self._parity(feed, total, number, group), f"{self._total(feed, 1)} % {self._slots}"
        )

    def _total(self, feed: ir.Feed, back: int = 0) -> str:
        more = max(feed.before, 0) - back
        if not more:
            return feed.name
        return f"({feed.name} {'+' if more > 0 else '-'} {abs(more)})"

    def _parity(self, feed: ir.Feed, total: str, number: int, group: int, *, is_round: bool = False) -> str:
        """Returns the parity of a step, or of a round."""
        slots = 1 if is_round else self._slots
        if feed.phase == "variable" or feed.form == "state":
            return self._variable("phase", number, group)
        if feed.phase == "remainder" and slots > 1:
            return f"{total} % {2 * slots} // {slots}"
        trip = f"{total} // {slots}" if slots > 1 else total
        if feed.phase == "and":
            return f"({trip}) & 1" if " " in trip else f"{trip} & 1"
        return f"{trip} % 2"

    def _rounds(self, feed: ir.Feed, number: int, group: int) -> list[str]:
        """Returns a loop over rounds, in each of which the steps of all slots are written out."""
        stop, slots = self._stop(feed), self._slots
        name = f"{feed.name}_round"
        rounds = f"{-(-int(stop) // slots)}" if stop.isdigit() else f"T.ceildiv({stop}, {slots})"
        past = max(feed.before, 0) // slots
        parity = self._parity(feed, f"({name} + {past})" if past else name, number, group, is_round=True)
        is_whole = feed.is_rounded or (stop.isdigit() and int(stop) % slots == 0)
        inside: list[str] = []
        for slot in ("stage",) if feed.form == "unroll" else tuple(map(str, range(slots))):
            step = _Step(f"({name} * {slots} + {slot})", slot, parity)
            lines = self._step_lines(feed, number, group, step, is_last=False)
            lines = lines if is_whole else [f"if {name} * {slots} + {slot} < {stop}:", *_indented(lines)]
            inside += [f"for stage in T.unroll({slots}):", *_indented(lines)] if slot == "stage" else lines
        return [f"for {name} in T.serial({rounds}):", *_indented([*inside, *self._flip(feed, number, group, "")])]

    def _flip(self, feed: ir.Feed, number: int, group: int, total: str) -> list[str]:
        """Returns the end of a step, or of a round where there is no number of a step."""
        phase, count, slot = (self._variable(name, number, group) for name in ("phase", "count", "slot"))
        flip = [f"{phase} = {phase} ^ 1"]
        if feed.form == "state":
            return [f"{slot} = ({slot} + 1) % {self._slots}", f"if {slot} == 0:", *_indented(flip)]
        lines: list[str] = []
        if feed.phase == "variable":
            is_last = f"if {total} % {self._slots} == {self._slots - 1}:"
            lines = [is_last, *_indented(flip)] if total and self._slots > 1 else flip
        return [*lines, f"{count} = {count} + 1"] if feed.form == "counter" else lines

    # Steps ------------------------------------------------------------------------------------------------------------

    def _step_lines(self, feed: ir.Feed, number: int, group: int, step: _Step, *, is_last: bool = True) -> list[str]:
        """Returns what a group does in a step.

        - `is_last`: whether a variable may flip behind it.
        """
        lines = self._filled(feed, number, step) if group == FILLING else self._used(feed, number, group, step)
        name = re.compile(rf"\b{feed.name}\b")
        lines = self._in_slot([name.sub(step.number, line) for line in lines], step.slot)
        total = self._variable("count", number, group) if feed.form == "counter" else self._total(feed)
        return [*lines, *self._flip(feed, number, group, total)] if is_last else lines

    def _filled(self, feed: ir.Feed, number: int, step: _Step) -> list[str]:
        lines: list[str] = []
        for tiles in self._sets:
            full = self._barrier("full", number, tiles, step.slot)
            if self._frees:
                parity = self._other(step.parity)
                lines.append(self._wait(self._barrier("empty", number, tiles, step.slot), parity))
            fills = self._fills(feed, tiles)
            of_all = [s for s in fills if not self._is_of_one or _is_of_all(s)]
            one_arrives, all_arrive = self._who_fills(number, tiles)
            if one_arrives:
                lines += self._started([s for s in fills if not _is_of_all(s)], full)
            lines += self._copied(of_all, full)
            if all_arrive:
                is_async = any(isinstance(s, ir.Pieces) and s.form == "ptx_cp_async" for s in of_all)
                lines.append(f"T.cp_async_barrier_noinc({full})" if is_async else self._arrive(full))
        return lines

    def _other(self, parity: str) -> str:
        """Returns the other parity."""
        if self._words % 11 == 0:
            return f"1 - {parity}" if parity.isidentifier() else f"(({parity}) + 1) % 2"
        return f"{parity} ^ 1" if parity.isidentifier() else f"({parity}) ^ 1"

    def _started(self, copies: list[ir.Stmt], full: str) -> list[str]:
        """Returns the copies that one thread starts, which says how many bytes they are."""
        first, count = self._groups.filling
        sides = [s.target for s in copies if isinstance(s, ir.Copy)]
        size = sum(math.prod(x.extents) * bits(x.buffer.dtype) // 8 for x in sides)
        says = [f"T.mbarrier_expect_tx({full}, {size})"] if self._words % 2 else []
        name = _EXPECTING[self._words % 3 == 2]
        arrives = self._arrive(full) if says else f"T.{name}({full}, {size})"
        head = (
            f"if T.shuffle_elect({count}):"
            if self._groups.copies == "elected"
            else f"if {self._thread} == {0 if self._groups.head == 'second' else first}:"
        )
        return [head, *_indented([*says, *self._copied(copies, full), arrives])]

    def _copied(self, fills: list[ir.Stmt], full: str) -> list[str]:
        lines: list[str] = []
        for statement in fills:
            text = self._body([statement], FILLING)
            if isinstance(statement, ir.Copy) and not _is_of_all(statement) and self._groups.copies != "copy":
                text = [f"T.tma_copy({text[0].removeprefix('T.copy(')[:-1]}, barrier={full})"]
            lines += text
        return lines

    def _used(self, feed: ir.Feed, number: int, group: int, step: _Step) -> list[str]:
        """Returns what a group does in a step, which waits for tiles before it uses them, and frees them then."""
        body = [s for part in feed.uses if part.group == group for s in part.body]
        lines: list[str] = []
        waited: set[str] = set()
        for place, statement in enumerate([*body, None]):
            for tiles in self._sets:
                if tiles not in waited and (not tiles or statement is None or _uses(statement, tiles[1:])):
                    lines.append(self._wait(self._barrier("full", number, tiles, step.slot), step.parity))
                    waited.add(tiles)
            if statement is None:
                break
            lines += self._handing(statement, number, feed, group)
            for tiles in self._sets:
                is_last = tiles and tiles in waited and not any(_uses(s, tiles[1:]) for s in body[place + 1 :])
                if is_last and not feed.is_late and self._frees and _uses(statement, tiles[1:]):
                    lines += self._released([self._barrier("empty", number, tiles, step.slot)], group)
        return [*lines, *(self._freed(feed, number, group, body, step) if self._frees else [])]

    def _freed(self, feed: ir.Feed, number: int, group: int, body: list[ir.Stmt], step: _Step) -> list[str]:
        """Returns the arrivals at the end of a step."""
        if not feed.is_late:
            left = [t for t in self._sets if not t or not any(_uses(s, t[1:]) for s in body)]
            return self._released([self._barrier("empty", number, tiles, step.slot) for tiles in left], group)
        last = self._released([self._barrier("empty", number, t, step.slot_of_last) for t in self._sets], group)
        own = self._released([self._barrier("empty", number, t, step.slot) for t in self._sets], group)
        is_end = f"if {feed.name} == {self._stop(feed)} - 1:"
        return [f"if {feed.name} > 0:", *_indented(last), is_end, *_indented(own)]

    def _released(self, barriers: list[str], group: int) -> list[str]:
        """Returns what says that slots are free, by the threads that do."""
        arrivals = [self._arrive(barrier) for barrier in barriers]
        if self._groups.releases == "all" or not barriers:
            return arrivals
        first, count = self._threads(group)
        of_one = f"{self._thread} == {0 if self._groups.head == 'second' else first}"
        condition = of_one if self._groups.releases == "group" else f"{self._thread} % 32 == 0"
        return [f"T.sync_threads({group + 1}, {count})", f"if {condition}:", *_indented(arrivals)]

    def _handing(self, statement: ir.Stmt, number: int, feed: ir.Feed, group: int) -> list[str]:
        """Returns a statement, which waits and arrives if it gives or takes a tile."""
        if not isinstance(statement, ir.Handed):
            return self._statement(statement, group)
        first, last = ("taken", "given") if statement.gives else ("given", "taken")
        at = f"{self._number(number)}_{statement.tile.name}"
        parity = f"{self._total(feed)} % 2"
        wait = self._wait(f"{first}{at}", f"({parity}) ^ 1" if statement.gives else parity)
        return [wait, *self._body(statement.body, group), self._arrive(f"{last}{at}")]

    # Statements -------------------------------------------------------------------------------------------------------

    def _in_slot(self, lines: list[str], slot: str) -> list[str]:
        """Returns lines with the tiles of rings as the slot, a number or an expression."""
        apart = {s for s in self._pipeline.rings if s.endswith("p")}
        for name in self._pipeline.rings:
            place = f"{name}_{slot}" if name in apart else f"{name}_all[{slot}, "
            lines = [_slotted(line, name, place, is_apart=name in apart) for line in lines]
        return lines

    def _body(self, body: list[ir.Stmt], group: int) -> list[str]:
        return [line for s in body for line in self._statement(s, group)]

    def _statement(self, statement: ir.Stmt, group: int) -> list[str]:
        if isinstance(statement, ir.Gemm) and self._words % 7 == 0:
            return [line.replace("T.gemm", "T.wgmma_gemm") for line in self._block([statement])] + ["T.wait_wgmma(0)"]
        if isinstance(statement, ir.If) and not isinstance(statement.then[0], ir.Assign):
            return [f"if {self._expr(statement.condition)}:", *_indented(self._body(statement.then, group))]
        if not isinstance(statement, ir.Pieces):
            return self._block([statement])
        return _Placing(statement, self._thread_of(group), self._threads(group)[1], self._block).lines()

    def _thread_of(self, group: int) -> str:
        """Returns the number of a thread in its group."""
        first, count = self._threads(group)
        if not first or self._groups.head == "second":
            return self._thread
        is_modulo = first % count == 0 and self._words % 2
        return f"({self._thread} % {count})" if is_modulo else f"({self._thread} - {first})"


def _uses(statement: ir.Stmt, name: str) -> bool:
    return any(isinstance(n, ir.Buffer) and n.name == name for n in ir.walk(statement))


def _is_of_all(statement: ir.Stmt) -> bool:
    """Whether all threads of a group do it, because it is no copy that the copy engine does."""
    if not isinstance(statement, ir.Copy):
        return True
    source, target = statement.source.buffer, statement.target.buffer
    return source.space != "global" or source.dtype != target.dtype


def _slotted(line: str, name: str, place: str, *, is_apart: bool) -> str:
    """Returns a line in which a tile is a slot."""
    if is_apart:
        return re.sub(rf"\b{name}\b", place, line)
    line = re.sub(rf"\b{name}\[", place, line)
    return re.sub(rf"\b{name}\b", f"{place[:-2]}{_REST}]", line)


_REST = ", :, :"
"""The dimensions of a tile: all of those in rings have two."""


@dataclass
class _Placing:
    """A loop over a tile while its text is written: which threads do what."""

    pieces: ir.Pieces
    thread: str
    count: int
    block: Block

    def lines(self) -> list[str]:
        pieces = self.pieces
        rows, columns = pieces.loop.extents
        over, width = self.count // pieces.across, pieces.across * pieces.lanes
        r, u, v = (f"{letter}_{pieces.loop.names[0]}" for letter in "ruv")
        row, column = pieces.loop.names
        down, along = -(-rows // over), -(-columns // width)
        own_row, own_column = f"{self.thread} // {pieces.across}", f"{self.thread} % {pieces.across}"
        if pieces.are_together:
            at = f"{own_row} * {down} + {r}", f"{own_column} * {along * pieces.lanes} + {u} * {pieces.lanes}"
        else:
            at = f"{r} * {over} + {own_row}", f"{u} * {width} + {own_column} * {pieces.lanes}"
        inside = self._guarded(self._neighbours(v, column), down * over > rows, along * width > columns)
        lines = [f"{row} = {at[0]}", f"{column}_first = {at[1]}", *inside]
        for name, trips in ((u, along), (r, down)):
            lines = [f"for {name} in T.serial({trips}):", *_indented(lines)]
        return lines

    def _guarded(self, lines: list[str], are_rows: bool, are_columns: bool) -> list[str]:
        """Returns lines behind the condition that a piece is one of the tile."""
        rows, columns = self.pieces.loop.extents
        row, column = self.pieces.loop.names
        conditions = [f"{row} < {rows}"] * are_rows + [f"{column}_first < {columns}"] * are_columns
        return [f"if {' and '.join(conditions)}:", *_indented(lines)] if conditions else lines

    def _neighbours(self, v: str, column: str) -> list[str]:
        pieces = self.pieces
        if pieces.form == "ptx_cp_async":
            body = self.block(pieces.loop.body)
            return [re.sub(rf"\b{column}\b", f"{column}_first", _copied_at_once(line, pieces.lanes)) for line in body]
        loop = "T.vectorized" if pieces.form == "vectorized" else "T.serial"
        lines = [f"{column} = {column}_first + {v}", *self.block(pieces.loop.body)]
        return [f"for {v} in {loop}({pieces.lanes}):", *_indented(lines)]


def _copied_at_once(line: str, lanes: int) -> str:
    """Returns a copy of neighbours in the place of an assignment."""
    if not line.lstrip().startswith("R"):
        return line
    blanks = line[: len(line) - len(line.lstrip())]
    target, source = line.strip().split(" = ")
    sides = f'T.access_ptr({target}, "w", {lanes}), T.access_ptr({source}, "r", {lanes})'
    return f"{blanks}T.ptx_cp_async({sides}, {lanes})"
