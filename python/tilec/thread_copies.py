"""Copies by threads: makes one copy of a tile of what the threads of a group copy piece by piece.

A producer that a program writes by hand says which thread copies what: with `T.ptx_cp_async` eight neighbours each from
and to row `r * 16 + t // 8`, column `u * 64 + t % 8 * 8`, for all `r` and `u` of two loops. Put in order that is a
statement of threads, which waits for what it reads. A copy of the whole tile may run ahead (`tilec.rings`), by the bulk
copy engine.

What must hold, and is checked:

- the statement only reads tensors, and stores what it read, as it is, to tiles in shared memory; so no piece reads
  what another one wrote;
- what places a piece are digits (`tilec.forms`) of the thread's number, of the variables of loops whose bounds are
  known, and of the number of one of several neighbours. Those along a dimension of a tile count from zero to its
  extent, and no digit is used twice; all together are whole counters. So each element of the tile is written once;
- along each dimension of the tensor either the digits of one dimension of the tile count, the dimensions in the same
  order, or none do; and what is added to them is the same for all threads and iterations.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .forms import Counter, Digit, Form, Forms, Maker, extent, is_whole
from .groups import ENDS, Facts, is_of_block, is_pure
from .ir import Op, Value, integers
from .rings import operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_NEIGHBOURS = "neighbours"
"""What the numbers of pieces are digits of that the program writes out one by one."""


class _Piece(NamedTuple):
    """An element that is copied, or a tile of them: from where to where, and what counts around it."""

    source: Value
    begins: list[Form]
    target: Value
    ends: list[Form]
    counters: list[Counter]


class _NoCopyError(Exception):
    """A statement is not what this is about."""


def join_copies(facts: Facts, ops: Sequence[Op]) -> list[Op]:
    """Returns the operations of a block, with copies of tiles in the place of those by threads."""
    out: list[Op] = []
    for op in ops:
        if op.name == "scf.if" and not op.results and op.operands[0] in facts.dependent:
            out += _joined(facts, op)
            continue
        if not is_of_block(op) or op.name == "tl.pipelined":
            for region in op.regions:
                region.ops = join_copies(facts, region.ops)
        out.append(op)
    return out


def _joined(facts: Facts, statement: Op) -> list[Op]:
    try:
        read = _Statement(facts, statement)
        copies = _neighbours(read.pieces)
        if any(not _are_apart(a, b) for number, a in enumerate(copies) for b in copies[:number]):
            return [statement]
        maker = Maker(statement.operands[0].block, statement.location)
        for piece in copies:
            _copy(read, piece, maker)
    except _NoCopyError:
        return [statement]
    facts.makers.update((result, op) for op in maker.made for result in op.results)
    return maker.made


# What a statement copies ----------------------------------------------------------------------------------------------


class _Statement:
    """Reads what a statement of threads copies."""

    def __init__(self, facts: Facts, statement: Op) -> None:
        self._facts = facts
        self._makers = {v: op for op in operations([statement]) for v in (*op.results, *_arguments(op))}
        self._ids = {op.results[0] for op in facts.makers.values() if op.name == "gpu.thread_id" and _is_along_x(op)}
        self._values: dict[Any, Value] = {}
        self.pieces: list[_Piece] = []
        self._read([statement], frozenset(range(facts.kernel.num_threads)), {})
        if not self.pieces or facts.kernel.threads[0] != facts.kernel.num_threads:
            raise _NoCopyError

    def _read(self, ops: Sequence[Op], threads: frozenset[int], counters: dict[Value, Counter]) -> None:
        loads: dict[Value, Op] = {}
        for op in ops:
            if op.name == "scf.if" and not op.results and all(r.ops[-1:] == r.ops for r in op.regions[1:]):
                self._read(op.regions[0].ops, self._chosen(op.operands[0], threads), counters)
            elif op.name == "scf.for" and not op.results:
                self._read(op.regions[0].ops, threads, {**counters, op.regions[0].arguments[0]: self._counter(op)})
            elif op.name == "tl.load" and not op.attributes and _is_tensor(op.operands[0]):
                loads[op.results[0]] = op
            elif op.name == "tl.store" and op.operands[0] in loads and self._is_tile(op.operands[1]):
                self._store(loads[op.operands[0]], op, threads, counters)
            elif not is_pure(op) and op.name not in ENDS:
                raise _NoCopyError

    def _is_tile(self, target: Value) -> bool:
        """Whether a tile in shared memory has no other name."""
        op = self._facts.makers.get(target)
        return op is not None and op.name == "tl.alloc" and "<workgroup>" in target.type

    def _chosen(self, condition: Value, threads: frozenset[int]) -> frozenset[int]:
        found = {t: self._facts.of_thread(condition, t) for t in threads}
        if None in found.values():
            raise _NoCopyError
        return frozenset(t for t, value in found.items() if value)

    def _counter(self, loop: Op) -> Counter:
        first, last, step = (Forms(self._facts, {}).of(v) for v in loop.operands[:3])
        if first is None or last is None or first.terms or last.terms or step != Form(1, {}):
            raise _NoCopyError
        if last.constant <= first.constant:
            raise _NoCopyError
        return Counter(loop.regions[0].arguments[0], first.constant, last.constant - first.constant)

    def _store(self, load: Op, store: Op, threads: frozenset[int], counters: dict[Value, Counter]) -> None:
        if not threads or len(threads) != max(threads) - min(threads) + 1:
            raise _NoCopyError
        thread = Counter("thread", min(threads), len(threads))
        forms = Forms(self._facts, {**counters, **dict.fromkeys(self._ids, thread)}, self._makers)
        begins, ends = ([forms.of(v) for v in op.operands[n:]] for op, n in ((load, 1), (store, 2)))
        self._values.update(forms.values)
        known = [[form for form in side if form is not None] for side in (begins, ends)]
        if known != [begins, ends]:
            raise _NoCopyError
        self.pieces.append(
            _Piece(load.operands[0], known[0], store.operands[1], known[1], [thread, *counters.values()])
        )

    def compute(self, form: Form, maker: Maker) -> Value:
        """Computes what a form without digits says in front of the statement."""

        def outside(value: Value) -> Value:
            op = self._makers.get(value)
            if op is None:
                return value
            return maker.op(op.name, [outside(v) for v in op.operands], [v.type for v in op.results], **op.properties)[
                0
            ]

        return maker.form(form, lambda key: outside(self._values[key]))


def _arguments(op: Op) -> list[Value]:
    return [argument for region in op.regions for argument in region.arguments]


def _is_tensor(source: Value) -> bool:
    return "#gpu" not in source.type and "#tl" not in source.type


def _is_along_x(op: Op) -> bool:
    return "x" in op.properties["dimension"].split()[-1]


def _neighbours(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Joins pieces that lie one behind the other on both sides, which their number counts."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        group = next((g for g in groups if _is_like(g[0], piece)), None)
        if group is None:
            groups.append([piece])
        else:
            group.append(piece)
    return [group[0] if len(group) == 1 else _counted(group) for group in groups]


def _is_like(one: _Piece, other: _Piece) -> bool:
    """Whether pieces differ by constants at most."""
    return (
        one.source is other.source
        and one.target is other.target
        and one.counters == other.counters
        and [f.terms for f in (*one.begins, *one.ends)] == [f.terms for f in (*other.begins, *other.ends)]
    )


def _counted(group: Sequence[_Piece]) -> _Piece:
    number = len(group)
    digit = Digit(_NEIGHBOURS, 1, number)

    def side(of: list[list[Form]]) -> list[Form]:
        steps = [[other.constant - first.constant for first, other in zip(of[0], forms, strict=True)] for forms in of]
        moving = [dimension for dimension in range(len(of[0])) if any(step[dimension] for step in steps)]
        if len(moving) != 1:
            raise _NoCopyError
        step = steps[1][moving[0]]
        if step <= 0 or [s[moving[0]] for s in steps] != list(range(0, number * step, step)):
            raise _NoCopyError
        return [form + Form(0, {digit: step}) if n == moving[0] else form for n, form in enumerate(of[0])]

    group = sorted(group, key=lambda piece: [form.constant for form in piece.ends])
    begins, ends = side([piece.begins for piece in group]), side([piece.ends for piece in group])
    first = group[0]
    return _Piece(first.source, begins, first.target, ends, [*first.counters, Counter(_NEIGHBOURS, 0, number)])


def _are_apart(one: _Piece, other: _Piece) -> bool:
    """Whether copies write different elements."""
    if one.target is not other.target:
        return True
    for a, b in zip(one.ends, other.ends, strict=True):
        lengths = extent(a.digits), extent(b.digits)
        if a.rest.terms or b.rest.terms or None in lengths:
            continue
        if a.constant + (lengths[0] or 0) <= b.constant or b.constant + (lengths[1] or 0) <= a.constant:
            return True
    return False


# The copy -------------------------------------------------------------------------------------------------------------


def _copy(statement: _Statement, piece: _Piece, maker: Maker) -> None:
    """Makes the copy of a tile, or raises if the pieces are none."""
    used = [digit for form in piece.ends for digit in form.digits]
    if len(used) != len(set(used)):
        raise _NoCopyError
    if not all(is_whole([d for d in used if d.origin == c.origin], c) for c in piece.counters):
        raise _NoCopyError
    target, ends = piece.target, piece.ends
    shape = [int(n) for n in re.findall(r"(\d+)x", target.type)]
    if len(ends) > 1 and not ends[0].digits:
        if not ends[0].terms and not 0 <= ends[0].constant < shape[0]:
            raise _NoCopyError
        place = statement.compute(ends[0], maker)
        view = re.sub(r"memref<\d+x", "memref<", target.type, count=1)
        target, ends, shape = maker.op("tl.slot", (target, place), (view,))[0], ends[1:], shape[1:]
    for form, length in zip(ends, shape, strict=True):
        count = extent(form.digits)
        if not form.digits or form.rest.terms or count is None or not 0 <= form.constant <= length - count:
            raise _NoCopyError
    along = [form.digits for form in piece.begins if form.digits]
    if along != [form.digits for form in ends] or not piece.begins[-1].digits:
        raise _NoCopyError
    tile = [extent(form.digits) or 1 for form in piece.begins]
    while tile[0] == 1:
        del tile[0]
    first = [statement.compute(form.rest, maker) for form in piece.begins]
    offsets = [maker.constant(form.constant) for form in ends] if any(form.constant for form in ends) else []
    sizes = integers((1, len(first), 1, len(offsets), 0, 0), "i32")
    maker.op("tl.copy", (piece.source, *first, target, *offsets), (), operandSegmentSizes=sizes, tile=integers(tile))
