"""Which loops of `T.Parallel` that stand in each other are one loop over all of their extents.

What an outer loop does beside the inner one is done once more in each iteration of that. This makes no difference if it
has no effect but on what the iteration has for itself, and comes to the same each time: it reads no element that the
inner loop may write.
"""

from __future__ import annotations

from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..ir import Block, Op, Value


class Body:
    """The operations of a loop's body: those of a block behind the ones that it had when the body began."""

    def __init__(self, block: Block) -> None:
        self._block = block
        # Not their number: a loop with `continue` later puts a variable in front of its body.
        self._before = block.ops[-1] if block.ops else None
        self.ops: list[Op] = []

    def end(self) -> None:
        """Ends the body."""
        ops = self._block.ops
        begin = 0 if self._before is None else next(i for i, op in enumerate(ops) if op is self._before) + 1
        self.ops = ops[begin:]


_PURE = ("arith.", "math.")
_CONTROL = ("scf.if", "scf.for", "scf.while", "scf.condition", "scf.yield")


def is_idle_beside(outer: Body, inner: Body) -> bool:
    """Returns whether what stands in a loop beside the one in it has no effect, and is the same in each iteration."""
    inside = {id(op) for op in inner.ops}
    written = _written(inner.ops)
    read: set[Value] = set()
    for op in _walk(outer.ops, inside):
        if op.name.startswith(_PURE) or op.name in _CONTROL:
            continue
        if op.name == "tl.load":
            read.add(op.operands[0])
        elif op.name == "tl.alloc":
            if not _is_own(op.results[0]):
                return False
        elif op.name != "tl.store" or not _is_own(op.operands[1]):
            return False
    return all(_is_own(buffer) or buffer not in written for buffer in read)


def _is_own(buffer: Value) -> bool:
    """Whether a buffer is a variable or a local array, which is the iteration's own where it is assigned (P3)."""
    return "#gpu.address_space<private>" in buffer.type


def _walk(ops: Iterable[Op], left_out: set[int]) -> Iterator[Op]:
    """Yields operations and those inside of them."""
    stack = list(ops)
    while stack:
        op = stack.pop()
        if id(op) not in left_out:
            yield op
            stack += [inner for region in op.regions for inner in region.ops]


def _written(ops: Iterable[Op]) -> set[Value]:
    """Returns the buffers that operations may write."""
    return {
        operand
        for op in _walk(ops, set())
        if op.name != "tl.load"
        for operand in (op.operands[1:2] if op.name == "tl.store" else op.operands)
    }
