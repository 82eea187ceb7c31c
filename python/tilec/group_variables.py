"""Variables that groups of threads assign: what a group reads must be what its own threads have.

A variable is every thread's own, and one that is the same for all threads is kept once for the block. A group that
assigns to it gives its threads another value than the others have, which is then lost. That is no harm where only the
group reads it until it is assigned anew by all, or by who reads it; other programs are refused.

Sound, because for each variable the threads are followed whose value is the one that is kept, in the order in which
groups take turns, branches and loops included: those that execute an assignment; of one that may not be executed, or is
of an element of an array, only those whose value was kept before as well. Variables that depend on the thread are not
looked at: they are kept for each thread (`Facts.dependent`).
"""

from __future__ import annotations

from .groups import Branch, Facts, Group, Leaf, Loop, Repeat, error_at, is_private
from .rings import operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .groups import Node
    from .ir import Op, Value

_ONE = "memref<1x"
"""How the type of a variable begins; others are arrays, of which an assignment leaves the rest."""


def reject_shared_variables(facts: Facts, nodes: Sequence[Node]) -> None:
    """Raises if a group reads a variable of which another group has assigned the value that is kept."""
    _Follower(facts).follow(nodes)


class _Follower:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._all = frozenset(range(facts.kernel.num_threads))
        self._threads: dict[tuple[Value, ...], frozenset[int]] = {(): self._all}
        self._right: dict[Value, frozenset[int]] = {}
        """Whose value is kept, of variables of which it is not that of all threads."""
        self._assigned: dict[Value, Op] = {}
        """Where a group assigned to each of them last."""

    def follow(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, Leaf):
                self._leaf(node)
            elif isinstance(node, Group):
                self.follow(node.nodes)
            elif isinstance(node, Branch):
                self._either((node.then, node.other))
            elif isinstance(node, Loop):
                self._often((node.body,))
            elif isinstance(node, Repeat):
                self._often(node.bodies)

    def _either(self, bodies: Sequence[Sequence[Node]]) -> None:
        before, after = self._right, {}
        for body in bodies:
            self._right = dict(before)
            self.follow(body)
            after = self._joined(after, self._right)
        self._right = after

    def _often(self, bodies: Sequence[Sequence[Node]]) -> None:
        """What an iteration leaves the next one finds."""
        before = None
        while before != self._right:
            before = dict(self._right)
            for body in bodies:
                self.follow(body)
            self._right = self._joined(before, self._right)

    def _joined(self, a: dict[Value, frozenset[int]], b: dict[Value, frozenset[int]]) -> dict[Value, frozenset[int]]:
        return {variable: a.get(variable, self._all) & b.get(variable, self._all) for variable in {**a, **b}}

    def _leaf(self, leaf: Leaf) -> None:
        threads = self._of(leaf.guards)
        iterations = {
            inner for op in operations([leaf.op]) if op.name == "tl.parallel" for inner in operations(op.regions[0].ops)
        }
        for op in operations([leaf.op]):
            if op.name == "tl.alloc":
                self._right.pop(op.results[0], None)
            written = _written(op)
            for variable in self._variables(op):
                if variable is not written and not threads <= self._right.get(variable, self._all):
                    self._refuse(op, variable)
            # Iterations have copies of their own.
            if written is not None and op not in iterations and written not in self._facts.dependent:
                is_whole = written.type.startswith(_ONE) and op is leaf.op
                kept = threads if is_whole else threads & self._right.get(written, self._all)
                self._right[written] = kept
                if threads != self._all:
                    self._assigned[written] = op

    def _variables(self, op: Op) -> Iterator[Value]:
        for operand in op.operands:
            if operand.type.startswith("memref") and is_private(operand) and operand not in self._facts.dependent:
                yield operand

    def _of(self, guards: tuple[Value, ...]) -> frozenset[int]:
        """Returns the threads for which all of some conditions hold."""
        if guards not in self._threads:
            *outer, last = guards
            found = self._of(tuple(outer))
            self._threads[guards] = frozenset(t for t in found if self._facts.of_thread(last, t))
        return self._threads[guards]

    def _refuse(self, op: Op, variable: Value) -> None:
        line = self._assigned.get(variable, op).location.line
        name = f"`{variable.hint}`" if variable.hint else "a variable"
        raise error_at(
            op,
            f"{name} is read here by other threads than those that assigned to it last (line {line}), and each thread "
            f"has a value of its own: make a variable for each branch on the thread, inside of it, or assign to it "
            f"outside of them",
        )


def _written(op: Op) -> Value | None:
    """Returns the private memory that an operation writes."""
    buffers = [v for v in op.operands if v.type.startswith("memref")]
    target = {"tl.store": 0, "tl.fill": 0, "tl.copy": 1}.get(op.name)
    return buffers[target] if target is not None and is_private(buffers[target]) else None
