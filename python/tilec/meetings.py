"""Meetings: puts what the blocks of a cluster do at each other's barriers in order (docs/language/semantics.md, S11).

A program may let a block arrive at a barrier of another one, which waits for it (`T.alloc_cluster_barrier`). What it
means is that all blocks of the cluster meet before a wait, as at `T.cluster_sync`: this takes arrivals and waits out,
and puts such meetings in. A meeting orders more than the wait does, and never less, as long as

- what the wait waits for has come before the meeting, on every way. This is proven here, by executing for every block
  of a cluster all that decides about barriers; loops whose bounds are known when the kernel runs are tried as in
  `tilec.turns`;
- all blocks come to the meeting equally often. A branch that blocks take differently is cut where they wait, and
  branches of different blocks stand one behind the other; their loops of the same bounds become one, and so do their
  meetings, if all blocks have one there. Each part that waits has a meeting before it. `tl-verify-statements` refuses
  meetings that are left where blocks go different ways.

What one block does stays in its order. In which order the parts of different blocks stand is tried: those of one block
before those of the next, in turns, or the other way around; each is proven, and the first that is right is taken.

That nothing else is in no order is what `tl-verify-statements` checks of every kernel with clusters.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

from .barriers import ClusterBarriers
from .errors import TLSyntaxError
from .group_variables import reject_shared_variables
from .groups import (
    ENDS,
    Branch,
    Facts,
    Group,
    Leaf,
    Loop,
    Meeting,
    Reader,
    Repeat,
    Stop,
    all_nodes,
    compute,
    error_at,
    is_of_block,
    is_pure,
)
from .ir import Op
from .phases import Barrier, Machine
from .ranges import EXTENTS
from .rings import operations
from .turns import Writer, reject_shared_places, replace, try_all
from .typed import TYPE_CHECKING
from .values import known

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import Any

    from .barriers import Barriers
    from .groups import Node
    from .ir import Value
    from .language.kernel import Kernel
    from .location import Location

_MEETING = "tl.cluster_barrier"
_REMAINDERS = ("arith.remsi", "arith.remui")
_QUOTIENTS = ("arith.divsi", "arith.divui", "arith.floordivsi")
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


class _Cluster:
    """Where blocks are in their cluster, as far as the program computes it of their coordinates."""

    def __init__(self, kernel: Kernel, facts: Facts) -> None:
        self._facts = facts
        self.extents = kernel.cluster or (1,) * len(kernel.blocks)
        self._dimensions = {coordinate.value: dim for dim, coordinate in enumerate(kernel.coordinates)}
        self._blocks = kernel.blocks
        self._is_whole = [known(blocks) == extent for extent, blocks in zip(self.extents, kernel.blocks, strict=True)]
        """Of each dimension: whether the grid is one cluster long."""
        self._differing: dict[Value, bool] = {}

    @property
    def places(self) -> list[tuple[int, ...]]:
        """The places of the blocks in a cluster, by their number."""
        return [place[::-1] for place in itertools.product(*map(range, reversed(self.extents)))]

    def _dimension(self, value: Value) -> int | None:
        """Returns the dimension along which a value is the block's coordinate."""
        while value not in self._dimensions:
            op = self._facts.makers.get(value)
            if op is None or op.name not in _CASTS:
                return None
            value = op.operands[0]
        return self._dimensions[value]

    def _divided(self, op: Op) -> int | None:
        """Returns the dimension of the coordinate that an operation divides by an extent, or a part or multiple."""
        dim = self._dimension(op.operands[0])
        return None if dim is None or not self.divisor(op) else dim

    def divisor(self, op: Op) -> int:
        """Returns by which positive constant an operation divides, or 0."""
        divisor = self._facts.makers.get(op.operands[1])
        found = compute(divisor, []) if divisor is not None and divisor.name == "arith.constant" else None
        return max(found or 0, 0)

    def coordinate(self, value: Value, place: Sequence[int]) -> int | None:
        """Returns what a block's place in its cluster says of a value: the same in every cluster."""
        dim = self._dimension(value)
        if dim is not None:
            return place[dim] if self._is_whole[dim] and self._greatest(value) is not None else None
        op = self._facts.makers.get(value)
        if op is None or op.name not in _REMAINDERS or self._greatest(op.operands[0]) is None:
            return None
        divisor = self.divisor(op)
        found = self._residue(op.operands[0], divisor, place) if divisor else None
        return None if found is None else found % divisor

    def _greatest(self, value: Value) -> int | None:
        """Returns a bound of a sum of coordinates and constants, or None if it may wrap on the way."""
        op = self._facts.makers.get(value)
        if value in self._dimensions:
            blocks = known(self._blocks[self._dimensions[value]])
            found = (EXTENTS.high if blocks is None else int(blocks)) - 1
        elif op is None or op.name not in ("arith.constant", "arith.addi", *_CASTS):
            return None
        elif op.name == "arith.constant":
            found = compute(op, [])
        else:
            parts = [self._greatest(operand) for operand in op.operands]
            found = None if None in parts else sum(part for part in parts if part is not None)
        bits = 32 if value.type == "index" else int(value.type[1:])
        return found if found is not None and 0 <= found < 1 << bits - 1 else None

    def _residue(self, value: Value, divisor: int, place: Sequence[int]) -> int | None:
        """Returns a number that leaves the same rest as a value, which does not wrap."""
        dim = self._dimension(value)
        if dim is not None:
            known_rest = self._is_whole[dim] or self.extents[dim] % divisor == 0
            return place[dim] if known_rest else None
        op = self._facts.makers.get(value)
        if op is None or op.name not in ("arith.constant", "arith.addi", *_CASTS):
            return None
        if op.name == "arith.constant":
            number = compute(op, [])
            return number if number is not None and number >= 0 else None
        parts = [self._residue(operand, divisor, place) for operand in op.operands]
        return None if None in parts else sum(part for part in parts if part is not None)

    def differs(self, value: Value) -> bool:
        """Whether a value may differ between the blocks of a cluster."""
        if value not in self._differing:
            self._differing[value] = self._finds_difference(value)
        return self._differing[value]

    def _finds_difference(self, value: Value) -> bool:
        dim = self._dimension(value)
        if dim is not None:
            return self.extents[dim] > 1
        op = self._facts.makers.get(value)
        if op is None:
            return False  # an argument, or the number of an iteration
        if op.name == "gpu.block_id" or op.name == "tl.load" or op.regions:
            return True
        if op.name in _QUOTIENTS:
            dim = self._divided(op)
            is_exact = self._greatest(op.operands[0]) is not None
            if dim is not None and is_exact and self.divisor(op) % self.extents[dim] == 0:
                return False
        return any(self.differs(operand) for operand in op.operands)


class _Block(Machine):
    """Executes what decides about barriers in one block of a cluster, up to where all of them meet."""

    deciders = "the block's number in the cluster (`T.block_rank_in_cluster`) and the indices of loops"

    def __init__(
        self,
        facts: Facts,
        numbers: dict[Any, int],
        unknown: list[Any],
        cluster: _Cluster,
        place: tuple[int, ...],
        states: dict[tuple[int, Barriers, int], Barrier],
    ) -> None:
        super().__init__(facts, numbers, unknown)
        self._cluster = cluster
        self._at = place
        self._rank = cluster.places.index(place)
        self._states = states
        """Of each barrier of each block what has come."""

    def get(self, value: Value) -> int | None:
        found = self._cluster.coordinate(value, self._at)
        return super().get(value) if found is None else found

    def _of_thread(self, value: Value, thread: int) -> int | None:
        """Returns a value that may differ between threads, and between blocks."""
        op = self._facts.makers.get(value)
        if value not in self._facts.dependent or op is None or op.name == "gpu.thread_id":
            return self.get(value) if value not in self._facts.dependent else self._facts.of_thread(value, thread)
        if not op.name.startswith("arith.") or len(op.results) != 1:
            return None
        return compute(op, [self._of_thread(v, thread) for v in op.operands])

    def _stop(self, stop: Stop) -> Generator[tuple[Stop, str]]:
        if isinstance(stop, Meeting):
            yield stop, ""
            return
        self._count_step(stop.op)
        if stop.mark.kind == "wait":
            self._wait(stop)
            return
        targets = [self._target(stop, thread) for thread in sorted(stop.threads)]
        if stop.mark.kind == "copied":
            targets = targets[:1]  # a copy arrives once, whoever starts it
        for target in dict.fromkeys(targets):
            self._arrive(stop, *target, targets.count(target))

    def _target(self, stop: Stop, thread: int) -> tuple[int, int]:
        """Returns the block, and which of its barriers, at which a thread arrives."""
        number, *rank = (self._of_thread(v, thread) for v in stop.op.operands)
        block = rank[0] if rank else self._rank
        if number is None or block is None:
            what = "which barrier this is" if number is None else "of which block the barrier is"
            raise error_at(
                stop.op, f"{what} is not known when the kernel is built: compute its number of {self.deciders}"
            )
        if not 0 <= block < len(self._cluster.places):
            raise error_at(
                stop.op,
                f"a cluster has the blocks 0 to {len(self._cluster.places) - 1} here, and {stop.mark.text} arrives at "
                f"a barrier of block {block}",
            )
        self._in_bounds(stop, {number: 1})
        return block, number

    def _name(self, stop: Stop, rank: int, number: int) -> str:
        barriers = stop.mark.barriers
        assert barriers is not None, "arrivals and waits are at barriers"
        element = f"[{number}]" if len(barriers) > 1 else ""
        return f"`{barriers.name or 'the barrier'}{element}` of block {rank}"

    def _state_of(self, stop: Stop, rank: int, number: int) -> Barrier:
        barriers = stop.mark.barriers
        assert barriers is not None, "arrivals and waits are at barriers"
        return self._states.setdefault((rank, barriers, number), Barrier(barriers.counts[number]))

    def _arrive(self, stop: Stop, rank: int, number: int, threads: int) -> None:
        state = self._state_of(stop, rank, number)
        if state.arrive(threads, None, stop.op.location.line):
            raise error_at(
                stop.op,
                f"{threads} threads of block {self._rank} arrive at {self._name(stop, rank, number)}, of which "
                f"{state.count - state.arrived + threads} are missing to complete a phase, which has {state.count} "
                f"arrivals",
            )

    def _wait(self, stop: Stop) -> None:
        numbers = {self._of_thread(stop.op.operands[0], thread) for thread in stop.threads}
        parity = self.get(stop.op.operands[1])
        if parity is None or None in numbers:
            what = "the parity of the phase" if parity is None else "which barrier this is"
            raise error_at(
                stop.op, f"{what} is not known when the kernel is built: compute its number of {self.deciders}"
            )
        found: dict[int, int] = {n: 1 for n in numbers if n is not None}
        for number in self._in_bounds(stop, found):
            state = self._state_of(stop, self._rank, number)
            if (state.seen & 1) != (parity & 1):
                continue
            barriers = stop.mark.barriers
            assert barriers is not None, "waits are at barriers"
            raise error_at(
                stop.op,
                f"what {stop.mark.text} waits for has not come when the blocks of the cluster meet before it"
                f"{self._iteration()}: {self._name(stop, self._rank, number)} needs phase {state.seen} (the first is "
                f"phase 0), of {state.count} arrivals, for parity {parity & 1}; "
                f"{state.tell(self._arriving(barriers))}. Let arrivals stand in statements before the one that waits, "
                f"such as an `if` before the `if` in which another block waits",
            )


@dataclass(eq=False)
class _Side:
    """What only some blocks of a cluster do: those for which conditions hold, or do not."""

    conditions: tuple[tuple[Value, bool], ...]
    location: Location
    items: list[Node]
    places: frozenset[tuple[int, ...]] | None
    """Which blocks these are, if that is known."""

    def branch(self, nodes: Sequence[Node]) -> Branch:
        """Returns what these blocks do, the innermost condition last."""
        *outer, (condition, is_then) = self.conditions
        found = _branch(condition, list(nodes), self.location, is_then=is_then)
        for condition, is_then in reversed(outer):
            found = _branch(condition, [found], self.location, is_then=is_then)
        return found

    def parts(self, spans: Sequence[Sequence[Node]]) -> list[Node]:
        """Returns branches around spans, which are cut before those that wait."""
        cut: list[list[Node]] = []
        for span in spans:
            if not cut or any(map(_first_wait, span)):
                cut.append([])
            cut[-1] += span
        return [self.branch(part) for part in cut]


class _Places:
    """Finds where the blocks meet. `order` says which parts of different blocks come first."""

    def __init__(self, kernel: Kernel, facts: Facts, cluster: _Cluster, order: str) -> None:
        self._name = _MEETING if kernel.cluster else "gpu.barrier"
        self._facts = facts
        self._cluster = cluster
        self._order = order

    # Branches of different blocks

    def _is_of_some(self, node: Node) -> bool:
        """Whether a node is a branch that blocks take differently, with arrivals or waits in it."""
        return isinstance(node, Branch) and node.has_stops and self._cluster.differs(node.condition)

    def _sides(self, branch: Branch, outer: tuple[tuple[Value, bool], ...] = ()) -> Iterator[_Side | Node]:
        """Yields the sides of a branch, and of those that are all there is in one, as in `elif`; numbers first."""
        for is_then, nodes in ((True, branch.then), (False, branch.other)):
            conditions = (*outer, (branch.condition, is_then))
            numbers = self._numbers(nodes)
            rest = [node for node in nodes if node not in numbers]
            if len(rest) == 1 and isinstance(rest[0], Branch) and self._is_of_some(rest[0]):
                yield from numbers
                yield from self._sides(rest[0], conditions)
            elif nodes:
                yield _Side(conditions, branch.location, self._cut(nodes), self._where(conditions))

    def _where(self, conditions: Sequence[tuple[Value, bool]]) -> frozenset[tuple[int, ...]] | None:
        """Returns for which blocks conditions hold, or None if that is not known."""
        found: set[tuple[int, ...]] = set()
        for place in self._cluster.places:
            block = _Block(self._facts, {}, [], self._cluster, place, {})
            taken = [(block.get(condition), is_then) for condition, is_then in conditions]
            if any(value is None for value, _ in taken):
                return None
            if all(bool(value) == is_then for value, is_then in taken):
                found.add(place)
        return frozenset(found)

    def _cut(self, nodes: Sequence[Node]) -> list[Node]:
        """Returns nodes of which branches of different blocks that arrive or wait are parts, one behind the other."""
        out: list[Node] = []
        run: list[_Side] = []
        for node in nodes:
            if isinstance(node, Branch) and self._is_of_some(node):
                found = list(self._sides(node))
                sides = [side for side in found if isinstance(side, _Side)]
                out += [number for number in found if not isinstance(number, _Side)]
                if not all(_are_others(side, other) for side in sides for other in run):
                    out += self._one_behind_the_other(run)
                    run = []
                run += sides
            elif self._numbers([node]):
                out.append(node)
            else:
                out += [*self._one_behind_the_other(run), node]
                run = []
        return [*out, *self._one_behind_the_other(run)]

    def _one_behind_the_other(self, sides: Sequence[_Side]) -> list[Node]:
        """Writes what different blocks do, numbers first, which all of them may compute."""
        out: list[Node] = []
        spans: list[list[list[Node]]] = []
        for side in sides:
            numbers = self._numbers(side.items)
            out += numbers
            spans.append(_spans([item for item in side.items if item not in numbers]))
        cut = list(map(self._at_joints, spans))
        joined = [
            [(side, parts[place]) for side, parts in zip(sides, cut, strict=True) if place < len(parts)]
            for place in range(max(map(len, cut), default=0))
        ]
        if not all(self._can_join(here) for here in joined):
            return [*out, *self._arranged([side.parts(of) for side, of in zip(sides, spans, strict=True)])]
        for here in joined:
            loops = [(side, part) for side, part in here if isinstance(part, Loop)]
            meetings = [part for _, part in here if isinstance(part, Leaf)]
            out += meetings[:1]
            if not loops:
                out += self._arranged([side.parts(part) for side, part in here if isinstance(part, list)])
                continue
            first = loops[0][1]
            for _, loop in loops[1:]:
                replace(loop.body, loop.variable, first.variable)
            self._facts.forget_keys()
            out.append(Loop(first.op, [side.branch(loop.body) for side, loop in loops]))
        return out

    def _numbers(self, items: Sequence[Node]) -> list[Node]:
        """Returns what may be computed before a branch: of numbers that are known there, and whoever goes."""
        found: list[Node] = []
        left: set[Value] = set()
        for item in items:
            if isinstance(item, Leaf):
                is_total = not ("div" in item.op.name or "rem" in item.op.name) or self._cluster.divisor(item.op) > 0
                if is_pure(item.op) and is_total and not left & set(item.op.operands):
                    found.append(item)
                else:
                    left.update(item.op.results)
        return found

    def _at_joints(self, spans: Sequence[list[Node]]) -> list[list[list[Node]] | Loop | Leaf]:
        """Returns spans between loops that blocks wait in, or meetings, and these, in turn."""
        parts: list[list[list[Node]] | Loop | Leaf] = []
        between: list[list[Node]] = []
        for span in spans:
            joint = self._joint(span[0])
            if joint is None:
                between.append(span)
            else:
                parts += [between, joint]
                between = []
        return [*parts, between]

    def _joint(self, node: Node) -> Loop | Leaf | None:
        """Returns a node that may be one with those of other blocks."""
        if isinstance(node, Loop):
            differs = any(map(self._cluster.differs, node.op.operands))
            return node if _first_wait(node) and not differs else None
        return node if isinstance(node, Leaf) and node.op.name == self._name else None

    def _can_join(self, here: Sequence[tuple[_Side, list[list[Node]] | Loop | Leaf]]) -> bool:
        """Whether what different blocks do at one place is one: loops of the same bounds, or a meeting of all."""
        loops = [part for _, part in here if isinstance(part, Loop)]
        meeting = [side for side, part in here if isinstance(part, Leaf)]
        if meeting:
            # They are of different blocks, so that none is counted twice.
            blocks = [len(side.places) for side in meeting if side.places is not None]
            return not loops and len(blocks) == len(meeting) and sum(blocks) == len(self._cluster.places)
        return len({tuple(map(self._facts.key, loop.op.operands)) for loop in loops}) <= 1

    def _arranged(self, sides: list[list[Node]]) -> list[Node]:
        """Returns the parts of all sides in order."""
        if self._order == "in turns":
            rounds = [[parts[i] for parts in sides if i < len(parts)] for i in range(max(map(len, sides)))]
            return [part for parts in rounds for part in parts]
        return [part for parts in (sides if self._order == "as written" else sides[::-1]) for part in parts]

    # Meetings

    def insert(self, nodes: Sequence[Node]) -> list[Node]:
        """Returns nodes with a meeting before each wait, or before the branch around it that only some take."""
        nodes = self._cut(nodes)
        out: list[Node] = []
        have_met = False
        """Whether nothing but waits and numbers stands behind the last meeting."""
        for node in nodes:
            if isinstance(node, Leaf) and node.op.name == self._name:
                out.append(Meeting(node.op))
                have_met = True
                continue
            wait = _first_wait(node)
            if isinstance(node, Stop) or (wait is not None and self._is_taken_by_some(node)):
                if wait is not None and not have_met:
                    out.append(Meeting(Op(self._name, (), (), {}, {}, (), wait.op.location)))
                    have_met = True
                have_met = have_met and node is wait
            else:
                if isinstance(node, Loop):
                    node.body = self.insert(node.body)
                elif isinstance(node, Branch):
                    node.then, node.other = self.insert(node.then), self.insert(node.other)
                have_met = have_met and isinstance(node, Leaf) and is_pure(node.op)
            out.append(node)
        return out

    def _is_taken_by_some(self, node: Node) -> bool:
        """Whether only some threads, or some blocks of a cluster, go where a wait stands."""
        if isinstance(node, Branch):
            return self._cluster.differs(node.condition)
        return isinstance(node, Group)


def _branch(condition: Value, nodes: list[Node], location: Location, *, is_then: bool) -> Branch:
    return Branch(condition, nodes, [], location) if is_then else Branch(condition, [], nodes, location)


def _are_others(side: _Side, other: _Side) -> bool:
    """Whether no block is of both sides."""
    if any((condition, not is_then) in other.conditions for condition, is_then in side.conditions):
        return True
    return side.places is not None and other.places is not None and not side.places & other.places


def _spans(items: Sequence[Node]) -> list[list[Node]]:
    """Cuts items where none behind uses what one before gives, which stay in one branch."""
    spans: list[list[Node]] = []
    for item in items:
        used = set(_used(item))
        first = next((i for i, span in enumerate(spans) if used & set(_given(span))), len(spans))
        spans[first:] = [[*itertools.chain(*spans[first:]), item]]
    return spans


def _given(items: Sequence[Node]) -> Iterator[Value]:
    return (value for item in items if isinstance(item, Leaf) for value in item.op.results)


def _used(item: Node) -> Iterator[Value]:
    for node in all_nodes([item]):
        if isinstance(node, Branch):
            yield node.condition
        if isinstance(node, Leaf | Stop):
            yield from (value for op in operations([node.op]) for value in op.operands)
        if isinstance(node, Loop | Repeat):
            yield from node.op.operands


def _first_wait(node: Node) -> Stop | None:
    return next((n for n in all_nodes([node]) if isinstance(n, Stop) and n.mark.kind == "wait"), None)


def has_cluster_barriers(kernel: Kernel) -> bool:
    """Returns whether a kernel arrives or waits at barriers of clusters."""
    return any(isinstance(mark.barriers, ClusterBarriers) for mark in kernel.marks.values())


def order_blocks(kernel: Kernel) -> None:
    """Makes a kernel's body one whose blocks meet and have no barriers, or raises."""
    if kernel.is_swizzled:
        raise TLSyntaxError(
            "barriers of `T.alloc_cluster_barrier` are of blocks that the chip puts side by side, and `T.use_swizzle` "
            "has changed their coordinates: leave one of the two out",
            location=kernel.location,
        )
    facts = Facts(kernel)
    _reject_groups(kernel)
    cluster = _Cluster(kernel, facts)
    nodes = _in_order(kernel, facts, cluster)
    reject_shared_places(facts, nodes)
    reject_shared_variables(facts, nodes)
    block = kernel.block
    block.ops = [*Writer(facts).write(nodes, block), *[op for op in block.ops if op.name in ENDS][-1:]]


def _in_order(kernel: Kernel, facts: Facts, cluster: _Cluster) -> list[Node]:
    """Returns the kernel with meetings that are proven to suffice, or raises what is wrong with the first order."""
    first: TLSyntaxError | None = None
    for order in ("as written", "in turns", "the other way around"):
        nodes = _Places(kernel, facts, cluster, order).insert(Reader(facts).read(kernel.block.ops))
        _reject_operations_of_some_threads(nodes)
        try:
            try_all(facts, functools.partial(_execute, facts, cluster, nodes))
        except TLSyntaxError as error:
            first = first or error
        else:
            return nodes
    assert first is not None, "an order was tried"
    raise first


def _reject_operations_of_some_threads(nodes: Sequence[Node]) -> None:
    for node in all_nodes(nodes):
        if isinstance(node, Leaf) and node.guards and is_of_block(node.op):
            raise error_at(
                node.op,
                "this is executed by the whole block, and stands where only some threads go: in a kernel with barriers "
                "of `T.alloc_cluster_barrier` let threads that differ arrive and wait alone",
            )


def _reject_groups(kernel: Kernel) -> None:
    for op, mark in kernel.marks.items():
        if mark.kind == "once" or isinstance(mark.barriers, ClusterBarriers):
            continue
        raise error_at(
            op,
            f"{mark.text} does not work in a kernel with barriers of `T.alloc_cluster_barrier`: let these be the only "
            f"barriers, and let all threads of a block do the same; `T.copy` and `T.gemm` need no groups",
        )


def _execute(facts: Facts, cluster: _Cluster, nodes: list[Node], numbers: dict[Any, int], unknown: list[Any]) -> None:
    """Executes all blocks of a cluster from meeting to meeting."""
    states: dict[tuple[int, Barriers, int], Barrier] = {}
    blocks = [_Block(facts, numbers, unknown, cluster, place, states).run(nodes) for place in cluster.places]
    while True:
        reached = [next(block, None) for block in blocks]
        met = {id(at[0]) if at else None: at for at in reached}
        if len(met) > 1:
            stop = next(at[0] for at in reached if at)
            raise error_at(
                stop.op, "here all blocks of a cluster meet, and not all of them come: take it out of the branch"
            )
        if None in met:
            return
        for state in states.values():
            state.seen = state.completed
