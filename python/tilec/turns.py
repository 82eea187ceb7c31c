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
    Together,
    all_nodes,
    error_at,
    is_of_block,
    is_private,
    is_pure,
)
from .ir import Block, Op, Value
from .phases import Machine, Stuck
from .rings import operations, run_ahead
from .rolled import roll_up
from .thread_copies import join_copies
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .groups import Node
    from .language.kernel import Kernel
    from .location import Location

_WRITES = ("tl.store", "tl.atomic")
_OF_TILES = ("tl.copy", "tl.fill", "tl.gemm", "tl.parallel", "tl.pipelined", "tl.reduce", "tl.scan")
"""What makes a branch on the thread's number one of groups: a barrier alone does not, to which all have to come."""


# Finding an order -----------------------------------------------------------------------------------------------------


def _try(facts: Facts, nodes: list[Node]) -> None:
    """Executes a program with all numbers of iterations that matter; raises `Stuck`."""

    def execute(numbers: dict[Any, int], unknown: list[Any]) -> None:
        for wait in Machine(facts, numbers, unknown).run(nodes):
            raise Stuck([wait])

    try_all(facts, execute)


def try_all(facts: Facts, execute: Callable[[dict[Any, int], list[Any]], None]) -> None:
    """Executes with all numbers of iterations that matter.

    `execute` is given the numbers, and adds what decides about those that are not known.
    """
    unknown: list[Any] = []
    execute({}, unknown)
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
        execute(dict(zip(names, numbers, strict=True)), unknown)


def _spread(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yields nodes, and those of a group that does nothing but to name further groups, as `elif` does."""
    for node in nodes:
        inner = node.nodes if isinstance(node, Group) else []
        is_chain = all(isinstance(n, Group) or (isinstance(n, Leaf) and is_pure(n.op)) for n in inner)
        if is_chain and any(isinstance(n, Group) for n in inner):
            yield from _spread(inner)
        else:
            yield node


def _pair(facts: Facts, nodes: list[Node], *, joins: bool, nests: bool) -> list[Node]:
    """Puts groups together that may take turns: those of different threads with nothing but numbers in between.

    - `joins`: whether a group that comes again goes on with what it did before.
    - `nests`: whether loops that stand in loops of groups become one as well.
    """
    out: list[Node] = []
    run: list[Group] = []

    def close() -> None:
        if len(run) > 1:
            out.append(_together(facts, run, nests=nests))
        else:
            out.extend(run)
        run.clear()

    for node in _spread(nodes):
        if isinstance(node, Loop):
            node = Loop(node.op, _pair(facts, node.body, joins=joins, nests=nests))
        if isinstance(node, Group):
            same = next((place for place, other in enumerate(run) if other.threads == node.threads), None)
            if joins and same is not None:
                run[same] = Group(node.threads, [*run[same].nodes, *node.nodes])
                continue
            if any(node.threads & other.threads for other in run):
                close()
            run.append(node)
            continue
        if isinstance(node, Leaf) and (is_pure(node.op) or node.op.name == "tl.alloc"):
            out.append(node)
            continue
        close()
        out.append(node)
    close()
    return out


def _together(facts: Facts, groups: Sequence[Group], *, nests: bool) -> Together:
    """Returns groups that take turns. Loops in which they wait are one of all, the first of each with the first, and so
    on; others are a group's own."""
    node = Together(list(groups))
    for group in groups:
        parts: list[list[Node] | Loop] = [[]]
        for item in _items(group.nodes):
            if isinstance(item, Loop) and item.has_stops:
                parts += [Loop(item.op, _items(item.body)), []]
            else:
                parts[-1].append(item)  # pyright: ignore[reportAttributeAccessIssue]
        node.parts.append(parts)
    for place in range(1, max(map(len, node.parts)), 2):
        loops: list[tuple[Group, Loop]] = []
        for group, own in zip(groups, node.parts, strict=True):
            if place < len(own) and isinstance(loop := own[place], Loop):
                loops.append((group, loop))
        _require_same_bounds(facts, [loop for _, loop in loops])
        if nests and any(isinstance(n, Loop) and n.has_stops for _, loop in loops for n in loop.body):
            facts.take_as_one([loop for _, loop in loops])
            node.inner[place] = _together(facts, [Group(g.threads, loop.body) for g, loop in loops], nests=True)
    return node


def _require_same_bounds(facts: Facts, loops: Sequence[Loop]) -> None:
    if len({tuple(facts.key(v) for v in loop.op.operands) for loop in loops}) > 1:
        first, other, *_ = loops
        raise error_at(
            other.op,
            f"groups of threads wait for each other in loops of different bounds, this one and that of line "
            f"{first.op.location.line}: give both the same, so that an iteration of one belongs to an iteration of the "
            f"other",
        )


def _items(nodes: Sequence[Node]) -> list[Node]:
    """Returns what takes turns: branches around barriers are cut into one for each thing that is done in them."""
    out: list[Node] = []
    for node in nodes:
        if not isinstance(node, Branch):
            out.append(node)
            continue
        for is_then, inside in ((True, node.then), (False, node.other)):
            for chunk in _chunks(inside):
                if all(isinstance(n, Leaf) and (is_pure(n.op) or n.op.name == "tl.alloc") for n in chunk):
                    out += chunk
                else:
                    out.append(Branch(node.condition, *((chunk, []) if is_then else ([], chunk)), node.location))
    return out


def _chunks(nodes: Sequence[Node]) -> list[list[Node]]:
    """Cuts what is done in a branch into parts; none uses what is read in another one."""
    made: set[Value] = set()
    for node in nodes:
        used = {
            v for n in all_nodes([node]) if isinstance(n, Leaf | Stop) for op in operations([n.op]) for v in op.operands
        }
        if used & made:
            return [list(nodes)]
        if isinstance(node, Leaf) and not is_pure(node.op) and node.op.name != "tl.alloc":
            made.update(node.op.results)
    return [[node] for node in nodes]


def _ordered(nodes: list[Node], joined: list[tuple[Loop, Loop]]) -> list[Node]:
    """Writes groups that took turns in one order; `joined` gets the loops that become one, each with the first."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            out.append(Loop(node.op, _ordered(node.body, joined)))
        elif isinstance(node, Together):
            for place in range(max(map(len, node.parts))):
                parts = [part[place] if place < len(part) else [] for part in node.parts]
                loops = [part for part in parts if isinstance(part, Loop)]
                needs = node.needs.get(place, set())
                if not loops:
                    out += _merge(parts, needs)  # pyright: ignore[reportArgumentType]
                    continue
                joined += [(loop, loops[0]) for loop in loops[1:]]
                if place in node.inner:
                    inside = _ordered([node.inner[place]], joined)
                else:
                    inside = _merge([p.body if isinstance(p, Loop) else [] for p in parts], needs)
                out.append(Loop(loops[0].op, inside))
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


def replace(nodes: Sequence[Node], old: Value, new: Value) -> None:
    for node in all_nodes(nodes):
        if isinstance(node, Branch) and node.condition is old:
            node.condition = new
        if isinstance(node, Leaf | Stop | Loop | Repeat):
            for op in operations([node.op]):
                op.operands = tuple(new if v is old else v for v in op.operands)


# Writing it -----------------------------------------------------------------------------------------------------------


class Writer:
    """Makes operations of the tree, without marks."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def write(self, nodes: Sequence[Node], block: Block) -> list[Op]:
        out: list[Op] = []
        for node in nodes:
            if isinstance(node, Leaf):
                out.append(self._leaf(node, block))
            elif isinstance(node, Meeting):
                out.append(node.op)
            elif isinstance(node, Loop):
                body = node.op.regions[0]
                body.ops = [*self.write(node.body, body), *[op for op in body.ops if op.name in ENDS][-1:]]
                out.append(node.op)
            elif isinstance(node, Branch):
                then, other = (self.write(nodes, block) for nodes in (node.then, node.other))
                if then or other:
                    out.append(self._branch(node.condition, then, other, block, node.location))
            elif isinstance(node, Repeat):
                for region, body in zip(node.op.regions, node.bodies, strict=True):
                    region.ops = [*self.write(body, region), *[op for op in region.ops if op.name in ENDS][-1:]]
                out.append(node.op)
            elif isinstance(node, Group):
                out += self.write(node.nodes, block)
        return out

    def _leaf(self, leaf: Leaf, block: Block) -> Op:
        """What threads do that differ is for those of the group alone; others get zero for what is found."""
        op = leaf.op
        if not leaf.guards or is_of_block(op) or not self._facts.depends(op) or not _touches_memory(op):
            return op
        for guard in reversed(leaf.guards):
            found = op.results
            op.results = tuple(Value(v.type, block) for v in found)
            zeros = [
                Op("arith.constant", (), (Value(v.type, block),), _zero(v.type), {}, (), op.location) for v in found
            ]
            op = self._branch(guard, [op], zeros, block, op.location, found)
        return op

    @staticmethod
    def _branch(
        condition: Value,
        then: list[Op],
        other: list[Op],
        block: Block,
        location: Location,
        found: tuple[Value, ...] = (),
    ) -> Op:
        """Returns a branch, of which `found` is what its parts' operations give."""
        regions: list[Block] = []
        for ops in (then, other):
            region = Block(block, "a branch")
            if ops or ops is then:
                given = tuple(v for op in ops for v in op.results) if found else ()
                region.ops = [*ops, Op("scf.yield", given, (), {}, {}, (), location)]
            regions.append(region)
        condition.uses += 1
        return Op("scf.if", (condition,), found, {}, {}, tuple(regions), location)


def _touches_memory(op: Op) -> bool:
    """Whether an operation reads or writes elements, or assigns to variables."""
    return any(
        inner.name in _WRITES or (inner.name == "tl.load" and not is_private(inner.operands[0]))
        for inner in operations([op])
    )


def _zero(element: str) -> dict[str, str]:
    if element == "i1":
        return {"value": "false"}
    return {"value": f"{'0' if element[0] == 'i' else '0.0'} : {element}"}


def reject_shared_places(facts: Facts, nodes: Sequence[Node]) -> None:
    """Rejects threads of a group that draw random numbers from sequences of their own, begun outside of the group.

    How far a sequence is, is a variable of the block: what one group has drawn would be missing in those of others.
    """
    for stream in facts.kernel.streams:
        if not any(value in facts.dependent for value in stream.values):
            continue
        places = list(_assigned(stream.position, nodes, None))
        if len({group for group, _ in places}) > 1:
            op = next(op for group, op in places if group is not None)
            raise error_at(
                op,
                f"a group of threads draws from sequences that each thread has for itself, begun outside of the group "
                f"(line {stream.location.line}): put `T.rng_init` into the group",
            )


def _assigned(variable: Value, nodes: Sequence[Node], group: Group | None) -> Iterator[tuple[Group | None, Op]]:
    """Yields what assigns to a variable, each with the group that does, or None if the block does."""
    for node in nodes:
        if isinstance(node, Leaf):
            for op in operations([node.op]):
                if op.name == "tl.store" and op.operands[1] is variable:
                    yield group, op
        elif isinstance(node, Group):
            yield from _assigned(variable, node.nodes, node)
        elif isinstance(node, Loop):
            yield from _assigned(variable, node.body, group)
        elif isinstance(node, Branch):
            yield from _assigned(variable, [*node.then, *node.other], group)
        elif isinstance(node, Repeat):
            for body in node.bodies:
                yield from _assigned(variable, body, group)


def has_groups(kernel: Kernel) -> bool:
    """Returns whether a branch on the thread's number stands around tile operations, also where nothing is marked."""
    ops = list(operations(kernel.block.ops))
    if not any(op.name == "gpu.thread_id" for op in ops):
        return False
    facts = Facts(kernel)
    branches = [op for op in ops if op.name == "scf.if" and op.operands[0] in facts.dependent and not op.results]
    return any(
        is_of_block(inner) and inner.name in _OF_TILES
        for branch in branches
        for region in branch.regions
        for inner in operations(region.ops)
    )


def put_in_order(kernel: Kernel) -> None:
    """Makes a kernel's body one without groups and barriers, or raises."""
    facts = Facts(kernel)
    block = kernel.block
    nodes = Reader(facts).read(block.ops)
    reject_shared_places(facts, nodes)
    try:
        _try(facts, nodes)
    except Stuck as first:
        nodes = _taking_turns(facts, nodes, first)
    reject_shared_variables(facts, nodes)
    block.ops = [*Writer(facts).write(nodes, block), *[op for op in block.ops if op.name in ENDS][-1:]]
    facts.forget_keys()
    block.ops = join_copies(facts, block.ops)
    loops = [node.op for node in all_nodes(nodes) if isinstance(node, Loop) and node.has_stops]
    block.ops = roll_up(facts, block.ops, loops)
    run_ahead(block.ops, loops, facts.key)


def _taking_turns(facts: Facts, nodes: list[Node], first: Stuck) -> list[Node]:
    """Returns an order in which all waits are passed; `first` is why it is not that of the text.

    If groups that stand side by side do not pass them, all that a group does between two places where the whole block
    is takes its turn as one; and so do iterations of loops that stand in other loops.
    """
    failure: TLSyntaxError | None = None
    for nests, joins in itertools.product((False, True), repeat=2):
        try:
            return _in_order(facts, _pair(facts, nodes, joins=joins, nests=nests), first)
        except Stuck as stuck:
            failure = failure or _describe(stuck if stuck.waits else first)
        except TLSyntaxError as error:
            failure = failure or error
    assert failure is not None, "no order was found"
    raise failure from None


def _in_order(facts: Facts, paired: list[Node], first: Stuck) -> list[Node]:
    """Returns groups in the order in which they take turns, or raises why there is none."""
    if not any(isinstance(node, Together) for node in all_nodes(paired)):
        raise first
    _try(facts, paired)
    joined: list[tuple[Loop, Loop]] = []
    ordered = _ordered(paired, joined)
    for loop, into in joined:
        replace(loop.body, loop.variable, into.variable)
    try:
        _try(facts, ordered)
    except Stuck:
        for loop, into in reversed(joined):
            replace(loop.body, into.variable, loop.variable)
        raise
    return ordered


def _describe(stuck: Stuck) -> TLSyntaxError:
    stop, why = stuck.waits[0]
    others = "".join(
        f"; meanwhile {other.mark.text} of line {other.op.location.line} waits: {what}"
        for other, what in stuck.waits[1:]
    )
    return error_at(stop.op, f"{stop.mark.text} waits for ever: {why}{others}")
