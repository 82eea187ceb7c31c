"""Phases: executes of a kernel what decides about barriers, and nothing else.

Numbers that are the same for all threads are computed, variables of them too; what is read from memory is not known. A
barrier has what has come of its phase, and a wait yields until that is complete, so that whoever executes groups can
let them take turns.
"""

from __future__ import annotations

from .errors import TLSyntaxError
from .groups import Branch, Facts, Group, Leaf, Loop, Repeat, Stop, Together, all_nodes, compute, error_at, is_private
from .rings import operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import Any

    from .barriers import Barriers
    from .groups import Node
    from .ir import Op, Value

_MOST_STEPS = 2_000_000
"""How much is executed at most, in operations."""
_MOST_ITERATIONS = 512
"""Iterations of a loop that are executed; of more, as many are left out as all periods of so few barriers divide."""
_PERIOD = 5040


class Stuck(Exception):
    """Waits that nobody passes any more."""

    def __init__(self, waits: list[tuple[Stop, str]]) -> None:
        super().__init__()
        self.waits = waits


def _remedy(state: Barrier) -> str:
    """Returns what to do where the other parity would pass: at a barrier where nobody has arrived yet."""
    if state.completed or state.arrived:
        return ""
    return (
        " (if it waits for a slot that is empty at first, it needs the other parity, `parity ^ 1`, which passes while "
        "no phase is complete)"
    )


class Barrier:
    """The state of a barrier: how many phases are complete, and what has come of the one that is not."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.completed = 0
        self.seen = 0
        """How many phases were complete when the blocks of a cluster met last (`tilec.meetings`)."""
        self.come: list[Any] = []
        self.arrived = 0
        self.last: list[Any] = []
        """Who arrived in the last complete phase."""
        self.lines: dict[int, tuple[int, int]] = {}
        """Of each line that has arrived: the phase in which it did last, and with how many threads."""

    def arrive(self, threads: int, who: Any, line: int) -> bool:
        """Adds arrivals; returns whether there are too many."""
        self.arrived += threads
        self.come.append(who)
        phase, before = self.lines.get(line, (-1, 0))
        self.lines[line] = self.completed, threads + (before if phase == self.completed else 0)
        if self.arrived == self.count:
            self.completed += 1
            self.last, self.come, self.arrived = self.come, [], 0
        return self.arrived > self.count

    def has_passed(self, parity: int) -> bool:
        return (self.completed & 1) != parity

    def tell(self, lines: Sequence[int]) -> str:
        """Returns which of the lines that arrive here have come in the phase that is not complete."""
        said: list[str] = []
        for line in lines:
            phase, threads = self.lines.get(line, (-1, 0))
            if phase == self.completed:
                said.append(f"{threads} from line {line}")
            elif phase < 0:
                said.append(f"none from line {line}, which has not arrived at all")
            else:
                said.append(f"none from line {line}, which arrived last in phase {phase}, with {threads} threads")
        return ", ".join(said) or "no line arrives there"


class Machine:
    """Executes what decides about barriers."""

    deciders = "the indices of loops"
    """What may decide which way is taken."""

    def __init__(self, facts: Facts, assumed: dict[Any, int], unknown: list[Any]) -> None:
        self._facts = facts
        self._assumed = assumed
        self._unknown = unknown
        self._values: dict[Value, int | None] = {}
        self._memory: dict[tuple[Value, int | None], int | None] = {}
        self._barriers: dict[tuple[Barriers, int], Barrier] = {}
        self._steps = 0
        self._moves = 0
        """Arrivals and passed waits so far, by which groups see that something has happened."""
        self._indices: list[int] = []
        """Those of the loops that are executed, outermost first."""
        self._here: Any = None
        """The item of a group that is executed, with what tells one execution from another."""

    # Values

    def get(self, value: Value) -> int | None:
        """Returns a value that is the same for all threads, or None where it is not known."""
        if self._assumed and (number := self._assumed.get(self._facts.key(value))) is not None:
            return number
        if value in self._values:
            return self._values[value]
        op = self._facts.makers.get(value)
        if op is None or value in self._facts.dependent or not op.name.startswith("arith.") or len(op.results) != 1:
            return None
        return compute(op, [self.get(v) for v in op.operands])

    def _count_step(self, op: Op) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise error_at(
                op, "there are too many barriers and iterations to find out in which order groups take turns"
            )

    def _execute(self, op: Op) -> None:
        self._count_step(op)
        if op.name == "scf.if" and (chosen := self.get(op.operands[0])) is not None and not op.results:
            for inner in op.regions[0 if chosen else 1].ops:
                self._execute(inner)
            return
        if op.regions:
            self._forget_assigned(op)
            return
        if op.name == "tl.store" and is_private(op.operands[1]):
            place = self._place(op.operands[1], op.operands[2:])
            if place is None:
                self._forget(op.operands[1])
            else:
                self._memory[place] = self.get(op.operands[0])
        elif op.name == "tl.load":
            place = self._place(op.operands[0], op.operands[1:])
            self._values[op.results[0]] = None if place is None else self._memory.get(place)
        elif op.name.startswith("arith.") and len(op.results) == 1:
            self._values[op.results[0]] = compute(op, [self.get(v) for v in op.operands])

    def _place(self, buffer: Value, indices: Sequence[Value]) -> tuple[Value, int | None] | None:
        """Returns an element of a private array of one dimension."""
        if len(indices) != 1 or not is_private(buffer) or buffer in self._facts.dependent:
            return None
        index = self.get(indices[0])
        return None if index is None else (buffer, index)

    def _forget_assigned(self, op: Op) -> None:
        """Notes that something may have been assigned, nobody knows what."""
        for inner in operations([op]):
            if inner.name == "tl.store" and is_private(inner.operands[1]):
                self._forget(inner.operands[1])

    def _forget(self, buffer: Value) -> None:
        for place in [p for p in self._memory if p[0] is buffer]:
            del self._memory[place]

    # Nodes

    def run(self, nodes: Sequence[Node]) -> Generator[tuple[Stop, str]]:
        """Executes nodes; yields a wait, and what it waits for, as long as that is not passed."""
        for node in nodes:
            if isinstance(node, Leaf):
                self._execute(node.op)
            elif isinstance(node, Stop):
                yield from self._stop(node)
            elif isinstance(node, Loop | Branch) and not node.has_stops:
                for inner in all_nodes([node]):
                    if isinstance(inner, Leaf):
                        self._forget_assigned(inner.op)
            elif isinstance(node, Loop):
                for number in self._iterations(node):
                    self._values[node.variable] = number
                    self._indices.append(number)
                    yield from self.run(node.body)
                    self._indices.pop()
            elif isinstance(node, Branch):
                yield from self._branch(node)
            elif isinstance(node, Repeat):
                self._forget_assigned(node.op)
            elif isinstance(node, Group):
                yield from self.run(node.nodes)
            else:
                yield from self._together(node)

    def _branch(self, node: Branch) -> Generator[tuple[Stop, str]]:
        chosen = self.get(node.condition)
        if chosen is None:
            raise TLSyntaxError(
                f"whether this branch is taken is not known when the kernel is built, and there are barriers in it: "
                f"let {self.deciders} alone decide",
                location=node.location,
            )
        yield from self.run(node.then if chosen else node.other)

    def _iterations(self, loop: Loop) -> Iterator[int]:
        first, last, *steps = loop.op.operands
        lower, upper = self.get(first), self.get(last)
        step = self.get(steps[0]) if steps else 1
        if upper is None and lower is not None:
            key = self._facts.key(last)
            self._unknown.append(key)
            upper = self._assumed[key] = lower + 3
        if lower is None or upper is None or not step:
            raise error_at(
                loop.op, "the bounds of a loop around barriers begin at a number that is known when the kernel is built"
            )
        count = max(0, -(-(upper - lower) // step))
        skipped = (count - _MOST_ITERATIONS) // _PERIOD * _PERIOD if count > _MOST_ITERATIONS + _PERIOD else 0
        for number in range(count):
            if number < _MOST_ITERATIONS // 2 or number >= _MOST_ITERATIONS // 2 + skipped:
                yield lower + number * step

    # Barriers

    def _elements(self, stop: Stop) -> dict[int, int]:
        """Returns which of several barriers it is, each with how many threads."""
        barriers = stop.mark.barriers
        assert barriers is not None, "arrivals and waits are at barriers"
        index = stop.op.operands[0]
        found: dict[int, int] = {}
        if index in self._facts.dependent:
            for thread in stop.threads:
                number = self._facts.of_thread(index, thread)
                if number is None:
                    break
                found[number] = found.get(number, 0) + 1
            else:
                return self._in_bounds(stop, found)
        elif (number := self.get(index)) is not None:
            return self._in_bounds(stop, {number: len(stop.threads)})
        raise error_at(
            stop.op,
            f"which barrier of `{barriers.name or 'several'}` this is is not known when the kernel is built: compute "
            f"its number of indices of loops and constants",
        )

    def _in_bounds(self, stop: Stop, found: dict[int, int]) -> dict[int, int]:
        barriers = stop.mark.barriers
        assert barriers is not None, "arrivals and waits are at barriers"
        for number in found:
            if not 0 <= number < len(barriers):
                raise error_at(
                    stop.op,
                    f"`{barriers.name or 'barriers'}` has {len(barriers)} barriers, and this is number {number}",
                )
        return found

    def _state(self, barriers: Barriers, number: int) -> Barrier:
        key = (barriers, number)
        if key not in self._barriers:
            self._barriers[key] = Barrier(barriers.counts[number])
        return self._barriers[key]

    def _stop(self, stop: Stop) -> Generator[tuple[Stop, str]]:
        barriers = stop.mark.barriers
        assert barriers is not None, "arrivals and waits are at barriers"
        self._steps += 1
        for number, threads in self._elements(stop).items():
            state = self._state(barriers, number)
            name = f"{barriers.name or 'the barrier'}" + (f"[{number}]" if len(barriers) > 1 else "")
            if stop.mark.kind == "wait":
                parity = self.get(stop.op.operands[1])
                if parity is None:
                    raise error_at(
                        stop.op,
                        f"the parity of the phase of `{name}` is not known when the kernel is built: compute it of "
                        f"indices of loops and constants",
                    )
            else:
                parity = state.completed & 1
                self._moves += 1
                if state.arrive(threads, self._here, stop.op.location.line):
                    raise error_at(
                        stop.op,
                        f"{threads} threads arrive at `{name}`, of which {state.count - state.arrived + threads} are "
                        f"missing to complete a phase, which has {state.count} arrivals",
                    )
                if stop.mark.kind == "arrive":
                    continue
            while not state.has_passed(parity & 1):
                yield (
                    stop,
                    f"the phase of parity {parity & 1} of `{name}` has {state.count} arrivals, and {state.arrived} "
                    f"have come before this wait{self._iteration()}, which needs phase {state.completed} (the first is "
                    f"phase 0): {state.tell(self._arriving(barriers))}{_remedy(state)}",
                )
            self._moves += 1
            self._note_passed(state)

    def _arriving(self, barriers: Barriers) -> list[int]:
        """Returns the lines that arrive at one of several barriers."""
        found = [
            op.location.line
            for op, mark in self._facts.marks.items()
            if mark.barriers is barriers and mark.kind in ("arrive", "copied", "meet")
        ]
        return sorted(set(found))

    def _iteration(self) -> str:
        """Returns in which iterations of the loops around something is executed, as text."""
        return f" in iteration {', '.join(map(str, self._indices))}" if self._indices else ""

    # Turns

    def _note_passed(self, state: Barrier) -> None:
        if self._here is None:
            return
        node, place, epoch, item = self._here
        for who in state.last:
            if who is not None and who[0] is node and who[1] == place and who[2] is epoch and who[3][0] != item[0]:
                node.needs.setdefault(place, set()).add((who[3], item))

    def _together(self, node: Together) -> Generator[tuple[Stop, str]]:
        for place in range(max(map(len, node.parts))):
            parts = [part[place] if place < len(part) else [] for part in node.parts]
            bodies = [part.body if isinstance(part, Loop) else part for part in parts]
            loops = [part for part in parts if isinstance(part, Loop)]
            if not loops:
                yield from self._in_turns(node, place, bodies)
                continue
            for number in self._iterations(loops[0]):
                for loop in loops:
                    self._values[loop.variable] = number
                self._indices.append(number)
                inner = node.inner.get(place)
                yield from self._together(inner) if inner else self._in_turns(node, place, bodies)
                self._indices.pop()

    def _in_turns(self, node: Together, place: int, parts: list[list[Node]]) -> Generator[tuple[Stop, str]]:
        epoch = object()

        def items(group: int) -> Generator[tuple[Stop, str]]:
            for number, item in enumerate(parts[group]):
                steps = self.run([item])
                while True:
                    self._here = (node, place, epoch, (group, number))
                    waits = next(steps, None)
                    self._here = None
                    if waits is None:
                        break
                    yield waits

        outer, self._here = self._here, None
        left = {group: items(group) for group in range(len(parts))}
        while left:
            before = self._moves
            waits: list[tuple[Stop, str]] = []
            for group, steps in list(left.items()):
                wait = next(steps, None)
                if wait is None:
                    del left[group]
                    before = -1
                else:
                    waits.append(wait)
            if left and self._moves == before:
                raise Stuck(waits)
        self._here = outer
        yield from ()
