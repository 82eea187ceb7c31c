"""Rolled loops: makes one loop of a loop whose body is written out for several steps, one behind the other.

A program that gives a loop several buffers in turn by hand often writes `for k in T.serial(n // 2): for stage in
T.unroll(2):`, and the body then stands there once for each `stage`. As a loop over `2 * k + stage`, with `stage` the
remainder, it does the same in the same order, and its buffers are rings (`tilec.rings`).

What must hold, and is checked: the body is as many sequences of operations, alike but for integers that are more by
the same amount from each to the next; no sequence uses a value of another one.
"""

from __future__ import annotations

from .forms import Form, Forms, Maker
from .groups import is_pure, signed
from .ir import Op, Value
from .rings import arguments, is_written_first, operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .groups import Facts
    from .ir import Block


def roll_up(facts: Facts, ops: Sequence[Op], loops: Sequence[Op]) -> list[Op]:
    """Returns the operations of a block, in which `loops` that are written out for several steps are rolled up."""
    out: list[Op] = []
    for op in ops:
        for region in op.regions:
            region.ops = roll_up(facts, region.ops, loops)
        if op in loops and op.name == "scf.for" and not op.results:
            for number in _numbers_of_slots(facts, op):
                out += _rolled(facts, op, number)
        out.append(op)
    return out


def _numbers_of_slots(facts: Facts, loop: Op) -> list[int]:
    """Returns how many slots there are of buffers that are given in turn, each written anew first."""
    inside = loop.regions[0].ops
    slots = [op for op in inside if op.name == "tl.slot"]
    anew = [op for op in slots if is_written_first(inside, {op.results[0]}, facts.key)]
    return sorted({int(op.operands[0].type.removeprefix("memref<").split("x")[0]) for op in anew} - {1})


class _DifferError(Exception):
    """Two sequences are not alike."""


class _Steps:
    """Compares what is written for each step with what is written for the first one."""

    def __init__(self, facts: Facts, body: Sequence[Op]) -> None:
        self._facts = facts
        self._forms = Forms(facts, {})
        self._effects = {v for op in operations(body) if not is_pure(op) for v in (*op.results, *arguments(op))}
        self._inside = set(operations(body))
        self._same: dict[Value, Value] = {}
        self._kept: set[Value] = set()
        self.differences: dict[tuple[Op, int], int] = {}
        """By how much an integer of a later step is more than that of the first one, which is an operand there."""

    def compare(self, first: Sequence[Op], later: Sequence[Op]) -> None:
        first, later = ([op for op in ops if not is_pure(op)] for ops in (first, later))
        if len(first) != len(later):
            raise _DifferError
        for one, other in zip(first, later, strict=True):
            self._compare_operations(one, other)

    def _compare_operations(self, one: Op, other: Op) -> None:
        alike = [
            (op.name, op.properties, op.attributes, [v.type for v in op.results], len(op.regions))
            for op in (one, other)
        ]
        if alike[0] != alike[1]:
            raise _DifferError
        self._compare_operands(one, other)
        for region, later in zip(one.regions, other.regions, strict=True):
            if len(region.arguments) != len(later.arguments):
                raise _DifferError
            self._same.update(zip(region.arguments, later.arguments, strict=True))
            self.compare(region.ops, later.ops)
        self._same.update(zip(one.results, other.results, strict=True))

    def _compare_operands(self, one: Op, other: Op) -> None:
        if len(one.operands) != len(other.operands):
            raise _DifferError
        for number, (value, later) in enumerate(zip(one.operands, other.operands, strict=True)):
            difference = self._difference(value, later)
            if self.differences.setdefault((one, number), difference) != difference:
                raise _DifferError

    def _difference(self, value: Value, later: Value) -> int:
        if value in self._same or value in self._effects or later in self._effects:
            if self._same.get(value) is not later:
                raise _DifferError
            return 0
        if value is later:
            self._keep(value)
            return 0
        if value.type == later.type:
            forms = self._forms.of(value), self._forms.of(later)
            if forms[0] is not None and forms[1] is not None and forms[0].terms == forms[1].terms:
                self._keep(value)
                return forms[1].constant - forms[0].constant
        one, other = (self._facts.makers.get(v) for v in (value, later))
        if one not in self._inside or other not in self._inside or not is_pure(one) or value.type != later.type:
            raise _DifferError
        if (one.name, one.properties) != (other.name, other.properties):
            raise _DifferError
        self._compare_operands(one, other)
        return 0

    def _keep(self, value: Value) -> None:
        """Has what a value is computed of stay what it is, for nothing in it is rewritten where that is used."""
        op = self._facts.makers.get(value)
        if op not in self._inside or not is_pure(op) or value in self._kept:
            return
        self._kept.add(value)
        for number, operand in enumerate(op.operands):
            if self.differences.setdefault((op, number), 0):
                raise _DifferError
            self._keep(operand)


def _rolled(facts: Facts, loop: Op, number: int) -> list[Op]:
    """Rolls up a loop that is written out for so many steps; returns what stands in front of it."""
    body = loop.regions[0]
    effects = [op for op in body.ops[:-1] if not is_pure(op)]
    size = len(effects) // number
    forms = Forms(facts, {})
    bounds = [forms.of(v) for v in loop.operands[:3]]
    if size * number != len(effects) or bounds[0] != Form(0, {}) or bounds[2] != Form(1, {}) or bounds[1] is None:
        return []
    try:
        first, *later = (effects[n * size : (n + 1) * size] for n in range(number))
        found: list[dict[tuple[Op, int], int]] = []
        for step in later:
            steps = _Steps(facts, body.ops)
            steps.compare(first, step)
            found.append(steps.differences)
    except _DifferError:
        return []
    steps = found[0]
    if any(differences != {s: d * n for s, d in steps.items()} for n, differences in enumerate(found, 1)):
        return []
    _rewrite(facts, loop, number, first, steps)
    maker = Maker(loop.operands[0].block, loop.location)
    last = maker.form(bounds[1].times(number), lambda key: forms.values[key])
    loop.operands = (loop.operands[0], last, *loop.operands[2:])
    facts.makers.update((result, op) for op in maker.made for result in op.results)
    return maker.made


def _rewrite(facts: Facts, loop: Op, number: int, first: Sequence[Op], differences: dict[tuple[Op, int], int]) -> None:
    """Makes the first step the body, with a variable that counts all steps."""
    body = loop.regions[0]
    variable = body.arguments[0]
    front = Maker(body, loop.location)
    count = front.constant(number)
    outer, step = front.op("arith.divui", (variable, count))[0], front.op("arith.remui", (variable, count))[0]

    # Each with the values that its operand is computed of, which may be in a branch.
    known = {site: Forms(facts, {}) for site in differences}
    found = {(op, place): known[op, place].of(op.operands[place]) for op, place in differences}

    def moved(op: Op, place: int, difference: int, maker: Maker) -> Value:
        """Returns an integer of the first step, plus what it is more in later ones."""
        value, form, forms = op.operands[place], found[op, place], known[op, place]
        assert form is not None, "it has been compared"
        if value.type != "index":
            count = maker.op("arith.index_cast", (step,), (value.type,))[0]
            more = maker.constant(signed(difference, int(value.type[1:])), value.type)
            added = maker.op("arith.muli", (count, more), (value.type,))[0]
            return maker.op("arith.addi", (value, added), (value.type,))[0]
        terms: dict[Any, int] = dict(form.terms)
        factor = terms.pop(variable, 0)
        numbers = {variable: difference} if factor == difference * number else {outer: factor, step: difference}
        terms.update((v, f) for v, f in numbers.items() if f)
        return maker.form(Form(form.constant, terms), lambda key: key if key in numbers else forms.values[key])

    def rewrite(ops: Sequence[Op], block: Block) -> list[Op]:
        out: list[Op] = []
        for op in ops:
            operands = list(op.operands)
            maker = Maker(block, op.location)
            for place, value in enumerate(operands):
                difference = differences.get((op, place), 0)
                if difference:
                    operands[place] = moved(op, place, difference, maker)
                elif value is variable:
                    operands[place] = outer
            op.operands = tuple(operands)
            for region in op.regions:
                region.ops = rewrite(region.ops, region)
            out += [*maker.made, op]
        return out

    kept = rewrite([op for op in body.ops if is_pure(op) or op in first], body)
    body.ops = [*front.made, *kept, body.ops[-1]]
    _forget_unused(body)
    facts.makers.update((v, op) for op in operations(body.ops) for v in op.results)
    facts.forget_keys()


def _forget_unused(body: Block) -> None:
    """Removes what only later steps used."""
    used: set[Value] = set()
    for op in reversed(body.ops):
        if not is_pure(op) or any(v in used for v in op.results):
            used.update(v for inner in operations([op]) for v in inner.operands)
    body.ops = [op for op in body.ops if not is_pure(op) or any(v in used for v in op.results)]
