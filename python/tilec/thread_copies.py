"""Copies by threads: makes tile operations of what the threads of a group move piece by piece.

A producer that a program writes by hand says which thread copies what: with `T.ptx_cp_async` eight neighbours each from
and to row `r * 16 + t // 8`, column `u * 64 + t % 8 * 8`, for all `r` and `u` of two loops. Put in order that is a
statement of threads, which waits for what it reads, piece by piece. A copy of the whole tile may run ahead
(`tilec.rings`), by the bulk copy engine; one of rows that a table names, or of those alone for which a condition holds,
is a parallel loop.

What must hold, and is checked:

- the statement stores to tiles in shared memory, and to variables that are read in it alone. It reads tensors, tiles
  that it does not store to, and what the same thread has stored before; so no piece depends on what another one wrote;
- what places a piece are digits (`tilec.forms`) of the thread's number, of the variables of loops whose bounds are
  known, and of the number of one of several pieces. Those along a dimension of a tile count from zero to its extent,
  and none is used twice. So the pieces are the elements of a tile, each once, or several times if there are digits
  that place nothing;
- what is stored, and under which conditions, is computed of the indices in the tile, which stand for their digits, and
  of what is the same for all threads and iterations. So who stores an element, and when, does not matter.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .forms import Counter, Digit, Form, Forms, Maker, are_apart, extent
from .groups import ENDS, Facts, is_of_block, is_private, is_pure, is_tensor
from .ir import Block, Op, Value, integers
from .rings import arguments, operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from typing import Any

    from .location import Location

_PIECES = "pieces"
"""What the numbers of pieces are digits of that the program writes out one by one."""


class _Piece(NamedTuple):
    """What is stored to an element, or to the elements of a tile, and what counts around it."""

    value: Value
    source: Value | None
    """The tensor that the value is an element of, if it is one."""
    begins: list[Form | Value]
    """Where it is read there: forms, and numbers that are none."""
    target: Value
    ends: list[Form]
    conditions: list[Value]
    counters: list[Counter]
    forms: Forms


class _NoTileError(Exception):
    """A statement is not what this is about."""


def join_copies(facts: Facts, ops: Sequence[Op]) -> list[Op]:
    """Returns the operations of a kernel, with tile operations in the place of statements of threads that are some."""
    return _join(facts, ops, set(_read_elsewhere(facts, ops)))


def _join(facts: Facts, ops: Sequence[Op], elsewhere: Container[Value]) -> list[Op]:
    out: list[Op] = []
    for op in ops:
        if _is_statement(facts, op):
            out += _joined(facts, op, elsewhere)
            continue
        for region in _inside(op):
            region.ops = _join(facts, region.ops, elsewhere)
        out.append(op)
    return out


def _is_statement(facts: Facts, op: Op) -> bool:
    return op.name == "scf.if" and not op.results and op.operands[0] in facts.dependent


def _inside(op: Op) -> Sequence[Block]:
    """Returns where further statements of a block may be."""
    return () if is_of_block(op) and op.name != "tl.pipelined" else op.regions


def _joined(facts: Facts, statement: Op, elsewhere: Container[Value]) -> list[Op]:
    try:
        read = _Statement(facts, statement, elsewhere)
        pieces = _counted(read)
        if any(not _write_apart(a, b) for number, a in enumerate(pieces) for b in pieces[:number]):
            return [statement]
        maker = Maker(statement.operands[0].block, statement.location)
        for piece in pieces:
            _write(read, piece, maker)
    except _NoTileError:
        return [statement]
    facts.makers.update((result, op) for op in operations(maker.made) for result in op.results)
    return maker.made


# What a statement does ------------------------------------------------------------------------------------------------


def _read_elsewhere(facts: Facts, ops: Sequence[Op]) -> Iterator[Value]:
    """Yields variables that are read where the statement around has not assigned to them before."""
    for op in ops:
        if _is_statement(facts, op):
            yield from _read_before(op.regions[0].ops, set())
        else:
            yield from (v for v in op.operands if op.name != "tl.store" and is_private(v))
            for region in op.regions:
                yield from _read_elsewhere(facts, region.ops)


def _read_before(ops: Sequence[Op], assigned: set[Value]) -> Iterator[Value]:
    """Yields variables that are not among those `assigned` before where they are read."""
    assigned = set(assigned)
    for op in ops:
        if op.name == "tl.store":
            assigned.add(op.operands[1])
        yield from (v for v in op.operands if op.name != "tl.store" and is_private(v) and v not in assigned)
        for region in op.regions:
            yield from _read_before(region.ops, assigned)


class _Statement:
    """Reads what a statement of threads stores."""

    def __init__(self, facts: Facts, statement: Op, elsewhere: Container[Value]) -> None:
        self.facts = facts
        self._elsewhere = elsewhere
        self._makers = {v: op for op in operations([statement]) for v in (*op.results, *arguments(op))}
        self._ids = {op.results[0] for op in facts.makers.values() if op.name == "gpu.thread_id" and _is_along_x(op)}
        self._stored = {op.operands[1] for op in operations([statement]) if op.name == "tl.store"}
        self._found: dict[Value, Value] = {}
        """What was stored, for what is read of it."""
        self._keys: dict[Value, Any] = {}
        self.pieces: list[_Piece] = []
        self._read([statement], frozenset(range(facts.kernel.num_threads)), {}, [], {})
        if not self.pieces or facts.kernel.threads[0] != facts.kernel.num_threads:
            raise _NoTileError

    def _read(
        self,
        ops: Sequence[Op],
        threads: frozenset[int],
        counters: dict[Value, Counter],
        conditions: list[Value],
        known: dict[Any, Value],
    ) -> None:
        """Reads what some threads do.

        - `known`: what is stored, by place.
        """
        known = dict(known)
        for op in ops:
            if op.name == "scf.if" and not op.results and all(r.ops[-1:] == r.ops for r in op.regions[1:]):
                chosen = self._chosen(op.operands[0], threads)
                if chosen is None:
                    self._read(op.regions[0].ops, threads, counters, [*conditions, op.operands[0]], known)
                else:
                    self._read(op.regions[0].ops, chosen, counters, conditions, known)
            elif op.name == "scf.for" and not op.results:
                inner = {**counters, op.regions[0].arguments[0]: self._counter(op)}
                self._forget(op.regions[0].ops, known)  # in later iterations
                self._read(op.regions[0].ops, threads, inner, conditions, known)
            elif op.name == "tl.load" and not op.attributes:
                self._load(op, known)
            elif op.name == "tl.store" and not op.attributes:
                known[self._place(op.operands[1:])] = op.operands[0]
                self._store(op, threads, counters, conditions)
            elif not is_pure(op) and op.name not in ENDS:
                raise _NoTileError
            for region in op.regions:
                self._forget(region.ops, known)

    def _forget(self, ops: Sequence[Op], known: dict[Any, Value]) -> None:
        """Forgets what may have been stored anew."""
        stored = {op.operands[1] for op in operations(ops) if op.name == "tl.store"}
        for place in [place for place in known if place[0] in stored]:
            del known[place]

    def _load(self, load: Op, known: dict[Any, Value]) -> None:
        found = known.get(self._place(load.operands))
        if found is not None:
            self._found[load.results[0]] = found
        elif load.operands[0] in self._stored or not (is_tensor(load.operands[0]) or self._is_tile(load.operands[0])):
            raise _NoTileError

    def _place(self, operands: Sequence[Value]) -> Any:
        return (operands[0], *(self.key(v) for v in operands[1:]))

    def key(self, value: Value) -> Any:
        """Returns what values have in common that are computed alike of the same elements."""
        value = self.found(value)
        if value not in self._keys:
            op = self._makers.get(value)
            if op is None:
                self._keys[value] = self.facts.key(value)
            elif is_pure(op) or (op.name == "tl.load" and is_tensor(op.operands[0])):
                how = (op.name, tuple(sorted(op.properties.items())), value.type)
                self._keys[value] = (*how, *map(self.key, op.operands))
            else:
                self._keys[value] = value
        return self._keys[value]

    def found(self, value: Value) -> Value:
        """Returns what was stored where a value was read, if that is known."""
        while value in self._found:
            value = self._found[value]
        return value

    def maker(self, value: Value) -> Op | None:
        """Returns what computes a value in the statement, or before it of a thread's number; None if all have it."""
        if value in self._makers:
            return self._makers[value]
        op = self.facts.makers.get(value)
        if value not in self.facts.dependent:
            return None
        if op is None or not is_pure(op):
            raise _NoTileError  # it was read before
        return op

    def _chosen(self, condition: Value, threads: frozenset[int]) -> frozenset[int] | None:
        """Returns for which threads a condition holds; None if that depends on more than their numbers."""
        found = {t: self.facts.of_thread(condition, t) for t in threads}
        return None if None in found.values() else frozenset(t for t, value in found.items() if value)

    def _counter(self, loop: Op) -> Counter:
        first, last, step = (Forms(self.facts, {}).of(v) for v in loop.operands[:3])
        if first is None or last is None or first.terms or last.terms or step != Form(1, {}):
            raise _NoTileError
        if last.constant <= first.constant:
            raise _NoTileError
        return Counter(loop.regions[0].arguments[0], first.constant, last.constant - first.constant)

    def _store(
        self, store: Op, threads: frozenset[int], counters: dict[Value, Counter], conditions: Sequence[Value]
    ) -> None:
        target = store.operands[1]
        if is_private(target):
            if target in self._elsewhere or not target.type.startswith("memref<1x"):
                raise _NoTileError
            return
        if not self._is_tile(target) or not threads or len(threads) != max(threads) - min(threads) + 1:
            raise _NoTileError
        thread = Counter("thread", min(threads), len(threads))
        forms = Forms(self.facts, {**counters, **dict.fromkeys(self._ids, thread)}, self._makers)
        ends = [forms.of(v) for v in store.operands[2:]]
        known = [form for form in ends if form is not None]
        if known != ends:
            raise _NoTileError
        value = self.found(store.operands[0])
        load = self._makers.get(value)
        source, begins = None, []
        if load is not None and load.name == "tl.load" and is_tensor(load.operands[0]):
            source, begins = load.operands[0], [forms.of(v) or v for v in load.operands[1:]]
        self.pieces.append(
            _Piece(value, source, begins, target, known, list(conditions), [thread, *counters.values()], forms)
        )

    def _is_tile(self, target: Value) -> bool:
        """Whether it is what was allocated in shared memory, and no view of that."""
        op = self.facts.makers.get(target)
        return op is not None and op.name == "tl.alloc" and "<workgroup>" in target.type


def _is_along_x(op: Op) -> bool:
    return "x" in op.properties["dimension"].split()[-1]


# Pieces that the program writes out -----------------------------------------------------------------------------------


def _counted(statement: _Statement) -> list[_Piece]:
    """Joins pieces that lie one behind the other on both sides, which their number counts."""
    groups: dict[Any, list[_Piece]] = {}
    for piece in statement.pieces:
        groups.setdefault(_likeness(statement, piece), []).append(piece)
    return [group[0] if len(group) == 1 else _one_of(group) for group in groups.values()]


def _likeness(statement: _Statement, piece: _Piece) -> Any:
    """Returns what pieces have in common that differ by constants at most."""

    def terms(place: Form | Value) -> Any:
        return frozenset(place.terms.items()) if isinstance(place, Form) else statement.key(place)

    return (
        piece.source or piece.value,
        piece.target,
        tuple(map(terms, (*piece.begins, *piece.ends))),
        tuple(map(statement.key, piece.conditions)),
        tuple(piece.counters),
    )


def _one_of(group: Sequence[_Piece]) -> _Piece:
    digit = Digit(_PIECES, 1, len(group))
    group = sorted(group, key=lambda piece: [form.constant for form in piece.ends])
    first = group[0]
    begins = _along([piece.begins for piece in group], digit)
    ends = [form for form in _along([piece.ends for piece in group], digit) if isinstance(form, Form)]
    counters = [*first.counters, Counter(_PIECES, 0, len(group))]
    return first._replace(begins=begins, ends=ends, counters=counters)


def _along(places: Sequence[Sequence[Form | Value]], digit: Digit) -> list[Form | Value]:
    """Returns the places of several pieces, from the first one on along one dimension, as those of one."""
    constants = [[place.constant if isinstance(place, Form) else 0 for place in of] for of in places]
    steps = [[c - first for first, c in zip(constants[0], of, strict=True)] for of in constants]
    moving = [dimension for dimension, step in enumerate(steps[1]) if step]
    if len(moving) != 1:
        raise _NoTileError
    step = steps[1][moving[0]]
    if step <= 0 or steps != [[n * s for s in steps[1]] for n in range(len(places))]:
        raise _NoTileError
    return [
        place + Form(0, {digit: step}) if n == moving[0] and isinstance(place, Form) else place
        for n, place in enumerate(places[0])
    ]


def _write_apart(one: _Piece, other: _Piece) -> bool:
    """Whether pieces are different elements."""
    if one.target is not other.target:
        return True
    for a, b in zip(one.ends, other.ends, strict=True):
        lengths = extent(a.digits), extent(b.digits)
        if a.rest.terms or b.rest.terms or None in lengths:
            continue
        if a.constant + (lengths[0] or 0) <= b.constant or b.constant + (lengths[1] or 0) <= a.constant:
            return True
    return False


# The tile operation ---------------------------------------------------------------------------------------------------


def _write(statement: _Statement, piece: _Piece, maker: Maker) -> None:
    """Makes a copy of a tile, or a parallel loop, or raises if the pieces are none."""
    used = [digit for form in piece.ends for digit in form.digits]
    if not used or not all(are_apart([d for d in used if d.origin == c.origin], c) for c in piece.counters):
        raise _NoTileError
    shape = [int(n) for n in re.findall(r"(\d+)x", piece.target.type)]
    for number, (form, length) in enumerate(zip(piece.ends, shape, strict=True)):
        count = extent(form.digits)
        is_slot = number == 0 and bool(form.rest.terms) and not form.digits
        if count is None or (not is_slot and (form.rest.terms or not 0 <= form.constant <= length - count)):
            raise _NoTileError
    if _is_copy(piece):
        _write_copy(statement, piece, maker)
    else:
        _write_loop(statement, piece, maker)


def _is_slot(piece: _Piece) -> bool:
    """Whether pieces are of one of several tiles."""
    return len(piece.ends) > 1 and not piece.ends[0].digits


def _is_copy(piece: _Piece) -> bool:
    """Whether pieces are a tile of a tensor, in the same order, without conditions and tables."""
    begins = [form for form in piece.begins if isinstance(form, Form)]
    along = [form.digits for form in (piece.ends[1:] if _is_slot(piece) else piece.ends)]
    return (
        not piece.conditions
        and bool(begins)
        and begins == piece.begins
        and bool(begins[-1].digits)
        and all(along)
        and [form.digits for form in begins if form.digits] == along
    )


def _write_copy(statement: _Statement, piece: _Piece, maker: Maker) -> None:
    assert piece.source is not None
    begins = [form for form in piece.begins if isinstance(form, Form)]
    outside = _Tile(statement, piece, [])
    target, ends = piece.target, piece.ends
    if _is_slot(piece):
        view = re.sub(r"memref<\d+x", "memref<", target.type, count=1)
        target, ends = maker.op("tl.slot", (target, outside.place(ends[0], maker)), (view,))[0], ends[1:]
    tile = [extent(form.digits) or 1 for form in begins]
    while tile[0] == 1:
        del tile[0]
    first = [outside.place(form.rest, maker) for form in begins]
    offsets = [maker.constant(form.constant) for form in ends] if any(form.constant for form in ends) else []
    sizes = integers((1, len(first), 1, len(offsets), 0, 0), "i32")
    maker.op("tl.copy", (piece.source, *first, target, *offsets), (), operandSegmentSizes=sizes, tile=integers(tile))


def _write_loop(statement: _Statement, piece: _Piece, maker: Maker) -> None:
    along = [form.digits for form in piece.ends if form.digits]
    body = Block(maker.block, "`T.Parallel`")
    indices = [body.add_argument("index") for _ in along]
    tile = _Tile(statement, piece, list(zip(along, indices, strict=True)))
    tile.write(body, piece.conditions, maker.location)
    extents = integers([extent(digits) or 1 for digits in along])
    maker.op("tl.parallel", (), (), regions=(body,), extents=extents)


class _Tile:
    """Computes what a statement stores, by indices in the tile.

    - `indices`: what digits count along a dimension, and the index that stands for them.
    """

    def __init__(self, statement: _Statement, piece: _Piece, indices: Sequence[tuple[dict[Digit, int], Value]]) -> None:
        self._statement = statement
        self._piece = piece
        self._indices = indices
        self._made: dict[Value, Value] = {}

    def write(self, block: Block, conditions: Sequence[Value], location: Location) -> None:
        """Fills a block with what is done to an element under further conditions."""
        piece, maker = self._piece, Maker(block, location)
        if conditions:
            condition = self._compute(conditions[0], maker)
            then = Block(block, "a branch")
            maker.op("scf.if", (condition,), (), regions=(then, Block(block, "a branch")))
            self.write(then, conditions[1:], location)
        elif piece.source is not None:
            places = [self.place(p, maker) if isinstance(p, Form) else self._compute(p, maker) for p in piece.begins]
            element = maker.op("tl.load", (piece.source, *places), (piece.value.type,))[0]
            maker.op("tl.store", (element, piece.target, *(self.place(form, maker) for form in piece.ends)), ())
        else:
            value = self._compute(piece.value, maker)
            maker.op("tl.store", (value, piece.target, *(self.place(form, maker) for form in piece.ends)), ())
        maker.op("scf.yield" if block.label == "a branch" else "tl.yield", (), ())
        block.ops = maker.made

    def place(self, form: Form, maker: Maker) -> Value:
        """Computes what a form says, of the indices and of what is the same for all threads."""
        terms, rest = dict(form.rest.terms), form.digits
        values: dict[Any, Value] = {}
        for digits, index in self._indices:
            factors = {rest.pop(digit, 0) // factor for digit, factor in digits.items() if digit in form.digits}
            whole = [form.digits.get(digit, 0) for digit in digits]
            if not factors:
                continue
            factor = factors.pop()
            if whole != [factor * f for f in digits.values()]:
                raise _NoTileError
            terms[index] = factor
            values[index] = index
        if rest:
            raise _NoTileError
        return maker.form(
            Form(form.constant, terms),
            lambda key: values.get(key) or self._outside(self._piece.forms.values[key], maker),
        )

    def _outside(self, value: Value, maker: Maker) -> Value:
        """Computes what is the same for all threads."""
        op = self._statement.maker(value)
        return value if op is None else self._again(op, [self._outside(v, maker) for v in op.operands], maker)

    def _compute(self, value: Value, maker: Maker) -> Value:
        value = self._statement.found(value)
        if value in self._made:
            return self._made[value]
        op = self._statement.maker(value)
        if op is None:
            return value
        form = self._piece.forms.of(value) if value.type == "index" else None
        if form is not None:
            made = self.place(form, maker)
        elif is_pure(op) or op.name == "tl.load":
            made = self._again(op, [self._compute(v, maker) for v in op.operands], maker)
        else:
            raise _NoTileError
        self._made[value] = made
        return made

    @staticmethod
    def _again(op: Op, operands: Sequence[Value], maker: Maker) -> Value:
        return maker.op(op.name, operands, [v.type for v in op.results], (), **op.properties)[0]
