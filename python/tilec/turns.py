"""Turns: puts what the groups of a block do into one order (docs/language/semantics.md, S10).

A program may say by hand which threads do what (`T.ws`, or branches on the thread's number around tile operations), and
let them wait for each other at barriers. What it means is what its groups do in turns: each goes on until it comes to
a wait that is not passed yet, then it is the next one's turn. This makes of the body of a kernel one without groups and
barriers that does the same in that order.

What must hold, and is proven here by executing all that decides about barriers, numbers of threads and of iterations
included, and nothing else:

- every wait is passed when its turn comes, and no barrier gets more arrivals than a phase has;
- the order does not depend on the arguments of a call: loops whose bounds are known when the kernel runs are tried
  with every number of iterations up to where all has repeated.

First the order of the text is tried, in which groups stand in loops one behind the other. If a wait is not passed,
loops of several groups with the same bounds become one, and what stands in it is ordered by which wait needs which
arrival.

Sound, because waits only ever hold a group back: whatever the speed of threads, a program without races computes the
same in every order in which all waits are passed. One with races is given the meaning of this order.
"""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass, field

from .barriers import MARK
from .builder import current
from .errors import TLSyntaxError
from .ir import Block, Op, Value
from .rings import operations, run_ahead
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any

    from .barriers import Barriers, Mark
    from .language.kernel import Kernel
    from .location import Location

_WARP = 32
_MOST_STEPS = 2_000_000
"""How much is executed at most, in operations."""
_MOST_ITERATIONS = 512
"""Iterations of a loop that are executed; of more, as many are left out as all periods of so few barriers divide."""
_PERIOD = 5040
_ENDS = ("scf.yield", "tl.yield", "scf.condition")
_LOOPS = ("scf.for", "tl.pipelined")
_OF_THE_BLOCK = (
    "tl.copy", "tl.fill", "tl.gemm", "tl.parallel", "tl.pipelined", "tl.reduce", "tl.shuffle", "gpu.barrier", MARK,
)  # fmt: skip
"""Operations that a block executes as a whole; copies and fills of private memory are not among them."""
_HAND_OVER = ("memref.dim", "tl.slot", "gpu.thread_id", "gpu.block_id")
"""Pure operations that are not arithmetic."""


# The program as a tree ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Leaf:
    """An operation that says nothing of barriers. `guards` say which threads execute it, if not all do."""

    op: Op
    guards: tuple[Value, ...] = ()


@dataclass(eq=False)
class Stop:
    """An arrival at a barrier, or a wait, by some threads."""

    op: Op
    mark: Mark
    threads: frozenset[int]


@dataclass(eq=False)
class Branch:
    """What is done where a condition holds, which is the same for all threads, and where not."""

    condition: Value
    then: list[Node]
    other: list[Node]
    location: Location

    @property
    def has_stops(self) -> bool:
        """Whether it decides about barriers."""
        return any(isinstance(node, Stop) for node in _nodes([*self.then, *self.other]))


@dataclass(eq=False)
class Loop:
    """A loop around arrivals, waits or groups."""

    op: Op
    body: list[Node]

    @property
    def has_stops(self) -> bool:
        """Whether it decides about barriers."""
        return any(isinstance(node, Stop) for node in _nodes(self.body))

    @property
    def variable(self) -> Value:
        return self.op.regions[0].arguments[0]


@dataclass(eq=False)
class Group:
    """What some threads do while others do something else."""

    threads: frozenset[int]
    nodes: list[Node]


@dataclass(eq=False)
class Together:
    """Groups of different threads that take turns."""

    groups: list[Group]
    parts: list[list[list[Node] | Loop]] = field(default_factory=list)
    """Of each group the items between its loops, and its loops, in turn."""
    needs: dict[int, set[tuple[tuple[int, int], tuple[int, int]]]] = field(default_factory=dict)
    """For each place of a part which item, by its group and number, comes after which other one."""


if TYPE_CHECKING:
    Node = Leaf | Stop | Branch | Loop | Group | Together


def _nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Branch):
            yield from _nodes([*node.then, *node.other])
        elif isinstance(node, Loop):
            yield from _nodes(node.body)
        elif isinstance(node, Group):
            yield from _nodes(node.nodes)
        elif isinstance(node, Together):
            yield from _nodes(node.groups)


def _is_private(value: Value) -> bool:
    return "<private>" in value.type


def _is_pure(op: Op) -> bool:
    return (op.name.startswith(("arith.", "math.")) or op.name in _HAND_OVER) and not op.regions


def _is_of_block(op: Op) -> bool:
    """Whether a block executes the operation as a whole."""
    if op.name in ("tl.copy", "tl.fill"):
        buffers = [v.type for v in op.operands if v.type.startswith("memref")]
        return "tl.fragment" in "".join(buffers) or not any("<private>" in b for b in buffers)
    return op.name in _OF_THE_BLOCK


def _error(op: Op, message: str) -> TLSyntaxError:
    return TLSyntaxError(message, location=op.location)


# Numbers --------------------------------------------------------------------------------------------------------------


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if bits > 1 and number >> (bits - 1) else number


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": min,
    "maxui": max,
    "shrui": lambda a, b: a >> b if b < 64 else 0,
}
_SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "divsi": _truncated,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "remsi": lambda a, b: a - b * _truncated(a, b),
    "minsi": min,
    "maxsi": max,
    "shli": lambda a, b: a << b if 0 <= b < 64 else 0,
    "shrsi": lambda a, b: a >> min(b & 63, 63),
}
_COMPARED: tuple[Callable[[int, int], bool], ...] = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
"""By the number of the predicate; those from 6 on compare unsigned numbers."""


def _bits(integer: str) -> int:
    return 32 if integer == "index" else int(integer[1:])


def _compute(op: Op, operands: list[int | None]) -> int | None:
    """Returns what arithmetic of integers gives, or None where that is not known."""
    name, result = op.name.removeprefix("arith."), op.results[0].type
    if result != "index" and not (result[0] == "i" and result[1:].isdigit()):
        return None
    if name == "constant":
        text = op.properties["value"].split(" ")[0]
        return int(text == "true") if text in ("true", "false") else int(text)
    if name == "select":
        chosen = operands[0]
        return None if chosen is None else operands[1 if chosen else 2]
    numbers = [n for n in operands if n is not None]
    if len(numbers) < len(operands):
        return None
    source = _bits(op.operands[0].type) if op.operands[0].type[0] == "i" else 0
    if source == 0:
        return None
    words = [n & ((1 << source) - 1) for n in numbers]
    if name == "cmpi":
        predicate = int(op.properties["predicate"].split(" ")[0])
        return int(_COMPARED[predicate](*(words if predicate >= 6 else numbers)))
    if name in ("extui", "index_castui"):
        return words[0]
    if name in ("extsi", "trunci", "index_cast"):
        return _signed(-words[0] if source == 1 and name == "extsi" else numbers[0], _bits(result))
    function = _UNSIGNED.get(name)
    arguments = words if function else numbers
    function = function or _SIGNED.get(name)
    if function is None or (("div" in name or "rem" in name) and arguments[1] == 0):
        return None
    return _signed(function(*arguments), _bits(result))


# What depends on the thread -------------------------------------------------------------------------------------------


class _Facts:
    """What is known of a kernel's values before anything is executed."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.marks = kernel.marks
        builder = current()
        self.makers: dict[Value, Op] = {}
        for op in operations([*builder.prologue, *builder.body.ops, *kernel.block.ops]):
            for result in op.results:
                self.makers[result] = op
        self.dependent: set[Value] = set()
        count = -1
        while len(self.dependent) != count:
            count = len(self.dependent)
            self._find(kernel.block.ops, is_divergent=False)
        self._keys: dict[Value, Any] = {}

    def _find(self, ops: Sequence[Op], *, is_divergent: bool) -> None:
        for op in ops:
            differs = op.name == "gpu.thread_id" or any(v in self.dependent for v in op.operands)
            if op.name == "tl.store" and _is_private(op.operands[1]) and (differs or is_divergent):
                self.dependent.add(op.operands[1])
            if differs and op.name != MARK:
                self.dependent.update(op.results)
            for region in op.regions:
                if differs and op.name != MARK:
                    self.dependent.update(region.arguments)
                inside = differs and op.name != MARK and not self.has_block_ops(op)
                self._find(region.ops, is_divergent=is_divergent or inside)

    def has_block_ops(self, op: Op) -> bool:
        return any(_is_of_block(inner) for region in op.regions for inner in operations(region.ops))

    def has_marks(self, op: Op) -> bool:
        """Whether something in the operation is to be put in order."""
        return any(
            inner.name == MARK
            or (inner.name == "scf.if" and inner.operands[0] in self.dependent and self.has_block_ops(inner))
            for region in op.regions
            for inner in operations(region.ops)
        )

    def depends(self, op: Op) -> bool:
        """Whether threads differ in what they do."""
        return any(
            inner.name == "gpu.thread_id" or any(v in self.dependent for v in inner.operands)
            for inner in operations([op])
        )

    def key(self, value: Value) -> Any:
        """Returns what two values have in common that are computed alike."""
        found = self._keys.get(value)
        if found is None:
            op = self.makers.get(value)
            if op is None or not _is_pure(op) or len(op.results) != 1:
                found = value
            else:
                found = (op.name, tuple(sorted(op.properties.items())), *(self.key(v) for v in op.operands))
            self._keys[value] = found
        return found

    def forget_keys(self) -> None:
        """Is told that operands have changed."""
        self._keys.clear()

    def of_thread(self, value: Value, thread: int) -> int | None:
        """Returns a value that is computed of the thread's number."""
        op = self.makers.get(value)
        if op is None:
            return None
        if op.name == "gpu.thread_id":
            for dimension, extent in zip("xyz", self.kernel.threads, strict=False):
                if dimension in op.properties["dimension"].split()[-1]:
                    return thread % extent
                thread //= extent
            return 0
        if not op.name.startswith("arith.") or len(op.results) != 1:
            return None
        return _compute(op, [self.of_thread(v, thread) for v in op.operands])


# Reading the program --------------------------------------------------------------------------------------------------


class _Reader:
    """Makes the tree of a program."""

    def __init__(self, facts: _Facts) -> None:
        self._facts = facts
        self._starts_by_one = False
        self._all = frozenset(range(facts.kernel.num_threads))

    def read(
        self, ops: Sequence[Op], threads: frozenset[int] | None = None, guards: tuple[Value, ...] = ()
    ) -> list[Node]:
        threads = self._all if threads is None else threads
        out: list[Node] = []
        for op in ops:
            if op.name not in _ENDS:
                out += self._node(op, threads, guards)
        return out

    def _node(self, op: Op, threads: frozenset[int], guards: tuple[Value, ...]) -> list[Node]:
        facts = self._facts
        if op.name == MARK:
            return self._mark(op, facts.marks[op], threads, guards)
        if op.name == "scf.if" and op.operands[0] in facts.dependent and facts.has_block_ops(op):
            return self._branch_on_thread(op, threads, guards)
        is_cut = facts.has_marks(op) or (bool(guards) and op.name in (*_LOOPS, "scf.if") and facts.has_block_ops(op))
        if not op.regions or not is_cut:
            if _is_of_block(op):
                self._check_threads(op, threads)
            return [Leaf(op, guards)]
        if op.name in _LOOPS:
            if op.results:
                raise _error(op, "a loop around barriers carries no values: use `T.alloc_var`")
            return [Loop(op, self.read(op.regions[0].ops, threads, guards))]
        if op.name == "scf.if" and not op.results:
            then, other = (self.read(region.ops, threads, guards) for region in op.regions)
            return [Branch(op.operands[0], then, other, op.location)]
        raise _error(
            op,
            "barriers and groups of threads stand in loops whose iterations are counted, such as `T.serial`, and in "
            "branches: how often a `while` loop runs is not known when the kernel is built",
        )

    def _check_threads(self, op: Op, threads: frozenset[int]) -> None:
        """A tile operation is executed by whole warps; one thread may start a copy."""
        starts_by_one, self._starts_by_one = self._starts_by_one, False
        is_whole = all(
            set(range(t // _WARP * _WARP, min(t // _WARP * _WARP + _WARP, len(self._all)))) <= threads for t in threads
        )
        if is_whole or (starts_by_one and op.name in ("tl.copy", "tl.parallel")):
            return
        raise _error(
            op,
            f"this is executed by whole warps, and stands where {len(threads)} threads go that are no whole ones; take "
            f"it out of the branch, or let all threads of a warp go there",
        )

    def _mark(self, op: Op, mark: Mark, threads: frozenset[int], guards: tuple[Value, ...]) -> list[Node]:
        if mark.kind == "once":
            self._starts_by_one = True
            return []
        if mark.kind != "group":
            return [Stop(op, mark, threads)]
        chosen = self._choose(op, op.operands[0], threads)
        return [Group(chosen, self.read(op.regions[0].ops, chosen, (*guards, op.operands[0])))] if chosen else []

    def _choose(self, op: Op, condition: Value, threads: frozenset[int]) -> frozenset[int]:
        """Returns the threads for which a condition holds."""
        found = {t: self._facts.of_thread(condition, t) for t in threads}
        if any(value is None for value in found.values()):
            raise _error(
                op,
                "which threads go here is not known when the kernel is built: let the thread's number alone decide, as "
                "in `if T.get_thread_binding() < 128:`",
            )
        return frozenset(t for t, value in found.items() if value)

    def _branch_on_thread(self, op: Op, threads: frozenset[int], guards: tuple[Value, ...]) -> list[Node]:
        if op.results:
            raise _error(op, "a branch on the thread around tile operations gives no values: use `T.alloc_var`")
        condition = op.operands[0]
        yes = self._choose(op, condition, threads)
        out: list[Node] = []
        if yes:
            out.append(Group(yes, self.read(op.regions[0].ops, yes, (*guards, condition))))
        if threads - yes and op.regions[1].ops:
            # What computes the opposite goes before the branch.
            made = _opposite(condition, op.location)
            opposite = made[-1].results[0]
            self._facts.makers.update((o.results[0], o) for o in made)
            self._facts.dependent.add(opposite)
            out = [*map(Leaf, made), *out]
            out.append(Group(threads - yes, self.read(op.regions[1].ops, threads - yes, (*guards, opposite))))
        return out


def _opposite(condition: Value, location: Location) -> list[Op]:
    """Returns what computes whether a condition does not hold; it stands nowhere yet."""
    true, value = Value("i1", condition.block), Value("i1", condition.block)
    return [
        Op("arith.constant", (), (true,), {"value": "true"}, {}, (), location),
        Op("arith.xori", (condition, true), (value,), {}, {}, (), location),
    ]


# Executing it ---------------------------------------------------------------------------------------------------------


class Stuck(Exception):
    """Waits that nobody passes any more."""

    def __init__(self, waits: list[tuple[Stop, str]]) -> None:
        super().__init__()
        self.waits = waits


class _Barrier:
    """The state of a barrier: how many phases are complete, and what has come of the one that is not."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.completed = 0
        self.come: list[Any] = []
        self.arrived = 0
        self.last: list[Any] = []
        """Who arrived in the last complete phase."""

    def arrive(self, threads: int, who: Any) -> bool:
        """Adds arrivals; returns whether there are too many."""
        self.arrived += threads
        self.come.append(who)
        if self.arrived == self.count:
            self.completed += 1
            self.last, self.come, self.arrived = self.come, [], 0
        return self.arrived > self.count

    def has_passed(self, parity: int) -> bool:
        return (self.completed & 1) != parity


class _Machine:
    """Executes what decides about barriers."""

    def __init__(self, facts: _Facts, assumed: dict[Any, int], unknown: list[Any]) -> None:
        self._facts = facts
        self._assumed = assumed
        self._unknown = unknown
        self._values: dict[Value, int | None] = {}
        self._memory: dict[tuple[Value, int | None], int | None] = {}
        self._barriers: dict[tuple[Barriers, int], _Barrier] = {}
        self._steps = 0
        self._moves = 0
        """Arrivals and passed waits so far, by which groups see that something has happened."""
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
        return _compute(op, [self.get(v) for v in op.operands])

    def _execute(self, op: Op) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _error(op, "there are too many barriers and iterations to find out in which order groups take turns")
        if op.name == "scf.if" and (chosen := self.get(op.operands[0])) is not None and not op.results:
            for inner in op.regions[0 if chosen else 1].ops:
                self._execute(inner)
            return
        if op.regions:
            self._forget_assigned(op)
            return
        if op.name == "tl.store" and _is_private(op.operands[1]):
            place = self._place(op.operands[1], op.operands[2:])
            if place is None:
                self._forget(op.operands[1])
            else:
                self._memory[place] = self.get(op.operands[0])
        elif op.name == "tl.load":
            place = self._place(op.operands[0], op.operands[1:])
            self._values[op.results[0]] = None if place is None else self._memory.get(place)
        elif op.name.startswith("arith.") and len(op.results) == 1:
            self._values[op.results[0]] = _compute(op, [self.get(v) for v in op.operands])

    def _place(self, buffer: Value, indices: Sequence[Value]) -> tuple[Value, int | None] | None:
        """Returns an element of a private array of one dimension."""
        if len(indices) != 1 or not _is_private(buffer) or buffer in self._facts.dependent:
            return None
        index = self.get(indices[0])
        return None if index is None else (buffer, index)

    def _forget_assigned(self, op: Op) -> None:
        """Notes that something may have been assigned, nobody knows what."""
        for inner in operations([op]):
            if inner.name == "tl.store" and _is_private(inner.operands[1]):
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
                for inner in _nodes([node]):
                    if isinstance(inner, Leaf):
                        self._forget_assigned(inner.op)
            elif isinstance(node, Loop):
                for number in self._iterations(node):
                    self._values[node.variable] = number
                    yield from self.run(node.body)
            elif isinstance(node, Branch):
                yield from self._branch(node)
            elif isinstance(node, Group):
                yield from self.run(node.nodes)
            else:
                yield from self._together(node)

    def _branch(self, node: Branch) -> Generator[tuple[Stop, str]]:
        chosen = self.get(node.condition)
        if chosen is None:
            raise TLSyntaxError(
                "whether this branch is taken is not known when the kernel is built, and there are barriers in it: let "
                "the indices of loops alone decide",
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
            raise _error(
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
        raise _error(
            stop.op,
            f"which barrier of `{barriers.name or 'several'}` this is is not known when the kernel is built: compute "
            f"its number of indices of loops and constants",
        )

    def _in_bounds(self, stop: Stop, found: dict[int, int]) -> dict[int, int]:
        barriers = stop.mark.barriers
        assert barriers is not None, "arrivals and waits are at barriers"
        for number in found:
            if not 0 <= number < len(barriers):
                raise _error(
                    stop.op,
                    f"`{barriers.name or 'barriers'}` has {len(barriers)} barriers, and this is number {number}",
                )
        return found

    def _state(self, barriers: Barriers, number: int) -> _Barrier:
        key = (barriers, number)
        if key not in self._barriers:
            self._barriers[key] = _Barrier(barriers.counts[number])
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
                    raise _error(
                        stop.op,
                        f"the parity of the phase of `{name}` is not known when the kernel is built: compute it of "
                        f"indices of loops and constants",
                    )
            else:
                parity = state.completed & 1
                self._moves += 1
                if state.arrive(threads, self._here):
                    raise _error(
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
                    f"have come before this wait",
                )
            self._moves += 1
            self._note_passed(state)

    # Turns

    def _note_passed(self, state: _Barrier) -> None:
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
                yield from self._in_turns(node, place, bodies)

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


# Finding an order -----------------------------------------------------------------------------------------------------


def _try(facts: _Facts, nodes: list[Node]) -> None:
    """Executes a program with all numbers of iterations that matter; raises `Stuck`."""
    unknown: list[Any] = []
    assumed: dict[Any, int] = {}

    def execute(numbers: dict[Any, int]) -> None:
        for wait in _Machine(facts, numbers, unknown).run(nodes):
            raise Stuck([wait])

    execute(assumed)
    names = list(dict.fromkeys(unknown))
    if len(names) > 3:
        raise TLSyntaxError(
            f"there are barriers in loops of {len(names)} different bounds that are known only when the kernel runs, "
            f"which are too many to find out in which order groups take turns",
            location=facts.kernel.location,
        )
    # Twice around all barriers, of both parities, everything has repeated.
    most = max((len(mark.barriers) for mark in facts.marks.values() if mark.barriers), default=1)
    tried = {0: 1, 1: max(30, 4 * most + 8), 2: max(7, 2 * most + 4), 3: 5}[len(names)]
    for numbers in itertools.product(range(tried), repeat=len(names)):
        execute(dict(zip(names, numbers, strict=True)))


def _pair(facts: _Facts, nodes: list[Node]) -> list[Node]:
    """Puts groups together that may take turns: those of different threads with nothing but numbers in between."""
    out: list[Node] = []
    run: list[Group] = []

    def close() -> None:
        if len(run) > 1:
            out.append(_together(facts, run))
        else:
            out.extend(run)
        run.clear()

    for node in nodes:
        if isinstance(node, Loop):
            node = Loop(node.op, _pair(facts, node.body))
        if isinstance(node, Group):
            if any(node.threads & other.threads for other in run):
                close()
            run.append(node)
            continue
        if isinstance(node, Leaf) and (_is_pure(node.op) or node.op.name == "tl.alloc"):
            out.append(node)
            continue
        close()
        out.append(node)
    close()
    return out


def _together(facts: _Facts, groups: Sequence[Group]) -> Together:
    node = Together(list(groups))
    for group in groups:
        parts: list[list[Node] | Loop] = [[]]
        for item in _items(group.nodes):
            if isinstance(item, Loop):
                parts += [Loop(item.op, _items(item.body)), []]
            else:
                parts[-1].append(item)  # pyright: ignore[reportAttributeAccessIssue]
        node.parts.append(parts)
    for place in range(1, max(map(len, node.parts)), 2):
        loops = [part[place] for part in node.parts if place < len(part)]
        bounds = {tuple(facts.key(v) for v in loop.op.operands) for loop in loops if isinstance(loop, Loop)}
        if len(bounds) > 1:
            first, other = [loop for loop in loops if isinstance(loop, Loop)][:2]
            raise _error(
                other.op,
                f"groups of threads wait for each other in loops of different bounds, this one and that of line "
                f"{first.op.location.line}: give both the same, so that an iteration of one belongs to an iteration "
                f"of the other",
            )
    return node


def _items(nodes: Sequence[Node]) -> list[Node]:
    """Returns what takes turns: branches around barriers are cut into one for each thing that is done in them."""
    out: list[Node] = []
    for node in nodes:
        if not isinstance(node, Branch):
            out.append(node)
            continue
        for is_then, inside in ((True, node.then), (False, node.other)):
            for chunk in _chunks(inside):
                if all(isinstance(n, Leaf) and _is_pure(n.op) for n in chunk):
                    out += chunk
                else:
                    out.append(Branch(node.condition, *((chunk, []) if is_then else ([], chunk)), node.location))
    return out


def _chunks(nodes: Sequence[Node]) -> list[list[Node]]:
    """Cuts what is done in a branch into parts; none uses what is read in another one."""
    made: set[Value] = set()
    for node in nodes:
        used = {
            v for n in _nodes([node]) if isinstance(n, Leaf | Stop) for op in operations([n.op]) for v in op.operands
        }
        if used & made:
            return [list(nodes)]
        if isinstance(node, Leaf) and not _is_pure(node.op) and node.op.name != "tl.alloc":
            made.update(node.op.results)
    return [[node] for node in nodes]


def _ordered(facts: _Facts, nodes: list[Node]) -> list[Node]:
    """Writes groups that took turns in one order."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            out.append(Loop(node.op, _ordered(facts, node.body)))
        elif isinstance(node, Together):
            for place in range(max(map(len, node.parts))):
                parts = [part[place] if place < len(part) else [] for part in node.parts]
                loops = [part for part in parts if isinstance(part, Loop)]
                needs = node.needs.get(place, set())
                if not loops:
                    out += _merge(parts, needs)  # pyright: ignore[reportArgumentType]
                    continue
                for loop in loops[1:]:
                    _replace(loop.body, loop.variable, loops[0].variable)
                out.append(Loop(loops[0].op, _merge([p.body if isinstance(p, Loop) else [] for p in parts], needs)))
        else:
            out.append(node)
    return out


def _merge(parts: list[list[Node]], needs: set[tuple[tuple[int, int], tuple[int, int]]]) -> list[Node]:
    """Puts the items of several groups in one order; of each group they stay in theirs."""
    out: list[Node] = []
    done = [0] * len(parts)
    while any(count < len(part) for count, part in zip(done, parts, strict=True)):
        for group, part in enumerate(parts):
            item = (group, done[group])
            if done[group] < len(part) and all(done[g] > n for (g, n), later in needs if later == item):
                out.append(part[done[group]])
                done[group] += 1
                break
        else:
            raise Stuck([])
    return out


def _replace(nodes: Sequence[Node], old: Value, new: Value) -> None:
    for node in _nodes(nodes):
        if isinstance(node, Branch) and node.condition is old:
            node.condition = new
        if isinstance(node, Leaf | Stop | Loop):
            for op in operations([node.op]):
                op.operands = tuple(new if v is old else v for v in op.operands)


# Writing it -----------------------------------------------------------------------------------------------------------


class _Writer:
    """Makes operations of the tree, without marks."""

    def __init__(self, facts: _Facts) -> None:
        self._facts = facts
        self._users: dict[Value, set[Op]] = {}
        for op in operations(facts.kernel.block.ops):
            for value in op.operands:
                self._users.setdefault(value, set()).add(op)

    def write(self, nodes: Sequence[Node], block: Block) -> list[Op]:
        out: list[Op] = []
        for node in nodes:
            if isinstance(node, Leaf):
                self._leaf(node, block, out)
            elif isinstance(node, Loop):
                body = node.op.regions[0]
                body.ops = [*self.write(node.body, body), *[op for op in body.ops if op.name in _ENDS][-1:]]
                out.append(node.op)
            elif isinstance(node, Branch):
                then, other = (self.write(nodes, block) for nodes in (node.then, node.other))
                if then or other:
                    out.append(self._branch(node.condition, then, other, block, node.location))
            elif isinstance(node, Group):
                out += self.write(node.nodes, block)
        return out

    def _leaf(self, leaf: Leaf, block: Block, out: list[Op]) -> None:
        """What threads do that differ is for those of the group alone, with what they read for it."""
        op = leaf.op
        writes = any(o.name in ("tl.store", "tl.atomic") for o in operations([op]))
        if not leaf.guards or not writes or _is_of_block(op) or not self._facts.depends(op):
            out.append(op)
            return
        if any(result.uses for result in op.results):
            raise _error(
                op, "what a group of threads finds by this is used elsewhere: write it to shared memory, and read that"
            )
        made = [*self._reads(op, out), op]
        for guard in reversed(leaf.guards):
            made = [self._branch(guard, made, [], block, op.location)]
        out += made

    def _reads(self, op: Op, out: list[Op]) -> list[Op]:
        """Takes what threads read for `op` alone, and compute of that, from the end of what is written so far."""
        begin = len(out)
        while begin > 0 and (_is_pure(out[begin - 1]) or out[begin - 1].name == "tl.load"):
            begin -= 1
        found: list[Op] = []
        made: set[Value] = set()
        for before in out[begin:]:
            is_read = before.name == "tl.load" and self._facts.depends(before)
            if is_read or any(v in made for v in before.operands):
                found.append(before)
                made.update(before.results)
        while True:
            inside = set(operations([*found, op]))
            kept = [o for o in found if all(self._users.get(v, set()) <= inside for v in o.results)]
            if len(kept) == len(found):
                break
            found = kept
        out[begin:] = [o for o in out[begin:] if o not in found]
        return found

    @staticmethod
    def _branch(condition: Value, then: list[Op], other: list[Op], block: Block, location: Location) -> Op:
        regions: list[Block] = []
        for ops in (then, other):
            region = Block(block, "a branch")
            region.ops = ops
            if ops or ops is then:
                region.ops = [*ops, Op("scf.yield", (), (), {}, {}, (), location)]
            regions.append(region)
        condition.uses += 1
        return Op("scf.if", (condition,), (), {}, {}, tuple(regions), location)


def put_in_order(kernel: Kernel) -> None:
    """Makes a kernel's body one without groups and barriers, or raises."""
    facts = _Facts(kernel)
    block = kernel.block
    nodes = _Reader(facts).read(block.ops)
    try:
        _try(facts, nodes)
    except Stuck as first:
        nodes = _taking_turns(facts, nodes, first)
    block.ops = [*_Writer(facts).write(nodes, block), *[op for op in block.ops if op.name in _ENDS][-1:]]
    facts.forget_keys()
    loops = [node.op for node in _nodes(nodes) if isinstance(node, Loop) and node.has_stops]
    run_ahead(block.ops, loops, facts.key)


def _taking_turns(facts: _Facts, nodes: list[Node], first: Stuck) -> list[Node]:
    """Returns an order in which all waits are passed; `first` is why it is not that of the text."""
    paired = _pair(facts, nodes)
    try:
        if not any(isinstance(node, Together) for node in _nodes(paired)):
            raise first
        _try(facts, paired)
        ordered = _ordered(facts, paired)
        _try(facts, ordered)
    except Stuck as stuck:
        raise _describe(stuck if stuck.waits else first) from None
    return ordered


def _describe(stuck: Stuck) -> TLSyntaxError:
    stop, why = stuck.waits[0]
    others = "".join(
        f"; meanwhile {other.mark.text} of line {other.op.location.line} waits: {what}"
        for other, what in stuck.waits[1:]
    )
    return _error(stop.op, f"{stop.mark.text} waits for ever: {why}{others}")
